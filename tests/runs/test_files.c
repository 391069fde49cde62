/* what the trainer writes and reads: safetensors, checkpoints, metrics, event files, run folders.
 */
#include "testing.h"

#include <jansson.h>

#include "base/os.h"
#include "runs/checkpoint.h"
#include "runs/metrics.h"
#include "runs/run_folder.h"
#include "formats/tfevents.h"

#define DIR "test_files_tmp"

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

static char *read_all(const char *path, size_t *n)
{
    char *data;
    REQUIRE_OK(vkt__file_read(path, 1 << 30, &data, n));
    return data;
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

    REQUIRE_STATUS(vkt__safetensors_load(s, want, 3, false), VKT_FORMAT);
    REQUIRE_LOGGED("holds tensor 'empty', which the model has not");
    vkt__st_tensor other = want[2];
    other.shape[0] = 3, other.shape[1] = 2;
    REQUIRE_STATUS(vkt__safetensors_load(s, &other, 1, true), VKT_FORMAT);
    REQUIRE_LOGGED("tensor '0.weight' is [2, 3] F32 in the file, [3, 2] F32 in the model");
    other.name = "1.weight";
    REQUIRE_STATUS(vkt__safetensors_load(s, &other, 1, true), VKT_FORMAT);
    REQUIRE_LOGGED("has no tensor '1.weight'");
    vkt__safetensors_close(&s);
}

static void safetensors_refuse_what_they_cant_write(void **state)
{
    (void)state;
    vkt__st_tensor t[2] = { small_tensors[0], small_tensors[0] };
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/x", t, 2, NULL, 0, NULL),
                   VKT_ARG); /* same name twice */
    t[0].name = "\xff";
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/x", t, 1, NULL, 0, NULL), VKT_ARG);
    t[0] = small_tensors[0], t[0].dtype = "F31";
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/x", t, 1, NULL, 0, NULL), VKT_ARG);
    REQUIRE_STATUS(vkt__safetensors_write(DIR "/none/x", small_tensors, 1, NULL, 0, NULL), VKT_IO);
    if (vkt__file_exists("/dev/full")) {
        REQUIRE_STATUS(vkt__safetensors_write("/dev/full", small_tensors, 2, NULL, 0, NULL),
                       VKT_IO);
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
        { "", "its header has 0 bytes", 0 },
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
        if (st != VKT_FORMAT) print_error("case %zu: %s\n", i, cases[i].header);
        REQUIRE_STATUS(st, VKT_FORMAT);
        REQUIRE_LOGGED(cases[i].words);
        REQUIRE_LOGGED("'" DIR "/raw'");
    }
    static const uint64_t lengths[] = {
        3, 1000, 100000001, UINT64_MAX, 1ull << 63, UINT64_MAX - 7
    };
    for (size_t i = 0; i < VKT_COUNT(lengths); i++) {
        write_raw("{}", lengths[i], 0);
        REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_FORMAT);
    }
    vkt__str deep = { 0 };
    vkt__str_add(&deep, "{\"a\":", 5);
    for (int i = 0; i < 100000; i++) vkt__str_add(&deep, "[", 1);
    write_raw(deep.data, deep.len, 0);
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_FORMAT);
    vkt__str_finish(&deep);
    REQUIRE_OK(vkt__file_replace(DIR "/raw", "abc", 3));
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/raw", count_tensor, NULL, NULL), VKT_FORMAT);
    REQUIRE_LOGGED("cut short: 3 bytes");
    REQUIRE_STATUS(vkt_safetensors_list(DIR, count_tensor, NULL, NULL), VKT_IO);
    REQUIRE_STATUS(vkt_safetensors_list(DIR "/none", count_tensor, NULL, NULL), VKT_IO);
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

/* ---- checkpoints ---- */

static vkt__checkpoint_desc checkpoint(uint64_t step, double value)
{
    return (vkt__checkpoint_desc) {
        .run_dir = DIR,
        .model = small_tensors,
        .n_model = 2,
        .optim = small_tensors,
        .n_optim = 2,
        .state = { .step = step,
                   .loader_batches = step + 5,
                   .seed = UINT64_MAX,
                   .config_hash = 0x8000000000000001u,
                   .data_hash = 7,
                   .metric = "accuracy",
                   .value = value,
                   .config = "a: \"b\"\n",
                   .schema = "{\"x\": 1}",
                   .extra = "{\"n_clipped\":3}" },
    };
}

