/* Expressions of a template: names, operators, calls. */
#include <math.h>
#include <time.h>

#include "jinja/template_eval.h"
#include "jinja/template_filters.h"
#include "jinja/template_methods.h"
#include "jinja/template_tests.h"

enum { MAX_DEPTH = 400, MAX_RANGE = 100000 };

/* ---- names ---- */

static const char *const functions[] = { "range", "namespace", "dict", "raise_exception",
                                         "strftime_now" };

static vkt__tvalue lookup(vkt__teval *e, const vkt__ttext *name)
{
    vkt__tvalue key = vkt__t_text(name->s, name->n);
    for (const vkt__tscope *s = e->scope; s; s = s->parent) {
        const vkt__tvalue *v = vkt__t_get(&e->run, &s->vars, key);
        if (v) return *v;
    }
    for (size_t i = 0; i < VKT_COUNT(functions); i++)
        if (vkt__t_is(name, functions[i]) && !(i == 4 && isnan(e->run.now)))
            return (vkt__tvalue) { .kind = VKT__T_FUNCTION, .text = *name };
    return vkt__t_undefined(*name);
}

void vkt__t_set(vkt__teval *e, const vkt__ttext *name, vkt__tvalue v)
{
    vkt__t_put(&e->run, &e->scope->vars, vkt__t_text(name->s, name->n), v);
}

/* ---- operators ---- */

static vkt__tvalue concat(vkt__trun *r, const vkt__ttext *a, const vkt__ttext *b)
{
    char *s = vkt__t_alloc(r, (uint64_t)a->n + b->n);
    if (!s) return vkt__t_none();
    if (a->n) memcpy(s, a->s, a->n);
    if (b->n) memcpy(s + a->n, b->s, b->n);
    return vkt__t_text(s, a->n + b->n);
}

static vkt__tvalue append_lists(vkt__trun *r, const vkt__tlist *a, const vkt__tlist *b)
{
    vkt__tvalue out = vkt__t_list(r);
    for (size_t i = 0; i < a->n && !r->failed; i++) vkt__t_push(r, out.list, a->item[i]);
    for (size_t i = 0; i < b->n && !r->failed; i++) vkt__t_push(r, out.list, b->item[i]);
    if (!r->failed) out.list->tuple = a->tuple;
    return out;
}

static vkt__tvalue repeat(vkt__trun *r, const vkt__tvalue *v, int64_t times)
{
    vkt__str s = { 0 };
    vkt__tvalue out = vkt__t_list(r);
    for (int64_t i = 0; i < times && !r->failed; i++) {
        if (v->kind == VKT__T_TEXT) {
            vkt__str_add(&s, v->text.s, v->text.n);
            if (s.len > r->max_bytes || !vkt__t_work(r, v->text.n + 1))
                vkt__t_fail(r, "\"*\" makes too long a text");
        }
        for (size_t k = 0; v->kind == VKT__T_LIST && k < v->list->n && !r->failed; k++)
            vkt__t_push(r, out.list, v->list->item[k]);
        vkt__t_work(r, 1);
    }
    if (v->kind == VKT__T_TEXT) return vkt__t_take(r, &s);
    if (!r->failed) out.list->tuple = v->list->tuple;
    return out;
}

/* Whole numbers. False: there is none that is taken. */
static bool whole(char op, int64_t a, int64_t b, int64_t *out)
{
    const int64_t most = INT64_C(1) << 62;
    switch (op) {
    case '+':
    case '-':
        if (a > most || a < -most || b > most || b < -most) return false;
        *out = op == '+' ? a + b : a - b;
        return true;
    case '*':
        if (a && b && (fabs((double)a * (double)b) > 4e18)) return false;
        *out = a * b;
        return true;
    case 'd': /* // */
    case '%': {
        if (b == 0 || a < -most) return false;
        int64_t q = a / b, rest = a % b;
        if (rest && (rest < 0) != (b < 0)) q--, rest += b;
        *out = op == '%' ? rest : q;
        return true;
    }
    default:
        *out = 1;
        if (b < 0 || b > 64) return false;
        for (; b > 0; b--) {
            if (fabs((double)*out * (double)a) > 4e18) return false;
            *out *= a;
        }
        return true;
    }
}

