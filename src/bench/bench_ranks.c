/* How training scales over ranks: the step of a recipe on the first 1, 2, ... of them, sums of many
 * sizes, the line that their times lie on (alpha-beta: Hockney 1994), and what it says of other
 * links and more devices. All ranks make the same calls; rank 0 knows the results. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/commit.h"
#include "gpu/commands.h"
#include "train/steps.h"
#include "train/ranks/trainer_ranks.h"
#include "vktrain/bench.h"

/* ---- a step ---- */

static vkt_status on_done(void *user, const vkt__flight *f)
{
    (void)user, (void)f;
    return VKT_OK;
}

static vkt_status run_steps(vkt__steps *steps, const vkt_config *c, uint64_t *step, uint32_t n)
{
    vkt_status st = VKT_OK;
    for (uint32_t i = 0; i < n; i++, ++*step)
        VKT_TRY(vkt__steps_run(steps, *step, vkt_schedule_lr(&c->schedule, *step)));
    VKT_TRY(vkt__steps_drain(steps));
fail:
    return st;
}

/* Of c->ranks ranks, which this is one of. */
static vkt_status time_steps(vkt_comm *comm, vkt_gpu *gpu, const vkt_config *c,
                             const vkt_dataset *data, uint32_t n, vkt_ranks_point *p)
{
    enum { WARM = 3 };
    vkt_status st = VKT_OK;
    vkt__session *s = NULL;
    vkt_loader *loader = NULL;
    vkt__steps steps;
    uint64_t step = 0;
    VKT_TRY(vkt__session_create(gpu, c, data, true, &s));
    VKT_TRY(vkt_model_init(s->model, c->seed)); /* a function of the seed: the same on all */
    if (comm->size > 1) VKT_TRY(vkt__session_join(s, comm));
    vkt_loader_desc desc = vkt__session_loader(s, data);
    VKT_TRY(vkt_loader_create(&desc, &loader));
    vkt__steps_init(&steps, s, loader, on_done, NULL);
    VKT_TRY(run_steps(&steps, c, &step, WARM));
    VKT_TRY(vkt__comm_barrier(comm));
    vkt__exchange before = s->exchange ? *s->exchange : (vkt__exchange) { 0 };
    double start = vkt__now();
    VKT_TRY(run_steps(&steps, c, &step, n));
    p->ranks = comm->size;
    p->ms = 1e3 * (vkt__now() - start) / n;
    if (s->exchange) {
        p->exchange_ms = 1e3 * (s->exchange->seconds - before.seconds) / n;
        p->hidden_ms = 1e3 * (s->exchange->hidden - before.hidden) / n;
        p->bytes = (s->exchange->sent - before.sent) / n;
        p->n_sums = vkt__exchange_sums(s->exchange);
    }
fail:
    if (s) vkt__gpu_settle(s->gpu);
    vkt_loader_destroy(&loader);
    vkt__session_destroy(&s);
    return st;
}

/* ---- sums ---- */

/* messages: one after the other, that a rank sends and waits for. */
typedef struct sample {
    double seconds, messages, bytes;
} sample;

enum { SIZES = 5 };
static const uint32_t sizes[SIZES] = { 16, 1 << 12, 1 << 15, 1 << 18, 1 << 20 };

static void sum_costs(uint32_t ranks, double floats, double *messages, double *bytes)
{
    *messages = 2.0 * (ranks - 1);
    *bytes = 8.0 * floats * (ranks - 1) / ranks;
}

static vkt_status time_sums(vkt_comm *c, sample *out)
{
    enum { TIMES = 7 };
    vkt_status st = VKT_OK;
    float *data = vkt__alloc(sizes[SIZES - 1] * sizeof *data);
    for (uint32_t k = 0; k < SIZES; k++) {
        double best = INFINITY;
        for (int i = 0; i < TIMES; i++) {
            VKT_TRY(vkt__comm_barrier(c));
            double start = vkt__now();
            VKT_TRY(vkt__comm_sum(c, data, sizes[k]));
            best = VKT_MIN(best, vkt__now() - start);
        }
        out[k].seconds = best;
        sum_costs(c->size, sizes[k], &out[k].messages, &out[k].bytes);
    }
fail:
    free(data);
    return st;
}

/* seconds = alpha messages + beta bytes, with the least squares of relative errors; neither below
 * 0. */
