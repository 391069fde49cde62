/* Graph rewrites of general ops, in the twins: what is written with a transposition, an expansion,
 * a slice of what was joined or a factor before attention plans as what has none, gradients
 * included, with the same numbers; and what must stay. */
#include <math.h>

#include "testing.h"

#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

enum { MOST = 4096, N_IN = 3 };

typedef struct {
    vkt_graph *g;
    vkt_tensor *in[N_IN];
} net;

static const uint32_t turn[] = { 1, 0 }, turn_last[] = { 0, 1, 3, 2 };

/* ---- pairs: written with general ops, and plainly. x [6, 8], w [5, 8], v [8, 5] ---- */

static vkt_tensor *nt_folded(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NN, n.in[0], vkt_permute(n.g, n.in[1], turn));
}
static vkt_tensor *nt_plain(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NT, n.in[0], n.in[1]);
}
static vkt_tensor *nn_folded(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NT, n.in[0], vkt_permute(n.g, n.in[2], turn));
}
static vkt_tensor *nn_plain(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NN, n.in[0], n.in[2]);
}
static vkt_tensor *tn_folded(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NN, vkt_permute(n.g, n.in[2], turn), n.in[2]);
}
static vkt_tensor *tn_plain(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_TN, n.in[2], n.in[2]);
}
static vkt_tensor *from_tn_folded(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_TN, vkt_permute(n.g, n.in[0], turn), n.in[2]);
}

/* Rank 4, merged to batches of matrices: [2, 1, 3, 8] and [2, 1, 3, 8] out of x. */
static vkt_tensor *batch(net n)
{
    return vkt_reshape(n.g, n.in[0], (vkt_shape) { 4, { 2, 1, 3, 8 } });
}
static vkt_tensor *batched_folded(net n)
{
    vkt_tensor *t = vkt_permute(n.g, batch(n), turn_last);
    return vkt_matmul_batched(n.g, VKT_LAYOUT_NN,
                              vkt_reshape(n.g, batch(n), (vkt_shape) { 3, { 2, 3, 8 } }),
                              vkt_reshape(n.g, t, (vkt_shape) { 3, { 2, 8, 3 } }), VKT_F32);
}
static vkt_tensor *batched_plain(net n)
{
    vkt_tensor *t = vkt_reshape(n.g, batch(n), (vkt_shape) { 3, { 2, 3, 8 } });
    return vkt_matmul_batched(n.g, VKT_LAYOUT_NT, t, t, VKT_F32);
}

static vkt_tensor *row(net n)
{
    return vkt_sum_rows(n.g, n.in[1]);
}
static vkt_tensor *expand_folded(net n)
{
    vkt_tensor *wide = vkt_expand(n.g, row(n), vkt_shape2(6, 8));
    return vkt_where(n.g, vkt_binary(n.g, VKT_FN2_LT, n.in[0], wide), wide, n.in[0]);
}
static vkt_tensor *expand_plain(net n)
{
    vkt_tensor *r = row(n);
    return vkt_where(n.g, vkt_binary(n.g, VKT_FN2_LT, n.in[0], r), r, n.in[0]);
}

static vkt_tensor *slice_folded(net n)
{
    vkt_tensor *parts[] = { n.in[0], n.in[1], n.in[0] };
    vkt_tensor *all = vkt_concat(n.g, parts, 3, 0);
    return vkt_slice(n.g, all, (uint32_t[]) { 7, 2 }, (uint32_t[]) { 2, 3 }, (uint32_t[]) { 2, 2 });
}
static vkt_tensor *slice_plain(net n)
{
    return vkt_slice(n.g, n.in[1], (uint32_t[]) { 1, 2 }, (uint32_t[]) { 2, 3 },
                     (uint32_t[]) { 2, 2 });
}

/* Six tokens of two heads. */
static vkt_tensor *attend(net n, bool folded)
{
    vkt_tensor *x = vkt_reshape(n.g, n.in[0], vkt_shape3(1, 6, 8)),
               *q = folded ? vkt_scale(n.g, x, 0.5f) : x,
               *k = folded ? vkt_scale(n.g, x, -4.0f) : x;
    const vkt_attention_desc d = { .heads = 2, .full = true, .scale = folded ? 0.25f : -0.5f };
    return vkt_attention(n.g, q, k, x, NULL, NULL, &d);
}
static vkt_tensor *scale_folded(net n)
{
    return attend(n, true);
}
static vkt_tensor *scale_plain(net n)
{
    return attend(n, false);
}

