/* Which op rows a benchmark measures, on which shapes and in which order. bench_ops.c measures. */
#include <stdio.h>

#include "bench/bench_key.h"
#include "bench/bench_ops.h"
#include "bench/bench_ops_table.h"
#include "bench/bench_rows.h"
#include "bench/bench_suite.h"
#include "tensor/graph/cost.h"
#include "tensor/graph/graph.h"

/* The sample that moves the most bytes. */
static uint32_t largest_sample(const vkt_op *op)
{
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0;; i++) {
        vkt_graph *g = vkt__graph_new(NULL);
        const char *name = op->sample(op, g, i);
        double bytes = 0;
        for (size_t k = 0; k < g->n_nodes; k++)
            if (g->nodes[k]->op == op) bytes += vkt__node_cost(g->nodes[k]).bytes;
        vkt_graph_destroy(&g);
        if (!name) return best;
        if (bytes > most) most = bytes, best = i;
    }
}

/* Whether `list`, names with commas between them, has this one; NULL: of all. */
static bool asked_for(const char *list, const char *name)
{
    size_t n = strlen(name);
    if (!list) return true;
    for (const char *s = list; s; s = strchr(s, ',')) {
        s += *s == ',';
        if (!strncmp(s, name, n) && (s[n] == ',' || s[n] == 0)) return true;
    }
    return false;
}

/* Every name of the list is that of a row. */
static vkt_status check_names(const char *list)
{
    const char *names[256];
    size_t n = 0, len;
    for (uint32_t r = 0; vkt__rows[r] && n < VKT_COUNT(names); r++) names[n++] = vkt__rows[r]->name;
    for (const char *s = list; s; s = s[len] ? s + len + 1 : NULL) {
        char one[64];
        bool found = false;
        len = strcspn(s, ",");
        snprintf(one, sizeof one, "%.*s", (int)VKT_MIN(len, sizeof one - 1), s);
        for (size_t i = 0; i < n; i++) found = found || !strcmp(names[i], one);
        if (!found)
            return vkt__fail(VKT_E_ARG, "bench", "no op is called '%s'%s", one,
                             vkt_did_you_mean(one, names, n).text);
    }
    return VKT_OK;
}

static vkt_status plan_key(vkt__bencher *b, vkt__bench_items *list)
{
    size_t n;
    const vkt__bench_key_op *key = vkt__bench_key_ops(&n);
    size_t before = list->n;
    for (uint32_t i = 0, r; i < n; i++) {
        if (!asked_for(b->desc->op, key[i].op->name)) continue;
        for (r = 0; vkt__rows[r] != key[i].op;) r++;
        vkt__bench_plan(list, VKT_BENCH_OPS, key[i].op->name, b->warm_s + b->time_s + 0.5,
                        vkt__bench_run_op, r, VKT__BENCH_KEY + i);
    }
    if (list->n == before)
        return vkt__fail(VKT_E_ARG, "bench", "none of the key rows is of the op '%s'", b->desc->op);
    if (vkt__bench_is_small(b))
        vkt__bench_left_out(b->out, "the products, attentions and rows of a GPU: this device runs "
                                    "on the processor, which has smaller ones");
    return VKT_OK;
}

/* The row of this name, of all sizes or of the key's. */
static void plan_named(vkt__bencher *b, vkt__bench_items *list, const char *wanted)
{
    size_t n;
    char name[160];
    double each = b->warm_s + b->time_s + 0.5;
    const vkt__bench_key_op *key = vkt__bench_key_ops(&n);
    for (uint32_t r = 0; vkt__rows[r]; r++) {
        const vkt__bench_entry *e = vkt__bench_entry_of(vkt__rows[r]);
        size_t n_sizes = 0;
        const vkt__bench_sized *sizes = e ? vkt__bench_sizes(e->family, &n_sizes) : NULL;
        for (uint32_t i = 0; i < n_sizes; i++) {
            vkt__bench_name(vkt__rows[r], e, sizes[i].s, 0, name, sizeof name);
            if (strcmp(name, wanted) != 0) continue;
            vkt__bench_plan(list, VKT_BENCH_OPS, wanted, each, vkt__bench_run_op, r, i);
            return;
        }
        for (uint32_t i = 0; i < n; i++) {
            if (key[i].op != vkt__rows[r]) continue;
            vkt__bench_name(key[i].op, e, key[i].gpu, 0, name, sizeof name);
            if (strcmp(name, wanted) != 0) continue;
            vkt__bench_plan(list, VKT_BENCH_OPS, wanted, each, vkt__bench_run_op, r,
                            VKT__BENCH_KEY_GPU + i);
            return;
        }
    }
}

