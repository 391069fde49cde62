/* Which keys a config.json may have, and what becomes of each. */
#ifndef VKT_MODELS_HF_KEYS_H
#define VKT_MODELS_HF_KEYS_H

#include <jansson.h>

#include "base/words.h"

/* FORMAT: an unknown key, or one that requests something unsupported; the message names it. Keys
 * that hf_config.c reads are checked there. */
vkt_status vkt__hf_keys_check(const json_t *config, bool gpt2, const char *name);
/* The same for the object of rope's parameters. */
vkt_status vkt__hf_rope_keys_check(const json_t *rope, const char *name);

#endif