static vkt_tensor *number(net n, float v)
{
    return vkt_fill(n.g, vkt_shape1(1), v);
}
static vkt_tensor *plus(net n, vkt_tensor *x, float v)
{
    return vkt_binary(n.g, VKT_FN2_ADD, x, number(n, v));
}

/* 0.5 before or behind the product; by erf, or tanh with x taken out or not. */
static vkt_tensor *erf_folded(net n)
{
    vkt_tensor *x = n.in[0], *e = vkt_binary(n.g, VKT_FN2_DIV, x, number(n, sqrtf(2)));
    e = plus(n, vkt_unary(n.g, VKT_FN_ERF, e, 0, 0), 1);
    return vkt_scale(n.g, vkt_mul(n.g, x, e), 0.5f);
}
static vkt_tensor *erf_plain(net n)
{
    return vkt_activate(n.g, n.in[0], VKT_ACT_GELU_ERF);
}
static vkt_tensor *tanh_of(net n, vkt_tensor *inside)
{
    vkt_tensor *t = plus(n, vkt_activate(n.g, inside, VKT_ACT_TANH), 1);
    return vkt_mul(n.g, vkt_scale(n.g, n.in[0], 0.5f), t);
}
static vkt_tensor *cubic_folded(net n)
{
    vkt_tensor *x = n.in[0], *c = vkt_binary(n.g, VKT_FN2_POW, x, number(n, 3));
    c = vkt_add(n.g, x, vkt_scale(n.g, c, 0.044715f));
    return tanh_of(n, vkt_scale(n.g, c, 0.7978845608f));
}
static vkt_tensor *square_folded(net n)
{
    vkt_tensor *x = n.in[0], *c = vkt_scale(n.g, vkt_mul(n.g, x, x), 0.044715f);
    c = vkt_mul(n.g, vkt_scale(n.g, x, 0.7978845608f), plus(n, c, 1));
    return tanh_of(n, c);
}
static vkt_tensor *tanh_plain(net n)
{
    return vkt_activate(n.g, n.in[0], VKT_ACT_GELU);
}

static vkt_tensor *mean(net n, vkt_tensor *x)
{
    return vkt_reduce(n.g, VKT_REDUCE_MEAN, x, 2, true);
}
static vkt_tensor *layer_norm_folded(net n)
{
    vkt_tensor *r = row(n), *d = vkt_binary(n.g, VKT_FN2_SUB, n.in[0], mean(n, n.in[0])), *s;
    s = vkt_unary(n.g, VKT_FN_SQRT, plus(n, mean(n, vkt_mul(n.g, d, d)), 1e-5f), 0, 0);
    return vkt_add(n.g, vkt_mul(n.g, vkt_binary(n.g, VKT_FN2_DIV, d, s), r), r);
}
static vkt_tensor *layer_norm_plain(net n)
{
    vkt_tensor *r = row(n);
    return vkt_layernorm(n.g, n.in[0], r, r, NULL, 1e-5f, NULL);
}
static vkt_tensor *rms_norm_folded(net n)
{
    vkt_tensor *r = row(n), *x = n.in[0], *s;
    s = vkt_unary(n.g, VKT_FN_RSQRT, plus(n, mean(n, vkt_mul(n.g, x, x)), 1e-5f), 0, 0);
    return vkt_mul(n.g, vkt_binary(n.g, VKT_FN2_MUL, x, s), r);
}
static vkt_tensor *rms_norm_plain(net n)
{
    return vkt_rmsnorm(n.g, n.in[0], row(n), NULL, 1e-5f, NULL);
}

