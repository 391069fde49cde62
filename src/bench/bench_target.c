/* bench_target.h */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_clock.h"
#include "bench/bench_rows.h"
#include "bench/bench_runner.h"
#include "bench/bench_target.h"
#include "train/evaluate.h"

enum { MOST_RUNS = 5 };

/* Built-in recipes without a change, each from its first step on, evaluations included, until the
 * validation set's measure is there. A name and what is behind it never change: another target is
 * another row. */
static const struct target {
    const char *name, *recipe;
    bool nats;      /* of the loss, which falls; else of the accuracy, which rises */
    double least;   /* where it is reached */
    uint32_t every; /* steps between evaluations */
    uint32_t runs, quick;
    bool seeds;     /* each run has another: 1, 2, ...; else all have the recipe's */
    bool long_runs; /* seconds on a GPU, minutes on a CPU driver, which does it where it is named */
} targets[] = {
    { "digits recipe to 97% valid accuracy", "digits", false, 0.97, 20, 5, 3, false, false },
    { "fashion-cnn recipe to 91% valid accuracy, three seeds", "fashion-cnn", false, 0.91, 211, 3,
      0, true, true },
    { "char-gpt recipe to 1.5 nats a character, three seeds", "char-gpt", true, 1.5, 250, 3, 0,
      true, true },
};

/* One training; *seconds is NAN when the recipe ends before the target. */
static vkt_status train_to_target(vkt__bencher *b, const struct target *t, const vkt_config *c,
                                  const vkt_dataset *data, double *seconds, uint64_t *steps,
                                  double *reached)
{
    vkt_status st = VKT_OK;
    vkt__bench_runner r = { .b = b, .c = c };
    vkt__eval_sums e = { 0 };
    uint64_t total = vkt_schedule_total(&c->schedule);
    *seconds = *reached = NAN;
    VKT_TRY(vkt__bench_runner_start(&r, data));
    double start = vkt__now();
    while (r.step < total) {
        VKT_TRY(vkt__bench_runner_step(&r));
        if (r.step % t->every && r.step != total) continue;
        VKT_TRY(vkt__steps_drain(&r.steps));
        VKT_TRY(vkt__evaluate(r.s, NULL, VKT_SPLIT_VALID, 0, &e, NULL, NULL));
        *reached = (t->nats ? e.loss : (double)e.correct) / (double)e.n;
        vkt__eval_sums_finish(&e);
        if (t->nats ? *reached <= t->least : *reached >= t->least) {
            *seconds = vkt__now() - start;
            break;
        }
        if (b->desc->once || (b->desc->stops && b->desc->stops(b->desc->user))) break;
    }
    *steps = r.step;
fail:
    vkt__bench_runner_finish(&r);
    return st;
}

static void note(vkt__bencher *b, vkt_bench_row *row, const struct target *t, uint32_t n,
                 const uint64_t *steps)
{
    uint64_t least = steps[0], most = steps[0];
    for (uint32_t i = 1; i < n; i++) {
        least = VKT_MIN(least, steps[i]);
        most = VKT_MAX(most, steps[i]);
    }
    if (least == most)
        vkt__bench_note(b->out, row, "%llu steps of the recipe, evaluated every %u",
                        (unsigned long long)least, t->every);
    else
        vkt__bench_note(b->out, row, "%llu to %llu steps of the recipe, evaluated every %u",
                        (unsigned long long)least, (unsigned long long)most, t->every);
}

/* arg: the target. */
static vkt_status run_target(vkt__bencher *b, const vkt__bench_item *item)
{
    const struct target *t = &targets[item->arg];
    vkt_status st = VKT_OK;
    vkt_config *c = NULL;
    vkt_dataset *data = NULL;
    double s[MOST_RUNS], reached = NAN;
    uint64_t steps[MOST_RUNS] = { 0 };
    uint32_t n = 0, runs = b->desc->once ? 1 : b->desc->quick ? t->quick : t->runs;
    if (b->share < 0.5) runs = 1;
    vkt__times times;
    VKT_TRY(vkt_config_create(&c));
    VKT_TRY(vkt_config_load(c, t->recipe));
    VKT_TRY(vkt_config_finish(c));
    if (c->data.path && !vkt__is_dir(c->data.path)) {
        vkt__bench_left_out(b->out, "%s: there is no %s (Debian's dataset-fashion-mnist)", t->name,
                            c->data.path);
        goto fail;
    }
    VKT_TRY(vkt_dataset_open(&c->data, &data));
    for (; n < runs; n++) {
        if (t->seeds) c->seed = n + 1;
        VKT_TRY(train_to_target(b, t, c, data, &s[n], &steps[n], &reached));
        if (isnan(s[n])) break;
    }
    if (n < runs && b->desc->stops && b->desc->stops(b->desc->user)) goto fail; /* no result */
    vkt_bench_row *row = vkt__bench_row(b->out, VKT_BENCH_TARGET, item->name, "s", false);
    if (n < runs && t->nats) {
        vkt__bench_refuse(b, row, !b->desc->once, "valid loss is %.3f nats after %llu steps",
                          reached, (unsigned long long)steps[n]);
    } else if (n < runs) {
        vkt__bench_refuse(b, row, !b->desc->once, "valid accuracy is %.1f%% after %llu steps",
                          100 * reached, (unsigned long long)steps[n]);
    } else {
        vkt__bench_stats(s, n, &times);
        vkt__bench_set(row, &times, 1);
        note(b, row, t, n, steps);
    }
fail:
    vkt_dataset_destroy(&data);
    vkt_config_destroy(&c);
    return st;
}

const char *vkt__bench_target_name(uint32_t i)
{
    return i < VKT_COUNT(targets) ? targets[i].name : NULL;
}

void vkt__bench_plan_targets(vkt__bencher *b, vkt__bench_items *list)
{
    for (uint32_t i = 0; i < VKT_COUNT(targets); i++) {
        const struct target *t = &targets[i];
        if (!vkt__bench_is_named(b, t->name)) continue;
        if (t->long_runs) {
            if (b->desc->once) continue;
            if (b->desc->quick) {
                vkt__bench_left_out(b->out, "%s: not with --quick", t->name);
                continue;
            }
            if (b->caps->klass == VKT_GPU_CLASS_CPU && !b->desc->step && !b->desc->row) {
                vkt__bench_left_out(b->out, "%s: minutes on a CPU driver; --step names it",
                                    t->name);
                continue;
            }
        }
        vkt__bench_plan(list, VKT_BENCH_TARGET, t->name,
                        !t->long_runs                         ? b->desc->quick ? 2 : 3
                        : b->caps->klass == VKT_GPU_CLASS_CPU ? 900
                                                              : 60,
                        run_target, i, 0);
    }
}
