/* The nodes of an ONNX file that is written: names, attributes, constants. For onnx.c
 * and the emitters of onnx_emit.c, onnx_emit_pictures.c and onnx_rnn.c. */
#ifndef VKT_MODELS_ONNX_NODES_H
#define VKT_MODELS_ONNX_NODES_H

#include "models/onnx_back.h"
#include "models/weights.h"
#include "tensor/graph/graph.h"
#include "vktrain/data.h"

enum { VKT__ONNX_F32 = 1, VKT__ONNX_I64 = 7 }; /* types */

/* Bytes of a large tensor, which are written from where they lie: behind the first `at` bytes of
 * the graph. */
typedef struct vkt__far_bytes {
    size_t at, n;
    const void *data;
} vkt__far_bytes;

typedef struct vkt__exporter {
    vkt_graph *g;
    const vkt__weights *weights;
    vkt__str graph; /* nodes and initializers so far */
    vkt__str node, attribute, tensor;
    vkt__far_bytes *far_away; /* [n_far], in order */
    size_t n_far, cap_far, n_far_bytes;
    const vkt__onnx_net *net; /* the file that it began as, or NULL */
    int64_t needs;            /* the opset of the newest op so far */
    bool *named;              /* [n_tensors]: views that have their Reshape */
    uint32_t n_extra;
    vkt__arena arena;
} vkt__exporter;

/* Attributes of the node that is written next. */
void vkt__attr_int(vkt__exporter *e, const char *name, int64_t v);
void vkt__attr_float(vkt__exporter *e, const char *name, float v);
void vkt__attr_text(vkt__exporter *e, const char *name, const char *v);
void vkt__attr_ints(vkt__exporter *e, const char *name, const int64_t *v, size_t n);
/* The node whose attributes were written before: inputs up to NULL ("" is an absent one). Returns
 * out. */
const char *vkt__emit_node(vkt__exporter *e, const char *type, const char *const *in,
                           const char *out);
#define VKT__IN(...) ((const char *const[]) { __VA_ARGS__, NULL })
/* A name for what an emitter needs between its nodes. */
const char *vkt__emit_extra(vkt__exporter *e);
void vkt__emit_numbers(vkt__exporter *e, const char *name, const uint64_t *dims, uint32_t rank,
                       int type, const void *data, size_t bytes);
/* The same of weights, which live until the file is written and are not copied. */
void vkt__emit_weights(vkt__exporter *e, const vkt__st_tensor *t, size_t bytes);
const char *vkt__emit_number(vkt__exporter *e, float v);
const char *vkt__emit_ints(vkt__exporter *e, const int64_t *v, uint32_t n);
/* The name of a tensor's value. */
const char *vkt__emit_name(vkt__exporter *e, const vkt_tensor *t);

/* An activation as one node, or two; false: ONNX has none of it. */
bool vkt__emit_activation(vkt__exporter *e, vkt_act act, const char *x, const char *out);

/* Writes an op's node as those of ONNX. in[]: the names of its inputs, "" for absent ones. false:
 * not as it is here. */
typedef bool vkt__emitter(vkt__exporter *e, const vkt_node *n, const char *const *in,
                          const char *out);
/* That of n's row; an error where there is none or it can't. */
vkt_status vkt__emit(vkt__exporter *e, const vkt_node *n);
/* [N, C, H, W] to [N, H, W, C]; true. */
bool vkt__emit_channels_last(vkt__exporter *e, const char *x, const char *out);
/* Of pictures: pool is max_pool's and avg_pool's; flip that of a filter, whose unflipped one
 * transpose (conv2d_dx) writes. */
vkt__emitter vkt__emit_conv, vkt__emit_pool, vkt__emit_pad, vkt__emit_batch_norm,
    vkt__emit_group_norm, vkt__emit_resize, vkt__emit_flip, vkt__emit_transpose;
/* A detector's outputs beside `value` [N, cells, 4 + classes]: "boxes" [N, cells, 4], left, top,
 * right and bottom in pixels of the model's picture, and "scores" [N, cells, classes]; of those
 * with the least score "found" [K, 3], numbers of picture, class and cell, duplicates removed. */
void vkt__emit_found(vkt__exporter *e, const vkt_dataset_info *info, const char *value);
void vkt__emit_distinct(vkt__exporter *e, double least);
/* GRU and LSTM: a node "rnn" with what vkt_rnn puts before it; false: not as layers have them. */
vkt__emitter vkt__emit_rnn;
/* Whether a node is a part of those, which vkt__emit_rnn writes with them. */
bool vkt__is_of_rnn(const vkt__exporter *e, const vkt_node *n);

#endif
