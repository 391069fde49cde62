/* hf_reader.h */
#include "models/huggingface/hf_reader.h"

#include <math.h>

void vkt__hf_refuse(vkt__hf_reader *r, const char *key, const char *what)
{
    if (r->st == VKT_OK)
        r->st = vkt__fail(VKT_E_FORMAT, "model", "'%s': %s %s", r->name, key, what);
}

const json_t *vkt__hf_get(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

uint32_t vkt__hf_uint(vkt__hf_reader *r, const json_t *o, const char *key, uint32_t fallback)
{
    const json_t *v = vkt__hf_get(o, key);
    if (!v && fallback) return fallback;
    json_int_t i = json_integer_value(v);
    if (json_is_integer(v) && i >= 1 && i <= 1 << 24) return (uint32_t)i;
    vkt__hf_refuse(r, key, v ? "must be a whole number from 1 to 16777216" : "is missing");
    return 1;
}

double vkt__hf_real(vkt__hf_reader *r, const json_t *o, const char *key, double fallback)
{
    const json_t *v = vkt__hf_get(o, key);
    if (!v) return fallback;
    double d = json_number_value(v);
    if (json_is_number(v) && (float)d > 0 && isfinite((float)d)) return d; /* kept as float32 */
    vkt__hf_refuse(r, key, "must be a number above 0");
    return fallback;
}

bool vkt__hf_bool(vkt__hf_reader *r, const char *key, bool fallback)
{
    const json_t *v = vkt__hf_get(r->o, key);
    if (v && !json_is_boolean(v)) vkt__hf_refuse(r, key, "must be true or false");
    return v ? json_is_true(v) : fallback;
}

void vkt__hf_set(json_t *o, const char *key, json_t *v)
{
    json_object_set_new(o, key, v);
}
