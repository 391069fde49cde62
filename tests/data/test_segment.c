/* data: pictures with masks: how numbers, palettes and colours become classes, that masks move as
 * their pictures do, how pixels are weighed, and what is refused or left out. */
#define DIR "test_segment_tmp"
#include "data_files.h"

#include <zlib.h>

#include "data/dataset.h"
#include "data/pictures/augment.h"
#include "data/pictures/dense.h"

#define ROOT DIR "/set"
enum { SIDE = 8, PIXELS = SIDE * SIDE };

static size_t chunk(uint8_t *out, const char *kind, const uint8_t *data, size_t n)
{
    const uint32_t size = (uint32_t)n;
    memcpy(out + 4, kind, 4);
    if (n) memcpy(out + 8, data, n);
    uint32_t sum = (uint32_t)crc32(0, out + 4, (uInt)(n + 4));
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(size >> 8 * (3 - i));
        out[8 + n + (size_t)i] = (uint8_t)(sum >> 8 * (3 - i));
    }
    return n + 12;
}

enum { GREY = 0, RGB = 2, PALETTE = 3 };

/* A PNG of raw numbers: `rows` hold w * channels samples each, packed here to `bits`. */
static void put_png(const char *path, uint32_t w, uint32_t h, uint8_t type, uint8_t bits,
                    const uint8_t *rows)
{
    uint8_t file[8192], raw[4096] = { 0 }, packed[4096], head[13] = { 0 }, colors[768];
    uint32_t samples = w * (type == RGB ? 3 : 1), line = (samples * bits + 7) / 8;
    uLongf n_packed = sizeof packed;
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < samples; x++) {
            uint8_t *to = raw + y * (line + 1) + 1;
            if (bits == 16)
                to[2 * x + 1] = rows[y * samples + x];
            else
                to[x * bits / 8] |= (uint8_t)(rows[y * samples + x] << (8 - bits - x * bits % 8));
        }
    assert_int_equal(compress(packed, &n_packed, raw, h * (line + 1)), Z_OK);
    head[3] = (uint8_t)w;
    head[7] = (uint8_t)h;
    head[8] = bits;
    head[9] = type;
    for (int i = 0; i < 768; i++) colors[i] = (uint8_t)(255 - i * 7); /* says nothing of classes */
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    size_t at = 8 + chunk(file + 8, "IHDR", head, 13);
    if (type == PALETTE) at += chunk(file + at, "PLTE", colors, bits == 8 ? 768 : 3u << bits);
    if (type == PALETTE) at += chunk(file + at, "tRNS", colors, 2);
    at += chunk(file + at, "IDAT", packed, n_packed);
    at += chunk(file + at, "IEND", NULL, 0);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file, 1, at, f), at);
    fclose(f);
}

static const char *path_of(const char *folder, int i)
{
    static char path[2][200];
    static int k;
    char *out = path[k++ % 2];
    REQUIRE_OK(vkt__mkdirs((snprintf(out, 200, ROOT "/%s", folder), out)));
    snprintf(out, 200, ROOT "/%s/%02d.png", folder, i);
    return out;
}

static void clear(void)
{
    REQUIRE_OK(vkt__remove_tree(ROOT));
    REQUIRE_OK(vkt__mkdirs(ROOT));
}

/* Class of a pixel of picture i: a block whose place depends on i; classes 0, 1, 2. */
static uint8_t class_at(int i, int x, int y)
{
    return x >= i % 3 + 1 && x < i % 3 + 5 && y >= 2 && y < 6 ? (uint8_t)(1 + i % 2) : 0;
}

/* n pictures as bright as their classes; masks of those numbers. */
static void put_set(const char *below, int n, const uint8_t number[3])
{
    char folder[64];
    for (int i = 0; i < n; i++) {
        uint8_t picture[PIXELS], mask[PIXELS];
        for (int k = 0; k < PIXELS; k++) {
            picture[k] = (uint8_t)(20 + 100 * class_at(i, k % SIDE, k / SIDE));
            mask[k] = number[class_at(i, k % SIDE, k / SIDE)];
        }
        snprintf(folder, sizeof folder, "%simages", below);
        put_png(path_of(folder, i), SIDE, SIDE, GREY, 8, picture);
        snprintf(folder, sizeof folder, "%smasks", below);
        put_png(path_of(folder, i), SIDE, SIDE, GREY, 8, mask);
    }
}

#define MASKS .source = "masks", .path = ROOT, .task = VKT_TASK_SEGMENT

static vkt_dataset *open_set(vkt_data_desc d)
{
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    return ds;
}

