/* tokenizer_cut.h. A place is taken where no pattern that is known here matches across it and looks
 * beyond it: before white space that follows what is none. Of other patterns nothing is known. */
#include "tokenizers/tokenizer_cut.h"
#include "tokenizers/byte_letters.h"
#include "tokenizers/tokenizer_points.h"
#include "tokenizers/tokenizer_pre.h"
#include "tokenizers/vocabulary.h"

/* Matches begin where the one before has ended and look at nothing behind them. Each takes a space
 * as its first character only, or in a run of white space; so all known ones do. */
static bool is_known(const char *pattern)
{
    if (!strcmp(pattern, vkt__pattern_gpt2) || !strcmp(pattern, "\\p{N}+")) return true;
    for (size_t i = 0; vkt__pre_at(i); i++)
        for (size_t k = 0; k < VKT_COUNT(vkt__pre_at(i)->pattern); k++) {
            const char *known = vkt__pre_at(i)->pattern[k];
            if (known && !strcmp(pattern, known)) return true;
        }
    return false;
}

typedef enum { NOWHERE, AT_SPACES, ANYWHERE } places;

/* An added token that is looked for may lie across a place, if it has white space but not alone,
 * and may take the white space behind it. */
static bool may_lie_across(const vkt__piece *p)
{
    uint32_t n_white = 0;
    for (uint32_t i = 0; i < p->n; i++) n_white += memchr(" \t\r\n", p->bytes[i], 4) != NULL;
    return p->rstrip || (n_white && (n_white < p->n || p->single_word));
}

static places places_of(const vkt_tokenizer *t)
{
    bool looked_for = false;
    if (t->chars || t->spm || t->words || t->unigram || t->wordpiece) return NOWHERE;
    if (t->normalizer) return NOWHERE; /* its steps look at a text's ends, and at characters */
    for (uint32_t i = 0; i < t->info.n_added; i++) {
        const vkt__piece *p = &t->piece[t->added[i]];
        if (p->special) continue; /* not looked for in plain text */
        if (may_lie_across(p)) return NOWHERE;
        looked_for = true;
    }
    if (!t->n_splitters && (t->info.n_merges || t->whole_words)) return NOWHERE;
    for (uint32_t i = 0; i < t->n_splitters; i++)
        if (!is_known(t->pattern[i])) return NOWHERE;
    return t->n_splitters || looked_for || t->nfc ? AT_SPACES : ANYWHERE;
}

/* Whether a character that is not white space ends at `at`. */
static bool behind_a_word(const char *text, const char *at)
{
    const char *from = at - 1;
    while (from > text && at - from < 4 && ((unsigned char)*from & 0xC0) == 0x80) from--;
    int32_t c = vkt__utf8_next(&from, at);
    return c > ' ' && from == at && !vkt__is_white(c) && !vkt__is_control(c);
}

static bool is_place(const char *text, const char *at)
{
    unsigned char before = (unsigned char)at[-1] | 32;
    if (*at == ' ') return behind_a_word(text, at);
    /* Patterns take line ends behind punctuation with it. */
    return *at == '\n' && before >= 'a' && before <= 'z';
}

size_t vkt__tokenizer_cut(const vkt_tokenizer *t, const char *text, size_t n, size_t want)
{
    places where = n > want && want ? places_of(t) : NOWHERE;
    if (where == NOWHERE) return n;
    if (where == ANYWHERE) return want;
    for (size_t at = want; at > want / 2; at--)
        if (is_place(text, text + at)) return at;
    for (size_t at = want + 1; at < n; at++)
        if (is_place(text, text + at)) return at;
    return n;
}
