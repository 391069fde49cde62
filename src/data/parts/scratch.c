/* Memory: checked allocations, and what a thread keeps from example to example. */
#include "data/parts/parts.h"

vkt_status vkt__data_alloc(uint64_t n, uint64_t size, const char *what, void *out)
{
    uint64_t bytes;
    void *p = NULL;
    bool fits = vkt__mul_ok(n, size, &bytes) && bytes <= SIZE_MAX;
    if (fits) p = malloc(bytes ? (size_t)bytes : 1);
    if (!p)
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %s: %llu times %llu bytes", what,
                         (unsigned long long)n, (unsigned long long)size);
    memcpy(out, &p, sizeof p);
    return VKT_OK;
}

vkt_status vkt__scratch_need(vkt__scratch *s, int k, uint64_t bytes, void *out)
{
    vkt_status st = VKT_OK;
    if (bytes > s->bytes[k]) {
        free(s->memory[k]);
        s->memory[k] = NULL;
        s->bytes[k] = 0;
        VKT_TRY(vkt__data_alloc(bytes, 1, "a picture", &s->memory[k]));
        s->bytes[k] = bytes;
    }
    memcpy(out, &s->memory[k], sizeof(void *));
fail:
    return st;
}

void vkt__scratch_finish(vkt__scratch *s)
{
    for (size_t k = 0; k < VKT_COUNT(s->memory); k++) free(s->memory[k]);
    *s = (vkt__scratch) { 0 };
}
