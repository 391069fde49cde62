/* The layer "onnx": a net of an ONNX file. Its weights are parameters by the names that the file
 * has, what else it holds as numbers are states. The layer begins with the file's numbers, and
 * needs the file for its ops alone from then on. */
#include "nn/layers.h"
#include "nn/layer_list.h"
#include "nn/lora.h"
#include "nn/onnx_net.h"
#include "tensor/graph/view.h"
#include "tensor/passes/pass.h"

void vkt__onnx_nets_destroy(struct vkt__onnx_net *net)
{
    while (net) {
        vkt__onnx_net *next = net->next;
        vkt__onnx_plan_destroy(&net->plan);
        vkt__onnx_close(&net->f);
        free(net);
        net = next;
    }
}

const vkt__onnx_net *vkt__onnx_net_of(const vkt_model *m)
{
    return m->layers.n ? m->layers.layers[0].onnx : NULL;
}

const vkt__onnx_linear *vkt__onnx_adapted(const vkt_model *m, size_t param)
{
    for (const vkt__onnx_net *net = m->onnx; net; net = net->next)
        for (size_t i = 0; net->linears && i < net->f->n_initializers; i++)
            if (net->plan->roles[i] == VKT__ONNX_PARAM && net->of[i] == (int)param)
                return net->linears[i].module ? &net->linears[i] : NULL;
    return NULL;
}

/* ---- numbers ---- */

static void fill_from_file(const vkt__param *p, float *out)
{
    const vkt__onnx_tensor *t = p->from;
    for (uint64_t i = 0; i < t->count; i++)
        out[vkt_param_at(&p->pub, i)] = (float)vkt__onnx_number(t, i);
}

static void fill_from_copy(const vkt__param *p, float *out)
{
    memcpy(out, p->from, p->pub.count * sizeof *out);
}

static vkt_shape shape_of(const vkt__onnx_tensor *t)
{
    vkt_shape s = { .rank = t->rank };
    for (uint32_t k = 0; k < t->rank; k++) s.d[k] = (uint32_t)t->dims[k];
    return s;
}

static bool is_taken(const vkt_model *m, const char *name)
{
    for (size_t i = 0; i < m->n_params; i++)
        if (!strcmp(m->params[i].pub.name, name)) return true;
    for (size_t i = 0; i < m->n_states; i++)
        if (!strcmp(m->states[i].pub.name, name)) return true;
    return false;
}

/* An adapter beside initializer i, where it is a linear layer's and lora.targets names that. */
static vkt_status adapt(vkt__onnx_net *net, vkt__layer *l, size_t i)
{
    vkt__onnx_linear *of = &net->linears[i];
    const vkt__onnx_tensor *t = &net->f->initializers[i];
    if (!of->module) return VKT_OK;
    of->module = vkt__arena_printf(&net->m->arena, "%s%s", net->prefix, of->module);
    if (is_taken(net->m, vkt__arena_printf(&net->m->arena, "%s.lora_A.weight", of->module)))
        return vkt__layer_error(l, "'%s' has an adapter in the file already",
                                vkt__show(of->module).s);
    uint32_t n = vkt__lora_add(net->m, of->module, (uint32_t)t->dims[!of->in_first],
                               (uint32_t)t->dims[of->in_first], 0, true);
    if (!n) of->module = NULL;
    l->n_params += n;
    return VKT_OK;
}

