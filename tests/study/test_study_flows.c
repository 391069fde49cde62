/* Whole studies without a device: a study is a pure function of its trials' results, so that here a
 * formula gives them. Each time a study comes to trials that it has not seen, it ends, as there is
 * no such device; their results are written into study.json, and the study goes on. */
#include <jansson.h>

#define DIR "test_study_flows_tmp"
#include "own_folder.h"

#include "study/study_run.h"
#include "vktrain/vktrain.h"

enum { STEPS = 1000, MOST_TRIALS = 60 };

/* What a trial is asked for. */
typedef struct {
    const char *group;
    double lr, clip;
    uint64_t warmup, steps;
    int seed; /* of fresh seeds 0, 1, ..; -1: the recipe's */
} asked;

/* What it gives: its metrics' rows are made of these, too. */
typedef struct {
    double accuracy, rise, clipped;
    bool diverges;
    double seconds;
    uint64_t cut; /* the step at which the time ended it; 0: it did not */
    bool unbegun; /* the time was over before it */
} given;

typedef given (*world)(const asked *a);

static const char *const base[] = { "optim.lr=0.01",        "train.steps=1000",
                                    "schedule.warmup=0",    "checkpoint.metric=accuracy",
                                    "optim.weight_decay=0", "note=why it runs" };

static double value_of(const json_t *set, const char *key, double otherwise)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < json_array_size(set); i++) {
        const char *v = json_string_value(json_array_get(set, i));
        if (!strncmp(v, key, n) && v[n] == '=') return atof(v + n + 1);
    }
    return otherwise;
}

/* A loss that falls, and rises at the end where it is said to; of a ramp, one that is steepest at a
 * rate of 0.003, lowest near 0.1, and leaves it. */
static void write_metrics(const char *name, const asked *a, const given *g)
{
    vkt__str s = { 0 };
    char path[200];
    bool ramp = !strcmp(a->group, "ramp");
    int n = ramp ? 400 : 100;
    for (int i = 0; i < n; i++) {
        double at = -5 + 7.0 * i / (n - 1), lr = ramp ? pow(10, at) : a->lr,
               loss = ramp ? 2.3 - 2 / (1 + exp(-3 * (at + 2.5))) + (at > -1 ? pow(at + 1, 3) : 0)
                           : 0.5 + exp(-i / 20.0) + (i > 60 ? g->rise : 0);
        vkt__str_printf(
            &s,
            "{\"kind\":\"train\",\"step\":%d,\"loss\":%.6g,\"grad_norm\":%d,\"clip\":1,"
            "\"lr\":%.6g,\"seconds\":%.2f,\"update_ok\":1}\n"
            "{\"kind\":\"eval\",\"step\":%d,\"split\":\"valid\",\"loss\":%.6g,\"n\":4}\n",
            i + 1, loss, i + 1, lr, 0.01 * i, i + 1, loss + 0.1);
    }
    snprintf(path, sizeof path, DIR "/%s", name);
    REQUIRE_OK(vkt__mkdirs(path));
    snprintf(path, sizeof path, DIR "/%s/metrics.jsonl", name);
    REQUIRE_OK(vkt__file_replace(path, s.data, s.len));
    vkt__str_finish(&s);
}

/* Fills in the trials that have no result yet, those that are only planned, too; false: all have.
 */
static bool train_all(json_t *study, world of)
{
    size_t i;
    json_t *t;
    bool any = false;
    json_array_foreach(json_object_get(study, "trials"), i, t)
    {
        const char *state = json_string_value(json_object_get(t, "state"));
        const json_t *set = json_object_get(t, "set");
        if (!strcmp(state, "done") || !strcmp(state, "infeasible") || !strcmp(state, "cut"))
            continue;
        double seed = value_of(set, "seed", NAN);
        asked a = { .group = json_string_value(json_object_get(t, "group")),
                    .lr = value_of(set, "optim.lr", 0.01),
                    .clip = value_of(set, "optim.clip", 0),
                    .warmup = (uint64_t)value_of(set, "schedule.warmup", 0),
                    .steps = (uint64_t)value_of(set, "train.steps", STEPS),
                    .seed = isnan(seed) ? -1 : (int)seed % 100 };
        given g = of(&a);
        const char *name = json_string_value(json_object_get(t, "name"));
        bool cut = g.cut || g.unbegun, has = !g.diverges && !g.unbegun && !isnan(g.accuracy);
        json_object_set_new(t, "state",
                            json_string(g.diverges ? "infeasible"
                                        : cut      ? "cut"
                                                   : "done"));
        json_object_set_new(t, "why",
                            g.unbegun ? json_string(VKT__NO_TIME)
                            : g.cut   ? json_string("the time ended it")
                                      : json_null());
        json_object_set_new(t, "best", has ? json_real(g.accuracy) : json_null());
        json_object_set_new(t, "first_loss", json_real(1.5));
        json_object_set_new(t, "final_loss", json_real(g.diverges ? 9 : 0.5 + g.rise));
        json_object_set_new(t, "rise", g.diverges ? json_string("inf") : json_real(g.rise));
        json_object_set_new(t, "clipped", json_real(g.clipped));
        uint64_t steps = g.unbegun ? 0 : g.cut ? g.cut : g.seconds > 0 ? a.steps : 100;
        json_object_set_new(t, "steps", json_integer((json_int_t)steps));
        json_object_set_new(t, "best_step", json_integer((json_int_t)steps));
        if (g.seconds > 0) json_object_set_new(t, "step_ms", json_real(1));
        json_object_set_new(t, "seconds", json_real(g.unbegun ? 0 : g.seconds));
        write_metrics(name, &a, &g);
        any = true;
    }
    return any;
}

