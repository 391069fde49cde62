/* Every op row on fixed shapes: first its result against the twin, then its time. A row without
 * shapes in bench_ops_table.c is measured on its largest sample. Inputs of the row are computed
 * once; then only the row's own nodes are timed, over and over, on several sets of buffers in turn
 * so that the next repetition does not find its data in a cache. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "base/quant.h"
#include "tensor/graph/act.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/record.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "bench/bench_clock.h"
#include "bench/bench_key.h"
#include "bench/bench_ops.h"
#include "bench/bench_ops_table.h"
#include "bench/bench_rows.h"
#include "tensor/ops/matmul/ops_matmul.h"

enum { SEED = 78, PATTERN = 65521, MAX_SETS = 32 };

/* ---- one set: a graph with memory of its own ---- */

typedef struct set {
    vkt_graph *g;
    vkt_buffer *inputs;
} set;

typedef struct op_job {
    vkt__bencher *b;
    const vkt_op *op;
    const vkt__bench_entry *entry; /* NULL: the sample */
    vkt__bench_shape s;
    uint32_t sample, checked; /* checked: as vkt__bench_sized's */
    set sets[MAX_SETS];
    uint32_t n_sets;
    unsigned char *host; /* the inputs */
    uint64_t in_bytes;
    double worst, flops;
    char why[200];
    vkt_tensor *table_of; /* whose values `table` holds */
    double *table;        /* [PATTERN] */
} op_job;

static bool is_input(const vkt_tensor *t)
{
    return !t->node && !t->view_of && t->name;
}

static bool is_timed(const op_job *j, const vkt_node *n)
{
    return n->op == j->op || (j->entry && j->entry->whole);
}

/* Values repeat after PATTERN elements or a few less, whole superblocks of packed numbers: large
 * inputs are made fast, and the twin gets the same. */
static uint64_t period(const vkt_tensor *t)
{
    bool packed = t->hint.kind == VKT_HINT_PACKED;
    uint64_t words = packed ? vkt__quant_words((vkt_quant)t->hint.limit, VKT__QUANT_BLOCK) : 1;
    return PATTERN / words * words;
}

static double value_of(op_job *j, const vkt_tensor *t, uint64_t i)
{
    if (j->table_of != t) {
        for (uint64_t k = 0; k < VKT_MIN(t->count, period(t)); k++)
            j->table[k] = vkt__sample_value(t, SEED, k);
        j->table_of = (vkt_tensor *)(uintptr_t)t;
    }
    return j->table[i % period(t)];
}

/* The graph of the case, or with another m. */
static vkt_graph *build(const op_job *j, vkt__bench_shape s)
{
    if (j->entry) return vkt__bench_graph(j->b->gpu, j->entry, s, NULL);
    vkt_graph *g = vkt__graph_new(j->b->gpu);
    j->op->sample(j->op, g, j->sample);
    return g;
}

static vkt_status set_create(op_job *j, set *s)
{
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = j->b->gpu;
    s->g = build(j, j->s);
    VKT_TRY(s->g->status);
    uint64_t at = 0;
    for (size_t i = 0; i < s->g->n_tensors; i++)
        if (is_input(s->g->tensors[i])) at += vkt__align(s->g->tensors[i]->bytes + 16, 256);
    if (!j->host) {
        j->in_bytes = at;
        j->host = vkt__alloc(at + 256);
    }
    VKT_TRY(vkt_buffer_create(
        gpu, &(vkt_buffer_desc) { VKT_MAX(at, 256), VKT_MEM_DEVICE, "bench inputs" }, &s->inputs));
    bool first = s == &j->sets[0];
    at = 0;
    for (size_t i = 0; i < s->g->n_tensors; i++) {
        vkt_tensor *t = s->g->tensors[i];
        if (!is_input(t)) continue;
        vkt_bind(t, VKT_ALL_SLOTS, s->inputs, at);
        uint64_t pattern = period(t);
        for (uint64_t k = 0; first && k < t->count; k++)
            if (k < pattern)
                vkt__sample_encode(t, k, value_of(j, t, k), j->host + at);
            else
                memcpy(j->host + at + k * vkt_dtype_bytes(t->dtype),
                       j->host + at + k % pattern * vkt_dtype_bytes(t->dtype),
                       vkt_dtype_bytes(t->dtype));
        at += vkt__align(t->bytes + 16, 256);
    }
    for (size_t k = 0; k < s->g->n_nodes; k++) /* what nobody reads is made, too */
        for (uint32_t i = 0; i < VKT_MAX_OUT && is_timed(j, s->g->nodes[k]); i++)
            if (s->g->nodes[k]->out[i]) s->g->nodes[k]->out[i]->kept = true;
    if (at) VKT_TRY(vkt_buffer_write(gpu, s->inputs, 0, j->host, at));
    VKT_TRY(vkt_graph_compile(s->g, &(vkt_plan_desc) { .no_reuse = true, .label = "bench op" }));
    VKT_TRY(vkt_graph_run(s->g));
fail:
    return st;
}

