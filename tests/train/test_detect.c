/* A detector: its loss against PyTorch's, average precision of 500 random sets, and the boxes that
 * an output means: tests/golden/boxes.json (tools/golden/golden_boxes.py). */
#include "testing.h"

#include "data/boxes/cells.h"
#include "golden_loss.h"
#include "train/detect/detect_loss.h"
#include "train/detect/found.h"
#include "train/detect/predict_boxes.h"

#define GOLDEN "golden/boxes.json"

/* ---- the loss ---- */

static void build(vkt_graph *g, vkt_shape shape, golden_loss *l)
{
    l->out = vkt_input(g, shape, VKT_F32, "out");
    l->y = vkt_input(g, vkt_shape2(shape.d[0], shape.d[1] * VKT__CELL_TARGETS), VKT_F32, "y");
    l->w = vkt_input(g, vkt_shape1(shape.d[0]), VKT_F32, "weight");
    l->loss = vkt_sum(g, vkt__detect_loss(g, l->out, l->y, l->w));
}

static void the_loss_is_pytorchs(void **state)
{
    (void)state;
    golden_losses(GOLDEN, build);
}

/* ---- average precision ---- */

static uint32_t draw_box(draws *d, uint32_t n_classes, double box[4])
{
    uint32_t c = below(d, n_classes), x = below(d, 60), y = below(d, 60);
    uint32_t w = 1 + below(d, 40), h = 1 + below(d, 40);
    const double b[4] = { x, y, x + w, y + h };
    memcpy(box, b, sizeof b);
    return c;
}

static vkt__detections *random_set(uint64_t seed)
{
    draws d = { seed };
    uint32_t n_classes = 1 + below(&d, 4), n_pictures = 1 + below(&d, 8);
    vkt__detections *all = vkt__detections_create(n_classes);
    for (uint32_t p = 0; p < n_pictures; p++) {
        vkt__object object[7];
        vkt__found found[14];
        uint32_t n_objects = below(&d, 7);
        for (uint32_t k = 0; k < n_objects; k++)
            object[k].class = draw_box(&d, n_classes, object[k].box);
        uint32_t n = below(&d, 14);
        for (uint32_t k = 0; k < n; k++) {
            found[k].class = draw_box(&d, n_classes, found[k].box);
            if (n_objects && below(&d, 4)) {
                const vkt__object *o = &object[below(&d, n_objects)];
                found[k].class = o->class;
                for (int e = 0; e < 4; e++)
                    found[k].box[e] = o->box[e] + (e < 2 ? -1.0 : 1.0) * below(&d, 5);
            }
            found[k].score = (float)below(&d, 20) / 32;
        }
        REQUIRE_OK(vkt__detections_add(all, p, found, n, object, n_objects));
    }
    return all;
}

static void average_precision_is_cocos(void **state)
{
    (void)state;
    json_t *list = golden_part(GOLDEN, "sets");
    assert_int_equal(json_array_size(list), 500);
    for (size_t k = 0; k < 500; k++) {
        const json_t *want = json_array_get(list, k);
        vkt__detections *d = random_set(k);
        double ap[4], ap50[4];
        vkt__detection_scores got = vkt__detections_measure(d, ap, ap50);
        if (json_is_null(want)) {
            assert_true(got.map == 0 && got.map50 == 0);
        } else {
            REQUIRE_NEAR(got.map, at(want, 0), 1e-11);
            REQUIRE_NEAR(got.map50, at(want, 1), 1e-11);
        }
        vkt__detections_destroy(&d);
    }
    json_decref(list);
}

