/* onnx_back.h: the file's own bytes, field by field, except the numbers that training changed. */
#include "models/onnx_back.h"

#include "base/half.h"
#include "formats/protobuf.h"

enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, VALUE_INFO = 13 };

static void copy_field(vkt__str *out, const vkt__pb_field *f)
{
    if (f->wire == VKT__PB_BYTES)
        vkt__pb_bytes(out, f->number, f->bytes.at, (size_t)(f->bytes.end - f->bytes.at));
    else if (f->wire == VKT__PB_VARINT)
        vkt__pb_int(out, f->number, (int64_t)f->v);
}

/* The trained numbers of that name; NULL: there are none. */
static const float *numbers_of(const vkt__onnx_net *net, const vkt__weights *w, const char *name)
{
    size_t n = strlen(net->prefix);
    for (size_t i = 0; i < w->n_model; i++)
        if (!strncmp(w->model[i].name, net->prefix, n) && !strcmp(w->model[i].name + n, name))
            return w->model[i].data;
    return NULL;
}

/* In the file's own type. */
static void put_number(uint8_t *out, int type, float v)
{
    double d = (double)v;
    uint16_t h = type == VKT__ONNX_BFLOAT16 ? vkt__to_bf16(v) : vkt__to_f16(v);
    if (type == VKT__ONNX_DOUBLE)
        memcpy(out, &d, sizeof d);
    else if (type == VKT__ONNX_FLOAT)
        memcpy(out, &v, sizeof v);
    else
        memcpy(out, &h, sizeof h);
}

static void put_tensor(const vkt__onnx_tensor *t, const float *numbers, vkt__str *graph)
{
    vkt__str m = { 0 };
    uint32_t bytes = vkt__onnx_type_bytes(t->type);
    size_t n = (size_t)t->count * bytes;
    uint8_t *raw = vkt__alloc(n + 1);
    for (uint64_t i = 0; numbers && i < t->count; i++)
        put_number(raw + i * bytes, t->type, numbers[i]);
    for (uint32_t k = 0; k < t->rank; k++) vkt__pb_int(&m, 1, (int64_t)t->dims[k]);
    vkt__pb_int(&m, 2, t->type);
    vkt__pb_text(&m, 8, t->name);
    vkt__pb_bytes(&m, 9, numbers ? (const void *)raw : t->data, n);
    vkt__pb_message(graph, INITIALIZER, &m);
    vkt__str_finish(&m);
    free(raw);
}

static bool message(vkt__pb m, uint32_t number, vkt__pb *out)
{
    vkt__pb_field f;
    bool found = false;
    while (vkt__pb_next(&m, &f) > 0)
        if (f.number == number && f.wire == VKT__PB_BYTES) {
            *out = f.bytes;
            found = true;
        }
    return found;
}

static vkt__pb whole_file(const vkt__onnx_net *net)
{
    const uint8_t *data = net->f->map.data;
    return (vkt__pb) { data, data + net->f->map.n };
}

/* What of the file's graph is written back: nodes by their places in the file, values by number. */
typedef struct kept {
    bool *node, *value;
    size_t n_nodes;
} kept;

static void keep_value(const vkt__onnx *f, kept *k, int v, bool *more)
{
    if (v < 0 || k->value[v]) return;
    k->value[v] = *more = true;
    if (f->values[v].node >= 0) k->node[f->nodes[f->values[v].node].at] = true;
}

/* The names that a NodeProto takes. */
static void keep_inputs(const vkt__onnx *f, vkt__pb node, kept *k, bool *more)
{
    vkt__pb_field field;
    while (vkt__pb_next(&node, &field) > 0) {
        size_t n = field.wire == VKT__PB_BYTES ? (size_t)(field.bytes.end - field.bytes.at) : 0;
        if (field.number != 1 || !n) continue;
        char *name = vkt__alloc(n + 1);
        memcpy(name, field.bytes.at, n);
        keep_value(f, k, vkt__onnx_find(f, name), more);
        free(name);
    }
}

