/* space.h */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "study/space.h"
#include "recipe/options.h"
#include "recipe/recipe_model.h"

/* ---- reading ---- */

typedef struct reader {
    vkt__arena *arena;
    const char *source, *recipe; /* recipe: YAML, or NULL */
} reader;

static vkt_status bad(const vkt__axis *x, const reader *r, const char *fmt, ...) VKT_PRINTF(3, 4);
static vkt_status bad(const vkt__axis *x, const reader *r, const char *fmt, ...)
{
    vkt__str s = { 0 };
    va_list ap;
    va_start(ap, fmt);
    vkt__str_vprintf(&s, fmt, ap);
    va_end(ap);
    vkt__fail(VKT_E_ARG, "study", "%s:%d: %s: %s", r->source, x->line, x->key, s.data);
    vkt__str_finish(&s);
    return VKT_E_ARG;
}

static vkt_status unknown(const vkt__axis *x, const reader *r)
{
    const char *names[128];
    size_t n;
    const vkt__option *o = vkt__options(&n);
    n = VKT_MIN(n, VKT_COUNT(names));
    for (size_t i = 0; i < n; i++) names[i] = o[i].name;
    return bad(x, r, "is not an option of a recipe%s", vkt_did_you_mean(x->key, names, n).text);
}

static bool is_model(const vkt__axis *x)
{
    return !strcmp(x->key, "model") || !strncmp(x->key, "model.", 6);
}

/* Each value that the axis can give must be one that the option takes. */
static vkt_status check_value(const vkt__axis *x, const char *value, const reader *r)
{
    vkt_config *c;
    vkt__str s = { 0 };
    vkt_status st = vkt_config_create(&c);
    if (st != VKT_OK) return st;
    vkt__str_printf(&s, "%s=%s", x->key, value);
    vkt__log_hold(true);
    if (is_model(x) && r->recipe) st = vkt_config_parse(c, r->recipe, strlen(r->recipe), "recipe");
    if (st == VKT_OK) st = vkt_config_set(c, s.data);
    vkt__log_hold(false);
    vkt__str_finish(&s);
    vkt_config_destroy(&c);
    return st == VKT_OK ? st : bad(x, r, "%s", vkt__last_failure());
}

static vkt_status read_range(vkt__axis *x, const vkt__yaml *list, const reader *r)
{
    double v[2];
    size_t n = 0;
    char text[32];
    vkt_status st = VKT_OK;
    if (list->kind != VKT__YAML_LIST)
        return bad(x, r, "a range must be a list of two numbers, such as [0.001, 0.1]");
    for (const vkt__yaml *e = list->first; e; e = e->next, n++)
        if (n >= 2 || e->kind != VKT__YAML_SCALAR || e->quoted || !vkt__number(e->text, &v[n]))
            return bad(x, r, "a range must be a list of two numbers, such as [0.001, 0.1]");
    if (n != 2) return bad(x, r, "a range must be a list of two numbers, such as [0.001, 0.1]");
    if (!(v[0] < v[1]))
        return bad(x, r, "the range from %g to %g is empty: the lower end comes first", v[0], v[1]);
    if (x->kind == VKT__AXIS_LOG && v[0] <= 0)
        return bad(
            x, r, "a logarithmic range can't begin at %g: its ends must be above 0 (or use linear)",
            v[0]);
    if (x->kind == VKT__AXIS_LOG_ONE_MINUS && v[1] >= 1)
        return bad(x, r, "log_one_minus needs a range below 1, not up to %g", v[1]);
    x->low = v[0];
    x->high = v[1];
    for (int i = 0; i < 2; i++)
        VKT_TRY(check_value(x, vkt__double_text(x->whole ? round(v[i]) : v[i], false, text), r));
fail:
    return st;
}

