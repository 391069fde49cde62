/* losses.h */
#include "train/losses.h"

#include "data/dataset.h"
#include "nn/params.h"
#include "train/detect/detect_loss.h"
#include "data/points/poses.h"
#include "train/instances/instance_loss.h"
#include "train/points/point_loss.h"
#include "tensor/graph/graph.h"

static vkt_tensor *class_weights(const vkt__losses *s, vkt_graph *g)
{
    if (!s->class_weight) return NULL;
    vkt_tensor *cw = vkt_input(g, vkt_shape1(s->info->n_outputs), VKT_F32, "class weights");
    vkt_bind(cw, VKT_ALL_SLOTS, s->class_weight, 0);
    return cw;
}

/* One loss: the whole of a recipe without `losses`, or one of its entries. y, weights: of the
 * batch; positive: class weights, or those of labels that are there. */
typedef struct {
    vkt_loss_kind kind;
    vkt_tensor *out, *y, *class_weights;
} term;

/* The training loss of classes. Cross-entropy is linear in the target: a blend's is that of its two
 * labels, weighted. */
static vkt_loss class_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                           const term *t)
{
    const vkt_config *c = s->config;
    vkt_graph *g = l->graph;
    bool focal = t->kind == VKT_LOSS_KIND_FOCAL;
    vkt_tensor *cw = t->class_weights;
    vkt_xent_desc desc = { .smoothing = c->label_smoothing,
                           .ignore_index = { c->ignore_index >= 0, (uint32_t)c->ignore_index } };
    vkt_loss loss =
        vkt_softmax_xent(g, t->out, t->y, focal ? NULL : in->w, focal ? NULL : cw, &desc);
    if (focal)
        loss.loss = vkt_focal(g, loss.loss, &(vkt_focal_desc) { in->w, cw, t->y, c->loss_gamma });
    if (l->mixes)
        loss.loss =
            vkt_add(g, loss.loss, vkt_softmax_xent(g, t->out, in->y2, in->w2, cw, &desc).loss);
    return loss;
}

vkt_tensor *vkt__class_logits(const vkt_dataset_info *info, vkt_graph *g, vkt_tensor *out)
{
    uint32_t n = info->n_outputs;
    if (info->task != VKT_TASK_SEGMENT) return out;
    return vkt_reshape(
        g, out, vkt_shape2((uint32_t)(vkt_shape_count(vkt_tensor_shape(out)) / VKT_MAX(n, 1)), n));
}

/* ---- masks ---- */

/* 1 - Dice, picture by picture: the mean over classes c of (2 sum p y + 1) / (sum p + sum y + 1),
 * over the pixels that count; each picture by the weight that its pixels have together, [B].
 * Source: Milletari et al. 2016 (arXiv 1606.04797), with MONAI's smoothing of 1. */
static vkt_tensor *dice_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                             vkt_tensor *logits)
{
    vkt_graph *g = l->graph;
    uint32_t pixels = s->info->n_targets, n = s->info->n_outputs;
    vkt_shape each = vkt_shape3(l->batch, pixels, n), one = vkt_shape3(l->batch, pixels, 1);
    vkt_tensor *w = vkt_reshape(g, in->w, one), *cw = class_weights(s, g),
               *counts = vkt_binary(g, VKT_FN2_LT, vkt_fill(g, vkt_shape1(1), 0), w),
               *p = vkt_reshape(g, vkt_softmax(g, logits), each),
               *y = vkt_reshape(g, vkt_one_hot(g, in->y, n), each);
    p = vkt_binary(g, VKT_FN2_MUL, p, counts);
    y = vkt_binary(g, VKT_FN2_MUL, y, counts);
    enum { PIXELS = 2, CLASSES = 4 }; /* axes */
    vkt_tensor *both = vkt_reduce(g, VKT_REDUCE_SUM, vkt_mul(g, p, y), PIXELS, false),
               *sum = vkt_reduce(g, VKT_REDUCE_SUM, vkt_add(g, p, y), PIXELS, false),
               *smooth = vkt_fill(g, vkt_shape1(1), 1);
    vkt_tensor *dice =
        vkt_binary(g, VKT_FN2_DIV, vkt_binary(g, VKT_FN2_ADD, vkt_scale(g, both, 2), smooth),
                   vkt_binary(g, VKT_FN2_ADD, sum, smooth));
    dice = vkt_reduce(g, VKT_REDUCE_MEAN, dice, PIXELS, false); /* the classes' axis by now */
    vkt_tensor *loss = vkt_binary(g, VKT_FN2_SUB, smooth, dice);
    if (cw) w = vkt_mul(g, vkt_binary(g, VKT_FN2_MUL, y, w), cw);
    return vkt_mul(g, loss, vkt_reduce(g, VKT_REDUCE_SUM, w, PIXELS | CLASSES, false));
}

