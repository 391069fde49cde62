/* vktrain inspect: what a file holds, found by its content: safetensors, GGUF, IDX, CSV (each of
 * the last two may be gzipped), a shard of tokens, a tokenizer, a run folder, a checkpoint folder.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "cli.h"

/* A growing list of table cells; each is a copy. */
typedef struct cells {
    char **text;
    size_t n;
    bool failed;
} cells;

static void add_cell(cells *c, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char **grown = c->failed ? NULL : realloc(c->text, (c->n + 1) * sizeof *grown);
    if (grown) c->text = grown;
    if (!grown || !(grown[c->n] = malloc(bytes)))
        c->failed = true;
    else
        memcpy(grown[c->n++], text, bytes);
}

static void free_cells(cells *c)
{
    for (size_t i = 0; i < c->n; i++) free(c->text[i]);
    free(c->text);
    *c = (cells) { 0 };
}

static void print_cells(const cells *c, const cli_column *col, size_t n_cols)
{
    if (!c->failed) cli_table(stdout, col, n_cols, (const char *const *)c->text, c->n / n_cols);
}

static int damaged(const char *path, const char *why)
{
    cli_error("'%s': %s", path, why);
    return CLI_DATA;
}

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
        rc = damaged(path, j ? "no JSON object" : e.text);
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
    cells c;
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
    add_cell(&s->c, t->name);
    add_cell(&s->c, t->dtype);
    add_cell(&s->c, shape);
    add_cell(&s->c, cli_count(count));
    add_cell(&s->c, cli_bytes(t->bytes));
    s->n_values += count;
    s->bytes += t->bytes;
    s->n++;
}

static int inspect_safetensors(const char *path)
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
        print_cells(&s.c, col, CLI_COUNT(col));
    }
    free_cells(&s.c);
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

static int inspect_folder(const char *folder)
{
    if (holds(folder, "run.json")) return print_json_file(folder, "run.json", "a run");
    if (!holds(folder, "state.json"))
        return damaged(folder, "a folder without run.json (a run) or state.json (a checkpoint)");
    int rc = print_json_file(folder, "state.json", "a checkpoint");
    putchar('\n');
    char *path = join(folder, "model.safetensors");
    int rc_model = inspect_safetensors(path);
    free(path);
    return rc ? rc : rc_model;
}

/* ---- IDX ---- */

static int inspect_idx(const char *path, gzFile f, const unsigned char head[4])
{
    static const struct {
        int code, bytes;
        const char *name;
    } types[] = { { 8, 1, "uint8" },  { 9, 1, "int8" },     { 11, 2, "int16" },
                  { 12, 4, "int32" }, { 13, 4, "float32" }, { 14, 8, "float64" } };
    size_t t = 0;
    uint64_t count = 1, got = 0;
    while (t < CLI_COUNT(types) && types[t].code != head[2]) t++;
    if (t == CLI_COUNT(types))
        return damaged(path, cli_text("IDX of unknown type 0x%02x", head[2]));
    printf("%s%s%s: IDX, %s [", cli_color(stdout, CLI_BOLD), path, cli_color(stdout, CLI_PLAIN),
           types[t].name);
    for (int i = 0; i < head[3]; i++) {
        unsigned char d[4];
        if (gzread(f, d, 4) != 4) return putchar('\n'), damaged(path, "ends within its header");
        uint64_t n = (uint64_t)d[0] << 24 | (uint64_t)d[1] << 16 | (uint64_t)d[2] << 8 | d[3];
        printf("%s%llu", i ? ", " : "", (unsigned long long)n);
        count = n && count > UINT64_MAX / 16 / n ? UINT64_MAX / 16 : count * n;
    }
    count *= (uint64_t)types[t].bytes;
    unsigned char buf[65536];
    unsigned lowest = 255, highest = 0;
    double sum = 0;
    int n;
    while ((n = gzread(f, buf, sizeof buf)) > 0) {
        got += (uint64_t)n;
        for (int i = 0; i < n; i++) {
            if (buf[i] < lowest) lowest = buf[i];
            if (buf[i] > highest) highest = buf[i];
            sum += buf[i];
        }
    }
    printf("], %s\n", cli_bytes(count));
    if (n < 0) return damaged(path, "its gzip data is damaged");
    if (got != count)
        return damaged(path, cli_text("its header promises %s bytes of data, it holds %s",
                                      cli_count(count), cli_count(got)));
    if (head[2] == 8 && got)
        printf("  values %u to %u, mean %.4g\n", lowest, highest, sum / (double)got);
    return CLI_OK;
}

/* ---- CSV ---- */

