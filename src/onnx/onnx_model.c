/* onnx_file.h: ModelProto and GraphProto. Every list is counted before it is allocated, so that
 * memory is bounded by the file's size; values are found by a hash of their names. */
#include "onnx/onnx_file.h"

#include <stdio.h>

#include "onnx/onnx_read.h"

enum { MOST_NODES = 1 << 20 };

/* ---- ValueInfoProto ---- */

/* The field of that number, which holds a message; false: it is not there. */
static bool inner(vkt__pb m, uint32_t number, vkt__pb *out)
{
    vkt__pb_field field;
    bool found = false;
    while (vkt__pb_next(&m, &field) > 0)
        if (field.number == number && field.wire == VKT__PB_BYTES) {
            *out = field.bytes;
            found = true;
        }
    return found;
}

static vkt_status read_dims(vkt__onnx *f, vkt__pb m, vkt__onnx_info *info)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field, part;
    info->has_shape = true;
    while (vkt__pb_next(&m, &field) > 0) {
        if (field.number != 1 || field.wire != VKT__PB_BYTES) continue;
        if (info->rank == VKT__ONNX_RANK)
            return vkt__onnx_bad(f, "an input or output has more than %d dimensions",
                                 VKT__ONNX_RANK);
        info->dims[info->rank] = -1;
        info->symbols[info->rank] = "?";
        while (vkt__pb_next(&field.bytes, &part) > 0) {
            if (part.number == 1 && part.wire == VKT__PB_VARINT && part.v <= INT32_MAX)
                info->dims[info->rank] = (int64_t)part.v;
            if (part.number == 2 && part.wire == VKT__PB_BYTES)
                VKT_TRY(vkt__onnx_text(f, part.bytes, &info->symbols[info->rank]));
        }
        info->rank++;
    }
fail:
    return st;
}

static vkt_status read_info(vkt__onnx *f, vkt__pb m, const char **name, vkt__onnx_info *info)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    vkt__pb type, tensor, shape;
    *info = (vkt__onnx_info) { 0 };
    *name = "";
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;)
        if (field.number == 1 && field.wire == VKT__PB_BYTES)
            VKT_TRY(vkt__onnx_text(f, field.bytes, name));
    if (!inner(m, 2, &type) || !inner(type, 1, &tensor)) return VKT_OK;
    for (vkt__pb all = tensor; vkt__pb_next(&all, &field) > 0;)
        if (field.number == 1 && field.wire == VKT__PB_VARINT)
            info->type = (int)VKT_MIN(field.v, 1000);
    if (inner(tensor, 2, &shape)) VKT_TRY(read_dims(f, shape, info));
fail:
    return st;
}

/* ---- GraphProto ---- */

enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, SPARSE = 15 };

static vkt_status read_initializers(vkt__onnx *f, vkt__pb m, const char *folder)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;) {
        if (field.number != INITIALIZER || field.wire != VKT__PB_BYTES) continue;
        vkt__onnx_tensor *t = &f->initializers[f->n_initializers];
        VKT_TRY(vkt__onnx_read_tensor(f, field.bytes, folder, t));
        t->at = (size_t)(field.bytes.at - (const uint8_t *)f->map.data);
        t->end = (size_t)(field.bytes.end - (const uint8_t *)f->map.data);
        int v = *t->name ? vkt__onnx_name_value(f, t->name) : -1;
        if (v < 0 || f->values[v].initializer)
            return vkt__onnx_bad(f, "two initializers have the name '%s'", vkt__show(t->name).s);
        f->values[v].initializer = t;
        f->n_initializers++;
    }
fail:
    return st;
}

static vkt_status read_inputs(vkt__onnx *f, vkt__pb m)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;) {
        const char *name;
        vkt__onnx_info *info = &f->inputs[f->n_inputs];
        if (field.number != INPUT || field.wire != VKT__PB_BYTES) continue;
        VKT_TRY(read_info(f, field.bytes, &name, info));
        if (!*name) return vkt__onnx_bad(f, "an input has no name");
        info->value = vkt__onnx_name_value(f, name);
        if (f->values[info->value].is_input)
            return vkt__onnx_bad(f, "two inputs have the name '%s'", vkt__show(name).s);
        f->values[info->value].is_input = true;
        if (!f->values[info->value].initializer) f->n_inputs++;
    }
fail:
    return st;
}

