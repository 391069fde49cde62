/* A study's part of a report, read from its study.json: the answer, the tables, the plots. */
#include <math.h>
#include <stdio.h>

#include "base/format.h"
#include "report/study_view.h"

/* s->n: none has a value. */
static size_t best_trial(const vkt__study_view *s)
{
    size_t best = s->n;
    for (size_t i = 0; i < s->n; i++)
        if (!isnan(s->t[i].best) &&
            (best == s->n || s->sign * (s->t[i].best - s->t[best].best) > 0))
            best = i;
    return best;
}

static void study_facts(vkt__page *p, const vkt__study_view *s)
{
    size_t done = 0, bad = 0, pruned = 0, cut = 0, best = best_trial(s);
    char trials[80], value[120], started[40];
    for (size_t i = 0; i < s->n; i++) {
        done += !strcmp(s->t[i].state, "done");
        bad += !strcmp(s->t[i].state, "infeasible");
        pruned += !strcmp(s->t[i].state, "pruned");
        cut += !strcmp(s->t[i].state, "cut");
    }
    int len = snprintf(trials, sizeof trials, "%zu: %zu done", s->n, done);
    if (bad) len += snprintf(trials + len, sizeof trials - (size_t)len, ", %zu infeasible", bad);
    if (pruned) len += snprintf(trials + len, sizeof trials - (size_t)len, ", %zu pruned", pruned);
    if (cut) snprintf(trials + len, sizeof trials - (size_t)len, ", %zu cut by the time", cut);
    if (best < s->n)
        vkt__format(value, sizeof value, "%.5g, %.60s", s->t[best].best, s->t[best].name);
    /* 2026-01-02T03:04:05Z -> 2026-01-02 03:04 UTC */
    const char *time = vkt__study_string(s->json, "started");
    snprintf(started, sizeof started, "%.10s%s%.5s%s", time, strlen(time) > 16 ? " " : "",
             strlen(time) > 16 ? time + 11 : "", strlen(time) > 16 ? " UTC" : "");
    const char *const list[][2] = {
        { "recipe", vkt__study_string(s->json, "recipe") },
        { "selects by", vkt__study_string(s->json, "metric") },
        { "best trial", best < s->n ? value : NULL },
        { "trials", trials },
        { "status", vkt__study_string(s->json, "status") },
        { "started", *time ? started : NULL },
    };
    vkt__page_facts(p, list, VKT_COUNT(list));
}

/* Whether a sentence is a list of values, "HEAD: a: x; b: y; c: z". */
static bool is_list(const char *line)
{
    size_t n = 0;
    for (const char *at = strstr(line, ": "), *end; at; at = end, n++) {
        const char *colon = strstr(at + 2, ": ");
        end = strstr(at + 2, "; ");
        if (!colon || (end && colon > end)) return false;
    }
    return n > 2;
}

static void list_table(vkt__page *p, const char *line)
{
    vkt__arena a = { 0 };
    const char *end = strstr(line, ": ");
    vkt__page_table_begin(p, vkt__arena_printf(&a, "%.*s", (int)(end - line), line), NULL, 0);
    while (end) {
        const char *part = end + 2, *value = strstr(part, ": ") + 2;
        end = strstr(part, "; ");
        vkt__page_pair(
            p, vkt__arena_printf(&a, "%.*s", (int)(value - 2 - part), part),
            vkt__arena_printf(&a, "%.*s", end ? (int)(end - value) : (int)strlen(value), value));
    }
    vkt__page_table_end(p);
    vkt__arena_finish(&a);
}

static void answer(vkt__page *p, const vkt__study_view *s)
{
    const json_t *advice = json_object_get(s->json, "advice");
    size_t n = json_array_size(advice), k = 0;
    const char **plain = vkt__alloc((n + 1) * sizeof *plain);
    vkt__page_heading(p, 2, "Study %s: %s", vkt__study_string(s->json, "kind"),
                      vkt__study_string(s->json, "name"));
    study_facts(p, s);
    if (strcmp(vkt__study_string(s->json, "status"), "done"))
        vkt__page_note(p, "Not finished:", vkt__study_string(s->json, "status"), false);
    for (size_t i = 0; i < n; i++) {
        const char *line = json_string_value(json_array_get(advice, i));
        if (line && !i) vkt__page_note(p, "Recommendation:", line, true);
        if (!line || !i) continue;
        if (!is_list(line)) {
            plain[k++] = line;
            continue;
        }
        vkt__page_list(p, plain, k);
        list_table(p, line);
        k = 0;
    }
    vkt__page_list(p, plain, k);
    free((void *)plain);
    if (*vkt__study_string(s->json, "command"))
        vkt__page_details(p, "the command that reproduces it",
                          vkt__study_string(s->json, "command"));
    vkt__page_text(p, "The playbook: %s", vkt__study_string(s->json, "playbook"));
}

