/* What a search is made of, without a device: roles and ranges by condition, the model's points
 * against the sequence's on ten spaces whose best is known, pruning, importance. */
#include "testing.h"

#include "study/forest.h"
#include "study/space.h"
#include "study/study_run.h"
#include "study/gp.h"
#include "study/tpe.h"
#include "runs/curve.h"
#include "vktrain/vktrain.h"

static vkt__arena arena;

static vkt_status parse(const char *text, vkt__space *s)
{
    return vkt__space_parse(&arena, text, strlen(text), "s.yaml", NULL, s);
}

static void refused(const char *text, const char *why)
{
    vkt__space s;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(parse(text, &s), VKT_E_ARG);
    REQUIRE_LOGGED(why);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* ---- spaces ---- */

static void spaces_have_limits(void **state)
{
    (void)state;
    char text[2048];
    size_t n = (size_t)snprintf(text, sizeof text, "train.steps: [1");
    for (int i = 2; i <= VKT__MAX_AXES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ", %d", i);
    n += (size_t)snprintf(text + n, sizeof text - n, "]\noptim.lr:\n");
    for (int i = 1; i <= VKT__MAX_AXES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "  - {log: [1e-4, 1e-2], when: {train.steps: %d}}\n", i);
    refused(text, "s.yaml:26: more than 24 metaparameters");
    refused("model.conv.out: [8, 16]\n",
            "s.yaml:1: model.conv.out: it names a layer, but there is no recipe");
}

static const char by_optimizer[] =
    "optim.rule: {choice: [adam, adamw, nesterov], role: scientific}\n"
    "optim.lr:\n"
    "  - {log: [1e-4, 1e-2], when: {optim.rule: [adam, adamw]}}\n"
    "  - {log: [1e-2, 1], when: {optim.rule: nesterov}}\n"
    "optim.beta2: {fixed: 0.99}\n"
    "loss.label_smoothing: {linear: [0, 0.2], role: nuisance}\n";

static void an_option_has_a_range_for_each_optimizer(void **state)
{
    (void)state;
    vkt__space s;
    const char *set[VKT__MAX_AXES];
    REQUIRE_OK(parse(by_optimizer, &s));
    assert_int_equal(s.n, 5);
    assert_int_equal(s.n_dims, 3); /* both ranges are one dimension, the fixed value is none */
    assert_int_equal(s.axis[0].role, VKT__ROLE_SCIENTIFIC);
    assert_int_equal(s.axis[3].role, VKT__ROLE_FIXED);
    int nesterov = 0;
    for (uint64_t i = 0; i < 90; i++) {
        double u[VKT__MAX_AXES], back[VKT__MAX_AXES];
        vkt__space_halton(&s, 1, i, u);
        size_t n = vkt__space_point(&s, u, &arena, set);
        assert_int_equal(n, 4);
        assert_string_equal(set[2], "optim.beta2=0.99");
        bool other = !strcmp(set[0], "optim.rule=nesterov");
        double lr = atof(strchr(set[1], '=') + 1);
        nesterov += other;
        assert_true(other ? lr >= 1e-2 && lr <= 1 : lr >= 1e-4 && lr <= 1e-2);
        assert_null(vkt__axis_value(&s.axis[other ? 1 : 2], set, n));
        assert_ptr_equal(vkt__axis_value(&s.axis[other ? 2 : 1], set, n), strchr(set[1], '=') + 1);
        vkt__space_locate(&s, set, n, back);
        assert_true(isnan(back[other ? 1 : 2]) && !isnan(back[other ? 2 : 1]));
        REQUIRE_NEAR(back[other ? 2 : 1], u[1], 1e-3); /* four digits */
        REQUIRE_NEAR(back[4], u[4], 1e-3);
        assert_int_equal((int)(back[0] * 3), (int)(u[0] * 3));
    }
    assert_in_range(nesterov, 28, 32);
    REQUIRE_OK(parse("train.accumulate: {linear: [1, 4]}\n", &s));
    for (int k = 1; k <= 4; k++) { /* a whole number is in the middle of what gives it */
        double u;
        const char *one = vkt__arena_printf(&arena, "train.accumulate=%d", k);
        vkt__space_locate(&s, &one, 1, &u);
        vkt__space_point(&s, &u, &arena, set);
        assert_string_equal(set[0], one);
    }
}

static void wrong_roles_and_ranges_are_refused(void **state)
{
    (void)state;
    refused("optim.lr:\n  - {log: [1e-4, 1]}\n  - {log: [1e-2, 1]}\n",
            "needs a `when` on the same");
    refused("optim.rule: [adam, sgd]\noptim.lr:\n  - {log: [1e-4, 1], when: {optim.rule: adam}}\n"
            "  - {log: [1e-2, 1], when: {optim.rule: [sgd, adam]}}\n",
            "s.yaml:4: optim.lr: has two ranges for optim.rule=adam");
    refused("optim.rule: [adam, sgd]\noptim.lr: {log: [1e-4, 1], when: {optim.rule: []}}\n",
            "`when` needs one condition");
    refused("optim.rule: [adam]\noptim.lr: {log: [1e-4, 1], when: {optim.rule: [adam, sgd]}}\n",
            "'sgd' is not a choice of optim.rule");
    refused("optim.lr: {log: [1e-4, 1], role: scientfic}\n", "did you mean 'scientific'");
    refused("optim.lr: {log: [1e-4, 1], role: fixed}\n", "give its value, {fixed: VALUE}");
    refused("optim.lr: {fixed: fast}\n", "fast");
    refused("optim.lr: {fixed: [1, 2]}\n", "a fixed value must be one value");
    refused("optim.lr: {fixed: 0.1}\n", "nothing is searched");
    refused("optim.rule: [adam, sgd]\n"
            "optim.lr: {log: [1e-4, 1], when: {optim.rule: adam}, role: scientific}\n",
            "must be in all trials");
}

/* ---- the model's points ---- */

static double sq(double x)
{
    return x * x;
}

static double bowl(const double *u)
{
    return sq(u[0] - 0.62) + 0.3 * sq(u[1] - 0.35);
}

static double branin(const double *u)
{
    double x = 15 * u[0] - 5, y = 15 * u[1], a = y - 0.129184 * x * x + 1.591549 * x - 6;
    return a * a + 9.602113 * cos(x) + 9.602113;
}

/* Four wells of different widths; a [4, d], p [4, d]. */
static double wells(const double *u, int d, const double *a, const double *p, double least)
{
    static const double depth[4] = { 1, 1.2, 3, 3.2 };
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double e = 0;
        for (int k = 0; k < d; k++) e += a[i * d + k] * sq(u[k] - p[i * d + k]);
        sum -= depth[i] * exp(-e);
    }
    return sum - least;
}

