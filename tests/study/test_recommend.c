/* What studies recommend from noisy measurements: the best rate of single runs, a batch size by
 * repeated times; and what folds say of labels. */
#include "testing.h"

#define DIR "test_recommend_tmp"
#include "own_folder.h"

#include "runs/run_folder.h"
#include "study/batch_choice.h"
#include "study/study_run.h"

/* A loss over the rate with its least at `least`, measured at rates a factor 1.5 apart
 * with noise: where the fit is, in multiples of `least`. */
static double fitted(double least, double noise, uint64_t seed, double *argmin)
{
    enum { POINTS = 15 };
    double lr[POINTS], cost[POINTS];
    size_t best = 0;
    for (size_t i = 0; i < POINTS; i++) {
        lr[i] = 0.01 * pow(1.5, (double)i - 7);
        double x = log(lr[i] / least);
        cost[i] = x * x / 4 + noise * vkt_rand_normal(seed, VKT_RNG_TEST, i);
        if (cost[i] < cost[best]) best = i;
    }
    *argmin = lr[best] / least;
    return vkt__lr_fit(lr, cost, POINTS, best) / least;
}

static void the_best_rate_is_more_than_one_lucky_run(void **state)
{
    (void)state;
    double argmin, off = 0, off_argmin = 0;
    REQUIRE_NEAR(fitted(0.013, 0, 0, &argmin), 1, 1e-9); /* a parabola is found exactly */
    int far = 0, far_argmin = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        double fit = fitted(0.013, 0.2, seed, &argmin);
        assert_true(isfinite(fit));
        off += log(fit) * log(fit) / 300, off_argmin += log(argmin) * log(argmin) / 300;
        far += fabs(log(fit)) > log(2), far_argmin += fabs(log(argmin)) > log(2);
    }
    print_message("off by %.2f, the best run by %.2f; past a factor 2 in %d and %d of 300\n",
                  sqrt(off), sqrt(off_argmin), far, far_argmin);
    assert_true(off < 0.5 * off_argmin && far < far_argmin / 3);
    /* No guess where there is nothing to fit. */
    const double few[] = { NAN, 1, 2, INFINITY }, line[] = { 1, 2, 3, 4 };
    const double near[] = { 0.01, 0.02, 0.04, 0.08 };
    assert_true(isnan(vkt__lr_fit(near, few, 4, 1)));
    assert_true(isnan(vkt__lr_fit(near, line, 4, 0)));
    assert_true(isnan(vkt__lr_fit(near, (double[]) { 1.1, 1, 1.1, 0.5 }, 4, 1)));
}

/* Times of sizes 8 to 512 whose throughput stops rising at `knee`; each measured n times on a
 * machine that makes them longer by up to `noise`, at random. */
static vkt__batch_choice measured(double knee, double noise, size_t n, uint64_t seed)
{
    enum { SIZES = 7, MOST = 7 };
    double ms[SIZES][MOST];
    vkt__batch_times z[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        uint32_t batch = 8u << i;
        z[i] = (vkt__batch_times) { batch, ms[i], n };
        for (size_t k = 0; k < n; k++)
            ms[i][k] = fmax(batch, knee) *
                       (1 + noise * vkt_rand_uniform(seed, VKT_RNG_TEST, i * MOST + k));
    }
    return vkt__batch_choose(z, SIZES);
}

static void a_batch_size_is_certain_or_not(void **state)
{
    (void)state;
    vkt__batch_choice c = measured(64, 0.02, 3, 1);
    assert_true(c.certain && c.pays == 3 && c.low == 3 && c.high == 3 && c.share > 0.99);
    assert_int_equal(measured(1, 0.02, 3, 1).pays, 0);
    assert_int_equal(measured(4096, 0.02, 3, 1).pays, 6);
    /* 160 against 128 pays by a quarter, 256 against 160 does not. */
    c = measured(160, 0.02, 3, 2);
    assert_true(c.certain && c.pays == 5);
    c = measured(140.8, 0.04, 5, 3); /* just a tenth: nobody can tell */
    assert_true(!c.certain && c.low == 4 && c.high == 5);
    /* Two studies in a row on a machine on which a step takes up to three times as long: all but a
     * few agree or say that they can't tell. */
    static const double noise[] = { 0.1, 0.25, 0.5, 1, 2 };
    for (size_t i = 0; i < VKT_COUNT(noise); i++) {
        int differ = 0, tell = 0;
        for (uint64_t seed = 0; seed < 200; seed++) {
            vkt__batch_choice a = measured(64, noise[i], 7, 100 + 2 * seed),
                              b = measured(64, noise[i], 7, 101 + 2 * seed);
            differ += a.certain && b.certain && a.pays != b.pays;
            tell += a.certain;
        }
        print_message("times up to %g%% longer: %d of 200 studies are certain, %d of 200 pairs "
                      "are and differ\n",
                      100 * noise[i], tell, differ);
        assert_true(differ <= 4 && tell >= (noise[i] < 0.2 ? 190 : 0));
    }
}

