/* Ten GPUs that are not here, as tests/files/devices describes them: which kernel each product,
 * convolution and attention of four recipes gets there where nothing was tuned, as in
 * tests/golden/kernels.txt. Whoever means to change a choice writes the file again,
 * `test_device_profiles print > tests/golden/kernels.txt`, and shows what changed. A file that is
 * no profile is refused. `test_device_profiles costs` is for tools/estimate. */
#define DIR "test_device_profiles_dir"
#include "device_profiles.h"
#include "own_folder.h"

#include "base/os.h"
#include "data/synthetic.h"
#include "gpu/commands.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/passes/rewrite.h"
#include "tensor/twins/attention_twin.h"
#include "train/session.h"

static const struct {
    const char *recipe;
    uint32_t context, side, channels, outputs;
    const char *precision;
} models[] = {
    { "gpt2-124m", 1024, 0, 0, 50257, "fp32" }, { "gpt2-124m", 1024, 0, 0, 50257, "bf16" },
    { "gpt2-124m", 1024, 0, 0, 50257, "fp16" }, { "smollm2-135m", 2048, 0, 0, 49152, "bf16" },
    { "resnet18", 0, 224, 3, 1000, "bf16" },    { "fashion-resnet20", 0, 28, 1, 10, "bf16" },
};

enum { GPT2_BF16 = 1 };

/* ---- the list: under each kind of node its kernels, and the devices that run them ---- */

typedef struct {
    char kernel[96], devices[160];
} choice;
typedef struct {
    char node[128];
    choice choices[48]; /* kernels */
    size_t n;
} row;
typedef struct {
    row rows[128];
    size_t n;
} list;

static void node_text(const vkt_node *n, char out[128])
{
    if (vkt__is_conv(n)) {
        vkt__conv_geometry q = vkt__conv_geometry_of(n);
        snprintf(out, 128, "%s %ux%u/%u, %u x [%u, %u, %u] and [%u, %u, %u], %s", n->op->name,
                 q.attr->conv.kh, q.attr->conv.kw, q.attr->conv.stride, q.n, q.h, q.w, q.c, q.oh,
                 q.ow, q.co,
                 vkt_dtype_name(q.attr->conv.multiply ? q.attr->conv.multiply : n->in[0]->dtype));
    } else if (!strncmp(n->op->name, "attention", 9)) {
        const uint32_t *d = n->in[0]->shape.d;
        snprintf(out, 128, "%s %u x %u tokens, %u heads of %u, %s", n->op->name, d[0], d[1],
                 n->attr.attention.heads, n->attr.attention.head,
                 vkt_dtype_name(n->attr.attention.multiply));
    } else {
        vkt__product p = vkt__product_of(n);
        snprintf(out, 128, "%s %s %u x %u x %u, %s to %s", n->op->name, vkt_layout_name(p.layout),
                 p.M, p.N, p.K, vkt_dtype_name(p.in), vkt_dtype_name(p.out));
        if (n->attr.matmul.slices)
            snprintf(out + strlen(out), 128 - strlen(out), ", %u slices", n->attr.matmul.slices);
    }
}

static void add(list *l, const char *node, const char *kernel, const char *device)
{
    size_t i = 0, k = 0;
    while (i < l->n && strcmp(l->rows[i].node, node) != 0) i++;
    assert_true(i < VKT_COUNT(l->rows));
    row *r = &l->rows[i];
    if (i == l->n) snprintf(l->rows[l->n++].node, sizeof r->node, "%s", node);
    while (k < r->n && strcmp(r->choices[k].kernel, kernel) != 0) k++;
    assert_true(k < VKT_COUNT(r->choices));
    choice *c = &r->choices[k];
    if (k == r->n) snprintf(r->choices[r->n++].kernel, sizeof c->kernel, "%s", kernel);
    size_t at = strlen(c->devices), n = strlen(device);
    if (at >= n && !strcmp(c->devices + at - n, device)) return;
    snprintf(c->devices + at, sizeof c->devices - at, " %s", device);
}

