/* The parameter store of a model: what layers declare while they are planned, where it lies in the
 * flat buffers, and the tensors that stand for it in a graph. Knows no layer type. */
#include <stdio.h>

#include "base/quant.h"
#include "nn/params.h"
#include "tensor/graph/graph.h"
#include "tensor/ops/ops.h"

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
    p->pub.room = p->pub.count;
    p->pub.decay = shape.rank >= 2;
    p->pub.frozen = m->adapters.desc.rank > 0;
    m->count += p->pub.count;
    m->flat_count += vkt__align(p->pub.room, VKT_PARAM_ALIGN);
    return (int)m->n_params++;
}

void vkt__model_set_trained(vkt_model *m, int param)
{
    m->params[param].pub.frozen = false;
}

void vkt__model_set_table(vkt_model *m, int param)
{
    m->params[param].table = true;
}

/* The last layer's matrix, or that of a layer that gives an output, unless tables give them. */
static bool gives_outputs(const vkt_model *m, size_t i)
{
    const vkt__layer_list *list = &m->layers;
    bool tables = list->n && list->layers[list->n - 1].kind->is_whole;
    for (size_t k = 0; k < list->n && m->n_heads && m->adapters.desc.rank == 0; k++)
        if (list->layers[k].head && list->layers[k].w == (int)i) return true;
    for (size_t k = i + 1; k < m->n_params; k++)
        if (m->params[k].pub.shape.rank >= 2) return false;
    return !tables && m->adapters.desc.rank == 0;
}

bool vkt__model_is_hidden(const vkt_model *m, size_t i)
{
    const vkt__param *p = &m->params[i];
    return p->pub.shape.rank >= 2 && !p->table && !p->looked_up && !p->stacked && !p->by_member &&
           !gives_outputs(m, i);
}

void vkt__model_set_looked_up(vkt_model *m, int param)
{
    m->params[param].looked_up = true;
}

void vkt__model_set_by_member(vkt_model *m, int param)
{
    m->params[param].by_member = true;
}

void vkt__model_set_exact(vkt_model *m, int param)
{
    m->params[param].exact = true;
}

void vkt__model_set_stacked(vkt_model *m, int param)
{
    m->params[param].stacked = true;
}

vkt_tensor *vkt__model_added_loss(const vkt_model *m, const vkt_graph *g)
{
    return m->added_to == g ? m->added_loss : NULL;
}

vkt__adapters *vkt__model_adapters(vkt_model *m)
{
    return &m->adapters;
}

static vkt_quant asked(const vkt_model *m)
{
    vkt_quant base = m->adapters.desc.base;
    if (base != VKT_QUANT_AUTO) return base;
    return m->precision == VKT_BF16  ? VKT_QUANT_BF16
           : m->precision == VKT_F16 ? VKT_QUANT_F16
                                     : VKT_QUANT_F32;
}

static vkt_quant kind_in_file(const vkt_model *m, const vkt__param *p)
{
    const vkt_lora *l = &m->adapters.desc;
    for (size_t i = 0; i < l->n_base_kinds; i++)
        if (!strcmp(l->base_kinds[i].name, p->pub.name)) return l->base_kinds[i].kind;
    return VKT_QUANT_F32;
}

/* How a frozen parameter ought to be kept; AUTO: as f32 among the values, because nothing else was
 * asked for. */
static vkt_quant wanted_kind(const vkt_model *m, const vkt__param *p)
{
    vkt_quant kind = asked(m);
    bool few = kind == VKT_QUANT_NF4 || kind == VKT_QUANT_Q4_0;
    if (kind == VKT_QUANT_FILE) {
        kind = kind_in_file(m, p);
        bool moved = p->pub.order != VKT_PARAM_ORDER_SHAPE; /* so it is packed again */
        if (moved && kind != VKT_QUANT_F32 && !vkt__quant_can(kind)) kind = VKT_QUANT_Q8_0;
    }
    bool matrix = p->pub.shape.rank == 2 || p->stacked;
    if (!p->pub.frozen || !matrix || p->exact || kind == VKT_QUANT_F32) return VKT_QUANT_AUTO;
    if (p->table && few) kind = VKT_QUANT_Q8_0;
    return kind;
}

