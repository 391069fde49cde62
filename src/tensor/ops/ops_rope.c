/* The rotary embedding row, its own gradient with the angle turned round. Kernel rope.comp. */
#include <math.h>

#include "tensor/graph/gradient.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/ops/ops.h"

static bool rope_shape(vkt_node *n)
{
    const vkt_tensor *x = n->in[0], *table = n->in[1], *start = n->in[2], *docs = n->in[3];
    uint32_t D = n->attr.rope.head, C = vkt__last(x->shape);
    if (x->shape.rank < 2 || D == 0 || D % 2 || C % D || n->attr.rope.rotated > C / D)
        return vkt__shape_error(n, "%u heads of %u do not fit %s: [.., T, heads * even size]",
                                n->attr.rope.rotated, D, vkt__text(x));
    if (table->shape.rank != 2 || table->shape.d[1] != D ||
        table->shape.d[0] < x->shape.d[x->shape.rank - 2])
        return vkt__shape_error(n, "the table %s must have a row of %u for each of %u positions",
                                vkt__text(table), D, x->shape.d[x->shape.rank - 2]);
    if (start && (start->count != 1 || start->dtype != VKT_U32))
        return vkt__shape_error(n, "start %s must be [1] u32", vkt__text(start));
    if (docs && (docs->dtype != VKT_U32 || docs->count != vkt__rows_of(x->shape) || start))
        return vkt__shape_error(n,
                                "documents %s must be u32, one of each of %u rows, and without "
                                "a start",
                                vkt__text(docs), vkt__rows_of(x->shape));
    vkt__out(n, 0, x->shape, VKT_F32);
    return true;
}

static void rope_record(vkt__rec *rec, const vkt_node *n)
{
    const vkt_tensor *x = n->in[0];
    struct rope_params p = { .x = vkt__addr(rec, x),
                             .table = vkt__addr(rec, n->in[1]),
                             .start = vkt__addr_or(rec, n->in[2], n->in[1]),
                             .docs = vkt__addr_or(rec, n->in[3], n->in[1]),
                             .y = vkt__addr(rec, n->out[0]),
                             .n = (uint32_t)(x->count / 2),
                             .cols = vkt__last(x->shape),
                             .T = x->shape.d[x->shape.rank - 2],
                             .head = n->attr.rope.head,
                             .n_rot = n->attr.rope.head * n->attr.rope.rotated,
                             .n_pos = n->in[1]->shape.d[0] };
    p.flags = (n->attr.rope.halves ? VKT_ROPE_HALVES : 0) |
              (n->attr.rope.back ? VKT_ROPE_BACK : 0) | (n->in[2] ? VKT_ROPE_START : 0) |
              (n->in[3] ? VKT_ROPE_DOCS : 0);
    uint32_t wg = VKT_MIN(rec->caps->workgroup, 256);
    const vkt__constant spec[] = { { VKT_SPEC_WORKGROUP, wg } };
    vkt__dispatch(rec, VKT_SHADER_ROPE, spec, VKT_COUNT(spec), &p, sizeof p,
                  (p.n + wg - 1ull) / wg);
}

static void rope_ref(const vkt_node *n, double *const *in, double *const *out)
{
    vkt_shape s = n->in[0]->shape;
    uint64_t C = vkt__last(s), T = s.d[s.rank - 2], D = n->attr.rope.head, pairs = D / 2,
             P = n->in[1]->shape.d[0], rotated = D * n->attr.rope.rotated;
    for (uint64_t g = 0; g < n->in[0]->count / 2; g++) {
        uint64_t row = g / (C / 2), column = g % (C / 2) / pairs * D, i = g % pairs;
        uint64_t ia = row * C + column + (n->attr.rope.halves ? i : 2 * i),
                 ib = n->attr.rope.halves ? ia + pairs : ia + 1;
        uint64_t at =
            row % T + (in[2] ? (uint64_t)in[2][0] : 0) - (in[3] ? (uint64_t)in[3][row] : 0);
        at = VKT_MIN(at, P - 1);
        double a = in[0][ia], b = in[0][ib], c = 1, sn = 0;
        if (column < rotated) {
            c = in[1][at * D + i];
            sn = in[1][at * D + pairs + i] * (n->attr.rope.back ? -1 : 1);
        }
        out[0][ia] = a * c - b * sn;
        out[0][ib] = b * c + a * sn;
    }
}

