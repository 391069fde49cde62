/* Low-rank adapters beside linear layers: which layers are meant, their parameters, their ops. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "nn/lora.h"
#include "tensor/graph/graph.h"
#include "tensor/ops/ops.h"

enum { MAX_RANK = 4096 };

static const char separators[] = ", ";

static float scale_of(const vkt_lora *l, double alpha, uint32_t rank)
{
    return (float)(alpha / (l->rslora ? sqrt(rank) : (double)rank));
}

static double alpha_of(const vkt_lora *l)
{
    return l->alpha > 0 ? (double)l->alpha : 2.0 * l->rank;
}

float vkt_lora_scale(const vkt_lora *l)
{
    return l->rank ? scale_of(l, alpha_of(l), l->rank) : 0;
}

/* `module` is the word, or ends in it after a dot: PEFT's rule for target_modules. */
static bool matches(const char *word, size_t n, const char *module)
{
    size_t len = strlen(module);
    return n <= len && !strncmp(module + len - n, word, n) &&
           (n == len || module[len - n - 1] == '.');
}

/* Marks the words of the list that name the module; true: there is one. */
static bool is_named(const char *list, uint64_t *used, const char *module)
{
    bool any = false;
    const char *p = list;
    for (uint32_t i = 0; p && *(p += strspn(p, separators)); i++) {
        size_t n = strcspn(p, separators);
        bool all = n == strlen(VKT_LORA_ALL) && !strncmp(p, VKT_LORA_ALL, n);
        if (all || matches(p, n, module)) {
            *used |= 1ull << VKT_MIN(i, 63);
            any = true;
        }
        p += n;
    }
    return any;
}

/* "NAME=VALUE" of n characters: the length of the name, and the value; 0: it is not that. */
static size_t pair_of(const char *p, size_t n, bool whole, double *value)
{
    char text[32];
    size_t name = n;
    while (name && p[name - 1] != '=') name--;
    if (name < 2 || n - name == 0 || n - name >= sizeof text) return 0;
    snprintf(text, sizeof text, "%.*s", (int)(n - name), p + name);
    if (!vkt__number(text, value) || !(*value > 0)) return 0;
    if (whole && (*value > MAX_RANK || *value != floor(*value))) return 0;
    return *value <= 1e6 ? name - 1 : 0;
}

/* The value of the first pattern that matches the module's name; `fallback` where none does. */
static double value_of(const char *pattern, bool whole, uint64_t *used, const char *module,
                       double fallback)
{
    const char *p = pattern;
    double value;
    for (uint32_t i = 0; p && *(p += strspn(p, separators)); i++) {
        size_t n = strcspn(p, separators), name = pair_of(p, n, whole, &value);
        if (name && matches(p, name, module)) {
            *used |= 1ull << VKT_MIN(i, 63);
            return value;
        }
        p += n;
    }
    return fallback;
}

float vkt__lora_of(const vkt_lora *l, const char *module, uint32_t *rank)
{
    uint64_t used;
    *rank = (uint32_t)value_of(l->rank_pattern, true, &used, module, l->rank);
    return scale_of(l, value_of(l->alpha_pattern, false, &used, module, alpha_of(l)), *rank);
}

/* "transformer.h.0.attn.c_attn" is remembered as "c_attn", once. */
static void remember(vkt__adapters *a, const char *module)
{
    const char *dot = strrchr(module, '.'), *end = dot ? dot + 1 : module;
    vkt__str word = { 0 };
    vkt__str_printf(&word, " %s,", end);
    if (!a->others.data || !strstr(a->others.data, word.data))
        vkt__str_add(&a->others, word.data, word.len);
    vkt__str_finish(&word);
}

uint32_t vkt__lora_add(vkt_model *m, const char *module, uint32_t in, uint32_t out, uint32_t heads,
                       bool by_default)
{
    vkt__adapters *a = vkt__model_adapters(m);
    char name[160];
    if (!a->desc.rank) return 0;
    remember(a, module);
    if (is_named(a->desc.modules, &a->used_modules, module)) return 0;
    if (!a->desc.targets && by_default) a->used = 1;
    if (a->desc.targets ? !is_named(a->desc.targets, &a->used, module) : !by_default) return 0;
    uint32_t rank =
        (uint32_t)value_of(a->desc.rank_pattern, true, &a->used_ranks, module, a->desc.rank);
    value_of(a->desc.alpha_pattern, false, &a->used_alphas, module, 0);
    /* PEFT's kaiming_uniform(a = sqrt(5)) has the deviation sqrt(1 / (3 in)), He's sqrt(2 / in). */
    snprintf(name, sizeof name, "%s.lora_A.weight", module);
    vkt__model_set_trained(
        m, vkt__model_add_named(m, name, vkt_shape2(rank, in), VKT_INIT_KAIMING, sqrtf(1.0f / 6)));
    snprintf(name, sizeof name, "%s.lora_B.weight", module);
    int b = vkt__model_add_named(m, name, vkt_shape2(out, rank), VKT_INIT_ZEROS, 1);
    vkt__model_set_trained(m, b);
    if (heads) vkt__model_set_by_head(m, b, heads);
    if (!a->desc.dora) return 2;
    snprintf(name, sizeof name, "%s.lora_magnitude_vector", module);
    int magnitude = vkt__model_add_named(m, name, vkt_shape1(out), VKT_INIT_ONES, 1);
    vkt__model_set_trained(m, magnitude);
    if (heads) vkt__model_set_by_head(m, magnitude, heads);
    return 3;
}

