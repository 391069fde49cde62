/* data: NumPy's arrays, by files made here byte by byte: types, shapes and orders, archives, and
 * what must be refused. */
#define DIR "test_npy_tmp"
#include "data_files.h"

#include "formats/npy.h"
#include "formats/zip.h"

#define FOLDER DIR "/arrays"
#define NPZ DIR "/t.npz"

typedef struct made {
    uint8_t bytes[4096];
    size_t n;
} made;

/* An array of numpy.save, version `version`, with this dict and these data. */
static made npy(int version, const char *dict, const void *data, size_t n)
{
    made m = { .n = 0 };
    size_t head = strlen(dict), width = version > 1 ? 4 : 2;
    memcpy(m.bytes, "\x93NUMPY", 6);
    m.bytes[6] = (uint8_t)version;
    m.bytes[7] = 0;
    memset(m.bytes + 8, 0, width);
    m.bytes[8] = (uint8_t)(head + 1);
    m.n = 8 + width;
    memcpy(m.bytes + m.n, dict, head);
    m.bytes[m.n + head] = '\n';
    m.n += head + 1;
    memcpy(m.bytes + m.n, data, n);
    m.n += n;
    return m;
}

static made array(const char *descr, const char *shape, const void *data, size_t n)
{
    char dict[200];
    snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr,
             shape);
    return npy(1, dict, data, n);
}

static void le(uint8_t *p, uint32_t v, int n)
{
    for (int i = 0; i < n; i++) p[i] = (uint8_t)(v >> 8 * i);
}

/* One member, by deflate or stored; *central gets its entry of the directory. */
static size_t zip_member(uint8_t *out, size_t at, const char *name, const made *m, bool deflated,
                         uint8_t *central, size_t *n_central)
{
    static uint8_t packed[8192];
    z_stream z = { .next_in = (Bytef *)(uintptr_t)m->bytes,
                   .avail_in = (uInt)m->n,
                   .next_out = packed,
                   .avail_out = sizeof packed };
    size_t n_name = strlen(name), n = m->n, start = at;
    const uint8_t *from = m->bytes;
    if (deflated) {
        assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, 0), Z_OK);
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        n = z.total_out;
        from = packed;
        deflateEnd(&z);
    }
    uint8_t head[46] = { 'P', 'K', 1, 2 };
    le(head + 10, deflated ? 8 : 0, 2);
    le(head + 16, (uint32_t)crc32(0, m->bytes, (uInt)m->n), 4);
    le(head + 20, (uint32_t)n, 4);
    le(head + 24, (uint32_t)m->n, 4);
    le(head + 28, (uint32_t)n_name, 2);
    le(head + 42, (uint32_t)start, 4);
    memcpy(central + *n_central, head, 46);
    memcpy(central + *n_central + 46, name, n_name);
    *n_central += 46 + n_name;
    /* The local header has an extra field, as NumPy's has. */
    memset(out + at, 0, 30);
    memcpy(out + at, "PK\3\4", 4);
    le(out + at + 26, (uint32_t)n_name, 2);
    le(out + at + 28, 20, 2);
    memcpy(out + at + 30, name, n_name);
    memset(out + at + 30 + n_name, 7, 20);
    at += 50 + n_name;
    memcpy(out + at, from, n);
    return at + n;
}

/* t.npz of X and, unless NULL, y; its bytes. */
static size_t put_npz(const made *x, const made *y, bool deflated, uint8_t *out)
{
    uint8_t central[200], end[22] = { 'P', 'K', 5, 6 };
    size_t n_central = 0, n = zip_member(out, 0, "X.npy", x, deflated, central, &n_central);
    if (y) n = zip_member(out, n, "y.npy", y, deflated, central, &n_central);
    memcpy(out + n, central, n_central);
    le(end + 10, y ? 2 : 1, 2);
    le(end + 12, (uint32_t)n_central, 4);
    le(end + 16, (uint32_t)n, 4);
    memcpy(out + n + n_central, end, sizeof end);
    n += n_central + sizeof end;
    put(NPZ, out, n);
    return n;
}

static void put_folder(const made *x, const made *y)
{
    REQUIRE_OK(vkt__remove_tree(FOLDER));
    REQUIRE_OK(vkt__mkdirs(FOLDER));
    put(FOLDER "/X.npy", x->bytes, x->n);
    if (y) put(FOLDER "/y.npy", y->bytes, y->n);
}

