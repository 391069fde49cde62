/* libFuzzer target for everything that reads foreign bytes: the first byte chooses IDX, a CSV
 * opened whole (with its schema read back), a picture, CIFAR or a pack, a schema, an array of
 * NumPy's, alone or in an archive, rows of JSON, or boxes. Build with
 * -DVKT_FUZZ=ON and clang; run: fuzz_data -max_total_time=300 CORPUS */
#include "foreign.h"

#include "data/boxes/marks.h"
#include "data/points/point_table.h"
#include "data/pictures/cifar.h"
#include "data/pictures/idx.h"
#include "data/pictures/packed.h"
#include "data/pictures/picture.h"
#include "data/tables/fit.h"
#include "data/tables/json_rows.h"
#include "data/tables/table.h"
#include "formats/npy.h"
#include "formats/zip.h"

static void fuzz_idx(const uint8_t *data, size_t n)
{
    vkt__idx idx = { 0 };
    if (vkt__idx_parse(data, n, "fuzz", &idx) == VKT_OK) VKT_ASSERT(idx.data && idx.n_bytes > 0);
    vkt__idx_finish(&idx);
}

/* The check of sums and ends would stop most of what a fuzzer makes: decoding must stand without
 * it. Sizes that decode are small, so that the fuzzer gets on. */
static void fuzz_picture(uint8_t how, const uint8_t *data, size_t n)
{
    uint8_t out[28 * 28 * 3], *pixels = NULL;
    const uint32_t to_h = how & 1 ? 28 : 5, to_w = how & 2 ? 28 : 3, channels = how & 4 ? 3 : 1;
    uint32_t w, h;
    vkt__picture_size size;
    /* A few bytes of a GIF or WebP may promise 64 million pixels: allowed, but no news. */
    enum { MOST = 1 << 20 };
    if (vkt__picture_look(data, n, "fuzz", &size) == VKT_OK && size.h > MOST / size.w) return;
    if (vkt__picture_decode(data, n, "fuzz", channels, 0, n % 3 ? 0 : 3, 2, &w, &h, &pixels) ==
        VKT_OK) {
        vkt__box box = how & 8 ? vkt__picture_middle(w, h, to_w, to_h)
                               : (vkt__box) { w / 3, h / 3, w - w / 3, h - h / 3 };
        VKT_ASSERT(box.x + box.w <= w && box.y + box.h <= h);
        vkt__picture_resize(pixels, w, box, channels, out, to_w, to_h);
    }
    free(pixels);
}

/* CIFAR and packs; what a pack says is within its bytes. */
static void fuzz_images(uint8_t how, const uint8_t *data, size_t n)
{
    uint32_t n_labels = 1 + (how & 1);
    size_t records = n / (3072 + n_labels) + 1;
    uint8_t *pixels = vkt__alloc(records * 3072), *copy = vkt__alloc(n + 1);
    vkt_label *labels = vkt__alloc(records * sizeof *labels);
    vkt__packed packed;
    vkt__cifar_parse(data, n, "fuzz", n_labels, 10, pixels, labels);
    memcpy(copy, data, n); /* aligned */
    if (vkt__packed_parse(copy, n, "fuzz", &packed) == VKT_OK)
        VKT_ASSERT(packed.pixels + packed.n * packed.n_inputs <= copy + n &&
                   (const uint8_t *)packed.json + packed.json_bytes == copy + n);
    free(pixels);
    free(labels);
    free(copy);
}

static void fuzz_schema(const uint8_t *data, size_t n)
{
    vkt__arena arena = { 0 };
    vkt__schema s;
    const char *printed;
    char *json = vkt__alloc(n + 1);
    memcpy(json, data, n);
    if (vkt__schema_parse(json, &arena, &s) == VKT_OK)
        VKT_ASSERT(vkt__schema_print(&s, &arena, &printed) == VKT_OK);
    vkt__arena_finish(&arena);
    free(json);
}

