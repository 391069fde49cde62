/* The optimizer: moments and tables of one flat parameter buffer, its nodes in a training graph,
 * and the host's share of a step. Formulas stand beside shaders/optim/rule.glsl. */
#include <math.h>

#include "gpu/commands.h"
#include "tensor/graph/graph.h"
#include "optim/moments.h"
#include "optim/optim_flat.h"
#include "shaders/rng.h"

struct vkt_optim {
    vkt_gpu *gpu;
    vkt_optim_desc desc;        /* without its groups */
    uint64_t count;             /* elements of gradients and moments */
    uint64_t first;             /* elements of values before them: frozen */
    vkt_buffer *values, *grads; /* the model's */
    vkt_buffer *shadow;         /* its values in 16 bits, or NULL */
    vkt_dtype precision;
    vkt_buffer *loss_scale; /* struct vkt_loss_scale, or NULL */
    vkt_buffer *sum, *sums; /* accumulation: of gradients; of loss and hits. NULL without */
    vkt__moments moments;
    vkt_buffer *blocks, *groups, *skipped;
    vkt_buffer *tensors, *squares, *trust; /* of a rule for whole tensors, or NULL */
    uint32_t n_tensors;
    uint64_t all_blocks; /* of all pieces, with what fills them up */
    size_t n_groups;
    vkt__range *live;
    size_t n_live;
    vkt__range own;     /* what is updated, and has moments */
    vkt__range *pieces; /* of it, [n_pieces]: each in one piece of every flat buffer */
    size_t n_pieces;
    vkt_status (*whole)(void *user, float *flat);
    void *user;
};

static_assert(offsetof(struct vkt_scalars, loss) == 4 * VKT_SCALAR_LOSS &&
                  offsetof(struct vkt_scalars, grad_norm) == 4 * VKT_SCALAR_GRAD_NORM &&
                  offsetof(struct vkt_scalars, clip) == 4 * VKT_SCALAR_CLIP &&
                  offsetof(struct vkt_scalars, ok) == 4 * VKT_SCALAR_OK &&
                  offsetof(struct vkt_scalars, hits) == 4 * VKT_SCALAR_HITS &&
                  offsetof(struct vkt_scalars, skipped) == 4 * VKT_SCALAR_SKIPPED &&
                  offsetof(struct vkt_scalars, loss_scale) == 4 * VKT_SCALAR_LOSS_SCALE &&
                  sizeof(struct vkt_scalars) == 4 * VKT_N_SCALARS,
              "one layout for shaders and callers");

const char *vkt_optim_rule_name(vkt_optim_rule r)
{
    const vkt__rule *rule = vkt__rule_at((uint32_t)r);
    return rule ? rule->name : "unknown";
}

/* ---- what a description means ---- */

static vkt_status check_range(const char *name, double v, double low, double high, bool below)
{
    if (v >= low && (below ? v < high : v <= high)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "optim", "%s is %g; it must be in [%g, %g%c", name, v, low, high,
                     below ? ')' : ']');
}

