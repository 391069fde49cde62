/* Generation: the time of a token that is computed from the caches of keys and values, and of the
 * text before it at once, which every token would cost without them. Random weights, as time does
 * not depend on them. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "nn/transformer.h"
#include "bench/bench_clock.h"
#include "bench/bench_rows.h"
#include "train/one_core.h"
#include "tensor/graph/graph.h"

enum { MOST_BEFORE = 512 };

static const struct workload {
    const char *name;
    uint32_t vocab, layers, heads, width;
    uint32_t before; /* tokens in the cache */
    int level;       /* 0: for tests; 2: not with --quick */
} workloads[] = {
    { "GPT of one layer generating", 17, 1, 1, 16, 32, 0 },
    { "GPT 0.8M generating", 65, 4, 4, 128, 512, 1 },
    { "GPT 10.8M generating", 65, 6, 6, 384, 512, 1 },
    { "GPT-2 124M generating", 50257, 12, 12, 768, 512, 2 },
};

typedef struct talker {
    vkt_gpu *serial; /* where one core is faster, its own device, or NULL */
    vkt_model *model;
    vkt_generator *generator;
    vkt_graph *whole;
    vkt_buffer *tokens;
    vkt_tensor *logits;
} talker;

static void talker_finish(vkt__bencher *b, talker *t)
{
    vkt_graph_destroy(&t->whole);
    vkt_buffer_destroy(t->serial ? t->serial : b->gpu, &t->tokens);
    vkt_generator_destroy(&t->generator);
    vkt_model_destroy(&t->model);
    vkt_gpu_destroy(&t->serial);
}

static vkt_status model_create(vkt_gpu *gpu, const struct workload *w, talker *t)
{
    vkt_status st = VKT_OK;
    vkt_layer layer = { .type = "transformer",
                        .transformer = { .layers = w->layers,
                                         .heads = w->heads,
                                         .width = w->width,
                                         .context = 2 * w->before } };
    vkt_model_desc desc = { .layers = &layer,
                            .n_layers = 1,
                            .input = vkt_shape1(w->before),
                            .n_outputs = w->vocab,
                            .source = "the benchmark's model" };
    VKT_TRY(vkt_model_create(gpu, &desc, &t->model));
    VKT_TRY(vkt_model_init(t->model, 1));
    VKT_TRY(vkt_generator_create(t->model, 0, VKT_F32, &t->generator));
fail:
    return st;
}

/* All tokens before the one that is timed, at once. */
static vkt_status whole_create(vkt_gpu *gpu, const struct workload *w, const uint32_t *tokens,
                               talker *t)
{
    vkt_status st = VKT_OK;
    vkt_buffer_desc desc = { w->before * 4ull, VKT_MEM_DEVICE, "tokens" };
    VKT_TRY(vkt_buffer_create(gpu, &desc, &t->tokens));
    VKT_TRY(vkt_buffer_write(gpu, t->tokens, 0, tokens, desc.bytes));
    t->whole = vkt__graph_new(gpu);
    vkt_tensor *x = vkt_input(t->whole, vkt_shape2(1, w->before), VKT_U32, "tokens");
    vkt_bind(x, VKT_ALL_SLOTS, t->tokens, 0);
    t->logits = vkt_model_build(t->model, t->whole, x, false);
    vkt_keep(t->logits, "logits");
    VKT_TRY(vkt_graph_compile(t->whole, &(vkt_plan_desc) { .label = "whole text" }));
fail:
    return st;
}

/* The largest difference between the two ways' scores after all tokens, in root mean squares. */
static vkt_status difference(const struct workload *w, const talker *t, const float *scores,
                             double *most)
{
    vkt_status st = VKT_OK;
    uint64_t count = (uint64_t)w->before * w->vocab;
    float *all = vkt__alloc(count * sizeof *all);
    const float *want = all + count - w->vocab;
    double squares = 0;
    *most = 0;
    VKT_TRY(vkt_tensor_read(t->logits, 0, all, count * sizeof *all));
    for (uint32_t i = 0; i < w->vocab; i++) {
        squares += (double)want[i] * (double)want[i];
        double d = fabs((double)scores[i] - (double)want[i]);
        if (!(d <= *most)) *most = d;
    }
    *most /= sqrt(squares / w->vocab);
fail:
    free(all);
    return st;
}

static double seconds_of(const vkt__bencher *b)
{
    return b->desc->once ? 0 : b->desc->quick ? b->share : 3.0;
}

static void add_row(vkt__bencher *b, const char *name, uint32_t tokens, double *s, uint32_t n,
                    const char *note, double wrong)
{
    vkt__times t;
    vkt__bench_stats(s, n, &t);
    vkt_bench_row *row = vkt__bench_row(b->out, VKT_BENCH_STEPS, name, "ms", false);
    vkt__bench_set(row, &t, 1e3);
    row->items_per_s = tokens / t.median;
    vkt__bench_note(b->out, row, "%s", note);
    if (!(wrong < 1e-3))
        vkt__bench_refuse(b, row, true, "wrong result: scores differ by %.2g of their size", wrong);
}

