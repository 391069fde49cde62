/* Studies without a device: spaces and what is wrong in them, the Halton sequence, curves. */
#include "testing.h"

#include "base/os.h"
#include "study/space.h"
#include "study/study_run.h"
#include "runs/curve.h"
#include "vktrain/vktrain.h"

/* ---- spaces ---- */

static vkt__arena arena;
static const char recipe[] = "data: {source: digits}\nmodel: [{linear: 64}, relu, {dropout: 0.1}, "
                             "{residual: [{linear: 64}, relu]}, linear]\n";

static vkt_status parse(const char *text, vkt__space *s)
{
    return vkt__space_parse(&arena, text, strlen(text), "s.yaml", recipe, s);
}

static void refused(const char *text, const char *why)
{
    vkt__space s;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(parse(text, &s), VKT_E_ARG);
    REQUIRE_LOGGED(why);
}

static void wrong_spaces_say_line_and_reason(void **state)
{
    (void)state;
    refused("optim.lr: {log: [0.1, 0.001]}",
            "s.yaml:1: optim.lr: the range from 0.1 to 0.001 is empty");
    refused("optim.lr: {linear: [1, 1]}", "is empty");
    refused("space:\n  optim.lr: {log: [0, 1]}",
            "s.yaml:2: optim.lr: a logarithmic range can't begin at 0");
    refused("optim.lr: {log: [-1, 1]}", "can't begin at -1");
    refused("optim.beta1: {log_one_minus: [0.5, 1]}", "below 1");
    refused("optim.lrr: {log: [0.1, 1]}", "did you mean 'optim.lr'");
    refused("optim.lr: {lgo: [0.1, 1]}", "did you mean 'log'");
    refused("optim.lr: {log: [0.1]}", "two numbers");
    refused("optim.lr: {log: [0.1, 1, 2]}", "two numbers");
    refused("optim.lr: {log: [a, b]}", "two numbers");
    refused("optim.lr: 0.1", "needs {log");
    refused("optim.lr: {log: [0.1, 1e9]}", "out of range");
    refused("optim.rule: {log: [0.1, 1]}", "is not a number");
    refused("optim.rule: [adam, sgdd]", "did you mean 'sgd'");
    refused("optim.rule: []", "empty");
    refused("optim.lr: {log: [0.1, 1], linear: [0.1, 1]}", "two ranges");
    refused("optim.lr: {when: {optim.rule: adam}}", "has no range");
    refused("optim.momentum: {linear: [0.1, 0.9], when: {optim.rule: sgd}}",
            "'optim.rule' must come before");
    refused("optim.rule: [adam]\noptim.momentum: {linear: [0.1, 0.9], when: {optim.rule: sgd}}",
            "'sgd' is not a choice of optim.rule");
    refused("optim.lr: {log: 3}", "a range must be a list of two numbers");
    refused("optim.rule: {choice: adam}", "choices must be a list");
    refused("optim.rule: [[adam]]", "a choice must be one value");
    refused("model: [relu]", "a choice must be a list of layers");
    refused("optim.lr: {log: [0.1, 1], when: adam}", "`when` needs one condition");
    refused("optim.rule: [adam]\noptim.lr: {log: [0.1, 1], when: {optim.rule: [[adam]]}}",
            "`when` needs one value or a list of them");
    refused("optim.lr: {log: [0.1, 1], role: nuisanse}", "did you mean 'nuisance'");
    refused("optim.lr: {log: [0.1, 1], role: [nuisance]}", "role is not one of");
    refused("optim.lr: {fixed: [0.1]}", "a fixed value must be one value");
    refused("optim.lr: {log: [0.1, 1], role: fixed}", "has the role fixed, but a range");
    refused("optim.rule: [adam]\noptim.lr: {log: [0.1, 1], when: {optim.rule: adam}, role: "
            "scientific}",
            "a scientific metaparameter must be in all trials");
    refused("optim.lr: [{log: [0.1, 1]}, {log: [1, 2]}]", "has several ranges");
    refused("optim.rule: [adam, sgd]\noptim.lr: [{log: [0.1, 1], when: {optim.rule: adam}}, {log: "
            "[1, 2], when: {optim.rule: [sgd, adam]}}]",
            "has two ranges for optim.rule=adam");
    refused("optim.lr: {fixed: 0.1}", "all values are fixed: nothing is searched");
    refused("model.9.out: {linear: [1, 2]}", "there is no layer '9'");
    refused("", "a search space has lines of");
    refused("- a", "a search space has lines of");
    vkt__str many = { 0 };
    vkt__str_printf(&many, "train.accumulate: [1");
    for (int i = 2; i <= VKT__MAX_CHOICES + 1; i++) vkt__str_printf(&many, ", %d", i);
    vkt__str_printf(&many, "]\n");
    refused(many.data, "more than 64 choices");
    vkt__str_finish(&many);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void models_are_searched(void **state)
{
    (void)state;
    vkt__space s;
    const char *set[8];
    const double low[8] = { 0 }, high[8] = { .999, .999, .999, .999 };
    REQUIRE_OK(parse("model.0.out: {log: [16, 256]}\nmodel.2: {linear: [0, 0.5]}\n"
                     "model.3.body.0.init: [kaiming, xavier]\n",
                     &s));
    assert_int_equal(vkt__space_point(&s, low, &arena, set), 3);
    assert_string_equal(set[0], "model.0.out=16");
    assert_string_equal(set[1], "model.2=0");
    assert_string_equal(set[2], "model.3.body.0.init=kaiming");
    vkt__space_point(&s, high, &arena, set);
    assert_int_equal(atof(strchr(set[0], '=') + 1), 255); /* whole */
    REQUIRE_OK(parse("model:\n  - [{linear: 32}, relu, linear]\n"
                     "  - [{linear: {out: 64, name: \"big\"}}, linear]\n",
                     &s));
    assert_int_equal(vkt__space_point(&s, high, &arena, set), 1);
    assert_string_equal(set[0], "model=[{linear: {out: 64, name: \"big\"}}, linear]");
    refused("model.9.out: [1, 2]", "s.yaml:1: model.9.out: the recipe: there is no layer '9'");
    refused("model.0.bias: {linear: [0, 1]}", "is not a number: give a list of choices");
    refused("model: [relu, linear]", "a choice must be a list of layers");
    refused("model: [[linaer]]", "did you mean 'linear'");
    refused("model: {linear: [1, 2]}", "is not a number");
}

static void points_stay_in_the_space(void **state)
{
    (void)state;
    vkt__space s;
    const char *set[VKT__MAX_AXES];
    REQUIRE_OK(parse("optim.rule: [adam, nesterov]\n"
                     "optim.lr: {log: [1e-4, 1e-1]}\n"
                     "train.accumulate: {linear: [1, 4]}\n"
                     "optim.momentum: {linear: [0.8, 0.99], when: {optim.rule: nesterov}}\n"
                     "optim.beta1: {log_one_minus: [0.9, 0.99]}\n",
                     &s));
    int seen[5] = { 0 }, below = 0, conditional = 0;
    for (uint64_t i = 0; i < 400; i++) {
        double u[VKT__MAX_AXES];
        for (uint32_t x = 0; x < s.n; x++) u[x] = vkt__halton(3, x, i);
        size_t n = vkt__space_point(&s, u, &arena, set);
        bool nesterov = !strcmp(set[0], "optim.rule=nesterov");
        assert_int_equal(n, nesterov ? 5 : 4);
        conditional += nesterov;
        double lr = atof(strchr(set[1], '=') + 1), beta = atof(strchr(set[n - 1], '=') + 1);
        assert_true(lr >= 1e-4 && lr <= 1e-1 && beta >= 0.9 && beta <= 0.99);
        below += lr < sqrt(1e-5); /* the middle of a logarithmic range */
        int whole = atoi(strchr(set[2], '=') + 1);
        assert_in_range(whole, 1, 4);
        seen[whole]++;
    }
    /* A low-discrepancy sequence: shares are off by far less than random ones (10 of 200). */
    assert_in_range(conditional, 196, 204);
    assert_in_range(below, 195, 205);
    for (int k = 1; k <= 4; k++) assert_in_range(seen[k], 92, 108);
    REQUIRE_NEAR(vkt__axis_position(&s.axis[1], 1e-4), 0, 0);
    REQUIRE_NEAR(vkt__axis_position(&s.axis[1], 1e-1), 1, 1e-12);
}

/* The first b^k points of each axis fall into b^k equal cells, one each. */
static void halton_is_stratified(void **state)
{
    (void)state;
    static const uint32_t base[] = { 2, 3, 5, 7, 11 };
    for (uint32_t dim = 0; dim < 5; dim++) {
        uint32_t n = base[dim] * base[dim];
        bool hit[121] = { false };
        for (uint32_t i = 0; i < n; i++) {
            uint32_t cell = (uint32_t)(vkt__halton(7, dim, i) * n);
            assert_true(cell < n && !hit[cell]);
            hit[cell] = true;
        }
    }
    assert_true(vkt__halton(1, 0, 5) !=
                vkt__halton(2, 0, 5)); /* the scrambling depends on the seed */
}

/* ---- curves ---- */

enum { N = 300 };
static double noise(uint64_t i)
{
    return 0.1 * vkt_rand_normal(5, VKT_RNG_TEST, i);
}

static void falling(double *v, double scale)
{
    for (int i = 0; i < N; i++) v[i] = 0.5 + 2 * exp(-i / 40.0) + scale * noise((uint64_t)i);
}

static void a_rise_is_told_from_noise(void **state)
{
    (void)state;
    double v[N];
    for (double scale = 0; scale <= 2; scale += 1) {
        falling(v, scale);
        assert_false(vkt__curve_rise(v, N).rises);
    }
    falling(v, 1);
    for (int i = 150; i < 220; i++) v[i] += 1; /* an instability in the middle */
    vkt__rise r = vkt__curve_rise(v, N);
    assert_true(r.rises && r.by > 0.8 && r.by < 1.2 && r.to >= 150 && r.to < 225);
    falling(v, 1);
    for (int i = 10; i < 40; i++) v[i] += 3; /* early, then it recovers */
    assert_true(vkt__curve_rise(v, N).rises);
    for (int i = 0; i < N; i++) v[i] = 2.3 + 0.02 * i + noise((uint64_t)i); /* only up */
    assert_true(vkt__curve_rise(v, N).rises);
    for (int i = 0; i < N; i++) v[i] = 2.3 + noise((uint64_t)i); /* flat */
    assert_false(vkt__curve_rise(v, N).rises);
    assert_true(!r.early);
    v[7] = NAN;
    r = vkt__curve_rise(v, N);
    assert_true(r.rises && isinf(r.by));
    assert_false(vkt__curve_rise(v, 5).rises);
    assert_false(vkt__curve_rise(v, 0).rises);
}

/* Short runs on few examples: each window has five values, whose spread says little. */
static void short_noisy_runs_rarely_rise(void **state)
{
    (void)state;
    enum { STEPS = 120 };
    double v[STEPS];
    int rises = 0, seen = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        for (int i = 0; i < STEPS; i++)
            v[i] = (0.23 + 1.3 * exp(-i / 20.0)) *
                   (1 + 0.2 * vkt_rand_normal(seed, VKT_RNG_TEST, (uint64_t)i));
        rises += vkt__curve_rise(v, STEPS).rises;
        for (int i = 80; i < STEPS; i++) v[i] += 0.5;
        seen += vkt__curve_rise(v, STEPS).rises;
    }
    print_message("of 1000 short noisy curves %d rise, of those that do %d are seen\n", rises,
                  seen);
    assert_true(rises <= 12 && seen >= 980);
}

