/* Tiles of a long picture along one axis: they cover it, and where two lie they are one. */
#include "testing.h"

#include "base/memory.h"
#include "train/tile_axis.h"

static const uint32_t overlaps[] = { 8, 16, 24, 32 };
enum { TILE = 64, LONGEST = 400 };

static void tiles_cover_the_picture(void **state)
{
    (void)state;
    for (size_t k = 0; k < VKT_COUNT(overlaps); k++)
        for (uint32_t length = 1; length <= LONGEST; length++) {
            vkt__tile_axis a = vkt__tile_axis_of(length, TILE, overlaps[k]);
            uint32_t step = TILE - overlaps[k];
            assert_int_equal(vkt__tile_place(&a, 0), 0);
            for (uint32_t i = 0; i + 2 < a.n; i++)
                assert_int_equal(vkt__tile_place(&a, i + 1) - vkt__tile_place(&a, i), step);
            if (length <= TILE) {
                assert_int_equal(a.n, 1);
                continue;
            }
            /* The last ends with the picture; one less would not reach its end. */
            assert_int_equal(vkt__tile_place(&a, a.n - 1) + TILE, length);
            assert_in_range(vkt__tile_place(&a, a.n - 1) - vkt__tile_place(&a, a.n - 2), 1, step);
            assert_true((a.n - 2) * step + TILE < length);
        }
}

/* At each pixel some tile counts; where one lies alone it counts whole, and so do two tiles that
 * overlap by what was asked. */
static void shares_are_one(void **state)
{
    (void)state;
    for (size_t k = 0; k < VKT_COUNT(overlaps); k++)
        for (uint32_t length = 1; length <= LONGEST; length++) {
            vkt__tile_axis a = vkt__tile_axis_of(length, TILE, overlaps[k]);
            bool even = length > TILE && (length - TILE) % (TILE - overlaps[k]) == 0;
            for (uint32_t x = 0; x < length; x++) {
                double sum = 0;
                uint32_t n = 0;
                for (uint32_t i = 0; i < a.n; i++) {
                    uint32_t at = vkt__tile_place(&a, i);
                    if (x < at || x >= at + TILE) continue;
                    sum += vkt__tile_share(&a, i, x - at + 0.5);
                    n++;
                }
                assert_true(sum > 0 && sum <= n + 1e-9);
                if (n == 1 || (n == 2 && even)) REQUIRE_NEAR(sum, 1, 1e-9);
            }
        }
}

/* The net sees nothing beyond its tile: three eighths of the overlap do not count, but at the
 * picture's own edge there is nothing to see. */
static void the_rim_of_a_tile_does_not_count(void **state)
{
    (void)state;
    vkt__tile_axis a = vkt__tile_axis_of(160, TILE, 16); /* 0, 48, 96 */
    assert_int_equal(a.n, 3);
    assert_true(vkt__tile_share(&a, 1, 6) == 0 && vkt__tile_share(&a, 1, TILE - 6) == 0);
    assert_true(vkt__tile_share(&a, 1, 8) == 0.5 && vkt__tile_share(&a, 1, TILE - 8) == 0.5);
    assert_true(vkt__tile_share(&a, 1, 10) == 1 && vkt__tile_share(&a, 1, TILE - 10) == 1);
    assert_true(vkt__tile_share(&a, 0, 0.5) == 1 && vkt__tile_share(&a, 2, TILE - 0.5) == 1);
    assert_true(vkt__tile_share(&a, 0, TILE - 6) == 0 && vkt__tile_share(&a, 2, 6) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_cover_the_picture),
        cmocka_unit_test(shares_are_one),
        cmocka_unit_test(the_rim_of_a_tile_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