static vkt__tvalue arithmetic(vkt__trun *r, char op, const vkt__tvalue *a, const vkt__tvalue *b)
{
    double x, y;
    int64_t i;
    bool both = vkt__t_number(a, &x) & vkt__t_number(b, &y);
    if (!both) return vkt__t_undefined((vkt__ttext) { "", 0 });
    if (y == 0 && (op == '/' || op == 'd' || op == '%')) {
        vkt__t_fail(r, "a division by zero");
        return vkt__t_none();
    }
    if (op != '/' && a->kind != VKT__T_FLOAT && b->kind != VKT__T_FLOAT && !(op == 'p' && y < 0)) {
        if (whole(op, a->kind == VKT__T_INT ? a->i : a->b, b->kind == VKT__T_INT ? b->i : b->b, &i))
            return vkt__t_int(i);
        vkt__t_fail(r, "a number is too large");
        return vkt__t_none();
    }
    if (op == 'p' && ((x == 0 && y < 0) || (x < 0 && y != floor(y)))) {
        vkt__t_fail(r, "a power that is no number");
        return vkt__t_none();
    }
    /* In long double: the pow of Windows' C library is an ulp off for whole exponents. */
    double power = op == 'p' ? (double)powl(x, y) : 0;
    double rest = op == '%' ? fmod(x, y) : 0;
    if (rest == 0) rest = copysign(0, y);
    if (rest != 0 && (rest < 0) != (y < 0)) rest += y;
    return vkt__t_float(op == '+'   ? x + y
                        : op == '-' ? x - y
                        : op == '*' ? x * y
                        : op == '/' ? x / y
                        : op == 'd' ? floor(x / y)
                        : op == '%' ? rest
                                    : power);
}

static vkt__tvalue binary(vkt__teval *e, const vkt__tnode *n)
{
    vkt__trun *r = &e->run;
    vkt__tvalue a = vkt__t_eval(e, n->a), b = vkt__t_eval(e, n->b), out;
    char op = vkt__t_is(&n->name, "//") ? 'd' : vkt__t_is(&n->name, "**") ? 'p' : n->name.s[0];
    if (r->failed) return vkt__t_none();
    if (op == '~') {
        a = vkt__t_str(r, &a);
        b = vkt__t_str(r, &b);
        return r->failed ? a : concat(r, &a.text, &b.text);
    }
    if (op == '+' && a.kind == VKT__T_TEXT && b.kind == VKT__T_TEXT)
        return concat(r, &a.text, &b.text);
    if (op == '+' && a.kind == VKT__T_LIST && b.kind == VKT__T_LIST &&
        a.list->tuple == b.list->tuple)
        return append_lists(r, a.list, b.list);
    if (op == '*' && (a.kind == VKT__T_TEXT || a.kind == VKT__T_LIST) && b.kind == VKT__T_INT)
        return repeat(r, &a, b.i);
    out = arithmetic(r, op, &a, &b);
    if (out.kind == VKT__T_UNDEFINED &&
        (a.kind == VKT__T_UNDEFINED || b.kind == VKT__T_UNDEFINED)) {
        const vkt__ttext *name = a.kind == VKT__T_UNDEFINED ? &a.text : &b.text;
        vkt__t_fail(r, "'%.*s' is not defined", (int)VKT_MIN(name->n, 40), name->s);
    } else if (out.kind == VKT__T_UNDEFINED) {
        vkt__t_fail(r, "\"%.*s\" of %s and %s", (int)n->name.n, n->name.s, vkt__t_kind_name(&a),
                    vkt__t_kind_name(&b));
    }
    return out;
}

static bool compare_one(vkt__trun *r, const vkt__ttext *sign, const vkt__tvalue *a,
                        const vkt__tvalue *b)
{
    if (vkt__t_is(sign, "==")) return vkt__t_equal(r, a, b);
    if (vkt__t_is(sign, "!=")) return !vkt__t_equal(r, a, b);
    if (vkt__t_is(sign, "in")) return vkt__t_contains(r, b, a);
    if (vkt__t_is(sign, "not in")) return !vkt__t_contains(r, b, a);
    int order = vkt__t_order(r, a, b);
    if (sign->n == 2 && order == 0) return true;
    return sign->s[0] == '<' ? order < 0 : order > 0;
}

static vkt__tvalue compare(vkt__teval *e, const vkt__tnode *n)
{
    vkt__tvalue left = vkt__t_eval(e, n->a);
    for (size_t i = 0; i < n->n && !e->run.failed; i++) {
        vkt__tvalue right = vkt__t_eval(e, n->item[i]);
        if (e->run.failed || !compare_one(&e->run, &n->key[i], &left, &right))
            return vkt__t_bool(false);
        left = right;
    }
    return vkt__t_bool(true);
}

