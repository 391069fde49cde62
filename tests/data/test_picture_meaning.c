/* Pictures keep their meaning from the file to the example: samples of 16 bits, pictures that two
 * rows name, what is lost where one becomes flat. Numbers and names: test_meaning.c. */
#define DIR "test_picture_meaning_tmp"
#include "data_files.h"

#include "data/pictures/picture.h"

static size_t chunk(uint8_t *out, const char *type, const uint8_t *data, size_t n)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(n >> (24 - 8 * i));
    memcpy(out + 4, type, 4);
    if (n) memcpy(out + 8, data, n);
    uint32_t sum = (uint32_t)crc32(0, out + 4, (uInt)n + 4);
    for (int i = 0; i < 4; i++) out[8 + n + i] = (uint8_t)(sum >> (24 - 8 * i));
    return n + 12;
}

/* A grey PNG of 2 x 2 samples of `depth` bits. */
static void put_png(const char *path, const uint16_t v[4], int depth)
{
    uint8_t rows[10], packed[64], file[200], head[13] = { 0, 0, 0, 2, 0, 0, 0, 2, (uint8_t)depth };
    size_t n = 0, at = 8;
    for (int i = 0; i < 4; i++) {
        if (i % 2 == 0) rows[n++] = 0;
        if (depth == 16) rows[n++] = (uint8_t)(v[i] >> 8);
        rows[n++] = (uint8_t)v[i];
    }
    uLongf n_packed = sizeof packed;
    assert_int_equal(compress(packed, &n_packed, rows, n), Z_OK);
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    at += chunk(file + at, "IHDR", head, 13);
    at += chunk(file + at, "IDAT", packed, n_packed);
    at += chunk(file + at, "IEND", NULL, 0);
    put(path, file, at);
}

/* Two classes of two pictures with samples from `low` on, `step` apart, in the folder. */
static void put_pictures(uint16_t low, uint16_t step, int depth)
{
    REQUIRE_OK(vkt__remove_tree(DIR "/pictures"));
    for (uint16_t i = 0; i < 4; i++) {
        char path[100];
        uint16_t v[4];
        for (uint16_t k = 0; k < 4; k++) v[k] = (uint16_t)(low + (4 * i + k) * step);
        snprintf(path, sizeof path, DIR "/pictures/%c", "ab"[i % 2]);
        REQUIRE_OK(vkt__mkdirs(path));
        snprintf(path, sizeof path, DIR "/pictures/%c/%d.png", "ab"[i % 2], i);
        put_png(path, v, depth);
    }
}

/* One of the four pictures has 8 bits: the scale is that of 16, and where the deep ones use less of
 * it they are dark, which is said. */
static void mixed_bits(uint16_t low, uint16_t step)
{
    vkt_dataset *ds;
    static const uint16_t plain[4] = { 0, 100, 200, 255 };
    const vkt_data_desc d = { .source = "images", .path = DIR "/pictures", RAW };
    for (int whole = 0; whole < 2; whole++) {
        put_pictures(low, whole ? 4000 : step, 16);
        put_png(DIR "/pictures/a/0.png", plain, 8);
        TEST_LOG_CAPTURE();
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        assert_int_equal(ds->schema.bits, 16);
        if (whole)
            assert_null(strstr(test_log, "are dark"));
        else
            REQUIRE_LOGGED("3 of 4 pictures have 16 bits a sample, with values below 256, and are "
                           "dark beside those of 8 bits");
        vkt_dataset_destroy(&ds);
    }
}

static void samples_of_16_bits(void **state)
{
    (void)state;
    vkt_dataset *ds, *as8, *again;
    const vkt_data_desc d = { .source = "images", .path = DIR "/pictures", RAW };
    put_pictures(3, 5, 8);
    float x[4][4];
    REQUIRE_OK(vkt_dataset_open(&d, &as8));
    for (uint64_t i = 0; i < 4; i++) memcpy(x[i], inputs(as8, VKT_SPLIT_TRAIN, i, 4), sizeof x[i]);
    vkt_dataset_destroy(&as8);
    put_pictures(3, 5, 16); /* all below 256 */
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_LOGGED("pictures of 16 bits a sample with values below 256 are read as if they had 8");
    for (uint64_t i = 0; i < 4; i++)
        assert_memory_equal(x[i], inputs(ds, VKT_SPLIT_TRAIN, i, 4), sizeof x[i]);
    put_pictures(3000, 5, 16);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/pictures", &again));
    REQUIRE_LOGGED("has samples of 12 bits, the training pictures had 8");
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
    mixed_bits(3, 4);
    put_pictures(1, 270, 16); /* 12 bits, as of many sensors */
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_LOGGED("of the 12 bits that samples of 16 bits use the upper 8 are read");
    float most = inputs(ds, VKT_SPLIT_TRAIN, 3, 4)[3] * 255;
    REQUIRE_NEAR(most, (1 + 15 * 270) >> 4, 1e-4);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), DIR "/pictures", &again));
    REQUIRE_NEAR(inputs(again, VKT_SPLIT_TEST, 3, 4)[3] * 255, most, 1e-4);
    vkt_dataset_destroy(&again);
    vkt_dataset_destroy(&ds);
}

static void pictures_of_two_rows(void **state)
{
    (void)state;
    vkt_dataset *ds;
    put_pictures(3, 5, 8);
    static const char rows[] = "file,label\na/0.png,p\na/0.png,q\nb/1.png,p\nb/3.png,q\n";
    put(DIR "/l.csv", rows, sizeof rows - 1);
    const vkt_data_desc d = {
        .source = "images", .path = DIR "/pictures", .labels = DIR "/l.csv", RAW
    };
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    REQUIRE_LOGGED("1 row names a picture that another has, as ");
    vkt_dataset_destroy(&ds);
    static const char gap[] = "file,label\na/0.png,p\nb/1.png,\nb/3.png,q\n";
    put(DIR "/l.csv", gap, sizeof gap - 1);
    refuse(&d, VKT_E_FORMAT, "line 3", "there is no label");
}

/* A GIF of several frames is animated; neither GIF has an alpha channel. */
static void pictures_that_are_flattened(void **state)
{
    (void)state;
    static const char head[] = "GIF89a\1\0\1\0\xf0\0\0\0\0\0\xff\xff\xff",
                      frame[] = ",\0\0\0\0\1\0\1\0\0\2\2D\1\0";
    for (int frames = 1; frames < 3; frames++) {
        char gif[100];
        vkt__picture_size size;
        size_t n = sizeof head - 1;
        memcpy(gif, head, n);
        for (int i = 0; i < frames; i++, n += sizeof frame - 1)
            memcpy(gif + n, frame, sizeof frame - 1);
        gif[n++] = ';';
        REQUIRE_OK(vkt__picture_look(gif, n, "gif", &size));
        assert_int_equal(size.animated, frames > 1);
        assert_false(size.alpha);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_of_two_rows),
        cmocka_unit_test(pictures_that_are_flattened),
        cmocka_unit_test(samples_of_16_bits),
    };
    return cmocka_run_group_tests_name("picture_meaning", tests, setup, teardown);
}
