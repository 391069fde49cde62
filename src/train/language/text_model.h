/* A trained language model opened to write text: for vkt_generate and vkt_chat. */
#ifndef VKT_TRAIN_TEXT_MODEL_H
#define VKT_TRAIN_TEXT_MODEL_H

#include "models/trained.h"
#include "vktrain/train.h"

typedef struct vkt__text_model {
    uint32_t context; /* positions of a generator */
    vkt_dtype cache;
    bool in_batches; /* it scores whole texts, for which a CPU driver keeps its threads */
    vkt__trained trained;
    vkt_tokenizer *tokenizer;
    vkt_gpu *gpu;
    vkt_model *model;
    vkt_generator *generator;
    vkt_tokens tokens; /* prompt and what was generated */
} vkt__text_model;

/* Zeroed before, except in_batches; vkt__text_model_close whatever came. */
vkt_status vkt__text_model_open(const vkt_text_desc *desc, vkt__text_model *s);
/* One more generator for texts of the same kind. */
vkt_status vkt__text_model_generator(const vkt__text_model *s, vkt_generator **out);
void vkt__text_model_close(vkt__text_model *s);
/* Goes on after s->tokens. ARG: they are more than the model's context; `what` they are. */
vkt_status vkt__text_model_continue(vkt__text_model *s, const char *what,
                                    const vkt_generate_desc *d, vkt_generate_result *out);

#endif