/* Steps 1 to 5 of an unstable start that recovers: less than a window of the medians. */
static void an_early_spike_is_seen(void **state)
{
    (void)state;
    static const double start[] = { 3.83, 4.35, 5.62, 4.1, 3.6 };
    double v[N];
    falling(v, 1);
    for (int i = 0; i < 5; i++) v[i] = start[i];
    vkt__rise r = vkt__curve_rise(v, N);
    assert_true(r.rises && r.early && r.from == 0 && r.to == 2);
    REQUIRE_NEAR(r.by, 5.62 - 3.83, 1e-12);
    falling(v, 1);
    v[1] = 1.8 * v[0]; /* a batch of odd examples: the next step is as before */
    assert_false(vkt__curve_rise(v, N).rises);
    v[2] = 1.3 * v[0];
    r = vkt__curve_rise(v, N);
    assert_true(r.early && r.to == 1);
    /* Batches of four: noise with a heavy tail, that falls with the loss, is rarely a spike. */
    int spikes = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        for (int i = 0; i < N; i++) {
            v[i] = 0;
            for (int k = 0; k < 4; k++)
                v[i] -= (0.5 + 2 * exp(-i / 40.0)) / 4 *
                        log(1 - vkt_rand_uniform(seed, VKT_RNG_TEST, (uint64_t)(4 * i + k)));
        }
        spikes += vkt__curve_rise(v, N).early;
    }
    assert_in_range(spikes, 0, 10);
}

