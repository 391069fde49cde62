/* The MPI row: every operation by messages between two ranks that are tested, never waited for
 * within MPI, so that a wait can end when another rank has failed.
 *
 * A sum: each rank gets its piece of all others' data, adds the pieces in the order of the ranks,
 * and sends the result to all: 2 (size - 1) / size of the data leaves each rank, as in MPI's own
 * all-reduce, whose order of summing is not ours to fix. */
#include <stdio.h>

#include "base/half.h"
#include "comm/mpi_state.h"

const char *vkt_comm_library(void)
{
    static char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int n = 0;
    if (!*name) MPI_Get_library_version(name, &n);
    name[strcspn(name, ",\n")] = 0;
    for (char *p = name; *p; p++)
        if (*p == '\t') *p = ' '; /* "MPICH Version:\t4.0.2" */
    return name;
}

static vkt_status failed(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    if (rc == MPI_SUCCESS) return VKT_OK;
    MPI_Error_string(rc, text, &n);
    return vkt__fail(VKT_E_COMM, "comm", "%s: %s", what, text);
}

/* ---- waiting ---- */

/* Idle: shorter than a message takes at first, so that small exchanges are quick; then long enough
 * to leave the processor to those who compute. */
static void idle(uint32_t turn)
{
    if (turn > 200) vkt__sleep_us(turn > 2000 ? 500 : 50);
}

/* Until test(arg) says done, or another rank has failed. That rank may have sent its part before:
 * what can still end has GRACE_S for it, so that this rank goes on to the error that it shares. */
static vkt_status until(vkt_comm *c, vkt_status (*test)(vkt_comm *c, void *arg, bool *done),
                        void *arg)
{
    vkt_status st = VKT_OK;
    bool done = false;
    const double GRACE_S = 0.25;
    double start = vkt__now(), alarm_seen = 0;
    for (uint32_t turn = 0; !done; turn++) {
        bool alarmed = ((vkt__mpi *)c->state)->alarmed;
        if (alarmed && alarm_seen == 0) alarm_seen = vkt__now();
        VKT_TRY(test(c, arg, &done));
        if (done) break;
        if (alarmed && vkt__now() - alarm_seen > GRACE_S) VKT_TRY(vkt__mpi_alarmed(c));
        idle(turn);
    }
fail:
    c->wait_s += vkt__now() - start;
    return st;
}

typedef struct many {
    MPI_Request *q;
    int n;
} many;

static vkt_status test_many(vkt_comm *c, void *arg, bool *done)
{
    many *m = arg;
    int all = 0;
    (void)c;
    vkt_status st = failed(MPI_Testall(m->n, m->q, &all, MPI_STATUSES_IGNORE), "a message");
    *done = all;
    return st;
}

/* ---- sums ---- */

struct vkt__comm_job {
    bool used, gathers; /* second half: the sums are on their way to all */
    float *data;
    uint64_t n;
    int tag;
    vkt__comm_kind kind;
    uint64_t *cuts;  /* [size + 1] */
    void *parts;     /* [size, n] of this rank's piece: the others' */
    float *rest;     /* [n] of comm.h; NULL: parts and what is sent are f32, else bf16 */
    uint16_t *words; /* [n] in bf16: of other ranks' pieces what they get, then what they send */
    uint64_t cap, words_cap;
    MPI_Request *q; /* [2 size] */
    int n_q;
};

static int next_tag(vkt_comm *c)
{
    return 16 + 2 * (int)(c->sequence++ % 16000); /* MPI allows 32767 */
}

static uint64_t piece_of(const vkt__comm_job *j, uint32_t r, uint64_t *begin)
{
    *begin = j->cuts[r];
    return j->cuts[r + 1] - *begin;
}

static size_t element_bytes(const vkt__comm_job *j)
{
    return j->rest ? sizeof *j->words : sizeof *j->data;
}

static MPI_Datatype element_type(const vkt__comm_job *j)
{
    return j->rest ? MPI_UINT16_T : MPI_FLOAT;
}

