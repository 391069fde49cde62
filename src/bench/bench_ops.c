/* Every op row on fixed shapes: first its result against the twin, then its time. A row without
 * shapes in bench_ops_table.c is measured on its largest sample. Inputs of the row are computed
 * once; then only the row's own nodes are timed, over and over, on several sets of buffers in turn
 * so that the next repetition does not find its data in a cache. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "bench/bench_clock.h"
#include "bench/bench_dump.h"
#include "bench/bench_key.h"
#include "bench/bench_ops.h"
#include "bench/bench_op_check.h"
#include "bench/bench_rows.h"
#include "tensor/ops/matmul/ops_matmul.h"

static uint64_t set_bytes(const vkt__op_set *s)
{
    return s->inputs->bytes + s->g->slab_bytes;
}

/* ---- time ---- */

static vkt_status op_record(void *user, vkt__cmd *cmd, uint32_t rep)
{
    const vkt__op_job *j = user;
    const vkt_graph *g = j->sets[rep % j->n_sets].g;
    vkt__rec rec = { j->b->gpu, j->b->caps, cmd, 0, VKT_OK };
    bool any = false;
    for (uint32_t l = 0; l < g->n_levels; l++) {
        bool begun = false;
        for (size_t k = 0; k < g->n_nodes; k++) {
            const vkt_node *n = g->nodes[k];
            if (n->level != l || !vkt__op_job_times(j, n)) continue;
            if (any && !begun) vkt__cmd_barrier(cmd);
            any = begun = true;
            n->op->record(&rec, n);
        }
    }
    return rec.status;
}

/* The fastest that a node's multiply-adds can be: those of 16-bit factors on matrix units too. */
static double arithmetic(const vkt__bencher *b, const vkt_node *n)
{
    double units = vkt__inputs_with(n->op, VKT_FACTOR) ? b->matrix[n->in[0]->dtype] : 0;
    return VKT_MAX(b->fma, units);
}

/* Flops, bytes, and the time they must take by the ceilings. */
static double roofline(const vkt__op_job *j, double working_set, double *flops, double *bytes)
{
    const vkt_graph *g = j->sets[0].g;
    double s = 0;
    *flops = *bytes = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (!vkt__op_job_times(j, n)) continue;
        vkt_cost c = vkt__node_cost(n);
        double written = 0;
        for (uint32_t i = 0; i < n->op->n_out; i++)
            written += n->out[i] ? (double)n->out[i]->bytes : 0;
        for (uint32_t i = 0; i < n->op->n_in; i++)
            written += n->in[i] && (n->op->in[i] & VKT_CHANGED) ? (double)n->in[i]->bytes : 0;
        double bw = vkt__bench_bandwidth(j->b, working_set, c.bytes > 0 ? written / c.bytes : 0);
        double rate = arithmetic(j->b, n);
        s += VKT_MAX(bw > 0 ? c.bytes / bw : 0, rate > 0 ? c.flops / rate : 0);
        *flops += c.flops;
        *bytes += c.bytes;
    }
    return s;
}

static void shape_name(const vkt__op_job *j, char *out, size_t n)
{
    vkt__bench_name(j->op, j->entry, j->s, j->sample, out, n);
}

/* Why a case is not for this machine, before anything is made: a dispatch near the seconds at which
 * systems reset a device, a twin that does not fit the memory. */
static bool left_out(vkt__op_job *j)
{
    char name[96];
    double seconds = j->entry && j->entry->family == VKT__BENCH_MATMUL && j->b->matmul > 0
                         ? 2.0 * j->s.m * j->s.n * j->s.k / j->b->matmul
                         : 0,
           twin = 0;
    shape_name(j, name, sizeof name);
    if (seconds > 1.5) {
        vkt__bench_left_out(j->b->out, "%s: would take about %.1f s", name, seconds);
        return true;
    }
    if (j->entry && j->entry->family != VKT__BENCH_MATMUL) {
        vkt_graph *g = vkt__op_job_twin(j);
        for (size_t i = 0; i < g->n_tensors; i++)
            twin += g->tensors[i]->view_of ? 0 : 8.0 * (double)g->tensors[i]->count;
        vkt_graph_destroy(&g);
    }
    if (twin > 0.4 * (double)vkt__ram_bytes()) {
        vkt__bench_left_out(j->b->out,
                            "%s: the check against the twin would need %.1f GiB of host memory",
                            name, twin / 1073741824);
        return true;
    }
    return false;
}