static void set_destroy(op_job *j, set *s)
{
    vkt_graph_destroy(&s->g);
    vkt_buffer_destroy(j->b->gpu, &s->inputs);
}

static uint64_t set_bytes(const set *s)
{
    return s->inputs->bytes + s->g->slab_bytes;
}

/* ---- against the twin ---- */

static void ref_init(void *user, const vkt_tensor *t, double *data)
{
    for (uint64_t i = 0; i < t->count; i++) data[i] = value_of(user, t, i);
}

static double share_of(double got, double want, double limit)
{
    double err = fabs(got - want);
    return err == 0 ? 0 : limit > 0 ? err / limit : INFINITY;
}

static void judge(op_job *j, const vkt_tensor *t, uint64_t i, double got, double want, double share)
{
    if (!(share <= 1) && !j->why[0])
        snprintf(j->why, sizeof j->why, "wrong result: %s element %llu is %.7g, the twin's %.7g",
                 vkt__text(t), (unsigned long long)i, got, want);
    j->worst = VKT_MAX(j->worst, isnan(share) ? INFINITY : share);
}

/* Roundings of what t's graph computes, by the device's kernels where it is the device's. */
static double terms_of(const vkt_tensor *t)
{
    double terms = 4;
    for (size_t k = 0; k < t->g->n_nodes; k++) {
        const vkt_node *n = t->g->nodes[k];
        if (n->op->terms) terms = VKT_MAX(terms, n->op->terms(n));
    }
    return terms;
}