/* Of one class and picture no more than 100 count. */
static void a_hundred_of_a_class_count(void **state)
{
    (void)state;
    enum { N = 150 };
    static vkt__found found[N];
    double ap[2], ap50[2];
    vkt__object object = { { 0, 0, 10, 10 }, 0 };
    for (int last = 99; last <= 100; last++) {
        vkt__detections *d = vkt__detections_create(2);
        for (int i = 0; i < N; i++)
            found[i] = (vkt__found) { (float)(N - i) / N, 0, { 50, 50, 60, 60 } };
        memcpy(found[last].box, object.box, sizeof object.box);
        REQUIRE_OK(vkt__detections_add(d, 0, found, N, &object, 1));
        vkt__detection_scores got = vkt__detections_measure(d, ap, ap50);
        REQUIRE_NEAR(got.map50, last == 99 ? 0.01 : 0, 1e-12);
        assert_true(isnan(ap50[1])); /* a class without objects has none, and is not in the mean */
        vkt__detections_destroy(&d);
    }
}

/* ---- boxes of an output ---- */

static void an_output_means_boxes(void **state)
{
    (void)state;
    enum { CLASSES = 2, WIDTH = VKT__DETECT_BOX + CLASSES, W = 64, H = 32 };
    static float out[64][WIDTH];
    vkt_dataset_info info = { .input_shape = { H, W, 3 }, .n_outputs = CLASSES };
    uint32_t cells = info.output_shape[0] = vkt__cells(W, H);
    vkt__finder f = { 0 };
    assert_int_equal(cells, 8 * 4 + 4 * 2 + 2 * 1);
    for (uint32_t k = 0; k < cells; k++)
        for (int c = 0; c < CLASSES; c++) out[k][4 + c] = -9;
    /* The cell in row 1, column 2 of the finest grid: its middle is (20, 12). */
    const float box[6] = { 0.5f, -0.25f, logf(3), logf(2), 9, -9 };
    memcpy(out[1 * 8 + 2], box, sizeof box);
    /* The one below it finds nearly the same with a lower score; of the other class it stays. */
    const float same[6] = { 0.5f, -1.25f, logf(3), logf(2), 8, 7 };
    memcpy(out[2 * 8 + 2], same, sizeof same);
    /* The last cell of the widest grid: (48, 16); beyond the edge it is cut. */
    const float wide[6] = { 0.25f, 0, logf(2), logf(0.5f), 6, -9 };
    memcpy(out[cells - 1], wide, sizeof wide);
    vkt__find(&f, &info, out[0], 0.5f);
    assert_int_equal(f.n, 3);
    const double want[3][4] = { { 12, 2, 36, 18 }, { 12, 2, 36, 18 }, { 24, 8, 64, 24 } };
    const uint32_t class[3] = { 0, 1, 0 };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.found[i].class, class[i]);
        for (int e = 0; e < 4; e++) REQUIRE_NEAR(f.found[i].box[e], want[i][e], 1e-5);
    }
    REQUIRE_NEAR((double)f.found[0].score, 1 / (1 + exp(-4.4)), 1e-6);
    vkt__find(&f, &info, out[0], 0.95f);
    assert_int_equal(f.n, 1);
    vkt__finder_finish(&f);
}

/* More cells than are looked at, or more boxes than are kept, are said by `full`. */
static void a_full_picture_is_known(void **state)
{
    (void)state;
    enum { CLASSES = 3, WIDTH = VKT__DETECT_BOX + CLASSES, SIDE = 192, CELLS = 756 };
    static float out[CELLS][WIDTH];
    vkt_dataset_info info = { .input_shape = { SIDE, SIDE, 3 }, .n_outputs = CLASSES };
    vkt__finder f = { 0 };
    info.output_shape[0] = vkt__cells(SIDE, SIDE);
    assert_int_equal(info.output_shape[0], CELLS);
    for (int found = VKT__FOUND_MOST; found <= VKT__FOUND_MOST + 1; found++) {
        for (int k = 0; k < CELLS; k++)
            for (int c = 0; c < WIDTH; c++)
                out[k][c] = c < 2 ? 0 : c < 4 ? -1 : c == 4 && k < found ? 9 : -9;
        vkt__find(&f, &info, out[0], 0.5f);
        assert_int_equal(f.n, VKT__FOUND_MOST);
        assert_int_equal(f.full, found > VKT__FOUND_MOST);
    }
    for (int k = 0; k < CELLS; k++) /* all at one place, and more than 2,000 of them */
        for (int c = 0; c < WIDTH; c++) out[k][c] = c == 2 || c == 3 ? 8 : c >= 4 ? 9 : 0;
    vkt__find(&f, &info, out[0], 0.5f);
    assert_true(f.n < VKT__FOUND_MOST && f.full);
    vkt__finder_finish(&f);
}