/* More sets, enough to leave the caches, within an eighth of the memory; how much all hold. */
static vkt_status more_sets(vkt__op_job *j, double *working_set)
{
    vkt_status st = VKT_OK;
    const vkt__bencher *b = j->b;
    double flops, bytes;
    roofline(j, 0, &flops, &bytes);
    uint64_t each = set_bytes(&j->sets[0]),
             room = VKT_MIN(b->caps->budget_bytes / 8, (uint64_t)(b->desc->quick ? 96 : 384) << 20);
    uint32_t want =
        b->desc->once ? 1 : (uint32_t)VKT_MIN(VKT_MAX(room / each, 1), (uint64_t)VKT__OP_SETS);
    if (flops > 20 * bytes) want = VKT_MIN(want, 3); /* not a matter of caches */
    for (; j->n_sets < want; j->n_sets++) VKT_TRY(vkt__op_set_create(j, &j->sets[j->n_sets]));
    *working_set = (double)each * j->n_sets;
fail:
    return st;
}

static void job_finish(vkt__op_job *j)
{
    for (uint32_t i = 0; i < VKT__OP_SETS; i++) vkt__op_set_destroy(j, &j->sets[i]);
    free(j->host);
    free(j->table);
}

/* How fast the product is that a convolution computes, from memory as that is: what its kernels are
 * measured by. */
static vkt_status note_product(const vkt__op_job *conv, vkt_bench_row *r)
{
    vkt_status st = VKT_OK;
    vkt__op_job j = { .b = conv->b,
                      .op = &vkt__op_matmul,
                      .entry = vkt__bench_entry_of(&vkt__op_matmul),
                      .s = vkt__bench_product_of(conv->op, conv->s),
                      .n_sets = 1 };
    vkt__times t;
    char name[96];
    double working_set;
    j.table = vkt__alloc(VKT__OP_PATTERN * sizeof *j.table);
    VKT_TRY(vkt__op_set_create(&j, &j.sets[0]));
    VKT_TRY(more_sets(&j, &working_set));
    VKT_TRY(vkt__bench_time(
        conv->b, &(vkt__bench_job) { .label = "bench op", .record = op_record, .user = &j }, &t));
    double rate = 2e-9 * j.s.m * j.s.n * j.s.k / t.median;
    shape_name(&j, name, sizeof name);
    r->of_matmul = 100 * r->gflops / rate;
    vkt__bench_note(conv->b->out, r, "%s: %.3g GFLOP/s", name, rate);
fail:
    job_finish(&j);
    return st;
}

/* The folder of --dump. What it lacks memory for is no reason to leave out the row. */
static vkt_status dump_row(vkt__op_job *j, const vkt__dump *d, const vkt_bench_row *r)
{
    vkt_status st = vkt__bench_dump(j, d, r, j->b->desc->dump);
    j->b->dumped |= st == VKT_OK;
    return st == VKT_E_OOM_DEVICE || st == VKT_E_OOM_HOST ? VKT_E_FAILED : st;
}

