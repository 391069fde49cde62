/* What a result needs of a file: its nodes, and what becomes of each initializer. */
#include <math.h>

#include "onnx/onnx_op.h"

static const vkt__onnx_op *const tables[] = {
    vkt__onnx_element_ops,  vkt__onnx_product_ops,   vkt__onnx_picture_ops, vkt__onnx_reduce_ops,
    vkt__onnx_sequence_ops, vkt__onnx_shape_ops,     vkt__onnx_resize_ops,  vkt__onnx_attention_ops,
    vkt__onnx_place_ops,    vkt__onnx_quantised_ops, vkt__onnx_pool_ops,    vkt__onnx_sample_ops
};

const vkt__onnx_op *vkt__onnx_op_at(size_t i)
{
    for (size_t t = 0; t < VKT_COUNT(tables); t++)
        for (const vkt__onnx_op *op = tables[t]; op->name; op++)
            if (i-- == 0) return op;
    return NULL;
}

const vkt__onnx_op *vkt__onnx_op_of(const vkt__onnx_node *n)
{
    if (*n->domain) return NULL;
    for (size_t t = 0; t < VKT_COUNT(tables); t++)
        for (const vkt__onnx_op *op = tables[t]; op->name; op++)
            if (!strcmp(op->name, n->type)) return op;
    return NULL;
}

/* Whether a node takes its input i: an If what it gives of the branch that is known, else of both.
 */
static bool takes(const vkt__onnx_plan *p, const vkt__onnx_node *n, size_t i)
{
    char branch = strcmp(n->type, "If") == 0 && n->n_in > 1 ? p->branch[n->in[0]] : 0;
    return !branch || i == 0 || (branch == 't') == (i <= n->n_out);
}

/* A node whose outputs are needed is needed; nodes stand behind what they take. */
static void mark_needed(const vkt__onnx *f, vkt__onnx_plan *p)
{
    bool *value = vkt__alloc((f->n_values + 1) * sizeof *value);
    for (size_t k = 0; k < p->n_outs; k++) value[p->outs[k]] = true;
    for (size_t k = f->n_nodes; k-- > 0;) {
        const vkt__onnx_node *n = &f->nodes[k];
        for (size_t i = 0; i < n->n_out; i++)
            if (n->out[i] >= 0 && value[n->out[i]]) p->needed[k] = true;
        for (size_t i = 0; p->needed[k] && i < n->n_in; i++)
            if (n->in[i] >= 0 && takes(p, n, i)) value[n->in[i]] = true;
    }
    free(value);
}

/* Why ops are not supported whose reason is no lack of a kernel. */
static const struct {
    const char *name, *why;
} reasons[] = {
    { "Loop", "how often a loop's body runs is not known before the net runs" },
    { "Scan", "loops are not unrolled" },
    { "SequenceConstruct", "sequences are not supported" },
    { "SequenceEmpty", "sequences are not supported" },
    { "SequenceAt", "sequences are not supported" },
    { "SequenceInsert", "sequences are not supported" },
    { "SplitToSequence", "sequences are not supported" },
    { "ConcatFromSequence", "sequences are not supported" },
    { "StringNormalizer", "strings are not supported" },
    { "TfIdfVectorizer", "strings are not supported" },
    { "ConvInteger", "arithmetic on quantised numbers is not supported: QDQ nets are" },
    { "MatMulInteger", "arithmetic on quantised numbers is not supported: QDQ nets are" },
    { "QLinearConv", "arithmetic on quantised numbers is not supported: QDQ nets are" },
    { "QLinearMatMul", "arithmetic on quantised numbers is not supported: QDQ nets are" },
};

static const char *reason_of(const vkt__onnx_node *n)
{
    for (size_t i = 0; i < VKT_COUNT(reasons) && !*n->domain; i++)
        if (!strcmp(reasons[i].name, n->type)) return reasons[i].why;
    return NULL;
}

