/* data: IDX and CSV parsing, schema, split, stream and loader, from files made here. */
#include "testing.h"

#include <zlib.h>

#include "vktrain/data.h"
#include "base/os.h"

#define DIR "test_data_tmp"
#define FASHION "/usr/share/datasets/fashion-mnist"

static int setup(void **state)
{
    (void)state;
    vkt__remove_tree(DIR);
    return vkt__mkdirs(DIR);
}

static int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static void put(const char *path, const void *data, size_t n)
{
    REQUIRE_OK(vkt__file_replace(path, data, n));
}

static void put_gz(const char *path, const void *data, size_t n)
{
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

/* ---- IDX ---- */

/* n images of h x w (x c): pixel j of image i is (7 i + 3 j) % 256, label i % n_classes. */
static size_t idx_images(uint8_t *out, uint32_t n, uint32_t h, uint32_t w, uint32_t c)
{
    uint32_t dim[4] = { n, h, w, c }, rank = c ? 4 : 3, at = 4;
    memcpy(out, (uint8_t[]) { 0, 0, 8, (uint8_t)rank }, 4);
    for (uint32_t i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8) out[at++] = (uint8_t)(dim[i] >> shift);
    uint32_t size = h * w * (c ? c : 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < size; j++) out[at++] = (uint8_t)(7 * i + 3 * j);
    return at;
}

static size_t idx_labels(uint8_t *out, uint32_t n, uint32_t n_classes)
{
    memcpy(out, (uint8_t[]) { 0, 0, 8, 1, 0, 0, (uint8_t)(n >> 8), (uint8_t)n }, 8);
    for (uint32_t i = 0; i < n; i++) out[8 + i] = (uint8_t)(i % n_classes);
    return 8 + n;
}

static uint8_t bytes[1 << 20];

static void make_idx(const char *dir, uint32_t n, uint32_t n_test)
{
    char path[256];
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", dir);
    put_gz(path, bytes, idx_images(bytes, n, 4, 5, 0));
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", dir);
    put(path, bytes, idx_labels(bytes, n, 3));
    if (!n_test) return;
    snprintf(path, sizeof path, "%s/t10k-images-idx3-ubyte", dir);
    put(path, bytes, idx_images(bytes, n_test, 4, 5, 0));
    snprintf(path, sizeof path, "%s/t10k-labels-idx1-ubyte.gz", dir);
    put_gz(path, bytes, idx_labels(bytes, n_test, 3));
}

#define IDX_DESC .source = "idx", .path = DIR "/idx"

static void idx_good(void **state)
{
    (void)state;
    vkt_dataset *ds;
    make_idx(DIR "/idx", 30, 9);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .valid_fraction = 0.2 }, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_TRAIN], 24);
    assert_int_equal(info->n[VKT_VALID], 6);
    assert_int_equal(info->n[VKT_TEST], 9);
    assert_int_equal(info->n_outputs, 3);
    assert_int_equal(info->n_inputs, 20);
    assert_int_equal(info->input_rank, 3);
    assert_int_equal(info->input_shape[0], 4);
    assert_int_equal(info->input_shape[1], 5);
    assert_int_equal(info->input_shape[2], 1);
    assert_string_equal(info->class_names[2], "2");
    assert_true(info->has_labels);
    uint64_t count[3];
    vkt_dataset_class_counts(ds, VKT_TRAIN, count);
    for (int c = 0; c < 3; c++) assert_int_equal(count[c], 8);
    /* Over the training split, inputs have mean 0 and deviation 1; the test images keep the constants. */
    double sum = 0, sq = 0;
    float x[20], first[20];
    vkt_label y;
    for (uint64_t i = 0; i < 24; i++) {
        vkt_dataset_example(ds, VKT_TRAIN, i, x, &y);
        for (int j = 0; j < 20; j++) sum += x[j], sq += (double)x[j] * x[j];
    }
    REQUIRE_NEAR(sum / 480, 0, 1e-6);
    REQUIRE_NEAR(sq / 480, 1, 1e-6);
    vkt_dataset_example(ds, VKT_TEST, 0, first, &y);
    vkt_dataset_example(ds, VKT_TEST, 4, x, &y);
    assert_int_equal(y.u, 4 % 3);
    /* Test image 4 is image 0 shifted by 28 levels. */
    REQUIRE_NEAR((x[1] - first[1]) / (first[2] - first[1]), 28.0 / 3, 1e-4);
    double scale, mean;
    vkt_dataset_target_scale(ds, &scale, &mean);
    assert_true(scale == 1 && mean == 0);
    vkt_dataset_destroy(&ds);
    assert_null(ds);
    vkt_dataset_destroy(&ds);
}

