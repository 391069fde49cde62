/* The planner without a device: levels, liveness, in-place memory and offsets, checked by replaying
 * the plan on a map of the tensor that owns each byte; latched errors; the plan as text. */
#include "testing.h"

#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

enum { BLOCK = 256 };
static const vkt_buffer params = { .bytes = 1ull << 32, .label = "params" };

/* Every input gets memory of its own. */
static void bind_inputs(vkt_graph *g)
{
    uint64_t at = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || t->view_of || !t->name || t->bound) continue;
        vkt_bind(t, VKT_ALL_SLOTS, &params, at);
        at += vkt__align(t->bytes, BLOCK);
    }
}

static const vkt_tensor *root(const vkt_tensor *t)
{
    while (t->view_of) t = t->view_of;
    return t;
}

static uint64_t offset_of(const vkt_tensor *t)
{
    t = root(t);
    while (t->home != t) t = root(t->home);
    return t->offset;
}

/* ---- replaying a plan ---- */

typedef struct {
    const vkt_tensor *t;
    bool write;
} touch;

static size_t touches(const vkt_node *n, touch out[VKT_MAX_IN + VKT_MAX_OUT])
{
    size_t k = 0;
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i]) out[k++] = (touch) { root(n->in[i]), n->op->in[i] & VKT_CHANGED };
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i]) out[k++] = (touch) { n->out[i], true };
    return k;
}

static bool same_memory(const vkt_tensor *a, const vkt_tensor *b)
{
    if (!a->bound || !b->bound) return a == b;
    return a->buf[0] == b->buf[0] && a->buf_offset[0] < b->buf_offset[0] + b->bytes &&
           b->buf_offset[0] < a->buf_offset[0] + a->bytes;
}

/* Nodes that touch the same data, one of them writing, run in the order in which they were built.
 */
static void require_order(const vkt_graph *g)
{
    for (size_t j = 0; j < g->n_nodes; j++)
        for (size_t i = 0; i < j; i++) {
            touch a[VKT_MAX_IN + VKT_MAX_OUT], b[VKT_MAX_IN + VKT_MAX_OUT];
            size_t na = touches(g->nodes[i], a), nb = touches(g->nodes[j], b);
            for (size_t x = 0; x < na; x++)
                for (size_t y = 0; y < nb; y++)
                    if ((a[x].write || b[y].write) && same_memory(a[x].t, b[y].t))
                        assert_true(g->nodes[i]->level < g->nodes[j]->level);
        }
}

static bool in_slab(const vkt_tensor *t)
{
    return t->node && !t->bound && t->bytes > 0;
}

static bool ranges_meet(const vkt_tensor *a, const vkt_tensor *b)
{
    uint64_t pa = offset_of(a), pb = offset_of(b);
    return pa < pb + vkt__align(b->bytes, BLOCK) && pb < pa + vkt__align(a->bytes, BLOCK);
}

/* An output may lie over an input of its own node where the row says so, exactly. */
static bool declared_inplace(const vkt_node *n, uint32_t in, uint32_t out)
{
    return n->op->in[in] & VKT_INPLACE && n->op->out[out] & VKT_INPLACE &&
           offset_of(n->in[in]) == offset_of(n->out[out]) && n->in[in]->bytes == n->out[out]->bytes;
}

/* Within a level nothing is written that anything of the level reads or writes. */
static void require_no_race(const vkt_graph *g, const vkt_node *w, const vkt_node *n)
{
    for (uint32_t o = 0; o < VKT_MAX_OUT; o++) {
        if (!w->out[o] || !in_slab(w->out[o])) continue;
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (n->in[i] && in_slab(root(n->in[i])) && ranges_meet(w->out[o], root(n->in[i])))
                assert_true(w == n && declared_inplace(n, i, o));
        for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
            if (n->out[i] && in_slab(n->out[i]) && n->out[i] != w->out[o])
                assert_false(ranges_meet(w->out[o], n->out[i]));
    }
    (void)g;
}

