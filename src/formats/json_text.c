/* json_text.h: on an integer that is too long, the text is read again with an exponent at each of
 * those, which makes them real numbers and leaves all else as it is. */
#include <ctype.h>
#include <string.h>

#include "base/words.h"
#include "formats/json_text.h"

enum { DIGITS = 19 }; /* that 64 bits may not hold */

static size_t digits(const char *text, size_t at, size_t n)
{
    size_t k = 0;
    while (at + k < n && isdigit((unsigned char)text[at + k])) k++;
    return k;
}

static void with_exponents(const char *text, size_t n, vkt__str *out)
{
    bool quoted = false;
    for (size_t at = 0; at < n;) {
        size_t k = quoted ? 0 : digits(text, at, n), copied = k ? k : 1;
        if (k && strchr(".eE", at + k < n ? text[at + k] : ',')) {
            copied++; /* a fraction's or an exponent's digits follow */
            copied += at + copied < n && strchr("+-", text[at + copied]) ? 1 : 0;
            copied += digits(text, at + copied, n);
            k = 0;
        } else if (quoted && text[at] == '\\' && at + 1 < n) {
            copied = 2;
        } else if (text[at] == '"') {
            quoted = !quoted;
        }
        copied = VKT_MIN(copied, n - at);
        vkt__str_add(out, text + at, copied);
        if (k >= DIGITS) vkt__str_add(out, "e0", 2);
        at += copied;
    }
}

json_t *vkt__json_parse(const char *text, size_t n, size_t flags, json_error_t *error)
{
    json_error_t e;
    json_t *o = json_loadb(text, n, flags, &e);
    if (!o && json_error_code(&e) == json_error_numeric_overflow) {
        vkt__str longer = { 0 };
        with_exponents(text, n, &longer);
        o = json_loadb(longer.data, longer.len, flags, &e);
        vkt__str_finish(&longer);
    }
    if (error) *error = e;
    return o;
}

void vkt__str_json(vkt__str *s, const char *text)
{
    const char *end = text + strlen(text);
    vkt__str_printf(s, "\"");
    while (text < end) {
        const char *from = text;
        int32_t c = vkt__utf8_next(&text, end);
        if (c < 0) {
            text = from + 1;
            vkt__str_printf(s, "\\ufffd");
        } else if (c < 32 || c == '<' || c == '"' || c == '\\') {
            vkt__str_printf(s, "\\u%04x", (unsigned)c);
        } else {
            vkt__str_add(s, from, (size_t)(text - from));
        }
    }
    vkt__str_printf(s, "\"");
}
