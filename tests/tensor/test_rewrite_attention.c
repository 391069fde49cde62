/* Attention that is written with general ops, as exporters and Python write it, in the twins: it
 * plans to attention's row without copies, with the same numbers and gradients; and what must stay
 * as it was written. */
#include <math.h>

#include "testing.h"

#include "tensor/graph/known.h"
#include "tensor/graph/twin.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

enum { B = 2, T = 6, H = 2, D = 4, C = H * D, MOST = 4096, N_IN = 2 };

/* x [B, T, C] and weights w [C, 3 C]. */
typedef struct {
    vkt_graph *g;
    vkt_tensor *in[N_IN];
} net;

static const uint32_t by_heads[] = { 0, 2, 1, 3 }, keys_turned[] = { 0, 2, 3, 1 };

/* ---- masks whose numbers are known ---- */

static float tril[T * T], added[T * T], window[T * T], far_[T * T], odd[T * T], less[T * T],
    shifted[T * T], strict[T * T], uneven[T * T];

static void make_masks(void)
{
    for (int t = 0; t < T; t++)
        for (int s = 0; s < T; s++) {
            int i = t * T + s;
            tril[i] = s <= t;
            added[i] = s <= t ? 0 : -INFINITY;
            window[i] = s <= t && s + 3 > t ? 0 : -1e9f;
            far_[i] = s <= t ? 0 : -1e4f;
            odd[i] = s <= t && !(t == 3 && s == 1) ? 0 : -1e9f;
            less[i] = s <= t ? 0 : -100;
            uneven[i] = s <= t && (s + 3 > t || t < 4) ? 0 : -1e9f; /* row 3 sees all */
            shifted[i] = s <= t + 1 ? 0 : -1e9f;
            strict[i] = s < t ? 0 : -1e9f; /* the first row sees nothing */
        }
}

static vkt_tensor *known(net n, const float *numbers, vkt_shape shape)
{
    vkt_tensor *t = vkt_input(n.g, shape, VKT_F32, "mask");
    static vkt_buffer buf = { .bytes = 1 << 16, .label = "masks" };
    vkt_bind(t, VKT_ALL_SLOTS, &buf, 4096);
    vkt_known(t, numbers);
    return t;
}

static vkt_tensor *number(net n, float v)
{
    return vkt_fill(n.g, vkt_shape1(1), v);
}

static vkt_tensor *less_mask(net n, vkt_tensor *s, const float *mask)
{
    return vkt_binary(n.g, VKT_FN2_ADD, s, known(n, mask, (vkt_shape) { 4, { 1, 1, T, T } }));
}

/* ---- parts ---- */

static vkt_tensor *all_of(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NN, n.in[0], n.in[1]);
}

static vkt_tensor *heads_of(net n, vkt_tensor *x, const uint32_t *order)
{
    return vkt_permute(n.g, vkt_reshape(n.g, x, (vkt_shape) { 4, { B, T, H, D } }), order);
}

static void split(net n, vkt_tensor **out)
{
    vkt_split_along(n.g, all_of(n), (uint32_t[]) { C, C, C }, 3, 2, out);
}

static vkt_tensor *joined(net n, vkt_tensor *y)
{
    return vkt_reshape(n.g, vkt_permute(n.g, y, by_heads), vkt_shape3(B, T, C));
}

static vkt_tensor *nn(net n, vkt_tensor *a, vkt_tensor *b)
{
    return vkt_matmul_broadcast(n.g, VKT_LAYOUT_NN, a, b);
}

static vkt_tensor *nt(net n, vkt_tensor *a, vkt_tensor *b)
{
    return vkt_matmul_broadcast(n.g, VKT_LAYOUT_NT, a, b);
}

static vkt_tensor *hidden_but(net n, vkt_tensor *s, float never)
{
    vkt_tensor *m = known(n, tril, (vkt_shape) { 4, { 1, 1, T, T } });
    return vkt_where(n.g, m, s, number(n, never));
}

/* ---- as it is written ---- */

/* A GPT of torch.onnx: a split, keys turned, a division, tril by where. */
static vkt_tensor *gpt(net n)
{
    vkt_tensor *p[3], *s;
    split(n, p);
    s = vkt_scale(n.g, nn(n, heads_of(n, p[0], by_heads), heads_of(n, p[1], keys_turned)), 0.5f);
    s = vkt_softmax(n.g, hidden_but(n, s, -INFINITY));
    return joined(n, nn(n, s, heads_of(n, p[2], by_heads)));
}

