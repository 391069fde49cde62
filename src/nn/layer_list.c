/* A list of layers, planned one after the other and put into graphs; the whole model is one, and so
 * is what layers made of layers hold. Finds a type's functions in the model's table of kinds and
 * knows none of them. */
#include "nn/layer_list.h"
#include "tensor/graph/graph.h"

void vkt__model_zero_last(vkt_model *m, const vkt__layer_list *body)
{
    for (size_t i = body->n; i-- > 0;) {
        const vkt__layer *l = &body->layers[i];
        if (l->body.n) {
            vkt__model_zero_last(m, &l->body);
            return;
        }
        if (l->w < 0) continue;
        m->params[l->w].init = VKT_INIT_ZEROS;
        return;
    }
}

static const vkt__layer_kind *find_kind(const vkt_model *m, const char *name)
{
    for (size_t t = 0; m->kinds[t]; t++)
        for (const vkt__layer_kind *k = m->kinds[t]; k->name; k++)
            if (!strcmp(k->name, name)) return k;
    return NULL;
}

vkt_status vkt__model_plan_list(vkt_model *m, const vkt_layer *spec, size_t n, const char *prefix,
                                vkt_shape in, bool is_whole, vkt__layer_list *out,
                                vkt_shape *out_shape)
{
    vkt__layer *layers = vkt__arena_alloc(&m->arena, n * sizeof *layers);
    for (size_t i = 0; i < n; i++) {
        vkt__layer *l = &layers[i];
        l->spec = spec[i];
        l->w = l->b = l->s = -1;
        l->in = in;
        l->name = spec[i].name ? vkt__arena_printf(&m->arena, "%s%s", prefix, spec[i].name)
                               : vkt__arena_printf(&m->arena, "%s%zu", prefix, i);
        l->where = spec[i].line
                       ? vkt__arena_printf(&m->arena, "%s:%d: layer %s (%s)", m->source,
                                           spec[i].line, l->name, spec[i].type)
                       : vkt__arena_printf(&m->arena, "layer %s (%s)", l->name, spec[i].type);
        l->kind = find_kind(m, spec[i].type);
        if (!l->kind) {
            size_t n_types;
            const vkt_layer_type *types = vkt_layer_types(&n_types);
            const char *names[64];
            for (size_t t = 0; t < n_types && t < 64; t++) names[t] = types[t].name;
            return vkt__fail(VKT_ARG, "model", "%s: no such layer type%s", l->where,
                             vkt_did_you_mean(spec[i].type, names, VKT_MIN(n_types, 64)).text);
        }
        bool whole_model = l->kind->is_whole;
        if (whole_model && !(is_whole && n == 1))
            return vkt__fail(VKT_ARG, "model",
                             "%s: a transformer is the whole model: no other layers", l->where);
        vkt_status st = l->kind->plan(m, l);
        if (st != VKT_OK) return st;
        if (m->flat_count > UINT32_MAX)
            return vkt__fail(VKT_SHAPE, "model", "%s: the model has more than 2^32 parameters",
                             l->where);
        in = l->out;
        if (whole_model) in = vkt_shape1(l->out.d[1]); /* of each token */
    }
    *out = (vkt__layer_list) { layers, n };
    *out_shape = in;
    if (is_whole && (in.rank != 1 || in.d[0] != m->n_outputs)) {
        char text[96];
        return vkt__fail(VKT_SHAPE, "model",
                         "%s gives %s, but the data has %u outputs: end the model with `- linear` "
                         "(its size is inferred)",
                         n ? layers[n - 1].where : "an empty model",
                         vkt_shape_text(in, VKT_F32, text), m->n_outputs);
    }
    return VKT_OK;
}

vkt_tensor *vkt__model_build_list(vkt_model *m, vkt_graph *g, const vkt__layer_list *list,
                                  vkt_tensor *x, bool train)
{
    for (size_t i = 0; i < list->n; i++) {
        const vkt__layer *l = &list->layers[i];
        vkt__where(g, l->where);
        x = l->kind->build(m, g, l, x, train);
        vkt__where(g, NULL);
    }
    return x;
}

vkt_tensor *vkt__model_build_sum(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                 bool train)
{
    vkt_tensor *y = vkt__model_build_list(m, g, &l->body, x, train);
    return vkt_add(g, y, vkt__model_build_list(m, g, &l->shortcut, x, train));
}

vkt_status vkt__layer_error(const vkt__layer *l, const char *fmt, ...)
{
    vkt__str s = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    vkt_log(VKT_LOG_ERROR, "model", "%s: %s", l->where, s.data);
    vkt__str_finish(&s);
    return VKT_SHAPE;
}

vkt_status vkt__layer_init_of(const vkt__layer *l, vkt__init *out)
{
    static const struct {
        const char *name;
        vkt__init init;
    } inits[] = {
        { "kaiming", VKT_INIT_KAIMING },
        { "xavier", VKT_INIT_XAVIER },
        { "normal", VKT_INIT_NORMAL },
        { "zeros", VKT_INIT_ZEROS },
    };
    const char *names[VKT_COUNT(inits)], *want = l->spec.init ? l->spec.init : "kaiming";
    for (size_t i = 0; i < VKT_COUNT(inits); i++) {
        names[i] = inits[i].name;
        *out = inits[i].init;
        if (!strcmp(want, names[i])) return VKT_OK;
    }
    vkt__layer_error(l, "no initialiser '%s'; there are kaiming, xavier, normal, zeros%s", want,
                     vkt_did_you_mean(want, names, VKT_COUNT(names)).text);
    return VKT_ARG;
}
