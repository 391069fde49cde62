/* vkt__config_defaults: what a recipe leaves out and what follows from its other options. Says
 * whether it holds together no more than config_check.c sets anything. */
#include "data/parts/task_rows.h"
#include "recipe/config.h"
#include "recipe/loss_terms.h"
#include "recipe/measure.h"
#include "recipe/options.h"
#include "recipe/task_rules.h"
#include "tensor/ops/optim/rules.h"

/* What masks, pairs of pictures and boxes are for goes without saying. */
static void task(vkt_config *c)
{
    vkt_source_info s;
    if (vkt__config_was_set(c, "data.task") || !c->data.source ||
        !vkt_source_find(c->data.source, &s))
        return;
    vkt__task_of_source(&s, &c->data.task);
}

static void loss(vkt_config *c)
{
    if (c->loss == VKT_LOSS_KIND_AUTO) c->loss = vkt__task_rules_of(c->data.task)->loss;
    vkt__loss_terms_defaults(c);
    bool dpo = c->loss == VKT_LOSS_KIND_DPO, simpo = c->loss == VKT_LOSS_KIND_SIMPO;
    if (!dpo && !simpo) return;
    if (!(c->loss_beta > 0)) c->loss_beta = dpo ? 0.1f : 2;
    if (c->data.packing == VKT_PACKING_AUTO) c->data.packing = VKT_PACKING_PAIRS;
}

/* The best checkpoint is that of this measure; and where the border between two classes is. */
static void selection(vkt_config *c)
{
    bool several = c->data.task == VKT_TASK_MULTILABEL;
    if (!strcmp(c->metric, "auto"))
        c->metric = vkt__config_is_text(c) ? "loss" : vkt__task_rules_of(c->data.task)->metric;
    const vkt__measure *m = vkt__measure_named(c->metric);
    VKT_ASSERT(m); /* the option takes no other name */
    if (!c->metric_sign) c->metric_sign = m->sign;
    if (c->threshold == VKT_THRESHOLD_AUTO)
        c->threshold = several ? VKT_THRESHOLD_F1 : VKT_THRESHOLD_NONE;
}

/* The recipe's file or built-in name, without folder and ending. */
static void name(vkt_config *c)
{
    if (c->name) return;
    const char *base = c->source ? c->source : "run";
    for (const char *p = base; *p; p++)
        if ((*p == '/' || *p == '\\') && p[1]) base = p + 1;
    char *own = vkt__arena_strdup(&c->priv->arena, base);
    char *dot = strrchr(own, '.');
    if (dot && dot != own) *dot = 0;
    c->name = own;
}

/* One part in n of the run's steps. */
static uint32_t part_of(uint64_t steps, unsigned n)
{
    return (uint32_t)VKT_MAX(VKT_MIN(steps / n, 1000000000u), 1);
}

/* How often, and in which batches. Evaluations are of parameters that the ranks agree on. */
static void intervals(vkt_config *c)
{
    uint64_t total = vkt_schedule_total(&c->schedule);
    uint32_t n = c->sync_every;
    if (!c->eval_batch) c->eval_batch = (uint32_t)VKT_MIN(4ull * c->batch, 1u << 22);
    if (!c->eval_every) c->eval_every = part_of(total, 10);
    if (!c->log_every) c->log_every = part_of(total, 20);
    if (n > 1 && !vkt__config_was_set(c, "eval.every"))
        c->eval_every += (n - c->eval_every % n) % n;
    if (c->eval_every <= total) return;
    if (vkt__config_was_set(c, "eval.every"))
        vkt__config_warn(c, "eval.every", "%u is more than the %llu steps of the run: %llu is used",
                         c->eval_every, (unsigned long long)total, (unsigned long long)total);
    c->eval_every = (uint32_t)total;
}

/* What a rule has a number of its own for. */
static void rule(vkt_config *c)
{
    const vkt__rule *r = vkt__rule_at((uint32_t)c->optim.rule);
    const struct {
        const char *name;
        uint32_t use;
        float *to;
    } numbers[] = {
        { "optim.momentum", VKT__USES_MOMENTUM, &c->optim.momentum },
        { "optim.beta1", VKT__USES_BETA1, &c->optim.beta1 },
        { "optim.beta2", VKT__USES_BETA2, &c->optim.beta2 },
        { "optim.beta3", VKT__USES_BETA3, &c->optim.beta3 },
        { "optim.eps", VKT__USES_EPS, &c->optim.eps },
        { "optim.rest_lr", VKT__USES_REST_LR, &c->optim.rest_lr },
    };
    for (size_t i = 0; i < VKT_COUNT(numbers); i++) {
        float usual = vkt__rule_usual(r, numbers[i].use);
        if (usual > 0 && !vkt__config_was_set(c, numbers[i].name)) *numbers[i].to = usual;
    }
}

void vkt__config_defaults(vkt_config *c)
{
    if (c->lora.rank && c->lora.alpha == 0) c->lora.alpha = 2 * (float)c->lora.rank;
    rule(c);
    name(c);
    task(c);
    loss(c);
    selection(c);
    intervals(c);
}
