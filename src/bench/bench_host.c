/* What stands around the kernels: reading a table, listing runs, reading a run's history, packing
 * text, planning a deep net, writing a checkpoint; bench_host_models.c has what needs a model. By
 * wall clock, on files that are made for it in a folder of their own. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "base/os.h"
#include "bench/bench_clock.h"
#include "bench/bench_host_models.h"
#include "bench/bench_host_starts.h"
#include "runs/checkpoint.h"
#include "runs/run_folder.h"
#include "tensor/graph/graph.h"
#include "vktrain/data.h"

/* ---- tables ---- */

static vkt_data_desc table_of(const vkt__host_work *w)
{
    return (vkt_data_desc) { .source = "csv",
                             .path = vkt__host_path(w, "t.csv"),
                             .label = "label",
                             .valid_fraction = 0.1,
                             .test_fraction = 0.1,
                             .seed = 1 };
}

static vkt_status open_table(const vkt__host_work *w)
{
    vkt_dataset *ds = NULL;
    vkt_data_desc d = table_of(w);
    vkt_status st = vkt_dataset_open(&d, &ds);
    vkt_dataset_destroy(&ds);
    return st;
}

/* As `vktrain init` does. */
static vkt_status look_at_table(const vkt__host_work *w)
{
    vkt_table_advice *a = NULL;
    vkt_data_desc d = table_of(w);
    vkt_status st = vkt_table_advise(&d, &a);
    vkt_table_advice_destroy(&a);
    return st == VKT_OK ? open_table(w) : st;
}

/* ---- runs ---- */

static vkt_status make_runs(const vkt__host_work *w)
{
    vkt_status st;
    vkt__run *run = NULL;
    char *text = NULL;
    size_t n;
    vkt__run_record rec = vkt__run_record_empty();
    rec.name = "bench";
    rec.status = "done";
    rec.config = "seed: 1\noptim:\n  rule: adam\n  lr: 0.003\n";
    VKT_TRY(vkt__run_open(vkt__host_path(w, "run-0"), "bench", false, &run));
    VKT_TRY(vkt__run_save(run, &rec));
    VKT_TRY(vkt__file_read(vkt__host_path(w, "run-0/run.json"), 1 << 20, &text, &n));
    for (uint32_t i = 1; i < w->n; i++) {
        const char *dir = vkt__arena_printf(w->a, "%s/run-%u", w->dir, i),
                   *path = vkt__arena_printf(w->a, "%s/run.json", dir);
        VKT_TRY(vkt__mkdirs(dir));
        FILE *f = vkt__fopen(path, "wb"); /* not synced, ten thousand times */
        bool ok = f && fwrite(text, 1, n, f) == n;
        if ((f && fclose(f) != 0) || !ok) {
            st = vkt__write_failed("bench", path);
            goto fail;
        }
    }
fail:
    free(text);
    vkt__run_close(&run);
    return st;
}

static vkt_status list_runs(const vkt__host_work *w)
{
    vkt_run_info *list = NULL;
    size_t n = 0;
    vkt_status st = vkt_runs_list(w->dir, &list, &n);
    if (st == VKT_OK && n != w->n)
        st = vkt__fail(VKT_E_FAILED, "bench", "%zu of %u runs are listed", n, w->n);
    vkt_runs_free(&list);
    return st;
}

static vkt_status make_history(const vkt__host_work *w)
{
    FILE *f;
    const char *path = vkt__host_path(w, "metrics.jsonl");
    vkt_status st = vkt__file_create(path, &f);
    if (st != VKT_OK) return st;
    for (uint32_t i = 1; i <= w->n; i++)
        fprintf(f,
                "{\"kind\":\"train\",\"step\":%u,\"loss\":%u.%09u,\"grad_norm\":1.25,\"clip\":1,"
                "\"lr\":0.003,\"input_wait\":0,\"seconds\":%u.5}\n",
                i, i % 7, i, i);
    return vkt__file_finish(path, &f);
}

static vkt_status read_history(const vkt__host_work *w)
{
    vkt_history *h = NULL;
    vkt_status st = vkt_history_load(w->dir, &h);
    if (st == VKT_OK && h->n_steps != w->n)
        st = vkt__fail(VKT_E_FAILED, "bench", "%zu of %u steps are read", h->n_steps, w->n);
    vkt_history_destroy(&h);
    return st;
}

/* ---- text ---- */

static vkt_status pack(const vkt__host_work *w, const char *tokenizer)
{
    const char *path = vkt__host_path(w, "t.txt");
    vkt_pack_desc d = {
        .inputs = &path, .n_inputs = 1, .tokenizer = tokenizer, .out = vkt__host_path(w, "packed")
    };
    vkt_pack_result r;
    vkt_status st = vkt__remove_tree(d.out);
    return st == VKT_OK ? vkt_pack(&d, &r) : st;
}

static vkt_status pack_text(const vkt__host_work *w)
{
    return pack(w, "bytes");
}

