/* What a study says of trials that are written here: each metaparameter's parts and what they
 * show, the order of trials, the commands that it prints. No trial runs. */
#include "testing.h"

#include "study/space.h"
#include "study/study_effects.h"
#include "study/study_run.h"
#include "vktrain/vktrain.h"

enum { N = 16 };

typedef struct {
    vkt_study_desc d;
    struct vkt__study_private priv;
    vkt_study_trial trials[N];
    vkt_study s;
    vkt__space space;
} study;

/* A search by accuracy, N trials of it. */
static void begin(study *x, const char *space, size_t n)
{
    static const char recipe[] = "data: {source: digits}\nmodel: [linear]\n";
    memset(x, 0, sizeof *x);
    x->d = (vkt_study_desc) { .recipe = "digits", .seed = 3 };
    x->priv.desc = &x->d;
    x->s = (vkt_study) {
        .priv = &x->priv, .metric = "accuracy", .metric_sign = 1, .trials = x->trials, .n_trials = n
    };
    REQUIRE_OK(vkt__space_parse(&x->priv.arena, space, strlen(space), "s.yaml", recipe, &x->space));
    for (size_t i = 0; i < n; i++) {
        x->trials[i].best = NAN;
        x->trials[i].state = VKT_TRIAL_DONE;
        snprintf(x->trials[i].name, sizeof x->trials[i].name, "trial-%04d", (int)i + 1);
    }
}

static void set(study *x, size_t i, double best, vkt_trial_state state, size_t n,
                const char *const *values)
{
    const char **own = vkt__arena_alloc(&x->priv.arena, n * sizeof *own);
    for (size_t k = 0; k < n; k++) own[k] = values[k];
    x->trials[i].set = own;
    x->trials[i].n_set = n;
    x->trials[i].best = best;
    x->trials[i].state = state;
}
#define SET(x, i, best, state, ...)                                                                \
    set(x, i, best, state, VKT_COUNT(((const char *const[]) { __VA_ARGS__ })),                     \
        (const char *const[]) { __VA_ARGS__ })

static void end(study *x)
{
    free((void *)x->s.advice);
    free((void *)x->s.apply);
    vkt__arena_finish(&x->priv.arena);
}

static bool said(const study *x, const char *words)
{
    for (size_t i = 0; i < x->s.n_advice; i++)
        if (strstr(x->s.advice[i], words)) return true;
    for (size_t i = 0; i < x->s.n_advice; i++) print_error("said: %s\n", x->s.advice[i]);
    return false;
}

/* Six trials over a range of five parts and two choices, in no order; one is pruned, one diverged,
 * one ended without a number. */