static double hartmann3(const double *u)
{
    static const double a[] = { 3, 10, 30, 0.1, 10, 35, 3, 10, 30, 0.1, 10, 35 };
    static const double p[] = { 0.3689, 0.117,  0.2673, 0.4699,  0.4387, 0.747,
                                0.1091, 0.8732, 0.5547, 0.03815, 0.5743, 0.8828 };
    return wells(u, 3, a, p, -3.86278);
}

static double hartmann6(const double *u)
{
    static const double a[] = { 10, 3,   17,  3.5, 1.7, 8, 0.05, 10, 17,   0.1, 8,   14,
                                3,  3.5, 1.7, 10,  17,  8, 17,   8,  0.05, 10,  0.1, 14 };
    static const double p[] = { 0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886, 0.2329, 0.4135,
                                0.8307, 0.3736, 0.1004, 0.9991, 0.2348, 0.1451, 0.3522, 0.2883,
                                0.3047, 0.665,  0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381 };
    return wells(u, 6, a, p, -3.32237);
}

static double rosenbrock(const double *u)
{
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double x = 4 * u[i] - 2, y = 4 * u[i + 1] - 2;
        sum += 100 * sq(y - x * x) + sq(1 - x);
    }
    return sum;
}

/* A rate that is best just below where training diverges, which momentum moves. */
static double cliff(const double *u)
{
    double e = u[0] - 0.25 * (1 - u[1]) - 0.5;
    return e > 0.12 ? 3 + e : 8 * sq(e) + 0.2 * sq(u[1] - 0.7) + 0.05 * sq(u[2] - 0.5);
}

