/* The layer types of images, [H, W, C]: convolution, pooling, batch and group norm, and the blocks
 * of residual networks. */
#include "nn/layer_list.h"
#include "nn/layers.h"

static vkt_status image_only(const vkt__layer *l)
{
    char text[96];
    if (l->in.rank == 3) return VKT_OK;
    return vkt__layer_error(l, "the input must be an image, [H, W, C], not %s",
                            vkt_shape_text(l->in, VKT_F32, text));
}

/* Positions of a window along `extent`, in *out. */
static vkt_status windows(const vkt__layer *l, uint32_t extent, uint32_t size, uint32_t stride,
                          uint32_t pad, uint32_t dilation, uint32_t *out)
{
    char text[96];
    uint64_t reach = (uint64_t)dilation * (size - 1) + 1, padded = (uint64_t)extent + 2ull * pad;
    *out = padded < reach ? 0 : (uint32_t)((padded - reach) / stride + 1);
    if (*out) return VKT_OK;
    return vkt__layer_error(l, "a window of %llu with padding %u is larger than the image, %s",
                            (unsigned long long)reach, pad, vkt_shape_text(l->in, VKT_F32, text));
}

/* ---- convolution ---- */

static vkt_conv_desc conv_desc(const vkt__layer *l)
{
    vkt_conv_desc d = { .stride = VKT_MAX(l->spec.stride, 1),
                        .dilation = VKT_MAX(l->spec.dilation, 1),
                        .groups = VKT_MAX(l->spec.groups, 1) };
    uint32_t kernel = l->spec.kernel ? l->spec.kernel : 3;
    d.pad = l->spec.pad.given ? l->spec.pad.n : d.dilation * (kernel - 1) / 2;
    return d;
}

static vkt_status conv_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = image_only(l);
    vkt_conv_desc d = conv_desc(l);
    uint32_t kh = l->spec.kernel ? l->spec.kernel : 3, kw = l->spec.width ? l->spec.width : kh,
             in = l->in.d[2], out = l->spec.out ? l->spec.out : in;
    VKT_TRY(st);
    if (kh != kw && !l->spec.pad.given)
        return vkt__layer_error(l, "a filter of %ux%u has no padding of its own: set `pad`", kh,
                                kw);
    if (in % d.groups || out % d.groups)
        return vkt__layer_error(l, "%u groups must divide both %u input and %u output channels",
                                d.groups, in, out);
    l->out = l->in;
    for (int i = 0; i < 2; i++)
        VKT_TRY(windows(l, l->in.d[i], i ? kw : kh, d.stride, d.pad, d.dilation, &l->out.d[i]));
    l->out.d[2] = out;
    l->w = vkt__model_add_param(m, l, "weight", (vkt_shape) { 4, { out, in / d.groups, kh, kw } },
                                vkt__layer_init_of(l),
                                l->spec.init_scale > 0 ? l->spec.init_scale : 1.0f);
    vkt__model_set_order(m, l->w, VKT_PARAM_ORDER_CONV);
    if (!l->spec.no_bias)
        l->b = vkt__model_add_param(m, l, "bias", vkt_shape1(out), VKT_INIT_ZEROS, 1);
fail:
    return st;
}

static vkt_tensor *conv_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                              bool train)
{
    (void)train;
    vkt_conv_desc d = conv_desc(l);
    return vkt_conv2d(g, x, vkt__model_tensor(m, g, l->w), vkt__model_tensor(m, g, l->b), &d);
}

/* ---- padding ---- */

static uint32_t side(const vkt__layer *l, vkt_maybe pixels)
{
    return pixels.given ? pixels.n : l->spec.kernel;
}

static vkt_status pad_plan(vkt_model *m, vkt__layer *l)
{
    (void)m;
    l->out = l->in;
    l->out.d[0] += side(l, l->spec.top) + side(l, l->spec.bottom);
    l->out.d[1] += side(l, l->spec.left) + side(l, l->spec.right);
    return image_only(l);
}

static vkt_tensor *pad_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                             bool train)
{
    (void)m;
    (void)train;
    return vkt_pad2d(g, x, side(l, l->spec.top), side(l, l->spec.bottom), side(l, l->spec.left),
                     side(l, l->spec.right));
}

/* ---- pooling ---- */