typedef struct column {
    char *name;
    uint64_t n_numbers, n_text, n_missing;
    double low, high;
    bool first_is_number;
} column;

enum { MAX_LINE = 1 << 22, MAX_COLUMNS = 16384 };

/* The next field of a line, in place; quotes removed. NULL past the end. */
static char *next_field(char **at, char delimiter)
{
    char *p = *at, *out = p, *start = p;
    bool quoted = false;
    if (!p) return NULL;
    for (; *p && (quoted || *p != delimiter); p++) {
        if (*p != '"')
            *out++ = *p;
        else if (quoted && p[1] == '"')
            *out++ = *p++;
        else
            quoted = !quoted;
    }
    *at = *p ? p + 1 : NULL;
    *out = 0;
    return start;
}

static bool is_missing(const char *s)
{
    while (*s == ' ') s++;
    return !*s || !strcmp(s, "NA") || !strcmp(s, "NaN") || !strcmp(s, "nan") || !strcmp(s, "?");
}

static bool is_number(const char *s, double *v)
{
    char *end;
    *v = strtod(s, &end);
    if (end == s) return false;
    while (*end == ' ') end++;
    return !*end;
}

static char find_delimiter(const char *line)
{
    static const char candidates[] = { ',', ';', '\t' };
    size_t best = 0, best_n = 0;
    for (size_t i = 0; i < sizeof candidates; i++) {
        size_t n = 0;
        for (const char *p = line; *p; p++) n += *p == candidates[i];
        if (n > best_n) best = i, best_n = n;
    }
    return candidates[best];
}

/* One line into the columns; the first gives names and their number. */
static const char *csv_line(char *line, char delimiter, uint64_t line_number, column *col,
                            size_t *n_cols)
{
    size_t i = 0;
    double v;
    for (char *at = line, *s; (s = next_field(&at, delimiter)); i++) {
        if (i >= (line_number == 1 ? MAX_COLUMNS : *n_cols))
            return "has more columns than the first";
        column *c = &col[i];
        if (line_number == 1) {
            size_t bytes = strlen(s) + 1;
            if (!(c->name = malloc(bytes))) return "out of memory";
            memcpy(c->name, s, bytes);
            c->first_is_number = is_missing(s) || is_number(s, &v);
            continue;
        }
        if (is_missing(s))
            c->n_missing++;
        else if (!is_number(s, &v))
            c->n_text++;
        else {
            if (!c->n_numbers || v < c->low) c->low = v;
            if (!c->n_numbers || v > c->high) c->high = v;
            c->n_numbers++;
        }
    }
    if (line_number == 1) *n_cols = i;
    return i < *n_cols ? "has fewer columns than the first" : NULL;
}

static void print_columns(const column *col, size_t n, bool header)
{
    static const cli_column title[] = { { "column", true, 0 }, { "name", false, 40 },
                                        { "kind", false, 0 },  { "missing", true, 0 },
                                        { "least", true, 0 },  { "largest", true, 0 } };
    cells c = { 0 };
    for (size_t i = 0; i < n; i++) {
        bool number = col[i].n_text == 0 && col[i].n_numbers;
        add_cell(&c, cli_text("%zu", i));
        add_cell(&c, header ? col[i].name : "-");
        add_cell(&c, number ? "number" : col[i].n_text ? "text" : "empty");
        add_cell(&c, cli_count(col[i].n_missing));
        add_cell(&c, number ? cli_text("%.6g", col[i].low) : "-");
        add_cell(&c, number ? cli_text("%.6g", col[i].high) : "-");
    }
    print_cells(&c, title, CLI_COUNT(title));
    free_cells(&c);
}

