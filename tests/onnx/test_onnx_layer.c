/* The layer "onnx": the golden nets as models that take our pictures, [H, W, C], give PyTorch's
 * outputs; parameters have its names; bad files and recipes get one line. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>

#ifndef _WIN32
#include <unistd.h>
#endif

#include "base/os.h"
#include "formats/protobuf.h"
#include "nn/onnx_net.h"
#include "onnx/onnx_read.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "models/onnx_back.h"
#include "testing.h"

#define GOLDEN VKT_TEST_DIR "/golden/onnx/"
#define CUT(...)                                                                                   \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static char line[400];

static void keep_line(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user, (void)area;
    if (level == VKT_LOG_ERROR) snprintf(line, sizeof line, "%s", text);
}

static vkt_status make(const vkt_layer *layers, size_t n, vkt_shape in, uint32_t outputs,
                       vkt_model **m)
{
    vkt_model_desc d = { .layers = layers, .n_layers = n, .input = in, .n_outputs = outputs };
    *line = 0;
    return vkt_model_create(NULL, &d, m);
}

static const vkt_param *param_of(const vkt_model *m, const char *name)
{
    const vkt_param *p;
    for (size_t i = 0; (p = vkt_model_param(m, i)); i++)
        if (!strcmp(p->name, name)) return p;
    for (size_t i = 0; (p = vkt_model_state(m, i)); i++)
        if (!strcmp(p->name, name)) return p;
    return NULL;
}

/* ---- outputs ---- */

typedef struct run {
    vkt_model *m;
    vkt_graph *g;
    vkt_tensor *x, *y;
    vkt__onnx_tensor in, out;
    double worst;
    size_t seen;
} run;

static void fill(void *user, const vkt_tensor *t, double *data)
{
    run *r = user;
    if (t == r->x) { /* [N, C, H, W] to [N, H, W, C] */
        uint64_t c = r->in.dims[1], hw = r->in.dims[2] * r->in.dims[3];
        for (uint64_t i = 0; i < r->in.count; i++)
            data[(i / (c * hw) * hw + i % hw) * c + i / hw % c] = vkt__onnx_number(&r->in, i);
        return;
    }
    for (size_t i = 0; i < r->m->n_params + r->m->n_states; i++) {
        const vkt__param *p =
            i < r->m->n_params ? &r->m->params[i] : &r->m->states[i - r->m->n_params];
        if (!t->name || strcmp(t->name, p->pub.name) != 0 || !p->fill) continue;
        float *v = vkt__alloc((size_t)p->pub.count * sizeof *v);
        p->fill(p, v);
        for (uint64_t k = 0; k < p->pub.count; k++) data[k] = (double)v[k];
        free(v);
    }
}

static void look(void *user, const vkt_tensor *t, const double *data)
{
    run *r = user;
    if (t != r->y) return;
    assert_int_equal(t->count, r->out.count);
    for (uint64_t i = 0; i < t->count; i++)
        r->worst = fmax(r->worst, fabs(data[i] - vkt__onnx_number(&r->out, i)));
    r->seen++;
}

static void read_pb(vkt__onnx *f, const char *path, vkt__map *map, vkt__onnx_tensor *t)
{
    assert_int_equal(vkt__file_map(path, map), VKT_OK);
    vkt__pb all = { map->data, (const uint8_t *)map->data + map->n };
    assert_int_equal(vkt__onnx_read_tensor(f, all, NULL, t), VKT_OK);
}

static void a_picture_with_channels_last(void **state)
{
    (void)state;
    run r = { 0 };
    vkt__map maps[2];
    const vkt_layer net = { .type = "onnx", .file = GOLDEN "picture/model.onnx" };
    assert_int_equal(make(&net, 1, vkt_shape3(8, 8, 3), 4, &r.m), VKT_OK);
    vkt__onnx *f = vkt__onnx_net_of(r.m)->f;
    read_pb(f, GOLDEN "picture/input_0.pb", &maps[0], &r.in);
    read_pb(f, GOLDEN "picture/output_0.pb", &maps[1], &r.out);
    r.g = vkt__graph_new(NULL);
    r.x = vkt_input(r.g, (vkt_shape) { 4, { 2, 8, 8, 3 } }, VKT_F32, "x");
    r.y = vkt_model_build(r.m, r.g, r.x, false);
    assert_int_equal(r.g->status, VKT_OK);
    vkt__graph_ref(r.g, fill, &r, look);
    assert_int_equal(r.seen, 1);
    REQUIRE_NEAR(r.worst, 0, 1e-6);
    for (size_t i = 0; i < r.g->n_nodes; i++)
        assert_string_not_equal(r.g->nodes[i]->op->name, "permute"); /* nothing is moved */
    vkt_graph_destroy(&r.g);
    vkt_model_destroy(&r.m);
    for (int i = 0; i < 2; i++) vkt__file_unmap(&maps[i]);
}