static vkt_status pool_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = image_only(l);
    (void)m;
    uint32_t k = l->spec.kernel ? l->spec.kernel : 2, stride = l->spec.stride ? l->spec.stride : k,
             pad = l->spec.pad.n;
    VKT_TRY(st);
    if (2 * pad > k)
        return vkt__layer_error(l, "padding %u is more than half of the window, %u", pad, k);
    l->out = l->in;
    for (int i = 0; i < 2; i++) VKT_TRY(windows(l, l->in.d[i], k, stride, pad, 1, &l->out.d[i]));
fail:
    return st;
}

static vkt_tensor *pool_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                              bool train)
{
    (void)m;
    (void)train;
    vkt_pool_desc d = { .size = l->spec.kernel ? l->spec.kernel : 2,
                        .stride = l->spec.stride,
                        .pad = l->spec.pad.n };
    return l->kind->max ? vkt_max_pool(g, x, &d) : vkt_avg_pool(g, x, &d);
}

static vkt_status global_pool_plan(vkt_model *m, vkt__layer *l)
{
    (void)m;
    l->out = vkt_shape1(l->in.d[2]);
    return image_only(l);
}

static vkt_tensor *global_pool_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                     bool train)
{
    (void)m;
    (void)l;
    (void)train;
    return vkt_global_avg_pool(g, x);
}

/* ---- batch norm ---- */

static vkt_status batch_norm_plan(vkt_model *m, vkt__layer *l)
{
    uint32_t c = l->in.d[l->in.rank - 1];
    vkt_shape shape = vkt_shape1(c);
    l->out = l->in;
    l->w = vkt__model_add_param(m, l, "weight", shape, VKT_INIT_ONES, 1);
    l->b = vkt__model_add_param(m, l, "bias", shape, VKT_INIT_ZEROS, 1);
    l->s = vkt__model_add_state(m, l, "running_mean", shape, VKT_F32, 0);
    vkt__model_add_state(m, l, "running_var", shape, VKT_F32, 1);
    vkt__model_add_state(m, l, "num_batches_tracked", (vkt_shape) { 0 }, VKT_U32, 0);
    return VKT_OK;
}

static vkt_tensor *batch_norm_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                    bool train)
{
    train = train && !l->spec.frozen;
    vkt_batch_norm_desc d = { .w = vkt__model_tensor(m, g, l->w),
                              .b = vkt__model_tensor(m, g, l->b),
                              .running_mean = vkt__model_state_tensor(m, g, l->s),
                              .running_var = vkt__model_state_tensor(m, g, l->s + 1),
                              .count = train ? vkt__model_state_tensor(m, g, l->s + 2) : NULL,
                              .eps = l->spec.eps > 0 ? l->spec.eps : 1e-5f,
                              .momentum = l->spec.momentum > 0 ? l->spec.momentum : 0.1f,
                              .virtual_batch = l->spec.virtual_batch,
                              .train = train };
    return vkt_batch_norm(g, x, &d);
}

/* ---- group norm ---- */

static uint32_t groups_of(const vkt__layer *l)
{
    return l->spec.groups ? l->spec.groups : 32;
}

static vkt_status group_norm_plan(vkt_model *m, vkt__layer *l)
{
    uint32_t c = l->in.d[l->in.rank - 1], groups = groups_of(l);
    if (c % groups)
        return vkt__layer_error(l, "%u groups do not divide %u channels: set `groups`", groups, c);
    l->out = l->in;
    l->w = vkt__model_add_param(m, l, "weight", vkt_shape1(c), VKT_INIT_ONES, 1);
    l->b = vkt__model_add_param(m, l, "bias", vkt_shape1(c), VKT_INIT_ZEROS, 1);
    return VKT_OK;
}

static vkt_tensor *group_norm_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                    bool train)
{
    (void)train;
    return vkt_group_norm(g, x, vkt__model_tensor(m, g, l->w), vkt__model_tensor(m, g, l->b),
                          groups_of(l), l->spec.eps > 0 ? l->spec.eps : 1e-5f);
}

/* ---- blocks of residual networks ---- */

static vkt_layer conv(const char *name, uint32_t out, uint32_t kernel, uint32_t stride)
{
    return (vkt_layer) { .type = "conv",
                         .name = name,
                         .out = out,
                         .kernel = kernel,
                         .stride = stride,
                         .no_bias = true };
}

static vkt_layer norm(const char *name)
{
    return (vkt_layer) { .type = "batch_norm", .name = name };
}

static vkt_layer relu(const char *name)
{
    return (vkt_layer) { .type = "relu", .name = name };
}

static bool changes(const vkt__layer *l, uint32_t out)
{
    return l->spec.stride > 1 || l->in.d[2] != out;
}