/* What no block fits is f32, too. */
static vkt_quant frozen_kind(const vkt_model *m, const vkt__param *p)
{
    vkt_quant kind = wanted_kind(m, p);
    return kind && vkt__quant_words(kind, p->pub.count) ? kind : VKT_QUANT_AUTO;
}

static void count_unfit(vkt_model *m)
{
    m->n_unfit = m->n_packed = 0;
    for (size_t i = 0; i < m->n_params; i++) {
        if (!wanted_kind(m, &m->params[i])) continue;
        m->n_packed++;
        if (frozen_kind(m, &m->params[i])) continue;
        if (!m->n_unfit++) m->first_unfit = i;
    }
}

void vkt__model_say_unfit(const vkt_model *m)
{
    if (!m->n_unfit) return;
    const vkt_param *first = &m->params[m->first_unfit].pub;
    vkt_log(
        VKT_LOG_WARN, "model",
        "lora.base: %zu of the %zu matrices that are to be %s are kept in 32 bits, because they "
        "do not fill its blocks: the first is '%s' of %llu numbers",
        m->n_unfit, m->n_packed, vkt__quant_name(asked(m)), first->name,
        (unsigned long long)first->count);
}

/* Rows of memory for a table whose rows are scores' columns, so that vectors of those can be loaded
 * and tiles are whole: GPT-2's 50,257 become 50,304, as in nanoGPT. */
static uint32_t rows_of_table(const vkt__param *p)
{
    enum { WHOLE = 64, FROM = 1024 };
    const vkt_param *pub = &p->pub;
    bool pads = p->table && pub->shape.rank == 2 && pub->order == VKT_PARAM_ORDER_SHAPE &&
                pub->shape.d[0] >= FROM && pub->shape.d[0] <= INT32_MAX;
    return pads ? (uint32_t)vkt__align(pub->shape.d[0], WHOLE) : pub->shape.d[0];
}

/* Frozen parameters first, so that gradients and moments need memory for the others alone. */
void vkt__model_lay_out(vkt_model *m)
{
    uint64_t at = 0;
    for (int trained = 0; trained < 2; trained++) {
        if (trained) m->frozen_flat = at;
        for (size_t i = 0; i < m->n_params; i++) {
            vkt_param *p = &m->params[i].pub;
            if (p->frozen == trained) continue;
            p->quant = frozen_kind(m, &m->params[i]);
            p->offset = p->quant ? 0 : at;
            if (p->quant) continue;
            if (p->shape.rank == 2)
                p->room = (uint64_t)rows_of_table(&m->params[i]) * p->shape.d[1];
            at += vkt__align(p->room, VKT_PARAM_ALIGN);
        }
    }
    m->flat_count = at;
    count_unfit(m);
    m->adapters.desc.base_kinds = NULL;
    m->adapters.desc.n_base_kinds = 0;
}

vkt_status vkt__model_cut(vkt_model *m, uint64_t most)
{
    uint64_t from = 0;
    size_t cap = 0;
    for (int trained = 0; trained < 2; trained++)
        for (size_t i = 0; i < m->n_params; i++) {
            const vkt_param *p = &m->params[i].pub;
            uint64_t count = vkt__align(p->room, VKT_PARAM_ALIGN);
            if (p->frozen == trained || p->quant) continue;
            if (count > most)
                return vkt__fail(VKT_E_SHAPE, "model",
                                 "%s: parameter '%s' takes %.0f MiB; one allocation of this device "
                                 "has at most %.0f MiB: lora.base keeps a frozen one in fewer bits",
                                 m->source, p->name, (double)p->count * 4 / 1048576,
                                 (double)most * 4 / 1048576);
            if (p->offset + count - from <= most) continue;
            m->cuts = vkt__grow(m->cuts, m->n_cuts, &cap, sizeof *m->cuts);
            m->cuts[m->n_cuts++] = from = p->offset;
        }
    return VKT_OK;
}

