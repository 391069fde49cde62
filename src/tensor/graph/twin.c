/* Running a graph by its C twins, in double, on host memory. */
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/value.h"
#include "tensor/graph/view.h"

/* One host array per planned tensor; bound tensors that share a buffer share one array for each
 * size of element. */
typedef struct {
    const vkt_buffer *buf;
    uint32_t element_bytes;
    double *data;
} bound_array;

void vkt__node_ref(const vkt_node *n, double *const *in, double *const *out)
{
    n->op->ref(n, in, out);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        for (uint64_t k = 0; n->out[i] && n->out[i]->dtype != VKT_F32 && k < n->out[i]->count; k++)
            out[i][k] = vkt__round_to(n->out[i]->dtype, out[i][k]);
}

void vkt__graph_ref(vkt_graph *g, void (*init)(void *user, const vkt_tensor *t, double *data),
                    void *user, void (*done)(void *user, const vkt_tensor *t, const double *data))
{
    double **data = vkt__alloc(g->n_tensors * sizeof *data);
    bound_array *bound = vkt__alloc(g->n_tensors * sizeof *bound);
    size_t n_bound = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->inert || t->view_of || t == g->ones) continue;
        if (!t->bound) {
            data[i] = vkt__alloc(t->count * sizeof(double));
            continue;
        }
        uint32_t each = vkt_dtype_bytes(t->dtype);
        size_t b = 0;
        while (b < n_bound && (bound[b].buf != t->buf[0] || bound[b].element_bytes != each)) b++;
        if (b == n_bound)
            bound[n_bound++] =
                (bound_array) { t->buf[0], each,
                                vkt__alloc(t->buf[0]->bytes / each * sizeof(double)) };
        data[i] = bound[b].data + t->buf_offset[0] / each;
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        if (data[i] && !g->tensors[i]->node) init(user, g->tensors[i], data[i]);
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        double *in[VKT_MAX_IN] = { 0 }, *out[VKT_MAX_OUT] = { 0 };
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (n->in[i]) in[i] = data[vkt__root(n->in[i])->index] + vkt__view_at(n->in[i]);
        for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
            if (n->out[i]) out[i] = data[vkt__root(n->out[i])->index] + vkt__view_at(n->out[i]);
        vkt__node_ref(n, in, out);
    }
    for (size_t i = 0; i < g->n_tensors && done; i++) {
        const double *d = data[vkt__root(g->tensors[i])->index];
        if (d) done(user, g->tensors[i], d + vkt__view_at(g->tensors[i]));
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!g->tensors[i]->bound) free(data[i]);
    for (size_t b = 0; b < n_bound; b++) free(bound[b].data);
    free(bound);
    free(data);
}
