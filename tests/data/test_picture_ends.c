/* data: what codes of masks, maps of instances, moves, headers of bitmaps and small helpers do at
 * their ends: the first, the last, none, one too many. */
#define DIR "test_picture_ends_tmp"
#include "data_files.h"

#include <math.h>

#include "data/parts/task_rows.h"
#include "data/pictures/geometry.h"
#include "data/pictures/instance_map.h"
#include "data/pictures/mask_code.h"
#include "data/pictures/picture.h"
#include "data/synthetic.h"
#include "data/tables/labels.h"

/* Named numbers are classes, seen or not; of black and white, and of colours, what was seen. */
static void masks_have_a_code(void **state)
{
    (void)state;
    static const struct {
        uint32_t n_named, n, value[4];
        bool colors;
        uint32_t want_n, want[4];
    } rows[] = {
        { 0, 3, { 7, 0, 255 }, false, 2, { 0, 7 } },
        { 3, 2, { 2, 0 }, false, 3, { 0, 1, 2 } },
        { 3, 3, { 2, 0, 255 }, false, 3, { 0, 1, 2 } },
        { 0, 2, { 255, 0 }, false, 2, { 0, 255 } },
        { 2, 2, { 255, 0 }, false, 2, { 0, 255 } },
        { 2, 2, { 0xff0000, 255 }, true, 2, { 255, 0xff0000 } },
        { 0, 3, { 0xff0000, 0, 255 }, true, 3, { 0, 255, 0xff0000 } },
    };
    vkt__arena a = { 0 };
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        vkt__mask_values v = { .n = rows[r].n, .any = true, .colors = rows[r].colors };
        vkt__mask_code code;
        uint8_t place[4];
        memcpy(v.value, rows[r].value, sizeof rows[r].value);
        vkt__mask_fit(&v, rows[r].n_named, &a, &code, place);
        assert_int_equal(code.n, rows[r].want_n);
        assert_int_equal(code.colors, rows[r].colors);
        for (uint32_t k = 0; k < code.n; k++) assert_int_equal(code.value[k], rows[r].want[k]);
        for (uint32_t i = 0; i < v.n; i++)
            if (place[i] != VKT__MASK_IGNORE)
                assert_int_equal(code.value[place[i]], v.value[i]);
            else
                assert_int_equal(v.value[i], 255);
    }
    vkt__arena_finish(&a);
}

/* What is of no class is said, the first of them; grey 255 is not said, the colour 0000ff is. */
static void numbers_of_no_class_are_said(void **state)
{
    (void)state;
    uint32_t value[] = { 1, 2 }, bad = 0;
    uint8_t class[5];
    static const uint32_t raw[5] = { 2, 255, 9, 1, 7 };
    vkt__mask_code c = { .value = value, .n = 2 };
    assert_false(vkt__mask_classes(&c, raw, 5, class, &bad));
    assert_int_equal(bad, 9);
    assert_memory_equal(class, ((uint8_t[]) { 1, 255, 255, 0, 255 }), 5);
    assert_true(vkt__mask_classes(&c, raw, 2, class, &bad));
    c.colors = true;
    assert_false(vkt__mask_classes(&c, raw, 5, class, &bad));
    assert_int_equal(bad, 255);
}

/* An instance in a corner or on an edge is one, as is one of a single pixel. */
static void instances_may_lie_on_any_edge(void **state)
{
    (void)state;
    enum { SIDE = 5 };
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            uint16_t map[SIDE * SIDE] = { 0 };
            vkt__instances_seen seen;
            vkt__areas areas = { 0 };
            map[y * SIDE + x] = 3;
            map[(y + 2) % SIDE * SIDE + (x + 2) % SIDE] = 3;
            REQUIRE_OK(vkt__instances_look(map, SIDE, SIDE, &seen, &areas));
            assert_true(seen.n == 1 && seen.most == 3 && seen.pixels == 2 && seen.pieces == 2);
            assert_true(areas.n == 1 && areas.item[0] == 2);
            free(areas.item);
        }
}

