/* data: the shuffled stream and the loader. */
#define DIR "test_loader_tmp"
#include "data_files.h"

static void stream_is_a_permutation_each_epoch(void **state)
{
    (void)state;
    static const uint64_t sizes[] = { 1, 2, 37 };
    for (size_t s = 0; s < VKT_COUNT(sizes); s++) {
        uint64_t n = sizes[s], same = 0;
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            bool seen[37] = { 0 };
            for (uint64_t i = 0; i < n; i++) {
                uint64_t at = vkt_stream_index(5, n, epoch * n + i);
                assert_true(at < n && !seen[at]);
                seen[at] = true;
                same += at == vkt_stream_index(6, n, epoch * n + i);
                same += at == vkt_stream_index(5, n, (epoch + 1) * n + i);
            }
        }
        if (n == 37) assert_true(same < 20); /* 222 pairs, one in 37 agrees by chance */
    }
    /* Each of 4 examples comes first about as often. */
    int first[4] = { 0 };
    for (uint64_t epoch = 0; epoch < 4000; epoch++) first[vkt_stream_index(7, 4, 4 * epoch)]++;
    for (int i = 0; i < 4; i++) REQUIRE_NEAR(first[i], 1000, 5 * sqrt(750.0));
}

#define BATCH 8

typedef struct ring {
    vkt_batch slot[4];
    float x[4][BATCH * 20], w[4][BATCH];
    vkt_label y[4][BATCH];
} ring;

static vkt_loader *start_loader(ring *r, vkt_loader_desc d)
{
    vkt_loader *l;
    for (int i = 0; i < 4; i++) {
        r->slot[i] = (vkt_batch) { .x = r->x[i], .y = r->y[i], .w = r->w[i] };
        memset(r->x[i], 0xff, sizeof r->x[i]);
    }
    d.batch = d.batch ? d.batch : BATCH;
    d.n_slots = d.n_slots ? d.n_slots : 3;
    d.slots = r->slot;
    REQUIRE_OK(vkt_loader_create(&d, &l));
    return l;
}

static void require_example(const vkt_dataset *ds, const vkt_batch *b, uint32_t i, uint64_t want)
{
    float x[20];
    vkt_label y;
    vkt_dataset_example(ds, VKT_SPLIT_TRAIN, want, x, &y);
    assert_memory_equal(b->x + i * 20, x, sizeof x);
    assert_int_equal(b->y[i].u, y.u);
    assert_int_equal(b->index[i], want);
}

static void loader_follows_the_stream(void **state)
{
    (void)state;
    static ring r;
    static const uint32_t sizes[] = { 30, 3 }; /* 3: many epochs in a batch */
    for (int s = 0; s < 2; s++) {
        uint32_t n = sizes[s];
        vkt_dataset *ds = idx_dataset(n);
        for (uint32_t n_slots = 1; n_slots <= 4; n_slots++) {
            for (uint32_t threads = 0; threads <= 3; threads++) {
                for (uint64_t start = 0; start <= 14; start += 7) {
                    vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds,
                                                                         .shuffle = true,
                                                                         .seed = 11,
                                                                         .start = start,
                                                                         .n_threads = threads,
                                                                         .n_slots = n_slots });
                    for (uint64_t k = 0; k < 12; k++) {
                        uint32_t slot;
                        double wait = -1;
                        REQUIRE_OK(vkt_loader_next(l, &slot, &wait));
                        assert_int_equal(slot, k % n_slots);
                        assert_true(wait >= 0 && wait < 10);
                        const vkt_batch *b = &r.slot[slot];
                        assert_int_equal(b->first, (start + k) * BATCH);
                        assert_int_equal(b->n_valid, BATCH);
                        assert_true(b->weight == BATCH);
                        for (uint32_t i = 0; i < BATCH; i++) {
                            assert_true(b->w[i] == 1.0f / BATCH);
                            require_example(ds, b, i, vkt_stream_index(11, n, b->first + i));
                        }
                        vkt_loader_release(l, slot);
                    }
                    vkt_loader_destroy(&l);
                }
            }
        }
        vkt_dataset_destroy(&ds);
    }
}