/* What each kind of loss of masks adds up. */
static const struct {
    vkt_loss_kind kind;
    bool pixels, dice; /* cross-entropy or focal; Dice */
} mask_losses[] = {
    { VKT_LOSS_KIND_CROSS_ENTROPY, true, false },
    { VKT_LOSS_KIND_FOCAL, true, false },
    { VKT_LOSS_KIND_DICE, false, true },
    { VKT_LOSS_KIND_DICE_CE, true, true },
};

vkt_tensor *vkt__mask_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                           vkt_tensor *out, vkt_tensor **hits)
{
    vkt_graph *g = l->graph;
    size_t k = 0;
    while (k + 1 < VKT_COUNT(mask_losses) && mask_losses[k].kind != s->config->loss) k++;
    vkt_tensor *logits = vkt__class_logits(s->info, g, out), *dice = NULL;
    if (mask_losses[k].dice) dice = vkt_sum(g, dice_loss(s, l, in, logits));
    /* Without its own loss, the cross-entropy still says which pixels are right. */
    vkt_loss pixels =
        mask_losses[k].pixels
            ? class_loss(s, l, in, &(term) { s->config->loss, logits, in->y, class_weights(s, g) })
            : vkt_softmax_xent(g, vkt_detach(g, logits), in->y, in->w, NULL, NULL);
    *hits = vkt_sum(
        g, vkt_mul(g, pixels.hit, vkt_binary(g, VKT_FN2_LT, vkt_fill(g, vkt_shape1(1), 0), in->w)));
    if (!mask_losses[k].pixels) return dice;
    vkt_tensor *sum = vkt_sum(g, pixels.loss);
    return dice ? vkt_add(g, sum, dice) : sum;
}

/* ---- numbers ---- */

/* |x - y|, the mean over an example's numbers. */
static vkt_loss l1_loss(vkt_graph *g, const vkt__ring_inputs *in, vkt_tensor *out)
{
    vkt_tensor *error = vkt_unary(g, VKT_FN_ABS, vkt_binary(g, VKT_FN2_SUB, out, in->y), 0, 0);
    error = vkt_reduce(g, VKT_REDUCE_MEAN, error, 2, false);
    return (vkt_loss) { .loss = vkt_mul(g, error, in->w) };
}

/* Of numbers, or of several labels. */
static vkt_loss number_loss(const vkt__losses *s, vkt_graph *g, const vkt__ring_inputs *in,
                            const term *t)
{
    const vkt_config *c = s->config;
    vkt_tensor *out = t->out;
    if (t->kind == VKT_LOSS_KIND_DETECT)
        return (vkt_loss) { .loss = vkt__detect_loss(g, out, t->y, in->w) };
    if (t->kind == VKT_LOSS_KIND_POINTS)
        return (vkt_loss) { .loss = vkt__point_loss(g, out, t->y, in->w,
                                                    vkt__heat_stride(s->info->input_shape[1],
                                                                     s->info->input_shape[0])) };
    if (t->kind == VKT_LOSS_KIND_INSTANCES)
        return (vkt_loss) { .loss = vkt__instance_loss(g, out, t->y, in->w) };
    if (c->data.task == VKT_TASK_PICTURE)
        out = vkt_reshape(g, out, vkt_tensor_shape(t->y)); /* [B, rows x columns x channels] */
    if (t->kind == VKT_LOSS_KIND_L1) return l1_loss(g, in, out);
    vkt_element_loss_desc desc = { VKT_LOSS_MSE, in->w, NULL, c->loss_delta };
    if (t->kind == VKT_LOSS_KIND_HUBER) desc.kind = VKT_LOSS_HUBER;
    if (t->kind == VKT_LOSS_KIND_BCE) desc.kind = VKT_LOSS_BCE;
    desc.positive = t->class_weights;
    return vkt_element_losses(g, out, t->y, &desc);
}

/* Of numbers and classes together: the numbers' loss, and behind it each label's cross-entropy.
 * which [n]: the data's outputs that the columns are of, NULL: all. plain: as an evaluation. */
