/* vkt_layer trees as the `model:` list of a recipe, which recipe_model.c reads. */
#include "base/number.h"
#include "recipe/recipe_model.h"

/* "a" or "[a, b]". */
static void write_names(const char *const *names, size_t n, vkt__str *out)
{
    for (size_t k = 0; k < n; k++) {
        vkt__str_printf(out, "%s", k ? ", " : n > 1 ? "[" : "");
        vkt__yaml_quote(names[k], out);
    }
    vkt__str_printf(out, "%s", n > 1 ? "]" : "");
}

/* `always`: write a zero too, where the type needs the option. */
static void write_opt(const vkt_layer *l, const vkt_layer_opt *o, const char *before, bool always,
                      vkt__str *out)
{
    const char *at = (const char *)l + o->offset, *word, *const * names;
    size_t n;
    char number[32];
    vkt_maybe maybe;
    vkt_shape sizes;
    bool b;
    uint32_t u;
    float f;
    switch (o->type) {
    case VKT_OPT_UINT:
        memcpy(&u, at, sizeof u);
        if (u) vkt__str_printf(out, "%s%s: %u", before, o->name, u);
        break;
    case VKT_OPT_MAYBE:
        memcpy(&maybe, at, sizeof maybe);
        if (maybe.given) vkt__str_printf(out, "%s%s: %u", before, o->name, maybe.n);
        break;
    case VKT_OPT_FLOAT:
        memcpy(&f, at, sizeof f);
        if (f != 0 || always)
            vkt__str_printf(out, "%s%s: %s", before, o->name,
                            vkt__double_text((double)f, true, number));
        break;
    case VKT_OPT_BOOL:
    case VKT_OPT_NOT_BOOL:
        memcpy(&b, at, sizeof b);
        if (b)
            vkt__str_printf(out, "%s%s: %s", before, o->name,
                            o->type == VKT_OPT_BOOL ? "true" : "false");
        break;
    case VKT_OPT_STRING:
        memcpy(&word, at, sizeof word);
        if (!word) break;
        vkt__str_printf(out, "%s%s: ", before, o->name);
        if (o->choices) /* a known word */
            vkt__str_printf(out, "%s", word);
        else
            vkt__yaml_quote(word, out);
        break;
    case VKT_OPT_SIZES:
        memcpy(&sizes, at, sizeof sizes);
        for (u = 0; u < sizes.rank; u++) {
            if (!u) vkt__str_printf(out, "%s%s: [", before, o->name);
            vkt__str_printf(out, "%s%u", u ? ", " : "", sizes.d[u]);
        }
        if (sizes.rank) vkt__str_printf(out, "]");
        break;
    case VKT_OPT_NAMES:
        memcpy((void *)&names, at, sizeof names);
        memcpy(&n, at + sizeof names, sizeof n);
        if (!n) break;
        vkt__str_printf(out, "%s%s: ", before, o->name);
        write_names(names, n, out);
        break;
    case VKT_OPT_FROM: /* vkt__model_from_yaml, as of any layer */
    case VKT_OPT_BODY:
        break;
    }
}

void vkt__model_from_yaml(const vkt_layer *l, vkt__str *out)
{
    write_names(l->from, l->n_from, out);
}

const vkt_layer_opt *vkt__model_opts(const vkt_layer *l)
{
    return vkt__model_type(l)->opts;
}

void vkt__model_opt_yaml(const vkt_layer *l, const vkt_layer_opt *o, vkt__str *out)
{
    vkt__str named = { 0 };
    write_opt(l, o, "", vkt__model_needs(vkt__model_type(l), o), &named);
    if (named.len) vkt__str_printf(out, "%s", named.data + strlen(o->name) + strlen(": "));
    vkt__str_finish(&named);
}

void vkt__model_yaml(const vkt_layer *layers, size_t n, int indent, vkt__str *out)
{
    for (size_t i = 0; i < n; i++) {
        const vkt_layer *l = &layers[i];
        vkt__str opts = { 0 }, before = { 0 };
        const vkt_layer_type *t = vkt__model_type(l);
        /* `- linear: {out: 8, bias: false}` on one line; with a body, one option a line. */
        if (l->n_body)
            vkt__str_printf(&before, "\n%*s", indent + 4, "");
        else
            vkt__str_printf(&before, ", ");
        if (l->name)
            vkt__str_printf(&opts, "%sname: ", before.data), vkt__yaml_quote(l->name, &opts);
        if (l->n_from)
            vkt__str_printf(&opts, "%sfrom: ", before.data), vkt__model_from_yaml(l, &opts);
        for (const vkt_layer_opt *o = t->opts; o < t->opts + VKT_COUNT(t->opts) && o->name; o++)
            write_opt(l, o, before.data, vkt__model_needs(t, o), &opts);
        vkt__str_printf(out, "%*s- %s", indent, "", l->type);
        if (l->n_body) {
            vkt__str_printf(out, ":%s%sbody:\n", opts.data ? opts.data : "", before.data);
            vkt__model_yaml(l->body, l->n_body, indent + 6, out);
            if (l->n_shortcut) {
                vkt__str_printf(out, "%*sshortcut:\n", indent + 4, "");
                vkt__model_yaml(l->shortcut, l->n_shortcut, indent + 6, out);
            }
        } else if (opts.data) {
            vkt__str_printf(out, ": {%s}\n", opts.data + 2);
        } else {
            vkt__str_printf(out, "\n");
        }
        vkt__str_finish(&opts);
        vkt__str_finish(&before);
    }
}
