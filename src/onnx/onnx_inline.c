/* onnx_read.h: nodes, in an order in which each stands behind what it takes. A node that calls a
 * function of the file is replaced by that function's nodes, an If by those of both branches, each
 * with a guard, and an If that picks. What comes of this is bounded: by bytes, and in depth. */
#include "onnx/onnx_read.h"

enum { MOST_DEPTH = 64, MOST_NODES = 1 << 20, MOST_FORMALS = 256 };

/* ---- functions ---- */

enum {
    F_NAME = 1,
    F_INPUT = 4,
    F_OUTPUT,
    F_NODE = 7,
    F_OPSET = 9,
    F_DOMAIN,
    F_USUAL,
    F_OVERLOAD = 13
};

static vkt_status check_opset(vkt__onnx *f, vkt__pb m, const char *function)
{
    vkt_status st = VKT_OK;
    const char *domain = "";
    int64_t version = 0;
    vkt__pb_field field;
    enum { LAST_CHANGE = 13 }; /* of what an op means */
    while (vkt__pb_next(&m, &field) > 0) {
        if (field.number == 1 && field.wire == VKT__PB_BYTES)
            VKT_TRY(vkt__onnx_text(f, field.bytes, &domain));
        if (field.number == 2 && field.wire == VKT__PB_VARINT) version = (int64_t)field.v;
    }
    bool same = version == f->opset || (version >= LAST_CHANGE && f->opset >= LAST_CHANGE);
    if ((!*domain || !strcmp(domain, "ai.onnx")) && !same)
        return vkt__onnx_bad(f, "its function '%s' has ops of opset %lld, the graph of %lld",
                             vkt__show(function).s, (long long)version, (long long)f->opset);
fail:
    return st;
}

static int *bucket_of(vkt__onnx *f, const char *name, const char *domain)
{
    uint64_t sum = vkt__hash(domain, strlen(domain), vkt__hash(name, strlen(name), 0));
    return &f->buckets[sum % VKT_COUNT(f->buckets)];
}

static const vkt__onnx_function *find_function(vkt__onnx *f, const char *name, const char *domain,
                                               const char *overload)
{
    for (int i = *bucket_of(f, name, domain); i; i = f->functions[i - 1].next) {
        const vkt__onnx_function *fn = &f->functions[i - 1];
        if (!strcmp(fn->name, name) && !strcmp(fn->domain, domain) &&
            !strcmp(fn->overload, overload))
            return fn;
    }
    return NULL;
}

static void read_usual(vkt__onnx *f, vkt__onnx_function *fn)
{
    vkt__pb_field field;
    vkt__pb *usual = vkt__arena_alloc(&f->arena, (fn->n_usual + 1) * sizeof *usual);
    fn->usual = usual;
    for (vkt__pb all = fn->body; vkt__pb_next(&all, &field) > 0;)
        if (field.number == F_USUAL && field.wire == VKT__PB_BYTES) *usual++ = field.bytes;
}

vkt_status vkt__onnx_read_function(vkt__onnx *f, vkt__pb m)
{
    enum { MOST = 4096, MOST_USUAL = 256 };
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    if (f->n_functions == MOST) return vkt__onnx_bad(f, "it has more than %d functions", MOST);
    vkt__onnx_function fn = { .name = "", .domain = "", .overload = "", .body = m };
    int got;
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        if (field.wire != VKT__PB_BYTES) continue;
        if (field.number == F_NAME) VKT_TRY(vkt__onnx_text(f, field.bytes, &fn.name));
        if (field.number == F_DOMAIN) VKT_TRY(vkt__onnx_text(f, field.bytes, &fn.domain));
        if (field.number == F_OVERLOAD) VKT_TRY(vkt__onnx_text(f, field.bytes, &fn.overload));
        fn.n_usual += field.number == F_USUAL;
    }
    if (got < 0) return vkt__onnx_bad(f, "a function is damaged");
    if (!strcmp(fn.domain, "ai.onnx")) fn.domain = "";
    if (find_function(f, fn.name, fn.domain, fn.overload))
        return vkt__onnx_bad(f, "two functions of '%s' have the name '%s'", vkt__show(fn.domain).s,
                             vkt__show(fn.name).s);
    if (fn.n_usual > MOST_USUAL)
        return vkt__onnx_bad(f, "its function '%s' has more than %d usual attributes",
                             vkt__show(fn.name).s, MOST_USUAL);
    read_usual(f, &fn);
    int *bucket = bucket_of(f, fn.name, fn.domain);
    fn.next = *bucket;
    f->functions = vkt__grow(f->functions, f->n_functions, &f->cap_functions, sizeof *f->functions);
    f->functions[f->n_functions++] = fn;
    *bucket = (int)f->n_functions;