static vkt_status declare(vkt__onnx_net *net, vkt__layer *l)
{
    vkt_status st = VKT_OK;
    vkt_model *m = net->m;
    const vkt__onnx *f = net->f;
    net->of = vkt__arena_alloc(&m->arena, (f->n_initializers + 1) * sizeof *net->of);
    if (m->adapters.desc.rank) net->linears = vkt__onnx_linears(f, &m->arena);
    for (size_t i = 0; i < f->n_initializers; i++) {
        const vkt__onnx_tensor *t = &f->initializers[i];
        vkt__onnx_role role = net->plan->roles[i];
        net->of[i] = -1;
        if (role != VKT__ONNX_PARAM && role != VKT__ONNX_STATE) continue;
        const char *name = vkt__arena_printf(&m->arena, "%s%s", net->prefix, t->name);
        if (t->rank > VKT_MAX_RANK || t->count > INT32_MAX)
            return vkt__layer_error(l, "'%s' is too large", vkt__show(name).s);
        if (is_taken(m, name))
            return vkt__layer_error(l, "the model has a '%s' already: give the layer a name",
                                    vkt__show(name).s);
        vkt__param *p;
        if (role == VKT__ONNX_STATE) {
            net->of[i] = vkt__model_add_named_state(m, name, shape_of(t), VKT_F32, 0);
            p = &m->states[net->of[i]];
        } else {
            net->of[i] = vkt__model_add_named(m, name, shape_of(t), VKT_INIT_ZEROS, 1);
            p = &m->params[net->of[i]];
            if (net->plan->filters[i]) p->pub.order = VKT_PARAM_ORDER_CONV;
            if (l->w < 0) l->w = net->of[i];
            l->n_params++;
        }
        p->fill = fill_from_file;
        p->from = t;
        if (net->plan->padding[i] >= 0)
            vkt_log(VKT_LOG_INFO, "model",
                    "%s: row %lld of '%s' has only zeros, so it is taken as padding's, and is not "
                    "trained",
                    l->where, (long long)net->plan->padding[i], vkt__show(name).s);
        if (role == VKT__ONNX_PARAM && net->linears) VKT_TRY(adapt(net, l, i));
    }
fail:
    return st;
}

/* ---- the graph's tensors ---- */

static vkt_tensor *scouted(vkt_graph *g, const char *name, vkt_shape shape, vkt_dtype dtype)
{
    vkt_tensor *t = vkt__input_named(g, name);
    return t ? t : vkt_input(g, shape, dtype, name);
}

static vkt_tensor *initializer(void *user, vkt_graph *g, size_t i)
{
    vkt__onnx_net *net = user;
    bool state = net->plan->roles[i] == VKT__ONNX_STATE;
    if (net->scout) {
        const vkt__onnx_tensor *from = &net->f->initializers[i];
        vkt_shape shape = shape_of(from);
        if (net->plan->filters[i])
            shape = (vkt_shape) { 4, { shape.d[2], shape.d[3], shape.d[1], shape.d[0] } };
        return scouted(g, from->name, shape, VKT_F32);
    }
    int of = net->of[i];
    if (!net->dry)
        return state ? vkt__model_state_tensor(net->m, g, of) : vkt__model_tensor(net->m, g, of);
    const vkt_param *p = state ? &net->m->states[of].pub : &net->m->params[of].pub;
    vkt_tensor *t = vkt__input_named(g, p->name);
    vkt_shape s = p->shape;
    if (p->order == VKT_PARAM_ORDER_CONV)
        s = (vkt_shape) { 4, { p->shape.d[2], p->shape.d[3], p->shape.d[1], p->shape.d[0] } };
    return t ? t : vkt_input(g, s, VKT_F32, p->name);
}

static int state_of(const vkt_model *m, const char *name)
{
    for (size_t i = 0; i < m->n_states; i++)
        if (!strcmp(m->states[i].pub.name, name)) return (int)i;
    return -1;
}

static vkt_tensor *state_tensor(vkt__onnx_net *net, vkt_graph *g, int state)
{
    const vkt_param *p = &net->m->states[state].pub;
    if (!net->dry) return vkt__model_state_tensor(net->m, g, state);
    vkt_tensor *t = vkt__input_named(g, p->name);
    return t ? t : vkt_input(g, p->shape.rank ? p->shape : vkt_shape1(1), p->dtype, p->name);
}

static bool same_shape(vkt_shape a, vkt_shape b)
{
    return a.rank == b.rank && !memcmp(a.d, b.d, a.rank * sizeof *a.d);
}

static float as_float(const vkt__onnx_host *numbers, uint64_t i)
{
    double x = vkt__onnx_host_number(numbers, i);
    return (float)VKT_MAX(VKT_MIN(x, 3e38), -3e38);
}