static void parts_of_a_range_have_their_trials(void **state)
{
    (void)state;
    study x;
    size_t order[7];
    begin(&x,
          "optim.rule: [adam, nesterov, sgd]\noptim.lr: {linear: [0, 1]}\n"
          "optim.momentum: {linear: [0.5, 0.9], when: {optim.rule: [nesterov, sgd]}}\n",
          7);
    SET(&x, 0, 0.7, VKT_TRIAL_DONE, "optim.rule=adam", "optim.lr=0.15");
    SET(&x, 1, 0.9, VKT_TRIAL_DONE, "optim.rule=adam", "optim.lr=0.05");
    SET(&x, 2, 0.2, VKT_TRIAL_PRUNED, "optim.rule=adam", "optim.lr=0.1");
    SET(&x, 3, NAN, VKT_TRIAL_INFEASIBLE, "optim.rule=nesterov", "optim.lr=0.95",
        "optim.momentum=0.5");
    SET(&x, 4, 0.8, VKT_TRIAL_DONE, "optim.rule=nesterov", "optim.lr=1", "optim.momentum=0.9");
    SET(&x, 5, NAN, VKT_TRIAL_DONE, "optim.rule=nesterov", "optim.lr=0.9", "optim.momentum=0.7");
    SET(&x, 6, 0.6, VKT_TRIAL_DONE, "optim.rule=nesterov", "optim.lr=0.2", "optim.momentum=0.7");
    for (size_t i = 0; i < 7; i++) order[i] = i;
    vkt__trials_sort(&x.s, order, 7);
    static const size_t want[] = { 1, 4, 0, 6, 2, 3, 5 };
    for (size_t i = 0; i < 7; i++) assert_int_equal(order[i], want[i]);
    vkt__study_effects(&x.s, &x.space, order, 7);
    assert_int_equal(x.s.n_effects, 3);
    const vkt_study_effect *rule = &x.s.effects[0], *lr = &x.s.effects[1],
                           *momentum = &x.s.effects[2];
    /* the choices: no numbers of their own */
    assert_int_equal(rule->n_parts, 2);
    assert_string_equal(rule->parts[0].label, "adam");
    assert_true(rule->parts[0].n == 3 && rule->parts[0].pruned == 1 &&
                rule->parts[0].infeasible == 0);
    assert_true(rule->parts[1].n == 4 && rule->parts[1].pruned == 0 &&
                rule->parts[1].infeasible == 1);
    REQUIRE_NEAR(rule->parts[0].best, 0.9, 0);
    REQUIRE_NEAR(rule->parts[1].best, 0.8, 0); /* one that has no number is not the best */
    assert_string_equal(rule->parts[1].trial, "trial-0005");
    assert_true(isnan(rule->parts[0].low) && isnan(rule->low) && isnan(rule->high));
    assert_true(rule->isolated && !lr->isolated &&
                !momentum->isolated); /* the first of the space */
    assert_string_equal(rule->scale, "choice");
    assert_null(rule->when);
    /* a fifth of the range each: 0.2 is in the second, the end in the last; what is empty is not
     * listed */
    assert_int_equal(lr->n_parts, 3);
    assert_string_equal(lr->parts[0].label, "0.05 to 0.15");
    assert_true(lr->parts[0].n == 3 && lr->parts[1].n == 1 && lr->parts[2].n == 3);
    REQUIRE_NEAR(lr->parts[0].low, 0.05, 0);
    REQUIRE_NEAR(lr->parts[0].high, 0.15, 0);
    assert_string_equal(lr->parts[1].label, "0.2");
    REQUIRE_NEAR(lr->parts[2].best, 0.8, 0);
    REQUIRE_NEAR(lr->high, 1, 0);
    /* resamplings of one trial are that trial; of several none is better than the best */
    REQUIRE_NEAR(lr->parts[1].best_low, 0.6, 0);
    REQUIRE_NEAR(lr->parts[0].best_high, 0.9, 0);
    REQUIRE_NEAR(lr->parts[0].best_low, 0.7, 0);
    assert_string_equal(momentum->when, "optim.rule=nesterov|sgd");
    assert_int_equal(momentum->n_parts, 3);
    assert_true(isnan(lr->share)); /* seven are too few */
    assert_false(said(&x, "importance"));
    end(&x);
}

/* The rate decides, the other does nothing: it is named with its share, and the other is not. A
 * loss is better where it is less. */
static void what_matters_is_named(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        study x;
        size_t order[N];
        begin(&x, "optim.lr: {linear: [0, 1]}\noptim.beta1: {linear: [0, 0.9]}\n", N);
        x.s.metric_sign = sign;
        for (size_t i = 0; i < N; i++) {
            char lr[32], beta[32];
            snprintf(lr, sizeof lr, "optim.lr=%.4f", (double)i / (N - 1));
            snprintf(beta, sizeof beta, "optim.beta1=%.4f", 0.9 * (double)(i * 7 % N) / (N - 1));
            SET(&x, i, sign * (double)i, VKT_TRIAL_DONE, vkt__arena_strdup(&x.priv.arena, lr),
                vkt__arena_strdup(&x.priv.arena, beta));
            order[i] = i;
        }
        vkt__trials_sort(&x.s, order, N);
        assert_int_equal(order[0], N - 1);
        vkt__study_effects(&x.s, &x.space, order, N);
        const vkt_study_effect *lr = &x.s.effects[0], *beta = &x.s.effects[1];
        assert_true(lr->shown && !beta->shown && lr->share > 0.6 && beta->share < 0.3);
        assert_true(lr->share_low <= lr->share && lr->share <= lr->share_high);
        assert_true(said(&x, "explains by itself"));
        assert_true(said(&x, ": optim.lr "));
        assert_true(said(&x, "no more than chance: optim.beta1"));
        end(&x);
    }
}

/* Two choices that the study asks about: their ranges lie apart, overlap, or there are too few
 * trials. */