fail:
    return st;
}

/* ---- nodes ---- */

static vkt_status push(vkt__onnx *f, const vkt__onnx_scope *s, const vkt__onnx_node *n)
{
    if (f->n_nodes == MOST_NODES) return vkt__onnx_bad(f, "it has more than %d nodes", MOST_NODES);
    f->nodes = vkt__grow(f->nodes, f->n_nodes, &f->cap_nodes, sizeof *f->nodes);
    f->nodes[f->n_nodes] = *n;
    f->nodes[f->n_nodes].at = s->at;
    f->nodes[f->n_nodes].guard = s->guard;
    f->nodes[f->n_nodes].inner = s->depth > 0;
    for (size_t i = 0; i < n->n_out; i++)
        if (n->out[i] >= 0) f->values[n->out[i]].node = (int)f->n_nodes;
    f->n_nodes++;
    return VKT_OK;
}

/* A node that the file does not have, of one output. */
static vkt_status push_made(vkt__onnx *f, const vkt__onnx_scope *s, const char *type,
                            const vkt__onnx_attr *attr, int in, int out)
{
    int *ports = vkt__arena_alloc(&f->arena, 2 * sizeof *ports);
    ports[0] = in;
    ports[1] = out;
    vkt__onnx_node n = { .type = type, .domain = "", .name = "", .overload = "" };
    n.where = vkt__arena_printf(&f->arena, "a node of '%s' (%s)", vkt__show(s->prefix).s, type);
    n.in = ports;
    n.out = ports + 1;
    n.n_in = in >= 0;
    n.n_out = 1;
    n.attrs = attr;
    n.n_attrs = attr != NULL;
    return push(f, s, &n);
}

/* The scope of what replaces node n. */
static vkt_status enter(vkt__onnx *f, const vkt__onnx_scope *s, const vkt__onnx_node *n, vkt__pb m,
                        vkt__onnx_scope *out)
{
    enum { MOST_NAME = 100, EACH = 64 };
    if (s->depth == MOST_DEPTH)
        return vkt__onnx_bad(f, "%s: functions and branches are more than %d deep", n->where,
                             MOST_DEPTH);
    vkt_status st = vkt__onnx_count_inlined(f, (size_t)(m.end - m.at) + EACH);
    if (st != VKT_OK) return st;
    const char *name =
        *n->name ? n->name : vkt__arena_printf(&f->arena, "%s%s", s->prefix, n->type);
    if (strlen(name) > MOST_NAME) name = strlen(n->type) <= MOST_NAME ? n->type : "call";
    *out = (vkt__onnx_scope) { .caller = s, .at = s->at, .guard = s->guard, .depth = s->depth + 1 };
    out->prefix = vkt__arena_printf(&f->arena, "%s~%zu/", name, f->n_inlined++);
    return VKT_OK;
}

static vkt_status read_nodes(vkt__onnx *f, vkt__pb m, uint32_t number, const char *folder,
                             vkt__onnx_scope *s);

/* ---- calls ---- */

/* The names of the function's inputs and outputs beside the node's values. An output that the node
 * does not name is a value like others; one that is an input, too, is that. */
static vkt_status bind(vkt__onnx *f, vkt__pb m, const vkt__onnx_node *n, vkt__onnx_scope *in)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    size_t n_in = 0, n_out = 0, n_all = 0;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;)
        n_all += (field.number == F_INPUT || field.number == F_OUTPUT);
    n_all = VKT_MIN(n_all, 2 * MOST_FORMALS);
    const char **formals = vkt__arena_alloc(&f->arena, (n_all + 1) * sizeof *formals);
    int *actuals = vkt__arena_alloc(&f->arena, (n_all + 1) * sizeof *actuals);
    VKT_TRY(vkt__onnx_count_inlined(f, n_all * (sizeof *formals + sizeof *actuals)));
    in->formals = formals;
    in->actuals = actuals;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;) {
        const char *name;
        if (field.number != F_INPUT || field.wire != VKT__PB_BYTES) continue;
        VKT_TRY(vkt__onnx_text(f, field.bytes, &name));
        if (n_in == MOST_FORMALS) break;
        formals[in->n_formals] = name;
        actuals[in->n_formals++] = n_in < n->n_in ? n->in[n_in] : -1;
        n_in++;
    }
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0 && st == VKT_OK;) {
        const char *name;
        bool passed;
        if (field.number != F_OUTPUT || field.wire != VKT__PB_BYTES) continue;
        VKT_TRY(vkt__onnx_text(f, field.bytes, &name));
        if (n_out == MOST_FORMALS) break;
        int out = n_out < n->n_out ? n->out[n_out] : -1, v = vkt__onnx_formal(in, name, &passed);
        n_out++;
        if (out < 0) continue;
        if (passed && v >= 0 && vkt__onnx_is_given(f, v)) {
            st = push_made(f, in, "Identity", NULL, v, out);
        } else {
            formals[in->n_formals] = name;
            actuals[in->n_formals++] = out;
        }
    }
    if (st == VKT_OK && (n->n_in > n_in || n->n_out > n_out || n_in == MOST_FORMALS))
        st = vkt__onnx_bad(f, "%s has %zu inputs and %zu outputs, its function %zu and %zu",
                           n->where, n->n_in, n->n_out, n_in, n_out);