static vkt_tensor *bias_folded(net n)
{
    vkt_tensor *b = vkt_sum_rows(n.g, n.in[2]), *y = nt_plain(n);
    return vkt_add(n.g, vkt_reshape(n.g, y, vkt_shape3(2, 3, 5)), b);
}
static vkt_tensor *bias_plain(net n)
{
    vkt_tensor *b = vkt_sum_rows(n.g, n.in[2]);
    vkt_tensor *y = vkt_linear(n.g, n.in[0], n.in[1], b, VKT_ACT_NONE);
    return vkt_reshape(n.g, y, vkt_shape3(2, 3, 5));
}
static vkt_tensor *look_up(net n, bool folded)
{
    static vkt_buffer buf = { .bytes = 1 << 12, .label = "ids" };
    vkt_tensor *ids = vkt_input(n.g, vkt_shape2(2, 3), VKT_U32, "i"),
               *table = vkt_input(n.g, vkt_shape2(5, 8), VKT_F32, "t");
    vkt_bind(ids, VKT_ALL_SLOTS, &buf, 0);
    vkt_bind(table, VKT_ALL_SLOTS, &buf, 1024);
    vkt_tensor *p = vkt_slice(n.g, n.in[0], (uint32_t[]) { 1, 0 }, (uint32_t[]) { 3, 8 }, NULL);
    vkt_embedding_in in = { .table = table, .ids = ids, .pos = folded ? NULL : p };
    vkt_tensor *y = vkt_embedding(n.g, &in);
    return folded ? vkt_add(n.g, y, p) : y;
}
static vkt_tensor *positions_folded(net n)
{
    return look_up(n, true);
}
static vkt_tensor *positions_plain(net n)
{
    return look_up(n, false);
}

static const struct {
    const char *name;
    vkt_tensor *(*folded)(net n), *(*plain)(net n);
    const vkt__pass *pass;
    uint32_t n;
    double near; /* 0: other orders of the same sums; 1e-6: constants of the file are f32 */
} pairs[] = {
    { "NN to NT", nt_folded, nt_plain, &vkt__pass_transpose, 1 },
    { "NT to NN", nn_folded, nn_plain, &vkt__pass_transpose, 1 },
    { "NN to TN", tn_folded, tn_plain, &vkt__pass_transpose, 1 },
    { "TN to NN", from_tn_folded, nn_plain, &vkt__pass_transpose, 1 },
    { "batches", batched_folded, batched_plain, &vkt__pass_transpose, 1 },
    { "expansion", expand_folded, expand_plain, &vkt__pass_expand, 2 },
    { "slice", slice_folded, slice_plain, &vkt__pass_slice, 1 },
    { "scaled queries and keys", scale_folded, scale_plain, &vkt__pass_scale, 1 },
    { "GELU by erf", erf_folded, erf_plain, &vkt__pass_compose, 1, 1e-6 },
    { "GELU by tanh", cubic_folded, tanh_plain, &vkt__pass_compose, 1, 1e-6 },
    { "GELU by tanh, x taken out", square_folded, tanh_plain, &vkt__pass_compose, 1, 1e-6 },
    { "layer norm", layer_norm_folded, layer_norm_plain, &vkt__pass_compose, 1 },
    { "RMS norm", rms_norm_folded, rms_norm_plain, &vkt__pass_compose, 1 },
    { "bias behind a view", bias_folded, bias_plain, &vkt__pass_bias, 1 },
    { "positions", positions_folded, positions_plain, &vkt__pass_bias, 1 },
};

typedef struct {
    vkt_tensor *out[1 + N_IN];
    double got[1 + N_IN][MOST];
} values;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++)
        data[i] = t->dtype == VKT_U32 ? (double)(i % 4)
                                      : (double)(float)vkt_rand_normal(t->name[0], VKT_RNG_TEST, i);
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    values *v = user;
    for (int i = 0; i <= N_IN; i++)
        if (t == v->out[i]) memcpy(v->got[i], data, t->count * sizeof *data);
}

/* The plan's lines of nodes, without the numbers of tensors and where their memory lies. */
static void ops_of(const vkt_graph *g, vkt__str *out)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const vkt_node *n = g->nodes[i];
        vkt__str_printf(out, "%s %s", n->op->name, vkt__text(n->out[0]));
        for (int k = 0; k < VKT_MAX_IN; k++)
            if (n->in[k]) vkt__str_printf(out, ", %s", vkt__text(n->in[k]));
        vkt__str_printf(out, " layout %d\n",
                        n->op == &vkt__op_matmul ? (int)n->attr.matmul.layout : 0);
    }
}