static vkt__tvalue sign(vkt__teval *e, const vkt__tnode *n)
{
    vkt__tvalue v = vkt__t_eval(e, n->a), zero = vkt__t_int(0);
    if (e->run.failed) return v;
    if (v.kind == VKT__T_FLOAT && n->kind == VKT__N_MINUS)
        return vkt__t_float(-v.f); /* of 0, too */
    v = arithmetic(&e->run, n->kind == VKT__N_MINUS ? '-' : '+', &zero, &v);
    if (v.kind == VKT__T_UNDEFINED) vkt__t_fail(&e->run, "a sign before what is no number");
    return v;
}

/* ---- calls ---- */

/* With each value of *list in its place; rare enough to build new lists for. */
static vkt__targs splat_arguments(vkt__teval *e, const vkt__tnode *n)
{
    vkt__trun *r = &e->run;
    vkt__tvalue all = vkt__t_list(r);
    vkt__targs args = { 0 };
    for (size_t i = 0; i < n->n && !r->failed; i++) {
        const vkt__tnode *item = n->item[i];
        vkt__tvalue v = vkt__t_eval(e, item->kind == VKT__N_SPLAT ? item->a : item);
        const vkt__tlist *l = item->kind == VKT__N_SPLAT && !r->failed ? vkt__t_items(r, &v) : NULL;
        for (size_t k = 0; l && k < l->n && !r->failed; k++) vkt__t_push(r, all.list, l->item[k]);
        if (item->kind != VKT__N_SPLAT && !r->failed) vkt__t_push(r, all.list, v);
        if (!n->key[i].s && !r->failed) args.n_positional = all.list->n;
    }
    vkt__ttext *names = r->failed ? NULL : vkt__t_alloc(r, (all.list->n + 1) * sizeof *names);
    if (!names) return (vkt__targs) { 0 };
    for (size_t i = 0; i < all.list->n; i++) names[i] = (vkt__ttext) { 0 };
    for (size_t i = 0, named = args.n_positional; i < n->n; i++)
        if (n->key[i].s) names[named++] = n->key[i];
    args.value = all.list->item;
    args.name = names;
    args.n = all.list->n;
    return args;
}

static vkt__targs arguments(vkt__teval *e, const vkt__tnode *n)
{
    vkt__targs args = { .name = n->key, .n = n->n };
    for (size_t i = 0; i < n->n; i++)
        if (n->item[i]->kind == VKT__N_SPLAT) return splat_arguments(e, n);
    vkt__tvalue *v = n->n ? vkt__t_alloc(&e->run, n->n * sizeof *v) : NULL;
    for (size_t i = 0; v && i < n->n && !e->run.failed; i++) {
        v[i] = vkt__t_eval(e, n->item[i]);
        args.n_positional += n->key[i].s == NULL;
    }
    args.value = v;
    if (!v) args.n = 0;
    return args;
}

static vkt__tvalue range(vkt__trun *r, const vkt__targs *a)
{
    int64_t from = 0, to = 0, step = 1;
    vkt__tvalue out = vkt__t_list(r);
    for (size_t i = 0; i < a->n; i++)
        if (a->value[i].kind != VKT__T_INT || llabs(a->value[i].i) > INT32_MAX)
            vkt__t_fail(r, "range of what is no whole number, or too large");
    if (a->n < 1 || a->n > 3 || a->n != a->n_positional)
        vkt__t_fail(r, "range takes 1 to 3 numbers");
    if (r->failed) return out;
    from = a->n > 1 ? a->value[0].i : 0;
    to = a->value[a->n > 1].i;
    if (a->n > 2) step = a->value[2].i;
    if (step == 0 || (to - from) / step > MAX_RANGE) {
        vkt__t_fail(r, "range of more than %d numbers, or a step of 0", MAX_RANGE);
        return out;
    }
    for (int64_t i = from; !r->failed && (step > 0 ? i < to : i > to); i += step)
        vkt__t_push(r, out.list, vkt__t_int(i));
    return out;
}

static vkt__tvalue make_dict(vkt__trun *r, const vkt__targs *a, bool is_namespace)
{
    vkt__tvalue out = vkt__t_dict(r);
    if (r->failed) return out;
    for (size_t i = 0; i < a->n; i++) {
        const vkt__tvalue *v = &a->value[i];
        if (i >= a->n_positional)
            vkt__t_put(r, out.dict, vkt__t_text(a->name[i].s, a->name[i].n), *v);
        else if (v->kind != VKT__T_DICT)
            vkt__t_fail(r, "namespace and dict take names, or a dict");
        for (size_t k = 0; i < a->n_positional && !r->failed && k < v->dict->n; k++)
            vkt__t_put(r, out.dict, v->dict->pair[k].key, v->dict->pair[k].value);
    }
    out.dict->is_namespace = is_namespace;
    return out;
}

