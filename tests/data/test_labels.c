/* data: several labels of an example, and several numbers to predict: tables and pictures, what is
 * read, kept in the schema, and refused. */
#define DIR "test_labels_tmp"
#include "data_files.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

#define ROOT DIR "/pictures"
#define PACK DIR "/p.pack"
#define SETS .task = VKT_TASK_MULTILABEL

/* Example i of the split has exactly the labels of `want`, a bit for each. */
static void require_set(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t want)
{
    float x[64];
    vkt_label y[8];
    uint32_t n = vkt_dataset_get_info(ds)->n_labels;
    assert_int_equal(n, vkt_dataset_get_info(ds)->n_outputs);
    REQUIRE_OK(vkt_dataset_example(ds, split, i, x, y));
    for (uint32_t c = 0; c < n; c++) assert_true(y[c].f == (float)(want >> c & 1));
}

static void classes_that_differ_in_case_are_told(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_csv("a,y\n1,A\n2,a\n3,yes\n4,Yes\n", (vkt_data_desc) { .label = "y" });
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 4);
    REQUIRE_LOGGED("classes 'Yes' and 'yes' differ in case alone: they are learned as two");
    vkt_dataset_destroy(&ds);
}

static void sets_of_a_table(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("a,tags\n1,rock |\t live \t\n2,\n3,jazz|rock|rock\n4,|live|\n",
                               (vkt_data_desc) { SETS, .label = "tags" }),
                *again;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    uint64_t count[3];
    assert_int_equal(info->n_outputs, 3);
    assert_string_equal(info->class_names[0], "jazz");
    assert_string_equal(info->class_names[2], "rock");
    const uint32_t want[] = { 6, 0, 5, 2 };
    for (uint32_t i = 0; i < 4; i++) require_set(ds, VKT_SPLIT_TRAIN, i, want[i]);
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    assert_true(count[0] == 1 && count[1] == 2 && count[2] == 2);
    again = open_with(ds, CSV);
    for (uint32_t i = 0; i < 4; i++) require_set(again, VKT_SPLIT_TEST, i, want[i]);
    vkt_dataset_destroy(&again);
    put(DIR "/new.csv", "a\n7\n", 4);
    again = open_with(ds, DIR "/new.csv");
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_set(again, VKT_SPLIT_TEST, 0, 0);
    vkt_dataset_destroy(&again);
    put(DIR "/new.csv", "a,tags\n7,rock\n8,rocck|jazz\n", 27);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/new.csv", &again),
                   VKT_E_FORMAT);
    REQUIRE_LOGGED("line 3: label 'rocck' is not among the 3 labels");
    REQUIRE_LOGGED("did you mean 'rock'");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
    ds = open_csv("a,t\n1,ab\n2,a|abc\n3,b\n", (vkt_data_desc) { SETS }); /* one begins another */
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 4);
    require_set(ds, VKT_SPLIT_TRAIN, 1, 1 | 4);
    vkt_dataset_destroy(&ds);
    ds = open_csv("a,b\n1,x y\n2,y\n", (vkt_data_desc) { SETS, .separator = ' ' });
    require_set(ds, VKT_SPLIT_TRAIN, 0, 3);
    again = open_with(ds, CSV);
    require_set(again, VKT_SPLIT_TEST, 1, 2);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
    put_csv("a,b\n1,\n2,\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, SETS }, VKT_E_FORMAT, CSV,
           "no example has a label");
    refuse(&(vkt_data_desc) { .source = "digits", SETS }, VKT_E_ARG, "digits",
           "data.task multilabel needs data.source csv, images or packed");
}