static void names_and_roles(void **state)
{
    (void)state;
    vkt_model *m;
    const vkt_layer layers[] = { { .type = "onnx", .file = GOLDEN "picture/model.onnx" },
                                 { .type = "linear" } };
    assert_int_equal(make(layers, 2, vkt_shape3(8, 8, 3), 7, &m), VKT_OK);
    const vkt_param *w = param_of(m, "conv1.weight"), *mean = param_of(m, "norm1.running_mean");
    assert_non_null(w);
    assert_int_equal(w->order, VKT_PARAM_ORDER_CONV);
    assert_non_null(mean);
    assert_non_null(param_of(m, "norm1.running_mean.num_batches_tracked"));
    assert_non_null(param_of(m, "1.weight"));
    for (size_t i = 0; vkt_model_param(m, i); i++)
        assert_ptr_not_equal(vkt_model_param(m, i), mean);
    vkt_model_destroy(&m);
}

/* The exporter wrote a norm's bias and its mean, both zeros, as one tensor. */
static void equal_tensors_are_several(void **state)
{
    (void)state;
    vkt_model *m;
    const vkt_layer net = { .type = "onnx", .file = GOLDEN "fresh/model.onnx" };
    assert_int_equal(make(&net, 1, vkt_shape3(4, 4, 1), 3, &m), VKT_OK);
    assert_int_equal(m->n_params, 5);
    assert_int_equal(m->n_states, 4); /* mean, variance, batches, indices */
    assert_non_null(param_of(m, "norm.running_mean"));
    assert_non_null(param_of(m, "norm.bias"));
    vkt_model_destroy(&m);
}

/* Whether a graph that was written has an initializer of a name of one letter. */
static bool has(const vkt__str *graph, char name)
{
    const char field[] = { 8 << 3 | 2, 1, name };
    for (size_t i = 0; i + sizeof field <= graph->len; i++)
        if (!memcmp(graph->data + i, field, sizeof field)) return true;
    return false;
}

/* Only what the cut and the branch that is taken need is trained. A call and an If are written back
 * whole, with what the rest of them takes. */
static void a_cut_is_written_back_whole(void **state)
{
    (void)state;
    vkt_model *m;
    vkt__str graph = { 0 };
    vkt_layer layers[] = {
        { .type = "onnx", .file = GOLDEN "several/model.onnx", .cut = CUT("z"), .n_cut = 1 },
        { .type = "linear" },
    };
    assert_int_equal(make(layers, 2, vkt_shape1(4), 3, &m), VKT_OK);
    assert_true(param_of(m, "w") && param_of(m, "p"));
    for (const char *p = "uvqm"; *p; p++) assert_null(param_of(m, (char[]) { *p, 0 }));
    vkt__onnx_back_graph(vkt__onnx_net_of(m), &(vkt__weights) { 0 }, false, &graph);
    for (const char *p = "wpuvq"; *p; p++) assert_true(has(&graph, *p));
    assert_false(has(&graph, 'm'));
    vkt__str_finish(&graph);
    vkt_model_destroy(&m);
}

/* A cut at a picture gives one that layers for pictures take. */
static void cut_at_a_picture(void **state)
{
    (void)state;
    vkt_model *m;
    const vkt_layer layers[] = {
        { .type = "onnx",
          .file = GOLDEN "picture/model.onnx",
          .cut = CUT("/conv2/Conv"),
          .n_cut = 1,
          .name = "net" },
        { .type = "conv", .out = 5 },
        { .type = "global_pool" },
        { .type = "linear" },
    };
    assert_int_equal(make(layers, 4, vkt_shape3(8, 8, 3), 2, &m), VKT_OK);
    assert_non_null(param_of(m, "net.conv2.weight"));
    assert_null(param_of(m, "net.out.weight")); /* what is behind the cut */
    assert_int_equal(param_of(m, "1.weight")->shape.d[1], 8);
    vkt_model_destroy(&m);
}