static double rates(const double *u)
{
    static const double at[] = { 0.5, 0.7, 0.3 }, base[] = { 0.05, 0, 0.15 };
    int k = (int)(u[0] * 3);
    return base[k] + 2 * sq(u[1 + k] - at[k]) + 0.3 * sq(u[4] - 0.4);
}

static double two_of_six(const double *u)
{
    double a = fabs(u[1] - 0.3), b = fabs(u[4] - 0.8);
    return 3 * a * a + b * b + 2 * a * b;
}

static double choices(const double *u)
{
    static const double t[3][4] = { { 0.3, 0.2, 0.5, 0.4 },
                                    { 0.1, 0.25, 0.35, 0.3 },
                                    { 0.2, 0.3, 0, 0.6 } };
    return t[(int)(u[0] * 3)][(int)(u[1] * 4)] + sq(u[2] - 0.6) + 0.5 * sq(u[3] - 0.2);
}

static double ripples(const double *u)
{
    double a = 0, b = 0;
    for (int i = 0; i < 5; i++) {
        double x = 8 * (u[i] - 0.43);
        a += x * x / 5;
        b += cos(3.14159265 * x) / 5;
    }
    return 22.718281828 - 20 * exp(-0.2 * sqrt(a)) - exp(b);
}

#define LR "optim.lr: {log: [1e-4, 1]}\n"
#define SMOOTHING "loss.label_smoothing: {linear: [0, 0.5]}\n"
#define DECAY "optim.weight_decay: {log: [1e-5, 1]}\n"
#define BETA1 "optim.beta1: {log_one_minus: [0.5, 0.99]}\n"
#define BETA2 "optim.beta2: {log_one_minus: [0.9, 0.9999]}\n"
#define MOMENTUM "optim.momentum: {linear: [0.5, 0.99]}\n"

typedef struct problem {
    const char *space;
    double (*loss)(const double *u);
} problem;
static const problem problems[] = {
    { LR SMOOTHING, bowl },
    { LR SMOOTHING, branin },
    { LR SMOOTHING DECAY, hartmann3 },
    { LR SMOOTHING DECAY BETA1 BETA2 MOMENTUM, hartmann6 },
    { LR SMOOTHING DECAY BETA1, rosenbrock },
    { LR "optim.momentum: {log_one_minus: [0.5, 0.99]}\n" DECAY, cliff },
    { "optim.rule: [adam, momentum, rmsprop]\n"
      "optim.lr:\n"
      "  - {log: [1e-4, 0.1], when: {optim.rule: adam}}\n"
      "  - {log: [1e-3, 1], when: {optim.rule: momentum}}\n"
      "  - {log: [1e-5, 0.1], when: {optim.rule: rmsprop}}\n" DECAY,
      rates },
    { BETA1 LR SMOOTHING BETA2 DECAY MOMENTUM, two_of_six },
    { "optim.rule: [adam, momentum, rmsprop]\n"
      "schedule.kind: [constant, cosine, linear, rsqrt]\n" LR DECAY,
      choices },
    { LR SMOOTHING DECAY BETA1 BETA2, ripples },
};

enum { TRIALS = 24, SEEDS = 15, GP_SEEDS = 5 };
typedef struct tried {
    double u[VKT__MAX_AXES], loss;
} tried;