static const float x_table[8] = { 1, 10, 2, 20, 3, 30, 4, 40 };
static const int64_t y_classes[4] = { 7, -1, 7, 20 };
static const double y_numbers[4] = { 0.5, 1.5, 2.5, 3.5 };

static void types_and_versions(void **state)
{
    (void)state;
    static const struct {
        const char *descr;
        size_t n;
        double first, second;
        uint8_t bytes[16];
    } rows[] = { { "|u1", 2, 200, 3, { 200, 3 } },
                 { "<i8", 16, -2, 256, { 254, 255, 255, 255, 255, 255, 255, 255, 0, 1 } },
                 { "<f4", 8, 1, -2, { 0, 0, 128, 63, 0, 0, 0, 192 } },
                 { "<f8", 16, 1, -2, { [6] = 240, [7] = 63, [15] = 192 } } };
    vkt__npy a;
    for (size_t i = 0; i < VKT_COUNT(rows); i++)
        for (int version = 1; version <= 3; version++) {
            char dict[100];
            snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }",
                     rows[i].descr);
            made m = npy(version, dict, rows[i].bytes, rows[i].n);
            REQUIRE_OK(vkt__npy_parse(m.bytes, m.n, "a", &a));
            assert_int_equal(a.rank, 1);
            assert_int_equal(a.n, 2);
            assert_true(vkt__npy_number(&a, 0) == rows[i].first);
            assert_true(vkt__npy_number(&a, 1) == rows[i].second);
            for (size_t cut = 0; cut < m.n; cut++) {
                TEST_LOG_CAPTURE();
                REQUIRE_STATUS(vkt__npy_parse(m.bytes, cut, "a", &a), VKT_E_FORMAT);
            }
        }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void a_header(const char *dict, const char *what)
{
    vkt__npy a;
    made m = npy(1, dict, x_table, sizeof x_table);
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt__npy_parse(m.bytes, m.n, "a", &a), VKT_E_FORMAT);
    REQUIRE_LOGGED(what);
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

static void bad_headers(void **state)
{
    (void)state;
#define F "'fortran_order': False"
    a_header("{'descr': '<f4', 'fortran_order': True, 'shape': (4, 2), }", "ascontiguousarray");
    a_header("{'descr': '>f4', " F ", 'shape': (4, 2), }", "type >f4");
    a_header("{'descr': '<i4', " F ", 'shape': (4, 2), }", "type <i4");
    a_header("{'descr': '|O', " F ", 'shape': (4, 2), }", "type |O");
    a_header("{'descr': [('a', '<f4')], " F ", 'shape': (4, 2), }", "records");
    a_header("{'descr': '<f4', " F ", 'shape': (4, 3), }", "is cut off");
    a_header("{'descr': '<f4', " F ", 'shape': (4, 1), }", "continues after");
    a_header("{'descr': '<f4', " F ", 'shape': (0, 2), }", "is empty");
    a_header("{'descr': '<f4', " F ", 'shape': (1, 1, 1, 4, 2), }", "more than 4");
    a_header("{'descr': '<f4', " F ", 'shape': (8), }", "not a tuple");
    a_header("{'descr': '<f4', " F ", 'shape': (4 2), }", "not a tuple");
    a_header("{'descr': '<f4', " F ", 'shape': (4, -2), }", "whole numbers below");
    a_header("{'descr': '<f4', " F ", 'shape': (4294967296,), }", "whole numbers below");
    a_header("{'descr': '<f4', " F ", 'shape': (4294967295, 4294967295, 4294967295), }",
             "too large");
    a_header("{'descr': '<f4', " F ", }", "alone");
    a_header("{'descr': '<f4', 'descr': '<f4', " F ", 'shape': (4, 2), }", "descr");
    a_header("{'descr': '<f4', " F ", 'shape': (4, 2), 'more': 1, }", "key");
    a_header("{'descr': '<f4', " F ", 'shape': (4, 2), } x", "alone");
    a_header("[1]", "not a dict");
    a_header("{'descr': '<f4', " F ", " F ", 'shape': (4, 2), }", "fortran_order occurs twice");
    a_header("{'descr': '<f4', 'fortran_order': 0, 'shape': (4, 2), }", "neither True nor False");
    a_header("{'descr': '<f4', " F ", 'shape': [4, 2], }", "not a tuple");
    a_header("{'descr' '<f4', " F ", 'shape': (4, 2), }", "not a dict of descr");
    a_header("{'descr': '<f4' " F ", 'shape': (4, 2), }", "not a dict of descr");
}

