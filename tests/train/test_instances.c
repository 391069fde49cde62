/* Instances: what a model learns of a mask, the loss of it beside plain sums, what its numbers mean
 * as instances, and how many of them are found. */
#include "testing.h"

#include "golden_loss.h"
#include "data/pictures/instance_map.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "train/instances/instance_groups.h"
#include "train/instances/instance_loss.h"
#include "train/instances/predict_instances.h"
#include "train/measures/instance_scores.h"

enum { H = 16, W = 20, N = VKT__INSTANCE_NUMBERS };

/* Two discs that touch, in columns 3 to 9 and 10 to 16. */
static void two_discs(uint16_t map[H * W])
{
    for (int i = 0; i < H * W; i++) {
        int x = i % W, y = i / W - 7;
        map[i] = (uint16_t)((x - 6) * (x - 6) + y * y <= 10     ? 300
                            : (x - 13) * (x - 13) + y * y <= 10 ? 7
                                                                : 0);
    }
}

static vkt_label *target_of(const uint16_t *map)
{
    vkt_label *y = vkt__alloc(H * W * N * sizeof *y);
    assert_int_equal(vkt__instance_target((const uint8_t *)map, W, H, y), VKT_OK);
    return y;
}

static void a_mask_is_numbers_heat_and_offsets(void **state)
{
    (void)state;
    uint16_t map[H * W];
    vkt__instances_seen seen;
    two_discs(map);
    vkt_label *y = target_of(map);
    const vkt_label *middle = &y[(7 * W + 6) * N], *right = &y[(7 * W + 9) * N],
                    *next = &y[(7 * W + 10) * N], *outside = y;
    assert_true(middle[0].f == 300 && next[0].f == 7 && outside[0].f == 0);
    REQUIRE_NEAR((double)middle[1].f, 1, 1e-7);
    REQUIRE_NEAR((double)middle[2].f, 0, 1e-6);
    REQUIRE_NEAR((double)right[2].f, -3, 1e-6); /* three to the left */
    REQUIRE_NEAR((double)next[2].f, 3, 1e-6);
    REQUIRE_NEAR((double)y[(5 * W + 6) * N + 3].f, 2, 1e-6);
    assert_true(outside[2].f == 0 && outside[1].f < 1e-3f);
    double s =
        sqrt(37 / 3.14159265358979) / 3; /* of a disc of as many pixels a third of the radius */
    REQUIRE_NEAR((double)right[1].f, exp(-9 / (2 * s * s)), 1e-6);
    assert_int_equal(vkt__instances_look(map, W, H, &seen, NULL), VKT_OK);
    assert_true(seen.n == 2 && seen.pieces == 2 && seen.most == 300 && seen.pixels == 74 &&
                seen.least_pixels == 37 && seen.most_pixels == 37);
    map[0] = 7; /* a pixel elsewhere */
    assert_int_equal(vkt__instances_look(map, W, H, &seen, NULL), VKT_OK);
    assert_true(seen.n == 2 && seen.pieces == 3);
    free(y);
}

/* What a perfect model says, moved a little. */
static float *said_of(const vkt_label *y)
{
    float *out = vkt__alloc(H * W * N * sizeof *out);
    for (int i = 0; i < H * W * N; i++)
        out[i] = i % N == 0 ? (y[i].f > 0 ? 2.0f : -3.0f) : y[i].f + (i % N > 1 ? 0.25f : 0);
    return out;
}

static void numbers_become_the_instances(void **state)
{
    (void)state;
    uint16_t map[H * W];
    two_discs(map);
    vkt_label *y = target_of(map);
    float *out = said_of(y);
    vkt__instance_groups g = { 0 };
    assert_int_equal(vkt__instance_group(&g, out, H, W), VKT_OK);
    assert_int_equal(g.n, 2);
    for (int i = 0; i < H * W; i++)
        assert_int_equal(g.map[i], map[i] == 300 ? 1 : map[i] == 7 ? 2 : 0);
    assert_true(g.centre[0].x == 6 && g.centre[1].x == 13 && g.centre[0].pixels == 37);
    /* Two equal heights beside each other are one centre; one without pixels is left out. */
    out[(7 * W + 7) * N + 1] = out[(7 * W + 6) * N + 1];
    out[(1 * W + 18) * N + 1] = 0.9f;
    assert_int_equal(vkt__instance_group(&g, out, H, W), VKT_OK);
    assert_int_equal(g.n, 2);
    /* No centre: no instance; and what is no number belongs to none. */
    out[(7 * W + 6) * N + 2] = NAN;
    assert_int_equal(vkt__instance_group(&g, out, H, W), VKT_OK);
    assert_int_equal(g.map[7 * W + 6], 0);
    for (int i = 0; i < H * W; i++) out[i * N + 1] = 0;
    assert_int_equal(vkt__instance_group(&g, out, H, W), VKT_OK);
    assert_true(!g.n && !g.map[7 * W + 7]);
    vkt__instance_groups_finish(&g);
    free(out);
    free(y);
}