static void rope_grad(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx)
{
    vkt_attr attr = n->attr;
    attr.rope.back = !attr.rope.back;
    if (vkt__needs(n->in[1]))
        vkt__shape_error(&(vkt_node) { .op = n->op, .g = g },
                         "no gradient of the table of angles: it is a constant");
    else if (vkt__needs(n->in[0]))
        dx[0] = vkt__op(
            g, &vkt__op_rope,
            (vkt_tensor *[]) { vkt__real(g, dy[0], n->out[0]), n->in[1], n->in[2], n->in[3] }, 4,
            attr);
}

static const char *rope_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static const struct {
        const char *name;
        uint32_t b, t, c, head, rotated;
        bool back, start;
        uint32_t doc;
    } s[] = {
        { "one pair", 1, 1, 2, 2, 1, false, false, 0 },
        { "two heads", 2, 5, 12, 6, 2, false, false, 0 },
        { "queries and keys, not values", 2, 7, 24, 4, 4, false, false, 0 },
        { "back", 3, 9, 16, 8, 2, true, false, 0 },
        { "from position 3", 1, 4, 16, 8, 2, false, true, 0 },
        { "documents", 2, 11, 24, 4, 4, false, false, 4 },
        { "documents, back", 2, 9, 16, 8, 2, true, false, 1 },
        { "many groups", 2, 130, 64, 16, 4, false, false, 0 },
        { "no rows", 0, 4, 8, 8, 1, false, false, 0 },
    };
    if (i >= 2 * VKT_COUNT(s)) return NULL;
    uint32_t k = i / 2;
    vkt_attr attr = { .rope = { s[k].head, s[k].rotated, i % 2, s[k].back } };
    vkt_tensor *x = vkt__sample(g, vkt_shape3(s[k].b, s[k].t, s[k].c), VKT_F32, VKT_HINT_NORMAL, 0),
               *table =
                   vkt__sample(g, vkt_shape2(s[k].t + 2, s[k].head), VKT_F32, VKT_HINT_POSITIVE, 0);
    vkt_tensor *start =
                   s[k].start ? vkt__sample(g, vkt_shape1(1), VKT_U32, VKT_HINT_CONSTANT, 3) : NULL,
               *docs = s[k].doc ? vkt__sample(g, vkt_shape2(s[k].b, s[k].t), VKT_U32,
                                              VKT_HINT_DOCUMENTS, s[k].doc)
                                : NULL;
    vkt__op(g, op, (vkt_tensor *[]) { x, table, start, docs }, 4, attr);
    return s[k].name;
}

const vkt_op vkt__op_rope = { .name = "rope",
                              .n_in = 4,
                              .n_out = 1,
                              .inplace = 1,
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

/* llama3: Grattafiori et al. 2024; waves shorter than a part of the first context stay, longer ones
 * are stretched, and between there is a line. */
double vkt__rope_frequency(uint32_t i, uint32_t head, double theta, const vkt_rope_scaling *s)
{
    double f = pow(theta, -2.0 * i / head);
    if (!s) return f;
    if (!s->llama3) return f / s->factor;
    double turns = s->context * f / (2 * 3.14159265358979323846);
    double keep = (turns - s->low) / (s->high - s->low);
    keep = fmin(fmax(keep, 0), 1);
    return keep * f + (1 - keep) * f / s->factor;
}

void vkt_rope_table(uint32_t positions, uint32_t head, double theta,
                    const vkt_rope_scaling *scaling, float *table)
{
    uint32_t pairs = head / 2;
    for (uint64_t p = 0; p < positions; p++)
        for (uint32_t i = 0; i < pairs; i++) {
            double angle = (double)p * vkt__rope_frequency(i, head, theta, scaling);
            table[p * head + i] = (float)cos(angle);
            table[p * head + pairs + i] = (float)sin(angle);
        }
}
