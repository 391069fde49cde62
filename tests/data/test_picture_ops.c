/* data: rotation, perspective, colours, RandAugment and CutMix, against values worked out here;
 * views of an example for test-time augmentation. */
#define DIR "test_picture_ops_tmp"
#include "data_files.h"

#include <math.h>

#include "data/dataset.h"
#include "data/pictures/augment.h"
#include "data/pictures/picture_ops.h"

enum { SIDE = 6, N = 12, BATCH = 4, SIZE = SIDE * SIDE * 3, DRAWS = 128, SEED = 9 };

static double draw(uint64_t position, uint64_t k)
{
    return vkt_rand_uniform(SEED, VKT_RNG_AUGMENT, position * DRAWS + k);
}

/* Augmented example 5 at a position, back as bytes. */
static void augmented(const vkt_dataset *ds, vkt_augment a, uint64_t position, uint8_t *out)
{
    float x[SIZE];
    vkt__scratch scratch = { 0 };
    vkt__draw d = { &a, SEED, position };
    REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, 5, &d, &scratch, x));
    vkt__scratch_finish(&scratch);
    for (int j = 0; j < SIZE; j++) {
        float v = (x[j] - ds->pixel_bias[j]) / ds->pixel_scale[j];
        out[j] = (uint8_t)lrintf(v);
        REQUIRE_NEAR(v, out[j], 1e-3);
    }
}

static const uint8_t *source(const vkt_dataset *ds)
{
    return ds->part[0].pixels + (size_t)ds->index[VKT_SPLIT_TRAIN][5] * SIZE;
}

static double at(const uint8_t *p, int x, int y, int c)
{
    return p[(VKT_MIN(VKT_MAX(y, 0), SIDE - 1) * SIDE + VKT_MIN(VKT_MAX(x, 0), SIDE - 1)) * 3 + c];
}

/* Bilinear, written another way: each pixel weighs by its distance in both directions. */
static double between(const uint8_t *p, double x, double y, int c)
{
    double sum = 0;
    x = fmin(fmax(x, 0), SIDE - 1);
    y = fmin(fmax(y, 0), SIDE - 1);
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            sum += at(p, i, j, c) * fmax(0, 1 - fabs(x - i)) * fmax(0, 1 - fabs(y - j));
    return sum;
}

static void rotation(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    uint8_t got[SIZE];
    double least = 30, most = -30;
    for (uint64_t p = 0; p < 50; p++) {
        augmented(ds, (vkt_augment) { .rotate = 30 }, p, got);
        double degrees = 60 * draw(p, 0) - 30, turn = degrees * acos(-1) / 180,
               m = (SIDE - 1) / 2.0;
        least = fmin(least, degrees);
        most = fmax(most, degrees);
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                for (int c = 0; c < 3; c++)
                    REQUIRE_NEAR(got[(y * SIDE + x) * 3 + c],
                                 between(source(ds), m + cos(turn) * (x - m) - sin(turn) * (y - m),
                                         m + sin(turn) * (x - m) + cos(turn) * (y - m), c),
                                 0.501);
    }
    assert_true(least < -20 && most > 20);
    /* Counter-clockwise: the upper right corner comes to the upper left. */
    uint8_t in[4] = { 1, 2, 3, 4 }, out[4];
    vkt__warp quarter = vkt__warp_rotation(90, 2, 2);
    vkt__warp_apply(&quarter, &(vkt__pixels) { in, 2, 2, 1 }, out);
    assert_memory_equal(out, ((uint8_t[]) { 2, 4, 1, 3 }), 4);
    vkt_dataset_destroy(&ds);
}

static void perspective(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    uint8_t got[SIZE];
    double e = SIDE - 1, corner[4][2] = { { 0, 0 }, { e, 0 }, { e, e }, { 0, e } };
    for (uint64_t p = 0; p < 50; p++) {
        augmented(ds, (vkt_augment) { .perspective = 0.6f }, p, got);
        for (int k = 0; k < 4; k++) {
            double x = corner[k][0], y = corner[k][1],
                   in_x = 0.6f * draw(p, 2 * (uint64_t)k) * e / 2,
                   in_y = 0.6f * draw(p, 2 * (uint64_t)k + 1) * e / 2;
            for (int c = 0; c < 3; c++)
                REQUIRE_NEAR(
                    got[((int)y * SIDE + (int)x) * 3 + c],
                    between(source(ds), x > 0 ? x - in_x : in_x, y > 0 ? y - in_y : in_y, c),
                    0.501);
        }
    }
    /* Lines stay lines: what crosses in the middle of the new picture crosses in the old one. */
    const double q[] = { 0, 0, 4, 1, 5, 5, 1, 3 };
    vkt__warp w = vkt__warp_perspective(q, SIDE, SIDE);
    double by = w.m[6] * e / 2 + w.m[7] * e / 2 + w.m[8];
    double x = (w.m[0] * e / 2 + w.m[1] * e / 2 + w.m[2]) / by,
           y = (w.m[3] * e / 2 + w.m[4] * e / 2 + w.m[5]) / by;
    REQUIRE_NEAR(x, y, 1e-12); /* on the diagonal from (0, 0) to (5, 5) */
    REQUIRE_NEAR((x - 4) * (3 - 1), (y - 1) * (1 - 4),
                 1e-12); /* and on that from (4, 1) to (1, 3) */
    vkt_dataset_destroy(&ds);
}

