/* vktrain runs: the experiment table, as the tuning playbook keeps it: filtered, sorted, compared,
 * for people and for programs. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runs_print.h"

#define AT(field) offsetof(runs_options, field)
static const cli_flag flags[] = {
    { "--filter", CLI_LIST, AT(filter), "KEY=VALUE", NULL,
      "show only runs with this value; other comparisons: != < > <= >= and ~ (contains); may be "
      "repeated" },
    { "--sort", CLI_TEXT, AT(sort), "KEY", "started",
      "sort by KEY, or by -KEY in descending order" },
    { "--show", CLI_LIST, AT(show), "KEY", NULL, "add a column; may be repeated" },
    { "--compare", CLI_BOOL, AT(compare), NULL, NULL,
      "show two to six runs side by side: results, and the options that differ" },
    { "--studies", CLI_BOOL, AT(studies), NULL, NULL,
      "list the studies in place of the runs, one row each, with the command that began it" },
    { "--trials", CLI_BOOL, AT(trials), NULL, NULL, "list the trials of studies as runs, too" },
    { "--csv", CLI_BOOL, AT(csv), NULL, NULL, "print CSV with every field" },
    { "--json", CLI_BOOL, AT(json), NULL, NULL, "print JSON with every field" },
    { "--markdown", CLI_BOOL, AT(markdown), NULL, NULL, "print a Markdown table" },
    { 0 },
};

static const char details[] =
    "Lists every run under DIR (default: the folder runs), then each study in one row. The trials "
    "of "
    "a study are listed where they are asked for: with --trials, --filter, --sort, --show, --csv, "
    "--json or --markdown, or by the study's folder as DIR.\n"
    "KEY is run, name, note, status, step, total, parameters, metric, best, best_step, test_loss, "
    "test_accuracy, test_mae, items_per_s, seconds, started, device, recipe, commit, changes, "
    "command, error, or an option of a recipe, such as optim.lr.\n"
    "examples: vktrain runs --filter status=done --sort -best --show optim.lr\n"
    "          vktrain runs --filter optim.lr>0.001 --filter name~digits --csv\n"
    "          vktrain runs runs/a runs/b --compare";

static vkt_status load(const runs_options *o, table *t)
{
    static const char *const usual[] = { "runs" };
    const char *const *dirs = o->common.n_args ? o->common.args : usual;
    size_t n = o->common.n_args ? o->common.n_args : 1;
    t->lists = cli_zeros(n, sizeof *t->lists);
    for (size_t d = 0; d < n; d++) {
        size_t found = 0;
        vkt_status st = vkt_runs_list(dirs[d], &t->lists[d], &found);
        if (st != VKT_OK) return st;
        t->n_lists++;
        t->rows = cli_grow(t->rows, (t->n + found + 1) * sizeof *t->rows);
        for (size_t i = 0; i < found; i++) t->rows[t->n++] = (row) { .r = &t->lists[d][i] };
    }
    return VKT_OK;
}

/* ---- studies: what their study.json says ---- */

/* The folder of the study that a run is a trial of; "" if it is none. */
static void study_of(const char *run, char out[1200])
{
    const char *slash = strrchr(run, '/');
    out[0] = 0;
    if (!slash || strncmp(slash, "/trial-", 7)) return;
    snprintf(out, 1200, "%.*s", (int)(slash - run < 1100 ? slash - run : 1100), run);
    if (!cli_exists(cli_text("%s/study.json", out))) out[0] = 0;
}

static const char *text_of(const json_t *j, const char *key)
{
    const char *v = json_string_value(json_object_get(j, key));
    return v ? v : "";
}

static json_t *study_row(const char *dir)
{
    json_error_t error;
    json_t *s = json_load_file(cli_text("%s/study.json", dir), 0, &error), *t, *line;
    size_t i, done = 0, ended = 0;
    double best = NAN, sign = json_number_value(json_object_get(s, "metric_sign"));
    if (!s) return json_pack("{ss ss}", "study", dir, "status", "damaged");
    const json_t *trials = json_object_get(s, "trials");
    json_array_foreach((json_t *)trials, i, t)
    {
        const json_t *v = json_object_get(t, "best");
        const char *state = text_of(t, "state");
        done += !strcmp(state, "done");
        ended += !strcmp(state, "done") || !strcmp(state, "infeasible") || !strcmp(state, "pruned");
        if (json_is_number(v) && !(sign * (json_number_value(v) - best) <= 0))
            best = json_number_value(v);
    }
    line = json_pack("{ss ss ss ss ss ss ss ss sI sI sI}", "study", dir, "kind", text_of(s, "kind"),
                     "name", text_of(s, "name"), "note", text_of(s, "note"), "status",
                     text_of(s, "status"), "metric", text_of(s, "metric"), "recipe",
                     text_of(s, "recipe"), "command", text_of(s, "study_command"), "done",
                     (json_int_t)done, "ended", (json_int_t)ended, "trials",
                     (json_int_t)json_array_size(trials));
    if (line) json_object_set_new(line, "best", isnan(best) ? json_null() : json_real(best));
    json_decref(s);
    return line;
}

