/* vkt_onnx_list: a file for those who want to know what is in it. */
#include "vktrain/onnx.h"

#include <stdio.h>

#include "base/log.h"
#include "onnx/onnx_op.h"
#include "tensor/graph/graph.h"

bool vkt_onnx_op_info_at(size_t i, vkt_onnx_op_info *out)
{
    const vkt__onnx_op *op = vkt__onnx_op_at(i);
    if (op) *out = (vkt_onnx_op_info) { op->name, op->to, op->limits };
    return op != NULL;
}

/* feed: what an input is given, where there are several; NULL. */
static void list_port(const vkt__onnx *f, const vkt__onnx_info *info, bool output, const char *feed,
                      const vkt_onnx_visitor *v)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%s [", vkt__onnx_type_name(info->type));
    for (uint32_t k = 0; k < info->rank; k++) {
        vkt__str_printf(&s, "%s", k ? ", " : "");
        if (info->dims[k] >= 0)
            vkt__str_printf(&s, "%lld", (long long)info->dims[k]);
        else
            vkt__str_printf(&s, "%s", vkt__show(info->symbols[k]).s);
    }
    vkt__str_printf(&s, "]");
    if (!info->has_shape) s.len = 0, vkt__str_printf(&s, "?");
    if (feed) vkt__str_printf(&s, ": %s", feed);
    v->port(v->user, output, f->values[info->value].name, s.data);
    vkt__str_finish(&s);
}

/* Several inputs may be the example: which does the recipe say, by numbers for the others. One
 * whose first size is no batch needs one. */
static void mark_open(const vkt__onnx *f, vkt__onnx_feed *feeds)
{
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < f->n_inputs; i++) {
            const vkt__onnx_info *info = &f->inputs[i];
            bool may = !info->has_shape || (info->rank && info->dims[0] <= 1);
            if (feeds[i].kind != VKT__ONNX_FEED_EXAMPLE) continue;
            if (!pass) n += may;
            if (pass && (!may || n != 1))
                feeds[i].what =
                    n && !may ? "needs a number: inputs" : "the example, or needs a number: inputs";
        }
}

static void list_ops(const vkt__onnx *f, const vkt__onnx_plan *p, const vkt_onnx_visitor *v)
{
    bool *counted = vkt__alloc((f->n_nodes + 1) * sizeof *counted);
    size_t kinds = 0;
    for (size_t k = 0; k < f->n_nodes && kinds < 256; k++) {
        const vkt__onnx_node *n = &f->nodes[k];
        const vkt__onnx_op *op = vkt__onnx_op_of(n);
        vkt__str name = { 0 };
        uint64_t count = 0;
        if (counted[k] || !p->needed[k]) continue;
        for (size_t j = k; j < f->n_nodes; j++) {
            bool same = p->needed[j] && !strcmp(f->nodes[j].type, n->type) &&
                        !strcmp(f->nodes[j].domain, n->domain);
            counted[j] = counted[j] || same;
            count += same;
        }
        vkt__str_printf(&name, "%s%s%s", n->domain, *n->domain ? "." : "", n->type);
        v->op(v->user, name.data, count, op ? op->to : NULL);
        vkt__str_finish(&name);
        kinds++;
    }
    free(counted);
}

static void list_tensors(const vkt__onnx *f, const vkt__onnx_plan *p, const vkt_onnx_visitor *v)
{
    static const vkt_onnx_use uses[] = { [VKT__ONNX_UNUSED] = VKT_ONNX_UNUSED,
                                         [VKT__ONNX_HOST] = VKT_ONNX_CONSTANT,
                                         [VKT__ONNX_PARAM] = VKT_ONNX_TRAINED,
                                         [VKT__ONNX_STATE] = VKT_ONNX_AVERAGE };
    for (size_t i = 0; i < f->n_initializers; i++) {
        const vkt__onnx_tensor *t = &f->initializers[i];
        vkt_tensor_info info = { .name = t->name,
                                 .dtype = vkt__onnx_type_name(t->type),
                                 .rank = t->rank,
                                 .bytes = t->count * vkt__onnx_type_bytes(t->type) };
        for (uint32_t k = 0; k < t->rank; k++) info.shape[k] = t->dims[k];
        v->tensor(v->user, &info, uses[p->roles[i]]);
    }
}

/* ---- which branches are taken ---- */

static vkt_tensor *named(vkt_graph *g, const char *name, vkt_shape shape, vkt_dtype dtype)
{
    vkt_tensor *t = vkt__input_named(g, name);
    return t ? t : vkt_input(g, shape, dtype, vkt__arena_strdup(&g->arena, name));
}

static vkt_tensor *initializer(void *user, vkt_graph *g, size_t i)
{
    const vkt__onnx_plan *p = user;
    const vkt__onnx_tensor *t = &p->f->initializers[i];
    vkt_shape s = { .rank = t->rank };
    for (uint32_t k = 0; k < VKT_MIN(t->rank, VKT_MAX_RANK); k++) s.d[k] = (uint32_t)t->dims[k];
    if (p->filters[i]) s = (vkt_shape) { 4, { s.d[2], s.d[3], s.d[1], s.d[0] } };
    return named(g, t->name, s, VKT_F32);
}

