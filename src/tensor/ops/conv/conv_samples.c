/* Sample cases of the convolution rows. */
#include <stdio.h>

#include "tensor/graph/sample.h"
#include "tensor/ops/conv/conv_samples.h"
#include "tensor/kernels/conv.h"
#include "tensor/ops/ops.h"

/* Filters, strides, dilations and groups of every kind, extents that no tile divides, with the
 * kernel that the device's class gets; the first few with every kernel that can take them. */
enum { FOR_EVERY_KERNEL = 8 };
static const struct {
    const char *name;
    uint32_t n, h, w, c, co, kh, kw, stride, pad, dilation, groups, more[3], more_stride,
        more_dilation;
} cases[] = {
    { "3x3", 2, 7, 9, 6, 10, 3, 3, 1, 1, 1, 1 },
    { "grey", 3, 9, 8, 1, 33, 3, 3, 1, 1, 1, 1 },
    { "colour, stride 2", 2, 11, 13, 3, 34, 7, 7, 2, 3, 1, 1 },
    { "three groups, odd", 2, 5, 7, 9, 15, 3, 3, 2, 1, 1, 3 },
    { "deep", 2, 5, 5, 64, 68, 3, 3, 1, 1, 1, 1 },
    { "padding past the filter", 1, 3, 3, 2, 2, 2, 2, 1, 3, 1, 1 },
    { "four sides, stride 2", 2, 7, 10, 6, 10, 3, 4, 2, 1, 1, 1, { 1, 2, 0 } },
    { "stride 3 x 2, dilated 2 x 1", 2, 14, 9, 5, 6, 3, 4, 3, 1, 2, 1, { 1, 0, 2 }, -1u, -1u },
    { "one pixel", 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1 },
    { "1x1, stride 2", 2, 8, 7, 18, 20, 1, 1, 2, 0, 1, 1 },
    { "dilated", 2, 11, 10, 4, 6, 3, 3, 1, 2, 2, 1 },
    { "dilated, stride 2", 2, 11, 9, 3, 5, 3, 3, 2, 2, 2, 1 },
    { "dilated by 3, stride 2", 1, 12, 13, 2, 6, 3, 4, 2, 3, 3, 1 },
    { "tall filter", 2, 9, 6, 5, 7, 5, 2, 1, 1, 1, 1 },
    { "stride 3", 2, 14, 11, 2, 4, 4, 3, 3, 1, 1, 1 },
    { "two groups", 2, 6, 6, 8, 12, 3, 3, 1, 1, 1, 2 },
    { "depthwise", 2, 8, 9, 17, 17, 3, 3, 1, 1, 1, 17 },
    { "depthwise, doubled, stride 2", 2, 8, 9, 6, 12, 5, 5, 2, 2, 1, 6 },
    { "no images", 0, 5, 5, 2, 3, 3, 3, 1, 1, 1, 1 },
    { "a line, stride 3", 2, 1, 34, 3, 5, 1, 5, 3, 0, 1, 1, { 0, 4, 2 } },
    { "less on the left, dilated", 2, 9, 8, 4, 6, 3, 3, 1, 2, 2, 2, { 0, -1u, 3 } },
    { "dilated across by 3, stride 1 x 2", 1, 7, 19, 6, 5, 2, 3, 1, 1, 1, 1, { 0 }, 1, 2 },
    { "even sides", 3, 6, 8, 18, 34, 3, 3, 1, 1, 1, 1 },
    { "even sides, much padding", 2, 4, 6, 4, 3, 3, 3, 1, 3, 1, 1 },
};

static vkt_attr case_attr(uint32_t i, uint32_t kernel)
{
    return (vkt_attr) { .conv = { .stride = cases[i].stride,
                                  .pad = cases[i].pad,
                                  .more = { cases[i].more[0], cases[i].more[1], cases[i].more[2] },
                                  .dilation = cases[i].dilation,
                                  .groups = cases[i].groups,
                                  .more_stride = cases[i].more_stride,
                                  .more_dilation = cases[i].more_dilation,
                                  .kh = cases[i].kh,
                                  .kw = cases[i].kw,
                                  .kernel = kernel } };
}

static vkt_tensor *sample4(vkt_graph *g, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return vkt__sample(g, (vkt_shape) { 4, { a, b, c, d } }, VKT_F32, VKT_HINT_NORMAL, 0);
}

static vkt_tensor *sample_x(vkt_graph *g, uint32_t i)
{
    return sample4(g, cases[i].n, cases[i].h, cases[i].w, cases[i].c);
}

static vkt_tensor *sample_w(vkt_graph *g, uint32_t i)
{
    return sample4(g, cases[i].kh, cases[i].kw, cases[i].c / cases[i].groups, cases[i].co);
}

static vkt_tensor *sample_dy(vkt_graph *g, uint32_t i)
{
    vkt_attr a = case_attr(i, 0);
    return sample4(g, cases[i].n, vkt__conv_positions(&a, false, cases[i].h, cases[i].kh),
                   vkt__conv_positions(&a, true, cases[i].w, cases[i].kw), cases[i].co);
}

/* Shape and attributes of sample i; false past the last. On matrix units in the types that the
 * device's have, few cases: a CPU driver takes seconds to compile one. */