/* Coming down from a bad start to the loss of guessing among 26 classes, ln 26 = 3.258, is not
 * training, whatever share of a short reference's fall it is. */
static void guessing_is_not_stable(void **state)
{
    (void)state;
    vkt_study_trial t = { .state = VKT_TRIAL_DONE, .first_loss = 3.83, .final_loss = 3.398 };
    assert_string_equal(vkt__trial_word_near(&t, 3.2), "falls behind");
    assert_string_equal(vkt__trial_word(&t, 1.4), "hardly learns");
    t.final_loss = 3.9; /* above where it began, and so is the reference */
    assert_string_equal(vkt__trial_word(&t, 4.1), "hardly learns");
    t.final_loss = 1.6;
    assert_string_equal(vkt__trial_word_near(&t, 1.4), "stable");
    assert_string_equal(vkt__trial_word_near(&t, NAN), "stable");
    t.rise = 0.2;
    assert_string_equal(vkt__trial_word_near(&t, 1.4), "loss rises");
}

static void a_difference_is_shown_by_disjoint_ranges(void **state)
{
    (void)state;
    vkt__comparison c = {
        .recipe_low = 1, .recipe_high = 2, .candidate_low = 2.1, .candidate_high = 3
    };
    assert_true(vkt__comparison_shows(&c, 3));
    assert_false(vkt__comparison_shows(&c, 2)); /* by chance in every third case */
    assert_false(vkt__comparison_shows(&c, 1));
    c.candidate_low = 2;
    assert_false(vkt__comparison_shows(&c, 3));
    c.candidate_low = c.candidate_high = 0.5;
    assert_true(vkt__comparison_shows(&c, 3));
}