void vkt__lora_norms(const float *w, uint64_t out, uint64_t in, bool in_first, float *norms)
{
    uint64_t step = in_first ? out : 1;
    for (uint64_t o = 0; o < out; o++) {
        double sum = 0;
        const float *row = w + (in_first ? o : o * in);
        for (uint64_t i = 0; i < in; i++) sum += (double)row[i * step] * (double)row[i * step];
        norms[o] = (float)sqrt(sum);
    }
}

/* The module of a parameter's name: all before the last dot. */
static const char *module_of(const char *name, const char *end, char out[160])
{
    size_t n = strlen(name), k = strlen(end);
    if (n <= k || strcmp(name + n - k, end) != 0) return NULL;
    snprintf(out, 160, "%.*s", (int)VKT_MIN(n - k, 159), name);
    return out;
}

static bool has_adapter(const vkt_model *m, const char *module)
{
    char name[180];
    snprintf(name, sizeof name, "%s.lora_A.weight", module);
    for (size_t i = 0; i < m->n_params; i++)
        if (!strcmp(m->params[i].pub.name, name)) return true;
    return false;
}

void vkt__lora_thaw(vkt_model *m)
{
    vkt__adapters *a = vkt__model_adapters(m);
    char text[160];
    for (size_t i = 0; a->desc.rank && i < m->n_params; i++) {
        const vkt_param *p = &m->params[i].pub;
        if (!p->frozen) continue;
        const char *bias = module_of(p->name, ".bias", text),
                   *module = bias ? bias : module_of(p->name, ".weight", text);
        bool is_new = m->onnx && !m->params[i].fill;
        bool trained = is_new ||
                       is_named(a->desc.modules, &a->used_modules, module ? module : p->name) ||
                       (bias && a->desc.bias == VKT_LORA_BIAS_ALL) ||
                       (bias && a->desc.bias == VKT_LORA_BIAS_LORA_ONLY && has_adapter(m, module));
        if (trained) vkt__model_set_trained(m, (int)i);
    }
}

/* Every name of a pattern is a layer's that has an adapter, every value one. */
static vkt_status check_pattern(const vkt__adapters *a, const char *source, const char *key,
                                bool whole)
{
    const char *p = whole ? a->desc.rank_pattern : a->desc.alpha_pattern;
    uint64_t used = whole ? a->used_ranks : a->used_alphas;
    double value;
    for (uint32_t i = 0; p && *(p += strspn(p, separators)); i++) {
        size_t n = strcspn(p, separators);
        if (!pair_of(p, n, whole, &value))
            return vkt__fail(VKT_E_ARG, "model", "%s: %s: '%.*s' is not NAME=%s", source, key,
                             (int)VKT_MIN(n, 80), p,
                             whole ? "RANK, a whole number from 1 to 4096"
                                   : "ALPHA, a number above 0 and at most 1e6");
        if (!(used >> VKT_MIN(i, 63) & 1))
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: %s: '%.*s' names no layer that has an adapter (of the layers%.*s)"
                             " or an earlier name has taken it",
                             source, key, (int)VKT_MIN(n, 80), p, (int)a->others.len - 1,
                             a->others.data);
        p += n;
    }
    return VKT_OK;
}

static vkt_status check_modules(const vkt__adapters *a, const char *source)
{
    const char *p = a->desc.modules;
    for (uint32_t i = 0; p && *(p += strspn(p, separators)); i++) {
        size_t n = strcspn(p, separators);
        if (!(a->used_modules >> VKT_MIN(i, 63) & 1))
            return vkt__fail(VKT_E_ARG, "model",
                             "%s: lora.modules_to_save: the model has no layer '%.*s' (the output "
                             "layer is the embedding where both share their weights)",
                             source, (int)VKT_MIN(n, 80), p);
        p += n;
    }
    return VKT_OK;
}

vkt_status vkt__lora_check(const vkt__adapters *a, const char *source)
{
    const char *p = a->desc.targets;
    vkt_status st = VKT_OK;
    if (!a->desc.rank) return VKT_OK;
    if (!a->others.len)
        return vkt__fail(VKT_E_ARG, "model", "%s: lora: the model has no linear layer", source);
    for (uint32_t i = 0; p && *(p += strspn(p, separators)); i++) {
        size_t n = strcspn(p, separators);
        if (!(a->used >> VKT_MIN(i, 63) & 1))
            return vkt__fail(
                VKT_E_ARG, "model",
                "%s: lora.targets: no linear layer is called '%.*s'; the layers are%.*s or %s",
                source, (int)VKT_MIN(n, 80), p, (int)a->others.len - 1, a->others.data,
                VKT_LORA_ALL);
        p += n;
    }
    if (!a->used) return vkt__fail(VKT_E_ARG, "model", "%s: lora.targets names no layer", source);
    VKT_TRY(check_pattern(a, source, "lora.rank_pattern", true));
    VKT_TRY(check_pattern(a, source, "lora.alpha_pattern", false));
    VKT_TRY(check_modules(a, source));
fail:
    return st;
}

