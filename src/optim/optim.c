/* The optimizer's state: moments and tables of one flat parameter buffer. */
#include <math.h>

#include "gpu/commands.h"
#include "optim/optim_state.h"

vkt__range vkt__ranges_overlap(vkt__range a, vkt__range b)
{
    uint64_t from = VKT_MAX(a.offset, b.offset),
             to = VKT_MIN(a.offset + a.count, b.offset + b.count);
    return (vkt__range) { from, to > from ? to - from : 0 };
}

/* 1 in every parameter; padding stays zero, as in every buffer. */
static vkt_status fill_ones(vkt_optim *o, size_t moment, const vkt__flat *flat)
{
    float *ones = calloc(o->own.count, sizeof *ones);
    if (!ones)
        return vkt__fail(VKT_E_OOM_HOST, "optim", "no memory for %.1f MiB of moment %s",
                         (double)o->own.count * sizeof *ones / 1048576,
                         o->moments.list[moment].name);
    for (size_t i = 0; i < flat->n; i++) {
        const vkt_param *p = &flat->params[i];
        vkt__range r = vkt__ranges_overlap((vkt__range) { p->offset, p->count }, o->own);
        for (uint64_t k = 0; k < r.count; k++) ones[r.offset - o->own.offset + k] = 1;
    }
    vkt_status st = vkt__moments_write(o->gpu, &o->moments, moment, ones);
    free(ones);
    return st;
}

vkt__range vkt__optim_part(uint64_t count, uint32_t i, uint32_t n)
{
    uint64_t blocks = vkt__group_blocks(count),
             from = VKT_MIN(blocks * i / n * VKT_GROUP_BLOCK, count),
             to = VKT_MIN(blocks * (i + 1) / n * VKT_GROUP_BLOCK, count);
    return (vkt__range) { from, to - from };
}

static vkt_status table(vkt_gpu *gpu, const char *label, const void *data, uint64_t bytes,
                        vkt_buffer **out)
{
    vkt_status st =
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, label }, out);
    return st == VKT_OK ? vkt_buffer_write(gpu, *out, 0, data, bytes) : st;
}

vkt__range vkt__optim_piece_from(const vkt_optim *o, vkt__range r, uint64_t at)
{
    uint64_t end;
    vkt__buffer_piece(o->grads, 4 * at, &end);
    return (vkt__range) { at, VKT_MIN(end / 4, r.offset + r.count) - at };
}

static void cut(vkt_optim *o)
{
    size_t cap = 0;
    vkt__range r;
    for (uint64_t at = o->own.offset; at < o->own.offset + o->own.count; at += r.count) {
        r = vkt__optim_piece_from(o, o->own, at);
        o->pieces = vkt__grow(o->pieces, o->n_pieces, &cap, sizeof *o->pieces);
        o->pieces[o->n_pieces++] = r;
    }
}

uint64_t *vkt__optim_cuts_within(const vkt_optim *o, vkt__range r, size_t *n)
{
    uint64_t *cuts = NULL;
    size_t cap = *n = 0;
    for (vkt__range p = vkt__optim_piece_from(o, r, r.offset);
         p.offset + p.count < r.offset + r.count;) {
        p = vkt__optim_piece_from(o, r, p.offset + p.count);
        cuts = vkt__grow(cuts, *n, &cap, sizeof *cuts);
        cuts[(*n)++] = 4 * (p.offset - r.offset);
    }
    return cuts;
}

static vkt_status block_table(vkt_optim *o, const uint32_t *blocks)
{
    uint32_t *all = vkt__alloc(o->all_blocks * sizeof *all);
    for (size_t i = 0; i < o->n_stretches; i++) {
        const vkt__stretch *s = &o->stretches[i];
        memcpy(all + s->first_block, blocks + s->at.offset / VKT_GROUP_BLOCK,
               vkt__group_blocks(s->at.count) * sizeof *all);
    }
    vkt_status st =
        table(o->gpu, "group of each block", all, o->all_blocks * sizeof *all, &o->blocks);
    free(all);
    return st;
}

/* Cuts where the gradients have theirs, as the tensors of a piece lie in one of every buffer. */
static vkt_status add_placed(vkt_optim *o, const char *name, const char *label, vkt_mem mem)
{
    uint64_t total, *cuts = vkt__alloc(o->n_pieces * sizeof *cuts);
    size_t n = 0, i = 0;
    vkt__range *places = vkt__stretches_places(o, name, &total);
    for (size_t k = 1; k < o->n_pieces; k++) {
        while (i < o->n_params && o->params[i].offset < o->pieces[k].offset) i++;
        uint64_t at = i < o->n_params ? sizeof(float) * places[i].offset : 0;
        if (at && at < sizeof(float) * total && (!n || cuts[n - 1] < at)) cuts[n++] = at;
    }
    vkt_status st =
        vkt__moments_add_placed(o->gpu, &o->moments, name, label, mem, places, total, cuts, n);
    free(cuts);
    return st;
}

