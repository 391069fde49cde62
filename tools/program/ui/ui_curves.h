/* The curves of a run as JSON, thinned to the width of a plot: a million steps become some thousand
 * numbers. */
#ifndef VKT_TOOLS_UI_CURVES_H
#define VKT_TOOLS_UI_CURVES_H

#include "cli.h"

struct json_t;

/* [{"key", "title", "series": [{"name", "x", "y"}]}], of steps from..to; numbers that are none are
 * null. metric: that chooses the checkpoint; NULL: none. */
struct json_t *ui_curves(const vkt_history *h, const char *metric, size_t columns, uint64_t from,
                         uint64_t to);
/* Which of n points a line needs, in `columns` parts of low..high of x, which rises: in each the
 * lowest, the highest and the last. Points that are no numbers are left out; one whose x falls back
 * is of the part before it. keep: [3 columns + 3]; returns how many. */
size_t ui_thin(const double *x, const double *y, size_t n, double low, double high, size_t columns,
               size_t *keep);

#endif
