/* What the benchmark's rows are called, so that lists and other programs' measurements of the same
 * can be made without a device. */
#include <stdio.h>

#include "bench/bench_key.h"
#include "bench/bench_rows.h"
#include "bench/bench_suite.h"
#include "bench/bench_target.h"
#include "tensor/graph/act.h"
#include "tensor/graph/graph.h"

void vkt__bench_name(const vkt_op *op, const vkt__bench_entry *entry, vkt__bench_shape s,
                     uint32_t sample, char *out, size_t n)
{
    const char *type = s.dtype ? vkt_dtype_name(s.dtype) : "", *space = s.dtype ? " " : "";
    if (!entry) {
        vkt_graph *g = vkt__graph_new(NULL);
        const char *name = op->sample(op, g, sample);
        snprintf(out, n, "%s, sample '%s'", op->name, name ? name : "");
        vkt_graph_destroy(&g);
        return;
    }
    switch (entry->family) {
    case VKT__BENCH_MATMUL:
        snprintf(out, n, "matmul %s%s%s M %u N %u K %u%s%s%s%s%s%s", type, space,
                 vkt_layout_name(s.layout), s.m, s.n, s.k, s.bias ? ", bias" : "",
                 s.act ? ", " : "", s.act ? vkt__acts[s.act].name : "",
                 s.residual ? ", residual" : "", s.result ? ", to " : "",
                 s.result ? vkt_dtype_name(s.result) : "");
        break;
    case VKT__BENCH_CONV:
        snprintf(out, n, "%s %ux%u/%u %ux%ux%ux%u to %u", op->name, s.taps, s.taps, s.stride, s.m,
                 s.n, s.n, s.k, s.out);
        break;
    case VKT__BENCH_IMAGES:
        snprintf(out, n, "%s%s [%u, %u, %u, %u]", op->name, entry->what, s.m, s.n, s.n, s.k);
        break;
    case VKT__BENCH_ATTENTION:
        snprintf(out, n, "%s %s%s[%u, %u], %u heads of %u", op->name, type, space, s.m, s.n, s.k,
                 s.out);
        break;
    case VKT__BENCH_EMBEDDING:
        snprintf(out, n, "%s [%u, %u] of %u x %u", op->name, s.m, s.n, s.k, s.out);
        break;
    default:
        snprintf(out, n, "%s%s [%u, %u]", op->name, entry->what, s.m, s.n);
    }
}

static void add(vkt__str *s, vkt_bench_group group, const char *name)
{
    vkt__str_printf(s, "%s\t%s\n", vkt_bench_group_name(group), name);
}

char *vkt_bench_names(bool key)
{
    vkt__str s = { 0 };
    char name[160];
    const char *step;
    size_t n, n_sizes;
    if (key) {
        const vkt__bench_key_op *op = vkt__bench_key_ops(&n);
        const char *const *steps = vkt__bench_key_steps(&n_sizes);
        add(&s, VKT_BENCH_CEILINGS, "copy 256 MiB");
        for (size_t i = 0; i < n; i++) {
            vkt__bench_name(op[i].op, vkt__bench_entry_of(op[i].op), op[i].gpu, 0, name,
                            sizeof name);
            add(&s, VKT_BENCH_OPS, name);
        }
        for (size_t i = 0; i < n_sizes; i++) add(&s, VKT_BENCH_STEPS, steps[i]);
        return s.data;
    }
    for (uint32_t r = 0; vkt__rows[r]; r++) {
        const vkt__bench_entry *e = vkt__bench_entry_of(vkt__rows[r]);
        const vkt__bench_sized *sizes = e ? vkt__bench_sizes(e->family, &n_sizes) : NULL;
        for (size_t i = 0; sizes && i < n_sizes; i++) {
            if (!sizes[i].level) continue;
            vkt__bench_name(vkt__rows[r], e, sizes[i].s, 0, name, sizeof name);
            add(&s, VKT_BENCH_OPS, name);
        }
    }
    for (uint32_t i = 0; (step = vkt__bench_step_name(i)); i++) add(&s, VKT_BENCH_STEPS, step);
    for (uint32_t i = 0; (step = vkt__bench_generate_name(i)); i++) add(&s, VKT_BENCH_STEPS, step);
    for (uint32_t i = 0; (step = vkt__bench_target_name(i)); i++) add(&s, VKT_BENCH_TARGET, step);
    return s.data;
}

char *vkt_bench_suite_names(const char *set, const vkt_gpu *gpu)
{
    vkt__str s = { 0 };
    const vkt_caps *caps = gpu ? vkt_gpu_caps(gpu) : NULL;
    vkt__suite_set wanted = vkt__suite_set_of(set, caps);
    const char *half[] = { NULL, vkt__suite_half(caps) };
    size_t n;
    const vkt__suite_row *row = vkt__suite_rows(&n);
    if (!wanted) return NULL;
    vkt__str_printf(&s, "%s\tcopy 256 MiB\t%s\n", vkt_bench_group_name(VKT_BENCH_CEILINGS),
                    vkt__suite_rule(VKT_BENCH_CEILINGS, ""));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < VKT_COUNT(half); k++) {
            char name[160];
            if (vkt__suite_name(&row[i], half[k], name, sizeof name) &&
                vkt__suite_has(wanted, half[1], row[i].group, name))
                vkt__str_printf(&s, "%s\t%s\t%s\n", vkt_bench_group_name(row[i].group), name,
                                vkt__suite_rule(row[i].group, name));
        }
    return s.data;
}
