/* tune_inputs.h */
#include "tensor/check/tune_inputs.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"

/* Bytes of all sets: larger ones are past every cache of today's GPUs, one alone. */
static const uint64_t MOST_BYTES = 256 << 20;

static uint32_t sets_for(const vkt_gpu *gpu, uint64_t bytes)
{
    if (vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU) return 1;
    return bytes <= MOST_BYTES / VKT__TUNE_SETS ? VKT__TUNE_SETS : 1;
}

vkt_status vkt__tune_fill(vkt_gpu *gpu, const vkt__tuned *shape, vkt__tune_inputs *out)
{
    vkt_status st = VKT_OK;
    for (int k = 0; k < VKT__TUNE_INPUTS; k++) {
        out->at[k] = out->bytes;
        out->bytes += shape->in[0][k] ? vkt__align(shape->in[0][k]->bytes, 256) : 0;
    }
    out->sets = sets_for(gpu, out->bytes);
    unsigned char *data = vkt__alloc(out->bytes);
    const vkt_buffer_desc desc = { out->bytes * out->sets, VKT_MEM_DEVICE, "tune" };
    for (int k = 0; k < VKT__TUNE_INPUTS; k++) {
        const vkt_tensor *t = shape->in[0][k];
        if (!t) continue;
        out->values[k] = vkt__alloc(t->count * sizeof(double));
        for (uint64_t i = 0; i < t->count; i++)
            vkt__sample_encode(t, i, out->values[k][i] = vkt__sample_value(t, 1, i),
                               data + out->at[k]);
    }
    VKT_TRY(vkt_buffer_create(gpu, &desc, &out->mem));
    for (uint32_t i = 0; i < out->sets; i++)
        VKT_TRY(vkt_buffer_write(gpu, out->mem, i * out->bytes, data, out->bytes));
fail:
    free(data);
    return st;
}

vkt_status vkt__tune_compile(const vkt__tune_inputs *inputs, vkt__tuned *c)
{
    for (uint32_t i = 0; i < inputs->sets; i++)
        for (int k = 0; k < VKT__TUNE_INPUTS; k++)
            if (c->in[i][k])
                vkt_bind(c->in[i][k], VKT_ALL_SLOTS, inputs->mem,
                         i * inputs->bytes + inputs->at[k]);
    return vkt_graph_compile(c->g, &(vkt_plan_desc) { .label = "tune" });
}

void vkt__tune_free(vkt_gpu *gpu, vkt__tune_inputs *inputs)
{
    vkt_buffer_destroy(gpu, &inputs->mem);
    for (int k = 0; k < VKT__TUNE_INPUTS; k++) free(inputs->values[k]);
}