static int inspect_csv(const char *path, gzFile f)
{
    char *line = malloc(MAX_LINE), delimiter = ',';
    column *col = calloc(MAX_COLUMNS, sizeof *col);
    size_t n_cols = 0;
    uint64_t n = 0;
    int rc = line && col ? CLI_OK : CLI_MEMORY;
    while (rc == CLI_OK && gzgets(f, line, MAX_LINE)) {
        size_t len = strlen(line);
        if (len + 1 == MAX_LINE) rc = damaged(path, "no CSV: a line of more than 4 MiB");
        while (len && (line[len - 1] == '\n' || line[len - 1] == '\r')) line[--len] = 0;
        if (!len) continue;
        for (size_t i = 0; i < len && rc == CLI_OK; i++)
            if ((unsigned char)line[i] < 32 && line[i] != '\t')
                rc = damaged(path, "neither safetensors, IDX nor text");
        if (rc) break;
        if (!n++) delimiter = find_delimiter(line);
        const char *why = csv_line(line, delimiter, n, col, &n_cols);
        if (why) rc = damaged(path, cli_text("line %s %s (%zu)", cli_count(n), why, n_cols));
    }
    if (rc == CLI_OK && !n) rc = damaged(path, "is empty");
    if (rc == CLI_OK) {
        /* A first line is a header when it has text where the rows below have numbers. */
        bool header = false;
        for (size_t i = 0; i < n_cols; i++)
            header |= !col[i].first_is_number && col[i].n_numbers && !col[i].n_text;
        printf("%s%s%s: CSV, %s rows of %zu columns, %s, '%s' between them\n\n",
               cli_color(stdout, CLI_BOLD), path, cli_color(stdout, CLI_PLAIN),
               cli_count(n - header), n_cols, header ? "with a header line" : "no header line",
               delimiter == '\t' ? "tab" : cli_text("%c", delimiter));
        print_columns(col, n_cols, header);
    }
    for (size_t i = 0; i < n_cols; i++) free(col[i].name);
    free(col);
    free(line);
    return rc;
}

/* ---- text: shards of tokens, tokenizers ---- */

static int inspect_shard(const char *path)
{
    vkt_shard_info s;
    vkt_status st = vkt_shard_info_read(path, &s);
    if (st != VKT_OK) return cli_exit_code(st);
    printf("%s%s%s: a shard of %s tokens, %u bytes each", cli_color(stdout, CLI_BOLD), path,
           cli_color(stdout, CLI_PLAIN), cli_count(s.n_tokens), s.width);
    if (s.llmc) {
        printf(", of llm.c: whose tokens it does not say\n");
        return CLI_OK;
    }
    printf("\n  %-16s %s\n  %-16s %s, %s in the vocabulary, hash %016llx\n", "documents",
           cli_count(s.n_documents), "tokenizer", s.tokenizer_kind, cli_count(s.n_vocab),
           (unsigned long long)s.tokenizer_hash);
    if (!s.counts_all) printf("  %-16s %s tokens\n", "not in the loss", cli_count(s.n_uncounted));
    return CLI_OK;
}

static int inspect_tokenizer(const char *path)
{
    vkt_tokenizer *t;
    size_t longest = 0, n;
    vkt_status st = vkt_tokenizer_open(path, &t);
    if (st != VKT_OK) return cli_exit_code(st);
    const vkt_tokenizer_info *info = vkt_tokenizer_get_info(t);
    for (uint32_t i = 0; i < info->n_vocab; i++)
        if (vkt_tokenizer_bytes(t, i, &n) && n > longest) longest = n;
    printf("%s%s%s: a tokenizer, %s\n", cli_color(stdout, CLI_BOLD), path,
           cli_color(stdout, CLI_PLAIN), info->kind);
    printf("  %-16s %s\n", "vocabulary", cli_count(info->n_vocab));
    printf("  %-16s %s\n", "merges", cli_count(info->n_merges));
    printf("  %-16s %s\n", "added tokens", cli_count(info->n_added));
    printf("  %-16s %s bytes\n", "longest token", cli_count(longest));
    if (info->end != VKT_NO_TOKEN)
        printf("  %-16s %u '%s'\n", "between documents", info->end,
               vkt_tokenizer_bytes(t, info->end, &n));
    printf("  %-16s %016llx\n", "hash", (unsigned long long)info->hash);
    vkt_tokenizer_destroy(&t);
    return CLI_OK;
}

/* 20240520 and 20240801, little endian. */
static bool is_llmc(const unsigned char head[4])
{
    return !memcmp(head, "\x88\xd8\x34\x01", 4) || !memcmp(head, "\xa1\xd9\x34\x01", 4);
}

static bool is_tokenizer(const char *path)
{
    static const char *const ends[] = { ".tiktoken", "encoder.json", "vocab.bpe" };
    for (size_t i = 0; i < CLI_COUNT(ends); i++) {
        size_t n = strlen(path), k = strlen(ends[i]);
        if (n >= k && !strcmp(path + n - k, ends[i])) return true;
    }
    json_t *j = json_load_file(path, 0, NULL);
    bool yes = json_object_get(json_object_get(j, "model"), "type") != NULL;
    json_decref(j);
    return yes;
}

/* ---- GGUF ---- */

static void add_value(void *user, const char *key, const char *value)
{
    cells *c = user;
    add_cell(&c[0], key);
    add_cell(&c[0], value);
}

