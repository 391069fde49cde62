/* Chooses the transport's row, and holds what all transports share. */
#include <stdio.h>

#include "base/os.h"
#include "comm/comm.h"

/* ---- opening ---- */

static const vkt__comm_row *row_of(const vkt_launch *l)
{
    if (!l->launched || l->size == 1) return &vkt__comm_one;
#ifdef VKT_MPI
    return &vkt__comm_mpi;
#else
    return NULL;
#endif
}

/* A version that differs would read the others' messages wrongly. */
static vkt_status meet(vkt_comm *c)
{
    char version[64] = "", host[64];
    vkt_status st = VKT_OK;
    vkt__hostname(host, sizeof host);
    snprintf(c->names[c->rank], sizeof *c->names, "%s", host);
    char *all = vkt__alloc(c->size * sizeof version);
    snprintf(version, sizeof version, "%s", vkt_version());
    VKT_TRY(vkt__comm_all_gather(c, version, all, sizeof version));
    VKT_TRY(vkt__comm_all_gather(c, c->names[c->rank], c->names, sizeof *c->names));
    for (uint32_t r = 1; r < c->size; r++)
        if (strcmp(all, all + r * sizeof version) != 0) {
            st = VKT_E_COMM;
            if (c->rank == 0)
                vkt__fail(st, "comm",
                          "rank %u on %s is vktrain %s, rank 0 on %s is %s: install one version "
                          "everywhere",
                          r, c->names[r], all + r * sizeof version, c->names[0], all);
            break;
        }
fail:
    free(all);
    return st;
}

vkt_status vkt_comm_open(vkt_comm **out)
{
    vkt_launch l = vkt_launch_get();
    vkt_status st = VKT_OK;
    *out = NULL;
    const vkt__comm_row *row = row_of(&l);
    if (!row && l.rank > 0) return VKT_E_UNSUPPORTED; /* rank 0 says it */
    if (!row)
        return vkt__fail(VKT_E_UNSUPPORTED, "comm",
                         "%s=%u: this vktrain is built without MPI, so that it can't be one of "
                         "several ranks: install libopenmpi-dev and build again",
                         l.by, l.size);
    vkt_comm *c = *out = vkt__alloc(sizeof *c);
    c->row = row;
    VKT_TRY(row->open(c));
    if (l.size && c->size != l.size) {
        st = l.rank > 0
                 ? VKT_E_UNSUPPORTED
                 : vkt__fail(VKT_E_UNSUPPORTED, "comm",
                             "the launcher has started %u ranks (%s), but %s finds %u: it is "
                             "the launcher of another MPI; use this one's",
                             l.size, l.by, vkt_comm_library(), c->size);
        goto fail;
    }
    VKT_TRY(meet(c));
    return VKT_OK;
fail:
    vkt_comm_close(out, st);
    return st;
}

vkt_status vkt_comm_close(vkt_comm **pc, vkt_status st)
{
    vkt_comm *c = *pc;
    if (!c) return st;
    st = c->row->close(c, st);
    free(c->names);
    free(c);
    *pc = NULL;
    return st;
}

uint32_t vkt_comm_rank(const vkt_comm *c)
{
    return c ? c->rank : 0;
}

uint32_t vkt_comm_size(const vkt_comm *c)
{
    return c ? c->size : 1;
}

/* ---- the row's operations ---- */

vkt_status vkt__comm_sum_start(vkt_comm *c, float *data, uint64_t n, vkt__comm_job **job)
{
    VKT_ASSERT(n <= INT32_MAX);
    return c->row->start(c, &(vkt__comm_work) { VKT__COMM_SUM, data, n, NULL, NULL }, job);
}

vkt_status vkt__comm_sum_test(vkt_comm *c, vkt__comm_job **job, bool *done)
{
    return c->row->sum_test(c, job, done);
}

vkt_status vkt__comm_sum_wait(vkt_comm *c, vkt__comm_job **job)
{
    return c->row->sum_wait(c, job);
}

vkt_status vkt__comm_sum(vkt_comm *c, float *data, uint64_t n)
{
    vkt__comm_job *job;
    vkt_status st = vkt__comm_sum_start(c, data, n, &job);
    return st == VKT_OK ? vkt__comm_sum_wait(c, &job) : st;
}