static void plan_suite(vkt__bencher *b, vkt__bench_items *list)
{
    size_t n;
    const vkt__suite_row *row = vkt__suite_rows(&n);
    for (size_t i = 0; i < n; i++)
        if (row[i].group == VKT_BENCH_OPS &&
            vkt__suite_has(b->suite, NULL, VKT_BENCH_OPS, row[i].name))
            plan_named(b, list, row[i].name);
}

/* What training steps are made of comes before what has many cases that are slow to check, samples
 * come last: a benchmark that has no time for all shows the first. */
static uint32_t place_of(const vkt_op *op)
{
    static const vkt__bench_family order[] = { VKT__BENCH_MATMUL,    VKT__BENCH_ATTENTION,
                                               VKT__BENCH_ROWS,      VKT__BENCH_CLASSES,
                                               VKT__BENCH_EMBEDDING, VKT__BENCH_ELEMENTS,
                                               VKT__BENCH_IMAGES,    VKT__BENCH_CONV };
    const vkt__bench_entry *e = vkt__bench_entry_of(op);
    uint32_t place = 0;
    while (place < VKT_COUNT(order) && !(e && order[place] == e->family)) place++;
    return place;
}

/* The sizes of a row that this level has. */
static void plan_row(vkt__bench_items *list, uint32_t r, uint32_t level, double each)
{
    const vkt_op *op = vkt__rows[r];
    const vkt__bench_entry *e = vkt__bench_entry_of(op);
    size_t n_sizes;
    if (!e) {
        vkt__bench_plan(list, VKT_BENCH_OPS, op->name, each, vkt__bench_run_op, r,
                        VKT__BENCH_SAMPLE + largest_sample(op));
        return;
    }
    const vkt__bench_sized *sizes = vkt__bench_sizes(e->family, &n_sizes);
    for (uint32_t i = 0; i < n_sizes; i++) {
        uint32_t l = sizes[i].level;
        if (level == 0 ? l == 0 : l > 0 && l <= level)
            vkt__bench_plan(list, VKT_BENCH_OPS, op->name, each, vkt__bench_run_op, r, i);
    }
}

vkt_status vkt__bench_plan_ops(vkt__bencher *b, vkt__bench_items *list)
{
    vkt_status st = VKT_OK;
    VKT_TRY(check_names(b->desc->op));
    if (b->desc->row) plan_named(b, list, b->desc->row);
    if (b->suite) plan_suite(b, list);
    if (b->desc->row || b->suite) return VKT_OK;
    if (b->desc->key) return plan_key(b, list);
    uint32_t level = b->desc->once                         ? 0
                     : b->desc->quick                      ? 1
                     : b->caps->klass == VKT_GPU_CLASS_CPU ? 2
                                                           : 3;
    double each = b->warm_s + b->time_s + 0.15;
    for (uint32_t place = 0, last = 0; place <= last; place++) {
        for (uint32_t r = 0; vkt__rows[r]; r++) {
            uint32_t at = place_of(vkt__rows[r]);
            last = VKT_MAX(last, at);
            if (at == place && asked_for(b->desc->op, vkt__rows[r]->name))
                plan_row(list, r, level, each);
        }
    }
fail:
    return st;
}