/* "%12" is another number where there were more tensors before. */
static void without_numbers(char *s)
{
    char *to = s;
    for (; *s; s++) {
        *to++ = *s;
        if (*s == '%')
            while (s[1] >= '0' && s[1] <= '9') s++;
    }
    *to = 0;
}

static void compute(vkt_tensor *(*build)(net n), bool rewrite, values *v, vkt__str *ops,
                    const vkt__pass *pass, uint32_t *found)
{
    static vkt_buffer buf = { .bytes = 1 << 16, .label = "inputs" };
    memset(v, 0, sizeof *v);
    net n = { .g = vkt__graph_new(NULL) };
    if (!rewrite) vkt_graph_no_rewrite(n.g);
    n.in[0] = vkt_input(n.g, vkt_shape2(6, 8), VKT_F32, "x");
    n.in[1] = vkt_input(n.g, vkt_shape2(5, 8), VKT_F32, "w");
    n.in[2] = vkt_input(n.g, vkt_shape2(8, 5), VKT_F32, "v");
    for (int i = 0; i < N_IN; i++) vkt_bind(n.in[i], VKT_ALL_SLOTS, &buf, 4096 * (uint64_t)i);
    vkt_tensor *y = build(n), *loss = vkt_sum(n.g, vkt_mul(n.g, y, y));
    v->out[N_IN] = loss;
    vkt_keep(loss, "loss");
    vkt_backward(n.g, loss, n.in, N_IN, v->out);
    for (int i = 0; i < N_IN; i++) vkt_keep(v->out[i], "gradient");
    REQUIRE_OK(vkt_graph_plan(n.g, &(vkt_plan_desc) { 0 }));
    vkt__graph_ref(n.g, fill, v, take);
    ops_of(n.g, ops);
    *found = vkt__rewrite_count(n.g, pass);
    vkt_graph_destroy(&n.g);
}

static void general_ops_plan_as_what_they_mean(void **state)
{
    (void)state;
    static values folded, plain, left;
    for (size_t k = 0; k < VKT_COUNT(pairs); k++) {
        vkt__str a = { 0 }, b = { 0 }, c = { 0 };
        uint32_t n, none;
        compute(pairs[k].folded, true, &folded, &a, pairs[k].pass, &n);
        compute(pairs[k].plain, true, &plain, &b, pairs[k].pass, &none);
        without_numbers(a.data);
        without_numbers(b.data);
        if (n != pairs[k].n || strcmp(a.data, b.data))
            print_error("'%s': %u times\n%s\nand plainly\n%s\n", pairs[k].name, n, a.data, b.data);
        assert_int_equal(n, pairs[k].n);
        assert_string_equal(a.data, b.data);
        compute(pairs[k].folded, false, &left, &c, pairs[k].pass, &none);
        assert_int_equal(none, 0);
        assert_true(left.got[N_IN][0] > 0);
        for (int i = 0; i <= N_IN; i++) {
            assert_memory_equal(folded.got[i], plain.got[i], sizeof plain.got[i]);
            for (int j = 0; j < MOST; j++)
                REQUIRE_NEAR(folded.got[i][j], left.got[i][j],
                             fmax(pairs[k].near, 1e-12) * left.got[N_IN][0]);
        }
        vkt__str_finish(&a), vkt__str_finish(&b), vkt__str_finish(&c);
    }
}

/* Another permutation, flips, a factor that its product can't turn; an operand that says how large
 * the result is; slices over a seam; and what others read stays beside. */
