/* packed.h: writing a data set of images as one file, and opening it. */
#include <math.h>

#include "data/parts/parts.h"
#include "data/pictures/constants.h"
#include "data/pictures/packed.h"
#include "data/pictures/picture_files.h"

enum { HEADER = 64, WORDS = HEADER / 8 };
static const char magic[] = "VKTPIC01";

/* Hashes and labels, which end on a multiple of 8. */
static uint64_t split_at(uint64_t n, uint64_t n_labels)
{
    return n * 8 + vkt__align(n * n_labels * sizeof(vkt_label), 8);
}

static uint64_t tables_bytes(uint64_t n, uint64_t n_labels)
{
    return split_at(n, n_labels) + vkt__align(n, 8);
}

/* ---- reading ---- */

static vkt_status bad(const char *name, const char *why)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' is %s: pack it again", name, why);
}

vkt_status vkt__packed_parse(const void *bytes, size_t n, const char *name, vkt__packed *out)
{
    uint64_t word[WORDS], pixels, labels, tables;
    const uint8_t *p = bytes;
    if (n < HEADER) return bad(name, "not a pack of images: it is too short");
    memcpy(word, p, HEADER);
    if (memcmp(p, magic, 6) != 0) return bad(name, "not a pack of images");
    if (memcmp(p, magic, 8) != 0) return bad(name, "a pack of another version");
    out->n = word[1];
    out->n_inputs = word[2];
    out->json_bytes = word[4];
    out->n_labels = word[7] ? word[7] : 1;
    bool ok = word[6] == n && out->n > 0 && out->n <= UINT32_MAX && out->n_inputs > 0 &&
              out->n_inputs <= INT32_MAX && vkt__mul_ok(out->n, out->n_inputs, &pixels) &&
              pixels <= n && word[3] == vkt__align(HEADER + pixels, 8) &&
              vkt__mul_ok(out->n, out->n_labels, &labels) && labels <= n / sizeof *out->label;
    tables = ok ? tables_bytes(out->n, out->n_labels) : 0;
    ok = ok && word[3] <= n && tables <= n - word[3] && out->json_bytes == n - word[3] - tables;
    if (!ok) return bad(name, "cut short, or its header is damaged");
    p += word[3];
    if (vkt__hash(p, (size_t)(tables + out->json_bytes), 0) != word[5])
        return bad(name, "damaged: the hash of its tables is wrong");
    out->pixels = (const uint8_t *)bytes + HEADER;
    out->hash = (const void *)p;
    out->label = (const void *)(p + 8 * out->n);
    out->split = p + split_at(out->n, out->n_labels);
    out->json = (const char *)p + tables;
    return VKT_OK;
}

/* Whether an example has what its task says. */
static bool label_ok(const vkt__schema *s, const vkt_label *y)
{
    bool ok = s->task != VKT_TASK_CLASSIFY || y->u < s->n_outputs;
    for (uint32_t k = 0; k < s->n_outputs && s->task == VKT_TASK_MULTILABEL; k++)
        ok = ok && (y[k].u == 0 || y[k].f == 1);
    for (uint32_t k = 0; k < s->n_outputs && s->task == VKT_TASK_REGRESS; k++)
        ok = ok && isfinite(y[k].f);
    return ok;
}

static const char *held(vkt_task task)
{
    return task == VKT_TASK_REGRESS      ? "numbers to predict"
           : task == VKT_TASK_MULTILABEL ? "several labels for each image"
                                         : "one class for each image";
}

/* The pack's own schema. */
static vkt_status parse_schema(const vkt__packed *f, const char *name, vkt__arena *arena,
                               vkt__schema *out)
{
    vkt_status st;
    char *json = vkt__arena_alloc(arena, (size_t)f->json_bytes + 1);
    memcpy(json, f->json, (size_t)f->json_bytes);
    VKT_TRY(vkt__schema_parse(json, arena, out));
    if (out->kind != VKT_DATA_KIND_PICTURES || out->n_inputs != f->n_inputs ||
        vkt__n_labels(out) != f->n_labels)
        st = bad(name, "damaged: its schema describes other examples");
fail:
    return st;
}

