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
    return bad(x, r, "is not an option of a recipe%s", vkt__option_hint(x->key).text);
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

/* "option: value" or "option: [value, value]". */
static vkt_status read_when(vkt__axis *x, const vkt__yaml *map, const reader *r)
{
    const vkt__yaml *e = map->kind == VKT__YAML_MAP ? map->first : NULL;
    if (!e || e->next || e->kind == VKT__YAML_MAP || (e->kind == VKT__YAML_LIST && !e->first))
        return bad(x, r, "`when` needs one condition, such as {optim.rule: nesterov}");
    x->when_key = e->key;
    if (e->kind == VKT__YAML_SCALAR) {
        x->when[x->n_when++] = e->text;
        return VKT_OK;
    }
    for (const vkt__yaml *v = e->first; v; v = v->next) {
        if (v->kind != VKT__YAML_SCALAR || x->n_when == VKT__MAX_CHOICES)
            return bad(x, r, "`when` needs one value or a list of them");
        x->when[x->n_when++] = v->text;
    }
    return VKT_OK;
}

static vkt_status read_role(vkt__axis *x, const vkt__yaml *v, const reader *r)
{
    static const char *const names[] = { "nuisance", "scientific", "fixed" };
    for (size_t k = 0; k < VKT_COUNT(names) && v->kind == VKT__YAML_SCALAR; k++)
        if (!strcmp(v->text, names[k])) {
            x->role = (vkt__axis_role)k;
            return VKT_OK;
        }
    return bad(x, r, "role is not one of scientific, nuisance, fixed%s",
               v->kind == VKT__YAML_SCALAR ? vkt_did_you_mean(v->text, names, VKT_COUNT(names)).text
                                           : "");
}

static vkt_status read_fixed(vkt__axis *x, const vkt__yaml *v, const reader *r)
{
    bool list_wanted = !strcmp(x->key, "model");
    vkt_status st = VKT_OK;
    if (v->kind != (list_wanted ? VKT__YAML_LIST : VKT__YAML_SCALAR))
        return bad(x, r, "a fixed value must be %s",
                   list_wanted ? "a list of layers" : "one value");
    x->kind = VKT__AXIS_CHOICE;
    x->role = VKT__ROLE_FIXED;
    x->choice[0] = list_wanted ? flow(r, v) : v->text;
    VKT_TRY(check_value(x, x->choice[0], r));
    x->n_choices = 1;
fail:
    return st;
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

/* One field of "{log: [1e-4, 0.1], when: ..., role: ...}". */
static vkt_status read_field(vkt__axis *x, const vkt__yaml *f, bool number, bool *ranged,
                             const reader *r)
{
    enum { FIXED = 4, WHEN, ROLE };
    static const char *const kinds[] = { "linear", "log",  "log_one_minus", "choice",
                                         "fixed",  "when", "role" };
    size_t k = 0;
    while (k < VKT_COUNT(kinds) && strcmp(kinds[k], f->key)) k++;
    if (k == VKT_COUNT(kinds))
        return bad(x, r,
                   "'%s' is not one of linear, log, log_one_minus, choice, fixed, when, role%s",
                   f->key, vkt_did_you_mean(f->key, kinds, k).text);
    if (k == WHEN) return read_when(x, f, r);
    if (k == ROLE) return read_role(x, f, r);
    if (*ranged) return bad(x, r, "has two ranges");
    *ranged = true;
    if (k == FIXED) return read_fixed(x, f, r);
    x->kind = (vkt__axis_kind)k;
    if (k == VKT__AXIS_CHOICE) return read_choices(x, f, r);
    if (!number) return bad(x, r, "is not a number: give a list of choices");
    return read_range(x, f, r);
}

static vkt_status read_axis(vkt__axis *x, const vkt__yaml *e, const reader *r)
{
    vkt_status st = VKT_OK;
    bool ranged = false, number = false;
    VKT_TRY(is_model(x) ? find_layer_option(x, r, &number) : find_option(x, r, &number));
    if (e->kind == VKT__YAML_LIST) return read_choices(x, e, r);
    if (e->kind != VKT__YAML_MAP)
        return bad(x, r, "needs {log: [low, high]}, {linear: [low, high]} or a list of choices");
    for (const vkt__yaml *f = e->first; f; f = f->next)
        VKT_TRY(read_field(x, f, number, &ranged, r));
    if (!ranged) return bad(x, r, "has no range: linear, log, log_one_minus or choice");
    if (x->role == VKT__ROLE_FIXED && (x->kind != VKT__AXIS_CHOICE || x->n_choices != 1))
        return bad(x, r, "has the role fixed, but a range: give its value, {fixed: VALUE}");
    if (x->role == VKT__ROLE_SCIENTIFIC && x->when_key)
        return bad(x, r, "a scientific metaparameter must be in all trials: it can't have `when`");
fail:
    return st;
}

static bool is_choice(const vkt__axis *x, const char *value)
{
    for (size_t c = 0; c < x->n_choices; c++)
        if (!strcmp(x->choice[c], value)) return true;
    return false;
}

/* A condition must be on choices of an axis that stands before it. */
static vkt_status check_when(const vkt__space *s, const vkt__axis *x, const reader *r)
{
    const vkt__axis *on = NULL;
    if (!x->when_key) return VKT_OK;
    for (size_t k = 0; k < s->n && !on; k++)
        if (!strcmp(s->axis[k].key, x->when_key)) on = &s->axis[k];
    if (!on) return bad(x, r, "when: '%s' must come before it in the space", x->when_key);
    for (size_t v = 0; v < x->n_when; v++)
        if (!is_choice(on, x->when[v]))
            return bad(x, r, "when: '%s' is not a choice of %s", x->when[v], x->when_key);
    return VKT_OK;
}

/* Several ranges of one option need conditions that never hold together. They share a dimension of
 * the sequence. */
static vkt_status check_ranges(vkt__space *s, vkt__axis *x, const reader *r)
{
    x->dim = x->role == VKT__ROLE_FIXED ? 0 : s->n_dims;
    for (size_t k = 0; k < s->n; k++) {
        const vkt__axis *o = &s->axis[k];
        if (strcmp(o->key, x->key)) continue;
        if (!o->when_key || !x->when_key || strcmp(o->when_key, x->when_key))
            return bad(x, r,
                       "has several ranges: each needs a `when` on the same option, such as "
                       "{log: [1e-4, 0.01], when: {optim.rule: adam}}");
        for (size_t v = 0; v < x->n_when; v++)
            for (size_t w = 0; w < o->n_when; w++)
                if (!strcmp(x->when[v], o->when[w]))
                    return bad(x, r, "has two ranges for %s=%s", x->when_key, x->when[v]);
        if (o->role != VKT__ROLE_FIXED && x->role != VKT__ROLE_FIXED) {
            x->dim = o->dim;
            return VKT_OK;
        }
    }
    s->n_dims += x->role != VKT__ROLE_FIXED;
    return VKT_OK;
}

static vkt_status add_axis(vkt__space *s, const char *key, const vkt__yaml *e, const reader *r)
{
    vkt_status st = VKT_OK;
    if (s->n == VKT__MAX_AXES)
        return vkt__fail(VKT_E_ARG, "study", "%s:%d: more than %d metaparameters", r->source,
                         e->line, VKT__MAX_AXES);
    vkt__axis *x = &s->axis[s->n];
    *x = (vkt__axis) { .key = key, .line = e->line };
    VKT_TRY(read_axis(x, e, r));
    VKT_TRY(check_when(s, x, r));
    VKT_TRY(check_ranges(s, x, r));
    s->n++;
fail:
    return st;
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
        bool several = e->kind == VKT__YAML_LIST && e->first && e->first->kind == VKT__YAML_MAP;
        if (!several) VKT_TRY(add_axis(out, e->key, e, &r));
        for (const vkt__yaml *one = several ? e->first : NULL; one; one = one->next)
            VKT_TRY(add_axis(out, e->key, one, &r));
    }
    if (!out->n_dims)
        return vkt__fail(VKT_E_ARG, "study", "%s:%d: all values are fixed: nothing is searched",
                         source, root->line);
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

/* The value in "key=value" of a key; NULL: none of the settings has it. */
static const char *value_of(const char *key, const char *const *set, size_t n)
{
    size_t len = strlen(key);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(set[i], key, len) && set[i][len] == '=') return set[i] + len + 1;
    return NULL;
}

