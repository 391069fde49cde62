/* loss_terms.h */
#include "recipe/loss_terms.h"

#include <stdio.h>

#include "base/number.h"
#include "recipe/options.h"

enum { LEAST_WEIGHT = 0, MOST_WEIGHT = 1000000 };

/* "recipe.yaml:9: losses", the entry's own line; "--set losses". */
typedef struct {
    char text[320];
} place;

static place place_of(const char *where, const vkt__yaml *e)
{
    place p;
    const char *colon = strrchr(where, ':');
    if (!strncmp(where, "--set ", 6) || !colon)
        snprintf(p.text, sizeof p.text, "%s", where);
    else
        snprintf(p.text, sizeof p.text, "%.*s:%d: losses", (int)(colon - where), where, e->line);
    return p;
}

static vkt_status bad(const char *where, const vkt__yaml *e, const char *what)
{
    return vkt__fail(VKT_E_ARG, "config", "%s: %s", place_of(where, e).text, what);
}

static const vkt__option *kind_option(void)
{
    size_t n;
    return &vkt__options(&n)[vkt__option_find("loss.kind")];
}

const char *vkt__loss_kind_name(vkt_loss_kind kind)
{
    vkt__choice choice = { 0 };
    for (int i = 0; vkt__option_choice(kind_option(), i, &choice); i++)
        if (choice.value == (int)kind) break;
    return choice.name;
}

static vkt_status set_kind(const char *where, const vkt__yaml *v, vkt_loss_kind *out)
{
    const char *names[32];
    size_t n = 0;
    vkt__choice choice;
    const char *text = v->kind == VKT__YAML_SCALAR ? v->text : "a list";
    for (int i = 0; vkt__option_choice(kind_option(), i, &choice); i++) {
        VKT_ASSERT(n < VKT_COUNT(names));
        names[n++] = choice.name;
        if (strcmp(choice.name, text) != 0) continue;
        *out = (vkt_loss_kind)choice.value;
        return VKT_OK;
    }
    vkt__str all = { 0 };
    for (size_t i = 0; i < n; i++) vkt__str_printf(&all, "%s%s", i ? ", " : "", names[i]);
    vkt__fail(VKT_E_ARG, "config", "%s: kind '%s' is not one of %s%s", place_of(where, v).text,
              vkt__show(text).s, all.data, vkt_did_you_mean(text, names, n).text);
    vkt__str_finish(&all);
    return VKT_E_ARG;
}

/* `target: price` or `target: [price, area]`. */
static vkt_status set_target(vkt__arena *a, const char *where, const vkt__yaml *v, const char **out)
{
    vkt__str all = { 0 };
    bool ok = v->kind != VKT__YAML_MAP;
    for (const vkt__yaml *e = v->kind == VKT__YAML_LIST ? v->first : v; e && ok;
         e = v->kind == VKT__YAML_LIST ? e->next : NULL) {
        ok = e->kind == VKT__YAML_SCALAR && e->text[0];
        if (ok) vkt__str_printf(&all, "%s%s", all.len ? ", " : "", e->text);
    }
    ok = ok && all.len;
    if (ok) *out = vkt__arena_strdup(a, all.data);
    vkt__str_finish(&all);
    return ok ? VKT_OK : bad(where, v, "target is the name of a label's column, or a list of such");
}

static vkt_status read_term(vkt__arena *a, const vkt__yaml *map, const char *where,
                            vkt_loss_term *t)
{
    vkt_status st = VKT_OK;
    *t = (vkt_loss_term) { .weight = 1 };
    if (map->kind != VKT__YAML_MAP)
        return bad(where, map, "it must be {on: NAME, kind: ..., weight: ..., target: ...}");
    for (const vkt__yaml *v = map->first; v; v = v->next) {
        double w = 0;
        if (!strcmp(v->key, "on")) {
            if (v->kind != VKT__YAML_SCALAR || !v->text[0])
                return bad(where, v, "on is the name of a layer");
            t->on = vkt__arena_strdup(a, v->text);
        } else if (!strcmp(v->key, "kind")) {
            VKT_TRY(set_kind(where, v, &t->kind));
        } else if (!strcmp(v->key, "weight")) {
            bool ok = v->kind == VKT__YAML_SCALAR && !v->quoted && vkt__number(v->text, &w) &&
                      w > LEAST_WEIGHT && w <= MOST_WEIGHT;
            if (!ok) return bad(where, v, "weight is a number above 0, up to 1e6");
            t->weight = (float)w;
            if (!(t->weight > 0)) return bad(where, v, "weight is too small for a float");
        } else if (!strcmp(v->key, "target")) {
            VKT_TRY(set_target(a, where, v, &t->target));
        } else {
            return vkt__fail(VKT_E_ARG, "config",
                             "%s: unknown key '%s'; known are on, kind, weight, target",
                             place_of(where, v).text, v->key);
        }
    }
    if (!t->on)
        return bad(where, map, "it lacks `on`, the name of the layer whose output it is of");
fail:
    return st;
}

