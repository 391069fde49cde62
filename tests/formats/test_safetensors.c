/* Files of weights: safetensors as written, refused and foreign. */
#include "testing.h"

#include <jansson.h>

#include "base/os.h"
#include "runs/checkpoint_set.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"
#include "formats/tfevents.h"

#define DIR "test_safetensors_tmp"

static int begin(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    return vkt__remove_tree(DIR) || vkt__mkdirs(DIR);
}

static int end(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

/* ---- safetensors ---- */

static float w0[6] = { 1, 2, 3, 4, 5, 6.5f }, w1[3] = { -1, 0, 1e-30f };

static vkt_status read_ramp(void *user, uint64_t offset, void *dst, uint64_t bytes)
{
    (void)user;
    for (uint64_t i = 0; i < bytes; i++)
        ((unsigned char *)dst)[i] = (unsigned char)((offset + i) * 7);
    return VKT_OK;
}

static const vkt__st_tensor model_tensors[] = {
    { .name = "0.weight", .dtype = "F32", .rank = 2, .shape = { 2, 3 }, .data = w0 },
    { .name = "0.bias", .dtype = "F32", .rank = 1, .shape = { 3 }, .data = w1 },
    { .name = "empty", .dtype = "F32", .rank = 2, .shape = { 0, 3 }, .data = w1 },
    { .name = "r\xc3\xa4mp", .dtype = "U8", .rank = 1, .shape = { 3000000 }, .read = read_ramp },
};
static const vkt__st_tensor small_tensors[] = {
    { .name = "0.weight", .dtype = "F32", .rank = 2, .shape = { 2, 3 }, .data = w0 },
    { .name = "0.bias", .dtype = "F32", .rank = 1, .shape = { 3 }, .data = w1 },
};

static void safetensors_come_back(void **state)
{
    (void)state;
    vkt__st_digest digest;
    vkt__safetensors *s;
    const vkt__st_meta meta[] = { { "format", "pt" }, { "note", "quote \" and \xc3\xa4" } };
    REQUIRE_OK(vkt__safetensors_write(DIR "/a.safetensors", model_tensors, 4, meta, 2, &digest));
    REQUIRE_OK(vkt__safetensors_open(DIR "/a.safetensors", &s));
    assert_string_equal(vkt__safetensors_meta(s, "note"), "quote \" and \xc3\xa4");
    vkt__st_digest back = vkt__safetensors_digest(s);
    assert_true(back.bytes == digest.bytes && back.header_crc == digest.header_crc);
    assert_int_equal((digest.bytes - 3000036) % 64, 0);
    float a[6], b[3];
    unsigned char *ramp = malloc(3000000);
    const vkt__st_tensor want[] = {
        { .name = "r\xc3\xa4mp", .dtype = "U8", .rank = 1, .shape = { 3000000 }, .data = ramp },
        { .name = "0.bias", .dtype = "F32", .rank = 1, .shape = { 3 }, .data = b },
        { .name = "0.weight", .dtype = "F32", .rank = 2, .shape = { 2, 3 }, .data = a },
    };
    REQUIRE_OK(vkt__safetensors_load(s, want, 3, true));
    assert_memory_equal(a, w0, sizeof a);
    assert_memory_equal(b, w1, sizeof b);
    for (size_t i = 0; i < 3000000; i++) assert_int_equal(ramp[i], (unsigned char)(i * 7));
    free(ramp);

    REQUIRE_STATUS(vkt__safetensors_load(s, want, 3, false), VKT_E_FORMAT);
    REQUIRE_LOGGED("holds tensor 'empty', which the model does not have");
    vkt__st_tensor other = want[2];
    other.shape[0] = 3, other.shape[1] = 2;
    REQUIRE_STATUS(vkt__safetensors_load(s, &other, 1, true), VKT_E_FORMAT);
    REQUIRE_LOGGED("tensor '0.weight' is [2, 3] F32 in the file, [3, 2] F32 in the model");
    other.name = "1.weight";
    REQUIRE_STATUS(vkt__safetensors_load(s, &other, 1, true), VKT_E_FORMAT);
    REQUIRE_LOGGED("has no tensor '1.weight'");
    vkt__safetensors_close(&s);
}

static void safetensors_refuse_what_they_cant_write(void **state)
{
    (void)state;
    vkt__st_tensor t[2] = { small_tensors[0], small_tensors[0] };
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/x", t, 2, NULL, 0, NULL),
                   VKT_E_ARG); /* same name twice */
    t[0].name = "\xff";
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/x", t, 1, NULL, 0, NULL), VKT_E_ARG);
    t[0] = small_tensors[0], t[0].dtype = "F31";
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/x", t, 1, NULL, 0, NULL), VKT_E_ARG);
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/none/x", small_tensors, 1, NULL, 0, NULL),
                   VKT_E_IO);
    if (vkt__file_exists("/dev/full")) {
        REQUIRE_STATUS(vkt__safetensors_write("/dev/full", small_tensors, 2, NULL, 0, NULL),
                       VKT_E_IO);
        REQUIRE_LOGGED("No space left");
    }
}