static void loader_pass_pads_and_ends(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        for (int raw = 0; raw < 2; raw++) {
            vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds,
                                                                 .n_threads = threads,
                                                                 .weight = raw ? 1.0f : 0.0f });
            uint32_t slot, seen = 0;
            double total = 0;
            for (uint64_t k = 0;; k++) {
                REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
                if (slot == UINT32_MAX) break;
                const vkt_batch *b = &r.slot[slot];
                double sum = 0;
                assert_int_equal(b->n_valid, k == 3 ? 6 : 8);
                assert_true(b->weight == b->n_valid);
                assert_int_equal(b->first, k * BATCH);
                for (uint32_t i = 0; i < BATCH; i++) {
                    sum += b->w[i];
                    if (i >= b->n_valid) assert_true(b->w[i] == 0);
                    require_example(ds, b, i, i < b->n_valid ? seen++ : 0);
                }
                REQUIRE_NEAR(sum, raw ? b->n_valid : 1, BATCH * 6e-8);
                total += sum;
                vkt_loader_release(l, slot);
            }
            assert_int_equal(seen, 30);
            if (raw) assert_true(total == 30);
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL)); /* stays at the end */
            assert_int_equal(slot, UINT32_MAX);
            vkt_loader_destroy(&l);
        }
    }
    vkt_dataset_destroy(&ds);
}

static void loader_limit_is_evenly_spread(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    uint32_t slot, seen = 0;
    vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds, .limit = 10, .start = 0 });
    while (vkt_loader_next(l, &slot, NULL) == VKT_OK && slot != UINT32_MAX) {
        const vkt_batch *b = &r.slot[slot];
        assert_int_equal(b->first, 3 * seen);
        for (uint32_t i = 0; i < b->n_valid; i++) require_example(ds, b, i, 3 * seen++);
        vkt_loader_release(l, slot);
    }
    assert_int_equal(seen, 10);
    vkt_loader_destroy(&l);
    l = start_loader(
        &r, (vkt_loader_desc) { .data = ds, .limit = 1000, .start = 3 }); /* more than there are */
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    assert_int_equal(r.slot[slot].n_valid, 6);
    vkt_loader_destroy(&l);
    vkt_dataset_destroy(&ds);
}

static void loader_class_weights_normalise(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    const float cw[] = { 0.3f, 1, 2.5f };
    for (int raw = 0; raw < 2; raw++) {
        uint32_t slot;
        vkt_loader *l = start_loader(
            &r, (vkt_loader_desc) { .data = ds, .class_weight = cw, .weight = raw ? 1.0f : 0.0f });
        for (int k = 0; k < 4; k++) {
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
            const vkt_batch *b = &r.slot[slot];
            double sum = 0, want = 0;
            for (uint32_t i = 0; i < b->n_valid; i++) {
                sum += (double)b->w[i] * cw[b->y[i].u];
                want += cw[b->y[i].u];
                assert_true(b->w[i] == (raw ? 1 : b->w[0]));
            }
            REQUIRE_NEAR(sum, raw ? want : 1, BATCH * 6e-8);
            REQUIRE_NEAR(b->weight, want, 1e-12);
            vkt_loader_release(l, slot);
        }
        vkt_loader_destroy(&l);
    }
    vkt_dataset_destroy(&ds);
}

