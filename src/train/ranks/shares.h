/* Which part of a batch each rank takes: rows that follow one another, so that an example's place
 * in the batch, on which its randomness depends, is the same with any shares. */
#ifndef VKT_TRAIN_SHARES_H
#define VKT_TRAIN_SHARES_H

#include "vktrain/recipe.h"

/* Rows [row, row + rows) of a batch of n; all of it without ranks. */
typedef struct vkt__share {
    uint32_t row, rows;
} vkt__share;

/* By config->shares, or equal parts. */
vkt__share vkt__share_of(const vkt_config *c, uint32_t n);
/* The same of another rank. */
vkt__share vkt__share_of_rank(const vkt_config *c, uint32_t n, uint32_t rank);
/* Milliseconds of a rank's micro-batch: some whatever its size is (the update, what starting
 * kernels takes), and some for each example. */
typedef struct vkt__rank_cost {
    double fixed, each;
} vkt__rank_cost;

/* By two measurements, the newer one last; by that one alone where both are of about as many
 * examples. each > 0. */
vkt__rank_cost vkt__rank_cost_of(const double ms[2], const uint32_t rows[2]);
double vkt__rank_ms(const vkt__rank_cost *cost, double rows);
/* Milliseconds of the slowest rank, where each has rows[r]. */
double vkt__longest_ms(const vkt__rank_cost *cost, uint32_t ranks, const uint32_t *rows);
/* Examples of a batch of n for each rank, at least 1, so that all finish together. n >= ranks;
 * out [ranks]. */
void vkt__shares_by_cost(const vkt__rank_cost *cost, uint32_t ranks, uint32_t n, uint32_t *out);
/* What the ranks have measured since their shares were chosen. */
typedef struct vkt__drift {
    const vkt__rank_cost *cost; /* [ranks] as it was then */
    const uint32_t *rows;       /* [ranks] that they have */
    const double *ms;           /* [ranks] that a micro-batch takes them now */
    uint32_t ranks, n;          /* of the batch */
    double left;                /* micro-batches that are left of the run */
    double open_s;              /* what other shares cost once */
} vkt__drift;

/* Whether other shares, which out [ranks] becomes, are worth while: with them a batch takes nine
 * tenths of its time or less, and the rest of the run saves more than three times their price. A
 * rank's time has changed, not how it is made up. */
bool vkt__shares_drifted(const vkt__drift *d, uint32_t *out);
/* The rank without which the others would finish a batch of n soonest, 5% sooner at least; `ranks`:
 * there is none. *without: then, in ms. */
uint32_t vkt__rank_in_the_way(const vkt__rank_cost *cost, uint32_t ranks, uint32_t n,
                              double *without);

#endif