static vkt__tvalue time_text(vkt__trun *r, const vkt__targs *a)
{
    char format[128], out[256];
    if (a->n != 1 || a->value[0].kind != VKT__T_TEXT || a->value[0].text.n >= sizeof format ||
        memchr(a->value[0].text.s, 0, a->value[0].text.n)) {
        vkt__t_fail(r, "strftime_now takes a format of up to 127 characters");
        return vkt__t_none();
    }
    memcpy(format, a->value[0].text.s, a->value[0].text.n);
    format[a->value[0].text.n] = 0;
    for (const char *c = format; (c = strchr(c, '%')) != NULL; c += 2)
        if (!c[1] || !strchr("aAbBcdHIjmMpSUwWxXyYZz%eFTDRh-", c[1])) {
            vkt__t_fail(r, "strftime_now does not know '%%%c'", c[1] ? c[1] : ' ');
            return vkt__t_none();
        }
    time_t now = (time_t)r->now;
    const struct tm *t = localtime(&now);
    size_t n = t ? strftime(out, sizeof out, format, t) : 0;
    vkt__str s = { 0 };
    vkt__str_add(&s, out, n);
    return vkt__t_take(r, &s);
}

static vkt__tvalue call_function(vkt__trun *r, const vkt__ttext *name, const vkt__targs *a)
{
    if (vkt__t_is(name, "range")) return range(r, a);
    if (vkt__t_is(name, "namespace")) return make_dict(r, a, true);
    if (vkt__t_is(name, "dict")) return make_dict(r, a, false);
    if (vkt__t_is(name, "strftime_now")) return time_text(r, a);
    vkt__tvalue why = a->n ? vkt__t_str(r, &a->value[0]) : vkt__t_word("raise_exception");
    if (!r->failed)
        vkt__t_fail(r, "the template refuses it: %.*s", (int)VKT_MIN(why.text.n, 150), why.text.s);
    return vkt__t_none();
}

/* loop.cycle(..) and loop.changed(..) */
static vkt__tvalue call_loop(vkt__teval *e, vkt__tloop *l, const vkt__ttext *name,
                             const vkt__targs *a)
{
    if (vkt__t_is(name, "cycle") && a->n) return a->value[l->at % a->n];
    if (vkt__t_is(name, "changed") && a->n == 1) {
        bool same = l->changed.kind == a->value[0].kind &&
                    vkt__t_equal(&e->run, &l->changed, &a->value[0]) &&
                    l->changed.kind != VKT__T_UNDEFINED;
        l->changed = a->value[0];
        return vkt__t_bool(!same);
    }
    vkt__t_fail(&e->run, "loop.%.*s(..) is not understood", (int)VKT_MIN(name->n, 40), name->s);
    return vkt__t_none();
}

vkt__tvalue vkt__t_eval_call(vkt__teval *e, const vkt__tnode *n, const vkt__tvalue *caller)
{
    vkt__trun *r = &e->run;
    const vkt__tnode *f = n->a;
    if (f->kind == VKT__N_ATTR) {
        vkt__tvalue self = vkt__t_eval(e, f->a);
        vkt__targs args = arguments(e, n);
        if (r->failed) return vkt__t_none();
        if (self.kind == VKT__T_LOOP) return call_loop(e, self.loop, &f->name, &args);
        if (vkt__t_has_method(&self, &f->name)) return vkt__t_method(r, &self, &f->name, &args);
        vkt__tvalue v = vkt__t_attribute(r, &self, &f->name);
        if (v.kind == VKT__T_MACRO) return e->call_macro(e, v.macro, &args, caller);
        return r->failed ? v : vkt__t_method(r, &self, &f->name, &args);
    }
    vkt__tvalue v = vkt__t_eval(e, f);
    vkt__targs args = arguments(e, n);
    if (r->failed) return vkt__t_none();
    if (v.kind == VKT__T_MACRO) return e->call_macro(e, v.macro, &args, caller);
    if (v.kind == VKT__T_FUNCTION) return call_function(r, &v.text, &args);
    if (v.kind == VKT__T_UNDEFINED)
        vkt__t_fail(r, "'%.*s' is not defined, and can't be called", (int)VKT_MIN(v.text.n, 40),
                    v.text.s);
    else
        vkt__t_fail(r, "%s can't be called", vkt__t_kind_name(&v));
    return vkt__t_none();
}

