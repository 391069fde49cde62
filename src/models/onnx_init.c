/* onnx_init.h: what the file says of its inputs, and where its last layer begins. */
#include "models/onnx_init.h"

#include <math.h>

#include "base/os.h"
#include "onnx/onnx_build.h"

bool vkt__is_onnx(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".onnx") && vkt__file_size(path) >= 0;
}

static const vkt__onnx_node *node_of(const vkt__onnx *f, int value)
{
    return value >= 0 && f->values[value].node >= 0 ? &f->nodes[f->values[value].node] : NULL;
}

static bool is_any(const char *type, const char *const *types)
{
    for (; *types; types++)
        if (!strcmp(type, *types)) return true;
    return false;
}

/* ---- the end ---- */

/* Where the last layer with weights takes its input, and how many outputs it has. */
typedef struct ending {
    const char *cut; /* NULL: no such layer was found */
    uint64_t outputs;
    bool picture;   /* it is a convolution whose result is a mean over places */
    bool quantised; /* its weights are, and so are not trained */
} ending;

/* The initializer that input i is, moved or dequantised; NULL: it is none. */
static const vkt__onnx_tensor *weight_of(const vkt__onnx *f, const vkt__onnx_node *n, size_t i)
{
    static const char *const moves[] = { "Transpose", "Identity", "Reshape", "DequantizeLinear",
                                         NULL };
    int v = i < n->n_in ? n->in[i] : -1;
    for (const vkt__onnx_node *of; v >= 0 && !f->values[v].initializer; v = of->in[0]) {
        of = node_of(f, v);
        if (!of || !is_any(of->type, moves) || !of->n_in) return NULL;
    }
    return v >= 0 ? f->values[v].initializer : NULL;
}

static ending end_of(const vkt__onnx *f)
{
    static const char *const passed[] = { "Softmax",     "LogSoftmax",     "Sigmoid",
                                          "Identity",    "Flatten",        "GlobalAveragePool",
                                          "Relu",        "Reshape",        "Squeeze",
                                          "AveragePool", "Cast",           "ReduceMean",
                                          "Dropout",     "QuantizeLinear", "DequantizeLinear",
                                          NULL };
    int v = vkt__onnx_find(f, vkt__onnx_main_output(f));
    bool bias = false;
    for (const vkt__onnx_node *n; (n = node_of(f, v)) != NULL;) {
        bool conv = !strcmp(n->type, "Conv"), gemm = !strcmp(n->type, "Gemm"),
             product = !strcmp(n->type, "MatMul");
        if (conv || gemm || product) {
            const vkt__onnx_tensor *w = weight_of(f, n, 1);
            if (!w || w->rank < 2 || n->in[0] < 0) break;
            const vkt__onnx_attr *by_rows = vkt__onnx_attr_of(n, "transB");
            bool rows = conv || (gemm && by_rows && by_rows->i);
            return (ending) { f->values[n->in[0]].name, rows ? w->dims[0] : w->dims[1], conv,
                              !vkt__onnx_is_float(w->type) };
        }
        if (!strcmp(n->type, "Add") && !bias) { /* the bias of a MatMul, on either side */
            size_t at = weight_of(f, n, 0) ? 1 : 0;
            if (!weight_of(f, n, !at)) break;
            bias = true;
            v = n->in[at];
            continue;
        }
        if (!is_any(n->type, passed) || !n->n_in) break;
        v = n->in[0];
    }
    return (ending) { 0 };
}

/* ---- the beginning ---- */

const char *vkt__onnx_last_input(const vkt__onnx *f)
{
    ending end = end_of(f);
    return end.cut ? end.cut : vkt__onnx_main_output(f);
}

const vkt__onnx_info *vkt__onnx_picture(const vkt__onnx *f)
{
    return f->n_inputs == 1 && f->inputs[0].has_shape && f->inputs[0].rank == 4 ? &f->inputs[0]
                                                                                : NULL;
}

/* Whether the net standardizes its pixels itself: its input goes through sums and products with
 * constants alone. *scale: what a pixel is multiplied by. */
