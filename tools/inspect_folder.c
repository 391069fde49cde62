/* inspect: runs, checkpoints and the safetensors files in them. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

/* ---- JSON objects of runs and checkpoints ---- */

static void print_field(const char *key, const json_t *v)
{
    const char *text = json_string_value(v);
    if (json_is_null(v) || (text && !*text)) return;
    if (text && strchr(text, '\n'))
        printf("  %s", key);
    else
        printf("  %-16s ", key);
    if (text && strchr(text, '\n')) {
        for (const char *p = text; *p;) {
            size_t n = strcspn(p, "\n");
            printf("\n    %.*s", (int)n, p);
            p += n + (p[n] == '\n');
        }
        putchar('\n');
    } else if (text) {
        puts(text);
    } else if (json_is_integer(v)) {
        puts(cli_count((uint64_t)json_integer_value(v)));
    } else if (json_is_real(v)) {
        printf("%.6g\n", json_real_value(v));
    } else {
        json_dumpf(v, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
        putchar('\n');
    }
}

/* FOLDER/NAME; the caller frees. */
static char *join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = malloc(bytes);
    if (path)
        snprintf(path, bytes, "%s/%s", folder, name);
    else
        exit(CLI_MEMORY);
    return path;
}

static int print_json_file(const char *folder, const char *name, const char *what)
{
    char *path = join(folder, name);
    const char *key;
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e), *v;
    int rc = CLI_OK;
    if (!json_is_object(j)) {
        rc = inspect_damaged(path, j ? "no JSON object" : e.text);
    } else {
        printf("%s%s%s: %s\n", cli_color(stdout, CLI_BOLD), folder, cli_color(stdout, CLI_PLAIN),
               what);
        json_object_foreach(j, key, v) if (strcmp(key, "schema")) print_field(key, v);
    }
    free(path);
    json_decref(j);
    return rc;
}

/* ---- safetensors ---- */

typedef struct tensors {
    inspect_cells c;
    uint64_t n_values, bytes;
    size_t n;
} tensors;

static void on_tensor(void *user, const vkt_tensor_info *t)
{
    tensors *s = user;
    char shape[200] = "[";
    size_t k = 1;
    uint64_t count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        k += (size_t)snprintf(shape + k, sizeof shape - k, "%s%llu", i ? ", " : "",
                              (unsigned long long)t->shape[i]);
        count *= t->shape[i];
    }
    snprintf(shape + k, sizeof shape - k, "]");
    inspect_cell(&s->c, t->name);
    inspect_cell(&s->c, t->dtype);
    inspect_cell(&s->c, shape);
    inspect_cell(&s->c, cli_count(count));
    inspect_cell(&s->c, cli_bytes(t->bytes));
    s->n_values += count;
    s->bytes += t->bytes;
    s->n++;
}

int inspect_safetensors(const char *path)
{
    static const cli_column col[] = { { "tensor", false, 60 },
                                      { "type", false, 0 },
                                      { "shape", false, 0 },
                                      { "values", true, 0 },
                                      { "bytes", true, 0 } };
    tensors s = { 0 };
    char *metadata = NULL;
    vkt_status st = vkt_safetensors_list(path, on_tensor, &s, &metadata);
    if (st == VKT_OK) {
        printf("%s%s%s: safetensors, %zu tensors, %s values, %s\n", cli_color(stdout, CLI_BOLD),
               path, cli_color(stdout, CLI_PLAIN), s.n, cli_count(s.n_values), cli_bytes(s.bytes));
        json_t *j = metadata ? json_loads(metadata, 0, NULL) : NULL, *v;
        const char *key;
        json_object_foreach(j, key, v) print_field(key, v);
        json_decref(j);
        putchar('\n');
        inspect_cells_print(&s.c, col, CLI_COUNT(col));
    }
    inspect_cells_free(&s.c);
    free(metadata);
    return cli_exit_code(st);
}

static bool holds(const char *folder, const char *name)
{
    char *path = join(folder, name);
    bool yes = cli_exists(path);
    free(path);
    return yes;
}

int inspect_folder(const char *folder)
{
    if (holds(folder, "run.json")) return print_json_file(folder, "run.json", "a run");
    if (!holds(folder, "state.json"))
        return inspect_damaged(folder,
                               "a folder without run.json (a run) or state.json (a checkpoint)");
    int rc = print_json_file(folder, "state.json", "a checkpoint");
    putchar('\n');
    char *path = join(folder, "model.safetensors");
    int rc_model = inspect_safetensors(path);
    free(path);
    return rc ? rc : rc_model;
}
