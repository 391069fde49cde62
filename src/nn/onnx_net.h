/* The net of a layer "onnx", for who writes it back. */
#ifndef VKT_NN_ONNX_NET_H
#define VKT_NN_ONNX_NET_H

#include "nn/params.h"
#include "onnx/onnx_build.h"

/* A result of a net, as the layer gives it. */
typedef struct vkt__onnx_result {
    bool picture; /* it is a picture, which the file has with channels first */
    bool row;     /* it is one row of numbers, whatever axes of 1 the file has */
} vkt__onnx_result;

typedef struct vkt__onnx_net {
    vkt__onnx *f;
    vkt__onnx_plan *plan;
    vkt_model *m;
    const char *prefix;        /* of names: "" or "name." */
    vkt__onnx_feed *feeds;     /* [n_inputs] */
    size_t example;            /* the input that is */
    size_t n_params, n_states; /* of the model's, the first that many are the net's */
    int *of;                   /* [n_initializers] the parameter or state that it is; -1: none */
    vkt__onnx_linear *linears; /* [n_initializers] those that have an adapter; or NULL */
    bool flat;                 /* a picture's numbers are taken as a row */
    bool last;    /* pictures are taken with channels last, where the file has them first */
    bool resized; /* the pictures have another size than those that the file is for */
    vkt__onnx_result *outs;   /* [plan->n_outs] of its results, the layer's own last */
    bool train;               /* the graph that is being built is trained */
    const vkt_tensor *tokens; /* of the graph that is being built: the example */
    bool dry;                 /* shapes alone are asked for: nothing is bound */
    bool scout;               /* dry, and before anything is declared: which branches are taken */
    struct vkt__onnx_net *next;
} vkt__onnx_net;

/* The net that the model's first layer is; NULL: that is another kind of layer. */
const vkt__onnx_net *vkt__onnx_net_of(const vkt_model *m);
/* What the linear layer of that parameter is called, where it is a net's and has an adapter. */
const vkt__onnx_linear *vkt__onnx_adapted(const vkt_model *m, size_t param);

#endif