/* 500 evaluations, one a step: what begins to rise at the 300th is seen; overfitting is not that.
 */
static void all_early_evaluations_are_read(void **state)
{
    (void)state;
    enum { STEPS = 500 };
    static vkt_history_step steps[STEPS];
    static vkt_history_eval evals[STEPS];
    vkt_history h = { .steps = steps, .evals = evals, .n_steps = STEPS, .n_evals = STEPS };
    for (int i = 0; i < STEPS; i++) {
        double rise = i > 300 ? 0.01 * (i - 300) : 0;
        steps[i] =
            (vkt_history_step) { .step = (uint64_t)i + 1,
                                 .loss = 1 + exp(-i / 50.0) + rise + 0.2 * noise((uint64_t)i) };
        evals[i] =
            (vkt_history_eval) { .step = (uint64_t)i + 1, .loss = 1.1 + exp(-i / 50.0) + rise };
    }
    vkt__early e = vkt__early_read(&h);
    assert_true(e.rises && e.n == STEPS && e.from > 200 && e.to > 480 && e.by > 1.5);
    for (int i = 0; i < STEPS; i++) steps[i].loss = 1 - 0.001 * i; /* training falls on */
    assert_false(vkt__early_read(&h).rises);
    for (int i = 300; i < STEPS; i++) evals[i].loss = 1.1;
    evals[2].loss = 4; /* the second update threw it off */
    e = vkt__early_read(&h);
    assert_true(e.rises && e.to == 3);
}

static void late_instability_falls_first(void **state)
{
    (void)state;
    double v[N];
    vkt__rise r;
    for (int i = 0; i < N; i++) v[i] = (i < 150 ? 3 - 0.008 * i : 3.2) + noise((uint64_t)i);
    assert_true(vkt__late_read(v, N, &r));
    assert_true(r.from > 120 && r.from < 160 && r.before > 0.8 && r.by > 1);
    for (int i = 0; i < N; i++) v[i] = 3 + 0.01 * i + noise((uint64_t)i); /* never fell */
    assert_false(vkt__late_read(v, N, &r));
    falling(v, 1);
    assert_false(vkt__late_read(v, N, &r));
}

static void one_point_at_an_end_is_chance(void **state)
{
    (void)state;
    assert_true(vkt__at_end((double[]) { 0.95, 0.4, 0.8 }, 3));
    assert_true(vkt__at_end((double[]) { 0.02, 0.2, 0.9 }, 3));
    assert_false(vkt__at_end((double[]) { 0.02, 0.6, 0.9 }, 3));
    assert_false(vkt__at_end((double[]) { 0.15, 0.1, 0.1 }, 3));
    assert_false(vkt__at_end((double[]) { 0.02, 0.5, 0.5, 0.01 }, 4));
    assert_false(vkt__at_end((double[]) { 0.02 }, 1));
    assert_false(vkt__at_end((double[]) { NAN, 0, 0 }, 3));
    vkt__space s; /* an axis knows what its option takes */
    REQUIRE_OK(parse("optim.weight_decay: {linear: [0, 3]}", &s));
    assert_true(s.axis[0].low <= s.axis[0].least && s.axis[0].high < s.axis[0].most);
}

