/* What rows' gradient rules ask of tensors. */
#include "tensor/graph/gradient.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/view.h"

bool vkt__needs(const vkt_tensor *t)
{
    t = vkt__root(t);
    return t && t->needs;
}

bool vkt__is_ones(const vkt_tensor *dy)
{
    return dy == dy->g->ones;
}
