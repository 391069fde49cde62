/* Whether the tuner tells right kernels from wrong ones: of matrix units, which a simulation here
 * stands for, as no CPU driver cuts sums off; and with operands that repeat. */
#include "testing.h"

#include "gpu/commands.h"
#include "tensor/check/tune_wants.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/kernels/matmul.h"

typedef struct problem {
    vkt_gpu *gpu;
    vkt_graph *g;
    vkt_tune_shape s;
    vkt__tuned shape;
    vkt__tune_inputs in;
    vkt__tune_wants wants;
    unsigned char *data; /* the result, as c holds it */
} problem;

static problem create(vkt_layout l, uint32_t M, uint32_t N, uint32_t K, vkt_dtype out)
{
    static const vkt_caps caps = { .klass = VKT_GPU_CLASS_NVIDIA,
                                   .max_alloc_bytes = 1u << 30,
                                   .max_buffer_bytes = 1u << 30,
                                   .budget_bytes = 1ull << 40 };
    problem p = { .s = { l, M, N, K, VKT_BF16, out, 1 } };
    vkt_shape a = l == VKT_LAYOUT_TN ? vkt_shape2(K, M) : vkt_shape2(M, K),
              b = l == VKT_LAYOUT_NT ? vkt_shape2(N, K) : vkt_shape2(K, N);
    REQUIRE_OK(vkt__gpu_plan(&caps, &p.gpu));
    p.g = vkt__graph_new(NULL);
    p.shape.in[0][0] = vkt_input(p.g, a, VKT_BF16, "a");
    p.shape.in[0][1] = vkt_input(p.g, b, VKT_BF16, "b");
    p.shape.out = vkt_input(p.g, vkt_shape2(M, N), out, "c");
    REQUIRE_OK(vkt__tune_fill(p.gpu, &p.shape, false, &p.in));
    vkt__tune_want(&p.s, &p.in, &p.wants);
    p.data = calloc(1, p.shape.out->bytes);
    return p;
}

static void destroy(problem *p)
{
    vkt__tune_wants_free(&p->wants);
    vkt__tune_free(p->gpu, &p->in);
    vkt_graph_destroy(&p->g);
    vkt_gpu_destroy(&p->gpu);
    free(p->data);
}

static double operand(const problem *p, int k, uint64_t i)
{
    return p->in.values[k][i % p->in.period[k]];
}

static double term(const problem *p, uint64_t m, uint64_t n, uint64_t k)
{
    vkt_layout l = p->s.layout;
    return operand(p, 0, l == VKT_LAYOUT_TN ? k * p->s.M + m : m * p->s.K + k) *
           operand(p, 1, l == VKT_LAYOUT_NT ? n * p->s.K + k : k * p->s.N + n);
}

static float toward_zero(double x)
{
    float f = (float)x;
    return fabs((double)f) > fabs(x) ? nextafterf(f, 0) : f;
}

enum { RIGHT, DROPPED_SLICE, SWAPPED_FRAGMENT, ZEROS };

/* The unit adds `steps` products to a sum and cuts off what does not fit in f32. */
static double on_unit(const problem *p, uint64_t m, uint64_t n, uint32_t steps, int fault)
{
    enum { FRAGMENT = 16, TILE = 128, SLICE = 64 };
    float sum = 0;
    uint64_t fm = m % TILE / FRAGMENT, fn = n % TILE / FRAGMENT;
    if (fault == ZEROS) return 0;
    if (fault == SWAPPED_FRAGMENT && fm + fn == 1) { /* the two beside the tile's first */
        m = fm ? m - FRAGMENT : m + FRAGMENT;
        n = fn ? n - FRAGMENT : n + FRAGMENT;
    }
    for (uint64_t k = 0; k < p->s.K; k += steps) {
        double t = sum;
        if (fault == DROPPED_SLICE && k / SLICE == 5) continue;
        for (uint64_t i = k; i < k + steps; i++) t += term(p, m, n, i);
        sum = toward_zero(t);
    }
    return sum;
}

/* Computes the first `most` elements that are compared, and compares them. */
static double share_of(problem *p, uint32_t kernel, uint32_t steps, int fault, uint64_t most)
{
    vkt__tune_wants w = p->wants;
    w.n = VKT_MIN(w.n, most);
    for (uint64_t i = 0; i < w.n; i++)
        vkt__sample_encode(p->shape.out, w.at[i],
                           on_unit(p, w.at[i] / p->s.N, w.at[i] % p->s.N, steps, fault), p->data);
    return vkt__tune_share(&p->s, &w, kernel, p->shape.out, p->data);
}

