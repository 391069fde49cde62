/* The optimizer from the inside: its state (optim.c) and its nodes (optim_nodes.c). */
#ifndef VKT_OPTIM_STATE_H
#define VKT_OPTIM_STATE_H

#include "optim/moments.h"
#include "optim/optim_flat.h"
#include "tensor/ops/optim/updates.h"

/* A tensor as a matrix: in the order of memory, and how many outputs and inputs its layer has. */
typedef struct vkt__matrix {
    uint32_t rows, cols; /* rows 0: a vector */
    uint64_t out, in;
} vkt__matrix;

/* What an update's nodes take at once: a piece; or, where the rule sees single tensors, one of
 * them, or all neighbours that are for another rule. */
typedef struct vkt__stretch {
    vkt__range at;
    uint64_t first_block; /* of the tables, where each stretch begins at a multiple of four */
    bool own;             /* `tensor` alone, by the rule itself */
    bool frozen;          /* nothing of it is trained */
    size_t tensor, piece;
} vkt__stretch;

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
    vkt_buffer *tensors, *counts, *squares, *trust; /* of a rule for whole tensors, or NULL */
    vkt_param *params;                              /* [n_params] what is trained */
    size_t n_params;
    uint64_t all_blocks; /* of all stretches, with what fills them up */
    vkt__stretch *stretches;
    size_t n_stretches, cap_stretches;
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

/* ---- stretches.c ---- */

vkt__matrix vkt__matrix_of(const vkt_param *p);
/* Of o's pieces; hidden: as in vkt__flat. */
void vkt__stretches_make(vkt_optim *o, const bool *hidden);
/* The block of the tables that holds parameter element `at`. */
uint64_t vkt__stretches_block(const vkt_optim *o, uint64_t at);
/* Where a moment that has not the gradients' layout has the numbers of each tensor, [n_params], to
 * be freed; and how many elements that are with what lies between. */
vkt__range *vkt__stretches_places(const vkt_optim *o, const char *name, uint64_t *total);

#endif
