/* data: IDX and CSV parsing, schema, split, stream and loader, from files made here. */
#include "testing.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#include <zlib.h>

#include <locale.h>

#include "data/dataset.h"

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
    /* Over the training split, inputs have mean 0 and deviation 1; the test images keep the
     * constants. */
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
    REQUIRE_OK(
        vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = VKT_STD_FEATURE }, &ds));
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
        REQUIRE_OK(vkt_dataset_open(
            &(vkt_data_desc) { IDX_DESC, .standardize = (vkt_standardize)how }, &ds));
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
    REQUIRE_OK(vkt_dataset_open(
        &(vkt_data_desc) { IDX_DESC, .test_fraction = 0.2, .valid_fraction = 0.25 }, &ds));
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
    const char *images = DIR "/idx/train-images-idx3-ubyte",
               *labels = DIR "/idx/train-labels-idx1-ubyte";
    size_t n;
    make_idx(DIR "/idx", 30, 9);
    refuse(&(vkt_data_desc) { .source = "idx", .path = DIR "/none" }, VKT_IO, DIR "/none",
           "not a folder");

    n = idx_images(bytes, 30, 4, 5, 0);
    put(images, bytes, n - 1);
    refuse(&d, VKT_FORMAT, images,
           "is cut off: its header promises 600 bytes, the file can hold 599");
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

    /* Lengths whose product overflows, and lengths that the file can't hold: refused before
     * allocating. */
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
    refuse(&d, VKT_FORMAT, "t10k-labels-idx1-ubyte",
           "label 77 of record 8 is outside the 3 classes");
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
        "\357\273\277a,b,y\r\n1,2.5,x\r\n-3,4e2,z",
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
    vkt_dataset *ds = open_csv("1 2.5 x\n-3 4e2 z\n", (vkt_data_desc) { .delimiter = ' ', RAW });
    assert_true(inputs(ds, VKT_TRAIN, 1, 2)[1] == 400);
    vkt_dataset_destroy(&ds);
    /* Delimiters, quotes and line ends inside quotes; a delimiter given. */
    ds = open_csv("v|y\n1|\"a,\"\"b\"\"|\nc\"\n2|\"d\"\n",
                  (vkt_data_desc) { .delimiter = '|', RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "a,\"b\"|\nc");
    vkt_dataset_destroy(&ds);
}

static void csv_numbers(void **state)
{
    (void)state;
    static const char *const good[] = { "0",
                                        "-0",
                                        "+7",
                                        ".5",
                                        "5.",
                                        "1e3",
                                        "1E-3",
                                        "2.5e+2",
                                        "0.1",
                                        "123456789012345",
                                        "1e22",
                                        "1e23",
                                        "1e-22",
                                        "1e-23",
                                        "0.30000000000000004",
                                        "9007199254740993",
                                        "179769313486231570e291",
                                        "0.000000000000000000000000000001234567890123456789",
                                        "4.9e-324",
                                        "1e-999",
                                        "00000000000000000000000000012.5",
                                        "3.14159265358979323846264338327950288" };
    static const char *const bad[] = {
        "",      "-",    "+",   ".",   "e5",  "1e",  "1e+",   "1,5",
        "1.2.3", "0x10", "inf", "nan", "1 2", "--1", "1e999", "12a"
    };
    double v;
    for (size_t i = 0; i < VKT_COUNT(good); i++) {
        if (!vkt__csv_number(good[i], &v)) fail_msg("%s is a number", good[i]);
        if (v != strtod(good[i], NULL)) fail_msg("%s is not %.17g", good[i], v);
    }
    for (size_t i = 0; i < VKT_COUNT(bad); i++)
        if (vkt__csv_number(bad[i], &v)) fail_msg("'%s' is no number", bad[i]);
    /* Whatever double is printed comes back, on the fast path and the slow one. */
    for (uint64_t i = 0; i < 20000; i++) {
        char text[64];
        double want = (vkt_rand_uniform(1, VKT_RNG_TEST, 2 * i) - 0.5) *
                      pow(10, vkt_rand_uniform(1, VKT_RNG_TEST, 2 * i + 1) * 40 - 20);
        snprintf(text, sizeof text, "%.*g", (int)(i % 17) + 1, want);
        assert_true(vkt__csv_number(text, &v) && v == strtod(text, NULL));
    }
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        assert_true(vkt__csv_number("3.14159265358979323846", &v) &&
                    v == 314159265358979323846e-20);
        setlocale(LC_NUMERIC, "C");
    }
}

static void csv_header_and_label_choice(void **state)
{
    (void)state;
    vkt_dataset *ds =
        open_csv("\xef\xbb\xbfkind,b\np,1\nq,2\n", (vkt_data_desc) { .label = "kind", RAW });
    assert_true(inputs(ds, VKT_TRAIN, 1, 1)[0] == 2);
    vkt_dataset_destroy(&ds);
    /* label first, as a letter, no header; by position; by name; header that could be data. */
    ds = open_csv("T,2,8\nI,5,12\nD,4,11\n", (vkt_data_desc) { .label = "0", RAW });
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[0], "D");
    assert_int_equal(class_of(ds, 0), 2);
    assert_true(inputs(ds, VKT_TRAIN, 2, 2)[1] == 11);
    vkt_dataset_destroy(&ds);
    /* A position that is also a value of the first row is no header. */
    ds = open_csv("0,7,0\n1,8,0\n", (vkt_data_desc) { .label = "0", RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 2);
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
        sprintf(text + strlen(text), "%d,%s,0.1,%d\n", i * i,
                i % 3 == 0   ? "red"
                : i % 3 == 1 ? "green"
                             : "blue",
                i % 2);
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
    const char *text = "a,c,y\n1,w,p\n?,w,q\n5,NA,p\n6,v,q\nNaN,v,p\n8,,q\n,w,p\n";
    vkt_dataset *ds = open_csv(text, (vkt_data_desc) { .missing = VKT_MISSING_DROP, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 2);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 5);
    vkt_dataset_destroy(&ds);
    ds = open_csv(text, (vkt_data_desc) { .missing = VKT_MISSING_MEAN, RAW });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 7);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 0);
    assert_true(inputs(ds, VKT_TRAIN, 1, 3)[0] == 5); /* mean of 1 5 6 8 */
    const float *x = inputs(ds, VKT_TRAIN, 2, 3);
    assert_true(x[1] == 0 && x[2] == 1); /* w is the most frequent */
    vkt_dataset_destroy(&ds);
    put_csv(text);
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, CSV "' line 3",
           "no value in column 'a'");
    put_csv("a,y\n1,p\n2,\n3,q\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_MEAN },
           VKT_FORMAT, "line 3", "no label in column 'y'");
    put_csv("a,y\n,p\n,q\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_DROP },
           VKT_FORMAT, CSV, "all 2 rows");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .missing = VKT_MISSING_MEAN },
           VKT_FORMAT, CSV, "column 'a' has no value");
}