static vkt_status time_whole(vkt__bencher *b, const struct workload *w, const talker *t,
                             double wrong)
{
    enum { MOST = 9 };
    vkt_status st = VKT_OK;
    double s[MOST];
    uint32_t n = 0;
    char name[96];
    for (double end = vkt__now() + seconds_of(b); n < MOST && (!n || vkt__now() < end); n++) {
        double start = vkt__now();
        VKT_TRY(vkt_graph_run(t->whole));
        s[n] = vkt__now() - start;
    }
    snprintf(name, sizeof name, "%s, all %u anew", w->name, w->before);
    add_row(b, name, w->before, s, n, "without gradients, the scores of all", wrong);
fail:
    return st;
}

static vkt_status time_tokens(vkt__bencher *b, const struct workload *w, const talker *t,
                              const uint32_t *tokens, double wrong)
{
    enum { MOST = 400 };
    vkt_status st = VKT_OK;
    double s[MOST];
    uint32_t n = 0, least = b->desc->once ? 1 : 8;
    const float *scores;
    char name[96];
    VKT_TRY(vkt_generator_feed(t->generator, tokens, w->before, &scores));
    for (double end = vkt__now() + seconds_of(b);
         vkt_generator_left(t->generator) && n < MOST && (n < least || vkt__now() < end); n++) {
        double start = vkt__now();
        VKT_TRY(vkt_generator_feed(t->generator, tokens, 1, &scores));
        s[n] = vkt__now() - start;
    }
    snprintf(name, sizeof name, "%s, a token after %u", w->name, w->before);
    add_row(b, name, 1, s, n, t->serial ? "from the cache, one core" : "from the cache", wrong);
fail:
    return st;
}

/* The generator alone, on the device without a CPU driver's threads. */
static vkt_status reopen(vkt__bencher *b, const struct workload *w, talker *t)
{
    vkt_status st = VKT_OK;
    bool wanted = false;
    if (b->desc->gpu)
        VKT_TRY(vkt__one_core_wanted(b->gpu, vkt__generator_graph(t->generator),
                                     vkt__generator_scores(t->generator), "token", VKT_LOG_INFO,
                                     &wanted));
    vkt_generator_reset(t->generator);
    if (!wanted) return VKT_OK;
    talker_finish(b, t);
    *t = (talker) { 0 };
    VKT_TRY(vkt__one_core_open(b->desc->gpu, b->caps->submit_ms, &t->serial));
    VKT_TRY(model_create(t->serial, w, t));
fail:
    return st;
}

/* arg: the workload. */
static vkt_status run(vkt__bencher *b, const vkt__bench_item *item)
{
    const struct workload *w = &workloads[item->arg];
    vkt_status st = VKT_OK;
    talker t = { 0 };
    uint32_t tokens[MOST_BEFORE];
    const float *scores;
    double wrong;
    for (uint32_t i = 0; i < w->before; i++) tokens[i] = i % w->vocab;
    VKT_TRY(model_create(b->gpu, w, &t));
    VKT_TRY(whole_create(b->gpu, w, tokens, &t));
    VKT_TRY(vkt_graph_run(t.whole));
    VKT_TRY(vkt_generator_feed(t.generator, tokens, w->before, &scores));
    VKT_TRY(difference(w, &t, scores, &wrong));
    VKT_TRY(time_whole(b, w, &t, wrong));
    VKT_TRY(reopen(b, w, &t));
    VKT_TRY(time_tokens(b, w, &t, tokens, wrong));
fail:
    talker_finish(b, &t);
    return st;
}

const char *vkt__bench_generate_name(uint32_t i)
{
    uint32_t at = 0;
    while (at < VKT_COUNT(workloads) && (workloads[at].level == 0 || i--)) at++;
    return at < VKT_COUNT(workloads) ? workloads[at].name : NULL;
}

/* Seconds of the passes over all tokens that a row needs at least, at what steps are thought to
 * reach on a CPU driver. */
static double passes_s(const vkt__bencher *b, const struct workload *w)
{
    enum { PASSES = 4 };
    if (b->caps->klass != VKT_GPU_CLASS_CPU || !(b->minute_s > 0)) return 0;
    return PASSES * 2e-9 / 5 * 12 * w->layers * w->width * w->width * w->before;
}

void vkt__bench_plan_generate(vkt__bencher *b, vkt__bench_items *list)
{
    for (uint32_t i = 0; i < VKT_COUNT(workloads); i++) {
        const struct workload *w = &workloads[i];
        bool exact = b->desc->row || b->suite;
        if (!exact && (b->desc->once ? w->level > 0 : w->level == 0)) continue;
        if (!vkt__bench_is_named(b, w->name)) continue;
        if (b->desc->quick && !exact && w->level > 1)
            vkt__bench_left_out(b->out, "%s: not with --quick", w->name);
        else
            vkt__bench_plan(list, VKT_BENCH_STEPS, w->name,
                            (b->desc->quick ? 2.5 : 6.5) + passes_s(b, w), run, i, 0);
    }
}
