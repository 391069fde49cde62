/* vktrain runs: the experiment table, as the tuning playbook keeps it: filtered, sorted, compared,
 * for people and for programs. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct runs_options {
    cli_options common;
    bool json, csv, markdown, compare;
    cli_list filter, show;
    const char *sort;
} runs_options;

#define AT(field) offsetof(runs_options, field)
static const cli_flag flags[] = {
    { "--filter", CLI_LIST, AT(filter), "KEY=VALUE", NULL,
      "only runs for which it holds; also != < > <= >= and ~ (contains); may be repeated" },
    { "--sort", CLI_TEXT, AT(sort), "KEY", "started", "in rising order; -KEY: falling" },
    { "--show", CLI_LIST, AT(show), "KEY", NULL, "a column more; may be repeated" },
    { "--compare", CLI_BOOL, AT(compare), NULL, NULL,
      "two to six runs side by side: results, and the options that differ" },
    { "--csv", CLI_BOOL, AT(csv), NULL, NULL, "as CSV, every field" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "as JSON, every field" },
    { "--markdown", CLI_BOOL, AT(markdown), NULL, NULL, "as a markdown table" },
    { 0 },
};

static const char details[] =
    "Every run under DIR, by default the folder runs; runs of studies too.\n"
    "KEY is run, name, note, status, step, total, metric, best, best_step, test_loss, "
    "test_accuracy,\n"
    "test_mae, items_per_s, seconds, started, device, recipe, commit, changes, command, error, or "
    "an\n"
    "option of a recipe, as optim.lr.\n"
    "examples: vktrain runs --filter status=done --sort -best --show optim.lr\n"
    "          vktrain runs --filter optim.lr>0.001 --filter name~digits --csv\n"
    "          vktrain runs runs/a runs/b --compare";

/* ---- what a run says ---- */

typedef struct row {
    const vkt_run_info *r;
    vkt_config *config; /* read when an option is asked for; NULL: not read, or not readable */
    bool tried;
} row;

typedef struct table {
    row *rows;
    size_t n;
    vkt_run_info **lists;
    size_t n_lists;
} table;

#define TEXT(name, field)                                                                          \
    {                                                                                              \
        name, offsetof(vkt_run_info, field), 't'                                                   \
    }
#define COUNT(name, field)                                                                         \
    {                                                                                              \
        name, offsetof(vkt_run_info, field), 'c'                                                   \
    }
#define NUMBER(name, field)                                                                        \
    {                                                                                              \
        name, offsetof(vkt_run_info, field), 'n'                                                   \
    }
typedef struct field {
    const char *name;
    size_t at;
    char type;
} field;
static const field fields[] = {
    TEXT("run", dir),
    TEXT("name", name),
    TEXT("status", status),
    COUNT("step", step),
    COUNT("total", total),
    TEXT("metric", metric),
    NUMBER("best", best_metric),
    NUMBER("test_accuracy", test_accuracy),
    NUMBER("items_per_s", items_per_s),
    TEXT("started", started),
    TEXT("device", device),
    TEXT("note", note),
    TEXT("command", command),
    TEXT("error", error),
    NUMBER("test_mae", test_mae),
    COUNT("best_step", best_step),
    NUMBER("test_loss", test_loss),
    NUMBER("seconds", seconds),
    TEXT("recipe", recipe),
    TEXT("commit", commit),
    TEXT("changes", changes),
};

/* A field's or option's place; 0.. fields, then options; -1: there is none. */
static int find_key(const char *key)
{
    vkt_option_info o;
    for (size_t i = 0; i < CLI_COUNT(fields); i++)
        if (!strcmp(fields[i].name, key)) return (int)i;
    for (size_t i = 0; vkt_option(i, &o); i++)
        if (!strcmp(o.name, key)) return (int)(CLI_COUNT(fields) + i);
    return -1;
}

