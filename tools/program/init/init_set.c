/* init_set.h: the recipe is text with comments, so that a value is put in by lines and indentation.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "init_set.h"

/* The line in text[from, to) that is `depth` steps in and begins with "word:"; -1: there is none.
 */
static long find_line(const char *text, size_t from, size_t to, size_t depth, const char *word,
                      size_t n_word)
{
    for (size_t at = from; at < to;) {
        size_t end = at + strcspn(text + at, "\n"), in = strspn(text + at, " ");
        if (in == 2 * depth && strncmp(text + at + in, word, n_word) == 0 &&
            text[at + in + n_word] == ':')
            return (long)at;
        at = end + (text[end] == '\n');
    }
    return -1;
}

/* Where the block of the line at `at` ends: at the next line that is not deeper. */
static size_t block_end(const char *text, size_t at, size_t depth)
{
    at += strcspn(text + at, "\n");
    while (text[at] == '\n' && text[at + 1]) {
        size_t in = strspn(text + at + 1, " ");
        if (in <= 2 * depth) break;
        at += 1 + strcspn(text + at + 1, "\n");
    }
    return at + (text[at] == '\n');
}

/* text with [from, to) replaced by the line "word: value"; frees text. */
static char *splice(char *text, size_t from, size_t to, size_t depth, const char *word,
                    size_t n_word, const char *value)
{
    size_t n = strlen(text), k = 2 * depth + n_word + strlen(value) + 3;
    char *out = cli_grow(NULL, n - (to - from) + k + 1);
    memcpy(out, text, from);
    k = (size_t)sprintf(out + from, "%*s%.*s:%s%s\n", (int)(2 * depth), "", (int)n_word, word,
                        *value ? " " : "", value);
    memcpy(out + from + k, text + to, n - to + 1);
    free(text);
    return out;
}

char *init_set(char *text, const char *assignment)
{
    const char *eq = strchr(assignment, '='), *word = assignment;
    size_t from = 0, to = strlen(text);
    for (size_t depth = 0; eq && text; depth++) {
        size_t n = strcspn(word, ".=");
        bool last = word + n >= eq;
        long at = find_line(text, from, to, depth, word, n);
        if (at >= 0 && last) {
            size_t end = block_end(text, (size_t)at, depth);
            return splice(text, (size_t)at, end, depth, word, n, eq + 1);
        }
        if (at < 0) {
            text = splice(text, to, to, depth, word, n, last ? eq + 1 : "");
            if (last || !text) return text;
            at = (long)to;
        }
        from = (size_t)at + strcspn(text + at, "\n") + 1;
        to = block_end(text, (size_t)at, depth);
        word += n + 1;
    }
    return text;
}
