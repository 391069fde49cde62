/* units.h. Products are compared as the tuner does (tune_product.h). Operands of convolutions are
 * whole numbers from -2 to 2, and sums of a hundred products of them are exact in f32 in whatever
 * order: any difference from the twin is an error. Attention is compared as the self-test does
 * (check.c). */
#include <math.h>
#include <stdio.h>

#include "tensor/check/check.h"
#include "tensor/check/tune.h"
#include "tensor/check/tune_product.h"
#include "tensor/check/units.h"
#include "gpu/apart.h"
#include "gpu/journal.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/kernels/class_sets.h"
#include "tensor/twins/attention_twin.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/ops/matmul/ops_matmul.h"

/* A kernel and what it is tried with: a product, opened, a convolution, or attention and its
 * gradients, of numbers of a type. */
typedef struct {
    const vkt__tune_product *product; /* else */
    const vkt_op *op;
    vkt_dtype type;
    uint32_t kernel;
} trial;

/* More than one tile of each kernel, and no whole number of the largest. */
enum { ROWS = 160, COLUMNS = 144, IMAGES = 2, SIDE = 10, CHANNELS = 16, TAPS = 3 };

/* What products are tried with. Who is first of a family does all of it in each layout; the others
 * what is plain, and of the rest a layout each, so that there are few pipelines: those of sums that
 * long are the plain ones again. */
static const struct {
    uint32_t M, N, K;
    bool narrow, bias, residual, all;
    vkt_act act;
} forms[] = {
    { ROWS, COLUMNS, 96, .all = true },
    { ROWS, COLUMNS, 96, .narrow = true, .bias = true, .act = VKT_ACT_GELU },
    { ROWS, COLUMNS, 96, .narrow = true, .residual = true },
    { ROWS, COLUMNS, 96, .residual = true },
    { ROWS, COLUMNS, 8192 },
    { ROWS - 5, COLUMNS - 5, 93 },
    { ROWS - 5, COLUMNS - 6, 90, .narrow = true },
};

static bool is_tried_with(uint32_t kernel, size_t form, vkt_layout l)
{
    return forms[form].all || vkt__matmul_is_first(kernel) || (kernel + form) % 3 == (uint32_t)l;
}

static int value_of(uint64_t i)
{
    return (int)(i * 2654435761u >> 7 & 0xffff) % 5 - 2;
}

static uint64_t bytes_of(const vkt_tensor *t)
{
    return vkt__align(t->bytes, 256);
}

static vkt_status fill(vkt_gpu *gpu, const vkt_tensor *a, const vkt_tensor *b, vkt_buffer **mem)
{
    uint64_t bytes = bytes_of(a) + bytes_of(b);
    unsigned char *data = vkt__alloc(bytes);
    for (uint64_t i = 0; i < a->count; i++) vkt__sample_encode(a, i, value_of(i), data);
    for (uint64_t i = 0; i < b->count; i++)
        vkt__sample_encode(b, i, value_of(i + 7), data + bytes_of(a));
    vkt_status st =
        vkt_buffer_create(gpu, &(vkt_buffer_desc) { bytes, VKT_MEM_DEVICE, "matrix units" }, mem);
    if (st == VKT_OK) st = vkt_buffer_write(gpu, *mem, 0, data, bytes);
    free(data);
    return st;
}

static vkt_tensor *build(vkt_graph *g, const trial *t, vkt_tensor *in[2])
{
    vkt_shape w = { 4, { TAPS, TAPS, CHANNELS, COLUMNS } };
    if (t->op == &vkt__op_conv2d_dw) w = (vkt_shape) { 4, { IMAGES, SIDE, SIDE, COLUMNS } };
    in[0] = vkt_input(g, (vkt_shape) { 4, { IMAGES, SIDE, SIDE, CHANNELS } }, VKT_F32, "x");
    in[1] = vkt_input(g, w, VKT_F32, "w");
    const vkt_attr a = { .conv = { .kh = TAPS,
                                   .kw = TAPS,
                                   .stride = 1,
                                   .pad = TAPS / 2,
                                   .dilation = 1,
                                   .groups = 1,
                                   .slices = 1,
                                   .kernel = t->kernel,
                                   .multiply = t->type } };
    return vkt__op(g, t->op, in, 2, a);
}