vkt_status vkt__comm_scatter_start(vkt_comm *c, float *data, uint64_t n, const uint64_t *cuts,
                                   vkt__comm_job **job)
{
    VKT_ASSERT(n <= INT32_MAX);
    return c->row->start(c, &(vkt__comm_work) { VKT__COMM_SCATTER, data, n, cuts, NULL }, job);
}

vkt_status vkt__comm_gather_start(vkt_comm *c, float *data, uint64_t n, const uint64_t *cuts,
                                  vkt__comm_job **job)
{
    VKT_ASSERT(n <= INT32_MAX);
    return c->row->start(c, &(vkt__comm_work) { VKT__COMM_GATHER, data, n, cuts, NULL }, job);
}

vkt_status vkt__comm_rounded_start(vkt_comm *c, const vkt__comm_work *w, vkt__comm_job **job)
{
    VKT_ASSERT(w->n <= INT32_MAX && w->rest && w->kind != VKT__COMM_GATHER);
    return c->row->start(c, w, job);
}

vkt_status vkt__comm_all_gather(vkt_comm *c, const void *mine, void *all, uint64_t bytes)
{
    VKT_ASSERT(bytes <= INT32_MAX);
    return c->row->all_gather(c, mine, all, bytes);
}

vkt_status vkt__comm_broadcast(vkt_comm *c, void *data, uint64_t bytes)
{
    VKT_ASSERT(bytes <= INT32_MAX);
    return c->row->broadcast(c, data, bytes);
}

vkt_status vkt__comm_barrier(vkt_comm *c)
{
    return c->row->barrier(c);
}

/* What was sent before has arrived: its tags are free. */
void vkt__comm_first(vkt_comm *c, uint32_t n)
{
    VKT_ASSERT(n >= 1 && n <= c->all);
    c->size = n;
    c->sequence = 0;
}

_Noreturn void vkt__comm_abort(vkt_comm *c, int code)
{
    c->row->abort(c, code);
    exit(code);
}

/* ---- by means of them ---- */

vkt_status vkt__comm_sum_doubles(vkt_comm *c, double *values, uint32_t n)
{
    double *all = vkt__alloc((size_t)c->size * n * sizeof *all + 1);
    vkt_status st = vkt__comm_all_gather(c, values, all, n * sizeof *all);
    for (uint32_t i = 0; i < n && st == VKT_OK; i++) {
        values[i] = 0;
        for (uint32_t r = 0; r < c->size; r++) values[i] += all[(size_t)r * n + i];
    }
    free(all);
    return st;
}

/* The first line in which two texts differ, of each. */
static void first_difference(const char *a, const char *b, char out_a[80], char out_b[80])
{
    const char *line_a = a, *line_b = b;
    while (*a && *a == *b) {
        if (*a == '\n') line_a = a + 1, line_b = b + 1;
        a++, b++;
    }
    while (*line_a == ' ' && *line_b == ' ') line_a++, line_b++;
    snprintf(out_a, 80, "%.*s", (int)VKT_MIN(strcspn(line_a, "\n"), 79), line_a);
    snprintf(out_b, 80, "%.*s", (int)VKT_MIN(strcspn(line_b, "\n"), 79), line_b);
}

vkt_status vkt__comm_same(vkt_comm *c, const char *what, const char *text)
{
    vkt_status st = VKT_OK;
    uint64_t n = strlen(text);
    char *first = NULL, mine[80], theirs[80];
    VKT_TRY(vkt__comm_broadcast(c, &n, sizeof n));
    first = vkt__alloc(n + 1);
    if (c->rank == 0) memcpy(first, text, n);
    VKT_TRY(vkt__comm_broadcast(c, first, n));
    if (strcmp(first, text) != 0) {
        first_difference(text, first, mine, theirs);
        st = vkt__fail(VKT_E_ARG, "train", "its %s is not that of rank 0: '%s' here, '%s' there",
                       what, mine, theirs);
    }
fail:
    free(first);
    return st;
}

vkt_status vkt__comm_tell_device(vkt_comm *c, const char *device)
{
    char host[64];
    vkt__hostname(host, sizeof host);
    snprintf(c->names[c->rank], sizeof *c->names, "%s, %.90s", host, device);
    return vkt__comm_all_gather(c, c->names[c->rank], c->names, sizeof *c->names);
}
