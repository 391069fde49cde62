/* The self-test: each row's sample cases on the device against the C twin, in fp32 and in f16 and
 * bf16 where the row can. Each node is compared given the device's own inputs of it, so that the
 * tolerance is that of one node. Outputs are poisoned before, and guard bytes, inputs and
 * everything not declared as written must be untouched after; a second run with another poison must
 * give the same bits (so nothing undeclared is read). */
#include <math.h>
#include <stdio.h>

#include "tensor/graph/graph.h"
#include "tensor/graph/sample.h"
#include "tensor/graph/twin.h"
#include "tensor/graph/view.h"
#include "tensor/kernels/attention.h"
#include "tensor/ops/conv/ops_conv.h"
#include "tensor/ops/matmul/ops_matmul.h"
#include "tensor/passes/precision.h"
#include "tensor/check/check.h"

enum { GUARD = 256, SEED = 77 };

typedef struct {
    vkt_gpu *gpu;
    vkt_graph *g;
    vkt_buffer *inputs; /* all inputs, guards between */
    unsigned char *in_before, *in_after, *slab, *slab_first;
    double worst;
    char *detail;
    size_t detail_bytes;
    const char *name;
    const vkt_op *row;              /* whose case it is; NULL: nobody's */
    vkt_dtype dtype;                /* what the case was narrowed to; f32: nothing */
    uint64_t n_off;                 /* elements beyond their limits */
    bool compile_only, failed, own; /* own: a node of the row was there */
    bool cancels; /* values may cancel, as those of samples don't: limits by its condition, too */
} check;

static void report(check *c, const char *fmt, ...)
{
    if (c->failed) return;
    c->failed = true;
    int n = snprintf(c->detail, c->detail_bytes, "case '%s'%s%s: ", c->name, c->dtype ? " in " : "",
                     c->dtype ? vkt_dtype_name(c->dtype) : "");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(c->detail + n, c->detail_bytes - (size_t)n, fmt, ap);
    va_end(ap);
}

/* A mutated input is compared as a result; its array in the twin has been updated in place. */
static bool is_mutated(const vkt_graph *g, const vkt_tensor *t)
{
    for (size_t k = 0; k < g->n_nodes; k++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (g->nodes[k]->in[i] == t && (g->nodes[k]->op->in[i] & VKT_CHANGED)) return true;
    return false;
}

/* Where the device left t. */
static const unsigned char *result(const check *c, const vkt_tensor *t)
{
    t = vkt__root(t);
    return t->node ? c->slab + t->offset : c->in_after + t->buf_offset[0];
}

/* scale: beside the root mean square; NULL: none. */
static void compare(check *c, const vkt_node *n, const vkt_tensor *t, const double *want,
                    const double *scale)
{
    const unsigned char *data = result(c, t);
    double sum = 0, terms = n->op->terms ? n->op->terms(n) : 4;
    for (uint64_t i = 0; i < t->count; i++) sum += want[i] * want[i];
    double rms = t->count ? sqrt(sum / (double)t->count) : 0;
    vkt__code_check codes = vkt__code_check_of(t, vkt__tol(VKT_F32, terms));
    for (uint64_t i = 0; i < t->count; i++) {
        double got = vkt__sample_decode(t, i, data), err = got == want[i] ? 0 : fabs(got - want[i]),
               limit = vkt__limit(t->dtype, terms, want[i], scale ? VKT_MAX(rms, scale[i]) : rms);
        if (t->dtype == VKT_U32) limit = 0;
        double share = err == 0 ? 0 : limit > 0 ? err / limit : INFINITY;
        if (codes.op) share = vkt__code_share(&codes, got, want[i]);
        if (!(share <= 1)) {
            report(c, "%s: %s element %llu is %.9g, the twin's %.9g (off by %.2g, limit %.2g)",
                   n->op->name, vkt__text(t), (unsigned long long)i, got, want[i], err, limit);
            share = isnan(share) ? INFINITY : share;
            c->n_off++;
        }
        c->worst = VKT_MAX(c->worst, share);
    }
}

/* What node k's input t was when it ran: an input that no earlier node has changed is as it was
 * filled. */
static double *input_values(const check *c, const vkt_tensor *t, size_t k)
{
    double *v = vkt__alloc((t->count + 1) * sizeof *v);
    const unsigned char *data = result(c, t);
    bool fresh = !t->node && !t->view_of;
    for (size_t j = 0; j < k && fresh; j++)
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            if (c->g->nodes[j]->in[i] == t && (c->g->nodes[j]->op->in[i] & VKT_CHANGED))
                fresh = false;
    for (uint64_t i = 0; i < t->count; i++)
        v[i] = fresh ? vkt__sample_value(t, SEED, i) : vkt__sample_decode(t, i, data);
    return v;
}

/* scale[i]: what result i moves when each number that is read moves by `by` of itself, a normal
 * draw, as a share of it: the larger of a few draws. A sum of terms that cancel is as far off as
 * its terms are, which is far from it. A jump at a number that is just on an edge is none of it. */
static void condition(const vkt_node *n, double *const *in, double *const *want,
                      double *const *scale)
{
    enum { DRAWS = 4 };
    const double by = 0x1p-30, jump = 0x1p-8;
    double *moved[VKT_MAX_IN] = { 0 }, *out[VKT_MAX_OUT] = { 0 };
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i]) moved[i] = vkt__alloc((n->in[i]->count + 1) * sizeof *moved[i]);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i]) out[i] = vkt__alloc((n->out[i]->count + 1) * sizeof *out[i]);
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        for (uint32_t i = 0; i < VKT_MAX_IN; i++)
            for (uint64_t e = 0; n->in[i] && e < n->in[i]->count; e++) {
                double share = vkt_rand_normal(SEED + 1 + draw, VKT_RNG_TEST, i * 1000003ull + e);
                moved[i][e] = in[i][e] * (n->in[i]->dtype == VKT_U32 ? 1 : 1 + by * share);
            }
        vkt__node_ref(n, moved, out);
        for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
            for (uint64_t e = 0; n->out[i] && e < n->out[i]->count; e++) {
                double by_it = fabs(out[i][e] - want[i][e]);
                if (by_it < jump) scale[i][e] = VKT_MAX(scale[i][e], by_it / by);
            }
    }
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) free(moved[i]);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) free(out[i]);
}

