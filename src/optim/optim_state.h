/* The optimizer from the inside: its state (optim.c) and its nodes (optim_nodes.c). */
#ifndef VKT_OPTIM_STATE_H
#define VKT_OPTIM_STATE_H

#include "optim/moments.h"
#include "optim/optim_flat.h"

struct vkt_optim {
    vkt_gpu *gpu;
    vkt_optim_desc desc;        /* without its groups */
    uint64_t count;             /* elements of gradients and moments */
    uint64_t first;             /* elements of values before them: frozen */
    vkt_buffer *values, *grads; /* the model's */
    vkt_buffer *shadow;         /* its values in 16 bits, or NULL */
    vkt_dtype precision;
    vkt_buffer *loss_scale; /* struct vkt_loss_scale, or NULL */
    vkt_buffer *sum, *sums; /* accumulation: of gradients; of loss and hits. NULL without */
    vkt__moments moments;
    vkt_buffer *blocks, *groups, *skipped;
    vkt_buffer *tensors, *squares, *trust; /* of a rule for whole tensors, or NULL */
    uint32_t n_tensors;
    uint64_t all_blocks; /* of all pieces, with what fills them up */
    size_t n_groups;
    vkt__range *live;
    size_t n_live;
    vkt__range own;     /* what is updated, and has moments */
    vkt__range *pieces; /* of it, [n_pieces]: each in one piece of every flat buffer */
    size_t n_pieces;
    vkt_status (*whole)(void *user, float *flat);
    void *user;
};

/* What both have of each other. */
vkt__range vkt__ranges_overlap(vkt__range a, vkt__range b);
/* Where the model's gradients are cut within r, everything that is laid out like them is. */
vkt__range vkt__optim_piece_from(const vkt_optim *o, vkt__range r, uint64_t at);
/* The cuts within r, in bytes of a buffer that holds it; to be freed. */
uint64_t *vkt__optim_cuts_within(const vkt_optim *o, vkt__range r, size_t *n);
uint64_t vkt__group_blocks(uint64_t count);

#endif
