/* train: precision, recall, F1, balanced accuracy and the confusion matrix, from counts; figures
 * worked out by hand. */
#include "testing.h"

#include "base/os.h"
#include "train/measures/classes.h"

#define DIR "test_classes_tmp"

/* 4 classes: targets 5, 3, 0, 2; the third is predicted once, the last never. */
static uint64_t confusion[] = { 4, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0 };
static uint64_t count[] = { 5, 3, 0, 2 }, correct[] = { 4, 1, 0, 0 }, predicted[] = { 7, 2, 1, 0 };

static vkt__eval_sums sums(void)
{
    return (vkt__eval_sums) { .n = 10,
                              .correct = 5,
                              .loss = 20,
                              .n_classes = 4,
                              .class_count = count,
                              .class_correct = correct,
                              .class_predicted = predicted,
                              .confusion = confusion };
}

static void scores(void **state)
{
    (void)state;
    vkt__eval_sums e = sums();
    vkt__class_scores s = vkt__class_scores_of(&e, 0);
    REQUIRE_NEAR(s.precision, 4.0 / 7, 1e-15);
    REQUIRE_NEAR(s.recall, 4.0 / 5, 1e-15);
    REQUIRE_NEAR(s.f1, 2 * (4.0 / 7) * (4.0 / 5) / (4.0 / 7 + 4.0 / 5), 1e-15);
    s = vkt__class_scores_of(&e, 2);
    assert_true(s.precision == 0 && isnan(s.recall) && s.f1 == 0);
    s = vkt__class_scores_of(&e, 3);
    assert_true(isnan(s.precision) && s.recall == 0 && s.f1 == 0);
    REQUIRE_NEAR(vkt__balanced_accuracy(&e), (0.8 + 1.0 / 3 + 0) / 3, 1e-15);
    REQUIRE_NEAR(vkt__macro_f1(&e), (8.0 / 12 + 2.0 / 5 + 0 + 0) / 4, 1e-15);
    REQUIRE_NEAR(vkt__eval_metric(&e, "accuracy"), 0.5, 0);
    REQUIRE_NEAR(vkt__eval_metric(&e, "loss"), 2, 0);
    REQUIRE_NEAR(vkt__eval_metric(&e, "macro_f1"), vkt__macro_f1(&e), 0);
    REQUIRE_NEAR(vkt__eval_metric(&e, "balanced_accuracy"), vkt__balanced_accuracy(&e), 0);
}

/* The means leave out a class that has no examples and is never predicted. */
static void absent_classes_do_not_count(void **state)
{
    (void)state;
    uint64_t c[] = { 5, 3, 0 }, hit[] = { 4, 1, 0 }, said[] = { 6, 2, 0 };
    vkt__eval_sums e = {
        .n_classes = 3, .class_count = c, .class_correct = hit, .class_predicted = said
    };
    assert_true(isnan(vkt__class_scores_of(&e, 2).f1));
    REQUIRE_NEAR(vkt__macro_f1(&e), (8.0 / 11 + 2.0 / 5) / 2, 1e-15);
    REQUIRE_NEAR(vkt__balanced_accuracy(&e), (0.8 + 1.0 / 3) / 2, 1e-15);
}

/* A text's loss is a token's: perplexity is of a token, bits are of a byte. */
static void perplexity_is_of_tokens_and_bits_of_bytes(void **state)
{
    (void)state;
    vkt__eval_sums e = { .n = 100, .n_bytes = 350, .loss = 150 };
    REQUIRE_NEAR(vkt__eval_perplexity(&e), exp(1.5), 1e-12);
    REQUIRE_NEAR(vkt__eval_bits_per_byte(&e), 150 / log(2) / 350, 1e-12);
    e.normalized = true;
    assert_true(isnan(vkt__eval_bits_per_byte(&e)) && isfinite(vkt__eval_perplexity(&e)));
    e.n_bytes = 0; /* no text */
    assert_true(isnan(vkt__eval_perplexity(&e)) && isnan(vkt__eval_bits_per_byte(&e)));
}

