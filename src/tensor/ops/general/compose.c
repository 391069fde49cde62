/* Ops that are made of others and lose nothing: split, repeat, top-k, instance norm, products whose
 * leading dimensions are broadcast. */
#include "tensor/ops/general/nd.h"
#include "tensor/ops/ops.h"

/* An error of an op that has no row. */
static vkt_node told(vkt_graph *g, const vkt_op *name)
{
    return (vkt_node) { .op = name, .g = g };
}

void vkt_split_along(vkt_graph *g, vkt_tensor *x, const uint32_t *sizes, uint32_t n, uint32_t axis,
                     vkt_tensor **out)
{
    uint32_t first[VKT_MAX_RANK] = { 0 };
    uint64_t all = 0;
    vkt_shape part = x->shape;
    bool fits = !x->inert && axis < part.rank;
    for (uint32_t i = 0; i < n; i++) all += sizes[i];
    if (!x->inert && (!fits || all != part.d[axis])) {
        vkt_node node = told(g, &(vkt_op) { .name = "split" });
        vkt__shape_error(&node, "%s in %u parts of %llu elements along axis %u: they are all of it",
                         vkt__text(x), n, (unsigned long long)all, axis);
        fits = false;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = vkt__inert(g);
        if (!fits) continue;
        part.d[axis] = sizes[i];
        out[i] = vkt_slice(g, x, first, part.d, NULL);
        first[axis] += sizes[i];
    }
}

/* Each repeated dimension is split in two, and the first of the two is expanded. */
vkt_tensor *vkt_repeat(vkt_graph *g, vkt_tensor *x, const uint32_t *counts)
{
    vkt_shape apart = { 0, { 0 } }, wide, whole = x->shape;
    if (x->inert) return x;
    uint32_t rank = x->shape.rank;
    bool fits = true;
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        rank += counts[k] != 1 && x->shape.d[k] != 1;
        fits = fits && (uint64_t)x->shape.d[k] * counts[k] <= INT32_MAX;
    }
    if (!fits || rank > VKT_MAX_RANK) {
        vkt_node node = told(g, &(vkt_op) { .name = "repeat" });
        vkt__shape_error(&node,
                         "%s: the result has an axis of more than 2^31 elements, or too many axes "
                         "are repeated: %u in all, each that is not of size 1 counts twice",
                         vkt__text(x), rank);
        return vkt__inert(g);
    }
    wide = apart;
    for (uint32_t k = 0; k < x->shape.rank; k++) {
        if (counts[k] != 1 && x->shape.d[k] != 1) {
            apart.d[apart.rank++] = 1;
            wide.d[wide.rank++] = counts[k];
        }
        apart.d[apart.rank++] = x->shape.d[k];
        wide.d[wide.rank++] = x->shape.d[k] == 1 ? counts[k] : x->shape.d[k];
        whole.d[k] *= counts[k];
    }
    return vkt_reshape(g, vkt_expand(g, vkt_reshape(g, x, apart), wide), whole);
}

vkt_tensor *vkt_top_k(vkt_graph *g, vkt_tensor *x, uint32_t k, vkt_tensor **ids)
{
    vkt_shape shape = x->shape;
    if (ids) *ids = vkt__inert(g);
    if (x->inert) return x;
    vkt_tensor *rows = vkt_reshape(g, x, vkt_shape2(vkt__rows_of(shape), vkt__last(shape)));
    vkt_node *n =
        vkt__node(g, &vkt__op_top_k, &rows, 1,
                  (vkt_attr) { .route = { .k = k, .experts = vkt__last(shape), .norm = false } });
    if (!n) return vkt__inert(g);
    shape.d[shape.rank - 1] = k;
    if (ids) *ids = vkt_reshape(g, n->out[1], shape);
    return vkt_reshape(g, n->out[0], shape);
}

vkt_tensor *vkt_instance_norm(vkt_graph *g, vkt_tensor *x, vkt_tensor *w, vkt_tensor *b, float eps)
{
    return vkt_group_norm(g, x, w, b, x->inert ? 1 : vkt__last(x->shape), eps);
}

/* x's last two dimensions behind those leading ones. */
static vkt_tensor *with_leading(vkt_graph *g, vkt_tensor *x, vkt_shape leading)
{
    leading.d[leading.rank++] = x->shape.d[x->shape.rank - 2];
    leading.d[leading.rank++] = x->shape.d[x->shape.rank - 1];
    return vkt_expand(g, x, leading);
}

vkt_tensor *vkt_matmul_broadcast(vkt_graph *g, vkt_layout layout, vkt_tensor *a, vkt_tensor *b)
{
    vkt_shape x = a->shape, y = b->shape, both;
    if (a->inert || b->inert) return vkt__inert(g);
    if (x.rank < 2 || y.rank < 2 || (y.rank == 2 && (x.rank == 2 || layout != VKT_LAYOUT_TN)))
        return vkt_matmul(g, layout, a, b);
    x.rank -= 2, y.rank -= 2;
    if (!vkt__broadcast(x, y, &both)) {
        vkt_node node = told(g, &(vkt_op) { .name = "matmul_broadcast" });
        vkt__shape_error(&node,
                         "leading dimensions of %s and %s do not fit: sizes are equal or "
                         "one of them is 1",
                         vkt__text(a), vkt__text(b));
        return vkt__inert(g);
    }
    return vkt_matmul_batched(g, layout, with_leading(g, a, both), with_leading(g, b, both),
                              VKT_F32);
}
