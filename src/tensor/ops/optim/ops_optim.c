/* The optimizer's rows: the scalars of a step (norm, clip factor, finiteness), the update of flat
 * buffers and their moving average. A rule is a row of rules.c and a group an index; src/optim
 * knows names, schedules and the model. */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/value.h"
#include "tensor/graph/workgroup.h"
#include "tensor/ops/optim/updates.h"

/* ---- accumulate: the sum over a step's micro-batches ---- */

enum { SUM, ADDED, MICRO_STEP, N_ACCUMULATE_IN };

static bool accumulate_shape(vkt_node *n)
{
    if (n->in[SUM]->count != n->in[ADDED]->count)
        return vkt__shape_error(n, "%s can't be added to %s", vkt__text(n->in[ADDED]),
                                vkt__text(n->in[SUM]));
    return true;
}

static void accumulate_record(vkt__rec *rec, const vkt_node *n)
{
    struct accumulate_params p = { .sum = vkt__addr(rec, n->in[SUM]),
                                   .x = vkt__addr(rec, n->in[ADDED]),
                                   .step = vkt__addr(rec, n->in[MICRO_STEP]),
                                   .n = (uint32_t)n->in[SUM]->count };
    vkt__dispatch_each(rec, VKT_SHADER_ACCUMULATE, &p, sizeof p, (p.n + 3ull) / 4, 256);
}

static void accumulate_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    bool first = vkt__ref_step(in[MICRO_STEP]).micro == 0;
    for (uint64_t i = 0; i < n->in[SUM]->count; i++)
        in[SUM][i] = (first ? 0 : in[SUM][i]) + in[ADDED][i];
}

static const char *accumulate_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t n;
    } s[] = { { "one", 1 }, { "odd", 129 }, { "many groups", 5001 } };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    /* The sample step block is micro-batch 1; a block of zeros is micro-batch 0. */
    vkt_tensor *step =
        i % 2 ? vkt__sample(g, vkt_tensor_shape(vkt_step(g)), VKT_U32, VKT_HINT_INDEX, 1)
              : vkt_step(g);
    vkt__op(g, op,
            (vkt_tensor *[]) { vkt__sample1(g, s[i / 2].n), vkt__sample1(g, s[i / 2].n), step }, 3,
            (vkt_attr) { 0 });
    return i % 2 ? "first micro-batch" : s[i / 2].name;
}

const vkt_op vkt__op_accumulate = { .name = "accumulate",
                                    .n_in = N_ACCUMULATE_IN,
                                    .in = { [SUM] = VKT_CHANGED, [MICRO_STEP] = VKT_WORDS },
                                    .shape = accumulate_shape,
                                    .record = accumulate_record,
                                    .ref = accumulate_ref,
                                    .sample = accumulate_sample };

void vkt__accumulate(vkt_graph *g, vkt_tensor *sum, vkt_tensor *x)
{
    vkt__op(g, &vkt__op_accumulate, (vkt_tensor *[]) { sum, x, vkt_step(g) }, 3, (vkt_attr) { 0 });
}

/* ---- optim_state: what the step reports ---- */

enum { SQUARES, LOSS, HITS, STATE_STEP, SKIPPED, LOSS_SCALE, N_STATE_IN };

static bool state_shape(vkt_node *n)
{
    static const char *const names[] = { "sum of squares", "loss", "hits" };
    for (uint32_t i = 0; i < 3; i++)
        if (n->in[i] && n->in[i]->count > VKT_SUM_CHUNK)
            return vkt__shape_error(n, "%s must be f32 of at most %d elements, not %s", names[i],
                                    VKT_SUM_CHUNK, vkt__text(n->in[i]));
    VKT_ASSERT(n->in[SKIPPED]->count == 1);
    VKT_ASSERT(
        (n->in[LOSS_SCALE] != NULL) == (n->attr.state.scale_every > 0) &&
        (!n->in[LOSS_SCALE] || n->in[LOSS_SCALE]->count == sizeof(struct vkt_loss_scale) / 4));
    vkt__out(n, 0, vkt_shape1(VKT__N_SCALARS), VKT_F32);
    return true;
}

