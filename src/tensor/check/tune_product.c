/* tune_product.h */
#include "tensor/check/tune_product.h"
#include "tensor/graph/graph.h"
#include "tensor/ops/matmul/ops_matmul.h"

/* The epilogue is the graph's: what a kernel does to its sums may decide which is the fastest. */
static void build(const vkt_tune_shape *s, vkt_gpu *gpu, uint32_t kernel, uint32_t sets,
                  uint32_t copies, vkt__tuned *c)
{
    vkt_layout l = s->layout;
    vkt_graph *g = c->g = vkt__graph_new(gpu);
    const vkt_op *op = s->derivative ? &vkt__op_matmul_act_bwd : &vkt__op_matmul;
    const vkt_attr attr = { .matmul = {
                                .layout = l, .act = s->act, .out = s->out, .kernel = kernel } };
    vkt_shape a = l == VKT_LAYOUT_TN ? vkt_shape2(s->K, s->M) : vkt_shape2(s->M, s->K),
              b = l == VKT_LAYOUT_NT ? vkt_shape2(s->N, s->K) : vkt_shape2(s->K, s->N),
              result = vkt_shape2(s->M, s->N);
    for (uint32_t i = 0; i < sets; i++) {
        vkt_tensor **in = c->in[i];
        in[0] = vkt_input(g, a, s->in, "a");
        in[1] = vkt_input(g, b, s->in, "b");
        if (s->bias) in[VKT__MM_IN_BIAS] = vkt_input(g, vkt_shape1(s->N), VKT_F32, "bias");
        if (s->derivative) in[VKT__MM_IN_V] = vkt_input(g, result, s->out, "v");
        if (s->residual) in[VKT__MM_IN_R] = vkt_input(g, result, s->out, "r");
    }
    c->copies = copies;
    for (uint32_t i = 0; i < copies; i++)
        c->out = vkt__op(g, op, c->in[i % sets], VKT__TUNE_INPUTS, attr);
    vkt_keep(c->out, "c");
}

vkt_status vkt__tune_product_open(vkt_gpu *gpu, const vkt_tune_shape *s, vkt__tune_product *out)
{
    vkt__tuned shape = { 0 };
    *out = (vkt__tune_product) { .gpu = gpu, .s = *s };
    build(s, NULL, 0, 1, 1, &shape);
    vkt__log_quiet(true);
    vkt_status st = vkt__tune_fill(gpu, &shape, false, &out->in);
    vkt__log_quiet(false);
    if (st == VKT_OK) vkt__tune_want(s, &out->in, &out->wants);
    vkt_graph_destroy(&shape.g);
    return st;
}

void vkt__tune_product_close(vkt__tune_product *p)
{
    vkt__tune_wants_free(&p->wants);
    vkt__tune_free(p->gpu, &p->in);
}

void vkt__tune_product_wish(const vkt__tune_product *p, uint32_t kernel)
{
    vkt__tuned c = { 0 };
    build(&p->s, p->gpu, kernel, 1, 1, &c);
    vkt__tune_wish(&p->in, &c);
    vkt_graph_destroy(&c.g);
}

vkt_status vkt__tune_product_run(const vkt__tune_product *p, uint32_t kernel, vkt__tuned *c,
                                 double *share)
{
    vkt_status st = VKT_OK;
    void *data = NULL;
    build(&p->s, p->gpu, kernel, p->in.sets, p->in.copies, c);
    VKT_TRY(vkt__tune_compile(&p->in, c));
    VKT_TRY(vkt_graph_run(c->g));
    data = vkt__alloc(vkt__align(c->out->bytes, 4));
    VKT_TRY(vkt_tensor_read(c->out, 0, data, c->out->bytes));
    *share = vkt__tune_share(&p->s, &p->wants, kernel, c->out, data);
fail:
    free(data);
    return st;
}
