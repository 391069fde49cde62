/* Models: layers resolved from a description, parameters laid out in one flat buffer. */
#include <math.h>
#include <stdio.h>

#include "nn/layers.h"
#include "tensor/graph/op.h"

struct vkt_model {
    vkt_gpu *gpu;
    vkt__arena arena;
    const char *source;
    vkt_shape input;
    uint32_t n_outputs;
    vkt__layer_list layers;
    vkt__param *params, *states; /* of states, scale is the initial value */
    size_t n_params, cap_params, n_states, cap_states;
    uint64_t count, flat_count, frozen_flat, state_count;
    vkt__adapters adapters;
    vkt_buffer *values, *grads, *state_values;
    vkt_shape constants_shape; /* rank 0: none */
    float *constants_host;
    vkt_buffer *constants;
    vkt_dtype precision;
    vkt_buffer *shadow; /* the values in that precision; NULL in f32 */
};

int vkt__model_add_param(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt__init init, float scale)
{
    return vkt__model_add_named(m, vkt__arena_printf(&m->arena, "%s.%s", l->name, suffix), shape,
                                init, scale);
}

int vkt__model_add_named(vkt_model *m, const char *name, vkt_shape shape, vkt__init init,
                         float scale)
{
    m->params = vkt__grow(m->params, m->n_params, &m->cap_params, sizeof *m->params);
    vkt__param *p = &m->params[m->n_params];
    *p = (vkt__param) { .init = init, .scale = scale };
    p->pub.name = vkt__arena_strdup(&m->arena, name);
    p->pub.shape = shape;
    p->pub.offset = m->flat_count;
    p->pub.count = vkt_shape_count(shape);
    p->pub.decay = shape.rank >= 2;
    p->pub.frozen = m->adapters.desc.rank > 0;
    m->count += p->pub.count;
    m->flat_count += vkt__align(p->pub.count, VKT_PARAM_ALIGN);
    return (int)m->n_params++;
}

void vkt__model_set_trained(vkt_model *m, int param)
{
    m->params[param].pub.frozen = false;
}

vkt__adapters *vkt__model_adapters(vkt_model *m)
{
    return &m->adapters;
}

/* Frozen parameters first, so that gradients and moments need memory for the others alone. */
static void lay_out(vkt_model *m)
{
    uint64_t at = 0;
    for (int trained = 0; trained < 2; trained++) {
        if (trained) m->frozen_flat = at;
        for (size_t i = 0; i < m->n_params; i++) {
            vkt_param *p = &m->params[i].pub;
            if (p->frozen == trained) continue;
            p->offset = at;
            at += vkt__align(p->count, VKT_PARAM_ALIGN);
        }
    }
}

void vkt__model_set_constants(vkt_model *m, vkt_shape shape, float *data)
{
    VKT_ASSERT(!m->constants_host);
    m->constants_shape = shape;
    m->constants_host = data;
}

vkt_tensor *vkt__model_constants(vkt_model *m, vkt_graph *g)
{
    vkt_tensor *t = vkt__input_named(g, "constants");
    if (!t) {
        t = vkt_input(g, m->constants_shape, VKT_F32, "constants");
        vkt_bind(t, VKT_ALL_SLOTS, m->constants, 0);
    }
    return t;
}

const vkt__layer *vkt__model_layer(const vkt_model *m, size_t i)
{
    return i < m->layers.n ? &m->layers.layers[i] : NULL;
}

void vkt__model_set_order(vkt_model *m, int param, vkt_order order)
{
    m->params[param].pub.order = order;
}

int vkt__model_add_state(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt_dtype dtype, float value)
{
    enum { ALIGN = 64 }; /* bindings need 16 bytes */
    m->states = vkt__grow(m->states, m->n_states, &m->cap_states, sizeof *m->states);
    vkt__param *p = &m->states[m->n_states];
    *p = (vkt__param) { .scale = value };
    p->pub.name = vkt__arena_printf(&m->arena, "%s.%s", l->name, suffix);
    p->pub.shape = shape;
    p->pub.dtype = dtype;
    p->pub.offset = m->state_count;
    p->pub.count = vkt_shape_count(shape);
    m->state_count += vkt__align(p->pub.count, ALIGN);
    return (int)m->n_states++;
}

uint64_t vkt_param_at(const vkt_param *p, uint64_t i)
{
    if (p->order == VKT_ORDER_SHAPE) return i;
    const uint32_t *d = p->shape.d;
    uint64_t taps = (uint64_t)d[2] * d[3], tap = i % taps, ci = i / taps % d[1],
             co = i / taps / d[1];
    return (tap * d[1] + ci) * d[0] + co;
}

