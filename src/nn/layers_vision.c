/* The blocks of the vision models that come with pretrained weights: ViT, ConvNeXt, MobileNetV3.
 * Parameters are named as timm (ViT) and torchvision (the others) name them. Made of the layers of
 * layers.c and layers_image.c, and of ops. */
#include "nn/layer_list.h"
#include "nn/layers.h"
#include "tensor/graph/op.h"
#include "tensor/ops/ops.h"

static vkt_status need_image(const vkt__layer *l)
{
    char text[96];
    if (l->in.rank == 3) return VKT_OK;
    return vkt__layer_error(l, "the input must be an image, [H, W, C], not %s",
                            vkt_shape_text(l->in, VKT_F32, text));
}

static vkt_status need_tokens(const vkt__layer *l)
{
    char text[96];
    if (l->in.rank == 2) return VKT_OK;
    return vkt__layer_error(l, "the input must be tokens, [T, C], not %s: put `- tokens` before it",
                            vkt_shape_text(l->in, VKT_F32, text));
}

/* A parameter that no weight decay draws to zero, whatever its rank. */
static int add_undecayed(vkt_model *m, const char *name, vkt_shape shape, vkt__init init,
                         float scale)
{
    int param = vkt__model_add_named(m, name, shape, init, scale);
    m->params[param].pub.decay = false;
    return param;
}

static const char *own_name(vkt_model *m, const vkt__layer *l, const char *suffix)
{
    return l->spec.name ? vkt__arena_printf(&m->arena, "%s.%s", l->name, suffix) : suffix;
}

/* Rows before and behind those of x [N, R, C], zeros; negative: as many fewer. */
static vkt_tensor *pad_rows(vkt_graph *g, vkt_tensor *x, int32_t before, int32_t behind)
{
    if (x->inert) return x;
    const uint32_t *d = x->shape.d;
    x = vkt_reshape(g, x, (vkt_shape) { 4, { d[0], d[1], 1, d[2] } });
    x = vkt__op(g, &vkt__op_pad2d, &x, 1, (vkt_attr) { .pad = { { before, 0 }, { behind, 0 } } });
    if (x->inert) return x;
    return vkt_reshape(g, x, vkt_shape3(x->shape.d[0], x->shape.d[1], x->shape.d[3]));
}

/* ---- ViT: Dosovitskiy et al. 2020 (arXiv 2010.11929) ---- */

static vkt_status tokens_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = need_image(l);
    VKT_TRY(st);
    uint32_t n = l->in.d[0] * l->in.d[1], c = l->in.d[2];
    const char *name = own_name(m, l, "cls_token");
    for (size_t i = 0; i < m->n_params; i++)
        if (!strcmp(m->params[i].pub.name, name))
            return vkt__layer_error(l, "the model has a '%s' already: give the layer a name", name);
    l->out = vkt_shape2(n + 1, c);
    l->w = add_undecayed(m, name, vkt_shape3(1, 1, c), VKT_INIT_NORMAL, 1e-4f);
    l->b =
        add_undecayed(m, own_name(m, l, "pos_embed"), vkt_shape3(1, n + 1, c), VKT_INIT_NORMAL, 1);
fail:
    return st;
}

/* The class token stands before the pixels; then each position's vector is added. */
static vkt_tensor *tokens_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                bool train)
{
    (void)train;
    if (x->inert) return x;
    uint32_t n = l->out.d[0], c = l->out.d[1];
    vkt_tensor *first = pad_rows(g, vkt__model_tensor(m, g, l->w), 0, (int32_t)n - 1);
    vkt_tensor *pos = vkt_add(g, vkt__model_tensor(m, g, l->b), first);
    x = pad_rows(g, vkt_reshape(g, x, vkt_shape3(x->shape.d[0], n - 1, c)), 1, 0);
    return vkt_add(g, x, vkt_reshape(g, pos, vkt_shape2(n, c)));
}

static vkt_status class_token_plan(vkt_model *m, vkt__layer *l)
{
    (void)m;
    l->out = vkt_shape1(l->in.d[1]);
    return need_tokens(l);
}

