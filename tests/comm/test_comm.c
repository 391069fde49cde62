/* comm by itself: alone as a test of one process; as a rank of several where test_ranks.sh starts
 * it with what it is to do. */
#include "testing.h"

#include "base/os.h"
#include "comm/comm.h"

/* A value of rank r at element i: not a number whose sums are exact. */
static float value(uint32_t r, uint64_t i)
{
    return (float)vkt_rand_normal(r + 1, VKT_RNG_TEST, i);
}

static void fill(float *data, uint64_t n, uint32_t r)
{
    for (uint64_t i = 0; i < n; i++) data[i] = value(r, i);
}

/* In the order of the ranks, in double, rounded once. */
static float expected(uint32_t size, uint64_t i)
{
    double sum = 0;
    for (uint32_t r = 0; r < size; r++) sum += (double)value(r, i);
    return (float)sum;
}

static void check_sums(vkt_comm *c)
{
    static const uint64_t sizes[] = { 1, 15, 16, 17, 1000, 70001 };
    for (size_t k = 0; k < VKT_COUNT(sizes); k++) {
        uint64_t n = sizes[k], begin = vkt__comm_piece(n, c->size, c->rank),
                 end = vkt__comm_piece(n, c->size, c->rank + 1);
        float *a = vkt__alloc(n * sizeof *a);
        vkt__comm_job *job;
        fill(a, n, c->rank);
        assert_int_equal(vkt__comm_sum(c, a, n), VKT_OK);
        for (uint64_t i = 0; i < n; i++) assert_true(a[i] == expected(c->size, i));
        fill(a, n, c->rank);
        assert_int_equal(vkt__comm_scatter_start(c, a, n, NULL, &job), VKT_OK);
        assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
        for (uint64_t i = 0; i < n; i++)
            assert_true(a[i] == (i >= begin && i < end ? expected(c->size, i) : value(c->rank, i)));
        assert_int_equal(vkt__comm_gather_start(c, a, n, NULL, &job), VKT_OK);
        assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
        for (uint64_t i = 0; i < n; i++) assert_true(a[i] == expected(c->size, i));
        free(a);
    }
}

/* Pieces as listed: the first rank has none, the last one the most. */
static void check_cuts(vkt_comm *c)
{
    enum { N = 1000 };
    float a[N];
    uint64_t cuts[65] = { 0 };
    vkt__comm_job *job;
    if (c->size > 64) return;
    for (uint32_t r = 1; r < c->size; r++) cuts[r] = 3 * (r - 1);
    cuts[c->size] = N;
    fill(a, N, c->rank);
    assert_int_equal(vkt__comm_scatter_start(c, a, N, cuts, &job), VKT_OK);
    assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
    for (uint64_t i = 0; i < N; i++) {
        bool mine = i >= cuts[c->rank] && i < cuts[c->rank + 1];
        assert_true(a[i] == (mine ? expected(c->size, i) : value(c->rank, i)));
    }
    assert_int_equal(vkt__comm_gather_start(c, a, N, cuts, &job), VKT_OK);
    assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
    for (uint64_t i = 0; i < N; i++) assert_true(a[i] == expected(c->size, i));
}

/* In bf16: all ranks have the same bits, of half the bytes, within the error of two roundings; what
 * they take comes later, so that the mean of many sums of the same is that sum. */