static void result_table(vkt__page *p, const vkt__study_view *s)
{
    const json_t *columns = json_object_get(s->json, "columns"),
                 *rows = json_object_get(s->json, "rows");
    size_t n = json_array_size(columns), n_rows = json_array_size(rows);
    if (!n) return;
    const char **cells = vkt__alloc((n_rows + 1) * n * sizeof *cells);
    for (size_t i = 0; i < (n_rows + 1) * n; i++) {
        const json_t *line = i < n ? columns : json_array_get(rows, i / n - 1);
        const char *v = json_string_value(json_array_get(line, i % n));
        cells[i] = v ? v : "";
    }
    vkt__page_table(p, "Result", cells, n, cells + n, n_rows);
    free(cells);
}

static const char *value_or(const vkt__trial_view *t, const char *key)
{
    const char *v = vkt__trial_value(t, key);
    return v ? v : "-";
}

/* How many trials set a key, and whether they do alike. */
static size_t count_set(const vkt__study_view *s, const char *key, bool *alike)
{
    size_t n = 0;
    *alike = true;
    for (size_t i = 0; i < s->n; i++) {
        n += vkt__trial_value(&s->t[i], key) != NULL;
        *alike &= !strcmp(value_or(&s->t[i], key), value_or(&s->t[0], key));
    }
    return n;
}

/* Only what is not the same in all of them has a column; what is has a sentence, and what a single
 * trial sets stands in its row. */
static void trial_table(vkt__page *p, const vkt__study_view *s)
{
    enum { FIXED = 5, MORE = 2 };
    const char *columns[FIXED + VKT__MAX_AXES + MORE] = { "trial", "group", "state", "best",
                                                          "ms per step" };
    char keys[VKT__MAX_AXES][64], text[32];
    size_t n = vkt__study_keys(s, true, keys), k = 0, rare[VKT__MAX_AXES], n_rare = 0;
    size_t best = best_trial(s);
    bool any_why = false;
    vkt__str same = { 0 }, also = { 0 };
    vkt__arena a = { 0 };
    for (size_t i = 0; i < n; i++) {
        bool alike;
        size_t set = count_set(s, keys[i], &alike);
        if (alike)
            vkt__str_printf(&same, "%s%s=%s", same.len ? ", " : "", keys[i],
                            value_or(&s->t[0], keys[i]));
        else if (set == 1 && s->n > 2)
            rare[n_rare++] = i;
        else
            columns[FIXED + k++] = keys[i];
    }
    for (size_t i = 0; i < s->n; i++) any_why |= *s->t[i].why != 0;
    size_t wide = FIXED + k;
    if (any_why) columns[wide++] = "why";
    if (n_rare) columns[wide++] = "also";
    const char **cells = vkt__arena_alloc(&a, (s->n * wide + 1) * sizeof *cells), **at = cells;
    for (size_t i = 0; i < s->n; i++) {
        const vkt__trial_view *t = &s->t[i];
        *at++ = t->name;
        *at++ = t->group;
        *at++ = i == best ? vkt__arena_printf(&a, "%s, the best", t->state) : t->state;
        vkt__format(text, sizeof text, isnan(t->best) ? "-" : "%.5g", t->best);
        *at++ = vkt__arena_strdup(&a, text);
        vkt__format(text, sizeof text, isnan(t->step_ms) ? "-" : "%.3g", t->step_ms);
        *at++ = vkt__arena_strdup(&a, text);
        for (size_t c = 0; c < k; c++) *at++ = value_or(t, columns[FIXED + c]);
        if (any_why) *at++ = t->why;
        for (size_t c = 0; c < n_rare; c++)
            if (vkt__trial_value(t, keys[rare[c]]))
                vkt__str_printf(&also, "%s%s=%s", also.len ? ", " : "", keys[rare[c]],
                                value_or(t, keys[rare[c]]));
        if (n_rare) *at++ = vkt__arena_strdup(&a, also.data ? also.data : "");
        vkt__str_finish(&also);
    }
    vkt__page_table(p, "Trials: each is a run in the study's folder", columns, wide, cells, s->n);
    if (same.len) vkt__page_text(p, "The same in all trials: %s.", same.data);
    vkt__str_finish(&same);
    vkt__arena_finish(&a);
}

vkt_status vkt__report_study(vkt__page *p, const char *dir)
{
    vkt__study_view s = { .dir = dir };
    vkt_status st = vkt__study_view_load(&s);
    if (st == VKT_OK) {
        answer(p, &s);
        result_table(p, &s);
        vkt__study_plots(p, &s);
        trial_table(p, &s);
        vkt__page_details(p, "the complete recipe (YAML)", vkt__study_string(s.json, "config"));
        if (*vkt__study_string(s.json, "space"))
            vkt__page_details(p, "the space", vkt__study_string(s.json, "space"));
        st = p->st;
    }
    vkt__study_view_finish(&s);
    return st;
}
