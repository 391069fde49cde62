/* recipe.h: a recipe's text -> options. Nested keys are joined by dots and looked up in the option
 * table, so the table alone says what a recipe may hold. The model list is read in recipe_model.c.
 */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/os.h"
#include "recipe/loss_terms.h"
#include "recipe/recipe.h"
#include "recipe/recipe_model.h"

static vkt_status unknown_key(const vkt__yaml *node, const char *name, const char *source)
{
    const char *dot = strchr(node->key, '.');
    if (dot && vkt__option_find(name) >= 0)
        return vkt__fail(VKT_E_ARG, "config",
                         "%s:%d: unknown key '%s': dots are for --set; here '%s:' stands in a line "
                         "of its own, below '%.*s:' and indented",
                         source, node->line, name, dot + 1, (int)(dot - node->key), node->key);
    return vkt__fail(VKT_E_ARG, "config", "%s:%d: unknown key '%s'%s", source, node->line, name,
                     vkt__option_hint(name).text);
}

/* ---- lists ---- */

static vkt_status list_entry_error(const vkt__option *o, const char *where, const char *what)
{
    return vkt__fail(VKT_E_ARG, "config", "%s%s: %s", where,
                     vkt__option_label_of(where, o->name).text, what);
}

static vkt_status set_steps(vkt_config *c, const vkt__option *o, const vkt__yaml *node,
                            const char *where)
{
    uint64_t steps[VKT_MAX_MILESTONES];
    uint32_t n = 0;
    if (node->kind != VKT__YAML_LIST)
        return list_entry_error(o, where, "a list of steps is expected, as [1000, 2000]");
    for (const vkt__yaml *e = node->first; e; e = e->next) {
        if (n == VKT_MAX_MILESTONES) return list_entry_error(o, where, "more than 16 entries");
        if (e->kind != VKT__YAML_SCALAR || e->quoted || !vkt__parse_u64(e->text, &steps[n]) ||
            !steps[n])
            return list_entry_error(o, where, "every entry must be a whole number from 1");
        if ((double)steps[n] > o->max) return list_entry_error(o, where, "an entry is too large");
        if (n && steps[n] <= steps[n - 1]) return list_entry_error(o, where, "the steps must rise");
        n++;
    }
    memcpy(c->schedule.milestones, steps, n * sizeof *steps);
    c->schedule.n_milestones = n;
    return VKT_OK;
}

static vkt_status set_group(vkt_optim_group *g, vkt__arena *a, const vkt__option *o,
                            const vkt__yaml *map, const char *where)
{
    *g = (vkt_optim_group) { .lr_scale = 1, .weight_decay = NAN };
    if (map->kind != VKT__YAML_MAP)
        return list_entry_error(o, where, "an entry must be {pattern: ..., ...}");
    for (const vkt__yaml *e = map->first; e; e = e->next) {
        double v = 0;
        bool is_number = e->kind == VKT__YAML_SCALAR && !e->quoted && vkt__number(e->text, &v);
        if (!strcmp(e->key, "pattern")) {
            if (e->kind != VKT__YAML_SCALAR || !e->text[0])
                return list_entry_error(o, where, "pattern must be a text, as \"*.bias\"");
            g->pattern = vkt__arena_strdup(a, e->text);
        } else if (!strcmp(e->key, "lr_scale") || !strcmp(e->key, "weight_decay")) {
            if (!is_number || v < 0 || v > 1e6)
                return vkt__fail(VKT_E_ARG, "config", "%s%s: %s must be a number from 0 to 1e6",
                                 where, vkt__option_label_of(where, o->name).text, e->key);
            *(e->key[0] == 'l' ? &g->lr_scale : &g->weight_decay) = (float)v;
        } else {
            return vkt__fail(VKT_E_ARG, "config",
                             "%s%s: unknown key '%s'; known are pattern, lr_scale, weight_decay",
                             where, vkt__option_label_of(where, o->name).text, e->key);
        }
    }
    return g->pattern ? VKT_OK : list_entry_error(o, where, "an entry lacks its pattern");
}

