/* The rotary embedding row, its own gradient with the angle turned round. Kernel rope.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

enum { X, TABLE, START, DOCS, N_IN };

static bool rope_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[X], *table = n->in[TABLE], *start = n->in[START],
                     *docs = n->in[DOCS];
    uint32_t D = n->attr.rope.head, C = vkt__last(x->shape);
    if (x->shape.rank < 2 || D == 0 || D % 2 || C % D || n->attr.rope.rotated > C / D)
        return vkt__shape_error(n, "%u heads of %u do not fit %s: [.., T, heads * even size]",
                                n->attr.rope.rotated, D, vkt__text(x));
    uint32_t turning = vkt__last(table->shape);
    if (table->shape.rank != 2 || turning == 0 || turning % 2 || turning > D ||
        table->shape.d[0] < x->shape.d[x->shape.rank - 2])
        return vkt__shape_error(n,
                                "the table %s must have a row for each of %u positions, of an even "
                                "number up to %u",
                                vkt__text(table), x->shape.d[x->shape.rank - 2], D);
    if (start && start->count != 1)
        return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(start));
    if (docs && (docs->count != vkt__rows_of(x->shape) || start))
        return vkt__shape_error(n,
                                "documents %s must be u32, one of each of %u rows, and without "
                                "a start",
                                vkt__text(docs), vkt__rows_of(x->shape));
    vkt__out(n, 0, x->shape, VKT_F32);
    return true;
}

static void rope_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[X];
    struct rope_params p = { .x = vkt__addr(rec, x),
                             .table = vkt__addr(rec, n->in[TABLE]),
                             .start = vkt__addr_or(rec, n->in[START], n->in[TABLE]),
                             .docs = vkt__addr_or(rec, n->in[DOCS], n->in[TABLE]),
                             .y = vkt__addr(rec, n->out[0]),
                             .n = (uint32_t)(x->count / 2),
                             .cols = vkt__last(x->shape),
                             .T = x->shape.d[x->shape.rank - 2],
                             .head = n->attr.rope.head,
                             .n_rot = n->attr.rope.head * n->attr.rope.rotated,
                             .turning = vkt__last(n->in[TABLE]->shape),
                             .n_pos = n->in[TABLE]->shape.d[0] };
    p.flags = (n->attr.rope.halves ? VKT_ROPE_HALVES : 0) |
              (n->attr.rope.back ? VKT_ROPE_BACK : 0) | (n->in[START] ? VKT_ROPE_START : 0) |
              (n->in[DOCS] ? VKT_ROPE_DOCS : 0);
    bool narrow = x->dtype != VKT_F32 || n->out[0]->dtype != VKT_F32;
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256), each = narrow ? 2 * wg : wg;
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg },
                                   { VKT_SPEC_TYPE_X, vkt__type(x) },
                                   { VKT_SPEC_TYPE_Y, vkt__type(n->out[0]) } };
    vkt__dispatch(rec, VKT_SHADER_ROPE, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + each - 1ull) / each);
}

/* Two pairs at a time are of one head, and both turn or none. */
static bool rope_can_narrow(const vkt_node *n, vkt_dtype type)
{
    (void)type;
    return n->attr.rope.head % 4 == 0 && vkt__last(n->in[TABLE]->shape) % 4 == 0;
}

static void rope_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_shape s = n->in[X]->shape;
    uint64_t C = vkt__last(s), T = s.d[s.rank - 2], D = n->attr.rope.head, pairs = D / 2,
             P = n->in[TABLE]->shape.d[0], rotated = D * n->attr.rope.rotated,
             turning = vkt__last(n->in[TABLE]->shape), turning_pairs = turning / 2;
    for (uint64_t g = 0; g < n->in[X]->count / 2; g++) {
        uint64_t row = g / (C / 2), column = g % (C / 2) / pairs * D, i = g % pairs;
        bool halves = n->attr.rope.halves && i < turning_pairs;
        uint64_t ia = row * C + column + (halves ? i : 2 * i),
                 ib = halves ? ia + turning_pairs : ia + 1;
        uint64_t at = row % T + (in[START] ? (uint64_t)in[START][0] : 0) -
                      (in[DOCS] ? (uint64_t)in[DOCS][row] : 0);
        at = VKT_MIN(at, P - 1);
        double a = in[X][ia], b = in[X][ib], c = 1, sn = 0;
        if (column < rotated && i < turning_pairs) {
            c = in[TABLE][at * turning + i];
            sn = in[TABLE][at * turning + turning_pairs + i] * (n->attr.rope.back ? -1 : 1);
        }
        out[0][ia] = a * c - b * sn;
        out[0][ib] = b * c + a * sn;
    }
}

static void rope_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr attr = n->attr;
    attr.rope.back = !attr.rope.back;
    if (vkt__needs(n->in[TABLE]))
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g },
                         "no gradient of the table of angles: it is a constant");
    else if (vkt__needs(n->in[X]))
        dx[0] = vkt__op(g, &vkt__op_rope,
                        (vkt_tensor *[]) { vkt__real(g, dy[0], n->out[0]), n->in[TABLE],
                                           n->in[START], n->in[DOCS] },
                        4, attr);
}