static void confusion_files(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "b \"c\"", "\xc3\xa4,",
                                         "a very long name of a class" };
    vkt__eval_sums e = sums();
    char *text;
    size_t n;
    REQUIRE_OK(vkt__remove_tree(DIR));
    REQUIRE_OK(vkt__mkdirs(DIR));
    REQUIRE_OK(vkt__confusion_write(&e, names, DIR "/c"));
    REQUIRE_OK(vkt__file_read(DIR "/c.csv", 10000, &text, &n));
    assert_string_equal(text,
                        "target \\ predicted,\"a\",\"b \"\"c\"\"\",\"\xc3\xa4,\",\"a very long "
                        "name of a class\"\n\"a\",4,1,0,0\n\"b \"\"c\"\"\",1,1,1,0\n"
                        "\"\xc3\xa4,\",0,0,0,0\n\"a very long name of a class\",2,0,0,0\n");
    free(text);
    REQUIRE_OK(vkt__file_read(DIR "/c.png", 1 << 20, &text, &n));
    assert_memory_equal(text, "\x89PNG", 4);
    free(text);
    e.confusion = NULL; /* too many classes: no files, no error */
    REQUIRE_OK(vkt__confusion_write(&e, names, DIR "/none"));
    assert_false(vkt__file_exists(DIR "/none.csv"));
    e.n_classes = 300; /* drawn without names or numbers */
    e.confusion = vkt__alloc(300 * 300 * sizeof *e.confusion);
    e.class_count = vkt__alloc(300 * sizeof *e.class_count);
    const char **many = vkt__alloc(300 * sizeof *many);
    for (int i = 0; i < 300; i++) many[i] = "x", e.class_count[i] = e.confusion[301 * i] = 1;
    REQUIRE_OK(vkt__confusion_write(&e, many, DIR "/many"));
    assert_true(vkt__file_size(DIR "/many.png") > 1000);
    free(e.confusion);
    free(e.class_count);
    free(many);
    REQUIRE_OK(vkt__remove_tree(DIR));
}

static void of_equal_numbers_the_first_is_said(void **state)
{
    (void)state;
    const float out[] = { 1, 3, 2, 3, 3 };
    assert_int_equal(vkt__eval_largest(out, 5), 1);
    assert_int_equal(vkt__eval_largest(out + 3, 2), 0);
}

/* Each name that a recipe can give is its own number. */
static void each_name_is_its_measure(void **state)
{
    (void)state;
    vkt__eval_sums e = sums();
    e.roc_auc = 0.91, e.average_precision = 0.82, e.map = 0.73, e.map50 = 0.64, e.oks_ap = 0.55;
    const struct {
        const char *name;
        double want;
    } rows[] = { { "accuracy", vkt__eval_accuracy(&e) },
                 { "balanced_accuracy", vkt__balanced_accuracy(&e) },
                 { "macro_f1", vkt__macro_f1(&e) },
                 { "roc_auc", 0.91 },
                 { "average_precision", 0.82 },
                 { "map", 0.73 },
                 { "map50", 0.64 },
                 { "oks_ap", 0.55 },
                 { "loss", e.loss / (double)e.n } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        REQUIRE_NEAR(vkt__eval_metric(&e, rows[i].name), rows[i].want, 0);
        for (size_t k = 0; k < i; k++) assert_true(rows[i].want != rows[k].want);
    }
    uint64_t there[] = { 6, 4 }, said[] = { 5, 7 }, right[] = { 4, 3 };
    vkt__eval_sums many = { .n = 10,
                            .several = true,
                            .n_classes = 2,
                            .class_count = there,
                            .class_correct = right,
                            .class_predicted = said };
    REQUIRE_NEAR(vkt__eval_metric(&many, "micro_f1"), 14.0 / 22, 1e-15);
    many.several = false; /* of one class an example it is the accuracy: not said */
    assert_true(isnan(vkt__micro_f1(&many)));
    struct vkt__detections *some = (struct vkt__detections *)&many;
    many.boxes = some; /* what finds things has no recall of all classes */
    assert_true(isnan(vkt__balanced_accuracy(&many)));
    many.boxes = NULL;
    REQUIRE_NEAR(vkt__balanced_accuracy(&many), (4.0 / 6 + 3.0 / 4) / 2, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(scores),
                                        cmocka_unit_test(absent_classes_do_not_count),
                                        cmocka_unit_test(perplexity_is_of_tokens_and_bits_of_bytes),
                                        cmocka_unit_test(of_equal_numbers_the_first_is_said),
                                        cmocka_unit_test(each_name_is_its_measure),
                                        cmocka_unit_test(confusion_files) };
    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
