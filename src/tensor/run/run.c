/* Running a planned graph: memory, pipelines, recorded command buffers, submission.
 *
 * A graph is recorded as segments, one submission each: a driver's watchdog kills what lasts 2 s,
 * and a desktop stutters on far less. Segments end between levels; a level too long for one is cut
 * into parts of its dispatches. They are cut by an estimate first, then by what the first runs
 * took. A short graph is one segment. */
#include "base/os.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "tensor/graph/uses.h"
#include "tensor/ops/ops.h"

/* ---- segments ---- */

/* What one submission runs: levels first..last, or one part of one level. */
typedef struct vkt__segment {
    uint32_t first, last, part, n_parts;
    double ms; /* shortest of the timed runs */
    vkt__cmd *cmd[VKT_MAX_SLOTS];
} vkt__segment;

enum { MAX_PARTS = 64, TIMED_RUNS = 2, MAX_CUTS = 3 };
static_assert((int)VKT_MAX_SLOTS <= (int)VKT__SUBMIT_MOST, "all slots fit one submission");

static void segments_finish(vkt_graph *g)
{
    for (uint32_t i = 0; i < g->n_segments; i++)
        for (uint32_t s = 0; s < VKT_MAX_SLOTS; s++)
            vkt__cmd_destroy(g->gpu, &g->segments[i].cmd[s]);
    free(g->segments);
    g->segments = NULL;
    g->n_segments = 0;
}

static void estimate(vkt_graph *g)
{
    g->level_ms = vkt__arena_alloc(&g->arena, (g->n_levels + 1) * sizeof *g->level_ms);
    for (size_t k = 0; k < g->n_nodes; k++)
        g->level_ms[g->nodes[k]->level] += vkt__node_ms(g->nodes[k]);
}

double vkt__graph_pace(const vkt_graph *g)
{
    double ms = 0, estimate = 0;
    for (uint32_t i = 0; i < g->n_segments && g->n_timed; i++) ms += g->segments[i].ms;
    for (uint32_t l = 0; l < g->n_levels && !g->n_timed; l++) ms += g->level_ms[l];
    for (size_t k = 0; k < g->n_nodes; k++) estimate += vkt__node_ms(g->nodes[k]);
    return estimate > 0 ? ms / estimate : 1;
}

/* How many submissions a level takes by itself. */
static uint32_t parts_of(const vkt_graph *g, uint32_t level, double target_ms)
{
    if (target_ms <= 0) return 3;
    double n = g->level_ms[level] / target_ms;
    return n > MAX_PARTS ? MAX_PARTS : n > 1 ? (uint32_t)n + 1 : 1;
}

static void cut(vkt_graph *g, double target_ms)
{
    size_t cap = 0, n = 0;
    vkt__segment *list = NULL;
    double ms = 0;
    for (uint32_t l = 0; l < g->n_levels || l == 0; l++) {
        uint32_t parts = parts_of(g, l, target_ms);
        bool joins = n && !(l && g->level_ends && g->level_ends[l - 1]) && parts == 1 &&
                     list[n - 1].n_parts == 1 && ms + g->level_ms[l] <= target_ms;
        ms = joins ? ms + g->level_ms[l] : g->level_ms[l];
        if (joins) list[n - 1].last = l;
        for (uint32_t p = 0; p < parts && !joins; p++) {
            list = vkt__grow(list, n, &cap, sizeof *list);
            list[n++] = (vkt__segment) { .first = l, .last = l, .part = p, .n_parts = parts };
        }
    }
    g->segments = list;
    g->n_segments = (uint32_t)n;
    g->n_timed = 0;
    g->n_cuts++;
}

/* A segment's time, from the times of its levels. */
static double expected_ms(const vkt_graph *g, const vkt__segment *s)
{
    double ms = 0;
    for (uint32_t l = s->first; l <= s->last; l++) ms += g->level_ms[l];
    return ms / s->n_parts;
}

void vkt__graph_copy(vkt_graph *g, uint32_t slot, bool after, const vkt_buffer *from,
                     uint64_t from_at, const vkt_buffer *to, uint64_t bytes)
{
    VKT_ASSERT(slot < VKT_MAX_SLOTS && !g->n_segments);
    g->copies[after][slot].from = from;
    g->copies[after][slot].to = to;
    g->copies[after][slot].from_at = from_at;
    g->copies[after][slot].bytes = bytes;
}

