/* The benchmark runs: everything once, on the device that VKT_DEVICE names. Never a time asserted.
 */
#include "testing.h"

#include "device_profiles.h"
#include "bench/bench_key.h"
#include "gpu/commands.h"
#include "tensor/graph/graph.h"
#include "vktrain/bench.h"

static vkt_gpu *gpu;

static void on_progress(void *user, const vkt_bench_progress *p)
{
    uint32_t *n = user;
    assert_true(p->done <= p->total && *p->what);
    (*n)++;
}

/* Each of the host's rows runs, and comes back from a file. */
static void the_host_once(void **state)
{
    (void)state;
    vkt_bench *b, *back;
    size_t n_grow = 0;
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .only = "host" }, &b));
    assert_int_equal(b->n_rows, 16);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->refused) fail_msg("%s: %s", r->name, r->refused);
        assert_true(r->group == VKT_BENCH_HOST && r->value > 0 && r->items_per_s > 0);
        assert_string_equal(r->unit, "ms");
        n_grow += isfinite(r->growth) && strstr(r->note, "compared with ");
    }
    assert_true(n_grow >= 13); /* all that have a smaller size */
    REQUIRE_OK(vkt_bench_save_json(b, "test_bench_host.json"));
    REQUIRE_OK(vkt_bench_load("test_bench_host.json", &back));
    assert_non_null(vkt_bench_find(back, VKT_BENCH_HOST, "list runs, 10 runs"));
    remove("test_bench_host.json");
    vkt_bench_destroy(&back);
    vkt_bench_destroy(&b);
}

static void everything_once(void **state)
{
    (void)state;
    vkt_bench *b;
    uint32_t n_progress = 0, n_op = 0, n_group[VKT_BENCH_N_GROUPS] = { 0 };
    REQUIRE_OK(vkt_bench_run(
        gpu, &(vkt_bench_desc) { .once = true, .on_progress = on_progress, .user = &n_progress },
        &b));
    assert_true(n_progress > 20);
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        n_group[r->group]++;
        if (r->group == VKT_BENCH_TARGET) { /* once: it is not reached */
            assert_non_null(strstr(r->refused, "valid accuracy is "));
            continue;
        }
        if (r->refused) fail_msg("%s: %s", r->name, r->refused);
        assert_true(r->value > 0 && r->runs == 1);
        if (r->group == VKT_BENCH_OPS) {
            n_op++;
            assert_true(r->error >= 0 && r->error <= 1);
            assert_true(r->percent > 0);
        }
    }
    for (int g = 0; g < VKT_BENCH_HOST; g++) assert_true(n_group[g] > 0);
    assert_int_equal(n_group[VKT_BENCH_HOST], 0); /* alone, or not at all */
    size_t of_op[4] = { 0 };
    static const char *const in_order[] = { "matmul ", "attention ", "layernorm ", "conv2d " };
    for (size_t i = b->n_rows; i-- > 0;)
        for (size_t k = 0; k < 4; k++)
            if (!strncmp(b->rows[i].name, in_order[k], strlen(in_order[k]))) of_op[k] = i;
    for (size_t k = 1; k < 4; k++) assert_true(of_op[k] > of_op[k - 1]);
    assert_true(n_op >= 20);
    assert_true(*b->info.device && *b->info.driver && *b->info.commit && *b->info.power);
    /* what is saved is what is read */
    vkt_bench *back;
    char path[64];
    snprintf(path, sizeof path, "test_bench_%d.json", (int)n_progress);
    REQUIRE_OK(vkt_bench_save_json(b, path));
    REQUIRE_OK(vkt_bench_load(path, &back));
    assert_int_equal(back->n_rows, b->n_rows);
    assert_int_equal(back->n_left_out, b->n_left_out);
    assert_string_equal(back->info.device, b->info.device);
    for (size_t i = 0; i < b->n_rows; i++) {
        assert_string_equal(back->rows[i].name, b->rows[i].name);
        if (!b->rows[i].refused)
            REQUIRE_NEAR(back->rows[i].value, b->rows[i].value, 1e-6 * b->rows[i].value);
    }
    remove(path);
    vkt_bench_destroy(&back);
    vkt_bench_destroy(&b);
}

/* What decides, on a CPU driver's shapes: products with the epilogues of a step are right, the
 * names of a GPU's rows need no device. */
