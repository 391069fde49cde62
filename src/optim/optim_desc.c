/* What a description of an optimizer means: its checks, its factors of a step, and the step block.
 * Knows no buffers. */
#include <math.h>

#include "optim/optim_state.h"
#include "shaders/rng.h"

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
        { VKT__USES_BETA3, "beta3", d->beta3, 0, 1, true },
        { VKT__USES_REST_LR, "rest_lr", d->rest_lr, 1e-6, 1e6, false },
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
    if (rule->not_in_8bit && d->moments == VKT_MOMENTS_8BIT)
        return vkt__fail(VKT_E_ARG, "optim", "the moments of %s can't be kept in 8 bits: %s",
                         rule->name, rule->not_in_8bit);
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
                                   .beta3 = uses & VKT__USES_BETA3 ? d->beta3 : 0,
                                   .eps = uses & VKT__USES_EPS ? d->eps : 0 } };
}

vkt_attr vkt__optim_rest_attr(const vkt_optim_desc *d)
{
    vkt_optim_desc rest = *d;
    uint32_t rule = vkt__rule_at((uint32_t)d->rule)->rest;
    if (rule) rest.rule = (vkt_optim_rule)rule;
    return vkt__optim_attr(&rest);
}

/* Hidden layers' matrices of a rule with `rest` need none. */
vkt__update_step vkt__optim_factors(const vkt_optim_desc *d, double lr, uint64_t step)
{
    vkt__update_step s = { .lr = lr, .adam_m = 1, .adam_v = 1 };
    vkt_attr attr = vkt__optim_rest_attr(d);
    const vkt__rule *rule = vkt__rule_at(attr.optim.rule);
    if (rule->factors) rule->factors(&attr, step + 1, &s);
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
    static const vkt_optim_desc none;
    const vkt_optim_desc *desc = o ? &o->desc : &none;
    vkt__update_step s = vkt__optim_factors(desc, d->lr, d->step);
    uint64_t n_micro = d->n_micro ? d->n_micro : 1;
    struct vkt_step_block b = {
        .lr = (float)s.lr,
        .adam_m = (float)s.adam_m,
        .adam_g = (float)s.adam_g,
        .adam_v = (float)s.adam_v,
        .clip = desc->clip,
        .step = (uint32_t)(d->step * n_micro + d->micro),
        .micro = d->micro,
        .inv_weight = d->inv_weight > 0 ? (float)d->inv_weight : 1,
        .rows = d->rows,
        .row = d->row,
        .ema = (float)ema_share((double)desc->ema, (double)d->step),
        .dropout_key = vkt_rng_key((uint32_t)d->seed, (uint32_t)(d->seed >> 32), VKT_RNG_DROPOUT),
    };
    memcpy(step_block, &b, sizeof b);
}

void vkt_optim_fill_step(const vkt_optim *o, double lr, uint64_t step, uint64_t seed,
                         void *step_block)
{
    vkt_optim_fill(o, &(vkt_step_desc) { .lr = lr, .step = step, .seed = seed }, step_block);
}