/* A barrier stands between it and the nodes. */
static void record_copy(const vkt__rec *rec, const vkt_graph *g, bool after)
{
    uint64_t bytes = g->copies[after][rec->slot].bytes;
    const vkt_buffer *to = g->copies[after][rec->slot].to;
    if (!bytes) return;
    if (after) vkt__cmd_barrier(rec->cmd);
    vkt__cmd_copy(rec->cmd, g->copies[after][rec->slot].from, g->copies[after][rec->slot].from_at,
                  to, 0, bytes);
    if (!after) vkt__cmd_barrier(rec->cmd);
}

static vkt_status record_segment(vkt_graph *g, vkt__segment *s, uint32_t slot)
{
    vkt__rec rec = { .gpu = g->gpu,
                     .caps = vkt_gpu_caps(g->gpu),
                     .slot = slot,
                     .part = s->part,
                     .n_parts = s->n_parts };
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__cmd_create(g->gpu, g->label, 0, &s->cmd[slot]));
    rec.cmd = s->cmd[slot];
    vkt__cmd_expect(rec.cmd, expected_ms(g, s));
    if (s == g->segments) record_copy(&rec, g, false);
    for (uint32_t l = s->first; l <= s->last; l++) {
        if (l > s->first) vkt__cmd_barrier(rec.cmd);
        for (size_t k = g->level_start[l]; k < g->level_start[l + 1]; k++)
            vkt__record_node(&rec, g->by_level[k]);
    }
    VKT_TRY(rec.status);
    if (s == g->segments + g->n_segments - 1) record_copy(&rec, g, true);
    VKT_TRY(vkt__cmd_end(rec.cmd));
fail:
    return st;
}

static vkt_status record_all(vkt_graph *g)
{
    vkt_status st = VKT_OK;
    for (uint32_t i = 0; i < g->n_segments; i++)
        for (uint32_t s = 0; s < g->n_slots; s++) VKT_TRY(record_segment(g, &g->segments[i], s));
fail:
    return st;
}

static void wish(vkt_graph *g)
{
    vkt__rec rec = { .gpu = g->gpu, .caps = vkt_gpu_caps(g->gpu), .wishes = true };
    for (size_t k = 0; k < g->n_nodes; k++) vkt__record_node(&rec, g->nodes[k]);
}

vkt_status vkt__graph_wish(vkt_graph *g, const vkt_plan_desc *desc)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < g->n_tensors; i++)
        if (!g->tensors[i]->node && !g->tensors[i]->view_of) g->tensors[i]->bound = true;
    VKT_TRY(vkt_graph_plan(g, desc));
    wish(g);
fail:
    return st;
}

/* All pipelines at the same time, before they are recorded one after the other. */
static void make_kernels(vkt_graph *g)
{
    wish(g);
    vkt__kernels_make(g->gpu);
}

/* Measured times of segments, spread over their levels as the estimates were. */
static void learn(vkt_graph *g)
{
    for (uint32_t i = 0; i < g->n_segments; i++) {
        const vkt__segment *s = &g->segments[i];
        double sum = 0;
        for (uint32_t l = s->first; l <= s->last; l++) sum += g->level_ms[l];
        if (s->n_parts > 1) {
            if (s->part == 0) g->level_ms[s->first] = 0;
            g->level_ms[s->first] += s->ms;
        } else {
            for (uint32_t l = s->first; l <= s->last && sum > 0; l++) g->level_ms[l] *= s->ms / sum;
        }
    }
}

/* After the timed runs, cuts the graph into segments again if their times are far from the target.
 * No run of the graph may be in flight. */
static vkt_status settle(vkt_graph *g)
{
    vkt_status st = VKT_OK;
    double target = vkt_gpu_caps(g->gpu)->submit_ms, sum = 0, most = 0;
    for (uint32_t i = 0; i < g->n_segments; i++) {
        sum += g->segments[i].ms;
        most = VKT_MAX(most, g->segments[i].ms);
    }
    bool coarse = most > 1.5 * target,
         fine = g->n_segments > 1 && g->n_segments > 1.5 * sum / target + 1;
    if (target <= 0 || g->n_cuts == MAX_CUTS || (!coarse && !fine)) {
        if (g->n_segments > 1)
            vkt_log(VKT_LOG_DEBUG, "graph",
                    "'%s': %u submissions, %.1f ms in all, the longest %.1f ms", g->label,
                    g->n_segments, sum, most);
        if (most > 4 * target && target > 0 && vkt_gpu_caps(g->gpu)->type != VKT_GPU_CPU)
            vkt_log(VKT_LOG_WARN, "graph",
                    "'%s' has a submission of %.0f ms, which can't be cut; a driver's watchdog may "
                    "stop it: use a smaller batch",
                    g->label, most);
        return VKT_OK;
    }
    learn(g);
    segments_finish(g);
    cut(g, target);
    VKT_TRY(record_all(g));
fail:
    return st;
}

