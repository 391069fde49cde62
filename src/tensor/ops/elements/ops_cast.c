/* The cast row: f32 to f16 or bf16 and back, by hand-packed bits. A 16-bit tensor of odd count
 * occupies its bytes rounded up to 4. The unpack rows: numbers in few bits (base/quant.h) become
 * f32, or 16 bits, all of them or the rows that ids name. What is packed has no gradient. The swap
 * row: the last two of three dimensions, images from pixels of channels to channels of pixels,
 * which is the order in which PyTorch flattens them. */
#include <math.h>

#include "base/quant.h"
#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

static bool cast_shape(vkt_node *n)
{
    vkt_dtype from = n->in[0]->dtype, to = n->attr.cast.to;
    bool down = from == VKT_F32 && (to == VKT_F16 || to == VKT_BF16),
         up = to == VKT_F32 && (from == VKT_F16 || from == VKT_BF16);
    if (!down && !up)
        return vkt__shape_error(n, "%s can't become %s: casts go between f32 and f16 or bf16",
                                vkt__text(n->in[0]), vkt_dtype_name(to));
    vkt__out(n, 0, n->in[0]->shape, to);
    return true;
}

static void cast_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[0], *y = n->out[0];
    struct cast_params p = { .x = vkt__addr(rec, x),
                             .y = vkt__addr(rec, y),
                             .n = (uint32_t)y->count };
    uint64_t floats = x->dtype == VKT_F32 ? p.x : p.y, halves = x->dtype == VKT_F32 ? p.y : p.x;
    bool wide = rec->caps->klass != VKT_GPU_CLASS_CPU && floats % 16 == 0 && halves % 8 == 0;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), each = wide ? 4 : 2;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_X, vkt__type(x) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(y) },
                                   { VKT_SPEC_WIDE, wide } };
    vkt__dispatch(rec, VKT_SHADER_CAST, spec, VKT_COUNT(spec), &p, sizeof p,
                  (y->count + (uint64_t)each * wg - 1) / ((uint64_t)each * wg));
}

/* The rounding is every output's: vkt__node_ref. */
static void cast_ref(const vkt_node *n, double *const *in, double *const *out)
{
    memcpy(out[0], in[0], n->out[0]->count * sizeof *out[0]);
}

static void cast_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (vkt__needs(n->in[0])) dx[0] = vkt_cast(g, vkt__real(g, dy[0], n->out[0]), n->in[0]->dtype);
}

static const char *cast_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t n;
        vkt_dtype to;
        float scale;
    } s[] = {
        { "f16 one", 1, VKT_F16, 1 },
        { "f16 odd", 1029, VKT_F16, 1 },
        { "f16 subnormal", 514, VKT_F16, 1e-6f },
        { "bf16 one", 1, VKT_BF16, 1 },
        { "bf16 odd", 1029, VKT_BF16, 1 },
        { "bf16 three more than fours", 1031, VKT_BF16, 1 },
        { "bf16 large", 514, VKT_BF16, 1e30f },
        { "f16 empty", 0, VKT_F16, 1 },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    /* a power of two scales exactly: the twin and the device round the same number */
    vkt_tensor *x =
        vkt_scale(g, vkt__sample1(g, s[i].n), (float)exp2(floor(log2((double)s[i].scale))));
    vkt_cast(g, vkt_cast(g, x, s[i].to), VKT_F32);
    return s[i].name;
}

const vkt_op vkt__op_cast = { .name = "cast",
                              .n_in = 1,
                              .n_out = 1,
                              .in = { VKT_NARROW | VKT_NARROW_ODD },
                              .shape = cast_shape,
                              .record = cast_record,
                              .grad = cast_grad,
                              .ref = cast_ref,
                              .sample = cast_sample };

vkt_tensor *vkt_cast(vkt_graph *g, vkt_tensor *x, vkt_dtype to)
{
    if (x->inert || x->dtype == to) return x;
    if (x->dtype == VKT_U32 || to == VKT_U32) {
        x = vkt__op(g, &vkt__op_convert, &x, 1, (vkt_attr) { 0 });
        return vkt_cast(g, x, to);
    }
    if (x->dtype != VKT_F32 && to != VKT_F32) x = vkt_cast(g, x, VKT_F32);
    return vkt__op(g, &vkt__op_cast, &x, 1, (vkt_attr) { .cast = { to } });
}

/* ---- unpack ---- */

enum { WORDS, IDS, AT_ONCE = 8 };

