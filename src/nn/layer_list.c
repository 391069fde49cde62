/* A list of layers, planned one after the other and put into graphs; the whole model is one, and so
 * is what layers made of layers hold. Finds a type's functions in the model's table of kinds and
 * knows none of them. */
#include "nn/layer_list.h"

#include "nn/layer_from.h"
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

const char *vkt__layer_where(vkt_model *m, const vkt_layer *spec, const char *name)
{
    if (!spec->line) return vkt__arena_printf(&m->arena, "layer %s (%s)", name, spec->type);
    return vkt__arena_printf(&m->arena, "%s:%d: layer %s (%s)", m->source, spec->line, name,
                             spec->type);
}

static const vkt__layer_kind *find_kind(const vkt_model *m, const char *name)
{
    for (size_t t = 0; m->kinds[t]; t++)
        for (const vkt__layer_kind *k = m->kinds[t]; k->name; k++)
            if (!strcmp(k->name, name)) return k;
    return NULL;
}

/* Whether every word of the description is one that its option takes: a word that no one knows
 * would silently build another model. */
static vkt_status check_words(const vkt__layer *l)
{
    size_t n_types, t = 0;
    const vkt_layer_type *types = vkt_layer_types(&n_types);
    while (t < n_types && strcmp(types[t].name, l->kind->name)) t++;
    VKT_ASSERT(t < n_types);
    for (const vkt_layer_opt *o = types[t].opts;
         o < types[t].opts + VKT_COUNT(types[t].opts) && o->name; o++) {
        const char *word = NULL;
        bool known = false;
        size_t n = 0;
        if (o->choices) memcpy(&word, (const char *)&l->spec + o->offset, sizeof word);
        if (!word) continue;
        vkt__str all = { 0 };
        for (; o->choices[n]; n++) {
            known = known || !strcmp(o->choices[n], word);
            vkt__str_printf(&all, "%s%s", n ? ", " : "", o->choices[n]);
        }
        if (!known)
            vkt__fail(VKT_E_ARG, "model", "%s: %s: '%s' is not one of %s%s", l->where, o->name,
                      word, all.data, vkt_did_you_mean(word, o->choices, n).text);
        vkt__str_finish(&all);
        if (!known) return VKT_E_ARG;
    }
    return VKT_OK;
}

/* The model's outputs are vectors of as many numbers as the data has for them. */
static vkt_status check_output(const vkt__layer *l, const char *where, vkt_shape out, uint32_t n)
{
    char text[96];
    if (out.rank == 1 && out.d[0] == n) return VKT_OK;
    return vkt__fail(
        VKT_E_SHAPE, "model",
        "%s gives %s, but %s %u outputs: end %s with `- linear` (its size is inferred)", where,
        vkt_shape_text(out, VKT_F32, text), l ? "its loss is of" : "the data has", n,
        l ? "the branch" : "the model");
}

/* The model's output is a picture as the data's targets are. */
static vkt_status check_picture(const vkt_model *m, const char *where, vkt_shape out)
{
    char text[96], wanted[96];
    if (vkt__shape_equal(out, m->output)) return VKT_OK;
    if (m->output.rank == 2)
        return vkt__fail(VKT_E_SHAPE, "model",
                         "%s gives %s, but the data's targets are %s: cells 8, 16 and 32 pixels "
                         "apart, joined in this order, each with 4 numbers of a box and one for "
                         "each class (`vktrain init` writes such a model)",
                         where, vkt_shape_text(out, VKT_F32, text),
                         vkt_shape_text(m->output, VKT_F32, wanted));
    return vkt__fail(VKT_E_SHAPE, "model",
                     "%s gives %s, but the data's targets are %s: rows, columns, and a channel for "
                     "each class or colour (end the model with `- conv: {out: %u, kernel: 1}` at "
                     "that size)",
                     where, vkt_shape_text(out, VKT_F32, text),
                     vkt_shape_text(m->output, VKT_F32, wanted), m->output.d[2]);
}

