/* study_view.h: study.json read for a page. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "report/study_view.h"

enum { STUDY_LIMIT = 64 << 20 };

const char *vkt__study_string(const json_t *j, const char *key)
{
    const char *v = json_string_value(json_object_get(j, key));
    return v ? v : "";
}

double vkt__json_number(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);
    return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *vkt__trial_value(const vkt__trial_view *t, const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < json_array_size(t->set); i++) {
        const char *v = json_string_value(json_array_get(t->set, i));
        if (v && !strncmp(v, key, n) && v[n] == '=') return v + n + 1;
    }
    return NULL;
}

vkt_status vkt__study_view_load(vkt__study_view *s)
{
    char path[1100], *data = NULL;
    size_t n;
    json_error_t err;
    vkt_status st = VKT_OK;
    snprintf(path, sizeof path, "%s/study.json", s->dir);
    VKT_TRY(vkt__file_read(path, STUDY_LIMIT, &data, &n));
    s->json = json_loadb(data, n, 0, &err);
    if (!s->json || strcmp(vkt__study_string(s->json, "format"), "vktrain study")) {
        st = vkt__fail(VKT_E_FORMAT, "report", "'%s' is damaged or was not written by vktrain%s%s",
                       path, s->json ? "" : ": ", s->json ? "" : err.text);
        goto fail;
    }
    if (!strcmp(vkt__study_string(s->json, "status"), "running") && vkt_run_abandoned(s->dir))
        json_object_set_new(s->json, "status", json_string("killed"));
    const json_t *trials = json_object_get(s->json, "trials");
    s->sign = vkt__json_number(s->json, "metric_sign") > 0 ? 1 : -1;
    s->t = vkt__alloc((json_array_size(trials) + 1) * sizeof *s->t);
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *j = json_array_get(trials, i);
        vkt__trial_view *t = &s->t[s->n++];
        vkt__str label = { 0 };
        *t = (vkt__trial_view) { .name = vkt__study_string(j, "name"),
                                 .group = vkt__study_string(j, "group"),
                                 .state = vkt__study_string(j, "state"),
                                 .why = vkt__study_string(j, "why"),
                                 .set = json_object_get(j, "set"),
                                 .best = vkt__json_number(j, "best"),
                                 .final_loss = vkt__json_number(j, "final_loss"),
                                 .step_ms = vkt__json_number(j, "step_ms"),
                                 .items_per_s = vkt__json_number(j, "items_per_s") };
        vkt__str_printf(&label, "%s", t->name);
        for (size_t k = 0; k < json_array_size(t->set); k++)
            vkt__str_printf(&label, " %s",
                            json_string_value(json_array_get(t->set, k))
                                ? json_string_value(json_array_get(t->set, k))
                                : "");
        t->label = label.data;
    }
fail:
    free(data);
    return st;
}

bool vkt__trial_explores(const vkt__trial_view *t)
{
    static const char *const groups[] = { "search",  "sweep", "refine", "clip",
                                          "no-clip", "rate",  "speed" };
    for (size_t i = 0; i < VKT_COUNT(groups); i++)
        if (!strcmp(t->group, groups[i])) return true;
    return false;
}

void vkt__study_view_finish(vkt__study_view *s)
{
    for (size_t i = 0; i < s->n; i++) free(s->t[i].label);
    free(s->t);
    json_decref(s->json);
}

size_t vkt__study_keys(const vkt__study_view *s, bool all, char keys[VKT__MAX_AXES][64])
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!all && !vkt__trial_explores(&s->t[i])) continue;
        for (size_t k = 0; k < json_array_size(s->t[i].set); k++) {
            const char *v = json_string_value(json_array_get(s->t[i].set, k));
            size_t len = v ? strcspn(v, "=") : 0, at = 0;
            if (!len || len >= 64) continue;
            while (at < n && (strlen(keys[at]) != len || strncmp(keys[at], v, len))) at++;
            if (at == n && n < VKT__MAX_AXES) snprintf(keys[n++], 64, "%.*s", (int)len, v);
        }
    }
    return n;
}
