/* Runs whose truth is known: each planted fault is found, and no other; healthy ones of different
 * kinds have none. The curves are formulas and noise, so that a case takes no time. */
#include "testing.h"

#include "report/findings.h"
#include "vktrain/vktrain.h"

enum { STEPS = 1000, EVALS = 25, CLASSES = 5 };

typedef struct run {
    vkt_history_step steps[STEPS];
    vkt_history_eval evals[EVALS + 1];
    uint64_t count[CLASSES], right[CLASSES], test_right[CLASSES];
    vkt_history h;
    vkt__evidence e;
    uint64_t seed;
} run;
static run r;

static double noise(uint64_t i)
{
    return vkt_rand_normal(r.seed, VKT_RNG_TEST, i);
}

/* What kinds of curves there are. */
typedef struct shape {
    double start, end, time; /* of the training loss: exponential, time in steps */
    double noise;            /* of a step, as a share of the loss */
    double gap, eval_noise;  /* validation loss above training's; absolute noise */
    bool accuracy;           /* selects by accuracy, has classes; else by loss */
    double ms;               /* of a step */
} shape;

static double loss_at(const shape *s, double step)
{
    return s->end + (s->start - s->end) * exp(-step / s->time);
}

static void make(const shape *s, uint64_t seed)
{
    r = (run) { .seed = seed };
    for (int i = 0; i < STEPS; i++) {
        double loss = loss_at(s, i);
        r.steps[i] = (vkt_history_step) { .step = (uint64_t)i + 1,
                                          .loss = loss * (1 + s->noise * noise((uint64_t)i)),
                                          .accuracy = 1 / (1 + loss),
                                          .grad_norm = 1 + 0.2 * fabs(noise(10000 + (uint64_t)i)),
                                          .clip = 1,
                                          .lr = 0.01,
                                          .items_per_s = 1000,
                                          .seconds = 1e-3 * s->ms * (i + 1),
                                          .updated = true };
    }
    for (int k = 0; k < CLASSES; k++) r.count[k] = 80 + 10 * (uint64_t)k, r.right[k] = 60;
    for (int i = 0; i < EVALS; i++) {
        uint64_t at = (uint64_t)(i + 1) * STEPS / EVALS;
        double loss = loss_at(s, (double)at) + s->gap + s->eval_noise * noise(20000 + at);
        r.evals[i] = (vkt_history_eval) { .step = at,
                                          .split = "valid",
                                          .loss = loss,
                                          .accuracy = s->accuracy ? 1 / (1 + 0.5 * loss) : NAN,
                                          .mae = NAN,
                                          .roc_auc = NAN,
                                          .r2 = s->accuracy ? NAN : 1 - loss / (2 * s->start),
                                          .rmse = s->accuracy ? NAN : sqrt(loss),
                                          .seconds = 1e-3 * s->ms * (double)at,
                                          .n = 500,
                                          .n_classes = s->accuracy ? CLASSES : 0,
                                          .class_count = r.count,
                                          .class_correct = r.right };
    }
    r.h = (vkt_history) { .steps = r.steps, .evals = r.evals, .n_steps = STEPS, .n_evals = EVALS };
    r.e = (vkt__evidence) { .h = &r.h,
                            .metric = s->accuracy ? "accuracy" : "loss",
                            .metric_sign = s->accuracy ? 1 : -1,
                            .workers = 1,
                            .steps_per_epoch = 90,
                            .full_loss = 1,
                            .full_accuracy = r.evals[EVALS - 1].accuracy,
                            .best_step = STEPS,
                            .n_held = 500 };
}

/* The run's end evaluates the best checkpoint on the test set, too: alike, unless it is changed. */
static vkt_history_eval *with_test(void)
{
    vkt_history_eval *t = &r.evals[EVALS];
    *t = r.evals[EVALS - 1];
    snprintf(t->split, sizeof t->split, "test");
    memcpy(r.test_right, r.right, sizeof r.right);
    t->class_correct = r.test_right;
    r.h.n_evals = EVALS + 1;
    return t;
}

/* Each evaluation's accuracy and, of classes told apart, none. */
static void guesses(double accuracy, double spread)
{
    for (int i = 0; i < EVALS; i++) {
        r.evals[i].accuracy = accuracy + spread * noise(40000 + (uint64_t)i);
        r.evals[i].loss = 1.62;
    }
    for (int k = 0; k < CLASSES; k++) r.right[k] = r.count[k] / CLASSES;
    r.e.full_accuracy = accuracy;
}

