/* Every shader of this build declares the capabilities that its instructions need, and no others:
 * drivers have crashed in what a declaration leads to (gpu/apart.h). Numbers are SPIR-V's. */
#include <zlib.h>

#include "testing.h"

#include "base/embedded.h"
#include "gpu/specialization.h"
#include "tensor/graph/graph.h"

enum {
    OP_MEMORY_MODEL = 14,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_CONSTANT = 43,
    OP_DECORATE = 71,
    OP_F_CONVERT = 115,
    OP_TYPE_MATRIX = 4456,
    BUILT_IN = 11,
    BFLOAT16 = 0, /* encoding of a float's type */
    MOST_IDS = 1 << 18
};

/* What stands in a module: a row a kind of need, the ranges' ends included. */
typedef enum {
    ALWAYS,
    MEMORY_MODEL,  /* a: the model */
    ADDRESSING,    /* a: the model */
    OPCODES,       /* a..b */
    BUILT_INS,     /* a..b */
    INT_TYPE,      /* a: bits */
    FLOAT_TYPE,    /* a: bits, b: encoding or -1 */
    SMALL_TYPE,    /* of a bits, whole or not: what lies in memory */
    BF16_MATRIX,   /* a matrix of such */
    CONVERTED_USE, /* a matrix is made one of another use */
} need;

static const struct {
    uint32_t capability;
    const char *name;
    need need;
    int32_t a, b;
} rows[] = {
    { 1, "Shader", ALWAYS, 0, 0 },
    { 9, "Float16", FLOAT_TYPE, 16, -1 },
    { 11, "Int64", INT_TYPE, 64, 0 },
    { 61, "GroupNonUniform", OPCODES, 333, 366 },
    { 61, "GroupNonUniform", BUILT_INS, 36, 41 }, /* SubgroupSize to SubgroupLocalInvocationId */
    { 62, "GroupNonUniformVote", OPCODES, 334, 336 },
    { 63, "GroupNonUniformArithmetic", OPCODES, 349, 364 },
    { 64, "GroupNonUniformBallot", OPCODES, 337, 344 },
    { 65, "GroupNonUniformShuffle", OPCODES, 345, 346 },
    { 4433, "StorageBuffer16BitAccess", SMALL_TYPE, 16, 0 },
    { 4448, "StorageBuffer8BitAccess", SMALL_TYPE, 8, 0 },
    { 5116, "BFloat16TypeKHR", FLOAT_TYPE, 16, BFLOAT16 },
    { 5118, "BFloat16CooperativeMatrixKHR", BF16_MATRIX, 0, 0 },
    { 5345, "VulkanMemoryModel", MEMORY_MODEL, 3, 0 },
    { 5347, "PhysicalStorageBufferAddresses", ADDRESSING, 5348, 0 },
    { 5430, "CooperativeMatrixReductionsNV", OPCODES, 5366, 5366 },
    { 5431, "CooperativeMatrixConversionsNV", CONVERTED_USE, 0, 0 },
    { 5432, "CooperativeMatrixPerElementOperations", OPCODES, 5369, 5369 },
    { 5433, "CooperativeMatrixTensorAddressingNV", OPCODES, 5367, 5368 },
    { 5439, "TensorAddressingNV", OPCODES, 5370, 5377 },
    { 6022, "CooperativeMatrixKHR", OPCODES, OP_TYPE_MATRIX, 4460 },
};

typedef struct {
    const uint32_t *w;
    size_t n;
    uint32_t *types;  /* of values that are converted, by id */
    uint32_t *values; /* of constants, by id */
} module;

/* Those whose results may be matrices. */
static bool has_a_matrix_as_result(uint32_t op)
{
    return op == 61 || op == 80 || op == OP_F_CONVERT || op == 245 || op == 57 || op == 5366 ||
           op == 5369 || (op >= 4457 && op <= 4459) || (op >= 126 && op <= 142);
}

/* The instruction that makes the type; NULL: none does. */
static const uint32_t *type_at(const module *m, uint32_t id)
{
    for (size_t at = 5; at < m->n; at += m->w[at] >> 16)
        if (m->w[at + 1] == id && (m->w[at] & 0xffff) >= 19 &&
            ((m->w[at] & 0xffff) <= 33 || (m->w[at] & 0xffff) == OP_TYPE_MATRIX))
            return m->w + at;
    return NULL;
}

static bool is_bf16(const uint32_t *type)
{
    return type && (type[0] & 0xffff) == OP_TYPE_FLOAT && type[2] == 16 && type[0] >> 16 > 3 &&
           type[3] == BFLOAT16;
}

static uint32_t use_of(const module *m, uint32_t type_id)
{
    const uint32_t *type = type_at(m, type_id);
    return type && (type[0] & 0xffff) == OP_TYPE_MATRIX ? m->values[type[6]] : UINT32_MAX;
}

