/* How the tuners' candidates are timed. A candidate runs in turns with the kernel that the table
 * names, and what counts is the median of their ratios: clocks that rise, fall or are shared with
 * others change both. */
#ifndef VKT_TENSOR_TUNE_TIME_H
#define VKT_TENSOR_TUNE_TIME_H

#include "tensor/check/tune_inputs.h"

/* How long each candidate is timed. */
double vkt__tune_seconds(const vkt_tune_desc *desc);
/* Times a candidate, ms of one of its graph's copies: in turns with the table's if that has a
 * graph, else alone, once a GPU's clocks are up. INFINITY, after a line, if it would be the best so
 * far but gives other bits from run to run. */
vkt_status vkt__tune_candidate(const vkt__tuned *table, vkt__tuned *c, double seconds,
                               double best_ms);
/* Takes c's graph as the table's, if it is and works; else destroys it. */
void vkt__tune_keep(vkt__tuned *table, vkt__tuned *c, bool is_table);

#endif
