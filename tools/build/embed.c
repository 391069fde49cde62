/* Build tool: files in, one C file out. embed [-z] [-i HEADER TYPE] OUT.c SYMBOL NAME=PATH...
 * Writes `const vkt__embedded_file SYMBOL[]`, ended by a NULL name (src/base/embedded.h). Of a
 * NAME= without a path there is the name only. -z: the files are deflated (zlib). -i: another type
 * with the same fields, and the header that has it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

static void die(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s '%s'\n", what, name);
    exit(1);
}

/* All of a file, with its size; to be freed. */
static unsigned char *read_file(const char *path, unsigned long *n)
{
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0) die("can't read", path);
    long size = ftell(in);
    unsigned char *data = malloc((size_t)size + 1);
    rewind(in);
    if (size < 0 || !data || fread(data, 1, (size_t)size, in) != (size_t)size)
        die("can't read", path);
    fclose(in);
    *n = (unsigned long)size;
    return data;
}

/* The same n bytes in *packed bytes; frees `data`. */
static unsigned char *deflated(unsigned char *data, unsigned long n, unsigned long *packed)
{
    uLongf bytes = compressBound(n);
    unsigned char *out = malloc(bytes);
    if (!out || compress2(out, &bytes, data, n, Z_BEST_COMPRESSION) != Z_OK)
        die("can't deflate", "a file");
    free(data);
    *packed = bytes;
    return out;
}

int main(int argc, char **argv)
{
    bool deflate_them = argc > 1 && strcmp(argv[1], "-z") == 0;
    argv += deflate_them;
    argc -= deflate_them;
    const char *header = "base/embedded.h", *type = "vkt__embedded_file";
    if (argc > 3 && strcmp(argv[1], "-i") == 0) {
        header = argv[2];
        type = argv[3];
        argv += 3;
        argc -= 3;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: embed [-z] [-i HEADER TYPE] OUT.c SYMBOL NAME=PATH...\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "wb");
    if (!out) die("can't write", argv[1]);
    fprintf(out, "#include \"%s\"\n", header);
    for (int i = 3; i < argc; i++) {
        const char *path = strchr(argv[i], '=');
        if (!path) die("no NAME=PATH in", argv[i]);
        if (!path[1]) continue;
        unsigned long n, stored;
        unsigned char *data = read_file(path + 1, &n);
        stored = n;
        if (deflate_them) data = deflated(data, n, &stored);
        fprintf(out, "static const _Alignas(8) unsigned char d%d[] = {", i);
        for (unsigned long k = 0; k < stored; k++) fprintf(out, k % 24 ? "%d," : "\n%d,", data[k]);
        fprintf(out, "0};\nenum { n%d = %lu, s%d = %lu };\n", i, n, i, stored);
        free(data);
    }
    fprintf(out, "const %s %s[] = {\n", type, argv[2]);
    for (int i = 3; i < argc; i++) {
        const char *path = strchr(argv[i], '=');
        fprintf(out, "    { \"%.*s\", ", (int)(path - argv[i]), argv[i]);
        if (path[1])
            fprintf(out, "d%d, n%d, s%d },\n", i, i, i);
        else
            fprintf(out, "0, 0, 0 },\n");
    }
    fprintf(out, "    { 0, 0, 0, 0 },\n};\n");
    return fclose(out) == 0 ? 0 : 1;
}