static int by_loss(const void *a, const void *b)
{
    double x = ((const tried *)a)->loss, y = ((const tried *)b)->loss;
    return (x > y) - (x < y);
}

/* The least loss of a search; of the model's points after a third of the sequence's. */
static double search(const problem *p, uint64_t seed, vkt_study_sampler sampler)
{
    vkt__arena a = { 0 };
    vkt__space s;
    tried t[TRIALS];
    const char *set[VKT__MAX_AXES];
    REQUIRE_OK(vkt__space_parse(&a, p->space, strlen(p->space), "s.yaml", NULL, &s));
    for (size_t i = 0; i < TRIALS; i++) {
        double u[VKT__MAX_AXES], seen[TRIALS * VKT__MAX_AXES], loss[TRIALS];
        for (size_t k = 0; k < i; k++) {
            memcpy(seen + k * s.n, t[k].u, s.n * sizeof *u);
            loss[k] = t[k].loss;
        }
        bool model = i >= TRIALS / 3;
        if (model && sampler == VKT_SAMPLER_TPE)
            vkt__tpe_next(&s, seen, i, seed, i, u);
        else if (model && sampler == VKT_SAMPLER_GP)
            vkt__gp_next(&s, seen, loss, i, seed, i, u);
        else
            vkt__space_halton(&s, seed, i, u);
        for (size_t k = 0; k < s.n; k++) assert_true(u[k] >= 0 && u[k] < 1);
        t[i].loss = p->loss(u);
        vkt__space_locate(&s, set, vkt__space_point(&s, u, &a, set), t[i].u);
        qsort(t, i + 1, sizeof *t, by_loss);
    }
    vkt__arena_finish(&a);
    return t[0].loss;
}

/* With 24 trials the median regret falls, over ten spaces in geometric mean. */
static void models_find_better_points_than_the_sequence(void **state)
{
    (void)state;
    double by_tpe = 0, by_gp = 0;
    int better = 0, gp_better = 0;
    for (size_t p = 0; p < VKT_COUNT(problems); p++) {
        double halton[SEEDS], tpe[SEEDS], gp[GP_SEEDS];
        for (uint64_t s = 0; s < SEEDS; s++) {
            halton[s] = search(&problems[p], s, VKT_SAMPLER_HALTON);
            tpe[s] = search(&problems[p], s, VKT_SAMPLER_TPE);
            if (s < GP_SEEDS) gp[s] = search(&problems[p], s, VKT_SAMPLER_GP);
        }
        double h = vkt__median(halton, SEEDS), t = vkt__median(tpe, SEEDS),
               g = vkt__median(gp, GP_SEEDS);
        better += t < h;
        gp_better += g < h;
        by_tpe += log(t / h) / (double)VKT_COUNT(problems);
        by_gp += log(g / h) / (double)VKT_COUNT(problems);
    }
    print_message("regret of the models' points over the sequence's, ten spaces: densities %.2f "
                  "(better in %d), Gaussian process %.2f (%d)\n",
                  exp(by_tpe), better, exp(by_gp), gp_better);
    assert_true(better >= 7 && exp(by_tpe) < 0.7);
    assert_true(gp_better >= 7 && exp(by_gp) < 0.5);
    for (vkt_study_sampler k = VKT_SAMPLER_GP; k <= VKT_SAMPLER_TPE; k++)
        REQUIRE_NEAR(search(&problems[6], 3, k), search(&problems[6], 3, k), 0);
}

