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
            int key = f < n_fields ? (int)f : runs_find_key(o->show.item[f - n_fields]);
            runs_value(&t->rows[i], key, text, sizeof text);
            if (f) putchar(',');
            cli_csv(stdout, text);
        }
        putchar('\n');
    }
}

static json_t *run_json(const runs_options *o, row *x)
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
        runs_value(x, runs_find_key(o->show.item[s]), text, sizeof text);
        json_object_set_new(j, o->show.item[s], json_string(text));
    }
    return j;
}

void runs_print_json(const runs_options *o, table *t)
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
        runs_value(x, runs_find_key(o->show.item[s]), text[FIXED + s], WIDTH);
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

void runs_print_text(const runs_options *o, table *t)
{
    size_t n_cols = FIXED + (o->show.n < MAX_SHOWN ? o->show.n : MAX_SHOWN);
    cli_column col[FIXED + MAX_SHOWN];
    char(*text)[WIDTH] = cli_zeros((t->n + 1) * n_cols, sizeof *text);
    const char **cell = cli_zeros((t->n + 1) * n_cols, sizeof *cell), *titles[FIXED + MAX_SHOWN];
    memcpy(col, columns, sizeof columns);
    for (size_t s = FIXED; s < n_cols; s++)
        col[s] = (cli_column) { o->show.item[s - FIXED], true, 40 };
    for (size_t i = 0; i < t->n; i++) fill_row(o, &t->rows[i], text + i * n_cols);
    for (size_t i = 0; i < t->n * n_cols; i++) cell[i] = text[i];
    if (o->markdown) {
        for (size_t c = 0; c < n_cols; c++) titles[c] = col[c].title;
        markdown_row(titles, n_cols);
        for (size_t c = 0; c < n_cols; c++) titles[c] = col[c].right ? "--:" : "---";
        markdown_row(titles, n_cols);
        for (size_t i = 0; i < t->n; i++) markdown_row(cell + i * n_cols, n_cols);
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

int runs_compare(table *t)
{
    size_t n_fields;
    const runs_field *fields = runs_fields(&n_fields);
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
        bool option = key >= (int)n_fields, model = false, differs = false, some = false;
        if (option && !vkt_option((size_t)key - n_fields, &o)) model = true;
        const char *name = model ? "model" : option ? o.name : fields[key].name;
        char(*line)[96] = text + n * n_cols;
        snprintf(line[0], sizeof *line, "%s", name);
        for (size_t i = 0; i < t->n; i++) {
            char v[4096];
            runs_value(&t->rows[i], key, v, sizeof v);
            snprintf(line[i + 1], sizeof *line, "%.95s", *v ? v : "-");
            char first[4096];
            runs_value(&t->rows[0], key, first, sizeof first);
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
