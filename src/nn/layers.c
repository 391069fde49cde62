/* The kinds of layers that take any input: linear, activations, norms, dropout, and those made of
 * other layers. */
#include "nn/layers.h"

#include "nn/layer_from.h"
#include "nn/layer_list.h"
#include "nn/lora.h"
#include "tensor/graph/op.h"
#include "tensor/graph/act.h"

/* ---- linear ---- */

static vkt_status linear_plan(vkt_model *m, vkt__layer *l)
{
    char text[96];
    if (l->in.rank == 3)
        return vkt__layer_error(l, "the input is an image, %s: put `- flatten` before it",
                                vkt_shape_text(l->in, VKT_F32, text));
    uint32_t out = l->spec.out ? l->spec.out : vkt__layer_n_outputs(m, l),
             in = l->in.d[l->in.rank - 1];
    if (in == 0) return vkt__layer_error(l, "the input has no elements");
    l->out = l->in;
    l->out.d[l->out.rank - 1] = out;
    l->w = vkt__model_add_param(m, l, "weight", vkt_shape2(out, in), vkt__layer_init_of(l),
                                l->spec.init_scale > 0 ? l->spec.init_scale : 1.0f);
    if (!l->spec.no_bias)
        l->b = vkt__model_add_param(m, l, "bias", vkt_shape1(out), VKT_INIT_ZEROS, 1);
    /* Behind the net of a file, which is what adapters adapt, a layer is new. */
    l->n_params =
        1 + !l->spec.no_bias + (m->onnx ? 0 : vkt__lora_add(m, l->name, in, out, 0, true));
    return VKT_OK;
}

static vkt_tensor *linear_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                bool train)
{
    vkt__linear linear = { x, vkt__model_tensor(m, g, l->w), vkt__model_tensor(m, g, l->b),
                           VKT_LAYOUT_NT };
    return vkt__lora_linear(m, g, l->name, &linear, train);
}

/* ---- activations ---- */

static vkt_status same_plan(vkt_model *m, vkt__layer *l)
{
    (void)m;
    l->out = l->in;
    return VKT_OK;
}

static vkt_tensor *act_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                             bool train)
{
    (void)m;
    (void)train;
    return vkt_activate(g, x, l->kind->act);
}

/* ---- norms ---- */

static vkt_status norm_plan(vkt_model *m, vkt__layer *l)
{
    uint32_t c = l->in.d[l->in.rank - 1];
    l->out = l->in;
    l->w = vkt__model_add_param(m, l, "weight", vkt_shape1(c), VKT_INIT_ONES, 1);
    if (!l->kind->rms && !l->spec.no_bias)
        l->b = vkt__model_add_param(m, l, "bias", vkt_shape1(c), VKT_INIT_ZEROS, 1);
    return VKT_OK;
}

static vkt_tensor *norm_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                              bool train)
{
    (void)train;
    float eps = l->spec.eps > 0 ? l->spec.eps : 1e-5f;
    vkt_tensor *w = vkt__model_tensor(m, g, l->w);
    if (l->kind->rms) return vkt_rmsnorm(g, x, w, NULL, eps, NULL);
    return vkt_layernorm(g, x, w, vkt__model_tensor(m, g, l->b), NULL, eps, NULL);
}

/* ---- embed ---- */

static vkt_status embed_plan(vkt_model *m, vkt__layer *l)
{
    uint32_t d = l->spec.out ? l->spec.out : 16;
    if (!m->embed_rows)
        return vkt__layer_error(l, "it must be the first layer, and data.embed name columns");
    l->out = vkt_shape1(m->n_plain + (l->in.d[0] - m->n_plain) * d);
    l->w = vkt__model_add_param(m, l, "weight", vkt_shape2(m->embed_rows, d), VKT_INIT_NORMAL,
                                l->spec.init_scale > 0 ? l->spec.init_scale : 1.0f);
    vkt__model_set_looked_up(m, l->w);
    m->embed_rows = 0;
    return VKT_OK;
}

static vkt_tensor *embed_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                               bool train)
{
    (void)train;
    return vkt_lookup(g, x, vkt__model_tensor(m, g, l->w), m->n_plain);
}

/* ---- dropout, flatten ---- */

static vkt_tensor *dropout_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train)
{
    (void)m;
    return train && l->spec.p > 0 ? vkt_dropout(g, x, vkt_step(g), l->spec.p) : x;
}

static vkt_status flatten_plan(vkt_model *m, vkt__layer *l)
{
    (void)m;
    l->out = vkt_shape1((uint32_t)vkt_shape_count(l->in));
    return VKT_OK;
}

static vkt_tensor *flatten_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train)
{
    (void)m;
    (void)l;
    (void)train;
    return vkt_flatten(g, x);
}

/* ---- residual, repeat ---- */