/* Near an edge, too, and of any number of choices, a kernel's density is 1 in all. */
static void kernels_are_densities(void **state)
{
    (void)state;
    enum { PARTS = 2000 };
    static const double at[] = { 0, 0.02, 0.5, 0.97, 1, NAN }, width[] = { 0.05, 0.2, 0.7 };
    vkt__space s;
    REQUIRE_OK(parse("optim.lr: [0.1, 1]\noptim.rule: [adam, momentum]\n"
                     "optim.beta1: {choice: [0.8, 0.9, 0.95, 0.99, 0.5]}\n",
                     &s));
    assert_int_equal(s.n, 3);
    for (size_t i = 0; i < s.n * VKT_COUNT(at) * VKT_COUNT(width); i++) {
        double sum = 0;
        for (int k = 0; k < PARTS; k++)
            sum += vkt__tpe_kernel(&s.axis[i % s.n], at[i / s.n % VKT_COUNT(at)],
                                   width[i / s.n / VKT_COUNT(at)], (k + 0.5) / PARTS) /
                   PARTS;
        REQUIRE_NEAR(sum, 1, 1e-4); /* of the midpoint rule, at the narrowest */
    }
}

/* A choice that no trial had is tried, though all good ones have the other. */
static void a_choice_can_be_another(void **state)
{
    (void)state;
    enum { N = 500, PROPOSED = 20 };
    static double seen[N];
    vkt__space s;
    int others = 0;
    REQUIRE_OK(parse("optim.rule: [adam, momentum]\n", &s));
    for (size_t i = 0; i < N; i++) seen[i] = 0.25;
    for (uint64_t i = 0; i < PROPOSED; i++) {
        double u[VKT__MAX_AXES];
        vkt__tpe_next(&s, seen, N, 5, i, u);
        others += vkt__axis_choice(&s.axis[0], u[0]) == 1;
    }
    /* of 48 candidates some have it nearly always; by the whole space's share alone one in five */
    assert_true(others >= PROPOSED - 2);
}

/* The best trials are not among the bad ones: three good and two bad at one place make it better
 * than the edge, where none was. */
static void good_trials_are_not_bad_ones(void **state)
{
    (void)state;
    static const double seen[] = { 0.2, 0.2, 0.2, 0.2, 0.2 };
    vkt__space s;
    int near = 0;
    REQUIRE_OK(parse(SMOOTHING, &s));
    for (uint64_t i = 0; i < 20; i++) {
        double u[VKT__MAX_AXES];
        vkt__tpe_next(&s, seen, VKT_COUNT(seen), 5, i, u);
        near += u[0] < 0.6;
    }
    assert_true(near >= 19);
}

/* The same point is not proposed while it is at work, and not what failed beside what did well. */
static void the_process_knows_of_trials_without_a_loss(void **state)
{
    (void)state;
    enum { N = 13 };
    vkt__space s;
    double seen[2 * (N + 1)], loss[N + 1], u[VKT__MAX_AXES], next[VKT__MAX_AXES];
    REQUIRE_OK(parse(LR SMOOTHING, &s));
    for (uint64_t i = 0; i < N; i++) {
        double *at = seen + 2 * i;
        vkt__space_halton(&s, 0, i, at);
        loss[i] = at[0] > 0.7 ? INFINITY : bowl(at) + 0.1 * (1 - at[0]);
    }
    vkt__gp_next(&s, seen, loss, N, 1, 0, u);
    assert_true(u[0] > 0.45 && u[0] < 0.72);
    memcpy(seen + 2 * N, u, 2 * sizeof *u);
    loss[N] = NAN;
    vkt__gp_next(&s, seen, loss, N + 1, 1, 0, next);
    assert_true(fabs(next[0] - u[0]) + fabs(next[1] - u[1]) > 0.02);
    for (size_t i = 0; i <= N; i++) loss[i] = INFINITY; /* nothing is known: anywhere */
    vkt__gp_next(&s, seen, loss, N + 1, 1, 0, u);
    assert_true(u[0] >= 0 && u[0] < 1 && u[1] >= 0 && u[1] < 1);
}

/* Where all did equally well but half of the space diverged, the next point is in the other half.
 */