/* What a finding says of the run; "" where it finds nothing. */
static const char *text_of(const char *name)
{
    static char said[800];
    size_t n;
    const vkt__finding *f = vkt__findings(&n);
    said[0] = 0;
    for (size_t i = 0; i < n; i++) {
        vkt__str text = { 0 };
        if (!strcmp(f[i].name, name) && f[i].find(&r.e, &text))
            snprintf(said, sizeof said, "%s", text.data);
        vkt__str_finish(&text);
    }
    return said;
}

static const shape plain = { 2.3, 0.3, 120, 0.08, 0.1, 0.004, true, 10 };

static void expect(const char *name, const char *want)
{
    char found[400] = "";
    size_t n;
    const vkt__finding *f = vkt__findings(&n);
    for (size_t i = 0; i < n; i++) {
        vkt__str text = { 0 };
        if (f[i].find(&r.e, &text))
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", *found ? " " : "",
                     f[i].name);
        vkt__str_finish(&text);
    }
    if (strcmp(found, want)) fail_msg("%s: found '%s', planted '%s'", name, found, want);
}

static void healthy_runs_have_no_findings(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        shape s;
    } kinds[] = {
        { "classifier", { 2.3, 0.3, 120, 0.08, 0.1, 0.004, true, 10 } },
        { "small batches", { 2.3, 0.3, 100, 0.35, 0.1, 0.004, true, 2 } },
        { "fast and exact", { 2.3, 0.01, 40, 0.1, 0.03, 0.001, true, 0.1 } },
        { "slow steps", { 3.2, 0.8, 150, 0.03, 0.15, 0.004, true, 4000 } },
        { "regression", { 40, 1, 90, 0.15, 0.2, 0.02, false, 1 } },
        { "language", { 10.8, 4.9, 130, 0.02, 0.1, 0.01, false, 100 } },
        { "finetuning", { 0.9, 0.6, 100, 0.05, 0.05, 0.001, true, 50 } },
        { "large batches", { 6.9, 1.8, 140, 0.005, 0.3, 0.004, true, 300 } },
    };
    for (size_t i = 0; i < VKT_COUNT(kinds); i++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            char name[64];
            snprintf(name, sizeof name, "%s, seed %d", kinds[i].name, (int)seed);
            make(&kinds[i].s, 100 * i + seed);
            expect(name, "");
            vkt_history_eval *t = with_test(); /* by what chance explains */
            t->accuracy -= 0.04, t->rmse *= 1.2, t->r2 -= 0.05, t->loss *= 1.4;
            expect(name, "");
        }
    make(&plain, 1); /* a warmup: the loss stays, then falls */
    for (int i = 0; i < 60; i++) r.steps[i].loss = 2.3 * (1 + 0.08 * noise((uint64_t)i));
    expect("warmup", "");
    make(&plain, 2); /* a rate that falls by steps: so does the loss */
    for (int i = 500; i < STEPS; i++) r.steps[i].loss *= 0.7;
    for (int i = 12; i < EVALS; i++) r.evals[i].loss *= 0.8;
    expect("steps of the rate", "");
}

/* Shares that are wrong: of all judged examples, of the surest half and quarter. */
static void judge(uint64_t n, uint64_t n_doubtful, double wrong, double half, double quarter)
{
    r.e.n_judged = n;
    r.e.n_doubtful = n_doubtful;
    r.e.judged_wrong = wrong;
    r.e.surest_wrong = half;
    r.e.surest_quarter_wrong = quarter;
}

static void labels_that_are_wrong_are_told_from_hard_examples(void **state)
{
    (void)state;
    make(&plain, 11);
    judge(500, 40, 0.15, 0.08, 0.07); /* a tenth of the labels changed */
    expect("labels changed", "doubtful-labels");
    assert_non_null(strstr(text_of("doubtful-labels"), "40 of 500 validation labels"));
    judge(500, 40, 0.15, 0.03, 0.01); /* classes that overlap are wrong where it is unsure */
    expect("hard examples", "");
    judge(90, 9, 0.15, 0.08, 0.07);
    expect("too few to tell", "");
    judge(500, 139, 0.3, 0.21, 0.19); /* as a weak relation has it */
    expect("inputs that say little", "");
    judge(500, 150, 0.4, 0.38, 0.36);
    expect("half of the labels shuffled", "shuffled-labels");
    assert_non_null(strstr(text_of("shuffled-labels"), "about 47% of the labels"));
    judge(500, 130, 0.37, 0.23, 0.17);
    expect("a hard task", "");
    judge(500, 150, 0.75, 0.74, 0.73); /* guesses are flat, too: that has its own finding */
    expect("nothing learned", "");
    judge(500, 150, 0.4, 0.38, 0.36);
    for (int i = 600; i < 800; i++) r.steps[i].loss += 1.5;
    expect("unstable", "instability");
}