static void times_that_cannot_be_are_measured_again(void **state)
{
    (void)state;
    static const double bad[] = { 3.73, 2.65, 0.42, 3.94, 0.28 }, good[] = { 2.1, 1.22, 0.95, 1.9 };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) assert_true(vkt__ratio_is_odd(bad[i]));
    for (size_t i = 0; i < VKT_COUNT(good); i++) assert_false(vkt__ratio_is_odd(good[i]));
    REQUIRE_NEAR(vkt__spread((double[]) { 2, 1, 3 }, 3), 1, 1e-15);
    /* One of many was disturbed. */
    REQUIRE_NEAR(vkt__spread((double[]) { 2, 2, 9, 2, 2, 2 }, 6), 0, 1e-15);
    REQUIRE_NEAR(vkt__spread((double[]) { 5 }, 1), 0, 0);
}

/* A loss that falls fastest at 10^-2.5, is lowest at about 0.1 and leaves it, with noise. */
static void a_ramp_is_read(void **state)
{
    (void)state;
    enum { STEPS = 400 };
    double lr[STEPS], loss[STEPS];
    for (int i = 0; i < STEPS; i++) {
        double at = -5 + 7.0 * i / (STEPS - 1); /* decimal logarithm of the rate */
        lr[i] = pow(10, at);
        loss[i] = 2.3 - 2 / (1 + exp(-3 * (at + 2.5))) + (at > -1 ? pow(at + 1, 3) : 0) +
                  0.02 * vkt_rand_normal(3, VKT_RNG_TEST, (uint64_t)i);
    }
    vkt__ramp r = vkt__ramp_read(lr, loss, STEPS);
    assert_true(r.falls && r.steepest > 1e-3 && r.steepest < 1e-2); /* 10^-2.5 */
    assert_true(r.lowest > 3e-2 && r.lowest < 1 && r.rises > r.lowest && r.rises < 20);
    for (int i = 240; i < STEPS; i++) loss[i] = NAN; /* it diverged there */
    r = vkt__ramp_read(lr, loss, STEPS);
    assert_true(r.falls && r.rises > lr[230] && r.rises < lr[260]);
    r = vkt__ramp_read(lr, loss, 240); /* it ended before it rose */
    assert_true(r.falls && isnan(r.rises));
    for (int i = 0; i < STEPS; i++) loss[i] = 1 + i;
    assert_false(vkt__ramp_read(lr, loss, STEPS).falls);
    loss[0] = NAN;
    assert_false(vkt__ramp_read(lr, loss, STEPS).falls);
    assert_false(vkt__ramp_read(lr, loss, 0).falls);
}

static void periods_are_found(void **state)
{
    (void)state;
    double v[60];
    size_t lag;
    for (int i = 0; i < 60; i++)
        v[i] = exp(-i / 20.0) + 0.05 * sin(6.2832 * i / 6) + 0.1 * noise((uint64_t)i);
    assert_true(vkt__periodicity(v, 60, &lag) > 0.6);
    assert_int_equal(lag, 6);
    for (int i = 0; i < 60; i++) v[i] = exp(-i / 20.0) + 0.3 * noise((uint64_t)i);
    assert_true(vkt__periodicity(v, 60, &lag) < 0.5);
    assert_true(vkt__periodicity(v, 5, &lag) == 0);
}

static void quantiles(void **state)
{
    (void)state;
    const double v[] = { 3, NAN, 1, 2, 4 };
    REQUIRE_NEAR(vkt__median(v, 5), 2.5, 0);
    REQUIRE_NEAR(vkt__quantile(v, 5, 0), 1, 0);
    REQUIRE_NEAR(vkt__quantile(v, 5, 1), 4, 0);
    REQUIRE_NEAR(vkt__quantile(v, 5, 0.9), 3.7, 1e-15);
    assert_true(isnan(vkt__median(v, 0)));
    assert_true(isnan(vkt__median(v + 1, 1)));
}

/* ---- a run's history ---- */

