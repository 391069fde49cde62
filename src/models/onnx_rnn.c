/* GRU and LSTM as ONNX's: sequences first, gates in another order, weights with a dimension for
 * directions. */
#include "base/memory.h"
#include "models/onnx_nodes.h"
#include "tensor/ops/ops.h"

enum { XP, W, BIAS, H0, C0 }; /* inputs of the row rnn */

bool vkt__is_of_rnn(const vkt__exporter *e, const vkt_node *n)
{
    const vkt_tensor *y = n->out[0];
    if (n->op != &vkt__op_matmul && n->op != &vkt__op_permute) return false;
    for (size_t i = n->index + 1; i < e->g->n_nodes; i++) {
        const vkt_node *r = e->g->nodes[i];
        if (r->op == &vkt__op_rnn && (r->in[XP] == y || r->in[W] == y)) return true;
    }
    return false;
}

/* The rows `which` of a matrix or vector, with a first dimension of one direction. */
static const char *rows(vkt__exporter *e, const char *w, const char *which)
{
    vkt__attr_int(e, "axis", 0);
    const char *y = vkt__emit_node(e, "Gather", VKT__IN(w, which), vkt__emit_extra(e));
    return vkt__emit_node(e, "Unsqueeze", VKT__IN(y, vkt__emit_ints(e, (int64_t[]) { 0 }, 1)),
                          vkt__emit_extra(e));
}

/* [N, T, C] to [T, N, C], and back. */
static const char *other_first(vkt__exporter *e, const char *x, const char *to)
{
    vkt__attr_ints(e, "perm", (int64_t[]) { 1, 0, 2 }, 3);
    return vkt__emit_node(e, "Transpose", VKT__IN(x), to);
}

bool vkt__emit_rnn(vkt__exporter *e, const vkt_node *n, const char *const *in, const char *out)
{
    /* ONNX has z, r, n and i, o, f, g; PyTorch r, z, n and i, f, g, o. */
    static const uint32_t order[2][4] = { { 1, 0, 2 }, { 0, 3, 1, 2 } };
    bool lstm = n->attr.rnn.kind == VKT_RNN_LSTM;
    const vkt_node *product = n->in[XP]->node, *turned = n->in[W]->node;
    uint32_t gates = lstm ? 4 : 3, h = n->in[W]->shape.d[0];
    if (!product || product->op != &vkt__op_matmul || !turned || turned->op != &vkt__op_permute ||
        product->attr.matmul.layout != VKT_LAYOUT_NT || product->in[1]->node ||
        turned->in[0]->node || !product->in[2] != !n->in[BIAS] || n->in[H0] || n->in[C0])
        return false;
    int64_t *list = vkt__alloc((size_t)gates * h * sizeof *list);
    for (uint32_t i = 0; i < gates * h; i++) list[i] = (int64_t)order[lstm][i / h] * h + i % h;
    const char *which = vkt__emit_ints(e, list, gates * h), *b = "";
    free(list);
    const char *w = rows(e, vkt__emit_name(e, product->in[1]), which),
               *r = rows(e, vkt__emit_name(e, turned->in[0]), which);
    if (n->in[BIAS]) {
        const char *of_x = rows(e, vkt__emit_name(e, product->in[2]), which),
                   *of_h = rows(e, in[BIAS], which);
        vkt__attr_int(e, "axis", 1);
        b = vkt__emit_node(e, "Concat", VKT__IN(of_x, of_h), vkt__emit_extra(e));
    }
    const char *x = other_first(e, vkt__emit_name(e, product->in[0]), vkt__emit_extra(e));
    vkt__attr_int(e, "hidden_size", h);
    vkt__attr_text(e, "direction", n->attr.rnn.reverse ? "reverse" : "forward");
    if (!lstm) vkt__attr_int(e, "linear_before_reset", 1);
    const char *y =
        vkt__emit_node(e, lstm ? "LSTM" : "GRU", VKT__IN(x, w, r, b), vkt__emit_extra(e));
    y = vkt__emit_node(e, "Squeeze", VKT__IN(y, vkt__emit_ints(e, (int64_t[]) { 1 }, 1)),
                       vkt__emit_extra(e));
    other_first(e, y, out);
    return true;
}