static void state_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *squares = n->in[SQUARES], *loss = n->in[LOSS], *hits = n->in[HITS];
    struct optim_state_params p = { .squares = vkt__addr(rec, squares),
                                    .loss = vkt__addr(rec, loss),
                                    .hits = vkt__addr_or(rec, hits, loss),
                                    .step = vkt__addr(rec, n->in[STATE_STEP]),
                                    .skipped = vkt__addr(rec, n->in[SKIPPED]),
                                    .loss_scale = vkt__addr_or(rec, n->in[LOSS_SCALE], n->out[0]),
                                    .scalars = vkt__addr(rec, n->out[0]),
                                    .n_squares = (uint32_t)squares->count,
                                    .n_loss = (uint32_t)loss->count,
                                    .n_hits = hits ? (uint32_t)hits->count : 0,
                                    .scale_every = n->attr.state.scale_every };
    uint32_t wg = vkt__reduce_workgroup(rec->caps, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_REDUCE, vkt__reduce_form(rec->caps, wg) },
                                   { VKT_SPEC_SQUARE, n->attr.state.square },
                                   { VKT_SPEC_WIDE, rec->caps->klass != VKT_GPU_CLASS_CPU } };
    vkt__dispatch(rec,
                  vkt__use_pairs(rec->caps) ? VKT_SHADER_OPTIM_STATE_PAIRS : VKT_SHADER_OPTIM_STATE,
                  spec, VKT_COUNT(spec), &p, sizeof p, 1);
}

static double state_sum(const vkt_tensor *t, const double *x, bool square)
{
    double s = 0;
    for (uint64_t i = 0; t && i < t->count; i++) s += square ? x[i] * x[i] : x[i];
    return s;
}

double vkt__optim_clip(double squares, double limit)
{
    return limit > 0 ? VKT_MIN(1, limit / (sqrt(squares) + 1e-6)) : 1;
}

static void state_ref(const vkt_node *n, double *const *in, double *const *out)
{
    struct vkt_step_block step = vkt__ref_step(in[STATE_STEP]);
    double loss_scale = in[LOSS_SCALE] ? in[LOSS_SCALE][0] : 1,
           inv = (double)step.inv_weight / loss_scale,
           sum = state_sum(n->in[SQUARES], in[SQUARES], n->attr.state.square),
           squares = sum * inv * inv, loss = state_sum(n->in[LOSS], in[LOSS], false);
    bool ok = isfinite((float)loss) && isfinite((float)sum);
    if (!ok) in[SKIPPED][0]++;
    memset(out[0], 0, VKT__N_SCALARS * sizeof(double));
    out[0][VKT__SCALAR(loss)] = loss * (double)step.inv_weight;
    out[0][VKT__SCALAR(grad_norm)] = sqrt(squares);
    out[0][VKT__SCALAR(clip)] = ok ? vkt__optim_clip(squares, (double)step.clip) : 1;
    out[0][VKT__SCALAR(scale)] = out[0][VKT__SCALAR(clip)] * inv;
    out[0][VKT__SCALAR(ok)] = ok;
    out[0][VKT__SCALAR(hits)] = state_sum(n->in[HITS], in[HITS], false);
    out[0][VKT__SCALAR(skipped)] = in[SKIPPED][0];
    out[0][VKT__SCALAR(loss_scale)] = loss_scale;
    if (!in[LOSS_SCALE]) return;
    in[LOSS_SCALE][1] = ok ? in[LOSS_SCALE][1] + 1 : 0;
    if (!ok) in[LOSS_SCALE][0] = VKT_MAX(loss_scale / 2, VKT_LOSS_SCALE_LEAST);
    if (in[LOSS_SCALE][1] < n->attr.state.scale_every) return;
    in[LOSS_SCALE][0] = VKT_MIN(2 * loss_scale, VKT_LOSS_SCALE_MOST);
    in[LOSS_SCALE][1] = 0;
}