static void add_flow(const vkt__yaml *v, vkt__str *out)
{
    bool list = v->kind == VKT__YAML_LIST;
    if (v->kind == VKT__YAML_SCALAR) {
        if (v->quoted)
            vkt__yaml_quote(v->text, out);
        else
            vkt__str_printf(out, "%s", v->text);
        return;
    }
    vkt__str_printf(out, list ? "[" : "{");
    for (const vkt__yaml *e = v->first; e; e = e->next) {
        if (!list) vkt__str_printf(out, "%s: ", e->key);
        add_flow(e, out);
        if (e->next) vkt__str_printf(out, ", ");
    }
    vkt__str_printf(out, list ? "]" : "}");
}

/* A tree as YAML on one line, as --set takes it. */
static const char *flow(const reader *r, const vkt__yaml *v)
{
    vkt__str s = { 0 };
    add_flow(v, &s);
    const char *out = vkt__arena_strdup(r->arena, s.data);
    vkt__str_finish(&s);
    return out;
}

static vkt_status read_choices(vkt__axis *x, const vkt__yaml *list, const reader *r)
{
    vkt_status st = VKT_OK;
    x->kind = VKT__AXIS_CHOICE;
    if (list->kind != VKT__YAML_LIST)
        return bad(x, r, "choices must be a list, such as [adam, nesterov]");
    for (const vkt__yaml *e = list->first; e; e = e->next) {
        bool list_wanted = !strcmp(x->key, "model");
        if (e->kind != (list_wanted ? VKT__YAML_LIST : VKT__YAML_SCALAR))
            return bad(x, r, "a choice must be %s", list_wanted ? "a list of layers" : "one value");
        if (x->n_choices == VKT__MAX_CHOICES) return bad(x, r, "more than 64 choices");
        const char *text = list_wanted ? flow(r, e) : e->text;
        VKT_TRY(check_value(x, text, r));
        x->choice[x->n_choices++] = text;
    }
    if (!x->n_choices) return bad(x, r, "the list of choices is empty");
fail:
    return st;
}

static vkt_status read_when(vkt__axis *x, const vkt__yaml *map, const reader *r)
{
    if (map->kind != VKT__YAML_MAP || !map->first || map->first->next ||
        map->first->kind != VKT__YAML_SCALAR)
        return bad(x, r, "`when` needs one condition, such as {optim.rule: nesterov}");
    x->when_key = map->first->key;
    x->when_value = map->first->text;
    return VKT_OK;
}

/* Whether the axis is of numbers, and whole ones. */
static vkt_status find_option(vkt__axis *x, const reader *r, bool *number)
{
    size_t n;
    int i = vkt__option_find(x->key);
    if (i < 0) return unknown(x, r);
    const vkt__option *o = &vkt__options(&n)[i];
    x->key = o->name;
    x->whole = o->type == VKT__OPT_U32 || o->type == VKT__OPT_U64 || o->type == VKT__OPT_I64;
    x->least = o->min;
    x->most = o->max;
    *number = x->whole || o->type == VKT__OPT_F32 || o->type == VKT__OPT_F64;
    return VKT_OK;
}

/* The same of "model.0.out"; "model" itself takes choices only. */
static vkt_status find_layer_option(vkt__axis *x, const reader *r, bool *number)
{
    vkt_config *c;
    vkt_layer *layer;
    const vkt_layer_opt *o = NULL;
    *number = false;
    x->least = -INFINITY;
    x->most = INFINITY;
    if (!strcmp(x->key, "model")) return VKT_OK;
    if (!r->recipe) return bad(x, r, "it names a layer, but there is no recipe");
    vkt_status st = vkt_config_create(&c);
    if (st != VKT_OK) return st;
    vkt__log_hold(true);
    st = vkt_config_parse(c, r->recipe, strlen(r->recipe), "recipe");
    if (st == VKT_OK) st = vkt__model_at(c, x->key, "the recipe", &layer, &o);
    vkt__log_hold(false);
    vkt_config_destroy(&c);
    if (st != VKT_OK) return bad(x, r, "%s", vkt__last_failure());
    x->whole = o->type == VKT_OPT_UINT || o->type == VKT_OPT_MAYBE;
    *number = x->whole || o->type == VKT_OPT_FLOAT;
    return VKT_OK;
}