/* A place and the pixel that is drawn there stay together, to less than a pixel. */
static void places_move_as_pixels_do(void **state)
{
    (void)state;
    enum { W = 12, H = 8 };
    for (int how = 0; how < 16; how++) {
        vkt__moves m = {
            .flip = how & 1, .turn = how & 2, .dx = how & 4 ? 2 : 0, .dy = how & 8 ? -1 : 0
        };
        for (uint32_t y = 0; y < H; y++)
            for (uint32_t x = 0; x < W; x++) {
                uint32_t from_x, from_y;
                vkt__moves_back(&m, W, H, W, H, x, y, &from_x, &from_y);
                double to_x = from_x + 0.5, to_y = from_y + 0.5;
                vkt__moves_forth(&m, W, H, W, H, &to_x, &to_y);
                /* edges are repeated */
                if (from_x > 0 && from_x < W - 1) REQUIRE_NEAR(to_x, x + 0.5, 1e-9);
                if (from_y > 0 && from_y < H - 1) REQUIRE_NEAR(to_y, y + 0.5, 1e-9);
            }
    }
}

/* All of it is shown, in the middle, as large as it can be, and not stretched. */
static void pictures_lie_in_the_middle(void **state)
{
    (void)state;
    static const uint32_t sizes[][4] = {
        { 60, 40, 64, 64 }, { 40, 60, 64, 64 }, { 40, 60, 96, 64 },
        { 60, 40, 32, 96 }, { 10, 10, 96, 32 }, { 300, 2, 64, 64 }
    };
    for (size_t i = 0; i < VKT_COUNT(sizes); i++) {
        uint32_t w = sizes[i][0], h = sizes[i][1], W = sizes[i][2], H = sizes[i][3];
        vkt__box b = vkt__letterbox(w, h, W, H);
        assert_true(b.w >= 1 && b.h >= 1 && b.x + b.w <= W && b.y + b.h <= H);
        assert_true(b.w == W || b.h == H);
        REQUIRE_NEAR(b.x, (W - b.w) / 2.0, 0.5);
        REQUIRE_NEAR(b.y, (H - b.h) / 2.0, 0.5);
        if (b.h > 1) REQUIRE_NEAR((double)b.w / w * h, b.h, 1);
    }
}

/* Bitmaps of each header that there is. */
static void bitmaps_of_each_header(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 12, 40, 56, 108, 124 };
    for (size_t k = 0; k < VKT_COUNT(sizes); k++) {
        uint8_t b[14 + 124 + 16] = { 'B', 'M' }, *h = b + 14, *pixels;
        uint32_t n = sizes[k], w, high;
        size_t all = 14 + n + 16;
        vkt__picture_size size;
        b[2] = (uint8_t)all;
        b[10] = (uint8_t)(14 + n);
        h[0] = (uint8_t)n;
        h[4] = 2;               /* wide */
        h[n == 12 ? 6 : 8] = 2; /* high */
        h[n == 12 ? 8 : 12] = 1;
        h[n == 12 ? 10 : 14] = 24;
        for (int y = 0; y < 2; y++) /* from the bottom, blue first, lines of 8 bytes */
            for (int i = 0; i < 6; i++) h[n + (size_t)(8 * y + i)] = (uint8_t)(10 * (6 * y + i));
        REQUIRE_OK(vkt__picture_look(b, all, "p", &size));
        REQUIRE_OK(vkt__picture_decode(b, all, "p", 3, 0, 0, 0, &w, &high, &pixels));
        assert_true(w == 2 && high == 2 && size.w == 2 && !size.animated);
        assert_memory_equal(pixels,
                            ((uint8_t[]) { 80, 70, 60, 110, 100, 90, 20, 10, 0, 50, 40, 30 }), 12);
        free(pixels);
    }
}