static void save(uint64_t step, double value)
{
    vkt__checkpoint_desc d = checkpoint(step, value);
    REQUIRE_OK(vkt__checkpoint_write(&d));
}

static void checkpoints_come_back(void **state)
{
    (void)state;
    vkt__checkpoint *c;
    char path[256];
    save(1200, 0.5);
    save(1200, 0.75); /* again: replaced */
    REQUIRE_OK(vkt__checkpoint_newest(DIR, &c));
    const vkt__checkpoint_state *s = &c->state;
    assert_string_equal(c->dir, DIR "/checkpoints/step-00001200");
    assert_true(s->step == 1200 && s->loader_batches == 1205 && s->seed == UINT64_MAX &&
                s->value == 0.75);
    assert_true(s->config_hash == 0x8000000000000001u && s->data_hash == 7);
    assert_string_equal(s->config, "a: \"b\"\n");
    assert_string_equal(s->schema, "{\"x\": 1}");
    assert_string_equal(s->extra, "{\"n_clipped\":3}");
    assert_string_equal(s->metric, "accuracy");
    float a[6];
    vkt__st_tensor t = small_tensors[0];
    t.data = a;
    REQUIRE_OK(vkt__safetensors_load(c->optim, &t, 1, true));
    assert_memory_equal(a, w0, sizeof a);
    vkt__checkpoint_close(&c);

    save(1300, NAN);
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/checkpoints/step-00001300");
    REQUIRE_OK(vkt__checkpoint_link_best(DIR, "step-00001200"));
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/best");
    REQUIRE_OK(vkt__checkpoint_open(path, &c));
    assert_int_equal(c->state.step, 1200);
    vkt__checkpoint_close(&c);
    /* Where there are no links: a text with the target. One that leads elsewhere is not followed.
     */
    REQUIRE_OK(vkt__remove_tree(DIR "/best"));
    REQUIRE_OK(vkt__file_replace(DIR "/best", "checkpoints/step-00001200\r\n", 27));
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/checkpoints/step-00001200");
    REQUIRE_OK(vkt__file_replace(DIR "/best", "checkpoints/../../elsewhere", 27));
    REQUIRE_OK(vkt__checkpoint_find(DIR, path, sizeof path));
    assert_string_equal(path, DIR "/checkpoints/step-00001300");
    REQUIRE_OK(vkt__checkpoint_find(DIR "/checkpoints/step-00001200", path, sizeof path));
    REQUIRE_STATUS(vkt__checkpoint_find(DIR "/none", path, sizeof path), VKT_IO);
    REQUIRE_LOGGED("'" DIR "/none' is neither a run with checkpoints nor a checkpoint folder");
}

static void a_flipped_byte_is_found(void **state)
{
    (void)state;
    static const char *const files[] = { "state.json", "model.safetensors",
                                         "optimizer.safetensors" };
    save(10, 0.5);
    for (size_t k = 0; k < 3; k++) {
        char path[256];
        size_t n;
        snprintf(path, sizeof path, DIR "/checkpoints/step-00000010/%s", files[k]);
        char *data = read_all(path, &n);
        assert_true(n > 250);
        for (size_t at = k, i = 0; at < n; at += 7, i++) {
            char kept = data[at];
            data[at] ^= (char)(1 << i % 8);
            REQUIRE_OK(vkt__file_replace(path, data, n));
            vkt__checkpoint *c = NULL;
            TEST_LOG_CAPTURE();
            vkt_status st = vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c);
            if (st == VKT_OK) st = vkt__checkpoint_verify(c);
            if (st != VKT_FORMAT) print_error("%s, byte %zu of %zu\n", files[k], at, n);
            REQUIRE_STATUS(st, VKT_FORMAT);
            REQUIRE_LOGGED(files[k]);
            vkt__checkpoint_close(&c);
            data[at] = kept;
        }
        /* Cut short at any of many places, or missing. */
        for (size_t cut = 0; cut < n; cut += 61) {
            vkt__checkpoint *c = NULL;
            REQUIRE_OK(vkt__file_replace(path, data, cut));
            TEST_LOG_CAPTURE();
            REQUIRE_STATUS(vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c), VKT_FORMAT);
            REQUIRE_LOGGED(files[k]);
        }
        REQUIRE_OK(vkt__remove_tree(path));
        vkt__checkpoint *c = NULL;
        REQUIRE_STATUS(vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c), VKT_IO);
        REQUIRE_OK(vkt__file_replace(path, data, n));
        free(data);
    }
    vkt__checkpoint *c = NULL;
    REQUIRE_OK(vkt__checkpoint_open(DIR "/checkpoints/step-00000010", &c));
    REQUIRE_OK(vkt__checkpoint_verify(c));
    vkt__checkpoint_close(&c);
}

