/* The architectures that config.json may name: a row each, of what a model_type takes for granted
 * and what its keys may ask for. */
#ifndef VKT_MODELS_HF_FAMILY_H
#define VKT_MODELS_HF_FAMILY_H

#include "models/huggingface/hf_model.h"

/* What tells models apart beyond their sizes. */
enum {
    VKT__HF_QKV_BIAS = 1 << 0,
    VKT__HF_ATTENTION_BIAS = 1 << 1,
    VKT__HF_MLP_BIAS = 1 << 2,
    VKT__HF_QK_NORM = 1 << 3,     /* of each head */
    VKT__HF_QK_NORM_ALL = 1 << 4, /* of all heads as one */
    VKT__HF_NORM_AFTER = 1 << 5,
    VKT__HF_NORM_BOTH = 1 << 6,
    VKT__HF_PLUS_ONE = 1 << 7,
    VKT__HF_EMBEDDING_SCALE = 1 << 8,
    VKT__HF_EMBEDDING_ROOT = 1 << 9, /* and it is the root of the width */
    VKT__HF_RESIDUAL_SCALE = 1 << 10,
    VKT__HF_ATTENTION_SCALE = 1 << 11,
    VKT__HF_LOGIT_DIVISOR = 1 << 12,
    VKT__HF_ATTENTION_CAP = 1 << 13,
    VKT__HF_LOGIT_CAP = 1 << 14,
    VKT__HF_WINDOW = 1 << 15,  /* of all layers */
    VKT__HF_WINDOWS = 1 << 16, /* of some */
    VKT__HF_WINDOW_THETA = 1 << 17,
    VKT__HF_NO_ROPE = 1 << 18, /* in some layers */
    VKT__HF_PARTIAL = 1 << 19,
    VKT__HF_PARALLEL = 1 << 20,
    VKT__HF_EXPERTS = 1 << 21,
    VKT__HF_EXPERTS_SOME = 1 << 22, /* and in some layers only */
    VKT__HF_EXPERTS_NORM = 1 << 23
};

/* Which layers have the window, where layer_types does not say it. */
typedef enum vkt__hf_windows {
    VKT__HF_WINDOWS_ALL,     /* where sliding_window is not null */
    VKT__HF_WINDOWS_USED,    /* if use_sliding_window */
    VKT__HF_WINDOWS_FROM,    /* those from max_window_layers on, if use_sliding_window */
    VKT__HF_WINDOWS_NO_ROPE, /* those without rope, if use_sliding_window */
    VKT__HF_WINDOWS_PATTERN  /* all but every n-th */
} vkt__hf_windows;

typedef struct vkt__hf_family {
    const char *type, *architecture;
    const char *names; /* of the transformer's option */
    uint32_t keys;     /* VKT__HF_KEYS_*: which keys it has (hf_keys.h) */
    uint32_t needs;    /* always */
    uint32_t may;      /* if keys ask for it */
    vkt__hf_windows windows;
    uint32_t pattern; /* of windows */
    /* Without their keys. head_dim 0: width / heads. */
    uint32_t head_dim, context;
    double theta, eps;
    bool tied;
    const char *act_key, *act; /* the activation's key and its word */
    const char *eps_key;
    bool plain; /* layernorm, and an activation without a gate */
} vkt__hf_family;

/* NULL: none is called so. */
const vkt__hf_family *vkt__hf_family_find(const char *type);
/* The first that computes this; NULL: none does. */
const vkt__hf_family *vkt__hf_family_of(const vkt__hf_config *c);
/* "gpt2, llama, ... and gpt_neox". */
void vkt__hf_family_list(vkt__str *out);

#endif