/* A limit may be reached, not passed; of a file that is packed, too. */
static void a_limit_may_be_reached(void **state)
{
    (void)state;
    char *out, text[1000];
    size_t n;
    memset(text, 'x', sizeof text);
    put(DIR "/plain", text, sizeof text);
    put_gz(DIR "/packed", text, sizeof text);
    for (int packed = 0; packed < 2; packed++) {
        char *data;
        size_t n_data;
        REQUIRE_OK(vkt__file_read(packed ? DIR "/packed" : DIR "/plain", 1 << 20, &data, &n_data));
        REQUIRE_OK(vkt__bytes_all(data, n_data, "f", sizeof text, &out, &n));
        assert_int_equal(n, sizeof text);
        free(out);
        TEST_LOG_CAPTURE();
        assert_int_not_equal(vkt__bytes_all(data, n_data, "f", sizeof text - 1, &out, &n), VKT_OK);
        REQUIRE_LOGGED("'f'");
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        free(data);
    }
}

/* Values are counted from the first on. */
static void values_are_counted(void **state)
{
    (void)state;
    const char *s[] = { "b", "a", "b", "c", "b", "a" };
    uint32_t n = 6, count[6];
    REQUIRE_OK(vkt__values_unique(s, &n, count));
    assert_int_equal(n, 3);
    assert_true(count[0] == 2 && count[1] == 3 && count[2] == 1);
    assert_string_equal(s[0], "a");
    assert_string_equal(s[2], "c");
}

/* One unit of what is learned, in what is given: between 0 and 1 of the curve. */
static void deviations_of_curves(void **state)
{
    (void)state;
    vkt__target t = { .mean = 1, .scale = 0.5, .curve = VKT_TARGET_PLAIN };
    REQUIRE_NEAR(vkt__target_deviation(&t), 0.5, 1e-12);
    t.curve = VKT_TARGET_LOG;
    REQUIRE_NEAR(vkt__target_deviation(&t), exp(1.5) - exp(1), 1e-12);
    t.curve = VKT_TARGET_LOG1P;
    REQUIRE_NEAR(vkt__target_deviation(&t), exp(1.5) - exp(1), 1e-12);
    for (int c = VKT_TARGET_PLAIN; c <= VKT_TARGET_LOG1P; c++) {
        t.curve = (vkt_target_curve)c;
        REQUIRE_NEAR(vkt__target_given(&t, vkt__target_learned(&t, 3)), 3, 1e-12);
    }
}

/* A source of one kind of picture has that task alone, and that task no other source. */
static void tasks_fit_their_sources(void **state)
{
    (void)state;
    const vkt__task_row *row;
    for (int task = VKT_TASK_CLASSIFY; task <= VKT_TASK_INSTANCES; task++)
        for (int of = VKT_TASK_SEGMENT; of <= VKT_TASK_INSTANCES; of++) {
            vkt_source_info s = { .takes = vkt__task_at((size_t)of)->takes };
            assert_int_equal(vkt__task_fits((vkt_task)task, &s, &row), task == of);
        }
    vkt_source_info plain = { .takes = VKT_TAKES_LABELS };
    for (int task = VKT_TASK_CLASSIFY; task <= VKT_TASK_INSTANCES; task++)
        assert_int_equal(vkt__task_fits((vkt_task)task, &plain, &row), task < VKT_TASK_SEGMENT);
}

/* As many windows as were asked for, with a token to predict behind the last. */
static void a_made_text_has_its_windows(void **state)
{
    (void)state;
    vkt_dataset *ds;
    REQUIRE_OK(vkt__dataset_synthetic_text(5, 8, 16, 1, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 4); /* one to shift in */
    assert_int_equal(vkt_dataset_get_info(ds)->n_tokens[VKT_SPLIT_TRAIN], 5 * 8 + 1);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_have_a_code),
        cmocka_unit_test(numbers_of_no_class_are_said),
        cmocka_unit_test(instances_may_lie_on_any_edge),
        cmocka_unit_test(places_move_as_pixels_do),
        cmocka_unit_test(pictures_lie_in_the_middle),
        cmocka_unit_test(bitmaps_of_each_header),
        cmocka_unit_test(a_limit_may_be_reached),
        cmocka_unit_test(values_are_counted),
        cmocka_unit_test(deviations_of_curves),
        cmocka_unit_test(tasks_fit_their_sources),
        cmocka_unit_test(a_made_text_has_its_windows),
    };
    return cmocka_run_group_tests_name("picture ends", tests, setup, teardown);
}