static vkt_status read_axis(vkt__axis *x, const vkt__yaml *e, const reader *r)
{
    static const char *const kinds[] = { "linear", "log", "log_one_minus", "choice", "when" };
    vkt_status st = VKT_OK;
    bool ranged = false, number = false;
    VKT_TRY(is_model(x) ? find_layer_option(x, r, &number) : find_option(x, r, &number));
    if (e->kind == VKT__YAML_LIST) return read_choices(x, e, r);
    if (e->kind != VKT__YAML_MAP)
        return bad(x, r, "needs {log: [low, high]}, {linear: [low, high]} or a list of choices");
    for (const vkt__yaml *f = e->first; f; f = f->next) {
        size_t k = 0;
        while (k < VKT_COUNT(kinds) && strcmp(kinds[k], f->key)) k++;
        if (k == VKT_COUNT(kinds)) {
            return bad(x, r, "'%s' is not one of linear, log, log_one_minus, choice, when%s",
                       f->key, vkt_did_you_mean(f->key, kinds, k).text);
        }
        if (k == 4) {
            VKT_TRY(read_when(x, f, r));
            continue;
        }
        if (ranged) return bad(x, r, "has two ranges");
        ranged = true;
        x->kind = (vkt__axis_kind)k;
        if (k == VKT__AXIS_CHOICE) {
            VKT_TRY(read_choices(x, f, r));
        } else {
            if (!number) return bad(x, r, "is not a number: give a list of choices");
            VKT_TRY(read_range(x, f, r));
        }
    }
    if (!ranged) return bad(x, r, "has no range: linear, log, log_one_minus or choice");
fail:
    return st;
}

/* A condition must be on an axis that stands before it. */
static vkt_status check_when(const vkt__space *s, size_t i, const reader *r)
{
    const vkt__axis *x = &s->axis[i];
    if (!x->when_key) return VKT_OK;
    for (size_t k = 0; k < i; k++)
        if (!strcmp(s->axis[k].key, x->when_key)) {
            for (size_t c = 0; c < s->axis[k].n_choices; c++)
                if (!strcmp(s->axis[k].choice[c], x->when_value)) return VKT_OK;
            return bad(x, r, "when: '%s' is not a choice of %s", x->when_value, x->when_key);
        }
    return bad(x, r, "when: '%s' must come before it in the space", x->when_key);
}

vkt_status vkt__space_parse(vkt__arena *a, const char *text, size_t n, const char *source,
                            const char *recipe, vkt__space *out)
{
    vkt_status st = VKT_OK;
    vkt__yaml *root;
    const reader r = { a, source, recipe };
    *out = (vkt__space) { 0 };
    VKT_TRY(vkt__yaml_parse(a, text, n, source, &root));
    /* A space may stand under `space:`, or be the whole file. */
    if (root->kind == VKT__YAML_MAP && root->first && !strcmp(root->first->key, "space") &&
        !root->first->next)
        root = root->first;
    if (root->kind != VKT__YAML_MAP || !root->first)
        return vkt__fail(VKT_E_ARG, "study",
                         "%s:%d: a search space has lines of `option: range`, such as optim.lr: "
                         "{log: [1e-4, 0.1]}",
                         source, root->line);
    for (const vkt__yaml *e = root->first; e; e = e->next) {
        if (out->n == VKT__MAX_AXES)
            return vkt__fail(VKT_E_ARG, "study", "%s:%d: more than %d metaparameters", source,
                             e->line, VKT__MAX_AXES);
        vkt__axis *x = &out->axis[out->n];
        *x = (vkt__axis) { .key = e->key, .line = e->line };
        VKT_TRY(read_axis(x, e, &r));
        for (size_t k = 0; k < out->n; k++)
            if (!strcmp(out->axis[k].key, x->key)) return bad(x, &r, "is here twice");
        VKT_TRY(check_when(out, out->n, &r));
        out->n++;
    }
fail:
    return st;
}

/* ---- points ---- */

