/* quant.h: a row of a table for each kind. A superblock is packed and unpacked at a time. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/quant.h"

/* create_normal_map of bitsandbytes, as the QLoRA paper's appendix E prints it. */
const float vkt__nf4[16] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

static uint32_t byte_at(const uint32_t *w, uint32_t i)
{
    return w[i / 4] >> (i % 4 * 8) & 255;
}

static int32_t signed_at(const uint32_t *w, uint32_t i)
{
    uint32_t u = byte_at(w, i);
    return u < 128 ? (int32_t)u : (int32_t)u - 256;
}

static uint32_t nibble_at(const uint32_t *w, uint32_t i)
{
    return w[i / 8] >> (i % 8 * 4) & 15;
}

static uint16_t half_at(const uint32_t *w, uint32_t i)
{
    return (uint16_t)(w[i / 2] >> (i % 2 * 16));
}

static void put_bits(uint32_t *w, uint32_t i, uint32_t bits, uint32_t v)
{
    uint32_t per = 32 / bits;
    w[i / per] |= v << (i % per * bits);
}

/* ---- the kinds ---- */

static void f16_pack(const float *x, uint32_t *w)
{
    for (uint32_t i = 0; i < VKT__QUANT_BLOCK; i++) put_bits(w, i, 16, vkt__to_f16(x[i]));
}

static float f16_at(const uint32_t *w, uint32_t i)
{
    return vkt__from_f16(half_at(w, i));
}

static void bf16_pack(const float *x, uint32_t *w)
{
    for (uint32_t i = 0; i < VKT__QUANT_BLOCK; i++) put_bits(w, i, 16, vkt__to_bf16(x[i]));
}

static float bf16_at(const uint32_t *w, uint32_t i)
{
    return vkt__from_bf16(half_at(w, i));
}

static float largest(const float *x, uint32_t n)
{
    float most = 0;
    for (uint32_t i = 0; i < n; i++)
        if (fabsf(x[i]) > fabsf(most)) most = x[i];
    return most;
}

enum { Q_BLOCK = 32, Q8_SCALES = 64, Q4_SCALES = 32 };

/* Scale = largest / 127, as ggml's quantize_row_q8_0_ref. */
static void q8_0_pack(const float *x, uint32_t *w)
{
    for (uint32_t b = 0; b < VKT__QUANT_BLOCK / Q_BLOCK; b++) {
        const float *from = x + b * Q_BLOCK;
        float d = fabsf(largest(from, Q_BLOCK)) / 127, inverse = d > 0 ? 1 / d : 0;
        put_bits(w + Q8_SCALES, b, 16, vkt__to_f16(d));
        for (uint32_t i = 0; i < Q_BLOCK; i++)
            put_bits(w, b * Q_BLOCK + i, 8, (uint32_t)(int32_t)roundf(from[i] * inverse) & 255);
    }
}

static float q8_0_at(const uint32_t *w, uint32_t i)
{
    return vkt__from_f16(half_at(w + Q8_SCALES, i / Q_BLOCK)) * (float)signed_at(w, i);
}

/* Scale = the largest, with its sign, / -8, as ggml's quantize_row_q4_0_ref. */
static void q4_0_pack(const float *x, uint32_t *w)
{
    for (uint32_t b = 0; b < VKT__QUANT_BLOCK / Q_BLOCK; b++) {
        const float *from = x + b * Q_BLOCK;
        float d = largest(from, Q_BLOCK) / -8, inverse = d < 0 || d > 0 ? 1 / d : 0;
        put_bits(w + Q4_SCALES, b, 16, vkt__to_f16(d));
        for (uint32_t i = 0; i < Q_BLOCK; i++) {
            float q = fminf(floorf(from[i] * inverse + 8.5f), 15);
            put_bits(w, b * Q_BLOCK + i, 4, (uint32_t)fmaxf(q, 0));
        }
    }
}

static float q4_0_at(const uint32_t *w, uint32_t i)
{
    float d = vkt__from_f16(half_at(w + Q4_SCALES, i / Q_BLOCK));
    return d * (float)((int32_t)nibble_at(w, i) - 8);
}

enum { NF4_BLOCK = 64, NF4_SCALES = 32, NF4_SCALE = 33 };

static float float_at(const uint32_t *w)
{
    float f;
    memcpy(&f, w, sizeof f);
    return f;
}

static uint32_t nearest_nf4(float x)
{
    uint32_t k = 0;
    while (k < 15 && x > (vkt__nf4[k] + vkt__nf4[k + 1]) / 2) k++;
    return k;
}

/* Largest absolute values are scales; they in turn are whole parts of 255 of the largest of them.
 */
static void nf4_pack(const float *x, uint32_t *w)
{
    float d = fabsf(largest(x, VKT__QUANT_BLOCK)) / 255;
    memcpy(w + NF4_SCALE, &d, sizeof d);
    for (uint32_t b = 0; b < VKT__QUANT_BLOCK / NF4_BLOCK; b++) {
        const float *from = x + b * NF4_BLOCK;
        float q = d > 0 ? fminf(roundf(fabsf(largest(from, NF4_BLOCK)) / d), 255) : 0, s = q * d;
        put_bits(w + NF4_SCALES, b, 8, (uint32_t)q);
        for (uint32_t i = 0; i < NF4_BLOCK; i++)
            put_bits(w, b * NF4_BLOCK + i, 4, nearest_nf4(s > 0 ? from[i] / s : 0));
    }
}

static float nf4_at(const uint32_t *w, uint32_t i)
{
    float s = (float)byte_at(w + NF4_SCALES, i / NF4_BLOCK) * float_at(w + NF4_SCALE);
    return s * vkt__nf4[nibble_at(w, i)];
}

