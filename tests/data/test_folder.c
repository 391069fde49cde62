/* data: folders of pictures as a data set: classes, splits, labels from a CSV, and what is refused
 * or left out. */
#define DIR "test_folder_tmp"
#include "data_files.h"

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

#define ROOT DIR "/pictures"
#define IMAGES .source = "images", .path = ROOT

/* A 4x3 grey picture (w x h) whose pixels all are `value`. */
static void put_picture(const char *folder, const char *name, int value)
{
    char path[300];
    uint8_t pixels[12];
    memset(pixels, value, sizeof pixels);
    snprintf(path, sizeof path, ROOT "/%s", folder);
    REQUIRE_OK(vkt__mkdirs(path));
    snprintf(path, sizeof path, ROOT "/%s/%s", folder, name);
    assert_true(stbi_write_png(path, 4, 3, 1, pixels, 4));
}

static void clear(void)
{
    REQUIRE_OK(vkt__remove_tree(ROOT));
    REQUIRE_OK(vkt__mkdirs(ROOT));
}

/* n pictures of each class, no two alike. */
static void put_classes(const char *prefix, const char *const *names, int n_names, int n, int first)
{
    for (int c = 0; c < n_names; c++)
        for (int i = 0; i < n; i++) {
            char folder[200], name[32];
            snprintf(folder, sizeof folder, "%s%s", prefix, names[c]);
            snprintf(name, sizeof name, "%02d.png", i);
            put_picture(folder, name, first + n * c + i);
        }
}

static const char *const two[] = { "ant", "bee" };

static vkt_dataset *open_images(vkt_data_desc d)
{
    vkt_dataset *ds;
    d.source = "images";
    d.path = ROOT;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    return ds;
}

/* The first pixel of an example as it was in its file. */
static int value_of(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t *label)
{
    float x[64];
    vkt_label y;
    REQUIRE_OK(vkt_dataset_example(ds, split, i, x, &y));
    if (label) *label = y.u;
    return (int)lround(((double)x[0] - (double)ds->pixel_bias[0]) / (double)ds->pixel_scale[0]);
}

static void folder_classes_and_order(void **state)
{
    (void)state;
    clear();
    put_picture("b c", "2.png", 20);
    put_picture("b c", "10.png", 10);
    put_picture("b c/deep/er", "1.PNG", 30);
    put_picture("\xc3\xa4pfel", "x.png", 40); /* sorts last: by bytes */
    put_picture("Z", "x.png", 50);
    put_picture(".hidden", "x.png", 60);
    put_picture("__MACOSX", "x.png", 70); /* what a Mac's archive brings along */
    vkt_dataset *ds = open_images((vkt_data_desc) { 0 });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    static const int want[] = { 50, 10, 20, 30, 40 };
    static const uint32_t label[] = { 0, 1, 1, 1, 2 };
    assert_int_equal(info->n_outputs, 3);
    assert_string_equal(info->class_names[0], "Z");
    assert_string_equal(info->class_names[1], "b c");
    assert_string_equal(info->class_names[2], "\xc3\xa4pfel");
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 5);
    assert_memory_equal(info->input_shape, ((uint32_t[]) { 3, 4, 1 }), 12);
    for (uint64_t i = 0; i < 5; i++) {
        uint32_t y;
        assert_int_equal(value_of(ds, VKT_SPLIT_TRAIN, i, &y), want[i]);
        assert_int_equal(y, label[i]);
    }
    assert_string_equal(vkt_dataset_file(ds, VKT_SPLIT_TRAIN, 3), ROOT "/b c/deep/er/1.PNG");
    vkt_dataset_destroy(&ds);
}