static bool begins_with_constants(const vkt__onnx *f, const vkt__onnx_info *in, double *scale)
{
    static const char *const moves[] = { "Transpose", "Identity", "Cast", "Reshape", NULL };
    static const char *const steps[] = { "Sub", "Add", "Mul", "Div", NULL };
    int v = in->value;
    bool any = false;
    *scale = 1;
    for (size_t k = 0; k < f->n_nodes; k++) {
        const vkt__onnx_node *n = &f->nodes[k];
        size_t at = 0;
        while (at < n->n_in && n->in[at] != v) at++;
        if (at == n->n_in) continue;
        if (is_any(n->type, steps) && n->n_in == 2 && n->n_out) {
            const vkt__onnx_tensor *t = weight_of(f, n, !at);
            const vkt__onnx_node *c = node_of(f, n->in[!at]);
            const vkt__onnx_attr *a = c ? vkt__onnx_attr_of(c, "value") : NULL;
            if (!t && c && !strcmp(c->type, "Constant") && a) t = a->tensor;
            if (!t || !t->count || t->count > 3) return any;
            double x = vkt__onnx_number(t, 0);
            if (!strcmp(n->type, "Mul")) *scale *= x;
            if (!strcmp(n->type, "Div")) *scale /= x != 0 ? x : 1;
            any = true;
        } else if (!is_any(n->type, moves)) {
            return any;
        }
        v = n->n_out ? n->out[0] : -1;
    }
    return any;
}

bool vkt__onnx_takes_first(const vkt__onnx_info *in)
{
    bool last = (in->dims[3] == 1 || in->dims[3] == 3) && in->dims[1] != 1 && in->dims[1] != 3;
    return !last;
}

static void say(const vkt__onnx *f, const char *option, const char *value, const char *why)
{
    vkt_log(VKT_LOG_INFO, "config", "%s: %s, as '%s' %s", option, value, f->path, why);
}

/* What the recipe does not say of its pictures. */
static vkt_status fit_pictures(vkt_config *c, const vkt__onnx *f, const ending *end)
{
    vkt_source_info s;
    const vkt__onnx_info *in = vkt__onnx_picture(f);
    if (!in || !vkt_source_find(c->data.source, &s) || s.kinds != VKT_DATA_KIND_PICTURES)
        return VKT_OK;
    bool channels_last = !vkt__onnx_takes_first(in);
    int64_t channels = in->dims[channels_last ? 3 : 1], h = in->dims[channels_last ? 1 : 2],
            w = in->dims[channels_last ? 2 : 3];
    double scale;
    bool own = begins_with_constants(f, in, &scale),
         size = c->data.size && strcmp(c->data.size, "auto") != 0;
    if (s.takes & VKT_TAKES_SIZE && !size && h > 0 && w > 0) {
        c->data.size = vkt__arena_printf(&c->priv->arena, "%lldx%lld", (long long)h, (long long)w);
        say(f, "data.size", c->data.size, "takes pictures of this size");
    }
    if (s.takes & VKT_TAKES_SIZE && c->data.color == VKT_PICTURE_COLOR_AUTO &&
        (channels == 1 || channels == 3)) {
        c->data.color = channels == 3 ? VKT_PICTURE_COLOR_RGB : VKT_PICTURE_COLOR_GREY;
        say(f, "data.color", channels == 3 ? "rgb" : "grey", "takes that many channels");
    }
    if (c->data.standardize != VKT_STANDARDIZE_AUTO) return VKT_OK;
    if (own && fabs(scale) < 0.05)
        return vkt__config_refuse(c, "init",
                                  "'%s' begins with constants for pixels from 0 to 255, and data "
                                  "give them from 0 to 1: export it without them, or set "
                                  "data.standardize to what is nearest",
                                  f->path);
    if (own) {
        c->data.standardize = VKT_STANDARDIZE_NONE;
        say(f, "data.standardize", "none", "begins with a mean and a deviation of its own");
    } else if (channels == 3 && (end->outputs == 1000 || end->outputs == 1001)) {
        c->data.standardize = VKT_STANDARDIZE_IMAGENET;
        say(f, "data.standardize", "imagenet", "ends with ImageNet's classes");
    }
    return VKT_OK;
}