/* Element `at` of what leaves or arrives. */
static void *element(const vkt__comm_job *j, uint64_t at)
{
    return j->rest ? (void *)(j->words + at) : (void *)(j->data + at);
}

static vkt_status send_part(vkt_comm *c, vkt__comm_job *j, uint64_t at, uint64_t count, uint32_t to,
                            int tag)
{
    vkt__mpi *m = c->state;
    c->bytes += count * element_bytes(j);
    return failed(MPI_Isend(element(j, at), (int)count, element_type(j), (int)to, tag, m->work,
                            &j->q[j->n_q++]),
                  "MPI_Isend");
}

static vkt_status receive_part(vkt_comm *c, vkt__comm_job *j, void *to, uint64_t count,
                               uint32_t from, int tag)
{
    vkt__mpi *m = c->state;
    return failed(
        MPI_Irecv(to, (int)count, element_type(j), (int)from, tag, m->work, &j->q[j->n_q++]),
        "MPI_Irecv");
}

static vkt__comm_job *free_job(vkt_comm *c)
{
    vkt__mpi *m = c->state;
    for (uint32_t i = 0; i < VKT__COMM_JOBS; i++)
        if (!m->jobs[i].used) return &m->jobs[i];
    VKT_ASSERT(!"more sums at a time than VKT__COMM_JOBS");
    return NULL;
}

static bool make_bytes(void *buffer, uint64_t *cap, uint64_t bytes)
{
    void **b = buffer;
    if (*cap >= bytes) return true;
    free(*b);
    *b = malloc(bytes);
    *cap = *b ? bytes : 0;
    return *b;
}

/* Room for the others' parts of this rank's piece, and for what is rounded. */
static vkt_status make_room(vkt_comm *c, vkt__comm_job *j, uint64_t mine)
{
    if (make_bytes(&j->parts, &j->cap, mine * c->size * element_bytes(j)) &&
        (!j->rest || make_bytes(&j->words, &j->words_cap, j->n * sizeof *j->words)))
        return VKT_OK;
    return vkt__fail(VKT_E_OOM_HOST, "comm", "no memory for an exchange of %.1f MiB",
                     (double)j->n * 4 / 1048576);
}

/* v in bf16; *rest gets the rounding remainder, unless that is infinite or NaN. */
static uint16_t rounded(double v, float *rest)
{
    uint16_t h = vkt__to_bf16((float)v);
    float left = (float)(v - (double)vkt__from_bf16(h));
    if (left - left == 0) *rest = left;
    return h;
}

static void round_range(vkt__comm_job *j, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        j->words[i] = rounded((double)j->data[i] + (double)j->rest[i], &j->rest[i]);
}

static void widen_range(vkt__comm_job *j, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) j->data[i] = vkt__from_bf16(j->words[i]);
}

static vkt_status begin_scatter(vkt_comm *c, vkt__comm_job *j)
{
    vkt_status st = VKT_OK;
    uint64_t begin, mine = piece_of(j, c->rank, &begin);
    VKT_TRY(make_room(c, j, mine));
    if (j->rest) {
        round_range(j, 0, begin);
        round_range(j, begin + mine, j->n);
    }
    for (uint32_t r = 0; r < c->size; r++)
        if (r != c->rank && mine)
            VKT_TRY(receive_part(c, j, (char *)j->parts + r * mine * element_bytes(j), mine, r,
                                 j->tag));
    for (uint32_t k = 1; k < c->size; k++) { /* each begins with another, so that none is flooded */
        uint32_t r = (c->rank + k) % c->size;
        uint64_t at, count = piece_of(j, r, &at);
        if (count) VKT_TRY(send_part(c, j, at, count, r, j->tag));
    }
fail:
    return st;
}

