/* Filters, as Jinja 2 and transformers' tojson have them; attributes and subscripts. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "jinja/template_filters.h"
#include "jinja/template_methods.h"
#include "jinja/template_tests.h"

enum { MAX_INDENT = 32, MAX_PATH = 16 };

/* ---- attributes ---- */

static vkt__tvalue loop_attribute(vkt__trun *r, const vkt__tloop *l, const vkt__ttext *name)
{
    int64_t at = (int64_t)l->at, n = (int64_t)l->over->n;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        { "index", at + 1 },         { "index0", at }, { "revindex", n - at }, { "length", n },
        { "revindex0", n - at - 1 }, { "depth", 1 },   { "depth0", 0 }
    };
    for (size_t i = 0; i < VKT_COUNT(numbers); i++)
        if (vkt__t_is(name, numbers[i].name)) return vkt__t_int(numbers[i].value);
    if (vkt__t_is(name, "first")) return vkt__t_bool(at == 0);
    if (vkt__t_is(name, "last")) return vkt__t_bool(at + 1 == n);
    if (vkt__t_is(name, "previtem")) return at ? l->over->item[at - 1] : vkt__t_undefined(*name);
    if (vkt__t_is(name, "nextitem"))
        return at + 1 < n ? l->over->item[at + 1] : vkt__t_undefined(*name);
    vkt__t_fail(r, "loop.%.*s is not understood", (int)VKT_MIN(name->n, 40), name->s);
    return vkt__t_none();
}

vkt__tvalue vkt__t_attribute(vkt__trun *r, const vkt__tvalue *v, const vkt__ttext *name)
{
    if (v->kind == VKT__T_UNDEFINED) {
        vkt__t_fail(r, "'%.*s' is not defined, so that it has no '%.*s'",
                    (int)VKT_MIN(v->text.n, 40), v->text.s, (int)VKT_MIN(name->n, 40), name->s);
        return vkt__t_none();
    }
    if (v->kind == VKT__T_LOOP) return loop_attribute(r, v->loop, name);
    if (vkt__t_has_method(v, name)) return (vkt__tvalue) { .kind = VKT__T_FUNCTION, .text = *name };
    if (v->kind == VKT__T_DICT) {
        const vkt__tvalue *item = vkt__t_get(r, v->dict, vkt__t_text(name->s, name->n));
        if (item) return *item;
    }
    return vkt__t_undefined(*name);
}

vkt__tvalue vkt__t_subscript(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *key)
{
    if (v->kind == VKT__T_DICT && !v->dict->is_namespace) {
        const vkt__tvalue *item = vkt__t_get(r, v->dict, *key);
        if (item) return *item;
    }
    if ((v->kind == VKT__T_LIST || v->kind == VKT__T_TEXT) && key->kind == VKT__T_INT)
        return vkt__t_at(r, v, key->i);
    if (key->kind == VKT__T_TEXT) return vkt__t_attribute(r, v, &key->text);
    if (v->kind == VKT__T_UNDEFINED) return vkt__t_attribute(r, v, &(vkt__ttext) { "item", 4 });
    return vkt__t_undefined((vkt__ttext) { "item", 4 });
}

/* The attribute "a.b.0" of v; v itself without one. */
static vkt__tvalue path(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *attribute)
{
    vkt__tvalue now = *v;
    if (!attribute) return now;
    if (attribute->kind == VKT__T_INT) return vkt__t_subscript(r, v, attribute);
    if (attribute->kind != VKT__T_TEXT) vkt__t_fail(r, "an attribute must be a text");
    const char *at = attribute->text.s, *end = r->failed ? at : at + attribute->text.n;
    for (int depth = 0; at < end && depth < MAX_PATH && !r->failed; depth++) {
        const char *stop = memchr(at, '.', (size_t)(end - at));
        if (!stop) stop = end;
        vkt__tvalue key = vkt__t_text(at, (size_t)(stop - at));
        bool number = stop > at && stop - at < 9;
        for (const char *c = at; c < stop; c++) number = number && *c >= '0' && *c <= '9';
        if (number) key = vkt__t_int(atoi(at));
        now = now.kind == VKT__T_UNDEFINED ? now : vkt__t_subscript(r, &now, &key);
        at = stop + 1;
    }
    return now;
}

