/* The data set: what can be asked of it once it is open. */
#include "data/dataset.h"
#include "data/boxes/targets.h"
#include "data/parts/parts.h"
#include "data/pictures/augment.h"
#include "data/pictures/dense.h"
#include "data/pictures/picture_files.h"
#include "data/points/poses.h"
#include "data/text/corpus.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/vocabulary.h"

static bool is_text(const vkt_dataset *ds)
{
    return ds->info.kind == VKT_DATA_KIND_TEXT;
}

void vkt_dataset_destroy(vkt_dataset **pds)
{
    vkt_dataset *ds = *pds;
    if (!ds) return;
    for (int i = 0; i < 2; i++) {
        if (!ds->part[i].map.n) free(ds->part[i].pixels);
        vkt__file_unmap(&ds->part[i].map);
        free(ds->part[i].values);
        free(ds->part[i].line);
        vkt__files_destroy(&ds->part[i].files);
        vkt__files_destroy(&ds->part[i].targets);
        vkt__objects_destroy(&ds->part[i].objects);
        vkt__poses_destroy(&ds->part[i].poses);
        free(ds->part[i].class_pixels);
        free(ds->part[i].labels);
    }
    for (int i = 0; i < VKT_N_SPLITS; i++) free(ds->index[i]);
    vkt__corpus_destroy(&ds->corpus);
    free(ds->group);
    free(ds->pixel_scale);
    free(ds->pixel_bias);
    vkt__arena_finish(&ds->arena);
    free(ds);
    *pds = NULL;
}

const vkt_dataset_info *vkt_dataset_get_info(const vkt_dataset *ds)
{
    return &ds->info;
}

const char *vkt_dataset_schema(const vkt_dataset *ds)
{
    return ds->schema_json;
}

void vkt_dataset_class_counts(const vkt_dataset *ds, vkt_split split, uint64_t *out)
{
    uint32_t n = ds->schema.n_outputs;
    VKT_ASSERT(ds->schema.task != VKT_TASK_REGRESS && ds->schema.task != VKT_TASK_PICTURE &&
               !is_text(ds));
    memset(out, 0, n * sizeof *out);
    if (ds->schema.task == VKT_TASK_SEGMENT || ds->schema.task == VKT_TASK_INSTANCES) {
        vkt__dense_count(ds, split, out);
        return;
    }
    if (ds->schema.task == VKT_TASK_DETECT) {
        vkt__boxes_count(ds, split, out);
        return;
    }
    if (ds->schema.task == VKT_TASK_POINTS) {
        vkt__poses_count(ds, split, out);
        return;
    }
    for (uint64_t i = 0; ds->info.has_labels && i < ds->info.n[split]; i++) {
        const vkt_label *y = vkt__dataset_label(ds, split, i);
        if (ds->schema.task == VKT_TASK_CLASSIFY) out[y->u]++;
        for (uint32_t c = 0; ds->schema.task == VKT_TASK_MULTILABEL && c < n; c++)
            out[c] += y[c].f > 0;
    }
}

vkt_status vkt__dataset_fill(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__draw *draw, vkt__scratch *scratch, float *x)
{
    vkt_status st;
    const vkt__part *part = &ds->part[ds->of_part[split]];
    uint32_t n = ds->schema.n_inputs, at = ds->index[split][i];
    const uint8_t *pixels;
    if (part->values) {
        memcpy(x, part->values + (uint64_t)at * n, n * sizeof *x);
        return VKT_OK;
    }
    if (draw) return vkt__augment_fill(ds, split, i, draw, scratch, x);
    if (part->files)
        VKT_TRY(vkt__files_pixels(part->files, &ds->schema, at, scratch, &pixels));
    else
        pixels = part->pixels + (uint64_t)at * n;
    const uint8_t *restrict v = pixels;
    const float *restrict scale = ds->pixel_scale, *restrict bias = ds->pixel_bias;
    float *restrict to = x;
    for (uint32_t j = 0; j < n; j++) to[j] = (float)v[j] * scale[j] + bias[j];
    return VKT_OK;
fail:
    return st;
}

vkt_status vkt__dataset_picture(const vkt_dataset *ds, vkt_split split, uint64_t i,
                                vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                                const uint8_t **pixels)
{
    const vkt__part *part = &ds->part[ds->of_part[split]];
    return vkt__files_source(part->files, &ds->schema, ds->index[split][i], scratch, w, h, pixels);
}

vkt_status vkt__dataset_other_picture(const vkt_dataset *ds, vkt_split split, uint64_t i,
                                      vkt__scratch *scratch, uint32_t *w, uint32_t *h,
                                      const uint8_t **pixels)
{
    const vkt__part *part = &ds->part[ds->of_part[split]];
    if (!part->files || !part->targets)
        return vkt__fail(VKT_E_ARG, "data", "'%s' has no masks or pictures in files of their own",
                         ds->info.source);
    return vkt__files_source(part->targets, &ds->target, ds->index[split][i], scratch, w, h,
                             pixels);
}

vkt_status vkt__dataset_target(const vkt_dataset *ds, vkt_split split, uint64_t i,
                               const vkt__moves *moves, vkt__scratch *scratch, vkt_label *y)
{
    if (ds->schema.task == VKT_TASK_DETECT)
        return vkt__boxes_target(ds, split, i, moves, scratch, y);
    if (ds->schema.task != VKT_TASK_POINTS)
        return vkt__dense_target(ds, split, i, moves, scratch, y);
    vkt__poses_target(ds, split, i, moves, y);
    return VKT_OK;
}