vkt_status vkt__optim_check(const vkt_optim_desc *d)
{
    vkt_status st = VKT_OK;
    const double most = 1e30;
    const vkt__rule *rule = vkt__rule_at((uint32_t)d->rule);
    if (!rule) return vkt__fail(VKT_E_ARG, "optim", "there is no rule number %d", (int)d->rule);
    /* g^2 vanishes in float32 below g = 1e-19 or so: a smaller eps would blow such gradients up,
     * and 0 gives 0/0. */
    const struct {
        uint32_t use;
        const char *name;
        float value;
        double low, high;
        bool below;
    } numbers[] = {
        { VKT__USES_MOMENTUM, "momentum", d->momentum, 0, 1, true },
        { VKT__USES_RHO, "rho", d->rho, 0, 1, true },
        { VKT__USES_BETA1, "beta1", d->beta1, 0, 1, true },
        { VKT__USES_BETA2, "beta2", d->beta2, 0, 1, true },
        { VKT__USES_EPS, "eps", d->eps, 1e-16, most, false },
    };
    for (size_t i = 0; i < VKT_COUNT(numbers); i++)
        if (rule->uses & numbers[i].use)
            VKT_TRY(check_range(numbers[i].name, (double)numbers[i].value, numbers[i].low,
                                numbers[i].high, numbers[i].below));
    VKT_TRY(check_range("weight_decay", (double)d->weight_decay, 0, most, false));
    VKT_TRY(check_range("clip", (double)d->clip, 0, most, false));
    if (d->loss_scale != 0) {
        int e;
        VKT_TRY(check_range("loss_scale", (double)d->loss_scale, VKT_LOSS_SCALE_LEAST,
                            VKT_LOSS_SCALE_MOST, false));
        if (frexp((double)d->loss_scale, &e) != 0.5)
            return vkt__fail(
                VKT_E_ARG, "optim",
                "loss_scale is %g; it must be a power of two, so that scaling is exact",
                (double)d->loss_scale);
        if (d->scale_every == 0)
            return vkt__fail(VKT_E_ARG, "optim", "loss_scale never grows: scale_every is 0");
    }
    if (rule->whole && d->parts > 1)
        return vkt__fail(VKT_E_ARG, "optim",
                         "%s needs whole tensors: its moments can't be kept in parts", rule->name);
    VKT_TRY(check_range("ema", (double)d->ema, 0, 1, true));
    for (size_t i = 0; i < d->n_groups; i++) {
        const vkt_optim_group *g = &d->groups[i];
        if (!g->pattern || !g->pattern[0])
            return vkt__fail(VKT_E_ARG, "optim", "group %zu has no name pattern", i + 1);
        VKT_TRY(check_range("a group's lr_scale", (double)g->lr_scale, 0, most, false));
        if (!isnan(g->weight_decay))
            VKT_TRY(check_range("a group's weight_decay", (double)g->weight_decay, 0, most, false));
    }
fail:
    return st;
}

vkt_attr vkt__optim_attr(const vkt_optim_desc *d)
{
    uint32_t uses = vkt__rule_at((uint32_t)d->rule)->uses;
    return (vkt_attr) { .optim = { .rule = (uint32_t)d->rule,
                                   .torch = d->form == VKT_OPTIM_FORM_TORCH,
                                   .beta1 = uses & VKT__USES_MOMENTUM ? d->momentum
                                            : uses & VKT__USES_BETA1  ? d->beta1
                                                                      : 0,
                                   .beta2 = uses & VKT__USES_RHO     ? d->rho
                                            : uses & VKT__USES_BETA2 ? d->beta2
                                                                     : 0,
                                   .eps = uses & VKT__USES_EPS ? d->eps : 0 } };
}

vkt__update_step vkt__optim_factors(const vkt_optim_desc *d, double lr, uint64_t step)
{
    vkt__update_step s = { .lr = lr, .adam_m = 1, .adam_v = 1 };
    const vkt__rule *rule = vkt__rule_at((uint32_t)d->rule);
    if (rule->factors)
        rule->factors(d->form == VKT_OPTIM_FORM_TORCH, (double)d->beta1, (double)d->beta2, step + 1,
                      &s);
    return s;
}

/* The first step's values are taken unchanged; early values count for more. */
static double ema_share(double decay, double t)
{
    return t == 0 ? 1 : 1 - VKT_MIN(decay, (1 + t) / (10 + t));
}

uint32_t vkt_step_block_bytes(void)
{
    return sizeof(struct vkt_step_block);
}