static vkt_loss label_losses(const vkt__losses *s, vkt_graph *g, const vkt__ring_inputs *in,
                             const term *t, const uint32_t *which, uint32_t n, bool plain)
{
    const vkt_output_of *outputs = s->info->outputs;
    vkt_tensor *sum = NULL, **out = vkt__alloc(2 * n * sizeof(vkt_tensor *)), **y = out + n;
    uint32_t n_numbers = 0, count;
    for (uint32_t j = 0; j < n; j += count) {
        const vkt_output_of *of = &outputs[which ? which[j] : j];
        count = VKT_MAX(of->n_classes, 1);
        uint32_t from[] = { 0, j }, size[] = { t->y->shape.d[0], count };
        vkt_tensor *of_out = count == n ? t->out : vkt_slice(g, t->out, from, size, NULL),
                   *of_y = count == n ? t->y : vkt_slice(g, t->y, from, size, NULL);
        if (!of->value) {
            out[n_numbers] = of_out;
            y[n_numbers++] = of_y;
            continue;
        }
        bool focal = t->kind == VKT_LOSS_KIND_FOCAL && !plain;
        vkt_tensor *class = vkt_arg(g, VKT_REDUCE_MAX, of_y, 1, false),
                   *ce = vkt_softmax_xent(g, of_out, class, focal ? NULL : in->w, NULL, NULL).loss;
        if (focal)
            ce = vkt_focal(g, ce, &(vkt_focal_desc) { in->w, NULL, class, s->config->loss_gamma });
        sum = sum ? vkt_add(g, sum, ce) : ce;
    }
    if (n_numbers) {
        bool huber = t->kind == VKT_LOSS_KIND_HUBER;
        vkt_element_loss_desc desc = { huber ? VKT_LOSS_HUBER : VKT_LOSS_MSE, in->w, NULL,
                                       s->config->loss_delta };
        vkt_tensor *numbers =
            vkt_element_losses(g, n_numbers > 1 ? vkt_concat(g, out, n_numbers, 1) : out[0],
                               n_numbers > 1 ? vkt_concat(g, y, n_numbers, 1) : y[0], &desc)
                .loss;
        sum = sum ? vkt_add(g, numbers, sum) : numbers;
    }
    free((void *)out);
    return (vkt_loss) { .loss = sum };
}

/* Of numbers, several labels, or both numbers and classes: the i-th entry's. */
static vkt_loss loss_of_term(const vkt__losses *s, vkt_graph *g, const vkt__ring_inputs *in,
                             const term *t, size_t i, bool plain)
{
    if (!s->info->outputs) return number_loss(s, g, in, t);
    return label_losses(s, g, in, t, s->terms->n ? s->terms->which[i] : NULL,
                        s->terms->n ? s->terms->heads[i].n_outputs : s->info->n_outputs, plain);
}

/* The i-th entry of `losses`, or of a recipe without them the loss of the last layer. */
static term term_of(const vkt__losses *s, const vkt__ring *l, const vkt__ring_inputs *in, size_t i,
                    vkt_tensor *last)
{
    if (!s->terms->n) return (term) { s->config->loss, last, in->y, NULL };
    vkt_tensor *y = s->info->task == VKT_TASK_REGRESS
                        ? vkt__loss_term_columns(s->terms, i, l->graph, in->y)
                        : in->y;
    return (term) { s->terms->kinds[i], vkt_model_output(s->model, l->graph, i), y, NULL };
}

static bool is_last(const vkt__losses *s, const vkt__ring *l, size_t i, const vkt_tensor *last)
{
    return !s->terms->n || vkt_model_output(s->model, l->graph, i) == last;
}

vkt__preference vkt__pair_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *logits)
{
    vkt_graph *g = l->graph;
    bool dpo = s->config->loss == VKT_LOSS_KIND_DPO;
    vkt_tensor *base = dpo ? vkt__model_build_base(s->model, g, in->x) : NULL,
               *ce = vkt_softmax_xent(g, logits, in->y, dpo ? NULL : in->w, NULL, NULL).loss;
    if (base) base = vkt_softmax_xent(g, base, in->y, NULL, NULL, NULL).loss;
    return vkt__preference_loss(g, s->config, ce, base, l->batch);
}

/* The model's own share, by the weight that the batch has in the sum. */
static vkt_tensor *with_added(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                              vkt_tensor *sum)
{
    const vkt_config *c = s->config;
    vkt_graph *g = l->graph;
    vkt_tensor *added = vkt__model_added_loss(s->model, g);
    if (!added) return sum;
    float part = (float)l->batch / ((float)c->batch * (float)c->accumulate);
    vkt_tensor *weight = s->info->pairs ? vkt_fill(g, vkt_shape1(1), part) : vkt_sum(g, in->w);
    return vkt_add(g, sum, vkt_mul(g, added, weight));
}