static int known_key(const char *key, int *out)
{
    const char *names[CLI_COUNT(fields) + 200];
    size_t n = 0;
    vkt_option_info o;
    *out = find_key(key);
    if (*out >= 0) return 0;
    for (; n < CLI_COUNT(fields); n++) names[n] = fields[n].name;
    for (size_t i = 0; i < 200 && vkt_option(i, &o); i++) names[n++] = o.name;
    const char *near = vkt_nearest(key, names, n);
    cli_error("runs: '%s' is no field of a run and no option of a recipe%s%s%s", key,
              near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return CLI_USAGE;
}

static const vkt_config *config_of(row *x)
{
    if (x->tried || !x->r->config) return x->config;
    x->tried = true;
    if (vkt_config_create(&x->config) == VKT_OK &&
        vkt_config_parse(x->config, x->r->config, strlen(x->r->config), x->r->dir) != VKT_OK)
        vkt_config_destroy(&x->config);
    return x->config;
}

/* The value as text into out; "" where there is none. Number fields in full precision. */
static void value(row *x, int key, char *out, size_t n)
{
    const char *at = (const char *)x->r;
    out[0] = 0;
    if (key >= (int)CLI_COUNT(fields)) {
        const vkt_config *c = config_of(x);
        char *v = c ? vkt_option_value(c, (size_t)key - CLI_COUNT(fields)) : NULL;
        size_t quoted = v && v[0] == '"' && v[strlen(v) - 1] == '"' && strlen(v) > 1;
        if (v) snprintf(out, n, "%.*s", (int)(strlen(v) - 2 * quoted), v + quoted);
        free(v);
        return;
    }
    at += fields[key].at;
    const char *text;
    uint64_t count;
    double number;
    switch (fields[key].type) {
    case 't':
        memcpy(&text, at, sizeof text);
        snprintf(out, n, "%s", text ? text : "");
        break;
    case 'c':
        memcpy(&count, at, sizeof count);
        snprintf(out, n, "%llu", (unsigned long long)count);
        break;
    default:
        memcpy(&number, at, sizeof number);
        if (isfinite(number)) snprintf(out, n, "%.9g", number);
    }
}

static bool number_of(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && !*end;
}

/* Numbers by size, all else by letters; what is missing comes last. */
static int order(const char *a, const char *b)
{
    double x, y;
    if (!*a || !*b) return !*a - !*b;
    if (number_of(a, &x) && number_of(b, &y)) return (x > y) - (x < y);
    return strcmp(a, b);
}

/* ---- filters ---- */

typedef struct filter {
    int key;
    char op; /* = ! < > l(<=) g(>=) ~ */
    const char *value;
} filter;

static int parse_filter(const char *text, filter *out)
{
    size_t n = strcspn(text, "=!<>~");
    char c = text[n], key[64];
    size_t skip = 1;
    if (!c || !n || n >= sizeof key || (c == '!' && text[n + 1] != '=')) {
        cli_error("runs: --filter %s: KEY=VALUE is expected, or != < > <= >= ~", text);
        return CLI_USAGE;
    }
    out->op = c;
    if ((c == '<' || c == '>') && text[n + 1] == '=') out->op = c == '<' ? 'l' : 'g', skip = 2;
    if (c == '!') skip = 2;
    snprintf(key, sizeof key, "%.*s", (int)n, text);
    out->value = text + n + skip;
    return known_key(key, &out->key);
}

static bool passes(row *x, const filter *f)
{
    char text[600];
    value(x, f->key, text, sizeof text);
    if (f->op == '~') return strstr(text, f->value) != NULL;
    if (!*text && *f->value) return f->op == '!';
    int c = order(text, f->value);
    switch (f->op) {
    case '=':
        return c == 0;
    case '!':
        return c != 0;
    case '<':
        return c < 0;
    case '>':
        return c > 0;
    case 'l':
        return c <= 0;
    default:
        return c >= 0;
    }
}

static int apply_filters(const runs_options *o, table *t)
{
    for (size_t i = 0; i < o->filter.n; i++) {
        filter f;
        size_t k = 0;
        int rc = parse_filter(o->filter.item[i], &f);
        if (rc) return rc;
        for (size_t r = 0; r < t->n; r++) {
            if (passes(&t->rows[r], &f))
                t->rows[k++] = t->rows[r];
            else
                vkt_config_destroy(&t->rows[r].config);
        }
        t->n = k;
    }
    return 0;
}

/* ---- sorting: keys are read once ---- */

typedef struct keyed {
    char *key;
    size_t at;
    bool falling;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int c = order(x->key, y->key);
    if (x->falling && *x->key && *y->key) c = -c;
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

static int sort_rows(const runs_options *o, table *t)
{
    int key;
    bool falling = o->sort && o->sort[0] == '-';
    if (!o->sort || !t->n) return 0;
    int rc = known_key(o->sort + falling, &key);
    if (rc) return rc;
    keyed *k = calloc(t->n, sizeof *k);
    row *rows = calloc(t->n, sizeof *rows);
    char text[600];
    for (size_t i = 0; k && rows && i < t->n; i++) {
        value(&t->rows[i], key, text, sizeof text);
        char *copy = malloc(strlen(text) + 1);
        if (copy) strcpy(copy, text);
        k[i] = (keyed) { copy, i, falling };
        if (!copy) rc = CLI_MEMORY;
    }
    if (k && rows && !rc) {
        qsort(k, t->n, sizeof *k, by_key);
        for (size_t i = 0; i < t->n; i++) rows[i] = t->rows[k[i].at];
        memcpy(t->rows, rows, t->n * sizeof *rows);
    }
    for (size_t i = 0; k && i < t->n; i++) free(k[i].key);
    free(k);
    free(rows);
    return rc;
}

/* ---- for programs ---- */

static void print_csv(const runs_options *o, table *t)
{
    char text[8192];
    for (size_t f = 0; f < CLI_COUNT(fields); f++) printf("%s%s", f ? "," : "", fields[f].name);
    for (size_t s = 0; s < o->show.n; s++) printf(",%s", o->show.item[s]);
    putchar('\n');
    for (size_t i = 0; i < t->n; i++) {
        for (size_t f = 0; f < CLI_COUNT(fields) + o->show.n; f++) {
            int key =
                f < CLI_COUNT(fields) ? (int)f : find_key(o->show.item[f - CLI_COUNT(fields)]);
            value(&t->rows[i], key, text, sizeof text);
            if (f) putchar(',');
            cli_csv(stdout, text);
        }
        putchar('\n');
    }
}

static json_t *run_json(const runs_options *o, row *x)
{
    json_t *j = json_object();
    char text[8192];
    for (size_t f = 0; f < CLI_COUNT(fields); f++) {
        const char *at = (const char *)x->r + fields[f].at, *s;
        uint64_t count;
        double number;
        json_t *v;
        if (fields[f].type == 't') {
            memcpy(&s, at, sizeof s);
            v = s ? json_string(s) : json_null();
        } else if (fields[f].type == 'c') {
            memcpy(&count, at, sizeof count);
            v = json_integer((json_int_t)count);
        } else {
            memcpy(&number, at, sizeof number);
            v = cli_json_number(number);
        }
        json_object_set_new(j, fields[f].name, v);
    }
    for (size_t s = 0; s < o->show.n; s++) {
        value(x, find_key(o->show.item[s]), text, sizeof text);
        json_object_set_new(j, o->show.item[s], json_string(text));
    }
    return j;
}

static void print_json(const runs_options *o, table *t)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < t->n; i++) json_array_append_new(runs, run_json(o, &t->rows[i]));
    cli_json_print(json_pack("{s:o}", "runs", runs), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

/* ---- for people ---- */

static const char *metric_text(const vkt_run_info *r, double v)
{
    return r->metric && !strcmp(r->metric, "accuracy") ? cli_percent(v) : cli_number(v);
}

static const char *test_text(const vkt_run_info *r)
{
    if (isfinite(r->test_accuracy)) return cli_percent(r->test_accuracy);
    if (isfinite(r->test_mae)) return cli_text("mae %s", cli_number(r->test_mae));
    return isfinite(r->test_loss) ? cli_text("loss %s", cli_number(r->test_loss)) : "-";
}

enum { FIXED = 9, MAX_SHOWN = 6, WIDTH = 256 };
static const cli_column columns[FIXED] = { { "run", false, 48 },          { "name", false, 20 },
                                           { "status", false, 12 },       { "steps", true, 0 },
                                           { "metric", false, 10 },       { "best", true, 0 },
                                           { "test", true, 0 },           { "device", false, 24 },
                                           { "started (UTC)", false, 16 } };

static void fill_row(const runs_options *o, row *x, char text[][WIDTH])
{
    const vkt_run_info *r = x->r;
    const char *t = r->started ? r->started : "";
    const char *const v[FIXED] = {
        r->dir,
        r->name ? r->name : "",
        r->status ? r->status : "damaged",
        r->total ? cli_text("%llu/%llu", (unsigned long long)r->step, (unsigned long long)r->total)
                 : "-",
        r->metric ? r->metric : "-",
        metric_text(r, r->best_metric),
        test_text(r),
        r->device ? r->device : "-",
        *t ? cli_text("%.10s %.5s", t, strlen(t) > 16 ? t + 11 : "") : "-",
    };
    for (size_t k = 0; k < FIXED; k++) snprintf(text[k], WIDTH, "%s", v[k]);
    for (size_t s = 0; s < o->show.n && s < MAX_SHOWN; s++) {
        value(x, find_key(o->show.item[s]), text[FIXED + s], WIDTH);
        if (!*text[FIXED + s]) strcpy(text[FIXED + s], "-");
    }
}

static void markdown_row(const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs("| ", stdout);
        for (const char *p = cells[i]; *p; p++) {
            if (*p == '|') putchar('\\');
            putchar(*p == '\n' ? ' ' : *p);
        }
        putchar(' ');
    }
    puts("|");
}

static void print_text(const runs_options *o, table *t)
{
    size_t n_cols = FIXED + (o->show.n < MAX_SHOWN ? o->show.n : MAX_SHOWN);
    cli_column col[FIXED + MAX_SHOWN];
    char(*text)[WIDTH] = calloc((t->n + 1) * n_cols, sizeof *text);
    const char **cell = calloc((t->n + 1) * n_cols, sizeof *cell), *titles[FIXED + MAX_SHOWN];
    memcpy(col, columns, sizeof columns);
    for (size_t s = FIXED; s < n_cols; s++)
        col[s] = (cli_column) { o->show.item[s - FIXED], true, 40 };
    for (size_t i = 0; i < t->n && text && cell; i++) fill_row(o, &t->rows[i], text + i * n_cols);
    for (size_t i = 0; i < t->n * n_cols && text && cell; i++) cell[i] = text[i];
    if (o->markdown && text && cell) {
        for (size_t c = 0; c < n_cols; c++) titles[c] = col[c].title;
        markdown_row(titles, n_cols);
        for (size_t c = 0; c < n_cols; c++) titles[c] = col[c].right ? "--:" : "---";
        markdown_row(titles, n_cols);
        for (size_t i = 0; i < t->n; i++) markdown_row(cell + i * n_cols, n_cols);
    } else if (text && cell) {
        cli_table(stdout, col, n_cols, cell, t->n);
        for (size_t i = 0; i < t->n; i++)
            if (t->rows[i].r->error)
                printf("%s%s: %s%s\n", cli_color(stdout, CLI_RED), t->rows[i].r->dir,
                       t->rows[i].r->error, cli_color(stdout, CLI_PLAIN));
    }
    free(text);
    free(cell);
}

/* ---- comparing ---- */

static int compare(table *t)
{
    enum { MOST = 6, ROWS = 200 };
    static const char *const always[] = { "status",        "best",     "best_step",   "test_loss",
                                          "test_accuracy", "test_mae", "items_per_s", "seconds" };
    vkt_option_info o;
    static char text[ROWS * (MOST + 1)][96];
    const char *cell[ROWS * (MOST + 1)];
    cli_column col[MOST + 1] = { { "", false, 0 } };
    size_t n_cols = t->n + 1, n = 0, k = 0;
    if (t->n < 2 || t->n > MOST) {
        cli_error("runs: --compare takes two to six runs, not %zu: name them, or --filter", t->n);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < t->n; i++) col[i + 1] = (cli_column) { t->rows[i].r->dir, true, 40 };
    for (int key = 0; n < ROWS; key++) {
        bool option = key >= (int)CLI_COUNT(fields), model = false, differs = false, some = false;
        if (option && !vkt_option((size_t)key - CLI_COUNT(fields), &o)) model = true;
        const char *name = model ? "model" : option ? o.name : fields[key].name;
        char(*line)[96] = text + n * n_cols;
        snprintf(line[0], sizeof *line, "%s", name);
        for (size_t i = 0; i < t->n; i++) {
            char v[4096];
            value(&t->rows[i], key, v, sizeof v);
            snprintf(line[i + 1], sizeof *line, "%.95s", *v ? v : "-");
            char first[4096];
            value(&t->rows[0], key, first, sizeof first);
            differs |= strcmp(first, v) != 0;
            some |= *v != 0;
        }
        bool shown = option && differs;
        for (size_t a = 0; a < CLI_COUNT(always) && !option; a++)
            shown |= some && !strcmp(always[a], name);
        if (model && differs)
            for (size_t i = 0; i < t->n; i++) strcpy(line[i + 1], i ? "differs" : "");
        n += shown;
        if (model) break;
    }
    for (; k < n * n_cols; k++) cell[k] = text[k];
    cli_table(stdout, col, n_cols, cell, n);
    return CLI_OK;
}

/* ---- the command ---- */

static vkt_status load(const runs_options *o, table *t)
{
    static const char *const usual[] = { "runs" };
    const char *const *dirs = o->common.n_args ? o->common.args : usual;
    size_t n = o->common.n_args ? o->common.n_args : 1;
    t->lists = calloc(n, sizeof *t->lists);
    if (!t->lists) return VKT_OOM_HOST;
    for (size_t d = 0; d < n; d++) {
        size_t found = 0;
        vkt_status st = vkt_runs_list(dirs[d], &t->lists[d], &found);
        if (st != VKT_OK) return st;
        t->n_lists++;
        row *rows = realloc(t->rows, (t->n + found + 1) * sizeof *rows);
        if (!rows) return VKT_OOM_HOST;
        t->rows = rows;
        for (size_t i = 0; i < found; i++) rows[t->n++] = (row) { .r = &t->lists[d][i] };
    }
    return VKT_OK;
}

static int print(const runs_options *o, table *t)
{
    int key, rc = apply_filters(o, t);
    for (size_t i = 0; i < o->show.n && !rc; i++) rc = known_key(o->show.item[i], &key);
    if (!rc) rc = sort_rows(o, t);
    if (rc) return rc;
    if (o->compare) return compare(t);
    if (o->json)
        print_json(o, t);
    else if (o->csv)
        print_csv(o, t);
    else if (t->n)
        print_text(o, t);
    else
        fprintf(stderr, "no runs%s\n", o->filter.n ? " that fit" : " there");
    return CLI_OK;
}

static int run(void *options)
{
    const runs_options *o = options;
    table t = { 0 };
    if (o->json + o->csv + o->markdown + o->compare > 1) {
        cli_error("runs: one of --json, --csv, --markdown and --compare, not both");
        return CLI_USAGE;
    }
    if (!o->common.n_args && !cli_exists("runs")) {
        if (o->json)
            puts("{\"runs\": []}");
        else
            fprintf(stderr,
                    "no runs yet: `vktrain train digits` makes the first, in the folder runs\n");
        return CLI_OK;
    }
    vkt_status st = load(o, &t);
    int rc = st == VKT_OK ? print(o, &t) : cli_exit_code(st);
    for (size_t i = 0; i < t.n; i++) vkt_config_destroy(&t.rows[i].config);
    for (size_t i = 0; i < t.n_lists; i++) vkt_runs_free(&t.lists[i]);
    free(t.lists);
    free(t.rows);
    return rc;
}

const cli_command cmd_runs = {
    .name = "runs",
    .args = "[DIR...]",
    .summary = "the experiment table",
    .details = details,
    .max_args = 100000,
    .flags = flags,
    .options_bytes = sizeof(runs_options),
    .run = run,
};