static void faults_of_training_are_found(void **state)
{
    (void)state;
    make(&plain, 3);
    for (int i = 600; i < 800; i++) r.steps[i].loss += 1.5;
    expect("unstable late", "instability");
    make(&plain, 4);
    for (int i = 600; i < STEPS; i++) r.steps[i].loss += 0.004 * (i - 600);
    expect("unstable late, never back", "instability");
    make(&plain, 5);
    for (int i = 5; i < 60; i++) r.steps[i].loss += 2;
    expect("unstable early", "instability");
    make(&plain, 6);
    r.steps[1].loss = 2.9, r.steps[2].loss = 4.1, r.steps[3].loss = 2.7;
    expect("spike at step 3", "instability");
    make(&plain, 7);
    r.steps[400].updated = false, r.steps[400].loss = NAN;
    expect("an update with NaN", "instability");
    make(&plain, 8);
    for (int i = 0; i < STEPS; i++) r.steps[i].loss = 1.61 * (1 + 0.08 * noise((uint64_t)i));
    for (int i = 0; i < EVALS; i++) r.evals[i].accuracy = 0.24, r.evals[i].loss = 1.62;
    for (int k = 0; k < CLASSES; k++) r.right[k] = r.count[k] / CLASSES;
    r.e.full_accuracy = 0.24;
    expect("at chance", "at-chance");
    for (int k = 0; k < CLASSES; k++) r.right[k] = r.count[k] * 2 / CLASSES;
    expect("of the classes told apart, the rare ones better", "");
    make(&plain, 9);
    for (int i = 8; i < EVALS; i++) r.evals[i].loss += 0.03 * (i - 7);
    expect("overfitted, accuracy not", "overfitting");
    make(&plain, 10);
    for (int i = 8; i < EVALS; i++) {
        r.evals[i].loss += 0.03 * (i - 7);
        r.evals[i].accuracy -= 0.006 * (i - 7);
    }
    expect("overfitted", "overfitting best-not-last");
    make(&plain, 11);
    for (int i = 12; i < EVALS; i++) r.evals[i].accuracy -= 0.008 * (i - 11);
    expect("best not last", "best-not-last");
    assert_non_null(strstr(text_of("best-not-last"), "should decay"));
    for (int i = 0; i < STEPS; i++) r.steps[i].lr = 0.01 * (1 - (double)i / STEPS);
    assert_non_null(strstr(text_of("best-not-last"), "longer than necessary"));
    assert_null(strstr(text_of("best-not-last"), "should decay")); /* it does */
    make(&(shape) { 2.3, 0.3, 700, 0.08, 0.1, 0.002, true, 10 }, 12);
    expect("underfitted", "improving");
    make(&(shape) { 40, 1, 600, 0.1, 0.2, 0.05, false, 10 }, 13);
    expect("underfitted regression", "improving");
    make(&plain, 14);
    for (int i = 0; i < EVALS; i++) r.evals[i].accuracy += 0.04 * noise(30000 + (uint64_t)i);
    expect("noisy accuracy", "noisy");
    make(&(shape) { 2.3, 0.3, 120, 0.08, 0.3, 0.12, false, 10 }, 15);
    expect("noisy loss", "noisy");
}

/* Neither the best of many evaluations nor what was learned and lost is better than guessing. */
static void guessing_is_found_by_the_best_and_by_the_end(void **state)
{
    (void)state;
    static const shape numbers = { 2, 1, 100, 0.1, 0.1, 0.01, false, 10 };
    make(&numbers, 40);
    for (int i = 0; i < EVALS; i++) r.evals[i].r2 = -0.1 + 0.02 * noise((uint64_t)i);
    expect("a number at its mean", "at-chance");
    r.evals[7].r2 = 0.0076; /* of 500 examples */
    expect("its best by luck", "at-chance");
    r.evals[7].r2 = 0.1;
    r.evals[EVALS - 1].r2 = 0.09;
    expect("its best is more", "");
    for (int i = 0; i < EVALS; i++) r.evals[i].r2 = i < 6 ? 0.4 : -0.2;
    expect("a number, collapsed", "at-chance");
    for (int i = 0; i < EVALS; i++) r.evals[i].r2 = 0.05;
    expect("a weak relation", "");
    make(&(shape) { 2.3, 1.6, 20, 0.08, 0.1, 0.004, true, 10 }, 41);
    guesses(0.24, 0.005);
    r.evals[9].accuracy = 0.282; /* 2.1 standard errors above the largest class */
    expect("the best of many by luck", "at-chance");
    r.evals[9].accuracy = 0.24;
    r.evals[9].roc_auc = 0.65;
    expect("ranks the classes", "");
    make(&(shape) { 2.3, 1.6, 20, 0.08, 0.1, 0.004, true, 10 }, 42);
    guesses(0.2, 0.004);
    for (int i = 0; i < 5; i++) r.evals[i].accuracy = 0.6;
    expect("collapsed", "at-chance");
    make(&plain, 43); /* loss falls, validation does not: labels without a relation */
    guesses(0.22, 0.01);
    assert_non_null(strstr(text_of("at-chance"), "by heart"));
    assert_null(strstr(text_of("at-chance"), "lower optim.lr"));
}