static vkt_tensor *sample_counter(vkt_graph *g)
{
    return vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_INDEX,
                       3); /* small, or it would dominate the scalars' tolerance */
}

static vkt_tensor *sample_positive(vkt_graph *g, uint32_t n)
{
    return vkt__sample(g, vkt_shape1(n), VKT_F32, VKT_HINT_POSITIVE, 0);
}

/* The longest of the sums, and the roundings after it. */
static double state_terms(const vkt_node *n)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < 3; i++) most = VKT_MAX(most, n->in[i] ? n->in[i]->count : 0);
    return 4 + (double)most;
}

/* Sums that are left to the kernel: odd, of pairs, of fours; of squares. */
static const char *sample_sums(vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t squares, rows;
        bool square;
    } s[] = { { "sums, odd", 3, 129, false },
              { "sums, pairs", 10, 66, true },
              { "sums, fours", 4096, 64, true },
              { "sums, nothing", 0, 0, true } };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt__optim_state(g, &(vkt__state_in) { .squares = sample_positive(g, s[i].squares),
                                           .square = s[i].square,
                                           .loss = sample_positive(g, s[i].rows),
                                           .hits = sample_positive(g, s[i].rows),
                                           .step = vkt_step(g),
                                           .skipped = sample_counter(g) });
    return s[i].name;
}

/* The sample step block's limit is 0.5; positive samples lie in [0.25, 1.25). */
static const char *state_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const char *const names[] = { "clipped",       "below the limit", "no limit", "no hits",
                                         "zero gradient", "loss scale",      "it grows" };
    if (i >= VKT_COUNT(names)) return sample_sums(g, i - VKT_COUNT(names));
    vkt_tensor *step = i == 2 ? vkt__sample(g, vkt_shape1(sizeof(struct vkt_step_block) / 4),
                                            VKT_U32, VKT_HINT_INDEX, 1)
                              : vkt_step(g);
    vkt_tensor *squares = vkt_scale(g, sample_positive(g, 1),
                                    i == 1   ? 0.01f
                                    : i == 4 ? 0.0f
                                             : 9.0f);
    vkt__state_in in = { .squares = squares,
                         .loss = vkt__sample1(g, 1),
                         .hits = i == 3 ? NULL : sample_positive(g, 1),
                         .step = step,
                         .skipped = sample_counter(g) };
    if (i >= 5) {
        in.loss_scale = vkt__sample(g, vkt_shape1(sizeof(struct vkt_loss_scale) / 4), VKT_F32,
                                    VKT_HINT_UNIT, 0); /* 1, after one good step */
        in.scale_every = i == 5 ? 3 : 2;
    }
    vkt__optim_state(g, &in);
    return names[i];
}

const vkt_op vkt__op_optim_state = { .name = "optim_state",
                                     .n_in = N_STATE_IN,
                                     .n_out = 1,
                                     .in = { [HITS] = VKT_OPTIONAL,
                                             [STATE_STEP] = VKT_WORDS,
                                             [SKIPPED] = VKT_WORDS | VKT_CHANGED,
                                             [LOSS_SCALE] = VKT_OPTIONAL | VKT_CHANGED },
                                     .shape = state_shape,
                                     .record = state_record,
                                     .ref = state_ref,
                                     .terms = state_terms,
                                     .sample = state_sample };

vkt_tensor *vkt__optim_state(vkt_graph *g, const vkt__state_in *in)
{
    vkt_tensor *list[] = { in->squares, in->loss, in->hits, in->step, in->skipped, in->loss_scale };
    return vkt__op(
        g, &vkt__op_optim_state, list, VKT_COUNT(list),
        (vkt_attr) { .state = { .scale_every = in->scale_every, .square = in->square } });
}

/* ---- optim_update: one step of a rule ---- */

enum { THETA, GRAD, M, V, SCALARS, STEP, BLOCKS, GROUPS, BESIDE, N_UPDATE_IN };