/* Queries and keys scaled, a mask that is added: scaled_dot_product_attention. */
static vkt_tensor *sdpa(net n)
{
    vkt_tensor *p[3], *s;
    split(n, p);
    float half = sqrtf(0.5f);
    s = nn(n, vkt_scale(n.g, heads_of(n, p[0], by_heads), half),
           vkt_scale(n.g, heads_of(n, p[1], keys_turned), half));
    s = vkt_softmax(n.g, less_mask(n, s, added));
    return joined(n, nn(n, s, heads_of(n, p[2], by_heads)));
}

/* Three axes in one: timm's. */
static vkt_tensor *vit(net n)
{
    vkt_tensor *p[3], *s;
    vkt_tensor *all = vkt_reshape(n.g, all_of(n), (vkt_shape) { 5, { B, T, 3, H, D } });
    all = vkt_permute(n.g, all, (uint32_t[]) { 2, 0, 3, 1, 4 });
    for (uint32_t i = 0; i < 3; i++) {
        p[i] = vkt_slice(n.g, all, (uint32_t[]) { i, 0, 0, 0, 0 }, (uint32_t[]) { 1, B, H, T, D },
                         NULL);
        p[i] = vkt_reshape(n.g, p[i], (vkt_shape) { 4, { B, H, T, D } });
    }
    s = vkt_softmax(n.g, vkt_scale(n.g, nt(n, p[0], p[1]), 0.5f));
    return joined(n, nn(n, s, p[2]));
}

static vkt_tensor *column(net n, uint32_t i)
{
    vkt_tensor *w = vkt_slice(n.g, n.in[1], (uint32_t[]) { 0, i * C }, (uint32_t[]) { C, C }, NULL);
    return vkt_matmul(n.g, VKT_LAYOUT_NN, n.in[0], w);
}

/* Three products, factors before the heads are sorted; BERT with nothing hidden. */
static vkt_tensor *bert(net n)
{
    vkt_tensor *q = heads_of(n, vkt_scale(n.g, column(n, 0), 0.5f), by_heads),
               *k = heads_of(n, column(n, 1), by_heads), *v = heads_of(n, column(n, 2), by_heads);
    return joined(n, nn(n, vkt_softmax(n.g, nt(n, q, k)), v));
}

/* The first GPT-2: hidden scores become 0, then -10000. */
static vkt_tensor *gpt2(net n)
{
    vkt_tensor *p[3], *s, *m = known(n, tril, (vkt_shape) { 4, { 1, 1, T, T } });
    split(n, p);
    s = vkt_scale(n.g, nt(n, heads_of(n, p[0], by_heads), heads_of(n, p[1], by_heads)), 0.5f);
    s = vkt_binary(n.g, VKT_FN2_MUL, s, m);
    m = vkt_scale(n.g, vkt_binary(n.g, VKT_FN2_SUB, number(n, 1), m), 1e4f);
    s = vkt_softmax(n.g, vkt_binary(n.g, VKT_FN2_SUB, s, m));
    return joined(n, nn(n, s, heads_of(n, p[2], by_heads)));
}

/* A cap, then a window. */
static vkt_tensor *gemma(net n)
{
    vkt_tensor *p[3], *s;
    split(n, p);
    s = nt(n, heads_of(n, p[0], by_heads), heads_of(n, p[1], by_heads));
    s = vkt_activate(n.g, vkt_scale(n.g, vkt_scale(n.g, s, 0.5f), 0.25f), VKT_ACT_TANH);
    s = vkt_softmax(n.g, less_mask(n, vkt_scale(n.g, s, 4), window));
    return joined(n, nn(n, s, heads_of(n, p[2], by_heads)));
}

/* Both heads share the first one's keys and values. */
static vkt_tensor *repeated(net n, vkt_tensor *x)
{
    x = vkt_slice(n.g, x, (uint32_t[]) { 0, 0, 0 }, (uint32_t[]) { B, T, D }, NULL);
    x = vkt_permute(n.g, vkt_reshape(n.g, x, (vkt_shape) { 4, { B, T, 1, D } }), by_heads);
    x = vkt_expand(n.g, vkt_reshape(n.g, x, (vkt_shape) { 5, { B, 1, 1, T, D } }),
                   (vkt_shape) { 5, { B, 1, H, T, D } });
    return vkt_reshape(n.g, x, (vkt_shape) { 4, { B, H, T, D } });
}