/* relu(shortcut(x) + body(x)), the norm last in the branch; the shortcut is x, or a 1x1 convolution
 * and a norm where the shape changes. Names as torchvision's. He et al. 2015 (arXiv 1512.03385);
 * the bottleneck's stride is the 3x3's, as in torchvision's. */
static vkt_status block_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = image_only(l);
    vkt_shape other;
    VKT_TRY(st);
    uint32_t out = l->spec.out ? l->spec.out : l->in.d[2], stride = VKT_MAX(l->spec.stride, 1);
    const vkt_layer basic[] = { conv("conv1", out, 3, stride), norm("bn1"), relu("relu1"),
                                conv("conv2", out, 3, 1), norm("bn2") },
                    bottleneck[] = { conv("conv1", out / 4, 1, 1),      norm("bn1"), relu("relu1"),
                                     conv("conv2", out / 4, 3, stride), norm("bn2"), relu("relu2"),
                                     conv("conv3", out, 1, 1),          norm("bn3") },
                    shortcut[] = { conv("downsample.0", out, 1, stride), norm("downsample.1") };
    if (l->kind->bottleneck && out % 4)
        return vkt__layer_error(l, "%u output channels are not a multiple of 4", out);
    if (l->kind->bottleneck)
        VKT_TRY(vkt__model_plan_part(m, l, bottleneck, VKT_COUNT(bottleneck), l->in, &l->body,
                                     &l->out));
    else
        VKT_TRY(vkt__model_plan_part(m, l, basic, VKT_COUNT(basic), l->in, &l->body, &l->out));
    if (changes(l, out))
        VKT_TRY(
            vkt__model_plan_part(m, l, shortcut, VKT_COUNT(shortcut), l->in, &l->shortcut, &other));
    if (l->spec.zero) vkt__model_zero_last(m, &l->body);
fail:
    return st;
}

static vkt_tensor *block_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                               bool train)
{
    return vkt_activate(g, vkt__model_build_sum(m, g, l, x, train), VKT_ACT_RELU);
}

/* shortcut + body(relu(norm(x))): norms first. The shortcut is x, or a 1x1 convolution of what the
 * body sees where the shape changes. Names as in the authors' PyTorch code. Zagoruyko & Komodakis
 * 2016 (arXiv 1605.07146). */
static vkt_status wide_block_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = image_only(l);
    vkt_shape shape;
    VKT_TRY(st);
    uint32_t out = l->spec.out ? l->spec.out : l->in.d[2], stride = VKT_MAX(l->spec.stride, 1);
    const vkt_layer pre[] = { norm("bn1"), relu("relu1") },
                    body[] = { conv("conv1", out, 3, stride),
                               norm("bn2"),
                               relu("relu2"),
                               { .type = "dropout", .name = "dropout", .p = l->spec.p },
                               conv("conv2", out, 3, 1) },
                    shortcut[] = { conv("convShortcut", out, 1, stride) };
    VKT_TRY(vkt__model_plan_part(m, l, pre, VKT_COUNT(pre), l->in, &l->pre, &shape));
    VKT_TRY(vkt__model_plan_part(m, l, body, VKT_COUNT(body), shape, &l->body, &l->out));
    if (changes(l, out))
        VKT_TRY(
            vkt__model_plan_part(m, l, shortcut, VKT_COUNT(shortcut), shape, &l->shortcut, &shape));
    if (l->spec.zero) vkt__model_zero_last(m, &l->body);
fail:
    return st;
}

static vkt_tensor *wide_block_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                    bool train)
{
    vkt_tensor *h = vkt__model_build_list(m, g, &l->pre, x, train),
               *y = vkt__model_build_list(m, g, &l->body, h, train);
    if (l->shortcut.n) x = vkt__model_build_list(m, g, &l->shortcut, h, train);
    return vkt_add(g, y, x);
}

const vkt__layer_kind vkt__image_kinds[] = {
    { "conv", conv_plan, conv_build },
    { "pad", pad_plan, pad_build },
    { "max_pool", pool_plan, pool_build, .max = true },
    { "avg_pool", pool_plan, pool_build },
    { "global_pool", global_pool_plan, global_pool_build },
    { "batch_norm", batch_norm_plan, batch_norm_build },
    { "group_norm", group_norm_plan, group_norm_build },
    { "basic_block", block_plan, block_build },
    { "bottleneck", block_plan, block_build, .bottleneck = true },
    { "wide_block", wide_block_plan, wide_block_build },
    { .name = NULL },
};