static vkt_status read_outputs(vkt__onnx *f, vkt__pb m)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    for (vkt__pb all = m; vkt__pb_next(&all, &field) > 0;) {
        const char *name;
        vkt__onnx_info *info = &f->outputs[f->n_outputs];
        if (field.number != OUTPUT || field.wire != VKT__PB_BYTES) continue;
        VKT_TRY(read_info(f, field.bytes, &name, info));
        info->value = vkt__onnx_find(f, name);
        if (info->value < 0)
            return vkt__onnx_bad(f, "the output '%s' is given by no node", vkt__show(name).s);
        f->values[info->value].is_output = true;
        f->n_outputs++;
    }
    if (!f->n_outputs) return vkt__onnx_bad(f, "the graph has no output");
fail:
    return st;
}

static bool repeats(const vkt__onnx *f, const vkt__onnx_node *n)
{
    return !strcmp(n->type, "Identity") && !*n->domain && !n->inner && n->n_in == 1 &&
           n->n_out == 1 && n->in[0] >= 0 && n->out[0] >= 0 && f->values[n->in[0]].initializer;
}

static const vkt__onnx_tensor *number_of(const vkt__onnx_node *n)
{
    bool is = !strcmp(n->type, "Constant") && !*n->domain && !n->inner && n->n_out == 1 &&
              n->out[0] >= 0 && n->n_attrs == 1 && n->attrs[0].tensor &&
              vkt__onnx_is_float(n->attrs[0].tensor->type);
    return is && n->attrs[0].tensor->count > 1 ? n->attrs[0].tensor : NULL;
}

/* Paddle's exporter writes all weights as Constant nodes. Where a file has no other weights, these
 * are its initializers, and such a node is left with no output. */
static void lift_constants(vkt__onnx *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_initializers; i++)
        if (vkt__onnx_is_float(f->initializers[i].type) && f->initializers[i].count > 1) return;
    for (size_t k = 0; k < f->n_nodes; k++) n += number_of(&f->nodes[k]) != NULL;
    if (!n) return;
    vkt__onnx_tensor *all = vkt__arena_alloc(&f->arena, (f->n_initializers + n + 1) * sizeof *all);
    memcpy(all, f->initializers, f->n_initializers * sizeof *all);
    for (size_t i = 0; i < f->n_initializers; i++)
        f->values[vkt__onnx_find(f, all[i].name)].initializer = &all[i];
    f->initializers = all;
    for (size_t k = 0; k < f->n_nodes; k++) {
        const vkt__onnx_tensor *t = number_of(&f->nodes[k]);
        if (!t) continue;
        vkt__onnx_name *out = &f->values[f->nodes[k].out[0]];
        vkt__onnx_tensor *own = &all[f->n_initializers++];
        *own = *t;
        own->name = out->name;
        own->at = own->end = 0;
        out->initializer = own;
        out->node = -1;
        f->nodes[k].n_out = 0;
    }
}

/* PyTorch writes equal tensors once, and the others as an Identity of it: a norm's bias of zeros
 * and its mean, for example, which training makes differ. Each is an initializer of its own here,
 * and such a node is left with no output. */
static void split_repeats(vkt__onnx *f)
{
    size_t n = 0;
    for (size_t k = 0; k < f->n_nodes; k++) n += repeats(f, &f->nodes[k]);
    if (!n) return;
    vkt__onnx_tensor *all = vkt__arena_alloc(&f->arena, (f->n_initializers + n + 1) * sizeof *all);
    memcpy(all, f->initializers, f->n_initializers * sizeof *all);
    for (size_t i = 0; i < f->n_initializers; i++)
        f->values[vkt__onnx_find(f, all[i].name)].initializer = &all[i];
    f->initializers = all;
    for (size_t k = 0; k < f->n_nodes && n; k++) {
        vkt__onnx_node *node = &f->nodes[k];
        if (!repeats(f, node)) continue;
        vkt__onnx_name *out = &f->values[node->out[0]];
        vkt__onnx_tensor *t = &all[f->n_initializers++];
        *t = *f->values[node->in[0]].initializer;
        t->name = out->name;
        t->at = t->end = 0;
        out->initializer = t;
        out->node = -1;
        node->n_out = 0;
        n--;
    }
}

static vkt_status read_graph(vkt__onnx *f, vkt__pb m, const char *folder)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    vkt__pb all = m;
    size_t n[SPARSE + 1] = { 0 };
    int got;
    while ((got = vkt__pb_next(&m, &field)) > 0)
        if (field.number <= SPARSE) n[field.number]++;
    if (got < 0) return vkt__onnx_bad(f, "the graph is damaged or cut off");
    if (n[SPARSE]) return vkt__onnx_bad(f, "it has sparse initializers, which are not supported");
    if (n[NODE] > MOST_NODES || n[INITIALIZER] > MOST_NODES || n[INPUT] > MOST_NODES ||
        n[OUTPUT] > MOST_NODES)
        return vkt__onnx_bad(f, "it has more than %d nodes, inputs, outputs or initializers",
                             MOST_NODES);
    f->initializers = vkt__arena_alloc(&f->arena, (n[INITIALIZER] + 1) * sizeof *f->initializers);
    f->inputs = vkt__arena_alloc(&f->arena, (n[INPUT] + 1) * sizeof *f->inputs);
    f->outputs = vkt__arena_alloc(&f->arena, (n[OUTPUT] + 1) * sizeof *f->outputs);
    VKT_TRY(read_initializers(f, all, folder));
    VKT_TRY(read_inputs(f, all));
    VKT_TRY(vkt__onnx_read_nodes(f, all, folder));
    VKT_TRY(read_outputs(f, all));
    lift_constants(f);
    split_repeats(f);
