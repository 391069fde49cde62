/* data: IDX parsing, the built-in digits, Fashion-MNIST, and the split. */
#define DIR "test_data_tmp"
#include "data_files.h"

#define FASHION "/usr/share/datasets/fashion-mnist"

static void idx_good(void **state)
{
    (void)state;
    vkt_dataset *ds;
    make_idx(DIR "/idx", 30, 9);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .valid_fraction = 0.2 }, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 24);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 6);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 9);
    assert_int_equal(info->n_outputs, 3);
    assert_int_equal(info->n_inputs, 20);
    assert_int_equal(info->input_rank, 3);
    assert_int_equal(info->input_shape[0], 4);
    assert_int_equal(info->input_shape[1], 5);
    assert_int_equal(info->input_shape[2], 1);
    assert_string_equal(info->class_names[2], "2");
    assert_true(info->has_labels);
    uint64_t count[3];
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    for (int c = 0; c < 3; c++) assert_int_equal(count[c], 8);
    /* Over the training split, inputs have mean 0 and deviation 1; the test images keep the
     * constants. */
    double sum = 0, sq = 0;
    float x[20], first[20];
    vkt_label y;
    for (uint64_t i = 0; i < 24; i++) {
        vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, x, &y);
        for (int j = 0; j < 20; j++) sum += x[j], sq += (double)x[j] * x[j];
    }
    REQUIRE_NEAR(sum / 480, 0, 1e-6);
    REQUIRE_NEAR(sq / 480, 1, 1e-6);
    vkt_dataset_example(ds, VKT_SPLIT_TEST, 0, first, &y);
    vkt_dataset_example(ds, VKT_SPLIT_TEST, 4, x, &y);
    assert_int_equal(y.u, 4 % 3);
    /* Test image 4 is image 0 shifted by 28 levels. */
    REQUIRE_NEAR((x[1] - first[1]) / (first[2] - first[1]), 28.0 / 3, 1e-4);
    double scale, mean;
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
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
    REQUIRE_OK(
        vkt_dataset_open(&(vkt_data_desc) { IDX_DESC, .standardize = VKT_STANDARDIZE_NONE }, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TEST], 0);
    vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 2, x, &y);
    for (int j = 0; j < 20; j++) REQUIRE_NEAR(x[j], (14 + 3 * j) / 255.0, 1e-7);
    vkt_dataset_destroy(&ds);
    REQUIRE_OK(vkt_dataset_open(
        &(vkt_data_desc) { IDX_DESC, .standardize = VKT_STANDARDIZE_FEATURE }, &ds));
    double sum[20] = { 0 }, sq[20] = { 0 };
    for (uint64_t i = 0; i < 30; i++) {
        vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, x, &y);
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
    for (int how = VKT_STANDARDIZE_GLOBAL; how <= VKT_STANDARDIZE_FEATURE; how++) {
        REQUIRE_OK(vkt_dataset_open(
            &(vkt_data_desc) { IDX_DESC, .standardize = (vkt_standardize)how }, &ds));
        vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 2, x, &y);
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
    assert_int_equal(info->n[VKT_SPLIT_TEST], 6);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 6);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 18);
    vkt_dataset_destroy(&ds);
}

