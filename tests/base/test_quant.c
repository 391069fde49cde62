/* Numbers in few bits: NF4's table by its construction, errors by the formats' own steps, GGUF's
 * K-kinds against loops as ggml writes them. */
#include <math.h>

#include "testing.h"

#include "base/half.h"
#include "base/memory.h"
#include "base/quant.h"

/* The normal distribution's quantile, by halving. */
static double quantile(double p)
{
    double low = -10, high = 10;
    for (int i = 0; i < 200; i++) {
        double mid = (low + high) / 2;
        *(0.5 * erfc(-mid / sqrt(2)) < p ? &low : &high) = mid;
    }
    return low;
}

/* bitsandbytes' create_normal_map: 8 quantiles above 0, 7 below, of even steps from 1/2 to
 * 0.9677083. */
static void nf4_is_its_construction(void **state)
{
    (void)state;
    const double end = 0.9677083, most = quantile(end);
    for (int i = 0; i < 16; i++) {
        double want = i < 7   ? -quantile(end + (0.5 - end) * i / 7) / most
                      : i > 7 ? quantile(end + (0.5 - end) * (15 - i) / 8) / most
                              : 0;
        REQUIRE_NEAR(vkt__nf4[i], want, 1e-6);
    }
}

static float number(uint64_t i)
{
    return (float)(vkt_rand_normal(5, VKT_RNG_TEST, i) * (i / 64 % 3 ? 0.02 : 0.5));
}

/* The largest error of a number in a block of largest number `most`: half a step of the kind's, and
 * the scale's own rounding. */
static double bound(vkt_quant kind, double most, double most_of_256)
{
    switch (kind) {
    case VKT_QUANT_F16:
        return most * 0x1p-11 + 0x1p-25;
    case VKT_QUANT_BF16:
        return most * 0x1p-8;
    case VKT_QUANT_Q8_0:
        return most / 127 * 0.5 + most * 0x1p-11;
    case VKT_QUANT_Q4_0: /* on one side the largest is not reached: a whole step */
        return most / 8 + most * 0x1p-10;
    default: /* half the widest gap, and what the scale's 8 bits leave out */
        return most * (1 - 0.6961928) / 2 + most_of_256 / 255;
    }
}

static double largest(const float *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) /* fmax makes GCC 12 for Arm fail within */
        if (fabs((double)x[i]) > most) most = fabs((double)x[i]);
    return most;
}

static void numbers_come_back_within_a_step(void **state)
{
    (void)state;
    enum { N = 256 * 5 };
    static float x[N], y[N], z[N];
    static uint32_t words[N], again[N];
    for (uint64_t i = 0; i < N; i++) x[i] = i / 256 == 3 ? 0 : number(i);
    for (int k = VKT_QUANT_F16; k < VKT_QUANT_COUNT; k++) {
        vkt_quant kind = (vkt_quant)k;
        size_t block = kind == VKT_QUANT_NF4 ? 64 : kind < VKT_QUANT_Q8_0 ? 1 : 32;
        if (!vkt__quant_can(kind)) continue;
        vkt__quantize(kind, x, N, words);
        vkt__dequantize(kind, words, 0, N, y);
        for (size_t i = 0; i < N; i++)
            REQUIRE_NEAR(y[i], x[i],
                         bound(kind, largest(x + i / block * block, block),
                               largest(x + i / 256 * 256, 256)));
        /* A part of them; and rounding again changes them by 2^-10 at most. */
        vkt__dequantize(kind, words, 72, 512, z);
        assert_memory_equal(z, y + 72, 512 * sizeof *z);
        vkt__quantize(kind, y, N, again);
        vkt__dequantize(kind, again, 0, N, z);
        for (size_t i = 0; i < N; i++) REQUIRE_NEAR(z[i], y[i], fabs((double)y[i]) * 0x1p-10);
    }
    assert_int_equal(vkt__quant_words(VKT_QUANT_NF4, 256), 34);
    assert_int_equal(vkt__quant_words(VKT_QUANT_NF4, 255), 0);
    assert_int_equal(vkt__quant_words(VKT_QUANT_BF16, 24), 12);
    assert_int_equal(vkt__quant_words(VKT_QUANT_F32, 256), 0);
}

static void k_kinds_are_ggmls(void **state)
{
    (void)state;
    uint32_t words[53], n = 0;
    uint8_t b[212];
    float got[256], want[256];
    for (uint32_t i = 0; i < 53; i++)
        words[i] = vkt__quant_sample(VKT_QUANT_Q4_K, i, vkt_rand_u32(1, VKT_RNG_TEST, i));
    for (uint32_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
    float d = vkt__from_f16((uint16_t)(b[0] | b[1] << 8)),
          m = vkt__from_f16((uint16_t)(b[2] | b[3] << 8));
    const uint8_t *s = b + 4, *q = b + 16;
    for (uint32_t j = 0; j < 8; j++) {
        uint32_t sc = j < 4 ? s[j] & 63 : (s[j + 4] & 15) + 16 * (s[j - 4] >> 6),
                 mn = j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) + 16 * (s[j] >> 6);
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t v = j % 2 ? q[l] >> 4 : q[l] & 15;
            want[n++] = d * (float)sc * (float)v - m * (float)mn;
        }
        if (j % 2) q += 32;
    }
    vkt__dequantize(VKT_QUANT_Q4_K, words, 0, 256, got);
    assert_memory_equal(got, want, sizeof got);

    words[52] = vkt__quant_sample(VKT_QUANT_Q6_K, 52, words[52]);
    for (uint32_t i = 0; i < sizeof b; i++) b[i] = (uint8_t)(words[i / 4] >> (8 * (i % 4)));
    d = vkt__from_f16((uint16_t)(b[208] | b[209] << 8));
    for (uint32_t h = 0; h < 2; h++) {
        const uint8_t *ql = b + 64 * h, *qh = b + 128 + 32 * h;
        const int8_t *sc = (const int8_t *)b + 192 + 8 * h;
        float *y = want + 128 * h;
        for (uint32_t l = 0; l < 32; l++) {
            int32_t q1 = (ql[l] & 15) | (qh[l] & 3) << 4,
                    q2 = (ql[l + 32] & 15) | (qh[l] & 12) << 2, q3 = ql[l] >> 4 | (qh[l] & 48),
                    q4 = ql[l + 32] >> 4 | (qh[l] & 192) >> 2;
            y[l] = d * sc[l / 16] * (float)(q1 - 32);
            y[l + 32] = d * sc[l / 16 + 2] * (float)(q2 - 32);
            y[l + 64] = d * sc[l / 16 + 4] * (float)(q3 - 32);
            y[l + 96] = d * sc[l / 16 + 6] * (float)(q4 - 32);
        }
    }
    vkt__dequantize(VKT_QUANT_Q6_K, words, 0, 256, got);
    assert_memory_equal(got, want, sizeof got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nf4_is_its_construction),
        cmocka_unit_test(numbers_come_back_within_a_step),
        cmocka_unit_test(k_kinds_are_ggmls),
    };
    return cmocka_run_group_tests_name("quant", tests, NULL, NULL);
}