static void a_damaged_newest_falls_back(void **state)
{
    (void)state;
    vkt__checkpoint *c;
    REQUIRE_STATUS(vkt__checkpoint_newest(DIR, &c), VKT_IO);
    REQUIRE_LOGGED("no checkpoint in '" DIR "'");
    save(10, 0.5);
    save(20, 0.6);
    size_t n;
    char *data = read_all(DIR "/checkpoints/step-00000020/optimizer.safetensors", &n);
    data[n - 3] ^= 16;
    REQUIRE_OK(vkt__file_replace(DIR "/checkpoints/step-00000020/optimizer.safetensors", data, n));
    free(data);
    TEST_LOG_CAPTURE();
    REQUIRE_OK(vkt__checkpoint_newest(DIR, &c));
    assert_int_equal(c->state.step, 10);
    vkt__checkpoint_close(&c);
    REQUIRE_LOGGED("tensor '0.bias' is damaged");
    REQUIRE_LOGGED("step-00000020' can't be used; trying the one before it, step-00000010");
    REQUIRE_OK(vkt__remove_tree(DIR "/checkpoints/step-00000010/state.json"));
    REQUIRE_STATUS(vkt__checkpoint_newest(DIR, &c), VKT_IO);
    REQUIRE_LOGGED("no usable checkpoint in '" DIR "'");
}

static bool has(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, DIR "/checkpoints/%s", name);
    return vkt__file_exists(path);
}

/* Killed before each file operation in turn: what was there before is usable, and cleaning leaves
 * only whole checkpoints. `replace`: the killed write was of a step that existed. */
static void crash_everywhere(bool replace)
{
    bool finished = false;
    int n_crashes = 0;
    for (int k = 0; !finished; k++) {
        assert_int_equal(begin(NULL), 0);
        save(10, 0.5);
        if (replace) save(20, 0.5);
        vkt__crash crash = { k };
        vkt__checkpoint_desc d = checkpoint(20, 0.75);
        d.crash = &crash;
        vkt_status st = vkt__checkpoint_write(&d);
        assert_true(st == VKT_OK || st == VKT_INTERRUPTED);
        finished = st == VKT_OK;
        n_crashes += !finished;
        REQUIRE_OK(vkt__checkpoint_clean(DIR));
        char **names;
        size_t n;
        REQUIRE_OK(vkt__list_dir(DIR "/checkpoints", &names, &n));
        for (size_t i = 0; i < n; i++) assert_true(!strncmp(names[i], "step-", 5));
        vkt__names_free(names, n);
        vkt__checkpoint *c;
        REQUIRE_OK(vkt__checkpoint_newest(DIR, &c));
        if (replace) assert_int_equal(c->state.step, 20);
        if (finished) assert_true(c->state.step == 20 && c->state.value == 0.75);
        vkt__checkpoint_close(&c);
        assert_string_equal(test_log, ""); /* nothing was damaged */
        save(20, 0.8);                     /* and the next write goes through */
    }
    assert_int_equal(n_crashes, replace ? 11 : 9);
}

static void a_killed_write_leaves_the_earlier_ones(void **state)
{
    (void)state;
    crash_everywhere(false);
    crash_everywhere(true);
}

