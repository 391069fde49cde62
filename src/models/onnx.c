/* onnx.h: the file, with the evaluation graph before any rewrite, node by node (onnx_emit.c), and
 * what stands around it: inputs, outputs, predictions, weights. Field numbers from onnx.proto (IR
 * version 10). */
#include "models/onnx.h"

#include "models/onnx_nodes.h"
#include "nn/layer_list.h"

#include <stdio.h>

#include "base/os.h"
#include "data/dataset.h"
#include "data/inputs.h"
#include "tensor/graph/graph.h"
#include "formats/protobuf.h"

enum { OPSET = 21, IR_VERSION = 10 };

/* A graph's input or output, [first, rest]. */
static void value_of_type(vkt__str *graph, uint32_t field, const char *name, const char *first,
                          vkt_shape shape, int onnx_type)
{
    vkt__str dim = { 0 }, dims = { 0 }, tensor = { 0 }, type = { 0 }, info = { 0 };
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (i == 0)
            vkt__pb_text(&dim, 2, first);
        else
            vkt__pb_int(&dim, 1, shape.d[i]);
        vkt__pb_message(&dims, 1, &dim);
    }
    vkt__pb_int(&tensor, 1, onnx_type);
    vkt__pb_message(&tensor, 2, &dims);
    vkt__pb_message(&type, 1, &tensor);
    vkt__pb_text(&info, 1, name);
    vkt__pb_message(&info, 2, &type);
    vkt__pb_message(graph, field, &info);
    vkt__str_finish(&dim);
    vkt__str_finish(&dims);
    vkt__str_finish(&tensor);
    vkt__str_finish(&type);
    vkt__str_finish(&info);
}

/* [N, rest] f32. */
static void value_info(vkt__str *graph, uint32_t field, const char *name, vkt_shape shape)
{
    value_of_type(graph, field, name, "N", shape, VKT__ONNX_F32);
}

/* A detector's boxes; least_score above 0: those that are found, too. */
static void emit_boxes(vkt__exporter *e, const vkt_dataset_info *info, const char *value,
                       double least_score)
{
    uint32_t cells = info->output_shape[0];
    vkt__emit_found(e, info, value);
    value_info(&e->graph, 12, "boxes", vkt_shape3(1, cells, 4));
    value_info(&e->graph, 12, "scores", vkt_shape3(1, cells, info->n_outputs));
    if (!(least_score > 0)) return;
    vkt__emit_distinct(e, least_score);
    value_of_type(&e->graph, 12, "found", "K", vkt_shape2(1, 3), VKT__ONNX_I64);
}

/* A value of the file's net as our layers see it: `example` is its shape there. */
static vkt_tensor *seen(vkt__exporter *e, int value, vkt__onnx_result how, vkt_shape example)
{
    const char *from = e->net->f->values[value].name, *in = from;
    vkt_shape shape = { .rank = example.rank + 1, .d = { 1 } };
    int64_t dims[VKT_MAX_RANK] = { -1 };
    for (uint32_t i = 0; i < example.rank; i++) dims[i + 1] = shape.d[i + 1] = example.d[i];
    if (how.picture) vkt__emit_channels_last(e, from, in = vkt__emit_extra(e));
    if (how.row)
        in = vkt__emit_node(e, "Reshape", VKT__IN(from, vkt__emit_ints(e, dims, shape.rank)),
                            vkt__emit_extra(e));
    return vkt_input(e->g, shape, VKT_F32, in);
}

/* Whether a layer takes the example itself. */
static bool takes_example(const vkt__layer_list *list)
{
    for (size_t i = 1; i < list->n; i++)
        for (size_t k = 0; list->layers[i].from && k < list->layers[i].spec.n_from; k++)
            if (list->layers[i].from[k] < 0) return true;
    return false;
}