/* Numbers are kept as floats, which hold all ids below 2^24. The first graph is a dry one. */
static vkt_tensor *constant(void *user, vkt_graph *g, const char *name, vkt_shape shape,
                            vkt_dtype dtype, const vkt__onnx_host *numbers)
{
    vkt__onnx_net *net = user;
    vkt_model *m = net->m;
    const char *full = vkt__arena_printf(&g->arena, "%s%s", net->prefix, name);
    if (net->scout) return scouted(g, full, shape, dtype);
    int at = state_of(m, full);
    if (at < 0 && net->dry) {
        float *copy = vkt__arena_alloc(&m->arena, (size_t)numbers->count * sizeof *copy);
        for (uint64_t i = 0; i < numbers->count; i++) copy[i] = as_float(numbers, i);
        at = vkt__model_add_named_state(m, full, shape, VKT_F32, 0);
        m->states[at].fill = fill_from_copy;
        m->states[at].from = copy;
    }
    if (at < 0 || !same_shape(m->states[at].pub.shape, shape)) return NULL;
    for (uint64_t i = 0; i < numbers->count; i++)
        if (((const float *)m->states[at].from)[i] != as_float(numbers, i)) return NULL;
    vkt_tensor *t = state_tensor(net, g, at);
    vkt_known(t, m->states[at].from);
    return dtype == VKT_U32 ? vkt_cast(g, t, VKT_U32) : t;
}

static vkt_tensor *counter(void *user, vkt_graph *g, const char *name)
{
    vkt__onnx_net *net = user;
    const char *full = vkt__arena_printf(&g->arena, "%s%s.num_batches_tracked", net->prefix, name);
    if (net->scout) return scouted(g, full, vkt_shape1(1), VKT_U32);
    int at = state_of(net->m, full);
    if (at < 0) at = vkt__model_add_named_state(net->m, full, (vkt_shape) { 0 }, VKT_U32, 0);
    return state_tensor(net, g, at);
}

/* A first, dry graph asks for shapes, which an adapter does not change. */
static vkt_tensor *adapted(void *user, vkt_graph *g, size_t i, vkt_tensor *x, vkt_tensor *w,
                           vkt_layout layout)
{
    vkt__onnx_net *net = user;
    if (net->dry || !net->linears || !net->linears[i].module) return NULL;
    return vkt__lora_linear(net->m, g, net->linears[i].module,
                            &(vkt__linear) { x, w, NULL, layout }, net->train);
}

/* Rows of a table by the example's tokens, whose order the loader brings for the gradient. */
static vkt_tensor *embedded(void *user, vkt_graph *g, vkt_tensor *table, vkt_tensor *ids)
{
    const vkt__onnx_net *net = user;
    vkt_shape s = vkt_tensor_shape(ids);
    vkt_embedding_in in = {
        .table = table,
        .ids = ids,
        .order = net->train ? vkt__input_named(g, VKT_TOKEN_ORDER) : NULL,
        .segments = net->train ? vkt__input_named(g, VKT_TOKEN_SEGMENTS) : NULL,
    };
    if (net->dry || s.rank + 1 > VKT_MAX_RANK || vkt__root(ids) != vkt__root(net->tokens))
        return NULL;
    if (net->train && (!in.order || !in.segments || in.order->count != ids->count ||
                       in.segments->count != vkt_tensor_shape(table).d[0] + 1ull))
        return NULL;
    return vkt_embedding(g, &in);
}

/* ---- inputs and outputs ---- */

/* "[N, 3, 224, 224]" */
static const char *info_text(vkt_model *m, const vkt__onnx_info *info)
{
    vkt__str s = { 0 };
    for (uint32_t k = 0; k < info->rank; k++) {
        vkt__str_printf(&s, "%s", k ? ", " : "[");
        if (info->dims[k] >= 0)
            vkt__str_printf(&s, "%lld", (long long)info->dims[k]);
        else
            vkt__str_printf(&s, "%s", vkt__show(info->symbols[k]).s);
    }
    vkt__str_printf(&s, "%s", info->rank ? "]" : "[]");
    const char *text = vkt__arena_strdup(&m->arena, s.data);
    vkt__str_finish(&s);
    return text;
}

/* Whether the file's sizes are the example's, with channels first (`last`: our tensor has them
 * last) or as they stand; resized: whatever its rows and columns are. */
static bool fits(const vkt__onnx_info *info, const vkt__layer *l, bool last, bool resized)
{
    if (info->rank != l->in.rank + 1) return !info->has_shape;
    for (uint32_t k = 1; k < info->rank; k++) {
        uint32_t own = last ? (k == 1 ? info->rank - 2 : k - 2) : k - 1;
        bool side = resized && own + 1 < l->in.rank;
        if (!side && info->dims[k] >= 0 && info->dims[k] != (int64_t)l->in.d[own]) return false;
    }
    return true;
}

/* A net that is cut before it depends on the size of its pictures may take others than the file
 * says. */