static vkt_tensor *constant(void *user, vkt_graph *g, const char *name, vkt_shape shape,
                            vkt_dtype dtype, const vkt__onnx_host *numbers)
{
    (void)user, (void)numbers;
    return named(g, name, shape, dtype);
}

static vkt_tensor *counter(void *user, vkt_graph *g, const char *name)
{
    (void)user, (void)name;
    return named(g, "batches that norms have seen", vkt_shape1(1), VKT_U32);
}

vkt__onnx_source vkt__onnx_sizes_alone(vkt__onnx_plan *p)
{
    return (vkt__onnx_source) { p, initializer, constant, counter };
}

/* What the inputs are given, where all sizes are known but that of the batch; NULL: they are not.
 */
static const vkt__onnx_tensor **inputs_of(const vkt__onnx *f, vkt__onnx_plan *p,
                                          const vkt__onnx_feed *feeds, size_t example,
                                          int64_t *dims)
{
    const vkt__onnx_info *of = &f->inputs[example];
    const vkt__onnx_tensor **known =
        vkt__arena_alloc(&p->arena, (f->n_inputs + 1) * sizeof(const vkt__onnx_tensor *));
    const char *why;
    bool fits = of->has_shape && of->rank >= 1 && of->rank <= VKT_MAX_RANK;
    for (size_t i = 0; i < f->n_initializers; i++)
        fits = fits && (!p->roles[i] || f->initializers[i].rank <= VKT_MAX_RANK);
    for (uint32_t k = 0; k < of->rank && fits; k++) {
        dims[k] = k ? of->dims[k] : 2;
        fits = dims[k] > 0;
    }
    for (size_t i = 0; i < f->n_inputs && fits; i++) {
        if (feeds[i].kind == VKT__ONNX_FEED_NONE || i == example) continue;
        known[i] = vkt__onnx_fed(f, i, &feeds[i], example, dims, &why, &p->arena);
        fits = known[i] != NULL;
    }
    return fits ? known : NULL;
}

/* Leaves of each If the branch that it takes, where that can be said of the file alone. */
static bool take_branches(const vkt__onnx *f, vkt__onnx_plan *p, const vkt__onnx_feed *feeds,
                          size_t example)
{
    int64_t dims[VKT__ONNX_RANK];
    const vkt__onnx_tensor **known = inputs_of(f, p, feeds, example, dims);
    if (!known) return false;
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor **in = vkt__arena_alloc(&p->arena, (f->n_inputs + 1) * sizeof(vkt_tensor *));
    bool *last = vkt__arena_alloc(&p->arena, f->n_inputs + 1);
    vkt_shape s = { .rank = f->inputs[example].rank };
    for (uint32_t k = 0; k < s.rank; k++) s.d[k] = (uint32_t)dims[k];
    in[example] = vkt_input(g, s, VKT_F32, "the example");
    vkt__onnx_build b = { .plan = p,
                          .g = g,
                          .known = known,
                          .source = vkt__onnx_sizes_alone(p),
                          .batch = dims[0],
                          .written = f->inputs[example].dims[0] };
    vkt__log_quiet(true); /* what does not build is said when it is trained */
    bool built = vkt__onnx_build_graph(&b, in, last) == VKT_OK;
    vkt__log_quiet(false);
    vkt__onnx_build_finish(&b);
    vkt_graph_destroy(&g);
    if (built) vkt__onnx_plan_narrow(p);
    return built;
}

vkt_status vkt_onnx_list(const char *path, const vkt_onnx_visitor *v)
{
    vkt_status st;
    vkt__onnx *f = NULL;
    vkt__onnx_plan *p = NULL;
    char opset[32];
    vkt__onnx_feed *feeds;
    size_t example;
    VKT_TRY(vkt__onnx_open(path, &f));
    VKT_TRY(vkt__onnx_plan_of(f, (const char *[]) { vkt__onnx_main_output(f) }, 1, &p));
    snprintf(opset, sizeof opset, "%lld", (long long)f->opset);
    if (v->value) {
        v->value(v->user, "opset", opset);
        v->value(v->user, "producer", f->producer);
    }
    feeds = vkt__arena_alloc(&p->arena, (f->n_inputs + 1) * sizeof *feeds);
    bool open = vkt__onnx_feeds(p, NULL, feeds, &example, &p->arena) != NULL;
    if (f->n_guards && (open || !take_branches(f, p, feeds, example)) && v->value)
        v->value(v->user, "If", "both branches are counted: which is taken depends on the inputs");
    if (open) mark_open(f, feeds);
    for (size_t i = 0; v->port && i < f->n_inputs; i++)
        list_port(f, &f->inputs[i], false, f->n_inputs > 1 ? feeds[i].what : NULL, v);
    for (size_t i = 0; v->port && i < f->n_outputs; i++)
        list_port(f, &f->outputs[i], true, NULL, v);
    if (v->op) list_ops(f, p, v);
    if (v->tensor) list_tensors(f, p, v);
fail:
    vkt__onnx_plan_destroy(&p);
    vkt__onnx_close(&f);
    return st;
}