/* The study of that kind in a world whose trials follow `of`. */
static vkt_study *study_of(vkt_study_desc d, world of)
{
    vkt_study s = { .priv = vkt__alloc(sizeof *s.priv) }, *out = NULL;
    d.recipe = "digits";
    d.set = base;
    d.n_set = VKT_COUNT(base);
    d.dir = DIR;
    d.resume = true;
    d.gpu.device = "no such device";
    s.priv->desc = &d;
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    vkt_config *c;
    REQUIRE_OK(vkt__trial_config(&s, NULL, 0, &c));
    char *yaml = vkt_config_yaml(c), options[200];
    snprintf(options, sizeof options,
             "trials=0 points=0 from=0 to=0 seeds=3 unstable_lr=0 factor=0 norms_from=- "
             "target=nan%s",
             d.ramp ? " ramp" : "");
    if (d.kind == VKT_STUDY_AUTO)
        snprintf(options, sizeof options, "minutes=%g seeds=3", d.minutes);
    json_t *study = json_pack("{ss ss ss ss si s[]}", "format", "vktrain study", "kind",
                              vkt_study_kind_name(d.kind), "config", yaml, "options", options,
                              "seed", 0, "trials");
    vkt_free(yaml);
    vkt_config_destroy(&c);
    vkt__arena_finish(&s.priv->arena);
    free(s.priv);
    for (int i = 0; i < MOST_TRIALS && !out; i++) {
        json_error_t e;
        char *text;
        size_t n;
        REQUIRE_OK(json_dump_file(study, DIR "/study.json", 0) ? VKT_E_IO : VKT_OK);
        json_decref(study);
        TEST_LOG_CAPTURE();
        vkt_status st = vkt_study_run(&d, &out);
        REQUIRE_OK(vkt__file_read(DIR "/study.json", 1 << 24, &text, &n));
        study = json_loadb(text, n, 0, &e);
        free(text);
        assert_non_null(study);
        if (st == VKT_OK) break;
        if (!train_all(study, of)) fail_msg("all trials have results: %s", test_log);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    json_decref(study);
    assert_non_null(out);
    return out;
}

static bool said(const vkt_study *s, const char *words)
{
    for (size_t i = 0; i < s->n_advice; i++)
        if (strstr(s->advice[i], words)) return true;
    return false;
}

static void require_said(const vkt_study *s, const char *words)
{
    if (said(s, words)) return;
    for (size_t i = 0; i < s->n_advice; i++) print_error("said: %s\n", s->advice[i]);
    fail_msg("it does not say: %s", words);
}

static size_t n_of(const vkt_study *s, const char *group)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_trials; i++) n += !strcmp(s->trials[i].group, group);
    return n;
}

static const char *cell(const vkt_study *s, size_t row, size_t column)
{
    assert_true(row < s->n_rows && column < s->n_columns);
    return s->cells[row * s->n_columns + column];
}

/* ---- the learning rate ---- */

/* Best at 0.02; seeds differ by a ten-thousandth. */
static given best_at_0_02(const asked *a)
{
    double x = log10(a->lr / 0.02);
    return (given) { .accuracy = 0.9 - 0.05 * x * x + 0.0001 * a->seed };
}
static given unstable_above_0_025(const asked *a)
{
    given g = best_at_0_02(a);
    g.rise = a->lr > 0.025 ? 0.75 : 0;
    g.diverges = a->lr > 0.2;
    return g;
}
/* The recipe's rate is as good as any on fresh seeds. */
static given lucky_at_0_02(const asked *a)
{
    given g = best_at_0_02(a);
    if (a->seed >= 0) g.accuracy = a->lr > 0.015 ? 0.8 : 0.85;
    return g;
}

