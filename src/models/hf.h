/* Hugging Face model folders: config.json <-> the model list of a recipe, and the weights. The
 * model layer keeps their names and layouts, so that weights are read and written as they are. */
#ifndef VKT_TRAIN_HF_H
#define VKT_TRAIN_HF_H

#include "train/session.h"
#include "models/trained.h"

/* A language model as a config.json of GPT-2 or of the Llama family says it. */
typedef struct vkt__hf_config {
    bool gpt2; /* else of the Llama family */
    uint32_t layers, heads, kv_heads, width, mlp, context, vocab;
    uint32_t window; /* sliding; 0: none */
    double eps, theta;
    const char *activation; /* as recipes call it: "gelu", "gelu_erf", "relu", "swiglu", "geglu" */
    bool tied, qkv_bias, all_bias;
    const char *dtype; /* of the weights written, as config.json says it; NULL: "float32" */
} vkt__hf_config;

/* FORMAT: another architecture (named, with those that are supported), or a setting that is not. */
vkt_status vkt__hf_config_parse(const char *text, size_t n, const char *name, vkt__hf_config *out);
/* As a recipe's `model:` list. */
void vkt__hf_config_recipe(const vkt__hf_config *c, vkt__str *out);
/* Of a model list that is one transformer. ARG: it is not, or no such format can say it. */
vkt_status vkt__hf_config_of(const vkt_layer *layers, size_t n_layers, vkt__hf_config *out);
/* As config.json that transformers reads. Caller frees. */
char *vkt__hf_config_json(const vkt__hf_config *c, uint32_t end_token);

/* ARG: there is something of that name already. */
vkt_status vkt__export_is_new(const char *path);

/* A language model's checkpoint in host memory, to be written in another format. */
typedef struct vkt__language {
    vkt__trained trained;
    vkt__hf_config config; /* complete */
    vkt_tokenizer *tokenizer;
    vkt_model *model; /* without a device: names and shapes */
    vkt__weights weights;
} vkt__language;
/* ARG: the model is neither of GPT-2's nor of Llama's kind. vkt__language_close whatever came. */
vkt_status vkt__language_open(const char *checkpoint, vkt__language *out);
void vkt__language_close(vkt__language *l);

#endif
