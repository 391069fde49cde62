/* What config.json says of rotary positions. */
#ifndef VKT_MODELS_HF_ROPE_H
#define VKT_MODELS_HF_ROPE_H

#include "models/huggingface/hf_family.h"
#include "models/huggingface/hf_reader.h"

/* theta, window_theta, rotary, scaled and scaling of *c, whose head_dim and context are known. */
void vkt__hf_rope_read(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c);
void vkt__hf_rope_write(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o);

#endif