static void count_tensor(void *user, const vkt_tensor_info *t)
{
    *(int *)user += t->rank == 1 ? 1 : 100;
}

/* A file by hand: header text and n bytes of data. */
static void write_raw(const char *header, uint64_t header_bytes, size_t n)
{
    vkt__str s = { 0 };
    for (int i = 0; i < 8; i++) vkt__str_add(&s, &(char) { (char)(header_bytes >> (8 * i)) }, 1);
    vkt__str_add(&s, header, strlen(header));
    for (size_t i = 0; i < n; i++) vkt__str_add(&s, "x", 1);
    REQUIRE_OK(vkt__file_replace(DIR "/raw", s.data, s.len));
    vkt__str_finish(&s);
}

static void malformed_safetensors_are_refused(void **state)
{
    (void)state;
#define T(name, dtype, shape, from, to)                                                            \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to   \
    "]}"
    static const struct {
        const char *header, *words;
        size_t data;
    } cases[] = {
        { "", "its header should have 0 bytes", 0 },
        { "[]", "no JSON header", 0 },
        { "{\"a\":", "not a safetensors file", 0 },
        { "{} x", "not a safetensors file", 0 },
        { "{}", "4 bytes of data belong to no tensor", 4 },
        { "{\"a\":3}", "lacks dtype, shape or data_offsets", 0 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "lacks dtype, shape or data_offsets", 4 },
        { "{\"a\":{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]}}", "lacks dtype", 4 },
        { "{" T("a", "F31", "[1]", 0, 4) "}", "unknown dtype 'F31'", 4 },
        { "{" T("a", "F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", "9 dimensions; at most 8", 4 },
        { "{" T("a", "F32", "[-1]", 0, 4) "}", "a dimension is not a whole number", 4 },
        { "{" T("a", "F32", "[1.0]", 0, 4) "}", "a dimension is not a whole number", 4 },
        { "{" T("a", "F32", "{}", 0, 4) "}", "lacks dtype", 4 },
        { "{" T("a", "F32", "[4611686018427387904]", 0, 0) "}", "its shape is too large", 0 },
        { "{" T("a", "F32", "[4294967296,4294967296,4]", 0, 0) "}", "its shape is too large", 0 },
        { "{" T("a", "F32", "[99999999999999999999]", 0, 0) "}", "not a safetensors file", 0 },
        { "{" T("a", "F32", "[2]", 0, 4) "}", "needs 8 bytes, its data_offsets give 4", 4 },
        { "{" T("a", "F32", "[1]", 4, 0) "}", "not two rising whole numbers", 4 },
        { "{" T("a", "F32", "[1]", -4, 0) "}", "not two rising whole numbers", 4 },
        { "{" T("a", "F32", "[2]", 0, 8) "}",
          "cut short: tensor 'a' ends at byte 8 of the data, the file has 7", 7 },
        { "{" T("a", "F32", "[1]", 4, 8) "}", "leaves a gap", 8 },
        { "{" T("a", "F32", "[1]", 0, 4) "," T("b", "F32", "[1]", 0, 4) "}", "tensor 'b' overlaps",
          4 },
        { "{" T("a", "F32", "[2]", 0, 8) "," T("b", "F32", "[1]", 4, 8) "}", "tensor 'b' overlaps",
          8 },
        { "{" T("a", "F32", "[1]", 0, 4) "," T("b", "F32", "[1]", 8, 12) "}",
          "tensor 'b' leaves a gap", 12 },
        { "{" T("a", "F32", "[1]", 0, 4) "," T("a", "F32", "[1]", 4, 8) "}", "duplicate", 8 },
        { "{\"__metadata__\":{\"a\":1}}", "__metadata__ 'a' is not a text", 0 },
        { "{\"__metadata__\":[]}", "__metadata__ is not an object", 0 },
        { "{\"\\u0000\":1}", "not a safetensors file", 0 },
        { "{\"__metadata__\":{\"crc32.a\":\"00000000\"}," T("a", "F32", "[1]", 0, 4) "}",
          "tensor 'a' is damaged", 4 },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt__safetensors *s;
        TEST_LOG_CAPTURE();
        write_raw(cases[i].header, strlen(cases[i].header), cases[i].data);
        vkt_status st = vkt__safetensors_open(DIR "/raw", &s);
        if (st == VKT_OK) st = vkt__safetensors_verify(s), vkt__safetensors_close(&s);
        if (st != VKT_E_FORMAT) print_error("case %zu: %s\n", i, cases[i].header);
        REQUIRE_STATUS(st, VKT_E_FORMAT);
        REQUIRE_LOGGED(cases[i].words);
        REQUIRE_LOGGED("'" DIR "/raw'");
    }
    static const uint64_t lengths[] = {
        3, 1000, 100000001, UINT64_MAX, 1ull << 63, UINT64_MAX - 7
    };
    for (size_t i = 0; i < VKT_COUNT(lengths); i++) {
        write_raw("{}", lengths[i], 0);
        REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_E_FORMAT);
    }
    vkt__str deep = { 0 };
    vkt__str_add(&deep, "{\"a\":", 5);
    for (int i = 0; i < 100000; i++) vkt__str_add(&deep, "[", 1);
    write_raw(deep.data, deep.len, 0);
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_E_FORMAT);
    vkt__str_finish(&deep);
    REQUIRE_OK(vkt__file_replace(DIR "/raw", "abc", 3));
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_E_FORMAT);
    REQUIRE_LOGGED("cut short: 3 bytes");
    REQUIRE_STATUS(vkt_safetensors_list(DIR, count_tensor, NULL, NULL), VKT_E_IO);
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/none", count_tensor, NULL, NULL), VKT_E_IO);
}

