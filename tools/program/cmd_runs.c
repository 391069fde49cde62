/* vktrain runs: the experiment table, as the tuning playbook keeps it: filtered, sorted, compared,
 * for people and for programs. */
#include <stdlib.h>
#include <string.h>

#include "runs_print.h"
#include "runs_studies.h"

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
    { "--note", CLI_TEXT, AT(note), "TEXT", NULL,
      "change the note of the one run that is named, in progress or not; \"\" empties it" },
    { 0 },
};

static const char details[] =
    "Lists every run under DIR (default: the folder runs), then each study in one row. The trials "
    "of "
    "a study are listed where they are asked for: with --trials, --filter, --sort, --show, --csv, "
    "--json or --markdown, or by the study's folder as DIR.\n"
    "KEY is run, name, note, status, step, total, parameters, metric, best, best_step, test_loss, "
    "test_accuracy, test_mae, items_per_s, seconds, started, device, recipe, commit, changes, "
    "command, error, ranks, exchange_share, exchange_overlap, baseline, "
    "baseline_verdict, baseline_metric, baseline_error, or an option of a recipe, such as "
    "optim.lr.\n"
    "examples: vktrain runs --filter status=done --sort -best --show optim.lr\n"
    "          vktrain runs --filter optim.lr>0.001 --filter name~digits --csv\n"
    "          vktrain runs runs/a runs/b --compare\n"
    "          vktrain runs runs/a --note 'the labels were mended'";

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
        const char *unread = vkt_runs_unread(t->lists[t->n_lists++]);
        if (unread) vkt_log(VKT_LOG_WARN, "runs", "%s", unread);
        t->rows = cli_grow(t->rows, (t->n + found + 1) * sizeof *t->rows);
        for (size_t i = 0; i < found; i++) t->rows[t->n++] = (row) { .r = &t->lists[d][i] };
    }
    return VKT_OK;
}

static int print(const runs_options *o, table *t)
{
    int rc = runs_filter(o, t);
    t->show = cli_zeros(o->show.n + 1, sizeof *t->show);
    for (size_t i = 0; i < o->show.n && !rc; i++) rc = runs_known_key(o->show.item[i], &t->show[i]);
    if (!rc) rc = runs_sort(o, t);
    if (rc) return rc;
    bool plain = !o->filter.n && !o->show.n && !o->markdown && !o->sort;
    if (o->studies) {
        runs_print_studies(o, t);
        return CLI_OK;
    }
    if (o->compare) return runs_compare(t);
    if (o->json)
        runs_print_json(o, t);
    else if (o->csv)
        runs_print_csv(o, t);
    else if (t->n && plain && !o->trials)
        runs_print_both(o, t);
    else if (t->n)
        runs_print_text(o, t);
    else
        fprintf(stderr, "no runs%s\n", o->filter.n ? " that fit" : " there");
    return CLI_OK;
}

static int set_note(const runs_options *o)
{
    const struct {
        const char *name;
        bool given;
    } flag[] = { { "--filter", o->filter.n },  { "--sort", o->sort },
                 { "--show", o->show.n },      { "--compare", o->compare },
                 { "--studies", o->studies },  { "--trials", o->trials },
                 { "--csv", o->csv },          { "--json", o->json },
                 { "--markdown", o->markdown } };
    for (size_t i = 0; i < CLI_COUNT(flag); i++)
        if (flag[i].given) {
            cli_error("runs: --note changes a note and prints no table: leave out %s",
                      flag[i].name);
            return CLI_USAGE;
        }
    if (o->common.n_args != 1) {
        cli_error("runs: --note changes the note of one run: name its folder");
        return CLI_USAGE;
    }
    vkt_status st = vkt_run_set_note(o->common.args[0], o->note);
    if (st == VKT_OK && !o->common.quiet)
        printf("%s: the note is %s\n", o->common.args[0],
               *o->note ? "changed" : "empty from now on");
    return cli_exit_code(st);
}

static int run(void *options)
{
    const runs_options *o = options;
    table t = { 0 };
    if (o->json + o->csv + o->markdown + o->compare > 1) {
        cli_error("runs: give only one of --json, --csv, --markdown and --compare");
        return CLI_USAGE;
    }
    if (o->studies && o->compare) {
        cli_error("runs: --compare takes runs, not --studies: name trials of the studies");
        return CLI_USAGE;
    }
    if (o->studies && o->show.n) {
        cli_error("runs: --show adds columns to the table of runs, not to that of --studies");
        return CLI_USAGE;
    }
    if (o->note) return set_note(o);
    if (!o->common.n_args && !cli_exists("runs")) {
        if (o->json)
            puts(o->studies ? "{\"studies\": []}" : "{\"runs\": []}");
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
    free(t.show);
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
