/* A made-up classification set for benchmarks and tests: normal inputs around one mean per class,
 * so that it can be learned; a function of (seed, example, input). And made-up text. */
#include "data/boxes/cells.h"
#include "data/parts/parts.h"
#include "data/pictures/dense.h"
#include "data/synthetic.h"
#include "data/text/corpus.h"
#include "data/text/shard.h"

vkt_status vkt__dataset_synthetic(uint32_t n, const uint32_t *shape, uint32_t rank,
                                  uint32_t n_classes, uint64_t seed, vkt_dataset **out)
{
    vkt_status st;
    uint32_t n_inputs = 1;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    vkt__schema *s = &ds->schema;
    vkt__part *p = &ds->part[0];
    float *table = NULL;
    enum { TABLE = 65521 }; /* prime: examples do not repeat each other */
    s->kind = VKT_DATA_KIND_TABLE;
    s->task = VKT_TASK_CLASSIFY;
    for (uint32_t i = 0; i < rank; i++) n_inputs *= shape[i];
    s->input_rank = rank;
    memcpy(s->input_shape, shape, rank * sizeof *shape);
    s->n_inputs = n_inputs;
    s->n_outputs = n_classes;
    s->classes = vkt__arena_alloc(&ds->arena, n_classes * sizeof *s->classes);
    for (uint32_t i = 0; i < n_classes; i++) s->classes[i] = vkt__arena_printf(&ds->arena, "%u", i);
    VKT_TRY(
        vkt__alloc_large((uint64_t)n * n_inputs, sizeof(float), "synthetic examples", &p->values));
    VKT_TRY(vkt__alloc_large(n, sizeof(vkt_label), "synthetic labels", &p->labels));
    VKT_TRY(vkt__alloc_large(n, sizeof(uint32_t), "the examples", &ds->index[VKT_SPLIT_TRAIN]));
    VKT_TRY(vkt__alloc_large(TABLE, sizeof(float), "synthetic inputs", &table));
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
        ds->index[VKT_SPLIT_TRAIN][i] = i;
    }
    ds->info = (vkt_dataset_info) { .kind = VKT_DATA_KIND_TABLE,
                                    .task = VKT_TASK_CLASSIFY,
                                    .input_rank = rank,
                                    .n_inputs = n_inputs,
                                    .n_outputs = n_classes,
                                    .n_targets = 1,
                                    .n_labels = 1,
                                    .class_names = s->classes,
                                    .has_labels = true,
                                    .source = "synthetic" };
    memcpy(ds->info.input_shape, shape, rank * sizeof *shape);
    ds->info.n[VKT_SPLIT_TRAIN] = n;
    ds->schema_json = "{}";
    free(table);
    *out = ds;
    return VKT_OK;
fail:
    free(table);
    vkt_dataset_destroy(&ds);
    return st;
}

/* Of half to all `tokens` ids below n_vocab; one in eight of a sentence's tells its class. */
vkt_status vkt__dataset_synthetic_sentences(uint32_t n, uint32_t tokens, uint32_t n_vocab,
                                            uint32_t n_classes, uint64_t seed, vkt_dataset **out)
{
    vkt_status st;
    VKT_TRY(vkt__dataset_synthetic(n, &tokens, 1, n_classes, seed, out));
    vkt__part *p = &(*out)->part[0];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)i * tokens;
        uint32_t length = tokens - vkt_rand_below(seed, VKT_RNG_SPLIT, n + i, tokens / 2 + 1);
        for (uint32_t k = 0; k < tokens; k++) {
            uint32_t id = k % 8 ? vkt_rand_below(seed, VKT_RNG_SAMPLE, at + k, n_vocab)
                                : p->labels[i].u % n_vocab;
            p->values[at + k] = k < length ? (float)id : -1;
        }
    }
    (*out)->info.n_plain = 0;
    (*out)->info.embed_rows = n_vocab;
fail:
    return st;
}

/* Its picture's class in the middle, 0 around it. */
static vkt_status make_masks(vkt__part *p, uint32_t side)
{
    vkt_status st;
    vkt_label *of = p->labels;
    p->labels = NULL;
    uint64_t each = (uint64_t)side * side;
    VKT_TRY(vkt__alloc_large(p->n * each, sizeof *p->labels, "synthetic masks", &p->labels));
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < each; k++) {
            uint32_t x = k % side, y = k / side;
            bool middle = x > side / 4 && x < 3 * side / 4 && y > side / 4 && y < 3 * side / 4;
            p->labels[i * each + k].u = middle ? of[i].u : 0;
        }
fail:
    free(of);
    return st;
}

