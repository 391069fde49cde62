/* Recurrent layers: ONNX's order of gates is z, r, h and i, o, f, c, ours is PyTorch's. */
#include "onnx/onnx_op.h"

enum { GRU, LSTM };
enum { X, W, R, B, LENGTHS, H0, C0, PEEPHOLES };

/* The layer that a node is, in sizes: directions, examples, elements, units; gates a unit has. */
typedef struct layer {
    vkt_rnn_kind kind;
    uint32_t directions, examples, elements, units, gates;
    bool reverse; /* the first direction */
} layer;

static bool has_size(const vkt__onnx_value *v, uint32_t rank, int64_t a, int64_t b)
{
    return v && v->rank == rank && v->dims[0] == a && v->dims[1] == b;
}

/* Whether the node is what vkt_rnn computes; else it is refused. */
static bool read_layer(vkt__onnx_build *b, int fn, layer *l)
{
    const char *way = vkt__onnx_word(b, "direction", "forward");
    const vkt__onnx_value *x = vkt__onnx_need(b, X), *w = vkt__onnx_need(b, W),
                          *r = vkt__onnx_need(b, R), *bias = vkt__onnx_in(b, B);
    int64_t units = vkt__onnx_int(b, "hidden_size", r->rank == 3 ? r->dims[2] : 0);
    *l = (layer) { .kind = fn == LSTM ? VKT_RNN_LSTM : VKT_RNN_GRU,
                   .gates = fn == LSTM ? 4 : 3,
                   .directions = !strcmp(way, "bidirectional") ? 2 : 1,
                   .reverse = !strcmp(way, "reverse") };
    const struct {
        bool is;
        const char *what;
    } no[] = {
        { vkt__onnx_int(b, "layout", 0) != 0, "layout 1" },
        { vkt__onnx_attr_of(b->n, "activations") != NULL, "activations of its own" },
        { vkt__onnx_attr_of(b->n, "clip") != NULL, "clip" },
        { vkt__onnx_int(b, "input_forget", 0) != 0, "input_forget" },
        { fn == GRU && !vkt__onnx_int(b, "linear_before_reset", 0), "linear_before_reset 0" },
        { vkt__onnx_in(b, LENGTHS) != NULL, "lengths of its own" },
        { fn == LSTM && vkt__onnx_in(b, PEEPHOLES) != NULL, "peepholes" },
    };
    for (size_t i = 0; i < VKT_COUNT(no); i++)
        if (no[i].is) vkt__onnx_refuse(b, "%s is not supported", no[i].what);
    if (b->st != VKT_OK) return false;
    int64_t rows = l->gates * units;
    if (x->rank != 3 || units < 1 || units > 1 << 20 || !has_size(w, 3, l->directions, rows) ||
        !has_size(r, 3, l->directions, rows) || w->dims[2] != x->dims[2] || r->dims[2] != units ||
        (bias && !has_size(bias, 2, l->directions, 2 * rows))) {
        vkt__onnx_refuse(b, "inputs and weights of %lld units do not fit", (long long)units);
        return false;
    }
    for (size_t i = H0; i <= (fn == LSTM ? C0 : H0); i++) {
        const vkt__onnx_value *v = vkt__onnx_in(b, i);
        if (!v || (has_size(v, 3, l->directions, x->dims[1]) && v->dims[2] == units)) continue;
        vkt__onnx_refuse(b, "its initial state does not fit");
        return false;
    }
    l->elements = (uint32_t)x->dims[0];
    l->examples = (uint32_t)x->dims[1];
    l->units = (uint32_t)units;
    return true;
}

/* Rows [at, at + G units) of direction d of a tensor [directions, rows(, columns)], by our gates.
 */
static vkt_tensor *gates_of(vkt__onnx_build *b, const layer *l, vkt_tensor *t, uint32_t d,
                            uint32_t at)
{
    static const uint32_t order[][4] = {
        [VKT_RNN_GRU] = { 1, 0, 2 }, [VKT_RNN_LSTM] = { 0, 2, 3, 1 }
    };
    vkt_shape s = vkt_tensor_shape(t);
    vkt_tensor *gates[4];
    for (uint32_t k = 0; k < l->gates; k++) {
        uint32_t first[] = { d, at + order[l->kind][k] * l->units, 0 },
                 count[] = { 1, l->units, s.rank == 3 ? s.d[2] : 0 };
        gates[k] = vkt_slice(b->g, t, first, count, NULL);
    }
    t = vkt_concat(b->g, gates, l->gates, 1);
    uint32_t rows = l->gates * l->units;
    return vkt_reshape(b->g, t, s.rank == 3 ? vkt_shape2(rows, s.d[2]) : vkt_shape1(rows));
}