/* ---- filters ---- */

typedef vkt__tvalue (*filter_fn)(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg,
                                 int which);

/* A text's method, of str(v). */
static vkt__tvalue text_method(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg,
                               int which)
{
    static const char *const names[] = { "strip", "upper", "lower", "capitalize", "replace" };
    vkt__tvalue s = vkt__t_str(r, v), given[3];
    size_t n = 0;
    for (; n < 3 && which != 1 && which != 2 && which != 3 && arg[n]; n++)
        given[n] = which == 4 && n < 2 ? vkt__t_str(r, arg[n]) : *arg[n];
    return vkt__t_call_method(r, &s, names[which], given, n);
}

static vkt__tvalue title(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    vkt__tvalue s = vkt__t_str(r, v);
    vkt__str out = { 0 };
    size_t from = 0;
    (void)arg, (void)which;
    for (size_t i = 0; i < s.text.n && !r->failed; i++) {
        bool parts = strchr("- ({[<\t\n\r\f\v", s.text.s[i]) != NULL && s.text.s[i];
        if (!parts && i + 1 < s.text.n) continue;
        vkt__tvalue word = vkt__t_text(s.text.s + from, i + 1 - from);
        word = vkt__t_call_method(r, &word, "capitalize", NULL, 0);
        if (!r->failed) vkt__str_add(&out, word.text.s, word.text.n);
        from = i + 1;
    }
    return vkt__t_take(r, &out);
}

static vkt__tvalue length(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    (void)arg, (void)which;
    return vkt__t_int((int64_t)vkt__t_length(r, v));
}

static vkt__tvalue preset(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    bool any = arg[1] && vkt__t_truth(arg[1]);
    (void)r, (void)which;
    if (v->kind != VKT__T_UNDEFINED && !(any && !vkt__t_truth(v))) return *v;
    return arg[0] ? *arg[0] : vkt__t_word("");
}

static int indent_of(vkt__trun *r, const vkt__tvalue *v, int none)
{
    if (!v || v->kind == VKT__T_NONE) return none;
    if (v->kind != VKT__T_INT || v->i < 0 || v->i > MAX_INDENT)
        vkt__t_fail(r, "an indent must be a number from 0 to %d", MAX_INDENT);
    return r->failed ? none : (int)v->i;
}

static vkt__tvalue to_json(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    vkt__str s = { 0 };
    int indent = indent_of(r, arg[0], -1);
    vkt__tjson how = { .indent = indent,
                       .ascii = arg[1] && vkt__t_truth(arg[1]),
                       .sorted = arg[3] && vkt__t_truth(arg[3]),
                       .item = { indent < 0 ? ", " : ",", indent < 0 ? 2 : 1 },
                       .key = { ": ", 2 } };
    (void)which;
    if (arg[2] && arg[2]->kind != VKT__T_NONE) {
        const vkt__tlist *l = arg[2]->kind == VKT__T_LIST ? arg[2]->list : NULL;
        if (!l || l->n != 2 || l->item[0].kind != VKT__T_TEXT || l->item[1].kind != VKT__T_TEXT) {
            vkt__t_fail(r, "tojson: separators must be two texts");
            return vkt__t_none();
        }
        how.item = l->item[0].text;
        how.key = l->item[1].text;
    }
    vkt__t_write_json(r, v, &how, &s);
    return vkt__t_take(r, &s);
}

static vkt__tvalue string(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    (void)arg, (void)which;
    return vkt__t_str(r, v);
}

/* which: 0 as a list, 1 reversed */
static vkt__tvalue list(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    const vkt__tlist *l = vkt__t_items(r, v);
    vkt__tvalue out = vkt__t_list(r);
    (void)arg;
    for (size_t i = 0; l && i < l->n && !r->failed; i++)
        vkt__t_push(r, out.list, l->item[which ? l->n - 1 - i : i]);
    if (!which || v->kind != VKT__T_TEXT || r->failed) return out;
    vkt__tvalue none = vkt__t_word("");
    return vkt__t_call_method(r, &none, "join", &out, 1);
}

/* which: 0 first, 1 last */
static vkt__tvalue end_item(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    const vkt__tlist *l = vkt__t_items(r, v);
    (void)arg;
    if (!l || !l->n) return vkt__t_undefined((vkt__ttext) { "first", 5 });
    return l->item[which ? l->n - 1 : 0];
}

