/* A Hugging Face folder, or a GGUF file, as what a configuration begins with. */
#ifndef VKT_MODELS_HF_FOLDER_H
#define VKT_MODELS_HF_FOLDER_H

#include "vktrain/recipe.h"

/* c->init is such a folder or file: takes over its model, and where the recipe leaves them out its
 * vocabulary, tokenizer and context. FORMAT: config.json is not of a model that is supported; ARG:
 * data.context is longer than the model's. */
vkt_status vkt__hf_folder_apply(vkt_config *c);

#endif
