/* What `study auto` tries beside the learning rate: a recipe with other widths, dropout, weight
 * decay and decay of the rate. It knows nothing of trials. */
#include <math.h>

#include "study/space.h"
#include "study/study_run.h"

vkt__settings vkt__settings_with(vkt_study *s, const vkt__settings *of, const char *more)
{
    vkt__settings out = { vkt__arena_alloc(&s->priv->arena, (of->n + 1) * sizeof *out.set),
                          of->n + 1 };
    if (of->n) memcpy(out.set, of->set, of->n * sizeof *out.set);
    out.set[of->n] = more;
    return out;
}

/* Whether weight decay is apart from the gradient: useful values are larger then. */
static bool decays_apart(vkt_optim_rule rule)
{
    return rule == VKT_RULE_ADAMW || rule == VKT_RULE_LION || rule == VKT_RULE_ADAN ||
           rule == VKT_RULE_MUON || rule == VKT_RULE_ADAFACTOR;
}

/* A list's widths and dropouts; fixed: widths are given, or something is added to what they give.
 */
static vkt__settings of_layers(vkt_study *s, const vkt__settings *from, const char *path,
                               const vkt_layer *layers, size_t n, double wider, double drop,
                               bool fixed)
{
    vkt__settings out = *from;
    bool whole = !strcmp(path, "model"); /* its last layer has as many outputs as the data */
    for (size_t k = 0; k < n; k++) fixed |= layers[k].n_body > 0;
    for (size_t k = 0; k < n; k++) {
        const vkt_layer *l = &layers[k];
        if (!strcmp(l->type, "linear") && l->out && !(whole && k + 1 == n) && !fixed)
            out = vkt__settings_with(s, &out,
                                     vkt__study_text(s, "%s.%zu.out=%.0f", path, k,
                                                     fmax(round(l->out * pow(2, wider)), 1)));
        if (!strcmp(l->type, "dropout"))
            out = vkt__settings_with(s, &out, vkt__study_text(s, "%s.%zu.p=%.2f", path, k, drop));
    }
    return out;
}

vkt__settings vkt__candidate(vkt_study *s, double lr, uint64_t i)
{
    const vkt_config *c = s->priv->base;
    const vkt__settings none = { 0 };
    uint32_t dim = 0;
    uint64_t seed = c->seed;
    if (!i) return vkt__settings_with(s, &none, vkt__study_value(s, "optim.lr", lr));
    double rate = lr * pow(3, 2 * vkt__halton(seed, dim++, i) - 1);
    double now = (double)c->optim.weight_decay, most = decays_apart(c->optim.rule) ? 1 : 1e-2;
    double low = now > 0 ? now / 30 : most / 1e3, high = now > 0 ? now * 30 : most;
    vkt__settings out = vkt__settings_with(s, &none, vkt__study_value(s, "optim.lr", rate));
    out = vkt__settings_with(s, &out,
                             vkt__study_value(s, "optim.weight_decay",
                                              low * pow(high / low, vkt__halton(seed, dim++, i))));
    double wider = floor(4 * vkt__halton(seed, dim++, i)) - 1, drop = vkt__halton(seed, dim++, i);
    bool cosine = vkt__halton(seed, dim++, i) < 0.5;
    size_t last = c->n_layers ? c->n_layers - 1 : 0;
    const vkt_layer *end = c->n_layers ? &c->layers[last] : NULL;
    bool members = end && !strcmp(end->type, "members");
    out = of_layers(s, &out, "model", c->layers, c->n_layers, wider, 0.6 * drop, c->init != NULL);
    if (members) /* whose last layer gives it any width */
        out = of_layers(s, &out, vkt__study_text(s, "model.%zu.body", last), end->body, end->n_body,
                        wider, 0.6 * drop, c->init != NULL);
    if (c->schedule.kind == VKT_SCHED_CONSTANT && cosine)
        out = vkt__settings_with(s, &out, "schedule.kind=cosine");
    return out;
}
