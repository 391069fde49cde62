/* What the MPI row's two files share: the operations (comm_mpi.c) and the watch (mpi_watch.c). */
#ifndef VKT_COMM_MPI_STATE_H
#define VKT_COMM_MPI_STATE_H

#include <mpi.h>
#include <stdatomic.h>

#include "base/os.h"
#include "comm/comm_row.h"

/* How a rank failed, as it tells the others. */
typedef struct vkt__alarm {
    int32_t status, rank;
    char text[504];
} vkt__alarm;

typedef struct vkt__mpi {
    MPI_Comm work;              /* of the thread that trains */
    MPI_Comm watch;             /* of the thread that watches, and of the end */
    struct vkt__comm_job *jobs; /* [VKT__COMM_JOBS] */
    bool begun;                 /* MPI was, here */
    int pid_before;             /* of the rank before this one, where it is of this host; else 0 */
    atomic_bool ending;         /* ranks come to their end: one that is gone is no longer missed */
    vkt_comm *comm;
    vkt__thread *thread;
    atomic_bool stop;
    atomic_uint silent;  /* slices since the rank before this one was heard of */
    atomic_bool alarmed; /* `alarm` is there */
    vkt__alarm alarm;
} vkt__mpi;

/* A thread that tells the next rank once a second that this process lives, listens to the one
 * before, and takes alarms. It ends all ranks when that one has been silent for VKT__SILENT_S
 * seconds, in which this process itself ran. */
enum { VKT__SILENT_S = 20 };
vkt_status vkt__mpi_watch_start(vkt_comm *c);
void vkt__mpi_watch_stop(vkt_comm *c);
/* Tells all others that this rank has failed. */
void vkt__mpi_alarm(vkt_comm *c, vkt_status st, const char *text);
/* What another rank has told: its status, and on rank 0 an error line. OK: nothing. */
vkt_status vkt__mpi_alarmed(vkt_comm *c);

#endif
