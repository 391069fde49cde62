/* preference.h: sums are means of pooling, which stay in fp32 where products would not. */
#include "train/language/preference.h"

/* [n, m] -> [n, 1]: m times the mean. */
static vkt_tensor *row_sums(vkt_graph *g, vkt_tensor *x, uint32_t n, uint32_t m)
{
    vkt_tensor *y = vkt_global_avg_pool(g, vkt_reshape(g, x, (vkt_shape) { 4, { n, m, 1, 1 } }));
    return vkt_scale(g, y, (float)m);
}

/* 1 and -1: a two above a zero, less ones. */
static vkt_tensor *signs(vkt_graph *g)
{
    vkt_tensor *two = vkt_fill(g, (vkt_shape) { 4, { 1, 1, 1, 1 } }, 2),
               *y = vkt_add(g, vkt_pad2d(g, two, 0, 1, 0, 0),
                            vkt_fill(g, (vkt_shape) { 4, { 1, 2, 1, 1 } }, -1));
    return vkt_reshape(g, y, vkt_shape2(2, 1));
}

vkt__preference vkt__preference_loss(vkt_graph *g, const vkt_config *c, vkt_tensor *ce,
                                     vkt_tensor *reference, uint32_t B)
{
    uint32_t T = (uint32_t)(vkt_shape_count(vkt_tensor_shape(ce)) / (2 * B));
    vkt_tensor *log_p = vkt_scale(g, row_sums(g, ce, 2 * B, T), -1), *rewards = log_p;
    if (reference) rewards = vkt_add(g, log_p, row_sums(g, reference, 2 * B, T));
    rewards = vkt_scale(g, rewards, c->loss_beta);
    vkt_tensor *sides = vkt_mul(g, vkt_reshape(g, rewards, vkt_shape3(B, 2, 1)), signs(g)),
               *apart = row_sums(g, sides, B, 2), *h = apart;
    if (c->loss == VKT_LOSS_KIND_SIMPO)
        h = vkt_add(g, h, vkt_fill(g, vkt_shape2(B, 1), -c->loss_margin));
    vkt_element_loss_desc desc = { .kind = VKT_LOSS_BCE };
    vkt_tensor *y = vkt_fill(g, vkt_shape2(B, 1), 1 - c->label_smoothing),
               *won = vkt_activate(g, vkt_scale(g, apart, 1e9f), VKT_ACT_SIGMOID);
    return (vkt__preference) { .loss = vkt_element_losses(g, h, y, &desc).loss,
                               .rewards = vkt_copy(g, vkt_reshape(g, rewards, vkt_shape1(2 * B))),
                               .hits = vkt_sum(g, vkt_reshape(g, won, vkt_shape1(B))) };
}