/* A header that is large, and whole, and no model. */
static void a_million_tensors_are_refused(void **state)
{
    (void)state;
    enum { MOST = 1 << 20 };
    vkt__str s = { 0 };
    vkt__str_printf(&s, "{");
    for (int i = 0; i <= MOST; i++) vkt__str_printf(&s, "\"%d\":0%s", i, i < MOST ? "," : "}");
    write_raw(s.data, s.len, 0);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_E_FORMAT);
    REQUIRE_LOGGED("the header holds more than 1048576 tensors");
    vkt__str_finish(&s);
}

static void foreign_safetensors_load(void **state)
{
    (void)state;
    int count = 0;
    char *meta;
    /* Header order need not be file order; no checksums, no metadata; trailing spaces. */
    const char *h = "{" T("b", "F16", "[2]", 4,
                          8) "," T("a", "F32", "[]", 0, 4) "," T("z", "I64", "[3,0]", 8, 8) "}    ";
    write_raw(h, strlen(h), 8);
    REQUIRE_OK(vkt_safetensors_list(DIR "/raw", count_tensor, &count, &meta));
    assert_int_equal(count, 201);
    assert_null(meta);
    h = "{\"__metadata__\":{\"format\":\"pt\"}}";
    write_raw(h, strlen(h), 0);
    REQUIRE_OK(vkt_safetensors_list(DIR "/raw", count_tensor, &count, &meta));
    assert_string_equal(meta, "{\"format\":\"pt\"}");
    free(meta);
#undef T
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(safetensors_come_back),
        TEST(safetensors_refuse_what_they_cant_write),
        TEST(malformed_safetensors_are_refused),
        TEST(a_million_tensors_are_refused),
        TEST(foreign_safetensors_load),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
