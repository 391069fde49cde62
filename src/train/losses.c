/* losses.h */
#include "train/losses.h"

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

/* Of numbers, or of several labels, whose weights of y = 1 may be `positive`. */
vkt_loss vkt__number_loss(const vkt_config *c, vkt_graph *g, const vkt__ring_inputs *in,
                          vkt_tensor *out, vkt_tensor *positive)
{
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
    } else if (s->info->task == VKT_TASK_CLASSIFY) {
        loss = class_loss(s, l, in, logits);
        *hits = vkt_sum(g, loss.hit);
    } else {
        loss = vkt__number_loss(c, g, in, logits, class_weights(s, g));
    }
    return with_added(s, l, in, vkt_sum(g, loss.loss));
}