static void idx_bad_files(void **state)
{
    (void)state;
    const vkt_data_desc d = { IDX_DESC };
    const char *images = DIR "/idx/train-images-idx3-ubyte",
               *labels = DIR "/idx/train-labels-idx1-ubyte";
    size_t n;
    make_idx(DIR "/idx", 30, 9);
    refuse(&(vkt_data_desc) { .source = "idx", .path = DIR "/none" }, VKT_E_IO, DIR "/none",
           "not a folder");

    n = idx_images(bytes, 30, 4, 5, 0);
    put(images, bytes, n - 1);
    refuse(&d, VKT_E_FORMAT, images,
           "is cut off: its header promises 600 bytes, the file can hold 599");
    bytes[n] = 9;
    put(images, bytes, n + 1);
    refuse(&d, VKT_E_FORMAT, images, "continues after the 600 bytes");
    put(images, bytes, 9);
    refuse(&d, VKT_E_FORMAT, images, "cut off within its header");
    put(images, bytes, 3);
    refuse(&d, VKT_E_FORMAT, images, "neither an IDX file nor gzip");
    put(images, "", 0);
    refuse(&d, VKT_E_FORMAT, images, "neither an IDX file nor gzip");
    bytes[2] = 0x0d;
    put(images, bytes, n);
    refuse(&d, VKT_E_FORMAT, images, "IDX type 0x0d");
    bytes[2] = 8, bytes[3] = 2;
    put(images, bytes, n);
    refuse(&d, VKT_E_FORMAT, images, "has 2 dimensions");
    idx_images(bytes, 30, 4, 0, 0);
    put(images, bytes, 16);
    refuse(&d, VKT_E_FORMAT, images, "is empty");
    put(images, bytes, idx_labels(bytes, 30, 3));
    refuse(&d, VKT_E_FORMAT, images, "holds labels where images must be");
    n = idx_images(bytes, 29, 4, 5, 0);
    put(images, bytes, n);
    refuse(&d, VKT_E_FORMAT, images, "has 29 images");

    /* Lengths whose product overflows, and lengths that the file can't hold: refused before
     * allocating. */
    idx_images(bytes, 30, 4, 5, 0);
    memset(bytes + 4, 0xff, 12);
    put(images, bytes, n);
    refuse(&d, VKT_E_FORMAT, images, "promises more than");
    put_gz(images, bytes, n);
    refuse(&d, VKT_E_FORMAT, images, "promises more than");
    memcpy(bytes + 4, "\x0f\xff\xff\xff\0\0\0\1\0\0\0\1", 12);
    put_gz(images, bytes, n);
    refuse(&d, VKT_E_FORMAT, images, "promises 268435455 bytes");

    /* gzip: cut off, damaged, shorter or longer inside than promised, followed by rubbish. */
    n = idx_images(bytes, 30, 4, 5, 0);
    put_gz(images, bytes, n - 1);
    refuse(&d, VKT_E_FORMAT, images, "promises 600 bytes, it has 599");
    put_gz(images, bytes, n + 1);
    refuse(&d, VKT_E_FORMAT, images, "continues after");
    put_gz(images, bytes, n);
    char *gz;
    size_t gz_n;
    REQUIRE_OK(vkt__file_read(images, 1 << 20, &gz, &gz_n));
    put(images, gz, gz_n / 2);
    refuse(&d, VKT_E_FORMAT, images, "gzip data is cut off");
    put(images, gz, gz_n - 1);
    refuse(&d, VKT_E_FORMAT, images, "gzip data is cut off");
    gz[gz_n - 6] ^= 1; /* the sum at the end */
    put(images, gz, gz_n);
    refuse(&d, VKT_E_FORMAT, images, "damaged");
    gz[gz_n - 6] ^= 1;
    char *two = malloc(gz_n + 5);
    memcpy(two, gz, gz_n);
    memcpy(two + gz_n, "extra", 5);
    put(images, two, gz_n + 5);
    refuse(&d, VKT_E_FORMAT, images, "follow the end of the gzip data");
    free(two);
    free(gz);

    REQUIRE_OK(vkt__remove_tree(images));
    put(DIR "/idx/train-images-idx3-ubyte.gz", "<html>404</html>", 16);
    refuse(&d, VKT_E_FORMAT, "train-images-idx3-ubyte.gz", "neither an IDX file nor gzip");
    REQUIRE_OK(vkt__remove_tree(DIR "/idx/train-images-idx3-ubyte.gz"));
    refuse(&d, VKT_E_IO, DIR "/idx", "lacks train-images-idx3-ubyte");
    make_idx(DIR "/idx", 30, 9);
    REQUIRE_OK(vkt__remove_tree(labels));
    refuse(&d, VKT_E_IO, DIR "/idx", "lacks train-labels-idx1-ubyte");
    make_idx(DIR "/idx", 30, 9);
    REQUIRE_OK(vkt__remove_tree(DIR "/idx/t10k-labels-idx1-ubyte.gz"));
    refuse(&d, VKT_E_IO, DIR "/idx", "lacks t10k-labels-idx1-ubyte");

    make_idx(DIR "/idx", 30, 9);
    put(DIR "/idx/classes.txt", "a\nb\n", 4);
    refuse(&d, VKT_E_FORMAT, labels, "label 2 of record 2 is outside the 2 classes");
    put(DIR "/idx/classes.txt", "\n\n", 2);
    refuse(&d, VKT_E_FORMAT, "classes.txt", "is empty");
    put(DIR "/idx/classes.txt", "a\xff\nb\nc\n", 7);
    refuse(&d, VKT_E_FORMAT, "classes.txt", "not UTF-8");
    make_idx(DIR "/idx", 30, 9);
    n = idx_labels(bytes, 9, 3);
    bytes[n - 1] = 77;
    put(DIR "/idx/t10k-labels-idx1-ubyte", bytes, n);
    refuse(&d, VKT_E_FORMAT, "t10k-labels-idx1-ubyte",
           "label 77 of record 8 is outside the 3 classes");
    make_idx(DIR "/idx", 30, 9);
    put(DIR "/idx/t10k-images-idx3-ubyte", bytes, idx_images(bytes, 9, 5, 4, 0));
    refuse(&d, VKT_E_FORMAT, "t10k-images", "images of 5x4x1, not the 4x5x1");
    refuse(&(vkt_data_desc) { IDX_DESC, .task = VKT_TASK_REGRESS }, VKT_E_ARG, "idx",
           "needs data.source csv");
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
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 30);
    vkt_dataset_destroy(&ds);
}

