/* NodeProto and AttributeProto. A graph in an attribute stays as bytes. */
#include "onnx/onnx_read.h"

enum { MOST_INPUTS = 1 << 14 };

const vkt__onnx_attr *vkt__onnx_attr_of(const vkt__onnx_node *n, const char *name)
{
    for (size_t i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name)) return &n->attrs[i];
    return NULL;
}

static float float_of(uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Counts a list's numbers, or writes them where there is an array of floats or integers. */
static int list_of(vkt__pb m, uint32_t number, vkt__pb_wire wire, float *floats, int64_t *ints,
                   size_t *n)
{
    vkt__pb_field field;
    int got;
    *n = 0;
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        bool packed = field.wire == VKT__PB_BYTES;
        uint64_t v = field.v;
        if (field.number != number) continue;
        while (!packed || (got = vkt__pb_number(&field.bytes, wire, &v)) > 0) {
            if (floats) floats[*n] = float_of(v);
            if (ints) ints[*n] = (int64_t)v;
            ++*n;
            if (!packed) break;
        }
        if (got < 0) break;
    }
    return got;
}

/* The usual value of a function's attribute. */
static bool usual_attr(const vkt__onnx_function *function, const char *name, vkt__pb *out)
{
    enum { NAME = 1 };
    vkt__pb_field part;
    size_t n = strlen(name);
    for (size_t i = 0; i < function->n_usual; i++) {
        vkt__pb all = *out = function->usual[i];
        while (vkt__pb_next(&all, &part) > 0)
            if (part.number == NAME && part.wire == VKT__PB_BYTES &&
                (size_t)(part.bytes.end - part.bytes.at) == n && !memcmp(part.bytes.at, name, n))
                return true;
    }
    return false;
}

static vkt_status read_attr(vkt__onnx *f, vkt__pb m, const char *folder, const vkt__onnx_scope *s,
                            vkt__onnx_attr *a);

/* In a function's body: the calling node's attribute of that name. Where it has none, there is
 * none here: a->name is NULL. */
static vkt_status refer(vkt__onnx *f, const char *ref, const char *folder, const vkt__onnx_scope *s,
                        vkt__onnx_attr *a)
{
    const char *name = a->name;
    vkt__pb usual;
    vkt_status st = VKT_OK;
    while (s && !s->call) s = s->outer;
    if (!s)
        return vkt__onnx_bad(f, "an attribute '%s' is that of a function, and in none",
                             vkt__show(name).s);
    const vkt__onnx_attr *given = vkt__onnx_attr_of(s->call, ref);
    if (given && given->graph.at)
        return vkt__onnx_bad(f,
                             "%s gives a function a graph, '%s': a branch must be its node's own",
                             s->call->where, vkt__show(ref).s);
    if (given) {
        *a = *given;
    } else if (usual_attr(s->function, ref, &usual)) {
        VKT_TRY(vkt__onnx_count_inlined(f, (size_t)(usual.end - usual.at)));
        VKT_TRY(read_attr(f, usual, folder, NULL, a));
    } else {
        name = NULL;
    }
    a->name = name;
fail:
    return st;
}

static vkt_status read_attr(vkt__onnx *f, vkt__pb m, const char *folder, const vkt__onnx_scope *s,
                            vkt__onnx_attr *a)
{
    enum { NAME = 1, F, I, S, T, G, FLOATS, INTS, REF = 21 };
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    vkt__pb all = m;
    const char *ref = NULL;
    int got;
    *a = (vkt__onnx_attr) { .name = "", .text = "" };
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        bool bytes = field.wire == VKT__PB_BYTES;
        if (field.number == NAME && bytes) VKT_TRY(vkt__onnx_text(f, field.bytes, &a->name));
        if (field.number == F && field.wire == VKT__PB_FIXED32) a->f = float_of(field.v);
        if (field.number == I && !bytes) a->i = (int64_t)field.v;
        if (field.number == S && bytes) {
            size_t at, n = (size_t)(field.bytes.end - field.bytes.at);
            if (vkt__utf8_ok((const char *)field.bytes.at, n, &at))
                VKT_TRY(vkt__onnx_text(f, field.bytes, &a->text));
        }
        if (field.number == T && bytes) {
            vkt__onnx_tensor *t = vkt__arena_alloc(&f->arena, sizeof *t);
            VKT_TRY(vkt__onnx_read_tensor(f, field.bytes, folder, t));
            a->tensor = t;
        }
        if (field.number == G && bytes) a->graph = field.bytes;
        if (field.number == REF && bytes) VKT_TRY(vkt__onnx_text(f, field.bytes, &ref));
    }
    if (ref && *ref) return refer(f, ref, folder, s, a);
    if (got >= 0) got = list_of(all, INTS, VKT__PB_VARINT, NULL, NULL, &a->n_ints);
    if (got >= 0) got = list_of(all, FLOATS, VKT__PB_FIXED32, NULL, NULL, &a->n_floats);
    if (got < 0) return vkt__onnx_bad(f, "an attribute '%s' is damaged", vkt__show(a->name).s);
    if (a->n_ints) {
        int64_t *ints = vkt__arena_alloc(&f->arena, a->n_ints * sizeof *ints);
        list_of(all, INTS, VKT__PB_VARINT, NULL, ints, &a->n_ints);
        a->ints = ints;
    }
    if (a->n_floats) {
        float *floats = vkt__arena_alloc(&f->arena, a->n_floats * sizeof *floats);
        list_of(all, FLOATS, VKT__PB_FIXED32, floats, NULL, &a->n_floats);
        a->floats = floats;
    }
