/* The rows of a benchmark, their notes, and the list of items that are to be measured. */
#include "bench/bench_rows.h"
#include "bench/bench_suite.h"

#include <math.h>

#include "base/log.h"

const char *vkt_bench_group_name(vkt_bench_group g)
{
    static const char *const names[] = { "ceilings", "ops", "steps", "target", "host" };
    return (unsigned)g < VKT_COUNT(names) ? names[g] : "unknown";
}

vkt_bench *vkt__bench_create(void)
{
    vkt_bench *b = vkt__alloc(sizeof *b);
    b->priv = vkt__alloc(sizeof *b->priv);
    b->info = (vkt_bench_info) { "", "", "", "", "", "", "", "", "", "",
                                 "", "", "", "", "", "", "", "", "" };
    b->score = b->suite_fp32 = b->suite_half = NAN;
    return b;
}

void vkt_bench_destroy(vkt_bench **pb)
{
    vkt_bench *b = *pb;
    if (!b) return;
    for (size_t i = 0; i < b->n_peers; i++) vkt_bench_destroy(&b->peers[i]);
    free(b->peers);
    vkt__arena_finish(&b->priv->arena);
    free(b->priv);
    free(b->rows);
    free(b->left_out);
    free(b);
    *pb = NULL;
}

vkt_bench_row *vkt__bench_row(vkt_bench *b, vkt_bench_group group, const char *name,
                              const char *unit, bool higher)
{
    if (b->n_rows == b->priv->cap_rows)
        b->rows = vkt__grow(b->rows, b->n_rows, &b->priv->cap_rows, sizeof *b->rows);
    vkt_bench_row *r = &b->rows[b->n_rows++];
    *r = (vkt_bench_row) { .group = group,
                           .name = vkt__arena_strdup(&b->priv->arena, name),
                           .unit = unit,
                           .note = "",
                           .higher = higher,
                           .value = NAN,
                           .min = NAN,
                           .max = NAN,
                           .q1 = NAN,
                           .q3 = NAN,
                           .gpu_value = NAN,
                           .gflops = NAN,
                           .gbps = NAN,
                           .percent = NAN,
                           .error = NAN,
                           .items_per_s = NAN,
                           .host_us = NAN,
                           .kernels_ms = NAN,
                           .loss_first = NAN,
                           .loss_last = NAN,
                           .of_matmul = NAN,
                           .growth = NAN,
                           .ci = NAN,
                           .energy_j = NAN,
                           .memory_bytes = NAN };
    return r;
}

static char *text(vkt_bench *b, const char *fmt, va_list ap)
{
    vkt__str s = { 0 };
    vkt__str_vprintf(&s, fmt, ap);
    char *out = vkt__arena_strdup(&b->priv->arena, s.data ? s.data : "");
    vkt__str_finish(&s);
    return out;
}

void vkt__bench_note(vkt_bench *b, vkt_bench_row *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *t = text(b, fmt, ap);
    r->note = *r->note ? vkt__arena_printf(&b->priv->arena, "%s; %s", r->note, t) : t;
    va_end(ap);
}

void vkt__bench_refuse(vkt__bencher *b, vkt_bench_row *r, bool wrong, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->refused = text(b->out, fmt, ap);
    va_end(ap);
    if (wrong && !b->n_wrong++)
        b->first_wrong = vkt__arena_printf(&b->out->priv->arena, "%s: %s", r->name, r->refused);
    r->value = r->min = r->max = r->q1 = r->q3 = r->gpu_value = r->gflops = r->gbps = r->percent =
        r->growth = NAN;
}

void vkt__bench_left_out(vkt_bench *b, const char *fmt, ...)
{
    va_list ap;
    if (b->n_left_out == b->priv->cap_left_out)
        b->left_out =
            vkt__grow(b->left_out, b->n_left_out, &b->priv->cap_left_out, sizeof *b->left_out);
    va_start(ap, fmt);
    b->left_out[b->n_left_out++] = text(b, fmt, ap);
    va_end(ap);
}

void vkt__bench_set(vkt_bench_row *r, const vkt__times *t, double amount)
{
    bool h = r->higher;
    r->runs = t->runs;
    r->ci = t->ci > 0 ? 100 * t->ci : NAN;
    r->value = h ? amount / t->median : amount * t->median;
    r->gpu_value = h ? amount / t->other : amount * t->other;
    r->min = h ? amount / t->max : amount * t->min;
    r->max = h ? amount / t->min : amount * t->max;
    r->q1 = h ? amount / t->q3 : amount * t->q1;
    r->q3 = h ? amount / t->q1 : amount * t->q3;
}