/* ---- a product of 16 bits on a device whose matrix units multiply that type; but few rows, which
 * are bound by reading ---- */

static char scalar[4096];

/* Once for each kind of node. */
static void look_for_scalar(const vkt_node *n, const vkt_caps *c, const char *node,
                            const char *kernel, const char *device)
{
    if (strncmp(n->op->name, "matmul", 6) != 0) return;
    vkt__product p = vkt__product_of(n);
    bool has = (p.in == VKT_BF16 && c->coopmat_bf16[0]) || (p.in == VKT_F16 && c->coopmat_f16[0]);
    if (!has || p.M <= 8 || !strncmp(kernel, "matrix", 6)) return;
    char line[256];
    snprintf(line, sizeof line, "%s on %s: %s\n", node, device, kernel);
    if (!strstr(scalar, line))
        snprintf(scalar + strlen(scalar), sizeof scalar - strlen(scalar), "%s", line);
}

/* ---- a product or attention on less than the largest tiles of matrix units: none of GPT-2's on a
 * device as large as an H100 ---- */

static char small[4096];

static void look_for_small(const list *l)
{
    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->rows[i].n; k++) {
            const choice *c = &l->rows[i].choices[k];
            bool attention = !strncmp(l->rows[i].node, "attention", 9);
            if (!strstr(c->devices, "h100") ||
                !strncmp(c->kernel, attention ? "matrix" : "matrix.128x128", attention ? 6 : 14))
                continue;
            snprintf(small + strlen(small), sizeof small - strlen(small), "%s: %s\n",
                     l->rows[i].node, c->kernel);
        }
}

/* ---- the models, planned ---- */

/* The recipe, but where `few` a transformer's layers, which are alike, are 2: a twelfth of the
 * time.
 */
static void load(vkt_config *c, const char *recipe, bool few)
{
    const char *name, *description, *text = NULL, *at;
    vkt__str s = { 0 };
    for (size_t i = 0; vkt_recipe(i, &name, &description, &text); i++)
        if (!strcmp(name, recipe)) break;
    assert_string_equal(name, recipe);
    at = few ? strstr(text, "      layers: ") : NULL;
    if (at) vkt__str_printf(&s, "%.*s      layers: 2\n", (int)(at - text), text);
    at = at ? strchr(at, '\n') + 1 : text;
    vkt__str_printf(&s, "%s", at);
    REQUIRE_OK(vkt_config_parse(c, s.data, s.len, recipe));
    vkt__str_finish(&s);
}

/* ---- what the tuner tries of a product, in its order ---- */

static void collect_tried(list *l, const vkt_graph *g, const vkt_caps *c, const char *device)
{
    for (size_t i = 0; g && i < g->n_nodes; i++) {
        char node[128];
        uint32_t k;
        if (strncmp(g->nodes[i]->op->name, "matmul", 6) != 0 || !g->nodes[i]->op->kernel) continue;
        vkt__product p = vkt__product_of(g->nodes[i]);
        node_text(g->nodes[i], node);
        for (uint32_t n = 0; (k = vkt__matmul_candidate(c, &p, false, n)); n++)
            add(l, node, vkt__matmul_kernel_name(k), device);
    }
}

static void collect(list *l, const vkt_graph *g, const vkt_caps *c, const char *device)
{
    for (size_t i = 0; g && i < g->n_nodes; i++) {
        char node[128];
        vkt__str kernel = { 0 };
        if (!g->nodes[i]->op->kernel) continue;
        node_text(g->nodes[i], node);
        vkt__tell_kernel(g->nodes[i], &kernel);
        add(l, node, kernel.data, device);
        look_for_scalar(g->nodes[i], c, node, kernel.data, device);
        vkt__str_finish(&kernel);
    }
}

