/* data: what numbers of a table become: by quartiles and with bins, in the split, in a file that a
 * trained model reads, and in its schema. */
#define DIR "test_scaling_tmp"
#include "data_files.h"

#include "data/glance.h"
#include "data/tables/scaling.h"

#include <jansson.h>

#include <math.h>

#define CSV DIR "/t.csv"

/* Edges 0, 25, 50, 75, 100 of x; flag, whose two values are no bin; a and b. */
enum { ROWS = 101, BINS = 4, WIDE = 1 + BINS + 2 + 1 };

/* x is 0 to 100, flag 0 or 1, name a text. */
static void put_table(void)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text, "x,name,flag,y\n");
    for (int i = 0; i < ROWS; i++)
        vkt__str_printf(&text, "%d,%c,%d,%d\n", i, "ab"[i % 2], i % 5 == 0, i * i);
    put(CSV, text.data, text.len);
    vkt__str_finish(&text);
}

static vkt_dataset *open_table(vkt_standardize how, uint32_t bins)
{
    vkt_dataset *ds;
    put_table();
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "csv",
                                                   .path = CSV,
                                                   .task = VKT_TASK_REGRESS,
                                                   .standardize = how,
                                                   .bins = bins },
                                &ds));
    return ds;
}

static double limited(double z)
{
    return z / sqrt(1 + z * z / 9);
}

static void numbers_by_quartiles_and_bins(void **state)
{
    (void)state;
    for (int robust = 0; robust < 2; robust++) {
        vkt_dataset *ds = open_table(robust ? VKT_STANDARDIZE_ROBUST : VKT_STANDARDIZE_AUTO, BINS);
        assert_int_equal(ds->schema.n_inputs, WIDE);
        assert_int_equal(ds->info.n[VKT_SPLIT_TRAIN], ROWS);
        double mean = 50, std = robust ? 50 / 1.349 : sqrt((ROWS * ROWS - 1) / 12.0);
        for (uint64_t i = 0; i < ROWS; i++) {
            const float *x = inputs(ds, VKT_SPLIT_TRAIN, i, WIDE);
            double v = (double)ds->index[VKT_SPLIT_TRAIN][i], z = (v - mean) / std;
            REQUIRE_NEAR(x[0], robust ? limited(z) : z, 1e-6);
            for (int b = 0; b < BINS; b++)
                REQUIRE_NEAR(x[1 + b], fmin(fmax((v - 25 * b) / 25, 0), 1), 1e-6);
            assert_true(x[BINS + 1] + x[BINS + 2] == 1);
        }
        vkt_dataset_destroy(&ds);
    }
}

/* The same inputs of a file of rows, beyond what training had, too. */
static void a_trained_model_reads_the_same(void **state)
{
    (void)state;
    vkt_dataset *ds = open_table(VKT_STANDARDIZE_ROBUST, BINS), *other;
    put(CSV, "x,name,flag\n30,b,0\n1e6,a,1\n-7,b,0\n",
        strlen("x,name,flag\n30,b,0\n1e6,a,1\n-7,b,0\n"));
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
    float same[WIDE], high[WIDE], low[WIDE];
    memcpy(same, inputs(other, VKT_SPLIT_TEST, 0, WIDE), sizeof same);
    memcpy(high, inputs(other, VKT_SPLIT_TEST, 1, WIDE), sizeof high);
    memcpy(low, inputs(other, VKT_SPLIT_TEST, 2, WIDE), sizeof low);
    for (uint64_t i = 0; i < ROWS; i++)
        if (ds->index[VKT_SPLIT_TRAIN][i] == 30)
            assert_memory_equal(inputs(ds, VKT_SPLIT_TRAIN, i, WIDE), same,
                                (1 + BINS) * sizeof(float));
    REQUIRE_NEAR(high[0], 3, 1e-4);
    assert_true(high[1] == 1 && high[BINS] == 1);
    assert_true(low[1] == 0 && low[BINS] == 0 && low[0] < -1.3f);
    vkt_dataset_destroy(&other);
    /* Who fills an exported model's inputs finds the formula and its numbers. */
    json_t *o = json_loads(vkt_dataset_schema(ds), 0, NULL), *table = json_object_get(o, "table"),
           *x = json_array_get(json_object_get(table ? table : o, "columns"), 0),
           *edges = json_object_get(x, "edges");
    assert_int_equal(json_array_size(edges), BINS + 1);
    assert_true(json_real_value(json_array_get(edges, 1)) == 25);
    assert_true(json_number_value(json_object_get(x, "limit")) == 3);
    assert_non_null(strstr(json_string_value(json_object_get(x, "inputs")), "clip("));
    json_array_set_new(edges, 1, json_real(80));
    char *damaged = json_dumps(o, 0);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(damaged, CSV, &other), VKT_E_FORMAT);
    REQUIRE_LOGGED("in rising order");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    free(damaged);
    json_decref(o);
    vkt_dataset_destroy(&ds);
}

/* Half of the rows have one value: no range of quartiles, no bins of it. */
static void a_column_of_mostly_one_value(void **state)
{
    (void)state;
    vkt__str text = { 0 };
    vkt_dataset *ds;
    vkt__str_printf(&text, "x,y\n");
    for (int i = 0; i < 40; i++) vkt__str_printf(&text, "%d,%d\n", i < 35 ? 0 : i, i);
    put(CSV, text.data, text.len);
    vkt__str_finish(&text);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "csv",
                                                   .path = CSV,
                                                   .task = VKT_TASK_REGRESS,
                                                   .standardize = VKT_STANDARDIZE_ROBUST,
                                                   .bins = 3 },
                                &ds));
    const vkt__column *c = &ds->schema.columns[0];
    assert_true(c->mean == 0 && c->std > 5 && c->std < 20 && c->n_edges == 0);
    vkt_dataset_destroy(&ds);
}