void vkt__bench_plan(vkt__bench_items *list, vkt_bench_group group, const char *name, double weight,
                     vkt_status (*run)(vkt__bencher *, const vkt__bench_item *), uint32_t arg,
                     uint32_t arg2)
{
    if (list->n == list->cap)
        list->item = vkt__grow(list->item, list->n, &list->cap, sizeof *list->item);
    list->item[list->n++] = (vkt__bench_item) { group, name, weight, run, arg, arg2 };
}

bool vkt__bench_is_named(const vkt__bencher *b, const char *name)
{
    if (b->suite)
        return vkt__suite_has(b->suite, vkt__suite_half(b->caps), VKT_BENCH_STEPS, name) ||
               vkt__suite_has(b->suite, NULL, VKT_BENCH_TARGET, name);
    if (b->desc->row) return !strcmp(name, b->desc->row);
    return !b->desc->step || strstr(name, b->desc->step);
}

static bool same_peer(const vkt_bench *a, const vkt_bench *b)
{
    return !strcmp(a->info.driver, b->info.driver) && !strcmp(a->info.settings, b->info.settings) &&
           !strcmp(a->info.device, b->info.device);
}

/* Where it stands, or would. */
static size_t peer_at(const vkt_bench *b, const vkt_bench *p)
{
    size_t at = 0;
    while (at < b->n_peers && !same_peer(b->peers[at], p)) at++;
    return at;
}

/* "PyTorch 2.14, eager: ": what the device's name of a peer begins with, so that it passes for no
 * machine. */
static const char *peer_prefix(vkt_bench *p)
{
    return vkt__arena_printf(&p->priv->arena, "%s, %.*s: ", p->info.driver,
                             (int)strcspn(p->info.settings, ","), p->info.settings);
}

size_t vkt__bench_put_peer(vkt_bench *b, vkt_bench **peer)
{
    vkt_bench *p = *peer;
    size_t at, n = 0;
    const char *prefix = peer_prefix(p);
    *peer = NULL;
    if (strncmp(p->info.device, prefix, strlen(prefix)) != 0)
        p->info.device = vkt__arena_printf(&p->priv->arena, "%s%s", prefix, p->info.device);
    for (size_t i = 0; i < p->n_rows; i++)
        if (vkt_bench_find(b, p->rows[i].group, p->rows[i].name)) p->rows[n++] = p->rows[i];
    p->n_rows = n;
    at = peer_at(b, p);
    if (at < b->n_peers) {
        vkt_bench_destroy(&b->peers[at]);
    } else {
        vkt_bench **more = vkt__alloc((b->n_peers + 1) * sizeof(vkt_bench *));
        for (size_t i = 0; i < b->n_peers; i++) more[i] = b->peers[i];
        free(b->peers);
        b->peers = more;
        b->n_peers++;
    }
    b->peers[at] = p;
    return n;
}

vkt_status vkt_bench_add_peer(vkt_bench *b, vkt_bench **peer, size_t *n_kept)
{
    vkt_status st = VKT_OK;
    vkt_bench *p = *peer;
    *n_kept = 0;
    if (!*p->info.driver)
        VKT_TRY(vkt__fail(VKT_E_FORMAT, "bench",
                          "a peer of '%.80s' names no program as its driver: it is not added",
                          p->info.device));
    p->info.device = vkt__arena_printf(&p->priv->arena, "%s%s", peer_prefix(p), p->info.device);
    if (strlen(p->info.device) > VKT__BENCH_TEXT)
        VKT_TRY(vkt__fail(VKT_E_FORMAT, "bench",
                          "the peer '%.40s...' has more than %d bytes in driver, settings and "
                          "device: shorten them",
                          p->info.device, VKT__BENCH_TEXT));
    if (peer_at(b, p) == VKT__BENCH_PEERS)
        VKT_TRY(vkt__fail(VKT_E_FORMAT, "bench",
                          "'%.80s' would be peer %d; a file holds %d: take another file",
                          p->info.device, VKT__BENCH_PEERS + 1, VKT__BENCH_PEERS));
    *n_kept = vkt__bench_put_peer(b, peer);
fail:
    vkt_bench_destroy(peer);
    return st;
}