/* Labels and the splits' lists; the pixels stay in the map. */
static vkt_status take(vkt_dataset *ds, const vkt__packed *f, const char *name)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    uint64_t n_labels = f->n_labels, bytes = n_labels * sizeof *part->labels;
    VKT_TRY(vkt__alloc_large(f->n, bytes, "labels", &part->labels));
    memcpy(part->labels, f->label, (size_t)(f->n * bytes));
    part->n = (uint32_t)f->n;
    part->pixels = (uint8_t *)(uintptr_t)f->pixels; /* mapped: never written */
    part->hash = f->hash;
    for (uint64_t i = 0; i < f->n; i++) {
        if (!label_ok(&ds->schema, part->labels + i * n_labels) || f->split[i] >= VKT_N_SPLITS)
            return bad(name, "damaged: a label or split is out of range");
        ds->info.n[f->split[i]]++;
    }
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        VKT_TRY(vkt__alloc_large(ds->info.n[s], sizeof **ds->index, "the split", &ds->index[s]));
        ds->info.n[s] = 0;
    }
    for (uint32_t i = 0; i < f->n; i++) ds->index[f->split[i]][ds->info.n[f->split[i]]++] = i;
fail:
    return st;
}

vkt_status vkt__packed_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__packed f = { 0 };
    vkt__schema *s = &ds->schema;
    VKT_TRY(vkt__file_map(desc->path, &ds->part[0].map));
    VKT_TRY(vkt__packed_parse(ds->part[0].map.data, ds->part[0].map.n, desc->path, &f));
    VKT_TRY(parse_schema(&f, desc->path, &ds->arena, s));
    if (s->task != desc->task) {
        st = vkt__fail(VKT_E_ARG, "data", "'%s' holds %s: set data.task: %s", desc->path,
                       held(s->task),
                       s->task == VKT_TASK_REGRESS      ? "regress"
                       : s->task == VKT_TASK_MULTILABEL ? "multilabel"
                                                        : "classify");
        goto fail;
    }
    VKT_TRY(take(ds, &f, desc->path));
    if (desc->standardize != VKT_STANDARDIZE_AUTO) VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "packed %s: %u images of %ux%ux%u, %u %s, split as packed", desc->path,
        ds->part[0].n, s->input_shape[0], s->input_shape[1], s->input_shape[2], s->n_outputs,
        s->task == VKT_TASK_REGRESS      ? "numbers to predict"
        : s->task == VKT_TASK_MULTILABEL ? "labels"
                                         : "classes");
fail:
    return st;
}

/* ---- with a schema ---- */

vkt_likeness vkt__packed_is(const char *path)
{
    char head[6];
    bool is = vkt__bytes_head(path, head, sizeof head) && !memcmp(head, magic, sizeof head);
    return is ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
}

/* The pack's classes or labels by the model's numbers, into own [pack's n_outputs]; numbers to
 * predict must be the model's, in its order. */
static vkt_status match_outputs(const vkt__schema *model, const vkt__schema *pack, const char *path,
                                uint32_t *own)
{
    bool numbers = pack->task == VKT_TASK_REGRESS;
    for (uint32_t c = 0; c < pack->n_outputs; c++) {
        own[c] = numbers ? VKT_MIN(c, model->n_outputs) : 0;
        while (own[c] < model->n_outputs && !numbers &&
               strcmp(model->classes[own[c]], pack->classes[c]))
            own[c]++;
        bool same = own[c] < model->n_outputs &&
                    (!numbers || !strcmp(model->targets[c].name, pack->targets[c].name));
        if (!same)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' has %s '%s', which the model does not know", path,
                             numbers                             ? "the number"
                             : pack->task == VKT_TASK_MULTILABEL ? "a label"
                                                                 : "a class",
                             vkt__show(numbers ? pack->targets[c].name : pack->classes[c]).s);
    }
    if (numbers && pack->n_outputs < model->n_outputs)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' lacks the number '%s', which the model predicts", path,
                         vkt__show(model->targets[pack->n_outputs].name).s);
    return VKT_OK;
}

/* An example's labels as the model has them; y is zero. */
static void by_model(const vkt__schema *model, const vkt__schema *pack, const uint32_t *own,
                     const vkt_label *from, vkt_label *y)
{
    if (pack->task == VKT_TASK_CLASSIFY) y->u = own[from->u];
    for (uint32_t k = 0; k < pack->n_outputs && pack->task == VKT_TASK_MULTILABEL; k++)
        y[own[k]] = from[k];
    for (uint32_t k = 0; k < pack->n_outputs && pack->task == VKT_TASK_REGRESS; k++) {
        const vkt__target *have = &pack->targets[k], *want = &model->targets[k];
        double raw = (double)from[k].f * have->scale + have->mean;
        y[k].f = (float)((raw - want->mean) / want->scale);
    }
}

