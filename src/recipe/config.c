/* config.h, and vkt_config: creation, loading, --set, where an option was set. */
#include <stdio.h>

#include "base/embedded.h"
#include "base/os.h"
#include "recipe/config.h"
#include "recipe/recipe.h"
#include "recipe/recipe_model.h"

vkt_status vkt_config_create(vkt_config **out)
{
    size_t n;
    const vkt__option *o = vkt__options(&n);
    vkt_config *c = vkt__alloc(sizeof *c);
    c->priv = vkt__alloc(sizeof *c->priv);
    VKT_ASSERT(n <= VKT__MAX_OPTIONS);
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < n && st == VKT_OK; i++)
        if (o[i].fallback)
            st = vkt__option_set(c, &c->priv->arena, &o[i], o[i].fallback, false, "default");
    VKT_ASSERT(st == VKT_OK || st == VKT_E_OOM_HOST); /* every default is valid */
    if (st != VKT_OK) vkt_config_destroy(&c);
    *out = c;
    return st;
}

void vkt_config_destroy(vkt_config **c)
{
    if (!c || !*c) return;
    vkt__arena_finish(&(*c)->priv->arena);
    free((*c)->priv);
    free(*c);
    *c = NULL;
}

/* ---- built-in recipes ---- */

/* The description is the first line's comment. */
bool vkt_recipe(size_t i, const char **name, const char **description, const char **text)
{
    static _Thread_local char first[200];
    for (size_t k = 0; k <= i; k++)
        if (!vkt__embedded_recipes[k].name) return false;
    const vkt__embedded_file *f = &vkt__embedded_recipes[i];
    const char *p = (const char *)f->data;
    p += strspn(p, "# ");
    snprintf(first, sizeof first, "%.*s", (int)VKT_MIN(strcspn(p, "\n"), sizeof first - 1), p);
    if (name) *name = f->name;
    if (description) *description = first;
    if (text) *text = (const char *)f->data;
    return true;
}

static vkt_status unknown_recipe(const char *recipe)
{
    const char *names[64], *name;
    size_t n = 0;
    vkt__str all = { 0 };
    for (; n < VKT_COUNT(names) && vkt_recipe(n, &name, NULL, NULL); n++) {
        names[n] = name;
        vkt__str_printf(&all, "%s%s", n ? ", " : "", name);
    }
    vkt__fail(VKT_E_ARG, "config", "no recipe '%s': no such file, and the built-in ones are %s%s",
              recipe, all.data ? all.data : "none", vkt_did_you_mean(recipe, names, n).text);
    vkt__str_finish(&all);
    return VKT_E_ARG;
}

vkt_status vkt_config_parse(vkt_config *c, const char *text, size_t n, const char *source)
{
    c->source = vkt__arena_strdup(&c->priv->arena, source);
    return vkt__recipe_apply(c, text, n, c->source);
}

vkt_status vkt__config_of_run(const char *yaml, vkt_config **out)
{
    vkt__log_hold(true);
    vkt_status st = vkt_config_create(out);
    if (st == VKT_OK) st = vkt_config_parse(*out, yaml, strlen(yaml), "run.json");
    vkt__log_hold(false);
    if (st != VKT_OK) vkt_config_destroy(out);
    return st == VKT_E_OOM_HOST ? vkt__fail(st, "config", "%s", vkt__last_failure()) : VKT_OK;
}

vkt_status vkt_config_load(vkt_config *c, const char *recipe)
{
    const char *name, *text, *end = strrchr(recipe, '.');
    bool looks_like_path = strchr(recipe, '/') || strchr(recipe, '\\') ||
                           (end && (!strcmp(end, ".yaml") || !strcmp(end, ".yml")));
    if (!looks_like_path && (!vkt__file_exists(recipe) || vkt__is_dir(recipe))) {
        for (size_t i = 0; vkt_recipe(i, &name, NULL, &text); i++)
            if (!strcmp(name, recipe)) return vkt_config_parse(c, text, strlen(text), recipe);
        if (!vkt__is_dir(recipe)) return unknown_recipe(recipe);
    }
    char *data = NULL;
    size_t n;
    if (vkt__is_absent(recipe))
        return vkt__fail(
            VKT_E_IO, "config",
            "no recipe '%s': there is no such file; `vktrain recipes` lists the built-in ones, "
            "`vktrain init DATA` writes one for your data",
            recipe);
    vkt_status st = vkt__recipe_not_folder(c, recipe);
    if (st == VKT_OK) st = vkt__file_read(recipe, VKT__YAML_BYTES, &data, &n);
    if (st == VKT_OK) st = vkt_config_parse(c, data, n, recipe);
    free(data);
    return st;
}

