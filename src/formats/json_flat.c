/* json_flat.h. What is taken here jansson takes, with the same values; it may take more. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/words.h"
#include "formats/json_flat.h"

static void skip_blanks(vkt__json_flat *f)
{
    while (f->at < f->end && (*f->at == ' ' || *f->at == '\n' || *f->at == '\r' || *f->at == '\t'))
        f->at++;
}

static bool take(vkt__json_flat *f, char c)
{
    skip_blanks(f);
    if (f->at == f->end || *f->at != c) return false;
    f->at++;
    return true;
}

static const char escapes[] = "\"\\/bfnrt", plain[] = "\"\\/\b\f\n\r\t";

/* Up to the quote that ends it. */
static bool take_text(vkt__json_flat *f, const char **out, size_t *n)
{
    if (!take(f, '"')) return false;
    *out = f->at;
    for (; f->at < f->end && *f->at != '"'; f->at++) {
        if ((unsigned char)*f->at < 0x20) return false;
        if (*f->at == '\\' && (++f->at == f->end || !strchr(escapes, *f->at))) return false;
    }
    *n = (size_t)(f->at - *out);
    return take(f, '"');
}

enum { MOST = 31 }; /* characters of a number */

/* JSON's grammar: no sign before a number that is not negative, no zero before a digit, digits on
 * both sides of a point. */
static bool take_number(vkt__json_flat *f, vkt__json_item *out)
{
    static const char digits[] = "0123456789";
    const char *p = f->at;
    size_t most = (size_t)(f->end - p), n = 0;
    char text[MOST + 1];
    while (n < most && n <= MOST && strchr("0123456789+-.eE", p[n]) && p[n]) n++;
    if (n == 0 || n > MOST) return false;
    memcpy(text, p, n);
    text[n] = 0;
    const char *at = text + (*text == '-');
    size_t whole = strspn(at, digits);
    if (whole == 0 || (whole > 1 && *at == '0')) return false;
    at += whole;
    out->kind = *at ? VKT__JSON_REAL : VKT__JSON_WHOLE;
    if (out->kind == VKT__JSON_WHOLE && whole > 18) return false;
    if (*at == '.') {
        size_t part = strspn(++at, digits);
        if (part == 0) return false;
        at += part;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        size_t power = strspn(at, digits);
        if (power == 0) return false;
        at += power;
    }
    double v;
    if (*at || !vkt__number(text, &v)) return false; /* beyond what a double holds, too */
    out->value = p;
    out->n_value = n;
    f->at += n;
    return true;
}

static bool take_value(vkt__json_flat *f, vkt__json_item *out)
{
    skip_blanks(f);
    if (f->at == f->end) return false;
    if (*f->at == '"') {
        out->kind = VKT__JSON_TEXT;
        return take_text(f, &out->value, &out->n_value);
    }
    if (f->end - f->at >= 4 && !memcmp(f->at, "null", 4)) {
        out->kind = VKT__JSON_NULL;
        out->value = f->at;
        out->n_value = 4;
        f->at += 4;
        return true;
    }
    return take_number(f, out);
}

bool vkt__json_flat_begin(vkt__json_flat *f, const char *text, size_t n)
{
    size_t bad;
    *f = (vkt__json_flat) { .at = text, .end = text + n, .is_first = true };
    return vkt__utf8_ok(text, n, &bad) && take(f, '{');
}

bool vkt__json_flat_next(vkt__json_flat *f, vkt__json_item *out)
{
    bool more = f->is_first ? !take(f, '}') : take(f, ',');
    if (!more && (f->is_first || take(f, '}'))) {
        skip_blanks(f);
        f->is_over = f->at == f->end;
    }
    f->is_first = false;
    return more && take_text(f, &out->key, &out->n_key) && !memchr(out->key, '\\', out->n_key) &&
           take(f, ':') && take_value(f, out);
}

char *vkt__json_item_text(const vkt__json_item *item, vkt__arena *a)
{
    char *text = vkt__arena_alloc(a, item->n_value + 1), *to = text;
    for (const char *p = item->value, *end = p + item->n_value; p < end; p++) {
        *to++ = *p != '\\' ? *p : plain[strchr(escapes, p[1]) - escapes];
        p += *p == '\\';
    }
    *to = 0;
    return text;
}

double vkt__json_item_number(const vkt__json_item *item)
{
    char text[MOST + 1];
    double v;
    memcpy(text, item->value, item->n_value);
    text[item->n_value] = 0;
    if (!vkt__number(text, &v)) return 0; /* it was one when it was read */
    return item->kind == VKT__JSON_WHOLE ? v + 0.0 : v;
}
