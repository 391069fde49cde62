/* vkt__model_take: the model of an opened checkpoint or a Hugging Face folder, checked as one that
 * a recipe writes, and copied. */
#include "base/number.h"
#include "recipe/recipe_model.h"

typedef struct copier {
    vkt__arena *arena;
    const char *source; /* for messages */
} copier;

static vkt_status out_of_range(const copier *r, const vkt_layer *l, const vkt_layer_opt *o,
                               double v)
{
    char is[32], lo[32], hi[32];
    return vkt__fail(VKT_E_ARG, "config", "%s: %s.%s: %s is out of range: %s to %s", r->source,
                     l->type, o->name, vkt__double_text(v, false, is),
                     vkt__double_text(o->min, false, lo), vkt__double_text(o->max, false, hi));
}

/* A number that is 0 is not given: the type's default. */
static vkt_status check_number(const copier *r, const vkt_layer *l, const vkt_layer_opt *o)
{
    const char *at = (const char *)l + o->offset;
    uint32_t u;
    float f;
    if (o->type == VKT_OPT_FLOAT) {
        memcpy(&f, at, sizeof f);
        /* The table's limits as the float32 that the field is. */
        bool ok = f == 0 || (f >= (float)o->min && f <= (float)o->max);
        return ok ? VKT_OK : out_of_range(r, l, o, (double)f);
    }
    if (o->type == VKT_OPT_MAYBE) {
        vkt_maybe maybe;
        memcpy(&maybe, at, sizeof maybe);
        if (!maybe.given) return VKT_OK;
        u = maybe.n;
    } else {
        memcpy(&u, at, sizeof u);
        if (!u) return VKT_OK;
    }
    double v = (double)u;
    return v >= o->min && v <= o->max ? VKT_OK : out_of_range(r, l, o, v);
}

static vkt_status copy_word(const copier *r, vkt_layer *l, const vkt_layer_opt *o)
{
    const char *word;
    memcpy(&word, (char *)l + o->offset, sizeof word);
    if (!word) return VKT_OK;
    bool ok = !o->choices;
    for (const char *const *p = o->choices; p && *p; p++) ok = ok || !strcmp(*p, word);
    if (!ok)
        return vkt__fail(VKT_E_ARG, "config", "%s: %s.%s: unknown word '%s'", r->source, l->type,
                         o->name, word);
    word = vkt__arena_strdup(r->arena, word);
    memcpy((char *)l + o->offset, &word, sizeof word);
    return VKT_OK;
}

static const char *const *copy_names(const copier *r, const char *const *from, size_t n)
{
    const char **names = vkt__arena_alloc(r->arena, n * sizeof(const char *));
    for (size_t k = 0; k < n; k++) names[k] = vkt__arena_strdup(r->arena, from[k]);
    return n ? names : NULL;
}

static vkt_status copy_sizes(const copier *r, const vkt_layer *l, const vkt_layer_opt *o)
{
    vkt_shape s;
    memcpy(&s, (const char *)l + o->offset, sizeof s);
    if (s.rank >= VKT_MAX_RANK)
        return vkt__fail(VKT_E_ARG, "config", "%s: %s.%s: more than 5 numbers", r->source, l->type,
                         o->name);
    for (uint32_t k = 0; k < s.rank; k++)
        if (s.d[k] < o->min || s.d[k] > o->max) return out_of_range(r, l, o, s.d[k]);
    return VKT_OK;
}

static vkt_status copy_list(const copier *r, const vkt_layer *from, size_t n, vkt_layer **out);

static vkt_status copy_opt(const copier *r, vkt_layer *l, const vkt_layer_opt *o)
{
    char *at = (char *)l + o->offset;
    switch (o->type) {
    case VKT_OPT_UINT:
    case VKT_OPT_MAYBE:
    case VKT_OPT_FLOAT:
        return check_number(r, l, o);
    case VKT_OPT_STRING:
        return copy_word(r, l, o);
    case VKT_OPT_SIZES:
        return copy_sizes(r, l, o);
    case VKT_OPT_FROM: /* copied with the layer */
    case VKT_OPT_BOOL:
    case VKT_OPT_NOT_BOOL:
        return VKT_OK;
    case VKT_OPT_NAMES: {
        const char *const *names;
        size_t n;
        memcpy((void *)&names, at, sizeof names);
        memcpy(&n, at + sizeof names, sizeof n);
        names = copy_names(r, names, n);
        memcpy(at, (const void *)&names, sizeof names);
        return VKT_OK;
    }
    case VKT_OPT_BODY: {
        vkt_layer *body;
        size_t n;
        memcpy(&body, at, sizeof body);
        memcpy(&n, at + sizeof body, sizeof n);
        vkt_status st = n ? copy_list(r, body, n, &body) : VKT_OK;
        memcpy(at, &body, sizeof body);
        return st;
    }
    }
    return VKT_E_ARG;
}

static vkt_status copy_list(const copier *r, const vkt_layer *from, size_t n, vkt_layer **out)
{
    vkt_status st = VKT_OK;
    vkt_layer *to = vkt__arena_alloc(r->arena, n * sizeof *to);
    for (size_t i = 0; i < n; i++) {
        const vkt_layer_type *t = vkt__model_type(&from[i]);
        to[i] = from[i];
        to[i].type = t->name;
        to[i].line = 0; /* of no line of this recipe */
        if (from[i].name) to[i].name = vkt__arena_strdup(r->arena, from[i].name);
        to[i].from = copy_names(r, from[i].from, from[i].n_from);
        for (const vkt_layer_opt *o = t->opts; o < t->opts + VKT_COUNT(t->opts) && o->name; o++)
            VKT_TRY(copy_opt(r, &to[i], o));
    }
    *out = to;
fail:
    return st;
}

vkt_status vkt__model_take(vkt_config *c, const vkt_layer *layers, size_t n, const char *source)
{
    copier r = { &c->priv->arena, source };
    vkt_layer *copy;
    vkt_status st = copy_list(&r, layers, n, &copy);
    if (st != VKT_OK) return st;
    c->layers = copy;
    c->n_layers = n;
    return VKT_OK;
}
