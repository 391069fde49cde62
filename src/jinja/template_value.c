/* template_value.h: values and their limits; comparison, indices and slices. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/words.h"
#include "jinja/template_value.h"

enum { MAX_JSON_DEPTH = 100, MAX_COMPARE_DEPTH = 100, WORK_PER_STEP = 64 };

void vkt__t_fail(vkt__trun *r, const char *fmt, ...)
{
    va_list ap;
    if (r->failed) return;
    r->failed = true;
    va_start(ap, fmt);
    vsnprintf(r->error, sizeof r->error, fmt, ap);
    va_end(ap);
}

bool vkt__t_work(vkt__trun *r, uint64_t n)
{
    r->steps += 1 + n / WORK_PER_STEP;
    if (r->steps > r->max_steps)
        vkt__t_fail(r, "it takes more than %llu steps: does it loop for ever?",
                    (unsigned long long)r->max_steps);
    return !r->failed;
}

void *vkt__t_alloc(vkt__trun *r, uint64_t n)
{
    if (!vkt__t_work(r, n)) return NULL;
    if (n > r->max_bytes || r->bytes > r->max_bytes - n) {
        vkt__t_fail(r, "it needs more than %llu MiB of memory",
                    (unsigned long long)(r->max_bytes >> 20));
        return NULL;
    }
    r->bytes += n;
    return vkt__arena_alloc(&r->arena, (size_t)n + 1);
}

vkt__tvalue vkt__t_undefined(vkt__ttext name)
{
    return (vkt__tvalue) { .kind = VKT__T_UNDEFINED, .text = name };
}

vkt__tvalue vkt__t_none(void)
{
    return (vkt__tvalue) { .kind = VKT__T_NONE };
}

vkt__tvalue vkt__t_bool(bool b)
{
    return (vkt__tvalue) { .kind = VKT__T_BOOL, .b = b };
}

vkt__tvalue vkt__t_int(int64_t i)
{
    return (vkt__tvalue) { .kind = VKT__T_INT, .i = i };
}

vkt__tvalue vkt__t_float(double f)
{
    return (vkt__tvalue) { .kind = VKT__T_FLOAT, .f = f };
}

vkt__tvalue vkt__t_text(const char *s, size_t n)
{
    return (vkt__tvalue) { .kind = VKT__T_TEXT, .text = { s, n } };
}

vkt__tvalue vkt__t_word(const char *s)
{
    return vkt__t_text(s, strlen(s));
}

vkt__tvalue vkt__t_take(vkt__trun *r, vkt__str *s)
{
    char *copy = vkt__t_alloc(r, s->len);
    if (copy && s->len) memcpy(copy, s->data, s->len);
    vkt__tvalue v = copy ? vkt__t_text(copy, s->len) : vkt__t_word("");
    vkt__str_finish(s);
    return v;
}

vkt__tvalue vkt__t_list(vkt__trun *r)
{
    vkt__tvalue v = { .kind = VKT__T_LIST, .list = vkt__t_alloc(r, sizeof(vkt__tlist)) };
    return v.list ? v : vkt__t_none();
}

vkt__tvalue vkt__t_dict(vkt__trun *r)
{
    vkt__tvalue v = { .kind = VKT__T_DICT, .dict = vkt__t_alloc(r, sizeof(vkt__tdict)) };
    return v.dict ? v : vkt__t_none();
}

/* Room for one more item of `size` bytes; the old place stays in the arena. */
static void *grown(vkt__trun *r, void *p, size_t n, size_t *cap, size_t size)
{
    if (n < *cap) return p;
    size_t more = n ? 2 * n : 4;
    void *q = vkt__t_alloc(r, (uint64_t)more * size);
    if (!q) return NULL;
    if (n) memcpy(q, p, n * size);
    *cap = more;
    return q;
}

void vkt__t_push(vkt__trun *r, vkt__tlist *l, vkt__tvalue v)
{
    if (r->failed) return;
    vkt__tvalue *p = grown(r, l->item, l->n, &l->cap, sizeof *p);
    if (!p) return;
    l->item = p;
    l->item[l->n++] = v;
}

const vkt__tvalue *vkt__t_get(vkt__trun *r, const vkt__tdict *d, vkt__tvalue key)
{
    if (r->failed || !vkt__t_work(r, 8 * d->n)) return NULL;
    for (size_t i = 0; i < d->n; i++)
        if (vkt__t_equal(r, &d->pair[i].key, &key)) return &d->pair[i].value;
    return NULL;
}

