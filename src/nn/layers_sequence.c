/* Layers of sequences: GRU and LSTM, [T, C] to [T, units], and attention of one sequence to
 * another. Their parameters have the names and shapes of PyTorch's nn.GRU, nn.LSTM,
 * nn.MultiheadAttention. */
#include <math.h>
#include <stdio.h>

#include "nn/layer_list.h"
#include "nn/layers.h"
#include "tensor/graph/op.h"

static vkt_status sequence_only(const vkt__layer *l, vkt_shape in)
{
    char text[96];
    if (in.rank == 2 && in.d[0]) return VKT_OK;
    return vkt__layer_error(l, "it takes sequences, [T, C], not %s",
                            vkt_shape_text(in, VKT_F32, text));
}

/* ---- gru, lstm ---- */

/* Parameters of a layer in one direction: weight_ih, weight_hh, bias_ih, bias_hh. */
enum { PER_LAYER = 4 };

static bool is_lstm(const vkt__layer *l)
{
    return !strcmp(l->kind->name, "lstm");
}

static uint32_t units_of(const vkt__layer *l)
{
    return l->spec.out ? l->spec.out : l->in.d[1];
}

static uint32_t per_layer(const vkt__layer *l)
{
    return l->spec.no_bias ? PER_LAYER / 2 : PER_LAYER;
}

/* One direction of layer i, which takes c channels: weights within 1 / sqrt(units) as PyTorch's,
 * biases of zeros. Returns the index of its first parameter. */
static int add_direction(vkt_model *m, vkt__layer *l, uint32_t i, uint32_t c, const char *suffix)
{
    uint32_t h = units_of(l), rows = (is_lstm(l) ? 4 : 3) * h, columns[] = { c, h };
    static const char *const from[] = { "ih", "hh" };
    char name[64];
    int first = -1;
    for (uint32_t k = 0; k < per_layer(l); k++) {
        bool bias = k > 1;
        uint32_t width = columns[k % 2];
        float scale = sqrtf((float)(rows + width) / (6.0f * (float)h));
        snprintf(name, sizeof name, "%s_%s_l%u%s", bias ? "bias" : "weight", from[k % 2], i,
                 suffix);
        int p = vkt__model_add_param(m, l, name, bias ? vkt_shape1(rows) : vkt_shape2(rows, width),
                                     bias ? VKT_INIT_ZEROS : VKT_INIT_XAVIER, bias ? 1 : scale);
        if (first < 0) first = p;
    }
    return first;
}

static vkt_status rnn_plan(vkt_model *m, vkt__layer *l)
{
    enum { MOST_UNITS = 1024 }; /* of vkt_rnn */
    vkt_status st = sequence_only(l, l->in);
    uint32_t ways = l->spec.bidirectional ? 2 : 1, n = l->spec.layers ? l->spec.layers : 1;
    VKT_TRY(st);
    uint32_t h = units_of(l);
    if (!h || h > MOST_UNITS)
        return vkt__layer_error(l, "%u units: 1 to %d are possible", h, MOST_UNITS);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t way = 0; way < ways; way++) {
            int p = add_direction(m, l, i, i ? ways * h : l->in.d[1], way ? "_reverse" : "");
            if (i == 0 && way == 0) l->w = p;
        }
    l->n_params = n * ways * per_layer(l);
    l->out = vkt_shape2(l->in.d[0], ways * h);
    if (l->spec.last) l->out = vkt_shape1(ways * h);
fail:
    return st;
}

/* Element t of x [B, T, H]: [B, 1, H]. */
static vkt_tensor *element(vkt_graph *g, vkt_tensor *x, uint32_t t)
{
    vkt_shape s = vkt_tensor_shape(x);
    return vkt_slice(g, x, (uint32_t[]) { 0, t, 0 }, (uint32_t[]) { s.d[0], 1, s.d[2] }, NULL);
}

static vkt_tensor *rnn_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                             bool train)
{
    uint32_t ways = l->spec.bidirectional ? 2 : 1, n = l->spec.layers ? l->spec.layers : 1;
    int p = l->w;
    (void)train;
    if (x->inert) return x;
    for (uint32_t i = 0; i < n; i++) {
        vkt_tensor *y[2];
        for (uint32_t way = 0; way < ways; way++, p += (int)per_layer(l)) {
            bool bias = !l->spec.no_bias;
            vkt_rnn_desc d = { .kind = is_lstm(l) ? VKT_RNN_LSTM : VKT_RNN_GRU,
                               .w_ih = vkt__model_tensor(m, g, p),
                               .w_hh = vkt__model_tensor(m, g, p + 1),
                               .b_ih = vkt__model_tensor(m, g, bias ? p + 2 : -1),
                               .b_hh = vkt__model_tensor(m, g, bias ? p + 3 : -1),
                               .reverse = way == 1 };
            y[way] = vkt_rnn(g, x, &d, NULL);
            if (y[way]->inert) return y[way];
            if (l->spec.last && i + 1 == n) y[way] = element(g, y[way], way ? 0 : l->in.d[0] - 1);
        }
        x = ways == 2 ? vkt_concat(g, y, 2, 2) : y[0];
    }
    if (l->spec.last && !x->inert)
        x = vkt_reshape(g, x, vkt_shape2(vkt_tensor_shape(x).d[0], l->out.d[0]));
    return x;
}