static void what_can_not_fold_stays(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 6, 8), *w = vkt__sample2(g, 6, 8), *r = vkt__sample1(g, 8);
    vkt_matmul(g, VKT_LAYOUT_NT, x, vkt_flip(g, w, 2));
    net almost = { g, { x, w, x } };
    vkt_scale(g, vkt_mul(g, x, plus(almost, vkt_unary(g, VKT_FN_ERF, x, 0, 0), 1)), 0.5f);
    vkt_keep(vkt_scale(g, erf_folded(almost), 1), "y");
    vkt_keep(g->nodes[g->n_nodes - 4]->out[0], "1 + erf"); /* another may read it */
    vkt_mul(g, vkt_binary(g, VKT_FN2_DIV, x, mean(almost, vkt_mul(g, x, x))), vkt__sample1(g, 8));
    vkt_matmul(g, VKT_LAYOUT_NT, vkt_permute(g, vkt__sample2(g, 8, 6), turn), w);
    vkt_tensor *cube =
        vkt_permute(g, vkt_reshape(g, x, (vkt_shape) { 3, { 6, 2, 4 } }), (uint32_t[]) { 0, 2, 1 });
    vkt_matmul(g, VKT_LAYOUT_NN, cube, vkt__sample2(g, 2, 3));
    vkt_binary(g, VKT_FN2_SUB, vkt_expand(g, r, vkt_shape2(6, 8)), r);
    vkt_tensor *all = vkt_concat(g, (vkt_tensor *[]) { x, w }, 2, 1);
    vkt_slice(g, all, (uint32_t[]) { 0, 7 }, (uint32_t[]) { 6, 2 }, NULL);
    vkt_tensor *tokens = vkt_reshape(g, x, vkt_shape3(1, 6, 8)), *none = vkt_scale(g, tokens, 0);
    vkt_attention(g, none, none, tokens, NULL, NULL, &(vkt_attention_desc) { .heads = 2 });
    vkt_tensor *kept = vkt_permute(g, w, turn);
    vkt_keep(kept, "kept");
    size_t before = g->n_nodes;
    vkt__rewrite(g, true);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_transpose), 0);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_expand), 0);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_slice), 0);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_scale), 0);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_compose), 0);
    assert_int_equal(g->n_nodes, before);
    vkt_graph_destroy(&g);

    g = vkt__graph_new(NULL);
    x = vkt__sample2(g, 6, 8), w = vkt__sample2(g, 6, 8);
    kept = vkt_permute(g, w, turn);
    vkt_keep(kept, "kept");
    vkt_matmul(g, VKT_LAYOUT_NN, x, kept); /* reads w, and the copy is made for others */
    vkt_tensor *old = vkt_permute(g, w, turn);
    vkt__accumulate(g, w, x); /* w is another one from here on */
    vkt_matmul(g, VKT_LAYOUT_NN, x, old);
    before = g->n_nodes;
    vkt__rewrite(g, true);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_transpose), 1);
    assert_int_equal(g->n_nodes, before);
    vkt_graph_destroy(&g);

    g = vkt__graph_new(NULL); /* a copy whose own gradient is asked for */
    w = vkt_permute(g, vkt__sample2(g, 6, 8), turn);
    vkt_backward(g, vkt_sum(g, vkt_matmul(g, VKT_LAYOUT_NN, vkt__sample2(g, 6, 8), w)), &w, 1, &x);
    assert_int_equal(vkt__rewrite_count(g, &vkt__pass_transpose), 0);
    vkt_graph_destroy(&g);
}

/* ---- almost a norm: means that are not of the rows that they are joined with ---- */

static vkt_tensor *root_of(net n, vkt_tensor *mean)
{
    return vkt_unary(n.g, VKT_FN_RSQRT, plus(n, mean, 1e-5f), 0, 0);
}
static vkt_tensor *square(net n)
{
    return vkt_matmul(n.g, VKT_LAYOUT_NT, n.in[0], n.in[0]);
}
static vkt_tensor *by_columns(net n) /* the mean [6] of a row is joined with a column */
{
    vkt_tensor *x = square(n), *m = vkt_reduce(n.g, VKT_REDUCE_MEAN, vkt_mul(n.g, x, x), 2, false);
    return vkt_mul(n.g, vkt_binary(n.g, VKT_FN2_MUL, x, root_of(n, m)), vkt_sum_rows(n.g, x));
}
static vkt_tensor *less_by_columns(net n)
{
    vkt_tensor *x = square(n), *d;
    d = vkt_binary(n.g, VKT_FN2_SUB, x, vkt_reduce(n.g, VKT_REDUCE_MEAN, x, 2, false));
    d = vkt_binary(n.g, VKT_FN2_MUL, d, root_of(n, mean(n, vkt_mul(n.g, d, d))));
    return vkt_mul(n.g, d, vkt_sum_rows(n.g, x));
}
static vkt_tensor *as_one_row(net n, vkt_tensor *x)
{
    return vkt_reshape(n.g, x, vkt_shape2(1, 48));
}
static vkt_tensor *by_all(net n) /* one mean [1, 1] of all rows */
{
    vkt_tensor *x = n.in[0], *m = mean(n, as_one_row(n, vkt_mul(n.g, x, x)));
    return vkt_mul(n.g, vkt_binary(n.g, VKT_FN2_MUL, x, root_of(n, m)), row(n));
}
static vkt_tensor *less_by_all(net n)
{
    vkt_tensor *d = vkt_binary(n.g, VKT_FN2_SUB, n.in[0], mean(n, as_one_row(n, n.in[0])));
    d = vkt_binary(n.g, VKT_FN2_MUL, d, root_of(n, mean(n, vkt_mul(n.g, d, d))));
    return vkt_mul(n.g, d, row(n));
}

