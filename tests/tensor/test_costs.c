/* What each row says of its samples: operations, bytes and roundings, summed, as in
 * tests/golden/costs.txt. Tolerances, verdicts of profiles and plans follow from them, and a kernel
 * that is right does not show that they are. Whoever means to change one writes the file again,
 * `test_costs print > tests/golden/costs.txt`, and shows what changed. */
#include "testing.h"

#include "base/os.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/ops/ops.h"

static void costs(vkt__str *s)
{
    for (const vkt_op *const *op = vkt__rows; *op; op++) {
        double flops = 0, bytes = 0, terms = 0;
        uint32_t n = 0;
        for (bool more = true; more; n += more) {
            vkt_graph *g = vkt__graph_new(NULL);
            more = (*op)->sample(*op, g, n) != NULL;
            for (size_t k = 0; more && k < g->n_nodes; k++) {
                const vkt_node *node = g->nodes[k];
                if (node->op != *op) continue;
                vkt_cost c = vkt__node_cost(node);
                flops += c.flops;
                bytes += c.bytes;
                terms += node->op->terms ? node->op->terms(node) : 0;
            }
            vkt_graph_destroy(&g);
        }
        vkt__str_printf(s, "%s: %u samples, %.10g operations, %.10g bytes, %.10g roundings\n",
                        (*op)->name, n, flops, bytes, terms);
    }
}

static void rows_cost_what_they_did(void **state)
{
    (void)state;
    char *want;
    size_t n;
    vkt__str got = { 0 };
    costs(&got);
    REQUIRE_OK(vkt__file_read(test_file("golden/costs.txt"), 1 << 20, &want, &n));
    for (char *g = got.data, *w = want; *g || *w;) {
        size_t a = strcspn(g, "\n"), b = strcspn(w, "\n");
        if (a != b || memcmp(g, w, a) != 0)
            fail_msg("it costs\n%.*s\nand cost\n%.*s", (int)a, g, (int)b, w);
        g += a + (g[a] != 0);
        w += b + (w[b] != 0);
    }
    free(want);
    vkt__str_finish(&got);
}

/* Numbers that anyone can count. */
static void products_and_norms_are_counted(void **state)
{
    (void)state;
    double flops, bytes;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_matmul_batched(g, VKT_LAYOUT_NT, vkt_input(g, vkt_shape3(7, 3, 5), VKT_F32, "a"),
                       vkt_input(g, vkt_shape3(7, 4, 5), VKT_F32, "b"), VKT_F32);
    vkt_graph_cost(g, &flops, &bytes);
    REQUIRE_NEAR(flops, 2.0 * 7 * 3 * 4 * 5, 0);
    REQUIRE_NEAR(bytes, 4.0 * 7 * (3 * 5 + 4 * 5 + 3 * 4), 0);
    vkt_graph_destroy(&g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rows_cost_what_they_did),
                                        cmocka_unit_test(products_and_norms_are_counted) };
    if (argc > 1 && !strcmp(argv[1], "print")) {
        vkt__str s = { 0 };
        costs(&s);
        printf("%s", s.data);
        vkt__str_finish(&s);
        return 0;
    }
    return cmocka_run_group_tests_name("costs", tests, NULL, NULL);
}
