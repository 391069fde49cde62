/* The graph itself: for passes, the planner, the runner, and whoever walks its nodes. Rows need
 * op.h only. */
#ifndef VKT_TENSOR_GRAPH_H
#define VKT_TENSOR_GRAPH_H

#include "tensor/graph/op.h"

/* Shaders count elements in 32 bits, and drivers take indices as signed. */
#define VKT__MOST_ELEMENTS ((uint64_t)INT32_MAX)

enum { VKT_MAX_PASSES = 32, VKT_MAX_CHUNKS = 64 };

/* Memory that the host takes in every run as soon as it is final: see vkt__graph_hand_over. */
typedef struct vkt__handed {
    const vkt_buffer *buf;
    uint64_t offset, bytes;
    uint32_t level;  /* the last that writes it */
    uint64_t ticket; /* of the newest run */
} vkt__handed;

struct vkt_graph {
    vkt_gpu *gpu;
    vkt__arena arena;
    vkt_node **nodes;
    size_t n_nodes, cap_nodes;
    vkt_tensor **tensors;
    size_t n_tensors, cap_tensors;
    vkt_tensor **named; /* [n_places] by a hash of their names; 0 or a power of two places */
    size_t n_places, n_named;
    vkt_status status; /* first latched error */
    const char *where; /* context of the ops being built: layer and recipe line */
    vkt_tensor *inert, *step, *ones;
    vkt_tensor *loss_scale; /* what gradients are multiplied by; NULL: 1 */
    vkt_dtype precision;    /* of activations: see precision.c */
    struct {
        uint32_t n_tensors, n_shadows, n_casts, n_units;
        uint64_t saved_bytes;
    } narrow; /* what mixed precision did, for explain */
    uint32_t n_dropout;
    bool differentiated, rewritten, no_rewrite, recompute;
    size_t passes_done; /* of those that need the whole graph: where the next one stands */
    uint32_t recomputed_ops;
    uint64_t plain_bound; /* slab_bound without recomputation */
    struct {
        uint32_t n;
        double bytes;
    } rewrites[VKT_MAX_PASSES]; /* how often each pass did something; bytes moved less */
    struct {
        uint32_t chunks, made; /* wished by tests, 0: by the device's memory; that there are */
        uint64_t bytes;        /* of a chunk's logits */
    } head;                    /* see rewrite_head.c */
    struct vkt__uses *uses;    /* who reads and writes what, while passes ask: see uses.c */
    /* NULL, or told of a node that is new and a tensor that is bound: by uses.c, which knows of
     * this file and not this one of it. */
    void (*new_node)(vkt_node *n);
    void (*new_place)(const vkt_tensor *t);
    uint64_t work; /* tensors and places looked at until it is planned, for tests of growth */
    /* plan */
    bool planned, no_reuse;
    vkt_node **by_level;              /* the nodes, by level, those of one in their order */
    uint32_t *level_start;            /* [n_levels + 1] where each level's begin */
    uint32_t n_levels, n_slots, peak; /* peak: the level with most of the slab in use */
    uint64_t slab_bytes, slab_bound, chunk_bytes;
    /* run */
    vkt_buffer *chunks[VKT_MAX_CHUNKS];
    uint32_t n_chunks;
    const char *label;
    struct vkt__segment *segments; /* in order; each is a submission (run.c) */
    uint32_t n_segments;
    bool postponed, prepared; /* its kernels: made later; made and recorded */
    /* Batch norm over several devices: what nodes of some levels give is made that of all of them
     * by the host, before the next level: see vkt__graph_sync. */
    vkt_status (*sync)(void *user, const vkt_node *n, uint32_t slot);
    void *sync_user;
    bool *level_syncs;   /* [n_levels] or NULL */
    bool *level_ends;    /* [n_levels] or NULL: a submission ends with the level */
    vkt__handed *handed; /* [n_handed] */
    uint32_t n_handed;
    struct {
        const vkt_buffer *from, *to;
        uint64_t from_at, bytes;
    } copies[2][VKT_MAX_SLOTS]; /* before a run's first node, and after its last; 0 bytes: none */
    double *level_ms;           /* [n_levels] estimated, then measured */
    uint32_t n_timed, n_cuts;   /* timed runs since the last cut; cuts into segments */
};

/* vkt_graph_create for callers inside: it can fail only as vkt__alloc does. */
vkt_graph *vkt__graph_new(vkt_gpu *gpu);
/* The input of that name, or NULL. */
vkt_tensor *vkt__input_named(const vkt_graph *g, const char *name);
/* Named context for errors of the ops built next; NULL ends it. */
void vkt__where(vkt_graph *g, const char *where);
/* Rows [first, first + n) of t, or of a vector elements: its memory, read or written in part. Has
 * no gradient: for rewrites. */
vkt_tensor *vkt__slice(vkt_tensor *t, uint32_t first, uint32_t n);
/* Of t [n, cols], bound: that its memory goes on to `rows` rows, which are zeros and may be written
 * with zeros. For rewrites. */
void vkt__set_room(vkt_tensor *t, uint32_t rows);

/* Before compiling: fn is called in each run of the graph for every node of batch norm's that gives
 * statistics of the whole batch (batch_stats) or sums of their gradient (batch_norm_total), when
 * the device has made them and before it reads them: vkt_tensor_read and vkt_tensor_write. times:
 * how often all examples are those of this graph. The running variances become those of all. */
void vkt__graph_sync(vkt_graph *g, double times,
                     vkt_status (*fn)(void *user, const vkt_node *n, uint32_t slot), void *user);

/* Before compiling: in every run a submission ends where the last node has written these bytes, so
 * that the host can have them while the device goes on. Returns which one it is, from 0. */
uint32_t vkt__graph_hand_over(vkt_graph *g, const vkt_buffer *buf, uint64_t offset, uint64_t bytes);
/* The last submitted run's ticket to wait for before the bytes are read. */
uint64_t vkt__graph_handed(const vkt_graph *g, uint32_t i);
/* The runner calls it when the graph is planned: sets level_ends and level_syncs. */
void vkt__graph_mark_ends(vkt_graph *g, bool (*syncs)(const vkt_node *n));
/* The runner calls it: levels first to last were submitted, and end with the ticket. */
void vkt__graph_submitted(vkt_graph *g, uint32_t first, uint32_t last, uint64_t ticket);

/* Plans a graph, which is then good for nothing but to be destroyed, and wishes for its kernels
 * (gpu/specialization.h), so that those of several graphs can be made at the same time. No memory
 * is taken: inputs that are not bound, and all that a slab would have, lie somewhere, aligned. */
vkt_status vkt__graph_wish(vkt_graph *g, const vkt_plan_desc *desc);
/* Before compiling, which then makes no kernels: vkt__graph_prepare does, or the first run. */
void vkt__graph_postpone(vkt_graph *g);
/* Makes the kernels of a compiled graph and records it, where that is not done yet. */
vkt_status vkt__graph_prepare(vkt_graph *g);

/* Before compiling: every run of the slot copies bytes of `from` to the beginning of `to` before
 * its first node, or after its last. */
void vkt__graph_copy(vkt_graph *g, uint32_t slot, bool after, const vkt_buffer *from,
                     uint64_t from_at, const vkt_buffer *to, uint64_t bytes);

/* A compiled graph's time, measured once it has run, as a share of its nodes' estimates
 * (vkt__node_ms). */
double vkt__graph_pace(const vkt_graph *g);

#endif