static void compare_node(check *c, size_t k)
{
    const vkt_node *n = c->g->nodes[k];
    double *in[VKT_MAX_IN] = { 0 }, *out[VKT_MAX_OUT] = { 0 }, *scale[VKT_MAX_OUT] = { 0 };
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i]) in[i] = input_values(c, n->in[i], k);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i]) out[i] = vkt__alloc((n->out[i]->count + 1) * sizeof *out[i]);
    for (uint32_t i = 0; i < VKT_MAX_OUT && c->cancels; i++)
        if (n->out[i]) scale[i] = vkt__alloc((n->out[i]->count + 1) * sizeof *scale[i]);
    vkt__node_ref(n, in, out);
    if (c->cancels) condition(n, in, out, scale);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++)
        if (n->in[i] && n->op->in[i] & VKT_CHANGED) compare(c, n, n->in[i], in[i], NULL);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++)
        if (n->out[i]) compare(c, n, n->out[i], out[i], scale[i]);
    for (uint32_t i = 0; i < VKT_MAX_IN; i++) free(in[i]);
    for (uint32_t i = 0; i < VKT_MAX_OUT; i++) {
        free(out[i]);
        free(scale[i]);
    }
}

/* Bytes of the slab that are neither a tensor's own nor still poison. A 16-bit tensor owns whole
 * words. */
static void check_guards(check *c, const unsigned char *slab, uint64_t bytes, unsigned char poison)
{
    unsigned char *owned = vkt__alloc(bytes);
    for (size_t i = 0; i < c->g->n_tensors; i++) {
        const vkt_tensor *t = c->g->tensors[i];
        if (t->node && !t->view_of && !t->bound)
            memset(owned + t->offset, 1, vkt__align(t->bytes, 4));
    }
    for (uint64_t i = 0; i < bytes; i++)
        if (!owned[i] && slab[i] != poison) {
            report(c, "byte %llu of the slab was written though no output owns it",
                   (unsigned long long)i);
            break;
        }
    free(owned);
}