static vkt_status make_moments(vkt_optim *o, const vkt__flat *flat)
{
    const vkt_optim_desc *desc = &o->desc;
    vkt_attr attr = vkt__optim_attr(desc), rest = vkt__optim_rest_attr(desc);
    vkt_mem mem = desc->offload ? VKT_MEM_HOST : VKT_MEM_DEVICE;
    bool lines = vkt__rule_at(attr.optim.rule)->keeps & VKT__KEEPS_LINES;
    bool more = vkt__optim_has_change(attr);
    const struct {
        const char *name, *label;
        bool kept, rule, placed;
        vkt_mem mem;
    } rows[VKT__MAX_MOMENTS] = {
        { "m", "moment m", vkt__optim_has_m(attr), true, false, mem },
        { "v", "moment v", vkt__optim_has_v(rest), true, rest.optim.rule != attr.optim.rule, mem },
        { "change", "moment of changes", more, true, false, mem },
        { "last", "last gradient", more, true, false, mem },
        { "rows", "mean squares of rows", lines, true, true, mem },
        { "columns", "mean squares of columns", lines, true, true, mem },
        { "ema", "average parameters", desc->ema > 0, false, false, mem },
        { "outer", "momentum of outer steps", desc->outer, false, false, VKT_MEM_HOST },
    };
    vkt_status st = VKT_OK;
    o->moments.at = (vkt__moment_layout) { o->own, o->pieces, o->n_pieces };
    for (uint32_t i = 0; i < VKT_COUNT(rows); i++) {
        if (!rows[i].kept) continue;
        if (rows[i].placed) {
            VKT_TRY(add_placed(o, rows[i].name, rows[i].label, rows[i].mem));
            continue;
        }
        VKT_TRY(vkt__moments_add(o->gpu, &o->moments, rows[i].name, rows[i].label, rows[i].mem,
                                 rows[i].rule && desc->moments == VKT_MOMENTS_8BIT, i));
        if (i == 1 && desc->form == VKT_OPTIM_FORM_PLAYBOOK &&
            vkt__rule_at((uint32_t)desc->rule)->v_begins_at_1)
            VKT_TRY(fill_ones(o, o->moments.n - 1, flat));
    }
fail:
    return st;
}

/* The blocks of each tensor, which go on to the next one's first, and room for their sums of
 * squares and ratios. Blocks that fill up a stretch stay 0. */
static vkt_status make_tensors(vkt_optim *o)
{
    vkt_status st = VKT_OK;
    size_t n = o->n_params, bytes = (n + 1) * sizeof(uint32_t);
    uint32_t *first = vkt__alloc(bytes), *counts = vkt__alloc(bytes);
    for (size_t i = 0; i < n; i++) {
        counts[i] = (uint32_t)o->params[i].count;
        first[i] = (uint32_t)vkt__stretches_block(o, o->params[i].offset);
        VKT_ASSERT(i == 0 || first[i] > first[i - 1]);
    }
    first[0] = 0, first[n] = (uint32_t)o->all_blocks;
    VKT_TRY(table(o->gpu, "blocks of tensors", first, bytes, &o->tensors));
    VKT_TRY(table(o->gpu, "elements of tensors", counts, bytes, &o->counts));
    VKT_TRY(vkt_buffer_create(
        o->gpu, &(vkt_buffer_desc) { 8 * o->all_blocks, VKT_MEM_DEVICE, "squares of blocks" },
        &o->squares));
    VKT_TRY(vkt_buffer_create(
        o->gpu, &(vkt_buffer_desc) { 4 * o->all_blocks, VKT_MEM_DEVICE, "ratios of blocks" },
        &o->trust));
fail:
    free(first);
    free(counts);
    return st;
}

vkt_status vkt__optim_create_flat(vkt_gpu *gpu, const vkt_optim_desc *desc, const vkt__flat *flat,
                                  vkt_optim **out)
{
    static const uint32_t zero[4];
    vkt_status st = VKT_OK;
    vkt__groups t = { 0 };
    *out = NULL;
    vkt_optim *o = vkt__alloc(sizeof *o);
    *o = (vkt_optim) { .gpu = gpu,
                       .desc = *desc,
                       .count = flat->count,
                       .first = flat->first,
                       .values = flat->values,
                       .grads = flat->grads,
                       .shadow = flat->shadow,
                       .precision = flat->precision };
    o->desc.groups = NULL;
    o->desc.n_groups = 0;
    VKT_TRY(vkt__optim_check(desc));
    if (flat->count == 0) {
        st = vkt__fail(VKT_E_ARG, "optim", "the model has no parameters to train");
        goto fail;
    }
    o->own = vkt__optim_part(flat->count, desc->part, VKT_MAX(desc->parts, 1));
    if (!o->own.count) {
        st = vkt__fail(VKT_E_ARG, "optim",
                       "the model's %llu parameters are too few to be shared by %u ranks",
                       (unsigned long long)flat->count, desc->parts);
        goto fail;
    }
    vkt__groups_init(&t, desc, flat);
    if (t.n_live == 0)
        vkt_log(VKT_LOG_WARN, "optim", "every parameter is frozen: training will change nothing");
    o->live = t.live;
    o->n_live = t.n_live;
    t.live = NULL;
    o->n_groups = t.n_groups;
    cut(o);
    o->n_params = flat->n;
    o->params = vkt__alloc((flat->n + 1) * sizeof *o->params);
    memcpy(o->params, flat->params, flat->n * sizeof *o->params);
    vkt__stretches_make(o, flat->hidden);
    VKT_TRY(block_table(o, t.blocks));
    VKT_TRY(table(gpu, "groups", t.groups, t.n_groups * sizeof *t.groups, &o->groups));
    VKT_TRY(table(gpu, "skipped updates", zero, sizeof zero, &o->skipped));
    if (desc->loss_scale > 0) {
        struct vkt_loss_scale start = { desc->loss_scale, 0 };
        VKT_TRY(table(gpu, "loss scale", &start, sizeof start, &o->loss_scale));
    }
    VKT_TRY(make_moments(o, flat));
    if (vkt__optim_gives_direction(vkt__optim_attr(desc))) VKT_TRY(make_tensors(o));
    *out = o;
    o = NULL;
fail:
    vkt__groups_finish(&t);
    vkt_optim_destroy(&o);
    return st;
}