/* A batch holds the labels of each example side by side, padding weighs nothing. */
static void sets_of_a_batch(void **state)
{
    (void)state;
    enum { BATCH = 3 };
    vkt_dataset *ds = open_csv("a,t\n1,x|y\n2,y\n3,\n4,x\n", (vkt_data_desc) { SETS });
    float x[BATCH], w[BATCH];
    vkt_label y[BATCH * 2];
    vkt_batch slot = { .x = x, .y = y, .w = w };
    vkt_loader *l;
    uint32_t at;
    REQUIRE_OK(vkt_loader_create(
        &(vkt_loader_desc) {
            .data = ds, .batch = BATCH, .n_slots = 1, .slots = &slot, .weight = 1 },
        &l));
    const float want[2][BATCH * 2] = { { 1, 1, 0, 1, 0, 0 }, { 1, 0, 1, 1, 1, 1 } };
    for (int b = 0; b < 2; b++) {
        REQUIRE_OK(vkt_loader_next(l, &at, NULL));
        assert_int_equal(at, 0);
        for (int i = 0; i < BATCH * 2; i++) assert_true(y[i].f == want[b][i]);
        for (int i = 0; i < BATCH; i++) assert_true(w[i] == (float)(b == 0 || i == 0));
        vkt_loader_release(l, at);
    }
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

static void numbers_of_a_table(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("p,a,q\n1,5,\"1.000,5\"\n3,6,\"2.000,5\"\n5,9,\"3.000,5\"\n",
                               (vkt_data_desc) { .label = "q, p", .task = VKT_TASK_REGRESS }),
                *again;
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    double scale, mean;
    float x[2];
    vkt_label y[2];
    assert_true(info->n_outputs == 2 && info->n_labels == 2 && info->n_inputs == 1);
    assert_string_equal(info->target_names[0], "p"); /* in the file's order */
    assert_string_equal(info->target_names[1], "q");
    const double first[] = { 1, 1000.5 }, middle[] = { 3, 2000.5 };
    again = open_with(ds, CSV);
    for (int of = 0; of < 2; of++) {
        vkt_dataset *one = of ? again : ds;
        REQUIRE_OK(vkt_dataset_example(one, of ? VKT_SPLIT_TEST : VKT_SPLIT_TRAIN, 0, x, y));
        for (uint32_t k = 0; k < 2; k++) {
            vkt_dataset_target_scale(one, k, &scale, &mean);
            REQUIRE_NEAR(mean, middle[k], 1e-9);
            REQUIRE_NEAR((double)y[k].f * scale + mean, first[k], 1e-4);
        }
    }
    vkt_dataset_destroy(&again);
    put(DIR "/new.csv", "q,a\n1,2\n", 8); /* one of the two is there: nothing to compare with */
    again = open_with(ds, DIR "/new.csv");
    assert_false(vkt_dataset_get_info(again)->has_labels);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
    put_csv("p,q\n1,2\n3,4\n");
    const vkt_data_desc d = { .source = "csv", .path = CSV, .task = VKT_TASK_REGRESS };
    vkt_data_desc bad = d;
    bad.label = "p,q";
    refuse(&bad, VKT_E_ARG, CSV, "data.label leaves no column as an input");
    bad.label = "p,qq";
    refuse(&bad, VKT_E_ARG, "'qq' is not a column", "did you mean 'q'");
}

static vkt_data_desc pictures(const char *labels, vkt_task task)
{
    put(DIR "/labels.csv", labels, strlen(labels));
    return (vkt_data_desc) {
        .source = "images", .path = ROOT, .labels = DIR "/labels.csv", .task = task
    };
}

/* Packs `ds` as PACK, which holds the same; asked for with another task it is refused. */
static void pack_of(const vkt_dataset *ds, vkt_task task)
{
    vkt_dataset *packed;
    uint64_t n[VKT_N_SPLITS];
    float x[2][64];
    vkt_label y[2][8];
    size_t label_bytes = vkt_dataset_get_info(ds)->n_labels * sizeof **y;
    vkt_data_desc d = { .source = "packed", .path = PACK, .task = task };
    REQUIRE_OK(vkt_dataset_pack(ds, true, PACK, n));
    REQUIRE_OK(vkt_dataset_open(&d, &packed));
    assert_string_equal(vkt_dataset_schema(packed), vkt_dataset_schema(ds));
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        assert_int_equal(n[s], vkt_dataset_get_info(ds)->n[s]);
        for (uint64_t i = 0; i < n[s]; i++) {
            REQUIRE_OK(vkt_dataset_example(ds, (vkt_split)s, i, x[0], y[0]));
            REQUIRE_OK(vkt_dataset_example(packed, (vkt_split)s, i, x[1], y[1]));
            assert_memory_equal(x[0], x[1], vkt_dataset_get_info(ds)->n_inputs * sizeof **x);
            assert_memory_equal(y[0], y[1], label_bytes);
        }
    }
    vkt_dataset_destroy(&packed);
    d.task = VKT_TASK_CLASSIFY;
    refuse(&d, VKT_E_ARG, PACK,
           task == VKT_TASK_REGRESS ? "numbers to predict: set data.task: regress"
                                    : "several labels for each image: set data.task: multilabel");
}