/* n elements of rank r's part, from `at` of this rank's piece on, onto the sums. */
static void add_part(const vkt_comm *c, const vkt__comm_job *j, uint32_t r, uint64_t at, uint64_t n,
                     double *sum)
{
    uint64_t begin, mine = piece_of(j, c->rank, &begin), own = begin + at, there = r * mine + at;
    const float *f = r == c->rank ? j->data + own : (const float *)j->parts + there;
    const uint16_t *h = (const uint16_t *)j->parts + there;
    if (j->rest && r == c->rank)
        for (uint64_t i = 0; i < n; i++) sum[i] += (double)f[i] + (double)j->rest[own + i];
    else if (j->rest)
        for (uint64_t i = 0; i < n; i++) sum[i] += (double)vkt__from_bf16(h[i]);
    else
        for (uint64_t i = 0; i < n; i++) sum[i] += (double)f[i];
}

/* In the order of the ranks, in double, rounded once. */
static void add_up(const vkt_comm *c, vkt__comm_job *j)
{
    uint64_t begin, mine = piece_of(j, c->rank, &begin);
    bool narrow = j->rest && j->kind == VKT__COMM_SUM;
    enum { BLOCK = 512 };
    double sum[BLOCK];
    for (uint64_t at = 0; at < mine; at += BLOCK) {
        uint64_t n = VKT_MIN(mine - at, (uint64_t)BLOCK);
        for (uint64_t i = 0; i < n; i++) sum[i] = 0;
        for (uint32_t r = 0; r < c->size; r++) add_part(c, j, r, at, n, sum);
        for (uint64_t i = 0, k = begin + at; i < n; i++, k++) {
            if (narrow) j->words[k] = rounded(sum[i], &j->rest[k]);
            j->data[k] = narrow ? vkt__from_bf16(j->words[k]) : (float)sum[i];
            if (j->rest && !narrow) j->rest[k] = 0;
        }
    }
}

static vkt_status begin_gather(vkt_comm *c, vkt__comm_job *j)
{
    vkt_status st = VKT_OK;
    uint64_t begin, mine = piece_of(j, c->rank, &begin);
    j->gathers = true;
    j->n_q = 0;
    for (uint32_t r = 0; r < c->size; r++) {
        uint64_t at, count = piece_of(j, r, &at);
        if (r != c->rank && count)
            VKT_TRY(receive_part(c, j, element(j, at), count, r, j->tag + 1));
    }
    for (uint32_t k = 1; k < c->size && mine; k++)
        VKT_TRY(send_part(c, j, begin, mine, (c->rank + k) % c->size, j->tag + 1));
fail:
    return st;
}

static vkt_status test_job(vkt_comm *c, void *arg, bool *done)
{
    vkt__comm_job *j = arg;
    many m = { j->q, j->n_q };
    vkt_status st = test_many(c, &m, done);
    if (st != VKT_OK || !*done) return st;
    if (j->gathers && j->rest) {
        widen_range(j, 0, j->cuts[c->rank]);
        widen_range(j, j->cuts[c->rank + 1], j->n);
    }
    if (j->gathers) return VKT_OK;
    add_up(c, j);
    if (j->kind == VKT__COMM_SCATTER) return VKT_OK;
    *done = false;
    return begin_gather(c, j);
}

static vkt_status mpi_start(vkt_comm *c, const vkt__comm_work *w, vkt__comm_job **out)
{
    vkt__comm_job *j = *out = free_job(c);
    if (!j->q) j->q = vkt__alloc(2 * c->all * sizeof(MPI_Request));
    if (!j->cuts) j->cuts = vkt__alloc((c->all + 1) * sizeof *j->cuts);
    j->used = true;
    j->kind = w->kind;
    j->data = w->data;
    j->rest = w->rest;
    j->n = w->n;
    j->tag = next_tag(c);
    j->gathers = false;
    j->n_q = 0;
    for (uint32_t r = 0; r <= c->size; r++)
        j->cuts[r] = w->cuts ? w->cuts[r] : vkt__comm_piece(w->n, c->size, r);
    return w->kind == VKT__COMM_GATHER ? begin_gather(c, j) : begin_scatter(c, j);
}