/* "Loop (2: why), 'com.microsoft.Attention' (12)" */
static vkt_status check_ops(const vkt__onnx *f, const vkt__onnx_plan *p)
{
    vkt__str s = { 0 };
    size_t n = 0, kinds = 0;
    bool *counted = vkt__alloc((f->n_nodes + 1) * sizeof *counted);
    for (size_t k = 0; k < f->n_nodes; k++) {
        const vkt__onnx_node *node = &f->nodes[k];
        if (!p->needed[k] || counted[k] || node->guard || vkt__onnx_op_of(node)) continue;
        size_t same = 0;
        for (size_t j = k; j < f->n_nodes && kinds < 24; j++) {
            const vkt__onnx_node *other = &f->nodes[j];
            bool is = p->needed[j] && !other->guard && !strcmp(other->type, node->type) &&
                      !strcmp(other->domain, node->domain);
            counted[j] = counted[j] || is;
            same += is;
        }
        n += VKT_MAX(same, 1);
        if (kinds++ >= 24) continue;
        const char *why = reason_of(node);
        vkt__str_printf(&s, "%s%s%s%s (%zu%s%s)", kinds > 1 ? ", " : "",
                        *node->domain ? vkt__show(node->domain).s : "", *node->domain ? "." : "",
                        vkt__show(node->type).s, same, why ? ": " : "", why ? why : "");
    }
    free(counted);
    vkt_status st = VKT_OK;
    if (n)
        st = vkt__fail(VKT_E_UNSUPPORTED, "onnx",
                       "%s: %zu of its nodes have ops that are not supported: %s%s", f->path, n,
                       s.data, kinds > 24 ? ", and more" : "");
    vkt__str_finish(&s);
    return st;
}

/* ---- initializers ---- */

typedef struct use {
    bool any, host, state, filter, other, adds, scales;
    bool flows; /* a gradient comes to it */
    bool made;  /* by a node */
} use;

/* Whether the gradient of n's outputs goes on to its input i: not through comparisons, conditions
 * and shapes. */
static bool passes_gradient(const vkt__onnx_node *n, const vkt__onnx_op *op, size_t i)
{
    static const char *const stop[] = { "Not",   "Sign", "Floor",  "Ceil",   "Round", "IsNaN",
                                        "IsInf", "Size", "ArgMax", "ArgMin", "Shape", "NonZero" };
    if (!op) return true;
    for (size_t k = 0; k < VKT_COUNT(stop); k++)
        if (!strcmp(op->name, stop[k])) return false;
    if (op->fn >= VKT__ONNX_FN_EQUAL && op->fn <= VKT__ONNX_FN_XOR) return false;
    return i > 0 || strcmp(n->type, "Where") != 0;
}

static void add_use(const vkt__onnx_node *n, size_t i, use *u)
{
    const vkt__onnx_op *op = vkt__onnx_op_of(n);
    u->any = true;
    if (!op) return;
    bool filter = i == 1 && (!strcmp(op->name, "Conv") || !strcmp(op->name, "ConvTranspose"));
    u->host = u->host || (i < 32 && op->host >> i & 1);
    u->state = u->state || (i < 32 && op->state >> i & 1);
    u->filter = u->filter || filter;
    u->other = u->other || !filter;
    u->scales = u->scales || !strcmp(op->name, "Mul") || !strcmp(op->name, "Div") ||
                !strcmp(op->name, "Pow") || !strcmp(op->name, "Sub") ||
                !strcmp(op->name, "Where") || op->fn >= VKT__ONNX_FN_MIN;
}

/* Numbers that no weight has: what hides places from attention. */
static bool hides(const vkt__onnx_tensor *t)
{
    for (uint64_t i = 0; i < t->count; i++)
        if (!(fabs(vkt__onnx_number(t, i)) < 1e9)) return true;
    return false;
}

static void set_role(vkt__onnx_plan *p, size_t i, const use *u)
{
    const vkt__onnx_tensor *t = &p->f->initializers[i];
    bool constant = u->host || !u->flows || !vkt__onnx_is_float(t->type) || t->rank == 0 ||
                    t->count == 0 || (t->count == 1 && u->scales);
    if (!u->any) return;
    p->roles[i] = u->state               ? VKT__ONNX_STATE
                  : constant || hides(t) ? VKT__ONNX_HOST
                                         : VKT__ONNX_PARAM;
    p->filters[i] = p->roles[i] == VKT__ONNX_PARAM && u->filter && !u->other && t->rank == 4;
}

/* The row of a table that is zeros alone, where it is one of several: PyTorch's padding_idx, which
 * no file names. -1: none. */
static int64_t padding_of(const vkt__onnx_tensor *t)
{
    enum { MOST_ROWS = 1 << 24 }; /* their numbers are compared as f32 */
    int64_t found = -1;
    if (t->dims[0] < 2 || t->dims[0] > MOST_ROWS) return -1;
    for (uint64_t row = 0; row < t->dims[0]; row++) {
        uint64_t k = 0, n = t->dims[1];
        while (k < n && vkt__onnx_number(t, row * n + k) == 0) k++;
        if (k < n) continue;
        if (found >= 0) return -1;
        found = (int64_t)row;
    }
    return found;
}