static vkt_tensor *llama(net n)
{
    vkt_tensor *s = nt(n, heads_of(n, column(n, 0), by_heads), repeated(n, column(n, 1)));
    s = vkt_softmax(n.g, hidden_but(n, vkt_scale(n.g, s, 0.5f), -1e30f));
    return joined(n, nn(n, s, repeated(n, column(n, 2))));
}

/* What turns queries and keys comes after the heads were sorted: they stay so. */
static vkt_tensor *turned(net n)
{
    vkt_tensor *q = heads_of(n, column(n, 0), by_heads), *k = heads_of(n, column(n, 1), by_heads),
               *v = heads_of(n, column(n, 2), by_heads), *s;
    q = vkt_activate(n.g, q, VKT_ACT_TANH);
    k = vkt_permute(n.g, vkt_activate(n.g, k, VKT_ACT_TANH), (uint32_t[]) { 0, 1, 3, 2 });
    s = vkt_softmax(n.g, hidden_but(n, vkt_scale(n.g, nn(n, q, k), 0.5f), -1e9f));
    return joined(n, nn(n, s, v));
}

/* Heads as sequences from the beginning: PyTorch's MultiheadAttention. */
static vkt_tensor *flat(net n)
{
    vkt_tensor *p[3], *s;
    for (uint32_t i = 0; i < 3; i++)
        p[i] = vkt_reshape(n.g, heads_of(n, column(n, i), by_heads), vkt_shape3(B * H, T, D));
    s = vkt_scale(n.g, vkt_matmul_batched(n.g, VKT_LAYOUT_NT, p[0], p[1], VKT_F32), 0.5f);
    s = vkt_softmax(n.g, vkt_add(n.g, s, known(n, far_, vkt_shape2(T, T))));
    s = vkt_matmul_batched(n.g, VKT_LAYOUT_NN, s, p[2], VKT_F32);
    return joined(n, vkt_reshape(n.g, s, (vkt_shape) { 4, { B, H, T, D } }));
}

/* ---- plainly ---- */

static vkt_tensor *packed(net n, const vkt_attention_desc *d)
{
    return vkt_attention(n.g, all_of(n), NULL, NULL, NULL, NULL, d);
}

static vkt_tensor *causal_plain(net n)
{
    return packed(n, &(vkt_attention_desc) { .heads = H, .scale = 0.5f });
}
static vkt_tensor *full_plain(net n)
{
    return packed(n, &(vkt_attention_desc) { .heads = H, .scale = 0.5f, .full = true });
}
static vkt_tensor *window_plain(net n)
{
    return packed(n, &(vkt_attention_desc) { .heads = H, .scale = 0.5f, .cap = 4, .window = 3 });
}
static vkt_tensor *apart(net n, const vkt_attention_desc *d)
{
    return vkt_attention(n.g, column(n, 0), column(n, 1), column(n, 2), NULL, NULL, d);
}
static vkt_tensor *apart_plain(net n)
{
    return apart(n, &(vkt_attention_desc) { .heads = H, .scale = 0.5f, .full = true });
}
static vkt_tensor *apart_causal_plain(net n)
{
    return apart(n, &(vkt_attention_desc) { .heads = H, .scale = 0.5f });
}

static const struct {
    const char *name;
    vkt_tensor *(*written)(net n), *(*plain)(net n); /* plain NULL: the same without rewrites */
    uint32_t copies; /* permutations and slices that are left before differentiation */
    bool packed;
} cases[] = {
    { "gpt", gpt, causal_plain, 0, true },
    { "sdpa", sdpa, causal_plain, 0, true },
    { "vit", vit, full_plain, 0, true },
    { "bert", bert, apart_plain, 3, false },
    { "gpt2", gpt2, causal_plain, 0, true },
    { "gemma", gemma, window_plain, 0, true },
    { "llama", llama, NULL, 5, false },
    { "turned", turned, NULL, 7, false },
    { "flat", flat, apart_causal_plain, 3, false },
};

typedef struct {
    vkt_tensor *out[1 + N_IN];
    double got[1 + N_IN][MOST];
} values;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++)
        data[i] = t->numbers ? (double)t->numbers[i]
                             : (double)(float)vkt_rand_normal(t->name[0], VKT_RNG_TEST, i);
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    values *v = user;
    for (int i = 0; i <= N_IN; i++)
        if (t == v->out[i]) memcpy(v->got[i], data, t->count * sizeof *data);
}