static vkt_status run_once(check *c, unsigned char poison, uint64_t in_bytes)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = c->g;
    VKT_TRY(vkt_buffer_write(c->gpu, c->inputs, 0, c->in_before, in_bytes));
    memset(c->slab, poison, g->slab_bytes);
    if (g->slab_bytes) VKT_TRY(vkt_buffer_write(c->gpu, g->chunks[0], 0, c->slab, g->slab_bytes));
    VKT_TRY(vkt_graph_run(g));
    if (g->slab_bytes) VKT_TRY(vkt_buffer_read(c->gpu, g->chunks[0], 0, c->slab, g->slab_bytes));
    VKT_TRY(vkt_buffer_read(c->gpu, c->inputs, 0, c->in_after, in_bytes));
    if (g->slab_bytes) check_guards(c, c->slab, g->slab_bytes, poison);
    for (size_t i = 0; i < g->n_tensors; i++) {
        const vkt_tensor *t = g->tensors[i];
        if (t->node || !t->bound || is_mutated(g, t)) continue;
        if (memcmp(c->in_before + t->buf_offset[0], c->in_after + t->buf_offset[0],
                   vkt__align(t->bytes + GUARD, 256)))
            report(c, "input %s or its guard was written", vkt__text(t));
    }
fail:
    return st;
}

/* What runs only where its result is read would be left out, as nothing reads the results. */
static void keep_results(vkt_graph *g)
{
    for (size_t k = 0; k < g->n_nodes; k++)
        if (g->nodes[k]->op->at_use) vkt_keep(g->nodes[k]->out[0], NULL);
}

/* A case without a node compares nothing. A row's own node may be another's by now, by a rewrite,
 * but not in all of its cases. */
static void check_runs(check *c)
{
    if (!c->g->n_nodes) report(c, "nothing is run, so nothing is compared");
    for (size_t k = 0; k < c->g->n_nodes; k++) c->own |= c->g->nodes[k]->op == c->row;
}

static vkt_status check_case(check *c)
{
    vkt_status st = VKT_OK;
    vkt_graph *g = c->g;
    uint64_t in_bytes = GUARD;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (!t->node && !t->view_of && t->name) in_bytes += vkt__align(t->bytes + GUARD, 256);
    }
    VKT_TRY(vkt_buffer_create(
        c->gpu, &(vkt_buffer_desc) { in_bytes, VKT_MEM_DEVICE, "check inputs" }, &c->inputs));
    c->in_before = vkt__alloc(in_bytes);
    c->in_after = vkt__alloc(in_bytes);
    memset(c->in_before, 0x7f, in_bytes);
    uint64_t at = GUARD;
    for (size_t i = 0; i < g->n_tensors; i++) {
        vkt_tensor *t = g->tensors[i];
        if (t->node || t->view_of || !t->name) continue;
        vkt_bind(t, VKT_ALL_SLOTS, c->inputs, at);
        for (uint64_t k = 0; k < t->count; k++)
            vkt__sample_encode(t, k, vkt__sample_value(t, SEED, k), c->in_before + at);
        at += vkt__align(t->bytes + GUARD, 256);
    }
    keep_results(g);
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .no_reuse = true, .label = "check" }));
    check_runs(c);
    if (c->compile_only) goto fail;
    VKT_ASSERT(g->n_chunks <= 1);
    c->slab = vkt__alloc(g->slab_bytes);
    c->slab_first = vkt__alloc(g->slab_bytes);
    VKT_TRY(run_once(c, 0x7f, in_bytes));
    memcpy(c->slab_first, c->slab, g->slab_bytes);
    VKT_TRY(run_once(c, 0xc3, in_bytes));
    for (size_t i = 0; i < g->n_tensors; i++) {
        const vkt_tensor *t = g->tensors[i];
        if (t->node && !t->view_of &&
            memcmp(c->slab + t->offset, c->slab_first + t->offset, t->bytes))
            report(c,
                   "%s differs between two runs: it depends on memory that is not declared as read",
                   vkt__text(t));
    }
    for (size_t k = 0; k < g->n_nodes; k++) compare_node(c, k);
fail:
    free(c->in_before);
    free(c->in_after);
    free(c->slab);
    free(c->slab_first);
    return st;
}

vkt_status vkt__check_graph(vkt_gpu *gpu, vkt_graph *g, bool cancels, char *why, size_t bytes)
{
    check c = { .gpu = gpu,
                .g = g,
                .cancels = cancels,
                .name = "units",
                .detail = why,
                .detail_bytes = bytes };
    *why = 0;
    vkt_status st = g->status == VKT_OK ? check_case(&c) : g->status;
    vkt_buffer_destroy(gpu, &c.inputs);
    return st;
}

static bool has_named(const vkt_graph *g)
{
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        if (vkt__matmul_is_named(n) || (vkt__is_conv(n) && n->attr.conv.kernel)) return true;
    }
    return false;
}

