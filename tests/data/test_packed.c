/* data: a pack of images gives the same examples as what was packed; damaged ones are refused. */
#define DIR "test_packed_tmp"
#include "data_files.h"

#include <jansson.h>

#include "data/pictures/packed.h"

#define PACK DIR "/p.pack"

static void require_same(const vkt_dataset *a, const vkt_dataset *b)
{
    float x[2][64];
    vkt_label y[2];
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        uint64_t n = vkt_dataset_get_info(a)->n[s];
        assert_int_equal(vkt_dataset_get_info(b)->n[s], n);
        for (uint64_t i = 0; i < n; i++) {
            REQUIRE_OK(vkt_dataset_example(a, (vkt_split)s, i, x[0], &y[0]));
            REQUIRE_OK(vkt_dataset_example(b, (vkt_split)s, i, x[1], &y[1]));
            assert_memory_equal(x[0], x[1], vkt_dataset_get_info(a)->n_inputs * sizeof(float));
            assert_int_equal(y[0].u, y[1].u);
        }
    }
}

static void pack_keeps_examples(void **state)
{
    (void)state;
    for (uint32_t n = 30; n <= 31; n++) { /* tables of an even and an odd number */
        vkt_dataset *ds, *packed;
        uint64_t count[VKT_N_SPLITS];
        make_idx(DIR "/idx", n, 9);
        REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .valid_fraction = 0.2 }, &ds));
        REQUIRE_OK(vkt_dataset_pack(ds, true, PACK, count));
        assert_int_equal(count[VKT_SPLIT_TEST], 9);
        REQUIRE_OK(
            vkt_dataset_open(&(vkt_data_desc) { .source = "packed", .path = PACK }, &packed));
        assert_string_equal(vkt_dataset_schema(packed), vkt_dataset_schema(ds));
        require_same(ds, packed);
        vkt_dataset_destroy(&packed);
        REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "packed",
                                                       .path = PACK,
                                                       .standardize = VKT_STANDARDIZE_FEATURE },
                                    &packed));
        assert_int_equal(packed->schema.n_pixel, 20);
        vkt_dataset_destroy(&packed);
        vkt_dataset_destroy(&ds);
    }
}

/* The pack of the test before: 9 test examples of 31 + 9, four classes "0" to "3". */
static void a_model_evaluates_on_a_pack(void **state)
{
    (void)state;
    vkt_dataset *ds, *packed;
    float x[2][64];
    vkt_label y[2];
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .valid_fraction = 0.2 }, &ds));
    const char *schema = vkt_dataset_schema(ds);
    REQUIRE_OK(vkt_dataset_open_schema(schema, PACK, &packed));
    const vkt_dataset_info *info = vkt_dataset_get_info(packed);
    assert_true(info->has_labels && info->n[VKT_SPLIT_TEST] == 9 && info->n[VKT_SPLIT_TRAIN] == 0);
    for (uint64_t i = 0; i < 9; i++) {
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TEST, i, x[0], &y[0]));
        REQUIRE_OK(vkt_dataset_example(packed, VKT_SPLIT_TEST, i, x[1], &y[1]));
        assert_memory_equal(x[0], x[1], info->n_inputs * sizeof(float));
        assert_int_equal(y[0].u, y[1].u);
    }
    vkt_dataset *whole; /* whose last examples these are */
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "packed", .path = PACK }, &whole));
    for (uint64_t i = 0; i < 9; i++)
        assert_true(packed->part[0].hash[i] ==
                    whole->part[0].hash[whole->index[VKT_SPLIT_TEST][i]]);
    vkt_dataset_destroy(&whole);
    vkt_dataset_destroy(&packed);
    /* A model whose classes stand in another order, and one that lacks a class. */
    char *other = malloc(strlen(schema) + 1);
    strcpy(other, schema);
    char *at = strstr(other, "\"0\"");
    assert_non_null(at);
    char *second = strstr(other, "\"1\"");
    at[1] = '1';
    second[1] = '0';
    REQUIRE_OK(vkt_dataset_open_schema(other, PACK, &packed));
    for (uint64_t i = 0; i < 9; i++) {
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TEST, i, x[0], &y[0]));
        REQUIRE_OK(vkt_dataset_example(packed, VKT_SPLIT_TEST, i, x[1], &y[1]));
        assert_int_equal(y[1].u, y[0].u < 2 ? 1 - y[0].u : y[0].u);
    }
    vkt_dataset_destroy(&packed);
    at[1] = 'x';
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(other, PACK, &packed), VKT_E_FORMAT);
    REQUIRE_LOGGED("has a class '1', which the model does not know");
    free(other);
    vkt_dataset_destroy(&ds);
}