void vkt__t_put(vkt__trun *r, vkt__tdict *d, vkt__tvalue key, vkt__tvalue v)
{
    if (r->failed) return;
    for (size_t i = 0; i < d->n; i++)
        if (vkt__t_equal(r, &d->pair[i].key, &key)) {
            d->pair[i].value = v;
            return;
        }
    if (!vkt__t_work(r, 8 * d->n)) return;
    vkt__tpair *p = grown(r, d->pair, d->n, &d->cap, sizeof *p);
    if (!p) return;
    d->pair = p;
    d->pair[d->n++] = (vkt__tpair) { key, v };
}

static vkt__tvalue of_json(vkt__trun *r, const json_t *o, uint32_t depth)
{
    vkt__tvalue v = vkt__t_none();
    size_t i;
    json_t *item;
    const char *key;
    if (depth > MAX_JSON_DEPTH) vkt__t_fail(r, "the data are more than %d deep", MAX_JSON_DEPTH);
    if (r->failed) return v;
    switch (json_typeof(o)) {
    case JSON_STRING:
        return vkt__t_text(json_string_value(o), json_string_length(o));
    case JSON_INTEGER:
        return vkt__t_int(json_integer_value(o));
    case JSON_REAL:
        return vkt__t_float(json_real_value(o));
    case JSON_TRUE:
        return vkt__t_bool(true);
    case JSON_FALSE:
        return vkt__t_bool(false);
    case JSON_NULL:
        return v;
    case JSON_ARRAY:
        v = vkt__t_list(r);
        json_array_foreach(o, i, item) if (!r->failed)
            vkt__t_push(r, v.list, of_json(r, item, depth + 1));
        return v;
    case JSON_OBJECT:
        break;
    }
    v = vkt__t_dict(r);
    json_object_foreach((json_t *)o, key, item)
    {
        if (r->failed) break;
        vkt__tpair *p = grown(r, v.dict->pair, v.dict->n, &v.dict->cap, sizeof *p);
        if (!p) break;
        v.dict->pair = p; /* JSON's keys differ from each other */
        p[v.dict->n++] = (vkt__tpair) { vkt__t_word(key), of_json(r, item, depth + 1) };
    }
    return v;
}

vkt__tvalue vkt__t_of_json(vkt__trun *r, const json_t *o)
{
    return of_json(r, o, 0);
}

/* ---- comparison ---- */

bool vkt__t_is(const vkt__ttext *t, const char *word)
{
    return t->n == strlen(word) && !memcmp(t->s, word, t->n);
}

const char *vkt__t_kind_name(const vkt__tvalue *v)
{
    static const char *const names[] = { "what is not defined",
                                         "none",
                                         "a boolean",
                                         "a number",
                                         "a number",
                                         "a text",
                                         "a list",
                                         "a dict",
                                         "a loop",
                                         "a macro",
                                         "a function" };
    return v->kind == VKT__T_LIST && v->list->tuple          ? "a tuple"
           : v->kind == VKT__T_DICT && v->dict->is_namespace ? "a namespace"
                                                             : names[v->kind];
}

bool vkt__t_truth(const vkt__tvalue *v)
{
    switch (v->kind) {
    case VKT__T_UNDEFINED:
    case VKT__T_NONE:
        return false;
    case VKT__T_BOOL:
        return v->b;
    case VKT__T_INT:
        return v->i != 0;
    case VKT__T_FLOAT:
        return v->f != 0;
    case VKT__T_TEXT:
        return v->text.n != 0;
    case VKT__T_LIST:
        return v->list->n != 0;
    case VKT__T_DICT:
        return v->dict->is_namespace || v->dict->n != 0;
    default:
        return true;
    }
}

bool vkt__t_number(const vkt__tvalue *v, double *out)
{
    *out = v->kind == VKT__T_FLOAT  ? v->f
           : v->kind == VKT__T_INT  ? (double)v->i
           : v->kind == VKT__T_BOOL ? v->b
                                    : 0;
    return v->kind == VKT__T_FLOAT || v->kind == VKT__T_INT || v->kind == VKT__T_BOOL;
}