/* Whether the host has work with what the node gives: of the whole batch, not of ghost batches. */
static bool syncs(const vkt_node *n)
{
    bool mine = n->op == &vkt__op_batch_stats || n->op == &vkt__op_batch_norm_total;
    const vkt_tensor *x = n->op == &vkt__op_batch_stats ? n->in[0] : NULL;
    if (!mine || n->attr.batch.fixed) return false;
    if (!x) x = n->in[0]->node->in[1];
    uint32_t rows = n->attr.batch.group_rows;
    return rows == 0 || rows >= vkt__rows_of(x->shape);
}

void vkt__graph_sync(vkt_graph *g, double times,
                     vkt_status (*fn)(void *user, const vkt_node *n, uint32_t slot), void *user)
{
    g->sync = fn;
    g->sync_user = user;
    for (size_t k = 0; k < g->n_nodes; k++) {
        vkt_node *n = g->nodes[k];
        if (n->op != &vkt__op_batch_finish || !syncs(n->in[0]->node)) continue;
        n->attr.batch.whole = (float)(times * vkt__rows_of(n->in[0]->node->in[0]->shape));
    }
}

/* The segment has been submitted: what of it the host has to do with. */
static vkt_status sync_segment(vkt_graph *g, const vkt__segment *s, uint32_t slot, uint64_t ticket)
{
    vkt_status st = VKT_OK;
    if (!g->level_syncs || !g->level_syncs[s->last] || s->part + 1 < s->n_parts) return VKT_OK;
    VKT_TRY(vkt_ticket_wait(g->gpu, ticket));
    for (size_t k = g->level_start[s->last]; k < g->level_start[s->last + 1]; k++)
        if (syncs(g->by_level[k])) VKT_TRY(g->sync(g->sync_user, g->by_level[k], slot));
fail:
    return st;
}

void vkt__graph_postpone(vkt_graph *g)
{
    g->postponed = true;
}

vkt_status vkt__graph_prepare(vkt_graph *g)
{
    if (g->status != VKT_OK || g->prepared || vkt__gpu_plans_only(g->gpu)) return g->status;
    make_kernels(g);
    g->status = record_all(g);
    g->prepared = g->status == VKT_OK;
    return g->status;
}

vkt_status vkt_graph_compile(vkt_graph *g, const vkt_plan_desc *desc)
{
    vkt_status st = VKT_OK;
    VKT_ASSERT(g->gpu && g->n_chunks == 0);
    const char *label = desc->label ? desc->label : "graph";
    VKT_TRY(vkt_graph_plan(g, desc));
    for (uint64_t at = 0; at < g->slab_bytes; at += g->chunk_bytes) {
        if (g->n_chunks == VKT_MAX_CHUNKS) {
            st = vkt__fail(VKT_E_OOM_DEVICE, "plan",
                           "'%s' needs more than %d allocations of %.1f MiB: use a smaller batch",
                           label, VKT_MAX_CHUNKS, (double)g->chunk_bytes / 1048576);
            goto fail;
        }
        vkt_buffer_desc chunk = { VKT_MIN(g->slab_bytes - at, g->chunk_bytes), VKT_MEM_DEVICE,
                                  label };
        VKT_TRY(vkt_buffer_create(g->gpu, &chunk, &g->chunks[g->n_chunks]));
        g->n_chunks++;
    }
    g->label = vkt__arena_strdup(&g->arena, label);
    if (vkt__gpu_plans_only(g->gpu)) return VKT_OK;
    estimate(g);
    vkt__graph_mark_ends(g, syncs);
    cut(g, vkt_gpu_caps(g->gpu)->submit_ms);
    if (!g->postponed) VKT_TRY(vkt__graph_prepare(g));
fail:
    if (st != VKT_OK) g->status = st;
    return st;
}

