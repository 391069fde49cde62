/* vktrain onnx layer: what an ONNX file holds, and which of its ops are known.
 *
 * Threads: any, each call by itself. Aborts: nothing but a small host allocation. Ownership: what a
 * callback is given lives until it returns.
 */
#ifndef VKTRAIN_ONNX_H
#define VKTRAIN_ONNX_H

#include "vktrain/formats.h"
#include "vktrain/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of the numbers of an initializer. */
typedef enum vkt_onnx_use {
    VKT_ONNX_UNUSED,   /* the output does not need it */
    VKT_ONNX_CONSTANT, /* it stays as it is: shapes, indices, single numbers, masks */
    VKT_ONNX_TRAINED,  /* a parameter */
    VKT_ONNX_AVERAGE   /* a running mean or variance of a batch norm */
} vkt_onnx_use;
/* What a file holds; each function may be NULL. */
typedef struct vkt_onnx_visitor {
    void (*value)(void *user, const char *key, const char *text); /* "opset", "producer" */
    /* An input or output: "float [N, 3, 224, 224]". */
    void (*port)(void *user, bool output, const char *name, const char *type);
    /* How many nodes have the op; to: what they become, NULL: it is not supported. */
    void (*op)(void *user, const char *name, uint64_t count, const char *to);
    void (*tensor)(void *user, const vkt_tensor_info *t, vkt_onnx_use use);
    void *user;
} vkt_onnx_visitor;
/* Calls them for all that the file's first output of floats needs, and for each initializer; where
 * an op is not supported, what would be trained is as if it were. FORMAT: it is no ONNX file of
 * opset 6 or later, or damaged. */
VKT_API vkt_status vkt_onnx_list(const char *path, const vkt_onnx_visitor *v);

/* The i-th op that is supported; false: past the last. */
typedef struct vkt_onnx_op_info {
    const char *name, *to; /* to: what it becomes */
    const char *limits;    /* what of it is not supported, or NULL */
} vkt_onnx_op_info;
VKT_API bool vkt_onnx_op_info_at(size_t i, vkt_onnx_op_info *out);

#ifdef __cplusplus
}
#endif
#endif
