/* The watch of the MPI row: who lives, and who has failed. A rank that waits for another can't tell
 * whether that one computes or is gone; this thread of each process can. Ranks watch one another in
 * a ring, so that a rank sends one word a second however many there are. */
#include <stdio.h>

#include "comm/mpi_state.h"

enum { SLICE_MS = 50, PULSE_SLICES = 20, TAG_PULSE = 1, TAG_ALARM = 2 };

/* The rank before is no longer among the processes. */
static void mourn(vkt_comm *c, uint32_t before)
{
    vkt_log(VKT_LOG_ERROR, "comm",
            "rank %u (%s) is gone: it was killed, or its driver has ended it; all ranks end, and "
            "--resume goes on from the last checkpoint",
            before, c->names[before]);
    c->row->abort(c, 1);
}

/* The rank before has been silent for so long that it is taken for dead. */
static void give_up(vkt_comm *c, uint32_t before)
{
    vkt_log(VKT_LOG_ERROR, "comm",
            "rank %u (%s) has not answered for %d s: it hangs, or its host can't be reached; all "
            "ranks end, and --resume goes on from the last checkpoint",
            before, c->names[before], VKT__SILENT_S);
    c->row->abort(c, 1);
}

static void watch(void *arg)
{
    vkt_comm *c = arg;
    vkt__mpi *m = c->state;
    int before = (int)((c->rank + c->all - 1) % c->all), after = (int)((c->rank + 1) % c->all),
        done;
    char heard = 0, said = 0;
    vkt__alarm alarm;
    MPI_Request pulse_in, alarm_in, pulse_out = MPI_REQUEST_NULL;
    MPI_Irecv(&heard, 1, MPI_CHAR, before, TAG_PULSE, m->watch, &pulse_in);
    MPI_Irecv(&alarm, sizeof alarm, MPI_CHAR, MPI_ANY_SOURCE, TAG_ALARM, m->watch, &alarm_in);
    for (uint32_t slice = 0; !m->stop; slice++) {
        MPI_Test(&pulse_out, &done, MPI_STATUS_IGNORE);
        if (done && slice % PULSE_SLICES == 0)
            MPI_Isend(&said, 1, MPI_CHAR, after, TAG_PULSE, m->watch, &pulse_out);
        MPI_Test(&pulse_in, &done, MPI_STATUS_IGNORE);
        if (done) {
            m->silent = 0;
            MPI_Irecv(&heard, 1, MPI_CHAR, before, TAG_PULSE, m->watch, &pulse_in);
        } else if (++m->silent > VKT__SILENT_S * 1000 / SLICE_MS && !m->alarmed) {
            give_up(c, (uint32_t)before);
        }
        bool gone = m->pid_before && !vkt__pid_runs(m->pid_before);
        if (gone && !m->ending && !m->alarmed) mourn(c, (uint32_t)before);
        MPI_Test(&alarm_in, &done, MPI_STATUS_IGNORE);
        if (done) {
            if (!m->alarmed) m->alarm = alarm;
            m->alarmed = true;
            MPI_Irecv(&alarm, sizeof alarm, MPI_CHAR, MPI_ANY_SOURCE, TAG_ALARM, m->watch,
                      &alarm_in);
        }
        vkt__sleep_ms(SLICE_MS);
    }
    MPI_Cancel(&pulse_in);
    MPI_Cancel(&alarm_in);
    MPI_Request_free(&pulse_in);
    MPI_Request_free(&alarm_in);
    if (pulse_out != MPI_REQUEST_NULL) MPI_Request_free(&pulse_out);
}

vkt_status vkt__mpi_watch_start(vkt_comm *c)
{
    vkt__mpi *m = c->state;
    return vkt__thread_start(watch, c, &m->thread);
}

void vkt__mpi_watch_stop(vkt_comm *c)
{
    vkt__mpi *m = c->state;
    if (!m->thread) return;
    m->stop = true;
    vkt__thread_join(&m->thread);
}

void vkt__mpi_alarm(vkt_comm *c, vkt_status st, const char *text)
{
    vkt__mpi *m = c->state;
    static vkt__alarm a; /* static: it may still be on its way when this returns */
    a = (vkt__alarm) { .status = (int32_t)st, .rank = (int32_t)c->rank };
    snprintf(a.text, sizeof a.text, "%s", text);
    for (uint32_t r = 0; r < c->all; r++) {
        MPI_Request q;
        if (r == c->rank) continue;
        MPI_Isend(&a, sizeof a, MPI_CHAR, (int)r, TAG_ALARM, m->watch, &q);
        MPI_Request_free(&q);
    }
}

vkt_status vkt__mpi_alarmed(vkt_comm *c)
{
    vkt__mpi *m = c->state;
    if (!m->alarmed) return VKT_OK;
    const vkt__alarm *a = &m->alarm;
    vkt_status st = a->status > 0 && a->status <= VKT_E_FAILED ? (vkt_status)a->status : VKT_E_COMM;
    static atomic_bool said;
    if (c->rank == 0 && !atomic_exchange(&said, true))
        vkt__fail(st, "comm", "rank %d (%s): %.500s", (int)a->rank,
                  (uint32_t)a->rank < c->all ? c->names[a->rank] : "", a->text);
    return st;
}