static bool equal_dicts(vkt__trun *r, const vkt__tdict *a, const vkt__tdict *b)
{
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n && !r->failed; i++) {
        const vkt__tvalue *v = vkt__t_get(r, b, a->pair[i].key);
        if (!v || !vkt__t_equal(r, &a->pair[i].value, v)) return false;
    }
    return true;
}

bool vkt__t_equal(vkt__trun *r, const vkt__tvalue *a, const vkt__tvalue *b)
{
    double x, y;
    bool same = false;
    if (vkt__t_number(a, &x) && vkt__t_number(b, &y)) return x == y;
    if (a->kind != b->kind) return false;
    if (r->compare_depth >= MAX_COMPARE_DEPTH) {
        vkt__t_fail(r, "what is compared is too deep");
        return false;
    }
    r->compare_depth++;
    switch (a->kind) {
    case VKT__T_TEXT:
        same = a->text.n == b->text.n && vkt__t_work(r, a->text.n) &&
               (!a->text.n || !memcmp(a->text.s, b->text.s, a->text.n));
        break;
    case VKT__T_LIST:
        same = a->list->n == b->list->n && a->list->tuple == b->list->tuple &&
               vkt__t_work(r, a->list->n);
        for (size_t i = 0; same && i < a->list->n; i++)
            same = vkt__t_equal(r, &a->list->item[i], &b->list->item[i]);
        break;
    case VKT__T_DICT:
        same = equal_dicts(r, a->dict, b->dict);
        break;
    case VKT__T_MACRO:
        same = a->macro == b->macro;
        break;
    case VKT__T_LOOP:
        same = a->loop == b->loop;
        break;
    default:
        same = true;
    }
    r->compare_depth--;
    return same && !r->failed;
}

int vkt__t_order(vkt__trun *r, const vkt__tvalue *a, const vkt__tvalue *b)
{
    double x, y;
    if (vkt__t_number(a, &x) && vkt__t_number(b, &y)) return x < y ? -1 : x > y;
    if (a->kind == VKT__T_TEXT && b->kind == VKT__T_TEXT) {
        size_t n = VKT_MIN(a->text.n, b->text.n);
        int c = n && vkt__t_work(r, n) ? memcmp(a->text.s, b->text.s, n) : 0;
        return c ? c : a->text.n < b->text.n ? -1 : a->text.n > b->text.n;
    }
    if (a->kind == VKT__T_LIST && b->kind == VKT__T_LIST) {
        for (size_t i = 0; i < VKT_MIN(a->list->n, b->list->n) && vkt__t_work(r, 1); i++)
            if (!vkt__t_equal(r, &a->list->item[i], &b->list->item[i]))
                return vkt__t_order(r, &a->list->item[i], &b->list->item[i]);
        return a->list->n < b->list->n ? -1 : a->list->n > b->list->n;
    }
    vkt__t_fail(r, "%s and %s have no order", vkt__t_kind_name(a), vkt__t_kind_name(b));
    return 0;
}

bool vkt__t_contains(vkt__trun *r, const vkt__tvalue *all, const vkt__tvalue *one)
{
    if (all->kind == VKT__T_UNDEFINED) return false;
    if (all->kind == VKT__T_DICT) return vkt__t_get(r, all->dict, *one) != NULL;
    if (all->kind == VKT__T_TEXT && one->kind == VKT__T_TEXT) {
        const vkt__ttext *t = &all->text, *w = &one->text;
        if (!vkt__t_work(r, t->n)) return false;
        for (size_t i = 0; i + w->n <= t->n; i++) {
            const char *at = w->n ? memchr(t->s + i, w->s[0], t->n - w->n + 1 - i) : t->s;
            if (!at) return false;
            i = (size_t)(at - t->s);
            if (!w->n || !memcmp(at, w->s, w->n)) return true;
        }
        return false;
    }
    if (all->kind != VKT__T_LIST) {
        vkt__t_fail(r, "\"in\" of %s and %s", vkt__t_kind_name(one), vkt__t_kind_name(all));
        return false;
    }
    for (size_t i = 0; i < all->list->n && vkt__t_work(r, 1); i++)
        if (vkt__t_equal(r, &all->list->item[i], one)) return true;
    return false;
}

/* ---- items ---- */