static void mirrors_and_colours(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    uint8_t got[SIZE];
    int turned = 0;
    for (uint64_t p = 0; p < 400; p++) {
        augmented(ds, (vkt_augment) { .flip_vertical = 0.25f }, p, got);
        bool is = draw(p, 0) < 0.25;
        for (int y = 0; y < SIDE; y++)
            assert_memory_equal(got + y * SIDE * 3, source(ds) + (is ? SIDE - 1 - y : y) * SIDE * 3,
                                SIDE * 3);
        turned += is;
    }
    REQUIRE_NEAR(turned, 100, 5 * sqrt(75.0));
    uint8_t c[] = { 200, 50, 50, 10, 250, 90, 77, 77, 77 };
    vkt__pixels p = { c, 3, 1, 3 };
    vkt__turn_hue(&p, 1.0 / 3); /* red to green, green to blue */
    assert_memory_equal(c, ((uint8_t[]) { 50, 200, 50, 90, 10, 250, 77, 77, 77 }), 9);
    vkt__turn_hue(&p, -1.0 / 3);
    assert_memory_equal(c, ((uint8_t[]) { 200, 50, 50, 10, 250, 90, 77, 77, 77 }), 9);
    vkt__turn_hue(&p, 1.0 / 6); /* red to yellow */
    assert_memory_equal(c, ((uint8_t[]) { 200, 200, 50 }), 3);
    uint8_t d[] = { 200, 50, 50, 10, 250, 90 };
    vkt__pixels q = { d, 2, 1, 3 };
    vkt__saturate(&q, 1.5); /* greys are 94.85 and 160 */
    assert_memory_equal(d, ((uint8_t[]) { 253, 28, 28, 0, 255, 55 }), 6);
    vkt__saturate(&q, 0);
    assert_true(d[0] == d[1] && d[1] == d[2] && d[3] == d[4]);
    augmented(ds, (vkt_augment) { .saturation = 1 }, 3, got);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const uint8_t *s = source(ds) + 3 * i;
        double grey = 0.299 * s[0] + 0.587 * s[1] + 0.114 * s[2];
        for (int k = 0; k < 3; k++)
            REQUIRE_NEAR(got[3 * i + k], fmin(fmax(grey + 2 * draw(3, 0) * (s[k] - grey), 0), 255),
                         0.501);
    }
    vkt_dataset_destroy(&ds);
}

/* The ops by number, as VKT__RANDAUGMENT_OPS has them. */
enum {
    IDENTITY,
    SHEAR_X,
    SHEAR_Y,
    TRANSLATE_X,
    TRANSLATE_Y,
    ROTATE,
    BRIGHTNESS,
    COLOR,
    CONTRAST,
    SHARPNESS,
    POSTERIZE,
    SOLARIZE,
    AUTO_CONTRAST,
    EQUALIZE
};

static void op(uint32_t k, double magnitude, double sign, const uint8_t *in, uint32_t w, uint32_t h,
               const uint8_t *want)
{
    uint8_t p[64], spare[64];
    memcpy(p, in, w * h);
    vkt__rand_augment_op(k, magnitude, sign, &(vkt__pixels) { p, w, h, 1 }, spare);
    for (uint32_t i = 0; i < w * h; i++)
        if (p[i] != want[i]) fail_msg("op %u: pixel %u is %u, not %u", k, i, p[i], want[i]);
}

