/* ggml_blocks.h: a row of a table for each type. Layouts: github.com/ggml-org/ggml, ggml-common.h;
 * bytes are little-endian, and an f16 d is a block's scale, m its offset. */
#include "formats/ggml_blocks.h"

#include <float.h>
#include <math.h>

#include "base/half.h"
#include "base/quant.h"

enum { BLOCK = 32, SUPER = VKT__QUANT_BLOCK };

static uint16_t u16_at(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float half_at(const unsigned char *p)
{
    return vkt__from_f16(u16_at(p));
}

static void f32_block(const unsigned char *b, float *x)
{
    uint32_t u = (uint32_t)u16_at(b) | (uint32_t)u16_at(b + 2) << 16;
    memcpy(x, &u, sizeof u);
}

static void f16_block(const unsigned char *b, float *x)
{
    *x = half_at(b);
}

static void bf16_block(const unsigned char *b, float *x)
{
    *x = vkt__from_bf16(u16_at(b));
}

/* The first half of a block's numbers in lower half-bytes. */
static uint32_t nibble(const unsigned char *b, uint32_t i)
{
    return i < BLOCK / 2 ? b[i] & 15 : b[i - BLOCK / 2] >> 4;
}

/* Their fifth bits in 4 bytes. */
static uint32_t fifth(const unsigned char *b, uint32_t i)
{
    return (uint32_t)(b[i / 8] >> (i % 8) & 1) << 4;
}

static void q4_0_block(const unsigned char *b, float *x)
{
    for (uint32_t i = 0; i < BLOCK; i++) x[i] = half_at(b) * (float)((int32_t)nibble(b + 2, i) - 8);
}

static void q4_1_block(const unsigned char *b, float *x)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        x[i] = half_at(b) * (float)nibble(b + 4, i) + half_at(b + 2);
}

static void q5_0_block(const unsigned char *b, float *x)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        x[i] = half_at(b) * (float)((int32_t)(nibble(b + 6, i) | fifth(b + 2, i)) - 16);
}

static void q5_1_block(const unsigned char *b, float *x)
{
    for (uint32_t i = 0; i < BLOCK; i++)
        x[i] = half_at(b) * (float)(nibble(b + 8, i) | fifth(b + 4, i)) + half_at(b + 2);
}

static void q8_0_block(const unsigned char *b, float *x)
{
    for (uint32_t i = 0; i < BLOCK; i++) {
        int32_t q = b[2 + i];
        x[i] = half_at(b) * (float)(q < 128 ? q : q - 256);
    }
}

/* Superblocks that base/quant.h keeps unchanged, except for bytes of 0 at their ends. */
static void as_kept(vkt_quant kind, const unsigned char *b, size_t n, float *x)
{
    uint32_t words[VKT__QUANT_MOST_WORDS] = { 0 };
    for (size_t i = 0; i < n; i++) words[i / 4] |= (uint32_t)b[i] << (i % 4 * 8);
    vkt__dequantize(kind, words, 0, SUPER, x);
}

static void q4_k_block(const unsigned char *b, float *x)
{
    as_kept(VKT_QUANT_Q4_K, b, 144, x);
}

static void q6_k_block(const unsigned char *b, float *x)
{
    as_kept(VKT_QUANT_Q6_K, b, 210, x);
}

/* Scale and offset of the j-th 32 of a superblock, 6 bits each in 12 bytes. */
static void scales_at(const unsigned char *s, uint32_t j, uint32_t *scale, uint32_t *offset)
{
    if (j < 4) {
        *scale = s[j] & 63;
        *offset = s[j + 4] & 63;
    } else {
        *scale = (s[j + 4] & 15u) | (uint32_t)(s[j - 4] >> 6) << 4;
        *offset = s[j + 4] >> 4 | (uint32_t)(s[j] >> 6) << 4;
    }
}