static void what_decides(void **state)
{
    (void)state;
    vkt_bench *b;
    uint32_t n_op = 0, n_step = 0;
    char *names = vkt_bench_names(true), *all = vkt_bench_names(false);
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .key = true }, &b));
    for (size_t i = 0; i < b->n_rows; i++) {
        const vkt_bench_row *r = &b->rows[i];
        if (r->refused) fail_msg("%s: %s", r->name, r->refused);
        n_op += r->group == VKT_BENCH_OPS;
        n_step += r->group == VKT_BENCH_STEPS;
    }
    assert_int_equal(n_op, 16);
    assert_int_equal(n_step, 1);
    assert_non_null(
        strstr(names, "\nops\tmatmul bf16 NN M 8192 N 3072 K 768, bias, gelu, to bf16\n"));
    assert_non_null(strstr(names, "\nops\tattention bf16 [8, 1024], 12 heads of 64\n"));
    assert_non_null(strstr(names, "\nsteps\tGPT-2 124M, 8 x 1024 tokens, bf16\n"));
    assert_non_null(strstr(all, "\nsteps\tResNet-50 224x224, batch 32, bf16\n"));
    vkt_free(names);
    vkt_free(all);
    vkt_bench_destroy(&b);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(
        vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .key = true, .op = "add" }, &b),
        VKT_E_ARG);
    REQUIRE_OK(
        vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .key = true, .op = "layernorm" }, &b));
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].group != VKT_BENCH_CEILINGS)
            assert_string_equal(b->rows[i].name, "layernorm [1024, 768]");
    vkt_bench_destroy(&b);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* Their shapes on a GPU that is not here: right graphs, and attention on matrix units in 16 bits,
 * as in a step. */
static void what_decides_on_a_gpu(void **state)
{
    (void)state;
    vkt_caps caps;
    vkt_gpu *h200;
    size_t n;
    const vkt__bench_key_op *key = vkt__bench_key_ops(&n);
    read_device("h200", &caps);
    REQUIRE_OK(vkt__gpu_plan(&caps, &h200));
    for (size_t i = 0; i < n; i++) {
        const vkt__bench_entry *e = vkt__bench_entry_of(key[i].op);
        bool narrow;
        vkt_graph *g = vkt__bench_graph(h200, e, key[i].gpu, &narrow);
        uint32_t n_found = 0;
        REQUIRE_OK(g->status);
        assert_int_equal(narrow, e->family == VKT__BENCH_ATTENTION);
        for (size_t k = 0; k < g->n_nodes; k++) {
            const vkt_node *node = g->nodes[k];
            if (node->op != key[i].op) continue;
            n_found++;
            if (narrow) {
                assert_int_equal(node->in[0]->dtype, VKT_BF16);
                assert_int_equal(node->out[0]->dtype, VKT_BF16);
                assert_non_null(strstr(node->op->kernel(h200, node), "matrix"));
            }
        }
        assert_true(n_found > 0);
        vkt_graph_destroy(&g);
    }
    vkt_gpu_destroy(&h200);
}

static void count_rows(void *user, const vkt_bench *so_far)
{
    *(size_t *)user = so_far->n_rows;
}

/* An item that loses the device leaves a row that says so; those before and after are there. */
static void a_lost_device_costs_one_item(void **state)
{
    (void)state;
    vkt_bench *whole, *b;
    vkt_gpu *other;
    size_t n_bad = 0, n_seen = 0, at = 0;
    vkt_gpu_desc desc = { .cap = getenv("VKT_TEST_CAP"), .no_cache = true };
    vkt_bench_desc d = {
        .once = true, .only = "ceilings", .gpu = &desc, .on_rows = count_rows, .user = &n_seen
    };
    REQUIRE_OK(vkt_gpu_create(&desc, &other));
    REQUIRE_OK(vkt_bench_run(other, &d, &whole));
    assert_int_equal(n_seen, whole->n_rows);
    TEST_LOG_CAPTURE();
    vkt__gpu_lose_after(12, 1);
    vkt_status st = vkt_bench_run(other, &d, &b);
    vkt__gpu_lose_after(0, 0);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_STATUS(st, VKT_E_FAILED);
    REQUIRE_LOGGED("1 of the results failed, the first of them");
    assert_null(strchr(strchr(test_log, '\n') + 1, '\n')); /* one line */
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].refused && ++n_bad) at = i;
    assert_int_equal(n_bad, 1);
    assert_non_null(strstr(b->rows[at].refused, "failed: "));
    assert_true(at > 0 && at + 1 < b->n_rows && b->rows[at + 1].value > 0);
    assert_string_equal(b->rows[b->n_rows - 1].name, whole->rows[whole->n_rows - 1].name);
    vkt_bench_destroy(&b);
    vkt_bench_destroy(&whole);
    vkt_gpu_destroy(&other);
}