/* Outputs of the timed nodes, and inputs that they change. */
static bool is_result(const op_job *j, const vkt_tensor *t)
{
    if (t->view_of) return false;
    if (t->node) return is_timed(j, t->node);
    for (size_t k = 0; k < t->g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (is_timed(j, t->g->nodes[k]) && t->g->nodes[k]->in[i] == t &&
                (t->g->nodes[k]->op->in[i] & VKT_CHANGED))
                return true;
    return false;
}

/* The tensor of the device's graph that t, of a graph of fewer m, is the first part of. */
static vkt_tensor *whole_of(const op_job *j, const vkt_tensor *t)
{
    const vkt_graph *g = j->sets[0].g;
    size_t nth = 0, k = 0;
    if (t->g == g) return (vkt_tensor *)(uintptr_t)t;
    VKT_ASSERT(t->node);
    while (t->g->nodes[k] != t->node) nth += t->g->nodes[k++]->op == t->node->op;
    for (k = 0; nth || g->nodes[k]->op != t->node->op; k++) nth -= g->nodes[k]->op == t->node->op;
    for (uint32_t i = 0;; i++)
        if (t->node->out[i] == t) return g->nodes[k]->out[i];
}

static void compare(void *user, const vkt_tensor *t, const double *want)
{
    op_job *j = user;
    if (!is_result(j, t) || !t->count) return;
    unsigned char *got = malloc(t->bytes + 4);
    if (!got || vkt_tensor_read(whole_of(j, t), 0, got, t->bytes) != VKT_OK) {
        if (!j->why[0]) snprintf(j->why, sizeof j->why, "the result could not be read");
        free(got);
        return;
    }
    double sum = 0, terms = terms_of(whole_of(j, t));
    for (uint64_t i = 0; i < t->count; i++) sum += want[i] * want[i];
    double rms = sqrt(sum / (double)t->count);
    vkt__code_check codes = vkt__code_check_of(t, vkt__tol(VKT_F32, terms));
    for (uint64_t i = 0; i < t->count; i++) {
        double x = vkt__sample_decode(t, i, got), err = fabs(x - want[i]),
               limit = t->dtype == VKT_U32 ? 0 : vkt__limit(t->dtype, terms, want[i], rms),
               share = err == 0    ? 0
                       : limit > 0 ? err / limit
                                   : INFINITY;
        judge(j, t, i, x, want[i], codes.op ? vkt__code_share(&codes, x, want[i]) : share);
    }
    free(got);
}

/* A graph of the case, with `checked` rows or examples where the twin of all takes too long. */
static vkt_graph *twin_graph(const op_job *j)
{
    vkt__bench_shape s = j->s;
    if (j->checked) s.m = j->checked;
    return build(j, s);
}

static void check(op_job *j)
{
    vkt_graph *g = j->checked ? twin_graph(j) : NULL;
    vkt__graph_ref(g ? g : j->sets[0].g, ref_init, j, compare);
    vkt_graph_destroy(&g);
}

/* A large product: some elements by the definition, in double. */
static vkt_status spot_check(op_job *j)
{
    enum { N_SPOTS = 200 };
    vkt_status st = VKT_OK;
    vkt_graph *g = j->sets[0].g;
    const vkt_tensor *in[2] = { NULL, NULL }, *bias = NULL, *r = NULL;
    vkt_tensor *c = NULL;
    vkt__bench_shape s = j->s;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (n->out[0]->count != (uint64_t)s.m * s.n) continue;
        c = n->out[0], bias = n->in[VKT__MM_IN_BIAS], r = n->in[VKT__MM_IN_R];
        if (n->op != &vkt__op_matmul) continue; /* the sum of its slices */
        in[0] = n->in[0], in[1] = n->in[1];
    }
    bool sliced = !in[0];
    for (size_t i = 0, n_in = 0; i < g->n_tensors && sliced && n_in < 2; i++)
        if (is_input(g->tensors[i])) in[n_in++] = g->tensors[i];
    VKT_ASSERT(in[0] && in[1] && c);
    unsigned char *got = malloc(c->bytes);
    float *a = malloc(PATTERN * sizeof *a), *b = malloc(PATTERN * sizeof *b);
    if (!got || !a || !b)
        VKT_TRY(vkt__fail(VKT_E_OOM_HOST, "bench", "no memory to check a product"));
    VKT_TRY(vkt_tensor_read(c, 0, got, c->bytes));
    for (uint64_t i = 0; i < PATTERN; i++) {
        a[i] = (float)vkt__sample_value(in[0], SEED, i);
        b[i] = (float)vkt__sample_value(in[1], SEED, i);
    }
    double terms = terms_of(c), rms = sqrt((double)s.k);
    for (uint32_t q = 0; q < N_SPOTS; q++) {
        uint64_t m = q == 0 ? 0 : q == 1 ? s.m - 1 : vkt_rand_below(SEED, VKT_RNG_TEST, 2 * q, s.m);
        uint64_t n = q == 0   ? 0
                     : q == 1 ? s.n - 1
                              : vkt_rand_below(SEED, VKT_RNG_TEST, 2 * q + 1, s.n);
        double sum = 0;
        for (uint64_t k = 0; k < s.k; k++) {
            uint64_t ia = s.layout == VKT_LAYOUT_TN ? k * s.m + m : m * s.k + k,
                     ib = s.layout == VKT_LAYOUT_NT ? n * s.k + k : k * s.n + n;
            sum += (double)a[ia % PATTERN] * (double)b[ib % PATTERN];
        }
        uint64_t at = m * s.n + n;
        double x = vkt__sample_decode(c, at, got);
        if (bias) sum += vkt__sample_value(bias, SEED, n % PATTERN);
        sum = vkt__act(s.act, sum);
        if (r) sum += vkt__sample_value(r, SEED, at % PATTERN);
        judge(j, c, at, x, sum, share_of(x, sum, vkt__limit(c->dtype, terms, sum, rms)));
    }
fail:
    free(got);
    free(a);
    free(b);
    return st;
}

/* ---- time ---- */