/* The layers behind the file's net, which take its results. */
static vkt_tensor *head_of(vkt__exporter *e, vkt_model *m)
{
    const vkt__onnx_net *net = e->net;
    const vkt__layer *l = &m->layers.layers[0];
    vkt_tensor *example = NULL;
    for (size_t k = 0; k < l->n_taps; k++)
        l->taps[k].y = seen(e, net->plan->outs[k], net->outs[k], l->taps[k].out);
    if (takes_example(&m->layers))
        example = seen(e, net->f->inputs[net->example].value,
                       (vkt__onnx_result) { .picture = net->last && !net->flat, .row = net->flat },
                       m->input);
    vkt_tensor *y = seen(e, net->plan->out, net->outs[l->n_taps], l->out);
    return vkt__model_build_rest(m, e->g, &m->layers, 1, example, y, false);
}

/* Whether the net declared the tensor; a layer behind it may have a name of the file's, too. */
static bool is_of_net(const vkt__onnx_net *net, const char *name)
{
    for (size_t i = 0; net && i < net->n_params; i++)
        if (!strcmp(net->m->params[i].pub.name, name)) return true;
    for (size_t i = 0; net && i < net->n_states; i++)
        if (!strcmp(net->m->states[i].pub.name, name)) return true;
    return false;
}

/* The outputs of `losses` but the one that is written already: "LAYER.output". */
static void emit_heads(vkt__exporter *e, vkt_model *m, const vkt_tensor *y)
{
    for (size_t i = 0; i < m->n_heads; i++) {
        const vkt_tensor *head = m->heads[i].y;
        bool again = head == y;
        for (size_t k = 0; k < i; k++) again = again || m->heads[k].y == head;
        if (again) continue;
        const char *name = vkt__arena_printf(&e->arena, "%s.output", m->heads[i].on);
        vkt__emit_node(e, "Identity", VKT__IN(vkt__emit_name(e, head)), name);
        value_info(&e->graph, 12, name, vkt_tensor_shape(head));
    }
}

/* The name of an output of ours, or one that is free, with a warning, where a value of the file's
 * net that stays in the file has it. whole: all of them stay. */
static const char *own_name(vkt__exporter *e, const char *name, bool whole)
{
    const char *is = name;
    for (uint32_t k = 2; e->net; k++) {
        int v = vkt__onnx_find(e->net->f, is);
        const vkt__onnx_name *has = v < 0 ? NULL : &e->net->f->values[v];
        if (!has || !(whole || has->initializer || has->is_input ||
                      (has->node >= 0 && e->net->plan->needed[has->node])))
            break;
        is = vkt__arena_printf(&e->arena, "%s_%u", name, k);
    }
    if (is != name)
        vkt_log(VKT_LOG_WARN, "export",
                "the net of '%s' has a value '%s' of its own, which stays: the output that is "
                "added is '%s'",
                e->net->f->path, name, is);
    return is;
}

/* Standardised numbers [N, n] as `name`, in the data's own units. */
static void emit_prediction(vkt__exporter *e, const vkt__target *target, uint32_t n,
                            const char *value, const char *name)
{
    const char *scale = vkt__emit_extra(e), *mean = vkt__emit_extra(e), *v;
    float *constants = vkt__alloc(2 * (size_t)n * sizeof *constants);
    for (uint32_t k = 0; k < n; k++) {
        constants[k] = (float)target[k].scale;
        constants[n + k] = (float)target[k].mean;
    }
    vkt__emit_numbers(e, scale, (uint64_t[]) { n }, 1, VKT__ONNX_F32, constants, n * sizeof(float));
    vkt__emit_numbers(e, mean, (uint64_t[]) { n }, 1, VKT__ONNX_F32, constants + n,
                      n * sizeof(float));
    free(constants);
    v = vkt__emit_node(e, "Mul", VKT__IN(value, scale), vkt__emit_extra(e));
    v = vkt__emit_node(e, "Add", VKT__IN(v, mean),
                       target->curve == VKT_TARGET_PLAIN ? name : vkt__emit_extra(e));
    if (target->curve == VKT_TARGET_PLAIN) return;
    if (target->curve == VKT_TARGET_LOG) {
        vkt__emit_node(e, "Exp", VKT__IN(v), name);
        return;
    }
    /* exp(v) - 1 = tanh(v/2) (exp(v) + 1), which cancels nothing near 0 */
    const char *half = vkt__emit_node(e, "Mul", VKT__IN(v, vkt__emit_number(e, 0.5f)),
                                      vkt__emit_extra(e)),
               *tangent = vkt__emit_node(e, "Tanh", VKT__IN(half), vkt__emit_extra(e)),
               *power = vkt__emit_node(e, "Exp", VKT__IN(v), vkt__emit_extra(e));
    v = vkt__emit_node(e, "Add", VKT__IN(power, vkt__emit_number(e, 1)), vkt__emit_extra(e));
    vkt__emit_node(e, "Mul", VKT__IN(tangent, v), name);
}