/* Assembled here and then copied, because the block may be in write-combined memory. */
void vkt_optim_fill(const vkt_optim *o, const vkt_step_desc *d, void *step_block)
{
    vkt__update_step s = vkt__optim_factors(&o->desc, d->lr, d->step);
    uint64_t n_micro = d->n_micro ? d->n_micro : 1;
    struct vkt_step_block b = {
        .lr = (float)s.lr,
        .adam_m = (float)s.adam_m,
        .adam_g = (float)s.adam_g,
        .adam_v = (float)s.adam_v,
        .clip = o->desc.clip,
        .step = (uint32_t)(d->step * n_micro + d->micro),
        .micro = d->micro,
        .inv_weight = d->inv_weight > 0 ? (float)d->inv_weight : 1,
        .rows = d->rows,
        .row = d->row,
        .ema = (float)ema_share((double)o->desc.ema, (double)d->step),
        .dropout_key = vkt_rng_key((uint32_t)d->seed, (uint32_t)(d->seed >> 32), VKT_RNG_DROPOUT),
    };
    memcpy(step_block, &b, sizeof b);
}

void vkt_optim_fill_step(const vkt_optim *o, double lr, uint64_t step, uint64_t seed,
                         void *step_block)
{
    vkt_optim_fill(o, &(vkt_step_desc) { .lr = lr, .step = step, .seed = seed }, step_block);
}

/* ---- state ---- */

static vkt__range overlap(vkt__range a, vkt__range b)
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
        vkt__range r = overlap((vkt__range) { p->offset, p->count }, o->own);
        for (uint64_t k = 0; k < r.count; k++) ones[r.offset - o->own.offset + k] = 1;
    }
    vkt_status st = vkt__moments_write(o->gpu, &o->moments, moment, ones);
    free(ones);
    return st;
}

static uint64_t n_blocks(uint64_t count)
{
    return (count + VKT_GROUP_BLOCK - 1) / VKT_GROUP_BLOCK;
}

vkt__range vkt__optim_part(uint64_t count, uint32_t i, uint32_t n)
{
    uint64_t blocks = n_blocks(count), from = VKT_MIN(blocks * i / n * VKT_GROUP_BLOCK, count),
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

/* Where the model's gradients are cut within r, everything that is laid out like them is. */
static vkt__range piece_from(const vkt_optim *o, vkt__range r, uint64_t at)
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
        r = piece_from(o, o->own, at);
        o->pieces = vkt__grow(o->pieces, o->n_pieces, &cap, sizeof *o->pieces);
        o->pieces[o->n_pieces++] = r;
    }
}

/* The cuts within r, in bytes of a buffer that holds it; to be freed. */
static uint64_t *cuts_within(const vkt_optim *o, vkt__range r, size_t *n)
{
    uint64_t *cuts = NULL;
    size_t cap = *n = 0;
    for (vkt__range p = piece_from(o, r, r.offset); p.offset + p.count < r.offset + r.count;) {
        p = piece_from(o, r, p.offset + p.count);
        cuts = vkt__grow(cuts, *n, &cap, sizeof *cuts);
        cuts[(*n)++] = 4 * (p.offset - r.offset);
    }
    return cuts;
}

static vkt_status block_table(vkt_optim *o, const uint32_t *blocks)
{
    uint64_t n = 0, at = 0;
    for (size_t i = 0; i < o->n_pieces; i++) n += vkt__piece_blocks(&o->pieces[i]);
    uint32_t *all = vkt__alloc(n * sizeof *all);
    for (size_t i = 0; i < o->n_pieces; at += vkt__piece_blocks(&o->pieces[i++]))
        memcpy(all + at, blocks + o->pieces[i].offset / VKT_GROUP_BLOCK,
               n_blocks(o->pieces[i].count) * sizeof *all);
    vkt_status st = table(o->gpu, "group of each block", all, n * sizeof *all, &o->blocks);
    free(all);
    return st;
}

