/* ONNX files through the twins: golden cases (tests/golden/onnx, made by
 * tools/golden/golden_onnx.py from PyTorch and ONNX's own node tests) give the outputs that are
 * stored beside them, and the gradients that PyTorch has. With arguments: the cases in these
 * folders instead, one a line, as tools/compare/check_onnx_nodes.py runs them. */
#include <math.h>

#include "formats/protobuf.h"
#include "onnx/onnx_build.h"
#include "onnx/onnx_op.h"
#include "onnx/onnx_read.h"
#include "tensor/graph/graph.h"
#include "tensor/graph/twin.h"
#include "testing.h"

enum { MOST = 4096, MOST_FILES = 48 };

/* A tensor of the graph and the numbers that it has. */
typedef struct held {
    const vkt_tensor *t;
    const vkt__onnx_tensor *from;
    const vkt__onnx_host *host;
    bool filter; /* [KH, KW, CI, CO] of [CO, CI, KH, KW] */
} held;

typedef struct test_case {
    const char *dir;
    vkt__onnx *f;
    vkt__onnx_plan *plan;
    vkt_graph *g;
    held held[MOST];
    size_t n_held, n_in, n_out, n_grads;
    vkt__onnx_tensor in[MOST_FILES], out[MOST_FILES], grads[MOST_FILES], weight;
    vkt__map maps[4 * MOST_FILES];
    size_t n_maps;
    const vkt_tensor *result, *dwrt[MOST_FILES];
    double worst;
    char what[300];
    const vkt_tensor **seen;
    const vkt__onnx_tensor **wanted;
    size_t n_seen;
} test_case;

/* The tensor in a file DIR/NAME_I.pb; false: there is none. */
static bool read_pb(test_case *c, const char *name, size_t i, vkt__onnx_tensor *t)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s_%zu.pb", c->dir, name, i);
    if (!vkt__file_exists(path)) return false;
    vkt__map *m = &c->maps[c->n_maps++];
    if (vkt__file_map(path, m) != VKT_OK) return false;
    vkt__pb all = { m->data, (const uint8_t *)m->data + m->n };
    return vkt__onnx_read_tensor(c->f, all, NULL, t) == VKT_OK;
}

static void hold(test_case *c, const vkt_tensor *t, const vkt__onnx_tensor *from,
                 const vkt__onnx_host *host, bool filter)
{
    VKT_ASSERT(c->n_held < MOST);
    c->held[c->n_held++] = (held) { t, from, host, filter };
}

static vkt_tensor *known_input(test_case *c, vkt_graph *g, const char *name, vkt_shape s,
                               const vkt__onnx_tensor *from, bool filter)
{
    vkt_tensor *t = vkt__input_named(g, name);
    if (t) return t;
    t = vkt_input(g, s, VKT_F32, vkt__arena_strdup(&g->arena, name));
    hold(c, t, from, NULL, filter);
    return t;
}

static vkt_shape shape_of(const vkt__onnx_tensor *t)
{
    vkt_shape s = { .rank = VKT_MAX(t->rank, 1), .d = { 1 } };
    for (uint32_t k = 0; k < t->rank; k++) s.d[k] = (uint32_t)t->dims[k];
    return s;
}

static vkt_tensor *initializer(void *user, vkt_graph *g, size_t i)
{
    test_case *c = user;
    const vkt__onnx_tensor *t = &c->f->initializers[i];
    vkt_shape s = shape_of(t);
    bool filter = c->plan->filters[i];
    if (filter) s = (vkt_shape) { 4, { s.d[2], s.d[3], s.d[1], s.d[0] } };
    return known_input(c, g, t->name, s, t, filter);
}

static vkt_tensor *constant(void *user, vkt_graph *g, const char *name, vkt_shape shape,
                            vkt_dtype dtype, const vkt__onnx_host *numbers)
{
    test_case *c = user;
    vkt_tensor *t = vkt__input_named(g, name);
    if (!t) {
        vkt__onnx_host *copy = vkt__arena_alloc(&g->arena, sizeof *copy);
        *copy = *numbers;
        copy->bits = vkt__arena_alloc(&g->arena, (size_t)(numbers->count + 1) * 8);
        memcpy(copy->bits, numbers->bits, (size_t)numbers->count * 8);
        t = vkt_input(g, shape, VKT_F32, vkt__arena_strdup(&g->arena, name));
        hold(c, t, NULL, copy, false);
    }
    return dtype == VKT_U32 ? vkt_cast(g, t, VKT_U32) : t;
}

static vkt_tensor *counter(void *user, vkt_graph *g, const char *name)
{
    (void)user, (void)g, (void)name;
    return NULL;
}

static uint64_t filter_at(const vkt__onnx_tensor *t, uint64_t i)
{
    uint64_t ci = t->dims[1], taps = t->dims[2] * t->dims[3], tap = i % taps, c = i / taps % ci,
             co = i / taps / ci;
    return (tap * ci + c) * t->dims[0] + co;
}

