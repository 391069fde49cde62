/* What the description of a transformer means: kinds of files, sizes, rope's tables. */
#ifndef VKT_NN_TRANSFORMER_SHAPE_H
#define VKT_NN_TRANSFORMER_SHAPE_H

#include "nn/params.h"

/* How a kind of files names and lays out parameters. Weights are [out, in], or [in, out] (columns).
 */
typedef struct vkt__naming {
    const char *word;  /* of the option `names` */
    const char *block; /* with the block's number */
    const char *embedding, *positions, *last_norm, *head;
    const char *qkv; /* one projection for all three; NULL: self_attn.q_proj, k_proj and v_proj */
    const char *o, *gate, *up, *down;
    bool gate_in_up;                /* one projection for both */
    const char *norm_1, *norm_2;    /* of what the branches read */
    bool columns, biases, by_heads; /* by_heads: qkv's rows are [H, 3, D] */
} vkt__naming;

typedef enum vkt__norm_place {
    VKT_NORM_PRE,
    VKT_NORM_POST,  /* of sums */
    VKT_NORM_AFTER, /* of branches' results */
    VKT_NORM_BOTH
} vkt__norm_place;

/* A description with defaults filled in. P: positions that there are, T or more. R: numbers of a
 * head that turn. */
typedef struct vkt__tshape {
    uint32_t T, V, C, H, Hkv, D, P, R, mlp, expert_mlp, n_layers;
    const vkt__naming *names;
    vkt__norm_place place;
    bool gated, rope, learned, rms;
    vkt_act act;
} vkt__tshape;

/* NULL: no kind of files is called so. */
const vkt__naming *vkt__naming_of(const char *word);
/* That of a description, which may leave it out. */
const vkt__naming *vkt__naming_for(const vkt_transformer *t);
/* What the branches' norms are called; NULL: there is none. */
typedef struct vkt__norm_names {
    const char *attention_in, *attention_out, *mlp_in, *mlp_out;
} vkt__norm_names;
vkt__norm_names vkt__norm_names_of(const vkt__tshape *s);

/* ARG or SHAPE with the layer's line. */
vkt_status vkt__transformer_shape(const vkt__layer *l, uint32_t n_vocab, vkt__tshape *s);
/* Rope's tables: one, then that of the layers with a window, if they have another one. The caller
 * frees them. ARG, SHAPE as above. */
vkt_status vkt__rope_tables(const vkt__layer *l, vkt__tshape *s, uint32_t *n, float **tables);

#endif