static void a_table(void **state)
{
    (void)state;
    static uint8_t zip[32768];
    static const uint32_t want[4] = { 1, 0, 1, 2 };
    made x = array("<f4", "(4, 2)", x_table, sizeof x_table),
         y = array("<i8", "(4,)", y_classes, sizeof y_classes);
    for (int how = 0; how < 3; how++) {
        vkt_dataset *ds, *more;
        put_folder(&x, &y);
        put_npz(&x, &y, how == 1, zip);
        vkt_data_desc d = { .source = "npy", .path = how == 2 ? FOLDER : NPZ, RAW };
        REQUIRE_OK(vkt_dataset_open(&d, &ds));
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_int_equal(info->kind, VKT_DATA_KIND_TABLE);
        assert_int_equal(info->n[VKT_SPLIT_TRAIN], 4);
        assert_int_equal(info->n_outputs, 3);
        assert_string_equal(info->class_names[0], "-1");
        assert_string_equal(info->class_names[2], "20");
        for (uint32_t i = 0; i < 4; i++) {
            assert_true(inputs(ds, VKT_SPLIT_TRAIN, i, 2)[0] == x_table[2 * i]);
            assert_true(inputs(ds, VKT_SPLIT_TRAIN, i, 2)[1] == x_table[2 * i + 1]);
            assert_int_equal(class_of(ds, i), want[i]);
        }
        /* Other data: with labels, without, and as CSV. */
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), d.path, &more));
        require_same_examples(ds, VKT_SPLIT_TRAIN, more);
        vkt_dataset_destroy(&more);
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), FOLDER "/X.npy", &more));
        assert_false(vkt_dataset_get_info(more)->has_labels);
        assert_int_equal(vkt_dataset_get_info(more)->n[VKT_SPLIT_TEST], 4);
        vkt_dataset_destroy(&more);
        put_csv("1,10,7\n2,20,-1\n3,30,7\n4,40,20\n");
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), CSV, &more));
        require_same_examples(ds, VKT_SPLIT_TRAIN, more);
        vkt_dataset_destroy(&more);
        vkt_dataset_destroy(&ds);
    }
}

/* Standardised as a CSV of the same numbers is. */
static void numbers_to_predict(void **state)
{
    (void)state;
    float gap[8];
    vkt_dataset *ds, *csv;
    double scale, mean;
    vkt_label label;
    float in[2];
    memcpy(gap, x_table, sizeof gap);
    gap[3] = NAN;
    made x = array("<f4", "(4, 2)", gap, sizeof gap),
         y = array("<f8", "(4, 1)", y_numbers, sizeof y_numbers);
    put_folder(&x, &y);
    vkt_data_desc d = {
        .source = "npy", .path = FOLDER, .task = VKT_TASK_REGRESS, .missing = VKT_MISSING_MEAN
    };
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    csv = open_csv("1,10,0.5\n2,NaN,1.5\n3,30,2.5\n4,40,3.5\n", d);
    vkt_dataset_target_scale(ds, 0, &scale, &mean);
    assert_true(mean == 2);
    for (uint64_t i = 0; i < 4; i++) {
        const float *want = inputs(csv, VKT_SPLIT_TRAIN, i, 2);
        REQUIRE_OK(vkt_dataset_example(ds, VKT_SPLIT_TRAIN, i, in, &label));
        assert_memory_equal(in, want, sizeof in);
        assert_true(fabs((double)label.f * scale + mean - y_numbers[i]) < 1e-6);
    }
    vkt_dataset_destroy(&ds);
    vkt_dataset_destroy(&csv);
    d.missing = VKT_MISSING_DROP;
    REQUIRE_OK(vkt_dataset_open(&d, &ds));
    assert_int_equal(vkt_dataset_get_info(ds)->n_dropped, 1);
    vkt_dataset_destroy(&ds);
    double none[4]; /* a mean never replaces a label */
    memcpy(none, y_numbers, sizeof none);
    none[2] = NAN;
    made lacks = array("<f8", "(4,)", none, sizeof none);
    put_folder(&x, &lacks);
    d.missing = VKT_MISSING_MEAN;
    refuse(&d, VKT_E_FORMAT, FOLDER "', row 2", "NaN");
    put_folder(&x, &y);
    d.missing = VKT_MISSING_ERROR;
    refuse(&d, VKT_E_FORMAT, FOLDER "', row 1", "is NaN");
}

