/* What a thread keeps from example to example. */
#include "data/parts/parts.h"

vkt_status vkt__scratch_need(vkt__scratch *s, int k, uint64_t bytes, void *out)
{
    vkt_status st = VKT_OK;
    if (bytes > s->bytes[k]) {
        free(s->memory[k]);
        s->memory[k] = NULL;
        s->bytes[k] = 0;
        VKT_TRY(vkt__alloc_large(bytes, 1, "a picture", &s->memory[k]));
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