static vkt_tensor *class_token_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                     bool train)
{
    (void)m;
    (void)train;
    x = pad_rows(g, x, 0, 1 - (int32_t)l->in.d[0]);
    return x->inert ? x : vkt_reshape(g, x, vkt_shape2(x->shape.d[0], l->in.d[1]));
}

/* x + proj(attention(qkv(norm1(x)))), then x + fc2(gelu(fc1(norm2(x)))). */
static vkt_status vit_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = need_tokens(l);
    vkt_shape shape;
    VKT_TRY(st);
    uint32_t c = l->in.d[1], heads = l->spec.heads ? l->spec.heads : VKT_MAX(c / 64, 1),
             hidden = l->spec.hidden ? l->spec.hidden : 4 * c;
    float eps = l->spec.eps > 0 ? l->spec.eps : 1e-6f;
    if (c % heads || c / heads % 4 || c / heads > 256)
        return vkt__layer_error(
            l, "%u heads share %u channels: each head's must be a multiple of 4, at most 256",
            heads, c);
    const vkt_layer
        qkv[] = { { .type = "layernorm", .name = "norm1", .eps = eps },
                  { .type = "linear", .name = "attn.qkv", .out = 3 * c, .init = "xavier" } },
        proj[] = { { .type = "linear", .name = "attn.proj", .out = c, .init = "xavier" },
                   { .type = "dropout", .name = "attn.drop", .p = l->spec.p } },
        mlp[] = { { .type = "layernorm", .name = "norm2", .eps = eps },
                  { .type = "linear", .name = "mlp.fc1", .out = hidden, .init = "xavier" },
                  { .type = "gelu_erf", .name = "mlp.act" },
                  { .type = "linear", .name = "mlp.fc2", .out = c, .init = "xavier" },
                  { .type = "dropout", .name = "mlp.drop", .p = l->spec.p } };
    VKT_TRY(vkt__model_plan_part(m, l, qkv, VKT_COUNT(qkv), l->in, &l->pre, &shape));
    VKT_TRY(vkt__model_plan_part(m, l, proj, VKT_COUNT(proj), l->in, &l->body, &shape));
    VKT_TRY(vkt__model_plan_part(m, l, mlp, VKT_COUNT(mlp), l->in, &l->shortcut, &l->out));
fail:
    return st;
}

static vkt_tensor *vit_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                             bool train)
{
    uint32_t heads = l->spec.heads ? l->spec.heads : VKT_MAX(l->in.d[1] / 64, 1);
    vkt_attention_desc desc = { .heads = heads, .full = true };
    vkt_tensor *y = vkt__model_build_list(m, g, &l->pre, x, train);
    y = vkt_attention(g, y, NULL, NULL, NULL, NULL, &desc);
    x = vkt_add(g, x, vkt__model_build_list(m, g, &l->body, y, train));
    return vkt_add(g, x, vkt__model_build_list(m, g, &l->shortcut, x, train));
}

/* ---- ConvNeXt: Liu et al. 2022 (arXiv 2201.03545) ---- */

/* x + layer_scale * fc2(gelu(fc1(norm(conv 7x7, depthwise (x))))), pixel by pixel except the
 * convolution. */
