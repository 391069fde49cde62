/* Layers, blocks and nets that are no list against tests/golden/layers.json, vision.json and
 * graph.json (written by tools/golden/golden_layers.py, golden_vision.py and golden_graph.py):
 * outputs, gradients and running statistics of PyTorch by the twins in double; single-layer ONNX
 * models, their weights imported from a file, on the device. */
#include "testing.h"

#include <jansson.h>

#include "base/os.h"
#include "nn/params.h"
#include "on_device.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "models/trained.h"
#include "train/session.h"
#include "formats/safetensors.h"

#define WEIGHTS "test_golden_layers_tmp.safetensors"
enum { MOST_BODY = 4, MOST_LAYERS = 20, MOST_FROM = 8, MOST_TENSORS = 64 };

static json_t *all_layers, *all_vision, *all_graphs;

static uint32_t whole(const json_t *j, const char *key)
{
    return (uint32_t)json_integer_value(json_object_get(j, key));
}

static double item(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

static vkt_shape shape_of(const json_t *entry)
{
    const json_t *dims = json_object_get(entry, "shape");
    vkt_shape s = { .rank = (uint32_t)json_array_size(dims) };
    for (uint32_t i = 0; i < s.rank; i++) s.d[i] = (uint32_t)item(dims, i);
    return s;
}

/* ---- models ---- */

/* A name, or a list of them. */
static void take_from(const json_t *value, const char **names, vkt_layer *l)
{
    if (json_is_string(value)) names[l->n_from++] = json_string_value(value);
    for (size_t i = 0; i < json_array_size(value); i++) {
        assert_true(i < MOST_FROM);
        names[l->n_from++] = json_string_value(json_array_get(value, i));
    }
    l->from = names;
}

/* Options by the library's own table, as the recipe's parser sets them. body: room for a branch;
 * from: for MOST_FROM names. */
static vkt_layer layer_of(const json_t *j, vkt_layer *body, const char **from)
{
    const char *key, *type = json_string_value(json_object_get(j, "type"));
    json_t *value;
    vkt_layer l = { .type = type };
    size_t n, t = 0;
    const vkt_layer_type *types = vkt_layer_types(&n);
    while (t < n && strcmp(types[t].name, type)) t++;
    assert_true(t < n);
    json_object_foreach((json_t *)(uintptr_t)j, key, value)
    {
        if (!strcmp(key, "type")) continue;
        if (!strcmp(key, "name")) l.name = json_string_value(value);
        if (!strcmp(key, "from")) take_from(value, from, &l);
        if (!strcmp(key, "name") || !strcmp(key, "from")) continue;
        const vkt_layer_opt *o = types[t].opts;
        while (o->name && strcmp(o->name, key)) o++;
        if (!o->name) fail_msg("layer '%s' has no option '%s'", type, key);
        char *at = (char *)&l + o->offset;
        if (o->type == VKT_OPT_UINT) *(uint32_t *)(void *)at = (uint32_t)json_integer_value(value);
        if (o->type == VKT_OPT_MAYBE)
            *(vkt_maybe *)(void *)at = (vkt_maybe) { true, (uint32_t)json_integer_value(value) };
        if (o->type == VKT_OPT_FLOAT) *(float *)(void *)at = (float)json_number_value(value);
        if (o->type == VKT_OPT_BOOL) *(bool *)(void *)at = json_is_true(value);
        if (o->type == VKT_OPT_STRING) *(const char **)(void *)at = json_string_value(value);
        if (o->type == VKT_OPT_NOT_BOOL) *(bool *)(void *)at = !json_is_true(value);
        if (o->type == VKT_OPT_SIZES) {
            vkt_shape sizes = { .rank = (uint32_t)json_array_size(value) };
            for (uint32_t i = 0; i < sizes.rank; i++) sizes.d[i] = (uint32_t)item(value, i);
            memcpy(at, &sizes, sizeof sizes);
        }
        if (o->type != VKT_OPT_BODY) continue;
        assert_true(json_array_size(value) <= MOST_BODY);
        for (size_t i = 0; i < json_array_size(value); i++)
            body[i] = layer_of(json_array_get(value, i), NULL, NULL);
        l.body = body;
        l.n_body = json_array_size(value);
    }
    return l;
}

/* The case's layers and a flattening, as the file's outputs are. */
static vkt_model *model_of(vkt_gpu *gpu, const json_t *c)
{
    const json_t *list = json_object_get(c, "layers");
    size_t n = json_array_size(list);
    const char *from[MOST_LAYERS][MOST_FROM];
    vkt_layer body[MOST_LAYERS][MOST_BODY], layers[MOST_LAYERS + 1];
    assert_true(n <= MOST_LAYERS);
    for (size_t i = 0; i < n; i++) layers[i] = layer_of(json_array_get(list, i), body[i], from[i]);
    layers[n] = (vkt_layer) { .type = "flatten" };
    vkt_shape x = shape_of(json_object_get(c, "x")), input = { .rank = x.rank - 1 };
    memcpy(input.d, x.d + 1, input.rank * sizeof *input.d);
    vkt_model_desc desc = { .layers = layers,
                            .n_layers = n + 1,
                            .input = input,
                            .n_outputs =
                                (uint32_t)json_array_size(json_object_get(c, "out")) / x.d[0] };
    vkt_model *m;
    REQUIRE_OK(vkt_model_create(gpu, &desc, &m));
    return m;
}

static void put(vkt_buffer *buf, const vkt_param *p, const json_t *tensors)
{
    const json_t *entry = json_object_get(tensors, p->name), *data = json_object_get(entry, "data");
    if (!entry) fail_msg("no tensor '%s' in the file", p->name);
    assert_true(vkt__shape_equal(shape_of(entry), p->shape));
    for (uint64_t i = 0; i < p->count; i++) {
        void *to = (char *)buf->host + (p->offset + vkt_param_at(p, i)) * 4;
        if (p->dtype == VKT_U32)
            *(uint32_t *)to = (uint32_t)item(data, i);
        else
            *(float *)to = (float)item(data, i);
    }
}

/* ---- PyTorch, by the twins ---- */

typedef struct {
    const json_t *c;
    const char *name;
    vkt_model *m;
    const vkt_tensor *x, *dout, *out, *dx, *dparam[MOST_TENSORS], *state[MOST_TENSORS];
    size_t n_compared;
} layer_case;

static void fill(const json_t *list, double *data)
{
    for (size_t i = 0; i < json_array_size(list); i++) data[i] = item(list, i);
}

static void init(void *user, const vkt_tensor *t, double *data)
{
    const layer_case *k = user;
    if (t == k->x) fill(json_object_get(json_object_get(k->c, "x"), "data"), data);
    if (t == k->dout) fill(json_object_get(k->c, "dout"), data);
    if (!t->bound) return;
    const void *host = (const char *)t->buf[0]->host + t->buf_offset[0];
    for (uint64_t i = 0; i < t->count; i++)
        data[i] = t->dtype == VKT_U32 ? (double)((const uint32_t *)host)[i]
                                      : (double)((const float *)host)[i];
}

/* p: whose order of elements the list has; NULL: memory's. Both sides compute in double, from the
 * same numbers; a block's six ops in a row amplify their roundings, by less than 100. */
static void compare(layer_case *k, const char *what, const json_t *list, const vkt_param *p,
                    uint64_t count, const double *got)
{
    double rms = 0;
    if (json_array_size(list) != count)
        fail_msg("%s: %s has %zu elements in the file", k->name, what, json_array_size(list));
    for (uint64_t i = 0; i < count; i++) rms += item(list, i) * item(list, i) / (double)count;
    for (uint64_t i = 0; i < count; i++) {
        double want = item(list, i), mine = got[p ? vkt_param_at(p, i) : i];
        if (fabs(mine - want) <= 1e-12 * (fabs(want) + 100 * sqrt(rms)) + 1e-15) continue;
        fail_msg("%s: %s[%u] is %.17g, PyTorch's %.17g", k->name, what, (unsigned)i, mine, want);
    }
    k->n_compared++;
}

static void done(void *user, const vkt_tensor *t, const double *data)
{
    layer_case *k = user;
    const vkt_param *p;
    if (t == k->out) compare(k, "out", json_object_get(k->c, "out"), NULL, t->count, data);
    if (t == k->dx) compare(k, "dx", json_object_get(k->c, "dx"), NULL, t->count, data);
    for (size_t i = 0; (p = vkt_model_param(k->m, i)); i++)
        if (t == k->dparam[i])
            compare(k, p->name, json_object_get(json_object_get(k->c, "grads"), p->name), p,
                    t->count, data);
    for (size_t i = 0; (p = vkt_model_state(k->m, i)); i++)
        if (t == k->state[i])
            compare(k, p->name, json_object_get(json_object_get(k->c, "after"), p->name), p,
                    t->count, data);
}

/* Gradients and states to be compared; returns how many. */
static size_t differentiate(layer_case *k, vkt_graph *g, vkt_tensor *x, vkt_tensor *y)
{
    vkt_tensor *wrt[MOST_TENSORS] = { x }, *dwrt[MOST_TENSORS],
               *dout = vkt_input(g, y->shape, VKT_F32, "dout");
    size_t n, n_states = 0;
    vkt_tensor *const *params = vkt_model_params(k->m, g, &n);
    assert_true(n < MOST_TENSORS);
    memcpy(wrt + 1, params, n * sizeof *params);
    vkt_backward(g, vkt_mul(g, y, dout), wrt, n + 1, dwrt);
    k->dout = dout;
    k->dx = dwrt[0];
    for (size_t i = 0; i < n; i++) k->dparam[i] = dwrt[i + 1];
    for (; vkt_model_state(k->m, n_states); n_states++) {
        assert_true(n_states < MOST_TENSORS);
        k->state[n_states] = vkt__model_state_tensor(k->m, g, (int)n_states);
    }
    return 1 + n + n_states;
}

static void check_pytorch(const json_t *c)
{
    layer_case k = { .c = c, .name = json_string_value(json_object_get(c, "name")) };
    const json_t *tensors = json_object_get(c, "tensors");
    bool train = whole(c, "train"); /* gradients and statistics are of training */
    const vkt_param *p;
    size_t n_compared = 1;
    k.m = model_of(NULL, c);
    for (size_t i = 0; (p = vkt_model_param(k.m, i)); i++) put(vkt_model_values(k.m), p, tensors);
    for (size_t i = 0; (p = vkt_model_state(k.m, i)); i++) put(vkt_model_states(k.m), p, tensors);
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *x = vkt_input(g, shape_of(json_object_get(c, "x")), VKT_F32, "x"),
               *y = vkt_model_build(k.m, g, x, train);
    k.x = x;
    k.out = y;
    if (train) n_compared += differentiate(&k, g, x, y);
    assert_int_equal(g->status, VKT_OK);
    vkt__graph_ref(g, init, &k, done);
    if (k.n_compared != n_compared)
        fail_msg("%s: %zu tensors compared of %zu", k.name, k.n_compared, n_compared);
    vkt_graph_destroy(&g);
    vkt_model_destroy(&k.m);
}

static size_t each(const json_t *file, const char *of, void (*check)(const json_t *))
{
    const json_t *cases = json_object_get(file, "cases");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        if (strcmp(json_string_value(json_object_get(c, "of")), of)) continue;
        check(c);
        n++;
    }
    return n;
}