/* ---- digits, sklearn's files and Fashion-MNIST ---- */

static void digits(void **state)
{
    (void)state;
    static const uint64_t per_class[] = { 178, 182, 177, 183, 181, 182, 181, 179, 174, 180 };
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "digits" }, &ds));
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 1797);
    assert_int_equal(info->input_rank, 3);
    assert_true(info->input_shape[0] == 8 && info->input_shape[1] == 8 &&
                info->input_shape[2] == 1);
    assert_int_equal(info->n_inputs, 64);
    assert_int_equal(info->n_outputs, 10);
    uint64_t count[10];
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    for (int c = 0; c < 10; c++) assert_int_equal(count[c], per_class[c]);
    /* One common scale: the blank corner is the lowest value, a full pixel lies 16 / deviation
     * above. */
    double sum = 0, sq = 0;
    for (uint64_t i = 0; i < 1797; i++) {
        float x[64];
        vkt_label y;
        vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, x, &y);
        for (int j = 0; j < 64; j++) sum += x[j], sq += (double)x[j] * x[j];
    }
    REQUIRE_NEAR(sum / 1797 / 64, 0, 1e-6);
    REQUIRE_NEAR(sq / 1797 / 64, 1, 1e-6);
    vkt_dataset_destroy(&ds);
    refuse(&(vkt_data_desc) { .source = "digits", .task = VKT_TASK_REGRESS }, VKT_E_ARG, "digits",
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
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 60000);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 10000);
    assert_int_equal(info->n_inputs, 784);
    assert_string_equal(info->class_names[9], "Ankle boot");
    uint64_t count[10];
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    for (int c = 0; c < 10; c++) assert_int_equal(count[c], 6000);
    vkt_dataset_class_counts(ds, VKT_SPLIT_TEST, count);
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
            REQUIRE_NEAR(count[VKT_SPLIT_TEST][c], size[c] * 0.15, 0.5);
            REQUIRE_NEAR(count[VKT_SPLIT_VALID][c],
                         (double)(size[c] - (int)count[VKT_SPLIT_TEST][c]) * 0.25, 0.5);
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

/* A table of rows "x,group,when,class"; the first input of an example is its row's number. */
static vkt_dataset *open_rows(vkt_data_desc d)
{
    vkt__str text = { 0 };
    vkt__str_printf(&text, "x,g,day,y\n");
    for (int i = 0; i < 200; i++)
        vkt__str_printf(&text, "%d,g%d,2024-%02d-%02d,%c\n", i, i * i % 37, 1 + i * 7 % 12,
                        1 + i * 11 % 28, "pq"[i % 3 == 0]);
    vkt_dataset *ds = open_csv(text.data, d);
    vkt__str_finish(&text);
    return ds;
}

/* How often each row is in the split. */
static void count_rows(const vkt_dataset *ds, vkt_split s, unsigned *count)
{
    float x[8];
    vkt_label y;
    for (uint64_t i = 0; i < vkt_dataset_get_info(ds)->n[s]; i++) {
        REQUIRE_OK(vkt_dataset_example(ds, s, i, x, &y));
        count[(int)x[0]]++;
    }
}