static net begin(void)
{
    static vkt_buffer buf = { .bytes = 1 << 16, .label = "inputs" };
    net n = { .g = vkt__graph_new(NULL) };
    n.in[0] = vkt_input(n.g, vkt_shape3(B, T, C), VKT_F32, "x");
    n.in[1] = vkt_input(n.g, vkt_shape2(C, 3 * C), VKT_F32, "w");
    for (int i = 0; i < N_IN; i++) vkt_bind(n.in[i], VKT_ALL_SLOTS, &buf, 4096 * (uint64_t)i);
    return n;
}

static uint32_t count(const vkt_graph *g, const vkt_op *op)
{
    uint32_t n = 0;
    for (size_t k = 0; k < g->n_nodes; k++) n += g->nodes[k]->op == op;
    return n;
}

static void compute(vkt_tensor *(*build)(net n), bool rewrite, values *v)
{
    memset(v, 0, sizeof *v);
    net n = begin();
    if (!rewrite) vkt_graph_no_rewrite(n.g);
    vkt_tensor *y = build(n), *loss = vkt_sum(n.g, vkt_mul(n.g, y, y));
    v->out[N_IN] = loss;
    vkt_keep(loss, "loss");
    vkt_backward(n.g, loss, n.in, N_IN, v->out);
    for (int i = 0; i < N_IN; i++) vkt_keep(v->out[i], "gradient");
    REQUIRE_OK(vkt_graph_plan(n.g, &(vkt_plan_desc) { 0 }));
    vkt__graph_ref(n.g, fill, v, take);
    vkt_graph_destroy(&n.g);
}

static void written_attention_is_attention(void **state)
{
    (void)state;
    static values written, plain, left;
    for (size_t k = 0; k < VKT_COUNT(cases); k++) {
        net n = begin();
        cases[k].written(n);
        vkt__rewrite(n.g, true);
        uint32_t copies =
            count(n.g, &vkt__op_permute) + count(n.g, &vkt__op_slice) + count(n.g, &vkt__op_expand);
        assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_attention), 1);
        assert_int_equal(count(n.g, &vkt__op_attention), 1);
        assert_int_equal(count(n.g, &vkt__op_softmax), 0);
        assert_int_equal(count(n.g, &vkt__op_where) + count(n.g, &vkt__op_scale), 0);
        assert_int_equal(copies, cases[k].copies);
        for (size_t i = 0; i < n.g->n_nodes; i++)
            if (n.g->nodes[i]->op == &vkt__op_attention)
                assert_int_equal(n.g->nodes[i]->in[VKT__ATT_K] == NULL, cases[k].packed);
        vkt_graph_destroy(&n.g);

        compute(cases[k].written, true, &written);
        compute(cases[k].written, false, &left);
        compute(cases[k].plain ? cases[k].plain : cases[k].written, cases[k].plain != NULL, &plain);
        assert_true(left.got[N_IN][0] > 0);
        for (int i = 0; i <= N_IN; i++)
            for (int j = 0; j < MOST; j++) {
                REQUIRE_NEAR(written.got[i][j], left.got[i][j], 1e-6 * left.got[N_IN][0]);
                REQUIRE_NEAR(written.got[i][j], plain.got[i][j], 1e-6 * left.got[N_IN][0]);
            }
    }
}

/* ---- what stays ---- */

static vkt_tensor *with(net n, vkt_tensor *(*mask)(net n, vkt_tensor *s), vkt_tensor **softmax)
{
    vkt_tensor *p[3], *s;
    split(n, p);
    s = vkt_scale(n.g, nt(n, heads_of(n, p[0], by_heads), heads_of(n, p[1], by_heads)), 0.5f);
    *softmax = vkt_softmax(n.g, mask(n, s));
    return joined(n, nn(n, *softmax, heads_of(n, p[2], by_heads)));
}