static void layers_are_pytorchs(void **state)
{
    (void)state;
    assert_int_equal(each(all_layers, "PyTorch", check_pytorch), 31);
}

static void blocks_of_vision_models_are_pytorchs(void **state)
{
    (void)state;
    assert_int_equal(each(all_vision, "PyTorch", check_pytorch), 7);
}

static void graphs_are_pytorchs(void **state)
{
    (void)state;
    assert_int_equal(each(all_graphs, "PyTorch", check_pytorch), 3);
}

/* ---- ONNX, on the device ---- */

static vkt_gpu *gpu;

/* A model without weights has nothing to import. */
static void import(vkt_model *m, const json_t *tensors)
{
    vkt__st_tensor list[MOST_TENSORS];
    const char *name;
    json_t *entry;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)tensors, name, entry)
    {
        vkt_shape s = shape_of(entry);
        uint64_t count = vkt_shape_count(s);
        float *data = vkt__alloc(count * sizeof *data);
        for (uint64_t i = 0; i < count; i++)
            data[i] = (float)item(json_object_get(entry, "data"), i);
        assert_true(n < MOST_TENSORS);
        list[n] = (vkt__st_tensor) { .name = name, .dtype = "F32", .rank = s.rank, .data = data };
        for (uint32_t d = 0; d < s.rank; d++) list[n].shape[d] = s.d[d];
        n++;
    }
    if (n) {
        REQUIRE_OK(vkt__safetensors_write(WEIGHTS, list, n, NULL, 0, NULL));
        vkt__weights w;
        REQUIRE_OK(vkt__weights_create(m, NULL, &w));
        REQUIRE_OK(vkt__weights_download(gpu, m, NULL, &w));
        REQUIRE_OK(vkt__weights_import(WEIGHTS, w.model, w.n_model, (vkt__import_how) { 0 }));
        REQUIRE_OK(vkt__weights_upload(gpu, m, NULL, &w));
        vkt__weights_finish(&w);
    }
    for (size_t i = 0; i < n; i++) free(list[i].data);
}

