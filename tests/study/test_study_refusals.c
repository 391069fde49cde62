/* Studies that are refused before a device is opened, one row each: for their request, or, resumed,
 * for what their study.json says. A resumed study recalls its trials, so that one without a
 * feasible trial ends here as it would after training. The words of spaces are test_study's. */
#include "testing.h"

#include <jansson.h>

#include "study/study_run.h"
#include "vktrain/vktrain.h"

#define DIR "test_study_refusals_tmp"
#include "own_folder.h"

#define SPACE DIR "/space.yaml"
#define STUDY DIR "/study"
#define RECIPE DIR "/r.yaml"
#define NUMBERS DIR "/numbers.yaml"

static const char space[] = "optim.rule: [adam]\n";

static void put(const char *path, const char *text)
{
    REQUIRE_OK(vkt__file_replace(path, text, strlen(text)));
}

/* One line, with what is wrong in it. */
static void refused(const vkt_study_desc *of, vkt_status st, const char *words)
{
    vkt_study_desc d = *of;
    vkt_study *s;
    if (!d.recipe) d.recipe = "digits";
    d.dir = STUDY;
    TEST_LOG_CAPTURE();
    vkt_status got = vkt_study_run(&d, &s);
    if (got != st) print_error("wants '%s', has status %d: %s\n", words, (int)got, test_log);
    assert_int_equal(got, st);
    assert_null(s);
    REQUIRE_LOGGED(words);
    if (strchr(test_log, 0x0a)[1]) print_error("more than a line: %s", test_log);
    assert_int_equal(strchr(test_log, '\n')[1], 0);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

#define SET(text) .set = (const char *const[]) { text }, .n_set = 1
#define AGAINST(text) .against = (const char *const[]) { text }, .n_against = 1
#define OF(kind_) .kind = VKT_STUDY_##kind_

static void of_what_is_asked(void **state)
{
    (void)state;
    const struct {
        vkt_study_desc d;
        vkt_status st;
        const char *words;
    } rows[] = {
        { { .kind = (vkt_study_kind)77 }, VKT_E_ARG, "there is no study number 77" },
        { { OF(LR), SET("optim.lrr=1") }, VKT_E_ARG, "did you mean 'optim.lr'" },
        { { OF(LR), SET("data.valid_fraction=0") },
          VKT_E_ARG,
          "there are no validation examples: set data.valid_fraction" },
        { { OF(LR), .resume = true },
          VKT_E_ARG,
          "no study in '" STUDY "' to resume; leave out --resume to start one" },
        { { OF(LR), .from = 0.1, .to = 0.01 },
          VKT_E_ARG,
          "learning rates from 0.1 to 0.01 are not a valid range to sweep" },
        { { OF(LR), .from = -1 }, VKT_E_ARG, "learning rates from -1 to" },
        { { OF(LR), .points = 2 }, VKT_E_ARG, "--points 2: a sweep needs at least 3" },
        { { OF(LR), .ramp = true, .from = 1, .to = 0.1 },
          VKT_E_ARG,
          "--ramp from 1 to 0.1: --from must be above 0, and --to above --from" },
        { { OF(LR), .ramp = true, .steps = 20 },
          VKT_E_ARG,
          "--ramp in 20 steps: it needs at least 50" },
        { { OF(WARMUP), .unstable_lr = -1 }, VKT_E_ARG, "--unstable-lr must be above 0" },
        { { OF(WARMUP), .factor = 0.5 }, VKT_E_ARG, "--factor 1 or more" },
        { { OF(CLIP), .norms_from = DIR "/none" }, VKT_E_IO, DIR "/none/metrics.jsonl" },
        { { OF(CLIP), .norms_from = DIR "/normless" },
          VKT_E_FORMAT,
          "'" DIR "/normless' has no gradient norms to choose a threshold from" },
        { { OF(BATCH_SIZE), .from = 2.5 },
          VKT_E_ARG,
          "batch-size: 2.5 to 1293 is not a valid range: --from must be a whole number" },
        { { OF(BATCH_SIZE), .from = 64, .to = 32 }, VKT_E_ARG, "batch-size: 64 to 32 is not" },
        { { OF(BATCH_SIZE), .from = 5000 }, VKT_E_ARG, "at most the 1293 training examples" },
        { { OF(SEARCH) }, VKT_E_ARG, "search: --space FILE is missing" },
        { { OF(SEARCH), .space = DIR "/none.yaml" }, VKT_E_IO, DIR "/none.yaml" },
        { { OF(SEARCH), .space = SPACE, .isolate = "optim.rul" },
          VKT_E_ARG,
          "--isolate optim.rul: there is no such metaparameter in the space; did you mean "
          "'optim.rule'" },
        { { OF(SEARCH), .space = SPACE, .prune = true, .steps = 60, SET("eval.every=60") },
          VKT_E_ARG,
          "--prune: 60 steps with an evaluation every 60 leave none" },
        { { OF(FOLDS), SET("data.folds=3") },
          VKT_E_ARG,
          "data.folds=3 is what this study sets itself" },
        { { OF(FOLDS), AGAINST("data.fold=1") }, VKT_E_ARG, "data.fold=1 is what this study sets" },
        { { OF(FOLDS), AGAINST("seed=7") }, VKT_E_ARG, "seed=7 is what this study sets itself" },
        { { OF(FOLDS), AGAINST("optim.lrr=7") }, VKT_E_ARG, "did you mean 'optim.lr'" },
        { { OF(FOLDS), .folds = 1 }, VKT_E_ARG, "at least 2 folds" },
        { { OF(FOLDS), .recipe = NUMBERS, .labels = true },
          VKT_E_ARG,
          "--labels lists the labels of classes, one an example: this data has none, leave it "
          "out" },
        { { OF(DATA), SET("train.batch=161") },
          VKT_E_ARG,
          "train.batch 161 is more than an eighth of the 1293 training examples: --set "
          "train.batch=16" },
        { { OF(DATA), SET("train.batch=1000") }, VKT_E_ARG, "an eighth of the 1293" },
    };
    put(SPACE, space);
    put(DIR "/numbers.csv", "a,b,y\n1,2,0.5\n2,3,1.5\n3,1,2.5\n4,7,3.5\n5,2,4.5\n6,6,5.5\n7,1,6.5\n"
                            "8,3,7.5\n9,1,8.5\n10,5,9.5\n11,4,10.5\n12,4,11.5\n");
    put(NUMBERS, "data: {source: csv, path: " DIR "/numbers.csv, label: y, task: regress}\n"
                 "model: [linear]\ntrain: {batch: 2}\n");
    REQUIRE_OK(vkt__mkdirs(DIR "/normless"));
    put(DIR "/normless/metrics.jsonl", "{\"kind\":\"train\",\"step\":1,\"loss\":2.5}\n");
    for (size_t i = 0; i < VKT_COUNT(rows); i++) refused(&rows[i].d, rows[i].st, rows[i].words);
    assert_false(vkt__file_exists(STUDY)); /* a refused study leaves no folder */
}

/* study.json of a study that was begun as d asks, with `changes` laid over it. */
static void put_study(const vkt_study_desc *d, const char *changes)
{
    vkt_study s = { .priv = &(struct vkt__study_private) { .desc = d } };
    vkt_config *c;
    vkt__str options = { 0 };
    json_error_t error;
    REQUIRE_OK(vkt__trial_config(&s, NULL, 0, &c));
    char *yaml = vkt_config_yaml(c);
    vkt__str_printf(&options,
                    "trials=%u points=%u from=%g to=%g seeds=3 unstable_lr=0 factor=0 norms_from=- "
                    "target=nan%s",
                    d->trials, d->points, d->from, d->to, d->ramp ? " ramp" : "");
    json_t *j = json_pack("{ss ss ss ss ss si so ss?}", "format", "vktrain study", "kind",
                          vkt_study_kind_name(d->kind), "recipe", "digits", "config", yaml,
                          "options", options.data, "seed", 0, "trials", json_array(), "space",
                          d->space ? space : NULL),
           *over = json_loads(changes, 0, &error);
    if (!over) fail_msg("%s: %s", error.text, changes);
    json_object_update_new(j, over);
    REQUIRE_OK(vkt__mkdirs(STUDY));
    REQUIRE_OK(json_dump_file(j, STUDY "/study.json", 0));
    json_decref(j);
    free(yaml);
    vkt__str_finish(&options);
    vkt_config_destroy(&c);
}

#define SWEEP OF(LR), .from = 0.01, .to = 1, .points = 3
#define BAD(group, set)                                                                            \
    "{\"group\": \"" group "\", \"state\": \"infeasible\", \"why\": \"it diverged\", "             \
    "\"set\": [" set "]}"
#define TRIALS(list) "{\"trials\": [" list "]}"
#define RAMP                                                                                       \
    "\"optim.lr=1\", \"schedule.kind=ramp\", \"schedule.final_ratio=0.01\", "                      \
    "\"schedule.milestones=[]\", \"schedule.warmup=0\", \"eval.every=60\""

static void of_what_is_resumed(void **state)
{
    (void)state;
    static const struct {
        vkt_study_desc d;
        const char *changes;
        vkt_status st;
        const char *words;
    } rows[] = {
        { { SWEEP },
          "{\"format\": \"a study\"}",
          VKT_E_FORMAT,
          "'" STUDY "/study.json' was not written by vktrain" },
        { { SWEEP },
          "{\"kind\": \"clip\"}",
          VKT_E_ARG,
          "holds a study of kind clip, not lr: give another --study" },
        { { SWEEP }, "{\"kind\": 7}", VKT_E_FORMAT, "study.json' was not written by vktrain" },
        { { SWEEP }, "{\"kind\": \"a\\u001b[31m\"}", VKT_E_ARG, "a study of kind a [31m, not lr" },
        { { SWEEP },
          "{\"config\": \"seed: 5\"}",
          VKT_E_ARG,
          "is a study of another recipe ('digits', or with other options)" },
        { { OF(BATCH_SIZE) },
          "{\"config\": \"seed: 5\"}",
          VKT_E_ARG,
          "the recipe has changed since '" STUDY "' was measured (it was 'digits')" },
        { { OF(SEARCH), .space = SPACE },
          "{\"space\": \"optim.rule: [adamw]\"}",
          VKT_E_ARG,
          "is a study of another space" },
        { { SWEEP }, "{\"options\": \"points=4\"}", VKT_E_ARG, "other options (points=4 seed=0)" },
        { { SWEEP },
          "{\"seed\": 9}",
          VKT_E_ARG,
          "was started with other options (trials=0 points" },
        { { OF(SEARCH), .space = SPACE, .trials = 1 },
          TRIALS(BAD("search", "\"optim.rule=adam\"") ", " BAD("search", "\"optim.rule=adam\"")),
          VKT_E_ARG,
          "has 2 trials of its search already: --trials must be at least that many" },
        { { SWEEP }, TRIALS("5"), VKT_E_ARG, "trial 0 differs from the one that this version" },
        { { SWEEP }, TRIALS(BAD("search", "\"optim.lr=0.01\"")), VKT_E_ARG, "trial 0 differs" },
        { { SWEEP }, TRIALS(BAD("sweep", "\"optim.lr=0.02\"")), VKT_E_ARG, "trial 0 differs" },
        { { SWEEP }, TRIALS(BAD("sweep", "")), VKT_E_ARG, "trial 0 differs" },
        { { SWEEP },
          TRIALS(BAD("sweep", "\"optim.lr=0.01\"") ", " BAD("sweep", "1")),
          VKT_E_ARG,
          "trial 1 differs" },
        /* All of its trials are there, and none came to an end. */
        { { SWEEP },
          TRIALS(BAD("sweep", "\"optim.lr=0.01\"") ", " BAD("sweep", "\"optim.lr=0.1\"") ", " BAD(
              "sweep", "\"optim.lr=1\"")),
          VKT_E_FAILED,
          "no learning rate from 0.01 to 1 trained without diverging; message of the first trial: "
          "it diverged" },
        { { OF(SEARCH), .space = SPACE, .trials = 1 },
          TRIALS(BAD("search", "\"optim.rule=adam\"")),
          VKT_E_FAILED,
          "none of the 1 trials was feasible; message of the first: it diverged" },
        { { OF(LR), .ramp = true, .from = 0.01, .to = 1, .steps = 60 },
          TRIALS(BAD("ramp", RAMP)),
          VKT_E_FAILED,
          "the ramp could not be run: it diverged" },
        { { SWEEP, .note = "\xe9" }, "{}", VKT_E_ARG, STUDY "/study.json': a text is not UTF-8" },
    };
    put(SPACE, space);
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_study_desc d = rows[i].d;
        d.recipe = "digits";
        d.resume = true;
        put_study(&d, rows[i].changes);
        refused(&d, rows[i].st, rows[i].words);
    }
    const vkt_study_desc sweep = { SWEEP, .recipe = "digits", .resume = true };
    vkt__file_lock *lock;
    put_study(&sweep, "{}");
    REQUIRE_OK(vkt__lock_take(STUDY "/.lock", &lock));
    assert_non_null(lock);
    refused(&sweep, VKT_E_ARG, "another process works on the study in '" STUDY "'");
    vkt__lock_release(&lock);
    put(STUDY "/study.json", "{\n");
    refused(&sweep, VKT_E_FORMAT, "'" STUDY "/study.json' is damaged: line ");
    put(STUDY "/study.json", "[]");
    refused(&sweep, VKT_E_FORMAT, "'" STUDY "/study.json' was not written by vktrain");
}