vkt__tvalue vkt__t_eval_filter(vkt__teval *e, const vkt__tnode *n, const vkt__tvalue *v)
{
    vkt__targs args = arguments(e, n);
    return e->run.failed ? vkt__t_none() : vkt__t_filter(&e->run, v, &n->name, &args);
}

/* ---- all of them ---- */

static vkt__tvalue collection(vkt__teval *e, const vkt__tnode *n)
{
    vkt__trun *r = &e->run;
    vkt__tvalue out = n->kind == VKT__N_DICT ? vkt__t_dict(r) : vkt__t_list(r);
    if (r->failed) return out;
    if (n->kind == VKT__N_LIST) out.list->tuple = n->flag;
    for (size_t i = 0; i < n->n && !r->failed; i++) {
        vkt__tvalue v = vkt__t_eval(e, n->item[i]);
        if (n->kind == VKT__N_LIST)
            vkt__t_push(r, out.list, v);
        else if (++i < n->n)
            vkt__t_put(r, out.dict, v, vkt__t_eval(e, n->item[i]));
    }
    return out;
}

static vkt__tvalue slice(vkt__teval *e, const vkt__tnode *n)
{
    vkt__tvalue v = vkt__t_eval(e, n->a), part[3];
    for (int i = 0; i < 3; i++) part[i] = vkt__t_eval(e, n->item[i]);
    return e->run.failed ? vkt__t_none() : vkt__t_slice(&e->run, &v, part);
}

static vkt__tvalue test(vkt__teval *e, const vkt__tnode *n)
{
    vkt__tvalue v = vkt__t_eval(e, n->a);
    vkt__targs args = arguments(e, n);
    bool yes = !e->run.failed && vkt__t_test(&e->run, &v, &n->name, &args);
    return vkt__t_bool(yes != n->flag);
}

static vkt__tvalue evaluate(vkt__teval *e, const vkt__tnode *n)
{
    vkt__trun *r = &e->run;
    vkt__tvalue v, key;
    switch (n->kind) {
    case VKT__N_CONST:
        return n->value;
    case VKT__N_NAME:
        return lookup(e, &n->name);
    case VKT__N_ATTR:
        v = vkt__t_eval(e, n->a);
        return r->failed ? v : vkt__t_attribute(r, &v, &n->name);
    case VKT__N_ITEM:
        v = vkt__t_eval(e, n->a);
        key = vkt__t_eval(e, n->b);
        return r->failed ? v : vkt__t_subscript(r, &v, &key);
    case VKT__N_SLICE:
        return slice(e, n);
    case VKT__N_CALL:
        return vkt__t_eval_call(e, n, NULL);
    case VKT__N_FILTER:
        v = vkt__t_eval(e, n->a);
        return r->failed ? v : vkt__t_eval_filter(e, n, &v);
    case VKT__N_TEST:
        return test(e, n);
    case VKT__N_BINARY:
        return binary(e, n);
    case VKT__N_COMPARE:
        return compare(e, n);
    case VKT__N_AND:
        v = vkt__t_eval(e, n->a);
        return vkt__t_truth(&v) ? vkt__t_eval(e, n->b) : v;
    case VKT__N_OR:
        v = vkt__t_eval(e, n->a);
        return vkt__t_truth(&v) ? v : vkt__t_eval(e, n->b);
    case VKT__N_NOT:
        v = vkt__t_eval(e, n->a);
        return vkt__t_bool(!vkt__t_truth(&v));
    case VKT__N_MINUS:
    case VKT__N_PLUS:
        return sign(e, n);
    case VKT__N_CHOICE:
        v = vkt__t_eval(e, n->a);
        if (vkt__t_truth(&v)) return vkt__t_eval(e, n->b);
        return n->c ? vkt__t_eval(e, n->c) : vkt__t_undefined((vkt__ttext) { "else", 4 });
    case VKT__N_LIST:
    case VKT__N_DICT:
        return collection(e, n);
    default:
        VKT_ASSERT(!"a statement in an expression");
        return vkt__t_none();
    }
}

vkt__tvalue vkt__t_eval(vkt__teval *e, const vkt__tnode *n)
{
    vkt__trun *r = &e->run;
    vkt__tvalue v = vkt__t_none();
    if (!vkt__t_work(r, 1)) return v;
    r->line = n->line;
    if (++r->depth > MAX_DEPTH)
        vkt__t_fail(r, "it is nested more than %d deep: does a macro call itself?", MAX_DEPTH);
    else
        v = evaluate(e, n);
    r->depth--;
    return r->failed ? vkt__t_none() : v;
}
