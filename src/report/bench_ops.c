/* Every op row on fixed shapes: first its result against the twin, then its time. A row without
 * shapes here is measured on its largest sample. Inputs of the row are computed once; then only the
 * row's own nodes are timed, over and over, on several sets of buffers in turn so that the next
 * repetition does not find its data in a cache. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "report/bench.h"
#include "tensor/ops.h"

enum { SEED = 78, PATTERN = 65521, MAX_SETS = 32 };

/* ---- the shapes ---- */

typedef struct shape {
    uint32_t m, n, k; /* k: matmul only */
    vkt_layout layout;
} shape;

static vkt_tensor *positive(vkt_graph *g, uint32_t r, uint32_t c)
{
    return vkt__sample(g, vkt_shape2(r, c), VKT_F32, VKT_HINT_POSITIVE, 0);
}

static void build_add(vkt_graph *g, shape s)
{
    vkt_add(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n));
}
static void build_mul(vkt_graph *g, shape s)
{
    vkt_mul(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n));
}
static void build_scale(vkt_graph *g, shape s)
{
    vkt_scale(g, vkt__sample2(g, s.m, s.n), 1.5f);
}
static void build_copy(vkt_graph *g, shape s)
{
    vkt_copy(g, vkt__sample2(g, s.m, s.n));
}
static void build_fill(vkt_graph *g, shape s)
{
    vkt_fill(g, vkt_shape2(s.m, s.n), 1.5f);
}
static void build_act(vkt_graph *g, shape s)
{
    vkt_activate(g, vkt__sample2(g, s.m, s.n), VKT_ACT_GELU);
}
static void build_act_bwd(vkt_graph *g, shape s)
{
    vkt__act_bwd(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n), VKT_ACT_GELU);
}
/* What relu and dropout leave of a gradient. */
static void build_chain(vkt_graph *g, shape s)
{
    vkt_tensor *in[] = { vkt__sample2(g, s.m, s.n), NULL, vkt__sample2(g, s.m, s.n), NULL,
                         vkt_step(g) };
    vkt_attr attr = { .chain = { .n = 2, .dropout_p = 0.1f } };
    attr.chain.stage[0].op = VKT_EL_DROPOUT;
    attr.chain.stage[1].op = VKT_EL_ACT_BWD;
    attr.chain.stage[1].act = VKT_ACT_RELU;
    vkt__op(g, &vkt__op_chain, in, VKT_COUNT(in), attr);
}
static void build_sum(vkt_graph *g, shape s)
{
    vkt_sum(g, positive(g, s.m, s.n));
}
static void build_sum_rows(vkt_graph *g, shape s)
{
    vkt_sum_rows(g, positive(g, s.m, s.n));
}
static void build_dropout(vkt_graph *g, shape s)
{
    vkt_dropout(g, vkt__sample2(g, s.m, s.n), vkt_step(g), 0.1f);
}
static void build_cast(vkt_graph *g, shape s)
{
    vkt_cast(g, vkt__sample2(g, s.m, s.n), VKT_BF16);
}
static void build_softmax(vkt_graph *g, shape s)
{
    vkt_softmax(g, vkt__sample2(g, s.m, s.n));
}

static void build_matmul(vkt_graph *g, shape s)
{
    vkt_tensor *a = s.layout == VKT_TN ? vkt__sample2(g, s.k, s.m) : vkt__sample2(g, s.m, s.k);
    vkt_tensor *b = s.layout == VKT_NT ? vkt__sample2(g, s.n, s.k) : vkt__sample2(g, s.k, s.n);
    vkt_matmul(g, s.layout, a, b);
}

static void build_layernorm(vkt_graph *g, shape s)
{
    vkt_layernorm(g, vkt__sample2(g, s.m, s.n), vkt__sample1(g, s.n), vkt__sample1(g, s.n), NULL,
                  1e-5f, NULL);
}

/* With the residual sum in it. */
static void build_rmsnorm(vkt_graph *g, shape s)
{
    vkt_rmsnorm(g, vkt__sample2(g, s.m, s.n), vkt__sample1(g, s.n), vkt__sample2(g, s.m, s.n),
                1e-5f, NULL);
}

