/* Private to the library: UTF-8, and names that are matched, shown, escaped and sorted. */
#ifndef VKT_BASE_WORDS_H
#define VKT_BASE_WORDS_H

#include "base/memory.h"

/* Next code point of UTF-8 text before `end`; *s moves on. -1: none is left or it is not UTF-8. */
int32_t vkt__utf8_next(const char **s, const char *end);
/* The UTF-8 of a code point below 0x110000 that is no surrogate; its length. */
size_t vkt__utf8_put(int32_t c, char out[4]);
/* Whether all n bytes are UTF-8 without NUL (what JSON can hold); *at is the first that is not. */
bool vkt__utf8_ok(const char *s, size_t n, size_t *at);

/* A copy whose bytes that are no UTF-8, or NUL, are replaced by U+FFFD. */
const char *vkt__utf8_text(const char *s, size_t n, vkt__arena *a);

/* FNV-1a, for names and keys. (CRC-32 of data and caches is zlib's.) */
uint64_t vkt__hash(const void *data, size_t n, uint64_t seed);

/* Whether two words are equal when the case of Latin letters is ignored. */
bool vkt__same_word(const char *a, const char *b);

/* Whole-name match: '*' any characters (none too), '?' one. */
bool vkt__glob(const char *pattern, const char *name);

/* A CSV cell: quoted where it must be. A text that a spreadsheet would run as a formula gets a '
 * before it. */
void vkt__str_csv(vkt__str *s, const char *text);
/* A name or a cell as a log line can hold it: one line, cut. Use: vkt__show(cell).s */
typedef struct vkt__shown {
    char s[64];
} vkt__shown;
vkt__shown vkt__show(const char *cell);

/* Names of files that are written beside what they will replace: NAME.tmpPID-N. The length of
 * .tmpPID-N at s, and whose it is; 0: it is something else. */
size_t vkt__aside_suffix(const char *s, int *pid);
/* The path that such a name of process `pid`, or one below it, stands for: what errors tell. Caller
 * frees. */
char *vkt__aside_meant(const char *path, int pid);

/* Text as HTML and SVG write it: & < > and quotes become entities, control characters are left out.
 */
void vkt__markup_escape(vkt__str *s, const char *text);

/* Bytes as base64, with its padding. */
void vkt__str_base64(vkt__str *s, const void *bytes, size_t n);

/* A word as a shell reads it back: as it is, or in quotes where it must be. */
void vkt__shell_word(vkt__str *s, const char *word);

/* A list of names, each allocated alone. */
void vkt__names_sort(char **names, size_t n); /* by bytes */
void vkt__names_free(char **names, size_t n);

#endif