static void idx_standardize_none_and_feature(void **state)
{
    (void)state;
    vkt_dataset *ds;
    float x[20];
    vkt_label y;
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = VKT_STD_NONE }, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TEST], 0);
    vkt_dataset_example(ds, VKT_TRAIN, 2, x, &y);
    for (int j = 0; j < 20; j++) REQUIRE_NEAR(x[j], (14 + 3 * j) / 255.0, 1e-7);
    vkt_dataset_destroy(&ds);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = VKT_STD_FEATURE }, &ds));
    double sum[20] = { 0 }, sq[20] = { 0 };
    for (uint64_t i = 0; i < 30; i++) {
        vkt_dataset_example(ds, VKT_TRAIN, i, x, &y);
        for (int j = 0; j < 20; j++) sum[j] += x[j], sq[j] += (double)x[j] * x[j];
    }
    for (int j = 0; j < 20; j++) {
        REQUIRE_NEAR(sum[j] / 30, 0, 1e-6);
        REQUIRE_NEAR(sq[j] / 30, 1, 1e-6);
    }
    vkt_dataset_destroy(&ds);
}

static void idx_constant_pixels_give_zero(void **state)
{
    (void)state;
    vkt_dataset *ds;
    float x[20];
    vkt_label y;
    make_idx(DIR "/idx", 30, 0);
    memset(bytes + idx_images(bytes, 30, 4, 5, 0) - 600, 200, 600);
    put(DIR "/idx/train-images-idx3-ubyte", bytes, 616); /* the plain file comes first */
    for (int how = VKT_STD_GLOBAL; how <= VKT_STD_FEATURE; how++) {
        REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = (vkt_standardize)how }, &ds));
        vkt_dataset_example(ds, VKT_TRAIN, 2, x, &y);
        for (int j = 0; j < 20; j++) REQUIRE_NEAR(x[j], 0, 1e-7);
        vkt_dataset_destroy(&ds);
    }
}

static void idx_colour_and_class_names(void **state)
{
    (void)state;
    vkt_dataset *ds;
    make_idx(DIR "/idx", 30, 0);
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 30, 4, 5, 3));
    put(DIR "/idx/classes.txt", "cat\r\ndog\r\n\xc3\xa9l\xc3\xa9phant\r\nnone\n", 27);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .test_fraction = 0.2, .valid_fraction = 0.25 }, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->input_shape[2], 3);
    assert_int_equal(info->n_outputs, 4);
    assert_string_equal(info->class_names[1], "dog");
    assert_string_equal(info->class_names[2], "\xc3\xa9l\xc3\xa9phant");
    assert_int_equal(info->n[VKT_TEST], 6);
    assert_int_equal(info->n[VKT_VALID], 6);
    assert_int_equal(info->n[VKT_TRAIN], 18);
    vkt_dataset_destroy(&ds);
}