static vkt_tensor *not_known(net n, vkt_tensor *s)
{
    return vkt_binary(n.g, VKT_FN2_ADD, s, vkt_input(n.g, vkt_shape2(T, T), VKT_F32, "mask"));
}
static vkt_tensor *of_no_pattern(net n, vkt_tensor *s)
{
    return less_mask(n, s, odd);
}
static vkt_tensor *less_mask_added(net n, vkt_tensor *s)
{
    return less_mask(n, s, added);
}
static vkt_tensor *not_hidden(net n, vkt_tensor *s)
{
    return less_mask(n, s, less);
}
static vkt_tensor *shifted_by_one(net n, vkt_tensor *s)
{
    return less_mask(n, s, shifted);
}
static vkt_tensor *only_before(net n, vkt_tensor *s)
{
    return less_mask(n, s, strict);
}
static vkt_tensor *first_rows_differ(net n, vkt_tensor *s)
{
    return less_mask(n, s, uneven);
}
static vkt_tensor *read_beside(net n, vkt_tensor *s)
{
    vkt_keep(vkt_sum(n.g, s), "scores");
    return s;
}
static vkt_tensor *kept(net n, vkt_tensor *s)
{
    s = less_mask(n, s, added);
    vkt_keep(s, "scores");
    return s;
}
static vkt_tensor *dropped(net n, vkt_tensor *s)
{
    return vkt_dropout(n.g, s, vkt_step(n.g), 0.5f);
}
static vkt_tensor *capped_after(net n, vkt_tensor *s) /* what was hidden is -4 */
{
    s = vkt_scale(n.g, less_mask(n, s, added), 0.25f);
    return vkt_scale(n.g, vkt_activate(n.g, s, VKT_ACT_TANH), 4);
}
static vkt_tensor *another_for_each_head(net n, vkt_tensor *s)
{
    static float both[H * T * T];
    memcpy(both, added, sizeof added);
    memcpy(both + T * T, window, sizeof window);
    return vkt_binary(n.g, VKT_FN2_ADD, s, known(n, both, (vkt_shape) { 4, { 1, H, T, T } }));
}

static void other_scores_stay(void **state)
{
    (void)state;
    vkt_tensor *(*const masks[])(net n, vkt_tensor * s) = {
        not_known,      of_no_pattern, not_hidden,       read_beside,
        kept,           dropped,       capped_after,     another_for_each_head,
        shifted_by_one, only_before,   first_rows_differ
    };
    vkt_tensor *softmax;
    for (size_t k = 0; k < VKT_COUNT(masks); k++) {
        net n = begin();
        with(n, masks[k], &softmax);
        vkt__rewrite(n.g, true);
        if (vkt__rewrite_count(n.g, &vkt__pass_attention)) print_error("mask %zu\n", k);
        assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_attention), 0);
        assert_int_equal(count(n.g, &vkt__op_softmax), 1);
        vkt_graph_destroy(&n.g);
    }
    for (int k = 0; k < 4; k++) { /* the softmax is read by another, kept, or its gradient asked */
        net n = begin();
        vkt_tensor *y = with(n, less_mask_added, &softmax), *d;
        if (k == 0) vkt_keep(softmax, "probabilities");
        if (k == 1) vkt_keep(vkt_sum(n.g, softmax), "sum");
        if (k == 2) vkt_backward(n.g, vkt_sum(n.g, y), &softmax, 1, &d);
        vkt__rewrite(n.g, true);
        assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_attention), k == 3);
        vkt_graph_destroy(&n.g);
    }
}

/* A bias behind a product, a view and an activation between; what others read stays. */
static void a_vector_that_is_added_is_a_bias(void **state)
{
    (void)state;
    net n = begin();
    vkt_tensor *b = vkt_input(n.g, vkt_shape1(3 * C), VKT_F32, "b"), *x = all_of(n);
    vkt_tensor *y = vkt_add(n.g, vkt_reshape(n.g, x, vkt_shape2(B * T, 3 * C)), b);
    vkt_activate(n.g, vkt_add(n.g, all_of(n), b), VKT_ACT_RELU);
    vkt_tensor *left = all_of(n);
    vkt_keep(left, "product");
    vkt_add(n.g, left, b);
    vkt_add(n.g, all_of(n), number(n, 1));
    vkt_tensor *short_x = vkt_cast(n.g, n.in[0], VKT_BF16),
               *short_w = vkt_cast(n.g, n.in[1], VKT_BF16);
    vkt_tensor *narrow = vkt_matmul(n.g, VKT_LAYOUT_NN, short_x, short_w);
    assert_int_equal(narrow->dtype, VKT_BF16);
    vkt_add(n.g, narrow, b); /* is of f32, which the product's result is not */
    vkt__rewrite(n.g, true);
    assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_bias), 2);
    assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_act), 1);
    assert_int_equal(count(n.g, &vkt__op_add), 3);
    assert_ptr_equal(y->view_of, x);
    assert_non_null(x->node->in[2]);
    vkt_graph_destroy(&n.g);
}

