/* The cache row: new keys or values behind the old ones. Kernel cache_write.comp. */
#include "tensor/ops.h"

static bool cache_write_shape(vkt_node *n)
{
    const vkt_tensor *cache = n->in[0], *x = n->in[1], *start = n->in[2];
    if (cache->shape.rank != 3 || x->shape.rank != 3 || cache->shape.d[0] != x->shape.d[0] ||
        (uint64_t)n->attr.cache.column + cache->shape.d[2] > x->shape.d[2])
        return vkt__shape_error(n, "%s has no room for columns of %s from %u on", vkt__text(cache),
                                vkt__text(x), n->attr.cache.column);
    if (start->dtype != VKT_U32 || start->count != 1)
        return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(start));
    return true;
}

static void cache_write_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape cache = n->in[0]->shape, x = n->in[1]->shape;
    struct cache_write_params p = { .cache = vkt__addr(rec, n->in[0]),
                                    .x = vkt__addr(rec, n->in[1]),
                                    .start = vkt__addr(rec, n->in[2]),
                                    .P = cache.d[1],
                                    .C = cache.d[2],
                                    .T = x.d[1],
                                    .W = x.d[2],
                                    .column = n->attr.cache.column,
                                    .n = x.d[0] * x.d[1] * cache.d[2] };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64), spec[] = { wg, 1, 1 };
    vkt__dispatch(rec, "cache_write", spec, VKT_COUNT(spec), &p, sizeof p, (p.n + wg - 1ull) / wg);
}

static void cache_write_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    vkt_shape cache = n->in[0]->shape, x = n->in[1]->shape;
    uint64_t P = cache.d[1], C = cache.d[2], T = x.d[1], start = (uint64_t)in[2][0];
    for (uint64_t row = 0; row < (uint64_t)x.d[0] * T; row++)
        for (uint64_t c = 0; c < C && start + row % T < P; c++)
            in[0][(row / T * P + start + row % T) * C + c] =
                in[1][row * x.d[2] + n->attr.cache.column + c];
}

static vkt_cost cache_write_cost(const vkt_node *n)
{
    vkt_shape x = n->in[1]->shape;
    return (vkt_cost) { 0, 8.0 * x.d[0] * x.d[1] * vkt__last(n->in[0]->shape) };
}

static const char *cache_write_sample(vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t b, p, c, t, w, column, start;
    } s[] = {
        { "one", 1, 1, 1, 1, 1, 0, 0 },
        { "in the middle", 2, 9, 6, 3, 6, 0, 4 },
        { "columns of more", 2, 70, 8, 1, 24, 16, 69 },
        { "past the end", 2, 5, 4, 4, 7, 3, 3 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt_shape cache = vkt_shape3(s[i].b, s[i].p, s[i].c), x = vkt_shape3(s[i].b, s[i].t, s[i].w);
    vkt_cache_write(g, vkt__sample(g, cache, VKT_F32, VKT_HINT_NORMAL, 0),
                    vkt__sample(g, x, VKT_F32, VKT_HINT_NORMAL, 0), s[i].column,
                    vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, s[i].start));
    return s[i].name;
}

const vkt_op vkt__op_cache_write = { .name = "cache_write",
                                     .n_in = 3,
                                     .mutates = 1,
                                     .shape = cache_write_shape,
                                     .record = cache_write_record,
                                     .ref = cache_write_ref,
                                     .cost = cache_write_cost,
                                     .sample = cache_write_sample };

void vkt_cache_write(vkt_graph *g, vkt_tensor *cache, vkt_tensor *x, uint32_t column,
                     vkt_tensor *start)
{
    vkt__op(g, &vkt__op_cache_write, (vkt_tensor *[]) { cache, x, start }, 3,
            (vkt_attr) { .cache = { column } });
}
