/* What passes ask of a graph, and what they leave as it is: nodes that may move, sums that are
 * looked at from outside; gradients that are a number; ids at the ends of tables and tiles. In the
 * twins, without a device. */
#include "testing.h"

#include "shaders/params.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/view.h"
#include "tensor/ops/experts/ops_expert.h"
#include "tensor/ops/ops.h"
#include "tensor/passes/pass.h"
#include "tensor/passes/passes.h"
#include "tensor/passes/rewrite.h"

static const vkt_buffer memory = { .bytes = 1 << 20, .label = "memory" };

static vkt_tensor *vector(vkt_graph *g, const char *name)
{
    return vkt_input(g, vkt_shape1(64), VKT_F32, name);
}

static vkt_node *add_to(vkt_graph *g, vkt_tensor *sum, vkt_tensor *x)
{
    vkt__op(g, &vkt__op_accumulate, (vkt_tensor *[]) { sum, x, vkt_step(g) }, 3, (vkt_attr) { 0 });
    return g->nodes[g->n_nodes - 1];
}

/* Each node of the list at the place of each other one: `may` is n x n, a row a node. */
static void require_moves(const vkt_graph *g, const char *const *may)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        for (size_t k = 0; k < g->n_nodes; k++) {
            if (i == k || vkt__can_move(g->nodes[i], g->nodes[k]) == (may[i][k] == 'y')) continue;
            fail_msg("node %zu %s to the place of %zu", i,
                     may[i][k] == 'y' ? "can't move" : "moves", k);
        }
}

static void what_is_read_and_written_holds_a_node(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *sum = vector(g, "sum"), *x = vector(g, "x"), *y, *z;
    add_to(g, sum, x);        /* 0: sum */
    y = vkt_scale(g, sum, 2); /* 1: reads it */
    z = vkt_scale(g, x, 3);   /* 2: nothing of theirs */
    add_to(g, sum, y);        /* 3: changes it, and reads y */
    vkt_add(g, z, y);         /* 4 */
    static const char *const may[] = {
        "-nnnn", /* y reads what it changed */
        "n-yyn", /* to 3, which takes y; 4 would read it after sum has changed */
        "yy-yy", /* z is read by 4 alone */
        "nny-y", /* not before 1, which reads sum and makes y */
        "nnny-",
    };
    require_moves(g, may);
    vkt_graph_destroy(&g);
    /* memory outside the graph that overlaps is the same memory */
    g = vkt__graph_new(NULL);
    vkt_tensor *a = vector(g, "a"), *b = vector(g, "b");
    vkt_bind(a, VKT_ALL_SLOTS, &memory, 0);
    vkt_bind(b, VKT_ALL_SLOTS, &memory, 4096);
    vkt_scale(g, a, 2);                                    /* 0: reads a */
    vkt_bind(vkt_copy(g, b), VKT_ALL_SLOTS, &memory, 128); /* 1: writes a half of a */
    vkt_bind(vkt_copy(g, b), VKT_ALL_SLOTS, &memory, 256); /* 2: behind a, over 1 */
    vkt_scale(g, b, 2);                                    /* 3: only reads */
    static const char *const bound[] = { "-ynn", "n-nn", "nn-y", "yyy-" };
    require_moves(g, bound);
    vkt_graph_destroy(&g);
}

/* Which of the graph's nodes is of that row; NULL: none. */
static const vkt_node *node_of(const vkt_graph *g, const vkt_op *op)
{
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op == op) return g->nodes[k];
    return NULL;
}

/* A sum goes into the norm behind it, but not where its memory is another's, another reads it
 * first, or what the norm reads changes between the two. */
static void sums_that_stay_before_a_norm(void **state)
{
    (void)state;
    enum { PLAIN, BOUND, READ, WEIGHT_CHANGES, BIAS_CHANGES, N_CASES };
    for (int k = 0; k < N_CASES; k++) {
        vkt_graph *g = vkt__graph_new(NULL);
        vkt_tensor *x = vkt__sample2(g, 8, 64), *h = vkt__sample2(g, 8, 64),
                   *w = vector(g, "weight"), *b = vector(g, "bias"), *other = vector(g, "other");
        vkt_bind(w, VKT_ALL_SLOTS, &memory, 0);
        vkt_bind(b, VKT_ALL_SLOTS, &memory, 4096);
        vkt_bind(other, VKT_ALL_SLOTS, &memory, 8192);
        vkt_tensor *s = vkt_add(g, x, h), *read = NULL;
        if (k == BOUND) vkt_bind(s, VKT_ALL_SLOTS, &memory, 65536);
        if (k == READ) vkt_keep(read = vkt_scale(g, s, 2), "read");
        if (k == WEIGHT_CHANGES) vkt_bind(vkt_copy(g, other), VKT_ALL_SLOTS, &memory, 0);
        if (k == BIAS_CHANGES) vkt_bind(vkt_copy(g, other), VKT_ALL_SLOTS, &memory, 4096);
        vkt_tensor *y = vkt_layernorm(g, s, w, b, NULL, 1e-5f, NULL);
        vkt_keep(vkt_add(g, y, s), "y");
        vkt__rewrite(g, false);
        assert_int_equal(vkt__rewrite_count(g, &vkt__pass_residual_norm), k == PLAIN);
        const vkt_node *norm = node_of(g, &vkt__op_layernorm);
        assert_int_equal(norm->in[3] != NULL, k == PLAIN);
        vkt_graph_destroy(&g);
    }
}

