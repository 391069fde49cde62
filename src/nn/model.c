/* Models: layers resolved from a description, parameters laid out in one flat buffer. */
#include <math.h>
#include <stdio.h>

#include "nn/frozen.h"
#include "nn/layer_kinds.h"
#include "nn/layer_list.h"
#include "nn/lora.h"
#include "nn/model_memory.h"
#include "tensor/graph/graph.h"

/* A flat buffer of the parameters from `first` on, cut where all of them are. */
static vkt_status flat_create(vkt_model *m, uint64_t first, const char *label, vkt_dtype dtype,
                              vkt_buffer **out)
{
    uint64_t each = vkt_dtype_bytes(dtype), *cuts = vkt__alloc((m->n_cuts + 1) * sizeof *cuts);
    size_t n = 0;
    for (size_t i = 0; i < m->n_cuts; i++)
        if (m->cuts[i] > first) cuts[n++] = (m->cuts[i] - first) * each;
    vkt_buffer_desc desc = { VKT_MAX(m->flat_count - first, 1) * each, VKT_MEM_DEVICE, label, cuts,
                             n };
    vkt_status st = vkt__model_buffer_create(m->gpu, &desc, out);
    free(cuts);
    return st;
}

/* Other memory of a model: float32. */
static vkt_status plain_create(vkt_model *m, uint64_t count, const char *label, vkt_buffer **out)
{
    vkt_buffer_desc desc = { VKT_MAX(count, 1) * 4, VKT_MEM_DEVICE, label };
    return vkt__model_buffer_create(m->gpu, &desc, out);
}