static void csv_regression(void **state)
{
    (void)state;
    vkt_dataset *ds =
        open_csv("a,price\n1,10\n2,20\n3,60\n", (vkt_data_desc) { .task = VKT_REGRESS });
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
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .task = VKT_REGRESS }, VKT_FORMAT,
           CSV "' line 3", "'cheap' in column 'price' is not a number");
}

static void csv_class_line(void **state)
{
    (void)state;
    vkt_dataset *ds = open_csv("4,3,benign,malign\n1,2,3,0\n4,5,6,1\n7,8,9,1\n0,0,0,0\n",
                               (vkt_data_desc) { RAW });
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
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, "line 1",
           "promises 9 rows, the file has 2");
    put_csv("2,2,benign,malign\n1,2,0\n4,5,7\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV }, VKT_FORMAT, "line 3",
           "class '7' is not among the 2");
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
        { "\"to\ntal\",y\n1,x\n?,z\n", "line 4", "column 'to tal'" },
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
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "yy" }, VKT_ARG, CSV,
           "did you mean 'y'?");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "3" }, VKT_ARG, CSV,
           "columns 0 to 2");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .header = "maybe" }, VKT_ARG, "maybe",
           "auto, yes or no");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .delimiter = '"' }, VKT_ARG,
           "delimiter", "ASCII");
    refuse(&(vkt_data_desc) { .source = "csv", .path = DIR "/none.csv" }, VKT_IO, "none.csv",
           "can't open");
    refuse(&(vkt_data_desc) { .source = "csv" }, VKT_ARG, "data.path", "missing");
    refuse(&(vkt_data_desc) { .source = "cvs", .path = CSV }, VKT_ARG, "cvs",
           "did you mean 'csv'?");
    refuse(&(vkt_data_desc) { .path = CSV }, VKT_ARG, "data.source", "missing");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .valid_fraction = 1 }, VKT_ARG,
           "valid_fraction", "below 1");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .test_fraction = NAN }, VKT_ARG,
           "test_fraction", "below 1");
    put_csv("1,x\n3,z\n");
    refuse(&(vkt_data_desc) { .source = "csv", .path = CSV, .label = "y" }, VKT_ARG, CSV,
           "has no header line");
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

/* ---- digits, sklearn's files and Fashion-MNIST ---- */

static void digits(void **state)
{
    (void)state;
    static const uint64_t per_class[] = { 178, 182, 177, 183, 181, 182, 181, 179, 174, 180 };
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "digits" }, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_TRAIN], 1797);
    assert_int_equal(info->input_rank, 3);
    assert_true(info->input_shape[0] == 8 && info->input_shape[1] == 8 &&
                info->input_shape[2] == 1);
    assert_int_equal(info->n_inputs, 64);
    assert_int_equal(info->n_outputs, 10);
    uint64_t count[10];
    vkt_dataset_class_counts(ds, VKT_TRAIN, count);
    for (int c = 0; c < 10; c++) assert_int_equal(count[c], per_class[c]);
    /* One common scale: the blank corner is the lowest value, a full pixel lies 16 / deviation
     * above. */
    double sum = 0, sq = 0;
    for (uint64_t i = 0; i < 1797; i++) {
        float x[64];
        vkt_label y;
        vkt_dataset_example(ds, VKT_TRAIN, i, x, &y);
        for (int j = 0; j < 64; j++) sum += x[j], sq += (double)x[j] * x[j];
    }
    REQUIRE_NEAR(sum / 1797 / 64, 0, 1e-6);
    REQUIRE_NEAR(sq / 1797 / 64, 1, 1e-6);
    vkt_dataset_destroy(&ds);
    refuse(&(vkt_data_desc) { .source = "digits", .task = VKT_REGRESS }, VKT_ARG, "digits",
           "has classes");
}

static void embedded_files(void **state)
{
    (void)state;
    size_t n = 0;
    assert_non_null(vkt_embedded("digits.csv.gz", &n));
    assert_true(n > 50000);
    assert_null(vkt_embedded("nothing", &n));
    assert_string_equal(vkt_embedded_name(0), "digits.csv.gz");
    size_t i = 0;
    while (vkt_embedded_name(i)) i++;
    assert_int_equal(i, 2);
}

static void fashion_mnist(void **state)
{
    (void)state;
    if (!vkt__is_dir(FASHION)) {
        print_message("skipped: %s is not there (apt-get install dataset-fashion-mnist)\n",
                      FASHION);
        skip();
    }
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "idx", .path = FASHION }, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_TRAIN], 60000);
    assert_int_equal(info->n[VKT_TEST], 10000);
    assert_int_equal(info->n_inputs, 784);
    assert_string_equal(info->class_names[9], "Ankle boot");
    uint64_t count[10];
    vkt_dataset_class_counts(ds, VKT_TRAIN, count);
    for (int c = 0; c < 10; c++) assert_int_equal(count[c], 6000);
    vkt_dataset_class_counts(ds, VKT_TEST, count);
    for (int c = 0; c < 10; c++) assert_int_equal(count[c], 1000);
    /* The constants everybody uses for it are 0.2860 and 0.3530. */
    const char *mean = strstr(vkt_dataset_schema(ds), "\"pixel_mean\""),
               *std = strstr(vkt_dataset_schema(ds), "\"pixel_std\"");
    REQUIRE_NEAR(strtod(strpbrk(mean + 12, "0123456789"), NULL), 0.2860, 5e-5);
    REQUIRE_NEAR(strtod(strpbrk(std + 11, "0123456789"), NULL), 0.3530, 5e-5);
    vkt_dataset_destroy(&ds);
}

/* ---- split ---- */