/* Eighth, quarter, half, all; three seeds each. */
static void more_data_is_worth_it_where_the_result_still_grows(void **state)
{
    (void)state;
    static const double grows[] = { 0.60, 0.62, 0.61, 0.70, 0.72, 0.71,
                                    0.78, 0.79, 0.80, 0.85, 0.86, 0.855 },
                        flattens[] = { 0.60, 0.62, 0.61, 0.80, 0.81, 0.80,
                                       0.85, 0.86, 0.86, 0.86, 0.85, 0.865 },
                        flat[] = { 0.85, 0.87, 0.86, 0.86, 0.85, 0.86,
                                   0.87, 0.85, 0.86, 0.86, 0.87, 0.855 },
                        one[] = { 0.6, NAN, NAN, 0.7, NAN, NAN, 0.8, NAN, NAN, 0.9, NAN, NAN };
    /* A seed's weights add as much to each size: the gain is the same for all of them. */
    static const double by_seed[] = { 0.40, 0.60, 0.80, 0.45, 0.65, 0.86,
                                      0.49, 0.70, 0.90, 0.53, 0.73, 0.93 };
    static const double no_eighth[] = { NAN, NAN,  NAN,  0.7, 0.72, 0.71,
                                        0.8, 0.82, 0.81, 0.8, 0.82, 0.80 };
    double losses[12];
    vkt__data_verdict v = vkt__data_verdict_of(grows, 4, 3, 1);
    assert_true(v.shown && v.whole_shown);
    REQUIRE_NEAR(v.gain, 0.065, 1e-9);
    REQUIRE_NEAR(v.critical, 4.303, 1e-3);
    assert_true(v.next_low > 0 && v.next_low < v.next_high && v.next_high <= v.gain);
    for (int i = 0; i < 12; i++) losses[i] = 1 - grows[i]; /* a loss falls */
    vkt__data_verdict w = vkt__data_verdict_of(losses, 4, 3, -1);
    assert_true(w.shown);
    REQUIRE_NEAR(w.next_low, v.next_low, 1e-9);
    v = vkt__data_verdict_of(flattens, 4, 3, 1);
    assert_true(!v.shown && v.whole_shown);
    v = vkt__data_verdict_of(flat, 4, 3, 1);
    assert_true(!v.shown && !v.whole_shown);
    v = vkt__data_verdict_of(grows, 4, 3, -1); /* worse with more data is no gain */
    assert_true(!v.shown && !v.whole_shown);
    assert_true(vkt__data_verdict_of(by_seed, 4, 3, 1).shown);
    v = vkt__data_verdict_of(one, 4, 3, 1);
    assert_true(!v.shown && !v.whole_shown);
    assert_true(vkt__data_verdict_of(flat, 4, 3, 1).whole_known);
    assert_false(vkt__data_verdict_of(no_eighth, 4, 3, 1).whole_known);
}

/* Run f of a study, whose list has `listed` of n_doubtful rows; n_judged 0: it has no result. */
static void put_fold(vkt_study_trial *t, size_t f, uint64_t n_judged, uint64_t n_doubtful,
                     int listed)
{
    vkt__run *r;
    vkt__run_record rec = vkt__run_record_empty();
    vkt__str list = { 0 };
    char path[100];
    snprintf(t->name, sizeof t->name, "trial-%04zu", f);
    if (!n_judged) return;
    rec.status = "done", rec.name = "n";
    rec.n_judged = n_judged, rec.n_doubtful = n_doubtful;
    snprintf(path, sizeof path, DIR "/%s", t->name);
    REQUIRE_OK(vkt__run_open(path, "x", false, &r));
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
    vkt__str_printf(&list, "index,where,target,predicted,p(predicted),p(target),picture\n");
    for (int i = 0; i < listed; i++)
        vkt__str_printf(&list, "%d,line %d,a,b,0.9,%g,%s\n", i, i,
                        0.01 * (double)(f % 2 ? listed - i : i + 1), i ? "" : "p.png");
    snprintf(path, sizeof path, DIR "/%s/valid-doubtful.csv", t->name);
    REQUIRE_OK(vkt__file_replace(path, list.data, list.len));
    vkt__str_finish(&list);
}

/* Lists end at some length: what is counted is what the folds found. */
static void labels_are_counted_beyond_the_lists(void **state)
{
    (void)state;
    struct vkt__study_private *p = vkt__alloc(sizeof *p);
    vkt_study *s = vkt__alloc(sizeof *s);
    s->priv = p;
    s->dir = DIR;
    s->trials = vkt__alloc(3 * sizeof *s->trials);
    put_fold(&s->trials[0], 0, 500, 40, 2);
    put_fold(&s->trials[1], 1, 500, 2, 2);
    put_fold(&s->trials[2], 2, 0, 0, 0);
    REQUIRE_OK(vkt__study_labels(s, 0, 3));
    assert_int_equal(s->n_advice, 2);
    assert_non_null(strstr(s->advice[0], "42 of 1000 labels are contradicted"));
    assert_non_null(strstr(s->advice[0], "/doubtful.csv lists 4 of them, the surest first"));
    assert_non_null(strstr(s->advice[1], "1 of 3 folds have no result"));
    char *text;
    size_t n; /* of equal ones the earlier fold first, though it has its row later */
    REQUIRE_OK(vkt__file_read(DIR "/doubtful.csv", 1 << 16, &text, &n));
    assert_string_equal(text, "fold,where,target,predicted,p(predicted),p(target),picture\n"
                              "0,line 0,a,b,0.9,0.01,trial-0000/p.png\n1,line 1,a,b,0.9,0.01,\n"
                              "0,line 1,a,b,0.9,0.02,\n1,line 0,a,b,0.9,0.02,trial-0001/p.png\n");
    free(text);
    REQUIRE_OK(vkt__study_labels(s, 1, 1));
    assert_non_null(strstr(s->advice[2], "2 of 500 labels are contradicted"));
    assert_non_null(strstr(s->advice[2], "/doubtful.csv lists them, the surest first"));
    assert_int_equal(s->n_advice, 3);
    vkt_study_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_rate_is_more_than_one_lucky_run),
        cmocka_unit_test(a_batch_size_is_certain_or_not),
        cmocka_unit_test(more_data_is_worth_it_where_the_result_still_grows),
        cmocka_unit_test(labels_are_counted_beyond_the_lists),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