static void other_means_keep_their_numbers(void **state)
{
    (void)state;
    static const struct {
        vkt_tensor *(*build)(net n);
        uint32_t n; /* norms that are found: that of d, which is of its own rows */
    } almost[] = { { by_columns, 0 }, { less_by_columns, 1 }, { by_all, 0 }, { less_by_all, 1 } };
    static values found, left;
    for (size_t k = 0; k < VKT_COUNT(almost); k++) {
        vkt__str a = { 0 }, b = { 0 };
        uint32_t n, none;
        compute(almost[k].build, true, &found, &a, &vkt__pass_compose, &n);
        compute(almost[k].build, false, &left, &b, &vkt__pass_compose, &none);
        assert_int_equal(n, almost[k].n);
        assert_null(strstr(a.data, "layernorm"));
        for (int i = 0; i <= N_IN; i++)
            for (int j = 0; j < MOST; j++)
                REQUIRE_NEAR(found.got[i][j], left.got[i][j], 1e-9 * left.got[N_IN][0]);
        vkt__str_finish(&a), vkt__str_finish(&b);
    }
}

/* A number whose own gradient is asked for, and an input that changes before the last node. */
static void numbers_that_are_trained_and_inputs_that_change(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) { /* 3: nothing is in the way */
        net n = { .g = vkt__graph_new(NULL) };
        vkt_tensor *x = vkt__sample2(n.g, 6, 8), *more = vkt__sample2(n.g, 6, 8), *y, *d;
        vkt_tensor *one = number(n, 1);
        if (k != 2) {
            y = vkt_scale(n.g, x, sqrtf(0.5f));
            y = vkt_add(n.g, vkt_unary(n.g, VKT_FN_ERF, y, 0, 0), one);
            if (k == 1) vkt__accumulate(n.g, x, more);
            y = vkt_scale(n.g, vkt_mul(n.g, x, y), 0.5f);
        } else {
            y = root_of(n, mean(n, vkt_mul(n.g, x, x)));
            vkt__accumulate(n.g, x, more);
            y = vkt_mul(n.g, vkt_binary(n.g, VKT_FN2_MUL, x, y), vkt__sample1(n.g, 8));
        }
        if (k == 0) vkt_backward(n.g, vkt_sum(n.g, y), &one, 1, &d);
        vkt__rewrite(n.g, true);
        assert_int_equal(vkt__rewrite_count(n.g, &vkt__pass_compose), k == 3);
        vkt_graph_destroy(&n.g);
    }
}

/* ---- batch norm by running averages ---- */

typedef struct {
    vkt_tensor *pixels, *filter, *bias, *at[4]; /* mean, variance, weight, bias */
} pictures;

static pictures pictures_of(vkt_graph *g, uint32_t size)
{
    pictures p = { .pixels = vkt__sample(g, (vkt_shape) { 4, { 2, size, size, 3 } }, VKT_F32,
                                         VKT_HINT_NORMAL, 0),
                   .filter = vkt__sample(g, (vkt_shape) { 4, { 3, 3, 3, 5 } }, VKT_F32,
                                         VKT_HINT_NORMAL, 0),
                   .bias = vkt__sample1(g, 5) };
    for (int i = 0; i < 4; i++)
        p.at[i] = vkt__sample(g, vkt_shape1(5), VKT_F32, VKT_HINT_POSITIVE, 0);
    return p;
}