static bool update_shape(vkt_node *n)
{
    uint64_t count = n->in[THETA]->count;
    VKT_ASSERT(n->in[GRAD]->count == count && n->in[SCALARS]->count == VKT__N_SCALARS);
    VKT_ASSERT((n->in[M] != NULL) == vkt__optim_has_m(n->attr) &&
               (n->in[V] != NULL) == vkt__optim_has_v(n->attr));
    VKT_ASSERT((!n->in[M] || n->in[M]->count == count) && (!n->in[V] || n->in[V]->count == count));
    VKT_ASSERT(n->in[BLOCKS]->count == vkt__group_blocks(count));
    VKT_ASSERT(vkt__last(n->in[GROUPS]->shape) == 2);
    VKT_ASSERT(vkt__beside_fits(n, n->in[BESIDE]));
    return true;
}

static void update_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_attr *a = &n->attr;
    struct optim_update_params p = {
        .theta = vkt__addr(rec, n->in[THETA]),
        .grad = vkt__addr(rec, n->in[GRAD]),
        .m = vkt__addr(rec, n->in[M]),
        .v = vkt__addr(rec, n->in[V]),
        .scalars = vkt__addr(rec, n->in[SCALARS]),
        .step = vkt__addr(rec, n->in[STEP]),
        .blocks = vkt__addr(rec, n->in[BLOCKS]),
        .groups = vkt__addr(rec, n->in[GROUPS]),
        .beside = vkt__addr(rec, n->in[BESIDE]),
        .n = (uint32_t)n->in[THETA]->count,
        .beta1 = a->optim.beta1,
        .beta2 = a->optim.beta2,
        .eps = a->optim.eps,
    };
    bool pairs = vkt__use_pairs(rec->caps) && p.n % 2 == 0 && !vkt__optim_gives_direction(*a);
    uint32_t wg = 1,
             most = VKT_MIN(rec->caps->workgroup, pairs ? VKT_GROUP_BLOCK / 2 : VKT_GROUP_BLOCK);
    while (2 * wg <= most) wg *= 2;
    enum { NUMBERS = 40 }; /* at once: four elements of all that a rule reads and writes */
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_LANES, vkt__lanes(rec->caps, wg, NUMBERS) },
                                   { VKT_SPEC_RULE, a->optim.rule },
                                   { VKT_SPEC_UPDATE_FORM, vkt__update_form(a) },
                                   { VKT_SPEC_HAS_M, vkt__optim_has_m(*a) },
                                   { VKT_SPEC_HAS_V, vkt__optim_has_v(*a) },
                                   { VKT_SPEC_WIDE,
                                     rec->caps->klass != VKT_GPU_CLASS_CPU || n->in[BESIDE] },
                                   { VKT_SPEC_TYPE_SHADOW, vkt__type(n->in[BESIDE]) } };
    vkt__dispatch(rec, pairs ? VKT_SHADER_OPTIM_UPDATE_PAIRS : VKT_SHADER_OPTIM_UPDATE, spec,
                  VKT_COUNT(spec), &p, sizeof p, vkt__update_groups(p.n, wg));
}

static void update_ref(const vkt_node *n, double *const *in, double *const *out)
{
    (void)out;
    bool direction = vkt__optim_gives_direction(n->attr);
    if (in[SCALARS][VKT__SCALAR(ok)] == 0) return;
    struct vkt_step_block b = vkt__ref_step(in[STEP]);
    for (uint64_t i = 0; i < n->in[THETA]->count; i++) {
        vkt__update_step s;
        double theta = in[THETA][i];
        if (!vkt__update_step_of(&b, in[GROUPS], in[BLOCKS], i / VKT_GROUP_BLOCK, &s)) continue;
        vkt__kept k = { in[M] ? in[M][i] : 0, in[V] ? in[V][i] : 0 };
        vkt__optim_element(n->attr, &s, in[SCALARS][VKT__SCALAR(scale)] * in[GRAD][i], &theta, &k);
        in[direction ? BESIDE : THETA][i] = theta;
        if (in[M]) in[M][i] = k.m;
        if (in[V]) in[V][i] = k.v;
        if (in[BESIDE] && !direction) in[BESIDE][i] = vkt__round_to(n->in[BESIDE]->dtype, theta);
    }
}