/* Whether it names a kernel shaped for other devices; *first: the first of its family. */
static bool has_foreign(const vkt_graph *g, const vkt_caps *caps, bool *first)
{
    for (size_t k = 0; k < g->n_nodes; k++) {
        const vkt_node *n = g->nodes[k];
        uint32_t matmul = vkt__matmul_is_named(n) ? n->attr.matmul.kernel : 0,
                 conv = vkt__is_conv(n) ? n->attr.conv.kernel : 0;
        *first = matmul ? vkt__matmul_is_first(matmul) : vkt__conv_is_first(conv);
        if (vkt__attention_is_foreign(n, caps)) return *first = true;
        if (vkt__matmul_is_foreign(matmul, caps) || vkt__conv_is_foreign(conv, caps)) return true;
    }
    return false;
}

/* Whether the case is to run; *foreign: how many of a row that name a foreign kernel came before.
 */
static bool is_wanted(const vkt__check_desc *desc, vkt_gpu *gpu, const vkt_graph *g,
                      uint32_t *foreign)
{
    enum { EVERY = 8 };
    bool first;
    if (desc->no_named && has_named(g)) return false;
    if (!desc->few_foreign || !has_foreign(g, vkt_gpu_caps(gpu), &first)) return true;
    return first && (*foreign)++ % EVERY == 0;
}

/* Counts of the row's cases so far: with a foreign kernel (if few_foreign), with a node of the row.
 */
typedef struct {
    uint32_t foreign, own;
} so_far;

/* Whether case k of a row, built as c->g, is one of those that desc asks for. */
static bool is_case(const vkt__check_desc *desc, vkt_gpu *gpu, vkt_graph *g, uint32_t k,
                    vkt_dtype dtype, uint32_t *foreign)
{
    bool here = !desc->parts || k % desc->parts == desc->part;
    return is_wanted(desc, gpu, g, foreign) && here &&
           (dtype == VKT_F32 || vkt__narrow_all(g, dtype) > 0);
}

/* Wishes for the kernels of case k; nothing has memory. False: there is no such case. */
static bool wish_sample(vkt_gpu *gpu, const vkt__check_desc *desc, const vkt_op *op, uint32_t k,
                        vkt_dtype dtype, uint32_t *foreign)
{
    vkt_graph *g = vkt__graph_new(gpu);
    bool more = op->sample(op, g, k) != NULL,
         here = more && is_case(desc, gpu, g, k, dtype, foreign);
    if (here && g->status == VKT_OK)
        vkt__graph_wish(g, &(vkt_plan_desc) { .no_reuse = true, .label = "check" });
    vkt_graph_destroy(&g);
    return more;
}

/* Case k of a row in a dtype; *more: there is such a case. */
static vkt_status check_sample(vkt_gpu *gpu, const vkt__check_desc *desc, const vkt_op *op,
                               uint32_t k, vkt_dtype dtype, vkt_check_result *r, so_far *n,
                               bool *more)
{
    char detail[sizeof r->detail] = "";
    check c = { .gpu = gpu,
                .detail = detail,
                .detail_bytes = sizeof detail,
                .row = op,
                .dtype = dtype,
                .compile_only = desc->compile_only,
                .g = vkt__graph_new(gpu) };
    vkt_status st = c.g->status;
    c.name = op->sample(op, c.g, k);
    *more = c.name != NULL;
    if (*more && is_case(desc, gpu, c.g, k, dtype, &n->foreign)) {
        st = c.g->status == VKT_OK ? check_case(&c) : c.g->status;
        r->n_cases++;
        r->worst = VKT_MAX(r->worst, c.worst);
        if (st != VKT_OK) report(&c, "%s", vkt_status_name(st));
        if (c.failed) {
            vkt_log(VKT_LOG_DEBUG, "check", "%s: %s; %llu elements off, at most %.3g of the limit",
                    op->name, detail, (unsigned long long)c.n_off, c.worst);
            if (!r->n_failed++) memcpy(r->detail, detail, sizeof detail);
        }
        n->own += c.own;
    }
    vkt_graph_destroy(&c.g);
    vkt_buffer_destroy(gpu, &c.inputs);
    return st;
}

/* Whether `list` ("a,b") has the name. */
static bool lists(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = list;; s++) {
        if (!strncmp(s, name, n) && (s[n] == ',' || s[n] == 0)) return true;
        s = strchr(s, ',');
        if (!s) return false;
    }
}

