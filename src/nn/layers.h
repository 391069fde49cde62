/* What a layer type does: infer its output shape and declare its parameters, then put ops into
 * graphs. */
#ifndef VKT_NN_LAYERS_H
#define VKT_NN_LAYERS_H

#include "base/words.h"
#include "vktrain/nn.h"

typedef enum vkt__init {
    VKT_INIT_ZEROS,
    VKT_INIT_ONES,
    VKT_INIT_KAIMING,
    VKT_INIT_XAVIER,
    VKT_INIT_NORMAL
} vkt__init;

/* A parameter and how it starts. */
typedef struct vkt__param {
    vkt_param pub;
    vkt__init init;
    float scale;
} vkt__param;

typedef struct vkt__layer_list {
    struct vkt__layer *layers;
    size_t n;
} vkt__layer_list;

/* A layer of the model: its description, resolved. */
typedef struct vkt__layer {
    const struct vkt__layer_kind *kind;
    vkt_layer spec;                      /* body is not used: see below */
    const char *name;                    /* "2.body.0" */
    const char *where;                   /* "mlp.yaml:12: layer 2 (linear)" */
    vkt_shape in, out;                   /* of one example */
    int w, b;                            /* indices of parameters, -1: none */
    uint32_t n_params;                   /* as many from w on, where b is not all there is */
    int s;                               /* index of the first state, -1: none */
    vkt__layer_list pre, body, shortcut; /* of layers made of layers */
} vkt__layer;

typedef struct vkt__layer_kind {
    const char *name; /* of vkt_layer_types */
    /* Sets l->out from l->in and adds parameters; logs and returns SHAPE or ARG when it can't. */
    vkt_status (*plan)(vkt_model *m, vkt__layer *l);
    vkt_tensor *(*build)(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                         bool train);
} vkt__layer_kind;

/* ---- adapters (lora.c) ---- */

/* What a model knows of its adapters while it is planned, and later. */
typedef struct vkt__adapters {
    vkt_lora desc;
    uint64_t used;   /* bit i: target i has matched */
    vkt__str others; /* the ends of names that were no target, for the error message */
} vkt__adapters;
/* The parameters of an adapter on the linear layer `module`, if it is a target. by_default: where
 * no targets are named. Returns how many were added: 0 or 2. */
uint32_t vkt__lora_add(vkt_model *m, const char *module, uint32_t in, uint32_t out,
                       bool by_default);
/* ARG: a target has matched no layer. */
vkt_status vkt__lora_check(const vkt__adapters *a, const char *source);
/* y = layer(x), plus what the layer's adapter adds, where it has one. */
vkt_tensor *vkt__lora_build(vkt_model *m, vkt_graph *g, const char *module, vkt_tensor *x,
                            vkt_tensor *y, bool train);

extern const vkt__layer_kind vkt__transformer_kind;
const vkt__layer_kind *vkt__layer_kind_find(const char *name);
/* Those of layers_image.c, ended by name NULL. */
extern const vkt__layer_kind vkt__image_kinds[];

/* Logs with the layer's place and returns SHAPE. */
vkt_status vkt__layer_error(const vkt__layer *l, const char *fmt, ...) VKT_PRINTF(2, 3);
/* The initialiser that the layer's `init` names. */
vkt_status vkt__layer_init_of(const vkt__layer *l, vkt__init *out);

/* ---- what kinds use of the model (model.c) ---- */

int vkt__model_add_param(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt__init init, float scale);
/* The same with a whole name. */
int vkt__model_add_named(vkt_model *m, const char *name, vkt_shape shape, vkt__init init,
                         float scale);
vkt__adapters *vkt__model_adapters(vkt_model *m);
/* Of an adapter: it is trained though others are frozen. */
void vkt__model_set_trained(vkt_model *m, int param);
/* The parameter of that name in g; NULL: there is none. */
vkt_tensor *vkt__model_named(vkt_model *m, vkt_graph *g, const char *name);
/* Numbers that are not learned; data by vkt__alloc, the model's from now on. */
void vkt__model_set_constants(vkt_model *m, vkt_shape shape, float *data);
vkt_tensor *vkt__model_constants(vkt_model *m, vkt_graph *g);
/* The parameter's tensor in g; NULL for index -1. */
vkt_tensor *vkt__model_tensor(vkt_model *m, vkt_graph *g, int param);
uint32_t vkt__model_n_outputs(const vkt_model *m);
/* The i-th layer of the whole; NULL past the last. */
const vkt__layer *vkt__model_layer(const vkt_model *m, size_t i);
void vkt__model_set_order(vkt_model *m, int param, vkt_order order);
/* Something the layer keeps that is no parameter, and its initial value. */
int vkt__model_add_state(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt_dtype dtype, float value);
vkt_tensor *vkt__model_state_tensor(vkt_model *m, vkt_graph *g, int state);
/* Plans a list of layers whose input is `in`; their names open with prefix. */
vkt_status vkt__model_plan_list(vkt_model *m, const vkt_layer *spec, size_t n, const char *prefix,
                                vkt_shape in, bool is_whole, vkt__layer_list *out,
                                vkt_shape *out_shape);
vkt_tensor *vkt__model_build_list(vkt_model *m, vkt_graph *g, const vkt__layer_list *list,
                                  vkt_tensor *x, bool train);
/* The last parameters of a branch start at zero, so that x + f(x) = x at first. */
void vkt__model_zero_last(vkt_model *m, const vkt__layer_list *body);

#endif