static vkt_status convnext_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = need_image(l);
    vkt_shape shape;
    VKT_TRY(st);
    uint32_t c = l->in.d[2], hidden = l->spec.hidden ? l->spec.hidden : 4 * c;
    float eps = l->spec.eps > 0 ? l->spec.eps : 1e-6f,
          scale = l->spec.init_scale > 0 ? l->spec.init_scale : 1e-6f;
    const vkt_layer conv[] = { { .type = "conv",
                                 .name = "block.0",
                                 .kernel = l->spec.kernel ? l->spec.kernel : 7,
                                 .groups = c },
                               { .type = "layernorm", .name = "block.2", .eps = eps } },
                    mlp[] = { { .type = "linear", .name = "block.3", .out = hidden },
                              { .type = "gelu_erf", .name = "block.4" },
                              { .type = "linear", .name = "block.5", .out = c } };
    if (l->spec.kernel % 2 == 0 && l->spec.kernel)
        return vkt__layer_error(l, "the filter's size must be odd, not %u", l->spec.kernel);
    l->w = add_undecayed(m, vkt__arena_printf(&m->arena, "%s.layer_scale", l->name),
                         vkt_shape3(c, 1, 1), VKT_INIT_ONES, scale);
    VKT_TRY(vkt__model_plan_part(m, l, conv, VKT_COUNT(conv), l->in, &l->pre, &l->out));
    VKT_TRY(vkt__model_plan_part(m, l, mlp, VKT_COUNT(mlp), vkt_shape2(l->in.d[0] * l->in.d[1], c),
                                 &l->body, &shape));
fail:
    return st;
}

static vkt_tensor *convnext_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                  bool train)
{
    vkt_tensor *y = vkt__model_build_list(m, g, &l->pre, x, train);
    if (y->inert) return y;
    vkt_shape image = y->shape;
    uint32_t c = image.d[3];
    y = vkt_reshape(g, y, vkt_shape3(image.d[0], image.d[1] * image.d[2], c));
    y = vkt__model_build_list(m, g, &l->body, y, train);
    y = vkt_mul(g, y, vkt_reshape(g, vkt__model_tensor(m, g, l->w), vkt_shape1(c)));
    return vkt_add(g, x, vkt_reshape(g, y, image));
}

/* ---- MobileNetV3: Howard et al. 2019 (arXiv 1905.02244) ---- */

enum { MOST_PARTS = 12 };

/* A convolution, its norm and, unless NULL, its activation, numbered in part `i` of the block. */
static size_t add_conv(vkt_model *m, const vkt__layer *l, vkt_layer *list, size_t n, uint32_t i,
                       vkt_layer conv, const char *act)
{
    float eps = l->spec.eps > 0 ? l->spec.eps : 1e-3f,
          momentum = l->spec.momentum > 0 ? l->spec.momentum : 0.01f;
    conv.type = "conv";
    conv.name = vkt__arena_printf(&m->arena, "block.%u.0", i);
    conv.no_bias = true;
    list[n++] = conv;
    list[n++] = (vkt_layer) { .type = "batch_norm",
                              .name = vkt__arena_printf(&m->arena, "block.%u.1", i),
                              .eps = eps,
                              .momentum = momentum };
    if (act)
        list[n++] =
            (vkt_layer) { .type = act, .name = vkt__arena_printf(&m->arena, "block.%u.2", i) };
    return n;
}

/* To a multiple of 8, and not below nine tenths: the authors' rule. */
static uint32_t squeezed(uint32_t hidden)
{
    uint32_t v = hidden / 4, near = VKT_MAX((v + 4) / 8 * 8, 8);
    return 10 * near < 9 * v ? near + 8 : near;
}

/* A 1x1 convolution to `hidden` channels (none where they are the input's), a depthwise one,
 * squeeze and excitation if asked for, a 1x1 one to `out`; x is added where the shape is kept.
 * In l: pre up to the depthwise one, shortcut: squeeze and excitation, body: the last one. */
