/* A language model as Hugging Face's config.json says it. */
#ifndef VKT_MODELS_HF_MODEL_H
#define VKT_MODELS_HF_MODEL_H

#include "base/words.h"
#include "vktrain/nn.h"

enum { VKT__HF_MAX_LAYERS = 1000 }; /* as recipes may say */

/* A language model as a config.json says it. Words are as recipes' options have them. */
typedef struct vkt__hf_config {
    const char *names; /* of the parameters: "gpt2", "llama", "phi3", "neox" */
    bool gpt2;         /* names are gpt2 */
    uint32_t layers, heads, kv_heads, head_dim, width, mlp, context, vocab;
    uint32_t window;                 /* sliding; 0: none */
    char window_layers[2048];        /* the layers that have it, as nn/layer_set.h reads; "": all */
    char rope_layers[2048];          /* the same: those with rope */
    uint32_t rotary;                 /* numbers of a head that turn; 0: all */
    double eps, theta, window_theta; /* window_theta 0: as theta */
    bool scaled;                     /* rope: by scaling, whose factors are these texts */
    vkt_rope_scaling scaling;
    char rope_short[4096], rope_long[4096];
    const char *norm_place; /* "pre", "after", "both" */
    const char *activation; /* "gelu", "gelu_erf", "relu", "swiglu", "geglu" */
    double embedding_scale, residual_scale, logit_divisor; /* 1: none */
    double attention_scale, attention_cap, logit_cap;      /* 0: as usual, none, none */
    uint32_t experts, experts_used, experts_mlp;           /* experts 0: none */
    char experts_layers[2048];                             /* as window_layers */
    double experts_balance;                                /* 0: none */
    bool experts_norm;
    bool tied, qkv_bias, attention_bias, mlp_bias, qk_norm, qk_norm_all, plus_one, parallel;
    bool score;                /* it gives classes */
    const char *const *labels; /* [n_labels] of these, when it is written */
    uint32_t n_labels, pad;    /* pad: the id that fills rows up */
    const char *dtype;         /* of the weights written, as config.json says it; NULL: "float32" */
} vkt__hf_config;

#endif