static void split_is_stratified_disjoint_and_covering(void **state)
{
    (void)state;
    /* Class sizes 7, 30, 100; column a names the row. */
    char text[8192] = "a,y\n";
    static const int size[] = { 7, 30, 100 };
    for (int i = 0; i < 100; i++)
        for (int c = 0; c < 3; c++)
            if (i < size[c]) sprintf(text + strlen(text), "%d,%d\n", i * 3 + c, c);
    uint64_t first_print = 0, differs = 0;
    for (uint64_t seed = 0; seed < 5; seed++) {
        vkt_data_desc d = { .test_fraction = 0.15, .valid_fraction = 0.25, .seed = seed, RAW };
        vkt_dataset *ds = open_csv(text, d), *again;
        bool seen[300] = { 0 };
        uint64_t count[VKT_N_SPLITS][3], total = 0;
        for (int s = 0; s < VKT_N_SPLITS; s++) {
            vkt_dataset_class_counts(ds, (vkt_split)s, count[s]);
            for (uint64_t i = 0; i < vkt_dataset_get_info(ds)->n[s]; i++, total++) {
                int a = (int)inputs(ds, (vkt_split)s, i, 1)[0];
                assert_false(seen[a]);
                seen[a] = true;
            }
        }
        assert_int_equal(total, 137);
        for (int c = 0; c < 3; c++) {
            REQUIRE_NEAR(count[VKT_TEST][c], size[c] * 0.15, 0.5);
            REQUIRE_NEAR(count[VKT_VALID][c], (double)(size[c] - (int)count[VKT_TEST][c]) * 0.25,
                         0.5);
        }
        again = open_csv(text, d);
        assert_true(vkt_dataset_fingerprint(ds) == vkt_dataset_fingerprint(again));
        if (seed == 0) first_print = vkt_dataset_fingerprint(ds);
        differs += vkt_dataset_fingerprint(ds) != first_print;
        vkt_dataset_destroy(&ds);
        vkt_dataset_destroy(&again);
    }
    assert_int_equal(differs, 4);
}

static void fingerprint_sees_data_and_labels(void **state)
{
    (void)state;
    static const char *const texts[] = { "1,2,x\n3,4,z\n", "1,2,x\n3,5,z\n", "1,2,z\n3,4,x\n",
                                         "1,2,x\n3,4,z\n3,4,z\n" };
    uint64_t print[4];
    for (int i = 0; i < 4; i++) {
        vkt_dataset *ds = open_csv(texts[i], (vkt_data_desc) { RAW });
        print[i] = vkt_dataset_fingerprint(ds);
        for (int j = 0; j < i; j++) assert_true(print[i] != print[j]);
        vkt_dataset_destroy(&ds);
    }
}

static void split_too_small(void **state)
{
    (void)state;
    put_csv("1,x\n2,x\n3,x\n4,z\n");
    vkt_data_desc d = { .source = "csv", .path = CSV, .valid_fraction = 0.5 };
    refuse(&d, VKT_ARG, "class z has only 1 examples", "none are left to train on");
    d.valid_fraction = 0.1;
    refuse(&d, VKT_ARG, "valid_fraction 0.1", "too few");
    d.valid_fraction = 0;
    d.test_fraction = 0.01;
    refuse(&d, VKT_ARG, "test_fraction 0.01", "too few");
}

/* ---- schema ---- */

static void require_same_examples(const vkt_dataset *a, vkt_split split, const vkt_dataset *b)
{
    uint32_t n_inputs = vkt_dataset_get_info(a)->n_inputs;
    uint64_t n = vkt_dataset_get_info(a)->n[split];
    float x[2][64];
    vkt_label y[2];
    assert_int_equal(vkt_dataset_get_info(b)->n_inputs, n_inputs);
    assert_int_equal(vkt_dataset_get_info(b)->n[VKT_TEST], n);
    for (uint64_t i = 0; i < n; i++) {
        vkt_dataset_example(a, split, i, x[0], &y[0]);
        vkt_dataset_example(b, VKT_TEST, i, x[1], &y[1]);
        assert_memory_equal(x[0], x[1], n_inputs * sizeof(float));
        if (vkt_dataset_get_info(b)->has_labels) assert_int_equal(y[0].u, y[1].u);
    }
}

static vkt_dataset *open_with(const vkt_dataset *fitted, const char *path)
{
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(fitted), path, &ds));
    assert_string_equal(vkt_dataset_schema(ds), vkt_dataset_schema(fitted));
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_TRAIN], 0);
    return ds;
}

static void schema_round_trip_images(void **state)
{
    (void)state;
    for (int how = VKT_STD_AUTO; how <= VKT_STD_FEATURE; how++) {
        vkt_dataset *ds, *again;
        make_idx(DIR "/idx", 30, 9);
        REQUIRE_OK(vkt_dataset_open(
            &(vkt_data_desc) { IDX_DESC, .standardize = (vkt_standardize)how }, &ds));
        again = open_with(ds, DIR "/idx"); /* the test files */
        assert_true(vkt_dataset_get_info(again)->has_labels);
        require_same_examples(ds, VKT_TEST, again);
        vkt_dataset_destroy(&again);
        again = open_with(ds, DIR "/idx/train-images-idx3-ubyte.gz");
        assert_true(vkt_dataset_get_info(again)->has_labels); /* plain labels beside gzip images */
        require_same_examples(ds, VKT_TRAIN, again);
        vkt_dataset_destroy(&again);
        REQUIRE_OK(vkt__remove_tree(DIR "/idx/t10k-labels-idx1-ubyte.gz"));
        again = open_with(ds, DIR "/idx/t10k-images-idx3-ubyte");
        assert_false(vkt_dataset_get_info(again)->has_labels);
        require_same_examples(ds, VKT_TEST, again);
        vkt_dataset_destroy(&again);
        vkt_dataset_destroy(&ds);
    }
    vkt_dataset *ds, *again;
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    again = open_with(ds, DIR "/idx"); /* no test files: train */
    require_same_examples(ds, VKT_TRAIN, again);
    vkt_dataset_destroy(&again);
    TEST_LOG_CAPTURE();
    put(DIR "/other", bytes, idx_images(bytes, 2, 5, 4, 0));
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/other", &again),
                   VKT_FORMAT);
    REQUIRE_LOGGED("images of 5x4x1, not the 4x5x1");
    put(DIR "/idx/train-labels-idx1-ubyte", bytes, idx_labels(bytes, 30, 4));
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/idx", &again), VKT_FORMAT);
    REQUIRE_LOGGED("label 3 of record 3 is outside the 3 classes");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