/* A call or an If is written whole: what its other results and branches take is kept, too. */
static void keep_what_they_take(const vkt__onnx *f, vkt__pb graph, kept *k)
{
    for (bool more = true; more;) {
        vkt__pb_field field;
        size_t at = 0;
        more = false;
        for (size_t i = f->n_nodes; i-- > 0;)
            for (size_t j = 0; k->node[f->nodes[i].at] && j < f->nodes[i].n_in; j++)
                keep_value(f, k, f->nodes[i].in[j], &more);
        for (vkt__pb all = graph; vkt__pb_next(&all, &field) > 0;)
            if (field.number == NODE && field.wire == VKT__PB_BYTES) {
                if (at < k->n_nodes && k->node[at]) keep_inputs(f, field.bytes, k, &more);
                at++;
            }
    }
}

/* Whether a ValueInfoProto is of the input that is the example. */
static bool is_example(const vkt__onnx_net *net, const vkt__pb_field *field)
{
    const char *name = net->f->values[net->f->inputs[net->example].value].name;
    vkt__pb is;
    return field->wire == VKT__PB_BYTES && message(field->bytes, 1, &is) &&
           (size_t)(is.end - is.at) == strlen(name) && !memcmp(is.at, name, strlen(name));
}

void vkt__onnx_back_graph(const vkt__onnx_net *net, const vkt__weights *w, bool whole,
                          vkt__str *graph)
{
    const vkt__onnx *f = net->f;
    vkt__pb m = { 0 };
    vkt__pb_field field;
    size_t at = 0, n = 0;
    for (size_t k = 0; k < f->n_nodes; k++) n = VKT_MAX(n, f->nodes[k].at + 1);
    kept keep = { vkt__alloc(n + 1), vkt__alloc(f->n_values + 1), n };
    bool found = message(whole_file(net), 7, &m);
    VKT_ASSERT(found);
    for (size_t k = 0; k < f->n_nodes; k++) {
        const vkt__onnx_node *node = &f->nodes[k];
        bool lifted = !node->n_out && !node->inner &&
                      (!strcmp(node->type, "Identity") || !strcmp(node->type, "Constant"));
        /* A lifted one became an initializer. */
        keep.node[node->at] = keep.node[node->at] || (!lifted && (whole || net->plan->needed[k]));
    }
    if (!whole) keep_what_they_take(f, m, &keep);
    while (vkt__pb_next(&m, &field) > 0) {
        bool bytes = field.wire == VKT__PB_BYTES;
        if (field.number == INITIALIZER && bytes) continue;
        if (field.number == NODE && bytes) {
            if (at < n && keep.node[at]) copy_field(graph, &field);
            at++;
            continue;
        }
        bool resized = net->resized && field.number == INPUT && is_example(net, &field);
        if ((whole || field.number == INPUT) && !resized) copy_field(graph, &field);
    }
    for (size_t i = 0; i < f->n_initializers; i++) {
        const vkt__onnx_tensor *t = &f->initializers[i];
        if (!whole && net->plan->roles[i] == VKT__ONNX_UNUSED &&
            !keep.value[vkt__onnx_find(f, t->name)])
            continue;
        if (t->type == VKT__ONNX_STRING) {
            if (t->end)
                vkt__pb_bytes(graph, INITIALIZER, (const char *)f->map.data + t->at,
                              t->end - t->at);
            continue;
        }
        put_tensor(t, net->of[i] >= 0 ? numbers_of(net, w, t->name) : NULL, graph);
    }
    free(keep.node);
    free(keep.value);
}

/* The schema of the run that wrote the file: the new run's takes its place. */
static bool is_schema(const vkt__pb_field *field)
{
    static const char key[] = "vktrain.schema";
    vkt__pb is;
    return field->number == 14 && field->wire == VKT__PB_BYTES && message(field->bytes, 1, &is) &&
           (size_t)(is.end - is.at) == sizeof key - 1 && !memcmp(is.at, key, sizeof key - 1);
}

void vkt__onnx_back_model(const vkt__onnx_net *net, vkt__str *model)
{
    enum { LEAST_IR = 4 }; /* before it initializers had to be inputs, too */
    vkt__pb m = whole_file(net);
    vkt__pb_field field;
    while (vkt__pb_next(&m, &field) > 0) {
        if (field.number == 7 || is_schema(&field)) continue;
        if (field.number == 1 && field.wire == VKT__PB_VARINT) field.v = VKT_MAX(field.v, LEAST_IR);
        copy_field(model, &field);
    }
}