#define FAR_ROWS "x,name,flag,y\n1037,a,0,1\n-713,b,1,2\n419.5,a,0,3\n3411,b,0,4\n"

/* What lists of errors show is what the file has, also beyond where a number is drawn in to. */
static void cells_are_shown_as_they_were(void **state)
{
    (void)state;
    vkt_dataset *ds = open_table(VKT_STANDARDIZE_ROBUST, BINS);
    vkt__arena a = { 0 };
    vkt__seen_cell cells[3];
    for (uint64_t i = 0; i < ROWS; i += 10) {
        assert_int_equal(vkt__example_cells(ds, VKT_SPLIT_TRAIN, i, NULL, &a, 3, cells), 3);
        REQUIRE_NEAR(strtod(cells[0].value, NULL), (double)ds->index[VKT_SPLIT_TRAIN][i], 1e-3);
    }
    /* Far beyond it a float has few digits, and no more are shown. */
    static const char *const shown[] = { "1037", "-713", "419.5", "3411" };
    vkt_dataset *far;
    put(CSV, FAR_ROWS, strlen(FAR_ROWS));
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &far));
    for (uint64_t i = 0; i < 4; i++) {
        vkt__example_cells(far, VKT_SPLIT_TEST, i, NULL, &a, 3, cells);
        assert_string_equal(cells[0].value, shown[i]);
    }
    vkt_dataset_destroy(&far);
    vkt_dataset_destroy(&ds);
    assert_string_equal(vkt__utf8_text("a\xff\xc3\xa9\0\xe2\x82", 7, &a),
                        "a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    vkt__arena_finish(&a);
}

/* However far a number lies, it is drawn in to the limit. */
static void a_huge_number_is_at_the_end(void **state)
{
    (void)state;
    vkt__column c = { .mean = 1, .std = 2, .limit = 3 };
    float x;
    assert_true(vkt__scaling_inputs(&c, 1e200, &x) && x > 2.999f);
    assert_true(vkt__scaling_inputs(&c, -1e300, &x) && x < -2.999f);
}

/* 40 prices over orders of magnitude; the last one is `last`. */
static vkt_status open_prices(vkt_target_curve how, const char *last, vkt_dataset **out)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text, "x,price\n");
    for (int i = 0; i < 39; i++) vkt__str_printf(&text, "%d,%.17g\n", i, exp(i / 4.0));
    vkt__str_printf(&text, "39,%s\n", last);
    put(CSV, text.data, text.len);
    vkt__str_finish(&text);
    return vkt_dataset_open(
        &(vkt_data_desc) { .source = "csv", .path = CSV, .task = VKT_TASK_REGRESS, .target = how },
        out);
}

/* Learned are logarithms, standardised; the schema gives the numbers back. */
static void a_target_is_learned_as_its_logarithm(void **state)
{
    (void)state;
    static const vkt_target_curve ways[] = { VKT_TARGET_LOG, VKT_TARGET_LOG1P };
    for (size_t w = 0; w < VKT_COUNT(ways); w++) {
        vkt_dataset *ds, *other;
        double mean, scale, sum = 0, square = 0;
        bool plus = ways[w] == VKT_TARGET_LOG1P;
        REQUIRE_OK(open_prices(ways[w], plus ? "0" : "1e4", &ds));
        for (int i = 0; i < 40; i++) {
            double v = i < 39 ? exp(i / 4.0) : plus ? 0 : 1e4, learned = plus ? log1p(v) : log(v);
            sum += learned / 40;
            square += learned * learned / 40;
        }
        vkt_dataset_target_scale(ds, 0, &scale, &mean);
        REQUIRE_NEAR(mean, sum, 1e-9);
        REQUIRE_NEAR(scale, sqrt(square - sum * sum), 1e-9);
        assert_non_null(strstr(ds->info.notes[ds->info.n_notes - 1], "its median"));
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &other));
        for (uint64_t i = 0; i < 40; i++) {
            float y = vkt__dataset_label(other, VKT_SPLIT_TEST, i)->f;
            double v = i < 39 ? exp((double)i / 4) : plus ? 0 : 1e4;
            REQUIRE_NEAR(vkt_dataset_target_value(other, 0, (double)y), v, 1e-5 * v + 1e-6);
        }
        vkt_dataset_destroy(&other);
        vkt_dataset_destroy(&ds);
    }
}

/* What has no logarithm is refused where it stands; so is it in a file that a model reads. */
static void a_target_without_a_logarithm_is_refused(void **state)
{
    (void)state;
    vkt_dataset *ds = NULL;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(open_prices(VKT_TARGET_LOG, "0", &ds), VKT_E_FORMAT);
    REQUIRE_LOGGED("line 41: label 'price' is 0, but data.target is for numbers above 0; log1p");
    REQUIRE_STATUS(open_prices(VKT_TARGET_LOG1P, "-0.5", &ds), VKT_E_FORMAT);
    REQUIRE_LOGGED("line 41: label 'price' is -0.5, but data.target is for numbers from 0 on");
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_by_quartiles_and_bins),
        cmocka_unit_test(a_trained_model_reads_the_same),
        cmocka_unit_test(a_column_of_mostly_one_value),
        cmocka_unit_test(cells_are_shown_as_they_were),
        cmocka_unit_test(a_huge_number_is_at_the_end),
        cmocka_unit_test(a_target_is_learned_as_its_logarithm),
        cmocka_unit_test(a_target_without_a_logarithm_is_refused),
    };
    return cmocka_run_group_tests_name("scaling", tests, setup, teardown);
}