/* ---- pictures ---- */

/* A PNG with one IDAT: 8 or 16 bits, colour type 0 grey, 2 RGB, 4 grey + alpha, 6 RGBA; samples
 * big-endian. */
static size_t make_png(uint8_t *out, uint32_t w, uint32_t h, int bits, int type,
                       const uint8_t *samples)
{
    static const int channels[] = { 1, 0, 3, 0, 2, 0, 4 };
    size_t row = (size_t)w * (size_t)channels[type] * (size_t)(bits / 8), at = 8;
    uint8_t *raw = calloc(h, row + 1), *body = malloc(1 << 19);
    for (uint32_t y = 0; y < h; y++) memcpy(raw + y * (row + 1) + 1, samples + y * row, row);
    uint8_t head[13] = { 0,
                         0,
                         (uint8_t)(w >> 8),
                         (uint8_t)w,
                         0,
                         0,
                         (uint8_t)(h >> 8),
                         (uint8_t)h,
                         (uint8_t)bits,
                         (uint8_t)type };
    uLongf n = 1 << 19;
    assert_int_equal(compress(body, &n, raw, h * (row + 1)), Z_OK);
    memcpy(out, "\x89PNG\r\n\x1a\n", 8);
    for (int k = 0; k < 3; k++) {
        const uint8_t *data = k == 0 ? head : body;
        size_t len = k == 0 ? 13 : k == 1 ? n : 0;
        for (int i = 0; i < 4; i++) out[at + (size_t)i] = (uint8_t)(len >> (24 - 8 * i));
        memcpy(out + at + 4, (const char *[]) { "IHDR", "IDAT", "IEND" }[k], 4);
        if (len) memcpy(out + at + 8, data, len);
        uLong crc = crc32(0, out + at + 4, (uInt)(len + 4));
        for (int i = 0; i < 4; i++) out[at + 8 + len + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += len + 12;
    }
    free(raw);
    free(body);
    return at;
}

/* The inputs that the schema makes of the picture; pixels [n_inputs] are what it must have seen. */
static void require_pixels(const vkt_dataset *ds, const char *path, const uint8_t *pixels)
{
    float x[256];
    vkt_label y;
    vkt_dataset *picture = open_with(ds, path);
    const vkt_dataset_info *info = vkt_dataset_get_info(picture);
    assert_int_equal(info->n[VKT_TEST], 1);
    assert_false(info->has_labels);
    vkt_dataset_example(picture, VKT_TEST, 0, x, &y);
    for (uint32_t i = 0; i < info->n_inputs; i++) {
        float want = (float)pixels[i] * ds->pixel_scale[i] + ds->pixel_bias[i];
        assert_memory_equal(&x[i], &want, sizeof want);
    }
    vkt_dataset_destroy(&picture);
}

static void refuse_picture(const vkt_dataset *ds, const char *path, vkt_status want,
                           const char *what)
{
    vkt_dataset *picture = (vkt_dataset *)1;
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), path, &picture), want);
    assert_null(picture);
    REQUIRE_LOGGED(path);
    REQUIRE_LOGGED(what);
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1); /* one line */
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void picture_equals_its_idx_example(void **state)
{
    (void)state;
    static const vkt_standardize how[] = { VKT_STD_AUTO, VKT_STD_NONE, VKT_STD_FEATURE };
    for (size_t k = 0; k < VKT_COUNT(how); k++) {
        vkt_dataset *ds, *idx;
        uint8_t pixels[20];
        make_idx(DIR "/idx", 30, 9);
        REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = how[k] }, &ds));
        idx = open_with(ds, DIR "/idx");
        for (int i = 0; i < 9; i++) {
            float from_idx[20], from_png[20];
            vkt_label y;
            for (int j = 0; j < 20; j++) pixels[j] = (uint8_t)(7 * i + 3 * j);
            assert_true(stbi_write_png(DIR "/grey.png", 5, 4, 1, pixels, 5));
            assert_true(stbi_write_bmp(DIR "/grey.bmp", 5, 4, 1, pixels));
            require_pixels(ds, DIR "/grey.png", pixels);
            require_pixels(ds, DIR "/grey.bmp", pixels);
            vkt_dataset *png = open_with(ds, DIR "/grey.png");
            vkt_dataset_example(png, VKT_TEST, 0, from_png, &y);
            vkt_dataset_example(idx, VKT_TEST, (uint64_t)i, from_idx, &y);
            assert_memory_equal(from_idx, from_png, sizeof from_idx);
            vkt_dataset_destroy(&png);
        }
        vkt_dataset_destroy(&idx);
        vkt_dataset_destroy(&ds);
    }
}

static void picture_channels_alpha_and_depth(void **state)
{
    (void)state;
    vkt_dataset *grey, *colour, *four;
    uint8_t in[160], want[60];
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &grey));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 30, 4, 5, 3));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &colour));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 30, 4, 5, 4));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &four));

    for (int i = 0; i < 60; i++) in[i] = (uint8_t)(11 * i);
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 2, in));
    require_pixels(colour, DIR "/p", in);
    for (int i = 0; i < 20; i++)
        want[i] = (uint8_t)((77 * in[3 * i] + 150 * in[3 * i + 1] + 29 * in[3 * i + 2] + 128) >> 8);
    require_pixels(grey, DIR "/p", want);
    refuse_picture(four, DIR "/p", VKT_FORMAT, "the model takes 4 channels");

    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 0, in));
    for (int i = 0; i < 60; i++) want[i] = in[i / 3];
    require_pixels(colour, DIR "/p", want);

    /* 16 bits: the upper byte, as if the lower one were not there. */
    for (int i = 0; i < 40; i++) in[i] = (uint8_t)(i % 2 ? 255 : 6 * i);
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 16, 0, in));
    for (int i = 0; i < 20; i++) want[i] = in[2 * i];
    require_pixels(grey, DIR "/p", want);

    /* Opaque: itself; clear: white; between: rounded. */
    for (int i = 0; i < 20; i++)
        in[2 * i] = (uint8_t)(12 * i), in[2 * i + 1] = i == 0 ? 255 : i == 1 ? 0 : 100;
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 4, in));
    for (int i = 0; i < 20; i++)
        want[i] =
            (uint8_t)floor((12 * i * in[2 * i + 1] + 255 * (255 - in[2 * i + 1])) / 255.0 + 0.5);
    assert_int_equal(want[0], 0);
    assert_int_equal(want[1], 255);
    require_pixels(grey, DIR "/p", want);
    for (int i = 0; i < 80; i++) in[i] = i % 4 == 3 ? 0 : (uint8_t)i;
    put(DIR "/p", bytes, make_png(bytes, 5, 4, 8, 6, in));
    memset(want, 255, sizeof want);
    require_pixels(colour, DIR "/p", want);

    /* JPEG: one colour survives it almost exactly. */
    vkt_dataset *picture;
    float x[20];
    vkt_label y;
    memset(in, 200, sizeof in);
    assert_true(stbi_write_jpg(DIR "/p", 5, 4, 1, in, 95));
    picture = open_with(grey, DIR "/p");
    vkt_dataset_example(picture, VKT_TEST, 0, x, &y);
    for (int i = 0; i < 20; i++)
        REQUIRE_NEAR(x[i], 200 * grey->pixel_scale[i] + grey->pixel_bias[i],
                     1.5 * (double)grey->pixel_scale[i]);
    vkt_dataset_destroy(&picture);
    vkt_dataset_destroy(&grey);
    vkt_dataset_destroy(&colour);
    vkt_dataset_destroy(&four);
}