static bool holds(const vkt__axis *x, const char *const *set, size_t n)
{
    const char *value = x->when_key ? value_of(x->when_key, set, n) : NULL;
    for (size_t i = 0; i < x->n_when && value; i++)
        if (!strcmp(value, x->when[i])) return true;
    return !x->when_key;
}

size_t vkt__axis_choice(const vkt__axis *x, double u)
{
    return VKT_MIN((size_t)(u * (double)x->n_choices), x->n_choices - 1);
}

bool vkt__axis_present(const vkt__space *space, const vkt__axis *x, const double *u)
{
    for (size_t a = 0; x->when_key && &space->axis[a] < x; a++) {
        const vkt__axis *on = &space->axis[a];
        if (strcmp(on->key, x->when_key) || isnan(u[a])) continue;
        for (size_t v = 0; v < x->n_when; v++)
            if (!strcmp(on->choice[vkt__axis_choice(on, u[a])], x->when[v])) return true;
    }
    return !x->when_key;
}

size_t vkt__space_point(const vkt__space *space, const double *u, vkt__arena *a, const char **set)
{
    size_t n = 0;
    for (size_t i = 0; i < space->n; i++) {
        const vkt__axis *x = &space->axis[i];
        char text[32];
        if (!holds(x, set, n)) continue;
        if (x->kind == VKT__AXIS_CHOICE) {
            set[n++] = vkt__arena_printf(a, "%s=%s", x->key, x->choice[vkt__axis_choice(x, u[i])]);
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

const char *vkt__axis_value(const vkt__axis *x, const char *const *set, size_t n)
{
    return holds(x, set, n) ? value_of(x->key, set, n) : NULL;
}

void vkt__space_locate(const vkt__space *space, const char *const *set, size_t n, double *u)
{
    for (size_t i = 0; i < space->n; i++) {
        const vkt__axis *x = &space->axis[i];
        const char *v = vkt__axis_value(x, set, n);
        u[i] = NAN;
        if (!v) continue;
        for (size_t k = 0; k < x->n_choices; k++)
            if (!strcmp(x->choice[k], v)) u[i] = ((double)k + 0.5) / (double)x->n_choices;
        if (x->kind == VKT__AXIS_CHOICE) continue;
        double at = vkt__number_or_nan(v);
        u[i] = x->whole && x->kind == VKT__AXIS_LINEAR
                   ? (at - x->low + 0.5) / (x->high - x->low + 1)
                   : vkt__axis_position(x, at);
    }
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

void vkt__space_halton(const vkt__space *space, uint64_t seed, uint64_t index, double *u)
{
    for (size_t i = 0; i < space->n; i++)
        u[i] = space->axis[i].role == VKT__ROLE_FIXED
                   ? 0
                   : vkt__halton(seed, space->axis[i].dim, index);
}