static vkt__tvalue join(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    const vkt__tlist *l = vkt__t_items(r, v);
    vkt__tvalue between = arg[0] ? vkt__t_str(r, arg[0]) : vkt__t_word(""), all = vkt__t_list(r);
    (void)which;
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        vkt__tvalue one = path(r, &l->item[i], arg[1]);
        vkt__t_push(r, all.list, vkt__t_str(r, &one));
    }
    return r->failed ? vkt__t_none() : vkt__t_call_method(r, &between, "join", &all, 1);
}

static vkt__tvalue items(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    (void)arg, (void)which;
    if (v->kind == VKT__T_UNDEFINED) return vkt__t_list(r);
    if (v->kind != VKT__T_DICT) vkt__t_fail(r, "items of %s", vkt__t_kind_name(v));
    return r->failed ? vkt__t_none() : vkt__t_call_method(r, v, "items", NULL, 0);
}

static vkt__tvalue to_int(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    double f;
    char digits[64];
    vkt__tvalue none = arg[0] ? *arg[0] : which ? vkt__t_float(0) : vkt__t_int(0), s = *v;
    if (s.kind == VKT__T_TEXT) s = vkt__t_call_method(r, &s, "strip", NULL, 0);
    bool ok = vkt__t_number(v, &f);
    if (!r->failed && s.kind == VKT__T_TEXT && s.text.n && s.text.n < sizeof digits) {
        memcpy(digits, s.text.s, s.text.n);
        digits[s.text.n] = 0;
        ok = vkt__number(digits + (*digits == '+'), &f);
    }
    if (!ok) return none;
    if (which) return vkt__t_float(f);
    if (v->kind == VKT__T_INT) return *v;
    return fabs(f) < 9e18 ? vkt__t_int((int64_t)f) : none;
}

static vkt__tvalue indent(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    vkt__tvalue s = vkt__t_str(r, v);
    vkt__str out = { 0 };
    vkt__ttext pad = { "                                ", 4 };
    bool first = arg[1] && vkt__t_truth(arg[1]), blank = arg[2] && vkt__t_truth(arg[2]);
    (void)which;
    if (arg[0] && arg[0]->kind == VKT__T_TEXT)
        pad = arg[0]->text;
    else
        pad.n = (size_t)indent_of(r, arg[0], 4);
    const char *at = s.text.s, *end = at + s.text.n;
    for (bool begin = true; !r->failed; begin = false) {
        const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        size_t n = (size_t)((stop ? stop : end) - at);
        if (begin ? first : n || blank) vkt__str_add(&out, pad.s, pad.n);
        vkt__str_add(&out, at, n + (stop != NULL));
        if (!stop) break;
        at = stop + 1;
        if (out.len > r->max_bytes || !vkt__t_work(r, pad.n))
            vkt__t_fail(r, "indent makes too long a text");
    }
    return vkt__t_take(r, &out);
}

static vkt__tvalue escape(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    static const char from[] = "&<>'\"";
    static const char *const to[] = { "&amp;", "&lt;", "&gt;", "&#39;", "&#34;" };
    vkt__tvalue s = vkt__t_str(r, v);
    vkt__str out = { 0 };
    (void)arg, (void)which;
    for (size_t i = 0; i < s.text.n; i++) {
        const char *known = s.text.s[i] ? strchr(from, s.text.s[i]) : NULL;
        if (known)
            vkt__str_add(&out, to[known - from], strlen(to[known - from]));
        else
            vkt__str_add(&out, s.text.s + i, 1);
    }
    return vkt__t_take(r, &out);
}

static vkt__tvalue absolute(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    double f = 0;
    (void)arg, (void)which;
    if (!vkt__t_number(v, &f)) vkt__t_fail(r, "abs of %s", vkt__t_kind_name(v));
    if (v->kind == VKT__T_BOOL) return vkt__t_int(v->b);
    if (v->kind == VKT__T_INT && v->i != INT64_MIN) return vkt__t_int(v->i < 0 ? -v->i : v->i);
    return vkt__t_float(fabs(f));
}