/* ---- --set ---- */

vkt_status vkt_config_set(vkt_config *c, const char *assignment)
{
    vkt__arena *a = &c->priv->arena;
    vkt_status st = VKT_OK;
    const char *eq = strchr(assignment, '=');
    if (!eq || eq == assignment)
        return vkt__fail(VKT_E_ARG, "config", "--set %s: key=value is expected, as optim.lr=0.01",
                         assignment);
    char *key = vkt__arena_strdup(a, assignment);
    key[eq - assignment] = 0;
    const char *where = vkt__arena_printf(a, "--set %s", key);
    if (!strcmp(key, "model") || !strncmp(key, "model.", 6))
        return vkt__model_set(c, key, eq + 1, where);
    int i = vkt__option_find(key);
    size_t n;
    const vkt__option *o = vkt__options(&n);
    if (i < 0)
        return vkt__fail(VKT_E_ARG, "config", "%s: unknown key%s", where,
                         vkt__option_hint(key).text);
    if (o[i].type == VKT__OPT_STEPS || o[i].type == VKT__OPT_GROUPS ||
        o[i].type == VKT__OPT_LOSSES ||
        ((o[i].type == VKT__OPT_WEIGHTS || o[i].type == VKT__OPT_WORDS) && eq[1] == '[') ||
        (o[i].type == VKT__OPT_PAIRS && eq[1] == '{')) {
        vkt__yaml *node;
        VKT_TRY(vkt__yaml_parse(a, eq + 1, strlen(eq + 1), where, &node));
        return vkt__option_set_node(c, i, node, where);
    }
    VKT_TRY(vkt__option_set(c, a, &o[i], eq + 1, false, where));
    c->priv->where[i] = where;
fail:
    return st;
}

void vkt_config_set_arrays(vkt_config *c, const vkt_arrays *arrays)
{
    vkt_arrays *own = vkt__arena_alloc(&c->priv->arena, sizeof *own);
    *own = *arrays;
    c->data.source = "npy";
    c->data.path = NULL;
    c->data.arrays = own;
}

/* ---- where options were set ---- */

const char *vkt__config_where(const vkt_config *c, const char *option)
{
    int i = vkt__option_find(option);
    VKT_ASSERT(i >= 0);
    return c->priv->where[i] ? c->priv->where[i] : c->source ? c->source : "config";
}

bool vkt__config_was_set(const vkt_config *c, const char *option)
{
    return c->priv->where[vkt__option_find(option)] != NULL;
}

/* "recipe.yaml:7: OPTION: ..." */
static vkt__str about(const vkt_config *c, const char *option, const char *fmt, va_list ap)
{
    vkt__str s = { 0 };
    const char *where = vkt__config_where(c, option);
    vkt__str_printf(&s, "%s%s: ", where, vkt__option_label_of(where, option).text);
    vkt__str_vprintf(&s, fmt, ap);
    return s;
}

vkt_status vkt__config_refuse(const vkt_config *c, const char *option, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str s = about(c, option, fmt, ap);
    va_end(ap);
    vkt__fail(VKT_E_ARG, "config", "%s", s.data);
    vkt__str_finish(&s);
    return VKT_E_ARG;
}

void vkt__config_warn(const vkt_config *c, const char *option, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vkt__str s = about(c, option, fmt, ap);
    va_end(ap);
    vkt_log(VKT_LOG_WARN, "config", "%s", s.data);
    vkt__str_finish(&s);
}

vkt_status vkt__config_find(const vkt_config *c, const char *option, const char *path)
{
    if (!path || strpbrk(path, "*,?") || !vkt__is_absent(path)) return VKT_OK;
    return vkt__fail(VKT_E_IO, "config", "can't open '%s': No such file or directory (%s of %s)",
                     path, option, vkt__config_where(c, option));
}

bool vkt__config_is_text(const vkt_config *c)
{
    vkt_source_info s;
    return vkt_source_find(c->data.source, &s) && s.kinds == VKT_DATA_KIND_TEXT;
}
