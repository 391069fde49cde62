/* The optimizer's nodes in a training graph. Formulas stand beside shaders/optim/rule.glsl. */
#include <math.h>

#include "gpu/commands.h"
#include "optim/optim_state.h"
#include "tensor/graph/graph.h"

static_assert(offsetof(struct vkt_scalars, loss) == 4 * VKT_SCALAR_LOSS &&
                  offsetof(struct vkt_scalars, grad_norm) == 4 * VKT_SCALAR_GRAD_NORM &&
                  offsetof(struct vkt_scalars, clip) == 4 * VKT_SCALAR_CLIP &&
                  offsetof(struct vkt_scalars, ok) == 4 * VKT_SCALAR_OK &&
                  offsetof(struct vkt_scalars, hits) == 4 * VKT_SCALAR_HITS &&
                  offsetof(struct vkt_scalars, skipped) == 4 * VKT_SCALAR_SKIPPED &&
                  offsetof(struct vkt_scalars, loss_scale) == 4 * VKT_SCALAR_LOSS_SCALE &&
                  sizeof(struct vkt_scalars) == 4 * VKT_N_SCALARS,
              "one layout for shaders and callers");
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
            r = vkt__optim_piece_from(o, o->live[i], at);
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
    uint64_t *cuts = vkt__optim_cuts_within(o, (vkt__range) { 0, o->count }, &n);
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
            r = vkt__optim_piece_from(o, parts[i], at);
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

/* ---- the update ---- */

static uint32_t blocks_of(const vkt__stretch *s)
{
    return (uint32_t)vkt__group_blocks(s->at.count);
}

/* One stretch in a step's nodes. */
typedef struct {
    vkt__update_in in;
    vkt_tensor *average; /* or NULL */
    const vkt__stretch *at;
} stretch_nodes;

/* Where the numbers of moment b that belong to a stretch lie; how many. */
static uint64_t moment_at(const vkt_optim *o, const struct vkt__moment_buffer *b,
                          const vkt__stretch *s, uint64_t *count)
{
    *count = s->own && b->places ? b->places[s->tensor].count : s->at.count;
    return b->places ? b->places[s->tensor].offset : s->at.offset - o->own.offset;
}

static vkt_tensor *moment_of(const vkt_optim *o, vkt_graph *g, const char *name,
                             const vkt__stretch *s)
{
    for (size_t i = 0; i < o->moments.n; i++) {
        const struct vkt__moment_buffer *b = &o->moments.list[i];
        uint64_t count, at = moment_at(o, b, s, &count);
        if (strcmp(b->name, name) != 0 || !count) continue;
        return b->packed
                   ? bound(g, b->name, vkt_shape1((uint32_t)(count + 3) / 4), VKT_U32, b->values,
                           at)
                   : bound(g, b->name, vkt_shape1((uint32_t)count), VKT_F32, b->values, 4 * at);
    }
    return NULL;
}

/* All that the nodes of a stretch read and write. */
static stretch_nodes nodes_of(const vkt_optim *o, vkt_graph *g, vkt__update_in in,
                              const vkt__stretch *s)
{
    vkt_shape shape = vkt_shape1((uint32_t)s->at.count);
    vkt_buffer *grads = o->sum ? o->sum : o->grads;
    uint64_t value = o->first + s->at.offset;
    in.theta = bound(g, "parameters", shape, VKT_F32, o->values, 4 * value);
    in.grad = bound(g, "gradients", shape, VKT_F32, grads, 4 * s->at.offset);
    in.m = moment_of(o, g, "m", s), in.v = moment_of(o, g, "v", s);
    in.d = moment_of(o, g, "change", s), in.last = moment_of(o, g, "last", s);
    in.blocks =
        bound(g, "blocks", vkt_shape1(blocks_of(s)), VKT_U32, o->blocks, 4 * s->first_block);
    if (o->shadow)
        in.shadow = bound(g, "16-bit parameters", shape, o->precision, o->shadow,
                          vkt_dtype_bytes(o->precision) * value);
    if (o->tensors) /* where the gradients are: they have been read */
        in.direction = bound(g, "directions", shape, VKT_F32, grads, 4 * s->at.offset);
    return (stretch_nodes) { in, moment_of(o, g, "ema", s), s };
}