static double value_at(const vkt__axis *x, double u)
{
    double v = x->low;
    switch (x->kind) {
    case VKT__AXIS_LINEAR:
        /* Whole numbers get equal shares, the ends too. */
        v = x->whole ? floor(x->low + u * (x->high - x->low + 1)) : x->low + u * (x->high - x->low);
        break;
    case VKT__AXIS_LOG:
        v = x->low * pow(x->high / x->low, u);
        break;
    case VKT__AXIS_LOG_ONE_MINUS:
        v = 1 - (1 - x->low) * pow((1 - x->high) / (1 - x->low), u);
        break;
    case VKT__AXIS_CHOICE:
        break;
    }
    return fmin(fmax(v, x->low), x->high);
}

double vkt__axis_position(const vkt__axis *x, double v)
{
    switch (x->kind) {
    case VKT__AXIS_LINEAR:
        return (v - x->low) / (x->high - x->low);
    case VKT__AXIS_LOG:
        return log(v / x->low) / log(x->high / x->low);
    case VKT__AXIS_LOG_ONE_MINUS:
        return log((1 - v) / (1 - x->low)) / log((1 - x->high) / (1 - x->low));
    case VKT__AXIS_CHOICE:
        break;
    }
    return NAN;
}

static bool holds(const vkt__axis *x, const char *const *set, size_t n)
{
    if (!x->when_key) return true;
    size_t len = strlen(x->when_key);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(set[i], x->when_key, len) && set[i][len] == '=')
            return !strcmp(set[i] + len + 1, x->when_value);
    return false;
}

size_t vkt__space_point(const vkt__space *space, const double *u, vkt__arena *a, const char **set)
{
    size_t n = 0;
    for (size_t i = 0; i < space->n; i++) {
        const vkt__axis *x = &space->axis[i];
        char text[32];
        if (!holds(x, set, n)) continue;
        if (x->kind == VKT__AXIS_CHOICE) {
            size_t k = VKT_MIN((size_t)(u[i] * (double)x->n_choices), x->n_choices - 1);
            set[n++] = vkt__arena_printf(a, "%s=%s", x->key, x->choice[k]);
            continue;
        }
        /* Few digits read better and are enough: 1 - v keeps its own where v is near 1. */
        double v = value_at(x, u[i]);
        v = vkt__rounded(x->whole ? "%.0f" : v > 0.9 && v < 1 ? "%.5f" : "%.4g", v);
        v = fmin(fmax(v, x->low), x->high);
        set[n++] = vkt__arena_printf(a, "%s=%s", x->key, vkt__double_text(v, false, text));
    }
    return n;
}

/* ---- Halton ---- */

static const uint32_t primes[VKT__MAX_AXES] = { 2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37,
                                                41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89 };

/* Where digit `d` goes at a place: a Fisher-Yates permutation of the base's digits. */
static uint32_t permuted(uint64_t seed, uint32_t dim, uint32_t place, uint32_t base, uint32_t d)
{
    uint32_t p[97];
    for (uint32_t i = 0; i < base; i++) p[i] = i;
    for (uint32_t i = base - 1; i > 0; i--) {
        uint64_t at = ((uint64_t)dim * 64 + place) * 128 + i;
        uint32_t k = vkt_rand_below(seed, VKT_RNG_SAMPLE, at, i + 1), t = p[i];
        p[i] = p[k];
        p[k] = t;
    }
    return p[d];
}

double vkt__halton(uint64_t seed, uint32_t dim, uint64_t index)
{
    VKT_ASSERT(dim < VKT__MAX_AXES);
    uint32_t base = primes[dim];
    double v = 0, scale = 1.0 / base;
    /* Leading zeros are digits too and are permuted; past 2^-40 they don't show. */
    for (uint32_t place = 0; scale > 1e-12; place++, scale /= base) {
        v += scale * permuted(seed, dim, place, base, (uint32_t)(index % base));
        index /= base;
    }
    return VKT_MIN(v, 1 - 1e-12);
}