fail:
    return st;
}

static vkt_status call(vkt__onnx *f, const vkt__onnx_function *fn, const vkt__onnx_node *n,
                       const char *folder, const vkt__onnx_scope *s)
{
    vkt_status st = VKT_OK;
    vkt__onnx_scope in;
    vkt__pb_field field;
    for (const vkt__onnx_scope *k = s; k; k = k->caller)
        if (k->function == fn)
            return vkt__onnx_bad(f, "%s: the function '%s' calls itself", n->where,
                                 vkt__show(fn->name).s);
    VKT_TRY(enter(f, s, n, fn->body, &in));
    in.function = fn;
    in.call = n;
    for (vkt__pb all = fn->body; vkt__pb_next(&all, &field) > 0;)
        if (field.number == F_OPSET && field.wire == VKT__PB_BYTES)
            VKT_TRY(check_opset(f, field.bytes, fn->name));
    VKT_TRY(bind(f, fn->body, n, &in));
    VKT_TRY(read_nodes(f, fn->body, F_NODE, folder, &in));
    for (size_t i = 0; i < n->n_out; i++)
        if (n->out[i] >= 0 && !vkt__onnx_is_given(f, n->out[i]))
            return vkt__onnx_bad(f, "%s: its function '%s' does not give output %zu", n->where,
                                 vkt__show(fn->name).s, i);
fail:
    return st;
}

/* ---- branches ---- */

enum { G_NODE = 1, G_INITIALIZER = 5, G_OUTPUT = 12 };

/* A branch's own numbers are constants. */
static vkt_status branch_numbers(vkt__onnx *f, vkt__pb m, const char *folder, vkt__onnx_scope *in)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    while (vkt__pb_next(&m, &field) > 0) {
        if (field.number != G_INITIALIZER || field.wire != VKT__PB_BYTES) continue;
        vkt__onnx_tensor *t = vkt__arena_alloc(&f->arena, sizeof *t);
        vkt__onnx_attr *a = vkt__arena_alloc(&f->arena, sizeof *a);
        VKT_TRY(vkt__onnx_read_tensor(f, field.bytes, folder, t));
        *a = (vkt__onnx_attr) { .name = "value", .text = "", .tensor = t };
        const char *name = vkt__onnx_scoped(f, in, t->name);
        if (vkt__onnx_find(f, name) >= 0)
            return vkt__onnx_bad(f, "two values of a branch have the name '%s'", vkt__show(name).s);
        int v = vkt__onnx_name_value(f, name);
        f->values[v].inner = true;
        VKT_TRY(push_made(f, in, "Constant", a, -1, v));
    }
fail:
    return st;
}

static vkt_status branch(vkt__onnx *f, const vkt__onnx_node *n, const char *which,
                         const char *folder, const vkt__onnx_scope *s, int *outs)
{
    vkt_status st = VKT_OK;
    vkt__onnx_scope in;
    vkt__pb_field field, part;
    size_t n_out = 0;
    const vkt__onnx_attr *a = vkt__onnx_attr_of(n, which);
    if (!a || !a->graph.at) return vkt__onnx_bad(f, "%s has no %s", n->where, which);
    VKT_TRY(enter(f, s, n, a->graph, &in));
    in.outer = s;
    f->guards = vkt__grow(f->guards, f->n_guards, &f->cap_guards, sizeof *f->guards);
    f->guards[f->n_guards++] =
        (vkt__onnx_guard) { n->in[0], !strcmp(which, "then_branch"), s->guard };
    in.guard = (int)f->n_guards;
    VKT_TRY(branch_numbers(f, a->graph, folder, &in));
    VKT_TRY(read_nodes(f, a->graph, G_NODE, folder, &in));
    for (vkt__pb all = a->graph; vkt__pb_next(&all, &field) > 0;) {
        const char *name = "";
        bool known;
        if (field.number != G_OUTPUT || field.wire != VKT__PB_BYTES) continue;
        while (vkt__pb_next(&field.bytes, &part) > 0)
            if (part.number == 1 && part.wire == VKT__PB_BYTES)
                VKT_TRY(vkt__onnx_text(f, part.bytes, &name));
        int v = vkt__onnx_look_up(f, &in, name, &known);
        if (v < 0 || n_out == n->n_out)
            return vkt__onnx_bad(f, "%s: its %s gives '%s' as output %zu, which is not there",
                                 n->where, which, vkt__show(name).s, n_out);
        outs[n_out++] = v;
    }
    if (n_out != n->n_out)
        return vkt__onnx_bad(f, "%s: its %s gives %zu values, not %zu", n->where, which, n_out,
                             n->n_out);
fail:
    return st;
}