static void require_owned(const size_t *owner, const vkt_tensor *t, const vkt_graph *g)
{
    for (uint64_t b = 0; b < vkt__align(t->bytes, BLOCK) / BLOCK; b++) {
        size_t who = owner[offset_of(t) / BLOCK + b];
        if (who == t->index + 1) continue;
        print_error("%s (tensor %zu) was overwritten by tensor %zu\n%s\n", vkt__text(t), t->index,
                    who - 1, vkt_graph_explain(g));
        fail();
    }
}

/* A tensor knows the node and the place that it comes from. */
static void require_linked(const vkt_graph *g)
{
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t o = 0; o < VKT_MAX_OUT; o++) {
            const vkt_tensor *t = g->nodes[k]->out[o];
            assert_true(!t || (t->node == g->nodes[k] && t->out_index == o));
        }
}

static void require_sound(const vkt_graph *g)
{
    require_order(g);
    require_linked(g);
    size_t *owner = vkt__alloc(g->slab_bytes / BLOCK * sizeof *owner + 1);
    for (uint32_t l = 0; l < g->n_levels; l++) {
        for (size_t k = 0; k < g->n_nodes; k++) {
            const vkt_node *n = g->nodes[k];
            if (n->level != l) continue;
            for (uint32_t i = 0; i < VKT_MAX_IN; i++)
                if (n->in[i] && in_slab(root(n->in[i]))) require_owned(owner, root(n->in[i]), g);
            for (size_t j = 0; j < g->n_nodes; j++)
                if (g->nodes[j]->level == l) require_no_race(g, n, g->nodes[j]);
        }
        for (size_t k = 0; k < g->n_nodes; k++)
            for (uint32_t o = 0; o < VKT_MAX_OUT && g->nodes[k]->level == l; o++) {
                const vkt_tensor *t = g->nodes[k]->out[o];
                if (!t || !in_slab(t)) continue;
                assert_true(offset_of(t) % BLOCK == 0 && offset_of(t) + t->bytes <= g->slab_bytes);
                for (uint64_t b = 0; b < vkt__align(t->bytes, BLOCK) / BLOCK; b++)
                    owner[offset_of(t) / BLOCK + b] = t->index + 1;
            }
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->kept && in_slab(g->tensors[i])) require_owned(owner, g->tensors[i], g);
    free(owner);
}

/* ---- graphs ---- */

/* input -> `depth` linear layers with relu and dropout -> classifier, with gradients of the weights
 * kept. */
static vkt_graph *build_mlp(uint32_t depth, uint32_t batch, uint32_t width)
{
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *h = vkt__sample2(g, batch, width), *wrt[64], *dwrt[64];
    size_t n = 0;
    for (uint32_t i = 0; i < depth; i++) {
        wrt[n++] = vkt__sample2(g, width, width);
        wrt[n++] = vkt__sample1(g, width);
        h = vkt_dropout(g, vkt_linear(g, h, wrt[n - 2], wrt[n - 1], VKT_ACT_RELU), vkt_step(g),
                        0.1f);
    }
    wrt[n++] = vkt__sample2(g, 10, width);
    h = vkt_linear(g, h, wrt[n - 1], NULL, VKT_ACT_NONE);
    vkt_loss loss = vkt_softmax_xent(
        g, h, vkt__sample(g, vkt_shape1(batch), VKT_U32, VKT_HINT_INDEX, 10), NULL, NULL, NULL);
    vkt_keep(loss.loss, "loss");
    vkt_backward(g, loss.loss, wrt, n, dwrt);
    for (size_t i = 0; i < n; i++) vkt_keep(dwrt[i], "gradient");
    bind_inputs(g);
    return g;
}

static uint32_t seed;
static uint32_t below(uint32_t n)
{
    return vkt_rand_below(9, VKT_RNG_TEST, seed++, n);
}

/* A random net of rows over [8, 64] tensors: residuals, norms whose sum is used, views, softmax;
 * sometimes kept. */
