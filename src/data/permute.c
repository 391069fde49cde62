/* permute.h: part[0] has the unchanged rows, part[1], which is read, one column of them in another
 * order. */
#include "data/permute.h"
#include "data/shuffle.h"

/* A date's column of the file is several of the schema's. */
static bool begins(const vkt__schema *s, uint32_t k)
{
    return k == 0 || s->columns[k].position != s->columns[k - 1].position;
}

uint32_t vkt__permute_columns(const vkt_dataset *ds)
{
    const vkt__schema *s = &ds->schema;
    uint32_t n = 0;
    if (s->kind != VKT_DATA_KIND_TABLE || s->input_rank != 1) return 0;
    for (uint32_t k = 0; k < s->n_columns; k++) n += begins(s, k);
    return n;
}

vkt_status vkt__permute_open(const vkt_dataset *ds, vkt_split split, uint64_t n, uint64_t seed,
                             vkt_dataset **out)
{
    vkt_status st;
    uint32_t wide = ds->schema.n_inputs, n_labels = vkt__n_labels(&ds->schema);
    const vkt__part *part = &ds->part[ds->of_part[split]];
    vkt__order order = { .seed = seed, .n = ds->info.n[split], .epoch = UINT64_MAX };
    vkt_dataset *t = vkt__alloc(sizeof *t);
    VKT_ASSERT(part->values && n > 0 && n <= ds->info.n[split]);
    t->schema = ds->schema;
    t->info = ds->info;
    t->schema_json = ds->schema_json;
    memset(t->info.n, 0, sizeof t->info.n);
    t->info.n[VKT_SPLIT_TEST] = n;
    t->of_part[VKT_SPLIT_TEST] = 1;
    VKT_TRY(vkt__alloc_large(order.n, sizeof *order.p, "the order of examples", &order.p));
    VKT_TRY(vkt__alloc_large(n, sizeof(uint32_t), "examples", &t->index[VKT_SPLIT_TEST]));
    VKT_TRY(vkt__alloc_large(n, n_labels * sizeof(vkt_label), "labels", &t->part[1].labels));
    for (int k = 0; k < 2; k++) {
        t->part[k].n = (uint32_t)n;
        VKT_TRY(vkt__alloc_large(n, wide * sizeof(float), "a table", &t->part[k].values));
    }
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = vkt__order_at(&order, i);
        memcpy(t->part[0].values + (size_t)i * wide,
               part->values + (size_t)ds->index[split][at] * wide, wide * sizeof(float));
        memcpy(t->part[1].labels + (size_t)i * n_labels, vkt__dataset_label(ds, split, at),
               n_labels * sizeof(vkt_label));
        t->index[VKT_SPLIT_TEST][i] = i;
    }
    memcpy(t->part[1].values, t->part[0].values, (size_t)n * wide * sizeof(float));
    *out = t;
    t = NULL;
fail:
    vkt_dataset_destroy(&t);
    free(order.p);
    return st;
}

void vkt__permute_column(vkt_dataset *taken, uint32_t i, uint64_t seed)
{
    const vkt__schema *s = &taken->schema;
    uint32_t wide = s->n_inputs, n = taken->part[0].n, at = UINT32_MAX;
    vkt__order order = { .seed = seed, .n = n, .epoch = UINT64_MAX };
    float *to = taken->part[1].values;
    const float *from = taken->part[0].values;
    order.p = vkt__alloc(n * sizeof *order.p);
    memcpy(to, from, (size_t)n * wide * sizeof *to);
    vkt__order_at(&order, n - 1);
    for (uint32_t k = 0; k < s->n_columns; k++) {
        const vkt__column *c = &s->columns[k];
        at += begins(s, k);
        for (uint32_t r = 0; r < n && at == i; r++)
            memcpy(to + (size_t)r * wide + c->first_input,
                   from + (size_t)order.p[r] * wide + c->first_input,
                   vkt__column_inputs(c) * sizeof *to);
    }
    free(order.p);
}