/* The elements' formula: a new theta, or directions. */
static void update(const vkt_optim *o, vkt_graph *g, stretch_nodes *n)
{
    const vkt__stretch *s = n->at;
    vkt__update_in in = n->in;
    vkt_attr attr = s->own ? vkt__optim_attr(&o->desc) : vkt__optim_rest_attr(&o->desc);
    if (vkt__optim_gives_direction(attr))
        in.shadow = NULL;
    else
        in.direction = NULL;
    if (vkt__optim_has_change(attr)) {
        vkt__optim_update_more(g, &in, attr);
    } else if (o->moments.scales) {
        attr.optim.first = (uint32_t)s->at.offset;
        in.scales = bound(g, "scales", vkt_shape2(2, blocks_of(s)), VKT_F32, o->moments.scales,
                          8 * s->first_block);
        vkt__optim_update8(g, &in, attr);
    } else {
        vkt__optim_update(g, &in, attr);
    }
}

/* The directions of a tensor from the means of its rows and columns. */
static void update_lines(const vkt_optim *o, vkt_graph *g, const stretch_nodes *n)
{
    const vkt_param *p = &o->params[n->at->tensor];
    vkt__matrix m = vkt__matrix_of(p);
    vkt_attr attr = vkt__optim_attr(&o->desc);
    vkt_tensor *rows = moment_of(o, g, "rows", n->at), *cols = moment_of(o, g, "columns", n->at),
               *mean = NULL;
    vkt__update_in in = n->in;
    vkt_shape shape = vkt_shape1((uint32_t)p->count);
    in.grad = bound(g, "gradients", shape, VKT_F32, o->sum ? o->sum : o->grads, 4 * p->offset);
    in.direction =
        bound(g, "directions", shape, VKT_F32, o->sum ? o->sum : o->grads, 4 * p->offset);
    attr.optim.rows = m.rows;
    vkt__optim_line(g, &in, cols, m.rows, true);
    if (rows) {
        vkt__optim_line(g, &in, rows, m.rows, false);
        mean = vkt_reduce(g, VKT_REDUCE_MEAN, rows, VKT_ALL_AXES, false);
        mean = vkt_reshape(g, mean, vkt_shape1(1));
    }
    vkt__optim_lines(g, &in, rows, cols, mean, attr);
}

static vkt_tensor *ratios_of(const vkt_optim *o, vkt_graph *g, const vkt__stretch *s)
{
    return bound(g, "ratios of blocks", vkt_shape1(blocks_of(s)), VKT_F32, o->trust,
                 4 * s->first_block);
}

/* A matrix of directions, made orthogonal where it lies: see vkt__whole. */
static void orthogonalize(const vkt_optim *o, vkt_graph *g, const stretch_nodes *n)
{
    const vkt_param *p = &o->params[n->at->tensor];
    vkt__matrix m = vkt__matrix_of(p);
    bool tall = m.rows > m.cols;
    vkt_buffer *grads = o->sum ? o->sum : o->grads;
    vkt_shape shape = vkt_shape2(m.rows, m.cols);
    double scale = sqrt(fmax(1, (double)p->shape.d[0] / ((double)p->count / p->shape.d[0])));
    vkt_tensor *x = bound(g, "directions", shape, VKT_F32, grads, 4 * p->offset),
               *ratio = bound(g, "ratio", vkt_shape1(1), VKT_F32, o->trust, 4 * n->at->first_block);
    x = vkt_binary(g, VKT_FN2_MUL, x, ratio);
    for (int i = 0; i < VKT__MUON_STEPS; i++) {
        double s = i + 1 < VKT__MUON_STEPS ? 1 : scale;
        vkt_tensor *gram = vkt_matmul(g, tall ? VKT_LAYOUT_TN : VKT_LAYOUT_NT, x, x),
                   *square = vkt_matmul(g, VKT_LAYOUT_NN, gram, gram),
                   *poly = vkt_add(g, vkt_scale(g, gram, (float)(s * VKT__MUON_B)),
                                   vkt_scale(g, square, (float)(s * VKT__MUON_C))),
                   *next = tall ? vkt_matmul(g, VKT_LAYOUT_NN, x, poly)
                                : vkt_matmul(g, VKT_LAYOUT_NN, poly, x);
        x = vkt_add(g, vkt_scale(g, x, (float)(s * VKT__MUON_A)), next);
    }
    vkt_bind(x, VKT_ALL_SLOTS, grads, 4 * p->offset);
}