static const uint8_t plain_numbers[3] = { 0, 1, 2 }, far_numbers[3] = { 0, 255, 7 };

static void numbers_are_classes(void **state)
{
    (void)state;
    clear();
    put_set("", 6, far_numbers);
    vkt_dataset *ds = open_set((vkt_data_desc) { MASKS });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_int_equal(info->n_outputs, 2);
    assert_string_equal(info->class_names[1], "7");
    assert_int_equal(info->n_labels, PIXELS);
    assert_int_equal(info->n_targets, PIXELS);
    assert_int_equal(info->output_shape[2], 1);
    uint64_t count[2];
    vkt_dataset_class_counts(ds, VKT_SPLIT_TRAIN, count);
    assert_int_equal(count[0], 6 * (PIXELS - 16));
    assert_int_equal(count[1], 3 * 16); /* the other blocks are 255, which is nothing */
    assert_true(info->n_notes >= 2);
    assert_non_null(strstr(info->notes[0], "12.5% of the masks' pixels are 255"));
    for (int i = 0; i < 6; i++) {
        float x[PIXELS];
        vkt_label y[PIXELS];
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, (uint64_t)i, x, y));
        for (int k = 0; k < PIXELS; k++) {
            uint8_t c = class_at(i, k % SIDE, k / SIDE);
            assert_int_equal(y[k].u, c == 2 ? 1 : c == 1 ? VKT_NO_TOKEN : 0);
        }
    }
    vkt_dataset_destroy(&ds);
}

/* The places in a palette, of any bits, and grey ones of few bits: not what they look like. */
static void palettes_are_places(void **state)
{
    (void)state;
    static const struct {
        uint8_t type, bits;
    } kinds[] = { { PALETTE, 8 }, { PALETTE, 4 }, { PALETTE, 2 }, { GREY, 4 }, { GREY, 2 } };
    for (size_t t = 0; t < sizeof kinds / sizeof *kinds; t++) {
        clear();
        put_set("", 4, plain_numbers);
        for (int i = 0; i < 4; i++) {
            uint8_t mask[PIXELS];
            for (int k = 0; k < PIXELS; k++) mask[k] = class_at(i, k % SIDE, k / SIDE);
            put_png(path_of("masks", i), SIDE, SIDE, kinds[t].type, kinds[t].bits, mask);
        }
        vkt_dataset *ds = open_set((vkt_data_desc) { MASKS });
        assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 3);
        assert_string_equal(vkt_dataset_get_info(ds)->class_names[2], "2");
        float x[PIXELS];
        vkt_label y[PIXELS];
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, 1, x, y));
        for (int k = 0; k < PIXELS; k++) assert_int_equal(y[k].u, class_at(1, k % SIDE, k / SIDE));
        vkt_dataset_destroy(&ds);
    }
}

static void colours_and_black_and_white(void **state)
{
    (void)state;
    static const uint8_t rgb[3][3] = { { 0, 0, 128 }, { 200, 0, 0 }, { 0, 100, 0 } };
    static const char *const names[] = { "#000080", "#006400", "#c80000" };
    clear();
    put_set("", 4, plain_numbers);
    for (int i = 0; i < 4; i++) {
        uint8_t mask[3 * PIXELS];
        for (int k = 0; k < PIXELS; k++)
            memcpy(mask + 3 * k, rgb[class_at(i, k % SIDE, k / SIDE)], 3);
        put_png(path_of("masks", i), SIDE, SIDE, RGB, 8, mask);
    }
    vkt_dataset *ds = open_set((vkt_data_desc) { MASKS });
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 3);
    for (int c = 0; c < 3; c++)
        assert_string_equal(vkt_dataset_get_info(ds)->class_names[c], names[c]);
    vkt_dataset_destroy(&ds);
    clear();
    put_set("", 4, (uint8_t[]) { 0, 255, 255 });
    ds = open_set((vkt_data_desc) { MASKS });
    assert_int_equal(vkt_dataset_get_info(ds)->n_outputs, 2); /* 255 is the object here */
    assert_string_equal(vkt_dataset_get_info(ds)->class_names[1], "255");
    vkt_dataset_destroy(&ds);
}

/* The class that a picture's brightness says, where it says one. */
static int said_class(const vkt_dataset *ds, const float *x, int k)
{
    double v = ((double)x[k] - (double)ds->pixel_bias[k]) / (double)ds->pixel_scale[k];
    for (int c = 0; c < 3; c++)
        if (fabs(v - (20 + 100 * c)) < 1) return c;
    return -1;
}