static void add_gguf_tensor(void *user, const vkt_tensor_info *t)
{
    cells *c = user;
    char shape[128] = "[", *p = shape + 1;
    for (uint32_t i = 0; i < t->rank; i++)
        p += snprintf(p, sizeof shape - (size_t)(p - shape), "%s%llu", i ? ", " : "",
                      (unsigned long long)t->shape[i]);
    snprintf(p, sizeof shape - (size_t)(p - shape), "]");
    add_cell(&c[1], t->name ? t->name : "");
    add_cell(&c[1], t->dtype);
    add_cell(&c[1], shape);
}

static int inspect_gguf(const char *path)
{
    static const cli_column values[] = { { "key", false, 48 }, { "value", false, 0 } },
                            columns[] = { { "tensor", false, 0 },
                                          { "type", false, 0 },
                                          { "shape", false, 0 } };
    cells c[2] = { { 0 }, { 0 } };
    vkt_gguf_visitor v = { add_value, add_gguf_tensor, c };
    vkt_status st = vkt_gguf_list(path, &v);
    if (st == VKT_OK) {
        printf("%s%s%s: GGUF, %s tensors\n", cli_color(stdout, CLI_BOLD), path,
               cli_color(stdout, CLI_PLAIN), cli_count(c[1].n / CLI_COUNT(columns)));
        print_cells(&c[0], values, CLI_COUNT(values));
        putchar('\n');
        print_cells(&c[1], columns, CLI_COUNT(columns));
    }
    free_cells(&c[0]);
    free_cells(&c[1]);
    return cli_exit_code(st);
}

/* ---- the command ---- */

static int inspect(const char *path)
{
    unsigned char head[9] = { 0 };
    if (cli_is_folder(path)) return inspect_folder(path);
    gzFile f = gzopen(path, "rb");
    if (!f) return damaged(path, strerror(errno));
    int n = gzread(f, head, sizeof head), rc;
    if (n >= 9 && head[8] == '{' && !head[7] && !head[6] && !head[5]) {
        rc = inspect_safetensors(path);
    } else if (n >= 4 && !memcmp(head, "GGUF", 4)) {
        rc = inspect_gguf(path);
    } else if (n >= 4 && !head[0] && !head[1] && head[2] >= 8 && head[2] <= 14 && head[3]) {
        gzseek(f, 4, SEEK_SET);
        rc = inspect_idx(path, f, head);
    } else if (n >= 8 && (!memcmp(head, "VKTTOK1\n", 8) || is_llmc(head))) {
        rc = inspect_shard(path);
    } else if (is_tokenizer(path)) {
        rc = inspect_tokenizer(path);
    } else {
        gzrewind(f);
        rc = n < 0 ? damaged(path, "its gzip data is damaged") : inspect_csv(path, f);
    }
    gzclose(f);
    return rc;
}

typedef struct inspect_options {
    cli_options common;
    const char *augment;
    cli_list set;
} inspect_options;

#define AT(field) offsetof(inspect_options, field)
static const cli_flag flags[] = {
    { "--augment", CLI_TEXT, AT(augment), "SHEET.png", NULL,
      "FILE is a recipe: draw training images as they are and as the model will see them" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL, "with --augment: change the recipe" },
    { 0 },
};

static int draw_augmented(const inspect_options *o)
{
    vkt_config *c = NULL;
    vkt_dataset *ds = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_load(c, o->common.args[0]);
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_dataset_open(&c->data, &ds);
    if (st == VKT_OK) st = vkt_dataset_augment_sheet(ds, &c->augment, c->seed, o->augment);
    if (st == VKT_OK)
        printf("%s: 40 training images, above as they are, below augmented\n", o->augment);
    vkt_dataset_destroy(&ds);
    vkt_config_destroy(&c);
    return cli_exit_code(st);
}

static int run(void *options)
{
    const inspect_options *with = options;
    const cli_options *o = options;
    int rc = CLI_OK;
    if (with->augment && o->n_args == 1) return draw_augmented(with);
    if (with->augment || with->set.n) {
        cli_error("inspect: --augment takes one recipe; --set is for it");
        return CLI_USAGE;
    }
    for (size_t i = 0; i < o->n_args; i++) {
        if (i) putchar('\n');
        int one = inspect(o->args[i]);
        if (rc == CLI_OK) rc = one;
    }
    return rc;
}

const cli_command cmd_inspect = {
    .name = "inspect",
    .args = "FILE...",
    .summary = "what a file or a run holds",
    .details =
        "FILE is a safetensors, GGUF, IDX or CSV file (the last two may be gzipped), a shard of "
        "tokens, a tokenizer, a run folder, or a checkpoint folder; with --augment a recipe.",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .flags = flags,
    .options_bytes = sizeof(inspect_options),
    .run = run,
};
