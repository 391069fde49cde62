/* A graph rewrite, and what rewrites ask of the graph and do to its nodes. */
#ifndef VKT_TENSOR_PASS_H
#define VKT_TENSOR_PASS_H

#include "tensor/graph/graph.h"
#include "tensor/graph/uses.h"

/* Whoever changes what a node of the list reads or writes calls vkt__uses_changed for it (uses.h);
 * a node that is taken out needs no call. */
typedef struct vkt__pass {
    const char *name; /* what it does, for explain */
    /* Whether it needs the whole graph, gradients included, and runs at planning; others run before
     * differentiation, so that the gradient is that of the rewritten graph. */
    bool whole;
    /* Rewrites what it finds and returns how often. training: gradients will follow, or have. */
    uint32_t (*run)(vkt_graph *g, bool training);
} vkt__pass;

/* Calls `at` on every node in order; counts what it returns true for. `at` may remove nodes. */
uint32_t vkt__each_node(vkt_graph *g, bool training,
                        bool (*at)(vkt_graph *g, vkt_node *n, bool training));
/* Takes a node out: it reads and writes nothing any more. It leaves the list when its pass ends. */
void vkt__remove_node(vkt_node *n);
/* A tensor that no node makes any more. */
void vkt__remove_tensor(vkt_tensor *t);
/* Makes t a view of all of `of`, which is kept if t was, and its gradient is asked for if t's was.
 */
void vkt__make_view(vkt_tensor *t, vkt_tensor *of);
/* Takes out the nodes from place `first` on that nobody needs: whose results no other node reads,
 * and which are neither kept nor bound, nor one of the n `results`. For whoever builds more than
 * is used. */
void vkt__drop_unread(vkt_graph *g, size_t first, vkt_tensor *const *results, size_t n);
/* Takes out the node that makes t, and what it alone reads, where nobody needs them any more. */
void vkt__drop_maker(vkt_tensor *t);
/* Nodes that read t's memory, views of it included, up to `most` of them; a node that reads it
 * twice counts twice. */
enum { VKT__COUNTED = 4 };
uint32_t vkt__n_readers(const vkt_tensor *t, uint32_t most);
/* Whether t has its final value before node `begin` and nodes from there to before `end` leave it
 * so: then a read of it may move between the two. */
bool vkt__unchanged(const vkt_tensor *t, size_t begin, size_t end);
/* Whether no node from `begin` to before `end` but `but` reads memory of t's. */
bool vkt__is_unread(const vkt_tensor *t, size_t begin, size_t end, const vkt_node *but);
/* Whether no node from `begin` to before `end` writes memory of t's, or a part of it. */
bool vkt__is_unwritten(const vkt_tensor *t, size_t begin, size_t end);
/* Whether n may do its work at the place of another node, `place`, before or after, which may read
 * what it writes if it comes after: nothing between changes what n reads, reads what it writes, or
 * writes that. */
bool vkt__can_move(const vkt_node *n, const vkt_node *place);
/* A result that only one node reads, and nothing outside the graph. */
bool vkt__is_private(const vkt_tensor *t);
/* A node that reads root t's memory, views of it included; NULL: none does. */
vkt_node *vkt__a_reader(const vkt_tensor *t);

#endif