/* The shape in memory. */
static vkt_shape memory_shape(const vkt_param *p)
{
    const uint32_t *d = p->shape.d;
    if (p->order == VKT_ORDER_CONV) return (vkt_shape) { 4, { d[2], d[3], d[1], d[0] } };
    return p->shape.rank ? p->shape : vkt_shape1(1);
}

uint32_t vkt__model_n_outputs(const vkt_model *m)
{
    return m->n_outputs;
}

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
        l->kind = vkt__layer_kind_find(spec[i].type);
        if (!l->kind) {
            size_t n_types;
            const vkt_layer_type *types = vkt_layer_types(&n_types);
            const char *names[64];
            for (size_t t = 0; t < n_types && t < 64; t++) names[t] = types[t].name;
            const char *near = vkt_nearest(spec[i].type, names, VKT_MIN(n_types, 64));
            return vkt__fail(VKT_ARG, "model", "%s: no such layer type%s%s%s", l->where,
                             near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
        }
        bool whole_model = l->kind == &vkt__transformer_kind;
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

/* A flat buffer: device memory, or plain memory for a model without a device. */
static vkt_status flat_create(vkt_model *m, uint64_t count, const char *label, vkt_dtype dtype,
                              vkt_buffer **out)
{
    uint64_t bytes = VKT_MAX(count, 1) * vkt_dtype_bytes(dtype);
    if (m->gpu)
        return vkt_buffer_create(m->gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, label }, out);
    vkt_buffer *b = vkt__alloc(sizeof *b);
    b->bytes = bytes;
    b->label = label;
    b->host = vkt__alloc(bytes);
    *out = b;
    return VKT_OK;
}

static void flat_destroy(vkt_model *m, vkt_buffer **b)
{
    if (m->gpu) {
        vkt_buffer_destroy(m->gpu, b);
    } else if (*b) {
        free((*b)->host);
        free(*b);
        *b = NULL;
    }
}

vkt_status vkt_model_create(vkt_gpu *gpu, const vkt_model_desc *desc, vkt_model **out)
{
    vkt_status st = VKT_OK;
    vkt_model *m = vkt__alloc(sizeof *m);
    vkt_shape last;
    *out = NULL;
    m->gpu = gpu;
    m->source = vkt__arena_strdup(&m->arena, desc->source ? desc->source : "model");
    m->input = desc->input;
    m->n_outputs = desc->n_outputs;
    m->precision = desc->precision;
    m->adapters.desc = desc->lora;
    VKT_TRY(vkt__model_plan_list(m, desc->layers, desc->n_layers, "", desc->input, true, &m->layers,
                                 &last));
    VKT_TRY(vkt__lora_check(&m->adapters, m->source));
    lay_out(m);
    VKT_TRY(flat_create(m, m->flat_count, "parameters", VKT_F32, &m->values));
    VKT_TRY(flat_create(m, m->flat_count - m->frozen_flat, "gradients", VKT_F32, &m->grads));
    VKT_TRY(flat_create(m, m->state_count, "running averages", VKT_F32, &m->state_values));
    if (m->constants_host) {
        uint64_t count = vkt_shape_count(m->constants_shape);
        VKT_TRY(flat_create(m, count, "constants", VKT_F32, &m->constants));
        VKT_TRY(vkt_buffer_write(m->gpu, m->constants, 0, m->constants_host, count * 4));
    }
    if (m->precision != VKT_F32)
        VKT_TRY(flat_create(m, m->flat_count, "16-bit parameters", m->precision, &m->shadow));
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
    flat_destroy(m, &m->values);
    flat_destroy(m, &m->grads);
    flat_destroy(m, &m->constants);
    free(m->constants_host);
    flat_destroy(m, &m->state_values);
    flat_destroy(m, &m->shadow);
    free(m->params);
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
        return 1;
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
    vkt_status st =
        m->n_states ? vkt_buffer_write(m->gpu, m->state_values, 0, v, m->state_count * 4) : VKT_OK;
    free(v);
    return st;
}

vkt_status vkt_model_init(vkt_model *m, uint64_t seed)
{
    vkt_status st = init_states(m);
    for (size_t i = 0; i < m->n_params && st == VKT_OK; i++) {
        const vkt__param *p = &m->params[i];
        float *v = malloc(p->pub.count * sizeof *v);
        if (!v) return vkt__fail(VKT_OOM_HOST, "model", "no memory for '%s'", p->pub.name);
        uint64_t own = vkt__hash(p->pub.name, strlen(p->pub.name), seed);
        for (uint64_t k = 0; k < p->pub.count; k++) v[k] = initial_value(p, own, k);
        st = vkt_buffer_write(m->gpu, m->values, p->pub.offset * 4, v, p->pub.count * 4);
        free(v);
    }
    return st == VKT_OK ? vkt_model_values_changed(m) : st;
}