void vkt__model_set_constants(vkt_model *m, uint32_t n, vkt_shape shape, float *data)
{
    VKT_ASSERT(!m->constants_host && (n == 1 || vkt_shape_count(shape) % 4 == 0));
    m->n_constants = n;
    m->constants_shape = shape;
    m->constants_host = data;
}

vkt_tensor *vkt__model_constants(vkt_model *m, vkt_graph *g, uint32_t i)
{
    char name[32];
    snprintf(name, sizeof name, "constants %u", i);
    vkt_tensor *t = vkt__input_named(g, name);
    if (!t) {
        uint64_t each = vkt_shape_count(m->constants_shape);
        t = vkt_input(g, m->constants_shape, VKT_F32, vkt__arena_strdup(&g->arena, name));
        vkt_bind(t, VKT_ALL_SLOTS, m->constants, i * each * 4);
    }
    return t;
}

const vkt__layer *vkt__model_layer(const vkt_model *m, size_t i)
{
    return i < m->layers.n ? &m->layers.layers[i] : NULL;
}

void vkt__model_set_order(vkt_model *m, int param, vkt_param_order order)
{
    m->params[param].pub.order = order;
}

void vkt__model_set_by_head(vkt_model *m, int param, uint32_t heads)
{
    m->params[param].pub.order = VKT_PARAM_ORDER_HEADS;
    m->params[param].pub.heads = heads;
}

int vkt__model_add_state(vkt_model *m, const vkt__layer *l, const char *suffix, vkt_shape shape,
                         vkt_dtype dtype, float value)
{
    return vkt__model_add_named_state(m, vkt__arena_printf(&m->arena, "%s.%s", l->name, suffix),
                                      shape, dtype, value);
}

int vkt__model_add_named_state(vkt_model *m, const char *name, vkt_shape shape, vkt_dtype dtype,
                               float value)
{
    enum { ALIGN = 64 }; /* bindings need 16 bytes */
    m->states = vkt__grow(m->states, m->n_states, &m->cap_states, sizeof *m->states);
    vkt__param *p = &m->states[m->n_states];
    *p = (vkt__param) { .scale = value };
    p->pub.name = vkt__arena_strdup(&m->arena, name);
    p->pub.shape = shape;
    p->pub.dtype = dtype;
    p->pub.offset = m->state_count;
    p->pub.count = vkt_shape_count(shape);
    m->state_count += vkt__align(p->pub.count, ALIGN);
    return (int)m->n_states++;
}

uint64_t vkt_param_at(const vkt_param *p, uint64_t i)
{
    if (p->order == VKT_PARAM_ORDER_SHAPE) return i;
    const uint32_t *d = p->shape.d;
    if (p->order == VKT_PARAM_ORDER_HEADS) {
        uint64_t each = p->count / 3 / p->heads, part = i / each % 3, head = i / each / 3;
        return (part * p->heads + head) * each + i % each;
    }
    uint64_t taps = (uint64_t)d[2] * d[3], tap = i % taps, ci = i / taps % d[1],
             co = i / taps / d[1];
    return (tap * d[1] + ci) * d[0] + co;
}

/* The shape in memory. */
static vkt_shape memory_shape(const vkt_param *p)
{
    const uint32_t *d = p->shape.d;
    if (p->order == VKT_PARAM_ORDER_CONV) return (vkt_shape) { 4, { d[2], d[3], d[1], d[0] } };
    return p->shape.rank ? p->shape : vkt_shape1(1);
}

uint32_t vkt__model_n_outputs(const vkt_model *m)
{
    return m->n_outputs;
}

uint32_t vkt__layer_n_outputs(const vkt_model *m, const vkt__layer *l)
{
    return l->head ? l->head->n_outputs : m->n_outputs;
}