static void a_question_is_answered(void **state)
{
    (void)state;
    static const struct {
        double second; /* results of the second choice begin here */
        size_t n;      /* of it */
        const char *words;
    } rows[] = { { 0.5, 5, "optim.rule: adam is best" },
                 { 0.8995, 5, "optim.rule: no difference is shown between its values" },
                 { 0.5, 3, "optim.rule: too few trials ended" } };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        study x;
        size_t order[N], n = 5 + rows[r].n;
        begin(&x,
              "optim.rule: {choice: [adam, nesterov], role: scientific}\n"
              "optim.lr: {linear: [0, 1]}\n",
              n);
        for (size_t i = 0; i < n; i++) {
            char lr[32];
            snprintf(lr, sizeof lr, "optim.lr=%.3f", (double)i / N);
            double v = (i < 5 ? 0.9 : rows[r].second) + 0.001 * (double)(i % 5);
            SET(&x, i, v, VKT_TRIAL_DONE, i < 5 ? "optim.rule=adam" : "optim.rule=nesterov",
                vkt__arena_strdup(&x.priv.arena, lr));
            order[i] = i;
        }
        vkt__trials_sort(&x.s, order, n);
        vkt__study_effects(&x.s, &x.space, order, n);
        assert_true(x.s.effects[0].isolated && !x.s.effects[1].isolated);
        assert_string_equal(x.s.effects[0].role, "scientific");
        assert_true(said(&x, rows[r].words));
        end(&x);
    }
}

/* Which one is shown can be asked for; without a question it is the first. */
static void another_can_be_isolated(void **state)
{
    (void)state;
    study x;
    begin(&x, "optim.lr: {linear: [0, 1]}\noptim.beta1: {linear: [0, 0.9]}\n", 0);
    x.d.isolate = "optim.beta1";
    vkt__study_effects(&x.s, &x.space, NULL, 0);
    assert_true(!x.s.effects[0].isolated && x.s.effects[1].isolated);
    assert_int_equal(x.s.effects[0].n_parts, 0);
    end(&x);
}

/* What a study prints runs the same: each setting once, the trial's last, its own steps before the
 * study's, words quoted for a shell. */
static void commands_say_all_of_a_trial(void **state)
{
    (void)state;
    static const char *const base[] = { "optim.lr=0.1", "train.batch=32" };
    study x;
    begin(&x, "optim.lr: {linear: [0, 1]}\n", 0);
    x.d.set = base;
    x.d.n_set = 2;
    x.d.steps = 500;
    assert_string_equal(vkt__study_command(&x.s, (const char *[]) { "optim.lr=0.2" }, 1),
                        "vktrain train digits --set train.batch=32 --set optim.lr=0.2 --set "
                        "train.steps=500");
    assert_string_equal(
        vkt__study_command(&x.s, (const char *[]) { "train.steps=7", "optim.lr=0.2" }, 2),
        "vktrain train digits --set train.batch=32 --set train.steps=7 --set optim.lr=0.2");
    /* a key that another begins with is not that key */
    assert_string_equal(vkt__study_command(&x.s, (const char *[]) { "optim.lr_end=0" }, 1),
                        "vktrain train digits --set optim.lr=0.1 --set train.batch=32 --set "
                        "optim.lr_end=0 --set train.steps=500");
    x.d.gpu.device = "my gpu";
    x.d.recipe = "it's.yaml";
    x.d.n_set = 1;
    x.priv.has_patience = true;
    assert_string_equal(vkt__study_command(&x.s, NULL, 0),
                        "vktrain train 'it'\\''s.yaml' --set optim.lr=0.1 --set train.patience=0 "
                        "--set train.steps=500 --device 'my gpu'");
    assert_string_equal(vkt__study_of(&x.s, "lr", "--points 5"),
                        "vktrain study lr 'it'\\''s.yaml' --set optim.lr=0.1 --steps 500 --device "
                        "'my gpu' --points 5");
    x.d.set = (const char *[]) { "train.patience=3" };
    x.d.steps = 0;
    x.d.gpu.device = NULL;
    assert_string_equal(vkt__study_command(&x.s, NULL, 0),
                        "vktrain train 'it'\\''s.yaml' --set train.patience=3");
    assert_string_equal(vkt__study_value(&x.s, "optim.lr", 0.0123456), "optim.lr=0.01235");
    for (int k = 0; k < VKT_STUDY_N_KINDS; k++)
        assert_true(strcmp(vkt_study_kind_name((vkt_study_kind)k), "?") != 0);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_range_have_their_trials),
        cmocka_unit_test(what_matters_is_named),
        cmocka_unit_test(a_question_is_answered),
        cmocka_unit_test(another_can_be_isolated),
        cmocka_unit_test(commands_say_all_of_a_trial),
    };
    return cmocka_run_group_tests_name("what a study says", tests, NULL, NULL);
}