/* Moves without resampling agree in every pixel; with it, all but those at edges. */
static void masks_move_with_pictures(void **state)
{
    (void)state;
    static const struct {
        vkt_augment how;
        double least; /* share of the pixels that agree */
    } rows[] = {
        { { .flip = 0.5f }, 1 },
        { { .flip_vertical = 0.5f, .crop_padding = 3 }, 1 },
        { { .rotate = 180 }, 0.75 },
        { { .area = 0.3f, .flip = 0.5f }, 0.75 },
        { { .perspective = 0.3f, .brightness = 0 }, 0.75 },
    };
    clear();
    put_set("", 6, plain_numbers);
    vkt_dataset *ds = open_set((vkt_data_desc) { MASKS });
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        int said = 0, agree = 0, moved = 0;
        for (uint64_t p = 0; p < 60; p++) {
            float x[PIXELS];
            vkt_label y[PIXELS];
            vkt__moves moves;
            vkt__scratch scratch = { 0 };
            vkt__draw draw = { &rows[r].how, 9, p, &moves };
            REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, p % 6, &draw, &scratch, x));
            REQUIRE_OK(vkt__dense_target(ds, VKT_SPLIT_TRAIN, p % 6, &moves, &scratch, y));
            for (int k = 0; k < PIXELS; k++) {
                int c = said_class(ds, x, k);
                said += c >= 0;
                agree += c >= 0 && y[k].u == (uint32_t)c;
                moved += y[k].u != class_at((int)(p % 6), k % SIDE, k / SIDE);
            }
            vkt__scratch_finish(&scratch);
        }
        assert_true(said > 60 * PIXELS / 2);
        assert_true(moved > 60);
        assert_true(agree >= rows[r].least * said);
        if (rows[r].least < 1) assert_true(agree >= 0.97 * said);
    }
    vkt_dataset_destroy(&ds);
}

static void pixels_are_weighed(void **state)
{
    (void)state;
    enum { BATCH = 4 };
    static float x[BATCH * PIXELS], w[BATCH * PIXELS];
    static vkt_label y[BATCH * PIXELS];
    const float class_weight[2] = { 1, 3 };
    uint32_t slot;
    clear();
    put_set("", 6, far_numbers);
    vkt_dataset *ds = open_set((vkt_data_desc) { MASKS });
    vkt_batch b = { .x = x, .y = y, .w = w };
    vkt_loader_desc d = { .data = ds,
                          .split = VKT_SPLIT_TRAIN,
                          .batch = BATCH,
                          .class_weight = class_weight,
                          .n_slots = 1,
                          .slots = &b };
    for (int how = 0; how < 3; how++) {
        vkt_loader *l;
        d.weight = how == 1 ? 0.25f : 0;
        d.ignore = (vkt_maybe) { how == 2, 0 };
        REQUIRE_OK(vkt_loader_create(&d, &l));
        for (int pass = 0; pass < 2; pass++) { /* pictures 0 to 3, then 4, 5 and padding */
            double sum = 0, want = 0;
            uint32_t counted = 0;
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
            for (int i = 0; i < BATCH; i++)
                for (int k = 0; k < PIXELS; k++) {
                    int at = 4 * pass + i;
                    uint8_t c = class_at(at, k % SIDE, k / SIDE);
                    bool counts = at < 6 && c != 1 && !(how == 2 && c == 0);
                    double cw = c == 2 ? 3 : 1;
                    counted += counts;
                    want += counts ? cw : 0;
                    assert_true((w[i * PIXELS + k] > 0) == counts);
                    if (counts && how == 1) REQUIRE_NEAR(w[i * PIXELS + k], 0.25, 0);
                    sum += (double)w[i * PIXELS + k] * cw;
                }
            assert_int_equal(b.n_counted, counted);
            REQUIRE_NEAR(b.weight, want, 0);
            if (how != 1) REQUIRE_NEAR(sum, want > 0 ? 1 : 0, 1e-5);
            vkt_loader_release(l, slot);
        }
        vkt_loader_destroy(&l);
    }
    vkt_dataset_destroy(&ds);
}

/* Opens what must fail, or with `skip` must leave n examples out. */
static void refused(const char *words, uint64_t left_out)
{
    vkt_dataset *ds = NULL;
    vkt_data_desc d = { MASKS, .bad_files = VKT_BAD_FILES_STOP };
    vkt__log_quiet(true);
    assert_true(vkt_dataset_open(&d, &ds) != VKT_OK);
    vkt__log_quiet(false);
    if (!strstr(vkt__last_failure(), words))
        fail_msg("'%s' not in: %s", words, vkt__last_failure());
    if (!left_out) return;
    d.bad_files = VKT_BAD_FILES_SKIP;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, left_out);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 6 - left_out);
    vkt_dataset_destroy(&ds);
}