vkt_status vkt__onnx_fit_pictures(vkt_config *c, const char *path)
{
    vkt_status st;
    vkt__onnx *f = NULL;
    VKT_TRY(vkt__onnx_open(path, &f));
    ending end = end_of(f);
    VKT_TRY(fit_pictures(c, f, &end));
fail:
    vkt__onnx_close(&f);
    return st;
}

/* ---- the layers ---- */

static vkt_status outputs_of(const vkt_config *c, uint64_t *n)
{
    vkt_dataset *ds = NULL;
    vkt_data_desc d = c->data;
    /* The pixels' mean and deviation are not asked for here. */
    vkt_source_info s;
    bool pictures = vkt_source_find(d.source, &s) && s.kinds == VKT_DATA_KIND_PICTURES;
    if (pictures) d.standardize = VKT_STANDARDIZE_NONE;
    vkt_status st = vkt_dataset_open(&d, &ds);
    if (st == VKT_OK) *n = vkt_dataset_get_info(ds)->n_outputs;
    vkt_dataset_destroy(&ds);
    return st;
}

static vkt_status set_layers(vkt_config *c, const ending *end, uint64_t outputs)
{
    vkt__arena *a = &c->priv->arena;
    bool head = end->cut && (end->outputs != outputs || end->quantised);
    c->layers = vkt__arena_alloc(a, 3 * sizeof *c->layers);
    c->n_layers = head ? 3 : 1;
    c->layers[0] = (vkt_layer) { .type = "onnx", .file = vkt__arena_strdup(a, c->init) };
    if (!head) return VKT_OK;
    const char **cut = vkt__arena_alloc(a, sizeof *cut);
    *cut = vkt__arena_strdup(a, end->cut);
    c->layers[0].cut = cut;
    c->layers[0].n_cut = 1;
    c->layers[1] = (vkt_layer) { .type = end->picture ? "global_pool" : "flatten" };
    c->layers[2] = (vkt_layer) { .type = "linear" };
    vkt_log(
        VKT_LOG_INFO, "config",
        "init: '%s' has %llu outputs%s, the data have %llu: it ends at %s, and a new linear layer "
        "follows",
        c->init, (unsigned long long)end->outputs, end->quantised ? " of quantised weights" : "",
        (unsigned long long)outputs, vkt__show(end->cut).s);
    return VKT_OK;
}

vkt_status vkt__onnx_init(vkt_config *c)
{
    vkt_status st;
    vkt__onnx *f = NULL;
    uint64_t outputs = 0;
    if (c->n_layers)
        return vkt__config_refuse(c, "init",
                                  "'%s' is a model, and the recipe has one: leave `model` out, or "
                                  "name the file there: `model: {onnx: %s}`",
                                  c->init, c->init);
    if (!c->data.source) return VKT_OK; /* the check says so */
    VKT_TRY(vkt__onnx_open(c->init, &f));
    ending end = end_of(f);
    VKT_TRY(fit_pictures(c, f, &end));
    VKT_TRY(outputs_of(c, &outputs));
    VKT_TRY(set_layers(c, &end, outputs));
    c->init = NULL;
fail:
    vkt__onnx_close(&f);
    return st;
}

vkt_status vkt__onnx_sums(vkt_config *c)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < c->n_layers; i++) {
        vkt_layer *l = &c->layers[i];
        vkt__onnx *f = NULL;
        char sum[VKT__ONNX_SUM];
        /* A file that is gone, or is none, is the layer's to say. */
        if (strcmp(l->type, "onnx") != 0 || l->sum || !l->file || vkt__file_size(l->file) < 0)
            continue;
        VKT_TRY(vkt__onnx_open(l->file, &f));
        vkt__onnx_sum(f, sum);
        l->sum = vkt__arena_strdup(&c->priv->arena, sum);
        vkt__onnx_close(&f);
    }
fail:
    return st;
}
