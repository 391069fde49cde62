/* A self-contained HTML page: no network, readable without its script (page.js: hover values, zoom,
 * log scales, smoothing); light or dark as the reader's system is (page.css). */
#ifndef VKT_REPORT_PAGE_H
#define VKT_REPORT_PAGE_H

#include "report/plot.h"
#include "vktrain/report.h"
#include "vktrain/runs.h"

typedef struct vkt__page {
    vkt__str html;
    const char *png; /* "DIR/report": pictures are DIR/report-NAME.png; NULL: none */
    size_t n_pictures;
    size_t n_findings;
    vkt_finding_fn on_finding; /* NULL: none */
    void *user;
    uint32_t reload_s; /* as vkt_report_desc has it */
    bool asks; /* its script may ask the server that it comes from, and show what it was given */
    vkt_status st; /* the first picture that could not be written */
} vkt__page;

void vkt__page_begin(vkt__page *p, const char *title);
void vkt__page_end(vkt__page *p);
/* The same with another script. */
void vkt__page_end_with(vkt__page *p, const char *script);
/* A style sheet more. */
void vkt__page_style(vkt__page *p, const char *sheet);
/* h2 or h3, escaped. */
void vkt__page_heading(vkt__page *p, int level, const char *fmt, ...) VKT_PRINTF(3, 4);
/* A paragraph, escaped; what stands between two `back quotes` is code, here and below. */
void vkt__page_text(vkt__page *p, const char *fmt, ...) VKT_PRINTF(2, 3);
/* A finding: its title in bold, its text; `good`: nothing to worry about. */
void vkt__page_note(vkt__page *p, const char *title, const char *text, bool good);
/* The plot as SVG, for wide and for narrow screens, with its values for the script; and as a PNG
 * named `name` beside the page, if it has data. Empty plots are left out. */
void vkt__page_plot(vkt__page *p, const vkt__plot *plot, const char *name);
/* What stands around tables that may stand beside one another. */
void vkt__page_side_begin(vkt__page *p);
void vkt__page_side_end(vkt__page *p);
/* What stands around plots: small multiples. */
void vkt__page_plots_begin(vkt__page *p);
void vkt__page_plots_end(vkt__page *p);
/* Preformatted text behind a summary that opens it. */
void vkt__page_details(vkt__page *p, const char *summary, const char *text);
/* The line of facts: name and value, those whose value is NULL are left out. */
void vkt__page_facts(vkt__page *p, const char *const (*facts)[2], size_t n);
/* A row of a matrix: its name in cells[0], each other cell shaded by 0..1, the one where it meets
 * itself (`own`) in another colour, and with a text for those who point at it. All [n]. */
void vkt__page_shaded_row(vkt__page *p, const char *const *cells, size_t n, const double *shade,
                          size_t own, const char *const *about);
/* Text whose line ends count, its long lines wrapped. */
void vkt__page_quote(vkt__page *p, const char *text);
/* A table of texts, cells [rows, n]. Columns of numbers stand right, long texts are wrapped. */
void vkt__page_table(vkt__page *p, const char *caption, const char *const *columns, size_t n,
                     const char *const *cells, size_t rows);
/* The same, whose rows the caller writes: caption, then columns, then rows. n 0: of pairs. */
void vkt__page_table_begin(vkt__page *p, const char *caption, const char *const *columns, size_t n);
/* A row that says what (a header) and which (a text whose long words are wrapped). */
void vkt__page_pair(vkt__page *p, const char *what, const char *which);
/* Texts, each with a dot before it. */
void vkt__page_list(vkt__page *p, const char *const *items, size_t n);
void vkt__page_table_end(vkt__page *p);

/* ---- what pages are made of ---- */

/* A run: findings, curves, tables. */
vkt_status vkt__report_run(vkt__page *p, const char *dir);
/* Several runs over one another. */
vkt_status vkt__report_runs(vkt__page *p, const char *const *dirs, size_t n);
/* A study by its study.json and its trials. */
vkt_status vkt__report_study(vkt__page *p, const char *dir);

/* A history as arrays for plots. A run may have millions of steps: what one plot alone shows is
 * made for it and freed (report_curves.c). */
typedef struct vkt__curves {
    size_t n, n_evals;
    double *step, *smooth;                       /* [n] smooth: the loss */
    double *eval_step, *eval_loss, *eval_metric; /* [n_evals] */
} vkt__curves;
void vkt__curves_load(const vkt_history *h, const char *metric, vkt__curves *out);
void vkt__curves_finish(vkt__curves *c);
/* A number of each step, by its place in vkt_history_step. */
double *vkt__curve_of(const vkt_history *h, size_t offset);

#endif