static void bad_masks(void **state)
{
    (void)state;
    uint8_t some[4 * PIXELS] = { 1, 2 };
    clear();
    put_set("", 6, plain_numbers);
    assert_int_equal(remove(path_of("masks", 3)), 0);
    refused("images/03.png' has no mask of the same name", 1);
    put_png(path_of("masks", 3), SIDE, SIDE - 1, GREY, 8, some);
    refused("masks/03.png' is a mask of 8x7 pixels, its picture has 8x8", 1);
    put_png(path_of("masks", 3), SIDE / 2, 2 * SIDE, GREY, 8, some);
    refused("masks/03.png' is a mask of 4x16 pixels, its picture has 8x8", 1);
    put_png(path_of("masks", 3), SIDE, SIDE, GREY, 16, some);
    refused("masks/03.png' is a mask of 16 bits a pixel", 1);
    put_png(path_of("masks", 3), SIDE, SIDE, RGB, 8, some);
    refused("masks/03.png' is a mask of colours, but", 1);
    FILE *f = fopen(path_of("masks", 3), "r+b");
    fseek(f, 46, SEEK_SET); /* in the data */
    fputs("xx", f);
    fclose(f);
    refused("masks/03.png' is damaged: a CRC-32 is wrong", 1);
    f = fopen(path_of("masks", 3), "wb");
    fclose(f);
    refused("masks/03.png' is empty", 1);
    put_set("", 6, plain_numbers);
    f = fopen(ROOT "/classes.txt", "wb");
    fputs("ground\nleaf\n", f);
    fclose(f);
    refused("masks/01.png' has 16 pixels of class 2, and 3 masks have such, but", 0);
    assert_int_equal(remove(ROOT "/classes.txt"), 0);
    put_png(ROOT "/masks/03.bmp", SIDE, SIDE, GREY, 8, some);
    refused("differ in their endings alone", 0);
    clear();
    put_set("", 1, plain_numbers);
    refused("has one picture alone with a mask", 0);
    clear();
    put_set("", 4, (uint8_t[]) { 3, 3, 3 });
    refused("have one number alone", 0);
    clear();
    REQUIRE_OK(vkt__mkdirs(ROOT "/images"));
    REQUIRE_OK(vkt__mkdirs(ROOT "/masks"));
    refused("has no picture with a mask", 0);
    clear();
    refused("does not hold the folders images and masks", 0);
}

static void other_data_by_the_schema(void **state)
{
    (void)state;
    vkt_dataset *ds, *other;
    vkt_source_info info;
    static const char *const splits[] = { "train/", "valid/", "val/", "test/" };
    for (int i = 0; i < 4; i++) {
        clear();
        put_set(splits[i], 2, plain_numbers);
        assert_int_equal(vkt_source_of(ROOT, &info), VKT_LIKE_CONTENT);
        assert_string_equal(info.name, "masks");
    }
    clear();
    put_set("train/", 4, plain_numbers);
    put_set("val/", 2, plain_numbers);
    assert_int_equal(vkt_source_of(ROOT, &info), VKT_LIKE_CONTENT);
    assert_string_equal(info.name, "masks");
    ds = open_set((vkt_data_desc) { MASKS });
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 4);
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_VALID], 2);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT "/val", &other));
    assert_true(vkt_dataset_get_info(other)->has_labels);
    assert_int_equal(vkt_dataset_get_info(other)->n[VKT_SPLIT_TEST], 2);
    vkt_dataset_destroy(&other);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT "/val/images", &other));
    assert_false(vkt_dataset_get_info(other)->has_labels);
    float x[PIXELS];
    vkt_label y[PIXELS];
    REQUIRE_OK(vkt_dataset_example(other, VKT_SPLIT_TEST, 1, x, y));
    assert_int_equal(y[9].u, VKT_NO_TOKEN);
    vkt_dataset_destroy(&other);
    put_set("val/", 1, (uint8_t[]) { 0, 9, 9 }); /* of two masks one has a class that is none */
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT "/val", &other));
    assert_int_equal(vkt_dataset_get_info(other)->n[VKT_SPLIT_TEST], 1);
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);
}

/* ---- pairs of pictures ---- */

