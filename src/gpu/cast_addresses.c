/* Quirk CAST_ADDRESSES: the driver ends the process over a cast of one buffer reference to another,
 * and takes one by way of two words. In GLSL that can be written, but optimisers of SPIR-V make one
 * cast of the two (SPIRV-Tools 2026.4 does, 2022.4 does not), so it is done when a shader is
 * loaded. Numbers are those of the SPIR-V specification. */
#include "gpu/cast_addresses.h"

enum {
    BOUND = 3,
    HEADER = 5,
    OP_TYPE_INT = 21,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_POINTER = 32,
    OP_BITCAST = 124,
    PHYSICAL_STORAGE_BUFFER = 5349,
    VECTOR = 4, /* words of an instruction */
    CAST = 4
};

/* What a module has: the types of a word and of two (0: none), where the word's ends, how many
 * casts of addresses. `is_address`: of each id, whether it is such a type. */
typedef struct casts {
    uint32_t word, pair;
    size_t after_word, n;
} casts;

static bool is_cast(const uint32_t *w, const bool *is_address)
{
    return (*w & 0xffff) == OP_BITCAST && is_address[w[1]];
}

static casts look(const uint32_t *code, size_t n, bool *is_address)
{
    casts c = { 0 };
    for (size_t at = HEADER; at < n && code[at] >> 16; at += code[at] >> 16) {
        const uint32_t *w = code + at, op = *w & 0xffff;
        if (op == OP_TYPE_INT && w[2] == 32 && w[3] == 0) {
            c.word = w[1];
            c.after_word = at + (*w >> 16);
        }
        if (op == OP_TYPE_VECTOR && w[2] == c.word && w[3] == 2) c.pair = w[1];
        if (op == OP_TYPE_POINTER) is_address[w[1]] = w[2] == PHYSICAL_STORAGE_BUFFER;
        c.n += is_cast(w, is_address);
    }
    VKT_ASSERT(c.word); /* each shader has a workgroup's number */
    return c;
}

uint32_t *vkt__cast_addresses(const uint32_t *code, size_t *words)
{
    size_t n = *words;
    uint32_t bound = code[BOUND];
    bool *is_address = vkt__alloc(bound * sizeof *is_address);
    casts c = look(code, n, is_address);
    uint32_t *out = vkt__alloc((n + VECTOR + c.n * CAST) * sizeof *out), *to = out;
    bool has_pair = c.pair != 0;
    if (!has_pair) c.pair = bound++;
    memcpy(to, code, HEADER * sizeof *out);
    to += HEADER;
    for (size_t at = HEADER, length; at < n && code[at] >> 16; at += length) {
        length = code[at] >> 16;
        if (at == c.after_word && !has_pair) {
            const uint32_t vector[VECTOR] = { VECTOR << 16 | OP_TYPE_VECTOR, c.pair, c.word, 2 };
            memcpy(to, vector, sizeof vector);
            to += VECTOR;
        }
        memcpy(to, code + at, length * sizeof *out);
        if (is_cast(code + at, is_address)) {
            const uint32_t halves[CAST] = { CAST << 16 | OP_BITCAST, c.pair, bound, code[at + 3] };
            memcpy(to, halves, sizeof halves);
            to += CAST;
            memcpy(to, code + at, length * sizeof *out);
            to[3] = bound++;
        }
        to += length;
    }
    out[BOUND] = bound;
    *words = (size_t)(to - out);
    free(is_address);
    return out;
}