/* Points of ms = floor + flops / rate, the last one off by `slower`. */
static vkt_scaling_curve made_up(double floor_ms, double slower)
{
    vkt_scaling_curve c = { .name = "batch", .held = "made up", .n_points = 6 };
    for (size_t i = 0; i < c.n_points; i++) {
        vkt_scaling_point *p = &c.point[i];
        p->n = 1u << (2 * i);
        p->flops = 1e6 * p->n;
        p->ms = floor_ms + p->flops / 1e7; /* 10 GFLOP/s */
        p->n_dispatches = 20;
        p->memory_bytes = (uint64_t)p->n << 20;
    }
    c.point[5].ms *= slower;
    return c;
}

static void scaling_finds_the_floor_and_the_bend(void **state)
{
    (void)state;
    vkt_scaling_curve c = made_up(2, 1);
    vkt_scaling_explain(&c);
    REQUIRE_NEAR(c.floor_ms, 2, 1e-9);
    REQUIRE_NEAR(c.bend, 20, 1e-6); /* 20 x 1 Mflop at 10 GFLOP/s take 2 ms */
    assert_non_null(strstr(c.why, "bends at batch 20: below it a step takes 2 ms"));
    assert_non_null(strstr(c.why, "100.0 us for each of its 20 dispatches"));
    assert_non_null(strstr(c.why, "then in proportion to the work"));
    c = made_up(2, 3);
    vkt_scaling_explain(&c);
    assert_int_equal(c.best, 4);
    assert_non_null(strstr(c.why, "beyond batch 256 it falls from"));
    c = made_up(0, 1);
    vkt_scaling_explain(&c);
    assert_true(isnan(c.bend));
}

/* The line that made the times is found again; two that would be negative are not. */
static void sums_lie_on_a_line(void **state)
{
    (void)state;
    double seconds[12], messages[12], bytes[12], alpha, beta, error;
    for (int i = 0; i < 12; i++) {
        messages[i] = 2 * (1 + i % 3);
        bytes[i] = pow(10, 1 + i / 2.0);
        seconds[i] = 5e-5 * messages[i] + 2e-9 * bytes[i];
    }
    vkt_ranks_fit(seconds, messages, bytes, 12, &alpha, &beta, &error);
    assert_true(fabs(alpha / 5e-5 - 1) < 1e-6 && fabs(beta / 2e-9 - 1) < 1e-6 && error < 1e-6);
    for (int i = 0; i < 12; i++) seconds[i] *= i % 2 ? 1.1 : 0.9;
    vkt_ranks_fit(seconds, messages, bytes, 12, &alpha, &beta, &error);
    assert_true(fabs(alpha / 5e-5 - 1) < 0.2 && fabs(beta / 2e-9 - 1) < 0.2);
    assert_true(error > 0.05 && error < 0.15);
    for (int i = 0; i < 12; i++) seconds[i] = 1e-3 * messages[i] / (1 + bytes[i]);
    vkt_ranks_fit(seconds, messages, bytes, 12, &alpha, &beta, &error);
    assert_true(alpha >= 0 && beta >= 0);
}

static void scaling_once(void **state)
{
    (void)state;
    vkt_scaling *s;
    static const char *const paths[] = { "test_scaling.json", "test_scaling.csv",
                                         "test_scaling.svg" };
    uint32_t n_progress = 0;
    REQUIRE_OK(vkt_scaling_run(
        gpu, &(vkt_bench_desc) { .once = true, .on_progress = on_progress, .user = &n_progress },
        &s));
    assert_int_equal(n_progress, 2 * VKT_SCALING_CURVES);
    for (int k = 0; k < VKT_SCALING_CURVES; k++) {
        assert_int_equal(s->curve[k].n_points, 2);
        assert_true(*s->curve[k].why);
        for (int i = 0; i < 2; i++)
            assert_true(s->curve[k].point[i].ms > 0 && s->curve[k].point[i].flops > 0);
    }
    REQUIRE_OK(vkt_scaling_save_json(s, paths[0]));
    REQUIRE_OK(vkt_scaling_save_csv(s, paths[1]));
    REQUIRE_OK(vkt_scaling_save_svg(s, paths[2]));
    for (size_t i = 0; i < 3; i++) {
        FILE *f = fopen(paths[i], "r");
        assert_non_null(f);
        fclose(f);
        remove(paths[i]);
    }
    free(s);
}

static bool stops_at_the_third(void *user)
{
    return ++*(uint32_t *)user == 3;
}