static void check_rounded(vkt_comm *c)
{
    enum { N = 1000, TIMES = 64 };
    static float a[N], rest[N], first[64 * N];
    static double mean[N];
    uint64_t before = c->bytes, sum_bytes;
    vkt__comm_job *job;
    vkt__comm_work w = { VKT__COMM_SUM, a, N, NULL, rest };
    if (c->size > 64) return;
    fill(a, N, c->rank);
    assert_int_equal(vkt__comm_sum(c, a, N), VKT_OK);
    sum_bytes = c->bytes - before;
    for (int k = 0; k < TIMES; k++) {
        fill(a, N, c->rank);
        before = c->bytes;
        assert_int_equal(vkt__comm_rounded_start(c, &w, &job), VKT_OK);
        assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
        assert_true(c->bytes - before == sum_bytes / 2);
        for (int i = 0; i < N; i++) mean[i] += (double)a[i] / TIMES;
    }
    assert_int_equal(vkt__comm_all_gather(c, a, first, sizeof a), VKT_OK);
    for (uint32_t r = 1; r < c->size; r++) assert_memory_equal(first, first + r * N, sizeof a);
    for (uint64_t i = 0; i < N; i++) {
        double e = (double)expected(c->size, i), most = fabs(e);
        for (uint32_t r = 0; r < c->size; r++) most += fabs((double)value(r, i));
        double one = fabs((double)a[i] - e), all = fabs(mean[i] - e);
        assert_true(one <= most / 64 && all <= most / 128 / TIMES + 1e-6);
        assert_true(c->size == 1 || fabsf(rest[i]) <= most / 128);
    }
    fill(a, N, c->rank); /* what is no number reaches all, and stays nobody's */
    if (c->rank == 0) a[3] = INFINITY, a[N - 1] = NAN;
    assert_int_equal(vkt__comm_rounded_start(c, &w, &job), VKT_OK);
    assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
    assert_true(isinf(a[3]) && isnan(a[N - 1]) && isfinite(rest[3]) && isfinite(rest[N - 1]));
    w.kind = VKT__COMM_SCATTER; /* the own piece is not rounded after the sum */
    for (int i = 0; i < N; i++) rest[i] = 0;
    fill(a, N, c->rank);
    assert_int_equal(vkt__comm_rounded_start(c, &w, &job), VKT_OK);
    assert_int_equal(vkt__comm_sum_wait(c, &job), VKT_OK);
    for (uint64_t i = vkt__comm_piece(N, c->size, c->rank);
         i < vkt__comm_piece(N, c->size, c->rank + 1); i++)
        assert_true(rest[i] == 0 && (c->size == 1 || fabsf(a[i] - expected(c->size, i)) < 0.1F));
}

/* Several sums under way, tested in another order than they began. */
static void check_jobs(vkt_comm *c)
{
    enum { N = 5, EACH = 5003 };
    static float a[N][EACH];
    vkt__comm_job *job[N];
    for (uint32_t k = 0; k < N; k++) {
        fill(a[k], EACH, c->rank);
        assert_int_equal(vkt__comm_sum_start(c, a[k], EACH, &job[k]), VKT_OK);
    }
    for (uint32_t left = N; left;)
        for (uint32_t k = N; k-- > 0;) {
            bool done = false;
            if (left < N && !job[k]) continue;
            if (!job[k] && c->size > 1) continue;
            assert_int_equal(vkt__comm_sum_test(c, &job[k], &done), VKT_OK);
            left -= done;
            if (!left) break;
        }
    for (uint32_t k = 0; k < N; k++)
        for (uint64_t i = 0; i < EACH; i++) assert_true(a[k][i] == expected(c->size, i));
}

static void check_bytes(vkt_comm *c)
{
    char text[16] = "", *all = vkt__alloc(16 * c->size);
    snprintf(text, sizeof text, "rank %u", c->rank);
    assert_int_equal(vkt__comm_all_gather(c, text, all, sizeof text), VKT_OK);
    for (uint32_t r = 0; r < c->size; r++) {
        snprintf(text, sizeof text, "rank %u", r);
        assert_string_equal(all + 16 * r, text);
    }
    snprintf(text, sizeof text, "rank %u", c->rank);
    assert_int_equal(vkt__comm_broadcast(c, text, sizeof text), VKT_OK);
    assert_string_equal(text, "rank 0");
    double v[2] = { c->rank, 1 };
    assert_int_equal(vkt__comm_sum_doubles(c, v, 2), VKT_OK);
    assert_true(v[0] == c->size * (c->size - 1) / 2.0 && v[1] == c->size);
    assert_int_equal(vkt__comm_barrier(c), VKT_OK);
    assert_int_equal(vkt__comm_same(c, "recipe", "a: 1\nb: 2\n"), VKT_OK);
    assert_int_equal(vkt__comm_tell_device(c, "a device"), VKT_OK);
    assert_non_null(strstr(c->names[c->size - 1], ", a device"));
    free(all);
}

