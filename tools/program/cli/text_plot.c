/* Curves as text: braille patterns, two points wide and four high to a character, or stars where
 * the locale has no UTF-8. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "text_plot.h"

enum { MAX_COLS = 400, MAX_ROWS = 100 };

static bool has_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < CLI_COUNT(names); i++) {
        const char *v = getenv(names[i]);
        if (v && *v) return strstr(v, "UTF-8") || strstr(v, "utf8") || strstr(v, "UTF8");
    }
    return false;
}

static void find_range(const cli_curve *c, size_t n, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < c[k].n; i++)
            if (isfinite(c[k].y[i])) {
                *low = fmin(*low, c[k].y[i]);
                *high = fmax(*high, c[k].y[i]);
            }
    if (*high - *low < 1e-12 * fabs(*high)) *low -= 0.5, *high += 0.5;
}

/* Sets the bit of a point in its cell, and which curve it was. */
static void put(unsigned char *dots, unsigned char *owner, int cols, int rows, int x, int y,
                int curve)
{
    static const unsigned char bit[4][2] = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } };
    if (x < 0 || y < 0 || x >= 2 * cols || y >= 4 * rows) return;
    int cell = y / 4 * cols + x / 2;
    dots[cell] |= bit[y % 4][x % 2];
    owner[cell] = (unsigned char)curve;
}

void cli_plot(FILE *f, const cli_curve *c, size_t n, double x_end, int cols, int rows)
{
    static const cli_paint paint[] = { CLI_PLAIN, CLI_YELLOW, CLI_GREEN };
    static unsigned char dots[MAX_COLS * MAX_ROWS], owner[MAX_COLS * MAX_ROWS];
    double low, high;
    char label[32];
    bool utf8 = has_utf8();
    int room = 9;
    find_range(c, n, &low, &high);
    cols = cols - room > MAX_COLS ? MAX_COLS : cols - room;
    rows = rows > MAX_ROWS ? MAX_ROWS : rows;
    if (cols < 4 || rows < 2 || !(low <= high) || !(x_end > 0)) return;
    memset(dots, 0, sizeof dots);
    for (size_t k = 0; k < n; k++) {
        int last_x = -1, last_y = 0;
        for (size_t i = 0; i < c[k].n; i++) {
            if (!isfinite(c[k].y[i])) continue;
            int x = (int)fmin(2 * cols * c[k].x[i] / x_end, 2 * cols - 1),
                y = (int)fmin((high - c[k].y[i]) / (high - low) * 4 * rows, 4 * rows - 1);
            int way = last_x < 0                          ? 0
                      : abs(x - last_x) > abs(y - last_y) ? abs(x - last_x)
                                                          : abs(y - last_y);
            for (int s = 0; s <= way; s++)
                put(dots, owner, cols, rows, way ? last_x + (x - last_x) * s / way : x,
                    way ? last_y + (y - last_y) * s / way : y, (int)k);
            last_x = x;
            last_y = y;
        }
    }
    for (int r = 0; r < rows; r++) {
        bool edge = r == 0 || r == rows - 1;
        snprintf(label, sizeof label, edge ? "%.4g" : "", r ? low : high);
        fprintf(f, "%*.*s ", room - 1, room - 1, label);
        for (int x = 0; x < cols; x++) {
            unsigned char d = dots[r * cols + x];
            if (!d) {
                fputc(' ', f);
                continue;
            }
            int cell = owner[r * cols + x] % 3;
            fputs(cli_color(f, paint[cell]), f);
            if (utf8)
                fprintf(f, "\xe2%c%c", 0xa0 | d >> 6, 0x80 | (d & 63)); /* U+2800 + d */
            else
                fputc("*o+"[cell], f);
            if (cell) fputs(cli_color(f, CLI_PLAIN), f);
        }
        fputs(cli_can_redraw(f) ? "\033[K\n" : "\n", f);
    }
}
