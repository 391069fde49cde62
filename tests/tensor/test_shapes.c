/* Wrong shapes: latched, and named by the first error. */
#include "testing.h"

#include "base/quant.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/view.h"
#include "shaders/params.h"
#include "tensor/ops/experts/ops_expert.h"
#include "tensor/ops/ops.h"

static vkt_tensor *in2(vkt_graph *g, uint32_t r, uint32_t c)
{
    return vkt__sample2(g, r, c);
}
static vkt_tensor *in1(vkt_graph *g, uint32_t c)
{
    return vkt__sample1(g, c);
}
static vkt_tensor *targets(vkt_graph *g, uint32_t n)
{
    return vkt__sample(g, vkt_shape1(n), VKT_U32, VKT_HINT_INDEX, 5);
}

static vkt_tensor *wrong_add(vkt_graph *g)
{
    return vkt_add(g, in2(g, 3, 5), in2(g, 3, 4));
}
static vkt_tensor *wrong_mul(vkt_graph *g)
{
    return vkt_mul(g, in1(g, 4), in2(g, 3, 4));
}
static vkt_tensor *wrong_matmul(vkt_graph *g)
{
    return vkt_matmul(g, VKT_LAYOUT_NN, in2(g, 3, 5), in2(g, 3, 4));
}
static vkt_tensor *wrong_linear(vkt_graph *g)
{
    return vkt_linear(g, in2(g, 3, 5), in2(g, 4, 5), in1(g, 5), VKT_ACT_NONE);
}
static vkt_tensor *wrong_reshape(vkt_graph *g)
{
    return vkt_reshape(g, in2(g, 3, 5), vkt_shape2(4, 4));
}
static vkt_tensor *wrong_weight(vkt_graph *g)
{
    return vkt_layernorm(g, in2(g, 3, 5), in1(g, 3), NULL, NULL, 1e-5f, NULL);
}
static vkt_tensor *wrong_bias(vkt_graph *g)
{
    return vkt_layernorm(g, in2(g, 3, 5), in1(g, 5), in1(g, 4), NULL, 1e-5f, NULL);
}
static vkt_tensor *wrong_residual(vkt_graph *g)
{
    return vkt_rmsnorm(g, in2(g, 3, 5), in1(g, 5), in2(g, 5, 3), 1e-5f, NULL);
}
static vkt_tensor *wrong_p(vkt_graph *g)
{
    return vkt_dropout(g, in2(g, 3, 5), vkt_step(g), 1.0f);
}
static vkt_tensor *wrong_cast(vkt_graph *g)
{
    vkt_tensor *x = targets(g, 3); /* the builder converts them first */
    return vkt__op(g, &vkt__op_cast, &x, 1, (vkt_attr) { .cast = { VKT_F16 } });
}
static vkt_tensor *wrong_half(vkt_graph *g)
{
    return vkt_mul(g, in2(g, 3, 5), vkt_cast(g, in1(g, 5), VKT_BF16));
}
static vkt_tensor *wrong_mse(vkt_graph *g)
{
    return vkt_mse(g, in2(g, 3, 5), in2(g, 5, 3), NULL).loss;
}
static vkt_tensor *wrong_target(vkt_graph *g)
{
    return vkt_softmax_xent(g, in2(g, 3, 5), targets(g, 4), NULL, NULL, NULL).hit;
}
static vkt_tensor *wrong_type(vkt_graph *g)
{
    return vkt_softmax_xent(g, in2(g, 3, 5), in1(g, 3), NULL, NULL, NULL).loss;
}
static vkt_tensor *wrong_classes(vkt_graph *g)
{
    return vkt_softmax_xent(g, in2(g, 3, 5), targets(g, 3), NULL, in1(g, 3), NULL).loss;
}
static vkt_tensor *wrong_rows(vkt_graph *g)
{
    return vkt_softmax_xent(g, in2(g, 3, 5), targets(g, 3), in1(g, 5), NULL, NULL).loss;
}