static void rand_augment(void **state)
{
    (void)state;
    const uint8_t in[9] = { 0, 100, 200, 13, 50, 255, 128, 64, 250 };
#define WANT(...) ((uint8_t[]) { __VA_ARGS__ })
    for (uint32_t k = 0; k < VKT__RANDAUGMENT_OPS; k++)
        if (k != SOLARIZE && k != AUTO_CONTRAST && k != EQUALIZE) op(k, 0, 1, in, 3, 3, in);
    op(IDENTITY, 30, 1, in, 3, 3, in);
    op(POSTERIZE, 30, 1, in, 9, 1, WANT(0, 96, 192, 0, 48, 240, 128, 64, 240));
    op(SOLARIZE, 15, 1, in, 9, 1, WANT(0, 100, 55, 13, 50, 0, 127, 64, 5));
    op(BRIGHTNESS, 15, -1, in, 9, 1, WANT(0, 55, 110, 7, 28, 140, 70, 35, 138));
    op(AUTO_CONTRAST, 0, 1, WANT(50, 100, 150, 60), 4, 1, WANT(0, 128, 255, 26));
    op(COLOR, 30, 1, in, 3, 3, in); /* grey has no colour */
    /* The mean is 90: 10 -> 90 + 1.9 * -80. */
    op(CONTRAST, 30, 1, WANT(10, 100, 100, 150), 4, 1, WANT(0, 109, 109, 204));
    /* The middle's smoothed value is (5 * 50 + all others) / 13 = 96.92. */
    op(SHARPNESS, 30, -1, in, 3, 3, WANT(0, 100, 200, 13, 92, 255, 128, 64, 250));
    /* 150 / 331 of three pixels are 1. */
    op(TRANSLATE_X, 30, 1, in, 3, 3, WANT(100, 200, 200, 50, 255, 255, 64, 250, 250));
    op(TRANSLATE_Y, 30, -1, in, 3, 3, WANT(0, 100, 200, 0, 100, 200, 13, 50, 255));
    /* Rows move by 0.3 pixels against each other about the middle one. */
    op(SHEAR_X, 30, 1, in, 3, 3, WANT(0, 70, 170, 13, 50, 255, 109, 120, 250));
    uint8_t many[32], flat[32];
    for (int i = 0; i < 32; i++) many[i] = (uint8_t)(100 + i / 2);
    /* PIL: fewer than 255 pixels in a step leave all as it is. */
    op(EQUALIZE, 0, 1, many, 32, 1, many);
    memcpy(flat, many, 32);
    vkt__dice d = { SEED, 7 };
    vkt__rand_augment(&d, 3, 9, &(vkt__pixels) { flat, 4, 8, 1 }, many);
    assert_int_equal(d.next, 7 + 2 * 3);
}

static void cutmix_exchanges_a_box(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    static float x[BATCH * SIZE], plain[2][SIZE];
    vkt_label y[2 * BATCH];
    float w[2 * BATCH];
    vkt_batch b = { .x = x, .y = y, .y2 = y + BATCH, .w = w, .w2 = w + BATCH };
    vkt_augment a = { .cutmix = 1 };
    vkt_loader_desc d = { .data = ds,
                          .split = VKT_SPLIT_TRAIN,
                          .batch = BATCH,
                          .shuffle = true,
                          .seed = 4,
                          .augment = &a,
                          .weight = 1,
                          .n_slots = 1,
                          .slots = &b };
    vkt_loader *l;
    uint32_t s, boxes = 0;
    REQUIRE_OK(vkt_loader_create(&d, &l));
    for (int k = 0; k < 20; k++) {
        REQUIRE_OK(vkt_loader_next(l, &s, NULL));
        for (uint32_t i = 0; i < BATCH; i++) {
            uint32_t own = 0, other = 0;
            REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, b.index[i], plain[0], &y[0]));
            REQUIRE_OK(
                vkt_dataset_example(ds, VKT_SPLIT_TRAIN, b.index[BATCH - 1 - i], plain[1], &y[0]));
            for (uint32_t p = 0; p < SIZE; p += 3) {
                own += !memcmp(x + i * SIZE + p, plain[0] + p, 3 * sizeof *x);
                other += !memcmp(x + i * SIZE + p, plain[1] + p, 3 * sizeof *x);
            }
            if (b.index[i] != b.index[BATCH - 1 - i]) {
                assert_int_equal(own + other, SIDE * SIDE);
                REQUIRE_NEAR(w[i], (double)own / (SIDE * SIDE), 1e-6);
                boxes += other > 0;
            }
            assert_true(own >= other);
            REQUIRE_NEAR(w[i] + w[BATCH + i], 1, 1e-6);
        }
        vkt_loader_release(l, s);
    }
    assert_true(boxes > 30);
    vkt_loader_destroy(&l);
    /* With mixup half of the pairs: five standard deviations of 400 draws. */
    uint32_t cut = 0;
    a.mixup = 0.5f;
    for (uint64_t p = 0; p < 400; p++) cut += vkt__augment_cuts(&a, SEED, p);
    REQUIRE_NEAR(cut, 200, 50);
    vkt_dataset_destroy(&ds);
}

