/* vktrain tensor layer: a static graph of ops with reverse-mode gradients, planned into one slab of
 * device memory, recorded once and submitted many times.
 *
 * Shape letters: B batch, R rows, C channels, M/N rows/columns of a product, K its inner size.
 * Row-major, last dimension fastest. Wrong shapes are latched: the builder returns an inert tensor,
 * later ops pass it on, vkt_graph_compile returns SHAPE and the first error was logged with the op
 * and both shapes. Builders never return NULL; tensors belong to their graph.
 *
 * Threads: as the gpu of the graph: one thread at a time. A graph without a gpu: one thread at a
 * time. Aborts: binding at an offset that is not a multiple of 16, past the buffer's end or to a
 * view; running a graph that was not compiled or has an unbound input; reading or writing beyond a
 * tensor; using a tensor of another graph; building after planning; a second vkt_backward.
 * Ownership: tensors belong to their graph; buffers bound to a graph belong to the caller and must
 * outlive it.
 *
 * Example: y = relu(x w^T) and dw, where `gpu` is open and a buffer holds x and, from byte 256, w.
 *
 *     vkt_graph *g;
 *     vkt_graph_create(gpu, &g);
 *     vkt_tensor *x = vkt_input(g, vkt_shape2(8, 4), VKT_F32, "x"), *dw;
 *     vkt_tensor *w = vkt_input(g, vkt_shape2(3, 4), VKT_F32, "w");
 *     vkt_bind(x, VKT_ALL_SLOTS, buffer, 0);
 *     vkt_bind(w, VKT_ALL_SLOTS, buffer, 256);
 *     vkt_tensor *y = vkt_linear(g, x, w, NULL, VKT_ACT_RELU); // [8, 3]
 *     vkt_backward(g, y, &w, 1, &dw);                          // d sum(y) / dw: [3, 4]
 *     vkt_keep(dw, "dw");                                      // else its memory is reused
 *     vkt_plan_desc plan = { 1 };                              // a copy of the graph
 *     vkt_status st = vkt_graph_compile(g, &plan);             // says here if a shape is wrong
 *     if (st == VKT_OK) st = vkt_graph_run(g);                 // as often as you like
 */
#ifndef VKTRAIN_TENSOR_H
#define VKTRAIN_TENSOR_H

#include "vktrain/tensor_graph.h"
#include "vktrain/tensor_kernels.h"
#include "vktrain/tensor_ops.h"

#endif
