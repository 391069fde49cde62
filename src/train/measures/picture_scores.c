/* picture_scores.h */
#include <math.h>

#include "train/measures/picture_scores.h"

static double within(float v)
{
    return v > 0 ? fmin((double)v, 1) : 0; /* 0 for what is no number, too */
}

double vkt__psnr(const float *got, const float *wanted, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double error = within(got[i]) - (double)wanted[i];
        sum += error * error;
    }
    return -10 * log10(fmax(sum / (double)n, 1e-10));
}

enum { WINDOW = 7 };

/* Of one window, whose first pixels are a and b. */
static double window(const float *a, const float *b, size_t row, uint32_t channels)
{
    const double n = WINDOW * WINDOW, c1 = 0.01 * 0.01, c2 = 0.03 * 0.03;
    double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    for (uint32_t y = 0; y < WINDOW; y++)
        for (uint32_t x = 0; x < WINDOW; x++) {
            double u = within(a[y * row + x * channels]), v = (double)b[y * row + x * channels];
            sa += u;
            sb += v;
            saa += u * u;
            sbb += v * v;
            sab += u * v;
        }
    double ma = sa / n, mb = sb / n, sample = n / (n - 1), va = sample * (saa / n - ma * ma),
           vb = sample * (sbb / n - mb * mb), vab = sample * (sab / n - ma * mb);
    return (2 * ma * mb + c1) * (2 * vab + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
}

double vkt__ssim(const float *got, const float *wanted, const uint32_t shape[3])
{
    uint32_t H = shape[0], W = shape[1], C = shape[2];
    size_t row = (size_t)W * C, n = 0;
    double sum = 0;
    for (uint32_t y = 0; y + WINDOW <= H; y++)
        for (uint32_t x = 0; x + WINDOW <= W; x++)
            for (uint32_t c = 0; c < C; c++, n++) {
                size_t at = y * row + (size_t)x * C + c;
                sum += window(got + at, wanted + at, row, C);
            }
    return n ? sum / (double)n : NAN;
}
