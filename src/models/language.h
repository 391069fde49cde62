/* A trained language model in host memory, to be written in another format. */
#ifndef VKT_MODELS_LANGUAGE_H
#define VKT_MODELS_LANGUAGE_H

#include "models/huggingface/hf_config.h"
#include "models/trained.h"

/* ARG: there is something of that name already. */
vkt_status vkt__export_is_new(const char *path);

/* tokenizer.json, tokenizer_config.json and generation_config.json into a folder. */
vkt_status vkt__export_tokenizer(const char *folder, const vkt_tokenizer *t,
                                 const vkt__hf_config *h);

/* A language model's checkpoint in host memory, to be written in another format. */
typedef struct vkt__language {
    vkt__trained trained;
    vkt__hf_config config; /* complete */
    vkt_tokenizer *tokenizer;
    vkt__arena arena; /* names of classes, where it gives these: config.score */
    vkt_model *model; /* without a device: names and shapes */
    vkt__weights weights;
} vkt__language;
/* ARG: the model is neither of GPT-2's nor of Llama's kind. vkt__language_close whatever came. */
vkt_status vkt__language_open(const char *checkpoint, vkt__language *out);
void vkt__language_close(vkt__language *l);

#endif
