/* The table of runs as CSV, JSON, text, markdown, and side by side. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runs_print.h"

/* ---- for programs ---- */

void runs_print_csv(const runs_options *o, table *t)
{
    size_t n_fields;
    const runs_field *fields = runs_fields(&n_fields);
    char text[8192];
    for (size_t f = 0; f < n_fields; f++) printf("%s%s", f ? "," : "", fields[f].name);
    for (size_t s = 0; s < o->show.n; s++) printf(",%s", o->show.item[s]);
    putchar('\n');
    for (size_t i = 0; i < t->n; i++) {
        for (size_t f = 0; f < n_fields + o->show.n; f++) {
            int key = f < n_fields ? (int)f : t->show[f - n_fields];
            runs_value(&t->rows[i], key, text, sizeof text);
            if (f) putchar(',');
            cli_csv(stdout, text);
        }
        putchar('\n');
    }
}

static json_t *run_json(const runs_options *o, const int *show, row *x)
{
    size_t n_fields;
    const runs_field *fields = runs_fields(&n_fields);
    json_t *j = json_object();
    char text[8192];
    for (size_t f = 0; f < n_fields; f++) {
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
        runs_value(x, show[s], text, sizeof text);
        json_object_set_new(j, o->show.item[s], json_string(text));
    }
    return j;
}

void runs_print_json(const runs_options *o, table *t)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < t->n; i++)
        json_array_append_new(runs, run_json(o, t->show, &t->rows[i]));
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

enum { FIXED = 10, MAX_SHOWN = 6, WIDTH = 256 };
static const cli_column columns[FIXED] = {
    { "run", false, 48, 0 },           { "name", false, 20, 4 },   { "status", false, 12, 6 },
    { "steps", true, 0, 7 },           { "metric", false, 10, 5 }, { "best", true, 0, 0 },
    { "linear", true, 0, 1 },          { "test", true, 0, 0 },     { "device", false, 24, 2 },
    { "started (UTC)", false, 16, 3 },
};

static void fill_row(const runs_options *o, const int *show, row *x, char text[][WIDTH])
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
        r->baseline ? metric_text(r, r->baseline_metric) : "-",
        test_text(r),
        r->device ? r->device : "-",
        *t ? cli_text("%.10s %.5s", t, strlen(t) > 16 ? t + 11 : "") : "-",
    };
    for (size_t k = 0; k < FIXED; k++) snprintf(text[k], WIDTH, "%s", v[k]);
    for (size_t s = 0; s < o->show.n && s < MAX_SHOWN; s++) {
        runs_value(x, show[s], text[FIXED + s], WIDTH);
        if (!*text[FIXED + s]) strcpy(text[FIXED + s], "-");
    }
}

static void markdown_row(const char *const *cells, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs("| ", stdout);
        char *clean = cli_harmless(cells[i], strlen(cells[i]));
        for (const char *p = clean; p && *p; p++) {
            if (*p == '|') putchar('\\');
            putchar(*p == '\n' ? ' ' : *p);
        }
        free(clean);
        putchar(' ');
    }
    puts("|");
}

void runs_print_markdown(const cli_column *col, size_t n_cols, const char *const *cell, size_t n)
{
    const char **titles = cli_zeros(n_cols, sizeof *titles);
    for (size_t c = 0; c < n_cols; c++) titles[c] = col[c].title;
    markdown_row(titles, n_cols);
    for (size_t c = 0; c < n_cols; c++) titles[c] = col[c].right ? "--:" : "---";
    markdown_row(titles, n_cols);
    for (size_t i = 0; i < n; i++) markdown_row(cell + i * n_cols, n_cols);
    free(titles);
}

