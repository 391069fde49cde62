/* A trained language model opened to write text: for vkt_generate and vkt_chat. */
#ifndef VKT_TRAIN_SPEAKER_H
#define VKT_TRAIN_SPEAKER_H

#include "models/trained.h"
#include "vktrain/train.h"

typedef struct vkt__speaker {
    vkt__trained trained;
    vkt_tokenizer *tokenizer;
    vkt_gpu *gpu;
    vkt_model *model;
    vkt_generator *generator;
    vkt_tokens tokens; /* prompt and what was generated */
} vkt__speaker;

/* Zeroed before; vkt__speaker_close whatever came. */
vkt_status vkt__speaker_open(const vkt_gpu_desc *gpu, const char *checkpoint, vkt__speaker *s);
void vkt__speaker_close(vkt__speaker *s);
/* Goes on after s->tokens. ARG: they are more than the model's context; `what` they are. */
vkt_status vkt__speaker_speak(vkt__speaker *s, const char *what, const vkt_generate_desc *d,
                              vkt_generate_result *out);

#endif
