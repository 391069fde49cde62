/* Unicode's normal forms, which some tokenizers ask for before a text is split: NFC is the one of
 * byte-level tokenizers, whose texts may hold bytes that are no UTF-8. By utf8proc. An ASCII
 * character never joins what is before it, so that the runs of others between them, each with the
 * one before it, are normalised by themselves. */
#include <utf8proc.h>

#include "base/words.h"
#include "tokenizers/tokenizer_nfc.h"
#include "tokenizers/tokenizer_points.h"

static const utf8proc_option_t nfc = UTF8PROC_STABLE | UTF8PROC_COMPOSE;

/* Lead bytes from here on are of U+0300 and above; all characters below are in NFC. */
enum { FIRST_LEAD = 0xcc };

static bool may_change(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= FIRST_LEAD) return true;
    return false;
}

/* Bytes of UTF-8 with which the text begins. */
static size_t valid_prefix(const char *text, size_t n)
{
    size_t at = 0;
    utf8proc_int32_t c;
    while (at < n) {
        utf8proc_ssize_t k =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(n - at), &c);
        if (k <= 0) break;
        at += (size_t)k;
    }
    return at;
}

typedef struct {
    utf8proc_int32_t *at; /* code points, then the bytes of them composed */
    size_t cap;
} scratch;

/* Appends a valid text, normalised. */
static vkt_status compose(utf8proc_option_t options, const char *text, size_t n, scratch *s,
                          vkt__str *out)
{
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text;
    utf8proc_ssize_t need = utf8proc_decompose(bytes, (utf8proc_ssize_t)n, NULL, 0, options), have;
    if (need < 0) goto fail;
    if ((size_t)need >= s->cap) {
        free(s->at);
        s->cap = (size_t)need + 1 + 256; /* and the zero behind the bytes */
        s->at = malloc(s->cap * sizeof *s->at);
        if (!s->at) goto fail;
    }
    have = utf8proc_decompose(bytes, (utf8proc_ssize_t)n, s->at, need, options);
    if (have >= 0) have = utf8proc_reencode(s->at, have, options);
    if (have < 0) goto fail;
    vkt__str_add(out, (const char *)s->at, (size_t)have);
    return VKT_OK;
fail:
    return vkt__fail(VKT_E_OOM_HOST, "data", "no memory to normalise %zu bytes of text", n);
}

/* Appends a run that may have bytes that are no UTF-8: these stay. */
static vkt_status compose_run(const char *text, size_t n, scratch *s, vkt__str *out)
{
    while (n) {
        size_t k = valid_prefix(text, n);
        if (k) {
            vkt_status st = compose(nfc, text, k, s, out);
            if (st != VKT_OK) return st;
        }
        if (k < n) vkt__str_add(out, text + k++, 1);
        text += k;
        n -= k;
    }
    return VKT_OK;
}

vkt_status vkt__nfc(const char *text, size_t n, vkt__str *out, bool *changed)
{
    vkt_status st = VKT_OK;
    scratch s = { 0 };
    *changed = may_change(text, n);
    for (size_t at = 0, end; *changed && at < n; at = end) {
        for (end = at; end < n && !(text[end] & 0x80);) end++;
        size_t plain = end == n || end == at ? end : end - 1, run = plain;
        while (end < n && text[end] & 0x80) end++;
        vkt__str_add(out, text + at, plain - at);
        if (may_change(text + run, end - run))
            VKT_TRY(compose_run(text + run, end - run, &s, out));
        else
            vkt__str_add(out, text + run, end - run);
    }
fail:
    free(s.at);
    return st;
}

vkt_status vkt__normal_form(vkt__form form, const char *text, size_t n, vkt__str *out)
{
    static const utf8proc_option_t of[] = { UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE,
                                            UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                            UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT };
    vkt_status st = VKT_OK;
    scratch s = { 0 };
    const char *from = text, *end = text + n;
    for (const char *at = text; at < end;) {
        const char *start = at;
        int32_t c = vkt__utf8_next(&at, end);
        VKT_ASSERT(c >= 0);
        if (form == VKT__FORM_C || !vkt__is_undecomposed(c)) continue;
        VKT_TRY(compose(of[form] | UTF8PROC_STABLE, from, (size_t)(start - from), &s, out));
        vkt__str_add(out, start, (size_t)(at - start));
        from = at;
    }
    VKT_TRY(compose(of[form] | UTF8PROC_STABLE, from, (size_t)(end - from), &s, out));
fail:
    free(s.at);
    return st;
}
