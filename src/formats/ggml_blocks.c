/* ggml_blocks.h: a row of a table for each type. Layouts: github.com/ggml-org/ggml, ggml-common.h;
 * bytes are little-endian, and an f16 d is a block's scale, m its offset. */
#include "formats/ggml_blocks.h"

#include "base/half.h"
#include "base/quant.h"

enum { BLOCK = 32, SUPER = VKT__QUANT_BLOCK, MOST = SUPER };

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

/* Superblocks that base/quant.h keeps as they are, but for bytes of 0 at their ends. */
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

static const struct {
    void (*read)(const unsigned char *b, float *x);
    uint32_t n, bytes;
} types[] = {
    [VKT__GGML_F32] = { f32_block, 1, 4 },         [VKT__GGML_F16] = { f16_block, 1, 2 },
    [VKT__GGML_BF16] = { bf16_block, 1, 2 },       [VKT__GGML_Q4_0] = { q4_0_block, BLOCK, 18 },
    [VKT__GGML_Q4_1] = { q4_1_block, BLOCK, 20 },  [VKT__GGML_Q5_0] = { q5_0_block, BLOCK, 22 },
    [VKT__GGML_Q5_1] = { q5_1_block, BLOCK, 24 },  [VKT__GGML_Q8_0] = { q8_0_block, BLOCK, 34 },
    [VKT__GGML_Q4_K] = { q4_k_block, SUPER, 144 }, [VKT__GGML_Q5_K] = { q5_k_block, SUPER, 176 },
    [VKT__GGML_Q6_K] = { q6_k_block, SUPER, 210 },
};

bool vkt__ggml_can_read(uint32_t type)
{
    return type < VKT_COUNT(types) && types[type].read;
}

void vkt__ggml_read(uint32_t type, const unsigned char *from, uint64_t n, float *to)
{
    VKT_ASSERT(vkt__ggml_can_read(type) && n % types[type].n == 0);
    for (uint64_t i = 0; i < n; i += types[type].n, from += types[type].bytes)
        types[type].read(from, to + i);
}
