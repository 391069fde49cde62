/* tokenizer_charsmap.h. The map is the length of a trie in bytes, a double-array trie whose values
 * are places, and behind it texts, each with a zero at its end. Characters that readers see as one
 * are looked up together where they are less than 6 bytes; what the trie finds first, be it only
 * their beginning, stands for all of them, which is what Hugging Face's tokenizers do. Sources:
 * SentencePiece's normalizer.cc, Yata's darts-clone for the trie's units. */
#include <utf8proc.h>

#include "base/words.h"
#include "tokenizers/tokenizer_charsmap.h"

enum { LARGEST_CLUSTER = 6 };

struct vkt__charsmap {
    const char *unit; /* [n_units] 4 bytes each, little-endian */
    size_t n_units;
    const char *text; /* [n_text], the last is zero */
    size_t n_text;
};

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *p = c ? strchr(digits, c) : NULL;
    return p ? (int)(p - digits) : -1;
}

int64_t vkt__base64_read(const char *text, size_t n, char *out)
{
    int64_t k = 0;
    uint32_t bits = 0;
    if (n == 0 || n % 4) return -1;
    size_t padding = text[n - 1] != '=' ? 0 : text[n - 2] != '=' ? 1 : 2;
    for (size_t i = 0; i < n; i++) {
        int d = i < n - padding ? base64_digit(text[i]) : 0;
        if (d < 0) return -1;
        bits = bits << 6 | (uint32_t)d;
        if (i % 4 == 3)
            for (int shift = 16; shift >= 0; shift -= 8) out[k++] = (char)(bits >> shift);
    }
    return k - (int64_t)padding;
}

static uint32_t word(const char *at)
{
    const unsigned char *p = (const unsigned char *)at;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

const vkt__charsmap *vkt__charsmap_read(const char *base64, size_t n, vkt__arena *a)
{
    char *bytes = vkt__arena_alloc(a, n + 4);
    int64_t k = vkt__base64_read(base64, n, bytes);
    if (k < 8) return NULL;
    uint32_t trie_bytes = word(bytes);
    if (trie_bytes < 4 || trie_bytes % 4 || trie_bytes >= (uint64_t)k - 4) return NULL;
    vkt__charsmap *m = vkt__arena_alloc(a, sizeof *m);
    *m = (vkt__charsmap) { .unit = bytes + 4,
                           .n_units = trie_bytes / 4,
                           .text = bytes + 4 + trie_bytes,
                           .n_text = (size_t)k - 4 - trie_bytes };
    for (const char *at = m->text, *end = m->text + m->n_text; at < end;)
        if (vkt__utf8_next(&at, end) < 0) return NULL;
    return m->text[m->n_text - 1] ? NULL : m;
}

static uint32_t offset_of(uint32_t unit)
{
    return unit >> 10 << (unit >> 6 & 8);
}

/* What stands for the shortest beginning of n bytes that the trie has; NULL: it has none. */
static const char *find(const vkt__charsmap *m, const char *bytes, size_t n)
{
    uint32_t at = offset_of(word(m->unit));
    for (size_t i = 0; i < n && bytes[i]; i++) {
        uint32_t byte = (unsigned char)bytes[i];
        at ^= byte;
        if (at >= m->n_units) return NULL;
        uint32_t unit = word(m->unit + 4 * (size_t)at);
        if ((unit & 0x800000FFu) != byte) return NULL;
        at ^= offset_of(unit);
        if (at >= m->n_units) return NULL;
        if (!(unit >> 8 & 1)) continue;
        uint32_t place = word(m->unit + 4 * (size_t)at) & 0x7FFFFFFFu;
        return place < m->n_text ? m->text + place : NULL;
    }
    return NULL;
}

/* Where the characters end that are seen as one. */
static const char *cluster_end(const char *at, const char *end)
{
    utf8proc_int32_t state = 0;
    int32_t c = vkt__utf8_next(&at, end);
    while (at < end) {
        const char *next = at;
        int32_t d = vkt__utf8_next(&next, end);
        if (utf8proc_grapheme_break_stateful(c, d, &state)) break;
        at = next;
        c = d;
    }
    return at;
}

void vkt__charsmap_apply(const vkt__charsmap *m, const char *text, size_t n, vkt__str *out)
{
    for (const char *at = text, *end = text + n, *next; at < end; at = next) {
        next = cluster_end(at, end);
        size_t k = (size_t)(next - at);
        const char *put = k < LARGEST_CLUSTER ? find(m, at, k) : NULL;
        if (put) {
            vkt__str_add(out, put, strlen(put));
            continue;
        }
        for (const char *c = at, *c_end = at; c < next; c = c_end) {
            vkt__utf8_next(&c_end, next);
            put = find(m, c, (size_t)(c_end - c));
            vkt__str_add(out, put ? put : c, put ? strlen(put) : (size_t)(c_end - c));
        }
    }
}
