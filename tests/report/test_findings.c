/* Each finding of a report on a planted case, and none of them on a healthy run. */
#include "testing.h"

#include "base/os.h"
#include "report/findings.h"
#include "report/plot.h"
#include "vktrain/vktrain.h"

enum { STEPS = 2000, EVALS = 20, CLASSES = 4 };

static vkt_history_step steps[STEPS];
static vkt_history_eval evals[EVALS];
static uint64_t count[CLASSES], correct[CLASSES];
static vkt_history history;
static vkt__evidence evidence;

static double noise(uint64_t i)
{
    return vkt_rand_normal(9, VKT_RNG_TEST, i);
}

/* A loss that falls and flattens, a validation loss a little above it, norms that fall, no waiting.
 */
static void healthy(void)
{
    for (int k = 0; k < CLASSES; k++) count[k] = 50, correct[k] = 45;
    for (int i = 0; i < STEPS; i++)
        steps[i] =
            (vkt_history_step) { .step = (uint64_t)i + 1,
                                 .loss = 0.3 + 2 * exp(-i / 150.0) + 0.03 * noise((uint64_t)i),
                                 .accuracy = 0.9,
                                 .grad_norm = 1 + exp(-i / 100.0) + 0.1 * noise(5000 + (uint64_t)i),
                                 .clip = 1,
                                 .lr = 0.01,
                                 .items_per_s = 1000,
                                 .input_wait = 1e-5,
                                 .seconds = 0.01 * (i + 1),
                                 .updated = true };
    for (int i = 0; i < EVALS; i++) {
        uint64_t at = (uint64_t)(i + 1) * STEPS / EVALS;
        evals[i] = (vkt_history_eval) { .step = at,
                                        .split = "valid",
                                        .loss = 0.4 + 1.5 * exp(-(double)at / 200) +
                                                0.004 * noise(9000 + at),
                                        .accuracy = 0.9,
                                        .mae = NAN,
                                        .roc_auc = NAN,
                                        .r2 = NAN,
                                        .seconds = 0.01 * (double)at + 0.002,
                                        .n = 200,
                                        .n_classes = CLASSES,
                                        .class_count = count,
                                        .class_correct = correct };
    }
    history = (vkt_history) { .steps = steps, .evals = evals, .n_steps = STEPS, .n_evals = EVALS };
    evidence = (vkt__evidence) { .h = &history,
                                 .metric = "loss",
                                 .metric_sign = -1,
                                 .workers = 1,
                                 .steps_per_epoch = 97,
                                 .full_loss = 0.4,
                                 .full_accuracy = 0.9,
                                 .best_step = STEPS };
}

/* The names of what is found, "overfitting best-not-last ". */
static const char *found(void)
{
    static char names[400];
    size_t n;
    const vkt__finding *f = vkt__findings(&n);
    names[0] = 0;
    for (size_t i = 0; i < n; i++) {
        vkt__str text = { 0 };
        if (f[i].find(&evidence, &text)) {
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s ", f[i].name);
            assert_true(text.len > 40);
        }
        vkt__str_finish(&text);
    }
    return names;
}

/* What one of them says. */
static const char *said(const char *name)
{
    static char words[1000];
    size_t n;
    const vkt__finding *f = vkt__findings(&n);
    words[0] = 0;
    for (size_t i = 0; i < n; i++) {
        vkt__str text = { 0 };
        if (!strcmp(f[i].name, name) && f[i].find(&evidence, &text))
            snprintf(words, sizeof words, "%s", text.data);
        vkt__str_finish(&text);
    }
    return words;
}

static void a_healthy_run_has_none(void **state)
{
    (void)state;
    healthy();
    assert_string_equal(found(), "");
    evidence.clip = 2; /* outliers clipped */
    for (int i = 0; i < STEPS; i += 20) steps[i].clip = 0.8;
    assert_string_equal(found(), "");
    evidence.sample = 200; /* the sample agrees within its error */
    evidence.full_accuracy = 0.91;
    assert_string_equal(found(), "");
    history.n_steps = history.n_evals = 1;
    assert_string_equal(found(), "");
    history.n_steps = history.n_evals = 0;
    assert_string_equal(found(), "");
}

static void instability(void **state)
{
    (void)state;
    healthy();
    for (int i = 900; i < 1100; i++) steps[i].loss += 1;
    assert_string_equal(found(), "instability ");
    healthy();
    steps[70].updated = false;
    steps[70].loss = NAN;
    assert_string_equal(found(), "instability ");
}