/* Q4_K's layout, with the fifth bits of the j-th 32 numbers in the j-th bits of 32 bytes. */
static void q5_k_block(const unsigned char *b, float *x)
{
    const unsigned char *high = b + 16, *low = b + 48;
    for (uint32_t i = 0; i < SUPER; i++) {
        uint32_t scale, offset, j = i / BLOCK, byte = low[i / 64 * 32 + i % 32],
                                q = i % 64 < 32 ? byte & 15 : byte >> 4;
        q |= (uint32_t)(high[i % 32] >> j & 1) << 4;
        scales_at(b + 4, j, &scale, &offset);
        x[i] = half_at(b) * (float)scale * (float)q - half_at(b + 2) * (float)offset;
    }
}

/* ---- writing ---- */

static void put_u16(unsigned char *p, uint16_t v)
{
    p[0] = (unsigned char)(v & 255);
    p[1] = (unsigned char)(v >> 8);
}

static void f32_pack(const float *x, unsigned char *b)
{
    uint32_t u;
    memcpy(&u, x, sizeof u);
    put_u16(b, (uint16_t)(u & 0xFFFF));
    put_u16(b + 2, (uint16_t)(u >> 16));
}

static void f16_pack(const float *x, unsigned char *b)
{
    put_u16(b, vkt__to_f16(*x));
}

static void bf16_pack(const float *x, unsigned char *b)
{
    put_u16(b, vkt__to_bf16(*x));
}

/* The one of the largest size, with its sign. */
static float largest(const float *x)
{
    float most = 0;
    for (uint32_t i = 0; i < BLOCK; i++)
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    return most;
}

/* As ggml's quantize_row_q8_0_ref. */
static void q8_0_pack(const float *x, unsigned char *b)
{
    float d = fabsf(largest(x)) / 127, inverse = d > FLT_MIN ? 1 / d : 0;
    put_u16(b, vkt__to_f16(d));
    for (uint32_t i = 0; i < BLOCK; i++)
        b[2 + i] = (unsigned char)((int32_t)roundf(x[i] * inverse) & 255);
}

/* As ggml's quantize_row_q4_0_ref. */
static void q4_0_pack(const float *x, unsigned char *b)
{
    float d = largest(x) / -8, inverse = fabsf(d) > FLT_MIN ? 1 / d : 0;
    put_u16(b, vkt__to_f16(d));
    for (uint32_t i = 0; i < BLOCK / 2; i++) {
        int32_t low = (int32_t)(x[i] * inverse + 8.5f),
                high = (int32_t)(x[i + BLOCK / 2] * inverse + 8.5f);
        b[2 + i] = (unsigned char)(VKT_MIN(low, 15) | VKT_MIN(high, 15) << 4);
    }
}

/* Scale and offset of 32 numbers, x ~ scale q - offset, q from 0 to 15: least squares after each
 * rounding, from several beginnings; the best of them. */
static void fit_block(const float *x, float *scale, float *offset)
{
    float low = 0, high = 0;
    double best = INFINITY;
    for (uint32_t i = 0; i < BLOCK; i++) {
        low = fminf(low, x[i]);
        high = fmaxf(high, x[i]);
    }
    *scale = (high - low) / 15;
    *offset = -low;
    for (int k = 0; k < 8 && high > low; k++) {
        double s = ((double)high - (double)low) / (13.5 + 0.25 * k), m = -(double)low;
        for (int round = 0; round < 3; round++) {
            double n = BLOCK, q1 = 0, q2 = 0, x1 = 0, qx = 0, error = 0;
            for (uint32_t i = 0; i < BLOCK; i++) {
                double v = (double)x[i], q = fmin(fmax(rint((v + m) / s), 0), 15),
                       e = v - (s * q - m);
                q1 += q;
                q2 += q * q;
                x1 += v;
                qx += q * v;
                error += e * e;
            }
            if (error < best) {
                best = error;
                *scale = (float)s;
                *offset = (float)m;
            }
            double wide = n * q2 - q1 * q1;
            if (wide <= 0) break;
            s = (n * qx - q1 * x1) / wide;
            m = fmax((s * q1 - x1) / n, 0); /* offsets are not negative there */
            if (s <= 0) break;
        }
    }
}