static void pictures(void **state)
{
    (void)state;
    uint8_t pixels[4 * 2 * 3], classes[4] = { 1, 0, 1, 0 };
    vkt_dataset *ds, *more;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(10 * i);
    for (int channels = 0; channels < 2; channels++) {
        made x = array("|u1", channels ? "(4, 1, 2, 3)" : "(4, 2, 3)", pixels, sizeof pixels),
             y = array("|u1", "(4,)", classes, sizeof classes);
        put_folder(&x, &y);
        REQUIRE_OK(
            vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .path = FOLDER, RAW }, &ds));
        const vkt_dataset_info *info = vkt_dataset_get_info(ds);
        assert_int_equal(info->kind, VKT_DATA_KIND_PICTURES);
        assert_int_equal(info->input_rank, 3);
        assert_int_equal(info->input_shape[2], channels ? 3 : 1);
        assert_true(fabsf(inputs(ds, VKT_SPLIT_TRAIN, 1, 6)[5] - 110.0f / 255) < 1e-6f);
        assert_int_equal(class_of(ds, 0), 1);
        REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), FOLDER, &more));
        require_same_examples(ds, VKT_SPLIT_TRAIN, more);
        vkt_dataset_destroy(&more);
        vkt_dataset_destroy(&ds);
    }
}

/* [n, 3, 2, 5], as PyTorch has it, is the pictures that [n, 2, 5, 3] is. */
static void channels_first(void **state)
{
    (void)state;
    uint8_t first[4 * 3 * 2 * 5], last[sizeof first], classes[4] = { 1, 0, 1, 0 };
    vkt_dataset *ds, *more;
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 0; c < 3; c++)
            for (size_t k = 0; k < 10; k++)
                first[(3 * i + c) * 10 + k] = last[(10 * i + k) * 3 + c] =
                    (uint8_t)(60 * i + 20 * c + k);
    made x = array("|u1", "(4, 2, 5, 3)", last, sizeof last),
         y = array("|u1", "(4,)", classes, sizeof classes);
    put_folder(&x, &y);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .path = FOLDER, RAW }, &ds));
    x = array("|u1", "(4, 3, 2, 5)", first, sizeof first);
    put_folder(&x, &y);
    for (int fitted = 0; fitted < 2; fitted++) { /* by itself; under the model's schema */
        TEST_LOG_CAPTURE();
        if (fitted)
            REQUIRE_OK(vkt_dataset_open_schema(vkt_dataset_schema(ds), FOLDER, &more));
        else
            REQUIRE_OK(
                vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .path = FOLDER, RAW }, &more));
        REQUIRE_LOGGED("X of [n, 3, 2, 5] is taken as [n, channels, height, width]");
        assert_int_equal(vkt_dataset_get_info(more)->input_shape[2], 3);
        if (fitted) require_same_examples(ds, VKT_SPLIT_TRAIN, more);
        float was[30];
        memcpy(was, inputs(ds, VKT_SPLIT_TRAIN, 1, 30), sizeof was);
        if (!fitted) assert_memory_equal(was, inputs(more, VKT_SPLIT_TRAIN, 1, 30), sizeof was);
        vkt_dataset_destroy(&more);
    }
    vkt_dataset_destroy(&ds);
}

static vkt_array in_memory(vkt_array_type type, const void *data, uint32_t n, uint32_t columns)
{
    return (
        vkt_array) { .type = type, .rank = columns ? 2 : 1, .shape = { n, columns }, .data = data };
}

/* Arrays in memory are what the same arrays in files are, to the bit. */
static void memory(void **state)
{
    (void)state;
    vkt_dataset *ds, *file;
    uint8_t pixels[4 * 2 * 3], few[4] = { 1, 0, 1, 0 };
    made x = array("<f4", "(4, 2)", x_table, sizeof x_table),
         y = array("<i8", "(4,)", y_classes, sizeof y_classes);
    put_folder(&x, &y);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .path = FOLDER }, &file));
    vkt_arrays a = { in_memory(VKT_ARRAY_F32, x_table, 4, 2),
                     in_memory(VKT_ARRAY_I64, y_classes, 4, 0) };
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .arrays = &a }, &ds));
    assert_true(vkt_dataset_fingerprint(ds) == vkt_dataset_fingerprint(file));
    assert_string_equal(vkt_dataset_schema(ds), vkt_dataset_schema(file));
    vkt_dataset_destroy(&ds);
    vkt_dataset_destroy(&file);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(10 * i);
    x = array("|u1", "(4, 2, 3)", pixels, sizeof pixels);
    y = array("|u1", "(4,)", few, sizeof few);
    put_folder(&x, &y);
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .path = FOLDER }, &file));
    a = (vkt_arrays) { { VKT_ARRAY_U8, 3, { 4, 2, 3 }, pixels },
                       in_memory(VKT_ARRAY_U8, few, 4, 0) };
    REQUIRE_OK(vkt_dataset_open(&(vkt_data_desc) { .source = "npy", .arrays = &a }, &ds));
    memset(pixels, 0, sizeof pixels); /* the data set keeps what it needs */
    assert_true(vkt_dataset_fingerprint(ds) == vkt_dataset_fingerprint(file));
    vkt_dataset_destroy(&ds);
    vkt_dataset_destroy(&file);
}

