/* vktrain report layer: run and study folders as a page.
 *
 * Threads: any, each call by itself. Aborts: nothing but a small host allocation. Ownership: what
 * the callback is given lives until it returns.
 */
#ifndef VKTRAIN_REPORT_H
#define VKTRAIN_REPORT_H

#include "vktrain/bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reports ---- */

/* What the curves of a run say: a name for scripts ("overfitting"), and a sentence or two with
 * numbers and what to do. */
typedef void (*vkt_finding_fn)(void *user, const char *name, const char *text);
typedef struct vkt_report_desc {
    const char *const
        *paths; /* run folders and study folders; one run: its page; several: overlaid */
    size_t n_paths;
    const char *out;   /* HTML file; NULL: report.html in the folder of a single path, else in
                          the current one */
    bool no_png;       /* else each plot also as OUT-NAME.png */
    uint32_t reload_s; /* a page of a run in progress: it reloads itself so often; 0: never */
    vkt_finding_fn on_finding; /* called for each finding of a single run; NULL: none */
    void *user;
} vkt_report_desc;
typedef struct vkt_report_result {
    char out[1200];
    size_t n_findings, n_pictures;
    uint64_t bytes; /* of the page */
} vkt_report_result;
/* A self-contained page: no network, and readable without its script. IO, FORMAT: a folder can't be
 * read; ARG: it is neither a run nor a study. */
VKT_API vkt_status vkt_report_write(const vkt_report_desc *desc, vkt_report_result *out);

/* The findings of a run alone, in progress too, most urgent first; no page is written. IO, FORMAT:
 * the folder can't be read. */
VKT_API vkt_status vkt_report_findings(const char *run_dir, vkt_finding_fn on_finding, void *user);

/* A page from which a model that is served can be asked. facts: what GET /model gives, JSON. Free
 * it with vkt_free. */
VKT_API char *vkt_report_served(const char *title, const char *facts);

/* The page of many machines at `path`: charts, then a table for each version of the score. site:
 * `path` is a folder, made where it is missing, that gets the page as index.html, a page of each
 * device, a PNG of each chart, and all values as results.csv and results.json. IO. */
VKT_API vkt_status vkt_report_machines(const vkt_bench_machine *machines, size_t n,
                                       const char *path, bool site);

#ifdef __cplusplus
}
#endif
#endif