/* Examples first.. of the pack, whose labels are by its own schema. */
static vkt_status take_from(vkt_dataset *ds, const vkt__packed *f, uint64_t first,
                            const vkt__schema *pack, const uint32_t *own, const char *path)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    size_t n_labels = vkt__n_labels(&ds->schema), bytes = n_labels * sizeof *part->labels;
    VKT_TRY(vkt__alloc_large(f->n - first, bytes, "labels", &part->labels));
    memset(part->labels, 0, (size_t)(f->n - first) * bytes);
    part->n = (uint32_t)(f->n - first);
    part->pixels = (uint8_t *)(uintptr_t)(f->pixels + first * f->n_inputs); /* never written */
    part->hash = f->hash + first;
    for (uint64_t i = first; i < f->n; i++) {
        const vkt_label *from = f->label + i * f->n_labels;
        if (!label_ok(pack, from) || (first && f->split[i] != VKT_SPLIT_TEST))
            return bad(path, "damaged: a label or split is out of range");
        by_model(&ds->schema, pack, own, from, part->labels + (i - first) * n_labels);
    }
fail:
    return st;
}

vkt_status vkt__packed_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    vkt_status st;
    const char *path = paths[0];
    vkt__packed f = { 0 };
    vkt__schema pack = { 0 };
    uint64_t first = 0;
    VKT_ASSERT(n == 1);
    VKT_TRY(vkt__file_map(path, &ds->part[0].map));
    VKT_TRY(vkt__packed_parse(ds->part[0].map.data, ds->part[0].map.n, path, &f));
    VKT_TRY(parse_schema(&f, path, &ds->arena, &pack));
    if (pack.task != ds->schema.task)
        return vkt__fail(
            VKT_E_ARG, "data",
            "'%s' is a pack with %s, the model has %s: give it the pictures themselves", path,
            held(pack.task), held(ds->schema.task));
    const uint32_t *have = pack.input_shape, *want = ds->schema.input_shape;
    if (memcmp(have, want, 3 * sizeof *have) != 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has images of %ux%ux%u, not the model's %ux%ux%u: pack them at that "
                         "size",
                         path, have[0], have[1], have[2], want[0], want[1], want[2]);
    uint32_t *own = vkt__arena_alloc(&ds->arena, pack.n_outputs * sizeof *own);
    VKT_TRY(match_outputs(&ds->schema, &pack, path, own));
    while (first < f.n && f.split[first] != VKT_SPLIT_TEST) first++;
    bool has_test = first < f.n;
    VKT_TRY(take_from(ds, &f, has_test ? first : 0, &pack, own, path));
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "packed %s: %u %simages", path, ds->part[0].n,
                                        has_test ? "test " : "");
fail:
    return st;
}

/* ---- writing ---- */

typedef struct writer {
    const vkt_dataset *ds;
    FILE *file;
    uint64_t n, n_bad, n_labels;
    uint64_t *hash;
    vkt_label *label; /* [total, n_labels] */
    uint8_t *split;
} writer;

static vkt_status write_pixels(writer *w, bool stop_on_bad)
{
    vkt_status st = VKT_OK;
    uint32_t n_inputs = w->ds->schema.n_inputs;
    vkt__scratch scratch = { 0 };
    for (int s = 0; s < VKT_N_SPLITS; s++) {
        const vkt__part *part = &w->ds->part[w->ds->of_part[s]];
        for (uint64_t i = 0; i < w->ds->info.n[s]; i++) {
            uint32_t at = w->ds->index[s][i];
            const uint8_t *pixels = part->files ? NULL : part->pixels + (uint64_t)at * n_inputs;
            if (!pixels) {
                if (!stop_on_bad) vkt__log_quiet(true);
                st = vkt__files_pixels(part->files, &w->ds->schema, at, &scratch, &pixels);
                if (!stop_on_bad) vkt__log_quiet(false);
                if (st != VKT_OK && !stop_on_bad && st != VKT_E_FORMAT)
                    vkt__fail(st, "data", "%s", vkt__last_failure());
                if (st != VKT_OK && (stop_on_bad || st != VKT_E_FORMAT)) goto fail;
                if (st != VKT_OK) {
                    if (!w->n_bad++)
                        vkt_log(VKT_LOG_WARN, "data", "skipped: %s", vkt__last_failure());
                    continue;
                }
            }
            w->hash[w->n] = vkt__hash(pixels, n_inputs, n_inputs);
            memcpy(w->label + w->n * w->n_labels, part->labels + at * w->n_labels,
                   (size_t)w->n_labels * sizeof *w->label);
            w->split[w->n++] = (uint8_t)s;
            fwrite(pixels, 1, n_inputs, w->file);
        }
    }
    st = VKT_OK;
fail:
    vkt__scratch_finish(&scratch);
    return st;
}