static void picture_of_another_size(void **state)
{
    (void)state;
    vkt_dataset *ds;
    uint8_t big[8 * 15 * 3], want[20];
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    /* 2 x 3 pixels for each of the model's, their mean the value that must come out. */
    for (int yy = 0; yy < 8; yy++)
        for (int xx = 0; xx < 15; xx++)
            big[yy * 15 + xx] = (uint8_t)(10 * (yy / 2 * 5 + xx / 3) + (xx % 3 == 0   ? 5
                                                                        : xx % 3 == 1 ? 10
                                                                                      : 15));
    for (int i = 0; i < 20; i++) want[i] = (uint8_t)(10 * i + 10);
    put(DIR "/p", bytes, make_png(bytes, 15, 8, 8, 0, big));
    test_log[0] = 0;
    vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_INFO);
    require_pixels(ds, DIR "/p", want);
    REQUIRE_LOGGED("is 15x8 pixels: resized to the model's 5x4");
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1);
    put(DIR "/p", bytes, make_png(bytes, 1, 1, 8, 0, (const uint8_t[]) { 77 }));
    memset(want, 77, sizeof want);
    require_pixels(ds, DIR "/p", want);
    REQUIRE_LOGGED("is 1x1 pixels");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

static void picture_bad_files(void **state)
{
    (void)state;
    vkt_dataset *ds, *table;
    uint8_t in[60] = { 1, 2, 3 };
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    size_t n = make_png(bytes, 5, 4, 8, 0, in);
    for (size_t cut = 8; cut < n; cut++) {
        put(DIR "/p.png", bytes, cut);
        refuse_picture(ds, DIR "/p.png", VKT_FORMAT, "is cut short: get it again");
    }
    for (size_t i = 16; i < n; i++) { /* the header's content, pixels, sums: each byte counts */
        bytes[i] ^= 16;
        put(DIR "/p.png", bytes, n);
        refuse_picture(ds, DIR "/p.png", VKT_FORMAT, "get it again");
        bytes[i] ^= 16;
    }
    put(DIR "/p.png", bytes, n);
    require_pixels(ds, DIR "/p.png", in);
    n = make_png(bytes, 5, 4, 8, 0, in);
    memcpy(bytes + 16, "\0\0\x7f\xff\0\0\x7f\xff", 8);
    uLong crc = crc32(0, bytes + 12, 17);
    for (int i = 0; i < 4; i++) bytes[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    put(DIR "/p.png", bytes, n);
    refuse_picture(ds, DIR "/p.png", VKT_FORMAT, "more than 16384 pixels wide or high");

    char *jpeg;
    assert_true(stbi_write_jpg(DIR "/p.jpg", 5, 4, 1, in, 95));
    REQUIRE_OK(vkt__file_read(DIR "/p.jpg", 1 << 20, &jpeg, &n));
    put(DIR "/p.jpg", jpeg, n - 2);
    refuse_picture(ds, DIR "/p.jpg", VKT_FORMAT, "is cut short");
    for (size_t i = 0; i + 21 < n;
         i++) /* a Huffman table of 4,080 codes: stb would write past its end */
        if ((uint8_t)jpeg[i] == 0xff && (uint8_t)jpeg[i + 1] == 0xc4) memset(jpeg + i + 5, 255, 16);
    put(DIR "/p.jpg", jpeg, n);
    free(jpeg);
    refuse_picture(ds, DIR "/p.jpg", VKT_FORMAT, "a table has too many codes");
    assert_true(stbi_write_bmp(DIR "/p.bmp", 5, 4, 1, in));
    REQUIRE_OK(vkt__file_read(DIR "/p.bmp", 1 << 20, &jpeg, &n));
    put(DIR "/p.bmp", jpeg, n - 1);
    free(jpeg);
    refuse_picture(ds, DIR "/p.bmp", VKT_FORMAT, "is cut short");

    /* Not pictures: the messages of IDX and CSV stay. */
    put(DIR "/p.png", "BM,1\n2,3\n", 9);
    refuse_picture(ds, DIR "/p.png", VKT_FORMAT, "neither an IDX file nor gzip");
    refuse_picture(ds, DIR "/none.png", VKT_IO, "can't open");

    /* An 8x8 picture of a digit: the table's cells go to 16, a picture's to 255. */
    REQUIRE_OK(
        vkt_dataset_open(&(vkt_data_desc) { .source = "digits", .valid_fraction = 0.1 }, &table));
    uint8_t digit[64] = { 0 };
    put(DIR "/digit.png", bytes, make_png(bytes, 8, 8, 8, 0, digit));
    refuse_picture(
        table, DIR "/digit.png", VKT_FORMAT,
        "is a picture, but the model was trained on a table: give its 64 columns as CSV");
    vkt_dataset_destroy(&table);
    vkt_dataset_destroy(&ds);
}

static void schema_round_trip_tables(void **state)
{
    (void)state;
    const char *text =
        "a,c,y,b\n0.1,u,p,1e-5\n-7.3,\"v,w\",q,1234567.891\n3,u,r,?\n1e3,\xc3\xa9,p,0\n";
    for (int task = VKT_CLASSIFY; task <= VKT_REGRESS; task++) {
        vkt_data_desc d = { .label = task == VKT_CLASSIFY ? "y" : "a",
                            .missing = VKT_MISSING_MEAN,
                            .task = (vkt_task)task };
        vkt_dataset *ds = open_csv(text, d), *again = open_with(ds, CSV);
        require_same_examples(ds, VKT_TRAIN, again);
        vkt_dataset_destroy(&again);
        vkt_dataset_destroy(&ds);
    }
    vkt_data_desc d = { .label = "y", .missing = VKT_MISSING_MEAN };
    vkt_dataset *ds = open_csv(text, d), *again;
    /* By name whatever the order; without label; extra columns are named in a warning. */
    const char *other =
        "b,extra,a,c\n1e-5,9,0.1,u\n1234567.891,9,-7.3,\"v,w\"\nNA,9,3,u\n0,9,1e3,\xc3\xa9\n";
    put(DIR "/new.csv", other, strlen(other));
    TEST_LOG_CAPTURE();
    again = open_with(ds, DIR "/new.csv");
    REQUIRE_LOGGED("1 columns that the schema does not know");
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_same_examples(ds, VKT_TRAIN, again);
    vkt_dataset_destroy(&again);
    /* By position, without header: with and without label. */
    const char *plain = strchr(text, '\n') + 1;
    put(DIR "/new.csv", plain, strlen(plain));
    again = open_with(ds, DIR "/new.csv");
    assert_true(vkt_dataset_get_info(again)->has_labels);
    require_same_examples(ds, VKT_TRAIN, again);
    vkt_dataset_destroy(&again);
    const char *unlabelled = "0.1,u,1e-5\n-7.3,\"v,w\",1234567.891\n3,u,?\n1e3,\xc3\xa9,0\n";
    put(DIR "/new.csv", unlabelled, strlen(unlabelled));
    again = open_with(ds, DIR "/new.csv");
    assert_false(vkt_dataset_get_info(again)->has_labels);
    require_same_examples(ds, VKT_TRAIN, again);
    vkt_dataset_destroy(&again);

    static const struct {
        const char *text, *what;
    } bad[] = {
        { "1,2\n3,4\n", "has 2 columns; the schema needs 4, or 3 without the label" },
        { "a,c,y,b\n1,u,s,4\n", "class 's' is not among the 3 classes" },
        { "a,c,y,q\n1,u,p,4\n", "column 'b', which the schema needs" },
        { "a,c,y,b\nu,u,p,4\n", "'u' in column 'a' is not a number" },
        { "a,c,y,b\n1e300,u,p,4\n", "too far from the training data" },
    };
    for (size_t i = 0; i < VKT_COUNT(bad); i++) {
        put(DIR "/new.csv", bad[i].text, strlen(bad[i].text));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/new.csv", &again),
                       VKT_FORMAT);
        REQUIRE_LOGGED(bad[i].what);
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "digits" }, &ds));
    size_t n;
    const void *gz = vkt_embedded("digits.csv.gz", &n);
    put(DIR "/digits.csv", gz, n);
    again = open_with(ds, DIR "/digits.csv");
    require_same_examples(ds, VKT_TRAIN, again);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
}