static vkt_graph *build_random(void)
{
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *pool[64],
        *wrt[3] = { vkt__sample2(g, 8, 64), vkt__sample2(g, 64, 64), vkt__sample1(g, 64) },
        *dwrt[3], *sum;
    uint32_t n = 0;
    pool[n++] = wrt[0];
    for (uint32_t k = 4 + below(16); k-- > 0;) {
        vkt_tensor *x = pool[below(n)], *y = pool[below(n)];
        switch (below(10)) {
        case 0:
            pool[n] = vkt_add(g, x, y);
            break;
        case 1:
            pool[n] = vkt_mul(g, x, y);
            break;
        case 2:
            pool[n] = vkt_activate(g, x, (vkt_act)(1 + below(6)));
            break;
        case 3:
            pool[n] = vkt_linear(g, x, wrt[1], wrt[2], (vkt_act)below(7));
            break;
        case 4:
            pool[n] = vkt_softmax(g, x);
            break;
        case 5:
            pool[n] = vkt_reshape(g, vkt_scale(g, vkt_reshape(g, x, vkt_shape2(64, 8)), 2),
                                  vkt_shape2(8, 64));
            break;
        case 6:
            pool[n] = vkt_dropout(g, x, vkt_step(g), 0.5f);
            break;
        case 7:
            pool[n] = vkt_rmsnorm(g, x, wrt[2], NULL, 1e-5f, NULL);
            break;
        default:
            pool[n] = vkt_layernorm(g, x, wrt[2], wrt[2], y, 1e-5f, &sum);
            pool[++n] = sum;
        }
        if (below(8) == 0) vkt_keep(pool[n], "kept");
        n++;
    }
    vkt_tensor *target = vkt__sample(g, vkt_shape1(8), VKT_U32, VKT_HINT_INDEX, 64);
    vkt_tensor *loss =
        vkt_softmax_xent(g, pool[n - 1], target, NULL, NULL, &(vkt_xent_desc) { .smoothing = 0.1f })
            .loss;
    if (below(2)) loss = vkt_sum(g, vkt_mul(g, loss, loss));
    vkt_backward(g, loss, wrt, 3, dwrt);
    for (int i = 0; i < 3; i++) vkt_keep(dwrt[i], "gradient");
    bind_inputs(g);
    return g;
}

static void plans_of_random_graphs_are_sound(void **state)
{
    (void)state;
    size_t nodes = 0, inplace = 0;
    double worst = 0;
    for (int i = 0; i < 300; i++) {
        vkt_graph *g = build_random();
        REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
        require_sound(g);
        nodes += g->n_nodes;
        for (size_t k = 0; k < g->n_tensors; k++) inplace += g->tensors[k]->home != g->tensors[k];
        uint64_t bytes = vkt_graph_bytes(g), bound = vkt_graph_bytes_bound(g);
        assert_true(bytes >= bound);
        if (bytes > bound + bound / 20)
            print_error("graph %d: %.3f of the bound\n", i, (double)bytes / (double)bound);
        assert_true(bytes <= bound + bound / 20);
        worst = fmax(worst, (double)bytes / (double)bound);
        vkt_graph_destroy(&g);
    }
    print_message("%zu nodes, %zu in place, at most %.3f of the bound\n", nodes, inplace, worst);
    assert_true(inplace > nodes / 20);
}

/* A random net of layers of many widths with skips over any distance, differentiated. */
static vkt_graph *build_widths(void)
{
    static const uint32_t widths[] = { 1, 10, 33, 64, 100, 256, 700, 1000 };
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *pool[32], *wrt[64], *dwrt[64];
    uint32_t n = 0, n_wrt = 0, rows = 1 + below(64);
    pool[n++] = vkt__sample2(g, rows, widths[below(VKT_COUNT(widths))]);
    for (uint32_t k = 4 + below(20); k-- > 0;) {
        vkt_tensor *x = pool[below(3) ? n - 1 : below(n)], *y = pool[below(n)];
        uint32_t from = vkt_tensor_shape(x).d[1], to = widths[below(VKT_COUNT(widths))];
        if (vkt__shape_equal(x->shape, y->shape) && x != y) {
            pool[n++] = vkt_mul(g, x, y);
        } else if (below(4) == 0) {
            pool[n++] = vkt_softmax(g, x);
        } else {
            wrt[n_wrt++] = vkt__sample2(g, to, from);
            pool[n++] = vkt_linear(g, x, wrt[n_wrt - 1], NULL, (vkt_act)below(7));
        }
    }
    vkt_tensor *loss = vkt_sum(g, pool[n - 1]);
    for (uint32_t i = 0; i < n; i += 1 + below(4)) loss = vkt_add(g, loss, vkt_sum(g, pool[i]));
    vkt_backward(g, loss, wrt, n_wrt, dwrt);
    for (uint32_t i = 0; i < n_wrt; i++)
        if (below(2)) vkt_keep(dwrt[i], "gradient");
    bind_inputs(g);
    return g;
}