/* The number behind these words in what the study advises. */
static double number_behind(const vkt_study *s, const char *words)
{
    for (size_t i = 0; i < s->n_advice; i++) {
        const char *at = strstr(s->advice[i], words);
        if (at) return atof(at + strlen(words));
    }
    return NAN;
}

static void the_best_rate_is_found(void **state)
{
    (void)state;
    vkt_study *s = study_of((vkt_study_desc) { .kind = VKT_STUDY_LR }, best_at_0_02);
    assert_true(n_of(s, "sweep") == 9 && n_of(s, "refine") == 3 && n_of(s, "recipe") == 3 &&
                n_of(s, "candidate") == 3 && n_of(s, "above") == 1 && n_of(s, "early") == 1);
    assert_int_equal(s->n_trials, 20);
    assert_int_equal(s->n_apply, 1);
    REQUIRE_NEAR(atof(strchr(s->apply[0], '=') + 1), 0.02, 0.0002);
    assert_string_equal(s->note, "why it runs"); /* the recipe's, where the study has none */
    require_said(s, "use optim.lr=0.02 (lr*): better than the recipe on validation");
    require_said(s, "stable: training loss falls throughout at 0.03 (1.5 x lr*)");
    assert_non_null(strstr(s->command, "--set optim.lr=0.02"));
    /* a row for each rate, by the rate; one of them is marked */
    assert_int_equal(s->n_rows, 12);
    size_t n_best = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        assert_true(!i || atof(cell(s, i, 0)) > atof(cell(s, i - 1, 0)));
        bool best = strstr(cell(s, i, 4), "lr*") != NULL;
        n_best += best;
        if (best) REQUIRE_NEAR(atof(cell(s, i, 0)), 0.02, 0.0002);
        if (best) REQUIRE_NEAR(atof(cell(s, i, 2)), 0.9, 0.0001);
    }
    assert_int_equal(n_best, 1);
    vkt_study_destroy(&s);
    s = study_of((vkt_study_desc) { .kind = VKT_STUDY_LR }, unstable_above_0_025);
    require_said(s, "just above lr*, training loss rises by 0.75");
    require_said(s, "try these in the playbook's order: (1) warmup: `vktrain study warmup digits");
    REQUIRE_NEAR(number_behind(s, "--unstable-lr"), 2 * 0.02, 2 * 0.0002); /* well above lr* */
    assert_false(said(s, "stable: training loss falls throughout"));
    vkt_study_destroy(&s);
    s = study_of((vkt_study_desc) { .kind = VKT_STUDY_LR }, lucky_at_0_02);
    assert_int_equal(s->n_apply, 0);
    require_said(s, "keep the recipe: optim.lr=0.02 (lr*) looked best in the trials, but is worse");
    require_said(s, "1.5 x the recipe's rate, which is kept"); /* that one is checked */
    assert_null(strstr(s->command, "optim.lr=0.02"));
    vkt_study_destroy(&s);
}

static void a_ramp_says_where_the_loss_falls(void **state)
{
    (void)state;
    vkt_study *s = study_of((vkt_study_desc) { .kind = VKT_STUDY_LR, .ramp = true }, best_at_0_02);
    assert_true(n_of(s, "ramp") == 1 && s->n_rows == 4);
    double steepest = atof(cell(s, 0, 1)), lowest = atof(cell(s, 2, 1)),
           rises = atof(cell(s, 3, 1));
    assert_true(steepest > 0.001 && steepest < 0.01);
    assert_true(lowest > 0.03 && lowest < 1 && rises > lowest);
    REQUIRE_NEAR(atof(cell(s, 1, 1)), lowest / 10, 1e-3 * lowest);
    require_said(s, "the loss rises again from about");
    vkt_study_destroy(&s);
}

/* ---- clipping: norms of the run without it are 1 to 100 ---- */

static given better_at_90(const asked *a)
{
    double x = a->clip > 0 ? (a->clip - 90) / 100 : 0.3;
    return (given) { .accuracy = 0.9 - x * x, .clipped = a->clip > 0 ? (100 - a->clip) / 100 : 0 };
}
static given no_better(const asked *a)
{
    return (given) { .accuracy = a->clip > 0 ? 0.8 : 0.9, .clipped = 0.7 };
}
static given no_better_and_unstable(const asked *a)
{
    given g = no_better(a);
    g.rise = 0.5;
    return g;
}