/* Gradient rows come from differentiating sum(y * r). */
static void differentiate(vkt_graph *g, vkt_tensor *y, vkt_tensor *const *wrt, size_t n)
{
    vkt_tensor *d[3], *r = vkt__sample(g, vkt_tensor_shape(y), VKT_F32, VKT_HINT_NORMAL, 0);
    vkt_backward(g, vkt_sum(g, vkt_mul(g, y, r)), wrt, n, d);
}

static void build_norm_bwd(vkt_graph *g, shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n), *w = vkt__sample1(g, s.n), *b = vkt__sample1(g, s.n);
    differentiate(g, vkt_layernorm(g, x, w, b, NULL, 1e-5f, NULL), (vkt_tensor *[]) { x, w, b }, 3);
}

static void build_softmax_bwd(vkt_graph *g, shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n);
    differentiate(g, vkt_softmax(g, x), &x, 1);
}

static vkt_tensor *xent(vkt_graph *g, shape s, vkt_tensor **x)
{
    *x = vkt__sample2(g, s.m, s.n);
    vkt_tensor *y = vkt__sample(g, vkt_shape1(s.m), VKT_U32, VKT_HINT_INDEX, s.n),
               *w = vkt__sample(g, vkt_shape1(s.m), VKT_F32, VKT_HINT_POSITIVE, 0);
    return vkt_softmax_xent(g, *x, y, w, NULL, (vkt_xent_desc) { .smoothing = 0.1f }).loss;
}

static void build_xent(vkt_graph *g, shape s)
{
    vkt_tensor *x;
    xent(g, s, &x);
}

static void build_xent_bwd(vkt_graph *g, shape s)
{
    vkt_tensor *x, *d, *loss = xent(g, s, &x);
    vkt_backward(g, vkt_sum(g, loss), &x, 1, &d);
}

static void build_mse(vkt_graph *g, shape s)
{
    vkt_mse(g, vkt__sample2(g, s.m, s.n), vkt__sample2(g, s.m, s.n), NULL);
}

static void build_mse_bwd(vkt_graph *g, shape s)
{
    vkt_tensor *x = vkt__sample2(g, s.m, s.n), *d;
    vkt_backward(g, vkt_sum(g, vkt_mse(g, x, vkt__sample2(g, s.m, s.n), NULL).loss), &x, 1, &d);
}

static void build_update(vkt_graph *g, shape s)
{
    enum { N_GROUPS = 2 };
    uint32_t n = s.m * s.n;
    vkt__update_in in = { .theta = vkt__sample1(g, n),
                          .grad = vkt__sample1(g, n),
                          .m = vkt__sample1(g, n),
                          .step = vkt_step(g) };
    in.v = vkt__sample(g, vkt_shape1(n), VKT_F32, VKT_HINT_POSITIVE, 0);
    in.scalars =
        vkt__sample(g, vkt_shape1(sizeof(struct vkt_scalars) / 4), VKT_F32, VKT_HINT_UNIT, 0);
    in.blocks = vkt__sample(g, vkt_shape1((n + VKT_GROUP_BLOCK - 1) / VKT_GROUP_BLOCK), VKT_U32,
                            VKT_HINT_INDEX, N_GROUPS);
    in.groups = vkt__sample(g, vkt_shape2(N_GROUPS, 2), VKT_F32, VKT_HINT_POSITIVE, 0);
    vkt__optim_update(g, &in, (vkt_attr) { .optim = { VKT_UP_ADAMW, true, 0.9f, 0.999f, 1e-8f } });
}