/* The package's outputs are float32 themselves: both sides round sums of as many terms as an input
 * has elements. */
static void check_onnx(const json_t *c)
{
    const json_t *data = json_object_get(json_object_get(c, "x"), "data"),
                 *want = json_object_get(c, "out");
    size_t n_x = json_array_size(data), n_y = json_array_size(want);
    float *x = vkt__alloc(n_x * sizeof *x), *y = vkt__alloc(n_y * sizeof *y);
    vkt_model *m = model_of(gpu, c);
    vkt_buffer *buf;
    double rms = 0;
    REQUIRE_OK(vkt_model_init(m, 1));
    import(m, json_object_get(c, "tensors"));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *in = vkt_input(g, shape_of(json_object_get(c, "x")), VKT_F32, "x");
    REQUIRE_OK(vkt_buffer_create(gpu, &(vkt_buffer_desc) { n_x * 4, VKT_MEM_DEVICE, "x" }, &buf));
    vkt_bind(in, VKT_ALL_SLOTS, buf, 0);
    vkt_tensor *out = vkt_model_build(m, g, in, false);
    vkt_keep(out, "out");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "test" }));
    for (size_t i = 0; i < n_x; i++) x[i] = (float)item(data, i);
    REQUIRE_OK(vkt_tensor_write(in, 0, x, n_x * 4));
    REQUIRE_OK(vkt_graph_run(g));
    REQUIRE_OK(vkt_tensor_read(out, 0, y, n_y * 4));
    for (size_t i = 0; i < n_y; i++) rms += item(want, i) * item(want, i) / (double)n_y;
    double terms = (double)n_x / shape_of(json_object_get(c, "x")).d[0];
    for (size_t i = 0; i < n_y; i++) {
        double limit = 2 * vkt__tol(VKT_F32, terms) * (fabs(item(want, i)) + sqrt(rms));
        if (fabs((double)y[i] - item(want, i)) <= limit) continue;
        fail_msg("%s: out[%zu] is %.9g, ONNX's %.9g, limit %.3g",
                 json_string_value(json_object_get(c, "name")), i, (double)y[i], item(want, i),
                 limit);
    }
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &buf);
    vkt_model_destroy(&m);
    free(x);
    free(y);
}

static void imported_onnx_layers_give_their_outputs(void **state)
{
    (void)state;
    vkt_gpu_desc desc = test_gpu_desc("");
    vkt_log_set(NULL, NULL, VKT_LOG_ERROR); /* no warnings that counters are missing */
    REQUIRE_OK(vkt_gpu_create(&desc, &gpu));
    assert_int_equal(each(all_layers, "ONNX", check_onnx), 22);
    vkt_gpu_destroy(&gpu);
    remove(WEIGHTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(layers_are_pytorchs),
                                        cmocka_unit_test(blocks_of_vision_models_are_pytorchs),
                                        cmocka_unit_test(graphs_are_pytorchs),
                                        cmocka_unit_test(imported_onnx_layers_give_their_outputs) };
    all_layers = json_load_file(test_file("golden/layers.json"), 0, NULL);
    all_vision = json_load_file(test_file("golden/vision.json"), 0, NULL);
    all_graphs = json_load_file(test_file("golden/graph.json"), 0, NULL);
    if (!all_layers || !all_vision || !all_graphs) return 1;
    int failed = cmocka_run_group_tests_name("golden_layers", tests, NULL, NULL);
    json_decref(all_layers);
    json_decref(all_vision);
    json_decref(all_graphs);
    return failed;
}