static bool is_right(const vkt_tensor *y, const float *got)
{
    const vkt_node *n = y->node;
    double *in[VKT_MAX_IN] = { 0 }, *out[VKT_MAX_OUT] = { 0 };
    bool right = true;
    for (int k = 0; k < 2; k++) {
        in[k] = vkt__alloc(n->in[k]->count * sizeof *in[k]);
        for (uint64_t i = 0; i < n->in[k]->count; i++) in[k][i] = value_of(i + (k ? 7 : 0));
    }
    out[0] = vkt__alloc(y->count * sizeof *out[0]);
    vkt__node_ref(n, in, out);
    for (uint64_t i = 0; i < y->count && right; i++) right = got[i] == (float)out[0][i];
    for (int k = 0; k < 2; k++) free(in[k]);
    free(out[0]);
    return right;
}

static vkt_status run_conv(vkt_gpu *gpu, const trial *t, bool *right)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = vkt__graph_new(gpu);
    vkt_buffer *mem = NULL;
    vkt_tensor *in[2], *y = build(g, t, in);
    float *got = vkt__alloc(y->count * sizeof *got);
    vkt_keep(y, "y");
    VKT_TRY(fill(gpu, in[0], in[1], &mem));
    vkt_bind(in[0], VKT_ALL_SLOTS, mem, 0);
    vkt_bind(in[1], VKT_ALL_SLOTS, mem, bytes_of(in[0]));
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "matrix units" }));
    VKT_TRY(vkt_graph_run(g));
    VKT_TRY(vkt_tensor_read(y, 0, got, y->count * sizeof *got));
    *right = is_right(y, got);
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(gpu, &mem);
    free(got);
    return st;
}

static vkt_status run_attention(vkt_gpu *gpu, const trial *t, bool *right, char why[256])
{
    vkt_graph *g = vkt__graph_new(gpu);
    vkt__attention_units_sample(g, t->type);
    vkt_status st = vkt__check_graph(gpu, g, false, why, 256);
    *right = !*why;
    vkt_graph_destroy(&g);
    return st;
}

static vkt_status run_product(const trial *t, bool *right)
{
    vkt__tuned c = { 0 };
    double share = INFINITY;
    vkt_status st = vkt__tune_product_run(t->product, t->kernel, &c, &share);
    *right = share <= 1;
    vkt_graph_destroy(&c.g);
    return st;
}

/* why: what is wrong, where it is known. */
static vkt_status run(vkt_gpu *gpu, const trial *t, bool *right, char why[256])
{
    return t->product                    ? run_product(t, right)
           : t->op == &vkt__op_attention ? run_attention(gpu, t, right, why)
                                         : run_conv(gpu, t, right);
}

/* why: "" where it is right. */
static vkt_status check_kernel(vkt_gpu *gpu, const trial *t, const char *name, const char *key,
                               char why[256])
{
    bool right = false;
    if (vkt__left_out(gpu, name, key)) {
        snprintf(why, 256, "it is no longer used, because a run crashed in it");
        return VKT_OK;
    }
    vkt__trying(gpu, name, key);
    vkt__log_quiet(true);
    vkt_status st = run(gpu, t, &right, why);
    vkt__log_quiet(false);
    vkt__tried(gpu);
    if (vkt__gpu_lost(gpu)) return vkt__lost_by(gpu, "units", name);
    if (st != VKT_OK)
        snprintf(why, 256, "%s", vkt__last_failure());
    else if (!right && !*why)
        snprintf(why, 256, "its results are wrong");
    return VKT_OK;
}

static vkt_status dropped(vkt_gpu *gpu, const char *name, const char *what, vkt_dtype type,
                          const char *why)
{
    vkt__gpu_drop_units(gpu);
    vkt_log(VKT_LOG_WARN, "units",
            "the device's matrix units are not used: kernel %s for %s %s: %s", name,
            vkt_dtype_name(type), what, why);
    return VKT_OK;
}

/* Matrices of any size are another extension's, and few kernels': the rest stays. */
static vkt_status dropped_any_size(vkt_gpu *gpu, const char *name, vkt_dtype type, const char *why)
{
    vkt__gpu_drop_any_size(gpu);
    vkt_log(VKT_LOG_WARN, "units",
            "matrices of any size on the device's matrix units are not used: kernel %s for %s "
            "products: %s",
            name, vkt_dtype_name(type), why);
    return VKT_OK;
}