/* The pack, under the schema of another model. */
static void refuse_with(const vkt_dataset *model, vkt_status want, const char *words)
{
    vkt_dataset *ds;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(model), PACK, &ds), want);
    REQUIRE_LOGGED(words);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void labels_of_pictures(void **state)
{
    (void)state;
    const vkt_task sets = VKT_TASK_MULTILABEL, numbers = VKT_TASK_REGRESS;
    vkt_dataset *ds, *again;
    vkt_data_desc d;
    float x[64];
    vkt_label y[2];
    double scale, mean;
    REQUIRE_OK(vkt__mkdirs(ROOT));
    for (int i = 0; i < 4; i++) {
        char path[64];
        uint8_t pixels[12];
        memset(pixels, 40 * i, sizeof pixels);
        snprintf(path, sizeof path, ROOT "/%d.png", i);
        assert_true(stbi_write_png(path, 4, 3, 1, pixels, 4));
    }
    d = pictures("file,tags\n0.png,b|a\n1.png,\n2.png,c\n3.png,a\n", sets);
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    const uint32_t want[] = { 3, 0, 4, 1 };
    for (uint32_t i = 0; i < 4; i++) require_set(ds, VKT_SPLIT_TRAIN, i, want[i]);
    again = open_with(ds, ROOT); /* a folder names no labels */
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_set(again, VKT_SPLIT_TEST, 3, 0);
    vkt_dataset_destroy(&again);
    REQUIRE_OK(vkt__mkdirs(DIR "/named/a"));
    REQUIRE_OK(vkt__mkdirs(DIR "/named/b"));
    for (int i = 0; i < 4; i++) {
        char path[64];
        uint8_t pixels[12] = { 9 };
        snprintf(path, sizeof path, DIR "/named/%c/%d.png", 'a' + i % 2, i);
        assert_true(stbi_write_png(path, 4, 3, 1, pixels, 4));
    }
    again = open_with(ds, DIR "/named"); /* nor do folders that are called as labels are */
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_set(again, VKT_SPLIT_TEST, 2, 0);
    vkt_dataset_destroy(&again);
    pack_of(ds, sets);
    again = open_with(ds, PACK); /* a pack does, also to a model whose labels are others in part */
    for (uint32_t i = 0; i < 4; i++) require_set(again, VKT_SPLIT_TEST, i, want[i]);
    vkt_dataset_destroy(&again);
    vkt_dataset *other;
    d = pictures("file,tags\n0.png,a|b\n1.png,0|c\n", sets);
    REQUIRE_OK(vkt_dataset_open(&d, &other));
    again = open_with(other, PACK);
    for (uint32_t i = 0; i < 4; i++) require_set(again, VKT_SPLIT_TEST, i, 2 * want[i]);
    vkt_dataset_destroy(&again);
    d = pictures("file,tags\n0.png,zz|b\n1.png,c\n", sets);
    vkt_dataset_destroy(&other);
    REQUIRE_OK(vkt_dataset_open(&d, &other));
    refuse_with(other, VKT_E_FORMAT, "has a label 'a', which the model does not know");
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);

    /* A picture that is left out takes its numbers with it. */
    put(ROOT "/bad.png", "x", 1);
    d = pictures("file,age\nbad.png,1000\n0.png,10\n1.png,30\n", numbers);
    d.bad_files = VKT_BAD_FILES_SKIP;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    assert_true(mean == 20 && scale == 10);
    vkt_dataset_destroy(&ds);
    assert_int_equal(remove(ROOT "/bad.png"), 0);

    d = pictures("file,split,age,size\n0.png,train,10,1\n1.png,train,30,1\n2.png,test,70,2\n"
                 "3.png,test,90,4\n",
                 numbers);
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    assert_string_equal(vkt_dataset_get_info(ds)->target_names[0], "age");
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    assert_true(mean == 20 && scale == 10); /* of the training pictures */
    REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TEST, 0, x, y));
    REQUIRE_NEAR((double)y[0].f * scale + mean, 70, 1e-4);
    pack_of(ds, numbers);
    again = open_with(ds, PACK); /* the test pictures */
    assert_true(vkt_dataset_get_info(again)->has_labels);
    REQUIRE_OK(vkt_dataset_example(again, VKT_SPLIT_TEST, 0, x, y));
    REQUIRE_NEAR((double)y[0].f * scale + mean, 70, 1e-4);
    REQUIRE_OK(vkt_dataset_example(again, VKT_SPLIT_TEST, 1, x, y));
    REQUIRE_NEAR((double)y[0].f * scale + mean, 90, 1e-4);
    vkt_dataset_target_scale(ds, 1, &scale, &mean);
    REQUIRE_NEAR((double)y[1].f * scale + mean, 4, 1e-4);
    vkt_dataset_destroy(&again);
    d = pictures("file,age,size\n0.png,100,1\n1.png,300,5\n", numbers);
    REQUIRE_OK(vkt_dataset_open(&d, &other));
    again = open_with(other, PACK); /* in that model's units */
    REQUIRE_OK(vkt_dataset_example(again, VKT_SPLIT_TEST, 0, x, y));
    REQUIRE_NEAR(y[0].f, (70. - 200) / 100, 1e-5);
    REQUIRE_NEAR(y[1].f, (2. - 3) / 2, 1e-5);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&other);
    d = pictures("file,size,age\n0.png,100,1\n1.png,300,5\n", numbers);
    REQUIRE_OK(vkt_dataset_open(&d, &other));
    refuse_with(other, VKT_E_FORMAT, "has the number 'age', which the model does not know");
    vkt_dataset_destroy(&other);
    d = pictures("file,split,age,size\n0.png,train,10,1\n1.png,train,30,1\n2.png,test,70,2\n",
                 numbers);
    again = open_with(ds, ROOT "/0.png");
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
    d.label = "size";
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 1);
    vkt_dataset_destroy(&ds);
    d.label = "sizes";
    refuse(&d, VKT_E_ARG, "'sizes' is not a column of labels", "did you mean 'size'");
    d = pictures("file,age\n0.png,old\n", numbers);
    refuse(&d, VKT_E_FORMAT, "labels.csv' line 2", "'old' is not a number to predict");
    refuse(&(vkt_data_desc) { .source = "images", .path = ROOT, .task = numbers }, VKT_E_ARG, ROOT,
           "needs a CSV of the pictures' files and labels: data.labels");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(classes_that_differ_in_case_are_told),
                                        cmocka_unit_test(sets_of_a_table),
                                        cmocka_unit_test(sets_of_a_batch),
                                        cmocka_unit_test(numbers_of_a_table),
                                        cmocka_unit_test(labels_of_pictures) };
    if (vkt__mkdirs(DIR) != VKT_OK) return 1;
    return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