static vkt_status make_bpe(const vkt__host_work *w)
{
    vkt_status st;
    vkt_tokenizer *t = NULL;
    char *json = NULL;
    const char *path = vkt__host_path(w, "t.txt");
    vkt__host_work some = *w;
    some.n = VKT_MIN(w->n, 1000000);
    VKT_TRY(vkt__host_text(&some));
    vkt__log_hold(true); /* a small text has no 1000 tokens: so be it */
    st = vkt_tokenizer_train(&path, 1, 1000, &t);
    vkt__log_hold(false);
    VKT_TRY(st);
    json = vkt_tokenizer_json(t);
    VKT_TRY(vkt__file_replace(vkt__host_path(w, "bpe.json"), json, strlen(json)));
    VKT_TRY(vkt__host_text(w));
fail:
    vkt_tokenizer_destroy(&t);
    free(json);
    return st;
}

static vkt_status pack_by_bpe(const vkt__host_work *w)
{
    return pack(w, vkt__host_path(w, "bpe.json"));
}

static vkt_status open_text(const vkt__host_work *w)
{
    vkt_dataset *ds = NULL;
    vkt_data_desc d = { .source = "text",
                        .path = vkt__host_path(w, "t.txt"),
                        .tokenizer = "bytes",
                        .context = 64,
                        .valid_fraction = 0.1,
                        .seed = 1 };
    vkt_status st = vkt_dataset_open(&d, &ds);
    vkt_dataset_destroy(&ds);
    return st;
}

/* ---- a deep net, a large one ---- */

static vkt_status no_files(const vkt__host_work *w)
{
    (void)w;
    return VKT_OK;
}

static vkt_status plan_net(const vkt__host_work *w)
{
    vkt_status st = VKT_OK;
    vkt_model *m = NULL;
    vkt_graph *g = NULL;
    vkt_buffer *x = NULL;
    vkt_buffer_desc in = { 16 * 4, VKT_MEM_DEVICE, "x" };
    vkt_layer *layers = vkt__alloc(w->n * sizeof *layers);
    for (uint32_t i = 0; i < w->n; i++)
        layers[i] = i % 2 ? (vkt_layer) { .type = "relu" }
                          : (vkt_layer) { .type = "linear", .out = i + 1 < w->n ? 16 : 0 };
    vkt_model_desc d = { .layers = layers,
                         .n_layers = w->n,
                         .n_outputs = 2,
                         .input = vkt_shape1(16),
                         .source = "the benchmark's net" };
    VKT_TRY(vkt_model_create(w->b->gpu, &d, &m));
    VKT_TRY(vkt_buffer_create(w->b->gpu, &in, &x));
    g = vkt__graph_new(w->b->gpu);
    vkt_tensor *t = vkt_input(g, vkt_shape2(1, 16), VKT_F32, "x");
    vkt_bind(t, VKT_ALL_SLOTS, x, 0);
    vkt_keep(vkt_model_build(m, g, t, false), "y");
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "deep net" }));
fail:
    vkt_graph_destroy(&g);
    vkt_buffer_destroy(w->b->gpu, &x);
    vkt_model_destroy(&m);
    free(layers);
    return st;
}

static vkt_status save_checkpoint(const vkt__host_work *w)
{
    vkt_status st;
    float *v = NULL;
    uint64_t n = (uint64_t)w->n << 18;
    VKT_TRY(vkt__alloc_large(n, sizeof *v, "a checkpoint", &v));
    memset(v, 0, n * sizeof *v);
    vkt__st_tensor t = { .name = "w", .dtype = "F32", .rank = 1, .shape = { n }, .data = v };
    vkt__checkpoint_desc d = { .run_dir = w->dir,
                               .state = { .step = 1, .value = NAN, .config = "", .schema = "{}" },
                               .model = &t,
                               .n_model = 1 };
    VKT_TRY(vkt__mkdirs(vkt__host_path(w, "checkpoints")));
    VKT_TRY(vkt__checkpoint_write(&d));
fail:
    free(v);
    return st;
}

/* ---- the rows ---- */

