/* The layer members: k nets in one, which share the body's weights and differ in a scale of each of
 * their inputs (TabM-mini: Gorishniy et al. 2024, arXiv 2410.24210). Each is trained by its own
 * loss; the mean of what they give is the answer. Knows no loss. */
#include "nn/layers.h"

#include "nn/layer_list.h"
#include "tensor/graph/op.h"

enum { USUAL = 16 };

static int add_scale(vkt_model *m, const vkt__layer *l, const char *suffix, uint32_t n,
                     vkt__init init)
{
    int i = vkt__model_add_param(m, l, suffix, vkt_shape3(1, l->spec.members, n), init, 1);
    m->params[i].pub.decay = false;
    vkt__model_set_by_member(m, i);
    return i;
}

static vkt_status plan_list(vkt_model *m, const vkt__layer *l, const char *part,
                            const vkt_layer *spec, size_t n, vkt_shape in, vkt__layer_list *out,
                            vkt_shape *shape)
{
    vkt__str prefix = { 0 };
    vkt__str_printf(&prefix, "%s.%s.", l->name, part);
    vkt_status st = vkt__model_plan_list(m, spec, n, prefix.data, in, false, out, shape);
    vkt__str_finish(&prefix);
    return st;
}

static vkt_status members_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = VKT_OK;
    vkt_shape body, other;
    char text[96];
    if (!l->spec.members) l->spec.members = USUAL;
    uint32_t k = l->spec.members, out = l->spec.out ? l->spec.out : vkt__layer_n_outputs(m, l);
    l->out = other = vkt_shape1(out);
    if (l->in.rank != 1)
        return vkt__layer_error(l, "it takes a vector, not %s: put `- flatten` before it",
                                vkt_shape_text(l->in, VKT_F32, text));
    if (m->n_heads)
        return vkt__layer_error(l, "its members have a loss each, so that `losses` can't stand "
                                   "beside them: take `loss`");
    l->w = add_scale(m, l, "input_scale", l->in.d[0], VKT_INIT_SIGNS);
    VKT_TRY(plan_list(m, l, "body", l->spec.body, l->spec.n_body, vkt_shape2(k, l->in.d[0]),
                      &l->body, &body));
    if (body.rank != 2 || body.d[0] != k)
        return vkt__layer_error(l,
                                "its body gives %s for the members' %u vectors: take layers of "
                                "vectors (linear, activations, norms, dropout, residual)",
                                vkt_shape_text(body, VKT_F32, text), k);
    if (l->spec.n_shortcut)
        VKT_TRY(plan_list(m, l, "shortcut", l->spec.shortcut, l->spec.n_shortcut, l->in,
                          &l->shortcut, &other));
    if (!vkt__shape_equal(other, l->out))
        return vkt__layer_error(l, "its shortcut gives %s, but is added to %u outputs",
                                vkt_shape_text(other, VKT_F32, text), out);
    l->scale = add_scale(m, l, "scale", body.d[1], VKT_INIT_ONES);
    l->b = add_scale(m, l, "bias", out, VKT_INIT_ZEROS);
    l->w_out = vkt__model_add_param(m, l, "weight", vkt_shape2(out, body.d[1]),
                                    l->spec.zero ? VKT_INIT_ZEROS : VKT_INIT_KAIMING, 1);
fail:
    return st;
}

/* Each by its member: [B, k, n] and [1, k, n], or one for all. */
static vkt_tensor *by_member(vkt_model *m, vkt_graph *g, vkt_fn2 fn, vkt_tensor *x, int param)
{
    return vkt_binary(g, fn, x, vkt__model_tensor(m, g, param));
}

static vkt_tensor *members_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train)
{
    enum { MEMBERS = 2 }; /* the axis, as a set */
    if (x->inert) return x;
    uint32_t batch = x->shape.d[0], n = x->shape.d[1], out = l->out.d[0];
    vkt_tensor *y = vkt_reshape(g, x, vkt_shape3(batch, 1, n));
    y = by_member(m, g, VKT_FN2_MUL, y, l->w);
    y = vkt__model_build_list(m, g, &l->body, y, train);
    y = by_member(m, g, VKT_FN2_MUL, y, l->scale);
    y = vkt_linear(g, y, vkt__model_tensor(m, g, l->w_out), NULL, VKT_ACT_NONE);
    y = by_member(m, g, VKT_FN2_ADD, y, l->b);
    if (l->shortcut.n) {
        vkt_tensor *all = vkt__model_build_list(m, g, &l->shortcut, x, train);
        y = vkt_binary(g, VKT_FN2_ADD, y, vkt_reshape(g, all, vkt_shape3(batch, 1, out)));
    }
    if (train && l->spec.members > 1) return y;
    return vkt_reduce(g, VKT_REDUCE_MEAN, y, MEMBERS, false);
}

uint32_t vkt__model_n_members(const vkt_model *m)
{
    const vkt__layer *last = m->layers.n ? &m->layers.layers[m->layers.n - 1] : NULL;
    return last && last->kind->is_end ? last->spec.members : 1;
}

const vkt__layer_kind vkt__members_kinds[] = {
    { "members", members_plan, members_build, .is_end = true },
    { .name = NULL },
};
