/* What vkt_run_start refuses, before it needs a graph. */
#include "testing.h"

#include "base/memory.h"
#include "vktrain/train.h"

enum { N = 3 };

static const uint32_t labels[N] = { 2, 9, 0 };
static uint32_t to[N], order[N], segments[4];

static void numbers_past_the_end(void **state)
{
    (void)state;
    const vkt_ids_in ids[] = {
        { .from = labels, .to = to, .n = N, .below = 10 },
        { .from = labels, .to = to, .n = N, .below = 3, .ignored = 9 },
        { .from = labels, .to = to, .n = N, .below = 9 },
    };
    vkt_run_desc run = { .ids = ids, .n_ids = VKT_COUNT(ids), .ticket = 7 };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_run_start(&run), VKT_E_ARG);
    REQUIRE_LOGGED("input 2 of whole numbers has one that is not below 9");
    assert_int_equal(run.refused, 2);
    assert_int_equal(run.ticket, 7);
    assert_memory_equal(to, labels, sizeof to);
    to[0] = 5;
    run.ids = ids + 2, run.n_ids = 1;
    REQUIRE_STATUS(vkt_run_start(&run), VKT_E_ARG);
    assert_int_equal(run.refused, 0);
    assert_int_equal(to[0], 5); /* nothing was copied */
}

static void more_to_sort_than_places_have_numbers(void **state)
{
    (void)state;
    const vkt_ids_in ids = { .from = labels,
                             .to = to,
                             .n = UINT64_C(1) << 32,
                             .below = 3,
                             .n_vocab = 3,
                             .order = order,
                             .segments = segments };
    vkt_run_desc run = { .ids = &ids, .n_ids = 1 };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_run_start(&run), VKT_E_ARG); /* no number was read */
    REQUIRE_LOGGED("input 0 has 4294967296 whole numbers to sort");
    assert_int_equal(run.refused, 1); /* none of them is wrong */
}

static void an_order_is_of_those_copied(void **state)
{
    (void)state;
    const vkt_ids_in ids[] = {
        { .from = labels,
          .to = to,
          .n = N,
          .below = 10,
          .n_vocab = 3,
          .order = order,
          .segments = segments },
        { .from = labels, .to = to, .n = 1, .below = 2 },
    };
    vkt_run_desc run = { .ids = ids, .n_ids = VKT_COUNT(ids) };
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_run_start(&run), VKT_E_ARG);
    assert_memory_equal(order, ((const uint32_t[N]) { 2, 0, 1 }), sizeof order);
    assert_memory_equal(segments, ((const uint32_t[4]) { 0, 1, 1, 2 }), sizeof segments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_past_the_end),
        cmocka_unit_test(more_to_sort_than_places_have_numbers),
        cmocka_unit_test(an_order_is_of_those_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