static vkt_status make_moments(vkt_optim *o, const vkt__flat *flat)
{
    const vkt_optim_desc *desc = &o->desc;
    vkt_attr attr = vkt__optim_attr(desc);
    vkt_mem mem = desc->offload ? VKT_MEM_HOST : VKT_MEM_DEVICE;
    const struct {
        const char *name, *label;
        bool kept, rule;
        vkt_mem mem;
    } rows[VKT__MAX_MOMENTS] = {
        { "m", "moment m", vkt__optim_has_m(attr), true, mem },
        { "v", "moment v", vkt__optim_has_v(attr), true, mem },
        { "ema", "average parameters", desc->ema > 0, false, mem },
        { "outer", "momentum of outer steps", desc->outer, false, VKT_MEM_HOST },
    };
    vkt_status st = VKT_OK;
    o->moments.at = (vkt__moment_layout) { o->own, o->pieces, o->n_pieces };
    for (uint32_t i = 0; i < VKT_COUNT(rows); i++) {
        if (!rows[i].kept) continue;
        VKT_TRY(vkt__moments_add(o->gpu, &o->moments, rows[i].name, rows[i].label, rows[i].mem,
                                 rows[i].rule && desc->moments == VKT_MOMENTS_8BIT, i));
        if (i == 1 && desc->form == VKT_OPTIM_FORM_PLAYBOOK &&
            vkt__rule_at((uint32_t)desc->rule)->v_begins_at_1)
            VKT_TRY(fill_ones(o, o->moments.n - 1, flat));
    }
fail:
    return st;
}

/* The block of the tables that holds parameter element `at`: each piece begins at a multiple of
 * four of them. */
static uint64_t block_at(const vkt_optim *o, uint64_t at)
{
    uint64_t before = 0;
    for (size_t i = 0; i < o->n_pieces; before += vkt__piece_blocks(&o->pieces[i++])) {
        const vkt__range *p = &o->pieces[i];
        if (at < p->offset + p->count) return before + (at - p->offset) / VKT_GROUP_BLOCK;
    }
    return before;
}

/* The blocks of each tensor, which go on to the next one's first, and room for their sums of
 * squares and ratios. Blocks that fill up a piece stay 0. */
static vkt_status make_tensors(vkt_optim *o, const vkt__flat *flat)
{
    vkt_status st = VKT_OK;
    uint32_t *first = vkt__alloc((flat->n + 1) * sizeof *first);
    for (size_t i = 0; i < o->n_pieces; i++) o->all_blocks += vkt__piece_blocks(&o->pieces[i]);
    for (size_t i = 1; i < flat->n; i++) {
        first[i] = (uint32_t)block_at(o, flat->params[i].offset);
        VKT_ASSERT(first[i] > first[i - 1]);
    }
    first[0] = 0, first[flat->n] = (uint32_t)o->all_blocks;
    o->n_tensors = (uint32_t)flat->n;
    VKT_TRY(table(o->gpu, "blocks of tensors", first, (flat->n + 1) * sizeof *first, &o->tensors));
    VKT_TRY(vkt_buffer_create(
        o->gpu, &(vkt_buffer_desc) { 8 * o->all_blocks, VKT_MEM_DEVICE, "squares of blocks" },
        &o->squares));
    VKT_TRY(vkt_buffer_create(
        o->gpu, &(vkt_buffer_desc) { 4 * o->all_blocks, VKT_MEM_DEVICE, "ratios of blocks" },
        &o->trust));
fail:
    free(first);
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
    VKT_TRY(block_table(o, t.blocks));
    VKT_TRY(table(gpu, "groups", t.groups, t.n_groups * sizeof *t.groups, &o->groups));
    VKT_TRY(table(gpu, "skipped updates", zero, sizeof zero, &o->skipped));
    if (desc->loss_scale > 0) {
        struct vkt_loss_scale start = { desc->loss_scale, 0 };
        VKT_TRY(table(gpu, "loss scale", &start, sizeof start, &o->loss_scale));
    }
    VKT_TRY(make_moments(o, flat));
    if (vkt__optim_gives_direction(vkt__optim_attr(desc))) VKT_TRY(make_tensors(o, flat));
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
    vkt_buffer_destroy(o->gpu, &o->squares);
    vkt_buffer_destroy(o->gpu, &o->trust);
    vkt_buffer_destroy(o->gpu, &o->loss_scale);
    free(o->live);
    free(o->pieces);
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
        vkt__range r = overlap(o->live[i], o->own);
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
    vkt_status st = vkt__moments_read(o->gpu, &o->moments, i, to + o->own.offset);
    return st == VKT_OK && o->whole ? o->whole(o->user, to) : st;
}

