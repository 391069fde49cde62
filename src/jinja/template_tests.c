/* Tests ("x is odd"), as Jinja 2 has them. */
#include "jinja/template_methods.h"
#include "jinja/template_tests.h"

typedef bool (*test_fn)(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which);

/* which: bits of the kinds that are meant */
static bool of_kind(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    (void)r, (void)arg;
    return which >> v->kind & 1;
}

static bool boolean(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    (void)r, (void)arg;
    return v->kind == VKT__T_BOOL && v->b == which;
}

static bool divisible(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    int64_t by = which < 2 ? 2 : arg && arg->kind == VKT__T_INT ? arg->i : 0;
    if (v->kind != VKT__T_INT || by == 0 || by == -1) {
        vkt__t_fail(r, "odd, even and divisibleby are tests of whole numbers");
        return false;
    }
    return which == 0 ? v->i % 2 != 0 : v->i % by == 0;
}

/* which: 0 equal, 1 not equal */
static bool equal(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    return arg && vkt__t_equal(r, v, arg) != which;
}

/* which: bit 0 below, 1 equal, 2 above */
static bool ordered(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    int order = arg ? vkt__t_order(r, v, arg) : 0;
    return which >> (order < 0 ? 0 : order == 0 ? 1 : 2) & 1;
}

static bool inside(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    (void)which;
    return arg && vkt__t_contains(r, arg, v);
}

static bool same(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    (void)which;
    return arg && v->kind == arg->kind && vkt__t_equal(r, v, arg);
}

/* which: 0 lower, 1 upper */
static bool cased(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *arg, int which)
{
    vkt__tvalue s = vkt__t_str(r, v);
    (void)arg;
    s = vkt__t_call_method(r, &s, which ? "isupper" : "islower", NULL, 0);
    return !r->failed && s.b;
}

#define KIND(k) (1 << VKT__T_##k)
enum { ITERABLE = KIND(TEXT) | KIND(LIST) | KIND(DICT) | KIND(UNDEFINED) };

static const struct {
    const char *name;
    test_fn call;
    int which;
    bool takes; /* an argument */
} tests[] = {
    { "defined", of_kind, ~KIND(UNDEFINED), false },
    { "undefined", of_kind, KIND(UNDEFINED), false },
    { "none", of_kind, KIND(NONE), false },
    { "string", of_kind, KIND(TEXT), false },
    { "mapping", of_kind, KIND(DICT), false },
    { "sequence", of_kind, ITERABLE, false },
    { "iterable", of_kind, ITERABLE, false },
    { "number", of_kind, KIND(INT) | KIND(FLOAT) | KIND(BOOL), false },
    { "integer", of_kind, KIND(INT), false },
    { "float", of_kind, KIND(FLOAT), false },
    { "boolean", of_kind, KIND(BOOL), false },
    { "callable", of_kind, KIND(MACRO) | KIND(FUNCTION), false },
    { "true", boolean, true, false },
    { "false", boolean, false, false },
    { "odd", divisible, 0, false },
    { "even", divisible, 1, false },
    { "divisibleby", divisible, 2, true },
    { "eq", equal, 0, true },
    { "equalto", equal, 0, true },
    { "==", equal, 0, true },
    { "ne", equal, 1, true },
    { "!=", equal, 1, true },
    { "lt", ordered, 1, true },
    { "lessthan", ordered, 1, true },
    { "<", ordered, 1, true },
    { "le", ordered, 3, true },
    { "<=", ordered, 3, true },
    { "gt", ordered, 4, true },
    { "greaterthan", ordered, 4, true },
    { ">", ordered, 4, true },
    { "ge", ordered, 6, true },
    { ">=", ordered, 6, true },
    { "in", inside, 0, true },
    { "sameas", same, 0, true },
    { "lower", cased, 0, false },
    { "upper", cased, 1, false },
};

static size_t test_row(const vkt__ttext *name)
{
    size_t i = 0;
    while (i < VKT_COUNT(tests) && !vkt__t_is(name, tests[i].name)) i++;
    return i;
}

bool vkt__t_test_known(const vkt__ttext *name)
{
    return test_row(name) < VKT_COUNT(tests);
}

bool vkt__t_test(vkt__trun *r, const vkt__tvalue *v, const vkt__ttext *name, const vkt__targs *args)
{
    size_t i = test_row(name);
    if (!vkt__t_work(r, 1)) return false;
    if (i == VKT_COUNT(tests))
        vkt__t_fail(r, "the test '%.*s' is not understood", (int)VKT_MIN(name->n, 40), name->s);
    else if (args->n != tests[i].takes || args->n_positional != args->n)
        vkt__t_fail(r, "the test '%s' takes %s", tests[i].name,
                    tests[i].takes ? "one value" : "nothing");
    return !r->failed && tests[i].call(r, v, args->n ? &args->value[0] : NULL, tests[i].which);
}