static void wrong_shapes_are_latched_and_named(void **state)
{
    (void)state;
    static const struct {
        vkt_tensor *(*build)(vkt_graph *g);
        const char *says[3];
    } cases[] = {
        { wrong_add, { "add", "[3, 5] f32", "[3, 4] f32" } },
        { wrong_mul, { "mul", "[4] f32", "[3, 4] f32" } },
        { wrong_matmul, { "matmul", "[3, 5] f32", "[3, 4] f32" } },
        { wrong_linear, { "matmul", "bias", "[5] f32" } },
        { wrong_reshape, { "reshape", "[3, 5] f32", "[4, 4] f32" } },
        { wrong_weight, { "layernorm: weight", "[3] f32", "[3, 5] f32" } },
        { wrong_bias, { "layernorm: bias", "[4] f32", "[3, 5] f32" } },
        { wrong_residual, { "rmsnorm: residual", "[5, 3] f32", "[3, 5] f32" } },
        { wrong_p, { "dropout", "1", "[0, 1)" } },
        { wrong_cast, { "cast: input 1", "[3] u32", "must be floats" } },
        { wrong_half, { "mul", "[5] bf16", "must be f32" } },
        { wrong_mse, { "element_loss", "[3, 5] f32", "[5, 3] f32" } },
        { wrong_target, { "softmax_xent: target", "[4] u32", "[3, 5] f32" } },
        { wrong_type, { "softmax_xent: input 2", "[3] f32", "must be u32" } },
        { wrong_classes, { "softmax_xent: class weight", "[3] f32", "[3, 5] f32" } },
        { wrong_rows, { "softmax_xent: row weight", "[5] f32", "[3, 5] f32" } },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_graph *g = vkt__graph_new(NULL);
        TEST_LOG_CAPTURE();
        vkt__where(g, "layer 3");
        vkt_tensor *t = cases[i].build(g), *x = vkt__sample1(g, 3), *dx, *sum;
        vkt__where(g, NULL);
        REQUIRE_LOGGED("layer 3: ");
        for (int k = 0; k < 3; k++) REQUIRE_LOGGED(cases[i].says[k]);
        size_t lines = strlen(test_log);
        assert_true(t->inert);
        t = vkt_layernorm(g, vkt_linear(g, vkt_reshape(g, t, vkt_shape2(7, 7)), t, x, VKT_ACT_GELU),
                          x, x, t, 1e-5f, &sum);
        assert_true(
            t->inert && sum->inert &&
            vkt_softmax_xent(g, t, t, NULL, x, &(vkt_xent_desc) { .smoothing = 0.1f }).loss->inert);
        assert_true(
            vkt_cast(g, vkt_dropout(g, vkt_sum_rows(g, t), vkt_step(g), 0.5f), VKT_F16)->inert);
        vkt_backward(g, t, &x, 1, &dx);
        assert_true(dx->inert);
        REQUIRE_STATUS(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }), VKT_E_SHAPE);
        assert_int_equal(strlen(test_log), lines); /* the first error only */
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        vkt_graph_destroy(&g);
    }
}

/* An input that is another in one way: a length more at its end or its beginning, an axis more or
 * less. False: that way makes no other tensor of t. */
static bool change(const vkt_tensor *t, int way, vkt_shape *shape)
{
    *shape = t->shape;
    if (way < 2 && !shape->rank) return false;
    if (way == 0) shape->d[shape->rank - 1]++;
    if (way == 1) shape->d[0]++;
    if (way == 2) {
        if (shape->rank == VKT_MAX_RANK) return false;
        shape->d[shape->rank++] = 2;
    }
    if (way == 3) {
        if (shape->rank < 2) return false;
        shape->d[--shape->rank] = 0;
    }
    return true;
}