static void what_diverged_is_no_average_one(void **state)
{
    (void)state;
    enum { N = 24 };
    vkt__space s;
    double seen[2 * N], loss[N], u[VKT__MAX_AXES];
    int beside = 0;
    REQUIRE_OK(parse(LR SMOOTHING, &s));
    for (uint64_t i = 0; i < N; i++) {
        vkt__space_halton(&s, 0, i, seen + 2 * i);
        loss[i] = seen[2 * i] > 0.5 ? INFINITY : 1 + 0.1 * seen[2 * i + 1];
    }
    for (uint64_t i = 0; i < 10; i++) {
        vkt__gp_next(&s, seen, loss, N, 1, i, u);
        beside += u[0] > 0.6;
    }
    assert_int_equal(beside, 0);
}

/* The process takes the best 128 of 637 trials, and every fourth of the others: its time does not
 * grow with more trials. */
static void the_process_is_made_of_so_many_trials(void **state)
{
    (void)state;
    enum { N = 637, BEST = 128, EVERY = 4 };
    vkt__space s;
    double seen[2 * N], loss[N], u[VKT__MAX_AXES], again[VKT__MAX_AXES], other[VKT__MAX_AXES];
    tried t[N];
    REQUIRE_OK(parse(LR SMOOTHING, &s));
    for (uint64_t i = 0; i < N; i++) {
        vkt__space_halton(&s, 0, i, t[i].u);
        t[i].loss = bowl(t[i].u);
    }
    qsort(t, N, sizeof *t, by_loss);
    for (size_t i = 0; i < N; i++) {
        size_t at = (i * 100) % N; /* whatever their order is */
        memcpy(seen + 2 * at, t[i].u, 2 * sizeof *seen);
        loss[at] = t[i].loss;
    }
    vkt__gp_next(&s, seen, loss, N, 1, 0, u);
    assert_true(fabs(u[0] - 0.62) < 0.1 && fabs(u[1] - 0.35) < 0.2);
    for (size_t i = BEST; i < N; i++) /* as if they were where the best is */
        if ((i - BEST) % EVERY) memcpy(seen + 2 * (i * 100 % N), t[0].u, 2 * sizeof *seen);
    vkt__gp_next(&s, seen, loss, N, 1, 0, again);
    assert_true(u[0] == again[0] && u[1] == again[1]);
    for (size_t i = BEST; i < N; i += EVERY)
        memcpy(seen + 2 * (i * 100 % N), t[0].u, 2 * sizeof *seen);
    vkt__gp_next(&s, seen, loss, N, 1, 0, other);
    assert_true(u[0] != other[0] || u[1] != other[1]);
}

/* ---- pruning ---- */

static void hopeless_trials_are_pruned(void **state)
{
    (void)state;
    uint64_t rung[VKT_STUDY_RUNGS];
    assert_int_equal(vkt__prune_rungs(2700, 50, rung), 3);
    assert_true(rung[0] == 100 && rung[1] == 300 && rung[2] == 900);
    assert_int_equal(vkt__prune_rungs(1000, 100, rung), 2); /* 37 is before the first evaluation */
    assert_true(rung[0] == 200 && rung[1] == 400);
    assert_int_equal(vkt__prune_rungs(100, 100, rung), 0);
    vkt_study_trial t[6];
    struct vkt__study_private priv = { 0 };
    vkt_study s = { .trials = t, .metric = "accuracy", .metric_sign = 1, .priv = &priv };
    static const double at_200[] = { 0.5, 0.6, 0.4, 0.55, 0.7, 0.3 };
    static const bool ends[] = { false, false, true, false, false, true };
    for (size_t i = 0; i < 6; i++) {
        t[i] = (vkt_study_trial) { .rung = { NAN, NAN, NAN } };
        s.n_trials = i + 1;
        assert_false(vkt__prune_now(&s, &t[i], rung, 2, 100, 0.1)); /* not there yet */
        bool pruned = vkt__prune_now(&s, &t[i], rung, 2, 200, at_200[i]);
        if (pruned != ends[i]) fail_msg("trial %zu at the first rung: %d", i, (int)pruned);
        REQUIRE_NEAR(t[i].rung[0], at_200[i], 0);
        assert_false(vkt__prune_now(&s, &t[i], rung, 2, 300, 0)); /* between the rungs */
    }
    assert_non_null(
        strstr(t[2].why, "at step 200 its best accuracy, 0.4, is not among the best 1 of 3"));
    assert_false(vkt__prune_now(&s, &t[4], rung, 2, 400, 0.1)); /* the first at the second rung */
    vkt_study_trial done = { .state = VKT_TRIAL_DONE, .best = 0.5 },
                    pruned = { .state = VKT_TRIAL_PRUNED, .best = 0.9, .steps = 200 },
                    later = { .state = VKT_TRIAL_PRUNED, .best = 0.6, .steps = 400 },
                    bad = { .state = VKT_TRIAL_INFEASIBLE, .best = NAN };
    assert_true(vkt__trial_ahead(&s, &done, &pruned) && vkt__trial_ahead(&s, &later, &pruned));
    assert_true(vkt__trial_ahead(&s, &pruned, &bad) && !vkt__trial_ahead(&s, &bad, &done));
    vkt__arena_finish(&priv.arena);
}