/* What each op of a training step costs: a line of level, op, kernel, flops, bytes. */
static void tell_costs(const vkt_graph *g, const char *device, size_t model)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const vkt_node *n = g->nodes[i];
        vkt_cost c = vkt__node_cost(n);
        vkt__str kernel = { 0 };
        vkt__tell_kernel(n, &kernel);
        printf("%s\t%s\t%s\t%u\t%s\t%s\t%.0f\t%.0f\n", device, models[model].recipe,
               models[model].precision, n->level, n->op->name, kernel.len ? kernel.data : "",
               c.flops, c.bytes);
        vkt__str_finish(&kernel);
    }
}

/* l: NULL to tell costs; tried: NULL, or for what the tuner tries. */
static void plan(list *l, list *tried, size_t model, const char *device)
{
    vkt_caps caps;
    vkt_gpu *gpu;
    vkt_config *c;
    vkt_dataset *data;
    vkt__session *s;
    char set[64];
    uint32_t side = models[model].side, shape[] = { side, side, models[model].channels };
    read_device(device, &caps);
    caps.budget_bytes = 1ull << 40; /* what fits is another matter */
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    REQUIRE_OK(vkt_config_create(&c));
    load(c, models[model].recipe, l != NULL);
    snprintf(set, sizeof set, "train.precision=%s", models[model].precision);
    REQUIRE_OK(vkt_config_set(c, set));
    REQUIRE_OK(vkt_config_finish(c));
    if (models[model].context)
        REQUIRE_OK(
            vkt__dataset_synthetic_text(2, models[model].context, models[model].outputs, 5, &data));
    else
        REQUIRE_OK(vkt__dataset_synthetic(2, shape, 3, models[model].outputs, 5, &data));
    REQUIRE_OK(vkt__session_create(gpu, c, data, true, &s));
    if (tried) collect_tried(tried, s->train.graph, vkt_gpu_caps(gpu), device);
    if (l) {
        collect(l, s->train.graph, vkt_gpu_caps(gpu), device);
        collect(l, s->eval.graph, vkt_gpu_caps(gpu), device);
    } else {
        tell_costs(s->train.graph, device, model);
    }
    vkt__session_destroy(&s);
    vkt_dataset_destroy(&data);
    vkt_config_destroy(&c);
    vkt_gpu_destroy(&gpu);
}

/* Products of few rows, which no recipe's graphs have: a token each of several texts, by the layers
 * of gpt2-124m and smollm2-135m. */
static void plan_few(list *l, const char *device)
{
    static const vkt__product few[] = { { VKT_LAYOUT_NN, 2, 2304, 768, VKT_F32, VKT_F32, 0 },
                                        { VKT_LAYOUT_NT, 16, 50257, 768, VKT_F32, VKT_F32, 0 },
                                        { VKT_LAYOUT_NN, 8, 768, 3072, VKT_F32, VKT_F32, 0 },
                                        { VKT_LAYOUT_NT, 1, 1536, 576, VKT_BF16, VKT_F32, 0 },
                                        { VKT_LAYOUT_NT, 8, 1536, 576, VKT_BF16, VKT_F32, 0 },
                                        { VKT_LAYOUT_NT, 9, 1536, 576, VKT_BF16, VKT_F32, 0 } };
    vkt_caps caps;
    vkt_gpu *gpu;
    vkt_buffer *buffer;
    const vkt_buffer_desc all = { 1ull << 28, VKT_MEM_DEVICE, "a and b" };
    read_device(device, &caps);
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    REQUIRE_OK(vkt_buffer_create(gpu, &all, &buffer));
    vkt_graph *g = vkt__graph_new(gpu);
    for (size_t i = 0; i < VKT_COUNT(few); i++) {
        const vkt__product *p = &few[i];
        bool nt = p->layout == VKT_LAYOUT_NT;
        vkt_tensor *a = vkt_input(g, vkt_shape2(p->M, p->K), p->in, "a"),
                   *b = vkt_input(g, nt ? vkt_shape2(p->N, p->K) : vkt_shape2(p->K, p->N), p->in,
                                  "b");
        vkt_bind(a, VKT_ALL_SLOTS, buffer, 0);
        vkt_bind(b, VKT_ALL_SLOTS, buffer, 0);
        vkt_keep(vkt_matmul_as(g, p->layout, a, b, p->out), "c");
    }
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { 0 }));
    collect(l, g, &caps, device);
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &buffer);
    vkt_gpu_destroy(&gpu);
}