/* Every row's samples, each with one input that does not fit: the node is made, or the row's own
 * line says why not and the graph knows; what has a gradient refuses some. But for rows whose
 * inputs are made here: the optimizer's, and what a pass puts for others. */
static void each_row_says_what_does_not_fit(void **state)
{
    (void)state;
    size_t n_refused = 0, n_taken = 0, n_silent = 0, n_unchecked = 0;
    for (const vkt_op *const *op = vkt__rows; *op; op++) {
        size_t had = n_refused;
        uint32_t n_leaves = 0;
        bool more = *op != &vkt__op_optim_state && *op != &vkt__op_optim_update &&
                    *op != &vkt__op_optim_update8 && *op != &vkt__op_optim_squares &&
                    *op != &vkt__op_optim_trust && *op != &vkt__op_optim_apply &&
                    *op != &vkt__op_optim_update_more && *op != &vkt__op_optim_line &&
                    *op != &vkt__op_optim_lines && *op != &vkt__op_batch_norm_pool;
        for (uint32_t i = 0; i < 24 && more; i++) {
            vkt_graph *g = vkt__graph_new(NULL);
            more = (*op)->sample(*op, g, i) != NULL;
            const vkt_node *n = NULL;
            for (size_t k = 0; k < g->n_nodes; k++)
                if (g->nodes[k]->op == *op) n = g->nodes[k];
            for (uint32_t j = 0; n && j < (*op)->n_in; j++) {
                if (!n->in[j] || vkt__root(n->in[j])->node)
                    continue; /* another node's: it is right */
                n_leaves = VKT_MAX(n_leaves, j + 1);
                for (int way = 0; way < 4; way++) {
                    vkt_tensor *in[VKT_MAX_IN];
                    vkt_shape shape;
                    memcpy(in, n->in, sizeof in);
                    if (!change(in[j], way, &shape)) continue;
                    in[j] = vkt_input(g, shape, in[j]->dtype, "other");
                    g->status = VKT_OK;
                    TEST_LOG_CAPTURE();
                    bool made = vkt__node(g, *op, in, (*op)->n_in, n->attr) != NULL;
                    bool told = g->status == VKT_E_SHAPE && strstr(test_log, (*op)->name);
                    n_taken += made;
                    n_refused += !made && told;
                    n_silent += made ? g->status != VKT_OK : !told;
                }
            }
            vkt_graph_destroy(&g);
        }
        if (!(*op)->grad || n_leaves < 2 || n_refused > had) continue;
        print_error("%s takes whatever it is given\n", (*op)->name);
        n_unchecked++;
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    print_message("%zu inputs were refused, %zu fitted\n", n_refused, n_taken);
    assert_int_equal(n_silent, 0);
    assert_int_equal(n_unchecked, 0); /* of two inputs one has to fit the other */
}

/* Node n's input j as whole numbers if its row takes floats there, and the other way round. */
static void require_refused(vkt_graph *g, const vkt_node *n, uint32_t j)
{
    char says[64];
    vkt_tensor *in[VKT_MAX_IN];
    bool words = n->op->in[j] & VKT_WORDS, either = words && n->op->in[j] & VKT_NARROW;
    if (n->op == &vkt__op_concat) return; /* either, but all the same: test_golden_general */
    memcpy(in, n->in, sizeof in);
    in[j] = vkt_input(g, in[j] ? in[j]->shape : vkt_shape1(1), words ? VKT_F32 : VKT_U32, "other");
    snprintf(says, sizeof says, "%s: input %u, other [", n->op->name, j + 1);
    TEST_LOG_CAPTURE();
    assert_int_equal(vkt__node(g, n->op, in, n->op->n_in, n->attr) != NULL, either);
    assert_int_equal(g->status, either ? VKT_OK : VKT_E_SHAPE);
    if (!either) REQUIRE_LOGGED(says);
    if (!either) REQUIRE_LOGGED(words ? " f32, must be u32" : " u32, must be floats");
    g->status = VKT_OK;
}

/* What only moves elements takes either. */
static bool moves(const vkt_op *op)
{
    return op == &vkt__op_copy || op == &vkt__op_permute || op == &vkt__op_expand ||
           op == &vkt__op_slice || op == &vkt__op_concat || op == &vkt__op_gather ||
           op == &vkt__op_convert;
}

/* A row says which of its inputs are whole numbers, or its samples are refused here; and each input
 * is refused as the other, whether or not a sample has it. */
static void each_row_says_which_inputs_are_words(void **state)
{
    (void)state;
    for (const vkt_op *const *op = vkt__rows; *op; op++) {
        bool more = true;
        for (uint32_t i = 0; more; i++) {
            vkt_graph *g = vkt__graph_new(NULL);
            more = (*op)->sample(*op, g, i) != NULL;
            assert_int_equal(g->status, VKT_OK);
            size_t n_nodes = g->n_nodes;
            for (size_t k = 0; k < n_nodes; k++)
                for (uint32_t j = 0; j < (*op)->n_in && g->nodes[k]->op == *op; j++)
                    require_refused(g, g->nodes[k], j);
            vkt_graph_destroy(&g);
        }
        uint32_t either = vkt__inputs_with(*op, VKT_WORDS) & vkt__inputs_with(*op, VKT_NARROW);
        assert_int_equal(either != 0, moves(*op));
    }
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* Traits stand only where they mean something: of operands that the row has, in pairs that need
 * each other. */
static void traits_of_operands_fit_together(void **state)
{
    (void)state;
    const vkt_traits of_out = VKT_INPLACE | VKT_NARROW | VKT_MAY_NARROW;
    for (const vkt_op *const *row = vkt__rows; *row; row++) {
        const vkt_op *op = *row;
        uint32_t n_taking = 0;
        for (uint32_t i = 0; i < VKT_MAX_IN; i++) {
            vkt_traits t = op->in[i];
            assert_true(!t || i < op->n_in);
            assert_true(!(t & (VKT_NARROW_ODD | VKT_FACTOR)) || t & VKT_NARROW);
            assert_true(!(t & VKT_MAY_ALIKE) || t & VKT_MAY_NARROW);
            assert_false(t & VKT_CHANGED && t & VKT_INPLACE);
        }
        for (uint32_t i = 0; i < VKT_MAX_OUT; i++) {
            assert_true(!op->out[i] || (i < op->n_out && !(op->out[i] & ~of_out)));
            n_taking += (op->out[i] & VKT_INPLACE) != 0;
        }
        assert_int_equal(n_taking, vkt__inputs_with(op, VKT_INPLACE) ? 1 : 0);
    }
}

static vkt_tensor *in(vkt_graph *g, vkt_dtype dtype, uint32_t rank, uint32_t a, uint32_t b,
                      uint32_t c, uint32_t d)
{
    return vkt_input(g, (vkt_shape) { rank, { a, b, c, d } }, dtype, "x");
}
#define F4(a, b, c, d) in(g, VKT_F32, 4, a, b, c, d)
#define F3(a, b, c) in(g, VKT_F32, 3, a, b, c, 0)
#define F2(a, b) in(g, VKT_F32, 2, a, b, 0, 0)
#define F1(a) in(g, VKT_F32, 1, a, 0, 0, 0)
#define U2(a, b) in(g, VKT_U32, 2, a, b, 0, 0)
#define U1(a) in(g, VKT_U32, 1, a, 0, 0, 0)
#define BATCH(g)                                                                                   \
    (vkt_batch_norm_desc)                                                                          \
    {                                                                                              \
        F1(4), F1(4), F1(4), F1(4), F1(1), .train = true                                           \
    }
#define WRONG(made, words)                                                                         \
    do {                                                                                           \
        vkt_graph *g = vkt__graph_new(NULL);                                                       \
        TEST_LOG_CAPTURE();                                                                        \
        (void)(made);                                                                              \
        assert_int_equal(g->status, VKT_E_SHAPE);                                                  \
        REQUIRE_LOGGED(words);                                                                     \
        vkt_graph_destroy(&g);                                                                     \
    } while (0)

#define ATTR(...) ((vkt_attr) { __VA_ARGS__ })
#define OF_ROW(row, attr, ...)                                                                     \
    vkt__op(g, &vkt__op_##row, (vkt_tensor *[]) { __VA_ARGS__ },                                   \
            VKT_COUNT(((vkt_tensor *[]) { __VA_ARGS__ })), attr)

/* What no sample of a row is: settings that say nothing, and inputs of another rank. */
static void settings_that_say_nothing(void **state)
{
    (void)state;
    WRONG(vkt_conv2d(g, F4(1, 4, 4, 2), F4(0, 3, 2, 2), NULL, &(vkt_conv_desc) { .pad = 1 }),
          "a stride, dilation, group count or filter of 0");
    WRONG(vkt_conv2d(g, F4(1, 4, 4, 256), F4(512, 512, 256, 1), NULL,
                     &(vkt_conv_desc) { .pad = 256 }),
          "is too large");
    WRONG(vkt_max_pool(g, F4(1, 4, 4, 2), &(vkt_pool_desc) { 0 }), "a window of 0 x 0, stride 0");
    WRONG(vkt_avg_pool(g, F4(1, 4, 4, 2), &(vkt_pool_desc) { .size = 5000 }),
          "a window of 5000 x 5000");
    WRONG(vkt_avg_pool(g, F4(1, 4, 4, 2), &(vkt_pool_desc) { .size = 3, .pad = 2 }),
          "padding 2 is more than half of the window, 3 x 3");
    WRONG(vkt_max_pool(g, F4(1, 4, 4, 2), &(vkt_pool_desc) { .size = 5 }),
          "a window of 5 x 5 is larger than");
    WRONG(vkt_batch_norm(g, F1(4), &BATCH(g)), "must be [B, ..., C]");
    WRONG(vkt_batch_norm(g, F2(1, 4), &BATCH(g)),
          "in ghost batches of 1 values a channel: the last has 1, of which there is no variance");
    WRONG(vkt_group_norm(g, F1(4), F1(4), F1(4), 2, 1e-5f), "must be [N, ..., C]");
#define ROPE(width, columns, size, rotated)                                                        \
    vkt_rope(g, F3(1, 4, width), F2(4, columns), NULL, NULL,                                       \
             &(vkt_rope_desc) { .head = size, .heads = rotated })
    WRONG(ROPE(6, 2, 3, 2), "2 heads of 3 do not fit x [1, 4, 6] f32");
    WRONG(ROPE(10, 2, 4, 2), "2 heads of 4 do not fit x [1, 4, 10] f32");
    WRONG(ROPE(8, 2, 4, 3), "3 heads of 4 do not fit x [1, 4, 8] f32");
    WRONG(ROPE(8, 3, 4, 2), "of an even number up to 4");
    WRONG(ROPE(8, 6, 4, 2), "of an even number up to 4");
    WRONG(vkt_embedding(
              g, &(vkt_embedding_in) { .table = F2(5, 4), .ids = in(g, VKT_U32, 0, 0, 0, 0, 0) }),
          "must be [.., T] u32");
    WRONG(vkt_embedding(g, &(vkt_embedding_in) { .table = F2(5, 4),
                                                 .ids = U2(2, 3),
                                                 .order = U1(7),
                                                 .segments = U1(6) }),
          "must have an element for each of");
    WRONG(vkt_embedding(
              g, &(vkt_embedding_in) { .table = F2(5, 4), .ids = U2(2, 3), .pos = F2(2, 4) }),
          "3 tokens, but positions x [2, 4] f32");
    WRONG(vkt_softmax_xent(g, F2(3, 4), U1(3), NULL, NULL, &(vkt_xent_desc) { .smoothing = 1.5f })
              .loss,
          "smoothing 1.5 is not in [0, 1]");
    WRONG(vkt_element_losses(g, F2(3, 4), F2(3, 4),
                             &(vkt_element_loss_desc) { .kind = VKT_LOSS_HUBER })
              .loss,
          "delta 0 is not above 0");
    WRONG(vkt_focal(g, F1(3), &(vkt_focal_desc) { .gamma = -1 }), "gamma -1 is below 0");
    WRONG(vkt_matmul_batched(g, VKT_LAYOUT_NT, F3(2, 3, 4), F3(3, 3, 4), VKT_F32),
          "do not fit as batches of [M, K] and [N, K]");
    WRONG(vkt_matmul_as(g, VKT_LAYOUT_NT, F2(3, 4), in(g, VKT_F16, 2, 5, 4, 0, 0), VKT_F32),
          "must be of one type, f32, f16 or bf16");
    WRONG(vkt_matmul_as(g, VKT_LAYOUT_NT, in(g, VKT_F16, 2, 3, 4, 0, 0),
                        in(g, VKT_F16, 2, 5, 4, 0, 0), VKT_BF16),
          "must be of one type, f32, f16 or bf16");
    WRONG(vkt_linear(g, F2(3, 5), F2(4, 5), F2(4, 1), VKT_ACT_NONE), "bias");
    WRONG(vkt_layernorm(g, F2(3, 5), F1(5), F1(5), F2(4, 5), 1e-5f, NULL), "residual");
    WRONG(vkt_attention(g, F3(1, 4, 48), NULL, NULL, NULL, NULL,
                        &(vkt_attention_desc) { .heads = 4, .kv_heads = 3 }),
          "4 heads can't share 3 heads of keys");
    WRONG(vkt_attention(g, F3(1, 4, 18), NULL, NULL, NULL, NULL,
                        &(vkt_attention_desc) { .heads = 2 }),
          "a head of 3: it must be a multiple of 4");
    WRONG(vkt_attention(g, F3(1, 4, 16), F3(1, 6, 16), F3(1, 6, 16), NULL, NULL,
                        &(vkt_attention_desc) { .heads = 2 }),
          "4 queries and 6 keys: only full attention or a cache");
    WRONG(vkt_attention(g, F3(2, 4, 16), F3(1, 4, 16), F3(1, 4, 16), NULL, NULL,
                        &(vkt_attention_desc) { .heads = 2, .full = true }),
          "[1, 4, 16] f32 must be [2, S, 16]");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

#define WORDS(n) U1((uint32_t)vkt__quant_words(VKT_QUANT_Q8_0, n))

#define FITS(made)                                                                                 \
    do {                                                                                           \
        vkt_graph *g = vkt__graph_new(NULL);                                                       \
        TEST_LOG_CAPTURE();                                                                        \
        (void)(made);                                                                              \
        if (g->status != VKT_OK) print_error("%s", test_log);                                      \
        assert_int_equal(g->status, VKT_OK);                                                       \
        vkt_graph_destroy(&g);                                                                     \
    } while (0)

/* What is refused is beyond a limit, not at it. */
static void the_most_that_there_can_be(void **state)
{
    (void)state;
    FITS(OF_ROW(expert_count, ATTR(.route = { .experts = 2 }), U1(196608)));
    FITS(OF_ROW(expert_matmul, ATTR(.route = { .layout = VKT_LAYOUT_NT }), F2(98304, 8),
                F3(2, 4, 8), U1(3)));
    FITS(OF_ROW(lookup_bwd, ATTR(.lookup = { .n = 4 }), F2(196608, 2), F2(196608, 1)));
    FITS(vkt__optim_state(
        g, &(vkt__state_in) { F1(4096), F1(4096), F1(4096), false, vkt_step(g), U1(1), NULL, 0 }));
    FITS(vkt_embedding(
        g, &(vkt_embedding_in) { .table = F2(5, 4), .ids = U2(2, 3), .pos = F2(3, 4) }));
    FITS(vkt_avg_pool(g, F4(1, 4, 4, 2), &(vkt_pool_desc) { .size = 3, .pad = 1 }));
    FITS(vkt_max_pool(g, F4(1, 4, 4, 2), &(vkt_pool_desc) { .size = 4 }));
    FITS(
        vkt_softmax_xent(g, F2(3, 4), U1(3), NULL, NULL, &(vkt_xent_desc) { .smoothing = 1 }).loss);
    FITS(vkt_focal(g, F1(3), &(vkt_focal_desc) { .gamma = 0 }));
    FITS(vkt_attention(g, F3(1, 4, 48), NULL, NULL, NULL, NULL,
                       &(vkt_attention_desc) { .heads = 4, .kv_heads = 0 }));
}

/* What the library builds for itself alone, and what no device could hold. */
static void rows_of_the_library(void **state)
{
    (void)state;
    const vkt_attention_desc two = { .heads = 2 };
    vkt_dtype half = VKT_F16;
    WRONG(vkt_attention(g, F3(1, 1, 16), in(g, half, 3, 1, 4, 16, 0), F3(1, 4, 16), NULL, U1(1),
                        &two),
          "must have one type");
    WRONG(vkt_attention(g, F3(1, 4, 16), in(g, half, 3, 1, 4, 16, 0), in(g, half, 3, 1, 4, 16, 0),
                        NULL, NULL, &two),
          "keys, values and a start are needed, and no documents");
    WRONG(OF_ROW(attention_parts, ATTR(.attention = { .heads = 2, .kv_heads = 2 }), F3(1, 4, 16),
                 F3(1, 4, 16), F3(1, 4, 16), NULL, NULL),
          "parts are of one query's keys, without documents");
    WRONG(vkt__unpack_rows(g, WORDS(96), VKT_QUANT_Q8_0, vkt_shape2(8, 12), U1(3)),
          "a table of 12 columns has no rows that unpack alone");
    WRONG(vkt__unpack_rows(g, WORDS(256), VKT_QUANT_Q8_0, vkt_shape2(8, 32),
                           in(g, VKT_U32, 0, 0, 0, 0, 0)),
          "must be [.., T] u32");
    WRONG(vkt_gated(g, F2(3, 4), F2(3, 4), VKT_ACT_SIGMOID), "sigmoid can't gate");
    WRONG(vkt_pad2d(g, F4(1, 4, 4, 2), INT32_MAX, 0, 0, 0), "nothing, or too much, is left of");
    WRONG(vkt__optim_state(
              g, &(vkt__state_in) { F1(5000), F1(1), NULL, false, vkt_step(g), U1(1), NULL, 0 }),
          "sum of squares must be f32 of at most 4096 elements");
    WRONG(OF_ROW(expert_count, ATTR(.route = { .experts = 2 }), U1(200000)),
          "must be u32, at most 196608: a smaller batch is needed");
    WRONG(OF_ROW(expert_matmul, ATTR(.route = { .layout = VKT_LAYOUT_NT }), F2(98336, 8),
                 F3(2, 4, 8), U1(3)),
          "has more than 98304 rows: a smaller batch is needed");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* However the ids fall: each of the experts that are named but one has a tile for one id alone. */
static void experts_have_places_enough(void **state)
{
    (void)state;
    for (uint32_t rows = 1; rows < 70; rows += 3)
        for (uint32_t experts = 1; experts < 20; experts++) {
            vkt_graph *g = vkt__graph_new(NULL);
            vkt__routes r = vkt__route(g, in2(g, rows, experts), 1, false);
            uint32_t named = VKT_MIN(rows, experts), rest = rows - (named - 1),
                     tiles = named - 1 + (rest + VKT_EXPERT_ROWS - 1) / VKT_EXPERT_ROWS;
            assert_int_equal(r.source->count, tiles * VKT_EXPERT_ROWS);
            vkt_graph_destroy(&g);
        }
}

#define NO_GRADIENT(of, made, words)                                                               \
    do {                                                                                           \
        vkt_graph *g = vkt__graph_new(NULL);                                                       \
        TEST_LOG_CAPTURE();                                                                        \
        vkt_tensor *w = (of), *dw, *loss = (made);                                                 \
        assert_int_equal(g->status, VKT_OK);                                                       \
        vkt_backward(g, loss, &w, 1, &dw);                                                         \
        assert_int_equal(g->status, VKT_E_SHAPE);                                                  \
        REQUIRE_LOGGED(words);                                                                     \
        vkt_graph_destroy(&g);                                                                     \
    } while (0)

/* A gradient that a row does not have is an error, not a zero. */
static void gradients_that_are_not(void **state)
{
    (void)state;
    NO_GRADIENT(F3(1, 1, 16),
                vkt_attention(g, w, F3(1, 6, 16), F3(1, 6, 16), NULL, U1(1),
                              &(vkt_attention_desc) { .heads = 2 }),
                "attention: no gradient through a cache");
    NO_GRADIENT(F2(5, 4), vkt_embedding(g, &(vkt_embedding_in) { .table = w, .ids = U2(2, 3) }),
                "no gradient of the table without the ids' order and segments");
    NO_GRADIENT(F2(6, 4),
                vkt_embedding(g,
                              &(vkt_embedding_in) {
                                  .table = F2(5, 4), .ids = U2(2, 3), .pos = w, .start = U1(1) }),
                "no gradient of positions with a start");
    NO_GRADIENT(
        F2(32, 8),
        OF_ROW(expert_matmul, ATTR(.route = { .layout = VKT_LAYOUT_NN }), w, F3(2, 8, 4), U1(3)),
        "no gradient of a gradient");
    NO_GRADIENT(F2(3, 4), vkt_lookup(g, w, F2(5, 4), 1), "no gradient of ids");
    NO_GRADIENT(F1(3), vkt_softmax_xent(g, F2(3, 5), U1(3), w, NULL, NULL).loss,
                "softmax_xent: no gradient with respect to weights");
    NO_GRADIENT(F2(4, 4),
                vkt_rope(g, F3(1, 4, 8), w, NULL, NULL, &(vkt_rope_desc) { .head = 4, .heads = 2 }),
                "no gradient of the table of angles");
    NO_GRADIENT(
        F1(3),
        vkt_element_losses(g, F2(3, 4), F2(3, 4), &(vkt_element_loss_desc) { .weight = w }).loss,
        "element_loss: no gradient with respect to weights");
    NO_GRADIENT(
        F2(3, 4),
        vkt_element_losses(g, F2(3, 4), w, &(vkt_element_loss_desc) { .kind = VKT_LOSS_BCE }).loss,
        "no gradient of bce with respect to its target");
    NO_GRADIENT(F1(5),
                vkt_focal(g, F1(3), &(vkt_focal_desc) { .class_weight = w, .target = U1(3) }),
                "no gradient with respect to weights");
    NO_GRADIENT(F1(3), vkt_focal(g, F1(3), &(vkt_focal_desc) { .weight = w }),
                "no gradient with respect to weights");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_shapes_are_latched_and_named),
        cmocka_unit_test(each_row_says_what_does_not_fit),
        cmocka_unit_test(each_row_says_which_inputs_are_words),
        cmocka_unit_test(traits_of_operands_fit_together),
        cmocka_unit_test(settings_that_say_nothing),
        cmocka_unit_test(the_most_that_there_can_be),
        cmocka_unit_test(rows_of_the_library),
        cmocka_unit_test(gradients_that_are_not),
        cmocka_unit_test(experts_have_places_enough),
    };
    return cmocka_run_group_tests_name("shapes", tests, NULL, NULL);
}