/* The schema with each key renamed in turn must be refused; so must text that is not JSON. */
static void schema_edited(void **state)
{
    (void)state;
    vkt_dataset *ds[2], *again;
    make_idx(DIR "/idx", 30, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds[0]));
    ds[1] = open_csv("a,c,y\n1,u,p\n2,v,q\n3,u,p\n", (vkt_data_desc) { RAW });
    TEST_LOG_CAPTURE();
    for (int i = 0; i < 2; i++) {
        const char *json = vkt_dataset_schema(ds[i]);
        int n_keys = 0;
        for (const char *p = strstr(json, "\": "); p; p = strstr(p + 1, "\": "), n_keys++) {
            size_t n = strlen(json) + 1;
            char *copy = memcpy(malloc(n), json, n);
            copy[p - json - 1] ^= 1;
            test_log[0] = 0;
            REQUIRE_STATUS(vkt_dataset_open_schema(copy, i == 0 ? DIR "/idx" : CSV, &again),
                           VKT_FORMAT);
            REQUIRE_LOGGED("schema: '");
            free(copy);
        }
        assert_true(n_keys > 5);
    }
    static const char *const edits[][2] = {
        { "\"input_shape\": [\n  3\n ]", "\"input_shape\": [3, 1, 1, 1, 1]" },
        { "\"input_shape\": [\n  3\n ]", "\"input_shape\": [4]" },
        { "\"input_shape\": [\n  3\n ]", "\"input_shape\": [-3]" },
        { "\"std\": 1.0", "\"std\": 0.0" },
        { "\"version\": 1", "\"version\": 2" },
        { "\"position\": 1", "\"position\": 2" },
        { "\"position\": 1", "\"position\": 0" },
        { "\"u\"", "\"x\"" }, /* categories out of order */
        { "\"fill\": \"u\"", "\"fill\": \"w\"" },
        { "\"class_numbers\": false", "\"class_numbers\": true" },
        { "\"q\"\n  ]", "\"q\", \"r\"\n  ]" },
    };
    for (size_t i = 0; i < VKT_COUNT(edits); i++) {
        const char *json = vkt_dataset_schema(ds[1]), *at = strstr(json, edits[i][0]);
        if (!at) fail_msg("schema lacks %s:\n%s", edits[i][0], json);
        vkt__str text = { 0 };
        vkt__str_printf(&text, "%.*s%s%s", (int)(at - json), json, edits[i][1],
                        at + strlen(edits[i][0]));
        vkt_status st = vkt_dataset_open_schema(text.data, CSV, &again);
        if (st != VKT_FORMAT) fail_msg("edit %zu: status %d", i, st);
        vkt__str_finish(&text);
    }
    REQUIRE_STATUS(vkt_dataset_open_schema("{", CSV, &again), VKT_FORMAT);
    REQUIRE_LOGGED("not JSON");
    test_log[0] = 0;
    REQUIRE_STATUS(vkt_dataset_open_schema("{\"a\\\n}", CSV, &again),
                   VKT_FORMAT); /* jansson quotes the line end */
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1);
    REQUIRE_STATUS(vkt_dataset_open_schema("[]", CSV, &again), VKT_FORMAT);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds[0]);
    vkt_dataset_destroy(&ds[1]);
}

