/* Values as text, to the letter as Python's str(), repr() and json.dumps() write them. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/words.h"
#include "jinja/template_value.h"

enum { MAX_DEPTH = 100 };

static void add(vkt__str *out, const char *text)
{
    vkt__str_add(out, text, strlen(text));
}

/* Python's repr of a float: the shortest digits that read back, an exponent from 1e16 and below
 * 1e-4. `names`: of nan, inf and -inf. */
static void write_float(double f, const char *const names[3], vkt__str *out)
{
    char digits[40], text[32];
    int exponent, n = 0;
    if (!isfinite(f)) {
        add(out, isnan(f) ? names[0] : f > 0 ? names[1] : names[2]);
        return;
    }
    vkt__double_text(f, false, text);
    char *e = strpbrk(text, "eE");
    exponent = e ? atoi(e + 1) : 0;
    /* The digits alone, and the power of ten of the first of them. */
    int point = -1, first = 0;
    for (const char *c = text; *c && c != e; c++) {
        if (*c == '.')
            point = n;
        else if (*c >= '0' && *c <= '9')
            digits[n++] = *c;
    }
    exponent += (point < 0 ? n : point) - 1;
    while (first < n - 1 && digits[first] == '0') first++, exponent--;
    while (n > first + 1 && digits[n - 1] == '0') n--;
    if (f == 0) exponent = 0;
    if (signbit(f)) add(out, "-");
    if (exponent < -4 || exponent >= 16) {
        vkt__str_add(out, digits + first, 1);
        if (n > first + 1) add(out, ".");
        vkt__str_add(out, digits + first + 1, (size_t)(n - first - 1));
        vkt__str_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) add(out, "0.");
    for (int i = -1; i > exponent; i--) add(out, "0");
    for (int i = 0; i < VKT_MAX(n - first, exponent + 2); i++) {
        if (exponent >= 0 && i == exponent + 1) add(out, ".");
        vkt__str_add(out, i < n - first ? digits + first + i : "0", 1);
        if (exponent < 0 && i + 1 == n - first) break;
    }
}