static void a_threshold_is_chosen_by_its_result(void **state)
{
    (void)state;
    vkt_study *s = study_of((vkt_study_desc) { .kind = VKT_STUDY_CLIP }, better_at_90);
    assert_true(n_of(s, "no-clip") == 1 && n_of(s, "clip") == 3 && n_of(s, "candidate") == 3);
    assert_int_equal(s->n_rows, 4);
    assert_string_equal(cell(s, 0, 0), "0 (off)");
    assert_string_equal(cell(s, 1, 0), "75.25 (p75)");
    assert_string_equal(cell(s, 2, 0), "90.1 (p90)");
    assert_string_equal(cell(s, 2, 1), "9.9%");
    assert_int_equal(s->n_apply, 1);
    assert_string_equal(s->apply[0], "optim.clip=90.1");
    require_said(s, "use optim.clip=90.1: better than the recipe on validation");
    require_said(s, "gradient norms of 100 steps: p50 50.5, p75 75.25, p90 90.1, p95 95.05, p99 "
                    "99.01, largest 100");
    assert_false(said(s, "more than half of the updates"));
    vkt_study_destroy(&s);
    s = study_of((vkt_study_desc) { .kind = VKT_STUDY_CLIP }, no_better);
    assert_int_equal(s->n_apply, 0);
    require_said(s, "keep clipping off: no threshold was better than none");
    require_said(s, "more than half of the updates are clipped at optim.clip=75.25");
    vkt_study_destroy(&s);
    s = study_of((vkt_study_desc) { .kind = VKT_STUDY_CLIP }, no_better_and_unstable);
    require_said(s, "clipping does not make training stable: lower the threshold, or try `vktrain "
                    "study warmup digits");
    vkt_study_destroy(&s);
}

/* ---- warmup ---- */

/* Stable up to 0.1, with 100 steps of warmup up to 1; the best rate is between. */
static given warmup_helps(const asked *a)
{
    double x = log10(a->lr / 0.07);
    return (given) { .accuracy = 0.9 - 0.05 * x * x,
                     .rise = a->lr > 1 || (a->lr > 0.1 && a->warmup < 100) ? 0.6 : 0 };
}
/* Nothing makes it unstable. */
static given all_stable(const asked *a)
{
    (void)a;
    return (given) { .accuracy = 0.9 };
}

static void the_shortest_warmup_is_found(void **state)
{
    (void)state;
    vkt_study *s = study_of((vkt_study_desc) { .kind = VKT_STUDY_WARMUP }, warmup_helps);
    /* 0.01, 0.02, .. 0.16 are tried without; ten times that is too much for any warmup, a third of
     * it is not */
    assert_int_equal(n_of(s, "unstable-rate"), 5);
    assert_int_equal(n_of(s, "warmup"), 4);
    assert_int_equal(n_of(s, "rate"), 3);
    assert_int_equal(s->n_apply, 2);
    assert_string_equal(s->apply[0], "optim.lr=0.07303"); /* the root of 0.01 and 0.5333 */
    assert_string_equal(s->apply[1], "schedule.warmup=100");
    require_said(s, "at 10 times the unstable rate (0.16) no warmup was stable; at 3.33 times it, "
                    "100 steps are stable");
    require_said(s, "that is more than 5% of the run");
    require_said(s, "the run then takes 1000 + 100 steps");
    assert_int_equal(s->n_rows, s->n_trials);
    for (size_t i = 0; i < s->n_rows; i++) {
        const vkt_study_trial *t = &s->trials[i];
        assert_string_equal(cell(s, i, 0), t->name);
        for (size_t k = 0; k < t->n_set; k++)
            if (!strncmp(t->set[k], "optim.lr=", 9) && strcmp(t->group, "candidate"))
                REQUIRE_NEAR(atof(cell(s, i, 2)), atof(t->set[k] + 9), 0);
    }
    vkt_study_destroy(&s);
    s = study_of((vkt_study_desc) { .kind = VKT_STUDY_WARMUP }, all_stable);
    require_said(s, "no warmup is needed: training was stable up to");
    assert_int_equal(s->n_apply, 0);
    vkt_study_destroy(&s);
}

/* ---- auto: what the time ends is no result ---- */

static size_t n_on_seeds, whole_of_seeds;