static void plans_of_many_widths_are_near_the_bound(void **state)
{
    (void)state;
    double worst = 0;
    for (int i = 0; i < 300; i++) {
        vkt_graph *g = build_widths();
        REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
        require_sound(g);
        double share = (double)vkt_graph_bytes(g) / (double)VKT_MAX(vkt_graph_bytes_bound(g), 1);
        if (share > 1.05) print_error("graph %d: %.3f of the bound\n", i, share);
        worst = fmax(worst, share);
        vkt_graph_destroy(&g);
    }
    print_message("at most %.3f of the bound\n", worst);
    assert_true(worst <= 1.05);
}

/* Every row's sample cases. */
static void plans_of_samples_are_near_the_bound(void **state)
{
    (void)state;
    size_t n = 0;
    for (const vkt_op *const *op = vkt__rows; *op; op++)
        for (uint32_t i = 0;; i++) {
            vkt_graph *g = vkt__graph_new(NULL);
            const char *name = (*op)->sample(*op, g, i);
            if (name && g->n_nodes) {
                bind_inputs(g);
                REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
                uint64_t bytes = vkt_graph_bytes(g), bound = vkt_graph_bytes_bound(g);
                if (bytes > bound + bound / 20) print_error("%s, %s\n", (*op)->name, name);
                assert_true(bytes >= bound && bytes <= bound + bound / 20);
                n++;
            }
            vkt_graph_destroy(&g);
            if (!name) break;
        }
    print_message("%zu samples\n", n);
}

static void an_mlp_needs_little_more_than_the_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t depth, batch, width;
    } mlps[] = { { 1, 128, 128 }, { 2, 128, 784 }, { 5, 64, 500 }, { 12, 1000, 33 } };
    for (size_t i = 0; i < VKT_COUNT(mlps); i++) {
        vkt_graph *g = build_mlp(mlps[i].depth, mlps[i].batch, mlps[i].width);
        REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
        require_sound(g);
        double share = (double)vkt_graph_bytes(g) / (double)vkt_graph_bytes_bound(g);
        print_message("%u layers: slab %.1f KiB, %.3f of the lower bound\n", mlps[i].depth,
                      (double)vkt_graph_bytes(g) / 1024, share);
        assert_true(share >= 1 && share <= 1.05);
        vkt_graph_destroy(&g);
    }
}

/* ---- recomputation ---- */

static void recomputed_plans_are_sound(void **state)
{
    (void)state;
    uint32_t helped = 0, ops = 0;
    for (int i = 0; i < 200; i++) {
        vkt_graph *g = i % 2 ? build_random() : build_widths();
        vkt_graph_recompute(g);
        REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
        require_sound(g);
        assert_true(g->slab_bound <= g->plain_bound);
        assert_true(vkt_graph_bytes(g) <= g->slab_bound + g->slab_bound / 20);
        helped += g->recomputed_ops > 0;
        ops += g->recomputed_ops;
        vkt_graph_destroy(&g);
    }
    print_message("%u of 200 graphs, %u ops\n", helped, ops);
    assert_true(helped > 20);
}

/* About 2 sqrt(n) of n equal layers have their activations in memory at a time. */
static void recomputation_needs_the_root_of_the_depth(void **state)
{
    (void)state;
    vkt_graph *g = build_mlp(24, 512, 64);
    vkt_graph_recompute(g);
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    require_sound(g);
    double share = (double)g->slab_bound / (double)g->plain_bound;
    char *text = vkt_graph_explain(g);
    assert_non_null(strstr(text, "ops of the forward pass run again"));
    free(text);
    print_message("24 layers: %.2f of the memory, %u ops again\n", share, g->recomputed_ops);
    assert_true(share < 0.55 && g->recomputed_ops < g->n_nodes / 2);
    vkt_graph_destroy(&g);
}