/* Products and convolutions were right, and stay. */
static vkt_status dropped_attention(vkt_gpu *gpu, vkt_dtype type, const char *why)
{
    vkt__gpu_drop_attention(gpu);
    vkt_log(VKT_LOG_WARN, "units",
            "attention is not computed on the device's matrix units: kernel matrix for %s: %s",
            vkt_dtype_name(type), why);
    return VKT_OK;
}

static vkt_tune_shape shape_of(vkt_dtype type, size_t form, vkt_layout l)
{
    return (vkt_tune_shape) { .layout = l,
                              .M = forms[form].M,
                              .N = forms[form].N,
                              .K = forms[form].K,
                              .in = type,
                              .out = forms[form].narrow ? type : VKT_F32,
                              .act = forms[form].act,
                              .bias = forms[form].bias,
                              .residual = forms[form].residual };
}

/* Whether a kernel of units is tried with a form: those that run untimed, which are the table's and
 * one that is held. The tuner checks each other before it may win. */
static bool is_tried(const vkt_gpu *gpu, uint32_t kernel, size_t form, const vkt__product *p)
{
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    bool untimed =
        vkt__matmul_in_table(kernel) || !strcmp(vkt__matmul_kernel_name(kernel), caps->kernel);
    return untimed && vkt__matmul_on_units(kernel) && vkt__matmul_fits(kernel, caps, p) &&
           !vkt__matmul_is_foreign(kernel, caps) && is_tried_with(kernel, form, p->layout);
}

static vkt__product product_of(const vkt_tune_shape *s)
{
    return (vkt__product) { s->layout, s->M, s->N, s->K, s->in, s->out, 0 };
}

/* Calls fn for each form in each layout, opened, until it fails. */
static vkt_status each_product(vkt_gpu *gpu, vkt_dtype type,
                               vkt_status (*fn)(const vkt__tune_product *, size_t form))
{
    vkt_status st = VKT_OK;
    for (size_t f = 0; f < VKT_COUNT(forms) && vkt_gpu_caps(gpu)->coopmat; f++)
        for (int l = VKT_LAYOUT_NT; l <= VKT_LAYOUT_TN && vkt_gpu_caps(gpu)->coopmat; l++) {
            vkt__tune_product product;
            const vkt_tune_shape s = shape_of(type, f, (vkt_layout)l);
            st = vkt__tune_product_open(gpu, &s, &product);
            if (st == VKT_OK) st = fn(&product, f);
            vkt__tune_product_close(&product);
            if (st != VKT_OK) return st;
        }
    return st;
}

static vkt_status check_product(const vkt__tune_product *product, size_t form)
{
    vkt_status st = VKT_OK;
    char why[256] = "", key[40];
    vkt_gpu *gpu = product->gpu;
    const vkt__product p = product_of(&product->s);
    for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++) {
        const trial t = { .product = product, .type = p.in, .kernel = k };
        const char *name = vkt__matmul_kernel_name(k);
        if (!is_tried(gpu, k, form, &p)) continue;
        vkt__matmul_key(&p, key);
        VKT_TRY(check_kernel(gpu, &t, name, key, why));
        if (*why && !vkt__matmul_of_any_size(k)) return dropped(gpu, name, "products", p.in, why);
        if (*why) VKT_TRY(dropped_any_size(gpu, name, p.in, why));
        *why = 0;
    }
fail:
    return st;
}

static vkt_status wish_product(const vkt__tune_product *product, size_t form)
{
    const vkt__product p = product_of(&product->s);
    for (uint32_t k = 1; vkt__matmul_kernel_name(k); k++)
        if (is_tried(product->gpu, k, form, &p)) vkt__tune_product_wish(product, k);
    return VKT_OK;
}

static vkt_status check_convs(vkt_gpu *gpu, vkt_dtype type)
{
    static const vkt_op *const ops[] = { &vkt__op_conv2d, &vkt__op_conv2d_dw };
    vkt_status st = VKT_OK;
    char why[256] = "", key[40];
    vkt_graph *g = NULL;
    for (size_t o = 0; o < VKT_COUNT(ops); o++)
        for (uint32_t k = 1; vkt__conv_kernel_name(k); k++) {
            const trial t = { .op = ops[o], .type = type, .kernel = k };
            const char *name = vkt__conv_kernel_name(k);
            vkt_tensor *in[2];
            g = vkt__graph_new(NULL);
            vkt__conv_geometry q = vkt__conv_geometry_of(build(g, &t, in)->node);
            bool tried = vkt__conv_on_units(k) && vkt__conv_fits(k, vkt_gpu_caps(gpu), &q);
            vkt__conv_key(&q, key);
            vkt_graph_destroy(&g);
            if (tried) VKT_TRY(check_kernel(gpu, &t, name, key, why));
            if (*why) return dropped(gpu, name, "convolutions", type, why);
        }
fail:
    return st;
}