/* A minute: a trial takes 0.2 s and 1 ms a step. */
static given in_time(const asked *a)
{
    double x = log10(a->lr / 0.01);
    return (given) { .accuracy = 0.9 - 0.05 * x * x, .seconds = 0.2 + 0.001 * (double)a->steps };
}
/* Fresh seeds: whole_of_seeds trials end, the next is cut, with the best number of all. */
static given seeds_are_cut(const asked *a)
{
    given g = in_time(a);
    if (strcmp(a->group, "candidate") && strcmp(a->group, "recipe")) return g;
    if (++n_on_seeds <= whole_of_seeds) return g;
    g.accuracy = 0.99;
    g.unbegun = n_on_seeds > whole_of_seeds + 1;
    g.cut = a->steps / 2;
    return g;
}
/* No seed ends, and the longer run is cut before it is any good. */
static given the_end_is_cut(const asked *a)
{
    given g = seeds_are_cut(a);
    if (strcmp(a->group, "final")) return g;
    g.accuracy = 0.8;
    g.cut = 77;
    return g;
}
static given the_end_has_no_result(const asked *a)
{
    given g = the_end_is_cut(a);
    if (!strcmp(a->group, "final")) g.accuracy = NAN;
    return g;
}
/* The time ends within the rates: those above the recipe's look best when they are cut. */
static given rates_are_cut(const asked *a)
{
    given g = in_time(a);
    if (strcmp(a->group, "sweep") || a->lr < 0.009) return g;
    g.seconds = 20;
    g.cut = 50;
    g.accuracy = 0.99;
    g.unbegun = a->lr > 0.05;
    return g;
}
static given all_rates_are_cut(const asked *a)
{
    given g = in_time(a);
    if (!strcmp(a->group, "sweep")) g.unbegun = true;
    return g;
}

static const vkt_study_desc a_minute = { .kind = VKT_STUDY_AUTO, .minutes = 1 };

static vkt_study *with_seeds(size_t whole, world of)
{
    n_on_seeds = 0;
    whole_of_seeds = whole;
    return study_of(a_minute, of);
}

static void a_seed_that_is_cut_is_no_result(void **state)
{
    (void)state;
    vkt_study *s;
    for (size_t whole = 7; whole < 9; whole++) { /* of three settings: two seeds are whole */
        s = with_seeds(whole, seeds_are_cut);
        assert_int_equal(n_of(s, "candidate") + n_of(s, "recipe"), 9);
        require_said(s, " over 2 new seeds; ");
        require_said(s, "it ends here since there was no time for every stage");
        size_t begun = 0;
        for (size_t i = 0; i < s->n_trials; i++) begun += s->trials[i].seconds > 0;
        assert_int_equal(s->n_trials - begun, 8 - whole);
        require_said(s, vkt__study_text(s, "%zu trials took", begun));
        vkt_study_destroy(&s);
    }
    s = with_seeds(100, seeds_are_cut);
    require_said(s, " over 3 new seeds; ");
    require_said(s, "it ends here since every stage is done");
    vkt_study_destroy(&s);
}

static void a_longer_run_that_is_cut_must_be_better(void **state)
{
    (void)state;
    vkt_study *s = with_seeds(2, the_end_is_cut);
    const char *final = s->trials[s->n_trials - 1].name;
    assert_string_equal(s->trials[s->n_trials - 1].group, "final");
    assert_null(strstr(s->best_run, final));
    require_said(s, "fresh seeds did not end in time");
    require_said(s, "run: 77 steps (the time ended it), since");
    require_said(s, "; the best trial is better, and is taken");
    vkt_study_destroy(&s);
    s = with_seeds(2, the_end_has_no_result);
    require_said(s, "run: it has no result (the time ended it)");
    assert_false(said(s, "nan"));
    vkt_study_destroy(&s);
}

static void a_rate_that_is_cut_was_not_tried(void **state)
{
    (void)state;
    vkt_study *s = study_of(a_minute, rates_are_cut);
    require_said(s, "2. learning rate: of 3 from 0.001 to 0.01 the best is 0.01 (the recipe's: "
                    "0.01)");
    require_said(s, "it is at the end of those that there was time for");
    vkt_study_destroy(&s);
    s = study_of(a_minute, all_rates_are_cut);
    require_said(s, "2. learning rate: none that was tried ended in time");
    assert_non_null(s->best_run);
    vkt_study_destroy(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_rate_is_found),
        cmocka_unit_test(a_ramp_says_where_the_loss_falls),
        cmocka_unit_test(a_threshold_is_chosen_by_its_result),
        cmocka_unit_test(the_shortest_warmup_is_found),
        cmocka_unit_test(a_seed_that_is_cut_is_no_result),
        cmocka_unit_test(a_longer_run_that_is_cut_must_be_better),
        cmocka_unit_test(a_rate_that_is_cut_was_not_tried),
    };
    vkt__setenv("VK_DRIVER_FILES", "none"); /* looking for devices would take most of the time */
    vkt__setenv("VK_ICD_FILENAMES", "none");
    return cmocka_run_group_tests_name("flows of studies", tests, setup, teardown);
}