/* Running averages move once a step: what moves them does not run again, what only reads x does. */
static void what_changes_its_inputs_is_not_run_again(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 256, 64), *w[12], *dw[VKT_COUNT(w)];
    for (size_t i = 0; i < VKT_COUNT(w); i++) {
        w[i] = vkt__sample2(g, 64, 64);
        vkt_tensor *v = vkt__sample1(g, 64);
        vkt_batch_norm_desc norm = {
            .w = v, .b = v, .eps = 1e-5f, .momentum = 0.1f, .train = true
        };
        norm.running_mean = vkt__sample1(g, 64);
        norm.running_var = vkt__sample1(g, 64);
        norm.count = vkt_input(g, vkt_shape1(1), VKT_U32, "count");
        x = vkt_activate(g, vkt_batch_norm(g, vkt_linear(g, x, w[i], NULL, VKT_ACT_NONE), &norm),
                         VKT_ACT_RELU);
    }
    vkt_backward(g, vkt_sum(g, x), w, VKT_COUNT(w), dw);
    bind_inputs(g);
    vkt_graph_recompute(g);
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    require_sound(g);
    assert_true(g->recomputed_ops > 0);
    for (size_t k = 0; k < g->n_nodes; k++)
        assert_false(g->nodes[k]->late && vkt__inputs_with(g->nodes[k]->op, VKT_CHANGED));
    vkt_graph_destroy(&g);
}

/* ---- in place ---- */

static void a_tensor_read_later_is_not_overwritten(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_graph_no_rewrite(g);
    vkt_tensor *x = vkt_scale(g, vkt__sample2(g, 8, 64), 2), *y = vkt_activate(g, x, VKT_ACT_RELU),
               *z = vkt_add(g, y, x);
    vkt_keep(z, "z");
    bind_inputs(g);
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    assert_true(offset_of(y) != offset_of(x));
    assert_true(offset_of(z) == offset_of(y));
    vkt_graph_destroy(&g);
}

/* Two nodes of a level read x: neither may take its memory. */
static void a_tensor_read_twice_at_a_level_is_not_overwritten(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt_scale(g, vkt__sample2(g, 8, 64), 2), *y = vkt_scale(g, x, 3),
               *z = vkt_scale(g, x, 4);
    vkt_keep(y, "y");
    vkt_keep(z, "z");
    bind_inputs(g);
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    assert_int_equal(y->node->level, z->node->level);
    assert_true(offset_of(y) != offset_of(x) && offset_of(z) != offset_of(x) &&
                offset_of(y) != offset_of(z));
    vkt_graph_destroy(&g);
}

static void dlogits_take_the_memory_of_the_logits(void **state)
{
    (void)state;
    vkt_graph *g = build_mlp(1, 128, 64);
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    bool found = false;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (n->op != &vkt__op_softmax_xent) continue;
        assert_true(offset_of(n->in[0]) == offset_of(n->out[VKT_XENT_OUT_DLOGITS]));
        found = true;
    }
    assert_true(found);
    vkt_graph_destroy(&g);
}

/* ---- bound memory ---- */

/* Copies x into [at, at + bytes) of the buffer. */
static const vkt_node *copy_to(vkt_graph *g, vkt_tensor *x, uint64_t at)
{
    vkt_tensor *t = vkt_copy(g, x);
    vkt_bind(t, VKT_ALL_SLOTS, &params, at);
    return t->node;
}

static vkt_tensor *input_at(vkt_graph *g, uint64_t at)
{
    vkt_tensor *t = vkt__sample1(g, 256); /* 1024 bytes */
    vkt_bind(t, VKT_ALL_SLOTS, &params, at);
    return t;
}