static void tell(const list *l, vkt__str *s)
{
    for (size_t i = 0; i < l->n; i++) {
        vkt__str_printf(s, "  %s\n", l->rows[i].node);
        for (size_t k = 0; k < l->rows[i].n; k++)
            vkt__str_printf(s, "    %s:%s\n", l->rows[i].choices[k].kernel,
                            l->rows[i].choices[k].devices);
    }
}

static void kernels(vkt__str *s)
{
    list *l = malloc(sizeof *l), *tried = calloc(1, sizeof *tried);
    scalar[0] = small[0] = 0;
    for (size_t m = 0; m < VKT_COUNT(models); m++) {
        memset(l, 0, sizeof *l);
        for (size_t d = 0; d < VKT_COUNT(devices); d++) {
            bool shown = m == GPT2_BF16 && !strcmp(devices[d], "h100");
            plan(l, shown ? tried : NULL, m, devices[d]);
            if (shown) look_for_small(l);
        }
        vkt__str_printf(s, "%s in %s\n", models[m].recipe, models[m].precision);
        tell(l, s);
    }
    memset(l, 0, sizeof *l);
    for (size_t d = 0; d < VKT_COUNT(devices); d++) plan_few(l, devices[d]);
    vkt__str_printf(s, "few rows\n");
    tell(l, s);
    vkt__str_printf(s, "what the tuner tries, in its order, of gpt2-124m in bf16\n");
    tell(tried, s);
    free(tried);
    free(l);
}

static void real_gpus_get_these_kernels(void **state)
{
    (void)state;
    char *want;
    size_t n, line = 1;
    vkt__str got = { 0 };
    kernels(&got);
    REQUIRE_OK(vkt__file_read(test_file("golden/kernels.txt"), 1 << 20, &want, &n));
    for (char *g = got.data, *w = want; *g || *w; line++) {
        size_t a = strcspn(g, "\n"), b = strcspn(w, "\n");
        if (a != b || memcmp(g, w, a) != 0)
            fail_msg("line %zu is\n%.*s\nand was\n%.*s", line, (int)a, g, (int)b, w);
        g += a + (g[a] != 0);
        w += b + (w[b] != 0);
    }
    if (small[0]) fail_msg("products and attention of gpt2-124m on small kernels:\n%s", small);
    if (scalar[0]) fail_msg("products of 16 bits without the device's matrix units:\n%s", scalar);
    free(want);
    vkt__str_finish(&got);
}

/* ---- profiles ---- */

static void profiles_are_written_as_they_are_read(void **state)
{
    (void)state;
    for (size_t d = 0; d < VKT_COUNT(devices); d++) {
        vkt_caps a, b;
        read_device(devices[d], &a);
        char *text = vkt_caps_profile(&a);
        REQUIRE_OK(vkt__file_replace(DIR "/again.json", text, strlen(text)));
        REQUIRE_OK(vkt__caps_read_profile(DIR "/again.json", &b));
        assert_memory_equal(&a, &b, sizeof a);
        vkt_free(text);
    }
}

