/* frozen.h */
#include "nn/frozen.h"

#include "base/quant.h"
#include "nn/model_memory.h"

static uint64_t bytes_of(const vkt__param *p)
{
    return vkt__quant_words(p->pub.quant, p->pub.count) * 4;
}

vkt_status vkt__frozen_create(vkt_model *m)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < m->n_params; i++) {
        vkt__param *p = &m->params[i];
        if (!p->pub.quant) continue;
        VKT_TRY(vkt__model_buffer_create(
            m->gpu, &(vkt_buffer_desc) { bytes_of(p), VKT_MEM_DEVICE, "frozen weights" },
            &p->packed));
        m->frozen_bytes += p->packed->bytes;
    }
fail:
    return st;
}

void vkt__frozen_destroy(vkt_model *m)
{
    for (size_t i = 0; i < m->n_params; i++)
        vkt__model_buffer_destroy(m->gpu, &m->params[i].packed);
}

uint64_t vkt_model_frozen_bytes(const vkt_model *m)
{
    return m->frozen_bytes;
}

vkt_buffer *vkt__frozen_buffer(const vkt_model *m, size_t param)
{
    return m->params[param].packed;
}

static vkt_status no_memory(const vkt__param *p)
{
    return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for '%s': %.1f MiB", p->pub.name,
                     (double)bytes_of(p) / 1048576);
}

vkt_status vkt__frozen_write_words(vkt_model *m, size_t param, const uint32_t *words)
{
    const vkt__param *p = &m->params[param];
    return vkt_buffer_write(m->gpu, p->packed, 0, words, bytes_of(p));
}

vkt_status vkt__frozen_write(vkt_model *m, size_t param, const float *values)
{
    vkt__param *p = &m->params[param];
    if (!vkt__quant_can(p->pub.quant))
        return vkt__fail(VKT_E_UNSUPPORTED, "model",
                         "'%s' is kept as %s, which is only read out of a GGUF file", p->pub.name,
                         vkt__quant_name(p->pub.quant));
    uint32_t *words = malloc(bytes_of(p));
    if (!words) return no_memory(p);
    vkt__quantize(p->pub.quant, values, p->pub.count, words);
    vkt_status st = vkt_buffer_write(m->gpu, p->packed, 0, words, bytes_of(p));
    free(words);
    return st;
}

vkt_status vkt__frozen_read(const vkt_model *m, size_t param, float *values)
{
    const vkt__param *p = &m->params[param];
    uint32_t *words = malloc(bytes_of(p));
    if (!words) return no_memory(p);
    vkt_status st = vkt_buffer_read(m->gpu, p->packed, 0, words, bytes_of(p));
    if (st == VKT_OK) vkt__dequantize(p->pub.quant, words, 0, p->pub.count, values);
    free(words);
    return st;
}