static void overfitting_and_best_not_last(void **state)
{
    (void)state;
    healthy();
    for (int i = 8; i < EVALS; i++) evals[i].loss += 0.05 * (i - 7);
    assert_string_equal(found(), "overfitting best-not-last ");
    /* Training loss rises as well: that is no overfitting. */
    for (int i = 0; i < STEPS; i++) steps[i].loss += i > 800 ? 1e-4 * (i - 800) : 0;
    assert_null(strstr(found(), "overfitting"));
    /* Another metric than loss. */
    healthy();
    evidence.metric = "accuracy";
    evidence.metric_sign = 1;
    for (int i = 0; i < EVALS; i++)
        evals[i].accuracy = i < 10 ? 0.5 + 0.04 * i : 0.9 - 0.02 * (i - 9);
    assert_string_equal(found(), "best-not-last ");
}

static void still_improving(void **state)
{
    (void)state;
    healthy();
    for (int i = 0; i < EVALS; i++) evals[i].loss = 2 - 0.05 * i + 0.01 * noise((uint64_t)i);
    assert_string_equal(found(), "improving ");
    /* By less than the noise. */
    for (int i = 0; i < EVALS; i++) evals[i].loss = 2 - 0.02 * i + 0.15 * noise((uint64_t)i);
    assert_null(strstr(found(), "improving"));
    /* Seven evaluations are too few to say. */
    healthy();
    for (int i = 0; i < EVALS; i++) evals[i].loss = 2 - 0.05 * i;
    history.n_evals = 7;
    assert_string_equal(found(), "");
}

static void noisy_metric(void **state)
{
    (void)state;
    healthy();
    for (int i = 0; i < EVALS; i++)
        evals[i].loss = fabs(evals[i].loss + 0.1 * noise(77 + (uint64_t)i));
    assert_string_equal(found(), "noisy ");
    /* A share of right ones, by what 100 examples alone explain. */
    healthy();
    evidence.metric = "accuracy";
    evidence.metric_sign = 1;
    for (int i = 0; i < EVALS; i++) {
        evals[i].accuracy = 0.7 - 0.3 * exp(-i / 2.0) + 0.045 * noise(50 + (uint64_t)i);
        evals[i].n = 100;
    }
    assert_non_null(strstr(found(), "noisy "));
    assert_non_null(strstr(said("noisy"), "too few validation examples"));
}

static void overlap(void **state)
{
    (void)state;
    healthy();
    evidence.n_held = 1000;
    evidence.n_shared = 10; /* a hundredth */
    assert_string_equal(found(), "");
    evidence.n_shared = 11;
    assert_string_equal(found(), "overlap ");
    evidence.n_held = 40;
    evidence.n_shared = 4; /* twins by chance */
    assert_string_equal(found(), "");
    evidence.n_near = 8; /* a fifth of them */
    assert_string_equal(found(), "overlap ");
    assert_non_null(strstr(said("overlap"), "nearly equal a training example"));
}

static void held_back(void **state)
{
    (void)state;
    healthy();
    evidence.dropout = 0.85;
    assert_string_equal(found(), ""); /* it is strong, but the losses are not apart */
    for (int i = 0; i < STEPS; i++) steps[i].loss += 0.1;
    assert_string_equal(found(), ""); /* above the validation loss, as dropout makes it */
    for (int i = 0; i < STEPS; i++) steps[i].loss += 0.25;
    assert_string_equal(found(), "held-back ");
    assert_non_null(strstr(said("held-back"), "dropout of 0.85 holds training back"));
    evidence.dropout = 0.3;
    assert_string_equal(found(), "");
    for (int i = 0; i < STEPS; i++) steps[i].loss -= 0.35, steps[i].accuracy = 0.65;
    assert_string_equal(found(), "");
    evidence.dropout = 0.85;
    assert_string_equal(found(), "held-back ");
    assert_non_null(strstr(said("held-back"), "65% of the examples are right where 90% are"));
    evidence.label_smoothing = 0.5; /* of 4 classes: 0.625 for the right one, a loss of 0.47 */
    assert_string_equal(found(), "held-back ");
    assert_non_null(strstr(said("held-back"), "can hardly fall below 0.47"));
    evidence.label_smoothing = 0.1;
    evidence.dropout = 0.85; /* smoothing raises the training loss as well */
    assert_string_equal(found(), "");
}

static void input_bound(void **state)
{
    (void)state;
    healthy();
    for (int i = 0; i < STEPS; i++) steps[i].input_wait = 0.003;
    assert_string_equal(found(), "input-bound ");
    assert_non_null(strstr(said("input-bound"), "raise data.workers (now 1)"));
    evidence.workers = VKT_MAX_SLOTS; /* there are no more */
    assert_null(strstr(said("input-bound"), "raise"));
    history.n_steps = 90; /* less than a second */
    history.n_evals = 0;
    assert_string_equal(found(), "");
    history.n_steps = STEPS;
    history.n_evals = EVALS;
    /* The evaluations after the last step took no time of the training's. */
    evals[EVALS - 1].seconds += 100;
    assert_string_equal(found(), "input-bound ");
}