static void prune_keeps_the_best_and_the_last(void **state)
{
    (void)state;
    static const double values[] = { 0.2, 0.9, 0.5, 0.9, 0.8, NAN };
    bool finished = false;
    for (int k = 0; !finished; k++) {
        assert_int_equal(begin(NULL), 0);
        for (int i = 0; i < 6; i++) save((uint64_t)(i + 1), values[i]);
        vkt__crash crash = { k };
        vkt_status st = vkt__checkpoint_prune(DIR, 2, 1, &crash);
        finished = st == VKT_OK;
        if (!finished) REQUIRE_STATUS(st, VKT_INTERRUPTED);
        REQUIRE_OK(vkt__checkpoint_clean(DIR));
        assert_true(has("step-00000002") && has("step-00000004") && has("step-00000006"));
    }
    assert_false(has("step-00000001") || has("step-00000003") || has("step-00000005"));
    vkt__checkpoint_item *items;
    size_t n;
    REQUIRE_OK(vkt__checkpoint_list(DIR, &items, &n));
    assert_int_equal(n, 3);
    assert_int_equal(vkt__checkpoint_best(items, n, 1)->step, 2);
    free(items);
    REQUIRE_OK(vkt__checkpoint_prune(DIR, 1, -1, NULL));
    assert_true(has("step-00000002") && !has("step-00000004") && has("step-00000006"));
}

static void a_failed_write_leaves_nothing(void **state)
{
    (void)state;
    vkt__st_tensor t[2] = { small_tensors[0], small_tensors[0] };
    vkt__checkpoint_desc d = checkpoint(10, 0.5);
    d.model = t;
    REQUIRE_STATUS(vkt__checkpoint_write(&d), VKT_ARG);
    assert_false(has(".tmp-step-00000010") || has("step-00000010"));
}

/* ---- metrics ---- */

static void add_row(vkt__metrics *m, uint64_t step, const char *split, double loss)
{
    vkt__metrics_row r = vkt__metrics_row_empty(step, split);
    r.loss = loss;
    if (!split)
        r.lr = 0.1;
    else
        r.n = 100;
    REQUIRE_OK(vkt__metrics_add(m, &r));
}

static void require_file(const char *path, const char *want)
{
    size_t n;
    char *data = read_all(path, &n);
    assert_string_equal(data, want);
    free(data);
}

static void append(const char *path, const char *text)
{
    FILE *f;
    REQUIRE_OK(vkt__file_append(path, &f));
    fputs(text, f);
    fclose(f);
}

static void metrics_are_cut_at_the_resumed_step(void **state)
{
    (void)state;
    vkt__metrics *m;
#define HEADING                                                                                    \
    "kind,step,split,loss,accuracy,mae,perplexity,bits_per_byte,balanced_accuracy,macro_f1,"       \
    "grad_norm,clip,lr,items_per_s,input_wait,update_ok,loss_scale,skipped,seconds,n\n"
    static const char jsonl2[] =
        "{\"kind\":\"train\",\"step\":1,\"loss\":0.5,\"lr\":0.1}\n"
        "{\"kind\":\"train\",\"step\":2,\"loss\":null,\"lr\":0.1}\n"
        "{\"kind\":\"eval\",\"step\":2,\"split\":\"valid\",\"loss\":0.25,\"n\":100}\n";
    static const char csv2[] =
        HEADING "train,1,,0.5,,,,,,,,,0.1,,,,,,,\ntrain,2,,nan,,,,,,,,,0.1,,,,,,,\n"
                "eval,2,valid,0.25,,,,,,,,,,,,,,,,100\n";
    for (int torn = 0; torn < 4; torn++) {
        REQUIRE_OK(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m));
        add_row(m, 1, NULL, 0.5);
        add_row(m, 2, NULL, NAN);
        add_row(m, 2, "valid", 0.25);
        if (torn) add_row(m, 3, NULL, 0.125);
        vkt__metrics_close(&m);
        if (torn == 2) {
            append(DIR "/metrics.jsonl", "{\"kind\":\"train\",\"step\":2,\"lo");
            append(DIR "/metrics.csv", "train,2,");
        }
        if (torn == 3)
            append(DIR "/metrics.jsonl", "not json at all\n"), append(DIR "/metrics.csv", "\n,\n");
        REQUIRE_OK(vkt__metrics_open(DIR, 2, &m));
        require_file(DIR "/metrics.jsonl", jsonl2);
        require_file(DIR "/metrics.csv", csv2);
        add_row(m, 3, NULL, 1);
        vkt__metrics_close(&m);
    }
    size_t n;
    char *data = read_all(DIR "/metrics.jsonl", &n);
    assert_string_equal(data + sizeof jsonl2 - 1,
                        "{\"kind\":\"train\",\"step\":3,\"loss\":1,\"lr\":0.1}\n");
    free(data);
    REQUIRE_OK(vkt__metrics_open(DIR, 0, &m)); /* resumed before the first checkpoint's rows */
    require_file(DIR "/metrics.jsonl", "");
    require_file(DIR "/metrics.csv", HEADING);
    vkt__metrics_close(&m);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    vkt__metrics *m;
    if (!vkt__file_exists("/dev/full")) skip();
    REQUIRE_OK(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m));
    vkt__metrics_close(&m);
    REQUIRE_OK(vkt__link_replace("/dev/full", DIR "/metrics.jsonl"));
    REQUIRE_OK(vkt__metrics_open(DIR, VKT__METRICS_NEW, &m));
    vkt__metrics_row r = vkt__metrics_row_empty(1, NULL);
    REQUIRE_STATUS(vkt__metrics_add(m, &r), VKT_IO);
    REQUIRE_LOGGED("can't write '" DIR "/metrics.jsonl': is the disk full?");
    vkt__metrics_close(&m);
}