static const struct row {
    const char *name, *of;
    uint32_t size[3]; /* with once, quick, else */
    vkt_status (*prepare)(const vkt__host_work *w), (*run)(const vkt__host_work *w);
} rows[] = {
    { "look at and open a table", "rows", { 100, 20000, 500000 }, vkt__host_table, look_at_table },
    { "open a table", "rows", { 100, 20000, 500000 }, vkt__host_table, open_table },
    { "list runs", "runs", { 10, 500, 10000 }, make_runs, list_runs },
    { "read a run's history", "steps", { 100, 20000, 1000000 }, make_history, read_history },
    { "pack text as bytes", "bytes", { 1000, 1000000, 50000000 }, vkt__host_text, pack_text },
    { "pack text by a BPE", "bytes", { 1000, 1000000, 50000000 }, make_bpe, pack_by_bpe },
    { "open text that is not packed",
      "bytes",
      { 1000, 1000000, 50000000 },
      vkt__host_text,
      open_text },
    { "plan a net", "layers", { 9, 501, 5001 }, no_files, plan_net },
    { "write a checkpoint", "MiB", { 1, 8, 256 }, no_files, save_checkpoint },
    { "predict a table",
      "rows",
      { 100, 20000, 500000 },
      vkt__host_make_classifier,
      vkt__host_predict },
    { "answer questions of a task",
      "questions",
      { 4, 40, 400 },
      vkt__host_make_questions,
      vkt__host_answer },
    { "explain a transformer", "blocks", { 2, 12, 100 }, vkt__host_make_recipe, vkt__host_explain },
    { "train a first step", "blocks", { 1, 2, 12 }, vkt__host_make_recipe, vkt__host_start },
    { "train a first step without the cache",
      "blocks",
      { 1, 2, 12 },
      vkt__host_make_recipe,
      vkt__host_start_cold },
    { "load pictures",
      "pictures",
      { 8, 80, 800 },
      vkt__host_make_pictures,
      vkt__host_load_pictures },
    { "answer requests",
      "requests",
      { 100, 400, 10000 },
      vkt__host_make_classifier,
      vkt__host_answer_requests },
};

/* A folder for the files of a row, in the cache's. */
static vkt_status make_folder(vkt__arena *a, const char **out)
{
    char dir[1024];
    if (!vkt__cache_dir(dir, sizeof dir) && !vkt__cache_dir_instead(dir, sizeof dir))
        return vkt__fail(VKT_E_IO, "bench",
                         "there is no folder for the files to be measured: set XDG_CACHE_HOME");
    *out = vkt__arena_printf(a, "%s/bench-%d", dir, vkt__pid());
    vkt_status st = vkt__remove_tree(*out);
    return st == VKT_OK ? vkt__mkdirs(*out) : st;
}

/* For `time_s` at least. */
static vkt_status measure(const vkt__bencher *b, const struct row *r, const vkt__host_work *w,
                          double time_s, vkt__times *out)
{
    enum { MOST = 25 };
    vkt_status st;
    double s[MOST], all = 0;
    uint32_t n = 0, least = b->desc->once ? 1 : b->desc->quick ? 3 : 5;
    time_s *= b->share;
    VKT_TRY(r->prepare(w));
    if (!b->desc->once) VKT_TRY(r->run(w)); /* files in the system's cache, as for the others */
    while (n < MOST && (n < least || all < time_s)) {
        double start = vkt__now();
        VKT_TRY(r->run(w));
        all += s[n++] = vkt__now() - start;
    }
    vkt__bench_stats(s, n, out);
    out->other = NAN;
fail:
    return st;
}

/* In a folder of its own, which is not left behind. */
static vkt_status measure_size(const vkt__bencher *b, const struct row *r, uint32_t n,
                               double time_s, vkt__times *out)
{
    vkt__arena a = { 0 };
    vkt__host_work w = { b, NULL, &a, n };
    vkt_status st = make_folder(&a, &w.dir);
    if (st == VKT_OK) st = measure(b, r, &w, time_s, out);
    if (w.dir) vkt__discard_tree(w.dir);
    vkt__arena_finish(&a);
    return st;
}

/* At a size, and at a quarter of it: what grows faster than its input shows. */
static vkt_status run(vkt__bencher *b, const vkt__bench_item *item)
{
    enum { SMALLER = 4 };
    const struct row *r = &rows[item->arg];
    vkt__arena a = { 0 };
    vkt__times t = { 0 }, fewer = { 0 };
    uint32_t n = r->size[b->desc->once    ? 0
                         : b->desc->quick ? 1
                                          : 2],
             few = n / SMALLER | 1; /* a deep net has an odd number of layers */
    vkt_status st;
    if (few < n) VKT_TRY(measure_size(b, r, few, b->time_s / SMALLER, &fewer));
    VKT_TRY(measure_size(b, r, n, b->time_s, &t));
    vkt_bench_row *row = vkt__bench_row(
        b->out, VKT_BENCH_HOST, vkt__arena_printf(&a, "%s, %u %s", r->name, n, r->of), "ms", false);
    vkt__bench_set(row, &t, 1e3);
    row->items_per_s = n / t.median;
    if (t.median > 0 && fewer.median > 0) {
        row->growth = log(t.median / fewer.median) / log((double)n / few);
        vkt__bench_note(b->out, row, "compared with %u %s", few, r->of);
    }
fail:
    vkt__arena_finish(&a);
    return st;
}

void vkt__bench_plan_host(vkt__bencher *b, vkt__bench_items *list)
{
    for (uint32_t i = 0; i < VKT_COUNT(rows); i++)
        vkt__bench_plan(list, VKT_BENCH_HOST, rows[i].name, b->desc->quick ? 0.5 : 6, run, i, 0);
}