/* The same where labels are classes, too: `value` has their probabilities, which stay. */
static void emit_predictions(vkt__exporter *e, const vkt__target *target, uint32_t n,
                             const char *value, const char *name)
{
    vkt__target one = { .scale = 1, .curve = vkt__targets_curve(target, n) };
    bool curved = one.curve != VKT_TARGET_PLAIN, classes = false;
    for (uint32_t k = 0; k < n; k++) classes = classes || target[k].label;
    if (!curved || !classes) {
        emit_prediction(e, target, n, value, name);
        return;
    }
    float *of = vkt__alloc(2 * (size_t)n * sizeof *of);
    vkt__target *plain = vkt__alloc(n * sizeof *plain);
    for (uint32_t k = 0; k < n; k++) {
        of[k] = target[k].label ? 0 : 1;
        of[n + k] = 1 - of[k];
        plain[k] = target[k];
        plain[k].curve = one.curve;
    }
    const char *is = vkt__emit_extra(e), *not = vkt__emit_extra(e), *all = vkt__emit_extra(e);
    emit_prediction(e, plain, n, value, all);
    vkt__emit_numbers(e, is, (uint64_t[]) { n }, 1, VKT__ONNX_F32, of, n * sizeof(float));
    vkt__emit_numbers(e, not, (uint64_t[]) { n }, 1, VKT__ONNX_F32, of + n, n * sizeof(float));
    const char *numbers = vkt__emit_node(e, "Mul", VKT__IN(all, is), vkt__emit_extra(e)),
               *shares = vkt__emit_node(e, "Mul", VKT__IN(value, not ), vkt__emit_extra(e));
    vkt__emit_node(e, "Add", VKT__IN(numbers, shares), name);
    free(of);
    free(plain);
}

/* "prediction" of a net of a file that is written as it is, behind its own outputs. */
static void emit_own_prediction(vkt__exporter *e, const vkt_dataset *data)
{
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    bool inner = e->net->f->values[e->net->plan->out].inner;
    const char *value = e->net->f->values[e->net->plan->out].name;
    if (info->task != VKT_TASK_REGRESS) return;
    if (inner || e->net->f->opset < 7 || info->outputs) {
        vkt_log(VKT_LOG_WARN, "export",
                "the file has no output in the data's units beside its own, which are standardised "
                "numbers%s: %s",
                info->outputs ? " and the classes' logits" : "",
                inner           ? "the net ends inside a function or a branch"
                : info->outputs ? "its own output has both"
                                : "its ops are older than those of opset 7");
        return;
    }
    if (e->net->outs[0].row)
        value = vkt__emit_node(
            e, "Reshape", VKT__IN(value, vkt__emit_ints(e, (int64_t[]) { -1, info->n_outputs }, 2)),
            vkt__emit_extra(e));
    const char *name = own_name(e, "prediction", true);
    emit_prediction(e, data->schema.targets, info->n_outputs, value, name);
    value_info(&e->graph, 12, name, vkt_shape2(1, info->n_outputs));
}

/* The input of a net that takes pictures of another size than its file says. */
static void resized_input(vkt__exporter *e, vkt_shape in)
{
    const vkt__onnx_info *info = &e->net->f->inputs[e->net->example];
    vkt_shape s = e->net->last ? (vkt_shape) { 4, { 1, in.d[2], in.d[0], in.d[1] } }
                               : (vkt_shape) { 4, { 1, in.d[0], in.d[1], in.d[2] } };
    value_of_type(&e->graph, 11, e->net->f->values[info->value].name, "N", s,
                  info->type ? info->type : VKT__ONNX_F32);
}