static bool fits_resized(vkt__onnx_net *net, const vkt__layer *l, const vkt__onnx_info *info,
                         bool nchw, bool nhwc)
{
    if (!l->spec.n_cut || l->in.rank != 3) return false;
    net->last = nchw && fits(info, l, true, true);
    net->resized = net->last || (nhwc && fits(info, l, false, true));
    if (net->resized)
        vkt_log(VKT_LOG_INFO, "model", "%s: the file is for pictures %s, and is given %u x %u",
                l->where, info_text(net->m, info), l->in.d[0], l->in.d[1]);
    return net->resized;
}

static vkt_status match_input(vkt__onnx_net *net, const vkt__layer *l, size_t which)
{
    const vkt__onnx_info *info = &net->f->inputs[which];
    bool picture = l->in.rank == 3;
    const char *layout = l->spec.layout;
    bool nchw = !layout || !strcmp(layout, "nchw"), nhwc = !layout || !strcmp(layout, "nhwc");
    char text[96];
    net->last = picture && nchw && fits(info, l, true, false);
    /* A picture for a net of plain numbers: row by row, or as PyTorch flattens it. */
    int64_t count = (int64_t)vkt_shape_count(l->in);
    net->flat = picture && info->rank == 2 && (info->dims[1] < 0 || info->dims[1] == count);
    if (net->flat || net->last || ((!picture || nhwc) && fits(info, l, false, false)) ||
        fits_resized(net, l, info, nchw, nhwc))
        return VKT_OK;
    return vkt__layer_error(l, "the net takes %s, the data has %s%s", info_text(net->m, info),
                            vkt_shape_text(l->in, VKT_F32, text),
                            picture ? " (rows, columns, channels): see data.size" : "");
}

/* A net of classes ends with probabilities, and the loss takes what is before them. */
static const char *without_softmax(const vkt__onnx *f, int out)
{
    const vkt__onnx_node *n;
    do {
        int k = f->values[out].node;
        n = k >= 0 ? &f->nodes[k] : NULL;
        if (!n || n->n_in != 1 || n->in[0] < 0) return NULL;
        out = n->in[0];
    } while (!strcmp(n->type, "Identity"));
    if (strcmp(n->type, "Softmax") != 0 && strcmp(n->type, "LogSoftmax") != 0) return NULL;
    return f->values[n->in[0]].name;
}

static vkt_status open_net(vkt__onnx_net *net, const vkt__layer *l)
{
    const char *end = NULL, *const *cuts = l->spec.n_cut ? l->spec.cut : &end;
    size_t n = VKT_MAX(l->spec.n_cut, 1);
    char sum[VKT__ONNX_SUM];
    vkt_status st = vkt__onnx_open(l->spec.file, &net->f);
    VKT_TRY(st);
    vkt__onnx_sum(net->f, sum);
    if (l->spec.sum && strcmp(sum, l->spec.sum) != 0) {
        st = vkt__layer_error(l,
                              "'%s' is not the file that the run began with (checksum %s, not %s): "
                              "bring that one back; its ops belong to the run's weights",
                              l->spec.file, sum, vkt__show(l->spec.sum).s);
        goto fail;
    }
    const char *whole = vkt__onnx_main_output(net->f);
    if (!l->spec.n_cut) {
        end = without_softmax(net->f, vkt__onnx_find(net->f, whole));
        if (end)
            vkt_log(VKT_LOG_INFO, "model",
                    "%s: its output is a softmax: the layer gives what is before it, as the loss "
                    "has one (cut: %s keeps it)",
                    l->where, vkt__show(whole).s);
    }
    if (!end) end = whole;
    VKT_TRY(vkt__onnx_plan_create(net->f, cuts, n, &net->plan));
    for (size_t k = 0; k < l->spec.n_cut && st == VKT_OK; k++)
        if (net->f->values[net->plan->outs[k]].inner)
            st = vkt__layer_error(
                l, "cut: '%s' is inside a function or a branch: cut before or behind",
                vkt__show(cuts[k]).s);
fail:
    return st;
}

/* 1 at the tokens of ids [B, T], 0 where they are padded, which no row of the table is. */
static vkt_tensor *mask_of(const vkt_model *m, vkt_graph *g, vkt_tensor *ids)
{
    vkt_shape s = vkt_tensor_shape(ids);
    vkt_tensor *ones = vkt_fill(g, vkt_shape2(m->embed_rows, 1), 1);
    return vkt_reshape(g, vkt_lookup(g, ids, ones, 0), s);
}