/* The rule itself takes this step, by directions. */
static bool is_whole(const vkt_optim *o, const vkt__stretch *s)
{
    return !s->frozen && (s->own || !vkt__rule_is_of_tensors(vkt__rule_at((uint32_t)o->desc.rule)));
}

/* After the directions of all stretches: the ratios of their tensors, and the step. */
static void apply_directions(const vkt_optim *o, vkt_graph *g, const stretch_nodes *nodes)
{
    uint32_t rule = (uint32_t)o->desc.rule, n_all = (uint32_t)o->all_blocks,
             n_tensors = (uint32_t)o->n_params;
    bool orthogonal = vkt__rule_at(rule)->whole == VKT__WHOLE_ORTHOGONAL;
    vkt__update_in all = nodes[0].in;
    for (size_t i = 0; i < o->n_stretches; i++)
        if (is_whole(o, nodes[i].at))
            vkt__block_squares(g, &nodes[i].in,
                               bound(g, "squares of blocks", vkt_shape2(blocks_of(nodes[i].at), 2),
                                     VKT_F32, o->squares, 8 * nodes[i].at->first_block));
    all.blocks = bound(g, "blocks", vkt_shape1(n_all), VKT_U32, o->blocks, 0);
    vkt__optim_trust_ratios(
        g, &all, bound(g, "squares of blocks", vkt_shape2(n_all, 2), VKT_F32, o->squares, 0),
        bound(g, "blocks of tensors", vkt_shape1(n_tensors + 1), VKT_U32, o->tensors, 0),
        bound(g, "elements of tensors", vkt_shape1(n_tensors), VKT_U32, o->counts, 0),
        bound(g, "ratios of blocks", vkt_shape1(n_all), VKT_F32, o->trust, 0), rule);
    for (size_t i = 0; i < o->n_stretches; i++) {
        if (!is_whole(o, nodes[i].at)) continue;
        if (orthogonal) orthogonalize(o, g, &nodes[i]);
        vkt__optim_apply(g, &nodes[i].in, orthogonal ? NULL : ratios_of(o, g, nodes[i].at), rule);
    }
}

static void build_update(const vkt_optim *o, vkt_graph *g, vkt__update_in in)
{
    bool lines = vkt__rule_at((uint32_t)o->desc.rule)->keeps & VKT__KEEPS_LINES;
    stretch_nodes *nodes = vkt__alloc(o->n_stretches * sizeof *nodes);
    for (size_t i = 0; i < o->n_stretches; i++) {
        const vkt__stretch *s = &o->stretches[i];
        nodes[i] = nodes_of(o, g, in, s);
        if (s->frozen) continue;
        if (lines)
            update_lines(o, g, &nodes[i]);
        else
            update(o, g, &nodes[i]);
    }
    if (o->tensors) apply_directions(o, g, nodes);
    for (size_t i = 0; i < o->n_stretches; i++)
        if (nodes[i].average) vkt__ema(g, nodes[i].average, nodes[i].in.theta);
    free(nodes);
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
    build_update(o, g, in);
    return in.scalars;
}