static vkt_status mpi_sum_test(vkt_comm *c, vkt__comm_job **job, bool *done)
{
    vkt_status st = test_job(c, *job, done);
    if (st == VKT_OK && !*done) st = vkt__mpi_alarmed(c);
    if (st != VKT_OK || !*done) return st;
    (*job)->used = false;
    *job = NULL;
    return VKT_OK;
}

static vkt_status mpi_sum_wait(vkt_comm *c, vkt__comm_job **job)
{
    vkt_status st = until(c, test_job, *job);
    if (st != VKT_OK) return st;
    (*job)->used = false;
    *job = NULL;
    return VKT_OK;
}

/* ---- bytes ---- */

static vkt_status mpi_all_gather(vkt_comm *c, const void *mine, void *all, uint64_t bytes)
{
    vkt__mpi *m = c->state;
    vkt_status st = VKT_OK;
    int tag = next_tag(c), n = 0;
    MPI_Request *q = vkt__alloc(2 * c->size * sizeof *q);
    char *to = all;
    if (mine != to + c->rank * bytes) memmove(to + c->rank * bytes, mine, bytes);
    for (uint32_t r = 0; r < c->size; r++)
        if (r != c->rank)
            VKT_TRY(failed(
                MPI_Irecv(to + r * bytes, (int)bytes, MPI_BYTE, (int)r, tag, m->work, &q[n++]),
                "MPI_Irecv"));
    for (uint32_t k = 1; k < c->size; k++)
        VKT_TRY(failed(MPI_Isend(to + c->rank * bytes, (int)bytes, MPI_BYTE,
                                 (int)((c->rank + k) % c->size), tag, m->work, &q[n++]),
                       "MPI_Isend"));
    c->bytes += bytes * (c->size - 1);
    st = until(c, test_many, &(many) { q, n });
fail:
    free(q);
    return st;
}

static vkt_status mpi_broadcast(vkt_comm *c, void *data, uint64_t bytes)
{
    vkt__mpi *m = c->state;
    vkt_status st = VKT_OK;
    int tag = next_tag(c), n = 0;
    MPI_Request *q = vkt__alloc(c->size * sizeof *q);
    if (c->rank > 0)
        VKT_TRY(
            failed(MPI_Irecv(data, (int)bytes, MPI_BYTE, 0, tag, m->work, &q[n++]), "MPI_Irecv"));
    for (uint32_t r = 1; r < c->size && c->rank == 0; r++)
        VKT_TRY(failed(MPI_Isend(data, (int)bytes, MPI_BYTE, (int)r, tag, m->work, &q[n++]),
                       "MPI_Isend"));
    if (c->rank == 0) c->bytes += bytes * (c->size - 1);
    st = until(c, test_many, &(many) { q, n });
fail:
    free(q);
    return st;
}

static vkt_status mpi_barrier(vkt_comm *c)
{
    char here = 0, *all = vkt__alloc(c->size);
    vkt_status st = mpi_all_gather(c, &here, all, 1);
    free(all);
    return st;
}

static void mpi_abort(vkt_comm *c, int code)
{
    (void)c;
    MPI_Abort(MPI_COMM_WORLD, code);
}

/* ---- beginning and end ---- */

/* By number of the process, where that can be seen from here. */
static vkt_status know_neighbour(vkt_comm *c)
{
    typedef struct place {
        char host[64];
        int pid;
    } place;
    vkt__mpi *m = c->state;
    place mine = { .pid = vkt__pid() }, *all = vkt__alloc(c->size * sizeof *all);
    vkt__hostname(mine.host, sizeof mine.host);
    vkt_status st = mpi_all_gather(c, &mine, all, sizeof mine);
    const place *before = &all[(c->rank + c->size - 1) % c->size];
    if (st == VKT_OK && !strcmp(before->host, mine.host) && vkt__pid_runs(before->pid))
        m->pid_before = before->pid;
    if (st == VKT_OK) st = mpi_barrier(c); /* none ends before all have looked */
    free(all);
    return st;
}

