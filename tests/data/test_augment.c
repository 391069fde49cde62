/* data: augmentation is a function of seed and position, and does what it says; mixup's weights;
 * balanced sampling; pictures that vanish under the loader. */
#define DIR "test_augment_tmp"
#include "data_files.h"

#include "data/dataset.h"
#include "data/pictures/augment.h"
#include "data/shuffle.h"

enum { SIDE = 6, N = 12, BATCH = 4 };

typedef float picture[SIDE][SIDE][3];

static void augmented(const vkt_dataset *ds, vkt_augment a, uint64_t position, uint64_t i,
                      picture x)
{
    vkt__scratch scratch = { 0 };
    vkt__draw draw = { &a, 9, position, NULL };
    REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, i, &draw, &scratch, &x[0][0][0]));
    vkt__scratch_finish(&scratch);
}

static void plain(const vkt_dataset *ds, uint64_t i, picture x)
{
    vkt_label y;
    REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, &x[0][0][0], &y));
}

static void flip_and_shift(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    picture x, a;
    int seen[5][5] = { { 0 } }, flipped = 0;
    plain(ds, 5, x);
    for (uint64_t p = 0; p < 400; p++) {
        augmented(ds, (vkt_augment) { .crop_padding = 2 }, p, 5, a);
        int found = 0;
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                bool same = true;
                for (int y = 0; y < SIDE && same; y++)
                    for (int k = 0; k < SIDE && same; k++)
                        same = memcmp(a[y][k],
                                      x[VKT_MIN(VKT_MAX(y + dy, 0), SIDE - 1)]
                                       [VKT_MIN(VKT_MAX(k + dx, 0), SIDE - 1)],
                                      sizeof a[y][k]) == 0;
                if (same) found++, seen[dy + 2][dx + 2]++;
            }
        assert_int_equal(found, 1);
        augmented(ds, (vkt_augment) { .flip = 0.25f }, p, 5, a);
        bool mirror = memcmp(a[2][0], x[2][SIDE - 1], sizeof a[2][0]) == 0;
        if (!mirror) assert_memory_equal(a, x, sizeof a);
        flipped += mirror;
    }
    for (int i = 0; i < 25; i++) assert_true(seen[i / 5][i % 5] > 0); /* 400 draws of 25 shifts */
    REQUIRE_NEAR(flipped, 100, 5 * sqrt(75.0));                       /* five standard deviations */
    vkt_dataset_destroy(&ds);
}

static void tones_and_holes(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    picture x, a;
    plain(ds, 2, x);
    double step = (double)ds->pixel_scale[0], least = 1e9, most = -1e9;
    for (uint64_t p = 0; p < 200; p++) {
        int holes = 0;
        augmented(ds, (vkt_augment) { .brightness = 0.2f }, p, 2, a);
        double shift = 0;
        for (int k = 0; k < SIDE; k++) /* all but clipped ones move by the same number of bytes */
            if (fabs((double)(a[0][k][0] - x[0][k][0])) > fabs(shift))
                shift = (double)(a[0][k][0] - x[0][k][0]);
        REQUIRE_NEAR(shift / step, round(shift / step), 1e-3);
        least = VKT_MIN(least, round(shift / step));
        most = VKT_MAX(most, round(shift / step));
        augmented(ds, (vkt_augment) { .cutout = 3 }, p, 2, a);
        for (int i = 0; i < SIDE * SIDE; i++) {
            bool hole = a[i / SIDE][i % SIDE][0] == 0 && a[i / SIDE][i % SIDE][1] == 0 &&
                        a[i / SIDE][i % SIDE][2] == 0;
            if (!hole)
                assert_memory_equal(a[i / SIDE][i % SIDE], x[i / SIDE][i % SIDE],
                                    sizeof a[i / SIDE][i % SIDE]);
            holes += hole;
        }
        assert_true(holes == 9 || holes == 6 || holes == 4); /* at an edge, at a corner */
        augmented(ds, (vkt_augment) { .erase = 1 }, p, 2, a);
        for (int i = 0, k = holes = 0; i < SIDE * SIDE; i++, k = 0) {
            for (int c = 0; c < 3; c++) k += a[i / SIDE][i % SIDE][c] == 0;
            holes += k == 3;
        }
        assert_true(holes <= 14); /* 33% of 36, its sides rounded */
    }
    assert_true(least >= -51 && least < -40 && most <= 51 && most > 40); /* 0.2 of 255 */
    vkt_dataset_destroy(&ds);
}