static bool sample_of(const vkt_graph *g, uint32_t i, uint32_t *j, vkt_attr *a, char name[64])
{
    static const struct {
        uint32_t j, type;
    } on_units[] = { { 2, 0 }, { 4, 0 }, { 9, 0 }, { 4, 1 } };
    const vkt_caps *caps = vkt__gpu_of(g) ? vkt_gpu_caps(vkt__gpu_of(g)) : NULL;
    vkt_dtype types[2];
    uint32_t n_types = 0, kernel = 0, each = VKT_COUNT(cases);
    if (caps && caps->coopmat && caps->coopmat_bf16[0]) types[n_types++] = VKT_BF16;
    if (caps && caps->coopmat && caps->coopmat_f16[0]) types[n_types++] = VKT_F16;
    for (; i >= each; kernel++) {
        if (!vkt__conv_kernel_name(kernel + 1)) return false;
        i -= each;
        each = !vkt__conv_on_units(kernel + 1) ? FOR_EVERY_KERNEL
               : n_types == 2                  ? VKT_COUNT(on_units)
                                               : n_types * (VKT_COUNT(on_units) - 1);
    }
    bool units = vkt__conv_on_units(kernel);
    *j = units ? on_units[i].j : i;
    *a = case_attr(*j, kernel);
    if (units) a->conv.multiply = types[on_units[i].type];
    snprintf(name, 64, "%s, kernel %u%s%s", cases[*j].name, kernel, units ? " in " : "",
             units ? vkt_dtype_name(a->conv.multiply) : "");
    return true;
}

static const uint32_t with_stats[] = { 0, 2, 4, 9 }; /* of the cases */

static uint32_t n_stats(void)
{
    uint32_t n = 0;
    for (uint32_t k = 1; vkt__conv_kernel_name(k); k++)
        n += vkt__conv_stats_rows(k) ? VKT_COUNT(with_stats) : 0;
    return n;
}

/* With statistics of tiles, by each kernel that writes them: one and several tiles, whose last
 * pixels or channels are missing. */
static const char *stats_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    uint32_t kernel = 1, n = i / VKT_COUNT(with_stats), j = with_stats[i % VKT_COUNT(with_stats)];
    while (!vkt__conv_stats_rows(kernel) || n-- > 0) kernel++;
    vkt_attr a = case_attr(j, kernel);
    a.conv.stats = vkt__conv_stats_rows(kernel);
    vkt__op(g, op, (vkt_tensor *[]) { sample_x(g, j), sample_w(g, j) }, 2, a);
    snprintf(name, sizeof name, "%s, with statistics, kernel %u", cases[j].name, kernel);
    return name;
}

const char *vkt__conv_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    enum { FOURS = 4 }; /* a case whose channels are whole fours, on matrix units too */
    static char name[64];
    uint32_t j;
    vkt_attr a;
    if (i < VKT__N_ACTS) {
        vkt_attr attr = case_attr(0, 0);
        attr.conv.act = (vkt_act)i;
        vkt__op(g, op,
                (vkt_tensor *[]) { sample_x(g, 0), sample_w(g, 0), vkt__sample1(g, cases[0].co) },
                3, attr);
        snprintf(name, sizeof name, i ? "bias %s" : "bias", vkt__acts[i].name);
        return name;
    }
    i -= VKT__N_ACTS;
    if (i < n_stats()) return stats_sample(op, g, i);
    if (!sample_of(g, i - n_stats(), &j, &a, name)) return NULL;
    vkt_tensor *in[] = { sample_x(g, j), sample_w(g, j), NULL };
    if (a.conv.kernel && j == FOURS) { /* every kernel ends sums, too */
        in[2] = vkt__sample1(g, cases[j].co);
        a.conv.act = VKT_ACT_GELU;
        strncat(name, ", bias gelu", sizeof name - strlen(name) - 1);
    }
    vkt__op(g, op, in, 3, a);
    return name;
}

bool vkt__conv_dx_case_of(vkt_graph *g, uint32_t i, vkt__conv_dx_case *c)
{
    static char name[64];
    uint32_t j;
    if (!sample_of(g, i, &j, &c->attr, name)) return false;
    c->name = name;
    c->dy = sample_dy(g, j);
    c->w = sample_w(g, j);
    c->attr.conv.h = cases[j].h;
    c->attr.conv.w = cases[j].w;
    return true;
}

vkt_tensor *vkt__conv_case_filter(vkt_graph *g, uint32_t i, uint32_t *groups, const char **name)
{
    if (i >= VKT_COUNT(cases)) return NULL;
    *groups = cases[i].groups;
    *name = cases[i].name;
    return sample_w(g, i);
}

/* In one slice, then in three, the last shorter. */
const char *vkt__conv_dw_sample(const vkt_op *op, vkt_graph *g, uint32_t i)
{
    static char name[64];
    uint32_t j;
    vkt_attr attr;
    if (!sample_of(g, i / 2, &j, &attr, name)) return NULL;
    attr.conv.slices = i % 2 && cases[j].n * cases[j].h >= 5 ? 3 : 1;
    vkt__op(g, op, (vkt_tensor *[]) { sample_x(g, j), sample_dy(g, j) }, 2, attr);
    return name;
}