/* Each example that is not tested on is in one fold, classes alike in all. */
static void folds_cover_all(void **state)
{
    (void)state;
    unsigned test[200] = { 0 }, valid[200] = { 0 };
    for (uint32_t f = 0; f < 7; f++) {
        vkt_data_desc d = { .folds = 7, .fold = f, .test_fraction = 0.1, .ignore = "g, day", RAW };
        vkt_dataset *ds = open_rows(d);
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        uint64_t count[2];
        unsigned train[200] = { 0 }, here[200] = { 0 };
        vkt_dataset_class_counts(ds, VKT_SPLIT_VALID, count);
        assert_true(count[1] >= 8 && count[1] <= 9 && info->n[VKT_SPLIT_VALID] >= 25 &&
                    info->n[VKT_SPLIT_VALID] <= 26);
        count_rows(ds, VKT_SPLIT_TRAIN, train);
        count_rows(ds, VKT_SPLIT_VALID, here);
        count_rows(ds, VKT_SPLIT_TEST, test);
        for (int i = 0; i < 200; i++) assert_true(train[i] + here[i] <= 1);
        for (int i = 0; i < 200; i++) valid[i] += here[i];
        vkt_dataset_destroy(&ds);
    }
    for (int i = 0; i < 200; i++) assert_true((valid[i] == 1) != (test[i] == 7));
    vkt_data_desc d = { .source = "csv", .path = CSV, .folds = 3, .fold = 3 };
    refuse(&d, VKT_E_ARG, "data.fold 3 of data.folds 3", "the first is 0");
}

/* Classes in their shares, the same held examples, whole groups; more of one seed has what less
 * has, and another seed draws others. */
static void a_share_of_the_training_examples(void **state)
{
    (void)state;
    unsigned rows[4][200] = { { 0 } }, held[2][200] = { { 0 } };
    uint64_t all[2], some[2];
    for (int k = 0; k < 4; k++) {
        vkt_data_desc d = { .ignore = "g, day", .valid_fraction = 0.2, RAW };
        d.train_fraction = k == 0 ? 0 : k == 2 ? 0.5 : 0.25;
        d.train_seed = k == 3;
        vkt_dataset *ds = open_rows(d);
        vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, k ? some : all);
        for (int c = 0; c < 2 && k; c++)
            assert_int_equal(some[c], llround((double)all[c] * d.train_fraction));
        count_rows(ds, VKT_SPLIT_TRAIN, rows[k]);
        count_rows(ds, VKT_SPLIT_VALID, held[k > 0]);
        vkt_dataset_destroy(&ds);
    }
    for (int i = 0; i < 200; i++) assert_true(held[1][i] == 3 * held[0][i]);
    for (int i = 0; i < 200; i++) assert_true(rows[1][i] <= rows[2][i] && rows[2][i] <= rows[0][i]);
    assert_true(memcmp(rows[1], rows[3], sizeof rows[1]) != 0);
    vkt_data_desc d = { .group = "g", .ignore = "day", .valid_fraction = 0.25, RAW };
    d.train_fraction = 0.3;
    vkt_dataset *ds = open_rows(d);
    unsigned part[200] = { 0 }, in[37] = { 0 }, whole[37] = { 0 }, full[200] = { 0 };
    count_rows(ds, VKT_SPLIT_TRAIN, part);
    vkt_dataset_destroy(&ds);
    d.train_fraction = 1;
    ds = open_rows(d);
    count_rows(ds, VKT_SPLIT_TRAIN, full);
    vkt_dataset_destroy(&ds);
    for (int i = 0; i < 200; i++) in[i * i % 37] += part[i], whole[i * i % 37] += full[i];
    for (int g = 0; g < 37; g++) assert_true(!in[g] || in[g] == whole[g]);
    d = (vkt_data_desc) { .source = "csv", .path = CSV, .train_fraction = 2 };
    refuse(&d, VKT_E_ARG, "data.train_fraction is 2", "from 0 to 1");
}