static void crops_are_inside_and_differ(void **state)
{
    (void)state;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    picture x, a, b;
    int same = 0;
    plain(ds, 7, x);
    for (uint64_t p = 0; p < 100; p++) {
        augmented(ds, (vkt_augment) { .area = 0.3f, .contrast = 0.1f }, p, 7, a);
        augmented(ds, (vkt_augment) { .area = 0.3f, .contrast = 0.1f }, p, 7, b);
        assert_memory_equal(a, b, sizeof a);
        augmented(ds, (vkt_augment) { .area = 0.3f, .contrast = 0.1f }, p + 1, 7, b);
        same += memcmp(a, b, sizeof a) == 0;
    }
    assert_true(same < 3);
    augmented(ds, (vkt_augment) { .area = 1, .flip = 1e-9f }, 0, 7, a);
    vkt_dataset_destroy(&ds);
}

/* The ratio of a crop's sides is as often above 1 as below: it is uniform in its logarithm. Seen by
 * the steps of two ramps, one along each side. */
static void crops_lie_as_often_as_they_stand(void **state)
{
    (void)state;
    enum { WIDE = 40, DRAWS = 4000 };
    static float x[WIDE][WIDE][3];
    vkt_dataset *ds;
    vkt__scratch scratch = { 0 };
    make_idx(DIR "/ramps", N, 0);
    size_t n = idx_images(bytes, N, WIDE, WIDE, 3);
    for (size_t i = 20; i < n; i++) {
        size_t at = (i - 20) / 3 % (WIDE * WIDE);
        bytes[i] = (uint8_t)(6 * ((i - 20) % 3 ? at / WIDE : at % WIDE));
    }
    REQUIRE_OK(vkt__remove_tree(DIR "/ramps/train-images-idx3-ubyte.gz"));
    put(DIR "/ramps/train-images-idx4-ubyte", bytes, n);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "idx", .path = DIR "/ramps" }, &ds));
    int lying = 0, standing = 0;
    for (uint64_t p = 0; p < DRAWS; p++) {
        vkt_augment a = { .area = 0.3f };
        REQUIRE_OK(vkt__dataset_fill(ds, VKT_SPLIT_TRAIN, 0, &(vkt__draw) { &a, 9, p }, &scratch,
                                     &x[0][0][0]));
        float w = x[20][WIDE - 2][0] - x[20][1][0], h = x[WIDE - 2][20][1] - x[1][20][1];
        lying += w > h, standing += w < h;
    }
    REQUIRE_NEAR((double)lying / (lying + standing), 0.5, 5 * sqrt(0.25 / DRAWS));
    vkt__scratch_finish(&scratch);
    vkt_dataset_destroy(&ds);
}

typedef struct ring {
    vkt_batch slot[2];
    float x[2][BATCH * SIDE * SIDE * 3], w[2][BATCH], w2[2][BATCH];
    vkt_label y[2][BATCH], y2[2][BATCH];
} ring;

static vkt_loader *start(ring *r, vkt_loader_desc d)
{
    vkt_loader *l;
    for (int i = 0; i < 2; i++)
        r->slot[i] = (vkt_batch) {
            .x = r->x[i], .y = r->y[i], .w = r->w[i], .y2 = r->y2[i], .w2 = r->w2[i]
        };
    d.batch = BATCH;
    d.n_slots = 2;
    d.slots = r->slot;
    d.shuffle = true;
    d.seed = 4;
    REQUIRE_OK(vkt_loader_create(&d, &l));
    return l;
}

