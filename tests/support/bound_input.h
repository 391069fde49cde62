/* Inputs of a graph with memory of their own, which is freed with the graph. */
#ifndef VKT_TESTS_BOUND_INPUT_H
#define VKT_TESTS_BOUND_INPUT_H

#include "tensor/graph/graph.h"
#include "testing.h"

static vkt_buffer *buffers[8];
static size_t n_buffers;
/* Until destroy(). */
static inline vkt_tensor *input(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, const void *data)
{
    vkt_tensor *t = vkt_input(g, shape, dtype, "input");
    assert_true(n_buffers < VKT_COUNT(buffers));
    REQUIRE_OK(vkt_buffer_create(
        g->gpu, &(vkt_buffer_desc) { vkt__align(t->bytes, 4), VKT_MEM_DEVICE, "test" },
        &buffers[n_buffers]));
    vkt_buffer *buf = buffers[n_buffers++];
    vkt_bind(t, VKT_ALL_SLOTS, buf, 0);
    REQUIRE_OK(vkt_buffer_write(g->gpu, buf, 0, data, t->bytes));
    return t;
}

static inline void destroy(vkt_graph **g)
{
    vkt_gpu *of = (*g)->gpu;
    vkt_graph_destroy(g);
    while (n_buffers) vkt_buffer_destroy(of, &buffers[--n_buffers]);
}

#endif