static void folder_splits_by_name_or_seed(void **state)
{
    (void)state;
    clear();
    put_classes("train/", two, 2, 10, 0);
    put_classes("test/", two, 2, 3, 100);
    vkt_dataset *ds = open_images((vkt_data_desc) { .valid_fraction = 0.2, .test_fraction = 0.5 });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN],
                     16); /* valid is dealt from train, test is its folder */
    assert_int_equal(info->n[VKT_SPLIT_VALID], 4);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 6);
    for (uint64_t i = 0; i < 6; i++) assert_true(value_of(ds, VKT_SPLIT_TEST, i, NULL) >= 100);
    for (uint64_t i = 0; i < 4; i++) assert_true(value_of(ds, VKT_SPLIT_VALID, i, NULL) < 100);
    vkt_dataset_destroy(&ds);
    put_classes("val/", two, 2, 2, 200);
    ds = open_images((vkt_data_desc) { .valid_fraction = 0.2, .test_fraction = 0.5 });
    info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 20);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 4);
    assert_true(value_of(ds, VKT_SPLIT_VALID, 0, NULL) >= 200);
    vkt_dataset_destroy(&ds);
    clear();
    put_classes("", two, 2, 10, 0);
    ds = open_images((vkt_data_desc) { .valid_fraction = 0.25, .test_fraction = 0.2 });
    info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 12);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 4);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 4);
    vkt_dataset_destroy(&ds);
}

/* Each picture of the training split counts once, whichever thread reads it. */
static void folder_constants_are_of_all_pictures(void **state)
{
    (void)state;
    enum { EACH = 20 };
    clear();
    put_classes("", two, 2, EACH, 3);
    vkt_dataset *ds = open_images((vkt_data_desc) { .valid_fraction = 0.1, .test_fraction = 0.1 });
    uint64_t n = vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN];
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        double v = value_of(ds, VKT_SPLIT_TRAIN, i, NULL);
        sum += v;
        squares += v * v;
    }
    double mean = sum / (double)n, std = sqrt(squares / (double)n - mean * mean);
    assert_true(n > EACH && n < 2 * EACH);
    REQUIRE_NEAR(ds->schema.pixel_mean[0], mean / 255, 1e-12);
    REQUIRE_NEAR(ds->schema.pixel_std[0], std / 255, 1e-12);
    vkt_dataset_destroy(&ds);
}

static void folder_labels_from_csv(void **state)
{
    (void)state;
    static const char text[] = "split,file,label\n"
                               "train,all/00.png,10\ntrain,all/01.png,9\ntest,all/02.png,9\n"
                               "train,all/gone.png,9\nvalid,all/03.png,10\n";
    clear();
    static const char *const all[] = { "all" };
    put_classes("", all, 1, 5, 7);
    put(DIR "/labels.csv", text, strlen(text));
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_images((vkt_data_desc) { .labels = DIR "/labels.csv" });
    REQUIRE_LOGGED("line 5: there is no picture '" ROOT "/all/gone.png'");
    REQUIRE_LOGGED("1 rows of labels have no picture");
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_string_equal(info->class_names[0], "9"); /* numbers by value */
    assert_string_equal(info->class_names[1], "10");
    assert_int_equal(info->n[VKT_SPLIT_TRAIN], 2);
    assert_int_equal(info->n[VKT_SPLIT_VALID], 1);
    assert_int_equal(info->n[VKT_SPLIT_TEST], 1);
    uint32_t y;
    assert_int_equal(value_of(ds, VKT_SPLIT_TEST, 0, &y), 9);
    assert_int_equal(y, 0);
    vkt_dataset_destroy(&ds);
    refuse(&(vkt_data_desc) { IMAGES, .labels = DIR "/none.csv" }, VKT_E_IO, "none.csv", "open");
    put(DIR "/labels.csv", "file,label,split\nall/00.png,1,holdout\n", 38);
    refuse(&(vkt_data_desc) { IMAGES, .labels = DIR "/labels.csv" }, VKT_E_FORMAT, "line 2",
           "split 'holdout' is not one of");
    put(DIR "/labels.csv", "file,what\nall/00.png,1\n", 22);
    refuse(&(vkt_data_desc) { IMAGES, .labels = DIR "/labels.csv" }, VKT_E_FORMAT, "labels.csv",
           "has no label column");
}