/* Where a gradient is asked for within what is rewritten, it is what it would be without. */
enum { ASK_Q, ASK_K, ASK_V, ASK_CONTEXT, ASK_JOINED, ASK_SUM, N_ASK };

static vkt_tensor *asks(net n, int which, vkt_tensor **of)
{
    if (which == ASK_SUM) {
        vkt_tensor *x = vkt_reshape(n.g, all_of(n), vkt_shape2(B * T, 3 * C));
        return *of = vkt_add(n.g, x, vkt_fill(n.g, vkt_shape1(3 * C), 0.5f));
    }
    vkt_tensor *p[N_ASK], *s;
    for (uint32_t i = 0; i < 3; i++) p[i] = heads_of(n, column(n, i), by_heads);
    s = vkt_scale(n.g, nt(n, p[ASK_Q], p[ASK_K]), 0.5f);
    p[ASK_CONTEXT] = nn(n, vkt_softmax(n.g, less_mask(n, s, added)), p[ASK_V]);
    p[ASK_JOINED] = vkt_permute(n.g, p[ASK_CONTEXT], by_heads);
    *of = p[which];
    return p[ASK_JOINED];
}

static void gradients_that_are_asked_for_within(void **state)
{
    (void)state;
    static values v[2];
    for (int which = 0; which < N_ASK; which++) {
        for (int rewrite = 0; rewrite < 2; rewrite++) {
            net n = begin();
            vkt_tensor *of, *y = asks(n, which, &of);
            if (!rewrite) vkt_graph_no_rewrite(n.g);
            memset(&v[rewrite], 0, sizeof v[rewrite]);
            vkt_backward(n.g, vkt_sum(n.g, vkt_mul(n.g, y, y)), &of, 1, &v[rewrite].out[0]);
            vkt_keep(v[rewrite].out[0], "gradient");
            if (rewrite && which == ASK_JOINED)
                assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_attention), 1);
            REQUIRE_OK(vkt_graph_plan(n.g, &(vkt_plan_desc) { 0 }));
            vkt__graph_ref(n.g, fill, &v[rewrite], take);
            vkt_graph_destroy(&n.g);
        }
        double most = 0;
        for (int j = 0; j < MOST; j++) most = fmax(most, fabs(v[0].got[0][j]));
        assert_true(most > 0);
        for (int j = 0; j < MOST; j++) REQUIRE_NEAR(v[1].got[0][j], v[0].got[0][j], 1e-6 * most);
    }
}

/* What is read twice is computed twice: the work of a chain of squares doubles with each, and a
 * product's is more than its result's. */
static void known_numbers_are_computed_within_limits(void **state)
{
    (void)state;
    static const float corner[T * T] = { 1 };
    net n = begin();
    vkt_tensor *few = known(n, corner, vkt_shape1(1)), *many,
               *all = known(n, corner, vkt_shape2(T, T));
    for (int i = 0; i < 8; i++) few = vkt_mul(n.g, few, few);
    many = few;
    for (int i = 0; i < 8; i++) many = vkt_mul(n.g, many, many);
    all = vkt_sum(n.g, vkt_matmul(n.g, VKT_LAYOUT_NN, all, all));
    double *v = vkt__known(few, 10000), *sum = vkt__known(all, 6 * T * T * T);
    assert_true(v && v[0] == 1 && sum && sum[0] == 1);
    assert_null(vkt__known(many, 10000));
    assert_null(vkt__known(all, 2 * T * T * T)); /* 4 T T numbers, but 2 T T T operations */
    free(v), free(sum);
    vkt_graph_destroy(&n.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_attention_is_attention),
        cmocka_unit_test(other_scores_stay),
        cmocka_unit_test(a_vector_that_is_added_is_a_bias),
        cmocka_unit_test(gradients_that_are_asked_for_within),
        cmocka_unit_test(known_numbers_are_computed_within_limits),
    };
    make_masks();
    return cmocka_run_group_tests_name("attention of general ops", tests, NULL, NULL);
}
