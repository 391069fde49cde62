/* Curves as text. */
#ifndef VKT_TOOLS_TEXT_PLOT_H
#define VKT_TOOLS_TEXT_PLOT_H

#include <stddef.h>
#include <stdio.h>

/* From x = 0 to x_end, with the range of y beside them: `cols` wide
 * and `rows` high. Nothing where there is no number or no room. */
typedef struct cli_curve {
    const double *x, *y; /* [n], x rising; NAN: not there */
    size_t n;
} cli_curve;
void cli_plot(FILE *f, const cli_curve *curves, size_t n, double x_end, int cols, int rows);

#endif
