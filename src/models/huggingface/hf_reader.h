/* Values of a config.json, taken one by one; the first that is not what it must be is said. */
#ifndef VKT_MODELS_HF_READER_H
#define VKT_MODELS_HF_READER_H

#include <jansson.h>

#include "base/words.h"

typedef struct vkt__hf_reader {
    const json_t *o;
    const char *name;
    vkt_status st; /* the first failure */
} vkt__hf_reader;

/* One line: the file, the key and what is wrong with it. */
void vkt__hf_refuse(vkt__hf_reader *r, const char *key, const char *what);
/* NULL: the key is not there, or null. */
const json_t *vkt__hf_get(const json_t *o, const char *key);
/* A whole number from 1; fallback 0: it must be there. */
uint32_t vkt__hf_uint(vkt__hf_reader *r, const json_t *o, const char *key, uint32_t fallback);
/* A number above 0; fallback 0: may be left out or null, and is 0 then. */
double vkt__hf_real(vkt__hf_reader *r, const json_t *o, const char *key, double fallback);
bool vkt__hf_bool(vkt__hf_reader *r, const char *key, bool fallback);
/* Adds to an object that is being written. */
void vkt__hf_set(json_t *o, const char *key, json_t *v);

#endif