static void mixup_blends_pairs(void **state)
{
    (void)state;
    enum { SIZE = SIDE * SIDE * 3 };
    static ring r;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    static float x[2][SIZE];
    vkt_augment a = { .mixup = 0.5f };
    const float cw[] = { 1, 2, 4 };
    vkt_loader *l = start(
        &r, (vkt_loader_desc) { .data = ds, .augment = &a, .class_weight = cw, .weight = 0.25f });
    for (int k = 0; k < 20; k++) {
        uint32_t s;
        double sum = 0;
        REQUIRE_OK(vkt_loader_next(l, &s, NULL));
        const vkt_batch *b = &r.slot[s];
        for (uint32_t i = 0; i < BATCH; i++) {
            vkt_label y[2];
            uint32_t j = BATCH - 1 - i;
            REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, b->index[i], x[0], &y[0]));
            REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, b->index[j], x[1], &y[1]));
            assert_int_equal(b->y[i].u, y[0].u);
            assert_int_equal(b->y2[i].u, y[1].u);
            float share = b->w[i] / 0.25f;
            assert_true(share >= 0.5f && share <= 1);
            REQUIRE_NEAR(b->w[i] + b->w2[i], 0.25, 1e-6);
            REQUIRE_NEAR(b->w[i], b->w[j], 0);
            for (int p = 0; p < SIZE; p++) /* three roundings of values to 4 */
                REQUIRE_NEAR(b->x[i * SIZE + (uint32_t)p], share * x[0][p] + (1 - share) * x[1][p],
                             1e-5);
            sum += (double)share * (double)cw[y[0].u] + (1 - (double)share) * (double)cw[y[1].u];
        }
        REQUIRE_NEAR(b->weight, sum, 1e-5);
        vkt_loader_release(l, s);
    }
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
    /* Beta(1/2, 1/2): mean 1/2, variance 1/8; five standard deviations of 4,000 draws. */
    double m = 0, v = 0;
    for (uint64_t i = 0; i < 4000; i++) m += (double)vkt__augment_mix(0.5f, 1, i) / 4000;
    for (uint64_t i = 0; i < 4000; i++)
        v += pow((double)vkt__augment_mix(0.5f, 1, i) - m, 2) / 4000;
    REQUIRE_NEAR(m, 0.5, 5 * sqrt(0.125 / 4000));
    REQUIRE_NEAR(v, 0.125, 0.01);
}