/* What opens must read back under its own schema to the same inputs. */
static void fuzz_csv(uint8_t how, const uint8_t *data, size_t n)
{
    static const char *const headers[] = { "auto", "yes", "no", NULL };
    vkt_dataset a = { 0 }, b = { 0 };
    const char *json;
    char *text = vkt__alloc(n + 1); /* ends in a NUL, as what a file or a request is read to */
    memcpy(text, data, n);
    vkt_data_desc d = { .source = "csv",
                        .task = how & 1    ? VKT_TASK_REGRESS
                                : how & 32 ? VKT_TASK_MULTILABEL
                                           : VKT_TASK_CLASSIFY,
                        .header = headers[how >> 1 & 3],
                        .missing = (vkt_missing)((how >> 3 & 3) % 3),
                        .valid_fraction = how & 32 ? 0.3 : 0,
                        .label = !(how & 64) ? NULL
                                 : how & 1   ? "0, 2"
                                             : "0",
                        .ignore = (how & 24) == 24 ? "1" : NULL,
                        .standardize = how & 128 ? VKT_STANDARDIZE_GLOBAL : VKT_STANDARDIZE_AUTO };
    a.schema.task = d.task;
    a.schema.separator = '|';
    if (vkt__table_open(&a, &d, text, n, "fuzz", NULL, 0, NULL) == VKT_OK) {
        VKT_ASSERT(vkt__schema_print(&a.schema, &a.arena, &json) == VKT_OK);
        VKT_ASSERT(vkt__schema_parse(json, &b.arena, &b.schema) == VKT_OK);
        vkt_status st = vkt__table_open_schema(&b, text, n, "fuzz", NULL);
        if (strcmp(d.header ? d.header : "auto", "auto") == 0) {
            VKT_ASSERT(st == VKT_OK && b.part[0].n == a.part[0].n &&
                       a.schema.n_inputs == b.schema.n_inputs);
            size_t n_values = (size_t)a.part[0].n * a.schema.n_inputs;
            VKT_ASSERT(memcmp(a.part[0].values, b.part[0].values, n_values * sizeof(float)) == 0);
            VKT_ASSERT(memcmp(a.part[0].labels, b.part[0].labels,
                              a.part[0].n * vkt__n_labels(&a.schema) * sizeof(vkt_label)) == 0);
        }
    }
    for (vkt_dataset *ds = &a;; ds = &b) {
        free(ds->part[0].labels);
        free(ds->part[0].values);
        free(ds->part[0].line);
        for (int i = 0; i < VKT_N_SPLITS; i++) free(ds->index[i]);
        vkt__arena_finish(&ds->arena);
        if (ds == &b) break;
    }
    free(text);
}

static void fuzz_npy(const uint8_t *data, size_t n)
{
    vkt__npy a;
    if (vkt__npy_parse(data, n, "fuzz", &a) != VKT_OK) return;
    VKT_ASSERT(a.n > 0 && a.data + a.n_bytes == data + n);
    vkt__npy_number(&a, a.n - 1);
}

static void fuzz_npz(const uint8_t *data, size_t n)
{
    uint8_t *member;
    size_t n_member;
    if (vkt__zip_read(data, n, "fuzz", "X.npy", 1 << 24, &member, &n_member) == VKT_OK && member)
        fuzz_npy(member, n_member);
    free(member);
}

/* Rows of JSON as CSV, which the schema they were made by must take, or refuse by a cell. */
static void fuzz_json_rows(const uint8_t *data, size_t n)
{
    static const char csv[] = "a,b,when,\"c,d\",y\n1,x,2024-01-02,u,p\n2,z,2024-01-03,v,q\n"
                              "3,x,2024-02-04,u,p\n4,\"x \"\"\",2024-02-05,v,q\n";
    vkt_dataset a = { 0 }, b = { 0 };
    vkt_data_desc d = {
        .source = "csv", .path = "fuzz", .missing = VKT_MISSING_MEAN, .embed = "b"
    };
    vkt__str out = { 0 };
    vkt__json_told told = { 0 };
    char *copy = vkt__alloc(n);
    memcpy(copy, data, n); /* nothing behind its end */
    VKT_ASSERT(vkt__table_open(&a, &d, csv, sizeof csv - 1, "fuzz", NULL, 0, NULL) == VKT_OK);
    if (vkt__json_rows(&a.schema, copy, n, "fuzz", 1, &told, &out) == VKT_OK && out.len)
        vkt__table_open_schema(&b, out.data, out.len, "fuzz", NULL);
    vkt__str_finish(&out);
    free(copy);
    for (vkt_dataset *ds = &a; ds; ds = ds == &a ? &b : NULL) {
        free(ds->part[0].labels);
        free(ds->part[0].values);
        free(ds->part[0].line);
        for (int i = 0; i < VKT_N_SPLITS; i++) free(ds->index[i]);
        vkt__arena_finish(&ds->arena);
    }
}