/* ---- stream and loader ---- */

static void stream_is_a_permutation_each_epoch(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1, 2, 37 };
    for (size_t s = 0; s < VKT_COUNT(sizes); s++) {
        uint64_t n = sizes[s], same = 0;
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            bool seen[37] = { 0 };
            for (uint64_t i = 0; i < n; i++) {
                uint64_t at = vkt_stream_index(5, n, epoch * n + i);
                assert_true(at < n && !seen[at]);
                seen[at] = true;
                same += at == vkt_stream_index(6, n, epoch * n + i);
                same += at == vkt_stream_index(5, n, (epoch + 1) * n + i);
            }
        }
        if (n == 37) assert_true(same < 20); /* 222 pairs, one in 37 agrees by chance */
    }
    /* Each of 4 examples comes first about as often. */
    int first[4] = { 0 };
    for (uint64_t epoch = 0; epoch < 4000; epoch++) first[vkt_stream_index(7, 4, 4 * epoch)]++;
    for (int i = 0; i < 4; i++) REQUIRE_NEAR(first[i], 1000, 5 * sqrt(750.0));
}

#define BATCH 8

typedef struct ring {
    vkt_batch slot[4];
    float x[4][BATCH * 20], w[4][BATCH];
    vkt_label y[4][BATCH];
} ring;

static vkt_loader *start_loader(ring *r, vkt_loader_desc d)
{
    vkt_loader *l;
    for (int i = 0; i < 4; i++) {
        r->slot[i] = (vkt_batch) { .x = r->x[i], .y = r->y[i], .w = r->w[i] };
        memset(r->x[i], 0xff, sizeof r->x[i]);
    }
    d.batch = d.batch ? d.batch : BATCH;
    d.n_slots = d.n_slots ? d.n_slots : 3;
    d.slots = r->slot;
    REQUIRE_OK(vkt_loader_create(&d, &l));
    return l;
}

static vkt_dataset *idx_dataset(uint32_t n)
{
    vkt_dataset *ds;
    make_idx(DIR "/idx", n, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    return ds;
}

static void require_example(const vkt_dataset *ds, const vkt_batch *b, uint32_t i, uint64_t want)
{
    float x[20];
    vkt_label y;
    vkt_dataset_example(ds, VKT_TRAIN, want, x, &y);
    assert_memory_equal(b->x + i * 20, x, sizeof x);
    assert_int_equal(b->y[i].u, y.u);
    assert_int_equal(b->index[i], want);
}

static void loader_follows_the_stream(void **state)
{
    (void)state;
    static ring r;
    static const uint32_t sizes[] = { 30, 3 }; /* 3: many epochs in a batch */
    for (int s = 0; s < 2; s++) {
        uint32_t n = sizes[s];
        vkt_dataset *ds = idx_dataset(n);
        for (uint32_t n_slots = 1; n_slots <= 4; n_slots++) {
            for (uint32_t threads = 0; threads <= 3; threads++) {
                for (uint64_t start = 0; start <= 14; start += 7) {
                    vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds,
                                                                         .shuffle = true,
                                                                         .seed = 11,
                                                                         .start = start,
                                                                         .n_threads = threads,
                                                                         .n_slots = n_slots });
                    for (uint64_t k = 0; k < 12; k++) {
                        uint32_t slot;
                        double wait = -1;
                        REQUIRE_OK(vkt_loader_next(l, &slot, &wait));
                        assert_int_equal(slot, k % n_slots);
                        assert_true(wait >= 0 && wait < 10);
                        const vkt_batch *b = &r.slot[slot];
                        assert_int_equal(b->first, (start + k) * BATCH);
                        assert_int_equal(b->n_valid, BATCH);
                        assert_true(b->weight == BATCH);
                        for (uint32_t i = 0; i < BATCH; i++) {
                            assert_true(b->w[i] == 1.0f / BATCH);
                            require_example(ds, b, i, vkt_stream_index(11, n, b->first + i));
                        }
                        vkt_loader_release(l, slot);
                    }
                    vkt_loader_destroy(&l);
                }
            }
        }
        vkt_dataset_destroy(&ds);
    }
}

static void loader_pass_pads_and_ends(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        for (int raw = 0; raw < 2; raw++) {
            vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds,
                                                                 .n_threads = threads,
                                                                 .weight = raw ? 1.0f : 0.0f });
            uint32_t slot, seen = 0;
            double total = 0;
            for (uint64_t k = 0;; k++) {
                REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
                if (slot == UINT32_MAX) break;
                const vkt_batch *b = &r.slot[slot];
                double sum = 0;
                assert_int_equal(b->n_valid, k == 3 ? 6 : 8);
                assert_true(b->weight == b->n_valid);
                assert_int_equal(b->first, k * BATCH);
                for (uint32_t i = 0; i < BATCH; i++) {
                    sum += b->w[i];
                    if (i >= b->n_valid) assert_true(b->w[i] == 0);
                    require_example(ds, b, i, i < b->n_valid ? seen++ : 0);
                }
                REQUIRE_NEAR(sum, raw ? b->n_valid : 1, BATCH * 6e-8);
                total += sum;
                vkt_loader_release(l, slot);
            }
            assert_int_equal(seen, 30);
            if (raw) assert_true(total == 30);
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL)); /* stays at the end */
            assert_int_equal(slot, UINT32_MAX);
            vkt_loader_destroy(&l);
        }
    }
    vkt_dataset_destroy(&ds);
}

static void loader_limit_is_evenly_spread(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    uint32_t slot, seen = 0;
    vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds, .limit = 10, .start = 0 });
    while (vkt_loader_next(l, &slot, NULL) == VKT_OK && slot != UINT32_MAX) {
        const vkt_batch *b = &r.slot[slot];
        assert_int_equal(b->first, 3 * seen);
        for (uint32_t i = 0; i < b->n_valid; i++) require_example(ds, b, i, 3 * seen++);
        vkt_loader_release(l, slot);
    }
    assert_int_equal(seen, 10);
    vkt_loader_destroy(&l);
    l = start_loader(
        &r, (vkt_loader_desc) { .data = ds, .limit = 1000, .start = 3 }); /* more than there are */
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    assert_int_equal(r.slot[slot].n_valid, 6);
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