static const vkt_dtype dtypes[] = { VKT_F32, VKT_F16, VKT_BF16 };

/* Products have 16-bit cases of their own. */
static bool has_narrow_cases(const vkt_op *op)
{
    return (vkt__inputs_with(op, VKT_NARROW) ||
            vkt__outputs_with(op, VKT_NARROW | VKT_MAY_NARROW)) &&
           !vkt__inputs_with(op, VKT_FACTOR);
}

/* A kernel that fails here fails again, and is reported, when its case comes. */
static void make_kernels(vkt_gpu *gpu, const vkt__check_desc *desc, const vkt_op *op)
{
    uint32_t most = desc->most ? desc->most : UINT32_MAX, foreign = 0;
    bool more = true;
    vkt__log_quiet(true);
    for (uint32_t k = 0; more && k < most; k++)
        for (size_t d = 0; d < VKT_COUNT(dtypes) && more; d++)
            if (d == 0 || has_narrow_cases(op))
                more = wish_sample(gpu, desc, op, k, dtypes[d], &foreign);
    vkt__kernels_make(gpu);
    vkt__log_quiet(false);
    vkt__gpu_keep_kernels(gpu);
}

/* A row that no case runs is not checked, whatever its cases say. */
static void check_row_runs(const vkt__check_desc *desc, const so_far *n, vkt_check_result *r)
{
    bool all = !desc->most && !desc->parts && !desc->no_named;
    if (!all || !r->n_cases || n->own || r->n_failed) return;
    r->n_failed = r->n_cases;
    snprintf(r->detail, sizeof r->detail, "no case runs a kernel of %s, so nothing is compared",
             r->op);
}

vkt_status vkt__check_ops(vkt_gpu *gpu, const vkt__check_desc *desc,
                          void (*fn)(void *user, const vkt_check_result *r), void *user)
{
    vkt_status all = VKT_OK;
    uint32_t most = desc->most ? desc->most : UINT32_MAX;
    for (size_t i = 0; vkt__rows[i]; i++) {
        const vkt_op *op = vkt__rows[i];
        if (desc->only && !lists(desc->only, op->name)) continue;
        bool narrow = has_narrow_cases(op), more = true;
        vkt_check_result r = { .op = op->name };
        so_far n = { 0 };
        if (desc->at_once) make_kernels(gpu, desc, op);
        for (uint32_t k = 0; more && k < most; k++)
            for (size_t d = 0; d < VKT_COUNT(dtypes) && more; d++)
                if (d == 0 || narrow) {
                    check_sample(gpu, desc, op, k, dtypes[d], &r, &n, &more);
                    more = more && !vkt__gpu_lost(gpu);
                }
        check_row_runs(desc, &n, &r);
        if (r.n_failed) all = VKT_E_FAILED;
        fn(user, &r);
        if (vkt__gpu_lost(gpu)) return vkt__gpu_tell_lost(gpu);
    }
    return all;
}

vkt_status vkt_check_ops(vkt_gpu *gpu, void (*fn)(void *user, const vkt_check_result *r),
                         void *user)
{
    return vkt__check_ops(gpu, &(vkt__check_desc) { .few_foreign = true }, fn, user);
}

const char *vkt_check_name(size_t i)
{
    return vkt__rows[i] ? vkt__rows[i]->name : NULL;
}

static void keep(void *user, const vkt_check_result *r)
{
    *(vkt_check_result *)user = *r;
}

static vkt_status one_op(vkt_gpu *gpu, const char *op, bool compile_only, vkt_check_result *r)
{
    const vkt__check_desc desc = {
        .only = op, .few_foreign = true, .at_once = true, .compile_only = compile_only
    };
    *r = (vkt_check_result) { 0 };
    vkt_status st = vkt__check_ops(gpu, &desc, keep, r);
    if (r->op) return st;
    const char *names[256];
    size_t n = 0;
    while (n < VKT_COUNT(names) && (names[n] = vkt_check_name(n))) n++;
    return vkt__fail(VKT_E_ARG, "check", "no op '%s'%s", op, vkt_did_you_mean(op, names, n).text);
}

vkt_status vkt_check_op(vkt_gpu *gpu, const char *op, vkt_check_result *r)
{
    return one_op(gpu, op, false, r);
}

vkt_status vkt_compile_op(vkt_gpu *gpu, const char *op, vkt_check_result *r)
{
    return one_op(gpu, op, true, r);
}