static void damaged_lines_are_left_out_and_said(void **state)
{
    (void)state;
    static const char text[] =
        "{\"kind\":\"train\",\"step\":1,\"loss\":2.5,\"grad_norm\":1,\"clip\":0.5,\"lr\":0.1,"
        "\"seconds\":0.1}\n"
        "{\"kind\":\"train\",\"step\":2,\"loss\":\n"
        "not json at all\n"
        "{\"kind\":\"train\",\"step\":-2,\"loss\":1}\n"
        "{\"kind\":\"train\",\"step\":3,\"loss\":null,\"grad_norm\":null,\"update_ok\":0}\n"
        "{\"kind\":\"eval\",\"step\":3,\"split\":\"valid\",\"loss\":2,\"n\":4,\"class_n\":[2,2],"
        "\"class_correct\":[1,2]}\n"
        "{\"kind\":\"eval\",\"step\":3,\"split\":\"valid\",\"loss\":2,\"n\":4,\"class_n\":[2,\"x\"]"
        ",\"class_correct\":[1,2]}\n"
        "{\"kind\":\"train\",\"step\":4,\"lo";
    vkt_history *h;
    REQUIRE_OK(vkt__mkdirs("ts_history"));
    REQUIRE_OK(vkt__file_replace("ts_history/metrics.jsonl", text, sizeof text - 1));
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_history_load("ts_history", &h));
    REQUIRE_LOGGED("3 damaged lines are skipped, the first is line 2");
    assert_int_equal(h->n_steps, 2);
    assert_int_equal(h->n_evals, 2);
    assert_int_equal(h->evals[0].n_classes, 2);
    assert_int_equal(h->evals[0].class_correct[1], 2);
    assert_int_equal(h->evals[1].n_classes, 0);
    assert_true(isnan(h->steps[1].loss) && !h->steps[1].updated && isinf(h->steps[1].grad_norm));
    /* The rest of a half-written line comes later. */
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%sss\":1.5}\n", text);
    REQUIRE_OK(vkt__file_replace("ts_history/metrics.jsonl", s.data, s.len));
    REQUIRE_OK(vkt_history_update(h));
    assert_int_equal(h->n_steps, 3);
    REQUIRE_NEAR(h->steps[2].loss, 1.5, 0);
    /* A resumed run cuts its file back. */
    REQUIRE_OK(vkt__file_replace("ts_history/metrics.jsonl", text, strchr(text, '\n') + 1 - text));
    REQUIRE_OK(vkt_history_update(h));
    assert_int_equal(h->n_steps, 1);
    assert_int_equal(h->n_damaged, 0);
    vkt_history_destroy(&h);
    REQUIRE_STATUS(vkt_history_load("ts_nothing", &h), VKT_E_IO);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt__str_finish(&s);
    REQUIRE_OK(vkt__remove_tree("ts_history"));
}

/* The first step is not taken. */
static void put_steps(vkt__str *out, int n, const double *ms, double loss_scale)
{
    double at = 0;
    for (int i = 0; i < n; i++) {
        at += 1e-3 * ms[i];
        vkt__str_printf(out,
                        "{\"kind\":\"train\",\"step\":%d,\"loss\":%d,\"grad_norm\":1,\"clip\":1,"
                        "\"loss_scale\":%g,"
                        "\"lr\":0.1,\"seconds\":%.4f,\"update_ok\":%d}\n",
                        i + 1, 9 - i % 2, loss_scale, at, i > 0);
    }
}

/* Other programs only ever add time: where half of the steps were disturbed, the others tell it.
 * The first step's loss counts where its gradient was too large for its scale, not where there was
 * no loss. */
static void disturbed_steps_do_not_count(void **state)
{
    (void)state;
    vkt_study_desc d = { 0 };
    struct vkt__study_private priv = { .desc = &d };
    vkt_study s = { .metric = "loss", .metric_sign = -1, .priv = &priv };
    vkt_config *c;
    double ms[50];
    for (int i = 0; i < 50; i++) ms[i] = i < 10 ? 500 : i < 30 ? 30 : 10;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(vkt__mkdirs("ts_disturbed"));
    for (int overflow = 0; overflow < 2; overflow++) {
        vkt__str text = { 0 };
        vkt_study_trial t = { 0 };
        put_steps(&text, 50, ms, overflow ? 1024 : 1);
        REQUIRE_OK(vkt__file_replace("ts_disturbed/metrics.jsonl", text.data, text.len));
        REQUIRE_OK(vkt__trial_outcome(&s, c, "ts_disturbed", &t));
        REQUIRE_NEAR(t.step_ms, 10, 1e-6);
        assert_true(isnan(t.first_loss) ? !overflow : overflow);
        if (overflow) REQUIRE_NEAR(t.first_loss, 9, 0);
        vkt__str_finish(&text);
    }
    vkt_config_destroy(&c);
    REQUIRE_OK(vkt__remove_tree("ts_disturbed"));
}