/* The inputs beside the example: numbers, or what follows from it. */
static vkt_status feed(const vkt__onnx_net *net, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                       vkt_tensor **in, const vkt__onnx_tensor **known)
{
    const vkt__onnx *f = net->f;
    vkt_shape s = vkt_tensor_shape(x);
    int64_t dims[VKT__ONNX_RANK] = { 0 };
    for (uint32_t k = 0; k < s.rank; k++)
        dims[k] = s.d[net->last ? vkt__onnx_last_axis(k, s.rank) : k];
    for (size_t i = 0; i < f->n_inputs; i++) {
        vkt__onnx_feed_kind kind = net->feeds[i].kind;
        const char *why;
        if (kind == VKT__ONNX_FEED_NONE || kind == VKT__ONNX_FEED_EXAMPLE) continue;
        bool mask = kind == VKT__ONNX_FEED_MASK && net->m->takes_ids;
        if (mask && f->inputs[i].rank != s.rank)
            return vkt__layer_error(l, "its input '%s' %s is no mask of [N, T]",
                                    vkt__show(f->values[f->inputs[i].value].name).s,
                                    info_text(net->m, &f->inputs[i]));
        if (mask && !net->dry)
            in[i] = mask_of(net->m, g, x);
        else if (!(known[i] =
                       vkt__onnx_fed(f, i, &net->feeds[i], net->example, dims, &why, &g->arena)))
            return vkt__layer_error(l, "its input '%s' %s %s",
                                    vkt__show(f->values[f->inputs[i].value].name).s,
                                    info_text(net->m, &f->inputs[i]), why);
    }
    return VKT_OK;
}

/* A result as layers behind take it: a picture with channels last, or a row of numbers. */
static vkt_tensor *result_of(vkt__onnx_build *b, const vkt__onnx_net *net, int value,
                             vkt__onnx_result *out)
{
    vkt__onnx_value *y = &b->values[value];
    out->picture = y->rank == 4 && (y->dims[2] > 1 || y->dims[3] > 1) &&
                   !vkt__onnx_ends_in_channels(net->f, value, !net->last);
    vkt_tensor *x = out->picture ? vkt__onnx_last(b, y) : vkt__onnx_first(b, y);
    vkt_shape s = vkt_tensor_shape(x);
    uint64_t each = s.rank && s.d[0] ? vkt_shape_count(s) / s.d[0] : 0;
    bool vector = false;
    for (uint32_t k = 1; k < s.rank; k++) vector = vector || s.d[k] == each;
    out->row = vector && s.rank > 2;
    return out->row ? vkt_reshape(b->g, x, vkt_shape2(s.d[0], (uint32_t)each)) : x;
}

/* Sets the layer's taps, too. */
static vkt_tensor *put(vkt__onnx_net *net, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                       bool train, vkt_status *st)
{
    const vkt__onnx *f = net->f;
    vkt_tensor **in = vkt__arena_alloc(&g->arena, (f->n_inputs + 1) * sizeof(vkt_tensor *));
    bool *last = vkt__arena_alloc(&g->arena, f->n_inputs + 1);
    size_t which = net->example;
    *st = VKT_OK;
    for (size_t k = 0; k < l->n_taps; k++) l->taps[k].y = x; /* where it fails */
    if (x->inert) return x;
    const vkt__onnx_tensor **known =
        vkt__arena_alloc(&g->arena, (f->n_inputs + 1) * sizeof(vkt__onnx_tensor *));
    *st = feed(net, g, l, x, in, known);
    if (*st != VKT_OK) return x;
    in[which] = net->flat ? vkt_flatten(g, x) : x;
    last[which] = net->last && !net->flat;
    size_t first = g->n_nodes, n = net->plan->n_outs;
    vkt_tensor **y = vkt__arena_alloc(&g->arena, n * sizeof(vkt_tensor *));
    net->train = train;
    net->tokens = x;
    vkt__onnx_build b = { .plan = net->plan,
                          .g = g,
                          .known = known,
                          .source = { net, initializer, constant, counter, adapted, embedded },
                          .train = train,
                          .frozen_norms = l->spec.frozen,
                          .batch = vkt_tensor_shape(x).d[0],
                          .written = f->inputs[which].rank ? f->inputs[which].dims[0] : -1 };
    *st = vkt__onnx_build_graph(&b, in, last);
    if (*st == VKT_OK) {
        for (size_t k = 0; k < n; k++) y[k] = result_of(&b, net, net->plan->outs[k], &net->outs[k]);
        x = y[n - 1];
        *st = b.st != VKT_OK ? b.st : g->status;
        if (*st == VKT_OK && !net->dry) vkt__drop_unread(g, first, y, n);
    }
    for (size_t k = 0; k < l->n_taps && *st == VKT_OK; k++) l->taps[k].y = y[k];
    vkt__onnx_build_finish(&b);
    return x;
}

