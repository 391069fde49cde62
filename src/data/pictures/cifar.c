/* CIFAR-10 and CIFAR-100 in their binary versions: records of a label (100: a coarse and a fine
 * one) and 3 x 32 x 32 bytes, plane by plane. Source: www.cs.toronto.edu/~kriz/cifar.html. */
#include "data/parts/parts.h"
#include "data/pictures/cifar.h"
#include "data/pictures/constants.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE };

typedef struct layout {
    const char *first, *const *train, *test, *names;
    uint32_t n_labels, n_classes; /* the last label byte counts */
} layout;

static const char *const train_10[] = { "data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                        "data_batch_4.bin", "data_batch_5.bin", NULL };
static const char *const train_100[] = { "train.bin", NULL };
static const layout layouts[] = {
    { "data_batch_1.bin", train_10, "test_batch.bin", "batches.meta.txt", 1, 10 },
    { "train.bin", train_100, "test.bin", "fine_label_names.txt", 2, 100 },
};

vkt_status vkt__cifar_parse(const void *bytes, size_t n, const char *name, uint32_t n_labels,
                            uint32_t n_classes, uint8_t *pixels, vkt_label *labels)
{
    const uint8_t *p = bytes;
    size_t record = n_labels + PIXELS;
    if (n == 0 || n % record)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s' has %zu bytes, no whole number of %zu-byte records: it is cut off or "
            "no CIFAR file: get it again",
            name, n, record);
    for (size_t i = 0; i < n / record; i++, p += record, pixels += PIXELS) {
        labels[i].u = p[n_labels - 1];
        if (labels[i].u >= n_classes)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': label %u of record %zu is outside the %u classes: get it again",
                             name, labels[i].u, i, n_classes);
        for (size_t k = 0; k < PLANE; k++)
            for (size_t c = 0; c < 3; c++) pixels[3 * k + c] = p[n_labels + c * PLANE + k];
    }
    return VKT_OK;
}

static vkt_status add_file(const layout *l, const char *path, vkt__part *part)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    uint8_t *pixels = NULL; /* of the files before */
    vkt_label *labels = NULL;
    VKT_TRY(vkt__file_read(path, 1ull << 31, &bytes, &n));
    uint32_t more = (uint32_t)(n / (l->n_labels + PIXELS));
    pixels = part->pixels;
    labels = part->labels;
    part->pixels = NULL;
    part->labels = NULL;
    VKT_TRY(vkt__alloc_large((uint64_t)part->n + more, PIXELS, path, &part->pixels));
    VKT_TRY(vkt__alloc_large((uint64_t)part->n + more, sizeof *labels, path, &part->labels));
    if (part->n) {
        memcpy(part->pixels, pixels, (size_t)part->n * PIXELS);
        memcpy(part->labels, labels, part->n * sizeof *labels);
    }
    VKT_TRY(vkt__cifar_parse(bytes, n, path, l->n_labels, l->n_classes,
                             part->pixels + (size_t)part->n * PIXELS, part->labels + part->n));
    part->n += more;
fail:
    free(pixels);
    free(labels);
    free(bytes);
    return st;
}

/* The names' file, one a line; numbers where it is absent or of another length. */
static vkt_status read_names(vkt_dataset *ds, const char *path, uint32_t n)
{
    vkt_status st = VKT_OK;
    char *text = NULL;
    size_t bytes, at;
    uint32_t k = 0;
    ds->schema.classes = vkt__arena_alloc(&ds->arena, n * sizeof *ds->schema.classes);
    ds->schema.n_outputs = n;
    VKT_TRY(vkt__file_read_if(path, 1 << 16, &text, &bytes));
    if (text) {
        bool ok = vkt__utf8_ok(text, bytes, &at);
        for (char *p = text, *end; ok && *p && k < n; p = end) {
            end = p + strcspn(p, "\r\n");
            char *name = vkt__arena_printf(&ds->arena, "%.*s", (int)(end - p), p);
            while (*end == '\r' || *end == '\n') end++;
            if (*name) ds->schema.classes[k++] = name;
        }
    }
    for (; k < n; k++) ds->schema.classes[k] = vkt__arena_printf(&ds->arena, "%u", k);
fail:
    free(text);
    return st;
}

static const char *below(vkt_dataset *ds, const char *dir, const char *name)
{
    return vkt__arena_printf(&ds->arena, "%s/%s", dir, name);
}

vkt_status vkt__cifar_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    const layout *l = NULL;
    for (size_t i = 0; i < VKT_COUNT(layouts) && !l; i++)
        if (vkt__file_exists(below(ds, desc->path, layouts[i].first))) l = &layouts[i];
    if (!l)
        return vkt__fail(VKT_E_IO, "data",
                         "'%s' has neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100): "
                         "give the folder of the binary version",
                         desc->path);
    for (size_t i = 0; l->train[i]; i++)
        VKT_TRY(add_file(l, below(ds, desc->path, l->train[i]), &ds->part[0]));
    if (!vkt__is_absent(below(ds, desc->path, l->test))) {
        VKT_TRY(add_file(l, below(ds, desc->path, l->test), &ds->part[1]));
        ds->of_part[VKT_SPLIT_TEST] = 1;
    }
    VKT_TRY(read_names(ds, below(ds, desc->path, l->names), l->n_classes));
    s->kind = VKT_DATA_KIND_PICTURES;
    s->input_rank = 3;
    memcpy(s->input_shape, (uint32_t[]) { SIDE, SIDE, 3 }, 3 * sizeof(uint32_t));
    s->n_inputs = PIXELS;
    VKT_TRY(vkt__split(ds, desc, NULL, NULL));
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "cifar %s: %u images of 32x32x3, %u classes, %s", desc->path, ds->part[0].n,
        l->n_classes, ds->of_part[VKT_SPLIT_TEST] ? "test file as test set" : "no test file");
fail:
    return st;
}

vkt_likeness vkt__cifar_is(const char *path)
{
    vkt__arena a = { 0 };
    vkt_likeness like = VKT_LIKE_NONE;
    for (size_t i = 0; i < VKT_COUNT(layouts); i++) {
        const layout *l = &layouts[i];
        if (vkt__file_exists(vkt__arena_printf(&a, "%s/%s", path, l->first)) &&
            vkt__file_exists(vkt__arena_printf(&a, "%s/%s", path, l->test)))
            like = VKT_LIKE_CONTENT;
    }
    vkt__arena_finish(&a);
    return like;
}
