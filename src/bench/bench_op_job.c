/* bench_op_job.h: a row's graph, its inputs, and memory for both. */
#include "base/quant.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "bench/bench_op_job.h"

bool vkt__op_job_input(const vkt_tensor *t)
{
    return !t->node && !t->view_of && t->name;
}

bool vkt__op_job_times(const vkt__op_job *j, const vkt_node *n)
{
    return n->op == j->op || (j->entry && j->entry->whole);
}

/* Values repeat after VKT__OP_PATTERN elements or a few less, whole superblocks of packed numbers:
 * large inputs are made fast, and the twin gets the same. */
uint64_t vkt__op_job_period(const vkt_tensor *t)
{
    bool packed = t->hint.kind == VKT_HINT_PACKED;
    uint64_t words = packed ? vkt__quant_words((vkt_quant)t->hint.limit, VKT__QUANT_BLOCK) : 1;
    return VKT__OP_PATTERN / words * words;
}

double vkt__op_job_value(vkt__op_job *j, const vkt_tensor *t, uint64_t i)
{
    if (j->table_of != t) {
        for (uint64_t k = 0; k < VKT_MIN(t->count, vkt__op_job_period(t)); k++)
            j->table[k] = vkt__sample_value(t, VKT__OP_SEED, k);
        j->table_of = (vkt_tensor *)(uintptr_t)t;
    }
    return j->table[i % vkt__op_job_period(t)];
}

/* The graph of the case, or with another m. */
vkt_graph *vkt__op_job_graph(const vkt__op_job *j, vkt__bench_shape s)
{
    if (j->entry) return vkt__bench_graph(j->b->gpu, j->entry, s, NULL);
    vkt_graph *g = vkt__graph_new(j->b->gpu);
    j->op->sample(j->op, g, j->sample);
    return g;
}

vkt_graph *vkt__op_job_twin(const vkt__op_job *j)
{
    vkt__bench_shape s = j->s;
    if (j->checked) s.m = j->checked;
    return vkt__op_job_graph(j, s);
}

vkt_status vkt__op_set_create(vkt__op_job *j, vkt__op_set *s)
{
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = j->b->gpu;
    s->g = vkt__op_job_graph(j, j->s);
    VKT_TRY(s->g->status);
    uint64_t at = 0;
    for (size_t i = 0; i < s->g->n_tensors; i++)
        if (vkt__op_job_input(s->g->tensors[i]))
            at += vkt__align(s->g->tensors[i]->bytes + 16, 256);
    if (!j->host) {
        j->in_bytes = at;
        j->host = vkt__alloc(at + 256);
    }
    VKT_TRY(vkt_buffer_create(
        gpu, &(vkt_buffer_desc) { VKT_MAX(at, 256), VKT_MEM_DEVICE, "bench inputs" }, &s->inputs));
    bool first = s == &j->sets[0];
    at = 0;
    for (size_t i = 0; i < s->g->n_tensors; i++) {
        vkt_tensor *t = s->g->tensors[i];
        if (!vkt__op_job_input(t)) continue;
        vkt_bind(t, VKT_ALL_SLOTS, s->inputs, at);
        uint64_t pattern = vkt__op_job_period(t);
        for (uint64_t k = 0; first && k < t->count; k++)
            if (k < pattern)
                vkt__sample_encode(t, k, vkt__op_job_value(j, t, k), j->host + at);
            else
                memcpy(j->host + at + k * vkt_dtype_bytes(t->dtype),
                       j->host + at + k % pattern * vkt_dtype_bytes(t->dtype),
                       vkt_dtype_bytes(t->dtype));
        at += vkt__align(t->bytes + 16, 256);
    }
    for (size_t k = 0; k < s->g->n_nodes; k++) /* what nobody reads is made, too */
        for (uint32_t i = 0; i < VKT_MAX_OUT && vkt__op_job_times(j, s->g->nodes[k]); i++)
            if (s->g->nodes[k]->out[i]) s->g->nodes[k]->out[i]->kept = true;
    if (at) VKT_TRY(vkt_buffer_write(gpu, s->inputs, 0, j->host, at));
    VKT_TRY(vkt_graph_compile(s->g, &(vkt_plan_desc) { .no_reuse = true, .label = "bench op" }));
    VKT_TRY(vkt_graph_run(s->g));
fail:
    return st;
}

void vkt__op_set_destroy(vkt__op_job *j, vkt__op_set *s)
{
    vkt_graph_destroy(&s->g);
    vkt_buffer_destroy(j->b->gpu, &s->inputs);
}
