/* inspect: folders - runs, checkpoints, models, adapters, shards - and the safetensors in them. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "inspect.h"

/* ---- JSON objects ---- */

static void print_text(const char *key, int width, const char *text)
{
    if (!strchr(text, '\n')) {
        printf("  %-*s %s\n", width, key, text);
        return;
    }
    printf("  %s\n", key);
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        printf("    %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void print_field(const char *key, int width, const json_t *v)
{
    char *json = NULL;
    const char *text = json_is_string(v)    ? json_string_value(v)
                       : json_is_integer(v) ? cli_text("%lld", (long long)json_integer_value(v))
                       : json_is_real(v)    ? cli_text("%.6g", json_real_value(v))
                       : json_is_null(v)    ? ""
                                         : (json = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY));
    if (json_is_integer(v) && json_integer_value(v) >= 0)
        text = cli_count((uint64_t)json_integer_value(v));
    char *name = cli_harmless(key, strlen(key));
    char *shown = text ? cli_harmless(text, strlen(text)) : NULL;
    if (name && shown && *shown) print_text(name, width, shown);
    free(name);
    free(shown);
    free(json);
}

/* Prints the fields of an object, one a line; it only counts checksums: a file has one a tensor. */
static void print_fields(json_t *object)
{
    const char *key;
    json_t *v;
    int width = 16;
    size_t n_sums = 0;
    json_object_foreach(object, key, v)
    {
        int n = (int)strlen(key);
        if (n > width && n <= 32 && strncmp(key, "crc32.", 6) != 0) width = n;
    }
    json_object_foreach(object, key, v)
    {
        if (!strncmp(key, "crc32.", 6))
            n_sums++;
        else if (strcmp(key, "schema") != 0)
            print_field(key, width, v);
    }
    if (n_sums) printf("  %-*s CRC-32 of %s tensors\n", width, "checksums", cli_count(n_sums));
}

/* FOLDER/NAME; the caller frees. */
static char *join(const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = cli_grow(NULL, bytes);
    snprintf(path, bytes, "%s/%s", folder, name);
    return path;
}

static int print_json_file(const char *folder, const char *name, const char *what)
{
    char *path = join(folder, name);
    json_error_t e;
    json_t *j = json_load_file(path, 0, &e);
    int rc = CLI_OK;
    if (!json_is_object(j)) {
        rc = inspect_damaged(path, j ? "no JSON object" : e.text);
    } else {
        printf("%s%s%s: %s\n", cli_color(stdout, CLI_BOLD), folder, cli_color(stdout, CLI_PLAIN),
               what);
        print_fields(j);
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
        json_t *j = metadata ? json_loads(metadata, 0, NULL) : NULL;
        print_fields(j);
        json_decref(j);
        putchar('\n');
        inspect_cells_print(&s.c, col, CLI_COUNT(col));
    }
    inspect_cells_free(&s.c);
    vkt_free(metadata);
    return cli_exit_code(st);
}

static bool holds(const char *folder, const char *name)
{
    char *path = join(folder, name);
    bool yes = cli_exists(path);
    free(path);
    return yes;
}

/* ---- folders ---- */

static bool holds_tokenizer(const char *folder)
{
    return holds(folder, "tokenizer.json") || holds(folder, "vocab.bpe") ||
           holds(folder, "merges.txt");
}

static int print_weights(const char *folder, const char *name)
{
    char *path = join(folder, name);
    putchar('\n');
    int rc = inspect_safetensors(path);
    free(path);
    return rc;
}

/* The files that model.safetensors.index.json names, each once. */
static int print_weights_of_index(const char *folder)
{
    char *path = join(folder, "model.safetensors.index.json");
    json_t *j = json_load_file(path, 0, NULL), *seen = json_object(), *v;
    json_t *map = json_object_get(j, "weight_map");
    const char *key;
    int rc = json_is_object(map) ? CLI_OK : inspect_damaged(path, "no weight_map in it");
    json_object_foreach(map, key, v)
    {
        const char *name = json_string_value(v);
        if (!name || strpbrk(name, "/\\")) {
            rc = inspect_damaged(path, "its weight_map names a file outside the folder");
            break;
        }
        if (json_object_get(seen, name)) continue;
        json_object_set_new(seen, name, json_true());
        int one = print_weights(folder, name);
        if (rc == CLI_OK) rc = one;
    }
    json_decref(seen);
    json_decref(j);
    free(path);
    return rc;
}

static int print_model(const char *folder)
{
    int rc = print_json_file(folder, "config.json", "a Hugging Face model");
    if (holds_tokenizer(folder)) {
        putchar('\n');
        int of_tokenizer = inspect_tokenizer(folder);
        if (rc == CLI_OK) rc = of_tokenizer;
    }
    int of_weights = holds(folder, "model.safetensors.index.json")
                         ? print_weights_of_index(folder)
                         : print_weights(folder, "model.safetensors");
    return rc ? rc : of_weights;
}

/* As vktrain pack names them. */
static int print_shards(const char *folder)
{
    int rc = CLI_OK;
    for (unsigned i = 0;; i++) {
        char name[32];
        snprintf(name, sizeof name, "shard-%05u.tok", i);
        if (!holds(folder, name)) return rc;
        char *path = join(folder, name);
        int one = inspect_shard(path);
        if (rc == CLI_OK) rc = one;
        free(path);
    }
}

/* What other commands show. */
static const char *shown_by_another(const char *folder)
{
    vkt_run_info *list = NULL;
    size_t n = 0;
    if (holds(folder, "study.json"))
        return cli_text("a study: `vktrain report '%s'` shows it", folder);
    size_t at = strlen(folder), direct = 0;
    while (at && folder[at - 1] == '/') at--;
    if (vkt_runs_list(folder, &list, &n) != VKT_OK) n = 0;
    for (size_t i = 0; i < n; i++) {
        const char *rest = list[i].dir + at;
        direct += !strchr(rest + strspn(rest, "/"), '/');
    }
    vkt_runs_free(&list);
    return direct ? cli_text("holds runs: `vktrain runs '%s'` lists them", folder) : NULL;
}

int inspect_folder(const char *folder)
{
    if (holds(folder, "run.json")) return print_json_file(folder, "run.json", "a run");
    if (holds(folder, "state.json")) {
        int rc = print_json_file(folder, "state.json", "a checkpoint");
        int of_weights = print_weights(folder, "model.safetensors");
        return rc ? rc : of_weights;
    }
    if (holds(folder, "config.json")) return print_model(folder);
    if (holds(folder, "adapter_config.json")) {
        int rc = print_json_file(folder, "adapter_config.json", "a PEFT adapter");
        int of_weights = print_weights(folder, "adapter_model.safetensors");
        return rc ? rc : of_weights;
    }
    if (holds(folder, "shard-00000.tok")) return print_shards(folder);
    if (holds_tokenizer(folder)) return inspect_tokenizer(folder);
    const char *other = shown_by_another(folder);
    if (other) return inspect_damaged(folder, other);
    vkt_source_info source;
    if (vkt_source_of(folder, &source) == VKT_LIKE_CONTENT) return inspect_source(folder, &source);
    return inspect_damaged(folder, "neither a run (run.json), a checkpoint (state.json), a Hugging "
                                   "Face model (config.json), an adapter (adapter_config.json), "
                                   "shards of tokens (shard-00000.tok), a tokenizer nor data that "
                                   "`vktrain init` would know by its content");
}