/* Compiles at the same time all kernels that will be tried: one by one they take as long as those
 * that a session begins with. A kernel that fails here is reported when it is tried. */
static vkt_status compile(vkt_gpu *gpu, vkt_dtype type)
{
    static const vkt_op *const ops[] = { &vkt__op_conv2d, &vkt__op_conv2d_dw };
    vkt_status st = VKT_OK;
    vkt_tensor *in[2];
    if (!vkt__at_once_begin(gpu, "matmul units")) return VKT_OK;
    st = each_product(gpu, type, wish_product);
    for (size_t o = 0; o < VKT_COUNT(ops); o++)
        for (uint32_t k = 1; vkt__conv_kernel_name(k); k++) {
            const trial t = { .op = ops[o], .type = type, .kernel = k };
            vkt_graph *g = vkt__graph_new(gpu);
            vkt__conv_geometry q = vkt__conv_geometry_of(build(g, &t, in)->node);
            if (vkt__conv_on_units(k) && vkt__conv_fits(k, vkt_gpu_caps(gpu), &q))
                vkt__graph_wish(g, &(vkt_plan_desc) { .label = "matrix units" });
            vkt_graph_destroy(&g);
        }
    vkt_graph *g = vkt__graph_new(gpu);
    const vkt_node *n = vkt__attention_units_sample(g, type);
    if (vkt__att_fits(VKT__ATT_MATRIX, vkt_gpu_caps(gpu), n, VKT__ATT_FORWARD))
        vkt__graph_wish(g, &(vkt_plan_desc) { .label = "matrix units" });
    vkt_graph_destroy(&g);
    vkt_status made = vkt__at_once_end(gpu, "units");
    vkt__gpu_keep_kernels(gpu);
    return made != VKT_OK ? made : st;
}

vkt_status vkt__units_check_attention(vkt_gpu *gpu, vkt_dtype type)
{
    vkt_status st = VKT_OK;
    const trial t = { .op = &vkt__op_attention, .type = type, .kernel = VKT__ATT_MATRIX };
    char why[256] = "", key[40];
    vkt_graph *g = vkt__graph_new(NULL);
    const vkt_node *n = vkt__attention_units_sample(g, type);
    bool tried = vkt__att_fits(VKT__ATT_MATRIX, vkt_gpu_caps(gpu), n, VKT__ATT_FORWARD);
    snprintf(key, sizeof key, "attention %u %s", n->attr.attention.head, vkt_dtype_name(type));
    vkt_graph_destroy(&g);
    if (tried) VKT_TRY(check_kernel(gpu, &t, "matrix", key, why));
    if (*why) return dropped_attention(gpu, type, why);
fail:
    return st;
}

vkt_status vkt__units_check(vkt_gpu *gpu, vkt_dtype type)
{
    vkt_status st = VKT_OK;
    const vkt_caps *caps = vkt_gpu_caps(gpu);
    if (type == VKT_BF16 && vkt__is_of(VKT__UNITS, caps) && caps->coopmat &&
        !caps->coopmat_bf16[0] && caps->coopmat_f16[0] && vkt__gpu_first_time(gpu, 1u << 31))
        vkt_log(VKT_LOG_INFO, "units",
                "this device's matrix units multiply fp16, not bf16: train.precision: fp16 would "
                "use them");
    if (vkt__gpu_plans_only(gpu) || !vkt__is_of(VKT__UNITS, caps) || !caps->coopmat ||
        !vkt__gpu_first_time(gpu, 1u << type))
        return VKT_OK;
    if (!vkt__tried_apart(gpu, vkt_dtype_name(type)))
        return dropped(gpu, "unknown", "products, convolutions and attention", type,
                       "another process, which tried them first, crashed in the driver");
    VKT_TRY(compile(gpu, type));
    VKT_TRY(each_product(gpu, type, check_product));
    if (caps->coopmat) VKT_TRY(check_convs(gpu, type));
    if (caps->coopmat) VKT_TRY(vkt__units_check_attention(gpu, type));
fail:
    return st;
}
