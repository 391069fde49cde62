/* Points: their loss against PyTorch's, their measures of 300 random sets against NumPy's, and the
 * points that heatmaps mean: tests/golden/points.json (tools/golden/golden_points.py). */
#include "testing.h"

#include "golden_loss.h"
#include "train/measures/detections.h"
#include "train/measures/point_scores.h"
#include "train/points/peaks.h"
#include "train/points/point_loss.h"

#define GOLDEN "golden/points.json"

/* ---- the loss ---- */

static void build(vkt_graph *g, vkt_shape shape, golden_loss *l)
{
    uint32_t stride = (uint32_t)json_integer_value(json_object_get(l->c, "stride"));
    l->out = vkt_input(g, shape, VKT_F32, "out");
    l->y = vkt_input(g, vkt_shape2(shape.d[0], 3 * (shape.d[3] + 1)), VKT_F32, "y");
    l->w = vkt_input(g, vkt_shape1(shape.d[0]), VKT_F32, "weight");
    l->loss = vkt_sum(g, vkt__point_loss(g, l->out, l->y, l->w, stride));
}

static void the_loss_is_pytorchs(void **state)
{
    (void)state;
    golden_losses(GOLDEN, build);
}

/* ---- measures ---- */

enum { MOST = 17 };

static vkt__eval_sums sums_of(uint32_t n)
{
    vkt__eval_sums s = { .n_classes = n, .points = true, .boxes = vkt__detections_create(1) };
    s.class_count = vkt__alloc(n * sizeof *s.class_count);
    s.class_correct = vkt__alloc(n * sizeof *s.class_correct);
    s.class_predicted = vkt__alloc(n * sizeof *s.class_predicted);
    s.class_error = vkt__alloc(n * sizeof *s.class_error);
    s.sigma = vkt__alloc(n * sizeof *s.sigma);
    return s;
}

static vkt__eval_sums random_set(uint64_t seed)
{
    static const char *const names[MOST] = { "a", "b", "c", "d", "e", "f" };
    draws d = { seed };
    uint32_t n = 1 + below(&d, 6), n_examples = 1 + below(&d, 12);
    vkt__eval_sums s = sums_of(n);
    vkt__point_sigmas(names, n, s.sigma);
    for (uint32_t i = 0; i < n_examples; i++) {
        vkt_label y[3 * (MOST + 1)] = { { 0 } };
        vkt__point found[MOST];
        y[3 * n].f = (float)(8 + below(&d, 40));
        y[3 * n + 1].f = (float)(8 + below(&d, 30));
        for (uint32_t k = 0; k < n; k++) {
            uint32_t x = below(&d, 64), v = below(&d, 64);
            y[3 * k].f = (float)x;
            y[3 * k + 1].f = (float)v;
            y[3 * k + 2].f = (float)below(&d, 3);
            bool near = below(&d, 4) != 0;
            found[k].x = near ? x + (below(&d, 9) - 4.0) / 2 : below(&d, 64);
            found[k].y = near ? v + (below(&d, 9) - 4.0) / 2 : below(&d, 64);
            found[k].score = below(&d, 16) / 16.0;
        }
        vkt__points_add(&s, i, y, found);
    }
    return s;
}

static void measures_are_numpys(void **state)
{
    (void)state;
    json_t *list = golden_part(GOLDEN, "sets");
    assert_int_equal(json_array_size(list), 300);
    for (size_t k = 0; k < 300; k++) {
        const json_t *want = json_array_get(list, k);
        vkt__eval_sums s = random_set(k);
        double all, half;
        vkt__detection_scores got = vkt__detections_measure(s.boxes, &all, &half);
        if (json_is_null(want)) {
            assert_true(isnan(vkt__pck(&s)) && isnan(vkt__point_error(&s)) && !s.boxes->n);
        } else {
            REQUIRE_NEAR(got.map, at(want, 0), 1e-11);
            REQUIRE_NEAR(vkt__pck(&s), at(want, 1), 1e-11);
            REQUIRE_NEAR(vkt__point_error(&s), at(want, 2), 1e-11);
        }
        vkt__eval_sums_finish(&s);
    }
    json_decref(list);
}

