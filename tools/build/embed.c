/* Build tool: files in, one C file out. embed OUT.c SYMBOL NAME=PATH...
 * Writes `const vkt__embedded_file SYMBOL[]`, ended by a NULL name (src/base/embedded.h). Of a NAME=
 * without a path there is the name only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *name)
{
    fprintf(stderr, "embed: %s '%s'\n", what, name);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: embed OUT.c SYMBOL NAME=PATH...\n");
        return 2;
    }
    FILE *out = fopen(argv[1], "wb");
    if (!out) die("can't write", argv[1]);
    fprintf(out, "#include \"base/embedded.h\"\n");
    for (int i = 3; i < argc; i++) {
        const char *path = strchr(argv[i], '=');
        if (!path) die("no NAME=PATH in", argv[i]);
        if (!path[1]) continue;
        FILE *in = fopen(path + 1, "rb");
        if (!in) die("can't read", path + 1);
        fprintf(out, "static const _Alignas(8) unsigned char d%d[] = {", i);
        unsigned long n = 0;
        for (int c; (c = fgetc(in)) != EOF; n++) fprintf(out, n % 24 ? "%d," : "\n%d,", c);
        fclose(in);
        fprintf(out, "0};\nenum { n%d = %lu };\n", i, n);
    }
    fprintf(out, "const vkt__embedded_file %s[] = {\n", argv[2]);
    for (int i = 3; i < argc; i++) {
        const char *path = strchr(argv[i], '=');
        fprintf(out, "    { \"%.*s\", ", (int)(path - argv[i]), argv[i]);
        if (path[1])
            fprintf(out, "d%d, n%d },\n", i, i);
        else
            fprintf(out, "0, 0 },\n");
    }
    fprintf(out, "    { 0, 0, 0 },\n};\n");
    return fclose(out) == 0 ? 0 : 1;
}
