/* A run as its page reads it, and the parts of that page. */
#ifndef VKT_REPORT_RUN_VIEW_H
#define VKT_REPORT_RUN_VIEW_H

#include "data/tables/csv.h"
#include "report/page.h"
#include "runs/run_folder.h"

/* A run as its page reads it. Texts that are made for the page belong to the arena. */
typedef struct vkt__run_view {
    const char *dir;
    vkt__arena arena;
    vkt__run_record rec;
    vkt_config *config; /* NULL: not readable */
    vkt_history *h;
    vkt__curves c;
    vkt_status st; /* of a file that exists and could not be read */
} vkt__run_view;

/* Findings of a run: calls back with name, title and text of each. */
typedef void (*vkt__tell_fn)(void *user, const char *name, const char *title, const char *text);
void vkt__run_findings(vkt__run_view *r, vkt__tell_fn tell, void *user);
void vkt__run_view_finish(vkt__run_view *r);

/* Loss, metric, rate, norms, clipped share, throughput: report_curves.c. */
void vkt__run_plots(vkt__page *p, const vkt__run_view *r);
/* What the best checkpoint gets most wrong, and labels that it contradicts: report_errors.c. */
void vkt__run_errors(vkt__page *p, vkt__run_view *r);
/* Classes, confusion matrix, the same examples over time: report_predictions.c. */
void vkt__run_predictions(vkt__page *p, vkt__run_view *r);
/* Names of the classes, from what was predicted; NULL, *n 0: not known. The arena's. */
const char *const *vkt__run_class_names(vkt__run_view *r, size_t *n);
/* A table of the run's folder, with a row under its header; false, silently: there is none. One
 * that can't be read ends the page. */
bool vkt__run_table(vkt__run_view *r, const char *name, vkt__csv *out);
/* ROC, precision-recall and reliability curves, and the importance of columns:
 * report_measures.c. */
void vkt__run_curves(vkt__page *p, vkt__run_view *r);
/* What a language model wrote, over time: report_samples.c. */
void vkt__run_samples(vkt__page *p, const vkt__run_view *r);

/* Where among n things the i-th of `shown` stands, the first and the last among them. */
size_t vkt__run_spread(size_t i, size_t shown, size_t n);

#endif