void vkt__dataset_no_target(const vkt_dataset *ds, vkt_label *y)
{
    if (ds->schema.task == VKT_TASK_DETECT)
        vkt__boxes_nothing(ds, y);
    else if (ds->schema.task == VKT_TASK_POINTS)
        vkt__poses_nothing(ds, y);
    else
        vkt__dense_nothing(ds, y);
}

vkt_status vkt_dataset_example(const vkt_dataset *ds, vkt_split split, uint64_t i, float *x,
                               vkt_label *y)
{
    vkt__scratch scratch = { 0 };
    VKT_ASSERT((unsigned)split < VKT_N_SPLITS && i < ds->info.n[split] && !is_text(ds));
    bool dense = vkt__is_dense(ds->schema.task);
    if (!dense) memcpy(y, vkt__dataset_label(ds, split, i), vkt__n_labels(&ds->schema) * sizeof *y);
    vkt_status st = vkt__dataset_fill(ds, split, i, NULL, &scratch, x);
    if (st == VKT_OK && dense) st = vkt__dataset_target(ds, split, i, NULL, &scratch, y);
    vkt__scratch_finish(&scratch);
    return st;
}

const char *vkt_dataset_file(const vkt_dataset *ds, vkt_split split, uint64_t i)
{
    const vkt__part *part = &ds->part[ds->of_part[split]];
    VKT_ASSERT((unsigned)split < VKT_N_SPLITS && i < ds->info.n[split]);
    return part->files ? vkt__files_path(part->files, ds->index[split][i]) : NULL;
}

void vkt_dataset_window(const vkt_dataset *ds, vkt_split split, uint64_t i, uint32_t *tokens,
                        uint32_t *targets)
{
    VKT_ASSERT((unsigned)split < VKT_N_SPLITS && i < ds->info.n[split] && is_text(ds));
    vkt__corpus_window(ds->corpus, split, i, 0, tokens, targets, NULL);
}

bool vkt__dataset_reads_anew(const vkt_dataset *ds, const char *schema_json)
{
    vkt__arena a = { 0 };
    vkt__schema s;
    bool again = false;
    if (!is_text(ds) || !schema_json) return false;
    if (ds->corpus->pairs || !vkt__corpus_counts_all(ds->corpus) ||
        ds->corpus->tokenizer->n_around[0] || ds->corpus->tokenizer->n_around[1])
        again = vkt__schema_parse(schema_json, &a, &s) == VKT_OK && s.tokenizer &&
                vkt__tokenizer_kept_earlier(s.tokenizer);
    vkt__arena_finish(&a);
    return again;
}

void vkt_dataset_target_scale(const vkt_dataset *ds, uint32_t k, double *scale, double *mean)
{
    bool numbers = ds->schema.task == VKT_TASK_REGRESS;
    VKT_ASSERT(!numbers || k < ds->schema.n_targets);
    *scale = numbers ? ds->schema.targets[k].scale : 1;
    *mean = numbers ? ds->schema.targets[k].mean : 0;
}

double vkt_dataset_target_value(const vkt_dataset *ds, uint32_t k, double standardised)
{
    VKT_ASSERT(ds->schema.task == VKT_TASK_REGRESS && k < ds->schema.n_targets);
    return vkt__target_given(&ds->schema.targets[k], standardised);
}

uint64_t vkt_dataset_fingerprint(const vkt_dataset *ds)
{
    uint64_t h = vkt__hash(ds->schema.input_shape, sizeof ds->schema.input_shape, 0);
    if (is_text(ds)) {
        const vkt__corpus *c = ds->corpus;
        uint64_t what[] = { c->hash, c->tokenizer->info.hash };
        h = vkt__hash(c->dealt.n_tokens, sizeof c->dealt.n_tokens, vkt__hash(what, sizeof what, h));
    }
    for (int i = 0; i < 2; i++) {
        const vkt__part *p = &ds->part[i];
        size_t n = (size_t)p->n * ds->schema.n_inputs;
        h = vkt__hash(&p->n, sizeof p->n, h);
        if (p->pixels)
            h = p->hash ? vkt__hash(p->hash, p->n * sizeof *p->hash, h)
                        : vkt__hash(p->pixels, n, h);
        if (p->files) h = vkt__hash(vkt__files_hash(p->files), p->n * sizeof(uint64_t), h);
        if (p->targets) h = vkt__hash(vkt__files_hash(p->targets), p->n * sizeof(uint64_t), h);
        if (p->objects) h = vkt__objects_hash(p->objects, h);
        if (p->poses) h = vkt__poses_hash(p->poses, h);
        if (p->values) h = vkt__hash(p->values, n * sizeof *p->values, h);
        if (p->labels)
            h = vkt__hash(p->labels, (size_t)p->n * vkt__n_labels(&ds->schema) * sizeof *p->labels,
                          h);
    }
    for (int i = 0; i < VKT_N_SPLITS; i++) {
        h = vkt__hash(&ds->info.n[i], sizeof ds->info.n[i], h);
        if (ds->index[i]) h = vkt__hash(ds->index[i], ds->info.n[i] * sizeof **ds->index, h);
    }
    return h;
}