/* From which score on boxes are given: the usual one, or what was asked for; in pixels of the
 * picture, without those that lie beside it. */
static void boxes_are_given_from_a_score_on(void **state)
{
    (void)state;
    enum { WIDTH = VKT__DETECT_BOX + 1, W = 64, H = 64 };
    static float out[84][WIDTH];
    static vkt_dataset data;
    data.info = (vkt_dataset_info) { .input_shape = { H, W, 3 }, .n_outputs = 1 };
    data.schema.input_shape[0] = H, data.schema.input_shape[1] = W, data.schema.input_shape[2] = 3;
    assert_int_equal(data.info.output_shape[0] = vkt__cells(W, H), 84);
    for (int k = 0; k < 84; k++) out[k][4] = -20;
    static const double score[] = { 0.02, 0.2, 0.29, 0.31, 0.9, 0.95 };
    for (int k = 0; k < 6; k++) /* in every second cell of row 4; the last one in row 0 */
        out[k < 5 ? 4 * 8 + k : 3][4] = (float)log(score[k] / (1 - score[k])) - VKT__DETECT_PRIOR;
    static const struct {
        float least;
        uint32_t n;
    } rows[] = { { 0, 2 }, { 0.01f, 5 }, { 0.25f, 3 }, { 0.5f, 1 }, { 0.99f, 0 } };
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        vkt__box_finder f = { .least_score = rows[i].least };
        /* twice as wide as high: a half of the model's picture is grey, rows 2 to 5 are the picture
         */
        vkt__boxes_found(&f, &data, out[0], 128, 64);
        assert_int_equal(f.n, rows[i].n);
        assert_true(f.seen.w == 128 && f.seen.h == 64);
        for (uint32_t k = 0; k < f.n; k++) {
            REQUIRE_NEAR((double)f.box[k].score, score[4 - k], 1e-5);
            REQUIRE_NEAR((f.box[k].box[0] + f.box[k].box[2]) / 2, 16 * (4 - k) + 8, 1e-3);
        }
        vkt__box_finder_finish(&f);
    }
}

/* A folder of crowded pictures has not a line for each. */
static void few_full_pictures_are_named(void **state)
{
    (void)state;
    char name[20];
    for (int n = 0; n < 6; n++) {
        vkt__box_finder f = { 0 };
        TEST_LOG_CAPTURE();
        for (int i = 0; i < 6; i++) {
            f.finder.full = i < n;
            vkt__boxes_say_full(&f, (snprintf(name, sizeof name, "picture %d", i), name));
            assert_int_equal(strstr(test_log, name) != NULL, i < VKT_MIN(n, 3));
        }
        vkt__box_finder_finish(&f);
        if (n > 3)
            REQUIRE_LOGGED((snprintf(name, sizeof name, "%d pictures in all", n), name));
        else
            assert_null(strstr(test_log, "in all"));
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_pytorchs),
        cmocka_unit_test(average_precision_is_cocos),
        cmocka_unit_test(a_hundred_of_a_class_count),
        cmocka_unit_test(an_output_means_boxes),
        cmocka_unit_test(a_full_picture_is_known),
        cmocka_unit_test(few_full_pictures_are_named),
        cmocka_unit_test(boxes_are_given_from_a_score_on),
    };
    return cmocka_run_group_tests_name("detect", tests, NULL, NULL);
}