static void refusals(void **state)
{
    (void)state;
    static const char *const nowhere[] = { "nowhere" };
    static const struct {
        vkt_layer layer;
        vkt_shape in;
        const char *says;
    } cases[] = {
        { { .type = "onnx" }, { 1, { 5 } }, "it lacks its file" },
        { { .type = "onnx", .file = GOLDEN "mlp/model.onnx" }, { 1, { 6 } }, "takes [N, 5]" },
        { { .type = "onnx", .file = GOLDEN "mlp/model.onnx", .cut = nowhere, .n_cut = 1 },
          { 1, { 5 } },
          "no node and no value has the name 'nowhere'" },
        { { .type = "onnx", .file = GOLDEN "picture/model.onnx", .layout = "nhwc" },
          { 3, { 8, 8, 3 } },
          "the net takes [N, 3, 8, 8]" },
        { { .type = "onnx", .file = GOLDEN "mlp/input_0.pb" }, { 1, { 5 } }, "it is no ONNX file" },
        { { .type = "onnx", .file = GOLDEN "node_gemm_all_attributes/model.onnx" },
          { 1, { 5 } },
          "the net takes 3 inputs ('a', 'b', 'c')" },
        { { .type = "onnx",
            .file = GOLDEN "node_gemm_all_attributes/model.onnx",
            .inputs = "a=1, c=2, a=3" },
          { 1, { 5 } },
          "inputs: 'a' is there twice" },
        { { .type = "onnx",
            .file = GOLDEN "node_gemm_all_attributes/model.onnx",
            .inputs = "a=1e39" },
          { 1, { 5 } },
          "inputs: 'a' is of float, and 1e+39 is none" },
    };
    vkt_log_set(keep_line, NULL, VKT_LOG_ERROR);
    /* A run's file is known by its sum. */
    vkt_layer own = { .type = "onnx", .file = GOLDEN "mlp/model.onnx" };
    vkt_model *model;
    char sum[VKT__ONNX_SUM];
    assert_int_equal(make(&own, 1, vkt_shape1(5), 3, &model), VKT_OK);
    vkt__onnx_sum(vkt__onnx_net_of(model)->f, sum);
    vkt_model_destroy(&model);
    own.sum = sum;
    assert_int_equal(make(&own, 1, vkt_shape1(5), 3, &model), VKT_OK);
    vkt_model_destroy(&model);
    sum[3] = sum[3] == '0' ? '1' : '0';
    assert_int_not_equal(make(&own, 1, vkt_shape1(5), 3, &model), VKT_OK);
    assert_non_null(strstr(line, "is not the file that the run began with"));
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_model *m;
        assert_int_not_equal(make(&cases[i].layer, 1, cases[i].in, 3, &m), VKT_OK);
        if (!strstr(line, cases[i].says)) {
            print_error("case %zu: '%s' lacks '%s'\n", i, line, cases[i].says);
            fail();
        }
    }
}

/* ---- inputs beside the example ---- */

/* y = x + m, where nothing takes `u`; sizes: "N", "?", or numbers, with a space between them. */
static vkt__str sum_of(const char *x, const char *m, int m_type)
{
    const char *names[] = { "x", "m", "u" }, *sizes[] = { x, m, "1" };
    vkt__str model = { 0 }, g = { 0 }, n = { 0 }, dim = { 0 }, shape = { 0 }, type = { 0 };
    vkt__pb_text(&n, 1, "x");
    vkt__pb_text(&n, 1, "m");
    vkt__pb_text(&n, 2, "y");
    vkt__pb_text(&n, 4, "Add");
    vkt__pb_message(&g, 1, &n);
    for (int i = 0; i < 3; i++) {
        char text[64];
        snprintf(text, sizeof text, "%s", sizes[i]);
        for (char *one = strtok(text, " "); one; one = strtok(NULL, " ")) {
            if (*one >= '0' && *one <= '9')
                vkt__pb_int(&dim, 1, atoi(one));
            else if (*one != '?')
                vkt__pb_text(&dim, 2, one);
            vkt__pb_message(&shape, 1, &dim);
        }
        vkt__pb_int(&type, 1, i == 1 ? m_type : VKT__ONNX_FLOAT);
        vkt__pb_message(&type, 2, &shape);
        vkt__pb_message(&n, 1, &type); /* TypeProto */
        vkt__pb_text(&dim, 1, names[i]);
        vkt__pb_message(&dim, 2, &n);
        vkt__pb_message(&g, 11, &dim);
    }
    vkt__pb_text(&n, 1, "y");
    vkt__pb_message(&g, 12, &n);
    vkt__pb_message(&model, 7, &g);
    vkt__pb_int(&n, 2, 17);
    vkt__pb_message(&model, 8, &n);
    vkt__str_finish(&g);
    vkt__str_finish(&n);
    vkt__str_finish(&dim);
    vkt__str_finish(&shape);
    vkt__str_finish(&type);
    return model;
}