/* Which branch is taken is known when the graph is built, as shapes are. */
static vkt_status choose(vkt__onnx *f, const vkt__onnx_node *n, const char *folder,
                         const vkt__onnx_scope *s)
{
    vkt_status st = VKT_OK;
    int *in = vkt__arena_alloc(&f->arena, (1 + 2 * n->n_out) * sizeof *in);
    vkt__onnx_node picks = *n;
    if (n->n_in != 1 || n->in[0] < 0) return vkt__onnx_bad(f, "%s has no condition", n->where);
    in[0] = n->in[0];
    VKT_TRY(branch(f, n, "then_branch", folder, s, in + 1));
    VKT_TRY(branch(f, n, "else_branch", folder, s, in + 1 + n->n_out));
    picks.in = in;
    picks.n_in = 1 + 2 * n->n_out;
    picks.n_attrs = 0;
    st = push(f, s, &picks);
fail:
    return st;
}

/* ---- order ---- */

/* Whether what the node takes is there. */
static bool is_ready(vkt__onnx *f, const vkt__onnx_scope *s, vkt__pb m)
{
    enum { IN = 1, MOST = 256 };
    vkt__pb_field field;
    char name[MOST];
    while (vkt__pb_next(&m, &field) > 0) {
        size_t n = (size_t)(field.bytes.end - field.bytes.at);
        bool known;
        if (field.number != IN || field.wire != VKT__PB_BYTES || !n) continue;
        if (n >= MOST) return true; /* the node's reader tells */
        memcpy(name, field.bytes.at, n);
        name[n] = 0;
        vkt__onnx_look_up(f, s, name, &known);
        if (!known) return false;
    }
    return true;
}

static vkt_status read_one(vkt__onnx *f, vkt__pb m, const char *folder, const vkt__onnx_scope *s)
{
    vkt__onnx_node n;
    vkt_status st = vkt__onnx_read_node(f, m, folder, s, &n);
    if (st != VKT_OK) return st;
    const vkt__onnx_function *fn = find_function(f, n.type, n.domain, n.overload);
    if (fn) return call(f, fn, &n, folder, s);
    return !strcmp(n.type, "If") && !*n.domain ? choose(f, &n, folder, s) : push(f, s, &n);
}

/* Nodes stand behind what they take, as ONNX demands; some converters put casts at the end. Some
 * passes bring these into order; the first that is never ready is read, and refused, as it is. */
static vkt_status read_nodes(vkt__onnx *f, vkt__pb m, uint32_t number, const char *folder,
                             vkt__onnx_scope *s)
{
    enum { MOST_LOOKS = 1 << 24 };
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    size_t n = 0, n_done = 0;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;)
        n += field.number == number && field.wire == VKT__PB_BYTES;
    bool *done = vkt__alloc(n + 1), any = true;
    while (f->n_looks < MOST_LOOKS && any && n_done < n) {
        size_t k = 0;
        any = false;
        f->n_looks += n;
        for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;) {
            if (field.number != number || field.wire != VKT__PB_BYTES) continue;
            size_t at = k++;
            if (done[at] || !is_ready(f, s, field.bytes)) continue;
            if (!s->depth) s->at = at;
            VKT_TRY(read_one(f, field.bytes, folder, s));
            done[at] = any = true;
            n_done++;
        }
    }
    size_t k = 0;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0 && st == VKT_OK;) {
        if (field.number != number || field.wire != VKT__PB_BYTES || done[k++]) continue;
        st = read_one(f, field.bytes, folder, s);
        if (st == VKT_OK) st = vkt__onnx_bad(f, "its nodes are out of order");
    }
fail:
    free(done);
    return st;
}

vkt_status vkt__onnx_read_nodes(vkt__onnx *f, vkt__pb graph, const char *folder)
{
    vkt__onnx_scope s = { .prefix = "" };
    return read_nodes(f, graph, G_NODE, folder, &s);
}