static void pixels_go_to_the_nearest_of_many_centres(void **state)
{
    (void)state;
    enum { SIDE = 48 };
    float *out = vkt__alloc(SIDE * SIDE * N * sizeof *out);
    vkt__instance_groups g = { 0 };
    uint64_t draw = 3;
    for (int i = 0; i < SIDE * SIDE * N; i++) {
        draw = draw * 6364136223846793005u + 1442695040888963407u;
        float v = (float)(draw >> 40) / (float)(1 << 24);
        out[i] = i % N == 0 ? 1 : i % N == 1 ? v : 20 * v - 10;
    }
    assert_int_equal(vkt__instance_group(&g, out, SIDE, SIDE), VKT_OK);
    assert_true(g.n > 30);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double x = i % SIDE + 0.5 + (double)out[i * N + 2],
               y = i / SIDE + 0.5 + (double)out[i * N + 3], least = INFINITY;
        for (uint32_t k = 0; k < g.n; k++)
            least = fmin(least, hypot(g.centre[k].x + 0.5 - x, g.centre[k].y + 0.5 - y));
        const vkt__centre *of = &g.centre[g.map[i] - 1];
        assert_true(g.map[i] > 0);
        assert_true(hypot(of->x + 0.5 - x, of->y + 0.5 - y) <= least + 1e-12);
    }
    vkt__instance_groups_finish(&g);
    free(out);
}

/* A mask numbers 65,535: those beyond are counted, and their pixels go to the nearest of these. */
static void centres_beyond_the_most_are_counted(void **state)
{
    (void)state;
    enum { SIDE = 1028, STEP = 4, ALONG = SIDE / STEP, ALL = ALONG * ALONG, MOST = UINT16_MAX };
    float *out = vkt__alloc((size_t)SIDE * SIDE * N * sizeof *out);
    vkt__instance_groups g = { 0 };
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) {
        bool centre = i % SIDE % STEP == 0 && i / SIDE % STEP == 0;
        out[i * N] = centre ? 1 : -1;
        out[i * N + 1] = centre ? 0.5f : 0;
    }
    assert_true(ALL > MOST);
    assert_int_equal(vkt__instance_group(&g, out, SIDE, SIDE), VKT_OK);
    assert_int_equal(g.n, MOST);
    assert_int_equal(g.n_more, ALL - MOST);
    assert_int_equal(g.centre[0].pixels, 1);
    assert_int_equal(g.centre[MOST - 1].pixels, 3); /* those below it have no centre */
    assert_true(g.map[(size_t)(SIDE - STEP) * SIDE + SIDE - STEP] > 0);
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) out[i * N + 1] = 0;
    assert_int_equal(vkt__instance_group(&g, out, SIDE, SIDE), VKT_OK);
    assert_true(!g.n && !g.n_more); /* of the last picture alone */
    vkt__instance_groups_finish(&g);
    free(out);
}

/* ---- the measure ---- */