static void put_scales(unsigned char *s, uint32_t j, uint32_t scale, uint32_t offset)
{
    if (j < 4) {
        s[j] = (unsigned char)(s[j] | scale);
        s[j + 4] = (unsigned char)(s[j + 4] | offset);
    } else {
        s[j + 4] = (unsigned char)((scale & 15) | (offset & 15) << 4);
        s[j - 4] = (unsigned char)(s[j - 4] | scale >> 4 << 6);
        s[j] = (unsigned char)(s[j] | offset >> 4 << 6);
    }
}

/* Scales and offsets in 6 bits, of two f16 that are the largest of them / 63. */
static void q4_k_pack(const float *x, unsigned char *b)
{
    enum { BLOCKS = SUPER / BLOCK };
    float scale[BLOCKS], offset[BLOCKS], d = 0, m = 0;
    memset(b, 0, 144);
    for (uint32_t j = 0; j < BLOCKS; j++) {
        fit_block(x + j * BLOCK, &scale[j], &offset[j]);
        d = fmaxf(d, scale[j] / 63);
        m = fmaxf(m, offset[j] / 63);
    }
    put_u16(b, vkt__to_f16(d));
    put_u16(b + 2, vkt__to_f16(m));
    d = half_at(b);
    m = half_at(b + 2);
    for (uint32_t j = 0; j < BLOCKS; j++) {
        float s = d > 0 ? fminf(rintf(scale[j] / d), 63) : 0,
              o = m > 0 ? fminf(rintf(offset[j] / m), 63) : 0, step = d * s;
        put_scales(b + 4, j, (uint32_t)s, (uint32_t)o);
        for (uint32_t i = 0; i < BLOCK; i++) {
            float q = step > 0 ? rintf((x[j * BLOCK + i] + m * o) / step) : 0;
            uint32_t u = (uint32_t)fminf(fmaxf(q, 0), 15);
            unsigned char *at = &b[16 + j / 2 * BLOCK + i];
            *at = (unsigned char)(*at | u << (j % 2 * 4));
        }
    }
}

static const struct {
    void (*read)(const unsigned char *b, float *x);
    void (*write)(const float *x, unsigned char *b);
    uint32_t n, bytes;
} types[] = {
    [VKT__GGML_F32] = { f32_block, f32_pack, 1, 4 },
    [VKT__GGML_F16] = { f16_block, f16_pack, 1, 2 },
    [VKT__GGML_BF16] = { bf16_block, bf16_pack, 1, 2 },
    [VKT__GGML_Q4_0] = { q4_0_block, q4_0_pack, BLOCK, 18 },
    [VKT__GGML_Q4_1] = { q4_1_block, NULL, BLOCK, 20 },
    [VKT__GGML_Q5_0] = { q5_0_block, NULL, BLOCK, 22 },
    [VKT__GGML_Q5_1] = { q5_1_block, NULL, BLOCK, 24 },
    [VKT__GGML_Q8_0] = { q8_0_block, q8_0_pack, BLOCK, 34 },
    [VKT__GGML_Q4_K] = { q4_k_block, q4_k_pack, SUPER, 144 },
    [VKT__GGML_Q5_K] = { q5_k_block, NULL, SUPER, 176 },
    [VKT__GGML_Q6_K] = { q6_k_block, NULL, SUPER, 210 },
};

bool vkt__ggml_can_read(uint32_t type)
{
    return type < VKT_COUNT(types) && types[type].read;
}

uint32_t vkt__ggml_can_write(uint32_t type)
{
    return type < VKT_COUNT(types) && types[type].write ? types[type].n : 0;
}