static bool stands_in(const module *m, const uint32_t *i, size_t row)
{
    uint32_t op = i[0] & 0xffff, length = i[0] >> 16;
    int32_t a = rows[row].a, b = rows[row].b;
    switch (rows[row].need) {
    case ALWAYS:
        return true;
    case MEMORY_MODEL:
        return op == OP_MEMORY_MODEL && i[2] == (uint32_t)a;
    case ADDRESSING:
        return op == OP_MEMORY_MODEL && i[1] == (uint32_t)a;
    case OPCODES:
        return op >= (uint32_t)a && op <= (uint32_t)b;
    case BUILT_INS:
        return op == OP_DECORATE && i[2] == BUILT_IN && i[3] >= (uint32_t)a && i[3] <= (uint32_t)b;
    case INT_TYPE:
        return op == OP_TYPE_INT && i[2] == (uint32_t)a;
    case FLOAT_TYPE:
        return op == OP_TYPE_FLOAT && i[2] == (uint32_t)a &&
               (b < 0 ? length == 3 : length > 3 && i[3] == (uint32_t)b);
    case SMALL_TYPE:
        return (op == OP_TYPE_INT || op == OP_TYPE_FLOAT) && i[2] == (uint32_t)a;
    case BF16_MATRIX:
        return op == OP_TYPE_MATRIX && is_bf16(type_at(m, i[2]));
    case CONVERTED_USE:
        return op == OP_F_CONVERT && use_of(m, i[1]) != use_of(m, m->types[i[3]]);
    }
    return false;
}

static bool needs(const module *m, size_t row)
{
    for (size_t at = 5; at < m->n; at += m->w[at] >> 16)
        if (stands_in(m, m->w + at, row)) return true;
    return false;
}

/* "Name, Name" of the capabilities that `m` declares and does not need, into out. */
static void not_needed(module *m, vkt__str *out)
{
    for (size_t at = 5; at < m->n; at += m->w[at] >> 16) {
        uint32_t op = m->w[at] & 0xffff;
        assert_true(m->w[at] >> 16 > 0 && at + (m->w[at] >> 16) <= m->n);
        if (op == OP_CONSTANT) m->values[m->w[at + 2]] = m->w[at + 3];
        if (has_a_matrix_as_result(op)) m->types[m->w[at + 2]] = m->w[at + 1];
    }
    for (size_t at = 5; (m->w[at] & 0xffff) == OP_CAPABILITY; at += 2) {
        bool known = false, needed = false;
        const char *name = "?";
        for (size_t r = 0; r < VKT_COUNT(rows); r++) {
            if (rows[r].capability != m->w[at + 1]) continue;
            known = true;
            name = rows[r].name;
            needed |= needs(m, r);
        }
        if (!needed)
            vkt__str_printf(out, " %s (%u%s)", name, m->w[at + 1], known ? "" : ", without a row");
    }
}

static module unpack(const vkt__embedded_file *f, uint32_t **code)
{
    uLongf bytes = f->bytes;
    *code = malloc(bytes);
    assert_int_equal(uncompress((Bytef *)*code, &bytes, f->data, f->stored), Z_OK);
    module m = { *code, bytes / 4, calloc(MOST_IDS, 4), calloc(MOST_IDS, 4) };
    assert_true(m.w[3] <= MOST_IDS);
    return m;
}

static void shaders_declare_what_they_need(void **state)
{
    (void)state;
    size_t n = 0;
    for (uint32_t i = 0; i < VKT_N_SHADERS; i++) {
        const vkt__embedded_file *f = &vkt__embedded_shaders[i];
        uint32_t *code;
        vkt__str extra = { 0 };
        if (!f->data) continue; /* of matrix units, where the build has none */
        module m = unpack(f, &code);
        not_needed(&m, &extra);
        if (extra.len) print_error("%s declares and does not use%s\n", f->name, extra.data);
        n += extra.len > 0;
        vkt__str_finish(&extra);
        free(m.types);
        free(m.values);
        free(code);
    }
    assert_int_equal(n, 0);
}

/* Each row is seen to tell: its capability in a module of nothing else. */
static void an_empty_shader_needs_nothing(void **state)
{
    (void)state;
    for (size_t r = 0; r < VKT_COUNT(rows); r++) {
        uint32_t w[] = { 0x07230203,
                         0x10000,
                         0,
                         8,
                         0,
                         2u << 16 | OP_CAPABILITY,
                         rows[r].capability,
                         3u << 16 | OP_MEMORY_MODEL,
                         0,
                         1 };
        module m = { w, VKT_COUNT(w), calloc(MOST_IDS, 4), calloc(MOST_IDS, 4) };
        vkt__str extra = { 0 };
        not_needed(&m, &extra);
        assert_true((extra.len > 0) == (rows[r].need != ALWAYS));
        vkt__str_finish(&extra);
        free(m.types);
        free(m.values);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shaders_declare_what_they_need),
        cmocka_unit_test(an_empty_shader_needs_nothing),
    };
    return cmocka_run_group_tests_name("capabilities", tests, NULL, NULL);
}