/* A bias goes into the product or the convolution before it, but not past an activation or over
 * another bias. */
static void biases_that_stay(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++) {
        vkt_graph *g = vkt__graph_new(NULL);
        vkt_tensor *b = vkt_input(g, vkt_shape1(8), VKT_F32, "b"), *y;
        vkt_act act = k / 2 == 1 ? VKT_ACT_RELU : VKT_ACT_NONE;
        vkt_tensor *own = k / 2 == 2 ? vkt_input(g, vkt_shape1(8), VKT_F32, "own") : NULL;
        if (k % 2) {
            y = vkt_linear(g, vkt__sample2(g, 4, 8), vkt__sample2(g, 8, 8), own, act);
        } else {
            vkt_tensor *x = vkt_input(g, (vkt_shape) { 4, { 1, 5, 5, 4 } }, VKT_F32, "x"),
                       *w = vkt_input(g, (vkt_shape) { 4, { 3, 3, 4, 8 } }, VKT_F32, "w");
            y = vkt_conv2d(g, x, w, own, &(vkt_conv_desc) { .act = act });
        }
        vkt_keep(vkt_add(g, y, b), "y");
        vkt__rewrite(g, false);
        assert_int_equal(vkt__rewrite_count(g, &vkt__pass_bias), k < 2);
        assert_int_equal(node_of(g, &vkt__op_add) != NULL, k >= 2);
        vkt_graph_destroy(&g);
    }
}

/* ---- numbers ---- */

typedef struct {
    const vkt_tensor *in[2], *out[2];
    const double *values[2];
    double got[2][512];
} numbers;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    const numbers *n = user;
    for (int k = 0; k < 2; k++)
        for (uint64_t i = 0; t == n->in[k] && i < t->count; i++)
            data[i] = n->values[k] ? n->values[k][i] : (double)i + 1;
}

static void take(void *user, const vkt_tensor *t, const double *data)
{
    numbers *n = user;
    for (int k = 0; k < 2; k++)
        if (t == n->out[k]) memcpy(n->got[k], data, t->count * sizeof *data);
}

/* A tensor's gradient with respect to itself is 1, or the loss scale; where the loss does not read
 * a tensor, its gradient is 0; two gradients of one tensor lie in memory of their own */
static void gradients_that_are_numbers(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        vkt_graph *g = vkt__graph_new(NULL);
        numbers n = { 0 };
        vkt_tensor *x = vector(g, "x"), *z = vector(g, "z"), *d[2],
                   *wrt[2] = { x, k == 3 ? vkt_reshape(g, x, vkt_shape2(8, 8)) : z };
        n.in[0] = x, n.in[1] = z;
        vkt_tensor *loss = k == 0 ? x : vkt_scale(g, x, 3);
        if (k == 2) vkt_scale_loss(g, vkt_fill(g, vkt_shape1(1), 5));
        vkt_backward(g, loss, wrt, 2, d);
        assert_int_equal(g->status, VKT_OK);
        assert_ptr_not_equal(vkt__root(d[0]), vkt__root(d[1])); /* each can be bound */
        n.out[0] = d[0], n.out[1] = d[1];
        vkt__graph_ref(g, fill, &n, take);
        static const double want[] = { 1, 3, 15, 3 };
        for (int i = 0; i < 64; i++) {
            REQUIRE_NEAR(n.got[0][i], want[k], 0);
            REQUIRE_NEAR(n.got[1][i], k == 3 ? want[k] : 0, 0);
        }
        vkt_graph_destroy(&g);
    }
}

