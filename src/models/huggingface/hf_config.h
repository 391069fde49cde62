/* Hugging Face's config.json <-> the model list of a recipe (hf_layer.c). The model layer keeps
 * their names and layouts, so that weights are read and written unchanged. */
#ifndef VKT_MODELS_HF_CONFIG_H
#define VKT_MODELS_HF_CONFIG_H

#include "models/huggingface/hf_model.h"

/* FORMAT: another architecture (named, with those that are supported), or a setting that is not. */
vkt_status vkt__hf_config_parse(const char *text, size_t n, const char *name, vkt__hf_config *out);
/* Its model_type. */
const char *vkt__hf_config_type(const vkt__hf_config *c);
/* As the one layer of a model list. */
vkt_layer vkt__hf_config_layer(const vkt__hf_config *c);
/* Describes a model list that is one transformer. ARG: it is not, or no such format can say it. */
vkt_status vkt__hf_config_of(const vkt_layer *layers, size_t n_layers, vkt__hf_config *out);
/* As config.json that transformers reads. Caller frees. */
char *vkt__hf_config_json(const vkt__hf_config *c, uint32_t end_token);

#endif