static vkt_status plan_part(vkt_model *m, const vkt__layer *l, const char *part,
                            const vkt_layer *spec, size_t n, vkt__layer_list *out, vkt_shape *shape)
{
    vkt__str prefix = { 0 };
    vkt__str_printf(&prefix, "%s.%s.", l->name, part);
    vkt_status st = vkt__model_plan_list(m, spec, n, prefix.data, l->in, false, out, shape);
    vkt__str_finish(&prefix);
    return st;
}

static vkt_status residual_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = VKT_OK;
    vkt_shape other = l->in;
    char a[96], b[96];
    VKT_TRY(plan_part(m, l, "body", l->spec.body, l->spec.n_body, &l->body, &l->out));
    VKT_TRY(
        plan_part(m, l, "shortcut", l->spec.shortcut, l->spec.n_shortcut, &l->shortcut, &other));
    if (!vkt__shape_equal(other, l->out))
        return vkt__layer_error(l, "the branch gives %s, but is added to %s: they must be equal",
                                vkt_shape_text(l->out, VKT_F32, a),
                                vkt_shape_text(other, VKT_F32, b));
    if (l->spec.zero) vkt__model_zero_last(m, &l->body);
fail:
    return st;
}

/* Names of a copy's layers are those of its body with the copy's number before them, "1.0.sum", and
 * so are the names that its layers take outputs of; what the body takes is what the copy before
 * gave. */
static vkt_status repeat_from(vkt_model *m, vkt__layer *l, vkt_layer *all, size_t copies)
{
    size_t n = l->spec.n_body;
    for (size_t i = 0; i < n; i++) {
        const vkt_layer *spec = &l->spec.body[i];
        const char *name = spec->name ? vkt__arena_printf(&m->arena, "%s.0.%s", l->name, spec->name)
                                      : vkt__arena_printf(&m->arena, "%s.0.%zu", l->name, i);
        if (!spec->n_from) continue;
        int *place = vkt__arena_alloc(&m->arena, spec->n_from * sizeof *place),
            *cut = vkt__arena_alloc(&m->arena, spec->n_from * sizeof *cut);
        const char *where = vkt__layer_where(m, spec, name);
        vkt_status st = vkt__layer_from(l->spec.body, n, i, where, place, cut);
        if (st != VKT_OK) return st;
        for (size_t k = 0; k < spec->n_from; k++)
            if (cut[k] >= 0)
                return vkt__fail(VKT_E_ARG, "model",
                                 "%s: from: the cut '%s' can't be taken inside of a repeat", where,
                                 vkt__show(spec->from[k]).s);
        for (size_t c = 0; c < copies; c++) {
            const char **from = vkt__arena_alloc(&m->arena, spec->n_from * sizeof(const char *));
            for (size_t k = 0; k < spec->n_from; k++)
                from[k] = place[k] >= 0 ? all[c * n + (size_t)place[k]].name
                          : c           ? all[c * n - 1].name
                                        : VKT_LAYER_INPUT;
            all[c * n + i].from = from;
        }
    }
    return VKT_OK;
}

/* Unrolled: body copies one after another, "3.0.0", "3.1.0", ... */
static vkt_status repeat_plan(vkt_model *m, vkt__layer *l)
{
    size_t n = l->spec.n_body, copies = l->spec.repeat ? l->spec.repeat : 1;
    vkt_layer *all = vkt__alloc(copies * n * sizeof *all);
    vkt__str *names = vkt__alloc(copies * n * sizeof *names), prefix = { 0 };
    for (size_t i = 0; i < copies * n; i++) {
        all[i] = l->spec.body[i % n];
        vkt__str_printf(&names[i], "%zu.%zu", i / n, i % n);
        if (all[i].name) vkt__str_printf(&names[i], ".%s", all[i].name);
        all[i].name = names[i].data;
    }
    vkt__str_printf(&prefix, "%s.", l->name);
    vkt_status st = repeat_from(m, l, all, copies);
    if (st == VKT_OK)
        st = vkt__model_plan_list(m, all, copies * n, prefix.data, l->in, false, &l->body, &l->out);
    for (size_t i = 0; i < copies * n; i++) vkt__str_finish(&names[i]);
    vkt__str_finish(&prefix);
    free(names);
    free(all);
    return st;
}

static vkt_tensor *repeat_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                bool train)
{
    return vkt__model_build_list(m, g, &l->body, x, train);
}

const vkt__layer_kind vkt__plain_kinds[] = {
    { "linear", linear_plan, linear_build },
    { "layernorm", norm_plan, norm_build },
    { "rmsnorm", norm_plan, norm_build, .rms = true },
    { "embed", embed_plan, embed_build },
    { "dropout", same_plan, dropout_build },
    { "flatten", flatten_plan, flatten_build },
    { "residual", residual_plan, vkt__model_build_sum },
    { "repeat", repeat_plan, repeat_build },
    { .name = NULL },
};

/* clang-format off */
#define KIND(id, word, ...) { #word, same_plan, act_build, .act = VKT_ACT_##id },
/* clang-format on */
const vkt__layer_kind vkt__act_kinds[] = { VKT__ACTS(KIND) { .name = NULL } };
