/* vktrain comm layer: the ranks of a job that several processes work on, each with a device of its
 * own. A launcher (mpirun, mpiexec, srun) starts them; a process that none has started is alone,
 * and MPI is not touched then.
 *
 * Threads: one thread at a time for a vkt_comm. Ownership: what was opened is closed before the
 * process ends, once, as MPI can't be begun a second time. Aborts: pieces of more than 2^31
 * elements.
 */
#ifndef VKTRAIN_COMM_H
#define VKTRAIN_COMM_H

#include "vktrain/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the environment says of who started this process. */
typedef struct vkt_launch {
    bool launched;       /* by a launcher of MPI jobs */
    uint32_t rank, size; /* as it says; 0 and 0: it does not */
    const char *by;      /* the variable that says so; "" */
} vkt_launch;
VKT_API vkt_launch vkt_launch_get(void);
/* The name and version of the MPI that this library is built with; NULL: none. */
VKT_API const char *vkt_comm_library(void);

typedef struct vkt_comm vkt_comm;

/* Joins the other ranks, or stands alone. UNSUPPORTED: several ranks, and no MPI in this build; or
 * a launcher of another MPI than that of this build. COMM: MPI failed; or a rank has another
 * version of vktrain. Blocks until all ranks are there. */
VKT_API vkt_status vkt_comm_open(vkt_comm **out);
/* How this rank's work ended, told to the others: those that wait for it end, too. Returns st;
 * where that is OK but another rank has failed, what it failed with, said by rank 0 in one line.
 * Where a rank does not come to its end any more, all are ended from here. NULL in *c: st. */
VKT_API vkt_status vkt_comm_close(vkt_comm **c, vkt_status st);
VKT_API uint32_t vkt_comm_rank(const vkt_comm *c); /* NULL, here and below: alone */
VKT_API uint32_t vkt_comm_size(const vkt_comm *c);

#ifdef __cplusplus
}
#endif
#endif
