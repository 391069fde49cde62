/* A net that was trained before as the beginning of another: what its pictures must be, and which
 * of its values have which size. No layers are made of it here. */
#include "models/onnx_init.h"
#include "models/pretrained.h"
#include "onnx/onnx_build.h"
#include "recipe/config.h"
#include "tensor/graph/graph.h"
#include "vktrain/models.h"

enum { EXAMPLES = 2 };

/* ---- levels ---- */

/* The value's rows, columns and channels; false: it is no picture, or a mean of all its places. */
static bool picture_at(const vkt__onnx_build *b, int value, bool last, uint32_t shape[3])
{
    const vkt__onnx_value *v = &b->values[value];
    if (!v->type || v->rank != 4 || v->host || v->dims[0] != EXAMPLES) return false;
    if (v->dims[1] * v->dims[2] * v->dims[3] == VKT_MAX(v->dims[1], v->dims[3])) return false;
    bool end = vkt__onnx_ends_in_channels(b->f, value, !last);
    for (int k = 0; k < 3; k++) shape[k] = (uint32_t)v->dims[end ? k + 1 : k == 2 ? 1 : k + 2];
    return true;
}

/* Of one size the value with the most channels, the last of them: what the net has made of the
 * picture before it goes on to another size. A size that only a pool has is none: nothing was made
 * there. */
static vkt_backbone_level find_level(const vkt__onnx_build *b, bool last, const uint32_t in[3],
                                     uint32_t pixels)
{
    vkt_backbone_level level = { .pixels = pixels };
    bool made = false;
    for (size_t k = 0; k < b->f->n_nodes; k++) {
        const vkt__onnx_node *node = &b->f->nodes[k];
        uint32_t s[3];
        int v = node->n_out && b->plan->needed[k] && !node->inner ? node->out[0] : -1;
        if (v < 0 || !picture_at(b, v, last, s)) continue;
        if (s[0] * pixels != in[0] || s[1] * pixels != in[1]) continue;
        const char *name = b->f->values[v].name;
        made = made || strstr(node->type, "Conv");
        if (!made || s[2] < level.channels || strlen(name) >= sizeof level.cut) continue;
        level.channels = s[2];
        memcpy(level.cut, name, strlen(name) + 1);
    }
    return level;
}

static size_t find_levels(const vkt__onnx_build *b, bool last, const uint32_t in[3],
                          vkt_backbone_level *out, size_t most)
{
    size_t n = 0;
    for (uint32_t pixels = 1; pixels <= 64 && n < most; pixels *= 2) {
        if (in[0] % pixels || in[1] % pixels) continue;
        vkt_backbone_level level = find_level(b, last, in, pixels);
        if (level.channels) out[n++] = level;
    }
    return n;
}

/* Logs and returns FORMAT: why the file's input is no picture. */
static vkt_status no_picture(const vkt__onnx *f, const char *path)
{
    if (f->n_inputs != 1)
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s' does not take a picture alone: it has %zu inputs", path,
                         f->n_inputs);
    if (!f->inputs[0].has_shape)
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s' does not say that it takes a picture: its input has no shape; write "
                         "the file again with one",
                         path);
    return vkt__fail(VKT_E_FORMAT, "model",
                     "'%s' does not take a picture: its input has %u dimensions, not the 4 of "
                     "examples, channels, rows and columns",
                     path, f->inputs[0].rank);
}

vkt_status vkt_backbone_levels(const char *path, const uint32_t shape[3], vkt_backbone_level *out,
                               size_t most, size_t *n)
{
    vkt_status st;
    vkt__onnx *f = NULL;
    vkt__onnx_plan *plan = NULL;
    vkt__onnx_build b = { 0 };
    vkt_graph *g = vkt__graph_new(NULL);
    *n = 0;
    VKT_TRY(vkt__onnx_open(path, &f));
    const vkt__onnx_info *in = vkt__onnx_picture(f);
    if (!in) {
        st = no_picture(f, path);
        goto fail;
    }
    bool last = vkt__onnx_takes_first(in);
    if (in->dims[last ? 1 : 3] > 0 && in->dims[last ? 1 : 3] != (int64_t)shape[2]) {
        st = vkt__fail(VKT_E_FORMAT, "model",
                       "'%s' takes pictures of %lld channels, the data's have %u: see data.color",
                       path, (long long)in->dims[last ? 1 : 3], shape[2]);
        goto fail;
    }
    const char *end = vkt__onnx_last_input(f);
    VKT_TRY(vkt__onnx_plan_create(f, &end, 1, &plan));
    vkt_tensor *x =
        vkt_input(g, (vkt_shape) { 4, { EXAMPLES, shape[0], shape[1], shape[2] } }, VKT_F32, "");
    b = (vkt__onnx_build) { .plan = plan,
                            .g = g,
                            .source = vkt__onnx_sizes_alone(plan),
                            .batch = EXAMPLES,
                            .written = in->dims[0] };
    VKT_TRY(vkt__onnx_build_graph(&b, &x, &last));
    *n = find_levels(&b, last, shape, out, most);
fail:
    vkt__onnx_build_finish(&b);
    vkt__onnx_plan_destroy(&plan);
    vkt__onnx_close(&f);
    vkt_graph_destroy(&g);
    return st;
}

vkt_status vkt_backbone_pictures(vkt_config *c, const char *path)
{
    vkt_status st = VKT_OK;
    vkt_standardize how;
    const char *why;
    if (vkt__is_onnx(path)) return vkt__onnx_fit_pictures(c, path);
    if (c->data.standardize != VKT_STANDARDIZE_AUTO) return VKT_OK;
    VKT_TRY(vkt__pretrained_pixels(path, &how, &why));
    c->data.standardize = how;
    if (how != VKT_STANDARDIZE_AUTO && c->data.color == VKT_PICTURE_COLOR_AUTO)
        c->data.color = VKT_PICTURE_COLOR_RGB;
fail:
    return st;
}