/* n small pictures and their enlargements, whose pixel (x, y) is 10 i + 4 y + x / 2. */
static void put_pairs(int n, uint32_t side)
{
    for (int i = 0; i < n; i++) {
        uint8_t small[16], large[64];
        for (int k = 0; k < 16; k++) small[k] = (uint8_t)(10 * i + 4 * (k / 4) + k % 4);
        for (int k = 0; k < 64; k++) large[k] = (uint8_t)(10 * i + 4 * (k / 16) + k % 8 / 2);
        put_png(path_of("before", i), 4, 4, GREY, 8, small);
        put_png(path_of("after", i), side, side, GREY, 8, side == 8 ? large : small);
    }
}

#define PAIRS .source = "pairs", .path = ROOT, .task = VKT_TASK_PICTURE

/* Each pixel of the second says which of the first it lies on: moved, still. */
static void pairs_move_together(void **state)
{
    (void)state;
    static const vkt_augment how = { .flip = 0.5f, .flip_vertical = 0.5f, .crop_padding = 2 };
    clear();
    put_pairs(4, 8);
    vkt_dataset *ds = open_set((vkt_data_desc) { PAIRS, .standardize = VKT_STANDARDIZE_NONE });
    const vkt_dataset_info *info = vkt_dataset_get_info(ds);
    assert_memory_equal(info->output_shape, ((uint32_t[]) { 8, 8, 1 }), 12);
    assert_int_equal(info->n_labels, 64);
    assert_int_equal(info->n_targets, 1);
    int moved = 0;
    for (uint64_t p = 0; p < 100; p++) {
        float x[16];
        vkt_label y[64];
        vkt__moves moves;
        vkt__scratch scratch = { 0 };
        vkt__draw draw = { &how, 9, p, &moves };
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, p % 4, &draw, &scratch, x));
        REQUIRE_OK(vkt__dense_target(ds, VKT_SPLIT_TRAIN, p % 4, &moves, &scratch, y));
        for (int k = 0; k < 64; k++) REQUIRE_NEAR(y[k].f, x[k / 16 * 4 + k % 8 / 2], 1e-6);
        moved += y[0].f != (float)(10 * (p % 4)) / 255;
        vkt__scratch_finish(&scratch);
    }
    assert_true(moved > 50);
    vkt_dataset *other;
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT, &other));
    assert_true(vkt_dataset_get_info(other)->has_labels);
    vkt_dataset_destroy(&other);
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), ROOT "/before", &other));
    assert_false(vkt_dataset_get_info(other)->has_labels);
    vkt_dataset_destroy(&other);
    vkt_dataset_destroy(&ds);
}

static void bad_pairs(void **state)
{
    (void)state;
    vkt_dataset *ds = NULL;
    vkt_data_desc d = { PAIRS, .bad_files = VKT_BAD_FILES_STOP };
    uint8_t some[PIXELS] = { 1 };
    static const struct {
        uint32_t w, h;
        const char *words;
    } rows[] = {
        { 6, 6, "after/02.png' has 6x6 pixels, and the picture before it 4x4: it must be 2 times" },
        { 8, 4, "after/02.png' has 8x4 pixels" },
        { 8, 0, "after/02.png' is empty" },
        { 0, 0, "before/02.png' has no picture of the same name in after" },
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        clear();
        put_pairs(4, 8);
        if (rows[r].w && !rows[r].h)
            put(path_of("after", 2), "", 0);
        else if (rows[r].w)
            put_png(path_of("after", 2), rows[r].w, rows[r].h, GREY, 8, some);
        else
            assert_int_equal(remove(path_of("after", 2)), 0);
        d.bad_files = VKT_BAD_FILES_STOP;
        vkt__log_quiet(true);
        assert_true(vkt_dataset_open(&d, &ds) != VKT_OK);
        vkt__log_quiet(false);
        if (!strstr(vkt__last_failure(), rows[r].words)) fail_msg("%s", vkt__last_failure());
        d.bad_files = VKT_BAD_FILES_SKIP;
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
        assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 3);
        vkt_dataset_destroy(&ds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_classes),
        cmocka_unit_test(palettes_are_places),
        cmocka_unit_test(colours_and_black_and_white),
        cmocka_unit_test(masks_move_with_pictures),
        cmocka_unit_test(pixels_are_weighed),
        cmocka_unit_test(bad_masks),
        cmocka_unit_test(other_data_by_the_schema),
        cmocka_unit_test(pairs_move_together),
        cmocka_unit_test(bad_pairs),
    };
    return cmocka_run_group_tests_name("segment", tests, setup, teardown);
}