/* Blocks of 32: scale and offset of the j-th, 6 bits each, lie in 12 bytes from word 1 on. */
static float q4_k_at(const uint32_t *w, uint32_t i)
{
    uint32_t j = i / Q_BLOCK, scale, least, quant = byte_at(w + 4, i / 64 * 32 + i % 32);
    const uint32_t *s = w + 1;
    if (j < 4) {
        scale = byte_at(s, j) & 63;
        least = byte_at(s, j + 4) & 63;
    } else {
        scale = (byte_at(s, j + 4) & 15) | byte_at(s, j - 4) >> 6 << 4;
        least = byte_at(s, j + 4) >> 4 | byte_at(s, j) >> 6 << 4;
    }
    quant = i % 64 < 32 ? quant & 15 : quant >> 4;
    return vkt__from_f16(half_at(w, 0)) * (float)scale * (float)quant -
           vkt__from_f16(half_at(w, 1)) * (float)least;
}

enum { Q6_HIGH = 32, Q6_SCALES = 48, Q6_SCALE = 52 };

/* In each half of 128: four runs of 32, the lower four bits of the first two in lower half-bytes.
 */
static float q6_k_at(const uint32_t *w, uint32_t i)
{
    uint32_t h = i / 128, run = i % 128 / 32, l = i % 32,
             low = byte_at(w, 64 * h + l + run % 2 * 32) >> (run / 2 * 4) & 15,
             high = byte_at(w + Q6_HIGH, 32 * h + l) >> (2 * run) & 3;
    int32_t scale = signed_at(w + Q6_SCALES, 8 * h + l / 16 + 2 * run);
    return vkt__from_f16(half_at(w + Q6_SCALE, 0)) * (float)scale *
           (float)((int32_t)(low | high << 4) - 32);
}

static const struct {
    const char *name;
    uint32_t words;
    void (*pack)(const float *x, uint32_t *w);
    float (*at)(const uint32_t *w, uint32_t i);
    struct {
        uint32_t begin, end; /* words of f16 scales */
    } halves;
} kinds[VKT_QUANT_COUNT] = {
    [VKT_QUANT_AUTO] = { .name = "auto" },
    [VKT_QUANT_F32] = { .name = "f32" },
    [VKT_QUANT_F16] = { "f16", 128, f16_pack, f16_at, { 0, 128 } },
    [VKT_QUANT_BF16] = { "bf16", 128, bf16_pack, bf16_at, { 0, 0 } },
    [VKT_QUANT_Q8_0] = { "q8_0", 68, q8_0_pack, q8_0_at, { 64, 68 } },
    [VKT_QUANT_Q4_0] = { "q4_0", 36, q4_0_pack, q4_0_at, { 32, 36 } },
    [VKT_QUANT_NF4] = { "nf4", 34, nf4_pack, nf4_at, { 0, 0 } },
    [VKT_QUANT_Q4_K] = { "q4_k", 36, NULL, q4_k_at, { 0, 1 } },
    [VKT_QUANT_Q6_K] = { "q6_k", 53, NULL, q6_k_at, { 52, 53 } },
};

static bool is_plain(vkt_quant kind)
{
    return kind == VKT_QUANT_F16 || kind == VKT_QUANT_BF16;
}

const char *vkt__quant_name(vkt_quant kind)
{
    return kinds[kind].name;
}

bool vkt__quant_can(vkt_quant kind)
{
    return kinds[kind].pack != NULL;
}

uint64_t vkt__quant_words(vkt_quant kind, uint64_t n)
{
    if (is_plain(kind)) return n % 8 ? 0 : n / 2;
    return n % VKT__QUANT_BLOCK ? 0 : n / VKT__QUANT_BLOCK * kinds[kind].words;
}

void vkt__quantize(vkt_quant kind, const float *x, uint64_t n, uint32_t *words)
{
    float last[VKT__QUANT_BLOCK] = { 0 };
    uint32_t w[VKT__QUANT_MOST_WORDS];
    VKT_ASSERT(kinds[kind].pack && vkt__quant_words(kind, n) * VKT__QUANT_BLOCK >= n);
    for (uint64_t i = 0; i < n; i += VKT__QUANT_BLOCK) {
        uint64_t left = VKT_MIN(n - i, (uint64_t)VKT__QUANT_BLOCK);
        const float *from = x + i;
        if (left < VKT__QUANT_BLOCK) from = memcpy(last, from, left * sizeof *last);
        memset(w, 0, sizeof w);
        kinds[kind].pack(from, w);
        uint64_t at = i / VKT__QUANT_BLOCK * kinds[kind].words;
        memcpy(words + at, w, (is_plain(kind) ? left / 2 : kinds[kind].words) * sizeof *w);
    }
}

void vkt__dequantize(vkt_quant kind, const uint32_t *words, uint64_t first, uint64_t n, float *x)
{
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = first + i;
        const uint32_t *block = words + at / VKT__QUANT_BLOCK * kinds[kind].words;
        x[i] = kinds[kind].at(block, (uint32_t)(at % VKT__QUANT_BLOCK));
    }
}

/* Between 1/4 and 1/2: exponents of 13 in f16, of 125 in bf16 and f32. */
uint32_t vkt__quant_sample(vkt_quant kind, uint64_t i, uint32_t random)
{
    uint32_t k = (uint32_t)(i % kinds[kind].words);
    if (k >= kinds[kind].halves.begin && k < kinds[kind].halves.end)
        return (random & 0x87FF87FFu) | 0x34003400u;
    if (kind == VKT_QUANT_BF16) return (random & 0x80FF80FFu) | 0x3E803E80u;
    return kind == VKT_QUANT_NF4 && k == NF4_SCALE ? (random & 0x00FFFFFFu) | 0x3E800000u : random;
}