/* Ids below 0 and from the table's end on are zeros, and the last row is a row. */
static void ids_beyond_a_table_are_zeros(void **state)
{
    (void)state;
    enum { K = 3, D = 2 };
    static const double ids[] = { 0, K - 1, K, -1, 1e6, 1 };
    vkt_graph *g = vkt__graph_new(NULL);
    numbers n = { .values = { ids } };
    vkt_tensor *x = vkt_input(g, vkt_shape2(6, 1), VKT_F32, "ids"),
               *table = vkt_input(g, vkt_shape2(K, D), VKT_F32, "table");
    n.in[0] = x, n.in[1] = table;
    n.out[0] = vkt_lookup(g, x, table, 0);
    vkt__graph_ref(g, fill, &n, take);
    static const double want[] = { 1, 2, 5, 6, 0, 0, 0, 0, 0, 0, 3, 4 };
    for (int i = 0; i < 12; i++) REQUIRE_NEAR(n.got[0][i], want[i], 0);
    vkt_graph_destroy(&g);
}

/* Rows by expert: where an expert has just a tile of them, the next one begins right behind; and
 * each row is found again. */
static void experts_begin_at_tiles(void **state)
{
    (void)state;
    enum { EXPERTS = 3, ROWS = 2 * VKT_EXPERT_ROWS + 1 };
    static const uint32_t rows[][EXPERTS] = { { VKT_EXPERT_ROWS, VKT_EXPERT_ROWS, 1 },
                                              { 0, ROWS, 0 },
                                              { 1, 0, ROWS - 1 },
                                              { VKT_EXPERT_ROWS - 1, VKT_EXPERT_ROWS + 1, 1 } };
    for (size_t c = 0; c < VKT_COUNT(rows); c++) {
        double p[ROWS * EXPERTS];
        for (uint32_t i = 0, e = 0, left = rows[c][0]; i < ROWS; i++) {
            while (!left) left = rows[c][++e];
            for (uint32_t k = 0; k < EXPERTS; k++) p[i * EXPERTS + k] = k == e ? 0.8 : 0.1;
            left--;
        }
        vkt_graph *g = vkt__graph_new(NULL);
        numbers n = { .values = { p } };
        vkt_tensor *x = vkt_input(g, vkt_shape2(ROWS, EXPERTS), VKT_F32, "p");
        vkt__routes r = vkt__route(g, x, 1, false);
        n.in[0] = x;
        n.out[0] = r.first;
        n.out[1] = r.place;
        assert_true(r.place->count <= 512);
        vkt__graph_ref(g, fill, &n, take);
        uint32_t tile = 0, i = 0;
        for (uint32_t e = 0; e < EXPERTS; e++) {
            REQUIRE_NEAR(n.got[0][e], tile, 0);
            for (uint32_t k = 0; k < rows[c][e]; k++, i++)
                REQUIRE_NEAR(n.got[1][i], tile * VKT_EXPERT_ROWS + k, 0);
            tile += (rows[c][e] + VKT_EXPERT_ROWS - 1) / VKT_EXPERT_ROWS;
        }
        REQUIRE_NEAR(n.got[0][EXPERTS], tile, 0);
        vkt_graph_destroy(&g);
    }
}

/* ---- telling ---- */

/* What the rewrites save is the sum of their lines. */
static void savings_add_up(void **state)
{
    (void)state;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt__sample2(g, 256, 64), *w = vkt__sample2(g, 64, 64), *b = vector(g, "b"), *y;
    y = vkt_activate(g, vkt_linear(g, x, w, b, VKT_ACT_NONE), VKT_ACT_RELU);
    y = vkt_layernorm(g, vkt_add(g, x, vkt_linear(g, y, w, NULL, VKT_ACT_NONE)), b, b, NULL, 1e-5f,
                      NULL);
    vkt_keep(y, "y");
    vkt__rewrite(g, false);
    vkt__str s = { 0 };
    vkt__rewrite_explain(g, &s);
    double sum = 0, total = 0;
    size_t n = 0;
    for (const char *line = s.data; line && *line; line = strchr(line, '\n') + 1) {
        const char *number = strstr(line, " KiB saved");
        if (!number) {
            const char *save = strstr(line, "rewrites save ");
            if (save) total = atof(save + strlen("rewrites save "));
            continue;
        }
        while (number > line && number[-1] != ' ') number--;
        sum += atof(number);
        n++;
    }
    assert_true(n >= 2);
    REQUIRE_NEAR(total, sum, 0.05 * (double)(n + 1));
    vkt__str_finish(&s);
    vkt_graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_and_written_holds_a_node),
        cmocka_unit_test(sums_that_stay_before_a_norm),
        cmocka_unit_test(biases_that_stay),
        cmocka_unit_test(gradients_that_are_numbers),
        cmocka_unit_test(ids_beyond_a_table_are_zeros),
        cmocka_unit_test(experts_begin_at_tiles),
        cmocka_unit_test(savings_add_up),
    };
    return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