void vkt_ranks_fit(const double *seconds, const double *messages, const double *bytes, size_t n,
                   double *alpha, double *beta, double *error)
{
    double mm = 0, mb = 0, bb = 0, m = 0, b = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double x = messages[i] / seconds[i], y = bytes[i] / seconds[i];
        mm += x * x, mb += x * y, bb += y * y, m += x, b += y;
    }
    double d = mm * bb - mb * mb;
    *alpha = d > 0 ? (m * bb - b * mb) / d : 0;
    *beta = d > 0 ? (b * mm - m * mb) / d : 0;
    if (!(*alpha > 0)) *alpha = 0, *beta = bb > 0 ? b / bb : 0;
    if (!(*beta > 0)) *beta = 0, *alpha = mm > 0 ? m / mm : 0;
    for (size_t i = 0; i < n; i++) {
        double e = (*alpha * messages[i] + *beta * bytes[i]) / seconds[i] - 1;
        squares += e * e;
    }
    *error = n ? sqrt(squares / (double)n) : NAN;
}

/* ---- what follows ---- */

/* The exchange of a step, whose sums are under way at the same time: their messages wait for one
 * another at most on the way, not each for the one before. */
static double exchange_ms(const vkt_ranks_scaling *s, double alpha, double beta, uint32_t ranks)
{
    double messages, bytes, floats = (double)s->gradient_bytes / 4;
    sum_costs(ranks, floats, &messages, &bytes);
    return 1e3 * (alpha * messages + beta * bytes);
}

/* Each rank with the recipe's batch, and nothing of the exchange under the backward pass. */
static double predicted(const vkt_ranks_scaling *s, const vkt_ranks_link *l, uint32_t ranks)
{
    double ms = exchange_ms(s, l->alpha_us * 1e-6, 8e-9 / l->gbit, ranks);
    return s->point[0].ms / (s->point[0].ms + ms);
}

/* A message of Ethernet by TCP, and of a network with its own protocol, takes about so long. */
static void predict(vkt_ranks_scaling *s)
{
    static const vkt_ranks_link links[VKT_RANKS_LINKS] = { { 1, 50 }, { 10, 20 }, { 100, 3 } };
    for (size_t k = 0; k < VKT_RANKS_LINKS; k++) {
        s->link[k] = links[k];
        for (uint32_t i = 0; i < VKT_RANKS_FORECASTS; i++)
            s->link[k].efficiency[i] = predicted(s, &s->link[k], 2u << i);
    }
}

static void fit(vkt_ranks_scaling *s, const sample *samples, size_t n)
{
    double *v = vkt__alloc(3 * (n + 1) * sizeof *v), alpha, beta;
    for (size_t i = 0; i < n; i++) {
        v[i] = samples[i].seconds;
        v[n + i] = samples[i].messages;
        v[2 * n + i] = samples[i].bytes;
    }
    vkt_ranks_fit(v, v + n, v + 2 * n, n, &alpha, &beta, &s->error);
    for (size_t i = 1; i < s->n_points; i++)
        s->point[i].exchange_model_ms = exchange_ms(s, alpha, beta, s->point[i].ranks);
    s->alpha_us = 1e6 * alpha;
    s->gbytes_per_s = beta > 0 ? 1e-9 / beta : NAN;
    free(v);
}

/* ---- running ---- */

static vkt_status measure(vkt_comm *comm, vkt_gpu *gpu, const vkt_config *given,
                          const vkt_dataset *data, const vkt_bench_desc *desc, vkt_ranks_scaling *s)
{
    vkt_status st = VKT_OK;
    uint32_t all = comm->size, n = desc->once ? 2 : desc->quick ? 10 : 40;
    sample *samples = vkt__alloc((size_t)all * SIZES * sizeof *samples);
    for (uint32_t k = 1; k <= all; k++) {
        vkt__comm_first(comm, k);
        vkt_config c = *given;
        c.rank = comm->rank;
        c.ranks = k > 1 ? k : 0;
        c.shares = NULL;
        if (comm->rank < k) {
            VKT_TRY(time_steps(comm, gpu, &c, data, n, &s->point[s->n_points]));
            if (k > 1) VKT_TRY(time_sums(comm, samples + (k - 2) * SIZES));
            s->point[s->n_points].efficiency = s->point[0].ms / k / s->point[s->n_points].ms;
        }
        s->n_points++;
        vkt__comm_first(comm, all);
        VKT_TRY(vkt__comm_barrier(comm));
    }
    s->gradient_bytes = s->point[all - 1].bytes * all / (2 * (all - 1));
    s->n_sums = s->point[all - 1].n_sums;
    fit(s, samples, (size_t)(all - 1) * SIZES);
    predict(s);
fail:
    vkt__comm_first(comm, all);
    free(samples);
    return st;
}