fail:
    return st;
}

/* ---- ModelProto ---- */

static vkt_status read_opset(vkt__onnx *f, vkt__pb m)
{
    vkt_status st = VKT_OK;
    vkt__pb_field field;
    const char *domain = "";
    uint64_t version = 0;
    while (vkt__pb_next(&m, &field) > 0) {
        if (field.number == 1 && field.wire == VKT__PB_BYTES)
            VKT_TRY(vkt__onnx_text(f, field.bytes, &domain));
        if (field.number == 2 && field.wire == VKT__PB_VARINT) version = field.v;
    }
    if (!*domain || !strcmp(domain, "ai.onnx")) f->opset = (int64_t)VKT_MIN(version, INT32_MAX);
fail:
    return st;
}

static vkt_status read_model(vkt__onnx *f, const char *folder)
{
    enum { FUNCTION = 25 };
    vkt_status st = VKT_OK;
    vkt__pb m = { f->map.data, (const uint8_t *)f->map.data + f->map.n }, graph = { 0 };
    vkt__pb_field field;
    int got;
    while ((got = vkt__pb_next(&m, &field)) > 0) {
        bool bytes = field.wire == VKT__PB_BYTES;
        if (field.number == 1 && !bytes) f->ir = (int64_t)VKT_MIN(field.v, INT32_MAX);
        if (field.number == 2 && bytes) VKT_TRY(vkt__onnx_text(f, field.bytes, &f->producer));
        if (field.number == 7 && bytes) graph = field.bytes;
        if (field.number == 8 && bytes) VKT_TRY(read_opset(f, field.bytes));
        if (field.number == FUNCTION && bytes) VKT_TRY(vkt__onnx_read_function(f, field.bytes));
    }
    if (got < 0 || !graph.at)
        return vkt__onnx_bad(f, "it is no ONNX file, or it is damaged or cut off");
    if (f->opset < VKT__ONNX_OLDEST || f->opset > VKT__ONNX_NEWEST)
        return vkt__onnx_bad(f, "its ops are those of opset %lld; opsets %d to %d are read",
                             (long long)f->opset, VKT__ONNX_OLDEST, VKT__ONNX_NEWEST);
    VKT_TRY(read_graph(f, graph, folder));
fail:
    return st;
}

vkt_status vkt__onnx_parse(const void *data, size_t n, const char *path, const char *folder,
                           vkt__onnx **out)
{
    vkt__onnx *f = vkt__alloc(sizeof *f);
    f->path = vkt__arena_strdup(&f->arena, path);
    f->producer = "";
    f->map = (vkt__map) { data, n };
    vkt_status st = read_model(f, folder);
    *out = f;
    if (st == VKT_OK) return st;
    f->map = (vkt__map) { 0 };
    vkt__onnx_close(out);
    return st;
}

/* The folder of a path: "." where it has none. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 1;
    char *s = vkt__alloc(n + 1);
    memcpy(s, slash ? path : ".", n);
    return s;
}

vkt_status vkt__onnx_open(const char *path, vkt__onnx **out)
{
    vkt__map map;
    *out = NULL;
    vkt_status st = vkt__file_map(path, &map);
    if (st != VKT_OK) return st;
    char *folder = folder_of(path);
    st = vkt__onnx_parse(map.data, map.n, path, folder, out);
    free(folder);
    if (st != VKT_OK) vkt__file_unmap(&map);
    if (st == VKT_OK) (*out)->owns = true;
    return st;
}

void vkt__onnx_close(vkt__onnx **pf)
{
    vkt__onnx *f = *pf;
    if (!f) return;
    for (size_t i = 0; i < f->n_maps; i++) vkt__file_unmap(&f->maps[i].map);
    if (f->owns) vkt__file_unmap(&f->map);
    free(f->maps);
    free(f->nodes);
    free(f->guards);
    free(f->functions);
    vkt__str_finish(&f->scratch);
    free(f->values);
    free(f->places);
    vkt__arena_finish(&f->arena);
    free(f);
    *pf = NULL;
}