/* `from` in the RX 6600's profile becomes `to`; the line that refuses it. */
static void what_is_no_profile_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *line;
    } lies[] = {
        { "\"subgroup\": 32", "\"subgroup\": 0",
          "'subgroup' must be a whole number from 1 to 128" },
        { "\"subgroup\": 32", "\"subgroup\": 24", "'subgroup' 24 must lie between" },
        { "\"subgroup\": 32", "\"subgroup\": \"32\"", "'subgroup' must be a whole number" },
        { "\"subgroup\": 32", "\"subgroup\": -1", "'subgroup' must be a whole number" },
        { "\"subgroup\": 32", "\"subgruop\": 32",
          "there is no 'subgruop'; did you mean 'subgroup'" },
        { "\"subgroup\": 32,", "", "'subgroup' is missing" },
        { "\"subgroup\": 32,", "\"subgroup\": 32, \"subgroup\": 64,", "duplicate object key" },
        { "\"workgroup\": 1024", "\"workgroup\": 16",
          "'workgroup' must be a whole number from 128" },
        { "\"type\": \"discrete\"", "\"type\": \"fast\"", "'type' must be one of" },
        { "\"unified\": false", "\"unified\": 0", "'unified' must be true or false" },
        { "\"unified\": false", "\"unified\": true", "a discrete device has its own memory" },
        { "\"fragment_bf16\": []", "\"fragment_bf16\": [16, 16, 16]",
          "a type that the device lacks" },
        { "\"fragment_fp16\": []", "\"fragment_fp16\": [16, 16]", "must be [] or three powers" },
        { "\"fragment_fp16\": []", "\"fragment_fp16\": [], \"any_size_fp16\": [8, 8, 8]",
          "'any_size_fp16' must be [] or four powers of two up to 1024" },
        { "\"fragment_fp16\": []", "\"fragment_fp16\": [], \"any_size_fp16\": [8, 8, 8, 256]",
          "for which there is no fragment" },
        { "\"name\": \"AMD Radeon RX 6600 (RADV NAVI23)\"", "\"name\": 7",
          "'name' must be text of at most 255 bytes" },
        { "\"free_bytes\": ", "\"free_bytes\": 9", "'free_bytes' is more than 'memory_bytes'" },
        { "{", "{\"devices\": [], ",
          "it holds no device, or several devices and none is marked as used" },
        { "{", "[", "line " },
    };
    char *text, *at;
    size_t n;
    vkt_caps c;
    REQUIRE_OK(vkt__file_read(test_file("files/devices/rx-6600.json"), 1 << 20, &text, &n));
    for (size_t i = 0; i < VKT_COUNT(lies); i++) {
        vkt__str s = { 0 };
        at = strstr(text, lies[i].from);
        if (!at) fail_msg("the profile has no %s", lies[i].from);
        vkt__str_printf(&s, "%.*s%s%s", (int)(at - text), text, lies[i].to,
                        at + strlen(lies[i].from));
        REQUIRE_OK(vkt__file_replace(DIR "/lie.json", s.data, s.len));
        TEST_LOG_CAPTURE();
        REQUIRE_STATUS(vkt__caps_read_profile(DIR "/lie.json", &c), VKT_E_FORMAT);
        REQUIRE_LOGGED(lies[i].line);
        assert_true(strchr(test_log, '\n') == test_log + strlen(test_log) - 1);
        vkt__str_finish(&s);
    }
    free(text);
}

static uint32_t kernel_named(const char *name)
{
    uint32_t k = 1;
    while (strcmp(vkt__matmul_kernel_name(k), name) != 0) k++;
    return k;
}

/* Those that fit and no others; where the table's is on units, all are. */
static void each_candidate_comes_once(const vkt_caps *c, const vkt__product *p, uint32_t least)
{
    uint32_t n = 0, k, times[64] = { 0 };
    while ((k = vkt__matmul_candidate(c, p, false, n)) != 0) {
        assert_true(k < VKT_COUNT(times) && vkt__matmul_fits(k, c, p));
        assert_true(vkt__matmul_on_units(k) || !vkt__matmul_on_units(vkt__matmul_table(c, p)));
        times[k]++;
        n++;
    }
    for (k = 1; vkt__matmul_kernel_name(k); k++)
        assert_int_equal(times[k],
                         k == vkt__matmul_table(c, p) || vkt__matmul_is_candidate(k, c, p, false));
    assert_true(n >= least);
}

/* Matrices of any size: they wait in the table, the tuner
 * tries them next to the table's own, and a choice that was timed is taken where they are, of
 * tensors that begin at whole vectors. */
