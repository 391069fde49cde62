/* A made-up classification set for benchmarks and tests: normal inputs around one mean per class,
 * so that it can be learned; a function of (seed, example, input). */
#include "data/dataset.h"

vkt_status vkt__dataset_synthetic(uint32_t n, uint32_t n_inputs, uint32_t n_classes, uint64_t seed,
                                  vkt_dataset **out)
{
    vkt_status st;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    vkt__schema *s = &ds->schema;
    vkt__part *p = &ds->part[0];
    float *table = NULL;
    enum { TABLE = 65521 }; /* prime: examples do not repeat each other */
    s->task = VKT_CLASSIFY;
    s->target_scale = 1;
    s->input_rank = 1;
    s->input_shape[0] = s->n_inputs = n_inputs;
    s->n_outputs = n_classes;
    s->classes = vkt__arena_alloc(&ds->arena, n_classes * sizeof *s->classes);
    for (uint32_t i = 0; i < n_classes; i++) s->classes[i] = vkt__arena_printf(&ds->arena, "%u", i);
    VKT_TRY(
        vkt__data_alloc((uint64_t)n * n_inputs, sizeof(float), "synthetic examples", &p->values));
    VKT_TRY(vkt__data_alloc(n, sizeof(vkt_label), "synthetic labels", &p->labels));
    VKT_TRY(vkt__data_alloc(n, sizeof(uint32_t), "the examples", &ds->index[VKT_TRAIN]));
    VKT_TRY(vkt__data_alloc(TABLE, sizeof(float), "synthetic inputs", &table));
    for (uint32_t i = 0; i < TABLE; i++) table[i] = (float)vkt_rand_normal(seed, VKT_RNG_SAMPLE, i);
    p->n = n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t y = vkt_rand_below(seed, VKT_RNG_SPLIT, i, n_classes);
        uint64_t at = (uint64_t)i * n_inputs,
                 noise = vkt_rand_below(seed, VKT_RNG_SHUFFLE, i, TABLE);
        for (uint32_t k = 0; k < n_inputs; k++)
            p->values[at + k] =
                table[(noise + k) % TABLE] + 0.5f * table[((uint64_t)y * 7919 + k) % TABLE];
        p->labels[i].u = y;
        ds->index[VKT_TRAIN][i] = i;
    }
    ds->info = (vkt_dataset_info) { .task = VKT_CLASSIFY,
                                    .input_rank = 1,
                                    .input_shape = { n_inputs },
                                    .n_inputs = n_inputs,
                                    .n_outputs = n_classes,
                                    .n_targets = 1,
                                    .class_names = s->classes,
                                    .has_labels = true,
                                    .source = "synthetic" };
    ds->info.n[VKT_TRAIN] = n;
    ds->schema_json = "{}";
    free(table);
    *out = ds;
    return VKT_OK;
fail:
    free(table);
    vkt_dataset_destroy(&ds);
    return st;
}
