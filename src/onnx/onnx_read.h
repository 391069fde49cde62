/* What the readers of a file's parts share; each refuses in one line and returns FORMAT or IO. */
#ifndef VKT_ONNX_ONNX_READ_H
#define VKT_ONNX_ONNX_READ_H

#include "formats/protobuf.h"
#include "onnx/onnx_file.h"

/* Logs "PATH: what" and returns FORMAT. */
vkt_status vkt__onnx_bad(const vkt__onnx *f, const char *fmt, ...) VKT_PRINTF(2, 3);
/* A text of the file as one of ours. FORMAT: it is no UTF-8, or holds a NUL or a line's end. */
vkt_status vkt__onnx_text(vkt__onnx *f, vkt__pb bytes, const char **out);
/* folder NULL: data of other files are refused. */
vkt_status vkt__onnx_read_tensor(vkt__onnx *f, vkt__pb m, const char *folder,
                                 vkt__onnx_tensor *out);
/* Where names of nodes are looked up: the graph, a function's body, or a branch. */
typedef struct vkt__onnx_scope {
    const struct vkt__onnx_scope *outer; /* whose names it sees, too; NULL: none */
    const struct vkt__onnx_scope
        *caller;        /* where the node stands that it replaces; NULL: the graph */
    const char *prefix; /* of its values' names */
    /* Names that are values of the caller; -1: not given. */
    const char *const *formals;
    const int *actuals;
    size_t n_formals;
    const vkt__onnx_node *call; /* of a function: has its attributes */
    const vkt__onnx_function
        *function; /* which has those that are usual; NULL: a branch, the graph */
    size_t at;
    int guard;
    uint32_t depth; /* 0: the graph */
} vkt__onnx_scope;
/* A function of the file, for the nodes that call it. */
vkt_status vkt__onnx_read_function(vkt__onnx *f, vkt__pb m);
/* Counts what functions and branches are written out to; FORMAT: that is too much. */
vkt_status vkt__onnx_count_inlined(vkt__onnx *f, size_t bytes);
/* All nodes of the graph. */
vkt_status vkt__onnx_read_nodes(vkt__onnx *f, vkt__pb graph, const char *folder);
/* One node; its values get it when it takes its place. */
vkt_status vkt__onnx_read_node(vkt__onnx *f, vkt__pb m, const char *folder,
                               const vkt__onnx_scope *s, vkt__onnx_node *out);
/* The value of a name in a scope; -1: it is not given, or where *known is false not there. */
int vkt__onnx_look_up(vkt__onnx *f, const vkt__onnx_scope *s, const char *name, bool *known);
/* The caller's value that the name is, if it is one: *is. */
int vkt__onnx_formal(const vkt__onnx_scope *s, const char *name, bool *is);
/* The name that a value of the scope has in the whole. */
const char *vkt__onnx_scoped(vkt__onnx *f, const vkt__onnx_scope *s, const char *name);
/* Whether an input, an initializer or a node gives it by now. */
bool vkt__onnx_is_given(const vkt__onnx *f, int value);
/* The place of the value of that name, which is made where there is none. */
int vkt__onnx_name_value(vkt__onnx *f, const char *name);

#endif