fail:
    return st;
}

enum { IN = 1, OUT, NODE_NAME, TYPE, ATTR, DOC, DOMAIN, OVERLOAD };

/* The value that the node's next output is: the caller's, or one of the scope. */
static vkt_status output_of(vkt__onnx *f, const vkt__onnx_node *n, const vkt__onnx_scope *s,
                            const char *name, int *out)
{
    bool formal, is_new, again = false;
    int v = vkt__onnx_formal(s, name, &formal);
    const char *whole = formal && v >= 0 ? name : vkt__onnx_scoped(f, s, name);
    if (!formal || v < 0) v = vkt__onnx_find(f, whole);
    is_new = v < 0;
    for (size_t i = 0; formal && !is_new && i < n->n_out; i++) again = again || out[i] == v;
    if (!is_new && (!formal || again || vkt__onnx_is_given(f, v)))
        return vkt__onnx_bad(f, "%s gives '%s', which is there already", n->where,
                             vkt__show(name).s);
    if (is_new) {
        v = vkt__onnx_name_value(f, whole);
        f->values[v].inner = s->depth > 0;
    }
    out[n->n_out] = v;
    return VKT_OK;
}

static vkt_status read_values(vkt__onnx *f, vkt__pb m, const vkt__onnx_scope *s, vkt__onnx_node *n,
                              int *in, int *out)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    n->n_in = n->n_out = 0;
    while (vkt__pb_next(&m, &field) > 0) {
        const char *name;
        if (field.wire != VKT__PB_BYTES || (field.number != IN && field.number != OUT)) continue;
        VKT_TRY(vkt__onnx_text(f, field.bytes, &name));
        bool known = true;
        if (field.number == IN) {
            int v = *name ? vkt__onnx_look_up(f, s, name, &known) : -1;
            if (!known)
                return vkt__onnx_bad(f, "%s takes '%s', which nothing before it gives", n->where,
                                     vkt__show(name).s);
            in[n->n_in++] = v;
            continue;
        }
        out[n->n_out] = -1;
        if (*name) VKT_TRY(output_of(f, n, s, name, out));
        n->n_out++;
    }
fail:
    return st;
}

/* "node 'conv1' (Conv)"; in a function's body or a branch with the names of who calls. */
static const char *place_of(vkt__onnx *f, const vkt__onnx_scope *s, vkt__onnx_node *n)
{
    if (*n->name) n->name = vkt__onnx_scoped(f, s, n->name);
    if (*n->name)
        return vkt__arena_printf(&f->arena, "node '%s' (%s)", vkt__show(n->name).s,
                                 vkt__show(n->type).s);
    return vkt__arena_printf(&f->arena, "node %s%zu (%s)", vkt__show(s->prefix).s, f->n_nodes,
                             vkt__show(n->type).s);
}

vkt_status vkt__onnx_read_node(vkt__onnx *f, vkt__pb m, const char *folder,
                               const vkt__onnx_scope *s, vkt__onnx_node *n)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    vkt__pb all = m;
    size_t n_in = 0, n_out = 0, n_attrs = 0;
    int got;
    *n = (vkt__onnx_node) { .type = "", .domain = "", .overload = "", .name = "" };
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        if (field.wire != VKT__PB_BYTES) continue;
        if (field.number == NODE_NAME) VKT_TRY(vkt__onnx_text(f, field.bytes, &n->name));
        if (field.number == TYPE) VKT_TRY(vkt__onnx_text(f, field.bytes, &n->type));
        if (field.number == DOMAIN) VKT_TRY(vkt__onnx_text(f, field.bytes, &n->domain));
        if (field.number == OVERLOAD) VKT_TRY(vkt__onnx_text(f, field.bytes, &n->overload));
        n_in += field.number == IN;
        n_out += field.number == OUT;
        n_attrs += field.number == ATTR;
    }
    if (got < 0) return vkt__onnx_bad(f, "node %zu is damaged", f->n_nodes);
    if (!strcmp(n->domain, "ai.onnx")) n->domain = "";
    n->where = place_of(f, s, n);
    if (n_in > MOST_INPUTS || n_out > MOST_INPUTS || n_attrs > 256)
        return vkt__onnx_bad(f, "%s has %zu inputs, %zu outputs and %zu attributes: more than any",
                             n->where, n_in, n_out, n_attrs);
    int *in = vkt__arena_alloc(&f->arena, (n_in + n_out + 1) * sizeof *in);
    vkt__onnx_attr *attrs = vkt__arena_alloc(&f->arena, (n_attrs + 1) * sizeof *attrs);
    VKT_TRY(read_values(f, all, s, n, in, in + n_in));
    n->in = in;
    n->out = in + n_in;
    n->attrs = attrs;
    for (m = all; vkt__pb_next(&m, &field) > 0;)
        if (field.number == ATTR && field.wire == VKT__PB_BYTES) {
            VKT_TRY(read_attr(f, field.bytes, folder, s, &attrs[n->n_attrs]));
            n->n_attrs += attrs[n->n_attrs].name != NULL;
        }
fail:
    return st;
}