vkt_status vkt__optim_write_moment(vkt_optim *o, size_t i, const float *from)
{
    return vkt__moments_write(o->gpu, &o->moments, i, from + o->own.offset);
}

vkt_status vkt__optim_forget_skipped(vkt_optim *o)
{
    static const uint32_t none;
    return vkt_buffer_write(o->gpu, o->skipped, 0, &none, sizeof none);
}

/* ---- nodes ---- */

static vkt_tensor *bound(vkt_graph *g, const char *name, vkt_shape shape, vkt_dtype dtype,
                         const vkt_buffer *buf, uint64_t offset)
{
    vkt_tensor *t = vkt_input(g, shape, dtype, name);
    vkt_bind(t, VKT_ALL_SLOTS, buf, offset);
    return t;
}

vkt_tensor *vkt_optim_loss_scale(vkt_optim *o, vkt_graph *g)
{
    if (!o->loss_scale) return NULL;
    return bound(g, "loss scale", vkt_shape1(1), VKT_F32, o->loss_scale, 0);
}

vkt_status vkt_optim_get_loss_scale(vkt_optim *o, float *scale, uint32_t *good)
{
    struct vkt_loss_scale s = { 1, 0 };
    vkt_status st =
        o->loss_scale ? vkt_buffer_read(o->gpu, o->loss_scale, 0, &s, sizeof s) : VKT_OK;
    *scale = s.scale;
    *good = (uint32_t)s.good;
    return st;
}

vkt_status vkt_optim_set_loss_scale(vkt_optim *o, float scale, uint32_t good)
{
    struct vkt_loss_scale s = { scale, (float)good };
    return o->loss_scale ? vkt_buffer_write(o->gpu, o->loss_scale, 0, &s, sizeof s) : VKT_OK;
}

/* Frozen parameters have no part in the norm, as in PyTorch, where they have no gradient. */
static vkt_tensor *squares(const vkt_optim *o, vkt_graph *g)
{
    vkt_tensor *sum = NULL;
    if (o->desc.parts > 1)
        return bound(g, "squares", vkt_shape1(1), VKT_F32, o->sums, VKT__SUMS_SQUARES);
    for (size_t i = 0; i < o->n_live; i++) {
        vkt__range r;
        for (uint64_t at = o->live[i].offset, end = at + o->live[i].count; at < end;
             at += r.count) {
            r = piece_from(o, o->live[i], at);
            vkt_tensor *part = bound(g, "gradients", vkt_shape1((uint32_t)r.count), VKT_F32,
                                     o->sum ? o->sum : o->grads, 4 * r.offset);
            part = vkt__sum_squares(g, part);
            sum = sum ? vkt_add(g, sum, part) : part;
        }
    }
    return sum ? sum : vkt_fill(g, vkt_shape1(1), 0);
}

static vkt_status make_sums(vkt_optim *o, bool seen)
{
    vkt_status st = VKT_OK;
    size_t n;
    uint64_t *cuts = cuts_within(o, (vkt__range) { 0, o->count }, &n);
    vkt_buffer_desc all = { 4 * o->count, VKT_MEM_DEVICE, "gradient sums", cuts, n };
    VKT_TRY(vkt_buffer_create(o->gpu, &all, &o->sum));
    if (seen && !vkt__buffer_reads_fast(o->sum)) {
        vkt_buffer_destroy(o->gpu, &o->sum);
        all.mem = VKT_MEM_HOST;
        VKT_TRY(vkt_buffer_create(o->gpu, &all, &o->sum));
    }
    VKT_TRY(vkt_buffer_create(o->gpu, &(vkt_buffer_desc) { 512, VKT_MEM_DEVICE, "loss sums" },
                              &o->sums));
fail:
    free(cuts);
    return st;
}

