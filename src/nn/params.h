/* A model from the inside: its layers, its parameters and what layers use of both. */
#ifndef VKT_NN_PARAMS_H
#define VKT_NN_PARAMS_H

#include "base/words.h"
#include "vktrain/nn.h"

typedef enum vkt__init {
    VKT_INIT_ZEROS,
    VKT_INIT_ONES,
    VKT_INIT_KAIMING,
    VKT_INIT_XAVIER,
    VKT_INIT_NORMAL,
    VKT_INIT_SIGNS /* 1 or -1 */
} vkt__init;

/* A parameter and how it starts. */
typedef struct vkt__param {
    vkt_param pub;
    vkt__init init;
    float scale;
    bool exact;         /* never kept in fewer bits than f32 */
    bool stacked;       /* [E, N, K]: a matrix for each of E experts */
    bool table;         /* rows are looked up, or give scores: see vkt_lora.base */
    bool looked_up;     /* rows are, of columns' values */
    bool by_member;     /* vectors, one for each member, and no matrix */
    vkt_buffer *packed; /* of one that pub.quant keeps so */
    /* Where it begins with numbers that are there: writes them in the order of its memory. */
    void (*fill)(const struct vkt__param *p, float *out);
    const void *from;
} vkt__param;

typedef struct vkt__layer_list {
    struct vkt__layer *layers;
    size_t n;
    bool is_graph; /* some layer says whose output it takes */
} vkt__layer_list;

/* A layer that gives an output of the model; y: in the graph that was built last. */
typedef struct vkt__head {
    const char *on;
    uint32_t n_outputs;
    vkt_tensor *y;
} vkt__head;

/* A value inside a layer that has a name and is an output, too; y: in the graph that was built
 * last. */
typedef struct vkt__tap {
    const char *name;
    vkt_shape out;
    bool taken; /* by a later layer */
    vkt_tensor *y;
} vkt__tap;

/* A layer of the model: its description, resolved. */
typedef struct vkt__layer {
    const struct vkt__layer_kind *kind;
    vkt_layer spec;             /* body is not used: see below */
    const char *name;           /* "2.body.0" */
    const char *where;          /* "mlp.yaml:12: layer 2 (linear)" */
    vkt_shape in, out;          /* of one example; in: of the first input */
    const int *from;            /* [spec.n_from] places in the list; -1: what it takes */
    vkt__tap *const *taps_from; /* [spec.n_from] of that layer; NULL: its own output */
    vkt__tap *taps;             /* [n_taps] outputs beside its own */
    size_t n_taps;
    const vkt_shape *ins;                /* [spec.n_from] of an example */
    int w, b;                            /* indices of parameters, -1: none */
    uint32_t n_params;                   /* as many from w on, where b is not all there is */
    int s;                               /* index of the first state, -1: none */
    int scale, w_out;                    /* members: parameters between and behind the body */
    bool by_token;                       /* out is [T, V]: a row of outputs for each token */
    const struct vkt__head *head;        /* of a layer that gives one of the model's outputs */
    vkt__layer_list pre, body, shortcut; /* of layers made of layers */
    struct vkt__onnx_net *onnx;          /* of layers_onnx.c */
} vkt__layer;

typedef struct vkt__layer_kind {
    const char *name; /* of vkt_layer_types */
    /* Sets l->out from l->in and adds parameters; logs and returns SHAPE or ARG when it can't. */
    vkt_status (*plan)(vkt_model *m, vkt__layer *l);
    vkt_tensor *(*build)(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                         bool train);
    /* In place of `build`, of a kind that takes several inputs, x[l->spec.n_from]. */
    vkt_tensor *(*join)(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *const *x);
    bool is_whole; /* it is the whole model: there are no other layers */
    bool is_end;   /* it is the model's last layer */
    /* Distinguishes layer kinds that share functions. */
    vkt_act act;
    bool rms, max, bottleneck;
} vkt__layer_kind;

/* What a model knows of its adapters while it is planned, and later. */
typedef struct vkt__adapters {
    vkt_lora desc;
    uint64_t used;                                  /* bit i: target i has matched */
    uint64_t used_ranks, used_alphas, used_modules; /* the same of the patterns and modules */
    bool off;                                       /* while a graph is built without them */
    vkt__str others; /* the ends of names that were no target, for the error message */
} vkt__adapters;

struct vkt_model {
    vkt_gpu *gpu;
    vkt__arena arena;
    const char *source;
    vkt_shape input;
    uint32_t n_outputs;
    vkt_shape output;                    /* see vkt_model_desc */
    uint32_t n_plain, embed_rows;        /* embed_rows: 0 from the layer that has them on */
    bool takes_ids;                      /* the input holds rows of a table */
    const vkt__layer_kind *const *kinds; /* tables, each ended by name NULL; after the last, NULL */
    vkt__layer_list layers;
    vkt__param *params, *states; /* of states, scale is the initial value */
    size_t n_params, cap_params, n_states, cap_states;
    uint64_t count, flat_count, frozen_flat, state_count, frozen_bytes;
    size_t n_packed, n_unfit, first_unfit; /* matrices asked for in few bits; those that are not */
    uint64_t *cuts; /* [n_cuts] elements of the flat buffers before each cut: between parameters */
    size_t n_cuts;
    vkt__adapters adapters;
    float noise; /* see vkt_model_desc */
    vkt_buffer *values, *state_values;
    vkt_buffer *grads;         /* NULL until a graph is trained or an optimizer made */
    uint32_t n_constants;      /* as many of the shape, one after the other */
    vkt_shape constants_shape; /* rank 0: none */
    float *constants_host;
    vkt_buffer *constants;
    struct vkt__onnx_net *onnx; /* nets of ONNX files, each with the next */
    vkt_dtype precision;
    vkt_buffer *shadow; /* the values in that precision; NULL in f32 */
    /* What the training graph that was built last adds to its loss: [1] f32, or NULL. */
    vkt_tensor *added_loss;
    const vkt_graph *added_to;
    vkt__head *heads; /* [n_heads] of the description */
    size_t n_heads;
    const vkt_graph *heads_in;
};