static void bad_memory(void **state)
{
    (void)state;
    vkt_dataset *ds;
    const struct {
        vkt_array x, y;
        const char *source, *path, *what;
        vkt_status st;
    } rows[] = {
        { .x = { 0 }, .what = "the run had them in memory" },
        { .x = { 0 }, .y = { VKT_ARRAY_I64, 1, { 3 }, y_classes }, .what = "array X has no type" },
        { .x = { VKT_ARRAY_F32, 2, { 4, 2 }, NULL }, .what = "no memory" },
        { .x = { (vkt_array_type)9, 2, { 4, 2 }, x_table }, .what = "no type" },
        { .x = { VKT_ARRAY_F32, 5, { 4, 2 }, x_table }, .what = "5 dimensions" },
        { .x = { VKT_ARRAY_F32, 2, { 4, 0 }, x_table }, .what = "X is empty" },
        { .x = { VKT_ARRAY_F64, 4, { 1 << 31, 1 << 31, 4, 4 }, x_table }, .what = "too large" },
        { .x = { VKT_ARRAY_F32, 1, { 4 }, x_table }, .what = "[n, inputs]", .st = VKT_E_FORMAT },
        { .x = { VKT_ARRAY_F32, 2, { 4, 2 }, x_table },
          .y = { VKT_ARRAY_I64, 1, { 3 }, y_classes },
          .what = "each of the 4 examples",
          .st = VKT_E_FORMAT },
        { .x = { VKT_ARRAY_F32, 2, { 4, 2 }, x_table },
          .what = "has no array y",
          .st = VKT_E_FORMAT },
        { .x = { VKT_ARRAY_F32, 2, { 4, 2 }, x_table },
          .y = { VKT_ARRAY_F64, 1, { 4 }, y_numbers },
          .what = "data.task: regress" },
        { .source = "csv", .what = "not 'csv'" },
        { .path = "x.npz", .what = "give one" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vkt_arrays a = { rows[i].x, rows[i].y };
        vkt_data_desc d = { .source = rows[i].source ? rows[i].source : "npy",
                            .path = rows[i].path,
                            .arrays = &a };
        REQUIRE_STATUS(vkt_dataset_open(&d, &ds), rows[i].st ? rows[i].st : VKT_E_ARG);
        if (!strstr(vkt_last_error(), rows[i].what))
            fail_msg("'%s' does not say '%s'", vkt_last_error(), rows[i].what);
    }
}

static void refused(const made *x, const made *y, vkt_task task, vkt_status st, const char *what)
{
    put_folder(x, y);
    refuse(&(vkt_data_desc) { .source = "npy", .path = FOLDER, .task = task }, st, FOLDER, what);
}

static void bad_arrays(void **state)
{
    (void)state;
    static uint8_t zip[32768];
    static const int64_t one[4] = { 3, 3, 3, 3 };
    const vkt_task C = VKT_TASK_CLASSIFY, R = VKT_TASK_REGRESS;
    uint8_t pixels[8] = { 0 };
    made x = array("<f4", "(4, 2)", x_table, sizeof x_table),
         y = array("<i8", "(4,)", y_classes, sizeof y_classes),
         numbers = array("<f8", "(4,)", y_numbers, sizeof y_numbers),
         flat = array("<f4", "(8,)", x_table, sizeof x_table),
         same = array("<i8", "(4,)", one, sizeof one),
         floats = array("<f4", "(4, 2, 1)", x_table, sizeof x_table),
         u8 = array("|u1", "(4, 2, 1)", pixels, 8);
    refused(&x, NULL, C, VKT_E_FORMAT, "no array y");
    refused(&x, &numbers, C, VKT_E_ARG, "data.task: regress");
    refused(&x, &flat, C, VKT_E_FORMAT, "one number for each of the 4 examples");
    refused(&flat, &y, C, VKT_E_FORMAT, "[n, inputs]");
    refused(&x, &same, C, VKT_E_FORMAT, "nothing to learn");
    refused(&floats, &y, C, VKT_E_FORMAT, "uint8");
    refused(&u8, &numbers, R, VKT_E_ARG, "regress needs X [n, inputs]");
    /* Archives: cut anywhere, and each byte changed: an error or the same numbers, never a crash.
     */
    vkt_data_desc d = { .source = "npy", .path = NPZ };
    size_t n = put_npz(&x, NULL, false, zip);
    refuse(&d, VKT_E_FORMAT, NPZ, "no array y");
    n = put_npz(&x, &y, true, zip);
    for (size_t cut = 4; cut < n; cut += 7) {
        put(NPZ, zip, cut);
        refuse(&d, VKT_E_FORMAT, NPZ, "again");
    }
    for (size_t i = 4; i < n; i += 3) {
        vkt_dataset *ds;
        TEST_LOG_CAPTURE();
        zip[i] ^= 0x41;
        put(NPZ, zip, n);
        if (vkt_dataset_open(&d, &ds) == VKT_OK) vkt_dataset_destroy(&ds);
        zip[i] ^= 0x41;
    }
    vkt_log_set(NULL, NULL, VKT_LOG_INFO);
}

/* Fields of an archive's directory and of its end, each with what can't be read. */
static void bad_archives(void **state)
{
    (void)state;
    static uint8_t zip[32768], changed[32768];
    static const struct {
        const char *of; /* the record that has it */
        size_t at, n;
        uint32_t v;
        const char *words;
    } rows[] = {
        { "PK\1\2", 0, 1, 0, "its directory is damaged" },
        { "PK\1\2", 8, 2, 1, "it is encrypted" },
        { "PK\1\2", 10, 2, 9, "a method other than deflate" },
        { "PK\1\2", 20, 4, UINT32_MAX, "an array of 4 GiB or more (zip64) is not supported" },
        { "PK\1\2", 20, 4, 1 << 20, "it is cut off" },
        { "PK\1\2", 24, 4, 1 << 20, "an array's size is damaged" },
        { "PK\1\2", 28, 2, 60000, "its directory is damaged" },
        { "PK\1\2", 42, 4, 1 << 20, "an array lies outside of it" },
        { "PK\5\6", 0, 1, 0, "it is cut off, or not a zip archive" },
        { "PK\5\6", 10, 2, 65535, "it is a zip64 archive, which is not supported" },
        { "PK\5\6", 16, 4, 1 << 20, "its directory lies outside of it" },
    };
    made x = array("<f4", "(4, 2)", x_table, sizeof x_table),
         y = array("<i8", "(4,)", y_classes, sizeof y_classes);
    size_t n = put_npz(&x, &y, false, zip);
    for (size_t i = 0; i < VKT_COUNT(rows); i++) {
        size_t at = 0;
        while (memcmp(zip + at, rows[i].of, 4) != 0) at++;
        memcpy(changed, zip, n);
        le(changed + at + rows[i].at, rows[i].v, (int)rows[i].n);
        put(NPZ, changed, n);
        refuse(&(vkt_data_desc) { .source = "npy", .path = NPZ }, VKT_E_FORMAT, NPZ, rows[i].words);
    }
    uint32_t n_others;
    char other[64];
    REQUIRE_OK(
        vkt__zip_others(zip, n, NPZ, (const char *[2]) { "X.npy", "z.npy" }, &n_others, other));
    assert_int_equal(n_others, 1);
    assert_string_equal(other, "y.npy");
    size_t at = n;
    while (memcmp(zip + at, "y.npy", 5) != 0) at--; /* of the directory, which is last */
    zip[at] = 'X';
    put(NPZ, zip, n);
    refuse(&(vkt_data_desc) { .source = "npy", .path = NPZ }, VKT_E_FORMAT, NPZ,
           "holds 'X.npy' twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_versions),
        cmocka_unit_test(bad_headers),
        cmocka_unit_test(a_table),
        cmocka_unit_test(numbers_to_predict),
        cmocka_unit_test(pictures),
        cmocka_unit_test(channels_first),
        cmocka_unit_test(bad_arrays),
        cmocka_unit_test(bad_archives),
        cmocka_unit_test(memory),
        cmocka_unit_test(bad_memory),
    };
    return cmocka_run_group_tests_name("npy", tests, setup, teardown);
}