void vkt__param_bind(vkt_tensor *t, const vkt_param *p, const vkt_buffer *flat, uint64_t first)
{
    vkt_bind(t, VKT_ALL_SLOTS, flat, (p->offset - first) * vkt_dtype_bytes(vkt_tensor_dtype(t)));
    if (p->room > p->count) vkt__set_room(t, (uint32_t)(p->room / p->shape.d[1]));
}

/* Vectors (biases, gains) are small and are not converted. */
static void add_shadow(const vkt_model *m, vkt_graph *g, const vkt_param *p, vkt_tensor *t)
{
    if (!m->shadow || p->shape.rank < 2) return;
    vkt_tensor *s =
        vkt_input(g, memory_shape(p), m->precision,
                  vkt__arena_printf(&g->arena, "%s (%s)", p->name, vkt_dtype_name(m->precision)));
    vkt__param_bind(s, p, m->shadow, 0);
    vkt_shadow(t, s);
}

/* The buffer as a tensor of g: words, or the 16-bit numbers that they are. */
static vkt_tensor *whole(vkt_graph *g, const vkt__param *p, vkt_shape shape, vkt_dtype dtype)
{
    const char *name =
        vkt__arena_printf(&g->arena, "%s (%s%s)", p->pub.name, vkt__quant_name(p->pub.quant),
                          dtype == VKT_U32 ? " words" : "");
    vkt_tensor *t = vkt__input_named(g, name);
    if (t) return t;
    t = vkt_input(g, shape, dtype, name);
    vkt_bind(t, VKT_ALL_SLOTS, p->packed, 0);
    return t;
}

static vkt_tensor *words_of(vkt_graph *g, const vkt__param *p)
{
    uint64_t n = vkt__quant_words(p->pub.quant, p->pub.count);
    return whole(g, p, vkt_shape1((uint32_t)n), VKT_U32);
}

/* Products in 16 bits read those that are kept in them. */
static vkt_tensor *frozen_tensor(vkt_model *m, vkt_graph *g, const vkt__param *p)
{
    vkt_tensor *t = vkt__unpack_all(g, words_of(g, p), p->pub.quant, p->pub.shape);
    bool same = (p->pub.quant == VKT_QUANT_BF16 && m->precision == VKT_BF16) ||
                (p->pub.quant == VKT_QUANT_F16 && m->precision == VKT_F16);
    if (same && !t->inert) vkt_shadow(t, whole(g, p, p->pub.shape, m->precision));
    return t;
}

static vkt_tensor *frozen_rows(vkt_graph *g, const vkt__param *p, vkt_tensor *ids)
{
    if (p->pub.shape.d[1] % 8) return NULL;
    return vkt__unpack_rows(g, words_of(g, p), p->pub.quant, p->pub.shape, ids);
}

vkt_tensor *vkt__model_tensor(vkt_model *m, vkt_graph *g, int param)
{
    if (param < 0) return NULL;
    const vkt_param *p = &m->params[param].pub;
    if (p->quant) return frozen_tensor(m, g, &m->params[param]);
    vkt_tensor *t = vkt__input_named(g, p->name);
    if (!t) {
        t = vkt_input(g, memory_shape(p), VKT_F32, p->name);
        vkt__param_bind(t, p, m->values, 0);
        add_shadow(m, g, p, t);
    }
    return t;
}

static int find(const vkt_model *m, const char *name)
{
    for (size_t i = 0; i < m->n_params; i++)
        if (!strcmp(m->params[i].pub.name, name)) return (int)i;
    return -1;
}

vkt_tensor *vkt__model_named(vkt_model *m, vkt_graph *g, const char *name)
{
    return vkt__model_tensor(m, g, find(m, name));
}

vkt_tensor *vkt__model_rows(vkt_model *m, vkt_graph *g, const char *name, vkt_tensor *ids)
{
    int i = find(m, name);
    return i >= 0 && m->params[i].pub.quant ? frozen_rows(g, &m->params[i], ids) : NULL;
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