vkt_status vkt__loss_terms_read(vkt_config *c, const vkt__yaml *list, const char *where)
{
    vkt_status st = VKT_OK;
    size_t n = 0, i = 0;
    if (list->kind != VKT__YAML_LIST)
        return bad(where, list, "a list of {on: NAME, kind: ..., weight: ...} is expected");
    for (const vkt__yaml *e = list->first; e; e = e->next) n++;
    if (n > VKT__MAX_LOSSES) return bad(where, list, "there are more than 16");
    vkt_loss_term *t = vkt__arena_alloc(&c->priv->arena, n * sizeof *t);
    for (const vkt__yaml *e = list->first; e; e = e->next)
        VKT_TRY(read_term(&c->priv->arena, e, where, &t[i++]));
    c->losses = n ? t : NULL;
    c->n_losses = n;
fail:
    return st;
}

bool vkt__loss_terms_yaml(const vkt_config *c, vkt__str *out)
{
    char number[32];
    for (size_t i = 0; i < c->n_losses; i++) {
        const vkt_loss_term *t = &c->losses[i];
        vkt__str_printf(out, "\n  - {on: ");
        vkt__yaml_quote(t->on, out);
        if (!t->kind_follows) vkt__str_printf(out, ", kind: %s", vkt__loss_kind_name(t->kind));
        vkt__str_printf(out, ", weight: %s", vkt__double_text((double)t->weight, true, number));
        if (t->target) {
            vkt__str_printf(out, ", target: ");
            vkt__yaml_quote(t->target, out);
        }
        vkt__str_printf(out, "}");
    }
    return c->n_losses > 0;
}

/* Whether all of the target's names are among data.classes. */
static bool of_classes(const vkt_config *c, const char *target)
{
    const char *classes = c->data.classes;
    bool all = classes && target;
    for (const char *p = target; all && *p;) {
        size_t n = strcspn(p, ","), len = 0;
        const char *q = classes;
        for (; *q; q += len, q += strspn(q, ", ")) {
            len = strcspn(q, ",");
            if (len == n && !strncmp(p, q, n)) break;
        }
        all = *q != 0;
        p += n;
        p += strspn(p, ", ");
    }
    return all;
}

void vkt__loss_terms_defaults(vkt_config *c)
{
    vkt_loss_term *t = vkt__arena_alloc(&c->priv->arena, c->n_losses * sizeof *t);
    for (size_t i = 0; i < c->n_losses; i++) {
        t[i] = c->losses[i];
        if (t[i].kind != VKT_LOSS_KIND_AUTO) continue;
        bool named = of_classes(c, t[i].target);
        t[i].kind = named ? VKT_LOSS_KIND_CROSS_ENTROPY : c->loss;
        t[i].kind_follows = c->data.classes && t[i].target && !named;
    }
    if (c->n_losses) c->losses = t;
}

void vkt__loss_term_name(const vkt_config *c, size_t i, vkt_loss_kind kind, vkt__str *out)
{
    size_t same = 0;
    for (size_t k = 0; k < c->n_losses; k++) same += !strcmp(c->losses[k].on, c->losses[i].on);
    vkt__str_printf(out, "%s", c->losses[i].on);
    if (same > 1) vkt__str_printf(out, ".%s", vkt__loss_kind_name(kind));
}

bool vkt__config_has_loss(const vkt_config *c, vkt_loss_kind kind)
{
    bool any = !c->n_losses && c->loss == kind;
    for (size_t i = 0; i < c->n_losses; i++) any = any || c->losses[i].kind == kind;
    return any;
}