/* What the second trial's configuration is made of is gone when the first has been recalled. */
static void remove_recipe(void *user, const vkt_study_progress *p)
{
    (void)p;
    vkt__file_remove(user);
}

/* A resumed study that ends early has in its study.json what was in it, and a trial whose recipe
 * can't be read is not infeasible. */
static void what_is_done_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *trials;
        vkt_status st;
        const char *words;
    } rows[] = {
        { BAD("sweep", "\"optim.lr=0.02\"") ", " BAD("sweep", "\"optim.lr=0.1\""), VKT_E_ARG,
          "trial 0 differs" },
        { BAD("sweep", "\"optim.lr=0.01\"") ", " BAD("sweep", "1") ", " BAD("sweep", "2"),
          VKT_E_ARG, "trial 1 differs" },
        { BAD("sweep", "\"optim.lr=0.01\"") ", " BAD("sweep", "\"optim.lr=0.1\"") ", " BAD(
              "sweep", "\"optim.lr=1\"") ", " BAD("refine", "\"optim.lr=0.5\""),
          VKT_E_FAILED, "no learning rate from 0.01 to 1 trained" },
        { BAD("sweep", "\"optim.lr=0.01\""), VKT_E_IO, "trial-0001: no recipe '" RECIPE "'" },
    };
    static const char recipe[] = "data: {source: digits}\nmodel: [flatten, linear]\n";
    vkt_study_desc d = {
        SWEEP,         .recipe = RECIPE, .dir = STUDY, .resume = true, .on_progress = remove_recipe,
        .user = RECIPE
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        json_error_t error;
        vkt_study *s;
        vkt__str old = { 0 };
        vkt__str_printf(&old, "{\"trials\": [%s]}", rows[i].trials);
        put(RECIPE, recipe);
        put_study(&d, old.data);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_study_run(&d, &s), rows[i].st);
        REQUIRE_LOGGED(rows[i].words);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        json_t *was = json_loads(old.data, 0, &error),
               *is = json_load_file(STUDY "/study.json", 0, &error);
        json_t *a = json_object_get(was, "trials"), *b = json_object_get(is, "trials");
        assert_true(json_array_size(b) >= json_array_size(a));
        for (size_t k = 0; k < json_array_size(b); k++) {
            const char *state_of =
                json_string_value(json_object_get(json_array_get(b, k), "state"));
            bool had = k < json_array_size(a);
            assert_string_equal(state_of, had ? "infeasible" : "planned");
            if (had)
                assert_true(json_equal(json_object_get(json_array_get(a, k), "set"),
                                       json_object_get(json_array_get(b, k), "set")));
        }
        json_decref(was);
        json_decref(is);
        vkt__str_finish(&old);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_what_is_asked),
        cmocka_unit_test(of_what_is_resumed),
        cmocka_unit_test(what_is_done_is_kept),
    };
    return cmocka_run_group_tests_name("refusals of studies", tests, setup, teardown);
}