/* Whether n, which reads the table by its input `in`, only looks up rows by ids that come in. */
static bool looks_up(const vkt__onnx *f, const vkt__onnx_node *n, size_t in)
{
    const vkt__onnx_attr *axis = vkt__onnx_attr_of(n, "axis");
    return in == 0 && !strcmp(n->type, "Gather") && (!axis || axis->i == 0) && n->n_in == 2 &&
           n->in[1] >= 0 && !f->values[n->in[1]].initializer;
}

/* Where something else reads the table, such as the product of a tied head, its row may get a
 * gradient there: it is no padding then. */
static void find_padding(const vkt__onnx *f, vkt__onnx_plan *p)
{
    bool *other = vkt__alloc(f->n_initializers + 1), *looked_up = vkt__alloc(f->n_initializers + 1);
    for (size_t k = 0; k < f->n_nodes; k++) {
        const vkt__onnx_node *n = &f->nodes[k];
        for (size_t in = 0; p->needed[k] && in < n->n_in; in++) {
            const vkt__onnx_tensor *t = n->in[in] < 0 ? NULL : f->values[n->in[in]].initializer;
            if (t) (looks_up(f, n, in) ? looked_up : other)[t - f->initializers] = true;
        }
    }
    for (size_t i = 0; i < f->n_initializers; i++) {
        const vkt__onnx_tensor *t = &f->initializers[i];
        bool table = looked_up[i] && !other[i] && t->rank == 2 && p->roles[i] == VKT__ONNX_PARAM;
        p->padding[i] = table ? padding_of(t) : -1;
    }
    free(other);
    free(looked_up);
}

/* A gradient of n's outputs comes to the inputs that it goes on to, or to those that it doesn't go
 * on to but that other nodes make. Whether it had not come to all of them before. */
static bool spread(const vkt__onnx_plan *p, size_t k, use *uses, bool on)
{
    const vkt__onnx_node *n = &p->f->nodes[k];
    bool flows = false, more = false;
    for (size_t j = 0; j < n->n_out && !flows; j++) flows = n->out[j] >= 0 && uses[n->out[j]].flows;
    for (size_t i = 0; flows && p->needed[k] && i < n->n_in; i++) {
        use *u = n->in[i] >= 0 ? &uses[n->in[i]] : NULL;
        if (!u || passes_gradient(n, vkt__onnx_op_of(n), i) != on || (!on && !u->made)) continue;
        more = more || !u->flows;
        u->flows = true;
    }
    return more;
}

static void set_roles(const vkt__onnx *f, vkt__onnx_plan *p)
{
    use *uses = vkt__alloc((f->n_values + 1) * sizeof *uses);
    bool any = false, more = true;
    for (size_t k = 0; k < p->n_outs; k++) {
        use *u = &uses[p->outs[k]];
        u->any = u->other = u->flows = true;
    }
    for (size_t k = 0; k < f->n_nodes; k++)
        for (size_t i = 0; p->needed[k] && i < f->nodes[k].n_in; i++)
            if (f->nodes[k].in[i] >= 0 && takes(p, &f->nodes[k], i))
                add_use(&f->nodes[k], i, &uses[f->nodes[k].in[i]]);
    for (size_t k = 0; k < f->n_nodes; k++)
        for (size_t j = 0; j < f->nodes[k].n_out; j++)
            if (f->nodes[k].out[j] >= 0) uses[f->nodes[k].out[j]].made = true;
    while (!any && more) { /* a net that ends in ArgMax has the parameters of the net before */
        more = false;
        for (size_t k = f->n_nodes; k-- > 0;) spread(p, k, uses, true);
        for (size_t i = 0; i < f->n_initializers; i++) {
            set_role(p, i, &uses[vkt__onnx_find(f, f->initializers[i].name)]);
            any = any || p->roles[i] == VKT__ONNX_PARAM;
        }
        for (size_t k = 0; k < f->n_nodes && !any; k++) more = spread(p, k, uses, false) || more;
    }
    free(uses);
}

/* Whether `name` is `own` in a function's body or a branch: "call~0/own". */
static bool is_inner(const char *name, const char *own)
{
    const char *mark = strrchr(name, '~');
    return mark && !strcmp(mark + 1 + strspn(mark + 1, "0123456789"), own);
}

/* The value of that name, or the first of the node of that name. Names within functions and
 * branches may stand alone where there is one such. -1: none; -2: several. */
