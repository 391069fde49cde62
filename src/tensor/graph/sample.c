/* Inputs of sample cases: their values by hint, encoded as the device holds them, and tolerances.
 */
#include <math.h>
#include <stdio.h>

#include "base/half.h"
#include "base/quant.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"

vkt_tensor *vkt__sample(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, uint32_t hint,
                        uint32_t limit)
{
    char name[16];
    snprintf(name, sizeof name, "in%zu", g->n_tensors);
    vkt_tensor *t = vkt_input(g, shape, dtype, name);
    t->hint.kind = hint;
    t->hint.limit = limit;
    return t;
}

static double round_to(vkt_dtype dtype, double v)
{
    return vkt__round_to(dtype, (double)(float)v);
}

static double step_word(uint64_t i)
{
    const struct vkt_step_block b = { .lr = 0.01f,
                                      .ema = 0.3f,
                                      .adam_m = 1.25f,
                                      .adam_g = 0.375f,
                                      .adam_v = 2.5f,
                                      .clip = 0.5f,
                                      .inv_weight = 1.5f,
                                      .step = 5,
                                      .micro = 1,
                                      .rows = 2,
                                      .row = 3,
                                      .dropout_key = 12345 };
    uint32_t words[sizeof b / 4];
    memcpy(words, &b, sizeof b);
    return words[i];
}

/* Of n rows with ids row % limit: rows before the first with id `id` when they are sorted. */
static uint64_t cycle_segment(uint64_t n, uint64_t limit, uint64_t id)
{
    return id * (n / limit) + VKT_MIN(id, n % limit);
}

static uint64_t cycle_order(uint64_t n, uint64_t limit, uint64_t i)
{
    uint64_t id = 0;
    while (cycle_segment(n, limit, id + 1) <= i) id++;
    return id + (i - cycle_segment(n, limit, id)) * limit;
}

double vkt__sample_value(const vkt_tensor *t, uint64_t seed, uint64_t i)
{
    uint64_t at = t->index * 1000003ull + i, limit = t->hint.limit;
    switch (t->hint.kind) {
    case VKT_HINT_CYCLE:
        return (double)(i % limit);
    case VKT_HINT_ORDER:
        return (double)cycle_order(t->count, limit, i);
    case VKT_HINT_SEGMENTS:
        return (double)cycle_segment(limit, t->count - 1, i);
    case VKT_HINT_DOCUMENTS:
        return (double)(i % vkt__last(t->shape) / limit * limit);
    case VKT_HINT_CONSTANT:
        return (double)limit;
    case VKT_HINT_PACKED:
        return vkt__quant_sample((vkt_quant)limit, i, vkt_rand_u32(seed, VKT_RNG_TEST, at));
    case VKT_HINT_STEP:
        return step_word(i);
    case VKT_HINT_INDEX:
        return vkt_rand_below(seed, VKT_RNG_TEST, at, t->hint.limit);
    case VKT_HINT_POSITIVE:
        return round_to(t->dtype, 0.25 + vkt_rand_uniform(seed, VKT_RNG_TEST, at));
    case VKT_HINT_UNIT:
        return 1;
    default:
        return round_to(t->dtype, vkt_rand_normal(seed, VKT_RNG_TEST, at));
    }
}

double vkt__tol(vkt_dtype dtype, double n_terms)
{
    double eps = dtype == VKT_F16 ? 0x1p-11 : dtype == VKT_BF16 ? 0x1p-8 : 0x1p-24;
    return eps * (4 + 2 * sqrt(n_terms));
}

/* The arithmetic is fp32's whatever the dtype; a 16-bit result may then fall on the other side of
 * the middle between two numbers: one step of the dtype, which is at most 2 eps |v|, and 2^-24
 * where f16 is subnormal. */
double vkt__limit(vkt_dtype dtype, double n_terms, double want, double scale)
{
    double step = dtype == VKT_F16    ? 0x1p-10
                  : dtype == VKT_BF16 ? 0x1p-7
                                      : 0,
           least = dtype == VKT_F16 ? 0x1p-24 : 0;
    return vkt__tol(VKT_F32, n_terms) * (fabs(want) + scale) + step * fabs(want) + least;
}

void vkt__sample_encode(const vkt_tensor *t, uint64_t i, double v, void *data)
{
    float f = (float)v;
    if (t->dtype == VKT_F32)
        memcpy((char *)data + 4 * i, &f, 4);
    else if (t->dtype == VKT_U32)
        ((uint32_t *)data)[i] = (uint32_t)v;
    else
        ((uint16_t *)data)[i] = t->dtype == VKT_BF16 ? vkt__to_bf16(f) : vkt__to_f16(f);
}

double vkt__sample_decode(const vkt_tensor *t, uint64_t i, const void *data)
{
    float f;
    if (t->dtype == VKT_U32) return ((const uint32_t *)data)[i];
    if (t->dtype == VKT_F32) {
        memcpy(&f, (const char *)data + 4 * i, 4);
        return f;
    }
    uint16_t h = ((const uint16_t *)data)[i];
    return t->dtype == VKT_BF16 ? vkt__from_bf16(h) : vkt__from_f16(h);
}

/* A number of a relative error tol has a code next to the twin's where an edge lies between: codes
 * are at most 1/64 of their number apart, and have two edges; a word has four. */
vkt__code_check vkt__code_check_of(const vkt_tensor *t, double tol)
{
    vkt__code_check c = { .most = 2 + 4 * 2 * 64 * tol * (double)t->count };
    for (size_t k = 0; t->dtype == VKT_U32 && k < t->g->n_nodes; k++) {
        const vkt_node *n = t->g->nodes[k];
        for (uint32_t i = 0; n->op->code && i < VKT_MAX_IN; i++)
            if (n->in[i] == t && n->op->in[i] & VKT_CHANGED) c.op = n->op, c.input = i;
    }
    return c;
}

double vkt__code_share(vkt__code_check *c, double got, double want)
{
    if (got == want) return 0;
    if (++c->apart > c->most) return INFINITY;
    for (uint32_t k = 0; k < 32; k += 8)
        if (abs(c->op->code(c->input, (uint32_t)got >> k & 255) -
                c->op->code(c->input, (uint32_t)want >> k & 255)) > 1)
            return INFINITY;
    return 1;
}