/* The last losses are the final one; a target is reached on validation examples. */
static void what_a_trial_says(void **state)
{
    (void)state;
    vkt_study_desc d = { .has_target = true, .target = 1 };
    struct vkt__study_private priv = { .desc = &d };
    vkt_study s = { .metric = "loss", .metric_sign = -1, .priv = &priv };
    vkt_config *c;
    vkt_study_trial t = { 0 };
    vkt__str text = { 0 };
    for (int i = 1; i <= 40; i++) {
        vkt__str_printf(&text,
                        "{\"kind\":\"train\",\"step\":%d,\"loss\":%.3f,\"grad_norm\":1,\"clip\":%g,"
                        "\"lr\":0.1,\"seconds\":%.2f,\"update_ok\":1}\n",
                        i, 4.0 - 0.1 * i + 0.2, i % 8 ? 1 : 0.5, 0.01 * i);
        if (i % 10 == 0)
            vkt__str_printf(
                &text,
                "{\"kind\":\"eval\",\"step\":%d,\"split\":\"test\",\"loss\":0.5,\"n\":4}\n"
                "{\"kind\":\"eval\",\"step\":%d,\"split\":\"valid\",\"loss\":%.1f,"
                "\"n\":4}\n",
                i, i, i < 30 ? 2.0 : 0.9);
    }
    REQUIRE_OK(vkt__mkdirs("ts_outcome"));
    REQUIRE_OK(vkt__file_replace("ts_outcome/metrics.jsonl", text.data, text.len));
    REQUIRE_OK(vkt_config_create(&c));
    c->batch = 10;
    c->accumulate = 3;
    REQUIRE_OK(vkt__trial_outcome(&s, c, "ts_outcome", &t));
    REQUIRE_NEAR(t.clipped, 5.0 / 40, 0); /* those alone that were scaled down */
    REQUIRE_NEAR(t.step_ms, 10, 1e-6);
    REQUIRE_NEAR(t.items_per_s, 3000, 1e-3);
    assert_int_equal(t.steps, 40);
    REQUIRE_NEAR(t.first_loss, 4.1, 1e-9);
    REQUIRE_NEAR(t.final_loss, 0.4, 1e-9); /* the median of the last five */
    assert_int_equal(t.to_target, 30);
    /* A run of four steps has no earlier ones: the median is over all four. */
    t = (vkt_study_trial) { 0 };
    char *fifth = strstr(text.data, "{\"kind\":\"train\",\"step\":5,");
    REQUIRE_OK(
        vkt__file_replace("ts_outcome/metrics.jsonl", text.data, (size_t)(fifth - text.data)));
    REQUIRE_OK(vkt__trial_outcome(&s, c, "ts_outcome", &t));
    REQUIRE_NEAR(t.final_loss, 3.95, 1e-9);
    assert_true(t.steps == 4 && t.to_target == 0 && t.clipped == 0);
    vkt_config_destroy(&c);
    vkt__str_finish(&text);
    REQUIRE_OK(vkt__remove_tree("ts_outcome"));
}

/* Bytes of a good text changed, cut out or doubled, a few at a time: parsed or refused, never a
 * crash (the sanitizers' builds see what this does not). */
static size_t mutate(const char *text, uint64_t round, char *out)
{
    size_t n = strlen(text);
    memcpy(out, text, n);
    for (uint64_t k = 0; k < 1 + round % 4; k++) {
        uint64_t r = 8 * round + k;
        size_t at = vkt_rand_below(1, VKT_RNG_TEST, 3 * r, (uint32_t)n);
        uint32_t way = vkt_rand_below(1, VKT_RNG_TEST, 3 * r + 1, 3);
        if (way == 0) out[at] = (char)vkt_rand_below(1, VKT_RNG_TEST, 3 * r + 2, 256);
        if (way == 1 && n > 8) memmove(out + at, out + at + 1, --n - at);
        if (way == 2) memmove(out + at + 1, out + at, n++ - at);
    }
    return n;
}

static void quiet(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)level, (void)area, (void)line;
}