static vkt_status emit_graph(vkt__exporter *e, vkt_model *m, const vkt_dataset *data,
                             const vkt__loss_terms *terms, const vkt__onnx_how *how)
{
    vkt_status st = VKT_OK;
    const vkt_dataset_info *info = vkt_dataset_get_info(data);
    bool classify = info->task != VKT_TASK_REGRESS && info->task != VKT_TASK_PICTURE &&
                    info->task != VKT_TASK_DETECT && info->task != VKT_TASK_POINTS &&
                    info->task != VKT_TASK_INSTANCES,
         softmax = info->task == VKT_TASK_CLASSIFY || info->task == VKT_TASK_SEGMENT;
    vkt_shape shape = { .rank = info->input_rank + 1, .d = { 1 } };
    for (uint32_t i = 0; i < info->input_rank; i++) shape.d[i + 1] = info->input_shape[i];
    if (e->net) vkt__onnx_back_graph(e->net, e->weights, false, &e->graph);
    if (e->net && e->net->resized) resized_input(e, m->input);
    vkt_tensor *y = e->net
                        ? head_of(e, m)
                        : vkt_model_build(m, e->g, vkt_input(e->g, shape, VKT_F32, "input"), false);
    y = vkt__loss_terms_output(terms, m, e->g, info, y);
    const vkt_tensor *shares = vkt__label_probabilities(info, e->g, y);
    VKT_TRY(e->g->status);
    e->named = vkt__arena_alloc(&e->arena, (e->g->n_tensors + 1) * sizeof *e->named);
    for (size_t i = 0; i < e->g->n_nodes; i++)
        if (!vkt__is_of_rnn(e, e->g->nodes[i])) VKT_TRY(vkt__emit(e, e->g->nodes[i]));
    const char *out = vkt__emit_node(e, "Identity", VKT__IN(vkt__emit_name(e, y)),
                                     own_name(e, classify ? "logits" : "value", false));
    const char *scaled = out, *also = NULL;
    if (classify || info->task == VKT_TASK_REGRESS)
        also = own_name(e, classify ? "probabilities" : "prediction", false);
    if (how->temperature > 0)
        scaled =
            vkt__emit_node(e, "Div", VKT__IN(out, vkt__emit_number(e, (float)how->temperature)),
                           vkt__emit_extra(e));
    if (softmax) vkt__attr_int(e, "axis", -1);
    if (classify) vkt__emit_node(e, softmax ? "Softmax" : "Sigmoid", VKT__IN(scaled), also);
    if (info->task == VKT_TASK_REGRESS)
        emit_predictions(e, data->schema.targets, info->n_outputs,
                         shares == y ? out : vkt__emit_name(e, shares), also);
    for (size_t i = 0; i < e->weights->n_model; i++) {
        const vkt__st_tensor *t = &e->weights->model[i];
        uint64_t count = 1;
        for (uint32_t k = 0; k < t->rank; k++) count *= t->shape[k];
        if (strcmp(t->dtype, "F32") != 0) continue; /* a counter, which no graph reads */
        if (is_of_net(e->net, t->name)) continue;
        vkt__emit_weights(e, t, (size_t)count * 4);
    }
    vkt__pb_text(&e->graph, 2, "vktrain");
    if (!e->net) value_info(&e->graph, 11, "input", shape);
    value_info(&e->graph, 12, out, vkt_tensor_shape(y));
    if (also) value_info(&e->graph, 12, also, vkt_tensor_shape(y));
    if (info->task == VKT_TASK_DETECT) emit_boxes(e, info, out, how->least_score);
    emit_heads(e, m, y);
    if (e->net && e->needs > e->net->f->opset)
        st = vkt__fail(VKT_E_ARG, "export",
                       "the layers behind the net of '%s' need ops of opset %lld, and its own are "
                       "those of opset %lld: write that file again with a newer one, or export to "
                       ".safetensors instead",
                       e->net->f->path, (long long)e->needs, (long long)e->net->f->opset);
fail:
    return st;
}