static void loader_resumes_to_the_same_pictures(void **state)
{
    (void)state;
    static ring r, q;
    vkt_dataset *ds = noise_dataset(N, SIDE);
    vkt_augment a = { 1, 0.5f, 0.5f, 0.1f, 0.1f, 0.5f, 2, 0.3f };
    vkt_loader *l = start(&r, (vkt_loader_desc) { .data = ds, .augment = &a, .n_threads = 2 }), *m;
    for (uint64_t k = 0; k < 9; k++) {
        uint32_t s, t;
        REQUIRE_OK(vkt_loader_next(l, &s, NULL));
        m = start(&q, (vkt_loader_desc) { .data = ds, .augment = &a, .start = k });
        REQUIRE_OK(vkt_loader_next(m, &t, NULL));
        assert_memory_equal(r.x[s], q.x[t], sizeof q.x[t]);
        assert_memory_equal(r.w[s], q.w[t], sizeof q.w[t]);
        vkt_loader_destroy(&m);
        vkt_loader_release(l, s);
    }
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

/* Each rank fills its rows of a batch: together they are, byte for byte, the batch that one loader
 * fills, whatever an example is blended with, and whichever rank has that. */
static void ranks_fill_the_batch_of_one(void **state)
{
    (void)state;
    enum { SIZE = SIDE * SIDE * 3 };
    static ring whole, part;
    static const uint32_t cuts[][BATCH + 1] = {
        { 0, 2, 4 }, { 0, 1, 4 }, { 0, 3, 4 }, { 0, 1, 2, 3, 4 }
    };
    static const float cw[] = { 1, 2, 4 };
    static const vkt_augment ways[] = {
        { .crop_padding = 2, .flip = 0.5f },
        { .mixup = 0.5f, .crop_padding = 2, .flip = 0.5f },
        { .cutmix = 1, .area = 0.3f, .brightness = 0.2f, .contrast = 0.2f },
        { .mixup = 0.4f, .cutmix = 1, .randaugment = 2, .erase = 0.5f, .rotate = 10 },
    };
    vkt_dataset *ds = noise_dataset(N, SIDE);
    for (size_t c = 0; c < VKT_COUNT(cuts) * VKT_COUNT(ways); c++) {
        const uint32_t *cut = cuts[c / VKT_COUNT(ways)];
        vkt_loader_desc d = {
            .data = ds, .augment = &ways[c % VKT_COUNT(ways)], .class_weight = cw, .weight = 0.25f
        };
        for (uint64_t k = 0; k < 7; k++) { /* over the ends of epochs */
            uint32_t s, t;
            double weight = 0;
            d.start = k;
            d.row = d.rows = 0;
            vkt_loader *l = start(&whole, d), *m;
            REQUIRE_OK(vkt_loader_next(l, &s, NULL));
            for (const uint32_t *row = cut; *row < BATCH; row++) {
                d.row = row[0];
                d.rows = row[1] - row[0];
                m = start(&part, d);
                REQUIRE_OK(vkt_loader_next(m, &t, NULL));
                assert_memory_equal(part.x[t], whole.x[s] + d.row * SIZE,
                                    d.rows * SIZE * sizeof(float));
                assert_memory_equal(part.y[t], whole.y[s] + d.row, d.rows * sizeof(vkt_label));
                assert_memory_equal(part.y2[t], whole.y2[s] + d.row, d.rows * sizeof(vkt_label));
                assert_memory_equal(part.w[t], whole.w[s] + d.row, d.rows * sizeof(float));
                assert_memory_equal(part.w2[t], whole.w2[s] + d.row, d.rows * sizeof(float));
                assert_memory_equal(part.slot[t].index, whole.slot[s].index + d.row,
                                    d.rows * sizeof(uint32_t));
                assert_int_equal(part.slot[t].first, whole.slot[s].first + d.row);
                weight += part.slot[t].weight;
                vkt_loader_destroy(&m);
            }
            REQUIRE_NEAR(weight, whole.slot[s].weight, 1e-12);
            vkt_loader_destroy(&l);
        }
    }
    vkt_dataset_destroy(&ds);
}

static void balanced_stream(void **state)
{
    (void)state;
    vkt_dataset *ds;
    vkt__stream s;
    vkt__str text = { 0 };
    for (int i = 0; i < 36; i++) /* classes of 1, 5 and 30 */
        vkt__str_printf(&text, "%d,%s\n", i, i < 1 ? "a" : i < 6 ? "b" : "c");
    ds = open_csv(text.data, (vkt_data_desc) { RAW });
    vkt__str_finish(&text);
    REQUIRE_OK(vkt__stream_init(ds, VKT_SPLIT_TRAIN, true, 11, &s));
    int count[36] = { 0 }, order = 0;
    for (uint64_t i = 0; i < 90; i += 3) {
        bool has[3] = { false };
        for (uint64_t k = 0; k < 3; k++) {
            uint32_t at = vkt__stream_at(&s, i + k), c = class_of(ds, at);
            assert_false(has[c]);
            has[c] = true;
            count[at]++;
            order += (int)(c * k);
        }
    }
    assert_int_equal(count[0], 30);
    for (int i = 1; i < 6; i++) assert_int_equal(count[i], 6); /* epoch by epoch */
    for (int i = 6; i < 36; i++) assert_int_equal(count[i], 1);
    assert_true(order < 150); /* 5 a round, were the classes always in order */
    vkt__stream_finish(&s);
    vkt_dataset_destroy(&ds);
}

/* Classes of one size are drawn each in its own order. */
static void balanced_classes_have_orders_of_their_own(void **state)
{
    (void)state;
    enum { EACH = 20 };
    vkt__stream s;
    vkt__str text = { 0 };
    for (int i = 0; i < 2 * EACH; i++) vkt__str_printf(&text, "%d,%s\n", i, i < EACH ? "a" : "b");
    vkt_dataset *ds = open_csv(text.data, (vkt_data_desc) { RAW });
    vkt__str_finish(&text);
    REQUIRE_OK(vkt__stream_init(ds, VKT_SPLIT_TRAIN, true, 11, &s));
    uint32_t order[2][EACH], n[2] = { 0 };
    for (uint64_t i = 0; i < 2 * EACH; i++) {
        uint32_t at = vkt__stream_at(&s, i), c = at >= EACH;
        order[c][n[c]++] = at % EACH;
    }
    assert_true(n[0] == EACH && n[1] == EACH);
    assert_true(memcmp(order[0], order[1], sizeof order[0]) != 0);
    vkt__stream_finish(&s);
    vkt_dataset_destroy(&ds);
}

/* The loader draws an example's augmentation again in each epoch. */
static void epochs_augment_differently(void **state)
{
    (void)state;
    static ring r;
    enum { EPOCHS = 8, PIXELS = SIDE * SIDE * 3 };
    static float seen[N][EPOCHS][PIXELS];
    uint32_t n[N] = { 0 };
    vkt_dataset *ds = noise_dataset(N, SIDE);
    vkt_augment a = { .flip = 0.5f, .crop_padding = 2 };
    uint32_t n_train = (uint32_t)vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN];
    vkt_loader *l = start(&r, (vkt_loader_desc) { .data = ds, .augment = &a, .n_threads = 1 });
    for (uint32_t taken = 0; taken < n_train * EPOCHS;) {
        uint32_t s;
        REQUIRE_OK(vkt_loader_next(l, &s, NULL));
        for (uint32_t i = 0; i < BATCH; i++, taken++) {
            uint32_t at = vkt_stream_index(4, n_train, taken);
            if (n[at] < EPOCHS) memcpy(seen[at][n[at]++], r.x[s] + i * PIXELS, sizeof seen[0][0]);
        }
        vkt_loader_release(l, s);
    }
    for (uint32_t at = 0; at < n_train; at++) {
        uint32_t same = 0;
        assert_int_equal(n[at], EPOCHS);
        for (uint32_t e = 1; e < EPOCHS; e++)
            same += !memcmp(seen[at][0], seen[at][e], sizeof seen[0][0]);
        assert_true(same < EPOCHS - 1); /* all 8 of 50 forms the same: never by chance */
    }
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

/* A rank with one row of each batch, which may be the picture that is gone: the others' rows count.
 * If as many in a row as a batch has can't be read, the data is gone. */
static void rank_of_one_row(const vkt_dataset *ds)
{
    static ring r;
    uint32_t s, n_bad = 0;
    uint64_t k = 0;
    vkt_status st = VKT_OK;
    vkt_loader_desc d = { .data = ds, .weight = 1, .row = 2, .rows = 1 };
    vkt_loader *l = start(&r, d);
    for (; k < 12; k++) {
        REQUIRE_OK(vkt_loader_next(l, &s, NULL));
        bool bad = vkt_stream_index(4, 4, 4 * k + 2) == 1; /* a/2.bmp is second */
        REQUIRE_NEAR(r.w[s][0], bad ? 0 : 1, 0);
        REQUIRE_NEAR(r.slot[s].weight, r.w[s][0], 0);
        n_bad += bad;
        vkt_loader_release(l, s);
    }
    assert_true(n_bad > 0 && n_bad < 12);
    vkt_loader_destroy(&l);
    REQUIRE_OK(vkt__remove_tree(DIR "/gone"));
    l = start(&r, d);
    for (k = 0; st == VKT_OK && k < 12; k++) {
        st = vkt_loader_next(l, &s, NULL);
        if (st == VKT_OK) vkt_loader_release(l, s);
    }
    REQUIRE_STATUS(st, VKT_E_IO);
    assert_true(k <= BATCH);
    REQUIRE_LOGGED("none of the 4 examples of a batch can be read: is the data still there?");
    vkt_loader_destroy(&l);
}

/* A picture that goes while training: weight 0 and a line; or the end of the loader. */
static void picture_vanishes(void **state)
{
    (void)state;
    for (int stop = 0; stop < 2; stop++) {
        static ring r;
        vkt_dataset *ds;
        static const uint8_t bmp[] = { 'B', 'M', 58, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0,  40,
                                       0,   0,   0,  1, 0, 0, 0, 1, 0, 0, 0,  1, 0, 24, 0,
                                       0,   0,   0,  0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0,  0,
                                       0,   0,   0,  0, 0, 0, 0, 0, 0, 9, 8,  7, 0 };
        uint32_t s, n_zero = 0;
        vkt_status st = VKT_OK;
        REQUIRE_OK(vkt__mkdirs(DIR "/gone/a"));
        REQUIRE_OK(vkt__mkdirs(DIR "/gone/b"));
        for (int i = 0; i < 4; i++) {
            char path[100];
            snprintf(path, sizeof path, DIR "/gone/%c/%d.bmp", "ab"[i & 1], i);
            put(path, bmp, sizeof bmp);
        }
        REQUIRE_OK(
            vkt_dataset_open(&(vkt_data_desc) { .source = "images", .path = DIR "/gone" }, &ds));
        REQUIRE_OK(vkt__remove_tree(DIR "/gone/a/2.bmp"));
        TEST_LOG_CAPTURE();
        vkt_loader *l =
            start(&r, (vkt_loader_desc) { .data = ds, .weight = 1, .stop_on_bad = stop });
        for (int k = 0; k < 6 && st == VKT_OK; k++) {
            st = vkt_loader_next(l, &s, NULL);
            if (st != VKT_OK) break;
            for (uint32_t i = 0; i < BATCH; i++) n_zero += r.w[s][i] == 0;
            REQUIRE_NEAR(r.slot[s].weight, 3, 0);
            vkt_loader_release(l, s);
        }
        REQUIRE_LOGGED("can't open '" DIR "/gone/a/2.bmp'");
        REQUIRE_STATUS(st, stop ? VKT_E_FORMAT : VKT_OK); /* as a damaged one */
        if (!stop) assert_int_equal(n_zero, 6);
        vkt_loader_destroy(&l);
        if (!stop) rank_of_one_row(ds);
        vkt_log_set(NULL, NULL, VKT_LOG_INFO);
        vkt_dataset_destroy(&ds);
        REQUIRE_OK(vkt__remove_tree(DIR "/gone"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flip_and_shift),
        cmocka_unit_test(tones_and_holes),
        cmocka_unit_test(crops_are_inside_and_differ),
        cmocka_unit_test(crops_lie_as_often_as_they_stand),
        cmocka_unit_test(mixup_blends_pairs),
        cmocka_unit_test(loader_resumes_to_the_same_pictures),
        cmocka_unit_test(ranks_fill_the_batch_of_one),
        cmocka_unit_test(balanced_stream),
        cmocka_unit_test(balanced_classes_have_orders_of_their_own),
        cmocka_unit_test(epochs_augment_differently),
        cmocka_unit_test(picture_vanishes),
    };
    return cmocka_run_group_tests_name("augment", tests, setup, teardown);
}
