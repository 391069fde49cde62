/* The row for a single process, or a build without MPI: there are no other ranks. */
#include "comm/comm_row.h"

#ifndef VKT_MPI
const char *vkt_comm_library(void)
{
    return NULL;
}
#endif

static vkt_status one_open(vkt_comm *c)
{
    c->size = c->all = c->local_size = 1;
    c->names = vkt__alloc(sizeof *c->names);
    return VKT_OK;
}

static vkt_status one_close(vkt_comm *c, vkt_status st)
{
    (void)c;
    return st;
}

static vkt_status one_start(vkt_comm *c, const vkt__comm_work *w, vkt__comm_job **job)
{
    (void)c, (void)w;
    *job = NULL;
    return VKT_OK;
}

static vkt_status one_sum_test(vkt_comm *c, vkt__comm_job **job, bool *done)
{
    (void)c;
    *job = NULL;
    *done = true;
    return VKT_OK;
}

static vkt_status one_sum_wait(vkt_comm *c, vkt__comm_job **job)
{
    (void)c;
    *job = NULL;
    return VKT_OK;
}

static vkt_status one_all_gather(vkt_comm *c, const void *mine, void *all, uint64_t bytes)
{
    (void)c;
    if (all != mine) memmove(all, mine, bytes);
    return VKT_OK;
}

static vkt_status one_broadcast(vkt_comm *c, void *data, uint64_t bytes)
{
    (void)c, (void)data, (void)bytes;
    return VKT_OK;
}

static vkt_status one_barrier(vkt_comm *c)
{
    (void)c;
    return VKT_OK;
}

static void one_abort(vkt_comm *c, int code)
{
    (void)c;
    exit(code);
}

const vkt__comm_row vkt__comm_one = { .name = "one process",
                                      .open = one_open,
                                      .close = one_close,
                                      .start = one_start,
                                      .sum_test = one_sum_test,
                                      .sum_wait = one_sum_wait,
                                      .all_gather = one_all_gather,
                                      .broadcast = one_broadcast,
                                      .barrier = one_barrier,
                                      .abort = one_abort };