vkt_status vkt_optim_accumulate(vkt_optim *o)
{
    return make_sums(o, false);
}

vkt_status vkt__optim_accumulate_seen(vkt_optim *o)
{
    return make_sums(o, true);
}

void vkt__optim_sums(vkt_optim *o, vkt_buffer **gradients, uint64_t *count, vkt_buffer **sums)
{
    *gradients = o->sum;
    *count = o->count;
    *sums = o->sums;
}

void vkt__optim_build_sums(vkt_optim *o, vkt_graph *g, vkt_tensor *loss, vkt_tensor *hits,
                           const vkt__range *parts, size_t n)
{
    vkt_shape one = vkt_shape1(1);
    for (size_t i = 0; i < n; i++) {
        vkt__range r;
        for (uint64_t at = parts[i].offset, end = at + parts[i].count; at < end; at += r.count) {
            r = piece_from(o, parts[i], at);
            vkt_shape part = vkt_shape1((uint32_t)r.count);
            vkt__accumulate(g, bound(g, "gradient sums", part, VKT_F32, o->sum, 4 * r.offset),
                            bound(g, "gradients", part, VKT_F32, o->grads, 4 * r.offset));
        }
    }
    vkt__accumulate(g, bound(g, "loss sum", one, VKT_F32, o->sums, 0), loss);
    if (hits) vkt__accumulate(g, bound(g, "hits sum", one, VKT_F32, o->sums, VKT__SUMS_HITS), hits);
}

void vkt_optim_build_sum(vkt_optim *o, vkt_graph *g, vkt_tensor *loss, vkt_tensor *hits)
{
    vkt__optim_build_sums(o, g, loss, hits, &(vkt__range) { 0, o->count }, 1);
}

static uint32_t piece_n_blocks(const vkt__range *piece)
{
    return (uint32_t)n_blocks(piece->count);
}

/* One piece in a step's nodes. */
typedef struct {
    vkt__update_in in;
    vkt_tensor *average; /* or NULL */
    const vkt__range *at;
    uint64_t first_block;
} piece_nodes;

static void end_piece(vkt_graph *g, const piece_nodes *p)
{
    if (p->average) vkt__ema(g, p->average, p->in.theta);
}

/* The update of one piece, or the directions of it. */
static piece_nodes update_piece(const vkt_optim *o, vkt_graph *g, vkt__update_in in,
                                const vkt__range *piece, uint64_t first_block)
{
    vkt_shape shape = vkt_shape1((uint32_t)piece->count);
    uint64_t at = piece->offset - o->own.offset, value = o->first + piece->offset;
    vkt_tensor *average = NULL, *shadow = NULL;
    in.theta = bound(g, "parameters", shape, VKT_F32, o->values, 4 * value);
    in.grad = bound(g, "gradients", shape, VKT_F32, o->sum ? o->sum : o->grads, 4 * piece->offset);
    for (size_t i = 0; i < o->moments.n; i++) {
        const struct vkt__moment_buffer *b = &o->moments.list[i];
        if (b->name[0] == 'o') continue; /* of outer steps: the host's */
        vkt_tensor **to = b->name[0] == 'e' ? &average : b->name[0] == 'v' ? &in.v : &in.m;
        *to = b->packed
                  ? bound(g, b->name, vkt_shape1((shape.d[0] + 3) / 4), VKT_U32, b->values, at)
                  : bound(g, b->name, shape, VKT_F32, b->values, 4 * at);
    }
    in.blocks =
        bound(g, "blocks", vkt_shape1(piece_n_blocks(piece)), VKT_U32, o->blocks, 4 * first_block);
    if (o->shadow)
        shadow = bound(g, "16-bit parameters", shape, o->precision, o->shadow,
                       vkt_dtype_bytes(o->precision) * value);
    if (o->tensors) /* where the gradients are: they have been read */
        in.direction =
            bound(g, "directions", shape, VKT_F32, o->sum ? o->sum : o->grads, 4 * piece->offset);
    else
        in.shadow = shadow;
    vkt_attr attr = vkt__optim_attr(&o->desc);
    if (o->moments.scales) {
        attr.optim.first = (uint32_t)piece->offset;
        in.scales = bound(g, "scales", vkt_shape2(2, vkt_tensor_shape(in.blocks).d[0]), VKT_F32,
                          o->moments.scales, 8 * first_block);
        vkt__optim_update8(g, &in, attr);
    } else {
        vkt__optim_update(g, &in, attr);
    }
    in.shadow = shadow;
    return (piece_nodes) { in, average, piece, first_block };
}