/* whole: all nodes of the graph are the op (stages of a reduction), not only those of the row. */
typedef enum family { ELEMENTS, ROWS, CLASSES, MATMUL } family;
static const struct entry {
    const vkt_op *op;
    void (*build)(vkt_graph *, shape);
    family family;
    bool whole;
    const char *what;
} entries[] = {
    { &vkt__op_add, build_add, ELEMENTS, false, "" },
    { &vkt__op_mul, build_mul, ELEMENTS, false, "" },
    { &vkt__op_scale, build_scale, ELEMENTS, false, "" },
    { &vkt__op_copy, build_copy, ELEMENTS, false, "" },
    { &vkt__op_fill, build_fill, ELEMENTS, false, "" },
    { &vkt__op_act, build_act, ELEMENTS, false, " gelu" },
    { &vkt__op_act_bwd, build_act_bwd, ELEMENTS, false, " gelu" },
    { &vkt__op_dropout, build_dropout, ELEMENTS, false, "" },
    { &vkt__op_chain, build_chain, ELEMENTS, false, " dropout, relu_bwd" },
    { &vkt__op_cast, build_cast, ELEMENTS, false, " f32 to bf16" },
    { &vkt__op_optim_update, build_update, ELEMENTS, false, " adamw" },
    { &vkt__op_matmul, build_matmul, MATMUL, true, "" },
    { &vkt__op_sum, build_sum, ELEMENTS, true, "" },
    { &vkt__op_sum_rows, build_sum_rows, ROWS, true, "" },
    { &vkt__op_layernorm, build_layernorm, ROWS, false, "" },
    { &vkt__op_rmsnorm, build_rmsnorm, ROWS, false, " residual" },
    { &vkt__op_norm_bwd, build_norm_bwd, ROWS, false, " layernorm" },
    { &vkt__op_norm_dw, build_norm_bwd, ROWS, false, " layernorm" },
    { &vkt__op_softmax, build_softmax, ROWS, false, "" },
    { &vkt__op_softmax_bwd, build_softmax_bwd, ROWS, false, "" },
    { &vkt__op_softmax_xent, build_xent, CLASSES, false, "" },
    { &vkt__op_softmax_xent_bwd, build_xent_bwd, CLASSES, false, "" },
    { &vkt__op_mse, build_mse, ROWS, false, "" },
    { &vkt__op_mse_bwd, build_mse_bwd, ROWS, false, "" },
};

/* level 0: once, 1: quick and full, 2: full, 3: full on a GPU. */
typedef struct sized {
    shape s;
    uint32_t level;
} sized;
static const sized elements[] = { { { 64, 64, 0, 0 }, 0 },
                                  { { 1024, 1024, 0, 0 }, 1 },
                                  { { 4096, 4096, 0, 0 }, 3 } };
static const sized rows[] = { { { 64, 64, 0, 0 }, 0 },
                              { { 1024, 1024, 0, 0 }, 1 },
                              { { 65536, 64, 0, 0 }, 2 },
                              { { 4096, 4096, 0, 0 }, 3 } };
static const sized classes[] = { { { 64, 10, 0, 0 }, 0 },
                                 { { 128, 10, 0, 0 }, 2 },
                                 { { 1024, 1000, 0, 0 }, 1 },
                                 { { 4096, 8192, 0, 0 }, 3 } };
static const sized products[] = {
    { { 64, 64, 64, VKT_NT }, 0 },
    { { 128, 256, 784, VKT_NT }, 1 },
    { { 128, 784, 256, VKT_NN }, 1 },
    { { 256, 784, 128, VKT_TN }, 1 }, /* a layer of an MLP: forward, dx, dw */
    { { 512, 512, 512, VKT_NT }, 1 },
    { { 512, 512, 512, VKT_NN }, 2 },
    { { 512, 512, 512, VKT_TN }, 2 },
    { { 1024, 1024, 1024, VKT_NT }, 2 },
    { { 1024, 1024, 1024, VKT_NN }, 3 },
    { { 1024, 1024, 1024, VKT_TN }, 3 },
    { { 2048, 2048, 2048, VKT_NT }, 3 },
    { { 4096, 4096, 4096, VKT_NT }, 3 },
    { { 4096, 4096, 4096, VKT_NN }, 3 },
    { { 4096, 4096, 4096, VKT_TN }, 3 },
};
static const struct {
    const sized *list;
    size_t n;
} families[] = {
    { elements, VKT_COUNT(elements) },
    { rows, VKT_COUNT(rows) },
    { classes, VKT_COUNT(classes) },
    { products, VKT_COUNT(products) },
};

/* ---- one set: a graph with memory of its own ---- */

typedef struct set {
    vkt_graph *g;
    vkt_buffer *inputs;
} set;

