/* The sorted order of tokens, and that the embedding's gradient by it is the sum by definition. */
#include "testing.h"

#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "vktrain/data.h"

enum { N = 500, V = 23 };

static void draw(uint32_t *tokens, uint32_t n, uint32_t limit)
{
    for (uint32_t i = 0; i < n; i++) {
        double u = vkt_rand_uniform(9, VKT_RNG_TEST, i); /* low ids often, as in text */
        tokens[i] = (uint32_t)(u * u * u * limit);
    }
}

static void places_are_sorted_by_token_and_stable(void **state)
{
    (void)state;
    static uint32_t tokens[N], order[N], segments[V + 1];
    draw(tokens, N, V + 4); /* some past the vocabulary */
    vkt_token_order(tokens, N, V, order, segments);
    bool seen[N] = { false };
    assert_int_equal(segments[0], 0);
    for (uint32_t id = 0; id < V; id++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < N; i++) count += tokens[i] == id;
        assert_int_equal(segments[id + 1] - segments[id], count);
        for (uint32_t k = segments[id]; k < segments[id + 1]; k++) {
            assert_int_equal(tokens[order[k]], id);
            if (k > segments[id]) assert_true(order[k] > order[k - 1]);
        }
    }
    for (uint32_t k = 0; k < N; k++) {
        assert_true(order[k] < N && !seen[order[k]]);
        seen[order[k]] = true;
        if (k >= segments[V]) assert_true(tokens[order[k]] >= V);
    }
    vkt_token_order(tokens, 0, V, order, segments);
    for (uint32_t id = 0; id <= V; id++) assert_int_equal(segments[id], 0);
}

typedef struct {
    const vkt_tensor *ids, *order, *segments, *dtable;
    const vkt_tensor *some_ids; /* -1 in place of tokens that are `none` */
    uint32_t none;
    uint32_t tokens[N], sorted[N], begin[V + 1];
    double *got;
} embedded;

static void fill(const vkt_tensor *t, const uint32_t *from, double *data)
{
    for (uint64_t i = 0; i < t->count; i++) data[i] = from[i];
}

static void init(void *user, const vkt_tensor *t, double *data)
{
    embedded *e = user;
    if (t == e->ids || t == e->some_ids) {
        fill(t, e->tokens, data);
        for (uint64_t i = 0; i < t->count && t == e->some_ids; i++)
            if (e->tokens[i] == e->none) data[i] = -1;
    } else if (t == e->order)
        fill(t, e->sorted, data);
    else if (t == e->segments)
        fill(t, e->begin, data);
    else
        for (uint64_t i = 0; i < t->count; i++) data[i] = vkt__sample_value(t, 3, i);
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    embedded *e = user;
    if (t == e->dtable) memcpy(e->got, data, t->count * sizeof *data);
}

/* loss = sum of w y, so dtable[id] is the sum of w over the places of id. */
static void the_gradient_is_the_sum_over_a_tokens_places(void **state)
{
    (void)state;
    enum { C = 3 };
    static embedded e;
    double got[V * C], want[V * C] = { 0 };
    draw(e.tokens, N, V);
    vkt_token_order(e.tokens, N, V, e.sorted, e.begin);
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_embedding_in in = { .table = vkt__sample2(g, V, C),
                            .ids = vkt_input(g, vkt_shape2(5, N / 5), VKT_U32, "ids"),
                            .order = vkt_input(g, vkt_shape1(N), VKT_U32, "order"),
                            .segments = vkt_input(g, vkt_shape1(V + 1), VKT_U32, "segments") };
    vkt_tensor *y = vkt_embedding(g, &in), *dtable,
               *w = vkt__sample(g, vkt_shape3(5, N / 5, C), VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_backward(g, vkt_mul(g, y, w), &in.table, 1, &dtable);
    assert_int_equal(g->status, VKT_OK);
    e.ids = in.ids, e.order = in.order, e.segments = in.segments, e.dtable = dtable, e.got = got;
    vkt__graph_ref(g, init, &e, done);
    for (uint32_t i = 0; i < N * C; i++)
        want[e.tokens[i / C] * C + i % C] += vkt__sample_value(w, 3, i);
    for (uint32_t i = 0; i < V * C; i++) REQUIRE_NEAR(got[i], want[i], 1e-12 * N);
    vkt_graph_destroy(&g);
}

/* Columns of a table: one number, then ids of many rows; some name none. */
static void a_large_tables_gradient_sorts_its_ids(void **state)
{
    (void)state;
    enum { ROWS = 40, COLS = 3, PLAIN = 1, MANY = 40000, C = 3, NONE = 3 * MANY / 2 };
    enum { WIDE = PLAIN + (COLS - PLAIN) * C };
    static embedded e;
    static double got[MANY * C], want[MANY * C];
    for (uint32_t i = 0; i < ROWS * COLS; i++) /* often the same */
        e.tokens[i] = vkt_rand_below(4, VKT_RNG_TEST, i, 4) * (MANY / 2);
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt_input(g, vkt_shape2(ROWS, COLS), VKT_F32, "x"),
               *table = vkt__sample2(g, MANY, C), *y = vkt_lookup(g, x, table, PLAIN), *dtable,
               *w = vkt__sample(g, vkt_shape2(ROWS, WIDE), VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_backward(g, vkt_mul(g, y, w), &table, 1, &dtable);
    assert_int_equal(g->status, VKT_OK);
    assert_string_equal(dtable->node->op->name, "embedding_bwd");
    e.some_ids = x, e.none = NONE, e.dtable = dtable, e.got = got;
    vkt__graph_ref(g, init, &e, done);
    for (uint32_t i = 0; i < ROWS; i++)
        for (uint32_t k = PLAIN; k < COLS; k++)
            for (uint32_t c = 0; c < C && e.tokens[i * COLS + k] < MANY; c++)
                want[e.tokens[i * COLS + k] * C + c] +=
                    vkt__sample_value(w, 3, i * WIDE + PLAIN + (k - PLAIN) * C + c);
    for (uint32_t i = 0; i < MANY * C; i++) REQUIRE_NEAR(got[i], want[i], 1e-12 * ROWS);
    vkt_graph_destroy(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_sorted_by_token_and_stable),
        cmocka_unit_test(the_gradient_is_the_sum_over_a_tokens_places),
        cmocka_unit_test(a_large_tables_gradient_sorts_its_ids),
    };
    return cmocka_run_group_tests_name("token_order", tests, NULL, NULL);
}
