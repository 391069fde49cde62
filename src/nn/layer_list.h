/* Lists of layers: planned, put into graphs. For the model and for layers made of layers. */
#ifndef VKT_NN_LAYER_LIST_H
#define VKT_NN_LAYER_LIST_H

#include "nn/params.h"

/* Plans a list of layers whose input is `in`; their names open with prefix. */
vkt_status vkt__model_plan_list(vkt_model *m, const vkt_layer *spec, size_t n, const char *prefix,
                                vkt_shape in, bool is_whole, vkt__layer_list *out,
                                vkt_shape *out_shape);
/* The same of a block's own layers, whose names stand in it. */
vkt_status vkt__model_plan_part(vkt_model *m, const vkt__layer *l, const vkt_layer *list, size_t n,
                                vkt_shape in, vkt__layer_list *out, vkt_shape *shape);
vkt_tensor *vkt__model_build_list(vkt_model *m, vkt_graph *g, const vkt__layer_list *list,
                                  vkt_tensor *x, bool train);
/* The same from the layer `first` on, x being what the one before it gave, and the taps of those
 * before set. */
vkt_tensor *vkt__model_build_rest(vkt_model *m, vkt_graph *g, const vkt__layer_list *list,
                                  size_t first, vkt_tensor *input, vkt_tensor *x, bool train);
/* body(x) + shortcut(x), of a layer made of these two; x itself where it has no shortcut. */
vkt_tensor *vkt__model_build_sum(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train);
/* The last parameters of a branch start at zero, so that x + f(x) = x at first. */
void vkt__model_zero_last(vkt_model *m, const vkt__layer_list *body);

/* ---- for the functions of a kind ---- */

/* Logs with the layer's place and returns SHAPE. */
vkt_status vkt__layer_error(const vkt__layer *l, const char *fmt, ...) VKT_PRINTF(2, 3);
/* The layer's place, for messages: "mlp.yaml:12: layer 2 (linear)". */
const char *vkt__layer_where(vkt_model *m, const vkt_layer *spec, const char *name);
/* The initialiser that the layer's `init` names. */
vkt__init vkt__layer_init_of(const vkt__layer *l);

#endif