static void numbers_beside_the_example(void **state)
{
    (void)state;
    static const struct {
        const char *x, *m, *pairs, *says; /* NULL: its sizes are these, 0: not known */
        int type;
        uint64_t dims[2];
    } cases[] = {
        { "N 3", "N 3", "m=1", NULL, VKT__ONNX_FLOAT, { 7, 3 } },
        { "N 3", "M 3", "m=1", NULL, VKT__ONNX_FLOAT, { 0 } },
        { "? 3", "? 3", "m=1", NULL, VKT__ONNX_FLOAT, { 7, 3 } },
        { "N 3", "? 3", "m=1", NULL, VKT__ONNX_FLOAT, { 7, 3 } },
        { "2 3", "2 3", "m=1", NULL, VKT__ONNX_FLOAT, { 2, 3 } },
        { "2 3", "M 3", "m=1", NULL, VKT__ONNX_FLOAT, { 0 } },
        { "T N", "N 3", "m=1", NULL, VKT__ONNX_FLOAT, { 3, 3 } },
        { "N 3", "N 3", "m=0.5", "'m' is of int64, and 0.5 is none", VKT__ONNX_INT64, { 0 } },
        { "N 3", "N 3", "m=1e16", "'m' is of int64, and 1e+16 is none", VKT__ONNX_INT64, { 0 } },
        { "N 3", "N 3", "m=1, u=1", "nothing of the net takes 'u'", VKT__ONNX_FLOAT, { 0 } },
        { "N 3", "4096 8192", "m=1", "its input 'm' [4096, 8192]", VKT__ONNX_FLOAT, { 0 } },
    };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt__str m = sum_of(cases[i].x, cases[i].m, cases[i].type);
        const int64_t dims[VKT__ONNX_RANK] = { 7, 3 };
        vkt__onnx_feed feeds[3];
        vkt__onnx_plan *p;
        vkt__onnx *f;
        size_t example;
        vkt__arena a = { 0 };
        REQUIRE_OK(vkt__onnx_parse(m.data, m.len, "f.onnx", NULL, &f));
        REQUIRE_OK(vkt__onnx_plan_create(f, NULL, 0, &p));
        const char *why = vkt__onnx_feeds(p, cases[i].pairs, feeds, &example, &a);
        if (!why != !cases[i].says || (why && !strstr(why, cases[i].says))) {
            print_error("case %zu: '%s' lacks '%s'\n", i, why, cases[i].says);
            fail();
        }
        const vkt__onnx_tensor *t = why ? NULL : vkt__onnx_fed(f, 1, &feeds[1], 0, dims, &why, &a);
        assert_int_equal(t != NULL, cases[i].dims[0] > 0);
        if (t) assert_memory_equal(t->dims, cases[i].dims, sizeof cases[i].dims);
        vkt__arena_finish(&a);
        vkt__onnx_plan_destroy(&p);
        vkt__onnx_close(&f);
        vkt__str_finish(&m);
    }
}

/* ---- files that lie ---- */

static vkt__onnx_role role; /* of the initializer */
static const char *tail;    /* the node behind the one that is parsed; or NULL */

/* A model of one node, whose second input is the initializer "w", and perhaps of a tail. */
static vkt_status parse(const char *node_type, vkt__str *tensor, int64_t opset, const char *in,
                        const char *folder)
{
    vkt__str m = { 0 }, g = { 0 }, n = { 0 }, o = { 0 };
    vkt__onnx *f;
    vkt__onnx_plan *p = NULL;
    vkt__pb_text(&n, 1, in);
    vkt__pb_text(&n, 1, "w");
    vkt__pb_text(&n, 2, tail ? "h" : "y");
    vkt__pb_text(&n, 4, node_type);
    vkt__pb_message(&g, 1, &n);
    if (tail) {
        vkt__pb_text(&n, 1, "h");
        vkt__pb_text(&n, 2, "y");
        vkt__pb_text(&n, 4, tail);
        vkt__pb_message(&g, 1, &n);
    }
    vkt__pb_message(&g, 5, tensor);
    vkt__pb_text(&o, 1, "x");
    vkt__pb_message(&g, 11, &o);
    vkt__pb_text(&o, 1, "y");
    vkt__pb_message(&g, 12, &o);
    vkt__pb_message(&m, 7, &g);
    vkt__pb_int(&o, 2, opset);
    vkt__pb_message(&m, 8, &o);
    *line = 0;
    vkt_status st = vkt__onnx_parse(m.data, m.len, "f.onnx", folder, &f);
    if (st == VKT_OK) {
        st = vkt__onnx_plan_create(f, NULL, 0, &p);
        if (p) role = p->roles[0];
        vkt__onnx_plan_destroy(&p);
        vkt__onnx_close(&f);
    }
    vkt__str_finish(&m);
    vkt__str_finish(&g);
    vkt__str_finish(&n);
    vkt__str_finish(&o);
    vkt__str_finish(tensor);
    return st;
}

