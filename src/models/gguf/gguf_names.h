/* What llama.cpp's architectures are called in config.json, and their tensors in files of
 * transformers. */
#ifndef VKT_MODELS_GGUF_NAMES_H
#define VKT_MODELS_GGUF_NAMES_H

#include "base/log.h"
#include "base/memory.h"

typedef struct vkt__gguf_arch {
    const char *name; /* general.architecture */
    const char *type; /* model_type of config.json */
    bool neighbours;  /* rotary positions turn neighbours of a head there; else its halves */
    bool plus_one;    /* gains are stored with 1 added */
    const struct vkt__gguf_part *parts;
} vkt__gguf_arch;

/* NULL: it is not supported. */
const vkt__gguf_arch *vkt__gguf_arch_find(const char *name);
/* To write one of a model_type. ARG: llama.cpp has it under no name that is known here; `instead`
 * says what writes a folder for its converter. */
vkt_status vkt__gguf_arch_of(const char *type, const char *instead, const vkt__gguf_arch **out);
/* "gpt2, llama, ... and phi3". */
void vkt__gguf_arch_list(vkt__str *out);
/* "model.layers.3.mlp.up_proj.weight" <-> "blk.3.ffn_up.weight"; NULL: there is none. */
const char *vkt__gguf_their_name(const vkt__gguf_arch *arch, vkt__arena *a, const char *ours);
const char *vkt__gguf_our_name(const vkt__gguf_arch *arch, vkt__arena *a, const char *theirs);

#endif