/* Which values are the example's ids, perhaps in another type or with more axes. [n_values] */
static bool *ids_of(const vkt__onnx_net *net)
{
    static const char *const same[] = { "Cast",    "Identity",  "Reshape", "Unsqueeze",
                                        "Squeeze", "Transpose", "Flatten", "If" };
    const vkt__onnx *f = net->f;
    bool *is = vkt__alloc(f->n_values + 1);
    is[f->inputs[net->example].value] = true;
    for (size_t k = 0; k < f->n_nodes; k++) { /* nodes stand behind what they take */
        const vkt__onnx_node *n = &f->nodes[k];
        for (size_t t = 0; t < VKT_COUNT(same); t++)
            for (size_t i = 0; i < n->n_in && !strcmp(n->type, same[t]); i++)
                for (size_t j = 0; j < n->n_out && n->in[i] >= 0 && is[n->in[i]]; j++)
                    if (n->out[j] >= 0) is[n->out[j]] = true;
    }
    return is;
}

/* Ids beyond a table's rows would be nothing without a word. */
static vkt_status match_rows(const vkt__onnx_net *net, const vkt__layer *l)
{
    const vkt__onnx *f = net->f;
    vkt_status st = VKT_OK;
    bool *ids = net->m->takes_ids ? ids_of(net) : NULL;
    for (size_t k = 0; ids && k < f->n_nodes && st == VKT_OK; k++) {
        const vkt__onnx_node *n = &f->nodes[k];
        if (strcmp(n->type, "Gather") != 0 || n->n_in < 2 || n->in[0] < 0 || n->in[1] < 0) continue;
        const vkt__onnx_tensor *t = f->values[n->in[0]].initializer;
        if (ids[n->in[1]] && t && t->rank == 2 && t->dims[0] < net->m->embed_rows)
            st = vkt__layer_error(l,
                                  "its table '%s' has %llu rows, and the tokenizer %u tokens: "
                                  "data.tokenizer must be the one that the net was trained with",
                                  vkt__show(t->name).s, (unsigned long long)t->dims[0],
                                  net->m->embed_rows);
    }
    free(ids);
    return st;
}

enum { EXAMPLES = 2 }; /* of a dry graph */

/* A dry graph of the net; *y is what it gives. */
static vkt_status try_build(vkt__onnx_net *net, const vkt__layer *l, vkt_graph **g, vkt_tensor **y)
{
    vkt_status st;
    vkt_shape in = { .rank = l->in.rank + 1, .d = { EXAMPLES } };
    for (uint32_t k = 0; k < l->in.rank; k++) in.d[k + 1] = l->in.d[k];
    *g = vkt__graph_new(NULL);
    net->dry = true;
    *y = put(net, *g, l, vkt_input(*g, in, VKT_F32, "onnx input"), true, &st);
    net->dry = false;
    return st;
}

/* Which branches the net takes, so that no weight of another one is trained. */
static vkt_status scout(vkt__onnx_net *net, const vkt__layer *l)
{
    vkt_graph *g = NULL;
    vkt_tensor *y;
    if (!net->f->n_guards) return VKT_OK;
    net->scout = true;
    vkt_status st = try_build(net, l, &g, &y);
    net->scout = false;
    vkt_graph_destroy(&g);
    if (st == VKT_OK) vkt__onnx_plan_narrow(net->plan);
    return st;
}

/* What the layer gives of one example: all but the first axis. */
static vkt_status example_of(const vkt__layer *l, const vkt_tensor *y, vkt_shape *out)
{
    vkt_shape s = vkt_tensor_shape(y);
    char text[96];
    if (s.rank < 2 || s.d[0] != EXAMPLES)
        return vkt__layer_error(l,
                                "of %d examples the net gives %s: the first axis must be that of "
                                "the examples",
                                EXAMPLES, vkt_shape_text(s, VKT_F32, text));
    *out = (vkt_shape) { .rank = s.rank - 1 };
    for (uint32_t k = 1; k < s.rank; k++) out->d[k - 1] = s.d[k];
    return VKT_OK;
}