static vkt_status set_groups(vkt_config *c, const vkt__option *o, const vkt__yaml *node,
                             const char *where)
{
    vkt_status st = VKT_OK;
    vkt__arena *a = &c->priv->arena;
    size_t n = 0, i = 0;
    if (node->kind != VKT__YAML_LIST)
        return list_entry_error(o, where, "a list of {pattern: ..., ...} is expected");
    for (const vkt__yaml *e = node->first; e; e = e->next) n++;
    if (n > 64) return list_entry_error(o, where, "more than 64 entries");
    vkt_optim_group *g = vkt__arena_alloc(a, n * sizeof *g);
    for (const vkt__yaml *e = node->first; e; e = e->next)
        VKT_TRY(set_group(&g[i++], a, o, e, where));
    c->optim.groups = n ? g : NULL;
    c->optim.n_groups = n;
fail:
    return st;
}

static vkt_status set_weights(vkt_config *c, const vkt__option *o, const vkt__yaml *node,
                              const char *where)
{
    size_t n = 0, i = 0;
    for (const vkt__yaml *e = node->first; e; e = e->next) n++;
    if (n == 0 || n > UINT32_MAX) return list_entry_error(o, where, "the list is empty");
    float *w = vkt__arena_alloc(&c->priv->arena, n * sizeof *w);
    for (const vkt__yaml *e = node->first; e; e = e->next) {
        double v;
        if (e->kind != VKT__YAML_SCALAR || e->quoted || !vkt__number(e->text, &v) || v < 0 ||
            v > o->max)
            return list_entry_error(o, where, "every entry must be a number from 0 to 1e6");
        w[i++] = (float)v;
    }
    c->class_weight = VKT_CLASS_WEIGHT_LIST;
    c->class_weights = w;
    c->n_class_weights = (uint32_t)n;
    return VKT_OK;
}

static vkt_status set_words(vkt_config *c, const vkt__option *o, const vkt__yaml *node,
                            const char *where)
{
    vkt__str all = { 0 };
    vkt_status st = VKT_OK;
    for (const vkt__yaml *e = node->first; e && st == VKT_OK; e = e->next) {
        if (e->kind == VKT__YAML_SCALAR && e->text[0])
            vkt__str_printf(&all, "%s%s", all.len ? ", " : "", e->text);
        else
            st = list_entry_error(o, where, "every entry must be a word");
    }
    if (st == VKT_OK)
        st = vkt__option_set(c, &c->priv->arena, o, all.data ? all.data : "", true, where);
    vkt__str_finish(&all);
    return st;
}

static vkt_status set_pairs(vkt_config *c, const vkt__option *o, const vkt__yaml *node,
                            const char *where)
{
    vkt__str all = { 0 };
    vkt_status st = VKT_OK;
    double v;
    for (const vkt__yaml *e = node->first; e && st == VKT_OK; e = e->next) {
        if (e->kind == VKT__YAML_SCALAR && !e->quoted && vkt__number(e->text, &v))
            vkt__str_printf(&all, "%s%s=%s", all.len ? ", " : "", e->key, e->text);
        else
            st = list_entry_error(o, where, "every name must have a number");
    }
    if (st == VKT_OK)
        st = vkt__option_set(c, &c->priv->arena, o, all.data ? all.data : "", true, where);
    vkt__str_finish(&all);
    return st;
}

vkt_status vkt__option_set_node(vkt_config *c, int index, const vkt__yaml *node, const char *where)
{
    size_t n;
    const vkt__option *o = &vkt__options(&n)[index];
    vkt_status st = VKT_OK;
    if (o->type == VKT__OPT_STEPS)
        st = set_steps(c, o, node, where);
    else if (o->type == VKT__OPT_GROUPS)
        st = set_groups(c, o, node, where);
    else if (o->type == VKT__OPT_LOSSES)
        st = vkt__loss_terms_read(c, node, where);
    else if (o->type == VKT__OPT_WEIGHTS && node->kind == VKT__YAML_LIST)
        st = set_weights(c, o, node, where);
    else if (o->type == VKT__OPT_WORDS && node->kind == VKT__YAML_LIST)
        st = set_words(c, o, node, where);
    else if (o->type == VKT__OPT_PAIRS && node->kind == VKT__YAML_MAP)
        st = set_pairs(c, o, node, where);
    else if (node->kind != VKT__YAML_SCALAR)
        st = vkt__fail(VKT_E_ARG, "config", "%s%s takes one value, not a %s", where,
                       vkt__option_label_of(where, o->name).text,
                       node->kind == VKT__YAML_LIST ? "list" : "block of keys");
    else
        st = vkt__option_set(c, &c->priv->arena, o, node->text, node->quoted, where);
    if (st == VKT_OK) c->priv->where[index] = where;
    return st;
}

