/* The optimizer's nodes in a training graph. */
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

static uint32_t piece_n_blocks(const vkt__range *piece)
{
    return (uint32_t)vkt__group_blocks(piece->count);
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