/* The initial state of a direction, [examples, units]; NULL: zeros. */
static vkt_tensor *state_of(vkt__onnx_build *b, const layer *l, size_t input, uint32_t d)
{
    vkt__onnx_value *v = vkt__onnx_in(b, input);
    bool zeros = v && v->host;
    for (uint64_t i = 0; zeros && i < v->host->count; i++)
        zeros = vkt__onnx_host_number(v->host, i) == 0;
    if (!v || zeros) return NULL;
    uint32_t first[] = { d, 0, 0 }, count[] = { 1, l->examples, l->units };
    vkt_tensor *t = vkt_slice(b->g, vkt__onnx_first(b, v), first, count, NULL);
    return vkt_reshape(b->g, t, vkt_shape2(l->examples, l->units));
}

/* What a direction's last step gave of y [examples, elements, units], as [1, examples, units]. */
static vkt_tensor *final_of(vkt__onnx_build *b, const layer *l, vkt_tensor *y, bool reverse)
{
    uint32_t first[] = { 0, reverse ? 0 : l->elements - 1, 0 },
             count[] = { l->examples, 1, l->units };
    y = vkt_slice(b->g, y, first, count, NULL);
    return vkt_reshape(b->g, y, vkt_shape3(1, l->examples, l->units));
}

static vkt_tensor *joined(vkt__onnx_build *b, const layer *l, vkt_tensor *const *t, uint32_t axis)
{
    return l->directions == 1 ? t[0] : vkt_concat(b->g, t, l->directions, axis);
}

static void build_recurrent(vkt__onnx_build *b, const vkt__onnx_op *op)
{
    layer l;
    if (!read_layer(b, op->fn, &l)) return;
    vkt__onnx_value *vx = vkt__onnx_need(b, X), *vb = vkt__onnx_in(b, B);
    vkt_tensor *x = vkt_permute(b->g, vkt__onnx_first(b, vx), (uint32_t[]) { 1, 0, 2 }),
               *w = vkt__onnx_first(b, vkt__onnx_need(b, W)),
               *r = vkt__onnx_first(b, vkt__onnx_need(b, R)),
               *bias = vb ? vkt__onnx_first(b, vb) : NULL, *y[2], *h[2], *c[2];
    for (uint32_t d = 0; d < l.directions; d++) {
        bool reverse = l.reverse || d == 1, lstm = l.kind == VKT_RNN_LSTM;
        vkt_tensor *cells = NULL;
        vkt_rnn_desc desc = { .kind = l.kind,
                              .w_ih = gates_of(b, &l, w, d, 0),
                              .w_hh = gates_of(b, &l, r, d, 0),
                              .b_ih = bias ? gates_of(b, &l, bias, d, 0) : NULL,
                              .b_hh = bias ? gates_of(b, &l, bias, d, l.gates * l.units) : NULL,
                              .h0 = state_of(b, &l, H0, d),
                              .c0 = lstm ? state_of(b, &l, C0, d) : NULL,
                              .reverse = reverse };
        y[d] = vkt_rnn(b->g, x, &desc, lstm && vkt__onnx_wanted(b, 2) ? &cells : NULL);
        h[d] = vkt__onnx_wanted(b, 1) ? final_of(b, &l, y[d], reverse) : NULL;
        c[d] = cells ? final_of(b, &l, cells, reverse) : NULL;
        y[d] = vkt_permute(b->g, y[d], (uint32_t[]) { 1, 0, 2 });
        y[d] = vkt_reshape(b->g, y[d], (vkt_shape) { 4, { l.elements, 1, l.examples, l.units } });
    }
    if (vkt__onnx_wanted(b, 0)) vkt__onnx_give(b, 0, joined(b, &l, y, 1), vx->type);
    if (h[0]) vkt__onnx_give(b, 1, joined(b, &l, h, 0), vx->type);
    if (c[0]) vkt__onnx_give(b, 2, joined(b, &l, c, 0), vx->type);
}

const vkt__onnx_op vkt__onnx_sequence_ops[] = {
    { "GRU", build_recurrent, NULL, GRU, 0, 0, "rnn",
      "linear_before_reset; no lengths, activations, clip or layout of its own", true },
    { "LSTM", build_recurrent, NULL, LSTM, 0, 0, "rnn",
      "no peepholes; no lengths, activations, clip or layout of its own", true },
    { .name = NULL },
};