vkt_status vkt_graph_submit(vkt_graph *g, uint32_t slot, uint64_t *ticket)
{
    vkt_status st = VKT_OK;
    if (vkt__gpu_plans_only(g->gpu))
        return vkt__fail(VKT_E_UNSUPPORTED, "graph",
                         "'%s' can't be run: a device profile is only for planning", g->label);
    VKT_ASSERT(slot < g->n_slots && g->n_segments);
    VKT_TRY(vkt__graph_prepare(g));
    bool timed = g->n_timed < TIMED_RUNS && g->n_levels > 0;
    if (timed) VKT_TRY(vkt_gpu_wait(g->gpu));
    for (uint32_t i = 0; i < g->n_segments; i++) {
        vkt__segment *s = &g->segments[i];
        double start = vkt__now();
        VKT_TRY(vkt__submit(g->gpu, s->cmd[slot], ticket));
        if (timed) {
            VKT_TRY(vkt_ticket_wait(g->gpu, *ticket));
            double ms = 1e3 * (vkt__now() - start);
            s->ms = g->n_timed ? VKT_MIN(s->ms, ms) : ms;
        }
        vkt__graph_submitted(g, s->first, s->last, *ticket);
        VKT_TRY(sync_segment(g, s, slot, *ticket));
    }
    if (timed && ++g->n_timed == TIMED_RUNS) VKT_TRY(settle(g));
fail:
    return st;
}

bool vkt_graph_is_short(const vkt_graph *g, double ms)
{
    return g->n_segments == 1 && g->n_timed == TIMED_RUNS && g->segments[0].ms <= ms;
}

vkt_status vkt_graph_submit_slots(vkt_graph *g, const uint32_t *slots, uint32_t n, uint64_t *ticket)
{
    vkt__cmd *cmds[VKT_MAX_SLOTS];
    vkt_status st = VKT_OK;
    VKT_ASSERT(n > 0 && n <= VKT_MAX_SLOTS);
    if (vkt_graph_is_short(g, (double)vkt_gpu_caps(g->gpu)->submit_ms / n)) {
        for (uint32_t i = 0; i < n; i++) cmds[i] = g->segments[0].cmd[slots[i]];
        VKT_TRY(vkt__submit_all(g->gpu, cmds, n, ticket));
        vkt__graph_submitted(g, 0, g->n_levels, *ticket);
        return VKT_OK;
    }
    for (uint32_t i = 0; i < n && st == VKT_OK; i++) st = vkt_graph_submit(g, slots[i], ticket);
fail:
    return st;
}

vkt_status vkt_graph_run(vkt_graph *g)
{
    uint64_t ticket = 0;
    vkt_status st = vkt_graph_submit(g, 0, &ticket);
    return st == VKT_OK ? vkt_ticket_wait(g->gpu, ticket) : st;
}

vkt_status vkt_tensor_read(vkt_tensor *t, uint32_t slot, void *data, uint64_t bytes)
{
    uint64_t offset;
    VKT_ASSERT(bytes <= t->bytes);
    if (bytes == 0) return VKT_OK;
    const vkt_buffer *b = vkt__place(t, slot, &offset);
    return vkt_buffer_read(t->g->gpu, b, offset, data, bytes);
}

vkt_status vkt_tensor_write(vkt_tensor *t, uint32_t slot, const void *data, uint64_t bytes)
{
    uint64_t offset;
    VKT_ASSERT(bytes <= t->bytes);
    if (bytes == 0) return VKT_OK;
    const vkt_buffer *b = vkt__place(t, slot, &offset);
    return vkt_buffer_write(t->g->gpu, (vkt_buffer *)(uintptr_t)b, offset, data, bytes);
}

uint64_t vkt_graph_allocated(const vkt_graph *g)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; g && i < g->n_chunks; i++) bytes += g->chunks[i]->bytes;
    return bytes;
}

void vkt_graph_destroy(vkt_graph **pg)
{
    vkt_graph *g = *pg;
    if (!g) return;
    if (g->gpu) {
        vkt__gpu_settle(g->gpu);
        segments_finish(g);
        for (uint32_t i = 0; i < g->n_chunks; i++) vkt_buffer_destroy(g->gpu, &g->chunks[i]);
    }
    vkt__uses_forget(g);
    free(g->nodes);
    free(g->tensors);
    free(g->named);
    vkt__arena_finish(&g->arena);
    free(g);
    *pg = NULL;
}