void vkt_optim_destroy(vkt_optim **po)
{
    vkt_optim *o = *po;
    if (!o) return;
    vkt__moments_destroy(o->gpu, &o->moments);
    vkt_buffer_destroy(o->gpu, &o->sum);
    vkt_buffer_destroy(o->gpu, &o->sums);
    vkt_buffer_destroy(o->gpu, &o->blocks);
    vkt_buffer_destroy(o->gpu, &o->groups);
    vkt_buffer_destroy(o->gpu, &o->skipped);
    vkt_buffer_destroy(o->gpu, &o->tensors);
    vkt_buffer_destroy(o->gpu, &o->counts);
    vkt_buffer_destroy(o->gpu, &o->squares);
    vkt_buffer_destroy(o->gpu, &o->trust);
    vkt_buffer_destroy(o->gpu, &o->loss_scale);
    free(o->live);
    free(o->pieces);
    free(o->params);
    free(o->stretches);
    free(o);
    *po = NULL;
}

size_t vkt_optim_n_moments(const vkt_optim *o)
{
    return o->moments.n;
}

const char *vkt_optim_moment_name(const vkt_optim *o, size_t i)
{
    return i < o->moments.n ? o->moments.list[i].name : NULL;
}

vkt_buffer *vkt_optim_moment(const vkt_optim *o, size_t i)
{
    return i < o->moments.n ? o->moments.list[i].values : NULL;
}

uint64_t vkt_optim_moment_place(const vkt_optim *o, size_t i, size_t param, uint64_t *count)
{
    vkt__range r = { 0 };
    if (i < o->moments.n && param < o->n_params) r = vkt__optim_moment_of(o, i, param);
    *count = r.count;
    return r.offset;
}

bool vkt__optim_moment_is_flat(const vkt_optim *o, size_t i)
{
    return !o->moments.list[i].places;
}

uint64_t vkt__optim_moment_count(const vkt_optim *o, size_t i)
{
    return vkt__optim_moment_is_flat(o, i) ? o->count : o->moments.list[i].total;
}

vkt__range vkt__optim_moment_of(const vkt_optim *o, size_t i, size_t param)
{
    const vkt_param *p = &o->params[param];
    return vkt__optim_moment_is_flat(o, i) ? (vkt__range) { p->offset, p->count }
                                           : o->moments.list[i].places[param];
}

uint64_t vkt__optim_moment_bytes(const vkt_optim *o)
{
    return vkt__moments_bytes(&o->moments);
}

/* ---- parts ---- */

vkt__range vkt__optim_own(const vkt_optim *o)
{
    return o->own;
}

double vkt__optim_squares(const vkt_optim *o, const float *gradients)
{
    double sum = 0;
    for (size_t i = 0; i < o->n_live; i++) {
        vkt__range r = vkt__ranges_overlap(o->live[i], o->own);
        for (uint64_t k = r.offset; k < r.offset + r.count; k++)
            sum += (double)gradients[k] * (double)gradients[k];
    }
    return sum;
}

void vkt__optim_on_whole(vkt_optim *o, vkt_status (*whole)(void *user, float *flat), void *user)
{
    o->whole = whole;
    o->user = user;
}

vkt_status vkt__optim_read_moment(const vkt_optim *o, size_t i, float *to)
{
    if (!vkt__optim_moment_is_flat(o, i)) return vkt__moments_read(o->gpu, &o->moments, i, to);
    vkt_status st = vkt__moments_read(o->gpu, &o->moments, i, to + o->own.offset);
    return st == VKT_OK && o->whole ? o->whole(o->user, to) : st;
}

vkt_status vkt__optim_write_moment(vkt_optim *o, size_t i, const float *from)
{
    uint64_t first = vkt__optim_moment_is_flat(o, i) ? o->own.offset : 0;
    return vkt__moments_write(o->gpu, &o->moments, i, from + first);
}

vkt_status vkt__optim_forget_skipped(vkt_optim *o)
{
    static const uint32_t none;
    return vkt_buffer_write(o->gpu, o->skipped, 0, &none, sizeof none);
}