/* ---- cross_attention ---- */

static uint32_t heads_of(const vkt__layer *l)
{
    uint32_t c = l->in.d[1];
    return l->spec.heads ? l->spec.heads : c >= 64 ? c / 64 : 1;
}

/* nn.MultiheadAttention: one matrix for queries, keys and values where all have C channels, three
 * where the memory has others. */
static vkt_status cross_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = VKT_OK;
    if (l->spec.n_from != 2)
        return vkt__layer_error(l, "it takes outputs of two layers: from: [asks, answers]");
    VKT_TRY(sequence_only(l, l->ins[0]));
    VKT_TRY(sequence_only(l, l->ins[1]));
    uint32_t c = l->in.d[1], memory = l->ins[1].d[1], heads = heads_of(l);
    if (c % heads)
        return vkt__layer_error(l, "%u heads do not divide %u channels: set `heads`", heads, c);
    if (memory == c) {
        l->w =
            vkt__model_add_param(m, l, "in_proj_weight", vkt_shape2(3 * c, c), VKT_INIT_XAVIER, 1);
    } else {
        l->w = vkt__model_add_param(m, l, "q_proj_weight", vkt_shape2(c, c), VKT_INIT_XAVIER, 1);
        vkt__model_add_param(m, l, "k_proj_weight", vkt_shape2(c, memory), VKT_INIT_XAVIER, 1);
        vkt__model_add_param(m, l, "v_proj_weight", vkt_shape2(c, memory), VKT_INIT_XAVIER, 1);
    }
    uint32_t biases = l->spec.no_bias ? 0 : 2;
    if (biases) vkt__model_add_param(m, l, "in_proj_bias", vkt_shape1(3 * c), VKT_INIT_ZEROS, 1);
    vkt__model_add_param(m, l, "out_proj.weight", vkt_shape2(c, c), VKT_INIT_XAVIER, 1);
    if (biases) vkt__model_add_param(m, l, "out_proj.bias", vkt_shape1(c), VKT_INIT_ZEROS, 1);
    l->n_params = (memory == c ? 1 : 3) + 1 + biases;
    l->out = l->in;
fail:
    return st;
}

/* Rows i c to (i + 1) c of a matrix, or numbers of a vector. */
static vkt_tensor *third(vkt_graph *g, vkt_tensor *x, uint32_t i, uint32_t c)
{
    vkt_shape s = vkt_tensor_shape(x);
    s.d[0] = c;
    return vkt_slice(g, x, (uint32_t[VKT_MAX_RANK]) { i * c }, s.d, NULL);
}

static vkt_tensor *cross_join(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *const *x)
{
    uint32_t c = l->in.d[1];
    bool apart = l->ins[1].d[1] != c, bias = !l->spec.no_bias;
    int next = l->w + (apart ? 3 : 1);
    vkt_tensor *b = vkt__model_tensor(m, g, bias ? next++ : -1), *in[3];
    for (uint32_t i = 0; i < 3; i++) {
        vkt_tensor *w = vkt__model_tensor(m, g, apart ? l->w + (int)i : l->w);
        in[i] = vkt_linear(g, x[i ? 1 : 0], apart ? w : third(g, w, i, c),
                           b ? third(g, b, i, c) : NULL, VKT_ACT_NONE);
    }
    vkt_tensor *y =
        vkt_attention_general(g, &(vkt_attention_in) { in[0], in[1], in[2], NULL, NULL },
                              &(vkt_attention_desc) { .heads = heads_of(l), .full = true });
    vkt_tensor *w = vkt__model_tensor(m, g, next);
    return vkt_linear(g, y, w, vkt__model_tensor(m, g, bias ? next + 1 : -1), VKT_ACT_NONE);
}

const vkt__layer_kind vkt__sequence_kinds[] = {
    { "gru", rnn_plan, rnn_build },
    { "lstm", rnn_plan, rnn_build },
    { "cross_attention", cross_plan, .join = cross_join },
    { .name = NULL },
};