static double score(const uint16_t *is, const uint16_t *found, size_t n, uint64_t want[3])
{
    uint64_t count[3] = { 0 };
    vkt_label *y = vkt__alloc(n * N * sizeof *y);
    vkt__eval_sums s = { .instances = true,
                         .n_classes = 1,
                         .class_count = &count[0],
                         .class_predicted = &count[1],
                         .class_correct = &count[2] };
    for (size_t i = 0; i < n; i++) y[i * N].f = (float)is[i];
    assert_int_equal(vkt__instances_add(&s, y, found, n), VKT_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(count[k], want[k]);
    free(y);
    return vkt__instance_ap50(&s);
}

static void found_ones_are_counted_once(void **state)
{
    (void)state;
    static const uint16_t is[12] = { 1, 1, 1, 1, 0, 9, 9, 9, 9, 0, 5, 5 };
    static const uint16_t half[12] = { 2, 2, 3, 3, 0, 4, 4, 4, 4, 4, 0, 0 };
    static const uint16_t less[12] = { 2, 0, 0, 0, 0, 4, 4, 4, 0, 4, 6, 6 };
    static const uint16_t none[12] = { 0 };
    /* Both halves have an IoU of 0.5, and one is right; 4 of 5; none for the third. */
    REQUIRE_NEAR(score(is, half, 12, (uint64_t[]) { 3, 3, 2 }), 2 / 4.0, 1e-15);
    /* 1 of 4 is too little, 3 of 5 is enough. */
    REQUIRE_NEAR(score(is, less, 12, (uint64_t[]) { 3, 3, 2 }), 2 / 4.0, 1e-15);
    REQUIRE_NEAR(score(is, is, 12, (uint64_t[]) { 3, 3, 3 }), 1, 0);
    REQUIRE_NEAR(score(is, none, 12, (uint64_t[]) { 3, 0, 0 }), 0, 0);
    REQUIRE_NEAR(score(none, is, 12, (uint64_t[]) { 0, 3, 0 }), 0, 0);
    assert_true(isnan(score(none, none, 12, (uint64_t[]) { 0, 0, 0 })));
}

/* ---- the loss ---- */

typedef struct wanted {
    const float *out;
    const vkt_label *y;
    vkt_tensor *in[3], *loss;
    double got;
} wanted;

static void init(void *user, const vkt_tensor *t, double *data)
{
    const wanted *w = user;
    for (uint64_t i = 0; i < t->count; i++)
        if (t == w->in[0])
            data[i] = (double)w->out[i];
        else if (t == w->in[1])
            data[i] = (double)w->y[i].f;
        else if (t == w->in[2])
            data[i] = 0.5;
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    wanted *w = user;
    if (t == w->loss) w->got = data[0];
}

static double loss_by_graph(const float *out, const vkt_label *y)
{
    wanted w = { .out = out, .y = y };
    vkt_graph *g = vkt__graph_new(NULL);
    w.in[0] = vkt_input(g, (vkt_shape) { .rank = 4, .d = { 1, H, W, N } }, VKT_F32, "out");
    w.in[1] = vkt_input(g, vkt_shape2(1, H * W * N), VKT_F32, "y");
    w.in[2] = vkt_input(g, vkt_shape1(1), VKT_F32, "w");
    w.loss = vkt__instance_loss(g, w.in[0], w.in[1], w.in[2]);
    assert_int_equal(g->status, VKT_OK);
    vkt__graph_ref(g, init, &w, done);
    vkt_graph_destroy(&g);
    return w.got;
}

static void the_loss_is_of_three_parts(void **state)
{
    (void)state;
    uint16_t map[H * W];
    two_discs(map);
    vkt_label *y = target_of(map);
    float *out = said_of(y);
    double mask = 0, far = 0, heat = 0, off = 0, offsets = 0;
    for (int i = 0; i < H * W; i++) {
        const float *o = out + i * N;
        const vkt_label *t = y + i * N;
        bool there = t[0].f > 0;
        out[i * N + 1] += 0.1f * (float)(i % 3);
        mask += log1p(exp((double)(there ? -o[0] : o[0]))) / (H * W);
        far += pow((double)o[1] - (double)t[1].f, 2);
        heat += pow((double)t[1].f, 2);
        for (int k = 2; k < N && there; k++) {
            off += fabs((double)o[k] - (double)t[k].f);
            offsets += fabs((double)t[k].f);
        }
    }
    REQUIRE_NEAR(loss_by_graph(out, y), 0.5 * (mask + far / heat + off / offsets), 1e-6);
    /* Without instances the units are 1. */
    for (int i = 0; i < H * W * N; i++) y[i].f = 0, out[i] = i % N == 1 ? 0.5f : 0;
    REQUIRE_NEAR(loss_by_graph(out, y), 0.5 * (log(2) + 0.25 * H * W), 1e-6);
    free(out);
    free(y);
}

static void build(vkt_graph *g, vkt_shape shape, golden_loss *l)
{
    l->out = vkt_input(g, shape, VKT_F32, "out");
    l->y = vkt_input(g, vkt_shape2(shape.d[0], shape.d[1] * shape.d[2] * N), VKT_F32, "y");
    l->w = vkt_input(g, vkt_shape1(shape.d[0]), VKT_F32, "weight");
    l->loss = vkt_sum(g, vkt__instance_loss(g, l->out, l->y, l->w));
}

/* tests/golden/instances.json (tools/golden/golden_instances.py) */
static void the_loss_is_pytorchs(void **state)
{
    (void)state;
    golden_losses("golden/instances.json", build);
}

static void few_full_pictures_are_named(void **state)
{
    (void)state;
    char name[20];
    vkt__instance_finder f = { 0 };
    TEST_LOG_CAPTURE();
    for (int i = 0; i < 6; i++) {
        f.groups.n_more = i > 0;
        vkt__instances_say_full(&f, (snprintf(name, sizeof name, "picture %d", i), name));
        assert_int_equal(strstr(test_log, name) != NULL, i > 0 && i < 4);
    }
    vkt__instance_finder_finish(&f);
    REQUIRE_LOGGED("5 pictures in all have more centres");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_is_numbers_heat_and_offsets),
        cmocka_unit_test(numbers_become_the_instances),
        cmocka_unit_test(pixels_go_to_the_nearest_of_many_centres),
        cmocka_unit_test(centres_beyond_the_most_are_counted),
        cmocka_unit_test(few_full_pictures_are_named),
        cmocka_unit_test(found_ones_are_counted_once),
        cmocka_unit_test(the_loss_is_of_three_parts),
        cmocka_unit_test(the_loss_is_pytorchs),
    };
    return cmocka_run_group_tests_name("instances", tests, NULL, NULL);
}