/* As repr does: in single quotes, unless there are some inside and no double ones. */
static void write_quoted(const vkt__ttext *t, vkt__str *out)
{
    bool single = t->n && memchr(t->s, '\'', t->n), twice = t->n && memchr(t->s, '"', t->n);
    char quote = single && !twice ? '"' : '\'';
    vkt__str_add(out, &quote, 1);
    for (const char *at = t->s, *end = t->s + t->n; at < end;) {
        const char *from = at;
        int32_t c = vkt__utf8_next(&at, end);
        if (c < 0) at = from + 1;
        if (c == quote || c == '\\')
            vkt__str_printf(out, "\\%c", (char)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            add(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if ((c >= 0 && c < 32) || (c >= 0x7f && c <= 0xa0) || c == 0xad)
            vkt__str_printf(out, "\\x%02x", (unsigned)c);
        else
            vkt__str_add(out, from, (size_t)(at - from));
    }
    vkt__str_add(out, &quote, 1);
}

static void write_value(vkt__trun *r, const vkt__tvalue *v, bool quoted, int depth, vkt__str *out);

static void write_list(vkt__trun *r, const vkt__tlist *l, int depth, vkt__str *out)
{
    add(out, l->tuple ? "(" : "[");
    for (size_t i = 0; i < l->n && !r->failed; i++) {
        if (i) add(out, ", ");
        write_value(r, &l->item[i], true, depth + 1, out);
    }
    add(out, l->tuple ? l->n == 1 ? ",)" : ")" : "]");
}

static void write_dict(vkt__trun *r, const vkt__tdict *d, int depth, vkt__str *out)
{
    add(out, "{");
    for (size_t i = 0; i < d->n && !r->failed; i++) {
        if (i) add(out, ", ");
        write_value(r, &d->pair[i].key, true, depth + 1, out);
        add(out, ": ");
        write_value(r, &d->pair[i].value, true, depth + 1, out);
    }
    add(out, "}");
}

/* The text so far counts as memory, so that a list that holds itself many times ends. */
static bool room(vkt__trun *r, int depth, const vkt__str *out)
{
    if (depth > MAX_DEPTH) vkt__t_fail(r, "what is written is more than %d deep", MAX_DEPTH);
    if (out->len > r->max_bytes)
        vkt__t_fail(r, "it writes more than %llu MiB", (unsigned long long)(r->max_bytes >> 20));
    return vkt__t_work(r, 1);
}

static void write_value(vkt__trun *r, const vkt__tvalue *v, bool quoted, int depth, vkt__str *out)
{
    static const char *const words[] = { "nan", "inf", "-inf" };
    if (!room(r, depth, out)) return;
    switch (v->kind) {
    case VKT__T_UNDEFINED:
        if (quoted) add(out, "Undefined");
        break;
    case VKT__T_NONE:
        add(out, "None");
        break;
    case VKT__T_BOOL:
        add(out, v->b ? "True" : "False");
        break;
    case VKT__T_INT:
        vkt__str_printf(out, "%lld", (long long)v->i);
        break;
    case VKT__T_FLOAT:
        write_float(v->f, words, out);
        break;
    case VKT__T_TEXT:
        if (!vkt__t_work(r, v->text.n)) break;
        if (quoted)
            write_quoted(&v->text, out);
        else if (v->text.n)
            vkt__str_add(out, v->text.s, v->text.n);
        break;
    case VKT__T_LIST:
        write_list(r, v->list, depth, out);
        break;
    case VKT__T_DICT:
        if (!v->dict->is_namespace) {
            write_dict(r, v->dict, depth, out);
            break;
        } /* fall through */
    default:
        vkt__t_fail(r, "%s is no text", vkt__t_kind_name(v));
    }
}

void vkt__t_write(vkt__trun *r, const vkt__tvalue *v, bool quoted, vkt__str *out)
{
    write_value(r, v, quoted, 0, out);
}

vkt__tvalue vkt__t_str(vkt__trun *r, const vkt__tvalue *v)
{
    vkt__str s = { 0 };
    if (v->kind == VKT__T_TEXT) return *v;
    vkt__t_write(r, v, false, &s);
    return vkt__t_take(r, &s);
}

/* ---- JSON ---- */

static void write_point(int32_t c, vkt__str *out)
{
    if (c >= 0x10000) {
        vkt__str_printf(out, "\\u%04x", (unsigned)(0xd7c0 + (c >> 10)));
        c = 0xdc00 + (c & 0x3ff);
    }
    vkt__str_printf(out, "\\u%04x", (unsigned)c);
}

static void write_string(const vkt__ttext *t, bool ascii, vkt__str *out)
{
    static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
    add(out, "\"");
    for (const char *at = t->s, *end = at + t->n, *plain = at; at < end || plain < end;) {
        const char *here = at;
        int32_t c = vkt__utf8_next(&at, end);
        if (c < 0 && at < end) at++;
        const char *known = c > 0 && c < 128 ? strchr(from, c) : NULL;
        bool special = here == end || known || (c >= 0 && c < 32) || (ascii && c >= 128);
        if (!special) continue;
        vkt__str_add(out, plain, (size_t)(here - plain));
        plain = at;
        if (known)
            vkt__str_printf(out, "\\%c", to[known - from]);
        else if (here < end)
            write_point(c, out);
    }
    add(out, "\"");
}

static int by_key(const void *a, const void *b)
{
    const vkt__ttext *x = &((const vkt__tpair *)a)->key.text,
                     *y = &((const vkt__tpair *)b)->key.text;
    int c = memcmp(x->s, y->s, VKT_MIN(x->n, y->n));
    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

typedef struct {
    vkt__trun *r;
    const vkt__tjson *how;
    vkt__str *out;
} json_writer;

static void write_json(const json_writer *w, const vkt__tvalue *v, int depth);

static void add_text(vkt__str *out, const vkt__ttext *t)
{
    if (t->n) vkt__str_add(out, t->s, t->n);
}

/* What parts the i-th of n items from the one before, and the last from the bracket. */
static void part(const json_writer *w, size_t i, size_t n, int depth)
{
    if (i && i < n) add_text(w->out, &w->how->item);
    if (n && w->how->indent >= 0)
        vkt__str_printf(w->out, "\n%*s", w->how->indent * (i < n ? depth + 1 : depth), "");
}

static const vkt__tpair *sorted_pairs(vkt__trun *r, const vkt__tdict *d)
{
    vkt__tpair *copy = vkt__t_alloc(r, d->n * sizeof *copy);
    for (size_t i = 0; copy && i < d->n; i++) {
        copy[i] = d->pair[i];
        if (copy[i].key.kind != VKT__T_TEXT) vkt__t_fail(r, "tojson: a key is not a text");
    }
    if (!r->failed && d->n) qsort(copy, d->n, sizeof *copy, by_key);
    return copy;
}

static void write_object(const json_writer *w, const vkt__tdict *d, int depth)
{
    const vkt__tpair *pair = w->how->sorted ? sorted_pairs(w->r, d) : d->pair;
    add(w->out, "{");
    for (size_t i = 0; i < d->n && !w->r->failed; i++) {
        vkt__tvalue key = vkt__t_str(w->r, &pair[i].key);
        part(w, i, d->n, depth);
        write_string(&key.text, w->how->ascii, w->out);
        add_text(w->out, &w->how->key);
        write_json(w, &pair[i].value, depth + 1);
    }
    part(w, d->n, d->n, depth);
    add(w->out, "}");
}

static void write_array(const json_writer *w, const vkt__tlist *l, int depth)
{
    add(w->out, "[");
    for (size_t i = 0; i < l->n && !w->r->failed; i++) {
        part(w, i, l->n, depth);
        write_json(w, &l->item[i], depth + 1);
    }
    part(w, l->n, l->n, depth);
    add(w->out, "]");
}

static void write_json(const json_writer *w, const vkt__tvalue *v, int depth)
{
    static const char *const words[] = { "NaN", "Infinity", "-Infinity" };
    vkt__trun *r = w->r;
    vkt__str *out = w->out;
    if (!room(r, depth, out)) return;
    switch (v->kind) {
    case VKT__T_NONE:
        add(out, "null");
        break;
    case VKT__T_BOOL:
        add(out, v->b ? "true" : "false");
        break;
    case VKT__T_INT:
        vkt__str_printf(out, "%lld", (long long)v->i);
        break;
    case VKT__T_FLOAT:
        write_float(v->f, words, out);
        break;
    case VKT__T_TEXT:
        if (vkt__t_work(r, v->text.n)) write_string(&v->text, w->how->ascii, out);
        break;
    case VKT__T_LIST:
        write_array(w, v->list, depth);
        break;
    case VKT__T_DICT:
        if (!v->dict->is_namespace) {
            write_object(w, v->dict, depth);
            break;
        } /* fall through */
    default:
        vkt__t_fail(r, "tojson of %s", vkt__t_kind_name(v));
    }
}

void vkt__t_write_json(vkt__trun *r, const vkt__tvalue *v, const vkt__tjson *how, vkt__str *out)
{
    json_writer w = { r, how, out };
    write_json(&w, v, 0);
}