static vkt_status mpi_open(vkt_comm *c)
{
    vkt_status st = VKT_OK;
    int there = 0, level = 0, rank = 0, size = 0, local = 0;
    vkt__mpi *m = c->state = vkt__alloc(sizeof *m);
    MPI_Comm node;
    m->comm = c;
    MPI_Initialized(&there);
    m->begun = !there;
    if (!there)
        VKT_TRY(
            failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread"));
    else
        MPI_Query_thread(&level);
    MPI_Comm_dup(MPI_COMM_WORLD, &m->work);
    MPI_Comm_dup(MPI_COMM_WORLD, &m->watch);
    MPI_Comm_set_errhandler(m->work, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(m->watch, MPI_ERRORS_RETURN);
    MPI_Comm_rank(m->work, &rank);
    MPI_Comm_size(m->work, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    c->rank = (uint32_t)rank;
    c->size = c->all = (uint32_t)size;
    c->local_rank = (uint32_t)local;
    MPI_Comm_size(node, &local);
    c->local_size = (uint32_t)local;
    MPI_Comm_free(&node);
    m->jobs = vkt__alloc(VKT__COMM_JOBS * sizeof *m->jobs);
    if (level < MPI_THREAD_MULTIPLE)
        return vkt__fail(
            VKT_E_UNSUPPORTED, "comm",
            "%s is built without MPI_THREAD_MULTIPLE, which the watch over the ranks needs",
            vkt_comm_library());
    c->names = vkt__alloc(c->size * sizeof *c->names); /* here, as the watch names ranks */
    if (c->size > 1) {
        VKT_TRY(know_neighbour(c));
        VKT_TRY(vkt__mpi_watch_start(c));
    }
fail:
    return st;
}

/* All ranks come here. Where they do not within `limit_s`, they are ended. */
static bool all_are_here(vkt__mpi *m, double limit_s, bool heeds)
{
    MPI_Request q;
    int done = 0;
    double start = vkt__now();
    m->ending = true;
    if (MPI_Ibarrier(m->watch, &q) != MPI_SUCCESS) return false;
    for (uint32_t turn = 0; !done; turn++) {
        if (MPI_Test(&q, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
        if (!done && heeds && m->alarmed)
            limit_s = VKT_MIN(limit_s, vkt__now() - start + 10), heeds = false;
        if (!done && vkt__now() - start > limit_s) return false;
        if (!done) idle(turn);
    }
    return true;
}

static vkt_status mpi_close(vkt_comm *c, vkt_status st)
{
    vkt__mpi *m = c->state;
    bool fails = st != VKT_OK && st != VKT_E_INTERRUPTED, told = m->alarmed;
    char own[sizeof m->alarm.text];
    snprintf(own, sizeof own, "%s", vkt_last_error());
    if (m->jobs && c->all > 1) {
        if (fails && !told) vkt__mpi_alarm(c, st, vkt_last_error());
        if (!all_are_here(m, fails ? 10 : 1e9, !fails)) c->row->abort(c, 1);
        if (!fails && m->alarmed) st = vkt__mpi_alarmed(c);
        /* What all ranks find is said once. */
        if (fails && told && strcmp(m->alarm.text, own) != 0) vkt__mpi_alarmed(c);
        vkt__mpi_watch_stop(c);
    }
    for (uint32_t i = 0; m->jobs && i < VKT__COMM_JOBS; i++) {
        free(m->jobs[i].parts);
        free(m->jobs[i].words);
        free(m->jobs[i].q);
        free(m->jobs[i].cuts);
    }
    free(m->jobs);
    if (m->begun) MPI_Finalize();
    free(m);
    return st;
}

const vkt__comm_row vkt__comm_mpi = { .name = "MPI",
                                      .open = mpi_open,
                                      .close = mpi_close,
                                      .start = mpi_start,
                                      .sum_test = mpi_sum_test,
                                      .sum_wait = mpi_sum_wait,
                                      .all_gather = mpi_all_gather,
                                      .broadcast = mpi_broadcast,
                                      .barrier = mpi_barrier,
                                      .abort = mpi_abort };
