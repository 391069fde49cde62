/* Confident learning where some labels are changed: how many it finds, and that a sure model
 * with honest labels gives hardly any. The probabilities are those of a model that knows the truth
 * up to noise; its labels come from it by chance. */
#include "testing.h"

#include "train/measures/label_doubt.h"
#include "vktrain/vktrain.h"

enum { N = 2000, CLASSES = 5 };

static vkt__judged judged[N];
static uint32_t truth[N];

static double uniform(uint64_t i)
{
    return (double)vkt_rand_uniform(7, VKT_RNG_TEST, i);
}

/* A fifth of the examples are hard: two classes share them. `changed` of the labels are others. */
static void make(double changed)
{
    for (uint64_t i = 0; i < N; i++) {
        float p[CLASSES];
        double sum = 0, at = uniform(8 * i);
        uint32_t a = (uint32_t)(i % CLASSES), b = (uint32_t)((i + 1 + i / 5 % 4) % CLASSES);
        bool hard = uniform(8 * i + 1) < 0.2;
        double of_a = hard ? 0.5 + 0.2 * uniform(8 * i + 2) : 0.99;
        for (uint32_t k = 0; k < CLASSES; k++) {
            double v = k == a ? of_a : k == b ? 1.01 - of_a : 0.01;
            sum += p[k] = (float)(v * (1 - changed) + changed / CLASSES);
        }
        for (uint32_t k = 0; k < CLASSES; k++) p[k] /= (float)sum;
        truth[i] = at < of_a ? a : b;
        uint32_t label = truth[i];
        if (uniform(8 * i + 3) < changed)
            label = (label + 1 + (uint32_t)(uniform(8 * i + 4) * (CLASSES - 1))) % CLASSES;
        vkt__judged_set(&judged[i], i, label, p, CLASSES);
    }
}

static void changed_labels_are_found(void **state)
{
    (void)state;
    vkt__doubts d;
    size_t right = 0, first = 0, changed = 0;
    make(0.1);
    REQUIRE_OK(vkt__label_doubts(judged, N, CLASSES, &d));
    for (size_t i = 0; i < N; i++) changed += judged[i].label != truth[i];
    for (size_t i = 0; i < d.n; i++) {
        bool is = judged[d.doubt[i].at].label != truth[d.doubt[i].at];
        right += is;
        first += is && i < 50;
        assert_int_not_equal(d.doubt[i].likely, judged[d.doubt[i].at].label);
    }
    assert_in_range(changed, 170, 230);
    assert_true(right > 0.7 * (double)changed); /* those of hard examples can't be told */
    assert_true(right > 0.8 * (double)d.n);
    assert_true(first >= 45); /* the list begins with those that are surest */
    assert_true(d.half > 0.4 * d.wrong && d.quarter > 0.3 * d.wrong);
    free(d.doubt);
}

static void honest_labels_give_few(void **state)
{
    (void)state;
    vkt__doubts d;
    make(0);
    REQUIRE_OK(vkt__label_doubts(judged, N, CLASSES, &d));
    assert_in_range(d.n, 0, N / 20);
    assert_true(d.quarter <= 0.06 && d.half < 0.08);
    free(d.doubt);
}

static void classes_are_ordered_and_ends_hold(void **state)
{
    (void)state;
    vkt__doubts d;
    float p[12] = {
        0.01f, 0.2f, 0.02f, 0.3f, 0.03f, 0.05f, 0.04f, 0.06f, 0.07f, 0.08f, 0.13f, 0.01f
    };
    vkt__judged e;
    vkt__judged_set(&e, 9, 0, p, 12);
    assert_int_equal(e.top[0].class, 3);
    assert_int_equal(e.top[1].class, 1);
    assert_int_equal(e.top[7].class, 6);
    assert_true(e.p_label == 0.01f && e.index == 9);
    REQUIRE_OK(vkt__label_doubts(&e, 0, 12, &d));
    assert_int_equal(d.n, 0);
    free(d.doubt);
    REQUIRE_OK(vkt__label_doubts(&e, 1, 12, &d)); /* no class but its own has an example */
    assert_int_equal(d.n, 0);
    assert_true(d.wrong == 1);
    free(d.doubt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_labels_are_found),
        cmocka_unit_test(honest_labels_give_few),
        cmocka_unit_test(classes_are_ordered_and_ends_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