static vkt_cost update_cost(const vkt_node *n)
{
    double count = (double)n->in[THETA]->count, moments = (n->in[M] != NULL) + (n->in[V] != NULL);
    vkt_cost c = { count * (4 + 6 * moments),
                   4 * count * (3 + 2 * moments) + (double)n->in[BLOCKS]->bytes };
    if (n->in[BESIDE]) c.bytes += (double)n->in[BESIDE]->bytes;
    return c;
}

static void build_update(vkt_graph *g, vkt_attr attr, const vkt__update_case *c)
{
    bool own_norm = c->scalars == VKT_HINT_NORMAL; /* the whole way from the gradient */
    vkt__update_in in = vkt__update_sample(g, c);
    in.grad = vkt__sample1(g, c->n);
    if (vkt__optim_has_m(attr)) in.m = vkt__sample1(g, c->n);
    if (vkt__optim_has_v(attr)) in.v = sample_positive(g, c->n);
    if (vkt__optim_gives_direction(attr)) in.direction = vkt__sample1(g, c->n);
    if (own_norm)
        in.scalars = vkt__optim_state(g, &(vkt__state_in) { .squares = vkt__sum_squares(g, in.grad),
                                                            .loss = vkt__sample1(g, 1),
                                                            .step = in.step,
                                                            .skipped = sample_counter(g) });
    vkt__optim_update(g, &in, attr);
}

/* The numbers that every rule is tried with, as far as it uses them. */
static const struct variant {
    const char *name;
    bool torch;
    float momentum, beta2, eps;
} variants[] = {
    { "", false, 0.9f, 0.999f, 1e-8f },
    { ", large eps", false, 0.9f, 0.75f, 0.125f },
    { ", torch's form", true, 0.9f, 0.999f, 1e-8f },
    { ", torch's form, large eps", true, 0.9f, 0.75f, 0.125f },
    { ", without momentum", false, 0, 0.9f, 0.125f },
    { ", without momentum, torch's form", true, 0, 0.9f, 0.125f },
};

static vkt_attr rule_attr(uint32_t rule, const struct variant *v)
{
    uint32_t uses = vkt__rule_at(rule)->uses;
    bool first = uses & (VKT__USES_MOMENTUM | VKT__USES_BETA1),
         second = uses & (VKT__USES_RHO | VKT__USES_BETA2);
    return (vkt_attr) { .optim = { .rule = rule,
                                   .torch = v->torch,
                                   .beta1 = first ? v->momentum : 0,
                                   .beta2 = second ? v->beta2 : 0,
                                   .eps = uses & VKT__USES_EPS ? v->eps : 0 } };
}

/* Whether the variant is another update than those before it. */
static bool is_distinct(const vkt__rule *r, const struct variant *v)
{
    if (!r->element || r->keeps & VKT__KEEPS_CHANGE) return false; /* another row's */
    if (v->momentum == 0) return r->keeps & VKT__KEEPS_M_WITH_MOMENTUM;
    return v == variants || r->uses & VKT__USES_EPS;
}

/* The *i-th sample of a rule's own, or NULL: then *i counts from behind them. The name is valid
 * until the next call in this thread. */
static const char *rule_sample(vkt_graph *g, uint32_t *i)
{
    static _Thread_local char name[64];
    static const vkt__update_case usual = { NULL, 2500, VKT_HINT_POSITIVE, VKT_HINT_POSITIVE };
    const vkt__rule *r;
    for (uint32_t rule = 0; (r = vkt__rule_at(rule)); rule++)
        for (size_t k = 0; k < VKT_COUNT(variants); k++) {
            if (!is_distinct(r, &variants[k]) || (*i)-- > 0) continue;
            build_update(g, rule_attr(rule, &variants[k]), &usual);
            snprintf(name, sizeof name, "%s%s", r->name, variants[k].name);
            return name;
        }
    return NULL;
}