vkt_status vkt_ranks_scaling_run(vkt_comm *comm, const vkt_config *c, const vkt_bench_desc *desc,
                                 vkt_ranks_scaling **out)
{
    vkt_status st = VKT_OK;
    vkt_gpu *gpu = NULL;
    vkt_dataset *data = NULL;
    vkt_gpu_desc open = vkt__config_gpu(c, desc->gpu);
    vkt__trainer as_trained = { .c = c, .desc = &(vkt_train_desc) { .comm = comm } };
    char room[64];
    *out = NULL;
    if (comm->size < 2 || comm->size > VKT_RANKS_MOST)
        return vkt__fail(VKT_E_ARG, "bench",
                         "--scaling ranks is for 2 to %d ranks, and this is %u: start it as mpirun "
                         "-n 2 vktrain bench --scaling ranks",
                         VKT_RANKS_MOST, comm->size);
    if (c->batch < comm->size)
        return vkt__fail(VKT_E_ARG, "bench",
                         "train.batch %u has less than one example for each of %u ranks", c->batch,
                         comm->size);
    vkt_ranks_scaling *s = vkt__alloc(sizeof *s);
    VKT_TRY(vkt__ranks_device(&as_trained, &open, room));
    VKT_TRY(vkt_gpu_create(&open, &gpu));
    VKT_TRY(vkt__comm_tell_device(comm, vkt_gpu_caps(gpu)->name));
    VKT_TRY(vkt_dataset_open(&c->data, &data));
    snprintf(s->device, sizeof s->device, "%s", vkt_gpu_caps(gpu)->name);
    snprintf(s->recipe, sizeof s->recipe, "%s", c->name);
    snprintf(s->library, sizeof s->library, "%s", vkt_comm_library());
    vkt__time_iso(s->date);
    s->commit = VKT_COMMIT;
    s->load = vkt__load_average();
    s->batch = c->batch;
    VKT_TRY(measure(comm, gpu, c, data, desc, s));
    *out = s;
    s = NULL;
fail:
    free(s);
    vkt_dataset_destroy(&data);
    vkt_gpu_destroy(&gpu);
    return st;
}

/* ---- the file ---- */

static json_t *point_json(const vkt_ranks_point *p)
{
    return json_pack("{s:I,s:f,s:f,s:f,s:f,s:f,s:I}", "ranks", (json_int_t)p->ranks, "ms", p->ms,
                     "efficiency", p->efficiency, "exchange_ms", p->exchange_ms,
                     "exchange_model_ms", p->exchange_model_ms, "hidden_ms", p->hidden_ms, "bytes",
                     (json_int_t)p->bytes);
}

vkt_status vkt_ranks_scaling_save_json(const vkt_ranks_scaling *s, const char *path)
{
    json_t *points = json_array(), *links = json_array();
    for (size_t i = 0; i < s->n_points; i++)
        json_array_append_new(points, point_json(&s->point[i]));
    for (size_t k = 0; k < VKT_RANKS_LINKS; k++) {
        json_t *rows = json_array();
        for (uint32_t i = 0; i < VKT_RANKS_FORECASTS; i++)
            json_array_append_new(rows, json_pack("{s:i,s:f}", "ranks", 2 << i, "efficiency",
                                                  s->link[k].efficiency[i]));
        json_array_append_new(links, json_pack("{s:f,s:f,s:o}", "gbit", s->link[k].gbit, "alpha_us",
                                               s->link[k].alpha_us, "predicted", rows));
    }
    json_t *root =
        json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:f,s:f,s:o,s:o}", "vktrain_ranks", 1,
                  "recipe", s->recipe, "device", s->device, "mpi", s->library, "date", s->date,
                  "commit", s->commit, "batch", (json_int_t)s->batch, "gradient_bytes",
                  (json_int_t)s->gradient_bytes, "sums", (json_int_t)s->n_sums, "alpha_us",
                  s->alpha_us, "gbytes_per_s", isfinite(s->gbytes_per_s) ? s->gbytes_per_s : 0,
                  "error", s->error, "points", points, "links", links);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    vkt_status st = text ? vkt__file_replace(path, text, strlen(text))
                         : vkt__fail(VKT_E_OOM_HOST, "bench", "no memory to write '%s'", path);
    free(text);
    json_decref(root);
    return st;
}
