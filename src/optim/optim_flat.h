/* The optimizer over flat buffers and a list of parameters: all of it but the model. */
#ifndef VKT_OPTIM_FLAT_H
#define VKT_OPTIM_FLAT_H

#include "base/words.h"
#include "tensor/ops/ops.h"
#include "tensor/ops/optim/rules.h"
#include "vktrain/optim.h"

/* What the optimizer needs of a model: what of it is trained. */
typedef struct vkt__flat {
    const vkt_param *params; /* offsets as in grads */
    const bool *hidden; /* of each: a hidden layer's matrix, of the rules that see to those; NULL:
                           every matrix is */
    size_t n;
    uint64_t count; /* elements of grads, and of each moment */
    uint64_t first; /* elements of values and shadow that come before these */
    vkt_buffer *values, *grads;
    vkt_buffer *shadow; /* the values in 16 bits, or NULL */
    vkt_dtype precision;
} vkt__flat;

/* vkt_optim_create for anything laid out like a model. Keeps the buffers, not the list. */
vkt_status vkt__optim_create_flat(vkt_gpu *gpu, const vkt_optim_desc *desc, const vkt__flat *flat,
                                  vkt_optim **out);
/* After vkt_optim_accumulate: what a step's micro-batches add up to, before the update reads it:
 * gradients [*count] f32; the loss at byte 0 and hits at VKT__SUMS_HITS of `sums`, f32 each. */
enum { VKT__SUMS_HITS = 256, VKT__SUMS_SQUARES = 384 };
void vkt__optim_sums(vkt_optim *o, vkt_buffer **gradients, uint64_t *count, vkt_buffer **sums);
/* vkt_optim_accumulate with the sums of gradients where the host reads them without a copy, which
 * may be its own memory: for a step of one micro-batch, as more would read them over the bus. */
vkt_status vkt__optim_accumulate_seen(vkt_optim *o);
/* vkt_optim_build_sum, with the gradients in n parts that together are all: each can be summed up
 * when backward has made it. Elements. */
typedef struct vkt__range {
    uint64_t offset, count;
} vkt__range;
void vkt__optim_build_sums(vkt_optim *o, vkt_graph *g, vkt_tensor *loss, vkt_tensor *hits,
                           const vkt__range *parts, size_t n);
/* ---- parts: one per rank ---- */

/* Part i of n of `count` elements: whole blocks of VKT_GROUP_BLOCK, except at the end of the last
 * part. */
vkt__range vkt__optim_part(uint64_t count, uint32_t i, uint32_t n);
/* What this optimizer updates: all, or its part. */
vkt__range vkt__optim_own(const vkt_optim *o);
/* The sum of squares of this part of gradients [count], without what is frozen. The sum over all
 * parts has to be at VKT__SUMS_SQUARES of the sums, f32, before the update. */
double vkt__optim_squares(const vkt_optim *o, const float *gradients);
/* Bytes of all moments, and of what they are packed by. */
uint64_t vkt__optim_moment_bytes(const vkt_optim *o);
/* Moment i, all elements of it, as f32: with parts, `whole` makes them of each rank's own.
 */
void vkt__optim_on_whole(vkt_optim *o, vkt_status (*whole)(void *user, float *flat), void *user);
/* Of moment i: elements of the array, and where in it the trained parameter number `param` has how
 * many; the shape of those is the parameter's if there are as many, else [count]. */
uint64_t vkt__optim_moment_count(const vkt_optim *o, size_t i);
vkt__range vkt__optim_moment_of(const vkt_optim *o, size_t i, size_t param);
/* Moment i is laid out like the gradients. */
bool vkt__optim_moment_is_flat(const vkt_optim *o, size_t i);
vkt_status vkt__optim_read_moment(const vkt_optim *o, size_t i, float *to);
vkt_status vkt__optim_write_moment(vkt_optim *o, size_t i, const float *from);
/* Which tensors are for which rule, where there are two; else nothing. */
void vkt__optim_explain(const vkt_optim *o, vkt__str *out);
/* No update has been skipped. */
vkt_status vkt__optim_forget_skipped(vkt_optim *o);

/* ARG and one line that names the field. */
vkt_status vkt__optim_check(const vkt_optim_desc *desc);
/* The row's constants; and those of the rule for tensors that are no hidden layers' matrices, where
 * that is another. */
vkt_attr vkt__optim_attr(const vkt_optim_desc *desc);
vkt_attr vkt__optim_rest_attr(const vkt_optim_desc *desc);
/* The factors of step `step` (from 0) at rate lr in double; fill_step rounds them to the step
 * block. weight_decay is left 0: it belongs to groups. */
vkt__update_step vkt__optim_factors(const vkt_optim_desc *desc, double lr, uint64_t step);

/* ---- groups ---- */

/* The groups by block, and the stretches of the flat buffer that are not frozen, as long as
 * possible. */
typedef struct vkt__groups {
    uint32_t *blocks; /* [n_blocks] */
    uint64_t n_blocks;
    struct vkt_group_params *groups; /* distinct ones */
    size_t n_groups, cap_groups;
    vkt__range *live;
    size_t n_live, cap_live;
} vkt__groups;

/* First matching pattern wins. A group's own weight_decay is taken as it is; the optimizer's
 * applies to tensors of rank >= 2 unless decay_all. Warns of patterns without effect. */
void vkt__groups_init(vkt__groups *out, const vkt_optim_desc *desc, const vkt__flat *flat);
void vkt__groups_finish(vkt__groups *g);
/* Whether a tensor is updated by itself, and by the rule rather than by its `rest`. */
bool vkt__optim_is_own(const vkt_optim_desc *desc, const vkt_param *p, bool hidden);

#endif