static void matrices_of_any_size_are_taken_only_by_timing(void **state)
{
    (void)state;
    static const uint32_t size[4] = { 32, 32, 16, 256 };
    const uint32_t k128 = kernel_named("matrix2.128x128"), k256 = kernel_named("matrix2.256x128");
    char key[40];
    vkt_caps c, again;
    vkt_gpu *gpu;
    read_device("h200", &c);
    assert_true(c.coopmat2 && !memcmp(c.coopmat2_bf16, size, sizeof size));
    memcpy(c.coopmat2_f16, size, sizeof size);
    memcpy(c.coopmat2_bf16, size, sizeof size);
    c.coopmat2 = true;
    c.coopmat2_most = 256;
    char *text = vkt_caps_profile(&c);
    REQUIRE_OK(vkt__file_replace(DIR "/any.json", text, strlen(text)));
    REQUIRE_OK(vkt__caps_read_profile(DIR "/any.json", &again));
    assert_memory_equal(&c, &again, sizeof c);
    vkt_free(text);
    for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN; l++) {
        const vkt__product p = { (vkt_layout)l, 4096, 4095, 777, VKT_BF16, VKT_F32, 0 },
                           even = { (vkt_layout)l, 4096, 4096, 768, VKT_BF16, VKT_F32, 0 },
                           narrow = { (vkt_layout)l, 4096, 4096, 768, VKT_BF16, VKT_BF16, 0 },
                           f32 = { (vkt_layout)l, 4096, 4096, 768, VKT_F32, VKT_F32, 0 };
        uint32_t table = vkt__matmul_table(&c, &p);
        assert_false(vkt__matmul_of_any_size(table));
        assert_false(vkt__matmul_fits(k128, &c, &f32));
        assert_false(vkt__matmul_fits(k128, &c, &narrow)); /* which its driver does not round */
        assert_true(vkt__matmul_is_candidate(k128, &c, &p, false));
        assert_true(vkt__matmul_in_table(k128) && vkt__matmul_in_table(table));
        assert_int_equal(vkt__matmul_candidate(&c, &p, false, 0), table);
        assert_int_equal(vkt__matmul_candidate(&c, &p, false, 1), k128);
        each_candidate_comes_once(&c, &p, 15);
        each_candidate_comes_once(&c, &even, 20);
        vkt__matmul_launch launch = vkt__matmul_prepare(k256, &c, &p, 1, VKT_ACT_NONE, 0, 16, 32);
        assert_int_equal(launch.shader, VKT_SHADER_MATMUL_MATRIX2_BFLOAT16);
        assert_true(launch.groups == 16 * 32 && launch.spec[0].value == 256);
        launch = vkt__matmul_prepare(k256, &c, &p, 1, VKT_ACT_NONE, 0, 2, 32);
        assert_int_equal(launch.shader,
                         vkt__matmul_prepare(table, &c, &p, 1, VKT_ACT_NONE, 0, 2, 32).shader);
        REQUIRE_OK(vkt__gpu_plan(&c, &gpu));
        vkt__choice_set(gpu, vkt__matmul_key(&p, key), "matrix2.128x128");
        assert_int_equal(vkt__matmul_choose(gpu, &p), k128);
        vkt__gpu_drop_any_size(gpu);
        assert_int_equal(vkt__matmul_choose(gpu, &p), table);
        vkt_gpu_destroy(&gpu);
    }
    const vkt__product p = { VKT_LAYOUT_NT, 4096, 4096, 768, VKT_F16, VKT_F32, 0 };
    c.coopmat2_most = 128;
    assert_true(vkt__matmul_fits(k128, &c, &p) && !vkt__matmul_fits(k256, &c, &p));
    c.coopmat2_f16[0] = 256;
    assert_false(vkt__matmul_fits(k128, &c, &p));
    memcpy(c.coopmat2_f16, size, sizeof size);
    c.klass = VKT_GPU_CLASS_GENERIC;
    assert_false(vkt__matmul_is_candidate(k128, &c, &p, true));
}