/* Opening must fail with the status and a log line that has both texts. */
static void refuse(const vkt_data_desc *desc, vkt_status want, const char *where, const char *what)
{
    vkt_dataset *ds = (vkt_dataset *)1;
    TEST_LOG_CAPTURE();
    vkt_status st = vkt_dataset_open(desc, &ds);
    if (st == VKT_OK) print_error("opened, but should fail with '%s'\n", what);
    REQUIRE_STATUS(st, want);
    assert_null(ds);
    REQUIRE_LOGGED(where);
    REQUIRE_LOGGED(what);
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1); /* one line */
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void idx_bad_files(void **state)
{
    (void)state;
    const vkt_data_desc d = { IDX_DESC };
    const char *images = DIR "/idx/train-images-idx3-ubyte", *labels = DIR "/idx/train-labels-idx1-ubyte";
    size_t n;
    make_idx(DIR "/idx", 30, 9);
    refuse(&(vkt_data_desc) { .source = "idx", .path = DIR "/none" }, VKT_IO, DIR "/none", "not a folder");

    n = idx_images(bytes, 30, 4, 5, 0);
    put(images, bytes, n - 1);
    refuse(&d, VKT_FORMAT, images, "is cut off: its header promises 600 bytes, the file can hold 599");
    bytes[n] = 9;
    put(images, bytes, n + 1);
    refuse(&d, VKT_FORMAT, images, "goes on after the 600 bytes");
    put(images, bytes, 9);
    refuse(&d, VKT_FORMAT, images, "cut off within its header");
    put(images, bytes, 3);
    refuse(&d, VKT_FORMAT, images, "neither an IDX file nor gzip");
    put(images, "", 0);
    refuse(&d, VKT_FORMAT, images, "neither an IDX file nor gzip");
    bytes[2] = 0x0d;
    put(images, bytes, n);
    refuse(&d, VKT_FORMAT, images, "IDX type 0x0d");
    bytes[2] = 8, bytes[3] = 2;
    put(images, bytes, n);
    refuse(&d, VKT_FORMAT, images, "has 2 dimensions");
    idx_images(bytes, 30, 4, 0, 0);
    put(images, bytes, 16);
    refuse(&d, VKT_FORMAT, images, "is empty");
    put(images, bytes, idx_labels(bytes, 30, 3));
    refuse(&d, VKT_FORMAT, images, "holds labels where images must be");
    n = idx_images(bytes, 29, 4, 5, 0);
    put(images, bytes, n);
    refuse(&d, VKT_FORMAT, images, "has 29 images");

    /* Lengths whose product overflows, and lengths that the file can't hold: refused before allocating. */
    idx_images(bytes, 30, 4, 5, 0);
    memset(bytes + 4, 0xff, 12);
    put(images, bytes, n);
    refuse(&d, VKT_FORMAT, images, "promises more than");
    put_gz(images, bytes, n);
    refuse(&d, VKT_FORMAT, images, "promises more than");
    memcpy(bytes + 4, "\x0f\xff\xff\xff\0\0\0\1\0\0\0\1", 12);
    put_gz(images, bytes, n);
    refuse(&d, VKT_FORMAT, images, "promises 268435455 bytes");

    /* gzip: cut off, damaged, shorter or longer inside than promised, followed by rubbish. */
    n = idx_images(bytes, 30, 4, 5, 0);
    put_gz(images, bytes, n - 1);
    refuse(&d, VKT_FORMAT, images, "promises 600 bytes, it has 599");
    put_gz(images, bytes, n + 1);
    refuse(&d, VKT_FORMAT, images, "goes on after");
    put_gz(images, bytes, n);
    char *gz;
    size_t gz_n;
    REQUIRE_OK(vkt__file_read(images, 1 << 20, &gz, &gz_n));
    put(images, gz, gz_n / 2);
    refuse(&d, VKT_FORMAT, images, "gzip data is cut off");
    put(images, gz, gz_n - 1);
    refuse(&d, VKT_FORMAT, images, "gzip data is cut off");
    gz[gz_n - 6] ^= 1; /* the sum at the end */
    put(images, gz, gz_n);
    refuse(&d, VKT_FORMAT, images, "damaged");
    gz[gz_n - 6] ^= 1;
    char *two = malloc(gz_n + 5);
    memcpy(two, gz, gz_n);
    memcpy(two + gz_n, "extra", 5);
    put(images, two, gz_n + 5);
    refuse(&d, VKT_FORMAT, images, "follow the end of the gzip data");
    free(two);
    free(gz);

    REQUIRE_OK(vkt__remove_tree(images));
    put(DIR "/idx/train-images-idx3-ubyte.gz", "<html>404</html>", 16);
    refuse(&d, VKT_FORMAT, "train-images-idx3-ubyte.gz", "neither an IDX file nor gzip");
    REQUIRE_OK(vkt__remove_tree(DIR "/idx/train-images-idx3-ubyte.gz"));
    refuse(&d, VKT_IO, DIR "/idx", "lacks train-images-idx3-ubyte");
    make_idx(DIR "/idx", 30, 9);
    REQUIRE_OK(vkt__remove_tree(labels));
    refuse(&d, VKT_IO, DIR "/idx", "lacks train-labels-idx1-ubyte");
    make_idx(DIR "/idx", 30, 9);
    REQUIRE_OK(vkt__remove_tree(DIR "/idx/t10k-labels-idx1-ubyte.gz"));
    refuse(&d, VKT_IO, DIR "/idx", "lacks t10k-labels-idx1-ubyte");

    make_idx(DIR "/idx", 30, 9);
    put(DIR "/idx/classes.txt", "a\nb\n", 4);
    refuse(&d, VKT_FORMAT, labels, "label 2 of record 2 is outside the 2 classes");
    put(DIR "/idx/classes.txt", "\n\n", 2);
    refuse(&d, VKT_FORMAT, "classes.txt", "is empty");
    put(DIR "/idx/classes.txt", "a\xff\nb\nc\n", 7);
    refuse(&d, VKT_FORMAT, "classes.txt", "not UTF-8");
    make_idx(DIR "/idx", 30, 9);
    n = idx_labels(bytes, 9, 3);
    bytes[n - 1] = 77;
    put(DIR "/idx/t10k-labels-idx1-ubyte", bytes, n);
    refuse(&d, VKT_FORMAT, "t10k-labels-idx1-ubyte", "label 77 of record 8 is outside the 3 classes");
    make_idx(DIR "/idx", 30, 9);
    put(DIR "/idx/t10k-images-idx3-ubyte", bytes, idx_images(bytes, 9, 5, 4, 0));
    refuse(&d, VKT_FORMAT, "t10k-images", "images of 5x4x1, not the 4x5x1");
    refuse(&(vkt_data_desc) { IDX_DESC, .task = VKT_REGRESS }, VKT_ARG, "idx", "needs source csv");
}