/* Tables, text, and at last the header, which says that the rest is there. */
static vkt_status write_rest(writer *w, const char *path)
{
    vkt_status st;
    static const uint8_t zeros[8];
    const char *json = w->ds->schema_json;
    uint64_t n_inputs = w->ds->schema.n_inputs, end = HEADER + w->n * n_inputs,
             at = vkt__align(end, 8), labels = split_at(w->n, w->n_labels),
             tables = tables_bytes(w->n, w->n_labels), bytes = tables + strlen(json);
    uint8_t *rest;
    VKT_TRY(vkt__alloc_large(bytes, 1, "the tables", &rest));
    memset(rest, 0, (size_t)bytes);
    memcpy(rest, w->hash, 8 * (size_t)w->n);
    memcpy(rest + 8 * w->n, w->label, (size_t)(w->n * w->n_labels) * sizeof *w->label);
    memcpy(rest + labels, w->split, (size_t)w->n);
    memcpy(rest + tables, json, strlen(json));
    uint64_t word[WORDS] = { 0,          w->n,         n_inputs,
                             at,         strlen(json), vkt__hash(rest, (size_t)bytes, 0),
                             at + bytes, w->n_labels };
    memcpy(word, magic, 8);
    fwrite(zeros, 1, (size_t)(at - end), w->file);
    fwrite(rest, 1, (size_t)bytes, w->file);
    free(rest);
    if (!vkt__file_seek(w->file, 0)) return vkt__write_failed("data", path);
    fwrite(word, 1, sizeof word, w->file);
fail:
    return st;
}

vkt_status vkt_dataset_pack(const vkt_dataset *ds, bool stop_on_bad, const char *path,
                            uint64_t n_packed[VKT_N_SPLITS])
{
    vkt_status st;
    static const uint8_t zeros[HEADER];
    uint64_t total = 0;
    writer w = { .ds = ds, .n_labels = vkt__n_labels(&ds->schema) };
    char *aside = NULL;
    if (ds->schema.kind != VKT_DATA_KIND_PICTURES)
        return vkt__fail(
            VKT_E_ARG, "data",
            "the data (%s) holds no images to pack: texts are packed from their files, and tables "
            "need no pack",
            ds->info.source);
    for (int s = 0; s < VKT_N_SPLITS; s++) total += ds->info.n[s];
    VKT_TRY(vkt__alloc_large(total, sizeof *w.hash, "the tables", &w.hash));
    VKT_TRY(vkt__alloc_large(total, w.n_labels * sizeof *w.label, "the tables", &w.label));
    VKT_TRY(vkt__alloc_large(total, 1, "the tables", &w.split));
    aside = vkt__file_aside(path);
    VKT_TRY(vkt__file_create(aside, &w.file));
    fwrite(zeros, 1, sizeof zeros, w.file);
    VKT_TRY(write_pixels(&w, stop_on_bad));
    if (w.n == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data", "no image can be read: nothing was packed");
        goto fail;
    }
    VKT_TRY(write_rest(&w, path));
    VKT_TRY(vkt__file_finish(aside, &w.file));
    VKT_TRY(vkt__rename(aside, path));
    memset(n_packed, 0, VKT_N_SPLITS * sizeof *n_packed);
    for (uint64_t i = 0; i < w.n; i++) n_packed[w.split[i]]++;
fail:
    if (w.file) fclose(w.file);
    if (st != VKT_OK && aside) vkt__file_remove(aside);
    free(aside);
    free(w.hash);
    free(w.label);
    free(w.split);
    return st;
}
