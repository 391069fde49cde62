/* Text into pictures, in the font that is built in: DejaVu Sans, Latin, Greek and Cyrillic. */
#ifndef VKT_FORMATS_LETTERS_H
#define VKT_FORMATS_LETTERS_H

#include <stdbool.h>

/* How a line of text runs. */
typedef enum vkt__turn { VKT__LEVEL, VKT__UPWARD, VKT__DOWNWARD } vkt__turn;

/* A pixel that letters cover, by a share of 0..1. */
typedef void (*vkt__cover_fn)(void *to, int x, int y, double share);

/* Width in pixels of UTF-8 text; size: pixels to the em. What the font lacks is a box. */
double vkt__letters_width(const char *text, double size, bool bold);
/* Tells each pixel of the text, which begins at x, y on its base line. Pixels may lie anywhere, and
 * may be told twice where letters touch. */
void vkt__letters_draw(const char *text, double x, double y, double size, bool bold, vkt__turn turn,
                       vkt__cover_fn put, void *to);

#endif