/* All entries' losses, weighted. */
static vkt_tensor *sum_of_terms(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                                vkt_tensor *last, vkt_tensor **hits)
{
    vkt_graph *g = l->graph;
    vkt_tensor *total = NULL, *cw = class_weights(s, g);
    for (size_t i = 0; i < VKT_MAX(s->terms->n, 1); i++) {
        term t = term_of(s, l, in, i, last);
        float weight = s->terms->n ? s->config->losses[i].weight : 1;
        t.class_weights = cw;
        vkt_loss loss = s->info->task == VKT_TASK_CLASSIFY ? class_loss(s, l, in, &t)
                                                           : loss_of_term(s, g, in, &t, i, false);
        if (loss.hit && !*hits && is_last(s, l, i, last)) *hits = vkt_sum(g, loss.hit);
        vkt_tensor *sum = vkt_sum(g, loss.loss);
        if (weight != 1) sum = vkt_scale(g, sum, weight);
        total = total ? vkt_add(g, total, sum) : sum;
    }
    return total;
}

/* ---- several nets in one ---- */

/* x [B, ...], each example's own k times. */
static vkt_tensor *for_each(vkt_graph *g, vkt_tensor *x, uint32_t k)
{
    vkt_shape s = x->shape, one = { .rank = s.rank + 1, .d = { s.d[0], 1 } }, all, rows = s;
    for (uint32_t i = 1; i < s.rank; i++) one.d[i + 1] = s.d[i];
    all = one;
    all.d[1] = k;
    rows.d[0] *= k;
    return vkt_reshape(g, vkt_expand(g, vkt_reshape(g, x, one), all), rows);
}

/* Each member's loss is of its own output [B, k, n_outputs], and the mean over them is the
 * example's. */
static vkt_tensor *loss_of_members(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                                   vkt_tensor *last, vkt_tensor **hits)
{
    vkt_graph *g = l->graph;
    uint32_t k = last->inert ? 1 : last->shape.d[1];
    vkt__ring_inputs each = *in;
    if (last->inert) return last;
    last = vkt_reshape(g, last, vkt_shape2(last->shape.d[0] * k, last->shape.d[2]));
    each.y = for_each(g, in->y, k);
    each.w = vkt_scale(g, for_each(g, in->w, k), 1 / (float)k);
    if (l->mixes) each.y2 = for_each(g, in->y2, k);
    if (l->mixes) each.w2 = vkt_scale(g, for_each(g, in->w2, k), 1 / (float)k);
    vkt_tensor *loss = sum_of_terms(s, l, &each, last, hits);
    if (*hits) *hits = vkt_scale(g, *hits, 1 / (float)k);
    return loss;
}

vkt_tensor *vkt__training_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *last, vkt_tensor **hits)
{
    const vkt_config *c = s->config;
    vkt_graph *g = l->graph;
    *hits = NULL;
    if (s->info->task == VKT_TASK_SEGMENT)
        return with_added(s, l, in, vkt__mask_loss(s, l, in, last, hits));
    if (vkt__model_n_members(s->model) > 1)
        return with_added(s, l, in, loss_of_members(s, l, in, last, hits));
    if (!s->info->pairs) return with_added(s, l, in, sum_of_terms(s, l, in, last, hits));
    vkt__preference p = vkt__pair_loss(s, l, in, last);
    *hits = p.hits;
    vkt_tensor *loss = vkt_scale(g, p.loss, 1 / ((float)c->batch * (float)c->accumulate));
    return with_added(s, l, in, vkt_sum(g, loss));
}

vkt__eval_losses vkt__evaluation_losses(const vkt__losses *s, vkt__ring *l,
                                        const vkt__ring_inputs *in, vkt_tensor *last)
{
    vkt_graph *g = l->graph;
    vkt__eval_losses all = { 0 };
    size_t n = s->terms->n;
    if (n) all.terms = vkt__arena_alloc(&g->arena, n * sizeof(vkt_tensor *));
    for (size_t i = 0; i < VKT_MAX(n, 1); i++) {
        term t = term_of(s, l, in, i, last);
        t.out = vkt__class_logits(s->info, g, t.out);
        vkt_loss loss = s->info->task == VKT_TASK_CLASSIFY || s->info->task == VKT_TASK_SEGMENT
                            ? vkt_softmax_xent(g, t.out, t.y, in->w, NULL, NULL)
                            : loss_of_term(s, g, in, &t, i, true);
        if (!all.hit && is_last(s, l, i, last)) all.hit = loss.hit;
        vkt_tensor *part = loss.loss;
        if (n) all.terms[i] = part;
        if (n && s->config->losses[i].weight != 1)
            part = vkt_scale(g, part, s->config->losses[i].weight);
        all.loss = all.loss ? vkt_add(g, all.loss, part) : part;
    }
    /* A sum of one entry is the entry, and a tensor lies in one place. */
    if (n == 1 && all.loss == all.terms[0]) all.loss = vkt_copy(g, all.loss);
    return all;
}