/* Each mark numbers at most its own pixels. */
static void draw_outlines(vkt__outlines *o, const vkt__marks *m)
{
    uint64_t first;
    uint32_t count, size[1][2];
    for (size_t i = 0; i < m->pictures.n; i++) {
        uint16_t *mask = NULL;
        first = m->first[i];
        count = (uint32_t)((i + 1 < m->pictures.n ? m->first[i + 1] : m->n) - first);
        size[0][0] = m->said[i][0] ? m->said[i][0] : 50;
        size[0][1] = m->said[i][1] ? m->said[i][1] : 40;
        if ((uint64_t)size[0][0] * size[0][1] > 1 << 16) continue;
        if (vkt__outlines_steps(o, first, count, size[0][0], size[0][1]) >
            vkt__outlines_most_steps(size[0][0], size[0][1]))
            continue;
        o->first = &first;
        o->count = &count;
        o->size = size;
        if (vkt__outlines_draw(o, 0, &mask, NULL) == VKT_OK)
            for (size_t p = 0; p < (size_t)size[0][0] * size[0][1]; p++)
                VKT_ASSERT(mask[p] <= count);
        vkt__outlines_hash(o, 0);
        free(mask);
    }
    o->first = NULL;
    o->count = NULL;
    o->size = NULL;
    vkt__outlines_destroy(&o);
}

/* Boxes, points and outlines in each form; pictures are said to be folders that are there. */
static void fuzz_boxes(uint8_t how, const uint8_t *data, size_t n)
{
    vkt__arena arena = { 0 };
    vkt__mark_points points = { 0 };
    vkt__outlines *outlines = how & 64 ? vkt__alloc(sizeof *outlines) : NULL;
    vkt__marks m = { .points = how & 8 && !outlines ? &points : NULL, .outlines = outlines };
    char *copy = vkt__alloc(n + 1);
    memcpy(copy, data, n);
    copy[n] = 0;
    vkt__marks_picture(&m, "fuzz", VKT_N_SPLITS, 0, 0);
    if (outlines)
        vkt__coco_read(copy, n, "fuzz", ".", VKT_N_SPLITS, how & 2, &arena, &m);
    else if (how & 8)
        (how & 4 ? vkt__point_table_read : vkt__coco_read)(copy, n, "fuzz", ".", VKT_N_SPLITS,
                                                           how & 2, &arena, &m);
    else if (how & 1)
        (how & 4 ? vkt__box_table_read : vkt__coco_read)(copy, n, "fuzz", ".", VKT_N_SPLITS,
                                                         how & 2, &arena, &m);
    else
        (how & 4 ? vkt__voc : vkt__yolo).read(copy, n, "fuzz", &arena, &m);
    for (uint64_t k = 0; k < m.n; k++)
        VKT_ASSERT(m.item[k].class < VKT__MARK_CLASSES &&
                   (!m.classes || m.item[k].class < m.n_classes));
    for (size_t i = 0; i < m.pictures.n; i++) VKT_ASSERT(m.first[i] <= m.n);
    for (uint64_t k = 0; k < m.n * 3 * points.n; k++) VKT_ASSERT(points.at[k] < 1e9);
    if (outlines) draw_outlines(outlines, &m);
    free(points.at);
    free(points.area);
    vkt__marks_finish(&m);
    free(copy);
    vkt__arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_WARN);
    if (n < 2) return 0;
    if (data[0] == 'i')
        fuzz_idx(data + 1, n - 1);
    else if (data[0] == 'p')
        fuzz_picture(data[1], data + 2, n - 2);
    else if (data[0] == 'c')
        fuzz_images(data[1], data + 2, n - 2);
    else if (data[0] == 's')
        fuzz_schema(data + 1, n - 1);
    else if (data[0] == 'n')
        fuzz_npy(data + 1, n - 1);
    else if (data[0] == 'j')
        fuzz_json_rows(data + 1, n - 1);
    else if (data[0] == 'b')
        fuzz_boxes(data[1], data + 2, n - 2);
    else if (data[0] == 'z')
        fuzz_npz(data + 1, n - 1);
    else
        fuzz_csv(data[1], data + 2, n - 2);
    return 0;
}