static void bound_tensors_that_overlap_keep_their_order(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *far = input_at(g, 1 << 20), *a = input_at(g, 512), *b = input_at(g, 4096);
    const vkt_node *write = copy_to(g, far, 0);     /* [0, 1024) */
    const vkt_node *beside = copy_to(g, far, 2048); /* touches nothing of the others */
    const vkt_node *raw = vkt_copy(g, a)->node;     /* reads [512, 1536) after the write */
    const vkt_node *read = vkt_copy(g, b)->node;    /* reads [4096, 5120) */
    const vkt_node *war = copy_to(g, far, 5104);    /* writes its last 16 bytes */
    const vkt_node *waw = copy_to(g, far, 16);      /* over `write`, and after `raw` */
    const vkt_node *edge =
        copy_to(g, far, 3072); /* ends where b begins, begins where `beside` ends */
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    require_order(g);
    assert_int_equal(write->level, 0);
    assert_int_equal(beside->level, 0);
    assert_int_equal(raw->level, 1);
    assert_int_equal(read->level, 0);
    assert_int_equal(war->level, 1);
    assert_int_equal(waw->level, 2);
    assert_int_equal(edge->level, 0);
    vkt_graph_destroy(&g);
}

static void unbound_inputs_are_named(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_scale(g, vkt_input(g, vkt_shape2(3, 4), VKT_F32, "images"), 2);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }), VKT_E_ARG);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    REQUIRE_LOGGED("images [3, 4] f32");
    vkt_graph_destroy(&g);
}

/* ---- the plan as text, cost ---- */

static void explain_has_every_op(void **state)
{
    (void)state;
    vkt_graph *g = build_mlp(2, 32, 16);
    REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { 0 }));
    char *text = vkt_graph_explain(g), *line = text;
    size_t lines = 0, rewrites = 0;
    for (size_t k = 0; k < g->n_nodes; k++) assert_non_null(strstr(text, g->nodes[k]->op->name));
    for (; (line = strchr(line, '\n')); line++) {
        lines++;
        rewrites += !strncmp(line + 1, "rewrite", 7);
    }
    assert_int_equal(lines, g->n_nodes + rewrites + 2); /* a heading and a summary */
    assert_non_null(strstr(text, "in place"));
    free(text);
    vkt_graph_destroy(&g);
}

static void cost_counts_products_and_bytes(void **state)
{
    (void)state;
    double flops, bytes;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_matmul(g, VKT_LAYOUT_NT, vkt__sample2(g, 30, 50), vkt__sample2(g, 20, 50));
    vkt_graph_cost(g, &flops, &bytes);
    assert_true(flops == 2.0 * 30 * 20 * 50 && bytes == 4.0 * (30 * 50 + 20 * 50 + 30 * 20));
    vkt_graph_destroy(&g);
    g = vkt__graph_new(NULL);
    vkt_layernorm(g, vkt__sample2(g, 30, 50), vkt__sample1(g, 50), vkt__sample1(g, 50),
                  vkt__sample2(g, 30, 50), 1e-5f, NULL);
    vkt_graph_cost(g, &flops, &bytes);
    assert_true(bytes ==
                4.0 * (4 * 30 * 50 + 2 * 50 + 2 * 30)); /* x, r in; y, s out; w, b; mean, rstd */
    vkt_graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_random_graphs_are_sound),
        cmocka_unit_test(plans_of_many_widths_are_near_the_bound),
        cmocka_unit_test(plans_of_samples_are_near_the_bound),
        cmocka_unit_test(an_mlp_needs_little_more_than_the_bound),
        cmocka_unit_test(recomputed_plans_are_sound),
        cmocka_unit_test(what_changes_its_inputs_is_not_run_again),
        cmocka_unit_test(recomputation_needs_the_root_of_the_depth),
        cmocka_unit_test(a_tensor_read_later_is_not_overwritten),
        cmocka_unit_test(a_tensor_read_twice_at_a_level_is_not_overwritten),
        cmocka_unit_test(dlogits_take_the_memory_of_the_logits),
        cmocka_unit_test(bound_tensors_that_overlap_keep_their_order),
        cmocka_unit_test(unbound_inputs_are_named),
        cmocka_unit_test(explain_has_every_op),
        cmocka_unit_test(cost_counts_products_and_bytes),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
