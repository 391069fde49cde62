/* layer_from.h. A list without `from` is a chain, and nothing here runs for it but the questions.
 */
#include "nn/layer_from.h"

#include "base/memory.h"

enum { HERE = -2, MOST_NAMES = 64 };

/* The place of the layer of that name, from the one before place i back, as most are near; then
 * from i on, which is an error. -1: what the list takes; HERE: neither. */
static int place_of(const vkt_layer *spec, size_t n, size_t i, const char *name)
{
    for (size_t k = i; k-- > 0;)
        if (spec[k].name && !strcmp(spec[k].name, name)) return (int)k;
    if (!strcmp(name, VKT_LAYER_INPUT)) return -1;
    for (size_t k = i; k < n; k++)
        if (spec[k].name && !strcmp(spec[k].name, name)) return (int)k;
    return HERE;
}

static vkt_status unknown(const vkt_layer *spec, size_t i, const char *where, const char *name)
{
    const char *names[MOST_NAMES];
    size_t n = 0;
    for (size_t k = i; k-- > 0 && n < MOST_NAMES - 1;)
        if (spec[k].name) names[n++] = spec[k].name;
    names[n++] = VKT_LAYER_INPUT;
    vkt_hint hint = vkt_did_you_mean(name, names, n);
    return vkt__fail(
        VKT_E_ARG, "model", "%s: from: no layer before it in its list has the name '%s'%s", where,
        vkt__show(name).s, *hint.text ? hint.text : ": give the layer `name`, or take `input`");
}

vkt_status vkt__layer_from(const vkt_layer *spec, size_t n, size_t i, const char *where, int *place)
{
    for (size_t k = 0; k < spec[i].n_from; k++) {
        const char *name = spec[i].from[k];
        int at = place_of(spec, n, i, name);
        if (at == HERE) return unknown(spec, i, where, name);
        if (at == (int)i)
            return vkt__fail(VKT_E_ARG, "model", "%s: from: it can't take its own output", where);
        if (at > (int)i && spec[at].line)
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: from: '%s' is defined later, on line %d: a layer takes outputs "
                             "of layers before it",
                             where, name, spec[at].line);
        if (at > (int)i)
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: from: '%s' is defined later: a layer takes outputs of layers "
                             "before it",
                             where, name);
        place[k] = at;
    }
    return VKT_OK;
}

vkt_status vkt__layer_connect(vkt_model *m, const vkt_layer *spec, size_t n, vkt__layer *layers,
                              size_t i, vkt_shape list_in, bool is_whole)
{
    vkt__layer *l = &layers[i];
    size_t n_from = spec[i].n_from;
    if (n_from == 0) {
        if (l->kind->join)
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: it takes outputs of several layers: name them, `%s: [a, b]`",
                             l->where, spec[i].type);
        l->in = i ? layers[i - 1].out : list_in;
        return VKT_OK;
    }
    int *place = vkt__arena_alloc(&m->arena, n_from * sizeof *place);
    vkt_shape *ins = vkt__arena_alloc(&m->arena, n_from * sizeof *ins);
    vkt_status st = vkt__layer_from(spec, n, i, l->where, place);
    if (st != VKT_OK) return st;
    if (n_from > 1 && !l->kind->join)
        return vkt__fail(VKT_E_ARG, "model",
                         "%s: from: it takes one output, not %zu: join them first, with concat, "
                         "add or mul",
                         l->where, n_from);
    for (size_t k = 0; k < n_from; k++) {
        if (place[k] < 0 && i > 0 && is_whole && m->takes_ids)
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: from: `input` holds numbers of words or values, which only the "
                             "first layer reads: take the first layer's output",
                             l->where);
        ins[k] = place[k] < 0 ? list_in : layers[place[k]].out;
    }
    l->from = place;
    l->ins = ins;
    l->in = ins[0];
    return VKT_OK;
}

vkt_status vkt__layer_heads(vkt_model *m, const vkt_layer *spec, size_t n, vkt__layer *layers)
{
    for (size_t h = 0; h < m->n_heads; h++) {
        size_t i = 0;
        while (i < n && (!spec[i].name || strcmp(spec[i].name, m->heads[h].on))) i++;
        if (i == n)
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: losses: no layer of the model has the name '%s'", m->source,
                             vkt__show(m->heads[h].on).s);
        if (layers[i].head && layers[i].head->n_outputs != m->heads[h].n_outputs)
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: losses: '%s' can't have both %u and %u outputs: take a layer for "
                             "each",
                             m->source, spec[i].name, layers[i].head->n_outputs,
                             m->heads[h].n_outputs);
        layers[i].head = &m->heads[h];
    }
    if (!m->n_heads || (n && layers[n - 1].head)) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "model",
                     "%s: losses: the last layer has none: give it a name and a loss, or leave it "
                     "out",
                     m->source);
}

static int by_name(const void *a, const void *b)
{
    const vkt__layer *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* A recipe's reader refuses this with both lines; descriptions in memory come here. */
static vkt_status check_names(const vkt__layer *layers, size_t n)
{
    const vkt__layer **all = vkt__alloc((n + 1) * sizeof(const vkt__layer *));
    size_t i = 1;
    for (size_t k = 0; k < n; k++) all[k] = &layers[k];
    qsort((void *)all, n, sizeof(const vkt__layer *), by_name);
    while (i < n && strcmp(all[i - 1]->name, all[i]->name)) i++;
    vkt_status st = VKT_OK;
    if (i < n)
        st = vkt__fail(VKT_E_ARG, "model", "%s: another layer of its list has that name",
                       all[i]->where);
    free((void *)all);
    return st;
}

vkt_status vkt__layers_check(const vkt__layer *layers, size_t n)
{
    bool *used = vkt__alloc((n + 1) * sizeof *used);
    size_t i = 0;
    for (size_t k = 0; k < n; k++) {
        if (!layers[k].from && k) used[k - 1] = true;
        for (size_t j = 0; layers[k].from && j < layers[k].spec.n_from; j++)
            if (layers[k].from[j] >= 0) used[layers[k].from[j]] = true;
    }
    while (i + 1 < n && (used[i] || layers[i].head)) i++;
    free(used);
    if (i + 1 >= n) return check_names(layers, n);
    return vkt__fail(VKT_E_ARG, "model",
                     "%s: no layer takes its output: leave the layer out, or name it in a later "
                     "layer's `from`, or in `losses`",
                     layers[i].where);
}
