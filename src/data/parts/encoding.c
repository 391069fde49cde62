/* parts.h: text in other encodings to UTF-8: UTF-16, recognised by its mark or its zero bytes, and
 * Windows-1252, which is assumed where not one character is UTF-8's. Text that can't be either is
 * not changed, and refused with its line. */
#include "data/parts/parts.h"

/* Windows-1252 from 0x80 on, before it is as Latin-1; 0: no character. */
static const uint16_t upper[32] = {
    0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

static int32_t of_1252(uint8_t c)
{
    return c >= 0x80 && c < 0xa0 ? upper[c - 0x80] : c;
}

static void put(vkt__str *out, int32_t c)
{
    char utf8[4];
    vkt__str_add(out, utf8, vkt__utf8_put(c, utf8));
}

/* ---- UTF-16 ---- */

static vkt__encoding utf16_of(const uint8_t *p, size_t n)
{
    bool utf32 = n >= 4 && p[2] == 0 && p[3] == 0;
    if (n < 4 || utf32) return VKT__UTF8;
    if (p[0] == 0xff && p[1] == 0xfe) return VKT__UTF16_LE;
    if (p[0] == 0xfe && p[1] == 0xff) return VKT__UTF16_BE;
    if (p[0] && !p[1] && p[2] && !p[3]) return VKT__UTF16_LE;
    return !p[0] && p[1] && !p[2] && p[3] ? VKT__UTF16_BE : VKT__UTF8;
}

static vkt_status damaged(const vkt__decoder *d, const char *name)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' is UTF-16, but damaged near byte %llu: save the file as UTF-8 text",
                     name, (unsigned long long)d->n_read);
}

static vkt_status take_unit(vkt__decoder *d, const char *name, uint16_t u, vkt__str *out)
{
    bool low = u >= 0xdc00 && u < 0xe000, high = u >= 0xd800 && u < 0xdc00;
    if (low != (d->high != 0) || u == 0) return damaged(d, name);
    if (low)
        put(out, 0x10000 + ((d->high - 0xd800) << 10) + (u - 0xdc00));
    else if (!high)
        put(out, u);
    d->high = high ? u : 0;
    return VKT_OK;
}

static vkt_status decode_utf16(vkt__decoder *d, const char *name, const uint8_t *p, size_t n,
                               bool last, vkt__str *out)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < n; i++, d->n_read++) {
        if (!d->half) {
            d->half = true;
            d->first = p[i];
            continue;
        }
        d->half = false;
        bool little = d->kind == VKT__UTF16_LE;
        VKT_TRY(take_unit(d, name, (uint16_t)(little ? p[i] << 8 | d->first : d->first << 8 | p[i]),
                          out));
    }
    if (last && (d->half || d->high)) return damaged(d, name);
fail:
    return st;
}

/* ---- Windows-1252 ---- */

/* Whether the bytes are text of Windows-1252: lines, no character of UTF-8's that is more than
 * ASCII, no control. */
static bool is_1252(const uint8_t *p, size_t n)
{
    if (!memchr(p, '\n', n) && !memchr(p, '\r', n)) return false;
    for (size_t i = 0; i < n; i++) {
        const char *s = (const char *)p + i;
        bool control = p[i] < ' ' && p[i] != '\t' && p[i] != '\n' && p[i] != '\r';
        if (control || !of_1252(p[i])) return false;
        if (p[i] >= 0xc2 && vkt__utf8_next(&s, (const char *)p + n) >= 0x80) return false;
    }
    return true;
}

/* What stands around byte `at`, up to blanks and delimiters, as it is read. */
static void say_1252(const char *name, const uint8_t *p, size_t n, size_t at)
{
    enum { AROUND = 20 };
    static const char ends[] = " \t\r\n,;|\"";
    size_t from = at, to = at;
    vkt__str word = { 0 };
    while (from > 0 && at - from < AROUND && !strchr(ends, p[from - 1])) from--;
    while (to < n && to - at < AROUND && !strchr(ends, p[to])) to++;
    for (; from < to; from++) put(&word, of_1252(p[from]));
    vkt_log(
        VKT_LOG_WARN, "data",
        "'%s' is not UTF-8 and read as Windows-1252, as '%s': save it as UTF-8 if that is wrong",
        name, vkt__show(word.data).s);
    vkt__str_finish(&word);
}

