/* layer_from.h. A list without `from` is a chain, and nothing here runs for it but the questions.
 */
#include "nn/layer_from.h"

#include "base/memory.h"

enum { HERE = -2, MOST_NAMES = 64 };

/* Whether the name is the layer's, or of one of its cuts: *cut; the last cut is its own output. */
static bool gives(const vkt_layer *l, const char *name, int *cut)
{
    *cut = -1;
    if (l->name && !strcmp(l->name, name)) return true;
    for (size_t k = 0; k < l->n_cut; k++)
        if (!strcmp(l->cut[k], name)) {
            *cut = k + 1 < l->n_cut ? (int)k : -1;
            return true;
        }
    return false;
}

/* The place of the layer of that name, from the one before place i back, as most are near; then
 * from i on, which is an error. -1: what the list takes; HERE: neither. */
static int place_of(const vkt_layer *spec, size_t n, size_t i, const char *name, int *cut)
{
    for (size_t k = i; k-- > 0;)
        if (gives(&spec[k], name, cut)) return (int)k;
    *cut = -1;
    if (!strcmp(name, VKT_LAYER_INPUT)) return -1;
    for (size_t k = i; k < n; k++)
        if (gives(&spec[k], name, cut)) return (int)k;
    return HERE;
}

static vkt_status unknown(const vkt_layer *spec, size_t i, const char *where, const char *name)
{
    const char *names[MOST_NAMES];
    size_t n = 0;
    for (size_t k = i; k-- > 0 && n < MOST_NAMES - 1;) {
        if (spec[k].name) names[n++] = spec[k].name;
        for (size_t c = 0; c < spec[k].n_cut && n < MOST_NAMES - 1; c++)
            names[n++] = spec[k].cut[c];
    }
    names[n++] = VKT_LAYER_INPUT;
    vkt_hint hint = vkt_did_you_mean(name, names, n);
    return vkt__fail(
        VKT_E_ARG, "model", "%s: from: no layer before it in its list has the name '%s'%s", where,
        vkt__show(name).s, *hint.text ? hint.text : ": give the layer `name`, or take `input`");
}

vkt_status vkt__layer_from(const vkt_layer *spec, size_t n, size_t i, const char *where, int *place,
                           int *cut)
{
    for (size_t k = 0; k < spec[i].n_from; k++) {
        const char *name = spec[i].from[k];
        int at = place_of(spec, n, i, name, &cut[k]);
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
    int *place = vkt__arena_alloc(&m->arena, n_from * sizeof *place),
        *cut = vkt__arena_alloc(&m->arena, n_from * sizeof *cut);
    vkt__tap **taps = vkt__arena_alloc(&m->arena, n_from * sizeof(vkt__tap *));
    vkt_shape *ins = vkt__arena_alloc(&m->arena, n_from * sizeof *ins);
    vkt_status st = vkt__layer_from(spec, n, i, l->where, place, cut);
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
        if (cut[k] < 0) continue;
        taps[k] = &layers[place[k]].taps[cut[k]];
        taps[k]->taken = true;
        ins[k] = taps[k]->out;
    }
    l->from = place;
    l->taps_from = taps;
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

typedef struct named {
    const char *name, *where;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* A recipe's reader refuses this of layers with both lines; descriptions in memory, and cuts, come
 * here. given: of what `from` takes, thus without the numbers that layers without a name have. */
static vkt_status check_names(const vkt__layer *layers, size_t n_layers, bool given)
{
    size_t n = n_layers, i = 1;
    for (size_t k = 0; k < n_layers; k++) n += layers[k].spec.n_cut;
    named *all = vkt__alloc((n + 1) * sizeof *all);
    n = 0;
    for (size_t k = 0; k < n_layers; k++) {
        const char *name = given ? layers[k].spec.name : layers[k].name;
        if (name) all[n++] = (named) { name, layers[k].where };
        for (size_t c = 0; given && c < layers[k].spec.n_cut; c++)
            all[n++] = (named) { layers[k].spec.cut[c], layers[k].where };
    }
    qsort(all, n, sizeof *all, by_name);
    while (i < n && strcmp(all[i - 1].name, all[i].name)) i++;
    vkt_status st = VKT_OK;
    if (i < n)
        st = vkt__fail(VKT_E_ARG, "model", "%s: the name '%s' is given twice, to layers or cuts",
                       all[i].where, vkt__show(all[i].name).s);
    free(all);
    return st;
}

/* Each of a layer's cuts is taken by some layer. */
static vkt_status check_taps(const vkt__layer *layers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < layers[i].n_taps; k++)
            if (!layers[i].taps[k].taken)
                return vkt__fail(VKT_E_ARG, "model",
                                 "%s: no layer takes its cut '%s': leave it out, or name it in a "
                                 "later layer's `from`",
                                 layers[i].where, vkt__show(layers[i].taps[k].name).s);
    return VKT_OK;
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
    if (i + 1 >= n) {
        vkt_status st = check_names(layers, n, false);
        if (st == VKT_OK) st = check_names(layers, n, true);
        return st == VKT_OK ? check_taps(layers, n) : st;
    }
    return vkt__fail(VKT_E_ARG, "model",
                     "%s: no layer takes its output: leave the layer out, or name it in a later "
                     "layer's `from`, or in `losses`",
                     layers[i].where);
}