static vkt__str tensor_of(const int64_t *dims, size_t rank, int type, size_t bytes)
{
    static const char zeros[64];
    vkt__str t = { 0 };
    for (size_t i = 0; i < rank; i++) vkt__pb_int(&t, 1, dims[i]);
    vkt__pb_int(&t, 2, type);
    vkt__pb_text(&t, 8, "w");
    vkt__pb_bytes(&t, 9, zeros, bytes);
    return t;
}

static vkt__str elsewhere(const char *location)
{
    vkt__str t = { 0 }, e = { 0 };
    vkt__pb_int(&t, 1, 2);
    vkt__pb_int(&t, 2, VKT__ONNX_FLOAT);
    vkt__pb_text(&t, 8, "w");
    vkt__pb_text(&e, 1, "location");
    vkt__pb_text(&e, 2, location);
    vkt__pb_message(&t, 13, &e);
    vkt__pb_int(&t, 14, 1);
    vkt__str_finish(&e);
    return t;
}

static void says(vkt_status st, vkt_status want, const char *what)
{
    if (st == want && strstr(line, what)) return;
    print_error("status %d: '%s' lacks '%s'\n", st, line, what);
    fail();
}

static void files_that_lie(void **state)
{
    (void)state;
    const int64_t two[] = { 2 }, huge[] = { 1ll << 40, 1ll << 40 }, minus[] = { -1 },
                  many[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    vkt__str t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    vkt_log_set(keep_line, NULL, VKT_LOG_ERROR);
    assert_int_equal(parse("Relu", &t, 17, "x", NULL), VKT_OK);
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 12);
    says(parse("Relu", &t, 17, "x", NULL), VKT_E_FORMAT, "12 bytes of data, but its sizes say 8");
    t = tensor_of(huge, 2, VKT__ONNX_FLOAT, 8);
    says(parse("Relu", &t, 17, "x", NULL), VKT_E_FORMAT, "more elements than 64 bits count");
    t = tensor_of(minus, 1, VKT__ONNX_FLOAT, 8);
    says(parse("Relu", &t, 17, "x", NULL), VKT_E_FORMAT, "negative size");
    t = tensor_of(many, 9, VKT__ONNX_FLOAT, 4);
    says(parse("Relu", &t, 17, "x", NULL), VKT_E_FORMAT, "more than 8 dimensions");
    t = tensor_of(two, 1, 99, 8);
    says(parse("Relu", &t, 17, "x", NULL), VKT_E_FORMAT, "type 99");
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    says(parse("Relu", &t, 17, "nobody", NULL), VKT_E_FORMAT, "which nothing before it gives");
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    says(parse("Relu", &t, 17, "y", NULL), VKT_E_FORMAT, "which nothing before it gives");
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    says(parse("Relu", &t, 5, "x", NULL), VKT_E_FORMAT, "opset 5");
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    says(parse("Loop", &t, 17, "x", NULL), VKT_E_UNSUPPORTED,
         "1 of its nodes have ops that are not supported: Loop (1: how often a loop's body runs is "
         "not known before the net runs)");
    t = elsewhere("../w.bin");
    says(parse("Relu", &t, 17, "x", VKT_TEST_DIR), VKT_E_FORMAT,
         "only a file in the model's folder");
    t = elsewhere("a/../../w.bin");
    says(parse("Relu", &t, 17, "x", VKT_TEST_DIR), VKT_E_FORMAT,
         "only a file in the model's folder");
    t = elsewhere("/etc/hostname");
    says(parse("Relu", &t, 17, "x", VKT_TEST_DIR), VKT_E_FORMAT,
         "only a file in the model's folder");
#ifndef _WIN32
    (void)unlink("test_onnx_link");
    assert_int_equal(symlink(VKT_TEST_DIR "/golden/onnx", "test_onnx_link"), 0);
    t = elsewhere("test_onnx_link/mlp/input_0.pb");
    says(parse("Relu", &t, 17, "x", "."), VKT_E_FORMAT, "only a file in the model's folder");
    assert_int_equal(unlink("test_onnx_link"), 0);
#endif
    t = elsewhere("golden/onnx/mlp/input_0.pb");
    assert_int_equal(parse("Relu", &t, 17, "x", VKT_TEST_DIR), VKT_OK);
}