/* Plain data under a .gz name and gzip data under a plain one load: the content decides. */
static void idx_content_decides(void **state)
{
    (void)state;
    vkt_dataset *ds;
    make_idx(DIR "/idx", 30, 0);
    put(DIR "/idx/train-images-idx3-ubyte.gz", bytes, idx_images(bytes, 30, 4, 5, 0));
    put_gz(DIR "/idx/train-labels-idx1-ubyte", bytes, idx_labels(bytes, 30, 3));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 30);
    vkt_dataset_destroy(&ds);
}

/* ---- CSV ---- */

#define CSV DIR "/t.csv"

static void put_csv(const char *text)
{
    put(CSV, text, strlen(text));
}

static vkt_dataset *open_csv(const char *text, vkt_data_desc d)
{
    vkt_dataset *ds;
    put_csv(text);
    d.source = "csv";
    d.path = CSV;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    return ds;
}

/* x of training example i, which must have n inputs. */
static const float *inputs(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t n)
{
    static float x[64];
    vkt_label y;
    assert_int_equal(vkt_dataset_get_info(ds)->n_inputs, n);
    vkt_dataset_example(ds, split, i, x, &y);
    return x;
}

static uint32_t class_of(const vkt_dataset *ds, uint64_t i)
{
    float x[64];
    vkt_label y;
    vkt_dataset_example(ds, VKT_TRAIN, i, x, &y);
    return y.u;
}

#define RAW .standardize = VKT_STD_NONE