static const char *rope_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t b, t, c, head, rotated;
        bool back, start;
        uint32_t doc, turning; /* 0: all */
    } s[] = {
        { "one pair", 1, 1, 2, 2, 1, false, false, 0, 0 },
        { "two heads", 2, 5, 12, 6, 2, false, false, 0, 0 },
        { "queries and keys, not values", 2, 7, 24, 4, 4, false, false, 0, 0 },
        { "back", 3, 9, 16, 8, 2, true, false, 0, 0 },
        { "from position 3", 1, 4, 16, 8, 2, false, true, 0, 0 },
        { "documents", 2, 11, 24, 4, 4, false, false, 4, 0 },
        { "documents, back", 2, 9, 16, 8, 2, true, false, 1, 0 },
        { "many groups", 2, 130, 64, 16, 4, false, false, 0, 0 },
        { "a part of each head", 2, 7, 36, 12, 2, false, false, 0, 6 },
        { "two of a head, back, documents", 2, 7, 24, 8, 3, true, false, 3, 2 },
        { "no rows", 0, 4, 8, 8, 1, false, false, 0, 0 },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    uint32_t k = i / 2;
    vkt_attr attr = { .rope = { s[k].head, s[k].rotated, i % 2, s[k].back } };
    vkt_tensor *x = vkt__sample(g, vkt_shape3(s[k].b, s[k].t, s[k].c), VKT_F32, VKT_HINT_NORMAL, 0),
               *table =
                   vkt__sample(g, vkt_shape2(s[k].t + 2, s[k].turning ? s[k].turning : s[k].head),
                               VKT_F32, VKT_HINT_POSITIVE, 0);
    vkt_tensor *start =
                   s[k].start ? vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, 3) : NULL,
               *docs = s[k].doc ? vkt__sample(g, vkt_shape2(s[k].b, s[k].t), VKT_U32,
                                              VKT_HINT_DOCUMENTS, s[k].doc)
                                : NULL;
    vkt__op(g, op, (vkt_tensor *[]) { x, table, start, docs }, 4, attr);
    return s[k].name;
}

const vkt_op vkt__op_rope = { .name = "rope",
                              .n_in = N_IN,
                              .n_out = 1,
                              .in = { [X] = VKT_INPLACE | VKT_MAY_NARROW | VKT_MAY_ALIKE,
                                      [START] = VKT_OPTIONAL | VKT_WORDS,
                                      [DOCS] = VKT_OPTIONAL | VKT_WORDS },
                              .out = { VKT_INPLACE | VKT_MAY_NARROW },
                              .can_narrow = rope_can_narrow,
                              .shape = rope_shape,
                              .record = rope_record,
                              .grad = rope_grad,
                              .ref = rope_ref,
                              .sample = rope_sample };

vkt_tensor *vkt_rope(vkt_graph *g, vkt_tensor *x, vkt_tensor *table, vkt_tensor *docs,
                     vkt_tensor *start, const vkt_rope_desc *desc)
{
    vkt_attr attr = { .rope = { desc->head, desc->heads, desc->layout == VKT_ROPE_HALF, false } };
    return vkt__op(g, &vkt__op_rope, (vkt_tensor *[]) { x, table, start, docs }, 4, attr);
}

/* Which angle turns so often in the first context: theta^(-2i/R) context = 2 pi turns. */
static double angle_that_turns(double turns, uint32_t turning, double theta, uint32_t context)
{
    return turning * log(context / (turns * 2 * 3.14159265358979323846)) / (2 * log(theta));
}

/* The share of angle i's own frequency; the rest is divided by the factor. */
static double kept_of(uint32_t i, double f, uint32_t turning, double theta,
                      const vkt_rope_scaling *s)
{
    if (s->kind == VKT_ROPE_LLAMA3) {
        double turns = s->context * f / (2 * 3.14159265358979323846);
        return (turns - s->low) / (s->high - s->low);
    }
    double first = angle_that_turns(s->high, turning, theta, s->context),
           last = angle_that_turns(s->low, turning, theta, s->context);
    if (!s->exact) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, turning - 1.0);
    if (first == last) last += 0.001; /* as published */
    return 1 - (i - first) / (last - first);
}

double vkt__rope_frequency(uint32_t i, uint32_t turning, double theta, const vkt_rope_scaling *s)
{
    double f = pow(theta, -2.0 * i / turning);
    if (!s) return f;
    if (s->kind == VKT_ROPE_LONGROPE) return f / (double)s->factors[i];
    if (s->kind == VKT_ROPE_LINEAR) return f / s->factor;
    double keep = fmin(fmax(kept_of(i, f, turning, theta, s), 0), 1);
    return keep * f + (1 - keep) * f / s->factor;
}

void vkt_rope_table(uint32_t positions, uint32_t turning, double theta,
                    const vkt_rope_scaling *scaling, float *table)
{
    uint32_t pairs = turning / 2;
    double length = scaling && scaling->attention > 0 ? scaling->attention : 1;
    for (uint64_t p = 0; p < positions; p++)
        for (uint32_t i = 0; i < pairs; i++) {
            double angle = (double)p * vkt__rope_frequency(i, turning, theta, scaling);
            table[p * turning + i] = (float)(length * cos(angle));
            table[p * turning + pairs + i] = (float)(length * sin(angle));
        }
}
