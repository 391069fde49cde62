/* Whose outputs a layer takes: names of a list's layers, resolved to places in it. */
#ifndef VKT_NN_LAYER_FROM_H
#define VKT_NN_LAYER_FROM_H

#include "nn/params.h"

/* Logs and returns ARG: a name of the i-th layer's `from` is none of a layer before it. where: the
 * layer, for the message. Sets place[n_from]; -1: what the list takes; and cut[n_from], which cut
 * of that layer; -1: its own output. */
vkt_status vkt__layer_from(const vkt_layer *spec, size_t n, size_t i, const char *where, int *place,
                           int *cut);
/* The same for the i-th of a list whose earlier layers are planned, with shapes: sets l->from, ins
 * and in. list_in: what the list takes. */
vkt_status vkt__layer_connect(vkt_model *m, const vkt_layer *spec, size_t n, vkt__layer *layers,
                              size_t i, vkt_shape list_in, bool is_whole);
/* Marks the layers of the whole list that give the model's outputs. Logs and returns ARG: there is
 * none of a head's name, or the last layer is no head. */
vkt_status vkt__layer_heads(vkt_model *m, const vkt_layer *spec, size_t n, vkt__layer *layers);
/* Logs and returns ARG: an output that no later layer takes and that is none of the model's, or a
 * name that two layers have. */
vkt_status vkt__layers_check(const vkt__layer *layers, size_t n);

#endif
