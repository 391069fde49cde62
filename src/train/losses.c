/* losses.h */
#include "train/losses.h"

#include "data/dataset.h"
#include "nn/params.h"

static vkt_tensor *class_weights(const vkt__losses *s, vkt_graph *g)
{
    if (!s->class_weight) return NULL;
    vkt_tensor *cw = vkt_input(g, vkt_shape1(s->info->n_outputs), VKT_F32, "class weights");
    vkt_bind(cw, VKT_ALL_SLOTS, s->class_weight, 0);
    return cw;
}

/* The training loss of classes. Cross-entropy is linear in the target: a blend's is that of its two
 * labels, weighted. */
static vkt_loss class_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                           vkt_tensor *logits)
{
    const vkt_config *c = s->config;
    vkt_graph *g = l->graph;
    bool focal = c->loss == VKT_LOSS_KIND_FOCAL;
    vkt_tensor *cw = class_weights(s, g);
    vkt_xent_desc desc = { .smoothing = c->label_smoothing,
                           .ignore_index = { c->ignore_index >= 0, (uint32_t)c->ignore_index } };
    vkt_loss loss =
        vkt_softmax_xent(g, logits, in->y, focal ? NULL : in->w, focal ? NULL : cw, &desc);
    if (focal)
        loss.loss = vkt_focal(g, loss.loss, &(vkt_focal_desc) { in->w, cw, in->y, c->loss_gamma });
    if (l->mixes)
        loss.loss =
            vkt_add(g, loss.loss, vkt_softmax_xent(g, logits, in->y2, in->w2, cw, &desc).loss);
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

static vkt_tensor *mask_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                             vkt_tensor *out, vkt_tensor **hits)
{
    vkt_graph *g = l->graph;
    size_t k = 0;
    while (k + 1 < VKT_COUNT(mask_losses) && mask_losses[k].kind != s->config->loss) k++;
    vkt_tensor *logits = vkt__class_logits(s->info, g, out), *dice = NULL;
    if (mask_losses[k].dice) dice = vkt_sum(g, dice_loss(s, l, in, logits));
    /* Without its own loss, the cross-entropy still says which pixels are right. */
    vkt_loss pixels = mask_losses[k].pixels
                          ? class_loss(s, l, in, logits)
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

/* Of numbers, or of several labels, whose weights of y = 1 may be `positive`. */
vkt_loss vkt__number_loss(const vkt_config *c, vkt_graph *g, const vkt__ring_inputs *in,
                          vkt_tensor *out, vkt_tensor *positive)
{
    if (c->data.task == VKT_TASK_PICTURE)
        out = vkt_reshape(g, out, vkt_tensor_shape(in->y)); /* [B, rows x columns x channels] */
    if (c->loss == VKT_LOSS_KIND_L1) return l1_loss(g, in, out);
    vkt_element_loss_desc desc = { VKT_LOSS_MSE, in->w, NULL, c->loss_delta };
    if (c->loss == VKT_LOSS_KIND_HUBER) desc.kind = VKT_LOSS_HUBER;
    if (c->loss == VKT_LOSS_KIND_BCE) desc.kind = VKT_LOSS_BCE;
    desc.positive = positive;
    return vkt_element_losses(g, out, in->y, &desc);
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

vkt_tensor *vkt__training_loss(const vkt__losses *s, vkt__ring *l, const vkt__ring_inputs *in,
                               vkt_tensor *logits, vkt_tensor **hits)
{
    const vkt_config *c = s->config;
    vkt_graph *g = l->graph;
    vkt_loss loss;
    *hits = NULL;
    if (s->info->pairs) {
        vkt__preference p = vkt__pair_loss(s, l, in, logits);
        loss.loss = vkt_scale(g, p.loss, 1 / ((float)c->batch * (float)c->accumulate));
        *hits = p.hits;
    } else if (s->info->task == VKT_TASK_SEGMENT) {
        return with_added(s, l, in, mask_loss(s, l, in, logits, hits));
    } else if (s->info->task == VKT_TASK_CLASSIFY) {
        loss = class_loss(s, l, in, logits);
        *hits = vkt_sum(g, loss.hit);
    } else {
        loss = vkt__number_loss(c, g, in, logits, class_weights(s, g));
    }
    return with_added(s, l, in, vkt_sum(g, loss.loss));
}
