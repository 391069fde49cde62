/* Private to src/data: the endless stream of training examples, in an order that is a function of
 * (seed, position). */
#ifndef VKT_DATA_SHUFFLE_H
#define VKT_DATA_SHUFFLE_H

#include "data/dataset.h"

/* An epoch's order of n examples, drawn as it is used, so that no batch waits for a whole shuffle.
 * Begins zeroed, except seed, n, p, and epoch, which is UINT64_MAX. */
typedef struct vkt__order {
    uint64_t seed, n, epoch;
    uint64_t drawn; /* p[0..drawn) is final */
    uint32_t *p;    /* [n] */
} vkt__order;
uint32_t vkt__order_at(vkt__order *o, uint64_t i);

/* Plain: position i is place i % n of epoch i / n. Balanced: every class once in each n_classes
 * positions, in shuffled order; each class goes through its own examples epoch by epoch. */
typedef struct vkt__stream {
    vkt__order order;    /* of examples; balanced: of the classes that have any */
    vkt__order *classes; /* balanced: [order.n]; else NULL */
    uint32_t *members;   /* [n] examples grouped by class */
    uint32_t *start;     /* [order.n] of each class in members */
} vkt__stream;
vkt_status vkt__stream_init(const vkt_dataset *ds, vkt_split split, bool balanced, uint64_t seed,
                            vkt__stream *out);
void vkt__stream_finish(vkt__stream *s);
uint32_t vkt__stream_at(vkt__stream *s, uint64_t i);

#endif