static void folder_bad_classes(void **state)
{
    (void)state;
    clear();
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_FORMAT, ROOT, "no class folder");
    refuse(&(vkt_data_desc) { .source = "images", .path = DIR "/none" }, VKT_E_IO, DIR "/none",
           "is not a folder");
    put_classes("", two, 1, 3, 0);
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_FORMAT, ROOT, "has one class");
    REQUIRE_OK(vkt__mkdirs(ROOT "/empty"));
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_FORMAT, "class 'empty'", "has no picture");
    clear();
    put_classes("train/", two, 2, 3, 0);
    put_classes("valid/", (const char *const[]) { "bees" }, 1, 1, 90);
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_FORMAT, "'bees' is not one of the 2 classes",
           "did you mean 'bee'");
    clear();
#ifndef _WIN32 /* where every name is UTF-16 */
    put_picture("ok", "a.png", 1);
    put_picture("bad\xff", "a.png", 2);
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_FORMAT, ROOT, "is not UTF-8");
    clear();
#endif
    put_classes("", two, 2, 3, 0);
    refuse(&(vkt_data_desc) { IMAGES, .size = "4 x 4" }, VKT_E_ARG, "data.size '4 x 4'",
           "is not a size");
    refuse(&(vkt_data_desc) { IMAGES, .size = "0" }, VKT_E_ARG, "data.size '0'", "is not a size");
    refuse(&(vkt_data_desc) { IMAGES, .size = "5000" }, VKT_E_ARG, "data.size '5000'",
           "at most 4096");
    uint8_t large[20 * 20] = { 0 };
    assert_true(stbi_write_png(ROOT "/ant/large.png", 20, 20, 1, large, 20));
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_ARG, "several sizes (up to 20x20)", "set data.size");
}

/* The median of the pictures' heights and widths; where it is large, brought to 64 in steps of 8.
 */
static void folder_median_size(void **state)
{
    (void)state;
    static const uint8_t blank[400 * 100] = { 0 };
    clear();
    put_classes("", two, 2, 3, 0);
    assert_true(stbi_write_png(ROOT "/ant/a.png", 400, 100, 1, blank, 400));
    vkt_dataset *ds = open_images((vkt_data_desc) { .size = "median" });
    assert_int_equal(ds->schema.input_shape[0], 3);
    assert_int_equal(ds->schema.input_shape[1], 4);
    vkt_dataset_destroy(&ds);
    for (int i = 0; i < 9; i++) {
        char path[200];
        snprintf(path, sizeof path, ROOT "/bee/large%d.png", i);
        assert_true(stbi_write_png(path, 390 + (i & 1), 100, 1, blank, 391));
    }
    ds = open_images((vkt_data_desc) { .size = "median" });
    assert_int_equal(ds->schema.input_shape[0], 16);
    assert_int_equal(ds->schema.input_shape[1], 64);
    vkt_dataset_destroy(&ds);
}

/* What is no folder of classes is said, and never something else than pictures. */
static void folder_is_pictures_whatever_is_wrong(void **state)
{
    (void)state;
    vkt_source_info s;
    clear();
    put(ROOT "/a.png", "x", 1);
    put(ROOT "/b.jpg", "x", 1);
    put(ROOT "/notes.txt", "x", 1);
    assert_int_equal(vkt_source_of(ROOT, &s), VKT_LIKE_CONTENT);
    assert_string_equal(s.name, "images");
    {
        vkt_dataset *ds;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open(&(vkt_data_desc) { IMAGES }, &ds), VKT_E_FORMAT);
        REQUIRE_LOGGED("holds 2 pictures but no class folder");
        REQUIRE_LOGGED("data.labels");
    }
    clear();
    REQUIRE_OK(vkt__mkdirs(ROOT "/ant"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/bee"));
    put(ROOT "/ant/1.tif", "x", 1);
    put(ROOT "/bee/1.TIF", "x", 1);
    assert_int_equal(vkt_source_of(ROOT, &s), VKT_LIKE_CONTENT);
    assert_string_equal(s.name, "images");
    {
        vkt_dataset *ds;
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt_dataset_open(&(vkt_data_desc) { IMAGES }, &ds), VKT_E_FORMAT);
        REQUIRE_LOGGED("no picture that can be read, only 2 files of other types (.tif, .TIF)");
    }
    clear();
    put(ROOT "/figure.png", "x", 1); /* an illustrated text */
    put(ROOT "/a.txt", "x", 1);
    put(ROOT "/b.md", "x", 1);
    assert_int_equal(vkt_source_of(ROOT, &s), VKT_LIKE_NAME);
    assert_string_equal(s.name, "text");
}

