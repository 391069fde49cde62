/* data: what can't be learnt from in a table, in arrays and in a file of labels, and what a loader
 * can't hand out, one row each. */
#define DIR "test_table_refusals_tmp"
#include "data_files.h"

#define LABELS DIR "/labels.csv"

static void of_csv(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        vkt_data_desc d;
        vkt_status st;
        const char *words;
    } rows[] = {
        { "a,b\n1,x\n2,x\n",
          { .label = "b" },
          VKT_E_FORMAT,
          "is 'x' everywhere: there is nothing to learn" },
        { "a,b\n1,x\n2,y\n",
          { .label = "b", .group = "c" },
          VKT_E_ARG,
          "data.group: 'c' is not a column" },
        { "a,b\n1,x\n2,y\n",
          { .label = "b", .group = "9" },
          VKT_E_ARG,
          "data.group: '9' is not a column" },
        { "a,b\n1,x\n2,y\n",
          { .label = "b", .group = "b" },
          VKT_E_ARG,
          "data.group: 'b' is the label" },
        { "a,b,c\n1,x,p\n2,y,\n",
          { .label = "b", .group = "c" },
          VKT_E_FORMAT,
          "line 3: no value in the column of data.group" },
        { "a,b,c\n1,x,p\n2,y,q\n",
          { .label = "b", .time = "c" },
          VKT_E_FORMAT,
          "line 2: 'p' in the column of data.time is no number or date" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_data_desc d = rows[i].d;
        put_csv(rows[i].text);
        d.source = "csv";
        d.path = CSV;
        refuse(&d, rows[i].st, rows[i].st == VKT_E_ARG ? "" : CSV, rows[i].words);
    }
}

static void of_labels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        vkt_data_desc d;
        vkt_status st;
        const char *words;
    } rows[] = {
        { "a.png\nb.png\n",
          { 0 },
          VKT_E_FORMAT,
          "has one column: lines of file,label[,split] are expected" },
        { "a.png,x\nb.png,y\n", { .label = "k" }, VKT_E_ARG, "names no columns: name one 'file'" },
        { "name,label\na.png,x\n", { 0 }, VKT_E_FORMAT, "has no file column: name one 'file'" },
        { "file,kind\na.png,x\n", { 0 }, VKT_E_FORMAT, "has no label column: name one 'label'" },
        { "file,kind\na.png,x\n",
          { .label = "knid" },
          VKT_E_ARG,
          "'knid' is not a column of labels" },
        { "file,kind\na.png,x\n",
          { .label = "file" },
          VKT_E_ARG,
          "'file' is not a column of labels" },
        { "file,p,q\na.png,1,2\n",
          { .label = "p,p", .task = VKT_TASK_REGRESS },
          VKT_E_ARG,
          "data.label names 'p' twice" },
        { "file,p,q\na.png,1,2\n",
          { .label = "p, q" },
          VKT_E_ARG,
          "only data.task: regress has several" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_data_desc d = rows[i].d;
        put(LABELS, rows[i].text, strlen(rows[i].text));
        d.source = "images";
        d.path = DIR;
        d.labels = LABELS;
        refuse(&d, rows[i].st, "", rows[i].words);
    }
}

enum { N = 30 };
static float numbers[2 * N], gaps[2 * N], huge[2 * N];
static int64_t each[N], far[N], two[N];
static double targets[N], endless[N];

static void fill_arrays(void)
{
    for (int i = 0; i < N; i++) {
        numbers[2 * i] = numbers[2 * i + 1] = (float)i;
        gaps[2 * i] = (float)i;
        gaps[2 * i + 1] = NAN;
        huge[2 * i] = huge[2 * i + 1] = i % 2 ? INFINITY : 1;
        each[i] = i;
        far[i] = i % 2 ? INT64_MAX : 0;
        two[i] = i % 2;
        targets[i] = i;
        endless[i] = i % 2 ? (double)INFINITY : 1;
    }
}

#define X(p)                                                                                       \
    {                                                                                              \
        VKT_ARRAY_F32, 2, { N, 2 }, p                                                              \
    }