static uint32_t kernel_on_units(void)
{
    uint32_t k = 1;
    while (!vkt__matmul_on_units(k)) k++;
    return k;
}

static void units_that_cut_sums_off_are_right(void **state)
{
    (void)state;
    enum { MOST = 500 };
    static const struct {
        uint32_t M, N, K;
        vkt_dtype out;
    } of[] = { { 3072, 768, 8192, VKT_F32 },
               { 1024, 768, 50304, VKT_F32 },
               { 1024, 768, 50304, VKT_BF16 },
               { 1024, 768, 768, VKT_F16 } };
    uint32_t kernel = kernel_on_units();
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        problem p = create(VKT_LAYOUT_NT, of[i].M, of[i].N, of[i].K, of[i].out);
        for (uint32_t steps = 8; steps <= 16; steps *= 2) {
            double share = share_of(&p, kernel, steps, RIGHT, MOST);
            if (share > 1)
                fail_msg("K %u, cut after %u: %.2f of the tolerance", of[i].K, steps, share);
        }
        for (int fault = DROPPED_SLICE; fault <= ZEROS; fault++) {
            double share = share_of(&p, kernel, 16, fault, MOST);
            if (!(share > 1)) fail_msg("K %u, fault %d passes: %.2f", of[i].K, fault, share);
        }
        destroy(&p);
    }
}

static bool is_prime(uint64_t n)
{
    for (uint64_t d = 2; d * d <= n; d++)
        if (n % d == 0) return false;
    return n > 1;
}

static void patterns_share_no_factor_with_tiles(void **state)
{
    (void)state;
    static const vkt_shape of[] = { { 2, { 8192, 768 } },
                                    { 2, { 50304, 768 } },
                                    { 2, { 262139, 64 } },
                                    { 2, { 2, 600000 } },
                                    { 4, { 128, 56, 56, 64 } } };
    for (size_t i = 0; i < VKT_COUNT(of); i++) {
        uint64_t period = vkt__tune_period(of[i]), last = of[i].d[of[i].rank - 1], rest = 1;
        for (uint32_t k = 0; k + 1 < of[i].rank; k++) rest *= of[i].d[k];
        assert_true(is_prime(period) && period > last && period > rest);
    }
    assert_int_equal(vkt__tune_period(vkt_shape2(300, 7)), 2100);
    assert_int_equal(vkt__tune_period(vkt_shape2(5000000, 3)), 15000000);
    assert_int_equal(vkt__tune_period(vkt_shape2(0, 3)), 0);
}

/* Each element taken from where it would be if tiles lay elsewhere: nearly all of them differ by
 * more than the tolerance. */
static void no_period_hides_a_swapped_tile(void **state)
{
    (void)state;
    static const uint32_t tiles[][2] = { { 16, 0 },    { 0, 16 },    { 64, 64 }, { 128, 128 },
                                         { 128, 256 }, { 256, 128 }, { 512, 0 }, { 0, 384 } };
    static const uint32_t depths[] = { 768, 8192, 50304 };
    uint32_t kernel = kernel_on_units();
    for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++)
        for (size_t d = 0; d < VKT_COUNT(depths); d++) {
            uint32_t K = depths[d];
            problem p = create((vkt_layout)l, 1024, 768, K, VKT_F32);
            assert_true(p.in.period[0] < (uint64_t)p.s.M * K);
            uint64_t n = VKT_MIN(p.wants.n, 40), step = p.wants.n / n;
            for (size_t t = 0; t < VKT_COUNT(tiles); t++) {
                uint64_t n_wrong = 0;
                for (uint64_t i = 0; i < n; i++) {
                    vkt__tune_wants one = { 1, &p.wants.at[i * step], &p.wants.want[i * step],
                                            &p.wants.scale[i * step] };
                    uint64_t m = (*one.at / p.s.N + tiles[t][0]) % p.s.M,
                             c = (*one.at % p.s.N + tiles[t][1]) % p.s.N;
                    double sum = 0;
                    for (uint64_t k = 0; k < K; k++) sum += term(&p, m, c, k);
                    vkt__sample_encode(p.shape.out, *one.at, sum, p.data);
                    n_wrong += vkt__tune_share(&p.s, &one, kernel, p.shape.out, p.data) > 1;
                }
                assert_true(n_wrong + 1 >= n);
            }
            destroy(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_that_cut_sums_off_are_right),
        cmocka_unit_test(patterns_share_no_factor_with_tiles),
        cmocka_unit_test(no_period_hides_a_swapped_tile),
    };
    return cmocka_run_group_tests_name("what the tuner wants", tests, NULL, NULL);
}
