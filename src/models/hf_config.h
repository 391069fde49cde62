/* Hugging Face's config.json <-> the model list of a recipe. The model layer keeps their names and
 * layouts, so that weights are read and written as they are. */
#ifndef VKT_MODELS_HF_CONFIG_H
#define VKT_MODELS_HF_CONFIG_H

#include "base/words.h"
#include "vktrain/nn.h"

enum { VKT__HF_MAX_LAYERS = 1000 }; /* as recipes may say */

/* A language model as a config.json of GPT-2 or of the Llama family says it. */
typedef struct vkt__hf_config {
    bool gpt2; /* else of the Llama family */
    uint32_t layers, heads, kv_heads, head_dim, width, mlp, context, vocab;
    uint32_t window;          /* sliding; 0: none */
    char window_layers[2048]; /* the layers that have it, as nn/layer_set.h reads; "": all */
    double eps, theta;
    bool scaled; /* rope: by scaling */
    vkt_rope_scaling scaling;
    const char *activation; /* as recipes call it: "gelu", "gelu_erf", "relu", "swiglu", "geglu" */
    bool tied, qkv_bias, attention_bias, mlp_bias, qk_norm;
    const char *dtype; /* of the weights written, as config.json says it; NULL: "float32" */
} vkt__hf_config;

/* FORMAT: another architecture (named, with those that are supported), or a setting that is not. */
vkt_status vkt__hf_config_parse(const char *text, size_t n, const char *name, vkt__hf_config *out);
/* Its model_type. */
const char *vkt__hf_config_type(const vkt__hf_config *c);
/* As the one layer of a model list. */
vkt_layer vkt__hf_config_layer(const vkt__hf_config *c);
/* Of a model list that is one transformer. ARG: it is not, or no such format can say it. */
vkt_status vkt__hf_config_of(const vkt_layer *layers, size_t n_layers, vkt__hf_config *out);
/* As config.json that transformers reads. Caller frees. */
char *vkt__hf_config_json(const vkt__hf_config *c, uint32_t end_token);

#endif