/* One of its picture's class, large, and one of the next class, small. */
static vkt_status make_objects(vkt__part *p, uint32_t side, uint32_t n_classes)
{
    vkt_status st;
    VKT_TRY(vkt__objects_create(p->n, 2ull * p->n, &p->objects));
    vkt__objects *o = p->objects;
    p->size = (const uint32_t(*)[2])o->size;
    o->most = 2;
    for (uint32_t i = 0; i < p->n; i++) {
        double s = side;
        o->first[i] = 2ull * i;
        o->size[i][0] = o->size[i][1] = side;
        o->item[2 * i] = (vkt__object) { { s / 8, s / 8, 5 * s / 8, s / 2 }, p->labels[i].u };
        o->item[2 * i + 1] = (vkt__object) { { 3 * s / 4, 3 * s / 4, 7 * s / 8, 7 * s / 8 },
                                             (p->labels[i].u + 1) % n_classes };
    }
    o->first[p->n] = 2ull * p->n;
    free(p->labels);
    p->labels = NULL;
fail:
    return st;
}

vkt_status vkt__dataset_synthetic_dense(uint32_t n, uint32_t side, vkt_task task,
                                        uint32_t n_classes, uint64_t seed, vkt_dataset **out)
{
    vkt_status st;
    vkt_dataset *ds = NULL;
    const uint32_t shape[] = { side, side, 3 };
    bool masks = task == VKT_TASK_SEGMENT;
    VKT_TRY(vkt__dataset_synthetic(n, shape, VKT_COUNT(shape), n_classes, seed, &ds));
    vkt__schema *s = &ds->schema;
    s->kind = ds->info.kind = VKT_DATA_KIND_PICTURES;
    s->task = ds->info.task = task;
    s->output_shape[0] = masks ? side : vkt__cells(side, side);
    s->output_shape[1] = masks ? side : VKT__CELL_TARGETS;
    s->output_shape[2] = 1;
    memcpy(ds->info.output_shape, s->output_shape, sizeof s->output_shape);
    ds->info.n_labels = vkt__n_labels(s);
    if (masks) ds->info.n_targets = ds->info.n_labels;
    vkt__dense_open(ds);
    st = masks ? make_masks(&ds->part[0], side) : make_objects(&ds->part[0], side, n_classes);
fail:
    if (st != VKT_OK) vkt_dataset_destroy(&ds);
    *out = ds;
    return st;
}

/* A step of up to 3 after seven times the token before: four tokens are likely everywhere. */
vkt_status vkt__dataset_synthetic_text(uint32_t n, uint32_t context, uint32_t n_vocab,
                                       uint64_t seed, vkt_dataset **out)
{
    vkt_status st;
    *out = NULL;
    vkt_dataset *ds = vkt__alloc(sizeof *ds);
    vkt__corpus *c = ds->corpus = vkt__alloc(sizeof *c);
    static const uint64_t begin[] = { 0 };
    uint64_t n_tokens = (uint64_t)n * context + 1;
    vkt_tokens *t = &c->store.tokens;
    VKT_TRY(vkt__alloc_large(n_tokens, sizeof *t->id, "synthetic tokens", &t->id));
    t->n = t->cap = n_tokens;
    t->id[0] = 0;
    for (uint64_t i = 1; i < n_tokens; i++)
        t->id[i] = (uint32_t)((t->id[i - 1] * 7ull + vkt_rand_below(seed, VKT_RNG_SAMPLE, i, 4)) %
                              n_vocab);
    c->context = context;
    c->shard = vkt__alloc(sizeof *c->shard);
    c->n_shards = 1;
    c->shard[0] = (vkt__shard) {
        .tokens = t->id, .width = 4, .n = n_tokens, .document = begin, .n_documents = 1
    };
    VKT_TRY(vkt__alloc_large(1, sizeof(vkt__span), "synthetic tokens",
                             &c->dealt.span[VKT_SPLIT_TRAIN]));
    c->dealt.span[VKT_SPLIT_TRAIN][0] = (vkt__span) { .n = n_tokens };
    c->dealt.n_spans[VKT_SPLIT_TRAIN] = 1;
    c->dealt.n_tokens[VKT_SPLIT_TRAIN] = n_tokens;
    ds->schema.kind = VKT_DATA_KIND_TEXT;
    ds->schema.task = VKT_TASK_CLASSIFY;
    ds->schema.context = context;
    ds->schema.input_rank = 1;
    ds->schema.input_shape[0] = ds->schema.n_inputs = context;
    ds->schema.n_outputs = ds->schema.vocab = n_vocab;
    ds->info = (vkt_dataset_info) { .kind = VKT_DATA_KIND_TEXT,
                                    .task = VKT_TASK_CLASSIFY,
                                    .input_rank = 1,
                                    .input_shape = { context },
                                    .n_inputs = context,
                                    .n_outputs = n_vocab,
                                    .n_targets = context,
                                    .context = context,
                                    .has_labels = true,
                                    .source = "synthetic text" };
    ds->info.n[VKT_SPLIT_TRAIN] = n - 1; /* training windows leave one to shift in */
    ds->info.n_tokens[VKT_SPLIT_TRAIN] = n_tokens;
    ds->schema_json = "{}";
    *out = ds;
    return VKT_OK;
fail:
    vkt_dataset_destroy(&ds);
    return st;
}