/* The second of two nodes gives what the first takes, as converters to float16 write it. */
static void nodes_out_of_order(void **state)
{
    (void)state;
    vkt__str m = { 0 }, g = { 0 }, n = { 0 }, o = { 0 };
    const char *const nodes[2][3] = { { "a", "y", "Relu" }, { "x", "a", "Exp" } };
    vkt__onnx *f;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) vkt__pb_text(&n, (uint32_t)(k + 1), nodes[i][k]);
        vkt__pb_text(&n, 4, nodes[i][2]);
        vkt__pb_message(&g, 1, &n);
    }
    vkt__pb_text(&o, 1, "x");
    vkt__pb_message(&g, 11, &o);
    vkt__pb_text(&o, 1, "y");
    vkt__pb_message(&g, 12, &o);
    vkt__pb_message(&m, 7, &g);
    vkt__pb_int(&o, 2, 17);
    vkt__pb_message(&m, 8, &o);
    assert_int_equal(vkt__onnx_parse(m.data, m.len, "f.onnx", NULL, &f), VKT_OK);
    assert_string_equal(f->nodes[0].type, "Exp");
    assert_int_equal(f->nodes[0].at, 1);
    assert_int_equal(f->nodes[1].at, 0);
    vkt__onnx_close(&f);
    vkt__str_finish(&m);
    vkt__str_finish(&g);
    vkt__str_finish(&n);
    vkt__str_finish(&o);
}

static void single_numbers(void **state)
{
    (void)state;
    const int64_t one[] = { 1 }, two[] = { 2 };
    vkt__str t = tensor_of(NULL, 0, VKT__ONNX_FLOAT, 4);
    assert_int_equal(parse("Add", &t, 17, "x", NULL), VKT_OK);
    assert_int_equal(role, VKT__ONNX_HOST);
    t = tensor_of(one, 1, VKT__ONNX_FLOAT, 4);
    assert_int_equal(parse("Mul", &t, 17, "x", NULL), VKT_OK);
    assert_int_equal(role, VKT__ONNX_HOST); /* a factor */
    t = tensor_of(one, 1, VKT__ONNX_FLOAT, 4);
    assert_int_equal(parse("Add", &t, 17, "x", NULL), VKT_OK);
    assert_int_equal(role, VKT__ONNX_PARAM); /* a bias */
    t = tensor_of(two, 1, VKT__ONNX_INT64, 16);
    assert_int_equal(parse("Add", &t, 17, "x", NULL), VKT_OK);
    assert_int_equal(role, VKT__ONNX_HOST);
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    assert_int_equal(parse("Mul", &t, 17, "x", NULL), VKT_OK);
    assert_int_equal(role, VKT__ONNX_PARAM);
    t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
    assert_int_equal(parse("Less", &t, 17, "x", NULL), VKT_OK);
    assert_int_equal(role, VKT__ONNX_HOST); /* no gradient comes to it */
    static const char *const tails[] = { "ArgMax", "Round", "Not", "Relu" };
    for (size_t i = 0; i < VKT_COUNT(tails); i++) { /* what ends so has parameters nevertheless */
        tail = tails[i];
        t = tensor_of(two, 1, VKT__ONNX_FLOAT, 8);
        assert_int_equal(parse("Mul", &t, 17, "x", NULL), VKT_OK);
        assert_int_equal(role, VKT__ONNX_PARAM);
    }
    tail = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_picture_with_channels_last),
        cmocka_unit_test(names_and_roles),
        cmocka_unit_test(equal_tensors_are_several),
        cmocka_unit_test(single_numbers),
        cmocka_unit_test(a_cut_is_written_back_whole),
        cmocka_unit_test(cut_at_a_picture),
        cmocka_unit_test(refusals),
        cmocka_unit_test(numbers_beside_the_example),
        cmocka_unit_test(files_that_lie),
        cmocka_unit_test(nodes_out_of_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
