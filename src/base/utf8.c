/* UTF-8, strictly: no overlong forms, no surrogates, nothing past U+10FFFF (RFC 3629). */
#include "base/words.h"

int32_t vkt__utf8_next(const char **s, const char *end)
{
    const unsigned char *p = (const unsigned char *)*s;
    size_t left = (size_t)(end - *s);
    size_t n = left == 0 || p[0] < 0x80      ? 0
               : p[0] >= 0xC2 && p[0] < 0xE0 ? 1
               : (p[0] & 0xF0) == 0xE0       ? 2
               : p[0] >= 0xF0 && p[0] < 0xF5 ? 3
                                             : left;
    if (n >= left) return -1;
    int32_t c = n == 0 ? p[0] : p[0] & (0x3F >> n);
    for (size_t i = 1; i <= n; i++) {
        if ((p[i] & 0xC0) != 0x80) return -1;
        c = c << 6 | (p[i] & 0x3F);
    }
    if ((n == 2 && c < 0x800) || (n == 3 && c < 0x10000) || c > 0x10FFFF ||
        (c >= 0xD800 && c < 0xE000))
        return -1;
    *s += n + 1;
    return c;
}

size_t vkt__utf8_put(int32_t c, char out[4])
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(n == 1 ? c : (0xF00 >> n & 0xFF) | c);
    return n;
}

/* Bytes from 1 to 127 that s begins with, eight at a time. */
static size_t ascii_run(const char *s, size_t n)
{
    static const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    size_t at = 0;
    for (uint64_t w; at + sizeof w <= n; at += sizeof w) {
        memcpy(&w, s + at, sizeof w);
        if ((w | (w - ones)) & tops) break; /* a byte above 127, or perhaps a zero */
    }
    while (at < n && s[at] > 0 && (unsigned char)s[at] < 0x80) at++;
    return at;
}

bool vkt__utf8_ok(const char *s, size_t n, size_t *at)
{
    const char *p = s, *end = s + n;
    for (;;) {
        p += ascii_run(p, (size_t)(end - p));
        if (p == end || !*p || vkt__utf8_next(&p, end) <= 0) break;
    }
    *at = (size_t)(p - s);
    return *at == n;
}

const char *vkt__utf8_text(const char *s, size_t n, vkt__arena *a)
{
    vkt__str out = { 0 };
    for (const char *p = s, *end = s + n; p < end;) {
        const char *from = p;
        if (vkt__utf8_next(&p, end) > 0) {
            vkt__str_add(&out, from, (size_t)(p - from));
        } else {
            vkt__str_add(&out, "\xef\xbf\xbd", 3);
            p = from + 1;
        }
    }
    const char *text = vkt__arena_strdup(a, out.data ? out.data : "");
    vkt__str_finish(&out);
    return text;
}
