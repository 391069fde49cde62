/* libFuzzer: any bytes as an ONNX file: read, planned, and put into a graph, as a layer of a model
 * for pictures, rows or lines does. No data of other files, as there is no folder. */
#include "foreign.h"

#include "onnx/onnx_op.h"
#include "tensor/graph/graph.h"

/* As large as a file asks for is no error of the reader's, but no input for a fuzzer either. */
enum { MOST_NUMBERS = 1 << 20 };

static vkt_tensor *named(vkt_graph *g, const char *name, vkt_shape s)
{
    vkt_tensor *t = vkt__input_named(g, name);
    return t ? t : vkt_input(g, s, VKT_F32, vkt__arena_strdup(&g->arena, name));
}

static vkt_tensor *initializer(void *user, vkt_graph *g, size_t i)
{
    const vkt__onnx_plan *p = user;
    const vkt__onnx_tensor *t = &p->f->initializers[i];
    vkt_shape s = { .rank = t->rank ? t->rank : 1, .d = { 1 } };
    for (uint32_t k = 0; k < t->rank && k < VKT_MAX_RANK; k++) s.d[k] = (uint32_t)t->dims[k];
    if (p->filters[i]) s = (vkt_shape) { 4, { s.d[2], s.d[3], s.d[1], s.d[0] } };
    return named(g, t->name, s);
}

static vkt_tensor *constant(void *user, vkt_graph *g, const char *name, vkt_shape shape,
                            vkt_dtype dtype, const vkt__onnx_host *numbers)
{
    (void)user, (void)numbers;
    vkt_tensor *t = named(g, name, shape);
    return dtype == VKT_U32 ? vkt_cast(g, t, VKT_U32) : t;
}

static vkt_tensor *counter(void *user, vkt_graph *g, const char *name)
{
    (void)user, (void)g, (void)name;
    return NULL;
}

static bool is_small(const vkt__onnx *f)
{
    uint64_t all = 0;
    for (size_t i = 0; i < f->n_initializers; i++) {
        if (f->initializers[i].rank > VKT_MAX_RANK) return false;
        all += f->initializers[i].count;
    }
    return all < MOST_NUMBERS && f->n_inputs <= 4;
}

static void build(const vkt__onnx_plan *p)
{
    vkt_graph *g = vkt__graph_new(NULL);
    vkt_tensor *in[4];
    bool last[4] = { false };
    for (size_t i = 0; i < p->f->n_inputs; i++) {
        const vkt__onnx_info *info = &p->f->inputs[i];
        vkt_shape s = { .rank = info->rank && info->rank <= VKT_MAX_RANK ? info->rank : 2 };
        uint64_t count = 1;
        for (uint32_t k = 0; k < s.rank; k++) {
            s.d[k] = info->dims[k] > 0 && info->dims[k] < 64 ? (uint32_t)info->dims[k] : 2;
            count *= s.d[k];
        }
        if (count > MOST_NUMBERS) s = vkt_shape2(2, 3);
        last[i] = s.rank == 4;
        in[i] = named(g, p->f->values[info->value].name, s);
    }
    vkt__onnx_build b = { .plan = p,
                          .g = g,
                          .source = { (void *)p, initializer, constant, counter },
                          .train = true,
                          .batch = 2,
                          .written = 1 };
    if (vkt__onnx_build_graph(&b, in, last) == VKT_OK) vkt__onnx_first(&b, &b.values[p->out]);
    vkt__onnx_build_finish(&b);
    vkt_graph_destroy(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    vkt__onnx *f;
    vkt__onnx_plan *p;
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_ERROR);
    if (vkt__onnx_parse(data, n, "fuzz", NULL, &f) != VKT_OK) return 0;
    if (is_small(f) && vkt__onnx_plan_create(f, NULL, 0, &p) == VKT_OK) {
        build(p);
        vkt__onnx_plan_destroy(&p);
    }
    vkt__onnx_close(&f);
    return 0;
}