/* By number, which helps to time them; not where a device has not what they need. */
static void attention_s_other_kernels_are_taken_by_number(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        vkt__att_kernel wish, kernel;
        uint32_t owned;
    } cases[] = { { "h100", VKT__ATT_BY_DEVICE, VKT__ATT_MATRIX, 64 },
                  { "h100", VKT__ATT_MATRIX_KEYS, VKT__ATT_MATRIX_KEYS, 64 },
                  { "h100", VKT__ATT_MATRIX_ROWS, VKT__ATT_MATRIX_ROWS, 128 },
                  { "h100", VKT__ATT_MATRIX_BOTH, VKT__ATT_MATRIX, 64 } /* 54 KiB */ };
    for (size_t i = 0; i < VKT_COUNT(cases); i++) {
        vkt_caps c;
        read_device(cases[i].device, &c);
        c.attention = cases[i].wish;
        vkt_graph *g = vkt__graph_new(NULL);
        const vkt_node *f = vkt__attention_units_sample(g, VKT_BF16);
        ((vkt_node *)(uintptr_t)f)->attr.attention.kernel = VKT__ATT_BY_DEVICE;
        assert_int_equal(vkt__att_choose(&c, f, VKT__ATT_FORWARD), cases[i].kernel);
        assert_int_equal(vkt__att_prepare(&c, f, VKT__ATT_FORWARD).owned, cases[i].owned);
        vkt_graph_destroy(&g);
    }
}

/* A deep product of few tiles gets the large tile, in slices; not where most of the tile would be
 * empty, nor where there are tiles enough. */
static void few_tiles_are_cut_along_k(void **state)
{
    (void)state;
    static const struct {
        uint32_t M, N, K;
        const char *kernel;
        uint32_t slices;
    } products[] = {
        { 1024, 768, 50304, "matrix.128x128.twice", 11 },
        { 768, 768, 8192, "matrix.128x128.twice", 7 },
        { 1024, 768, 1024, "matrix.128x128.twice", 4 },
        { 192, 64, 50304, "matrix.64x64x64.twice", 33 },
        { 130, 130, 8192, "matrix.32x32", 10 },
        { 3072, 768, 8192, "matrix.128x128.twice", 3 },
        { 3072, 2304, 8192, "matrix.128x128.twice", 1 },
    };
    vkt_caps c;
    vkt_gpu *gpu;
    read_device("h100", &c);
    REQUIRE_OK(vkt__gpu_plan(&c, &gpu));
    for (size_t i = 0; i < VKT_COUNT(products); i++) {
        const vkt__product p = {
            VKT_LAYOUT_NN, products[i].M, products[i].N, products[i].K, VKT_BF16, VKT_BF16, 0
        };
        assert_string_equal(vkt__matmul_kernel_name(vkt__matmul_table(&c, &p)), products[i].kernel);
        assert_int_equal(vkt__matmul_slices(gpu, &p), products[i].slices);
    }
    vkt_gpu_destroy(&gpu);
}

/* What the tuner times before a graph is planned are the products that will run, with their types
 * and epilogues; planning afterwards gives the graph that it gives without. */