/* ---- importance ---- */

/* Two of five metaparameters matter, the first one more; of noise none does but by chance. */
static void importance_is_told_from_chance(void **state)
{
    (void)state;
    enum { N = 40, D = 5, REPEATS = 12 };
    int found = 0, wrong = 0, of_noise = 0;
    for (uint64_t r = 0; r < REPEATS; r++) {
        double u[N * D], y[N], noise[N];
        vkt__share s[D];
        for (size_t i = 0; i < N; i++) {
            double *x = u + i * D;
            for (size_t a = 0; a < D; a++) x[a] = vkt_rand_uniform(r, VKT_RNG_TEST, i * D + a);
            noise[i] = vkt_rand_normal(r, VKT_RNG_TEST, 1000 + i);
            y[i] = 2 * sq(x[0] - 0.6) + sq(x[1] - 0.4) + 0.03 * noise[i];
        }
        assert_true(vkt__importance(u, y, N, D, r, s));
        found += s[0].shown && s[0].mean > s[2].mean && s[0].low <= s[0].mean;
        for (size_t a = 2; a < D; a++) wrong += s[a].shown;
        assert_true(vkt__importance(u, noise, N, D, r, s));
        for (size_t a = 0; a < D; a++) of_noise += s[a].shown;
    }
    assert_true(found >= REPEATS - 1);
    assert_in_range(wrong, 0, 2);
    assert_in_range(of_noise, 0, 8); /* 3 of 60 are expected */
    double u[9] = { 0 }, same[12] = { 0 };
    vkt__share s;
    assert_false(vkt__importance(u, u, 9, 1, 0, &s));
    assert_false(vkt__importance(same, same, 12, 1, 0, &s));
}

static int finish(void **state)
{
    (void)state;
    vkt__arena_finish(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_have_limits),
        cmocka_unit_test(an_option_has_a_range_for_each_optimizer),
        cmocka_unit_test(wrong_roles_and_ranges_are_refused),
        cmocka_unit_test(models_find_better_points_than_the_sequence),
        cmocka_unit_test(a_choice_can_be_another),
        cmocka_unit_test(good_trials_are_not_bad_ones),
        cmocka_unit_test(the_process_knows_of_trials_without_a_loss),
        cmocka_unit_test(kernels_are_densities),
        cmocka_unit_test(what_diverged_is_no_average_one),
        cmocka_unit_test(the_process_is_made_of_so_many_trials),
        cmocka_unit_test(hopeless_trials_are_pruned),
        cmocka_unit_test(importance_is_told_from_chance),
    };
    return cmocka_run_group_tests(tests, NULL, finish);
}