/* What is before the graph and behind it, and the graph with what lies elsewhere. */
static vkt_status write_parts(const vkt__exporter *e, const vkt__str *model, size_t before,
                              const char *path)
{
    size_t n = 0, at = 0;
    vkt__file_part *parts = vkt__alloc((2 * e->n_far + 3) * sizeof *parts);
    parts[n++] = (vkt__file_part) { model->data, before };
    for (size_t i = 0; i < e->n_far; i++) {
        const vkt__far_bytes *f = &e->far_away[i];
        parts[n++] = (vkt__file_part) { e->graph.data + at, f->at - at };
        parts[n++] = (vkt__file_part) { f->data, f->n };
        at = f->at;
    }
    parts[n++] = (vkt__file_part) { e->graph.data + at, e->graph.len - at };
    parts[n++] = (vkt__file_part) { model->data + before, model->len - before };
    vkt_status st = vkt__file_replace_parts(path, parts, n);
    free(parts);
    return st;
}

static bool is_same_file(const char *one, const char *other)
{
    uint64_t a[2] = { 0 }, b[2] = { 0 };
    return vkt__path_look(one, a) == VKT__FILE && vkt__path_look(other, b) == VKT__FILE &&
           !memcmp(a, b, sizeof a);
}

vkt_status vkt__onnx_write(vkt_model *m, const vkt_dataset *data, const vkt__weights *w,
                           const vkt__loss_terms *terms, const vkt__onnx_how *how, const char *path)
{
    vkt_status st;
    vkt__exporter e = { .g = vkt__graph_new(vkt_model_gpu(m)), .weights = w };
    vkt__str model = { 0 };
    vkt_data_column column;
    e.net = vkt__onnx_net_of(m);
    bool whole = e.net && m->layers.n == 1 && !m->layers.layers[0].spec.n_cut;
    if (!whole && vkt_dataset_get_info(data)->kind == VKT_DATA_KIND_TABLE &&
        vkt__dataset_column(data, 0, &column, NULL) && column.sentence) {
        st = vkt__fail(VKT_E_FORMAT, "export",
                       "column '%s' holds sentences, and ONNX has no place for their tokenizer: "
                       "export to .safetensors instead",
                       vkt__show(column.name).s);
        goto fail;
    }
    if (vkt_model_count(m) > (1u << 29) - (1u << 20)) {
        st =
            vkt__fail(VKT_E_FORMAT, "export",
                      "the model's %llu weights are more than the 2 GiB of an ONNX file: export to "
                      ".safetensors instead",
                      (unsigned long long)vkt_model_count(m));
        goto fail;
    }
    if (e.net && is_same_file(e.net->f->path, path)) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "'%s' is the file of the run's net, which the run needs as it is: export "
                       "to another one",
                       path);
        goto fail;
    }
    if (e.net && m->layers.n > 1 && e.net->f->values[e.net->plan->out].inner) {
        st = vkt__fail(VKT_E_ARG, "export",
                       "the net of '%s' ends inside a function or a branch: export to .safetensors "
                       "instead",
                       e.net->f->path);
        goto fail;
    }
    if (whole) {
        vkt__onnx_back_graph(e.net, w, true, &e.graph);
        emit_own_prediction(&e, data);
    } else {
        VKT_TRY(emit_graph(&e, m, data, terms, how));
    }
    if (e.net) {
        vkt__onnx_back_model(e.net, &model);
    } else {
        vkt__pb_int(&model, 1, IR_VERSION);
        vkt__pb_text(&model, 2, "vktrain");
        vkt__pb_text(&model, 3, VKT_VERSION);
        vkt__pb_text(&e.node, 1, "");
        vkt__pb_int(&e.node, 2, OPSET);
        vkt__pb_message(&model, 8, &e.node);
    }
    vkt__pb_head(&model, 7, e.graph.len + e.n_far_bytes);
    size_t before = model.len;
    vkt__pb_text(&e.node, 1, "vktrain.schema");
    vkt__pb_text(&e.node, 2, vkt_dataset_schema(data));
    vkt__pb_message(&model, 14, &e.node);
    VKT_TRY(write_parts(&e, &model, before, path));
fail:
    vkt__str_finish(&model);
    vkt__str_finish(&e.graph);
    vkt__str_finish(&e.node);
    vkt__str_finish(&e.attribute);
    vkt__str_finish(&e.tensor);
    free(e.far_away);
    vkt__arena_finish(&e.arena);
    vkt_graph_destroy(&e.g);
    return st;
}