/* After the directions of all pieces: the ratios of their tensors, and the step. */
static void apply_directions(const vkt_optim *o, vkt_graph *g, const piece_nodes *pieces)
{
    for (size_t i = 0; i < o->n_pieces; i++)
        vkt__block_squares(g, &pieces[i].in,
                           bound(g, "squares of blocks",
                                 vkt_shape2(piece_n_blocks(pieces[i].at), 2), VKT_F32, o->squares,
                                 8 * pieces[i].first_block));
    vkt__optim_trust_ratios(
        g,
        bound(g, "squares of blocks", vkt_shape2((uint32_t)o->all_blocks, 2), VKT_F32, o->squares,
              0),
        bound(g, "blocks of tensors", vkt_shape1(o->n_tensors + 1), VKT_U32, o->tensors, 0),
        bound(g, "ratios of blocks", vkt_shape1((uint32_t)o->all_blocks), VKT_F32, o->trust, 0));
    for (size_t i = 0; i < o->n_pieces; i++)
        vkt__optim_apply(g, &pieces[i].in,
                         bound(g, "ratios of blocks", vkt_shape1(piece_n_blocks(pieces[i].at)),
                               VKT_F32, o->trust, 4 * pieces[i].first_block));
}

vkt_tensor *vkt_optim_build(vkt_optim *o, vkt_graph *g, vkt_tensor *loss, vkt_tensor *hits)
{
    if (o->sum) {
        loss = bound(g, "loss sum", vkt_shape1(1), VKT_F32, o->sums, 0);
        hits = bound(g, "hits sum", vkt_shape1(1), VKT_F32, o->sums, VKT__SUMS_HITS);
    }
    vkt__update_in in = {
        .step = vkt_step(g),
        .groups = bound(g, "groups", vkt_shape2((uint32_t)o->n_groups, 2), VKT_F32, o->groups, 0),
    };
    vkt__state_in state = { .squares = squares(o, g),
                            .loss = loss,
                            .hits = hits,
                            .step = in.step,
                            .skipped = bound(g, "skipped", vkt_shape1(1), VKT_U32, o->skipped, 0) };
    if (o->loss_scale) {
        state.loss_scale =
            bound(g, "loss scale and good steps", vkt_shape1(2), VKT_F32, o->loss_scale, 0);
        state.scale_every = o->desc.scale_every;
    }
    in.scalars = vkt__optim_state(g, &state);
    uint64_t block = 0;
    piece_nodes *pieces = vkt__alloc(o->n_pieces * sizeof *pieces);
    for (size_t i = 0; i < o->n_pieces; block += vkt__piece_blocks(&o->pieces[i++]))
        pieces[i] = update_piece(o, g, in, &o->pieces[i], block);
    if (o->tensors) apply_directions(o, g, pieces);
    for (size_t i = 0; i < o->n_pieces; i++) end_piece(g, &pieces[i]);
    free(pieces);
    return in.scalars;
}