/* The rows measured until then stay, and a line says how many items were left out. */
static void it_stops_on_request(void **state)
{
    (void)state;
    vkt_bench *whole, *b;
    uint32_t n = 0;
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .only = "ceilings" }, &whole));
    TEST_LOG_CAPTURE();
    vkt_status st = vkt_bench_run(
        gpu,
        &(vkt_bench_desc) {
            .once = true, .only = "ceilings", .stops = stops_at_the_third, .user = &n },
        &b);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    REQUIRE_STATUS(st, VKT_E_INTERRUPTED);
    assert_string_equal(test_log, "");
    assert_int_equal(n, 3);
    assert_true(b->n_rows >= 3 && b->n_rows < whole->n_rows);
    for (size_t i = 0; i < b->n_rows; i++)
        assert_string_equal(b->rows[i].name, whole->rows[i].name);
    assert_non_null(strstr(b->left_out[b->n_left_out - 1], "items: stopped before them"));
    vkt_bench_destroy(&b);
    vkt_bench_destroy(&whole);
}

static void one_op(void **state)
{
    (void)state;
    vkt_bench *b;
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .op = "softmax" }, &b));
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].group == VKT_BENCH_OPS)
            assert_non_null(strstr(b->rows[i].name, "softmax ["));
    vkt_bench_destroy(&b);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .op = "softmx" }, &b),
                   VKT_E_ARG);
    REQUIRE_LOGGED("did you mean 'softmax'");
    assert_null(b);
    REQUIRE_STATUS(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .only = "nothing" }, &b),
                   VKT_E_ARG);
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

/* A made-up baseline a million times as fast is found slower, after measuring again; the result
 * itself is the same. */
static void baseline(void **state)
{
    (void)state;
    vkt_bench *base, *now;
    double speedup, noise;
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .op = "add" }, &base));
    for (size_t i = 0; i < base->n_rows; i++) {
        vkt_bench_row *r = &base->rows[i];
        double f = r->higher ? 1e6 : 1e-6;
        assert_int_equal(vkt_bench_judge(r, r, 0.05, &speedup, &noise), VKT_BENCH_SAME);
        r->value *= f, r->min *= f, r->max *= f, r->q1 *= f, r->q3 *= f;
    }
    REQUIRE_OK(vkt_bench_run(
        gpu, &(vkt_bench_desc) { .once = true, .op = "add", .baseline = base, .tolerance = 0.05 },
        &now));
    assert_int_equal(now->n_rows, base->n_rows);
    for (size_t i = 0; i < now->n_rows; i++) {
        const vkt_bench_row *r = &now->rows[i];
        assert_ptr_equal(vkt_bench_find(now, r->group, r->name), r);
        assert_int_equal(
            vkt_bench_judge(vkt_bench_find(base, r->group, r->name), r, 0.05, &speedup, &noise),
            VKT_BENCH_SLOWER);
    }
    vkt_bench_destroy(&base);
    vkt_bench_destroy(&now);
}

static void memory_is_given_back(void **state)
{
    (void)state;
    vkt_bench *b;
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true, .only = "steps" }, &b));
    vkt_bench_destroy(&b);
    uint64_t before = vkt_gpu_get_stats(gpu).bytes;
    REQUIRE_OK(vkt_bench_run(gpu, &(vkt_bench_desc) { .once = true }, &b));
    vkt_bench_destroy(&b);
    assert_int_equal(vkt_gpu_get_stats(gpu).bytes, before);
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
}

int main(void)
{
    vkt_gpu_desc desc = { .cap = getenv("VKT_TEST_CAP"),
                          .validate = getenv("VKT_TEST_VALIDATE") != NULL,
                          .no_cache = true };
    if (vkt_gpu_create(&desc, &gpu) != VKT_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_once),
        cmocka_unit_test(the_host_once),
        cmocka_unit_test(what_decides),
        cmocka_unit_test(what_decides_on_a_gpu),
        cmocka_unit_test(a_lost_device_costs_one_item),
        cmocka_unit_test(scaling_finds_the_floor_and_the_bend),
        cmocka_unit_test(scaling_once),
        cmocka_unit_test(it_stops_on_request),
        cmocka_unit_test(one_op),
        cmocka_unit_test(baseline),
        cmocka_unit_test(sums_lie_on_a_line),
        cmocka_unit_test(memory_is_given_back),
    };
    int failed = cmocka_run_group_tests_name("bench", tests, NULL, NULL);
    vkt_gpu_destroy(&gpu);
    return failed;
}