static void clipped_too_often(void **state)
{
    (void)state;
    healthy();
    for (int i = 0; i < STEPS; i++) steps[i].clip = i % 3 ? 0.4 : 1;
    assert_string_equal(found(), ""); /* clipping is off: the column says nothing */
    evidence.clip = 0.4;
    assert_string_equal(found(), "clipped ");
}

static void periods(void **state)
{
    (void)state;
    healthy();
    for (int i = 0; i < EVALS; i++) evals[i].loss += 0.08 * sin(6.2832 * i / 4);
    assert_string_equal(found(), "periodicity ");
    /* Unshuffled examples: the training loss repeats itself with each epoch. */
    healthy();
    for (int i = 0; i < STEPS; i++) steps[i].loss += 0.1 * sin(6.2832 * i / 97);
    assert_string_equal(found(), "periodicity ");
}

static void skew_of_the_sample(void **state)
{
    (void)state;
    healthy();
    evidence.full_accuracy = 0.75;
    assert_string_equal(found(), ""); /* all examples were evaluated each time */
    evidence.sample = 200;
    assert_string_equal(found(), "sample-skew ");
}

static void rare_classes(void **state)
{
    (void)state;
    healthy();
    count[2] = 3;
    assert_string_equal(found(), "rare-class ");
    assert_non_null(strstr(said("rare-class"), "class number 2 has 3,"));
    const char *const names[CLASSES] = { "rook", "knight", "bishop", "pawn" };
    evidence.class_names = names;
    evidence.n_class_names = CLASSES;
    assert_non_null(strstr(said("rare-class"), "1 of 4 classes has too few"));
    assert_non_null(strstr(said("rare-class"), "class 'bishop' has 3,"));
    count[2] = 0;
    assert_string_equal(found(), "rare-class ");
    for (int k = 0; k < CLASSES; k++) count[k] = 8; /* few, but no class is rarer than the others */
    assert_string_equal(found(), "");
}

/* ---- plots: whatever is in the series, a whole SVG and a PNG come out ---- */

static void plots_take_any_numbers(void **state)
{
    (void)state;
    static const double sets[][4] = { { 1, 2, 3, 4 },
                                      { 0, 0, 0, 0 },
                                      { NAN, NAN, NAN, NAN },
                                      { -1, INFINITY, -INFINITY, 1e308 },
                                      { 1e-300, 1e300, 5, NAN },
                                      { 1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3 } };
    const char *const names[] = { "a<b", "\"c\" & d" };
    for (size_t a = 0; a < 6; a++)
        for (size_t b = 0; b < 6; b++)
            for (int mode = 0; mode < 8; mode++) {
                vkt__plot p = { .title = "<t> \xc3\xa9", .log_x = mode & 1, .log_y = mode & 2 };
                vkt__str s = { 0 };
                if (mode & 4) p.x_names = names, p.n_x_names = 2;
                for (int mark = VKT__LINE; mark <= VKT__BAND; mark++)
                    vkt__plot_add(&p, &(vkt__series) { names[mark & 1], (vkt__mark)mark,
                                                       mark == VKT__BARS ? 3 : 4, sets[a], sets[b],
                                                       sets[b], mark, false, NULL });
                vkt__plot_rule(&p, sets[a][0], true, "here");
                vkt__plot_svg(&p, &s);
                assert_true(strstr(s.data, "</svg>") && !strstr(s.data, "nan") &&
                            !strstr(s.data, "inf"));
                assert_null(strstr(s.data, "<t>"));
                vkt__str_finish(&s);
                if (mode == 0 && a == b) {
                    char *png;
                    size_t n;
                    REQUIRE_OK(vkt__plot_png(&p, "tf.png"));
                    REQUIRE_OK(vkt__file_read("tf.png", 1 << 24, &png, &n));
                    assert_true(n > 200 && !memcmp(png, "\x89PNG", 4));
                    free(png);
                    remove("tf.png");
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_run_has_none),
        cmocka_unit_test(instability),
        cmocka_unit_test(overfitting_and_best_not_last),
        cmocka_unit_test(still_improving),
        cmocka_unit_test(noisy_metric),
        cmocka_unit_test(overlap),
        cmocka_unit_test(held_back),
        cmocka_unit_test(input_bound),
        cmocka_unit_test(clipped_too_often),
        cmocka_unit_test(periods),
        cmocka_unit_test(skew_of_the_sample),
        cmocka_unit_test(rare_classes),
        cmocka_unit_test(plots_take_any_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