static void bad_packs(void **state)
{
    (void)state;
    char *good;
    size_t n;
    vkt_data_desc d = { .source = "packed", .path = PACK };
    REQUIRE_OK(vkt__file_read(PACK, 1 << 20, &good, &n));
    static const struct {
        size_t at;
        const char *what;
    } flips[] = { { 0, "is not a pack of images" },
                  { 7, "of another version" },
                  { 8, "cut short" },
                  { 16, "cut short" },
                  { 24, "cut short" },
                  { 32, "cut short" },
                  { 40, "hash of its tables" },
                  { 48, "cut short" },
                  { 64 + 40 * 20 + 8, "hash of its tables" } };
    for (size_t i = 0; i < VKT_COUNT(flips); i++) {
        good[flips[i].at] ^= 1;
        put(PACK, good, n);
        refuse(&d, VKT_E_FORMAT, PACK, flips[i].what);
        good[flips[i].at] ^= 1;
    }
    /* A label that is none, under the hash that such tables have. */
    uint64_t word[8];
    const uint32_t none = 999;
    memcpy(word, good, sizeof word);
    char *tables = good + word[3], *label = tables + 8 * word[1];
    uint32_t was;
    memcpy(&was, label, sizeof was);
    memcpy(label, &none, sizeof none);
    uint64_t hash = vkt__hash(tables, n - (size_t)word[3], 0);
    memcpy(good + 40, &hash, sizeof hash);
    put(PACK, good, n);
    refuse(&d, VKT_E_FORMAT, PACK, "damaged: a label or split is out of range");
    memcpy(label, &was, sizeof was);
    memcpy(good + 40, &word[5], sizeof word[5]);
    for (size_t cut = 0; cut < n; cut += 37) {
        put(PACK, good, cut);
        refuse(&d, VKT_E_FORMAT, PACK, "pack it again");
    }
    free(good);
    refuse(&(vkt_data_desc) { .source = "packed", .path = DIR "/none" }, VKT_E_IO, "none", "open");
    vkt_dataset *ds = open_csv("1,a\n2,b\n", (vkt_data_desc) { RAW });
    uint64_t count[VKT_N_SPLITS];
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_pack(ds, true, PACK, count), VKT_E_ARG);
    REQUIRE_LOGGED("holds no images to pack");
    vkt_dataset_destroy(&ds);
}

/* The pack's tables have the hash that they should. */
static void put_hashed(char *pack, size_t n)
{
    uint64_t word[8];
    memcpy(word, pack, sizeof word);
    uint64_t hash = vkt__hash(pack + word[3], n - (size_t)word[3], 0);
    memcpy(pack + 40, &hash, sizeof hash);
    put(PACK, pack, n);
}

static void refuse_with(const char *schema, vkt_status st, const char *words)
{
    vkt_dataset *ds;
    TEST_LOG_CAPTURE();
    vkt_status got = vkt_dataset_open_schema(schema, PACK, &ds);
    REQUIRE_LOGGED(words);
    assert_int_equal(got, st);
    assert_null(ds);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Packs that are whole, but say what can't be, or are of no use for the model. */
static void packs_that_do_not_fit(void **state)
{
    (void)state;
    vkt_dataset *ds;
    char *good, *at;
    size_t n;
    uint64_t count[VKT_N_SPLITS], word[8];
    const uint32_t none = 999;
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .valid_fraction = 0.2 }, &ds));
    REQUIRE_OK(vkt_dataset_pack(ds, true, PACK, count));
    vkt_dataset_destroy(&ds);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "packed", .path = PACK }, &ds));
    const char *schema = vkt_dataset_schema(ds);
    /* A model of another task. */
    json_t *o = json_loads(schema, 0, NULL);
    json_object_set_new(o, "task", json_string("multilabel"));
    json_object_set_new(o, "separator", json_string("|"));
    char *other = json_dumps(o, 0);
    refuse_with(other, VKT_E_ARG,
                "is a pack with one class for each image, the model has several labels for each "
                "image: give it the pictures themselves");
    free(other);
    json_decref(o);
    REQUIRE_OK(vkt__file_read(PACK, 1 << 20, &good, &n));
    memcpy(word, good, sizeof word);
    /* Its own schema is of other pictures. */
    at = good + n - word[4] + (strstr(schema, "\"input_shape\"") - schema);
    at = memchr(at, '[', 20);
    while (*at < '1' || *at > '9') at++;
    *at ^= 1;
    put_hashed(good, n);
    refuse_with(schema, VKT_E_FORMAT, "damaged: its schema describes other examples");
    *at ^= 1;
    /* A test example of a class that is none. */
    char *label = good + word[3] + 8 * word[1] + 4 * (word[1] - 1);
    memcpy(label, &none, sizeof none);
    put_hashed(good, n);
    refuse_with(schema, VKT_E_FORMAT, "damaged: a label or split is out of range");
    free(good);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(pack_keeps_examples),
                                        cmocka_unit_test(a_model_evaluates_on_a_pack),
                                        cmocka_unit_test(bad_packs),
                                        cmocka_unit_test(packs_that_do_not_fit) };
    return cmocka_run_group_tests_name("packed", tests, setup, teardown);
}