/* A whole number to its tens, hundreds ..., halves to the even one, as Python's round does. */
static vkt__tvalue rounded_whole(vkt__trun *r, int64_t i, int64_t places)
{
    int64_t unit = 1;
    for (; places < 0; places++) unit *= 10;
    int64_t rest = i % unit, whole = i - rest, twice = 2 * (rest < 0 ? -rest : rest);
    if (twice < unit || (twice == unit && whole / unit % 2 == 0)) return vkt__t_int(whole);
    if (i < 0 ? whole < INT64_MIN + unit : whole > INT64_MAX - unit) {
        vkt__t_fail(r, "round leaves the whole numbers of 64 bits");
        return vkt__t_none();
    }
    return vkt__t_int(i < 0 ? whole - unit : whole + unit);
}

static vkt__tvalue rounded(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    double f, power;
    char digits[64];
    int64_t places = arg[0] && arg[0]->kind == VKT__T_INT ? arg[0]->i : 0;
    vkt__ttext how =
        arg[1] && arg[1]->kind == VKT__T_TEXT ? arg[1]->text : (vkt__ttext) { "common", 6 };
    (void)which;
    if (!vkt__t_number(v, &f)) vkt__t_fail(r, "round of %s", vkt__t_kind_name(v));
    if (places < -15 || places > 15) vkt__t_fail(r, "round takes -15 to 15 places");
    if (r->failed) return vkt__t_none();
    power = pow(10, (double)places);
    /* These are whole numbers, and none is -0. */
    if (vkt__t_is(&how, "ceil")) return vkt__t_float((ceil(f * power) + 0.0) / power);
    if (vkt__t_is(&how, "floor")) return vkt__t_float((floor(f * power) + 0.0) / power);
    if (v->kind != VKT__T_FLOAT)
        return rounded_whole(r, v->kind == VKT__T_BOOL ? v->b : v->i, VKT_MIN(places, 0));
    if (places <= 0 || fabs(f) >= 1e15) return vkt__t_float(nearbyint(f * power) / power);
    /* the nearest to the number itself, which a product with a power of ten is not */
    snprintf(digits, sizeof digits, "%.*f", (int)places, f);
    return vkt__t_float(vkt__number(digits, &f) ? f : 0);
}

/* Lower case for a comparison that does not tell cases apart. */
static vkt__tvalue folded(vkt__trun *r, vkt__tvalue v, bool sensitive)
{
    return v.kind == VKT__T_TEXT && !sensitive ? vkt__t_call_method(r, &v, "lower", NULL, 0) : v;
}

/* Items sorted by key, stable. which: 0 rising, 1 falling */
static void insertion_sort(vkt__trun *r, vkt__tlist *l, const vkt__tlist *key, bool falling)
{
    for (size_t i = 1; i < l->n && !r->failed; i++) {
        vkt__tvalue v = l->item[i], k = key->item[i];
        size_t at = i;
        for (; at > 0 && vkt__t_work(r, 16); at--) {
            int order = vkt__t_order(r, &key->item[at - 1], &k);
            if (falling ? order >= 0 : order <= 0) break;
            l->item[at] = l->item[at - 1];
            key->item[at] = key->item[at - 1];
        }
        l->item[at] = v;
        key->item[at] = k;
    }
}

static vkt__tvalue sorted(vkt__trun *r, const vkt__tvalue *v, bool falling, bool sensitive,
                          const vkt__tvalue *attribute)
{
    vkt__tvalue out = list(r, v, NULL, 0), key = vkt__t_list(r);
    for (size_t i = 0; !r->failed && i < out.list->n; i++)
        vkt__t_push(r, key.list, folded(r, path(r, &out.list->item[i], attribute), sensitive));
    if (!r->failed) insertion_sort(r, out.list, key.list, falling);
    return out;
}

static vkt__tvalue sort(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    (void)which;
    return sorted(r, v, arg[0] && vkt__t_truth(arg[0]), arg[1] && vkt__t_truth(arg[1]), arg[2]);
}

static vkt__tvalue dict_sort(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    bool by_value = arg[1] && arg[1]->kind == VKT__T_TEXT && vkt__t_is(&arg[1]->text, "value");
    vkt__tvalue pairs = items(r, v, NULL, 0), at = vkt__t_int(by_value);
    (void)which;
    if (r->failed) return pairs;
    return sorted(r, &pairs, arg[2] && vkt__t_truth(arg[2]), arg[0] && vkt__t_truth(arg[0]), &at);
}