static int output_of(const vkt__onnx *f, const char *name)
{
    int v = vkt__onnx_find(f, name), inner = -1;
    char own[300];
    snprintf(own, sizeof own, "/%s", name);
    for (size_t k = 0; v < 0 && k < f->n_nodes; k++) {
        const vkt__onnx_node *n = &f->nodes[k];
        if (n->n_out && !strcmp(n->name, name)) return n->out[0];
        for (size_t i = 0; i < n->n_out; i++) {
            bool found = n->out[i] >= 0 && is_inner(f->values[n->out[i]].name, own);
            if (!found && !(i == 0 && is_inner(n->name, own))) continue;
            inner = inner == -1 || inner == n->out[i] ? n->out[i] : -2;
        }
    }
    return v < 0 ? inner : v;
}

/* The end of a message about a name that there is not. */
static vkt_hint near_name(const vkt__onnx *f, const char *name)
{
    enum { MOST = 4096 }; /* names to compare with */
    const char **names = vkt__alloc(MOST * sizeof *names);
    size_t n = 0;
    for (size_t k = 0; k < f->n_nodes && n + 1 < MOST; k++) {
        names[n++] = f->nodes[k].name;
        if (f->nodes[k].n_out && f->nodes[k].out[0] >= 0)
            names[n++] = f->values[f->nodes[k].out[0]].name;
    }
    vkt_hint hint = vkt_did_you_mean(name, names, n);
    free(names);
    return hint;
}

const char *vkt__onnx_main_output(const vkt__onnx *f)
{
    size_t out = 0;
    for (size_t i = f->n_outputs; i-- > 0;)
        if (vkt__onnx_is_float(f->outputs[i].type)) out = i;
    return f->values[f->outputs[out].value].name;
}

vkt_status vkt__onnx_plan_of(const vkt__onnx *f, const char *const *outputs, size_t n,
                             vkt__onnx_plan **out)
{
    vkt__onnx_plan *p = vkt__alloc(sizeof *p);
    p->f = f;
    p->outs = vkt__arena_alloc(&p->arena, (n + 1) * sizeof *p->outs);
    *out = NULL;
    if (!n) p->out = p->outs[p->n_outs++] = f->outputs[0].value;
    for (size_t k = 0; k < n; k++) {
        int at = p->out = p->outs[p->n_outs++] = output_of(f, outputs[k]);
        if (at >= 0) continue;
        vkt__onnx_plan_destroy(&p);
        return vkt__fail(VKT_E_ARG, "onnx", "%s: %s '%s'%s", f->path,
                         at == -2 ? "several functions or branches have a node or value of the name"
                                  : "no node and no value has the name",
                         vkt__show(outputs[k]).s, at == -2 ? "" : near_name(f, outputs[k]).text);
    }
    p->branch = vkt__arena_alloc(&p->arena, f->n_values + 1);
    p->needed = vkt__arena_alloc(&p->arena, f->n_nodes + 1);
    p->roles = vkt__arena_alloc(&p->arena, (f->n_initializers + 1) * sizeof *p->roles);
    p->filters = vkt__arena_alloc(&p->arena, f->n_initializers + 1);
    p->padding = vkt__arena_alloc(&p->arena, (f->n_initializers + 1) * sizeof *p->padding);
    mark_needed(f, p);
    set_roles(f, p);
    find_padding(f, p);
    *out = p;
    return VKT_OK;
}

void vkt__onnx_plan_narrow(vkt__onnx_plan *p)
{
    const vkt__onnx *f = p->f;
    vkt__onnx_role *before = vkt__alloc((f->n_initializers + 1) * sizeof *before);
    for (size_t i = 0; i < f->n_initializers; i++) {
        before[i] = p->roles[i];
        p->roles[i] = VKT__ONNX_UNUSED;
        p->filters[i] = false;
    }
    memset(p->needed, 0, f->n_nodes);
    mark_needed(f, p);
    set_roles(f, p);
    for (size_t i = 0; i < f->n_initializers; i++)
        if (p->roles[i] == VKT__ONNX_UNUSED && before[i] != VKT__ONNX_UNUSED)
            p->roles[i] = VKT__ONNX_HOST;
    find_padding(f, p);
    free(before);
}

vkt_status vkt__onnx_plan_create(const vkt__onnx *f, const char *const *outputs, size_t n,
                                 vkt__onnx_plan **out)
{
    vkt_status st = vkt__onnx_plan_of(f, outputs, n, out);
    if (st == VKT_OK) st = check_ops(f, *out);
    if (st != VKT_OK) vkt__onnx_plan_destroy(out);
    return st;
}

void vkt__onnx_plan_destroy(vkt__onnx_plan **pp)
{
    if (!*pp) return;
    vkt__arena_finish(&(*pp)->arena);
    free(*pp);
    *pp = NULL;
}