/* ---- the tree ---- */

static bool is_section(const char *name)
{
    size_t n, len = strlen(name);
    const vkt__option *o = vkt__options(&n);
    for (size_t i = 0; i < n; i++) {
        if (!strncmp(o[i].name, name, len) && o[i].name[len] == '.') return true;
        if (o[i].alias && !strncmp(o[i].alias, name, len) && o[i].alias[len] == '.') return true;
    }
    return false;
}

static vkt_status apply(vkt_config *c, const vkt__yaml *map, const char *prefix, const char *source,
                        bool *seen)
{
    vkt__arena *a = &c->priv->arena;
    vkt_status st = VKT_OK;
    for (const vkt__yaml *e = map->first; e; e = e->next) {
        const char *name = vkt__arena_printf(a, "%s%s", prefix, e->key);
        int i = vkt__option_find(name);
        if (!strcmp(name, "model")) {
            VKT_TRY(vkt__model_parse(c, e, source));
        } else if (i >= 0 && !strcmp(strrchr(name, '.') ? strrchr(name, '.') + 1 : name, e->key)) {
            size_t n;
            const vkt__option *o = &vkt__options(&n)[i];
            if (seen[i])
                return vkt__fail(VKT_E_ARG, "config",
                                 "%s:%d: '%s' is '%s', which is set on line %s", source, e->line,
                                 name, o->name, strrchr(c->priv->where[i], ':') + 1);
            VKT_TRY(vkt__option_set_node(c, i, e, vkt__arena_printf(a, "%s:%d", source, e->line)));
            seen[i] = true;
        } else if (is_section(name)) {
            if (e->kind != VKT__YAML_MAP)
                return vkt__fail(VKT_E_ARG, "config", "%s:%d: '%s' takes a block of keys", source,
                                 e->line, name);
            VKT_TRY(apply(c, e, vkt__arena_printf(a, "%s.", name), source, seen));
        } else {
            return unknown_key(e, name, source);
        }
    }
fail:
    return st;
}

/* What else may have been named where a recipe is expected: a file of data. */
static const char *if_data(vkt_config *c, const char *source)
{
    const char *end = strrchr(source, '.');
    if ((end && (!strcmp(end, ".yaml") || !strcmp(end, ".yml"))) || !vkt__file_exists(source))
        return "";
    return vkt__arena_printf(&c->priv->arena, "; if '%s' is data, `vktrain init` writes a recipe",
                             source);
}

vkt_status vkt__recipe_apply(vkt_config *c, const char *text, size_t n, const char *source)
{
    bool seen[VKT__MAX_OPTIONS] = { false };
    vkt__yaml *root;
    vkt__log_hold(true);
    vkt_status st = vkt__yaml_parse(&c->priv->arena, text, n, source, &root);
    vkt__log_hold(false);
    if (st != VKT_OK)
        return vkt__fail(st, "config", "%s%s", vkt__last_failure(), if_data(c, source));
    if (root->kind != VKT__YAML_MAP)
        return vkt__fail(VKT_E_ARG, "config", "%s:%d: a recipe is a block of `key: value` lines%s",
                         source, root->line, if_data(c, source));
    return apply(c, root, "", source, seen);
}

vkt_status vkt__recipe_not_folder(vkt_config *c, const char *path)
{
    if (!vkt__is_dir(path)) return VKT_OK;
    if (vkt__file_exists(vkt__arena_printf(&c->priv->arena, "%s/run.json", path)))
        return vkt__fail(VKT_E_ARG, "config",
                         "'%s' is a run, not a recipe: `vktrain train RECIPE --run RUN --resume` "
                         "goes on with a run",
                         path);
    return vkt__fail(VKT_E_ARG, "config",
                     "'%s' is a folder, not a recipe: if it holds data, `vktrain init` writes a "
                     "recipe",
                     path);
}