static void fill(void *user, const vkt_tensor *t, double *data)
{
    test_case *c = user;
    for (size_t k = 0; k < c->n_held; k++) {
        const held *h = &c->held[k];
        if (h->t != t) continue;
        for (uint64_t i = 0; i < t->count; i++)
            if (h->host)
                data[i] = vkt__onnx_host_number(h->host, i);
            else
                data[h->filter ? filter_at(h->from, i) : i] = vkt__onnx_number(h->from, i);
    }
}

static bool is_filter(const test_case *c, const vkt__onnx_tensor *t)
{
    for (size_t i = 0; i < c->f->n_initializers; i++)
        if (!strcmp(c->f->initializers[i].name, t->name)) return c->plan->filters[i];
    return false;
}

/* The worst difference, as a share of the wanted numbers' root mean square and the number itself.
 */
static void compare(test_case *c, const vkt_tensor *t, const double *data,
                    const vkt__onnx_tensor *want, const char *what)
{
    double rms = 0;
    if (t->count != want->count) {
        snprintf(c->what, sizeof c->what, "%s has %llu elements, not %llu", what,
                 (unsigned long long)t->count, (unsigned long long)want->count);
        c->worst = INFINITY;
        return;
    }
    bool filter = want->rank == 4 && c->n_grads && is_filter(c, want);
    for (uint64_t i = 0; i < t->count; i++) {
        double w = vkt__onnx_number(want, i);
        if (isfinite(w)) rms += w * w / (double)t->count;
    }
    rms = sqrt(rms);
    for (uint64_t i = 0; i < t->count; i++) {
        double w = vkt__onnx_number(want, i), got = data[filter ? filter_at(want, i) : i],
               off = fabs(got - w) / (fabs(w) + rms + 1e-6);
        if (got == w || (isnan(got) && isnan(w))) continue;
        if (isinf(w) && fabs(got) > 1e38) continue;
        if (off <= c->worst) continue;
        c->worst = isnan(off) ? INFINITY : off;
        snprintf(c->what, sizeof c->what, "%s[%llu] is %.9g, not %.9g", what, (unsigned long long)i,
                 got, w);
    }
}

static void look(void *user, const vkt_tensor *t, const double *data)
{
    test_case *c = user;
    if (t == c->result) compare(c, t, data, &c->out[0], "output");
    for (size_t k = 0; k < c->n_grads; k++)
        if (t == c->dwrt[k]) compare(c, t, data, &c->grads[k], c->grads[k].name);
}

/* Whether some node needs the value when the graph is built. */
static bool must_be_known(const vkt__onnx *f, int value)
{
    for (size_t k = 0; k < f->n_nodes; k++) {
        const vkt__onnx_op *op = vkt__onnx_op_of(&f->nodes[k]);
        for (size_t i = 0; op && i < f->nodes[k].n_in && i < 32; i++)
            if (f->nodes[k].in[i] == value && op->host >> i & 1) return true;
    }
    return false;
}

static void build_loss(test_case *c, vkt_tensor *y)
{
    vkt_tensor *wrt[MOST_FILES], *dwrt[MOST_FILES];
    vkt_tensor *w = vkt_input(c->g, vkt_tensor_shape(y), VKT_F32, "weights of the loss");
    hold(c, w, &c->weight, NULL, false);
    vkt_tensor *loss = vkt_sum(c->g, vkt_mul(c->g, y, w));
    for (size_t k = 0; k < c->n_grads; k++) {
        wrt[k] = vkt__input_named(c->g, c->grads[k].name);
        if (!wrt[k]) {
            c->worst = INFINITY;
            snprintf(c->what, sizeof c->what, "no parameter '%s'", c->grads[k].name);
            return;
        }
    }
    vkt_backward(c->g, loss, wrt, c->n_grads, dwrt);
    for (size_t k = 0; k < c->n_grads; k++) c->dwrt[k] = dwrt[k];
}

