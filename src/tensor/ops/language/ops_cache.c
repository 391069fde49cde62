/* The cache row: new keys and values behind the old ones, in f32, f16 or bf16. Kernel
 * cache_write.comp. */
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/ops/ops.h"

enum { KEYS, VALUES, NEW_KEYS, NEW_VALUES, START };

static bool cache_write_shape(vkt_node *n)
{
    const vkt_tensor *start = n->in[START];
    for (uint32_t i = KEYS; i <= VALUES; i++) {
        const vkt_tensor *cache = n->in[i], *x = n->in[NEW_KEYS + i];
        uint32_t column = n->attr.cache.column[i];
        if (cache->shape.rank != 3 || x->shape.rank != 3 || cache->shape.d[0] != x->shape.d[0] ||
            (uint64_t)column + cache->shape.d[2] > x->shape.d[2])
            return vkt__shape_error(n, "%s has no room for columns of %s from %u on",
                                    vkt__text(cache), vkt__text(x), column);
    }
    if (!vkt__shape_equal(n->in[KEYS]->shape, n->in[VALUES]->shape) ||
        n->in[KEYS]->dtype != n->in[VALUES]->dtype ||
        !vkt__shape_equal(n->in[NEW_KEYS]->shape, n->in[NEW_VALUES]->shape))
        return vkt__shape_error(n, "keys %s and values %s must be alike", vkt__text(n->in[KEYS]),
                                vkt__text(n->in[VALUES]));
    if (start->count != 1) return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(start));
    return true;
}

static void cache_write_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape cache = n->in[KEYS]->shape, x = n->in[NEW_KEYS]->shape;
    bool narrow = vkt_dtype_bytes(n->in[KEYS]->dtype) == 2;
    struct cache_write_params p = { .keys = vkt__addr(rec, n->in[KEYS]),
                                    .values = vkt__addr(rec, n->in[VALUES]),
                                    .new_keys = vkt__addr(rec, n->in[NEW_KEYS]),
                                    .new_values = vkt__addr(rec, n->in[NEW_VALUES]),
                                    .start = vkt__addr(rec, n->in[START]),
                                    .P = cache.d[1],
                                    .C = cache.d[2],
                                    .T = x.d[1],
                                    .W = x.d[2],
                                    .key_column = n->attr.cache.column[KEYS],
                                    .value_column = n->attr.cache.column[VALUES],
                                    .n = x.d[0] * x.d[1] * cache.d[2] / (narrow ? 2 : 1) };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_Y, vkt__type(n->in[KEYS]) } };
    vkt__dispatch(rec, VKT_SHADER_CACHE_WRITE, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + wg - 1ull) / wg);
}

static void cache_write_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    vkt_shape cache = n->in[KEYS]->shape, x = n->in[NEW_KEYS]->shape;
    uint64_t P = cache.d[1], C = cache.d[2], T = x.d[1], start = (uint64_t)in[START][0];
    for (uint32_t i = KEYS; i <= VALUES; i++)
        for (uint64_t row = 0; row < (uint64_t)x.d[0] * T; row++)
            for (uint64_t c = 0; c < C && start + row % T < P; c++)
                in[i][(row / T * P + start + row % T) * C + c] = vkt__round_to(
                    n->in[i]->dtype, in[NEW_KEYS + i][row * x.d[2] + n->attr.cache.column[i] + c]);
}

static vkt_cost cache_write_cost(const vkt_node *n)
{
    vkt_shape x = n->in[NEW_KEYS]->shape;
    return (vkt_cost) { 0, 16.0 * x.d[0] * x.d[1] * vkt__last(n->in[KEYS]->shape) };
}

static const char *cache_write_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t b, p, c, t, w, column[2], start;
        bool side_by_side; /* new keys and values in one tensor */
        vkt_dtype type;
    } s[] = {
        { "one", 1, 1, 1, 1, 1, { 0, 0 }, 0, false },
        { "in the middle", 2, 9, 6, 3, 6, { 0, 0 }, 4, false },
        { "side by side", 2, 70, 8, 1, 24, { 8, 16 }, 69, true },
        { "past the end", 2, 5, 4, 4, 7, { 3, 1 }, 3, false },
        { "f16, past the end", 2, 5, 4, 4, 7, { 3, 1 }, 3, false, VKT_F16 },
        { "bf16, side by side", 2, 70, 8, 1, 24, { 8, 16 }, 69, true, VKT_BF16 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_shape cache = vkt_shape3(s[i].b, s[i].p, s[i].c), x = vkt_shape3(s[i].b, s[i].t, s[i].w);
    vkt_tensor *k = vkt__sample(g, cache, s[i].type, VKT_HINT_NORMAL, 0),
               *v = vkt__sample(g, cache, s[i].type, VKT_HINT_NORMAL, 0),
               *new_k = vkt__sample(g, x, VKT_F32, VKT_HINT_NORMAL, 0),
               *new_v = s[i].side_by_side ? new_k : vkt__sample(g, x, VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_cache_write(g, k, v, new_k, s[i].column[0], new_v, s[i].column[1],
                    vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, s[i].start));
    return s[i].name;
}

const vkt_op vkt__op_cache_write = { .name = "cache_write",
                                     .n_in = 5,
                                     .in = { [KEYS] = VKT_CHANGED | VKT_NARROW,
                                             [VALUES] = VKT_CHANGED | VKT_NARROW,
                                             [START] = VKT_WORDS },
                                     .shape = cache_write_shape,
                                     .record = cache_write_record,
                                     .ref = cache_write_ref,
                                     .cost = cache_write_cost,
                                     .sample = cache_write_sample };

void vkt_cache_write(vkt_graph *g, vkt_tensor *keys, vkt_tensor *values, vkt_tensor *new_keys,
                     uint32_t key_column, vkt_tensor *new_values, uint32_t value_column,
                     vkt_tensor *start)
{
    vkt__op(g, &vkt__op_cache_write, (vkt_tensor *[]) { keys, values, new_keys, new_values, start },
            5, (vkt_attr) { .cache = { { key_column, value_column } } });
}
