/* Which keys a config.json may have, and what becomes of each. */
#ifndef VKT_MODELS_HF_KEYS_H
#define VKT_MODELS_HF_KEYS_H

#include <jansson.h>

#include "base/words.h"

/* Where a key may stand: a family has LLAMA or another of the first three, and what is its own. */
enum {
    VKT__HF_KEYS_GPT2 = 1 << 0,
    VKT__HF_KEYS_LLAMA = 1 << 1,
    VKT__HF_KEYS_NEOX = 1 << 2,
    VKT__HF_KEYS_SMOLLM3 = 1 << 3,
    VKT__HF_KEYS_GRANITE = 1 << 4,
    VKT__HF_KEYS_GEMMA2 = 1 << 5,
    VKT__HF_KEYS_GEMMA3 = 1 << 6,
    VKT__HF_KEYS_PHI3 = 1 << 7,
    VKT__HF_KEYS_ROPE = 1 << 8,      /* rope_parameters and rope_scaling */
    VKT__HF_KEYS_ROPE_PART = 1 << 9, /* the same, where a part of a head may turn */
    VKT__HF_KEYS_ROPES = 1 << 10,    /* rope_parameters by kind of layer */
    VKT__HF_KEYS_QWEN3_MOE = 1 << 11,
    VKT__HF_KEYS_OLMOE = 1 << 12
};

/* FORMAT: a key that is not known in `where`, or that asks for something else than what is
 * computed; the line names it. Keys that hf_config.c reads are its to check. */
vkt_status vkt__hf_keys_check(const json_t *o, uint32_t where, const char *name);

#endif
