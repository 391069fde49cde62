/* A graph and the ring of batches that it runs on. Knows no session. */
#ifndef VKT_TRAIN_BATCH_RING_H
#define VKT_TRAIN_BATCH_RING_H

#include "gpu/commands.h"
#include "recipe/loss_terms.h"
#include "vktrain/data.h"
#include "vktrain/optim.h"

/* A graph and its ring: slot s owns the memory of one batch, its step block and its results. */
typedef struct vkt__ring {
    vkt_graph *graph;
    uint32_t batch, n_slots;
    bool sorts;                            /* text: the order of its tokens comes with a batch */
    bool masks;                            /* text: so does where each one's document begins */
    bool plain;                            /* no rewrites */
    bool mixes;                            /* two labels an example, each with its weight */
    uint64_t upload_bytes, readback_bytes; /* of a slot */
    struct {
        vkt_tensor *t;
        uint64_t at;
        bool result;
    } binds[12 + VKT__MAX_LOSSES];
    uint32_t n_binds;
    vkt_buffer plan_upload[VKT_MAX_SLOTS],
        plan_readback[VKT_MAX_SLOTS]; /* stand in until all is planned and fits */
    uint64_t x_at, y_at, w_at, y2_at, w2_at, order_at, segments_at, documents_at, step_at, loss_at,
        hit_at, out_at, terms_at;
    vkt_buffer *upload[VKT_MAX_SLOTS], *readback[VKT_MAX_SLOTS];
    /* Where the device can't read host memory at full speed: its own memory, which a run of any
     * slot fills first, and from which results are copied last. near_at: what lies before is left
     * out: x, which the graph copies. */
    vkt_buffer *near_in, *near_out;
    uint64_t near_at;
    vkt_batch slots[VKT_MAX_SLOTS];
    void *step[VKT_MAX_SLOTS];           /* struct vkt_step_block */
    const float *scalars[VKT_MAX_SLOTS]; /* training: [VKT_N_SCALARS] */
    const float *loss[VKT_MAX_SLOTS], *hit[VKT_MAX_SLOTS],
        *out[VKT_MAX_SLOTS];           /* evaluation: [B, n_targets], the same,
                                               [B, n_outputs] (text: none); pairs: [B], rewards [B, 2] */
    const float *terms[VKT_MAX_SLOTS]; /* evaluation: the first entry of `losses`, [B], the next
                                          ones vkt__ring_row elements further on each */
} vkt__ring;

typedef struct vkt__ring_inputs {
    vkt_tensor *x, *y, *w, *step;
    vkt_tensor *y2, *w2; /* of a ring that mixes */
} vkt__ring_inputs;

/* The graph's inputs, and how they lie in one slot's memory, which is allocated later. l->mixes,
 * l->sorts and l->masks say which there are, l->plain that the graph is run without rewrites. */
void vkt__ring_create(vkt_gpu *gpu, const vkt_dataset_info *info, vkt__ring *l, uint32_t batch,
                      uint32_t n_slots, uint64_t readback_bytes, const char *label,
                      vkt__ring_inputs *in);
/* t lies at byte `at` of each slot's memory, of results where `result`. */
void vkt__ring_bind(vkt__ring *l, vkt_tensor *t, uint64_t at, bool result);
/* A result's place in each slot's readback memory: at *at, which moves on. Returns where. */
uint64_t vkt__ring_result(vkt__ring *l, vkt_tensor *t, uint64_t *at);
/* How far the results of two terms lie apart, in elements. */
static inline size_t vkt__ring_row(const vkt__ring *l)
{
    return vkt__align((uint64_t)l->batch * 4, 256) / 4;
}
/* The slots' memory itself, once all is known to fit; bound in the place of the stand-ins. */
vkt_status vkt__ring_allocate(vkt_gpu *gpu, vkt__ring *l, const char *label);
/* All memory of its slots and near them, allocated or not. */
uint64_t vkt__ring_bytes(const vkt_gpu *gpu, const vkt__ring *l);
void vkt__ring_destroy(vkt_gpu *gpu, vkt__ring *l);

#endif