static bool unpack_shape(vkt_node *n)
{
    const vkt_tensor *words = n->in[WORDS], *ids = n->in[IDS];
    vkt_shape of = n->attr.unpack.shape, out = of;
    vkt_quant kind = n->attr.unpack.kind;
    if (words->count != vkt__quant_words(kind, vkt_shape_count(of)))
        return vkt__shape_error(n, "%s is not the words of numbers packed as %s", vkt__text(words),
                                vkt__quant_name(kind));
    if (n->op == &vkt__op_unpack_rows) {
        if (of.rank != 2 || of.d[0] == 0 || of.d[1] % AT_ONCE)
            return vkt__shape_error(n, "a table of %u columns has no rows that unpack alone",
                                    vkt__last(of));
        if (ids->shape.rank == 0 || ids->shape.rank >= VKT_MAX_RANK)
            return vkt__shape_error(n, "the ids %s must be [.., T] u32", vkt__text(ids));
        out = ids->shape;
        out.d[out.rank++] = of.d[1];
    }
    vkt__out(n, 0, out, VKT_F32);
    return true;
}

static void unpack_record(vkt__rec *rec, const vkt_node *n)
{
    vkt_shape of = n->attr.unpack.shape;
    bool rows = n->op == &vkt__op_unpack_rows;
    struct unpack_params p = { .x = vkt__addr(rec, n->in[WORDS]),
                               .ids = vkt__addr_or(rec, n->in[IDS], n->in[WORDS]),
                               .y = vkt__addr(rec, n->out[0]),
                               .n = (uint32_t)(n->out[0]->count / AT_ONCE),
                               .rows = rows ? of.d[0] : 1,
                               .cols = rows ? of.d[1] / AT_ONCE : 1 };
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 64);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_PACK, n->attr.unpack.kind },
                                   { VKT_SPEC_TYPE_Y, vkt__type(n->out[0]) },
                                   { VKT_SPEC_ROWS_OF, rows } };
    vkt__dispatch(rec, VKT_SHADER_UNPACK, spec, VKT_COUNT(spec), &p, sizeof p,
                  ((uint64_t)p.n + wg - 1) / wg);
}

static void unpack_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_shape of = n->attr.unpack.shape;
    uint64_t n_words = n->in[WORDS]->count, C = vkt__last(of), rows = n->out[0]->count / C;
    uint32_t *words = vkt__alloc((n_words + 1) * sizeof *words);
    float *row = vkt__alloc((C + 1) * sizeof *row);
    for (uint64_t i = 0; i < n_words; i++) words[i] = (uint32_t)in[WORDS][i];
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t id = in[IDS] ? (uint64_t)in[IDS][r] : r;
        memset(row, 0, C * sizeof *row);
        if (!in[IDS] || id < of.d[0]) vkt__dequantize(n->attr.unpack.kind, words, id * C, C, row);
        for (uint64_t c = 0; c < C; c++) out[0][r * C + c] = (double)row[c];
    }
    free(words);
    free(row);
}

/* Words that are not read cost nothing. */
static vkt_cost unpack_cost(const vkt_node *n)
{
    double y = (double)n->out[0]->count,
           share = y / (double)VKT_MAX(vkt_shape_count(n->attr.unpack.shape), 1);
    vkt_cost c = { y, (double)n->out[0]->bytes + share * (double)n->in[WORDS]->bytes };
    if (n->in[IDS]) c.bytes += (double)n->in[IDS]->bytes;
    return c;
}

static const char *unpack_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        vkt_quant kind;
        uint32_t rows, cols;
    } s[] = {
        { "f16", VKT_QUANT_F16, 3, 40 },           { "bf16", VKT_QUANT_BF16, 5, 24 },
        { "q8_0", VKT_QUANT_Q8_0, 9, 256 },        { "q4_0", VKT_QUANT_Q4_0, 8, 96 },
        { "nf4", VKT_QUANT_NF4, 33, 512 },         { "nf4, short rows", VKT_QUANT_NF4, 64, 8 },
        { "q4_k", VKT_QUANT_Q4_K, 5, 768 },        { "q6_k", VKT_QUANT_Q6_K, 6, 256 },
        { "nf4, tall", VKT_QUANT_NF4, 70000, 64 },
    };
    if (i >= VKT_COUNT(s) - (op == &vkt__op_unpack_rows)) return NULL; /* the tall one: of all */
    vkt_shape of = vkt_shape2(s[i].rows, s[i].cols);
    uint64_t n = vkt__quant_words(s[i].kind, vkt_shape_count(of));
    vkt_tensor *words =
        vkt__sample(g, vkt_shape1((uint32_t)n), VKT_U32, VKT_HINT_PACKED, s[i].kind);
    if (op == &vkt__op_unpack)
        vkt__unpack_all(g, words, s[i].kind, of);
    else /* an id past the table, too */
        vkt__unpack_rows(g, words, s[i].kind, of,
                         vkt__sample(g, vkt_shape2(3, 7), VKT_U32, VKT_HINT_INDEX, s[i].rows + 2));
    return s[i].name;
}