static vkt_tensor *norm_of(vkt_graph *g, const pictures *p, bool bias, bool train)
{
    vkt_tensor *y =
        vkt_conv2d(g, p->pixels, p->filter, bias ? p->bias : NULL, &(vkt_conv_desc) { .pad = 1 });
    return vkt_batch_norm(
        g, y,
        &(vkt_batch_norm_desc) {
            .running_mean = p->at[0],
            .running_var = p->at[1],
            .w = p->at[2],
            .b = p->at[3],
            .count = train ? vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_INDEX, 9) : NULL,
            .eps = 1e-5f,
            .momentum = 0.1f,
            .train = train });
}

static void fill_sample(void *user, const vkt_tensor *t, double *data)
{
    (void)user;
    for (uint64_t i = 0; i < t->count; i++) data[i] = vkt__sample_value(t, 7, i);
}

/* A convolution, a norm, relu: three nodes; only the convolution is left; and the two small
 * ones and their zeros. */
static void a_norm_by_averages_goes_into_its_convolution(void **state)
{
    (void)state;
    static vkt_buffer buf = { .bytes = 1 << 20, .label = "inputs" };
    static values v[2];
    for (int bias = 0; bias < 2; bias++) {
        for (int rewrite = 0; rewrite < 2; rewrite++) {
            vkt_graph *g = vkt__graph_new(NULL);
            if (!rewrite) vkt_graph_no_rewrite(g);
            pictures p = pictures_of(g, 9);
            vkt_tensor *y = vkt_activate(g, norm_of(g, &p, bias, false), VKT_ACT_RELU);
            memset(&v[rewrite], 0, sizeof v[rewrite]);
            v[rewrite].out[0] = y;
            vkt_keep(y, "y");
            for (size_t i = 0; i < g->n_tensors; i++)
                if (!g->tensors[i]->node && !g->tensors[i]->view_of)
                    vkt_bind(g->tensors[i], VKT_ALL_SLOTS, &buf, 65536 * (uint64_t)(i % 16));
            REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
            assert_int_equal(vkt__rewrite_count(g, &vkt__pass_conv_norm), rewrite);
            assert_int_equal(g->n_nodes, rewrite ? 4 : 3);
            if (rewrite) assert_ptr_equal(g->nodes[3]->op, &vkt__op_conv2d);
            vkt__graph_ref(g, fill_sample, &v[rewrite], take);
            vkt_graph_destroy(&g);
        }
        double top = 0;
        for (int j = 0; j < 2 * 9 * 9 * 5; j++) {
            REQUIRE_NEAR(v[1].got[0][j], v[0].got[0][j], 1e-12 * (1 + fabs(v[0].got[0][j])));
            top = fmax(top, v[0].got[0][j]);
        }
        assert_true(top > 1);
    }
}

/* By the batch's own numbers; before a sum or a pooling, which the norm takes; of pictures smaller
 * than their filters; where another reads the convolution; in a net that is trained. */
static void norms_that_stay(void **state)
{
    (void)state;
    for (int training = 0; training < 2; training++) {
        vkt_graph *g = vkt__graph_new(NULL);
        pictures p = pictures_of(g, 9), small = pictures_of(g, 5);
        if (training) {
            norm_of(g, &p, false, false);
        } else {
            norm_of(g, &p, false, true);
            vkt_tensor *y = norm_of(g, &p, false, false);
            vkt_add(g, y, vkt_conv2d(g, p.pixels, p.filter, NULL, &(vkt_conv_desc) { .pad = 1 }));
            vkt_max_pool(g, norm_of(g, &p, false, false), &(vkt_pool_desc) { .size = 2 });
            norm_of(g, &small, false, false);
            vkt_tensor *z = norm_of(g, &p, false, false);
            vkt_keep(z->node->in[0], "before the norm");
        }
        vkt__rewrite(g, training);
        assert_int_equal(vkt__rewrite_count(g, &vkt__pass_conv_norm), 0);
        vkt_graph_destroy(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(general_ops_plan_as_what_they_mean),
        cmocka_unit_test(what_can_not_fold_stays),
        cmocka_unit_test(other_means_keep_their_numbers),
        cmocka_unit_test(numbers_that_are_trained_and_inputs_that_change),
        cmocka_unit_test(a_norm_by_averages_goes_into_its_convolution),
        cmocka_unit_test(norms_that_stay),
    };
    return cmocka_run_group_tests_name("rewrites of general ops", tests, NULL, NULL);
}