static void predictions_are_csv(void **state)
{
    (void)state;
    const char *const classes[] = { "cat, big", "say \"dog\"" };
    const float value[] = { 0.25f, 0.75f, 0.9f, 0.1f }, y[] = { 1.5f, 2 };
    const uint32_t target[] = { 1, 1 };
    vkt__predictions p = {
        .n = 2, .n_outputs = 2, .value = value, .target = target, .class_names = classes
    };
    REQUIRE_OK(vkt__predictions_save(DIR, 1200, &p));
    require_file(DIR "/predictions/step-00001200.csv",
                 "index,target,predicted,correct,\"p(cat, big)\",\"p(say \"\"dog\"\")\"\n"
                 "0,\"say \"\"dog\"\"\",\"say \"\"dog\"\"\",1,0.25,0.75\n1,\"say "
                 "\"\"dog\"\"\",\"cat, big\",0,0.9,0.1\n");
    p = (vkt__predictions) {
        .n = 2, .n_outputs = 1, .value = value, .target_value = y, .index = (uint64_t[]) { 7, 9 }
    };
    REQUIRE_OK(vkt__predictions_write(DIR "/r.csv", &p));
    require_file(DIR "/r.csv", "index,target,predicted\n7,1.5,0.25\n9,2,0.75\n");
}

/* ---- event files ---- */

/* Another form of the sum than the one under test: one table, byte by byte. */
static uint32_t other_crc32c(const unsigned char *p, size_t n)
{
    uint32_t table[256], c = 0xFFFFFFFF;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++)
            table[i] = table[i] & 1 ? table[i] >> 1 ^ 0x82F63B78 : table[i] >> 1;
    }
    for (size_t i = 0; i < n; i++) c = c >> 8 ^ table[(c ^ p[i]) & 255];
    return ~c;
}