/* Five bad files among good ones: left out with a line each for three, then a total; or refused. */
static void folder_bad_files(void **state)
{
    (void)state;
    uint8_t wide[45] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    clear();
    put_classes("", two, 2, 3, 0);
    put(ROOT "/ant/text.png", "not a picture", 13);
    put(ROOT "/ant/zero.jpg", "", 0);
    static const char *const others[] = { ROOT "/ant/a.tif", ROOT "/ant/b.tif", ROOT "/bee/a.txt",
                                          ROOT "/bee/b.xml", ROOT "/bee/c.zip" };
    for (size_t i = 0; i < VKT_COUNT(others); i++) put(others[i], "x", 1);
    put(ROOT "/loose.png", "x", 1);
    wide[16] = 0, wide[17] = 0, wide[18] = 30000 >> 8, wide[19] = 30000 & 255;
    wide[23] = 100, wide[24] = 8;
    memcpy(wide + 37, "IEND", 4);
    for (int i = 0; i < 4; i++) {
        wide[29 + i] = (uint8_t)(crc32(0, wide + 12, 17) >> (24 - 8 * i));
        wide[41 + i] = (uint8_t)(crc32(0, wide + 37, 4) >> (24 - 8 * i));
    }
    put(ROOT "/bee/wide.png", wide, sizeof wide);
    char *good;
    size_t n;
    REQUIRE_OK(vkt__file_read(ROOT "/ant/00.png", 1 << 20, &good, &n));
    put(ROOT "/bee/cut.png", good, n - 10);
    good[n / 2] ^= 1;
    put(ROOT "/bee/flipped.png", good, n);
    free(good);
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_images((vkt_data_desc) { 0 });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 6);
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 5);
    REQUIRE_LOGGED("skipped: '" ROOT "/ant/text.png' is not a PNG, JPEG, BMP, GIF or WebP picture");
    REQUIRE_LOGGED("skipped: '" ROOT "/ant/zero.jpg' is empty");
    REQUIRE_LOGGED("skipped: '" ROOT "/bee/cut.png' is cut short");
    REQUIRE_LOGGED("skipped: 5 of 11 pictures can't be read");
    REQUIRE_LOGGED("files of other types are ignored, 5 in all (such as .tif, .txt, .xml): only");
    REQUIRE_LOGGED("pictures outside of the class folders are ignored, 1 in all");
    assert_null(strstr(test_log, "wide.png")); /* more than three are not named */
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
    REQUIRE_OK(vkt__remove_tree(ROOT "/loose.png"));
    for (size_t i = 0; i < VKT_COUNT(others); i++) REQUIRE_OK(vkt__remove_tree(others[i]));
    vkt_data_desc stop = { IMAGES, .bad_files = VKT_BAD_FILES_STOP };
    refuse(&stop, VKT_E_FORMAT, "text.png", "is not a PNG, JPEG, BMP, GIF or WebP picture");
    REQUIRE_OK(vkt__remove_tree(ROOT "/ant/text.png"));
    REQUIRE_OK(vkt__remove_tree(ROOT "/ant/zero.jpg"));
    REQUIRE_OK(vkt__remove_tree(ROOT "/bee/cut.png"));
    REQUIRE_OK(vkt__remove_tree(ROOT "/bee/flipped.png"));
    refuse(&stop, VKT_E_FORMAT, "wide.png", "is 30000x100 pixels by its header");
}