static void print_studies(const json_t *rows)
{
    static const cli_column col[] = { { "study", false, 40 }, { "kind", false, 0 },
                                      { "name", false, 20 },  { "recipe", false, 28 },
                                      { "trials", true, 0 },  { "status", false, 0 },
                                      { "best", true, 0 },    { "note", false, 32 } };
    size_t n = json_array_size(rows), i;
    const char **cell = cli_zeros(n * CLI_COUNT(col) + 1, sizeof *cell);
    char(*made)[2][64] = cli_zeros(n + 1, sizeof *made);
    json_t *line;
    json_array_foreach((json_t *)rows, i, line)
    {
        const json_t *best = json_object_get(line, "best");
        snprintf(made[i][0], sizeof made[i][0], "%d of %d",
                 (int)json_integer_value(json_object_get(line, "ended")),
                 (int)json_integer_value(json_object_get(line, "trials")));
        snprintf(made[i][1], sizeof made[i][1], "%s %s", text_of(line, "metric"),
                 json_is_number(best) ? cli_number(json_number_value(best)) : "-");
        const char *cells[] = { text_of(line, "study"),
                                text_of(line, "kind"),
                                text_of(line, "name"),
                                text_of(line, "recipe"),
                                made[i][0],
                                text_of(line, "status"),
                                made[i][1],
                                text_of(line, "note") };
        memcpy(cell + i * CLI_COUNT(col), cells, sizeof cells);
    }
    cli_table(stdout, col, CLI_COUNT(col), cell, n);
    free(cell);
    free(made);
    puts("\nhow each was begun");
    json_array_foreach((json_t *)rows, i, line)
    {
        fputs("  ", stdout);
        cli_put(stdout, *text_of(line, "command") ? text_of(line, "command") : "(not recorded)");
        putchar('\n');
    }
}

/* The studies that rows of the table are trials of, each once: their trials are beside one another
 * only by chance of the order. apart: these rows leave the table. */
static json_t *studies_of(const runs_options *o, table *t, bool apart)
{
    json_t *rows = json_array(), *seen = json_object();
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++) {
        char dir[1200];
        study_of(t->rows[i].r->dir, dir);
        for (size_t k = 0; apart && k < o->common.n_args; k++)
            if (!strncmp(o->common.args[k], dir, strlen(dir))) dir[0] = 0; /* asked for by name */
        if (!apart || !*dir) t->rows[kept++] = t->rows[i];
        if (apart && *dir) vkt_config_destroy(&t->rows[i].config);
        if (!*dir || json_object_get(seen, dir)) continue;
        json_object_set_new(seen, dir, json_true());
        json_array_append_new(rows, study_row(dir));
    }
    t->n = kept;
    json_decref(seen);
    return rows;
}

static void studies(const runs_options *o, table *t)
{
    json_t *rows = studies_of(o, t, false);
    if (o->json) {
        json_t *all = json_pack("{sO}", "studies", rows);
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    } else if (json_array_size(rows)) {
        print_studies(rows);
    } else {
        fprintf(stderr, "no studies there\n");
    }
    json_decref(rows);
}

/* For people who ask for nothing else: the runs, then a row for each study. */
static void print_both(const runs_options *o, table *t)
{
    size_t n = t->n;
    json_t *rows = studies_of(o, t, true);
    if (t->n) runs_print_text(o, t);
    if (json_array_size(rows)) {
        if (t->n) putchar('\n');
        print_studies(rows);
        printf("\n%zu trials of studies are not listed above: `vktrain runs --trials`\n", n - t->n);
    }
    json_decref(rows);
}

static int print(const runs_options *o, table *t)
{
    int key, rc = runs_filter(o, t);
    for (size_t i = 0; i < o->show.n && !rc; i++) rc = runs_known_key(o->show.item[i], &key);
    if (!rc) rc = runs_sort(o, t);
    if (rc) return rc;
    bool plain = !o->filter.n && !o->show.n && !o->markdown && !o->sort;
    if (o->studies) {
        studies(o, t);
        return CLI_OK;
    }
    if (o->compare) return runs_compare(t);
    if (o->json)
        runs_print_json(o, t);
    else if (o->csv)
        runs_print_csv(o, t);
    else if (t->n && plain && !o->trials)
        print_both(o, t);
    else if (t->n)
        runs_print_text(o, t);
    else
        fprintf(stderr, "no runs%s\n", o->filter.n ? " that fit" : " there");
    return CLI_OK;
}

static int run(void *options)
{
    const runs_options *o = options;
    table t = { 0 };
    if (o->json + o->csv + o->markdown + o->compare > 1) {
        cli_error("runs: give only one of --json, --csv, --markdown and --compare");
        return CLI_USAGE;
    }
    if (o->studies && o->csv + o->markdown + o->compare) {
        cli_error("runs: --studies can be printed as a table or with --json");
        return CLI_USAGE;
    }
    if (!o->common.n_args && !cli_exists("runs")) {
        if (o->json)
            puts("{\"runs\": []}");
        else
            fprintf(stderr,
                    "no runs yet: `vktrain train digits` makes a first one, in the folder runs\n");
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
    .summary = "list and compare runs in a table",
    .details = details,
    .max_args = 100000,
    .flags = flags,
    .options_bytes = sizeof(runs_options),
    .run = run,
};