/* Whether the cuts have the sizes that `strides` says. */
static vkt_status check_strides(const vkt__layer *l)
{
    vkt_shape strides = l->spec.sizes;
    char in[96], out[96];
    if (!strides.rank) return VKT_OK;
    if (l->in.rank != 3 || strides.rank != l->n_taps + 1 || !l->spec.n_cut)
        return vkt__layer_error(l, "strides are for a picture, one for each cut");
    for (uint32_t k = 0; k < strides.rank; k++) {
        bool own = k == l->n_taps;
        vkt_shape s = own ? l->out : l->taps[k].out;
        uint32_t pixels = strides.d[k], rows = l->in.d[0] / pixels, columns = l->in.d[1] / pixels;
        if (l->in.d[0] % pixels || l->in.d[1] % pixels)
            return vkt__layer_error(l,
                                    "strides: pictures of %u x %u are no whole number of cells of "
                                    "%u pixels: set data.size to a multiple",
                                    l->in.d[0], l->in.d[1], pixels);
        if (s.rank != 3 || s.d[0] != rows || s.d[1] != columns)
            return vkt__layer_error(l,
                                    "cut '%s' gives %s of a picture %s, and what is built on it "
                                    "needs %u rows and %u columns, %u pixels a cell: cut where the "
                                    "net has that size",
                                    vkt__show(l->spec.cut[k]).s, vkt_shape_text(s, VKT_F32, out),
                                    vkt_shape_text(l->in, VKT_F32, in), rows, columns, pixels);
    }
    return VKT_OK;
}

static vkt_status onnx_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = NULL;
    vkt_tensor *y;
    if (!l->spec.file) return vkt__layer_error(l, "it lacks its file: `- onnx: net.onnx`");
    vkt__onnx_net *net = vkt__alloc(sizeof *net);
    net->m = m;
    net->next = m->onnx;
    net->prefix = l->spec.name ? vkt__arena_printf(&m->arena, "%s.", l->name) : "";
    m->onnx = l->onnx = net;
    VKT_TRY(open_net(net, l));
    net->outs = vkt__arena_alloc(&m->arena, net->plan->n_outs * sizeof *net->outs);
    l->n_taps = net->plan->n_outs - 1;
    l->taps = vkt__arena_alloc(&m->arena, (l->n_taps + 1) * sizeof *l->taps);
    for (size_t k = 0; k < l->n_taps; k++) l->taps[k].name = l->spec.cut[k];
    net->feeds = vkt__arena_alloc(&m->arena, (net->f->n_inputs + 1) * sizeof *net->feeds);
    const char *why =
        vkt__onnx_feeds(net->plan, l->spec.inputs, net->feeds, &net->example, &m->arena);
    if (why) return vkt__layer_error(l, "%s", why);
    VKT_TRY(match_input(net, l, net->example));
    VKT_TRY(match_rows(net, l));
    VKT_TRY(scout(net, l));
    VKT_TRY(declare(net, l));
    VKT_TRY(try_build(net, l, &g, &y));
    VKT_TRY(example_of(l, y, &l->out));
    for (size_t k = 0; k < l->n_taps; k++) VKT_TRY(example_of(l, l->taps[k].y, &l->taps[k].out));
    VKT_TRY(check_strides(l));
    net->n_params = m->n_params;
    net->n_states = m->n_states;
    l->by_token = m->output.rank == 0 && l->in.rank == 1 && l->out.rank == 2 &&
                  l->out.d[0] == l->in.d[0] && l->out.d[1] == m->n_outputs;
fail:
    vkt_graph_destroy(&g);
    return st;
}

static vkt_tensor *onnx_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                              bool train)
{
    (void)m;
    vkt_status st;
    vkt_tensor *y = put(l->onnx, g, l, x, train, &st);
    if (st != VKT_OK && g->status == VKT_OK) g->status = st;
    if (st != VKT_OK) return x;
    return l->by_token
               ? vkt_reshape(g, y, vkt_shape2(vkt_tensor_shape(x).d[0] * l->out.d[0], l->out.d[1]))
               : y;
}

const vkt__layer_kind vkt__onnx_kinds[] = {
    { "onnx", onnx_plan, onnx_build },
    { .name = NULL },
};