/* Bytes of the character at s. */
static size_t character(const char *s, const char *end)
{
    const char *at = s;
    return vkt__utf8_next(&at, end) < 0 ? 1 : (size_t)(at - s);
}

size_t vkt__t_length(vkt__trun *r, const vkt__tvalue *v)
{
    size_t n = 0;
    switch (v->kind) {
    case VKT__T_UNDEFINED:
        return 0;
    case VKT__T_LIST:
        return v->list->n;
    case VKT__T_DICT:
        return v->dict->n;
    case VKT__T_TEXT:
        if (!vkt__t_work(r, v->text.n)) return 0;
        for (size_t i = 0; i < v->text.n; i++) n += ((unsigned char)v->text.s[i] & 0xc0) != 0x80;
        return n;
    default:
        vkt__t_fail(r, "%s has no length", vkt__t_kind_name(v));
        return 0;
    }
}

const vkt__tlist *vkt__t_items(vkt__trun *r, const vkt__tvalue *v)
{
    if (v->kind == VKT__T_LIST) return v->list;
    vkt__tvalue out = vkt__t_list(r);
    if (r->failed) return NULL;
    if (v->kind == VKT__T_DICT) {
        for (size_t i = 0; i < v->dict->n; i++) vkt__t_push(r, out.list, v->dict->pair[i].key);
    } else if (v->kind == VKT__T_TEXT) {
        const char *end = v->text.s + v->text.n;
        for (const char *at = v->text.s; at < end && !r->failed;) {
            size_t k = character(at, end);
            vkt__t_push(r, out.list, vkt__t_text(at, k));
            at += k;
        }
    } else if (v->kind != VKT__T_UNDEFINED) {
        vkt__t_fail(r, "%s can't be looped over", vkt__t_kind_name(v));
    }
    return r->failed ? NULL : out.list;
}

vkt__tvalue vkt__t_at(vkt__trun *r, const vkt__tvalue *v, int64_t i)
{
    const vkt__tlist *l = vkt__t_items(r, v);
    if (!l) return vkt__t_none();
    if (i < 0) i += (int64_t)l->n;
    return i >= 0 && (uint64_t)i < l->n ? l->item[i] : vkt__t_undefined((vkt__ttext) { "", 0 });
}

/* A bound of a slice over n items, as Python takes it. */
static int64_t bound(vkt__trun *r, const vkt__tvalue *v, int64_t none, int64_t n, int64_t step)
{
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    if (v->kind == VKT__T_NONE) return none;
    if (v->kind != VKT__T_INT && v->kind != VKT__T_BOOL) {
        vkt__t_fail(r, "%s as a slice's index", vkt__t_kind_name(v));
        return 0;
    }
    int64_t i = v->kind == VKT__T_INT ? v->i : v->b;
    if (i < 0) i = i < -n ? low : i + n;
    return i < low ? low : i > high ? high : i;
}

vkt__tvalue vkt__t_slice(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue part[3])
{
    if (v->kind != VKT__T_TEXT && v->kind != VKT__T_LIST)
        vkt__t_fail(r, "%s can't be sliced", vkt__t_kind_name(v));
    int64_t step = part[2].kind == VKT__T_INT ? part[2].i : 1;
    if (part[2].kind != VKT__T_NONE && (part[2].kind != VKT__T_INT || !step))
        vkt__t_fail(r, "a slice's step must be a number that is not 0");
    const vkt__tlist *l = r->failed ? NULL : vkt__t_items(r, v);
    vkt__tvalue out = vkt__t_list(r);
    if (r->failed || !l) return vkt__t_none();
    int64_t n = (int64_t)l->n, from = bound(r, &part[0], step < 0 ? n - 1 : 0, n, step),
            to = bound(r, &part[1], step < 0 ? -1 : n, n, step);
    out.list->tuple = v->kind == VKT__T_LIST && l->tuple;
    step = step > n ? n + 1 : step < -n ? -n - 1 : step;
    for (int64_t i = from; !r->failed && (step < 0 ? i > to : i < to); i += step)
        vkt__t_push(r, out.list, l->item[i]);
    if (v->kind == VKT__T_LIST || r->failed) return out;
    vkt__str s = { 0 };
    for (size_t i = 0; i < out.list->n; i++)
        vkt__str_add(&s, out.list->item[i].text.s, out.list->item[i].text.n);
    return vkt__t_take(r, &s);
}