/* How many nets are trained at once; what a training graph gives is [B, that many, n_outputs] where
 * they are more than 1. */
uint32_t vkt__model_n_members(const vkt_model *m);

/* ---- what is declared while layers are planned ---- */

int vkt__model_add_param(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt__init init, float scale);
/* The same with a whole name. */
int vkt__model_add_named(vkt_model *m, const char *name, vkt_shape shape, vkt__init init,
                         float scale);
/* Trains the parameter though the base is frozen. */
void vkt__model_set_trained(vkt_model *m, int param);
void vkt__model_set_table(vkt_model *m, int param);
void vkt__model_set_looked_up(vkt_model *m, int param);
void vkt__model_set_by_member(vkt_model *m, int param);
/* Whether parameter i is a matrix, or filters, of a hidden layer: no table, not what gives the
 * model's outputs, no stack of matrices. */
/* The model's gradients are there: made now, where none were. OOM_DEVICE; DEVICE: it was lost. */
vkt_status vkt__model_grads_make(vkt_model *m);
bool vkt__model_is_hidden(const vkt_model *m, size_t i);
void vkt__model_set_exact(vkt_model *m, int param);
void vkt__model_set_stacked(vkt_model *m, int param);
void vkt__model_set_order(vkt_model *m, int param, vkt_param_order order);
void vkt__model_set_by_head(vkt_model *m, int param, uint32_t heads);
/* Something the layer keeps that is no parameter, and its initial value. */
int vkt__model_add_state(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt_dtype dtype, float value);
/* The same with a whole name. */
int vkt__model_add_named_state(vkt_model *m, const char *name, vkt_shape shape, vkt_dtype dtype,
                               float value);
/* n tables of numbers that are not learned; data by vkt__alloc, the model's from now on. */
void vkt__model_set_constants(vkt_model *m, uint32_t n, vkt_shape shape, float *data);
/* Places every parameter in the flat buffers, when all of them are known, or says that it is kept
 * apart. */
void vkt__model_lay_out(vkt_model *m);
/* A warning, where some of what lora.base asks for could not be had. */
void vkt__model_say_unfit(const vkt_model *m);
/* 0: the model is not trained. */
uint64_t vkt__model_grads_bytes(const vkt_model *m);
/* Cuts the flat buffers into pieces of at most `most` elements. SHAPE: a parameter is larger. */
vkt_status vkt__model_cut(vkt_model *m, uint64_t most);

/* Binds t to the parameter's place in a flat buffer that begins with element `first`, and tells the
 * graph of the zeros behind it. */
void vkt__param_bind(vkt_tensor *t, const vkt_param *p, const vkt_buffer *flat, uint64_t first);

vkt__adapters *vkt__model_adapters(vkt_model *m);
uint32_t vkt__model_n_outputs(const vkt_model *m);
/* How many outputs a layer has that infers it from the data. */
uint32_t vkt__layer_n_outputs(const vkt_model *m, const vkt__layer *l);
/* The i-th layer of the whole; NULL past the last. */
const vkt__layer *vkt__model_layer(const vkt_model *m, size_t i);

/* What g, which must be the graph built last, adds to the mean loss of its batch: [1] f32; NULL:
 * nothing. */
vkt_tensor *vkt__model_added_loss(const vkt_model *m, const vkt_graph *g);

/* vkt_model_build without adapters, dropout or gradients: the base. */
vkt_tensor *vkt__model_build_base(vkt_model *m, vkt_graph *g, vkt_tensor *x);

/* Sets initial values of what is trained alone, where the rest comes from a file. */
vkt_status vkt__model_init_trained(vkt_model *m, uint64_t seed);

void vkt__onnx_nets_destroy(struct vkt__onnx_net *net);

/* ---- tensors of a graph, made once in each ---- */

/* The parameter's tensor in g; NULL for index -1. */
vkt_tensor *vkt__model_tensor(vkt_model *m, vkt_graph *g, int param);
/* The rows of the parameter of that name that ids [B, T] name; NULL: it is not kept so that they
 * can be had alone. */
vkt_tensor *vkt__model_rows(vkt_model *m, vkt_graph *g, const char *name, vkt_tensor *ids);
/* The parameter of that name in g; NULL: there is none. */
vkt_tensor *vkt__model_named(vkt_model *m, vkt_graph *g, const char *name);
vkt_tensor *vkt__model_state_tensor(vkt_model *m, vkt_graph *g, int state);
/* Table i of the constants. */
vkt_tensor *vkt__model_constants(vkt_model *m, vkt_graph *g, uint32_t i);

#endif