void runs_print_text(const runs_options *o, table *t)
{
    size_t n_cols = FIXED + (o->show.n < MAX_SHOWN ? o->show.n : MAX_SHOWN);
    cli_column col[FIXED + MAX_SHOWN];
    char(*text)[WIDTH] = cli_zeros((t->n + 1) * n_cols, sizeof *text);
    const char **cell = cli_zeros((t->n + 1) * n_cols, sizeof *cell);
    memcpy(col, columns, sizeof columns);
    for (size_t s = FIXED; s < n_cols; s++)
        col[s] = (cli_column) { o->show.item[s - FIXED], true, 40 };
    for (size_t i = 0; i < t->n; i++) fill_row(o, t->show, &t->rows[i], text + i * n_cols);
    for (size_t i = 0; i < t->n * n_cols; i++) cell[i] = text[i];
    if (o->markdown) {
        runs_print_markdown(col, n_cols, cell, t->n);
    } else {
        cli_table(stdout, col, n_cols, cell, t->n);
        for (size_t i = 0; i < t->n; i++)
            if (t->rows[i].r->error) {
                fputs(cli_color(stdout, CLI_RED), stdout);
                cli_put(stdout, t->rows[i].r->dir);
                fputs(": ", stdout);
                cli_put(stdout, t->rows[i].r->error);
                puts(cli_color(stdout, CLI_PLAIN));
            }
    }
    free(text);
    free(cell);
}

/* ---- comparing ---- */

enum { MOST_COMPARED = 6, CELL_WIDTH = 96 };
typedef struct side_by_side {
    const table *t;
    char (*text)[CELL_WIDTH]; /* [rows, 1 + runs] */
    size_t rows, cap;
} side_by_side;

static char (*new_row(side_by_side *s, const char *name))[CELL_WIDTH]
{
    size_t wide = s->t->n + 1;
    if (s->rows == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 64;
        s->text = cli_grow(s->text, s->cap * wide * sizeof *s->text);
    }
    char(*line)[CELL_WIDTH] = s->text + s->rows++ * wide;
    for (size_t i = 0; i < wide; i++) snprintf(line[i], CELL_WIDTH, "%s", i ? "-" : name);
    return line;
}

/* A field's or an option's row; `differing`: only where its values are not all the same. */
static void compare_key(side_by_side *s, const char *name, int key, bool differing)
{
    char v[4096], first[4096];
    bool differs = false, some = false;
    char(*line)[CELL_WIDTH] = new_row(s, name);
    size_t n_fields;
    const runs_field *fields = runs_fields(&n_fields);
    for (size_t i = 0; i < s->t->n; i++) {
        runs_value(&s->t->rows[i], key, v, sizeof v);
        if (!i) strcpy(first, v);
        differs |= strcmp(first, v) != 0;
        some |= *v != 0;
        bool number = key < (int)n_fields && fields[key].type == 'n';
        double d = number ? strtod(v, NULL) : 0;
        if (number && *v)
            snprintf(line[i + 1], CELL_WIDTH, "%s", d < 1000 ? cli_number(d) : cli_text("%.0f", d));
        else if (*v)
            snprintf(line[i + 1], CELL_WIDTH, "%.95s", v);
    }
    if (!some || (differing && !differs)) s->rows--;
}

static void compare_layer(void *user, const char *what, const char *const *values)
{
    side_by_side *s = user;
    char(*line)[CELL_WIDTH] = new_row(s, what);
    for (size_t i = 0; i < s->t->n; i++)
        if (values[i]) snprintf(line[i + 1], CELL_WIDTH, "%.95s", values[i]);
}

int runs_compare(table *t)
{
    static const char *const always[] = { "status",      "metric",        "best",     "best_step",
                                          "test_loss",   "test_accuracy", "test_mae", "parameters",
                                          "items_per_s", "seconds" };
    const vkt_config *configs[MOST_COMPARED];
    cli_column col[MOST_COMPARED + 1] = { { "", false, 0 } };
    vkt_option_info o;
    side_by_side s = { .t = t };
    if (t->n < 2 || t->n > MOST_COMPARED) {
        cli_error("runs: --compare takes two to six runs, not %zu: name them, or --filter", t->n);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < t->n; i++) {
        col[i + 1] = (cli_column) { t->rows[i].r->dir, true, 40 };
        configs[i] = runs_config(&t->rows[i]);
    }
    for (size_t i = 0; i < CLI_COUNT(always); i++)
        compare_key(&s, always[i], runs_find_key(always[i]), false);
    for (size_t i = 0; vkt_option(i, &o); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s", o.name);
        compare_key(&s, name, runs_find_key(name), true);
    }
    vkt_model_differences(configs, t->n, compare_layer, &s);
    const char **cell = cli_zeros(s.rows * (t->n + 1) + 1, sizeof *cell);
    for (size_t i = 0; i < s.rows * (t->n + 1); i++) cell[i] = s.text[i];
    cli_table(stdout, col, t->n + 1, cell, s.rows);
    free(cell);
    free(s.text);
    return CLI_OK;
}
