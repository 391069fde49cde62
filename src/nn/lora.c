/* Low-rank adapters beside linear layers: which layers are meant, their parameters, their ops. */
#include <math.h>
#include <stdio.h>

#include "nn/lora.h"

float vkt_lora_scale(const vkt_lora *l)
{
    return l->rank ? (l->alpha > 0 ? l->alpha : 2 * (float)l->rank) / (float)l->rank : 0;
}

/* `module` is the word, or ends in it after a dot: PEFT's rule for target_modules. */
static bool matches(const char *word, size_t n, const char *module)
{
    size_t len = strlen(module);
    if (n == strlen(VKT_LORA_ALL) && !strncmp(word, VKT_LORA_ALL, n)) return true;
    return n <= len && !strncmp(module + len - n, word, n) &&
           (n == len || module[len - n - 1] == '.');
}

static const char separators[] = ", ";

/* Marks the targets that name the module; true: there is one. */
static bool is_target(vkt__adapters *a, const char *module)
{
    bool any = false;
    const char *p = a->desc.targets;
    for (uint32_t i = 0; *(p += strspn(p, separators)); i++) {
        size_t n = strcspn(p, separators);
        if (matches(p, n, module)) {
            a->used |= 1ull << VKT_MIN(i, 63);
            any = true;
        }
        p += n;
    }
    return any;
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
    if (!a->desc.targets && by_default) a->used = 1;
    if (a->desc.targets ? !is_target(a, module) : !by_default) return 0;
    /* PEFT's kaiming_uniform(a = sqrt(5)) has the deviation sqrt(1 / (3 in)), He's sqrt(2 / in). */
    snprintf(name, sizeof name, "%s.lora_A.weight", module);
    vkt__model_set_trained(m, vkt__model_add_named(m, name, vkt_shape2(a->desc.rank, in),
                                                   VKT_INIT_KAIMING, sqrtf(1.0f / 6)));
    snprintf(name, sizeof name, "%s.lora_B.weight", module);
    int b = vkt__model_add_named(m, name, vkt_shape2(out, a->desc.rank), VKT_INIT_ZEROS, 1);
    vkt__model_set_trained(m, b);
    if (heads) vkt__model_set_by_head(m, b, heads);
    return 2;
}

vkt_status vkt__lora_check(const vkt__adapters *a, const char *source)
{
    const char *p = a->desc.targets;
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
    return VKT_OK;
}

vkt_tensor *vkt__lora_build(vkt_model *m, vkt_graph *g, const char *module, vkt_tensor *x,
                            vkt_tensor *y, bool train)
{
    const vkt_lora *desc = &vkt__model_adapters(m)->desc;
    char name[160];
    if (!desc->rank) return y;
    snprintf(name, sizeof name, "%s.lora_A.weight", module);
    vkt_tensor *a = vkt__model_named(m, g, name);
    snprintf(name, sizeof name, "%s.lora_B.weight", module);
    vkt_tensor *b = vkt__model_named(m, g, name);
    if (!a || !b) return y;
    if (train && desc->dropout > 0) x = vkt_dropout(g, x, vkt_step(g), desc->dropout);
    /* Scaled where it is narrowest. */
    vkt_tensor *low = vkt_scale(g, vkt_matmul(g, VKT_LAYOUT_NT, x, a), vkt_lora_scale(desc));
    return vkt_add(g, y, vkt_matmul(g, VKT_LAYOUT_NT, low, b));
}
