/* Tuning of convolutions: a graph's are listed once, what was found is kept, and used by the next
 * device and not with no_tune. Of products: test_ops. */
#include "testing.h"

#include "base/os.h"
#include "tensor/ops/ops_conv.h"
#include "tensor/graph/graph.h"

static char dir[64];

static vkt_gpu *device(bool no_tune)
{
    vkt_gpu *gpu;
    REQUIRE_OK(vkt_gpu_create(
        &(vkt_gpu_desc) { .cap = getenv("VKT_TEST_CAP"), .cache_dir = dir, .no_tune = no_tune },
        &gpu));
    return gpu;
}

/* Two convolutions of one shape, one after the other, the first of a picture: forward, dx and dw.
 */
static vkt_graph *net(vkt_gpu *gpu)
{
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *x = vkt_input(g, (vkt_shape) { 4, { 2, 9, 7, 6 } }, VKT_F32, "x"),
               *w = vkt_input(g, (vkt_shape) { 4, { 3, 3, 6, 6 } }, VKT_F32, "w"), *dw;
    vkt_conv_desc same = { .pad = 1 };
    vkt_tensor *y = vkt_conv2d(g, vkt_conv2d(g, x, w, NULL, &same), w, NULL, &same),
               *loss = vkt_sum(g, vkt_mul(g, y, y));
    vkt_backward(g, loss, &w, 1, &dw);
    REQUIRE_OK(g->status);
    return g;
}

/* The kernel that the graph's first convolution gets. */
static const char *kernel_of_first(vkt_gpu *gpu)
{
    vkt_graph *g = net(gpu);
    const char *name = vkt__conv_kernel(gpu, g->nodes[0]);
    vkt_graph_destroy(&g);
    return name;
}

static void count(void *user, const vkt_tune_result *r)
{
    assert_true(r->table_ms > 0 && r->best_ms <= r->table_ms && r->n_tried > 0);
    assert_non_null(strstr(r->what, "conv2d"));
    ++*(int *)user;
}

static void choices_of_convolutions_are_kept_and_used(void **state)
{
    (void)state;
    vkt_conv_shape s[8];
    const char *path;
    char key[40], table[32];
    int n_told = 0;
    vkt_gpu *gpu = device(false);
    vkt_graph *g = net(gpu);
    vkt__conv_geometry first = vkt__conv_geometry_of(g->nodes[0]);
    snprintf(table, sizeof table, "%s",
             vkt__conv_kernel_name(vkt__conv_table(vkt_gpu_caps(gpu), &first)));
    size_t n = vkt_graph_convs(g, true, s, 8);
    assert_int_equal(n, 3);
    assert_int_equal(vkt_graph_convs(g, true, s, 2), 2);
    n = vkt_graph_convs(g, true, s, 8);
    assert_true(s[0].pass == VKT_CONV_FORWARD && s[0].h == 9 && s[0].ow == 7 && s[0].co == 6);
    REQUIRE_OK(vkt_tune_convs(gpu, s, n, &(vkt_tune_desc) { .fn = count, .user = &n_told }));
    assert_int_equal(n_told, 3);
    assert_int_equal(vkt_graph_convs(g, true, s, 8), 0);
    assert_int_equal(vkt_graph_convs(g, false, s, 8), 3);
    vkt__choice_set(gpu, vkt__conv_key(&first, key), "naive");
    REQUIRE_OK(vkt__choices_save(gpu, &path));
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);

    gpu = device(false);
    assert_string_equal(kernel_of_first(gpu), "naive");
    vkt_gpu_destroy(&gpu);
    gpu = device(true);
    assert_string_equal(kernel_of_first(gpu), table);
    vkt_gpu_destroy(&gpu);
}

/* When time is up, what is left keeps the table's kernels, lest later runs choose otherwise. */
static void the_rest_keeps_the_table(void **state)
{
    (void)state;
    vkt_conv_shape s[8];
    int n_told = 0;
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    vkt_gpu *gpu = device(false);
    vkt_graph *g = net(gpu);
    size_t n = vkt_graph_convs(g, true, s, 8);
    REQUIRE_OK(vkt_tune_convs(gpu, s, n,
                              &(vkt_tune_desc) { .seconds = 1e-9, .fn = count, .user = &n_told }));
    assert_int_equal(n_told, 0);
    assert_int_equal(vkt_graph_convs(g, true, s, 8), 0);
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);
}

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "tune-%d", vkt__pid());
    return vkt__mkdirs(dir) != VKT_OK;
}

static int clean(void **state)
{
    (void)state;
    return vkt__remove_tree(dir) != VKT_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_of_convolutions_are_kept_and_used),
        cmocka_unit_test(the_rest_keeps_the_table),
    };
    return cmocka_run_group_tests_name("tune", tests, setup, clean);
}
