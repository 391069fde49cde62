/* lesson_text.h */
#include "base/words.h"
#include "data/dataset.h"
#include "data/text/corpus.h"
#include "train/language/lesson_text.h"

enum { MOST = 2048 };

/* Indented, with what could command a terminal as numbers. */
static void add_bytes(vkt__str *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c == '\n')
            vkt__str_add(out, "\n  ", 3);
        else if ((c < 32 && c != '\t') || c == 127)
            vkt__str_printf(out, "\\x%02x", c);
        else
            vkt__str_add(out, &bytes[i], 1);
    }
}

void vkt__lesson_text(const vkt_dataset *ds, vkt__str *out)
{
    uint32_t tokens[MOST], n, n_counted = 0;
    bool counts[MOST], on = false;
    const vkt__corpus *c = ds->corpus;
    if (!c || vkt__corpus_counts_all(c)) return;
    n = vkt__corpus_first(c, VKT_SPLIT_TRAIN, MOST, tokens, counts);
    for (uint32_t k = 0; k < n; k++) n_counted += counts[k];
    vkt__str_printf(out,
                    "\nfirst conversation of the training set: %u tokens%s, of which %u, between "
                    "[[ and ]], count in the loss\n  ",
                    n, n == MOST ? " of its beginning" : "", n_counted);
    for (uint32_t k = 0; k < n; k++) {
        size_t bytes;
        const char *text = vkt_tokenizer_bytes(c->tokenizer, tokens[k], &bytes);
        if (counts[k] != on) vkt__str_add(out, on ? "]]" : "[[", 2);
        on = counts[k];
        if (text) add_bytes(out, text, bytes);
    }
    vkt__str_printf(out, "%s\n", on ? "]]" : "");
}