static void alone(void **state)
{
    (void)state;
    vkt_comm *c;
    assert_int_equal(vkt_comm_open(&c), VKT_OK);
    assert_int_equal(vkt_comm_size(c), 1);
    check_sums(c);
    check_bytes(c);
    assert_int_equal(vkt_comm_close(&c, VKT_E_IO), VKT_E_IO);
    assert_null(c);
}

static void pieces_cover_all(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 300; n++)
        for (uint32_t size = 1; size < 9; size++) {
            assert_int_equal(vkt__comm_piece(n, size, 0), 0);
            assert_int_equal(vkt__comm_piece(n, size, size), n);
            for (uint32_t r = 0; r < size; r++)
                assert_true(vkt__comm_piece(n, size, r) <= vkt__comm_piece(n, size, r + 1));
        }
    assert_int_equal(vkt__comm_piece(UINT64_C(1) << 33, 2, 1), UINT64_C(1) << 32);
}

static void launchers_are_known(void **state)
{
    (void)state;
    assert_false(vkt_launch_get().launched);
    vkt__setenv("PMI_RANK", "3");
    vkt__setenv("PMI_SIZE", "8");
    vkt_launch l = vkt_launch_get();
    assert_true(l.launched && l.rank == 3 && l.size == 8);
    vkt__setenv("PMI_RANK", "three");
    assert_false(vkt_launch_get().launched);
    vkt__setenv("PMI_RANK", NULL);
    vkt__setenv("PMI_SIZE", NULL);
}

/* What a rank does for the word `what`; its exit code is the status. */
static int as_rank(const char *what)
{
    vkt_comm *c;
    vkt_status st = vkt_comm_open(&c);
    if (st != VKT_OK) return (int)st;
    if (!strcmp(what, "all")) {
        check_sums(c);
        check_cuts(c);
        check_jobs(c);
        check_rounded(c);
        check_bytes(c);
    } else if (!strcmp(what, "fails")) { /* the last; the others wait for a sum */
        static float x[4];
        st = c->rank + 1 == c->size ? vkt__fail(VKT_E_FORMAT, "test", "planted")
                                    : vkt__comm_sum(c, x, 4);
    } else if (!strcmp(what, "alike")) { /* all, and rank 0 when the others have told it */
        vkt__sleep_ms(c->rank == 0 ? 3000 : 1000); /* by when rank 0 has opened, too */
        st = vkt__fail(VKT_E_ARG, "test", "found by all");
    } else if (!strcmp(what, "differs")) {
        st = vkt__comm_same(c, "recipe", c->rank == 1 ? "a: 1\n  lr: 2\n" : "a: 1\n  lr: 1\n");
        if (st == VKT_OK) st = vkt__comm_barrier(c);
    } else if (!strcmp(what, "hangs") && c->rank == 1) {
        printf("pid %d\n", vkt__pid());
        fflush(stdout);
        vkt__sleep_ms(60000);
    } else if (!strcmp(what, "hangs")) {
        st = vkt__comm_barrier(c);
    } else if (!strcmp(what, "time")) {
        enum { N = 10 << 20 };
        float *x = vkt__alloc(N * sizeof *x);
        double best = 1e9;
        for (int i = 0; i < 8; i++) {
            vkt__comm_barrier(c);
            double start = vkt__now();
            st = vkt__comm_sum(c, x, N);
            best = VKT_MIN(best, vkt__now() - start);
        }
        if (c->rank == 0) printf("40 MiB: %.1f ms\n", 1e3 * best);
        free(x);
    }
    return (int)vkt_comm_close(&c, st);
}

int main(int argc, char **argv)
{
    if (argc > 1) return as_rank(argv[1]);
    const struct CMUnitTest tests[] = { cmocka_unit_test(alone), cmocka_unit_test(pieces_cover_all),
                                        cmocka_unit_test(launchers_are_known) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
