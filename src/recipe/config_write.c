/* vkt_config as YAML. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "recipe/loss_terms.h"
#include "recipe/options.h"
#include "recipe/recipe_model.h"

/* False if the option is unset, so that nothing is to be written. */
static bool value_yaml(const vkt_config *c, const vkt__option *o, vkt__str *out)
{
    const char *at = (const char *)c + o->offset, *word;
    char number[32];
    uint32_t u32;
    uint64_t u64;
    int64_t i64;
    float f;
    double d;
    bool b;
    int e;
    vkt__choice choice;
    switch (o->type) {
    case VKT__OPT_STRING:
    case VKT__OPT_WORDS:
    case VKT__OPT_PAIRS:
        memcpy(&word, at, sizeof word);
        if (!word) return false;
        if (vkt__option_choice(o, 0, &choice))
            vkt__str_printf(out, "%s", word);
        else
            vkt__yaml_quote(word, out);
        return true;
    case VKT__OPT_BOOL:
        memcpy(&b, at, sizeof b);
        vkt__str_printf(out, "%s", b ? "true" : "false");
        return true;
    case VKT__OPT_U32:
        memcpy(&u32, at, sizeof u32);
        vkt__str_printf(out, "%u", u32);
        return true;
    case VKT__OPT_U64:
        memcpy(&u64, at, sizeof u64);
        vkt__str_printf(out, "%llu", (unsigned long long)u64);
        return true;
    case VKT__OPT_I64:
        memcpy(&i64, at, sizeof i64);
        vkt__str_printf(out, "%lld", (long long)i64);
        return true;
    case VKT__OPT_F32:
        memcpy(&f, at, sizeof f);
        vkt__str_printf(out, "%s", vkt__double_text((double)f, true, number));
        return true;
    case VKT__OPT_F64:
        memcpy(&d, at, sizeof d);
        vkt__str_printf(out, "%s", vkt__double_text(d, false, number));
        return true;
    case VKT__OPT_ENUM:
        memcpy(&e, at, sizeof e);
        for (int i = 0; vkt__option_choice(o, i, &choice); i++)
            if (choice.value == e) return vkt__str_printf(out, "%s", choice.name), true;
        return false;
    case VKT__OPT_CHAR:
        if (!*at)
            vkt__str_printf(out, "auto");
        else if (*at == '\t')
            vkt__str_printf(out, "tab");
        else
            vkt__yaml_quote((char[]) { *at, 0 }, out);
        return true;
    case VKT__OPT_STEPS:
        if (!c->schedule.n_milestones) return false;
        for (uint32_t i = 0; i < c->schedule.n_milestones; i++)
            vkt__str_printf(out, "%s%llu", i ? ", " : "[",
                            (unsigned long long)c->schedule.milestones[i]);
        vkt__str_printf(out, "]");
        return true;
    case VKT__OPT_WEIGHTS:
        if (c->class_weight != VKT_CLASS_WEIGHT_LIST) {
            vkt__str_printf(out, "%s", o->choices[c->class_weight].name);
            return true;
        }
        for (uint32_t i = 0; i < c->n_class_weights; i++)
            vkt__str_printf(out, "%s%s", i ? ", " : "[",
                            vkt__double_text((double)c->class_weights[i], true, number));
        vkt__str_printf(out, "]");
        return true;
    case VKT__OPT_LOSSES:
        return vkt__loss_terms_yaml(c, out);
    case VKT__OPT_GROUPS:
        for (size_t i = 0; i < c->optim.n_groups; i++) {
            const vkt_optim_group *g = &c->optim.groups[i];
            vkt__str_printf(out, "\n    - {pattern: ");
            vkt__yaml_quote(g->pattern, out);
            vkt__str_printf(out, ", lr_scale: %s",
                            vkt__double_text((double)g->lr_scale, true, number));
            if (!isnan(g->weight_decay))
                vkt__str_printf(out, ", weight_decay: %s",
                                vkt__double_text((double)g->weight_decay, true, number));
            vkt__str_printf(out, "}");
        }
        return c->optim.n_groups > 0;
    }
    return false;
}

char *vkt_option_value(const vkt_config *c, size_t i)
{
    size_t n;
    const vkt__option *o = vkt__options(&n);
    vkt__str s = { 0 };
    if (i < n && value_yaml(c, &o[i], &s)) return s.data;
    if (i == n && c->n_layers) {
        vkt__model_yaml(c->layers, c->n_layers, 2, &s);
        return s.data;
    }
    vkt__str_finish(&s);
    return NULL;
}

/* The lines that open the sections of `name` which `before` is not in. Returns the indent. */
static int open_sections(const char *name, const char *before, vkt__str *out)
{
    int indent = 0;
    bool same = true;
    for (const char *dot; (dot = strchr(name, '.')); name = dot + 1, indent += 2) {
        size_t len = (size_t)(dot - name) + 1;
        same = same && !strncmp(name, before, len);
        if (same)
            before += len;
        else
            vkt__str_printf(out, "%*s%.*s:\n", indent, "", (int)len - 1, name);
    }
    return indent;
}

char *vkt_config_yaml(const vkt_config *c)
{
    size_t n;
    const vkt__option *o = vkt__options(&n);
    const char *before = "";
    vkt__str s = { 0 };
    for (size_t i = 0; i < n; i++) {
        vkt__str value = { 0 };
        if (value_yaml(c, &o[i], &value)) {
            const char *dot = strrchr(o[i].name, '.');
            int indent = open_sections(o[i].name, before, &s);
            before = o[i].name;
            vkt__str_printf(&s, "%*s%s:%s%s\n", indent, "", dot ? dot + 1 : o[i].name,
                            value.data[0] == '\n' ? "" : " ", value.data);
        }
        vkt__str_finish(&value);
    }
    if (c->n_layers) {
        vkt__str_printf(&s, "model:\n");
        vkt__model_yaml(c->layers, c->n_layers, 2, &s);
    }
    return s.data;
}