static void the_tuner_sees_what_will_run(void **state)
{
    (void)state;
    enum { ROWS = 512, WIDTH = 256 };
    char *explained[2];
    vkt_caps c;
    vkt_gpu *gpu;
    read_device("h200", &c);
    REQUIRE_OK(vkt__gpu_plan(&c, &gpu));
    for (int asked = 0; asked < 2; asked++) {
        vkt_tune_shape shapes[8];
        vkt_graph *g = vkt__graph_new(gpu);
        vkt_buffer memory = { .bytes = 1 << 24, .label = "m" };
        vkt_graph_precision(g, VKT_BF16);
        vkt_tensor *x = vkt_input(g, vkt_shape2(ROWS, WIDTH), VKT_F32, "x"),
                   *w = vkt_input(g, vkt_shape2(WIDTH, WIDTH), VKT_F32, "w"),
                   *v = vkt_input(g, vkt_shape2(WIDTH, WIDTH), VKT_F32, "v");
        vkt_bind(x, VKT_ALL_SLOTS, &memory, 0);
        vkt_bind(w, VKT_ALL_SLOTS, &memory, 1 << 20);
        vkt_bind(v, VKT_ALL_SLOTS, &memory, 1 << 21);
        vkt_tensor *y = vkt_activate(g, vkt_matmul(g, VKT_LAYOUT_NN, x, w), VKT_ACT_RELU);
        vkt_keep(vkt_matmul(g, VKT_LAYOUT_NN, y, v), "y");
        if (asked) {
            vkt__rewrite_types(g);
            assert_int_equal(vkt_graph_products(g, true, shapes, VKT_COUNT(shapes)), 2);
            assert_int_equal(shapes[0].in, VKT_BF16);
            assert_int_equal(shapes[0].out, VKT_BF16);
            assert_int_equal(shapes[0].act, VKT_ACT_RELU);
            assert_int_equal(shapes[1].in, VKT_BF16);
        }
        REQUIRE_OK(vkt_graph_plan(g, &(vkt_plan_desc) { .label = "tuned" }));
        explained[asked] = vkt_graph_explain(g);
        vkt_graph_destroy(&g);
    }
    assert_string_equal(explained[0], explained[1]);
    vkt_free(explained[0]);
    vkt_free(explained[1]);
    vkt_gpu_destroy(&gpu);
}

/* Only AMD and NVIDIA have registers for 8 x 16 sums a thread. */
static void large_tiles_are_tried_where_registers_are(void **state)
{
    (void)state;
    const vkt__product p = { VKT_LAYOUT_NT, 4096, 4096, 768, VKT_F32, VKT_F32, 0 };
    const uint32_t k = kernel_named("tiled.128x256.8x16");
    for (size_t d = 0; d < VKT_COUNT(devices); d++) {
        vkt_caps c;
        read_device(devices[d], &c);
        assert_int_equal(vkt__matmul_is_candidate(k, &c, &p, false),
                         c.klass == VKT_GPU_CLASS_AMD || c.klass == VKT_GPU_CLASS_NVIDIA);
    }
}

static void a_device_that_only_plans_runs_nothing(void **state)
{
    (void)state;
    vkt_caps caps;
    vkt_gpu *gpu;
    float x;
    read_device("rx-6600", &caps);
    REQUIRE_OK(vkt__gpu_plan(&caps, &gpu));
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_tensor *t = vkt_fill(g, vkt_shape1(1), 0);
    vkt_keep(t, "t");
    REQUIRE_OK(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "one" }));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_graph_run(g), VKT_E_UNSUPPORTED);
    REQUIRE_LOGGED("'one' can't be run: a device profile is only for planning");
    REQUIRE_STATUS(vkt_tensor_read(t, 0, &x, 4), VKT_E_UNSUPPORTED);
    vkt_graph_destroy(&g);
    vkt_gpu_destroy(&gpu);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_are_written_as_they_are_read),
        cmocka_unit_test(what_is_no_profile_is_refused),
        cmocka_unit_test(matrices_of_any_size_are_taken_only_by_timing),
        cmocka_unit_test(attention_s_other_kernels_are_taken_by_number),
        cmocka_unit_test(few_tiles_are_cut_along_k),
        cmocka_unit_test(the_tuner_sees_what_will_run),
        cmocka_unit_test(large_tiles_are_tried_where_registers_are),
        cmocka_unit_test(a_device_that_only_plans_runs_nothing),
        cmocka_unit_test(real_gpus_get_these_kernels),
    };
    vkt_log_set(NULL, NULL, VKT_LOG_WARN);
    if (argc > 1 && !strcmp(argv[1], "print")) {
        vkt__str s = { 0 };
        kernels(&s);
        fputs(s.data, stdout);
        fputs(scalar, stderr);
        vkt__str_finish(&s);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "costs")) {
        for (size_t m = 0; m < VKT_COUNT(models); m++)
            for (size_t d = 0; d < VKT_COUNT(devices); d++) plan(NULL, NULL, m, devices[d]);
        return 0;
    }
    return cmocka_run_group_tests_name("device profiles", tests, setup, teardown);
}
