/* What a config.json says of a mixture of experts. */
#ifndef VKT_MODELS_HF_EXPERTS_H
#define VKT_MODELS_HF_EXPERTS_H

#include "models/huggingface/hf_family.h"
#include "models/huggingface/hf_reader.h"

/* The experts of a family that has them. Read them after layers and mlp. */
void vkt__hf_experts_read(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c);
void vkt__hf_experts_write(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o);

#endif