static void what_the_test_set_shows_is_found(void **state)
{
    (void)state;
    vkt_history_eval *t;
    make(&plain, 50);
    t = with_test();
    t->accuracy -= 0.2;
    expect("test worse", "test-differs");
    static const shape numbers = { 2, 0.2, 100, 0.1, 0.02, 0.001, false, 10 };
    make(&numbers, 51);
    t = with_test();
    t->r2 = -531, t->rmse *= 24;
    expect("an extreme label in the test set", "test-differs");
    make(&plain, 52);
    t = with_test();
    r.evals[EVALS - 1].accuracy = 1;
    r.evals[EVALS - 1].loss = 1e-3;
    r.e.full_accuracy = 1;
    t->accuracy = 0.98, t->loss = 0.3;
    expect("surer than right", "surer-than-right");
    t->loss = 0.09;
    expect("as sure as right", "");
    r.evals[EVALS - 1].loss = 0.03; /* 1 of 500 would be 0.002 */
    t->loss = 0.3;
    expect("not so sure of what it validates", "");
    make(&plain, 53);
    with_test();
    r.right[1] = r.test_right[1] = 0;
    expect("never right", "never-right");
    r.test_right[1] = 1;
    expect("once right", "");
    r.count[1] = 2, r.right[1] = r.test_right[1] = 0;
    expect("never right, of four", "rare-class");
}

static void faults_of_data_and_settings_are_found(void **state)
{
    (void)state;
    make(&plain, 20);
    for (int i = 0; i < EVALS; i++) r.evals[i].loss += 0.08 * sin(6.2832 * i / 5);
    expect("periodic validation", "periodicity");
    make(&plain, 21);
    for (int i = 0; i < STEPS; i++) r.steps[i].loss *= 1 + 0.25 * sin(6.2832 * i / 90);
    expect("not shuffled", "periodicity");
    make(&plain, 22);
    for (int i = 0; i < STEPS; i++) r.steps[i].input_wait = 0.004;
    expect("waiting for data", "input-bound");
    make(&(shape) { 2.3, 0.3, 120, 0.08, 0.1, 0.004, true, 0.1 }, 23);
    for (int i = 0; i < STEPS; i++) r.steps[i].input_wait = 0.00004;
    expect("waiting, for a tenth of a second", "");
    make(&plain, 24);
    r.e.clip = 0.5;
    for (int i = 0; i < STEPS; i++) r.steps[i].clip = i % 5 ? 0.5 : 1;
    expect("clipped", "clipped");
    make(&plain, 25);
    r.e.clip = 1.3;
    for (int i = 0; i < STEPS; i += 10) r.steps[i].clip = 0.9;
    expect("outliers clipped", "");
    make(&plain, 26);
    r.e.n_shared = 100;
    expect("overlap", "overlap");
    make(&plain, 27);
    r.count[3] = 4;
    expect("rare class", "rare-class");
    make(&plain, 28);
    r.e.sample = 500;
    r.e.full_accuracy = r.evals[EVALS - 1].accuracy - 0.12;
    expect("skewed sample", "sample-skew");
}

/* Cosine cycles of 250 steps: at each restart the loss climbs back to half of what it was, which
 * falls from cycle to cycle. */
static void restarts(double again)
{
    make(&plain, 60);
    for (int i = 0; i < STEPS; i++) {
        double t = i % 250 / 250.0, high = i < 250 ? 0.5 : again / (i / 250);
        r.steps[i].lr = 0.1 * 0.5 * (1 + cos(3.1416 * t));
        r.steps[i].loss = (0.3 + high * r.steps[i].lr / 0.1 + 1.5 * exp(-i / 30.0)) *
                          (1 + 0.06 * noise((uint64_t)i));
    }
}

