/* A study as its page reads it: its study.json. */
#ifndef VKT_REPORT_STUDY_VIEW_H
#define VKT_REPORT_STUDY_VIEW_H

#include <jansson.h>

#include "report/page.h"

/* A trial, as study.json has it; texts are the file's. */
typedef struct vkt__trial_view {
    const char *name, *group, *state, *why;
    const json_t *set;
    double best, final_loss, step_ms, items_per_s;
    char *label; /* its name and settings, of its own */
} vkt__trial_view;

typedef struct vkt__study_view {
    const char *dir;
    json_t *json;
    vkt__trial_view *t;
    size_t n;
    int sign;
} vkt__study_view;

/* Reads DIR/study.json; s->dir is the caller's. FORMAT: damaged. */
vkt_status vkt__study_view_load(vkt__study_view *s);
void vkt__study_view_finish(vkt__study_view *s);
/* A text of an object; "": there is none. */
const char *vkt__study_string(const json_t *j, const char *key);
/* A number of an object; NAN: there is none. */
double vkt__json_number(const json_t *j, const char *key);
/* "0.1" of the settings "optim.lr=0.1"; NULL: not set. */
const char *vkt__trial_value(const vkt__trial_view *t, const char *key);
/* Trials of the question itself, not of checks and comparisons. */
bool vkt__trial_explores(const vkt__trial_view *t);
enum { VKT__MAX_AXES = 24 };
/* The options that trials set, in their order; all: those of checks, too. Returns how many. */
size_t vkt__study_keys(const vkt__study_view *s, bool all, char keys[VKT__MAX_AXES][64]);

/* The metric along each metaparameter, the best so far, curves of the trials. */
void vkt__study_plots(vkt__page *p, const vkt__study_view *s);

/* Metric by the number of training examples, of a study of data: report_study_data.c. */
void vkt__study_data_plot(vkt__page *p, const vkt__study_view *s);

#endif