static void csv_dialects(void **state)
{
    (void)state;
    static const char *const same[] = {
        "a,b,y\n1,2.5,x\n-3,4e2,z\n",
        "\xef\xbb\xbf" "a,b,y\r\n1,2.5,x\r\n-3,4e2,z",
        "a;b;y\n1;2.5;x\n-3;4e2;z\n",
        "a\tb\ty\r1\t2.5\tx\r-3\t4e2\tz\r",
        "\n\"a\",\"b\",\"y\"\n\n\"1\", 2.50 ,\"x\"\n  -3,+400.,  z  \n\n",
        "1,2.5,x\n-3,4e2,z\n",
    };
    for (size_t i = 0; i < VKT_COUNT(same); i++) {
        vkt_dataset *ds = open_csv(same[i], (vkt_data_desc) { RAW });
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_int_equal(info->n[VKT_TRAIN], 2);
        assert_int_equal(info->n_outputs, 2);
        assert_string_equal(info->class_names[0], "x");
        assert_string_equal(info->class_names[1], "z");
        const float *x = inputs(ds, VKT_TRAIN, 0, 2);
        assert_true(x[0] == 1 && x[1] == 2.5f);
        x = inputs(ds, VKT_TRAIN, 1, 2);
        assert_true(x[0] == -3 && x[1] == 400);
        vkt_dataset_destroy(&ds);
    }
    /* Delimiters, quotes and line ends inside quotes; a delimiter given. */
    vkt_dataset *ds = open_csv("v|y\n1|\"a,\"\"b\"\"|\nc\"\n2|\"d\"\n", (vkt_data_desc) { .delimiter = '|', RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "a,\"b\"|\nc");
    vkt_dataset_destroy(&ds);
}

static void csv_header_and_label_choice(void **state)
{
    (void)state;
    /* label first, as a letter, no header; by position; by name; header that could be data. */
    vkt_dataset *ds = open_csv("T,2,8\nI,5,12\nD,4,11\n", (vkt_data_desc) { .label = "0", RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "D");
    assert_int_equal(class_of(ds, 0), 2);
    assert_true(inputs(ds, VKT_TRAIN, 2, 2)[1] == 11);
    vkt_dataset_destroy(&ds);
    ds = open_csv("y,a\np,1\nq,2\n", (vkt_data_desc) { .label = "y", RAW });
    assert_true(inputs(ds, VKT_TRAIN, 1, 1)[0] == 2);
    vkt_dataset_destroy(&ds);
    ds = open_csv("size,y\nbig,no\nsmall,yes\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 2);
    vkt_dataset_destroy(&ds);
    ds = open_csv("big,no\nsmall,yes\nbig,yes\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 3);
    vkt_dataset_destroy(&ds);
    ds = open_csv("1990,y\n1,2\n3,4\n", (vkt_data_desc) { .header = "yes", RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 2);
    vkt_dataset_destroy(&ds);
    /* Classes that are numbers are in numeric order, and 2 is 2.0. */
    ds = open_csv("1,10\n1,2\n1,-1\n1,2.0\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 3);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "-1");
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[2], "10");
    assert_int_equal(class_of(ds, 3), class_of(ds, 1));
    vkt_dataset_destroy(&ds);
}

static void csv_columns_are_standardised_on_train(void **state)
{
    (void)state;
    char text[4096] = "a,colour,same,y\n";
    for (int i = 0; i < 60; i++)
        sprintf(text + strlen(text), "%d,%s,0.1,%d\n", i * i, i % 3 == 0 ? "red" : i % 3 == 1 ? "green" : "blue", i % 2);
    vkt_dataset *ds = open_csv(text, (vkt_data_desc) { .valid_fraction = 0.3, .seed = 4 });
    uint64_t n = vkt_dataset_get_info(ds)->n[VKT_TRAIN];
    double sum = 0, sq = 0;
    for (uint64_t i = 0; i < n; i++) {
        const float *x = inputs(ds, VKT_TRAIN, i, 5); /* a, blue, green, red, same */
        sum += x[0], sq += (double)x[0] * x[0];
        assert_true(x[1] + x[2] + x[3] == 1 && (x[1] == 1 || x[2] == 1 || x[3] == 1));
        assert_true(x[4] == 0);
    }
    REQUIRE_NEAR(sum / (double)n, 0, 1e-6);
    REQUIRE_NEAR(sq / (double)n, 1, 1e-6);
    vkt_dataset_destroy(&ds);
    ds = open_csv("1,30,x\n2,50,z\n", (vkt_data_desc) { .standardize = VKT_STD_GLOBAL });
    double m = 83 / 4.0, v = (1 + 900 + 4 + 2500) / 4.0 - m * m;
    REQUIRE_NEAR(inputs(ds, VKT_TRAIN, 1, 2)[1], (50 - m) / sqrt(v), 1e-6);
    vkt_dataset_destroy(&ds);
}

static void csv_missing_policies(void **state)
{
    (void)state;
    const char *text = "a,c,y\n1,u,p\n?,u,q\n5,NA,p\n6,v,q\nNaN,v,p\n8,,q\n,u,p\n";
    vkt_dataset *ds = open_csv(text, (vkt_data_desc) { .missing = VKT_MISSING_DROP, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 2);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 5);
    vkt_dataset_destroy(&ds);
    ds = open_csv(text, (vkt_data_desc) { .missing = VKT_MISSING_MEAN, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 7);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 0);
    assert_true(inputs(ds, VKT_TRAIN, 1, 3)[0] == 5); /* mean of 1 5 6 8 */
    const float *x = inputs(ds, VKT_TRAIN, 2, 3);
    assert_true(x[1] == 1 && x[2] == 0); /* u is the most frequent */
    vkt_dataset_destroy(&ds);
    put_csv(text);
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, CSV "' line 3", "no value in column 'a'");
    put_csv("a,y\n1,p\n2,\n3,q\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_MEAN }, VKT_FORMAT, "line 3",
           "no label in column 'y'");
    put_csv("a,y\n,p\n,q\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_DROP }, VKT_FORMAT, CSV, "all 2 rows");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_MEAN }, VKT_FORMAT, CSV,
           "column 'a' has no value");
}

static void csv_regression(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("a,price\n1,10\n2,20\n3,60\n", (vkt_data_desc) { .task = VKT_REGRESS });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    double scale, mean;
    float x[1];
    vkt_label y;
    assert_int_equal(info->n_outputs, 1);
    assert_null(info->class_names);
    vkt_dataset_target_scale(ds, &scale, &mean);
    REQUIRE_NEAR(mean, 30, 1e-12);
    REQUIRE_NEAR(scale, sqrt((400 + 100 + 900) / 3.0), 1e-12);
    vkt_dataset_example(ds, VKT_TRAIN, 2, x, &y);
    REQUIRE_NEAR(y.f * scale + mean, 60, 1e-5);
    vkt_dataset_destroy(&ds);
    put_csv("a,price\n1,10\n2,cheap\n3,60\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .task = VKT_REGRESS }, VKT_FORMAT, CSV "' line 3",
           "'cheap' in column 'price' is not a number");
}

static void csv_class_line(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("4,3,benign,malign\n1,2,3,0\n4,5,6,1\n7,8,9,1\n0,0,0,0\n", (vkt_data_desc) { RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 4);
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "malign");
    assert_int_equal(class_of(ds, 1), 1);
    assert_true(inputs(ds, VKT_TRAIN, 2, 3)[2] == 9);
    vkt_dataset_destroy(&ds);
    /* iris: as many cells as a row. */
    ds = open_csv("2,2,pos\n1,2,0\n3,4,0\n", (vkt_data_desc) { RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "pos");
    vkt_dataset_destroy(&ds);
    put_csv("5,3,benign,malign\n1,2,3,0\n4,5,6,1\n7,8,9,1\n0,0,0,0,0\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, "line 5", "has 5 cells");
    put_csv("9,2,benign,malign\n1,2,0\n4,5,1\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, "line 1", "promises 9 rows, the file has 2");
    put_csv("2,2,benign,malign\n1,2,0\n4,5,7\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, "line 3", "class '7' is not among the 2");
}

static void csv_bad_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } bad[] = {
        { "", CSV, "is empty" },
        { "\n\r\n", CSV, "is empty" },
        { "a,b,y\n", CSV, "a header but no rows" },
        { "a,b,y\n1,2,x\n1,2\n", "line 3", "has 2 cells where the line before has 3" },
        { "a,b,y\n1,2\n1,2\n", "line 2", "has 2 cells where the line before has 3" },
        { "a,b,y\n1,2,x\n1,\"2\n3,4,z\n", "line 3", "never closed" },
        { "a,b,y\n1,2,x\n1,\"2\"3,z\n", "line 3", "text after a closing quote" },
        { "a,b,y\n1,2,x\n1,2\"3,z\n", "line 3", "a quote inside a cell" },
        { "a,b,y\n1,2,x\n\"1\n\n\",oops,z\n3,4,x\n5,6,z\n", "line 3", "is not a number" },
        { "a,b,y\n1,2,x\n3,4,z\n5,oops,z\n", "line 4", "'oops' in column 'b' is not a number" },
        { "a,b,y\n1,2,x\n3,0x10,z\n5,1,z\n", "line 3", "'0x10' in column 'b' is not a number" },
        { "a,b,y\n1,2,x\n3,1e999,z\n5,1,z\n", "line 3", "is not a number" },
        { "a,b,y\n1,1e200,x\n3,1,z\n5,1,z\n", CSV, "too large to standardise" },
        { "a\n1\n2\n", CSV, "has one column" },
        { "a,a,y\n1,2,x\n3,4,z\n", "line 1", "two columns are named 'a'" },
        { "a,b,y\n1,2,x\n3,4,x\n", CSV, "holds only 'x'" },
        { "a,b,y\n1,2,\xff\n3,4,x\n", "line 2", "not UTF-8" },
    };
    const vkt_data_desc d = { .source = "csv", .path = CSV };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        put_csv(bad[i].text);
        refuse(&d, VKT_FORMAT, bad[i].where, bad[i].what);
    }
    put(CSV, "a,b\n1,\0\n", 8);
    refuse(&d, VKT_FORMAT, "line 2", "a zero byte");
    put_csv("a,b,y\n1,2,x\n3,4,z\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "yy" }, VKT_ARG, CSV, "did you mean 'y'?");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "3" }, VKT_ARG, CSV, "columns 0 to 2");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .header = "maybe" }, VKT_ARG, "maybe", "auto, yes or no");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .delimiter = '"' }, VKT_ARG, "delimiter", "ASCII");
    refuse(&(vkt_data_desc) { .source = "csv", .path = DIR "/none.csv" }, VKT_IO, "none.csv", "can't open");
    refuse(&(vkt_data_desc) { .source = "csv" }, VKT_ARG, "data.path", "missing");
    refuse(&(vkt_data_desc) { .source = "cvs", .path = CSV }, VKT_ARG, "cvs", "did you mean 'csv'?");
    refuse(&(vkt_data_desc) { .path = CSV }, VKT_ARG, "data.source", "missing");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .valid_fraction = 1 }, VKT_ARG, "valid_fraction", "below 1");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .test_fraction = NAN }, VKT_ARG, "test_fraction", "below 1");
    put_csv("1,x\n3,z\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "y" }, VKT_ARG, CSV, "has no header line");
    char many[8192] = "";
    for (int i = 0; i < 50; i++) sprintf(many + strlen(many), "%d,%d.5\n", i, i);
    put_csv(many);
    refuse(&d, VKT_FORMAT, CSV, "50 different values");
}

static void csv_test_file(void **state)
{
    (void)state;
    vkt_data_desc d = { .test_path = DIR "/test.csv", RAW };
    /* Other column order, an unseen category (zeros), own test set instead of test_fraction. */
    put(d.test_path, "y,c,a\np,w,7\nq,u,8\n", 18);
    vkt_dataset *ds = open_csv("a,c,y\n1,u,p\n2,v,q\n3,u,p\n", d);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TEST], 2);
    const float *x = inputs(ds, VKT_TEST, 0, 3);
    assert_true(x[0] == 7 && x[1] == 0 && x[2] == 0);
    x = inputs(ds, VKT_TEST, 1, 3);
    assert_true(x[0] == 8 && x[1] == 1 && x[2] == 0);
    vkt_dataset_destroy(&ds);
    d.source = "csv";
    d.path = CSV;
    put(d.test_path, "y,c,a\np,w,7\nr,u,8\n", 18);
    refuse(&d, VKT_FORMAT, "test.csv' line 3", "class 'r' is not among the 2 classes");
    put(d.test_path, "y,a\np,7\nr,8\n", 12);
    refuse(&d, VKT_FORMAT, "test.csv' line 1", "column 'c', which the schema needs");
    put(d.test_path, "c,a\nu,7\nu,8\n", 12);
    refuse(&d, VKT_FORMAT, "test.csv", "lacks the label column 'y'");
}