vkt_status vkt__model_plan_list(vkt_model *m, const vkt_layer *spec, size_t n, const char *prefix,
                                vkt_shape in, bool is_whole, vkt__layer_list *out,
                                vkt_shape *out_shape)
{
    vkt__layer *layers = vkt__arena_alloc(&m->arena, n * sizeof *layers);
    vkt_shape list_in = in;
    bool is_graph = false;
    vkt_status st = is_whole ? vkt__layer_heads(m, spec, n, layers) : VKT_OK;
    if (st != VKT_OK) return st;
    for (size_t i = 0; i < n; i++) {
        vkt__layer *l = &layers[i];
        l->spec = spec[i];
        l->w = l->b = l->s = -1;
        l->name = spec[i].name ? vkt__arena_printf(&m->arena, "%s%s", prefix, spec[i].name)
                               : vkt__arena_printf(&m->arena, "%s%zu", prefix, i);
        l->where = vkt__layer_where(m, &spec[i], l->name);
        l->kind = find_kind(m, spec[i].type);
        if (!l->kind) {
            size_t n_types;
            const vkt_layer_type *types = vkt_layer_types(&n_types);
            const char *names[64];
            for (size_t t = 0; t < n_types && t < 64; t++) names[t] = types[t].name;
            return vkt__fail(VKT_E_ARG, "model", "%s: no such layer type%s", l->where,
                             vkt_did_you_mean(spec[i].type, names, VKT_MIN(n_types, 64)).text);
        }
        bool whole_model = l->kind->is_whole;
        if (whole_model && !(is_whole && n == 1))
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: a transformer is the whole model: no other layers", l->where);
        if (l->kind->is_end && !(is_whole && i + 1 == n))
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: its members are trained by a loss each: it must be the model's "
                             "last layer",
                             l->where);
        st = check_words(l);
        if (st == VKT_OK) st = vkt__layer_connect(m, spec, n, layers, i, list_in, is_whole);
        if (st == VKT_OK) st = l->kind->plan(m, l);
        if (st == VKT_OK && l->head) st = check_output(l, l->where, l->out, l->head->n_outputs);
        if (st != VKT_OK) return st;
        is_graph = is_graph || l->from || l->n_taps;
        in = l->out;
        if (l->out.rank == 2 && whole_model) l->by_token = true;
        l->by_token = l->by_token && is_whole && n == 1;
        if (l->by_token) in = vkt_shape1(l->out.d[1]);
    }
    st = is_graph ? vkt__layers_check(layers, n) : VKT_OK;
    if (st != VKT_OK) return st;
    *out = (vkt__layer_list) { layers, n, is_graph };
    *out_shape = in;
    if (!is_whole || m->n_heads) return VKT_OK;
    const char *last = n ? layers[n - 1].where : "an empty model";
    return m->output.rank ? check_picture(m, last, in) : check_output(NULL, last, in, m->n_outputs);
}

vkt_status vkt__model_plan_part(vkt_model *m, const vkt__layer *l, const vkt_layer *list, size_t n,
                                vkt_shape in, vkt__layer_list *out, vkt_shape *shape)
{
    vkt__str prefix = { 0 };
    vkt__str_printf(&prefix, "%s.", l->name);
    vkt_layer *all = vkt__alloc(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i] = list[i];
        all[i].line = l->spec.line;
        all[i].virtual_batch = l->spec.virtual_batch;
        all[i].frozen = l->spec.frozen;
    }
    vkt_status st = vkt__model_plan_list(m, all, n, prefix.data, in, false, out, shape);
    vkt__str_finish(&prefix);
    free(all);
    return st;
}

/* The layer's k-th input, of y[n + 1], what the list takes and what its layers gave. */
static vkt_tensor *input_of(const vkt__layer *l, size_t k, vkt_tensor *const *y)
{
    return l->taps_from[k] ? l->taps_from[k]->y : y[l->from[k] + 1];
}

static vkt_tensor *join(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *const *y)
{
    vkt_tensor **x = vkt__arena_alloc(&g->arena, l->spec.n_from * sizeof(vkt_tensor *));
    for (size_t k = 0; k < l->spec.n_from; k++) {
        x[k] = input_of(l, k, y);
        if (x[k]->inert) return x[k];
    }
    return l->kind->join(m, g, l, x);
}

/* What a layer gives is the output of all heads that name it. */
static void give(vkt_model *m, const vkt__head *head, vkt_tensor *y)
{
    for (size_t h = 0; h < m->n_heads; h++)
        if (!strcmp(m->heads[h].on, head->on)) m->heads[h].y = y;
}

vkt_tensor *vkt__model_build_list(vkt_model *m, vkt_graph *g, const vkt__layer_list *list,
                                  vkt_tensor *x, bool train)
{
    return vkt__model_build_rest(m, g, list, 0, x, x, train);
}

vkt_tensor *vkt__model_build_rest(vkt_model *m, vkt_graph *g, const vkt__layer_list *list,
                                  size_t first, vkt_tensor *input, vkt_tensor *x, bool train)
{
    vkt_tensor **y =
        list->is_graph ? vkt__arena_alloc(&g->arena, (list->n + 1) * sizeof(vkt_tensor *)) : NULL;
    if (y) y[0] = input;
    if (y) y[first] = x;
    if (first) m->heads_in = g;
    if (first && list->layers[first - 1].head) give(m, list->layers[first - 1].head, x);
    for (size_t i = first; i < list->n; i++) {
        const vkt__layer *l = &list->layers[i];
        vkt__where(g, l->where);
        if (l->kind->join)
            x = join(m, g, l, y);
        else
            x = l->kind->build(m, g, l, l->from ? input_of(l, 0, y) : x, train);
        vkt__where(g, NULL);
        if (l->head) give(m, l->head, x);
        if (y) y[i + 1] = x;
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
    return VKT_E_SHAPE;
}

vkt__init vkt__layer_init_of(const vkt__layer *l)
{
    static const struct {
        const char *name;
        vkt__init init;
    } inits[] = {
        { "xavier", VKT_INIT_XAVIER },
        { "normal", VKT_INIT_NORMAL },
        { "zeros", VKT_INIT_ZEROS },
    };
    for (size_t i = 0; l->spec.init && i < VKT_COUNT(inits); i++)
        if (!strcmp(l->spec.init, inits[i].name)) return inits[i].init;
    return VKT_INIT_KAIMING;
}
