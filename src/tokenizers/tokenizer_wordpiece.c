/* tokenizer_wordpiece.h. Source: Schuster and Nakajima 2012; Wu et al. 2016 (arXiv 1609.08144);
 * BERT's tokenization.py for what is unknown. */
#include "tokenizers/tokenizer_wordpiece.h"

#include "tokenizers/tokenizer_bpe.h"

void vkt__wordpiece_piece(const char *token, const char *prefix, vkt__str *out)
{
    size_t n = strlen(token), k = strlen(prefix);
    bool goes_on = k && n > k && !memcmp(token, prefix, k);
    if (!goes_on) vkt__str_add(out, " ", 1);
    vkt__str_add(out, token + (goes_on ? k : 0), n - (goes_on ? k : 0));
}

void vkt__wordpiece_index(vkt_tokenizer *t)
{
    for (uint32_t i = 0; i < t->info.n_vocab; i++)
        if (t->piece[i].bytes)
            t->wordpiece->longest = VKT_MAX(t->wordpiece->longest, t->piece[i].n);
    vkt__whole_index(t);
}

static size_t count_chars(const char *word, size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) k += ((unsigned char)word[i] & 0xC0) != 0x80;
    return k;
}

/* The token of word [from, to), written into `key` as it is in memory. */
static uint32_t find(const vkt_tokenizer *t, const char *word, size_t from, size_t to,
                     vkt__str *key)
{
    const char *prefix = t->wordpiece->prefix;
    size_t k = strlen(prefix), n = to - from;
    bool spaced = from ? !k : !(k && n > k && !memcmp(word, prefix, k));
    size_t skip = from || spaced ? 0 : k;
    key->len = 0;
    if (spaced) vkt__str_add(key, " ", 1);
    vkt__str_add(key, word + from + skip, n - skip);
    return vkt__whole_find(t, key->data, key->len);
}

vkt_status vkt__wordpiece_encode(vkt_tokenizer *t, const char *word, size_t n, vkt_tokens *out)
{
    const struct vkt__wordpiece *w = t->wordpiece;
    vkt__str key = { 0 };
    size_t before = out->n;
    vkt_status st = vkt__tokens_reserve(out, n);
    bool known = st == VKT_OK && count_chars(word, n) <= w->max_chars;
    for (size_t from = 0, to; known && from < n; from = to) {
        uint32_t id = VKT_NO_TOKEN;
        for (to = VKT_MIN(n, from + w->longest + strlen(w->prefix)); to > from; to--) {
            bool whole = to == n || ((unsigned char)word[to] & 0xC0) != 0x80;
            if (whole) id = find(t, word, from, to, &key);
            if (id != VKT_NO_TOKEN) break;
        }
        known = id != VKT_NO_TOKEN;
        if (known) out->id[out->n++] = id;
    }
    if (st == VKT_OK && !known) {
        out->n = before;
        out->id[out->n++] = w->unknown;
    }
    vkt__str_finish(&key);
    return st;
}
