/* Studies as rows of the experiment table: what their study.json says, for people and for programs.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runs_print.h"
#include "runs_studies.h"

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

/* NULL: it is no file of a study's size. */
static json_t *read_study(const char *dir)
{
    enum { MOST = 64 << 20 };
    size_t cap = strlen(dir) + 16;
    char *path = cli_grow(NULL, cap);
    json_error_t error;
    snprintf(path, cap, "%s/study.json", dir);
    json_t *s = cli_file_bytes(path) <= MOST ? json_load_file(path, 0, &error) : NULL;
    free(path);
    return s;
}

/* The number behind NAME= among its options, "points=9 steps=100"; 0: there is none. */
static double option_of(const json_t *s, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text_of(s, "options"); *p; p += strcspn(p, " "), p += *p == ' ')
        if (!strncmp(p, name, n) && p[n] == '=') return strtod(p + n + 1, NULL);
    return 0;
}

/* How much of it has been done: of its time, where it has one, else of its trials. */
static double share_of(const json_t *s, size_t ended)
{
    const json_t *trials = json_object_get(s, "trials"), *t;
    bool search = !strcmp(text_of(s, "kind"), "search");
    double all = fmax(search ? option_of(s, "trials") : 0, (double)json_array_size(trials)),
           minutes = strcmp(text_of(s, "kind"), "auto") ? 0 : option_of(s, "minutes"), spent = 0;
    if (!strcmp(text_of(s, "status"), "done")) return 1;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)trials, i, t)
    {
        spent += json_number_value(json_object_get(t, "seconds"));
    }
    return minutes > 0 ? fmin(spent / (60 * minutes), 1) : all > 0 ? (double)ended / all : 0;
}

json_t *runs_study_json(const char *dir)
{
    json_t *s = read_study(dir), *t, *line;
    size_t i, done = 0, ended = 0;
    double best = NAN, sign = json_number_value(json_object_get(s, "metric_sign"));
    if (!s) return json_pack("{ss ss}", "study", dir, "status", "damaged");
    const char *status = text_of(s, "status");
    if (!strcmp(status, "running") && vkt_run_abandoned(dir)) status = "killed";
    const json_t *trials = json_object_get(s, "trials");
    json_array_foreach((json_t *)trials, i, t)
    {
        const json_t *v = json_object_get(t, "best");
        const char *state = text_of(t, "state");
        done += !strcmp(state, "done");
        ended += !strcmp(state, "done") || !strcmp(state, "infeasible") ||
                 !strcmp(state, "pruned") || !strcmp(state, "cut");
        if (json_is_number(v) && !(sign * (json_number_value(v) - best) <= 0))
            best = json_number_value(v);
    }
    line = json_pack("{ss ss ss ss ss ss ss ss sI sI sI}", "study", dir, "kind", text_of(s, "kind"),
                     "name", text_of(s, "name"), "note", text_of(s, "note"), "status", status,
                     "metric", text_of(s, "metric"), "recipe", text_of(s, "recipe"), "command",
                     text_of(s, "study_command"), "done", (json_int_t)done, "ended",
                     (json_int_t)ended, "trials", (json_int_t)json_array_size(trials));
    if (line) json_object_set_new(line, "best", isnan(best) ? json_null() : json_real(best));
    if (line) json_object_set_new(line, "share", json_real(share_of(s, ended)));
    json_decref(s);
    return line;
}

/* ---- for programs ---- */

static void print_csv(const json_t *rows)
{
    static const char *const keys[] = { "study", "name", "kind",   "recipe", "status", "trials",
                                        "ended", "done", "metric", "best",   "note",   "command" };
    json_t *line;
    size_t i;
    for (size_t k = 0; k < CLI_COUNT(keys); k++) printf("%s%s", k ? "," : "", keys[k]);
    putchar('\n');
    json_array_foreach((json_t *)rows, i, line)
    {
        for (size_t k = 0; k < CLI_COUNT(keys); k++) {
            const json_t *v = json_object_get(line, keys[k]);
            if (k) putchar(',');
            if (json_is_number(v))
                printf("%.9g", json_number_value(v));
            else
                cli_csv(stdout, text_of(line, keys[k]));
        }
        putchar('\n');
    }
}

/* ---- for people ---- */

enum { COLUMNS = 8, COMMAND = COLUMNS, WIDTH = 64 };
static const cli_column columns[COLUMNS + 1] = { { "study", false, 40 }, { "kind", false, 0 },
                                                 { "name", false, 20 },  { "recipe", false, 28 },
                                                 { "trials", true, 0 },  { "status", false, 0 },
                                                 { "best", true, 0 },    { "note", false, 32 },
                                                 { "command", false, 0 } };

/* As text, and how each was begun below; as markdown the command is the last column. */
static void print_table(const json_t *rows, bool markdown)
{
    size_t n = json_array_size(rows), i, wide = markdown ? COLUMNS + 1 : COLUMNS;
    const char **cell = cli_zeros(n * wide + 1, sizeof *cell);
    char(*made)[2][WIDTH] = cli_zeros(n + 1, sizeof *made);
    json_t *line;
    json_array_foreach((json_t *)rows, i, line)
    {
        const json_t *best = json_object_get(line, "best");
        snprintf(made[i][0], WIDTH, "%d of %d",
                 (int)json_integer_value(json_object_get(line, "ended")),
                 (int)json_integer_value(json_object_get(line, "trials")));
        snprintf(made[i][1], WIDTH, "%s %s", text_of(line, "metric"),
                 json_is_number(best) ? cli_number(json_number_value(best)) : "-");
        const char *const cells[COLUMNS + 1] = { text_of(line, "study"),
                                                 text_of(line, "kind"),
                                                 text_of(line, "name"),
                                                 text_of(line, "recipe"),
                                                 made[i][0],
                                                 text_of(line, "status"),
                                                 made[i][1],
                                                 text_of(line, "note"),
                                                 text_of(line, "command") };
        memcpy(cell + i * wide, cells, wide * sizeof *cells);
    }
    if (markdown)
        runs_print_markdown(columns, wide, cell, n);
    else
        cli_table(stdout, columns, wide, cell, n);
    free(cell);
    free(made);
    if (markdown) return;
    puts("\nhow each was begun");
    json_array_foreach((json_t *)rows, i, line)
    {
        fputs("  ", stdout);
        cli_put(stdout, *text_of(line, "command") ? text_of(line, "command") : "(not recorded)");
        putchar('\n');
    }
}

/* ---- which studies ---- */

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
        json_t *study = runs_study_json(dir);
        if (study) json_object_del(study, "share"); /* the page's: the table has trials and ended */
        json_array_append_new(rows, study);
    }
    t->n = kept;
    json_decref(seen);
    return rows;
}

void runs_print_studies(const runs_options *o, table *t)
{
    json_t *rows = studies_of(o, t, false);
    if (o->json) {
        json_t *all = json_pack("{sO}", "studies", rows);
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    } else if (o->csv) {
        print_csv(rows);
    } else if (json_array_size(rows)) {
        print_table(rows, o->markdown);
    } else {
        fprintf(stderr, "no studies there\n");
    }
    json_decref(rows);
}

void runs_print_both(const runs_options *o, table *t)
{
    size_t n = t->n;
    json_t *rows = studies_of(o, t, true);
    if (t->n) runs_print_text(o, t);
    if (json_array_size(rows)) {
        if (t->n) putchar('\n');
        print_table(rows, false);
        printf("\n%zu trials of studies are not listed above: `vktrain runs --trials`\n", n - t->n);
    }
    json_decref(rows);
}