static vkt__tvalue unique(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    vkt__tvalue out = vkt__t_list(r), seen = vkt__t_list(r);
    const vkt__tlist *l = vkt__t_items(r, v);
    (void)which;
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        vkt__tvalue key = folded(r, path(r, &l->item[i], arg[1]), arg[0] && vkt__t_truth(arg[0]));
        if (r->failed || vkt__t_contains(r, &seen, &key)) continue;
        vkt__t_push(r, seen.list, key);
        vkt__t_push(r, out.list, l->item[i]);
    }
    return out;
}

/* which: 0 the least, 1 the most */
static vkt__tvalue extreme(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    vkt__tvalue all = sorted(r, v, which, arg[0] && vkt__t_truth(arg[0]), arg[1]);
    return !r->failed && all.list->n ? all.list->item[0]
                                     : vkt__t_undefined((vkt__ttext) { "min", 3 });
}

static vkt__tvalue sum(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue **arg, int which)
{
    const vkt__tlist *l = vkt__t_items(r, v);
    double total = 0, f = 0;
    bool whole = true;
    (void)which;
    if (arg[1] && !vkt__t_number(arg[1], &total))
        vkt__t_fail(r, "sum from %s", vkt__t_kind_name(arg[1]));
    whole = !arg[1] || arg[1]->kind != VKT__T_FLOAT;
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        vkt__tvalue one = path(r, &l->item[i], arg[0]);
        if (!vkt__t_number(&one, &f)) vkt__t_fail(r, "sum of %s", vkt__t_kind_name(&one));
        whole = whole && one.kind != VKT__T_FLOAT;
        total += f;
    }
    return whole && fabs(total) < 9e15 ? vkt__t_int((int64_t)total) : vkt__t_float(total);
}

static const struct {
    const char *name;
    filter_fn call;
    int which;
    const char *args[4];
} filters[] = {
    { "trim", text_method, 0, { "chars" } },
    { "upper", text_method, 1, { NULL } },
    { "lower", text_method, 2, { NULL } },
    { "capitalize", text_method, 3, { NULL } },
    { "replace", text_method, 4, { "old", "new", "count" } },
    { "title", title, 0, { NULL } },
    { "length", length, 0, { NULL } },
    { "count", length, 0, { NULL } },
    { "default", preset, 0, { "default_value", "boolean" } },
    { "d", preset, 0, { "default_value", "boolean" } },
    { "tojson", to_json, 0, { "indent", "ensure_ascii", "separators", "sort_keys" } },
    { "string", string, 0, { NULL } },
    { "safe", string, 0, { NULL } },
    { "list", list, 0, { NULL } },
    { "reverse", list, 1, { NULL } },
    { "first", end_item, 0, { NULL } },
    { "last", end_item, 1, { NULL } },
    { "join", join, 0, { "d", "attribute" } },
    { "items", items, 0, { NULL } },
    { "int", to_int, 0, { "default" } },
    { "float", to_int, 1, { "default" } },
    { "indent", indent, 0, { "width", "first", "blank" } },
    { "escape", escape, 0, { NULL } },
    { "e", escape, 0, { NULL } },
    { "abs", absolute, 0, { NULL } },
    { "round", rounded, 0, { "precision", "method" } },
    { "sort", sort, 0, { "reverse", "case_sensitive", "attribute" } },
    { "dictsort", dict_sort, 0, { "case_sensitive", "by", "reverse" } },
    { "unique", unique, 0, { "case_sensitive", "attribute" } },
    { "min", extreme, 0, { "case_sensitive", "attribute" } },
    { "max", extreme, 1, { "case_sensitive", "attribute" } },
    { "sum", sum, 0, { "attribute", "start" } },
};

/* Filters whose arguments name another filter or a test: rest(args, n) are its arguments. */
static const char *const choosers[] = { "select", "reject", "selectattr", "rejectattr" };

static vkt__targs rest(const vkt__targs *args, size_t n)
{
    return (vkt__targs) { args->value + n, args->name ? args->name + n : NULL, args->n - n,
                          args->n_positional - n };
}