static uint32_t le32(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t unmask(uint32_t m)
{
    uint32_t r = m - 0xA282EAD8;
    return r >> 17 | r << 15;
}

static void event_files_are_framed(void **state)
{
    (void)state;
    assert_int_equal(vkt__crc32c("123456789", 9), 0xE3069283);
    assert_int_equal(other_crc32c((const unsigned char *)"123456789", 9), 0xE3069283);
    vkt__tfevents *t;
    REQUIRE_OK(vkt__tfevents_open(DIR, UINT64_MAX, &t));
    REQUIRE_OK(vkt__tfevents_add(
        t, 300, (vkt__tfscalar[]) { { "train/loss", 1.5 }, { "x", NAN }, { "lr", 0.25 } }, 3));
    REQUIRE_OK(
        vkt__tfevents_add(t, 301, (vkt__tfscalar[]) { { "x", NAN } }, 1)); /* nothing to say */
    vkt__tfevents_close(&t);
    REQUIRE_OK(vkt__tfevents_open(DIR, 300, &t));
    vkt__tfevents_close(&t);
    char **names, path[1024];
    size_t n_names, n;
    REQUIRE_OK(vkt__list_dir(DIR, &names, &n_names));
    assert_int_equal(n_names, 2);
    for (size_t k = 0; k < 2; k++) {
        snprintf(path, sizeof path, DIR "/%s", names[k]);
        assert_true(!strncmp(names[k], "events.out.tfevents.", 20));
        unsigned char *d = (unsigned char *)read_all(path, &n);
        size_t at = 0, records = 0;
        while (at < n) {
            size_t len = le32(d + at);
            assert_true(at + 16 + len <= n);
            assert_int_equal(le32(d + at + 4), 0);
            assert_int_equal(unmask(le32(d + at + 8)), other_crc32c(d + at, 8));
            assert_int_equal(unmask(le32(d + at + 12 + len)), other_crc32c(d + at + 12, len));
            const unsigned char *e = d + at + 12;
            assert_int_equal(e[0], 0x09); /* wall_time */
            double now;
            memcpy(&now, e + 1, 8);
            REQUIRE_NEAR(now, vkt__time_unix(), 60);
            static const unsigned char version[] = "\x1a\x0d"
                                                   "brain.Event:2";
            static const unsigned char scalars[] = "\x10\xac\x02\x2a\x1e"
                                                   "\x0a\x11\x0a\x0a"
                                                   "train/loss\x15\x00\x00\xc0\x3f"
                                                   "\x0a\x09\x0a\x02lr\x15\x00\x00\x80\x3e";
            static const unsigned char start[] = "\x10\xad\x02\x3a\x02\x08\x01";
            const unsigned char *want = records == 0 ? version : k == 0 ? scalars : start;
            size_t want_len = records == 0 ? sizeof version - 1
                              : k == 0     ? sizeof scalars - 1
                                           : sizeof start - 1;
            assert_int_equal(len, 9 + want_len);
            assert_memory_equal(e + 9, want, want_len);
            at += 16 + len;
            records++;
        }
        assert_int_equal(records, 2);
        free(d);
    }
    vkt__names_free(names, n_names);
}

/* ---- runs ---- */

static void run_folders_are_not_shared(void **state)
{
    (void)state;
    vkt__run *r, *other;
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", true, &r), VKT_ARG);
    REQUIRE_LOGGED("no run in '" DIR "/a' to resume");
    assert_false(vkt__file_exists(DIR "/a"));
    REQUIRE_OK(vkt__run_open(DIR "/a", "x", false, &r));
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", false, &other), VKT_ARG);
    REQUIRE_LOGGED("another process trains into '" DIR "/a'");
    vkt__run_record rec = vkt__run_record_empty();
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
    REQUIRE_STATUS(vkt__run_open(DIR "/a", "x", false, &r), VKT_ARG);
    REQUIRE_LOGGED("'" DIR
                   "/a' already holds a run: add --resume to go on with it, or give another --run");
    REQUIRE_OK(vkt__mkdirs(DIR "/a/checkpoints/.tmp-step-00000003"));
    REQUIRE_OK(vkt__run_open(DIR "/a", "x", true, &r));
    assert_false(vkt__file_exists(DIR "/a/checkpoints/.tmp-step-00000003"));
    vkt__run_close(&r);
    REQUIRE_OK(vkt__file_replace(DIR "/file", "x", 1));
    REQUIRE_STATUS(vkt__run_open(DIR "/file", "x", false, &r), VKT_ARG);
    REQUIRE_LOGGED("is a file, not a folder");
    REQUIRE_STATUS(vkt__run_open(DIR "/file/b", "x", false, &r), VKT_IO);
    REQUIRE_LOGGED("can't create folder '" DIR "/file'");
    REQUIRE_STATUS(vkt__run_open(NULL, "x", true, &r), VKT_ARG);
    REQUIRE_LOGGED("--resume needs --run DIR");
}

static void run_records_come_back(void **state)
{
    (void)state;
    vkt__run *r;
    vkt__arena a = { 0 };
    vkt__run_record rec = vkt__run_record_empty(), back;
    rec.name = "d\xc3\xb6t", rec.status = "done", rec.config = "a: 1\n", rec.seed = UINT64_MAX,
    rec.step = 7;
    rec.best_metric = 0.1 + 0.2, rec.started = "2026-01-31T12:00:00Z", rec.command = "\xff";
    REQUIRE_OK(vkt__run_open(DIR "/a", "x", false, &r));
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
    REQUIRE_OK(vkt__run_load(DIR "/a", &a, &back, NULL));
    assert_string_equal(back.name, rec.name);
    assert_string_equal(back.config, "a: 1\n");
    assert_string_equal(back.command, "(not UTF-8)");
    assert_true(back.seed == UINT64_MAX && back.step == 7 && back.best_metric == 0.1 + 0.2 &&
                isnan(back.seconds));
    assert_null(back.note);
    vkt__arena_finish(&a);
}

static void put_run(const char *dir, const char *started, const char *status)
{
    vkt__run *r;
    vkt__run_record rec = vkt__run_record_empty();
    rec.started = started, rec.status = status, rec.name = "n";
    REQUIRE_OK(vkt__run_open(dir, "x", false, &r));
    REQUIRE_OK(vkt__run_save(r, &rec));
    vkt__run_close(&r);
}

static void runs_are_listed(void **state)
{
    (void)state;
    vkt_run_info *l;
    size_t n;
    put_run(DIR "/b", "2026-01-02T00:00:00Z", "done");
    put_run(DIR "/c", "2026-01-01T00:00:00Z", "failed");
    put_run(DIR "/study/lr-1", "2026-01-03T00:00:00Z", "running");
    put_run(DIR "/d", "2026-01-04T00:00:00Z", "done");
    REQUIRE_OK(vkt__file_replace(DIR "/d/run.json", "{\"format\": \"vktr", 16));
    put_run(DIR "/e", "2026-01-04T00:00:00Z", "done");
    REQUIRE_OK(vkt__file_replace(DIR "/e/run.json", "[3]", 3));
    put_run(DIR "/f", "2026-01-04T00:00:00Z", "done");
    const char *wrong = "{\"format\": \"vktrain run\", \"step\": \"x\", \"name\": 3}";
    REQUIRE_OK(vkt__file_replace(DIR "/f/run.json", wrong, strlen(wrong)));
    REQUIRE_OK(vkt__mkdirs(DIR "/g/checkpoints"));
    REQUIRE_OK(vkt__mkdirs(DIR "/h"));
    REQUIRE_OK(vkt_runs_list(DIR, &l, &n));
    assert_int_equal(n, 7);
    assert_string_equal(l[0].error,
                        "run.json is damaged: line 1: premature end of input near '\"vktr'");
    assert_string_equal(l[1].error, "run.json is not one of vktrain's");
    assert_string_equal(l[2].error, "run.json is damaged: 'name' is of the wrong type");
    assert_string_equal(l[3].error, "no run.json");
    assert_string_equal(l[4].dir, DIR "/c");
    assert_string_equal(l[4].status, "failed");
    assert_string_equal(l[5].dir, DIR "/b");
    assert_string_equal(l[6].dir, DIR "/study/lr-1");
    assert_null(l[6].error);
    assert_true(isnan(l[6].best_metric));
    vkt_runs_free(&l);
    assert_null(l);
    REQUIRE_OK(vkt_runs_list(DIR "/b", &l, &n));
    assert_int_equal(n, 1);
    vkt_runs_free(&l);
    REQUIRE_OK(vkt_runs_list(DIR "/h", &l, &n));
    assert_int_equal(n, 0);
    vkt_runs_free(&l);
    REQUIRE_STATUS(vkt_runs_list(DIR "/none", &l, &n), VKT_IO);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(safetensors_come_back),
        TEST(safetensors_refuse_what_they_cant_write),
        TEST(malformed_safetensors_are_refused),
        TEST(foreign_safetensors_load),
        TEST(checkpoints_come_back),
        TEST(a_flipped_byte_is_found),
        TEST(a_damaged_newest_falls_back),
        TEST(a_killed_write_leaves_the_earlier_ones),
        TEST(prune_keeps_the_best_and_the_last),
        TEST(a_failed_write_leaves_nothing),
        TEST(metrics_are_cut_at_the_resumed_step),
        TEST(a_full_disk_is_reported),
        TEST(predictions_are_csv),
        TEST(event_files_are_framed),
        TEST(run_folders_are_not_shared),
        TEST(run_records_come_back),
        TEST(runs_are_listed),
    };
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
