/* Rows of `bench --host` that need a model: predicting a table, answering questions, planning a
 * training, begun at its recipe. Each opens its device, as the commands do. */
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_host_models.h"
#include "vktrain/recipe.h"
#include "vktrain/train.h"

static vkt_gpu_desc device_of(const vkt__host_work *w)
{
    return w->b->desc->gpu ? *w->b->desc->gpu : (vkt_gpu_desc) { 0 };
}

/* Trains, or explains, without a word; cold: without the cache of kernels. */
static vkt_status train(const vkt__host_work *w, const char *recipe, bool explain, bool cold)
{
    vkt_status st;
    vkt_config *c = NULL;
    char *plan = NULL;
    const char *path = vkt__host_path(w, "bench.yaml");
    vkt_train_result r;
    vkt_train_desc d = { .run_dir = vkt__host_path(w, "run"),
                         .gpu = device_of(w),
                         .explain = explain,
                         .explain_text = &plan,
                         .no_baseline = true };
    d.gpu.no_cache |= cold;
    vkt__log_hold(true);
    VKT_TRY(vkt__remove_tree(d.run_dir));
    VKT_TRY(vkt__file_replace(path, recipe, strlen(recipe)));
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_load(c, path));
    VKT_TRY(vkt_config_finish(c));
    VKT_TRY(vkt_train(c, &d, &r));
fail:
    vkt__log_hold(false);
    if (st != VKT_OK) st = vkt__fail(st, "bench", "%s", vkt__last_failure());
    vkt_free(plan);
    vkt_config_destroy(&c);
    return st;
}

/* ---- a table ---- */

vkt_status vkt__host_make_classifier(const vkt__host_work *w)
{
    vkt__host_work few = *w;
    vkt_status st;
    few.n = VKT_MIN(w->n, 2000);
    VKT_TRY(vkt__host_table(&few));
    VKT_TRY(train(w,
                  vkt__arena_printf(
                      w->a,
                      "name: bench\ndata: {source: csv, path: '%s', label: label, valid_fraction: "
                      "0.1}\nmodel: [linear: 64, relu, linear]\ntrain: {steps: 1, batch: 8}\n",
                      vkt__host_path(w, "t.csv")),
                  false, false));
    VKT_TRY(vkt__host_table(w));
fail:
    return st;
}

static void count_one(void *user, const vkt_prediction *p)
{
    (void)p;
    ++*(uint32_t *)user;
}

vkt_status vkt__host_predict(const vkt__host_work *w)
{
    uint32_t n = 0;
    const char *input = vkt__host_path(w, "t.csv");
    vkt__log_hold(true);
    vkt_status st = vkt_predict(&(vkt_predict_desc) { .gpu = device_of(w),
                                                      .checkpoint = vkt__host_path(w, "run"),
                                                      .inputs = &input,
                                                      .n_inputs = 1,
                                                      .fn = count_one,
                                                      .user = &n });
    vkt__log_hold(false);
    if (st != VKT_OK) return vkt__fail(st, "bench", "%s", vkt__last_failure());
    if (n == w->n) return VKT_OK;
    return vkt__fail(VKT_E_FAILED, "bench", "%u of %u rows are predicted", n, w->n);
}

/* ---- questions ---- */

vkt_status vkt__host_make_questions(const vkt__host_work *w)
{
    vkt__host_work text = *w;
    vkt_status st;
    FILE *f = NULL;
    const char *path = vkt__host_path(w, "questions.jsonl");
    text.n = 20000;
    VKT_TRY(vkt__host_text(&text));
    VKT_TRY(train(w,
                  vkt__arena_printf(
                      w->a,
                      "name: bench\ndata: {source: text, path: '%s', context: 64, valid_fraction: "
                      "0.1}\nmodel: [transformer: {layers: 2, heads: 4, width: 64}]\ntrain: "
                      "{steps: 1, batch: 4}\neval: {sample: 16}\nsamples: {count: 0}\n",
                      vkt__host_path(w, "t.txt")),
                  false, false));
    VKT_TRY(vkt__file_create(path, &f));
    for (uint32_t i = 0; i < w->n; i++)
        fprintf(f,
                "{\"query\": \"the %u quick brown foxes jump over the lazy\", \"choices\": "
                "[\"dogs\", \"river %u\", \"foxes\", \"moon and the stars\"], \"gold\": %u}\n",
                i * 7919 % 100003, i, i % 4);
    st = vkt__file_finish(path, &f);
fail:
    return st;
}

vkt_status vkt__host_answer(const vkt__host_work *w)
{
    vkt_tasks_result r = { 0 };
    vkt_text_desc d = { .gpu = device_of(w), .checkpoint = vkt__host_path(w, "run") };
    vkt__log_hold(true);
    vkt_status st = vkt_eval_tasks(&d, vkt__host_path(w, "questions.jsonl"), &r);
    vkt__log_hold(false);
    uint64_t n = st == VKT_OK && r.n ? r.group[0].n_choices : 0;
    vkt_tasks_result_finish(&r);
    if (st != VKT_OK) return vkt__fail(st, "bench", "%s", vkt__last_failure());
    if (n == w->n) return VKT_OK;
    return vkt__fail(VKT_E_FAILED, "bench", "%llu of %u questions are answered",
                     (unsigned long long)n, w->n);
}

/* ---- the way to a plan ---- */

vkt_status vkt__host_make_recipe(const vkt__host_work *w)
{
    vkt__host_work text = *w;
    text.n = 20000;
    return vkt__host_text(&text);
}

static vkt_status begin(const vkt__host_work *w, bool explain, bool cold)
{
    return train(w,
                 vkt__arena_printf(
                     w->a,
                     "name: bench\ndata: {source: text, path: '%s', context: 64, valid_fraction: "
                     "0.1}\nmodel: [transformer: {layers: %u, heads: 2, width: 32}]\ntrain: "
                     "{steps: 1, batch: 4}\neval: {sample: 16}\nsamples: {count: 0}\n",
                     vkt__host_path(w, "t.txt"), w->n),
                 explain, cold);
}

vkt_status vkt__host_explain(const vkt__host_work *w)
{
    return begin(w, true, false);
}

vkt_status vkt__host_start(const vkt__host_work *w)
{
    return begin(w, false, false);
}

vkt_status vkt__host_start_cold(const vkt__host_work *w)
{
    return begin(w, false, true);
}