static const char *update_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const vkt__update_case own = { "clipped by its own norm", 5000, VKT_HINT_NORMAL,
                                          VKT_HINT_POSITIVE };
    const char *name = rule_sample(g, &i);
    if (name) return name;
    const vkt__update_case *c = i ? vkt__update_case_at(i - 1) : &own;
    if (!c) return NULL;
    build_update(g, rule_attr(VKT_UP_ADAM, &variants[0]), c);
    return c->name;
}

const vkt_op vkt__op_optim_update = { .name = "optim_update",
                                      .n_in = N_UPDATE_IN,
                                      .in = { [THETA] = VKT_CHANGED,
                                              [M] = VKT_OPTIONAL | VKT_CHANGED,
                                              [V] = VKT_OPTIONAL | VKT_CHANGED,
                                              [STEP] = VKT_WORDS,
                                              [BLOCKS] = VKT_WORDS,
                                              [BESIDE] = VKT_OPTIONAL | VKT_CHANGED | VKT_NARROW |
                                                         VKT_NARROW_ODD },
                                      .shape = update_shape,
                                      .record = update_record,
                                      .ref = update_ref,
                                      .cost = update_cost,
                                      .terms = vkt__update_terms,
                                      .sample = update_sample };

void vkt__optim_update(vkt_graph *g, const vkt__update_in *in, vkt_attr attr)
{
    vkt_tensor *list[N_UPDATE_IN] = { [THETA] = in->theta,
                                      [GRAD] = in->grad,
                                      [M] = in->m,
                                      [V] = in->v,
                                      [SCALARS] = in->scalars,
                                      [STEP] = in->step,
                                      [BLOCKS] = in->blocks,
                                      [GROUPS] = in->groups,
                                      [BESIDE] = in->direction ? in->direction : in->shadow };
    vkt__node(g, &vkt__op_optim_update, list, N_UPDATE_IN, attr);
}

/* ---- ema: the moving average of the parameters, in place ---- */

enum { AVERAGE, VALUES, EMA_STEP, N_EMA_IN };

static bool ema_shape(vkt_node *n)
{
    if (n->in[AVERAGE]->count != n->in[VALUES]->count)
        return vkt__shape_error(n, "%s is no average of %s", vkt__text(n->in[AVERAGE]),
                                vkt__text(n->in[VALUES]));
    return true;
}

static void ema_record(vkt__rec *rec, const vkt_node *n)
{
    struct ema_params p = { .average = vkt__addr(rec, n->in[AVERAGE]),
                            .x = vkt__addr(rec, n->in[VALUES]),
                            .step = vkt__addr(rec, n->in[EMA_STEP]),
                            .n = (uint32_t)n->in[AVERAGE]->count };
    vkt__dispatch_each(rec, VKT_SHADER_EMA, &p, sizeof p, (p.n + 3ull) / 4, 256);
}

static void ema_ref(const vkt_node *n, double *const *in, double *const *out)
{
    double share = (double)vkt__ref_step(in[EMA_STEP]).ema;
    (void)out;
    for (uint64_t i = 0; i < n->in[AVERAGE]->count; i++)
        in[AVERAGE][i] += share * (in[VALUES][i] - in[AVERAGE][i]);
}

static const char *ema_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t n;
    } s[] = { { "one", 1 }, { "odd", 129 }, { "many groups", 5001 } };
    if (i >= VKT_COUNT(s)) return NULL;
    vkt__ema(g, vkt__sample1(g, s[i].n), vkt__sample1(g, s[i].n));
    return s[i].name;
}

const vkt_op vkt__op_ema = { .name = "ema",
                             .n_in = N_EMA_IN,
                             .in = { [AVERAGE] = VKT_CHANGED, [EMA_STEP] = VKT_WORDS },
                             .shape = ema_shape,
                             .record = ema_record,
                             .ref = ema_ref,
                             .sample = ema_sample };

void vkt__ema(vkt_graph *g, vkt_tensor *average, vkt_tensor *x)
{
    vkt__op(g, &vkt__op_ema, (vkt_tensor *[]) { average, x, vkt_step(g) }, 3, (vkt_attr) { 0 });
}