static void loader_class_weights_normalise(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    const float cw[] = { 0.3f, 1, 2.5f };
    for (int raw = 0; raw < 2; raw++) {
        uint32_t slot;
        vkt_loader *l = start_loader(
            &r, (vkt_loader_desc) { .data = ds, .class_weight = cw, .weight = raw ? 1.0f : 0.0f });
        for (int k = 0; k < 4; k++) {
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
            const vkt_batch *b = &r.slot[slot];
            double sum = 0, want = 0;
            for (uint32_t i = 0; i < b->n_valid; i++) {
                sum += (double)b->w[i] * cw[b->y[i].u];
                want += cw[b->y[i].u];
                assert_true(b->w[i] == (raw ? 1 : b->w[0]));
            }
            REQUIRE_NEAR(sum, raw ? want : 1, BATCH * 6e-8);
            REQUIRE_NEAR(b->weight, want, 1e-12);
            vkt_loader_release(l, slot);
        }
        vkt_loader_destroy(&l);
    }
    vkt_dataset_destroy(&ds);
}

static void loader_never_hangs(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    for (int round = 0; round < 60; round++) {
        uint32_t slot, n_slots = 1 + (uint32_t)round % 4;
        vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds,
                                                             .shuffle = round & 1,
                                                             .n_threads = 1 + (uint32_t)round % 3,
                                                             .n_slots = n_slots });
        for (uint32_t i = 0; i < n_slots && i < (uint32_t)round % 6; i++)
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
        vkt_loader_destroy(&l); /* with 0 to n_slots batches not released */
        assert_null(l);
    }
    vkt_loader *l =
        start_loader(&r, (vkt_loader_desc) { .data = ds, .shuffle = true, .n_slots = 2 });
    uint32_t slot;
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_loader_next(l, &slot, NULL), VKT_ARG); /* instead of waiting for ever */
    REQUIRE_LOGGED("all 2 slots are in use");
    vkt_loader_release(l, 0);
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    assert_int_equal(slot, 0);
    vkt_loader_destroy(&l);
    vkt_loader_destroy(&l);
    REQUIRE_STATUS(
        vkt_loader_create(
            &(vkt_loader_desc) {
                .data = ds, .split = VKT_VALID, .batch = 8, .n_slots = 1, .slots = r.slot },
            &l),
        VKT_ARG);
    REQUIRE_LOGGED("the valid split has no examples");
    REQUIRE_STATUS(
        vkt_loader_create(&(vkt_loader_desc) { .data = ds, .n_slots = 1, .slots = r.slot }, &l),
        VKT_ARG);
    REQUIRE_LOGGED("batch (0)");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

/* Prints how long the conversion of a batch takes; fails only far beyond what any build needs. */
static void loader_conversion_is_fast(void **state)
{
    (void)state;
    vkt_dataset *ds;
    REQUIRE_OK(vkt__remove_tree(DIR "/idx"));
    REQUIRE_OK(vkt__mkdirs(DIR "/idx"));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 1024, 28, 28, 0));
    put(DIR "/idx/train-labels-idx1-ubyte", bytes, idx_labels(bytes, 1024, 10));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    float *x = malloc(128 * 784 * sizeof *x), w[128], checksum = 0;
    vkt_label y[128];
    vkt_batch slot = { .x = x, .y = y, .w = w };
    vkt_loader *l;
    double best = 1;
    REQUIRE_OK(vkt_loader_create(
        &(vkt_loader_desc) {
            .data = ds, .batch = 128, .shuffle = true, .n_slots = 1, .slots = &slot },
        &l));
    for (int k = 0; k < 300; k++) {
        uint32_t s;
        double wait, start = vkt__now();
        REQUIRE_OK(vkt_loader_next(l, &s, &wait));
        if (k > 20) best = VKT_MIN(best, vkt__now() - start);
        checksum += x[k];
        vkt_loader_release(l, s);
    }
    vkt_loader_destroy(&l);
    double start = vkt__now();
    for (int k = 0; k < 100; k++)
        for (uint64_t i = 0; i < 128; i++)
            vkt_dataset_example(ds, VKT_TRAIN, i * 7 % 1024, x + i * 784, &y[i]);
    double each = (vkt__now() - start) / 100;
    print_message(
        "128 x 784 pixels: converted in %.1f us, through the loader %.1f us (checksum %g)\n",
        each * 1e6, best * 1e6, (double)checksum);
    assert_true(each < 0.01);
    free(x);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_good),
        cmocka_unit_test(idx_standardize_none_and_feature),
        cmocka_unit_test(idx_constant_pixels_give_zero),
        cmocka_unit_test(idx_colour_and_class_names),
        cmocka_unit_test(idx_bad_files),
        cmocka_unit_test(idx_content_decides),
        cmocka_unit_test(csv_dialects),
        cmocka_unit_test(csv_numbers),
        cmocka_unit_test(csv_header_and_label_choice),
        cmocka_unit_test(csv_columns_are_standardised_on_train),
        cmocka_unit_test(csv_missing_policies),
        cmocka_unit_test(csv_regression),
        cmocka_unit_test(csv_class_line),
        cmocka_unit_test(csv_bad_files),
        cmocka_unit_test(csv_test_file),
        cmocka_unit_test(digits),
        cmocka_unit_test(embedded_files),
        cmocka_unit_test(fashion_mnist),
        cmocka_unit_test(split_is_stratified_disjoint_and_covering),
        cmocka_unit_test(fingerprint_sees_data_and_labels),
        cmocka_unit_test(split_too_small),
        cmocka_unit_test(schema_round_trip_images),
        cmocka_unit_test(picture_equals_its_idx_example),
        cmocka_unit_test(picture_channels_alpha_and_depth),
        cmocka_unit_test(picture_of_another_size),
        cmocka_unit_test(picture_bad_files),
        cmocka_unit_test(schema_round_trip_tables),
        cmocka_unit_test(schema_edited),
        cmocka_unit_test(stream_is_a_permutation_each_epoch),
        cmocka_unit_test(loader_follows_the_stream),
        cmocka_unit_test(loader_pass_pads_and_ends),
        cmocka_unit_test(loader_limit_is_evenly_spread),
        cmocka_unit_test(loader_class_weights_normalise),
        cmocka_unit_test(loader_never_hangs),
        cmocka_unit_test(loader_conversion_is_fast),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