static vkt_status run_case(vkt__op_job *j)
{
    vkt_status st = VKT_OK;
    vkt__bencher *b = j->b;
    char name[96];
    vkt__times t;
    double flops, bytes, working_set, spot = 5e8;
    vkt__dump dump = { 0 };
    vkt__str kernels = { 0 };
    shape_name(j, name, sizeof name);
    j->table = vkt__alloc(VKT__OP_PATTERN * sizeof *j->table);
    VKT_TRY(vkt__op_set_create(j, &j->sets[0]));
    j->n_sets = 1;
    roofline(j, 0, &flops, &bytes);
    bool few = j->entry && j->entry->family == VKT__BENCH_MATMUL && flops > spot;
    dump.few = few;
    bool dumps = b->desc->dump && !b->dumped;
    if (dumps) {
        VKT_TRY(vkt__op_set_create(j, &j->sets[j->n_sets++]));
        j->on_checked = vkt__dump_checks;
        j->user = &dump;
    }
    VKT_TRY(vkt__op_job_check(j, few));
    vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_OPS, name, "us", false);
    r->error = j->worst;
    vkt__bench_kernels(j, &kernels);
    r->kernels = kernels.len ? vkt__arena_strdup(&b->out->priv->arena, kernels.data) : NULL;
    if (j->why[0]) {
        vkt__bench_refuse(b, r, true, "%s", j->why);
        if (dumps) st = dump_row(j, &dump, r); /* what a driver's developers look for */
        goto fail;
    }
    VKT_TRY(more_sets(j, &working_set));
    double ideal = roofline(j, working_set, &flops, &bytes);
    VKT_TRY(vkt__bench_time(b,
                            &(vkt__bench_job) { .label = "bench op",
                                                .record = op_record,
                                                .user = j,
                                                .max_reps = flops > 1e10 ? 20 : 1000 },
                            &t));
    vkt__bench_set(r, &t, 1e6);
    r->gflops = flops / t.median * 1e-9;
    r->gbps = bytes / t.median * 1e-9;
    r->percent = 100 * ideal / t.median;
    if (j->op == &vkt__op_matmul && j->s.dtype == VKT_F32)
        b->matmul = VKT_MAX(b->matmul, flops / t.median);
    if (j->entry && j->entry->family == VKT__BENCH_CONV)
        VKT_TRY(note_product(j, r));
    else if (working_set < 64.0 * 1048576)
        vkt__bench_note(b->out, r, "%.1f MiB may stay in a cache", working_set / 1048576);
    if (dumps) VKT_TRY(dump_row(j, &dump, r));
fail:
    free(dump.all);
    vkt__str_finish(&kernels);
    job_finish(j);
    return st;
}

static bool multiplies_in(const vkt__op_job *j)
{
    bool narrow;
    vkt_graph *g = vkt__bench_graph(j->b->gpu, j->entry, j->s, &narrow);
    vkt_graph_destroy(&g);
    return narrow;
}

bool vkt__bench_is_small(const vkt__bencher *b)
{
    return b->desc->once || b->caps->klass == VKT_GPU_CLASS_CPU;
}

vkt_status vkt__bench_run_op(vkt__bencher *b, const vkt__bench_item *item)
{
    const vkt_op *op = vkt__rows[item->arg];
    vkt__op_job j = { .b = b, .op = op };
    size_t n_sizes;
    if (item->arg2 < VKT__BENCH_SAMPLE || item->arg2 >= VKT__BENCH_KEY)
        j.entry = vkt__bench_entry_of(op);
    if (item->arg2 >= VKT__BENCH_KEY) {
        bool gpu = item->arg2 >= VKT__BENCH_KEY_GPU;
        const vkt__bench_key_op *key =
            &vkt__bench_key_ops(&n_sizes)[item->arg2 - (gpu ? VKT__BENCH_KEY_GPU : VKT__BENCH_KEY)];
        j.s = !gpu && vkt__bench_is_small(b) ? key->cpu : key->gpu;
        j.checked = key->checked;
        if (j.entry->family == VKT__BENCH_ATTENTION && !multiplies_in(&j)) {
            vkt__bench_left_out(b->out, "%s in %s: this device computes it in f32", op->name,
                                vkt_dtype_name(j.s.dtype));
            j.s.dtype = VKT_F32;
        }
    } else if (j.entry) {
        const vkt__bench_sized *sized = &vkt__bench_sizes(j.entry->family, &n_sizes)[item->arg2];
        j.s = sized->s;
        j.checked = sized->checked;
    } else {
        j.sample = item->arg2 - VKT__BENCH_SAMPLE;
    }
    if (left_out(&j)) return VKT_OK;
    vkt_status st = run_case(&j);
    if (st == VKT_E_OOM_DEVICE || st == VKT_E_OOM_HOST) {
        char name[96];
        shape_name(&j, name, sizeof name);
        vkt__bench_left_out(b->out, "%s: not enough memory", name);
        st = VKT_OK;
    }
    return st;
}
