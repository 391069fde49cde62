/* Which points of a line are kept: of each column the lowest, the highest and the last. */
#include <math.h>

#include "report/plot.h"
#include "testing.h"

static void require_kept(const double (*xy)[2], size_t n, double wide, const size_t *want,
                         size_t n_want)
{
    vkt__thin t = { .wide = wide };
    for (size_t i = 0; i < n; i++) vkt__thin_add(&t, i, xy[i][0], xy[i][1]);
    vkt__thin_end(&t);
    assert_int_equal(t.n, n_want);
    for (size_t i = 0; i < n_want; i++) assert_int_equal(t.keep[i], want[i]);
    free(t.keep);
}

static void columns(void **state)
{
    (void)state;
    /* The first column: high at 1, low at 3, the last is 4; the second has one point; a break; the
     * same column again; -1 lies in a column of its own. */
    static const double xy[][2] = { { 0.1, 5 }, { 0.3, 9 },  { 0.5, 6 },   { 0.7, 1 },
                                    { 0.9, 4 }, { 1.2, 3 },  { NAN, NAN }, { 1.4, 2 },
                                    { 1.5, 2 }, { -0.5, 7 }, { 0.5, 7 } };
    static const size_t want[] = { 1, 3, 4, 5, 6, 7, 8, 9, 10 };
    require_kept(xy, VKT_COUNT(xy), 1, want, VKT_COUNT(want));
}

static void wide_and_narrow(void **state)
{
    (void)state;
    static const double xy[][2] = { { 0, 3 }, { 1, 2 }, { 2, 1 }, { 3, 0 }, { 4, 5 } };
    require_kept(xy, 5, 0.5, (const size_t[]) { 0, 1, 2, 3, 4 }, 5);
    require_kept(xy, 5, 2, (const size_t[]) { 0, 1, 2, 3, 4 }, 5);
    require_kept(xy, 5, 4, (const size_t[]) { 0, 3, 4 }, 3);
    require_kept(xy, 5, 100, (const size_t[]) { 3, 4 }, 2);
    require_kept(NULL, 0, 1, NULL, 0);
}

/* However long: a run that diverged has a million of them. */
static void a_gap_is_one_point(void **state)
{
    (void)state;
    static const double xy[][2] = { { NAN, NAN }, { NAN, NAN }, { 0, 1 }, { 0.2, 1 },  { NAN, NAN },
                                    { NAN, 3 },   { NAN, NAN }, { 5, 1 }, { NAN, NAN } };
    require_kept(xy, VKT_COUNT(xy), 1, (const size_t[]) { 0, 2, 3, 4, 7, 8 }, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),
        cmocka_unit_test(wide_and_narrow),
        cmocka_unit_test(a_gap_is_one_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