static void damaged_texts_never_crash(void **state)
{
    (void)state;
    static const char space[] =
        "space:\n  optim.rule: [adam, nesterov]\n  optim.lr: {log: [1e-4, 1e-1]}\n"
        "  optim.momentum: {linear: [0.8, 0.99], when: {optim.rule: nesterov}}\n";
    static const char row[] =
        "{\"kind\":\"eval\",\"step\":3,\"split\":\"valid\",\"loss\":2,\"n\":4,"
        "\"class_n\":[2,2],\"class_correct\":[1,2]}\n{\"kind\":\"train\",\"step\":4}\n";
    char text[sizeof row + sizeof space + 16];
    int accepted = 0;
    vkt_log_set(quiet, NULL, VKT_LOG_ERROR);
    for (uint64_t i = 0; i < 3000; i++) {
        vkt__arena a = { 0 };
        vkt__space s;
        size_t n = mutate(space, i, text);
        accepted += vkt__space_parse(&a, text, n, "s", recipe, &s) == VKT_OK;
        vkt__arena_finish(&a);
    }
    assert_in_range(accepted, 50, 2900); /* both ways are taken */
    REQUIRE_OK(vkt__mkdirs("ts_mutated"));
    for (uint64_t i = 0; i < 300; i++) {
        vkt_history *h;
        FILE *f = fopen("ts_mutated/metrics.jsonl", "wb");
        assert_non_null(f);
        size_t n = mutate(row, i, text);
        assert_int_equal(fwrite(text, 1, n, f), n);
        fclose(f);
        REQUIRE_OK(vkt_history_load("ts_mutated", &h));
        vkt_history_destroy(&h);
    }
    REQUIRE_OK(vkt__remove_tree("ts_mutated"));
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Against SciPy: ttest_1samp of the differences, its t times sqrt(1 / n / (1 / n + 1 / (k - 1))).
 */
static void pairs_of_folds(void **state)
{
    (void)state;
    double v[] = { 0.02, 0.01, NAN, 0.015, 0.03, 0.005 };
    vkt__moments m = vkt__moments_of(v, 6);
    assert_int_equal(m.n, 5);
    REQUIRE_NEAR(m.mean, 0.016, 1e-12);
    REQUIRE_NEAR(m.deviation, 0.009617692030835675, 1e-12);
    vkt__paired p = vkt__paired_of(v, 6, 5);
    REQUIRE_NEAR(p.t, 0.016 / (0.009617692030835675 * sqrt(0.2 + 0.25)), 1e-9);
    REQUIRE_NEAR(p.critical, 2.776, 1e-3);
    assert_false(p.shown); /* 2.48; an uncorrected test has 3.72 and shows it */
    for (int i = 0; i < 6; i++) v[i] = 0.1 + 0.001 * i;
    p = vkt__paired_of(v, 6, 6);
    assert_true(p.shown && p.t > 50);
    assert_false(vkt__paired_of(v, 1, 5).shown);
    double many[31];
    for (int i = 0; i < 31; i++) many[i] = i % 2;
    REQUIRE_NEAR(vkt__paired_of(many, 31, 31).critical, 2.0423, 1e-3);
    REQUIRE_NEAR(vkt__paired_of(many, 11, 11).critical, 2.2281, 3e-3);
}

/* Against published values: means of the largest of n normal numbers (Harter 1961), and standard
 * errors written out. */
static void noise_of_a_validation_set(void **state)
{
    (void)state;
    REQUIRE_NEAR(vkt__luck_of_best(1), 0, 1e-5);
    REQUIRE_NEAR(vkt__luck_of_best(2), 0.56419, 1e-5);
    REQUIRE_NEAR(vkt__luck_of_best(16), 1.76599, 1e-5);
    REQUIRE_NEAR(vkt__luck_of_best(100), 2.50759, 1e-5);
    REQUIRE_NEAR(vkt__standard_error("accuracy", 0.5, 96), 0.0510310, 1e-6);
    REQUIRE_NEAR(vkt__standard_error("accuracy", 1, 96), sqrt(0.98 * 0.02 / 96), 1e-6);
    REQUIRE_NEAR(vkt__standard_error("r2", 0.64, 100), 2 * 0.8 * 0.36 / 10, 1e-9);
    REQUIRE_NEAR(vkt__standard_error("rmse", 3, 50), 0.3, 1e-9);
    REQUIRE_NEAR(vkt__standard_error("mae", 1, 100), 0.0755511, 1e-6);
    assert_true(isnan(vkt__standard_error("loss", 0.4, 100)));
    assert_true(isnan(vkt__standard_error("accuracy", 0.4, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_spaces_say_line_and_reason),
        cmocka_unit_test(models_are_searched),
        cmocka_unit_test(points_stay_in_the_space),
        cmocka_unit_test(halton_is_stratified),
        cmocka_unit_test(a_rise_is_told_from_noise),
        cmocka_unit_test(an_early_spike_is_seen),
        cmocka_unit_test(short_noisy_runs_rarely_rise),
        cmocka_unit_test(guessing_is_not_stable),
        cmocka_unit_test(a_difference_is_shown_by_disjoint_ranges),
        cmocka_unit_test(all_early_evaluations_are_read),
        cmocka_unit_test(late_instability_falls_first),
        cmocka_unit_test(one_point_at_an_end_is_chance),
        cmocka_unit_test(times_that_cannot_be_are_measured_again),
        cmocka_unit_test(a_ramp_is_read),
        cmocka_unit_test(periods_are_found),
        cmocka_unit_test(quantiles),
        cmocka_unit_test(damaged_lines_are_left_out_and_said),
        cmocka_unit_test(disturbed_steps_do_not_count),
        cmocka_unit_test(what_a_trial_says),
        cmocka_unit_test(pairs_of_folds),
        cmocka_unit_test(damaged_texts_never_crash),
        cmocka_unit_test(noise_of_a_validation_set),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    vkt__arena_finish(&arena);
    return failed;
}