static void groups_stay_together(void **state)
{
    (void)state;
    for (uint32_t f = 0; f < 4; f++) {
        vkt_data_desc d = { .group = "g", .ignore = "day", .valid_fraction = 0.25, RAW };
        if (f) d.folds = 3, d.fold = f - 1;
        d.test_fraction = 0.2;
        vkt_dataset *ds = open_rows(d);
        unsigned in[VKT_N_SPLITS][37] = { 0 };
        assert_int_equal(vkt_dataset_get_info(ds)->n_inputs, 1);
        for (int s = 0; s < VKT_N_SPLITS; s++) {
            unsigned rows[200] = { 0 };
            count_rows(ds, (vkt_split)s, rows);
            for (int i = 0; i < 200; i++) in[s][i * i % 37] |= rows[i];
        }
        for (int g = 0; g < 37; g++) assert_true(in[0][g] + in[1][g] + in[2][g] <= 1);
        const uint64_t *n = vkt_dataset_get_info(ds)->n;
        assert_true(n[0] + n[1] + n[2] == 200 && n[1] > 30 && n[2] > 25 && n[2] < 55);
        vkt_dataset_destroy(&ds);
    }
    vkt_data_desc d = { .source = "csv", .path = CSV, .group = "gg" };
    refuse(&d, VKT_E_ARG, "data.group: 'gg' is not a column", "did you mean 'g'");
    d = (vkt_data_desc) { .source = "csv", .path = CSV, .group = "g", .time = "day" };
    refuse(&d, VKT_E_ARG, "data.group and data.time", "can't both");
    put_csv("x,g,y\n1,a,p\n2,a,q\n3,b,p\n4,b,q\n");
    d = (vkt_data_desc) { .source = "csv", .path = CSV, .group = "g", .folds = 3, .fold = 2 };
    refuse(&d, VKT_E_ARG, "data.group: its 2 different values", "no validation example");
}

/* The latest of a, before the earliest of b. */
static void require_before(const unsigned *a, const unsigned *b)
{
    int last = -1, first = 1000;
    for (int i = 0; i < 200; i++) {
        int day = (1 + i * 7 % 12) * 31 + i * 11 % 28;
        if (a[i]) last = VKT_MAX(last, day);
        if (b[i]) first = VKT_MIN(first, day);
    }
    assert_true(last >= 0 && first < 1000 && last <= first);
}

static void time_goes_on(void **state)
{
    (void)state;
    uint64_t before = 0;
    for (uint32_t f = 0; f < 4; f++) {
        vkt_data_desc d = { .time = "day", .ignore = "g", .valid_fraction = 0.2, RAW };
        if (f) d.folds = 3, d.fold = f - 1;
        d.test_fraction = 0.1;
        vkt_dataset *ds = open_rows(d);
        unsigned rows[VKT_N_SPLITS][200] = { 0 };
        for (int s = 0; s < VKT_N_SPLITS; s++) count_rows(ds, (vkt_split)s, rows[s]);
        require_before(rows[VKT_SPLIT_TRAIN], rows[VKT_SPLIT_VALID]);
        require_before(rows[VKT_SPLIT_VALID], rows[VKT_SPLIT_TEST]);
        const uint64_t *n = vkt_dataset_get_info(ds)->n;
        assert_int_equal(n[VKT_SPLIT_TEST], 20);
        assert_int_equal(n[VKT_SPLIT_VALID], f ? 45 : 36);
        assert_true(f < 2 || n[VKT_SPLIT_TRAIN] == before + 45);
        before = n[VKT_SPLIT_TRAIN];
        vkt_dataset_destroy(&ds);
    }
    put_csv("x,t,y\n1,1,p\n2,,q\n");
    vkt_data_desc d = { .source = "csv", .path = CSV, .time = "t" };
    refuse(&d, VKT_E_FORMAT, "line 3", "no value in the column of data.time");
    put_csv("x,t,y\n1,soon,p\n2,late,q\n");
    refuse(&d, VKT_E_FORMAT, "line 2", "'soon' in the column of data.time is no number or date");
}

static void split_too_small(void **state)
{
    (void)state;
    put_csv("1,x\n2,x\n3,x\n4,z\n");
    vkt_data_desc d = { .source = "csv", .path = CSV, .valid_fraction = 0.5 };
    refuse(&d, VKT_E_ARG, "class z has only 1 examples", "none are left to train on");
    d.valid_fraction = 0.1;
    refuse(&d, VKT_E_ARG, "valid_fraction 0.1", "too few");
    d.valid_fraction = 0;
    d.test_fraction = 0.01;
    refuse(&d, VKT_E_ARG, "test_fraction 0.01", "too few");
}

/* ---- CIFAR ---- */