typedef struct op_job {
    vkt__bencher *b;
    const vkt_op *op;
    const struct entry *entry; /* NULL: the sample */
    shape s;
    uint32_t sample;
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

/* Values repeat after PATTERN elements: large inputs are made fast, and the twin gets the same. */
static double value_of(op_job *j, const vkt_tensor *t, uint64_t i)
{
    if (j->table_of != t) {
        for (uint64_t k = 0; k < VKT_MIN(t->count, (uint64_t)PATTERN); k++)
            j->table[k] = vkt__sample_value(t, SEED, k);
        j->table_of = (vkt_tensor *)(uintptr_t)t;
    }
    return j->table[i % PATTERN];
}

static vkt_status set_create(op_job *j, set *s)
{
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = j->b->gpu;
    s->g = vkt_graph_create(gpu);
    if (j->entry)
        j->entry->build(s->g, j->s);
    else
        j->op->sample(s->g, j->sample);
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
        for (uint64_t k = 0; first && k < t->count; k++)
            if (k < PATTERN)
                vkt__sample_encode(t, k, value_of(j, t, k), j->host + at);
            else
                memcpy(j->host + at + k * vkt_dtype_bytes(t->dtype),
                       j->host + at + k % PATTERN * vkt_dtype_bytes(t->dtype),
                       vkt_dtype_bytes(t->dtype));
        at += vkt__align(t->bytes + 16, 256);
    }
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

static void judge(op_job *j, const vkt_tensor *t, uint64_t i, double got, double want, double limit)
{
    double err = fabs(got - want), share = err == 0 ? 0 : limit > 0 ? err / limit : INFINITY;
    if (!(share <= 1) && !j->why[0])
        snprintf(j->why, sizeof j->why, "wrong result: %s element %llu is %.7g, the twin's %.7g",
                 vkt__text(t), (unsigned long long)i, got, want);
    j->worst = VKT_MAX(j->worst, isnan(share) ? INFINITY : share);
}

static double tolerance(const op_job *j, const vkt_tensor *t)
{
    double terms = 4;
    for (size_t k = 0; k < t->g->n_nodes; k++) {
        const vkt_node *n = t->g->nodes[k];
        if (n->op->terms) terms = VKT_MAX(terms, n->op->terms(n));
    }
    (void)j;
    return vkt__tol(t->dtype, terms);
}

/* Outputs of the timed nodes, and inputs that they change. */
static bool is_result(const op_job *j, const vkt_tensor *t)
{
    if (t->view_of) return false;
    if (t->node) return is_timed(j, t->node);
    for (size_t k = 0; k < t->g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (is_timed(j, t->g->nodes[k]) && t->g->nodes[k]->in[i] == t &&
                (t->g->nodes[k]->op->mutates >> i & 1))
                return true;
    return false;
}

static void compare(void *user, const vkt_tensor *t, const double *want)
{
    op_job *j = user;
    if (!is_result(j, t) || !t->count) return;
    unsigned char *got = malloc(t->bytes + 4);
    if (!got || vkt_tensor_read((vkt_tensor *)(uintptr_t)t, 0, got, t->bytes) != VKT_OK) {
        if (!j->why[0]) snprintf(j->why, sizeof j->why, "the result could not be read");
        free(got);
        return;
    }
    double sum = 0, tol = tolerance(j, t);
    for (uint64_t i = 0; i < t->count; i++) sum += want[i] * want[i];
    double rms = sqrt(sum / (double)t->count);
    for (uint64_t i = 0; i < t->count; i++)
        judge(j, t, i, vkt__sample_decode(t, i, got), want[i],
              t->dtype == VKT_U32 ? 0 : tol * (fabs(want[i]) + rms));
    free(got);
}

/* A large product: some elements by the definition, in double. */
static vkt_status spot_check(op_job *j)
{
    enum { N_SPOTS = 200 };
    vkt_status st = VKT_OK;
    vkt_graph *g = j->sets[0].g;
    const vkt_tensor *in[2] = { NULL, NULL };
    vkt_tensor *c = NULL;
    uint32_t n_in = 0;
    shape s = j->s;
    for (size_t i = 0; i < g->n_tensors; i++)
        if (is_input(g->tensors[i]) && n_in < 2) in[n_in++] = g->tensors[i];
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->out[0]->count == (uint64_t)s.m * s.n) c = g->nodes[k]->out[0];
    VKT_ASSERT(n_in == 2 && c);
    float *got = malloc(c->bytes), *a = malloc(PATTERN * sizeof *a),
          *b = malloc(PATTERN * sizeof *b);
    if (!got || !a || !b) VKT_TRY(vkt__fail(VKT_OOM_HOST, "bench", "no memory to check a product"));
    VKT_TRY(vkt_tensor_read(c, 0, got, c->bytes));
    for (uint64_t i = 0; i < PATTERN; i++) {
        a[i] = (float)vkt__sample_value(in[0], SEED, i);
        b[i] = (float)vkt__sample_value(in[1], SEED, i);
    }
    double tol = tolerance(j, c), rms = sqrt((double)s.k);
    for (uint32_t q = 0; q < N_SPOTS; q++) {
        uint64_t m = q == 0 ? 0 : q == 1 ? s.m - 1 : vkt_rand_below(SEED, VKT_RNG_TEST, 2 * q, s.m);
        uint64_t n = q == 0   ? 0
                     : q == 1 ? s.n - 1
                              : vkt_rand_below(SEED, VKT_RNG_TEST, 2 * q + 1, s.n);
        double sum = 0;
        for (uint64_t k = 0; k < s.k; k++) {
            uint64_t ia = s.layout == VKT_TN ? k * s.m + m : m * s.k + k,
                     ib = s.layout == VKT_NT ? n * s.k + k : k * s.n + n;
            sum += (double)a[ia % PATTERN] * (double)b[ib % PATTERN];
        }
        judge(j, c, m * s.n + n, (double)got[m * s.n + n], sum, tol * (fabs(sum) + rms));
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
            written += n->in[i] && (n->op->mutates >> i & 1) ? (double)n->in[i]->bytes : 0;
        double bw = vkt__bench_bandwidth(j->b, working_set, c.bytes > 0 ? written / c.bytes : 0);
        s += VKT_MAX(bw > 0 ? c.bytes / bw : 0, j->b->fma > 0 ? c.flops / j->b->fma : 0);
        *flops += c.flops;
        *bytes += c.bytes;
    }
    return s;
}

static void shape_name(const op_job *j, char *out, size_t n)
{
    static const char *const layouts[] = { "NT", "NN", "TN" };
    shape s = j->s;
    if (!j->entry) {
        vkt_graph *g = vkt_graph_create(NULL);
        const char *name = j->op->sample(g, j->sample);
        snprintf(out, n, "%s, sample '%s'", j->op->name, name ? name : "");
        vkt_graph_destroy(&g);
    } else if (j->entry->family == MATMUL) {
        snprintf(out, n, "matmul %s M %u N %u K %u", layouts[s.layout], s.m, s.n, s.k);
    } else {
        snprintf(out, n, "%s%s [%u, %u]", j->op->name, j->entry->what, s.m, s.n);
    }
}

/* Why a case is not for this machine, before anything is made: a dispatch near the seconds at which
 * systems reset a device, a twin that does not fit the memory. */
static bool left_out(op_job *j)
{
    char name[96];
    double seconds = j->entry && j->entry->family == MATMUL && j->b->matmul > 0
                         ? 2.0 * j->s.m * j->s.n * j->s.k / j->b->matmul
                         : 0,
           twin = 0;
    shape_name(j, name, sizeof name);
    if (seconds > 1.5) {
        vkt__bench_left_out(j->b->out, "%s: would take about %.1f s", name, seconds);
        return true;
    }
    if (j->entry && j->entry->family != MATMUL) {
        vkt_graph *g = vkt_graph_create(NULL);
        j->entry->build(g, j->s);
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

static vkt_status run_case(op_job *j)
{
    vkt_status st = VKT_OK;
    vkt__bencher *b = j->b;
    char name[96];
    vkt__times t;
    double flops, bytes, spot = 5e8;
    shape_name(j, name, sizeof name);
    j->table = vkt__alloc(PATTERN * sizeof *j->table);
    VKT_TRY(set_create(j, &j->sets[0]));
    j->n_sets = 1;
    roofline(j, 0, &flops, &bytes);
    if (j->entry && j->entry->family == MATMUL && flops > spot)
        VKT_TRY(spot_check(j));
    else
        vkt__graph_ref(j->sets[0].g, ref_init, j, compare);
    vkt_bench_row *r = vkt__bench_row(b->out, VKT_BENCH_OPS, name, "us", false);
    r->error = j->worst;
    if (j->why[0]) {
        vkt__bench_refuse(b, r, true, "%s", j->why);
        goto fail;
    }
    /* Enough sets to leave the caches, within an eighth of the memory. */
    uint64_t each = set_bytes(&j->sets[0]),
             room = VKT_MIN(b->caps->budget_bytes / 8, (uint64_t)(b->desc->quick ? 96 : 384) << 20);
    uint32_t want =
        b->desc->once ? 1 : (uint32_t)VKT_MIN(VKT_MAX(room / each, 1), (uint64_t)MAX_SETS);
    if (flops > 20 * bytes) want = VKT_MIN(want, 3); /* not a matter of caches */
    for (; j->n_sets < want; j->n_sets++) VKT_TRY(set_create(j, &j->sets[j->n_sets]));
    double working_set = (double)each * j->n_sets, ideal = roofline(j, working_set, &flops, &bytes);
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
    if (j->op == &vkt__op_matmul) b->matmul = VKT_MAX(b->matmul, flops / t.median);
    if (working_set < 64.0 * 1048576)
        vkt__bench_note(b->out, r, "%.1f MiB may stay in a cache", working_set / 1048576);
fail:
    for (uint32_t i = 0; i < MAX_SETS; i++) set_destroy(j, &j->sets[i]);
    free(j->host);
    free(j->table);
    return st;
}

/* arg: the row. arg2: the entry's size, or 1000 + the sample. */
static vkt_status run_op(vkt__bencher *b, const vkt__bench_item *item)
{
    const vkt_op *op = vkt__rows[item->arg];
    op_job j = { .b = b, .op = op };
    for (size_t i = 0; i < VKT_COUNT(entries) && item->arg2 < 1000; i++)
        if (entries[i].op == op) j.entry = &entries[i];
    if (j.entry)
        j.s = families[j.entry->family].list[item->arg2].s;
    else
        j.sample = item->arg2 - 1000;
    if (left_out(&j)) return VKT_OK;
    vkt_status st = run_case(&j);
    if (st == VKT_OOM_DEVICE || st == VKT_OOM_HOST) {
        char name[96];
        shape_name(&j, name, sizeof name);
        vkt__bench_left_out(b->out, "%s: not enough memory", name);
        st = VKT_OK;
    }
    return st;
}

/* The sample that moves the most bytes. */
static uint32_t largest_sample(const vkt_op *op)
{
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0;; i++) {
        vkt_graph *g = vkt_graph_create(NULL);
        const char *name = op->sample(g, i);
        double bytes = 0;
        for (size_t k = 0; k < g->n_nodes; k++)
            if (g->nodes[k]->op == op) bytes += vkt__node_cost(g->nodes[k]).bytes;
        vkt_graph_destroy(&g);
        if (!name) return best;
        if (bytes > most) most = bytes, best = i;
    }
}

vkt_status vkt__bench_plan_ops(vkt__bencher *b, vkt__bench_items *list)
{
    const char *names[256];
    size_t n = 0;
    bool found = !b->desc->op;
    uint32_t level = b->desc->once                     ? 0
                     : b->desc->quick                  ? 1
                     : b->caps->klass == VKT_CLASS_CPU ? 2
                                                       : 3;
    double each = b->warm_s + b->time_s + 0.15;
    for (uint32_t r = 0; vkt__rows[r]; r++) {
        const vkt_op *op = vkt__rows[r];
        if (n < VKT_COUNT(names)) names[n++] = op->name;
        if (b->desc->op && strcmp(b->desc->op, op->name) != 0) continue;
        found = true;
        const struct entry *e = NULL;
        for (size_t i = 0; i < VKT_COUNT(entries); i++)
            if (entries[i].op == op) e = &entries[i];
        if (!e) {
            vkt__bench_plan(list, VKT_BENCH_OPS, op->name, each, run_op, r,
                            1000 + largest_sample(op));
            continue;
        }
        for (uint32_t i = 0; i < families[e->family].n; i++) {
            uint32_t l = families[e->family].list[i].level;
            if (level == 0 ? l == 0 : l > 0 && l <= level)
                vkt__bench_plan(list, VKT_BENCH_OPS, op->name, each, run_op, r, i);
        }
    }
    if (found) return VKT_OK;
    const char *near = vkt_nearest(b->desc->op, names, n);
    return vkt__fail(VKT_ARG, "bench", "no op is called '%s'%s%s%s", b->desc->op,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}