static vkt_status inverted_plan(vkt_model *m, vkt__layer *l)
{
    vkt_status st = need_image(l);
    vkt_shape at, one;
    VKT_TRY(st);
    uint32_t in = l->in.d[2], out = l->spec.out ? l->spec.out : in, i = 0,
             hidden = l->spec.hidden ? l->spec.hidden : in;
    const char *act = l->spec.activation ? l->spec.activation : "relu";
    vkt_layer pre[MOST_PARTS], body[MOST_PARTS];
    size_t n = 0;
    if (hidden != in)
        n = add_conv(m, l, pre, n, i++, (vkt_layer) { .out = hidden, .kernel = 1 }, act);
    n = add_conv(m, l, pre, n, i++,
                 (vkt_layer) { .out = hidden,
                               .kernel = l->spec.kernel ? l->spec.kernel : 3,
                               .stride = l->spec.stride,
                               .groups = hidden },
                 act);
    VKT_TRY(vkt__model_plan_part(m, l, pre, n, l->in, &l->pre, &at));
    if (l->spec.squeeze) {
        const vkt_layer se[] = {
            { .type = "conv",
              .name = vkt__arena_printf(&m->arena, "block.%u.fc1", i),
              .out = squeezed(hidden),
              .kernel = 1 },
            { .type = "relu", .name = vkt__arena_printf(&m->arena, "block.%u.relu", i) },
            { .type = "conv",
              .name = vkt__arena_printf(&m->arena, "block.%u.fc2", i),
              .out = hidden,
              .kernel = 1 },
        };
        VKT_TRY(vkt__model_plan_part(m, l, se, VKT_COUNT(se), vkt_shape3(1, 1, hidden),
                                     &l->shortcut, &one));
        i++;
    }
    n = add_conv(m, l, body, 0, i, (vkt_layer) { .out = out, .kernel = 1 }, NULL);
    VKT_TRY(vkt__model_plan_part(m, l, body, n, at, &l->body, &l->out));
fail:
    return st;
}

static vkt_tensor *constant(vkt_graph *g, uint32_t n, float v)
{
    return vkt_fill(g, vkt_shape1(n), v);
}

/* min(max(x / 6 + 1/2, 0), 1), as relu(1 - relu(1/2 - x / 6)): x [N, C]. */
static vkt_tensor *hard_sigmoid(vkt_graph *g, vkt_tensor *x)
{
    uint32_t c = x->shape.d[x->shape.rank - 1];
    x = vkt_add(g, vkt_scale(g, x, -1.0f / 6), constant(g, c, 0.5f));
    x = vkt_scale(g, vkt_activate(g, x, VKT_ACT_RELU), -1);
    return vkt_activate(g, vkt_add(g, x, constant(g, c, 1)), VKT_ACT_RELU);
}

/* x [N, H, W, C] times a number for each example's channel, of the channels' means. They reach the
 * pixels by a product of rank 1 with a column of ones. */
static vkt_tensor *excite(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                          bool train)
{
    if (x->inert) return x;
    vkt_shape image = x->shape;
    uint32_t n = image.d[0], pixels = image.d[1] * image.d[2], c = image.d[3];
    vkt_tensor *s = vkt_global_avg_pool(g, x);
    if (s->inert) return s;
    s = vkt_reshape(g, s, (vkt_shape) { 4, { n, 1, 1, c } });
    s = vkt__model_build_list(m, g, &l->shortcut, s, train);
    if (s->inert) return s;
    s = hard_sigmoid(g, vkt_reshape(g, s, vkt_shape2(n, c)));
    s = vkt_matmul_batched(g, VKT_LAYOUT_NN, vkt_fill(g, vkt_shape3(n, pixels, 1), 1),
                           vkt_reshape(g, s, vkt_shape3(n, 1, c)), VKT_F32);
    return vkt_mul(g, x, vkt_reshape(g, s, image));
}

static vkt_tensor *inverted_build(vkt_model *m, vkt_graph *g, const vkt__layer *l, vkt_tensor *x,
                                  bool train)
{
    vkt_tensor *y = vkt__model_build_list(m, g, &l->pre, x, train);
    if (l->shortcut.n) y = excite(m, g, l, y, train);
    y = vkt__model_build_list(m, g, &l->body, y, train);
    bool same = vkt__shape_equal(l->in, l->out) && l->spec.stride <= 1;
    return same ? vkt_add(g, x, y) : y;
}

const vkt__layer_kind vkt__vision_kinds[] = {
    { "tokens", tokens_plan, tokens_build },
    { "vit_block", vit_plan, vit_build },
    { "class_token", class_token_plan, class_token_build },
    { "convnext_block", convnext_plan, convnext_build },
    { "inverted_block", inverted_plan, inverted_build },
    { .name = NULL },
};
