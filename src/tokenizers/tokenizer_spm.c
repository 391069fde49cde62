/* tokenizer_spm.h. Source: Kudo and Richardson 2018 (arXiv 1808.06226); Hugging Face's tokenizers
 * for how Prepend, Replace and Metaspace act. */
#include "tokenizers/json_field.h"
#include "tokenizers/tokenizer_bpe.h"
#include "tokenizers/tokenizer_spm.h"

#define SPACE "\xe2\x96\x81" /* U+2581 */

bool vkt__spm_is(const json_t *file)
{
    return json_is_true(json_object_get(json_object_get(file, "model"), "byte_fallback"));
}

/* A normalizer's part: " " by U+2581, or U+2581 put before. */
static const char *take_normalizer(const json_t *n, bool *replaces, vkt__prefix *out)
{
    const char *type = vkt__json_text(n, "type");
    size_t i;
    json_t *v;
    if (!n || json_is_null(n)) return NULL;
    if (!strcmp(type, "Sequence")) {
        const char *wrong = NULL;
        json_array_foreach(json_object_get(n, "normalizers"), i, v) if (!wrong) wrong =
            take_normalizer(v, replaces, out);
        return wrong;
    }
    if (!strcmp(type, "Prepend") && !strcmp(vkt__json_text(n, "prepend"), SPACE) && !*replaces) {
        *out = VKT__PREFIX_EACH;
        return NULL;
    }
    if (!strcmp(type, "Replace") && !strcmp(vkt__json_text(n, "content"), SPACE) &&
        !strcmp(vkt__json_text(json_object_get(n, "pattern"), "String"), " ")) {
        *replaces = true;
        return NULL;
    }
    return *type ? type : "normalizer";
}

const char *vkt__spm_scheme(const json_t *file, vkt__prefix *out)
{
    const json_t *pre = json_object_get(file, "pre_tokenizer"),
                 *model = json_object_get(file, "model");
    const char *type = vkt__json_text(pre, "type"), *scheme = vkt__json_text(pre, "prepend_scheme");
    bool replaces = false;
    *out = VKT__PREFIX_NEVER;
    const char *wrong = take_normalizer(json_object_get(file, "normalizer"), &replaces, out);
    if (wrong) return wrong;
    if (json_is_true(json_object_get(model, "ignore_merges"))) return "ignore_merges";
    if (!strcmp(type, "Metaspace") && !replaces && *out == VKT__PREFIX_NEVER) {
        if (strcmp(vkt__json_text(pre, "replacement"), SPACE) != 0)
            return "Metaspace's replacement";
        if (json_is_true(json_object_get(pre, "split"))) return "Metaspace with split";
        *out = !strcmp(scheme, "always")  ? VKT__PREFIX_MISSING
               : !strcmp(scheme, "first") ? VKT__PREFIX_FIRST
                                          : VKT__PREFIX_NEVER;
        bool known = *out != VKT__PREFIX_NEVER || !strcmp(scheme, "never");
        return known ? NULL : "Metaspace without prepend_scheme";
    }
    /* Spaces are gone when they would be split by. */
    bool no_split = !strcmp(type, "Split") &&
                    !strcmp(vkt__json_text(json_object_get(pre, "pattern"), "String"), " ");
    if (!replaces) return "text without Metaspace or Replace";
    return !*type || no_split ? NULL : type;
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

size_t vkt__spm_piece(const char *token, size_t n, char *out, bool *byte)
{
    size_t k = 0;
    *byte = n == 6 && !memcmp(token, "<0x", 3) && token[5] == '>' && hex(token[3]) >= 0 &&
            hex(token[4]) >= 0;
    if (*byte) {
        out[0] = (char)(hex(token[3]) * 16 + hex(token[4]));
        return 1;
    }
    for (size_t i = 0; i < n;) {
        bool space = n - i >= 3 && !memcmp(token + i, SPACE, 3);
        out[k++] = space ? ' ' : token[i];
        i += space ? 3 : 1;
    }
    return k;
}

bool vkt__spm_index(vkt_tokenizer *t, unsigned *lacks)
{
    t->spm_words = true;
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (uint32_t i = 0; i < t->info.n_vocab; i++) {
        const vkt__piece *p = &t->piece[i];
        if (!p->bytes || p->added) continue;
        if (p->byte) t->byte_id[(unsigned char)p->bytes[0]] = i;
        for (uint32_t k = 1; k < p->n; k++)
            if (p->bytes[k] == ' ' && p->bytes[k - 1] != ' ') t->spm_words = false;
    }
    for (*lacks = 0; *lacks < 256; (*lacks)++)
        if (t->byte_id[*lacks] == VKT_NO_TOKEN) return false;
    vkt__whole_index(t);
    return true;
}

/* Words with the space before them, where no token reaches into the next one. */
static vkt_status encode_words(vkt_tokenizer *t, const char *text, size_t n, vkt_tokens *out)
{
    vkt_status st = VKT_OK;
    for (size_t from = 0, at = 1; from < n && st == VKT_OK; at++) {
        bool ends = at >= n || (t->spm_words && text[at] == ' ' && text[at - 1] != ' ');
        if (!ends) continue;
        st = vkt__bpe_encode(t, text + from, at - from, out);
        from = at;
    }
    return st;
}

vkt_status vkt__spm_encode(vkt_tokenizer *t, const char *text, size_t n, bool first, bool inside,
                           vkt_tokens *out)
{
    vkt__str s = { 0 };
    bool spaced = n && (*text == ' ' || (n >= 3 && !memcmp(text, SPACE, 3)));
    bool put = !inside &&
               (t->prefix == VKT__PREFIX_EACH || (t->prefix == VKT__PREFIX_MISSING && !spaced) ||
                (t->prefix == VKT__PREFIX_FIRST && first && !spaced));
    if (!n) return VKT_OK;
    if (put) vkt__str_add(&s, " ", 1);
    for (const char *at = text, *end = text + n; at < end;) {
        const char *hit = at;
        while (end - hit >= 3 && memcmp(hit, SPACE, 3) != 0) hit++;
        bool found = end - hit >= 3;
        vkt__str_add(&s, at, (size_t)((found ? hit : end) - at));
        if (found) vkt__str_add(&s, " ", 1);
        at = found ? hit + 3 : end;
    }
    vkt_status st = encode_words(t, s.data, s.len, out);
    vkt__str_finish(&s);
    return st;
}