/* What one allocation may hold of a flat buffer, in elements; a tensor has fewer than 2^31. */
static uint64_t most_elements(const vkt_model *m)
{
    if (!m->gpu) return UINT64_MAX;
    const vkt_caps *caps = vkt_gpu_caps(m->gpu);
    uint64_t most = VKT_MIN(caps->max_alloc_bytes, caps->max_buffer_bytes) / 4;
    return VKT_MIN(most, INT32_MAX) / VKT_PARAM_ALIGN * VKT_PARAM_ALIGN;
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Graphs find tensors by their names. A file's names and those of positions may be the same. */
static vkt_status check_names(const vkt_model *m)
{
    size_t n = 0, i = 1;
    const char **all = vkt__alloc((m->n_params + m->n_states + 1) * sizeof(const char *));
    for (size_t k = 0; k < m->n_params; k++) all[n++] = m->params[k].pub.name;
    for (size_t k = 0; k < m->n_states; k++) all[n++] = m->states[k].pub.name;
    qsort((void *)all, n, sizeof(const char *), by_text);
    while (i < n && strcmp(all[i - 1], all[i])) i++;
    vkt_status st = VKT_OK;
    if (i < n)
        st = vkt__fail(VKT_E_ARG, "model",
                       "%s: both the net of the file and a layer behind it have a '%s': give the "
                       "onnx layer a name, which begins its names then",
                       m->source, vkt__show(all[i]).s);
    free((void *)all);
    return st;
}

vkt_status vkt_model_create(vkt_gpu *gpu, const vkt_model_desc *desc, vkt_model **out)
{
    vkt_status st = VKT_OK;
    vkt_model *m = vkt__alloc(sizeof *m);
    vkt_shape last;
    *out = NULL;
    m->gpu = gpu;
    m->kinds = vkt__layer_kinds;
    m->source = vkt__arena_strdup(&m->arena, desc->source ? desc->source : "model");
    m->input = desc->input;
    m->n_outputs = desc->n_outputs;
    m->output = desc->output;
    m->precision = desc->precision;
    m->adapters.desc = desc->lora;
    m->noise = desc->noise;
    m->n_plain = desc->n_plain;
    m->embed_rows = desc->embed_rows;
    m->takes_ids = desc->embed_rows > 0;
    m->n_heads = desc->n_heads;
    m->heads = vkt__arena_alloc(&m->arena, desc->n_heads * sizeof *m->heads);
    for (size_t i = 0; i < desc->n_heads; i++)
        m->heads[i] = (vkt__head) { .on = vkt__arena_strdup(&m->arena, desc->heads[i].on),
                                    .n_outputs = desc->heads[i].n_outputs };
    const char *first = desc->n_layers ? desc->layers[0].type : "";
    bool scores = desc->n_layers && desc->layers[0].transformer.score;
    if (m->embed_rows && strcmp(first, "embed") && strcmp(first, "sentence") &&
        strcmp(first, "onnx") && !scores) {
        st = vkt__fail(
            VKT_E_ARG, "model",
            "%s: data.embed names columns: begin the model with `- embed: 16`, a vector of "
            "16 numbers for each of their values; where data.text names one, with `- sentence`, or "
            "set "
            "score: true of a transformer",
            m->source);
        goto fail;
    }
    VKT_TRY(vkt__model_plan_list(m, desc->layers, desc->n_layers, "", desc->input, true, &m->layers,
                                 &last));
    if (m->onnx) VKT_TRY(check_names(m));
    vkt__lora_thaw(m);
    VKT_TRY(vkt__lora_check(&m->adapters, m->source));
    vkt__model_lay_out(m);
    VKT_TRY(vkt__model_cut(m, most_elements(m)));
    VKT_TRY(vkt__frozen_create(m));
    VKT_TRY(flat_create(m, 0, "parameters", VKT_F32, &m->values));
    VKT_TRY(plain_create(m, m->state_count, "running averages", &m->state_values));
    if (m->constants_host) {
        uint64_t count = m->n_constants * vkt_shape_count(m->constants_shape);
        VKT_TRY(plain_create(m, count, "constants", &m->constants));
        VKT_TRY(vkt_buffer_write(m->gpu, m->constants, 0, m->constants_host, count * 4));
    }
    if (m->precision != VKT_F32)
        VKT_TRY(flat_create(m, 0, "16-bit parameters", m->precision, &m->shadow));
    *out = m;
    return VKT_OK;
fail:
    vkt_model_destroy(&m);
    return st;
}

void vkt_model_destroy(vkt_model **pm)
{
    vkt_model *m = *pm;
    if (!m) return;
    vkt__frozen_destroy(m);
    vkt__onnx_nets_destroy(m->onnx);
    vkt__model_buffer_destroy(m->gpu, &m->values);
    vkt__model_buffer_destroy(m->gpu, &m->grads);
    vkt__model_buffer_destroy(m->gpu, &m->constants);
    free(m->constants_host);
    vkt__model_buffer_destroy(m->gpu, &m->state_values);
    vkt__model_buffer_destroy(m->gpu, &m->shadow);
    free(m->params);
    free(m->cuts);
    free(m->states);
    vkt__str_finish(&m->adapters.others);
    vkt__arena_finish(&m->arena);
    free(m);
    *pm = NULL;
}

/* Kaiming: normal, deviation sqrt(2 / fan_in) (He et al. 2015, arXiv 1502.01852). Xavier: uniform
 * in
 * +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010). Normal: deviation 0.02 (GPT-2's). */
static float initial_value(const vkt__param *p, uint64_t seed, uint64_t i)
{
    double fan_out = p->pub.shape.d[0], fan_in = p->pub.shape.rank > 1 ? p->pub.shape.d[1] : 1;
    for (uint32_t k = 2; k < p->pub.shape.rank; k++) { /* the filter's taps */
        fan_in *= p->pub.shape.d[k];
        fan_out *= p->pub.shape.d[k];
    }
    switch (p->init) {
    case VKT_INIT_ONES:
        return p->scale;
    case VKT_INIT_SIGNS:
        return vkt_rand_uniform(seed, VKT_RNG_INIT, i) < 0.5 ? -p->scale : p->scale;
    case VKT_INIT_KAIMING:
        return (float)(p->scale * sqrt(2 / fan_in) * vkt_rand_normal(seed, VKT_RNG_INIT, i));
    case VKT_INIT_XAVIER:
        return (float)(p->scale * sqrt(6 / (fan_in + fan_out)) *
                       (2 * vkt_rand_uniform(seed, VKT_RNG_INIT, i) - 1));
    case VKT_INIT_NORMAL:
        return (float)(p->scale * 0.02 * vkt_rand_normal(seed, VKT_RNG_INIT, i));
    default:
        return 0;
    }
}

static vkt_status init_states(vkt_model *m)
{
    float *v = vkt__alloc(VKT_MAX(m->state_count, 1) * sizeof *v); /* counters: the bits of 0 */
    for (size_t i = 0; i < m->n_states; i++)
        for (uint64_t k = 0; k < m->states[i].pub.count; k++)
            v[m->states[i].pub.offset + k] = m->states[i].scale;
    for (size_t i = 0; i < m->n_states; i++)
        if (m->states[i].fill) m->states[i].fill(&m->states[i], v + m->states[i].pub.offset);
    vkt_status st =
        m->n_states ? vkt_buffer_write(m->gpu, m->state_values, 0, v, m->state_count * 4) : VKT_OK;
    free(v);
    return st;
}

static vkt_status init_param(vkt_model *m, size_t i, uint64_t seed)
{
    const vkt__param *p = &m->params[i];
    float *v = malloc(p->pub.count * sizeof *v);
    if (!v) return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for '%s'", p->pub.name);
    uint64_t own = vkt__hash(p->pub.name, strlen(p->pub.name), seed);
    for (uint64_t k = 0; k < p->pub.count && !p->fill; k++) v[k] = initial_value(p, own, k);
    if (p->fill) p->fill(p, v);
    vkt_status st =
        p->pub.quant ? vkt__frozen_write(m, i, v)
                     : vkt_buffer_write(m->gpu, m->values, p->pub.offset * 4, v, p->pub.count * 4);
    free(v);
    return st;
}

static vkt_status init_params(vkt_model *m, uint64_t seed, bool frozen)
{
    vkt_status st = init_states(m);
    for (size_t i = 0; i < m->n_params && st == VKT_OK; i++)
        if (frozen || !m->params[i].pub.frozen) st = init_param(m, i, seed);
    return st == VKT_OK ? vkt_model_values_changed(m) : st;
}

vkt_status vkt_model_init(vkt_model *m, uint64_t seed)
{
    return init_params(m, seed, true);
}

vkt_status vkt__model_init_trained(vkt_model *m, uint64_t seed)
{
    return init_params(m, seed, false);
}

vkt_status vkt__model_narrow(vkt_model *m, vkt_graph **out)
{
    *out = NULL;
    if (!m->shadow || m->flat_count == 0) return VKT_OK;
    vkt_graph *g = *out = vkt__graph_new(m->gpu);
    for (size_t i = 0; i <= m->n_cuts; i++) {
        uint64_t from = i ? m->cuts[i - 1] : 0, end = i < m->n_cuts ? m->cuts[i] : m->flat_count;
        vkt_tensor *x = vkt_input(g, vkt_shape1((uint32_t)(end - from)), VKT_F32, "parameters");
        vkt_tensor *y = vkt_cast(g, x, m->precision);
        vkt_bind(x, VKT_ALL_SLOTS, m->values, from * 4);
        vkt_bind(y, VKT_ALL_SLOTS, m->shadow, from * vkt_dtype_bytes(m->precision));
    }
    return vkt_graph_compile(g, &(vkt_plan_desc) { .label = "16-bit parameters" });
}

vkt_status vkt_model_values_changed(vkt_model *m)
{
    vkt_graph *g;
    vkt_status st = vkt__model_narrow(m, &g);
    if (st == VKT_OK && g) st = vkt_graph_run(g);
    vkt_graph_destroy(&g);
    return st;
}

vkt_tensor *vkt_model_build(vkt_model *m, vkt_graph *g, vkt_tensor *x, bool train)
{
    vkt_graph_precision(g, m->precision);
    m->heads_in = g;
    return vkt__model_build_list(m, g, &m->layers, x, train);
}

vkt_tensor *vkt_model_output(const vkt_model *m, const vkt_graph *g, size_t i)
{
    VKT_ASSERT(m->heads_in == g && i < m->n_heads);
    return m->heads[i].y;
}

vkt_tensor *vkt__model_build_base(vkt_model *m, vkt_graph *g, vkt_tensor *x)
{
    m->adapters.off = true;
    vkt_tensor *y = vkt_model_build(m, g, x, false);
    m->adapters.off = false;
    return y;
}

vkt_tensor *const *vkt_model_params(vkt_model *m, vkt_graph *g, size_t *n)
{
    vkt_tensor **list = vkt__arena_alloc(&g->arena, m->n_params * sizeof *list);
    *n = 0;
    for (size_t i = 0; i < m->n_params; i++)
        if (!m->params[i].pub.frozen) list[(*n)++] = vkt__model_tensor(m, g, (int)i);
    return list;
}

void vkt_model_backward(vkt_model *m, vkt_graph *g, vkt_tensor *loss)
{
    size_t n, k = 0;
    vkt_status st = vkt__model_grads_make(m);
    if (st != VKT_OK) {
        if (g->status == VKT_OK) g->status = st;
        return;
    }
    vkt_tensor *const *params = vkt_model_params(m, g, &n);
    vkt_tensor **grads = vkt__arena_alloc(&g->arena, n * sizeof *grads);
    vkt_backward(g, loss, params, n, grads);
    for (size_t i = 0; i < m->n_params; i++) {
        const vkt_param *p = &m->params[i].pub;
        vkt_tensor *d = p->frozen ? NULL : grads[k++];
        if (!d || d->inert) continue;
        d->name = vkt__arena_printf(&g->arena, "d(%s)", p->name);
        vkt__param_bind(d, p, m->grads, m->frozen_flat);
    }
}

const vkt_param *vkt_model_param(const vkt_model *m, size_t i)
{
    return i < m->n_params ? &m->params[i].pub : NULL;
}

const vkt_param *vkt_model_state(const vkt_model *m, size_t i)
{
    return i < m->n_states ? &m->states[i].pub : NULL;
}

vkt_buffer *vkt_model_states(const vkt_model *m)
{
    return m->state_values;
}

uint64_t vkt_model_state_count(const vkt_model *m)
{
    return m->state_count;
}

uint64_t vkt_model_count(const vkt_model *m)
{
    return m->count;
}

uint64_t vkt_model_trained_count(const vkt_model *m)
{
    uint64_t n = 0;
    for (size_t i = 0; i < m->n_params; i++)
        n += m->params[i].pub.frozen ? 0 : m->params[i].pub.count;
    return n;
}

uint64_t vkt_model_frozen_flat(const vkt_model *m)
{
    return m->frozen_flat;
}

uint64_t vkt_model_flat_count(const vkt_model *m)
{
    return m->flat_count;
}

vkt_gpu *vkt_model_gpu(const vkt_model *m)
{
    return m->gpu;
}

vkt_buffer *vkt_model_values(const vkt_model *m)
{
    return m->values;
}

vkt_status vkt__model_grads_make(vkt_model *m)
{
    return m->grads ? VKT_OK : flat_create(m, m->frozen_flat, "gradients", VKT_F32, &m->grads);
}

vkt_buffer *vkt_model_grads(vkt_model *m)
{
    return vkt__model_grads_make(m) == VKT_OK ? m->grads : NULL;
}

uint64_t vkt__model_grads_bytes(const vkt_model *m)
{
    return m->grads ? m->grads->bytes : 0;
}

vkt_dtype vkt_model_precision(const vkt_model *m)
{
    return m->precision;
}

vkt_buffer *vkt_model_shadow(const vkt_model *m)
{
    return m->shadow;
}

/* Whose outputs a layer takes, where its list is a graph. */
static void add_from(const vkt__layer_list *list, size_t i, vkt__str *s)
{
    const vkt__layer *l = &list->layers[i];
    for (size_t k = 0; k < l->spec.n_from; k++)
        vkt__str_printf(s, "%s%s", k ? ", " : "  ",
                        l->taps_from[k]  ? l->taps_from[k]->name
                        : l->from[k] < 0 ? VKT_LAYER_INPUT
                                         : list->layers[l->from[k]].name);
    if (!l->from) vkt__str_printf(s, "  %s", i ? list->layers[i - 1].name : VKT_LAYER_INPUT);
}

static void summarize(const vkt_model *m, const vkt__layer_list *list, vkt__str *s)
{
    for (size_t i = 0; i < list->n; i++) {
        const vkt__layer *l = &list->layers[i];
        char text[96];
        uint64_t count = 0;
        for (uint32_t k = 0; k < l->n_params; k++) count += m->params[(uint32_t)l->w + k].pub.count;
        if (!l->n_params)
            count = (l->w >= 0 ? m->params[l->w].pub.count : 0) +
                    (l->b >= 0 ? m->params[l->b].pub.count : 0);
        vkt__str_printf(s, "  %-20s %-12s %-24s", l->name, l->kind->name,
                        vkt_shape_text(l->out, VKT_F32, text));
        if (count)
            vkt__str_printf(s, " %12llu", (unsigned long long)count);
        else if (list->is_graph)
            vkt__str_printf(s, " %12s", "");
        if (list->is_graph) add_from(list, i, s);
        vkt__str_add(s, "\n", 1);
        for (size_t k = 0; k < l->n_taps; k++)
            vkt__str_printf(s, "  %-20s %-12s %-24s %12s  %s\n", l->taps[k].name, "cut",
                            vkt_shape_text(l->taps[k].out, VKT_F32, text), "", l->name);
        summarize(m, &l->pre, s);
        summarize(m, &l->body, s);
        summarize(m, &l->shortcut, s);
    }
}

static bool has_graph(const vkt__layer_list *list)
{
    bool any = list->is_graph;
    for (size_t i = 0; i < list->n && !any; i++)
        any = has_graph(&list->layers[i].body) || has_graph(&list->layers[i].shortcut);
    return any;
}

char *vkt_model_summary(const vkt_model *m)
{
    vkt__str s = { 0 };
    char text[96];
    vkt__str_printf(&s, "  %-20s %-12s %-24s %12s%s\n", "layer", "type", "output", "parameters",
                    has_graph(&m->layers) ? "  from" : "");
    vkt__str_printf(&s, "  %-20s %-12s %-24s\n", "input", "",
                    vkt_shape_text(m->input, VKT_F32, text));
    summarize(m, &m->layers, &s);
    vkt__str_printf(&s, "  %-20s %-12s %-24s %12llu\n", "total", "", "",
                    (unsigned long long)m->count);
    if (m->frozen_flat)
        vkt__str_printf(&s, "  %-20s %-12s %-24s %12llu\n", "trained", "", "",
                        (unsigned long long)vkt_model_trained_count(m));
    return s.data;
}