static void cifar(void **state)
{
    (void)state;
    enum { PIXELS = 3072 };
    for (uint32_t n_labels = 1; n_labels <= 2; n_labels++) {
        vkt_dataset *ds;
        size_t record = n_labels + PIXELS;
        const char *train = n_labels == 1 ? "cifar/data_batch_%d.bin" : "cifar/train.bin";
        char path[100];
        REQUIRE_OK(vkt__remove_tree(DIR "/cifar"));
        REQUIRE_OK(vkt__mkdirs(DIR "/cifar"));
        for (size_t i = 0; i < 4 * record; i++) bytes[i] = (uint8_t)(i * 31 + i / 1024);
        for (size_t i = 0; i < 4; i++)
            bytes[i * record] = 1, bytes[i * record + n_labels - 1] = (uint8_t)(i + 3);
        for (int k = 1; k <= (n_labels == 1 ? 5 : 1); k++) {
            snprintf(path, sizeof path, DIR "/%s", train);
            if (n_labels == 1) snprintf(path, sizeof path, DIR "/cifar/data_batch_%d.bin", k);
            put(path, bytes, 4 * record);
        }
        put(n_labels == 1 ? DIR "/cifar/test_batch.bin" : DIR "/cifar/test.bin", bytes, 2 * record);
        put(n_labels == 1 ? DIR "/cifar/batches.meta.txt" : DIR "/cifar/fine_label_names.txt",
            "\nplane\ncar\r\nbird\n\ncat\n\n", 23);
        vkt_data_desc d = { .source = "cifar", .path = DIR "/cifar", RAW };
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_int_equal(info->n[VKT_SPLIT_TRAIN], n_labels == 1 ? 20 : 4);
        assert_int_equal(info->n[VKT_SPLIT_TEST], 2);
        assert_int_equal(info->n_outputs, n_labels == 1 ? 10 : 100);
        assert_string_equal(info->class_names[3], "cat");
        assert_string_equal(info->class_names[0], "plane");
        assert_string_equal(info->class_names[4], "4");
        static float x[PIXELS];
        vkt_label y;
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TEST, 1, x, &y));
        assert_int_equal(y.u, 4);
        for (size_t k = 0; k < 1024; k++)
            for (size_t c = 0; c < 3; c++)
                REQUIRE_NEAR(x[3 * k + c] * 255, bytes[record + n_labels + c * 1024 + k], 1e-4);
        vkt_dataset_destroy(&ds);
        put(path, bytes, 2 * record - 5);
        refuse(&d, VKT_E_FORMAT, path, "no whole number of");
        bytes[record + n_labels - 1] = n_labels == 1 ? 10 : 100;
        put(path, bytes, 2 * record);
        refuse(&d, VKT_E_FORMAT, path, "of record 1 is outside the");
        put(path, bytes, 0);
        refuse(&d, VKT_E_FORMAT, path, "has 0 bytes");
    }
    vkt_dataset *all; /* names of all classes, the last without a line's end */
    make_idx(DIR "/unused", 1, 0);
    memset(bytes, 0, 2 * 3073);
    REQUIRE_OK(vkt__remove_tree(DIR "/cifar"));
    REQUIRE_OK(vkt__mkdirs(DIR "/cifar"));
    for (int k = 1; k <= 5; k++) {
        char path[100];
        put((snprintf(path, sizeof path, DIR "/cifar/data_batch_%d.bin", k), path), bytes,
            2 * 3073);
    }
    put(DIR "/cifar/test_batch.bin", bytes, 3073);
    put(DIR "/cifar/batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", 19);
    REQUIRE_OK(
        vkt_dataset_open(&(vkt_data_desc) { .source = "cifar", .path = DIR "/cifar", RAW }, &all));
    assert_string_equal(vkt_dataset_get_info(all)->class_names[9], "j");
    vkt_dataset_destroy(&all);
    refuse(&(vkt_data_desc) { .source = "cifar", .path = DIR }, VKT_E_IO, DIR,
           "neither data_batch_1");
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
        cmocka_unit_test(digits),
        cmocka_unit_test(cifar),
        cmocka_unit_test(embedded_files),
        cmocka_unit_test(fashion_mnist),
        cmocka_unit_test(split_is_stratified_disjoint_and_covering),
        cmocka_unit_test(fingerprint_sees_data_and_labels),
        cmocka_unit_test(folds_cover_all),
        cmocka_unit_test(a_share_of_the_training_examples),
        cmocka_unit_test(groups_stay_together),
        cmocka_unit_test(time_goes_on),
        cmocka_unit_test(split_too_small),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