static void planned_restarts_are_no_instability(void **state)
{
    (void)state;
    restarts(0.4);
    expect("planned restarts", "");
    restarts(0.4);
    for (int i = 560; i < 700; i++) r.steps[i].loss += 0.6;
    expect("unstable within a cycle", "instability");
    restarts(9);
    expect("a restart that the run does not survive", "instability");
    restarts(0.4);
    for (int i = 0; i < STEPS; i++) r.steps[i].lr = 0.1;
    expect("rises at one rate", "instability");
}

static void weight_decay_is_named_as_the_cause(void **state)
{
    (void)state;
    make(&plain, 61);
    r.e.weight_decay = 0.3, r.e.weight_norm = 2.5, r.e.best_weight_norm = 8;
    for (int i = 200; i < STEPS; i++) r.steps[i].loss += 0.0015 * (i - 200);
    expect("decay pulls as hard as the loss", "weight-decay");
    r.e.weight_norm = 7;
    expect("the weights did not shrink", "instability");
    r.e.weight_decay = 0.01, r.e.weight_norm = 2.5;
    expect("decay is small", "instability");
    r.e.weight_decay = 0.3, r.e.weight_norm = r.e.best_weight_norm = NAN;
    expect("no weights to look at", "instability");
    r.e.decoupled = true, r.e.weight_decay = 0.9;
    expect("of the rate, too small a part", "instability");
    r.e.weight_decay = 5; /* times a rate of 0.01 */
    expect("a twentieth of each weight a step", "weight-decay");
    make(&plain, 62);
    r.e.decoupled = true, r.e.weight_decay = 5;
    expect("strong, and no harm", "");
    make(&(shape) { 2.3, 1.6, 20, 0.08, 0.1, 0.004, true, 10 }, 63);
    guesses(0.2, 0.004);
    for (int i = 0; i < 5; i++) r.evals[i].accuracy = 0.6;
    r.e.decoupled = true, r.e.weight_decay = 5;
    expect("decayed to chance", "weight-decay at-chance");
}

/* The examples lie sorted by class: within an epoch each class is forgotten and learned again. */
static void order_of_the_examples_is_no_instability(void **state)
{
    (void)state;
    make(&plain, 64);
    r.e.steps_per_epoch = 33.75;
    for (int i = 0; i < STEPS; i++)
        r.steps[i].loss *= i < 3 ? 1 : 1 + 2 * (fmod(i, 33.75) < 6) + (fmod(i, 33.75) > 20);
    expect("sorted", "periodicity");
    assert_non_null(strstr(text_of("periodicity"), "every 33.75 steps"));
    for (int i = 0; i < STEPS; i++) r.steps[i].loss += 0.002 * i;
    expect("sorted, and unstable", "instability periodicity");
    make(&plain, 65); /* stored shuffled, and read in that order: batches differ, and come again */
    r.e.steps_per_epoch = 90;
    for (int i = 0; i < STEPS; i++) r.steps[i].loss *= 1 + 0.1 * noise(50000 + (uint64_t)i % 90);
    expect("in a shuffled order", "");
}

static void samples_of_numbers_are_compared(void **state)
{
    (void)state;
    static const shape numbers = { 2, 0.2, 100, 0.1, 0.02, 0.001, false, 10 };
    static const struct {
        uint64_t n;
        double mae; /* of the sample; 1 of all */
        const char *want;
    } rows[] = {
        { 10, 0.6, "sample-skew" },
        { 10, 0.8, "" },
        { 100, 0.8, "" },
        { 100, 1.6, "sample-skew" },
        { 1000, 1.3, "sample-skew" },
        { 1000, 0.9, "" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        make(&numbers, 66);
        r.e.sample = rows[i].n;
        r.e.full_accuracy = NAN;
        r.e.full_mae = 1;
        r.evals[EVALS - 1].n = rows[i].n, r.evals[EVALS - 1].mae = rows[i].mae;
        char name[64];
        snprintf(name, sizeof name, "%d examples, off by %g", (int)rows[i].n, rows[i].mae);
        expect(name, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(healthy_runs_have_no_findings),
        cmocka_unit_test(labels_that_are_wrong_are_told_from_hard_examples),
        cmocka_unit_test(faults_of_training_are_found),
        cmocka_unit_test(guessing_is_found_by_the_best_and_by_the_end),
        cmocka_unit_test(what_the_test_set_shows_is_found),
        cmocka_unit_test(faults_of_data_and_settings_are_found),
        cmocka_unit_test(planned_restarts_are_no_instability),
        cmocka_unit_test(weight_decay_is_named_as_the_cause),
        cmocka_unit_test(order_of_the_examples_is_no_instability),
        cmocka_unit_test(samples_of_numbers_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
