/* tune_inputs.h */
#include "gpu/commands.h"
#include "base/os.h"
#include "tensor/check/tune_inputs.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"

/* Bytes of all sets: larger ones are past every cache of today's GPUs, one alone. */
static const uint64_t MOST_BYTES = 256 << 20;
/* Bytes of a node's inputs and result above which two copies take long enough to time. */
static const uint64_t SMALL_BYTES = 8 << 20;
enum { FEW_COPIES = 2, VECTOR = 16 };

static bool is_cpu(const vkt_gpu *gpu)
{
    return vkt_gpu_caps(gpu)->klass == VKT_GPU_CLASS_CPU;
}

static uint32_t copies_for(const vkt_gpu *gpu, uint64_t bytes)
{
    return is_cpu(gpu) || bytes <= SMALL_BYTES ? VKT__TUNE_COPIES : FEW_COPIES;
}

static uint32_t sets_for(const vkt_gpu *gpu, uint64_t bytes, uint32_t copies)
{
    if (is_cpu(gpu) || bytes > MOST_BYTES / VKT__TUNE_SETS) return 1;
    return VKT_MIN(copies, (uint32_t)VKT__TUNE_SETS);
}

uint64_t vkt__tune_period(vkt_shape shape)
{
    static const uint64_t primes[] = { 262139, 1048573, 4194301 };
    uint64_t count = 1, columns = shape.rank ? shape.d[shape.rank - 1] : 1;
    for (uint32_t i = 0; i < shape.rank; i++) count *= shape.d[i];
    uint64_t most = VKT_MAX(columns, columns ? count / columns : 0);
    for (size_t i = 0; i < VKT_COUNT(primes); i++) /* larger than each length: it divides none */
        if (primes[i] > most) return VKT_MIN(primes[i], count);
    return count;
}

/* So many elements that vectors begin again with the pattern: whole ones can be copied. */
static uint64_t unit_of(const vkt_tensor *t, uint64_t period)
{
    return VKT_MIN(period * (VECTOR / vkt_dtype_bytes(t->dtype)), t->count);
}

static vkt_status fill(vkt_gpu *gpu, const vkt_tensor *t, bool whole, int k, vkt__tune_inputs *out)
{
    uint64_t period = vkt__tune_period(t->shape), unit = unit_of(t, period),
             n = VKT_MIN(unit, t->count), kept = whole ? t->count : period,
             each = vkt_dtype_bytes(t->dtype);
    double *values = out->values[k] = vkt__alloc(VKT_MAX(kept, 1) * sizeof *values);
    unsigned char *data = vkt__alloc(n * each + VECTOR);
    out->period[k] = VKT_MAX(kept, 1);
    for (uint64_t i = 0; i < period; i++)
        vkt__sample_encode(t, i, values[i] = vkt__sample_value(t, 1, i), data);
    for (uint64_t i = period; i < n; i++) memcpy(data + i * each, data + (i - period) * each, each);
    for (uint64_t i = period; i < kept; i++) values[i] = values[i - period];
    vkt_status st = vkt_buffer_write(gpu, out->mem, out->at[k], data, n * each);
    if (st == VKT_OK) st = vkt__buffer_repeat(gpu, out->mem, out->at[k], n * each, t->count * each);
    free(data);
    return st;
}

vkt_status vkt__tune_fill(vkt_gpu *gpu, const vkt__tuned *shape, bool whole, vkt__tune_inputs *out)
{
    vkt_status st = VKT_OK;
    for (int k = 0; k < VKT__TUNE_INPUTS; k++) {
        out->at[k] = out->bytes;
        out->bytes += shape->in[0][k] ? vkt__align(shape->in[0][k]->bytes, 256) : 0;
    }
    out->copies = copies_for(gpu, out->bytes + shape->out->bytes);
    out->sets = sets_for(gpu, out->bytes, out->copies);
    const vkt_buffer_desc desc = { out->bytes * out->sets, VKT_MEM_DEVICE, "tune" };
    VKT_TRY(vkt_buffer_create(gpu, &desc, &out->mem));
    for (int k = 0; k < VKT__TUNE_INPUTS; k++)
        if (shape->in[0][k]) VKT_TRY(fill(gpu, shape->in[0][k], whole, k, out));
    VKT_TRY(vkt__buffer_repeat(gpu, out->mem, 0, out->bytes, desc.bytes));
fail:
    return st;
}

static void bind(const vkt__tune_inputs *inputs, uint32_t sets, vkt__tuned *c)
{
    for (uint32_t i = 0; i < sets; i++)
        for (int k = 0; k < VKT__TUNE_INPUTS; k++)
            if (c->in[i][k])
                vkt_bind(c->in[i][k], VKT_ALL_SLOTS, inputs->mem,
                         i * inputs->bytes + inputs->at[k]);
}

void vkt__tune_wish(const vkt__tune_inputs *inputs, vkt__tuned *c)
{
    bind(inputs, 1, c);
    vkt__graph_wish(c->g, &(vkt_plan_desc) { .label = "tune" });
}

vkt_status vkt__tune_compile(const vkt__tune_inputs *inputs, vkt__tuned *c)
{
    bind(inputs, inputs->sets, c);
    return vkt_graph_compile(c->g, &(vkt_plan_desc) { .label = "tune" });
}

void vkt__tune_free(vkt_gpu *gpu, vkt__tune_inputs *inputs)
{
    vkt_buffer_destroy(gpu, &inputs->mem);
    for (int k = 0; k < VKT__TUNE_INPUTS; k++) free(inputs->values[k]);
}