static void views_of_an_example(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    static float x[BATCH * SIZE], plain[SIZE];
    vkt_label y[BATCH], own;
    float w[BATCH];
    vkt_batch b = { .x = x, .y = y, .w = w };
    vkt_augment a = { .flip = 1 };
    vkt_loader_desc d = { .data = ds,
                          .split = VKT_SPLIT_TRAIN,
                          .batch = BATCH,
                          .augment = &a,
                          .views = 3,
                          .n_slots = 1,
                          .slots = &b };
    vkt_loader *l;
    uint32_t s;
    uint64_t n = 0;
    REQUIRE_OK(vkt_loader_create(&d, &l));
    for (;;) {
        REQUIRE_OK(vkt_loader_next(l, &s, NULL));
        if (s == UINT32_MAX) break;
        for (uint32_t i = 0; i < b.n_valid; i++, n++) {
            assert_int_equal(b.index[i], n / 3);
            REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, n / 3, plain, &own));
            assert_int_equal(y[i].u, own.u);
            for (uint32_t p = 0; p < SIDE * SIDE; p++) {
                uint32_t from = n % 3 ? p / SIDE * SIDE + SIDE - 1 - p % SIDE : p;
                assert_memory_equal(x + i * SIZE + 3 * p, plain + 3 * from, 3 * sizeof *x);
            }
        }
        vkt_loader_release(l, s);
    }
    assert_int_equal(n, 3 * vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN]);
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

/* Pixels of a line from one place to another, both among them; none lies beyond the picture. */
static void lines_are_drawn(void **state)
{
    (void)state;
    enum { W = 6, H = 5 };
    static const struct {
        double from[2], to[2];
        const char *want; /* W x H; NULL: nothing */
    } cases[] = {
        { { 1.5, 1.5 },
          { 4.5, 1.5 },
          "......"
          ".####."
          "......"
          "......"
          "......" },
        { { 4.5, 3.5 },
          { 1.5, 0.5 },
          ".#...."
          "..#..."
          "...#.."
          "....#."
          "......" },
        { { 2.2, 3.9 },
          { 2.8, 3.1 },
          "......"
          "......"
          "......"
          "..#..."
          "......" },
        { { -3.5, 2.5 },
          { 1.5, 2.5 },
          "......"
          "......"
          "##...."
          "......"
          "......" },
        { { 1e9, 2.5 }, { 1.5, 2.5 }, NULL },
        { { NAN, 2.5 }, { 1.5, 2.5 }, NULL },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        uint8_t rgb[W * H * 3 + 3] = { 0 };
        vkt__mark_line(rgb, W, H, cases[i].from, cases[i].to, 3);
        for (int k = 0; k < W * H; k++)
            assert_int_equal(rgb[3 * k] || rgb[3 * k + 1] || rgb[3 * k + 2],
                             cases[i].want && cases[i].want[k] == '#');
        assert_true(!rgb[W * H * 3] && !rgb[W * H * 3 + 1] && !rgb[W * H * 3 + 2]);
    }
}

/* An arm's pixels on each side of the middle, in one colour, in a dark rim of one pixel; what lies
 * beyond the picture is left out. */
static void a_cross_is_the_same_on_all_sides(void **state)
{
    (void)state;
    enum { W = 15, H = 13, X = 7, Y = 6, ARM = 3, PLAIN = 77 };
    static uint8_t rgb[H][W][3];
    memset(rgb, PLAIN, sizeof rgb);
    vkt__mark_cross(rgb[0][0], W, H, X + 0.9, Y + 0.1, ARM, 0);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int dx = abs(x - X), dy = abs(y - Y), along = VKT_MAX(dx, dy), beside = VKT_MIN(dx, dy);
            const uint8_t *is = rgb[y][x];
            bool dark = !(is[0] | is[1] | is[2]), plain = is[0] == PLAIN && is[1] == PLAIN;
            if (along <= ARM && beside == 0)
                assert_true(!dark && !memcmp(is, rgb[Y][X], 3));
            else if (along <= ARM + 1 && beside <= 1)
                assert_true(dark);
            else
                assert_true(plain && is[2] == PLAIN);
        }
    memset(rgb, PLAIN, sizeof rgb);
    vkt__mark_cross(rgb[0][0], W, H, -1, -1, 1, 0); /* of this one a corner of the rim is seen */
    assert_true(rgb[0][0][0] == 0 && rgb[0][1][0] == 0 && rgb[1][0][0] == 0);
    assert_true(rgb[1][1][0] == PLAIN && rgb[0][2][0] == PLAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotation),
        cmocka_unit_test(perspective),
        cmocka_unit_test(mirrors_and_colours),
        cmocka_unit_test(rand_augment),
        cmocka_unit_test(cutmix_exchanges_a_box),
        cmocka_unit_test(a_cross_is_the_same_on_all_sides),
        cmocka_unit_test(views_of_an_example),
        cmocka_unit_test(lines_are_drawn),
    };
    return cmocka_run_group_tests_name("picture_ops", tests, setup, teardown);
}
