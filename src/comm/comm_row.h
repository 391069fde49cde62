/* A row of the table of transports, and what all rows keep. comm.h says what the operations mean.
 */
#ifndef VKT_COMM_ROW_H
#define VKT_COMM_ROW_H

#include "base/memory.h"
#include "vktrain/comm.h"

enum { VKT__COMM_NAME = 160, VKT__COMM_JOBS = 64 };

/* A sum under way, or one of its halves. */
typedef struct vkt__comm_job vkt__comm_job;
typedef enum vkt__comm_kind {
    VKT__COMM_SUM,
    VKT__COMM_SCATTER, /* each rank gets the sum of its own piece alone */
    VKT__COMM_GATHER   /* each rank's own piece goes to all */
} vkt__comm_kind;

/* What a job does, to data [n]. */
typedef struct vkt__comm_work {
    vkt__comm_kind kind;
    float *data;
    uint64_t n;
    const uint64_t *cuts; /* [size + 1], or NULL */
    float *rest;          /* [n] in bf16: what rounding has left; NULL: in f32 */
} vkt__comm_work;

typedef struct vkt__comm_row {
    const char *name;
    vkt_status (*open)(vkt_comm *c);
    vkt_status (*close)(vkt_comm *c, vkt_status st);
    vkt_status (*start)(vkt_comm *c, const vkt__comm_work *w, vkt__comm_job **job);
    vkt_status (*sum_test)(vkt_comm *c, vkt__comm_job **job, bool *done);
    vkt_status (*sum_wait)(vkt_comm *c, vkt__comm_job **job);
    vkt_status (*all_gather)(vkt_comm *c, const void *mine, void *all, uint64_t bytes);
    vkt_status (*broadcast)(vkt_comm *c, void *data, uint64_t bytes);
    vkt_status (*barrier)(vkt_comm *c);
    void (*abort)(vkt_comm *c, int code); /* does not return */
} vkt__comm_row;

struct vkt_comm {
    const vkt__comm_row *row;
    uint32_t rank, size, local_rank, local_size;
    uint32_t all;                  /* ranks; size is fewer while only the first ones work */
    uint32_t sequence;             /* of operations, for their messages' tags */
    char (*names)[VKT__COMM_NAME]; /* [size] host, and device once it is known */
    uint64_t bytes;                /* sent by this rank so far */
    double wait_s;                 /* in waits, in all */
    void *state;                   /* the row's */
};

extern const vkt__comm_row vkt__comm_one, vkt__comm_mpi;

/* Where rank r's piece of n elements begins, at a whole cache line: [piece(r), piece(r + 1)). */
static inline uint64_t vkt__comm_piece(uint64_t n, uint32_t size, uint32_t r)
{
    return r >= size ? n : n / 16 * r / size * 16;
}

#endif