static vkt__tvalue choose(vkt__trun *r, const vkt__tvalue *v, const vkt__targs *args, bool keep,
                          bool attribute)
{
    const vkt__tlist *l = vkt__t_truth(v) ? vkt__t_items(r, v) : NULL; /* as Jinja: none is empty */
    vkt__tvalue out = vkt__t_list(r);
    if (args->n_positional < attribute) vkt__t_fail(r, "selectattr needs an attribute");
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        vkt__tvalue one = path(r, &l->item[i], attribute ? &args->value[0] : NULL);
        bool yes;
        if (args->n_positional > attribute) {
            const vkt__tvalue *test = &args->value[attribute];
            vkt__targs more = rest(args, attribute + 1u);
            if (test->kind != VKT__T_TEXT) vkt__t_fail(r, "a test's name must be a text");
            yes = !r->failed && vkt__t_test(r, &one, &test->text, &more);
        } else {
            yes = vkt__t_truth(&one);
        }
        if (yes == keep) vkt__t_push(r, out.list, l->item[i]);
    }
    return out;
}

static vkt__tvalue map(vkt__trun *r, const vkt__tvalue *v, const vkt__targs *args)
{
    const vkt__tlist *l = vkt__t_truth(v) ? vkt__t_items(r, v) : NULL;
    vkt__tvalue out = vkt__t_list(r);
    const vkt__tvalue *attribute = NULL, *none = NULL;
    bool by_filter = args->n_positional > 0;
    for (size_t i = 0; i < args->n && !by_filter; i++) {
        if (vkt__t_is(&args->name[i], "attribute")) attribute = &args->value[i];
        if (vkt__t_is(&args->name[i], "default")) none = &args->value[i];
    }
    if (by_filter ? args->value[0].kind != VKT__T_TEXT : !attribute)
        vkt__t_fail(r, "map needs a filter's name or attribute=");
    for (size_t i = 0; l && i < l->n && !r->failed; i++) {
        vkt__tvalue one;
        if (by_filter) {
            vkt__targs more = rest(args, 1);
            r->depth++;
            if (r->depth > 60) vkt__t_fail(r, "map within map too often");
            one = r->failed ? vkt__t_none()
                            : vkt__t_filter(r, &l->item[i], &args->value[0].text, &more);
            r->depth--;
        } else {
            one = path(r, &l->item[i], attribute);
            if (one.kind == VKT__T_UNDEFINED && none) one = *none;
        }
        vkt__t_push(r, out.list, one);
    }
    return out;
}

static size_t filter_row(const vkt__ttext *name)
{
    size_t i = 0;
    while (i < VKT_COUNT(filters) && !vkt__t_is(name, filters[i].name)) i++;
    return i;
}

static size_t chooser_row(const vkt__ttext *name)
{
    size_t i = 0;
    while (i < VKT_COUNT(choosers) && !vkt__t_is(name, choosers[i])) i++;
    return i;
}

bool vkt__t_filter_known(const vkt__ttext *name)
{
    return filter_row(name) < VKT_COUNT(filters) || chooser_row(name) < VKT_COUNT(choosers) ||
           vkt__t_is(name, "map");
}

vkt__tvalue vkt__t_filter(vkt__trun *r, const vkt__tvalue *v, const vkt__ttext *name,
                          const vkt__targs *args)
{
    const vkt__tvalue *arg[4] = { NULL, NULL, NULL, NULL };
    size_t i = filter_row(name), chooser = chooser_row(name), n = 0;
    if (!vkt__t_work(r, 1)) return vkt__t_none();
    if (vkt__t_is(name, "map")) return map(r, v, args);
    if (chooser < VKT_COUNT(choosers)) return choose(r, v, args, chooser % 2 == 0, chooser >= 2);
    if (i == VKT_COUNT(filters)) {
        vkt__t_fail(r, "the filter '%.*s' is not understood", (int)VKT_MIN(name->n, 40), name->s);
        return vkt__t_none();
    }
    while (n < 4 && filters[i].args[n]) n++;
    if (!vkt__t_take_args(r, args, filters[i].name, filters[i].args, n, arg)) return vkt__t_none();
    return filters[i].call(r, v, arg, filters[i].which);
}