static void loader_never_hangs(void **state)
{
    (void)state;
    static ring r;
    vkt_dataset *ds = idx_dataset(30);
    for (int round = 0; round < 60; round++) {
        uint32_t slot, n_slots = 1 + (uint32_t)round % 4;
        vkt_loader *l = start_loader(&r, (vkt_loader_desc) { .data = ds,
                                                             .shuffle = round & 1,
                                                             .n_threads = 1 + (uint32_t)round % 3,
                                                             .n_slots = n_slots });
        for (uint32_t i = 0; i < n_slots && i < (uint32_t)round % 6; i++)
            REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
        vkt_loader_destroy(&l); /* with 0 to n_slots batches not released */
        assert_null(l);
    }
    vkt_loader *l =
        start_loader(&r, (vkt_loader_desc) { .data = ds, .shuffle = true, .n_slots = 2 });
    uint32_t slot;
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_loader_next(l, &slot, NULL), VKT_E_ARG); /* instead of waiting for ever */
    REQUIRE_LOGGED("all 2 slots are in use");
    vkt_loader_release(l, 0);
    REQUIRE_OK(vkt_loader_next(l, &slot, NULL));
    assert_int_equal(slot, 0);
    vkt_loader_destroy(&l);
    vkt_loader_destroy(&l);
    REQUIRE_STATUS(
        vkt_loader_create(
            &(vkt_loader_desc) {
                .data = ds, .split = VKT_SPLIT_VALID, .batch = 8, .n_slots = 1, .slots = r.slot },
            &l),
        VKT_E_ARG);
    REQUIRE_LOGGED("the valid split has no examples");
    REQUIRE_STATUS(
        vkt_loader_create(&(vkt_loader_desc) { .data = ds, .n_slots = 1, .slots = r.slot }, &l),
        VKT_E_ARG);
    REQUIRE_LOGGED("batch (0)");
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
    vkt_dataset_destroy(&ds);
}

/* Prints how long the conversion of a batch takes; fails only far beyond what any build needs. */
static void loader_conversion_is_fast(void **state)
{
    (void)state;
    vkt_dataset *ds;
    REQUIRE_OK(vkt__remove_tree(DIR "/idx"));
    REQUIRE_OK(vkt__mkdirs(DIR "/idx"));
    put(DIR "/idx/train-images-idx3-ubyte", bytes, idx_images(bytes, 1024, 28, 28, 0));
    put(DIR "/idx/train-labels-idx1-ubyte", bytes, idx_labels(bytes, 1024, 10));
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    float *x = malloc(128 * 784 * sizeof *x), w[128], checksum = 0;
    vkt_label y[128];
    vkt_batch slot = { .x = x, .y = y, .w = w };
    vkt_loader *l;
    double best = 1;
    REQUIRE_OK(vkt_loader_create(
        &(vkt_loader_desc) {
            .data = ds, .batch = 128, .shuffle = true, .n_slots = 1, .slots = &slot },
        &l));
    for (int k = 0; k < 300; k++) {
        uint32_t s;
        double wait, start = vkt__now();
        REQUIRE_OK(vkt_loader_next(l, &s, &wait));
        if (k > 20) best = VKT_MIN(best, vkt__now() - start);
        checksum += x[k];
        vkt_loader_release(l, s);
    }
    vkt_loader_destroy(&l);
    double start = vkt__now();
    for (int k = 0; k < 100; k++)
        for (uint64_t i = 0; i < 128; i++)
            vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i * 7 % 1024, x + i * 784, &y[i]);
    double each = (vkt__now() - start) / 100;
    print_message(
        "128 x 784 pixels: converted in %.1f us, through the loader %.1f us (checksum %g)\n",
        each * 1e6, best * 1e6, (double)checksum);
    assert_true(each < 0.01);
    free(x);
    vkt_dataset_destroy(&ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stream_is_a_permutation_each_epoch),
        cmocka_unit_test(loader_follows_the_stream),
        cmocka_unit_test(loader_pass_pads_and_ends),
        cmocka_unit_test(loader_limit_is_evenly_spread),
        cmocka_unit_test(loader_class_weights_normalise),
        cmocka_unit_test(loader_never_hangs),
        cmocka_unit_test(loader_conversion_is_fast),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