/* COCO's names have COCO's numbers, and only in COCO's order. */
static void sigmas_are_cocos(void **state)
{
    (void)state;
    const char *names[MOST] = { "nose",        "left_eye",      "right_eye",      "left_ear",
                                "right_ear",   "left_shoulder", "right_shoulder", "left_elbow",
                                "right_elbow", "left_wrist",    "right_wrist",    "left_hip",
                                "right_hip",   "left_knee",     "right_knee",     "left_ankle",
                                "right_ankle" };
    double sigma[MOST];
    vkt__point_sigmas(names, MOST, sigma);
    REQUIRE_NEAR(sigma[0], 0.026, 0);
    REQUIRE_NEAR(sigma[11], 0.107, 0);
    REQUIRE_NEAR(sigma[16], 0.089, 0);
    names[3] = "tail";
    vkt__point_sigmas(names, MOST, sigma);
    REQUIRE_NEAR(sigma[11], 0.05, 0);
}

/* ---- peaks ---- */

enum { W = 12, H = 9, N = 2, STRIDE = 4 };

static void draw(float heat[H][W][N], int k, double x, double y)
{
    double sigma = (double)VKT__HEAT_SIGMA * STRIDE;
    for (int j = 0; j < H; j++)
        for (int i = 0; i < W; i++) {
            double dx = (i + 0.5) * STRIDE - x, dy = (j + 0.5) * STRIDE - y;
            heat[j][i][k] = (float)(0.7 * exp(-(dx * dx + dy * dy) / (2 * sigma * sigma)));
        }
}

/* What the loss asks for is what is read from it, between the cells. */
static void a_gaussian_is_found_exactly(void **state)
{
    (void)state;
    static float heat[H][W][N];
    vkt__point p[N];
    for (int i = 0; i < 40; i++) {
        double x = 8 + i * 0.73, y = 26 - i * 0.37;
        draw(heat, 0, x, y);
        draw(heat, 1, y, x / 2 + 4);
        vkt__peaks(heat[0][0], H, W, N, STRIDE, p);
        REQUIRE_NEAR(p[0].x, x, 1e-4);
        REQUIRE_NEAR(p[0].y, y, 1e-4);
        REQUIRE_NEAR(p[1].x, y, 1e-4);
        REQUIRE_NEAR(p[1].y, x / 2 + 4, 1e-4);
        assert_true(p[0].score > 0.65 && p[0].score <= 0.7);
    }
}

/* On the first and last row and column nothing is read from beyond, whatever lies there. */
static void an_edge_has_one_neighbour(void **state)
{
    (void)state;
    static float more[H + 2][W][N];
    vkt__point p[N];
    for (int k = 0; k < 2; k++) {
        memset(more, 0, sizeof more);
        for (int i = 0; i < W; i++) more[0][i][0] = more[H + 1][i][0] = 0.5f;
        more[k ? H : 1][6][0] = 1;
        vkt__peaks(more[1][0], H, W, N, STRIDE, p);
        REQUIRE_NEAR(p[0].y, ((k ? H - 1 : 0) + 0.5) * STRIDE, 1e-9);
        memset(more, 0, sizeof more);
        more[3][k ? W - 1 : 0][0] = 1;
        more[k ? 4 : 2][k ? 0 : W - 1][0] = 0.5f; /* its neighbour in memory */
        vkt__peaks(more[1][0], H, W, N, STRIDE, p);
        REQUIRE_NEAR(p[0].x, ((k ? W - 1 : 0) + 0.5) * STRIDE, 1e-9);
    }
}

/* Nothing, noise below zero, and what lies in a corner: a place on the picture, never beyond. */
static void any_numbers_have_a_place(void **state)
{
    (void)state;
    static float heat[H][W][N];
    vkt__point p[N];
    for (int j = 0; j < H; j++)
        for (int i = 0; i < W; i++) heat[j][i][0] = 0, heat[j][i][1] = -1;
    heat[H - 1][W - 1][1] = 3;
    vkt__peaks(heat[0][0], H, W, N, STRIDE, p);
    REQUIRE_NEAR(p[0].x, 2, 0);
    REQUIRE_NEAR(p[0].score, 0, 0);
    REQUIRE_NEAR(p[1].x, W * STRIDE - 2, 0);
    REQUIRE_NEAR(p[1].y, H * STRIDE - 2, 0);
    REQUIRE_NEAR(p[1].score, 1, 0);
    heat[4][5][1] = 4;
    vkt__peaks(heat[0][0], H, W, N, STRIDE, p);
    REQUIRE_NEAR(p[1].x, 5.5 * STRIDE, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_loss_is_pytorchs),      cmocka_unit_test(measures_are_numpys),
        cmocka_unit_test(sigmas_are_cocos),          cmocka_unit_test(a_gaussian_is_found_exactly),
        cmocka_unit_test(an_edge_has_one_neighbour), cmocka_unit_test(any_numbers_have_a_place),
    };
    return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
