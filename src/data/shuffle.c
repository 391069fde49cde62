/* shuffle.h: shuffles, each draw a function of (seed, position). */
#include "data/parts/parts.h"
#include "data/shuffle.h"

/* Fisher-Yates from the front. */
uint32_t vkt__order_at(vkt__order *o, uint64_t i)
{
    uint64_t epoch = i / o->n, at = i % o->n;
    if (epoch != o->epoch) {
        for (uint64_t k = 0; k < o->n; k++) o->p[k] = (uint32_t)k;
        o->epoch = epoch;
        o->drawn = 0;
    }
    for (; o->drawn <= at; o->drawn++) {
        uint64_t k = o->drawn, left = o->n - k;
        uint64_t j = k + vkt_rand_below(o->seed, VKT_RNG_SHUFFLE, epoch * o->n + k, (uint32_t)left);
        uint32_t keep = o->p[k];
        o->p[k] = o->p[j];
        o->p[j] = keep;
    }
    return o->p[at];
}

uint64_t vkt_stream_index(uint64_t seed, uint64_t n, uint64_t i)
{
    VKT_ASSERT(n > 0 && n <= UINT32_MAX);
    vkt__order o = { .seed = seed, .n = n, .epoch = UINT64_MAX, .p = vkt__alloc(n * sizeof *o.p) };
    uint32_t at = vkt__order_at(&o, i);
    free(o.p);
    return at;
}

static vkt_status order_init(vkt__order *o, uint64_t seed, uint64_t n)
{
    *o = (vkt__order) { .seed = seed, .n = n, .epoch = UINT64_MAX };
    return vkt__alloc_large(n, sizeof *o->p, "the order of examples", &o->p);
}

/* Classes without examples take no part. */
static vkt_status init_classes(const vkt_dataset *ds, vkt_split split, uint64_t seed,
                               vkt__stream *out)
{
    vkt_status st = VKT_OK;
    uint32_t n_classes = ds->schema.n_outputs, n = 0, at = 0;
    uint64_t *count = vkt__alloc(n_classes * sizeof *count);
    uint32_t *place = vkt__alloc(n_classes * sizeof *place);
    vkt_dataset_class_counts(ds, split, count);
    for (uint32_t c = 0; c < n_classes; c++) n += count[c] > 0;
    out->classes = vkt__alloc(n * sizeof *out->classes);
    out->start = vkt__alloc(n * sizeof *out->start);
    VKT_TRY(order_init(&out->order, seed, n));
    VKT_TRY(vkt__alloc_large(ds->info.n[split], sizeof *out->members, "the order of examples",
                             &out->members));
    for (uint32_t c = 0, k = 0; c < n_classes; c++) {
        if (!count[c]) continue;
        /* An odd multiplier (2^64 over the golden ratio) keeps the classes' seeds apart. */
        VKT_TRY(order_init(&out->classes[k], seed + (k + 1) * 0x9e3779b97f4a7c15u, count[c]));
        out->start[k++] = place[c] = at;
        at += (uint32_t)count[c];
    }
    for (uint64_t i = 0; i < ds->info.n[split]; i++)
        out->members[place[vkt__dataset_label(ds, split, i)->u]++] = (uint32_t)i;
fail:
    free(count);
    free(place);
    return st;
}

vkt_status vkt__stream_init(const vkt_dataset *ds, vkt_split split, bool balanced, uint64_t seed,
                            vkt__stream *out)
{
    *out = (vkt__stream) { 0 };
    return balanced ? init_classes(ds, split, seed, out)
                    : order_init(&out->order, seed, ds->info.n[split]);
}

void vkt__stream_finish(vkt__stream *s)
{
    for (uint64_t c = 0; s->classes && c < s->order.n; c++) free(s->classes[c].p);
    free(s->order.p);
    free(s->classes);
    free(s->members);
    free(s->start);
    *s = (vkt__stream) { 0 };
}

uint32_t vkt__stream_at(vkt__stream *s, uint64_t i)
{
    uint32_t at = vkt__order_at(&s->order, i);
    if (!s->classes) return at;
    return s->members[s->start[at] + vkt__order_at(&s->classes[at], i / s->order.n)];
}