static vkt_status run_case(test_case *c, const char *dir, size_t output)
{
    vkt_status st = VKT_OK;
    char path[600];
    c->dir = dir;
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    VKT_TRY(vkt__onnx_open(path, &c->f));
    if (output >= c->f->n_outputs) return VKT_E_ARG;
    const char *name = c->f->values[c->f->outputs[output].value].name;
    VKT_TRY(vkt__onnx_plan_create(c->f, &name, 1, &c->plan));
    c->g = vkt__graph_new(NULL);
    vkt_tensor *in[MOST_FILES] = { NULL };
    bool last[MOST_FILES] = { false };
    const vkt__onnx_tensor *known[MOST_FILES] = { NULL };
    for (size_t i = 0; i < c->f->n_inputs && i < MOST_FILES; i++) {
        if (!read_pb(c, "input", i, &c->in[i])) continue;
        if (must_be_known(c->f, c->f->inputs[i].value))
            known[i] = &c->in[i];
        else
            in[i] = known_input(c, c->g, c->f->values[c->f->inputs[i].value].name,
                                shape_of(&c->in[i]), &c->in[i], false);
    }
    if (!read_pb(c, "output", output, &c->out[0])) return VKT_E_FORMAT;
    if (read_pb(c, "weight", 0, &c->weight))
        while (c->n_grads < MOST_FILES && read_pb(c, "grad", c->n_grads, &c->grads[c->n_grads]))
            c->n_grads++;
    vkt__onnx_build b = { .plan = c->plan,
                          .g = c->g,
                          .source = { c, initializer, constant, counter },
                          .known = known,
                          .batch = in[0] ? vkt_tensor_shape(in[0]).d[0] : 1,
                          .written = c->f->n_inputs ? c->f->inputs[0].dims[0] : -1 };
    st = vkt__onnx_build_graph(&b, in, last);
    vkt__onnx_value *y = &b.values[c->plan->out];
    if (st == VKT_OK) {
        vkt_tensor *t = vkt__onnx_first(&b, y);
        st = b.st != VKT_OK ? b.st : c->g->status;
        c->result = t;
        if (c->n_grads && st == VKT_OK) build_loss(c, t);
        if (st == VKT_OK) st = c->g->status;
        if (st == VKT_OK && c->out[0].rank != y->rank) {
            c->worst = INFINITY;
            snprintf(c->what, sizeof c->what, "rank %u, not %u", y->rank, c->out[0].rank);
        }
    }
    vkt__onnx_build_finish(&b);
    if (st == VKT_OK && !(c->worst > 0)) {
        /* What no node writes is no tensor that the twins show. */
        if (!c->g->n_nodes || !c->result->node) c->result = vkt_copy(c->g, (vkt_tensor *)c->result);
        vkt__graph_ref(c->g, fill, c, look);
    }
fail:
    return st;
}

static void end_case(test_case *c)
{
    vkt_graph_destroy(&c->g);
    vkt__onnx_plan_destroy(&c->plan);
    vkt__onnx_close(&c->f);
    for (size_t i = 0; i < c->n_maps; i++) vkt__file_unmap(&c->maps[i]);
}

static char last_line[400];

static void keep_line(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)user, (void)area;
    if (level == VKT_LOG_ERROR) snprintf(last_line, sizeof last_line, "%s", line);
}

/* What the file's own rounding may cost: our floats have 32 bits. */
static double limit_of(int type)
{
    return type == VKT__ONNX_FLOAT16 ? 1.0 / 1024 : type == VKT__ONNX_BFLOAT16 ? 1.0 / 128 : 1e-4;
}

/* "ok 1.2e-7 DIR", "off ...", "refused ...": the worst of its outputs. */
static bool report(const char *dir)
{
    size_t n = 1;
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        test_case *c = vkt__alloc(sizeof *c);
        char what[sizeof c->what];
        *last_line = 0;
        vkt_status st = run_case(c, dir, i);
        bool ok = st == VKT_OK && c->worst < limit_of(c->out[0].type);
        if (c->f) n = c->f->n_outputs;
        worst = fmax(worst, c->worst);
        memcpy(what, c->what, sizeof what);
        end_case(c);
        free(c);
        if (ok) continue;
        if (st != VKT_OK)
            printf("refused %s: %s\n", dir, last_line);
        else
            printf("off %.2g %s: %zu: %s\n", worst, dir, i, what);
        return false;
    }
    printf("ok %.2g %s\n", worst, dir);
    return true;
}

static int report_all(int n, char **dirs)
{
    int failed = 0;
    vkt_log_set(keep_line, NULL, VKT_LOG_ERROR);
    for (int i = 0; i < n; i++) failed += !report(dirs[i]);
    return failed ? 1 : 0;
}

/* Nets are double there and here. ONNX's own tests are stored as float32, of sums of float32. */
static void golden_cases(void **state)
{
    (void)state;
    char **names;
    size_t n, seen = 0;
    assert_int_equal(vkt__list_dir(VKT_TEST_DIR "/golden/onnx", &names, &n), VKT_OK);
    for (size_t i = 0; i < n; i++) {
        char dir[600];
        snprintf(dir, sizeof dir, VKT_TEST_DIR "/golden/onnx/%s", names[i]);
        test_case *c = vkt__alloc(sizeof *c);
        assert_int_equal(run_case(c, dir, 0), VKT_OK);
        if (!(c->worst < 1e-5)) {
            print_error("%s: %s (%.3g)\n", dir, c->what, c->worst);
            fail();
        }
        seen++;
        end_case(c);
        free(c);
    }
    assert_true(seen >= 10);
    vkt__names_free(names, n);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(golden_cases) };
    if (argc > 1) return report_all(argc - 1, argv + 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