const vkt_op vkt__op_unpack = { .name = "unpack",
                                .n_in = 1,
                                .n_out = 1,
                                .in = { [WORDS] = VKT_WORDS },
                                .out = { VKT_NARROW },
                                .at_use = true,
                                .shape = unpack_shape,
                                .record = unpack_record,
                                .ref = unpack_ref,
                                .cost = unpack_cost,
                                .sample = unpack_sample };
const vkt_op vkt__op_unpack_rows = { .name = "unpack_rows",
                                     .n_in = 2,
                                     .n_out = 1,
                                     .in = { [WORDS] = VKT_WORDS, [IDS] = VKT_WORDS },
                                     .out = { VKT_NARROW },
                                     .shape = unpack_shape,
                                     .record = unpack_record,
                                     .ref = unpack_ref,
                                     .cost = unpack_cost,
                                     .sample = unpack_sample };

vkt_tensor *vkt__unpack_all(vkt_graph *g, vkt_tensor *words, vkt_quant kind, vkt_shape shape)
{
    return vkt__op(g, &vkt__op_unpack, &words, 1,
                   (vkt_attr) { .unpack = { .kind = kind, .shape = shape } });
}

vkt_tensor *vkt__unpack_rows(vkt_graph *g, vkt_tensor *words, vkt_quant kind, vkt_shape shape,
                             vkt_tensor *ids)
{
    return vkt__op(g, &vkt__op_unpack_rows, (vkt_tensor *[]) { words, ids }, 2,
                   (vkt_attr) { .unpack = { .kind = kind, .shape = shape } });
}

/* ---- swap ---- */

static bool swap_shape(vkt_node *n)
{
    const vkt_shape *s = &n->in[0]->shape;
    if (s->rank != 3) return vkt__shape_error(n, "%s must be [N, A, B]", vkt__text(n->in[0]));
    vkt__out(n, 0, (vkt_shape) { 3, { s->d[0], s->d[2], s->d[1] } }, VKT_F32);
    return true;
}

static void swap_record(vkt__rec *rec, const vkt_node *n)
{
    const uint32_t *d = n->in[0]->shape.d;
    struct swap_params p = { .x = vkt__addr(rec, n->in[0]),
                             .y = vkt__addr(rec, n->out[0]),
                             .n = d[0],
                             .a = d[1],
                             .b = d[2] };
    vkt__dispatch_each(rec, VKT_SHADER_SWAP, &p, sizeof p, (uint64_t)p.n * p.b, 64);
}

static void swap_ref(const vkt_node *n, double *const *in, double *const *out)
{
    const uint32_t *d = n->in[0]->shape.d;
    for (uint64_t i = 0; i < n->out[0]->count; i++) {
        uint64_t a = i % d[1], b = i / d[1] % d[2], image = i / d[1] / d[2];
        out[0][i] = in[0][(image * d[1] + a) * d[2] + b];
    }
}

static vkt_tensor *swap(vkt_graph *g, vkt_tensor *x)
{
    return vkt__op(g, &vkt__op_swap, &x, 1, (vkt_attr) { 0 });
}

static void swap_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    if (dy[0] && vkt__needs(n->in[0])) dx[0] = swap(g, vkt__real(g, dy[0], n->out[0]));
}

static const char *swap_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    (void)op;
    static const struct {
        const char *name;
        uint32_t d[3];
    } s[] = {
        { "one", { 1, 1, 1 } },     { "pixels and channels", { 3, 49, 33 } },
        { "tall", { 2, 3000, 2 } }, { "wide", { 2, 2, 3000 } },
        { "none", { 0, 4, 5 } },
    };
    if (i >= VKT_COUNT(s)) return NULL;
    swap(g, vkt__sample(g, (vkt_shape) { 3, { s[i].d[0], s[i].d[1], s[i].d[2] } }, VKT_F32,
                        VKT_HINT_NORMAL, 0));
    return s[i].name;
}

const vkt_op vkt__op_swap = { .name = "swap",
                              .n_in = 1,
                              .n_out = 1,
                              .shape = swap_shape,
                              .record = swap_record,
                              .grad = swap_grad,
                              .ref = swap_ref,
                              .sample = swap_sample };

vkt_tensor *vkt_flatten(vkt_graph *g, vkt_tensor *x)
{
    if (x->inert) return x;
    vkt_shape s = x->shape, flat = vkt_shape2(s.d[0], 1);
    for (uint32_t i = 1; i < s.rank; i++) flat.d[1] *= s.d[i];
    if (s.rank == 4 && s.d[3] > 1 && s.d[1] * s.d[2] > 1)
        x = swap(g, vkt_reshape(g, x, (vkt_shape) { 3, { s.d[0], s.d[1] * s.d[2], s.d[3] } }));
    return vkt_reshape(g, x, flat);
}