/* A sequence that n bytes end in the middle of: how many bytes are still to come. */
static uint32_t to_come(const uint8_t *p, size_t n)
{
    for (uint32_t back = 1; back <= 3 && back <= n; back++) {
        uint8_t c = p[n - back];
        uint32_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;
        if (c < 0x80 || c > 0xf4) return 0;
        if (whole > 1) return whole > back ? whole - back : 0;
    }
    return 0;
}

/* A byte that is not ASCII. */
static bool any_beyond(const uint8_t *p, size_t n)
{
    enum { RUN = 64 };
    uint8_t all = 0;
    size_t at = 0;
    for (; at + RUN <= n && all < 0x80; at += RUN)
        for (size_t i = 0; i < RUN; i++) all |= p[at + i];
    for (; at < n && all < 0x80; at++) all |= p[at];
    return all >= 0x80;
}

/* Decides where the text is neither ASCII nor UTF-8. */
static void look(vkt__decoder *d, const char *name, const uint8_t *p, size_t n, bool last)
{
    size_t skip = VKT_MIN(d->to_come, n), at = 0;
    const uint8_t *text = p + skip;
    uint32_t cut = last ? 0 : to_come(text, n - skip);
    bool good = vkt__utf8_ok((const char *)text, n - skip, &at);
    size_t end = n - skip - (cut ? 1 : 0);
    while (cut && end > 0 && text[end] >= 0x80 && text[end] < 0xc0) end--;
    good = good || (cut && at >= end);
    d->beyond = d->beyond || (good && any_beyond(text, n - skip));
    if (!good && !d->beyond && is_1252(p, n)) {
        d->kind = VKT__WINDOWS_1252;
        if (!d->silent) say_1252(name, p, n, skip + at);
    }
    d->to_come = cut;
}

/* ---- both ---- */

vkt_status vkt__decode(vkt__decoder *d, const char *name, const void *bytes, size_t n, bool last,
                       vkt__str *out, bool *changed)
{
    const uint8_t *p = bytes;
    if (!d->begun && n) {
        d->begun = true;
        d->kind = utf16_of(p, n);
    }
    if (d->kind == VKT__UTF8) look(d, name, p, n, last);
    *changed = d->kind != VKT__UTF8;
    for (size_t i = 0; i < n && d->kind == VKT__WINDOWS_1252; i++) {
        int32_t c = of_1252(p[i]);
        if (!c)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' is neither UTF-8 nor Windows-1252: save the file as UTF-8 text",
                             name);
        put(out, c);
    }
    if (d->kind == VKT__WINDOWS_1252) return VKT_OK;
    if (!*changed) return VKT_OK;
    bool first = d->n_read == 0;
    vkt_status st = decode_utf16(d, name, p, n, last, out);
    if (st == VKT_OK && first && !d->silent)
        vkt_log(VKT_LOG_WARN, "data", "'%s' is converted from UTF-16", name);
    return st;
}

vkt_status vkt__decode_all(const char *name, char **text, size_t *n)
{
    vkt_status st;
    vkt__decoder d = { 0 };
    vkt__str out = { 0 };
    bool changed = false;
    VKT_TRY(vkt__decode(&d, name, *text, *n, true, &out, &changed));
    if (!changed) return VKT_OK;
    vkt__str_add(&out, "", 0); /* something, of nothing */
    free(*text);
    *text = out.data;
    *n = out.len;
    return VKT_OK;
fail:
    vkt__str_finish(&out);
    return st;
}

vkt_status vkt__decode_text(const char *name, bool look, bool cut, vkt__str *own, const char **text,
                            size_t *n)
{
    vkt__decoder d = { .silent = look };
    bool changed = false;
    vkt_status st = vkt__decode(&d, name, *text, *n, !cut, own, &changed);
    if (st != VKT_OK || !changed) return st;
    *text = own->len ? own->data : "";
    *n = own->len;
    return VKT_OK;
}