uint64_t vkt__ggml_bytes(uint32_t type, uint64_t n)
{
    return n / types[type].n * types[type].bytes;
}

void vkt__ggml_read(uint32_t type, const unsigned char *from, uint64_t n, float *to)
{
    VKT_ASSERT(vkt__ggml_can_read(type) && n % types[type].n == 0);
    for (uint64_t i = 0; i < n; i += types[type].n, from += types[type].bytes)
        types[type].read(from, to + i);
}

void vkt__ggml_write(uint32_t type, const float *from, uint64_t n, unsigned char *to)
{
    VKT_ASSERT(vkt__ggml_can_write(type) && n % types[type].n == 0);
    for (uint64_t i = 0; i < n; i += types[type].n, to += types[type].bytes)
        types[type].write(from + i, to);
}

/* ---- kept unchanged ---- */

static void put(uint32_t *words, uint64_t i, uint32_t bits, uint32_t v)
{
    uint32_t per = 32 / bits;
    words[i / per] |= v << (i % per * bits);
}

static void half_keep(const unsigned char *b, uint64_t at, uint32_t *words)
{
    put(words, at, 16, u16_at(b));
}

/* A block's place in its superblock: 64 words of numbers, then scales. */
static void q8_0_keep(const unsigned char *b, uint64_t at, uint32_t *words)
{
    uint32_t *w = words + at / SUPER * 68, k = (uint32_t)(at % SUPER);
    for (uint32_t i = 0; i < BLOCK; i++) put(w, k + i, 8, b[2 + i]);
    put(w + 64, k / BLOCK, 16, u16_at(b));
}

static void q4_0_keep(const unsigned char *b, uint64_t at, uint32_t *words)
{
    uint32_t *w = words + at / SUPER * 36, k = (uint32_t)(at % SUPER);
    for (uint32_t i = 0; i < BLOCK; i++) put(w, k + i, 4, nibble(b + 2, i));
    put(w + 32, k / BLOCK, 16, u16_at(b));
}

static void bytes_keep(const unsigned char *b, uint32_t n, uint32_t *w)
{
    for (uint32_t i = 0; i < n; i++) put(w, i, 8, b[i]);
}

static void q4_k_keep(const unsigned char *b, uint64_t at, uint32_t *words)
{
    bytes_keep(b, 144, words + at / SUPER * 36);
}

static void q6_k_keep(const unsigned char *b, uint64_t at, uint32_t *words)
{
    bytes_keep(b, 210, words + at / SUPER * 53);
}

static const struct {
    uint32_t type;
    vkt_quant kind;
    void (*keep)(const unsigned char *b, uint64_t at, uint32_t *words);
} kept[] = {
    { VKT__GGML_F16, VKT_QUANT_F16, half_keep },   { VKT__GGML_BF16, VKT_QUANT_BF16, half_keep },
    { VKT__GGML_Q8_0, VKT_QUANT_Q8_0, q8_0_keep }, { VKT__GGML_Q4_0, VKT_QUANT_Q4_0, q4_0_keep },
    { VKT__GGML_Q4_K, VKT_QUANT_Q4_K, q4_k_keep }, { VKT__GGML_Q6_K, VKT_QUANT_Q6_K, q6_k_keep },
};

vkt_quant vkt__ggml_kept(uint32_t type)
{
    for (size_t i = 0; i < VKT_COUNT(kept); i++)
        if (kept[i].type == type) return kept[i].kind;
    return VKT_QUANT_AUTO;
}

void vkt__ggml_keep(uint32_t type, const unsigned char *from, uint64_t n, uint64_t first,
                    uint32_t *words)
{
    size_t k = 0;
    while (k < VKT_COUNT(kept) && kept[k].type != type) k++;
    VKT_ASSERT(k < VKT_COUNT(kept) && n % types[type].n == 0);
    for (uint64_t i = 0; i < n; i += types[type].n, from += types[type].bytes)
        kept[k].keep(from, first + i, words);
}