static vkt_status op_record(void *user, vkt__cmd *cmd, uint32_t rep)
{
    const op_job *j = user;
    const vkt_graph *g = j->sets[rep % j->n_sets].g;
    vkt__rec rec = { j->b->gpu, j->b->caps, cmd, 0, VKT_OK };
    bool any = false;
    for (uint32_t l = 0; l < g->n_levels; l++) {
        bool begun = false;
        for (size_t k = 0; k < g->n_nodes; k++) {
            const vkt_node *n = g->nodes[k];
            if (n->level != l || !is_timed(j, n)) continue;
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
static double roofline(const op_job *j, double working_set, double *flops, double *bytes)
{
    const vkt_graph *g = j->sets[0].g;
    double s = 0;
    *flops = *bytes = 0;
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (!is_timed(j, n)) continue;
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

static void shape_name(const op_job *j, char *out, size_t n)
{
    vkt__bench_name(j->op, j->entry, j->s, j->sample, out, n);
}

/* Why a case is not for this machine, before anything is made: a dispatch near the seconds at which
 * systems reset a device, a twin that does not fit the memory. */
static bool left_out(op_job *j)
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
        vkt_graph *g = twin_graph(j);
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
static vkt_status more_sets(op_job *j, double *working_set)
{
    vkt_status st = VKT_OK;
    const vkt__bencher *b = j->b;
    double flops, bytes;
    roofline(j, 0, &flops, &bytes);
    uint64_t each = set_bytes(&j->sets[0]),
             room = VKT_MIN(b->caps->budget_bytes / 8, (uint64_t)(b->desc->quick ? 96 : 384) << 20);
    uint32_t want =
        b->desc->once ? 1 : (uint32_t)VKT_MIN(VKT_MAX(room / each, 1), (uint64_t)MAX_SETS);
    if (flops > 20 * bytes) want = VKT_MIN(want, 3); /* not a matter of caches */
    for (; j->n_sets < want; j->n_sets++) VKT_TRY(set_create(j, &j->sets[j->n_sets]));
    *working_set = (double)each * j->n_sets;
fail:
    return st;
}

static void job_finish(op_job *j)
{
    for (uint32_t i = 0; i < MAX_SETS; i++) set_destroy(j, &j->sets[i]);
    free(j->host);
    free(j->table);
}

/* How fast the product is that a convolution computes, from memory as that is: what its kernels are
 * measured by. */
static vkt_status note_product(const op_job *conv, vkt_bench_row *r)
{
    vkt_status st = VKT_OK;
    op_job j = { .b = conv->b,
                 .op = &vkt__op_matmul,
                 .entry = vkt__bench_entry_of(&vkt__op_matmul),
                 .s = vkt__bench_product_of(conv->op, conv->s),
                 .n_sets = 1 };
    vkt__times t;
    char name[96];
    double working_set;
    j.table = vkt__alloc(PATTERN * sizeof *j.table);
    VKT_TRY(set_create(&j, &j.sets[0]));
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

static vkt_status run_case(op_job *j)
{
    vkt_status st = VKT_OK;
    vkt__bencher *b = j->b;
    char name[96];
    vkt__times t;
    double flops, bytes, working_set, spot = 5e8;
    shape_name(j, name, sizeof name);
    j->table = vkt__alloc(PATTERN * sizeof *j->table);
    VKT_TRY(set_create(j, &j->sets[0]));
    j->n_sets = 1;
    roofline(j, 0, &flops, &bytes);
    if (j->entry && j->entry->family == VKT__BENCH_MATMUL && flops > spot)
        VKT_TRY(spot_check(j));
    else
        check(j);
    vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_OPS, name, "us", false);
    r->error = j->worst;
    if (j->why[0]) {
        vkt__bench_refuse(b, r, true, "%s", j->why);
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
fail:
    job_finish(j);
    return st;
}

static bool multiplies_in(const op_job *j)
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
    op_job j = { .b = b, .op = op };
    size_t n_sizes;
    if (item->arg2 < VKT__BENCH_SAMPLE || item->arg2 >= VKT__BENCH_KEY)
        j.entry = vkt__bench_entry_of(op);
    if (item->arg2 >= VKT__BENCH_KEY) {
        const vkt__bench_key_op *key = &vkt__bench_key_ops(&n_sizes)[item->arg2 - VKT__BENCH_KEY];
        j.s = vkt__bench_is_small(b) ? key->cpu : key->gpu;
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
