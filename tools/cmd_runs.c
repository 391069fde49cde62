/* vktrain runs: the experiment table. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct runs_options {
    cli_options common;
    bool json, csv;
} runs_options;

#define AT(field) offsetof(runs_options, field)
static const cli_flag flags[] = {
    { "--csv", CLI_BOOL, AT(csv), NULL, NULL, "as CSV, every field" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "as JSON, every field" },
    { 0 },
};

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static void csv_number(double v)
{
    if (isfinite(v))
        printf(",%.9g", v);
    else
        putchar(',');
}

static void print_csv(const vkt_run_info *r, size_t n)
{
    puts("run,name,status,step,total,metric,best,test_accuracy,items_per_s,started,device,note,"
         "command,error,test_mae");
    for (size_t i = 0; i < n; i++, r++) {
        cli_csv(stdout, r->dir);
        putchar(',');
        cli_csv(stdout, r->name);
        putchar(',');
        cli_csv(stdout, r->status);
        printf(",%llu,%llu,", (unsigned long long)r->step, (unsigned long long)r->total);
        cli_csv(stdout, r->metric);
        csv_number(r->best_metric);
        csv_number(r->test_accuracy);
        csv_number(r->items_per_s);
        const char *const rest[] = { r->started, r->device, r->note, r->command, r->error };
        for (size_t k = 0; k < CLI_COUNT(rest); k++) {
            putchar(',');
            cli_csv(stdout, rest[k]);
        }
        csv_number(r->test_mae);
        putchar('\n');
    }
}

static void print_json(const vkt_run_info *r, size_t n)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < n; i++, r++)
        json_array_append_new(
            runs, json_pack("{s:s?, s:s?, s:s?, s:I, s:I, s:s?, s:o, s:o, s:o, s:o, s:s?, s:s?, "
                            "s:s?, s:s?, s:s?}",
                            "run", r->dir, "name", r->name, "status", r->status, "step",
                            (json_int_t)r->step, "total", (json_int_t)r->total, "metric", r->metric,
                            "best", cli_json_number(r->best_metric), "test_accuracy",
                            cli_json_number(r->test_accuracy), "test_mae",
                            cli_json_number(r->test_mae), "items_per_s",
                            cli_json_number(r->items_per_s), "started", r->started, "device",
                            r->device, "note", r->note, "command", r->command, "error", r->error));
    cli_json_print(json_pack("{s:o}", "runs", runs), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

static const char *metric_text(const vkt_run_info *r, double v)
{
    return r->metric && !strcmp(r->metric, "accuracy") ? cli_percent(v) : cli_number(v);
}

static void print_text(const vkt_run_info *r, size_t n)
{
    enum { N = 9, WIDTH = 256 };
    static const cli_column col[N] = { { "run", false, 48 },          { "name", false, 20 },
                                       { "status", false, 12 },       { "steps", true, 0 },
                                       { "metric", false, 10 },       { "best", true, 0 },
                                       { "test", true, 0 },           { "device", false, 24 },
                                       { "started (UTC)", false, 16 } };
    char(*text)[N][WIDTH] = calloc(n ? n : 1, sizeof *text);
    const char **cell = calloc(N * (n ? n : 1), sizeof *cell);
    for (size_t i = 0; i < n && text && cell; i++) {
        const vkt_run_info *x = &r[i];
        const char *t = or_empty(x->started);
        const char *const v[N] = {
            or_empty(x->dir),
            or_empty(x->name),
            x->status ? x->status : "damaged",
            x->total
                ? cli_text("%llu/%llu", (unsigned long long)x->step, (unsigned long long)x->total)
                : "-",
            x->metric ? x->metric : "-",
            metric_text(x, x->best_metric),
            isnan(x->test_mae) ? cli_percent(x->test_accuracy)
                               : cli_text("mae %s", cli_number(x->test_mae)),
            x->device ? x->device : "-",
            *t ? cli_text("%.10s %.5s", t, strlen(t) > 16 ? t + 11 : "") : "-",
        };
        for (size_t k = 0; k < N; k++) {
            snprintf(text[i][k], WIDTH, "%s", v[k]);
            cell[i * N + k] = text[i][k];
        }
    }
    if (text && cell) cli_table(stdout, col, N, cell, n);
    for (size_t i = 0; i < n; i++)
        if (r[i].error)
            printf("%s%s: %s%s\n", cli_color(stdout, CLI_RED), r[i].dir, r[i].error,
                   cli_color(stdout, CLI_PLAIN));
    free(text);
    free(cell);
}

static int run(void *options)
{
    const runs_options *o = options;
    const char *dir = o->common.n_args ? o->common.args[0] : "runs";
    vkt_run_info *list = NULL;
    size_t n = 0;
    if (o->json && o->csv) {
        cli_error("runs: --json or --csv, not both");
        return CLI_USAGE;
    }
    if (!o->common.n_args && !cli_exists(dir)) {
        if (o->json)
            puts("{\"runs\": []}");
        else
            fprintf(stderr,
                    "no runs yet: `vktrain train digits` makes the first, in the folder runs\n");
        return CLI_OK;
    }
    vkt_status st = vkt_runs_list(dir, &list, &n);
    if (st == VKT_OK) {
        if (o->json)
            print_json(list, n);
        else if (o->csv)
            print_csv(list, n);
        else if (n)
            print_text(list, n);
        else
            fprintf(stderr, "no runs in '%s'\n", dir);
    }
    vkt_runs_free(&list);
    return cli_exit_code(st);
}

const cli_command cmd_runs = {
    .name = "runs",
    .args = "[DIR]",
    .summary = "the experiment table",
    .details = "Every run under DIR, by default the folder runs.",
    .max_args = 1,
    .flags = flags,
    .options_bytes = sizeof(runs_options),
    .run = run,
};
