/* data: one column of a table shuffled among its rows, for permutation importance. */
#define DIR "test_permute_tmp"
#include "data_files.h"
#include "data/permute.h"

enum { ROWS = 40, WIDE = 64 };

/* Number, text of three values, date, text that is embedded, label: each number different. */
static vkt_dataset *open_table(void)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "number,town,day,street,y\n");
    for (int i = 0; i < ROWS; i++)
        vkt__str_printf(&s, "%d.5,%c,2026-%02d-%02d,s%d,%c\n", i * i, "KUB"[i % 3], 1 + i % 12,
                        1 + i % 28, i, "yn"[i % 2]);
    vkt_dataset *ds =
        open_csv(s.data, (vkt_data_desc) { .label = "y", .embed = "street", .seed = 4 });
    vkt__str_finish(&s);
    return ds;
}

static void example(const vkt_dataset *ds, vkt_split split, uint64_t i, float *x, vkt_label *y)
{
    assert_true(vkt_dataset_get_info(ds)->n_inputs <= WIDE);
    REQUIRE_OK(vkt_dataset_example(ds, split, i, x, y));
}

/* The inputs of each of the four columns. */
static void ranges(const vkt_dataset *ds, uint32_t from[4], uint32_t to[4])
{
    const vkt__schema *s = &ds->schema;
    for (uint32_t k = 0; k < 4; k++) from[k] = UINT32_MAX, to[k] = 0;
    for (uint32_t k = 0; k < s->n_columns; k++) {
        const vkt__column *c = &s->columns[k];
        uint32_t n = c->n_categories && !c->embed ? c->n_categories : 1, p = c->position;
        from[p] = VKT_MIN(from[p], c->first_input);
        to[p] = VKT_MAX(to[p], c->first_input + n);
    }
}

/* Whether the rows of `b` hold in [from, to) what those of `a` hold there, in any order; *moved:
 * how many hold other values than before. */
static bool same_rows(float (*a)[WIDE], float (*b)[WIDE], uint32_t from, uint32_t to, int *moved)
{
    bool used[ROWS] = { 0 }, all = true;
    size_t n = (to - from) * sizeof(float);
    *moved = 0;
    for (int i = 0; i < ROWS; i++) {
        int k = 0;
        while (k < ROWS && (used[k] || memcmp(b[i] + from, a[k] + from, n))) k++;
        if (k < ROWS)
            used[k] = true;
        else
            all = false;
        *moved += memcmp(b[i] + from, a[i] + from, n) != 0;
    }
    return all;
}

static void one_column_moves(void **state)
{
    (void)state;
    static float as_is[ROWS][WIDE], now[ROWS][WIDE], again[ROWS][WIDE];
    vkt_dataset *ds = open_table(), *taken;
    vkt_label y[ROWS], z;
    uint32_t from[4], to[4];
    int moved;
    ranges(ds, from, to);
    assert_int_equal(vkt__permute_columns(ds), 4);
    assert_true(to[2] - from[2] > 1 && to[1] - from[1] == 3); /* parts of a date; categories */
    REQUIRE_OK(vkt__permute_open(ds, VKT_SPLIT_TRAIN, ROWS, 9, &taken));
    assert_int_equal(vkt_dataset_get_info(taken)->n[VKT_SPLIT_TEST], ROWS);
    for (int i = 0; i < ROWS; i++) example(taken, VKT_SPLIT_TEST, i, as_is[i], &y[i]);
    for (uint32_t c = 0; c < 4; c++) {
        vkt__permute_column(taken, c, 7);
        for (int i = 0; i < ROWS; i++) {
            example(taken, VKT_SPLIT_TEST, i, now[i], &z);
            assert_int_equal(z.u, y[i].u);
        }
        for (uint32_t k = 0; k < 4; k++) {
            assert_true(same_rows(as_is, now, from[k], to[k], &moved));
            assert_true(k == c ? moved > ROWS / 3 : moved == 0);
        }
        vkt__permute_column(taken, (c + 1) % 4, 7);
        vkt__permute_column(taken, c, 7); /* the same seed, the same order */
        for (int i = 0; i < ROWS; i++) example(taken, VKT_SPLIT_TEST, i, again[i], &z);
        assert_memory_equal(now, again, sizeof now);
        vkt__permute_column(taken, c, 8);
        for (int i = 0; i < ROWS; i++) example(taken, VKT_SPLIT_TEST, i, again[i], &z);
        assert_memory_not_equal(now, again, sizeof now);
    }
    vkt_dataset_destroy(&taken);
    vkt_dataset_destroy(&ds);
}

/* Fewer rows than there are: different ones, each with its label. */
static void some_rows(void **state)
{
    (void)state;
    vkt_dataset *ds = open_table(), *taken;
    float x[WIDE], of[WIDE];
    vkt_label y, z;
    bool used[ROWS] = { 0 };
    REQUIRE_OK(vkt__permute_open(ds, VKT_SPLIT_TRAIN, 10, 3, &taken));
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t k = 0;
        example(taken, VKT_SPLIT_TEST, i, x, &y);
        for (; k < ROWS; k++) {
            example(ds, VKT_SPLIT_TRAIN, k, of, &z);
            if (!memcmp(x, of, vkt_dataset_get_info(ds)->n_inputs * sizeof *x)) break;
        }
        assert_true(k < ROWS && !used[k] && y.u == z.u);
        used[k] = true;
    }
    vkt_dataset_destroy(&taken);
    vkt_dataset_destroy(&ds);
    vkt_data_desc pixels = { .source = "digits", .valid_fraction = 0.1 };
    REQUIRE_OK(vkt_dataset_open(&pixels, &ds));
    assert_int_equal(vkt__permute_columns(ds), 0); /* pixels are no columns */
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_column_moves),
                                        cmocka_unit_test(some_rows) };
    if (vkt__mkdirs(DIR) != VKT_OK) return 1;
    return cmocka_run_group_tests_name("permute", tests, NULL, NULL);
}
