/* The drawing of a net whose layers take outputs of others than the layer before. */
#ifndef VKT_REPORT_GRAPH_SVG_H
#define VKT_REPORT_GRAPH_SVG_H

#include "base/words.h"
#include "vktrain/nn.h"

/* Whether there is such a layer, and the list is short enough to be looked at. */
bool vkt__graph_is_drawn(const vkt_layer *layers, size_t n);
/* An <svg> element of the page's classes (plot.h): a row a layer from the top, the input first; a
 * line from each layer to those that take its output, beside the rows where it skips some. */
void vkt__graph_svg(const vkt_layer *layers, size_t n, vkt__str *out);

#endif