#define Y(kind, p)                                                                                 \
    {                                                                                              \
        VKT_ARRAY_##kind, 1, { N }, p                                                              \
    }

static void of_arrays(void **state)
{
    (void)state;
    static const struct {
        vkt_arrays a;
        vkt_data_desc d;
        const char *words;
    } rows[] = {
        { { X(numbers), Y(I64, each) },
          { 0 },
          "y has 30 different values in 30 rows: too many for classes" },
        { { X(numbers), Y(I64, far) }, { 0 }, "y has classes beyond 2^53" },
        { { X(gaps), Y(I64, two) },
          { .missing = VKT_MISSING_DROP },
          "all 30 rows have NaN and were dropped" },
        { { X(gaps), Y(I64, two) },
          { .missing = VKT_MISSING_MEAN },
          "column 1 of X is NaN in every training row" },
        { { X(huge), Y(I64, two) },
          { 0 },
          "column 0 of X holds numbers that are infinite or too large" },
        { { X(numbers), Y(F64, endless) },
          { .task = VKT_TASK_REGRESS },
          "y holds targets that are infinite or too large" },
    };
    fill_arrays();
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_data_desc d = rows[i].d;
        d.source = "npy";
        d.arrays = &rows[i].a;
        refuse(&d, VKT_E_FORMAT, "arrays in memory", rows[i].words);
    }
}

/* Rows to predict that are not as those that were trained on. */
static void of_other_rows(void **state)
{
    (void)state;
    static const struct {
        const char *trained, *given, *words;
    } rows[] = {
        { "a,b,c\n1,2,x\n3,5,y\n", "a,c\n1,x\n", "'b'" },
        { "a,b,c\n1,2,x\n3,5,y\n", "a,b,c\n1,2,z\n", "'z' is not among the 2 classes" },
        { "a,b,c\n1,2,x\n3,5,y\n", "a,b,c\n1,q,x\n", "'q'" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_dataset *ds = open_csv(rows[i].trained, (vkt_data_desc) { .label = "c" }), *more;
        put_csv(rows[i].given);
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &more), VKT_E_FORMAT);
        REQUIRE_LOGGED(rows[i].words);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        vkt_dataset_destroy(&ds);
    }
}

static void of_loaders(void **state)
{
    (void)state;
    static const vkt_augment colours = { .hue = 0.1f }, moved = { .crop_padding = 1 };
    static const float weights[3] = { 1, 1, 1 };
    vkt_batch slot = { 0 };
    vkt_dataset *grey = idx_dataset(12),
                *table = open_csv("a,b\n1,x\n2,y\n3,x\n", (vkt_data_desc) { .label = "b" }),
                *regress = open_csv("a,b\n1,2\n2,5\n3,9\n",
                                    (vkt_data_desc) { .label = "b", .task = VKT_TASK_REGRESS });
    const struct {
        vkt_loader_desc d;
        const char *words;
    } rows[] = {
        { { .data = grey, .batch = 4, .row = 3, .rows = 2 },
          "rows 3 to 5 are not in a batch of 4" },
        { { .data = grey, .batch = 4, .augment = &colours }, ".saturation are for colour images" },
        { { .data = grey, .batch = 4, .start = UINT64_MAX }, "is out of range" },
        { { .data = table, .batch = 2, .augment = &moved }, "data.augment is for images" },
        { { .data = regress, .batch = 2, .class_weight = weights }, "need a classification task" },
        { { .data = regress, .batch = 2, .sampling = VKT_SAMPLING_BALANCED },
          "need a classification task" },
    };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt_loader *l;
        vkt_loader_desc d = rows[i].d;
        d.n_slots = 1;
        d.slots = &slot;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_loader_create(&d, &l), VKT_E_ARG);
        REQUIRE_LOGGED(rows[i].words);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    }
    vkt_dataset_destroy(&grey);
    vkt_dataset_destroy(&table);
    vkt_dataset_destroy(&regress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_csv),        cmocka_unit_test(of_labels),  cmocka_unit_test(of_arrays),
        cmocka_unit_test(of_other_rows), cmocka_unit_test(of_loaders),
    };
    return cmocka_run_group_tests_name("refusals of tables", tests, setup, teardown);
}