/* ---- building ---- */

typedef struct {
    vkt_model *m;
    vkt_graph *g;
    const char *module;
} adapted;

static vkt_tensor *part(const adapted *d, const char *name)
{
    char text[180];
    snprintf(text, sizeof text, "%s.%s", d->module, name);
    return vkt__model_named(d->m, d->g, text);
}

static vkt_tensor *product(vkt_graph *g, const vkt__linear *l, vkt_tensor *x, vkt_tensor *b)
{
    vkt_tensor *in[] = { x, l->w, b };
    return vkt__op(g, &vkt__op_matmul, in, VKT_COUNT(in),
                   (vkt_attr) { .matmul = { .layout = l->layout, .out = x->dtype } });
}

/* The parameter as a tensor that has no gradient: the same memory. */
static vkt_tensor *constant(const adapted *d, const char *name)
{
    char text[200];
    snprintf(text, sizeof text, "%s.%s (constant)", d->module, name);
    vkt_tensor *t = vkt__input_named(d->g, text), *like = part(d, name);
    if (t) return t;
    for (size_t i = 0; i < d->m->n_params; i++) {
        const vkt_param *p = &d->m->params[i].pub;
        if (strcmp(p->name, like->name) != 0) continue;
        t = vkt_input(d->g, like->shape, VKT_F32, vkt__arena_strdup(&d->g->arena, text));
        vkt_bind(t, VKT_ALL_SLOTS, d->m->values, p->offset * 4);
    }
    return t;
}

/* magnitude / ||row of W + scale B A|| [out]. The norm is sqrt(in) / rstd of an rmsnorm over the
 * rows, whose eps is below the square of any weight that counts. */
static vkt_tensor *ratio(const adapted *d, const vkt__linear *l, float scale)
{
    vkt_graph *g = d->g;
    vkt_tensor *rows =
        l->layout == VKT_LAYOUT_NN ? vkt_permute(g, l->w, (uint32_t[]) { 1, 0 }) : l->w;
    uint32_t in = rows->shape.d[1];
    vkt_tensor *ba = vkt_matmul(g, VKT_LAYOUT_NN, constant(d, "lora_B.weight"),
                                vkt_scale(g, constant(d, "lora_A.weight"), scale)),
               *w = vkt_add(g, rows, ba),
               *parts[] = { w, vkt_fill(g, vkt_shape1(in), 1), NULL, NULL };
    vkt_node *norm = vkt__node(g, &vkt__op_rmsnorm, parts, VKT_COUNT(parts),
                               (vkt_attr) { .norm = { .eps = 1e-30f, .rms = true } });
    if (!norm) return g->inert;
    vkt_tensor *one = vkt_scale(g, norm->out[3], 1 / sqrtf((float)in));
    return vkt_mul(g, one, part(d, "lora_magnitude_vector"));
}

/* As PEFT computes it: with dropout, the base's product of the dropped x is needed, too. */
static vkt_tensor *weight_decomposed(const adapted *d, const vkt__linear *l, vkt_tensor *dropped,
                                     vkt_tensor *added, float scale)
{
    vkt_graph *g = d->g;
    vkt_tensor *c = ratio(d, l, scale), *base = product(g, l, dropped, NULL),
               *y = vkt_mul(g, vkt_add(g, base, added), c);
    if (dropped == l->x) return l->b ? vkt_add(g, y, l->b) : y;
    y = vkt_add(g, product(g, l, l->x, l->b), y);
    return vkt_add(g, y, vkt_scale(g, base, -1));
}

vkt_tensor *vkt__lora_linear(vkt_model *m, vkt_graph *g, const char *module, const vkt__linear *l,
                             bool train)
{
    const vkt_lora *desc = &vkt__model_adapters(m)->desc;
    adapted d = { m, g, module };
    uint32_t rank;
    vkt_tensor *a = desc->rank && !vkt__model_adapters(m)->off ? part(&d, "lora_A.weight") : NULL;
    if (!a) return product(g, l, l->x, l->b);
    vkt_tensor *b = part(&d, "lora_B.weight"), *x = l->x,
               *y = desc->dora ? NULL : product(g, l, l->x, l->b);
    float scale = vkt__lora_of(desc, module, &rank);
    if (train && desc->dropout > 0) x = vkt_dropout(g, x, vkt_step(g), desc->dropout);
    /* Scaled where it is narrowest. */
    vkt_tensor *low = vkt_scale(g, vkt_matmul(g, VKT_LAYOUT_NT, x, a), scale),
               *added = vkt_matmul(g, VKT_LAYOUT_NT, low, b);
    return desc->dora ? weight_decomposed(&d, l, x, added, scale) : vkt_add(g, y, added);
}