#ifndef _WIN32
static void folder_links(void **state)
{
    (void)state;
    clear();
    put_classes("", two, 2, 2, 0);
    REQUIRE_OK(vkt__link_replace("..", ROOT "/bee/up"));
    REQUIRE_OK(vkt__link_replace(".", ROOT "/bee/self"));
    REQUIRE_OK(vkt__link_replace("nowhere", ROOT "/bee/broken.png"));
    REQUIRE_OK(vkt__link_replace("../ant/00.png", ROOT "/bee/good.png"));
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_images((vkt_data_desc) { 0 });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 5);
    REQUIRE_LOGGED("2 links lead back up");
    REQUIRE_LOGGED("broken.png");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}
#endif

static void folder_duplicates_are_named(void **state)
{
    (void)state;
    clear();
    put_classes("train/", two, 2, 3, 0);
    put_classes("valid/", two, 2, 1, 50);
    put_classes("test/", two, 2, 1, 60);
    TEST_LOG_CAPTURE();
    vkt_dataset *ds = open_images((vkt_data_desc) { 0 });
    uint64_t n_shared = 9, n_near;
    REQUIRE_OK(vkt_dataset_report(ds, &n_shared, &n_near));
    assert_string_equal(test_log, "");
    assert_int_equal(n_shared, 0);
    vkt_dataset_destroy(&ds);
    put_picture("valid/bee", "again.png", 4);
    put_picture("train/ant", "twice.png", 1); /* within train: no matter */
    for (int i = 0; i < 12; i++)
        put_picture("train/ant", (char[]) { 'x', (char)('a' + i), '.', 'p', 'n', 'g', 0 }, 100 + i);
    ds = open_images((vkt_data_desc) { 0 });
    REQUIRE_OK(vkt_dataset_report(ds, &n_shared, &n_near));
    assert_int_equal(n_shared, 1);
    REQUIRE_LOGGED("1 validation or test examples are in the training set too");
    assert_null(strstr(test_log, ", ...")); /* it is all of them */
    REQUIRE_LOGGED("'" ROOT "/train/bee/01.png' = '" ROOT "/valid/bee/again.png'");
    REQUIRE_LOGGED("'ant' has 5.3 times as many training examples as 'bee'");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

static void folder_resizes_and_colors(void **state)
{
    (void)state;
    uint8_t rgb[8 * 4 * 3];
    clear();
    put_classes("", two, 2, 2, 0);
    for (int y = 0; y < 4; y++) /* left quarter red, middle half green, right quarter blue */
        for (int x = 0; x < 8; x++)
            for (int c = 0; c < 3; c++)
                rgb[(y * 8 + x) * 3 + c] = (uint8_t)(255 * (c == (x < 2 ? 0 : x < 6 ? 1 : 2)));
    assert_true(stbi_write_png(ROOT "/ant/rgb.png", 8, 4, 3, rgb, 24));
    static const int red[] = { 128,
                               0 }; /* the left pixel of two: half red; cropped to the middle */
    for (int fit = VKT_PICTURE_FIT_STRETCH; fit <= VKT_PICTURE_FIT_CROP; fit++) {
        vkt_dataset *ds = open_images((vkt_data_desc) { .size = "2", .fit = (vkt_picture_fit)fit });
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_memory_equal(info->input_shape, ((uint32_t[]) { 2, 2, 3 }), 12);
        assert_int_equal(ds->schema.n_pixel, 3);
        REQUIRE_NEAR(value_of(ds, VKT_SPLIT_TRAIN, 2, NULL), red[fit], 1);
        vkt_dataset *again;
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &again));
        assert_true(vkt_dataset_get_info(again)->has_labels);
        require_same_examples(ds, VKT_SPLIT_TRAIN, again);
        vkt_dataset_destroy(&again);
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT "/ant", &again));
        assert_false(vkt_dataset_get_info(again)->has_labels); /* no class folder in there */
        assert_int_equal(vkt_dataset_get_info(again)->n[VKT_SPLIT_TEST], 3);
        vkt_dataset_destroy(&again);
        vkt_dataset_destroy(&ds);
    }
    for (int i = 0; i < 32 * 3; i++) rgb[i] = (uint8_t)((const int[]) { 10, 20, 60 }[i % 3]);
    clear();
    put_picture("ant", "0.png", 0);
    put_picture("bee", "0.png", 0);
    assert_true(stbi_write_png(ROOT "/ant/0.png", 4, 3, 3, rgb, 12));
    assert_true(stbi_write_png(ROOT "/bee/0.png", 4, 3, 3, rgb, 12));
    vkt_dataset *whole = open_images((vkt_data_desc) { .standardize = VKT_STANDARDIZE_GLOBAL });
    REQUIRE_NEAR(whole->schema.pixel_mean[0], 30 / 255.0, 1e-9); /* of all channels */
    REQUIRE_NEAR(whole->schema.pixel_std[0], sqrt(4200 / 9.0) / 255, 1e-9);
    vkt_dataset_destroy(&whole);
    static uint8_t wide[1025 * 3];
    assert_int_equal(remove(ROOT "/ant/0.png"), 0);
    assert_int_equal(remove(ROOT "/bee/0.png"), 0);
    for (int i = 0; i < 2; i++) { /* a side alone is too long to be meant */
        for (int k = 0; k < 4; k++) {
            char path[64];
            snprintf(path, sizeof path, ROOT "/%s/%d.png", two[k % 2], k);
            assert_true(stbi_write_png(path, i ? 3 : 1025, i ? 1025 : 3, 1, wide, i ? 3 : 1025));
        }
        refuse(&(vkt_data_desc) { IMAGES }, VKT_E_ARG, ROOT, "set data.size to the size");
    }
    clear();
    put_classes("", two, 2, 2, 0);
    char deep[200] = "ant";
    for (int i = 0; i < 30; i++) strcat(deep, "/d");
    put_picture(deep, "x.png", 9);
    vkt_dataset *far = open_images((vkt_data_desc) { 0 });
    assert_int_equal(vkt_dataset_get_info(far)->n[VKT_SPLIT_TRAIN], 5);
    vkt_dataset_destroy(&far);
    strcat(deep, "/d");
    put_picture(deep, "x.png", 9);
    refuse(&(vkt_data_desc) { IMAGES }, VKT_E_FORMAT, deep, "more than 32 folders deep");
    clear();
    put_classes("", two, 2, 2, 0);
    vkt_dataset *ds =
        open_images((vkt_data_desc) { .size = "2x3", .color = VKT_PICTURE_COLOR_GREY });
    assert_memory_equal(vkt_dataset_get_info(ds)->input_shape, ((uint32_t[]) { 2, 3, 1 }), 12);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_classes_and_order),
        cmocka_unit_test(folder_splits_by_name_or_seed),
        cmocka_unit_test(folder_constants_are_of_all_pictures),
        cmocka_unit_test(folder_labels_from_csv),
        cmocka_unit_test(folder_bad_classes),
        cmocka_unit_test(folder_bad_files),
        cmocka_unit_test(folder_median_size),
        cmocka_unit_test(folder_is_pictures_whatever_is_wrong),
#ifndef _WIN32
        cmocka_unit_test(folder_links),
#endif
        cmocka_unit_test(folder_duplicates_are_named),
        cmocka_unit_test(folder_resizes_and_colors),
    };
    return cmocka_run_group_tests_name("folder", tests, setup, teardown);
}
