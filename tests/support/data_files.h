/* What the tests of the data layer share: files made here (IDX, CSV), data sets opened from them,
 * and refusals that must be one clear line. A test defines DIR, its own folder, before the include.
 */
#ifndef VKT_TESTS_DATA_FILES_H
#define VKT_TESTS_DATA_FILES_H

#include "own_folder.h"

#include <zlib.h>

#include "data/parts/parts.h"

static inline void put(const char *path, const void *data, size_t n)
{
    REQUIRE_OK(vkt__file_replace(path, data, n));
}

static inline void put_gz(const char *path, const void *data, size_t n)
{
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)n), (int)n);
    assert_int_equal(gzclose(f), Z_OK);
}

/* ---- IDX ---- */

/* n images of h x w (x c): pixel j of image i is (7 i + 3 j) % 256, label i % n_classes. */
static inline size_t idx_images(uint8_t *out, uint32_t n, uint32_t h, uint32_t w, uint32_t c)
{
    uint32_t dim[4] = { n, h, w, c }, rank = c ? 4 : 3, at = 4;
    memcpy(out, (uint8_t[]) { 0, 0, 8, (uint8_t)rank }, 4);
    for (uint32_t i = 0; i < rank; i++)
        for (int shift = 24; shift >= 0; shift -= 8) out[at++] = (uint8_t)(dim[i] >> shift);
    uint32_t size = h * w * (c ? c : 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < size; j++) out[at++] = (uint8_t)(7 * i + 3 * j);
    return at;
}

static inline size_t idx_labels(uint8_t *out, uint32_t n, uint32_t n_classes)
{
    memcpy(out, (uint8_t[]) { 0, 0, 8, 1, 0, 0, (uint8_t)(n >> 8), (uint8_t)n }, 8);
    for (uint32_t i = 0; i < n; i++) out[8 + i] = (uint8_t)(i % n_classes);
    return 8 + n;
}

static uint8_t bytes[1 << 20];

static inline void make_idx(const char *dir, uint32_t n, uint32_t n_test)
{
    char path[256];
    REQUIRE_OK(vkt__remove_tree(dir));
    REQUIRE_OK(vkt__mkdirs(dir));
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", dir);
    put_gz(path, bytes, idx_images(bytes, n, 4, 5, 0));
    snprintf(path, sizeof path, "%s/train-labels-idx1-ubyte", dir);
    put(path, bytes, idx_labels(bytes, n, 3));
    if (!n_test) return;
    snprintf(path, sizeof path, "%s/t10k-images-idx3-ubyte", dir);
    put(path, bytes, idx_images(bytes, n_test, 4, 5, 0));
    snprintf(path, sizeof path, "%s/t10k-labels-idx1-ubyte.gz", dir);
    put_gz(path, bytes, idx_labels(bytes, n_test, 3));
}

#define IDX_DESC .source = "idx", .path = DIR "/idx"

/* n colour images of side x side as an IDX data set, all bytes random, 3 classes. */
static inline vkt_dataset *noise_dataset(uint32_t n, uint32_t side)
{
    vkt_dataset *ds;
    make_idx(DIR "/idx", n, 0);
    size_t size = idx_images(bytes, n, side, side, 3);
    for (size_t i = 20; i < size; i++) bytes[i] = (uint8_t)vkt_rand_u32(3, VKT_RNG_TEST, i);
    REQUIRE_OK(vkt__remove_tree(DIR "/idx/train-images-idx3-ubyte.gz"));
    put(DIR "/idx/train-images-idx4-ubyte", bytes, size);
    REQUIRE_OK(vkt_dataset_open(
        &(vkt_data_desc) { IDX_DESC, .standardize = VKT_STANDARDIZE_CHANNEL }, &ds));
    return ds;
}

/* Opening must fail with the status and a log line that has both texts. */
static inline void refuse(const vkt_data_desc *desc, vkt_status want, const char *where,
                          const char *what)
{
    vkt_dataset *ds = (vkt_dataset *)1;
    TEST_LOG_CAPTURE();
    vkt_status st = vkt_dataset_open(desc, &ds);
    if (st == VKT_OK) print_error("opened, but should fail with '%s'\n", what);
    REQUIRE_STATUS(st, want);
    assert_null(ds);
    REQUIRE_LOGGED(where);
    REQUIRE_LOGGED(what);
    assert_ptr_equal(strchr(test_log, '\n'), test_log + strlen(test_log) - 1); /* one line */
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* ---- CSV ---- */

#define CSV DIR "/t.csv"
#define RAW .standardize = VKT_STANDARDIZE_NONE

static inline void put_csv(const char *text)
{
    put(CSV, text, strlen(text));
}

static inline vkt_dataset *open_csv(const char *text, vkt_data_desc d)
{
    vkt_dataset *ds;
    put_csv(text);
    d.source = "csv";
    d.path = CSV;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    return ds;
}

/* x of training example i, which must have n inputs. */
static inline const float *inputs(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t n)
{
    static float x[64];
    vkt_label y;
    assert_int_equal(vkt_dataset_get_info(ds)->n_inputs, n);
    vkt_dataset_example(ds, split, i, x, &y);
    return x;
}

static inline uint32_t class_of(const vkt_dataset *ds, uint64_t i)
{
    float x[64];
    vkt_label y;
    vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, x, &y);
    return y.u;
}

static inline void require_same_examples(const vkt_dataset *a, vkt_split split,
                                         const vkt_dataset *b)
{
    uint32_t n_inputs = vkt_dataset_get_info(a)->n_inputs;
    uint64_t n = vkt_dataset_get_info(a)->n[split];
    float x[2][64];
    vkt_label y[2];
    assert_int_equal(vkt_dataset_get_info(b)->n_inputs, n_inputs);
    assert_int_equal(vkt_dataset_get_info(b)->n[VKT_SPLIT_TEST], n);
    for (uint64_t i = 0; i < n; i++) {
        vkt_dataset_example(a, split, i, x[0], &y[0]);
        vkt_dataset_example(b, VKT_SPLIT_TEST, i, x[1], &y[1]);
        assert_memory_equal(x[0], x[1], n_inputs * sizeof(float));
        if (vkt_dataset_get_info(b)->has_labels) assert_int_equal(y[0].u, y[1].u);
    }
}

static inline vkt_dataset *open_with(const vkt_dataset *fitted, const char *path)
{
    vkt_dataset *ds;
    REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(fitted), path, &ds));
    assert_string_equal(vkt_dataset_schema(ds), vkt_dataset_schema(fitted));
    assert_int_equal(vkt_dataset_get_info(ds)->n[VKT_SPLIT_TRAIN], 0);
    return ds;
}

static inline vkt_dataset *idx_dataset(uint32_t n)
{
    vkt_dataset *ds;
    make_idx(DIR "/idx", n, 0);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { IDX_DESC }, &ds));
    return ds;
}

#endif