vkt_status vkt_model_values_changed(vkt_model *m)
{
    if (!m->shadow || m->flat_count == 0) return VKT_OK;
    vkt_graph *g = vkt_graph_create(m->gpu);
    vkt_tensor *x = vkt_input(g, vkt_shape1((uint32_t)m->flat_count), VKT_F32, "parameters");
    vkt_tensor *y = vkt_cast(g, x, m->precision);
    vkt_bind(x, VKT_ALL_SLOTS, m->values, 0);
    vkt_bind(y, VKT_ALL_SLOTS, m->shadow, 0);
    vkt_status st = vkt_graph_compile(g, &(vkt_plan_desc) { .label = "16-bit parameters" });
    if (st == VKT_OK) st = vkt_graph_run(g);
    vkt_graph_destroy(&g);
    return st;
}

/* Vectors (biases, gains) are small and read as they are. */
static void add_shadow(const vkt_model *m, vkt_graph *g, const vkt_param *p, vkt_tensor *t)
{
    if (!m->shadow || p->shape.rank < 2) return;
    vkt_tensor *s =
        vkt_input(g, memory_shape(p), m->precision,
                  vkt__arena_printf(&g->arena, "%s (%s)", p->name, vkt_dtype_name(m->precision)));
    vkt_bind(s, VKT_ALL_SLOTS, m->shadow, p->offset * vkt_dtype_bytes(m->precision));
    vkt_shadow(t, s);
}

vkt_tensor *vkt__model_tensor(vkt_model *m, vkt_graph *g, int param)
{
    if (param < 0) return NULL;
    const vkt_param *p = &m->params[param].pub;
    vkt_tensor *t = vkt__input_named(g, p->name);
    if (!t) {
        t = vkt_input(g, memory_shape(p), VKT_F32, p->name);
        vkt_bind(t, VKT_ALL_SLOTS, m->values, p->offset * 4);
        add_shadow(m, g, p, t);
    }
    return t;
}

vkt_tensor *vkt__model_named(vkt_model *m, vkt_graph *g, const char *name)
{
    for (size_t i = 0; i < m->n_params; i++)
        if (!strcmp(m->params[i].pub.name, name)) return vkt__model_tensor(m, g, (int)i);
    return NULL;
}

vkt_tensor *vkt__model_state_tensor(vkt_model *m, vkt_graph *g, int state)
{
    const vkt_param *p = &m->states[state].pub;
    vkt_tensor *t = vkt__input_named(g, p->name);
    if (!t) {
        t = vkt_input(g, memory_shape(p), p->dtype, p->name);
        vkt_bind(t, VKT_ALL_SLOTS, m->state_values, p->offset * 4);
    }
    return t;
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

vkt_tensor *vkt_model_build(vkt_model *m, vkt_graph *g, vkt_tensor *x, bool train)
{
    vkt_graph_precision(g, m->precision);
    return vkt__model_build_list(m, g, &m->layers, x, train);
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
    vkt_tensor *const *params = vkt_model_params(m, g, &n);
    vkt_tensor **grads = vkt__arena_alloc(&g->arena, n * sizeof *grads);
    vkt_backward(g, loss, params, n, grads);
    for (size_t i = 0; i < m->n_params; i++) {
        const vkt_param *p = &m->params[i].pub;
        vkt_tensor *d = p->frozen ? NULL : grads[k++];
        if (!d || d->inert) continue;
        d->name = vkt__arena_printf(&g->arena, "d(%s)", p->name);
        vkt_bind(d, VKT_ALL_SLOTS, m->grads, (p->offset - m->frozen_flat) * 4);
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

vkt_buffer *vkt_model_grads(const vkt_model *m)
{
    return m->grads;
}

vkt_dtype vkt_model_precision(const vkt_model *m)
{
    return m->precision;
}

vkt_buffer *vkt_model_shadow(const vkt_model *m)
{
    return m->shadow;
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
        if (count) vkt__str_printf(s, " %12llu", (unsigned long long)count);
        vkt__str_add(s, "\n", 1);
        summarize(m, &l->pre, s);
        summarize(m, &l->body, s);
        summarize(m, &l->shortcut, s);
    }
}

char *vkt_model_summary(const vkt_model *m)
{
    vkt__str s = { 0 };
    char text[96];
    vkt__str_printf(&s, "  %-20s %-12s %-24s %12s\n", "layer", "type", "output", "parameters");
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
