/* importance.h */
#include <math.h>

#include "base/os.h"
#include "data/inputs.h"
#include "data/permute.h"
#include "train/importance.h"
#include "train/measures/classes.h"

enum { FEWEST_ROWS = 20 };

typedef struct scores {
    double loss, score;
} scores;

/* This rank's alone, as each example is asked for. */
static void pass_by(void *user, uint64_t index, const float *out, const vkt_label *y,
                    const double *number)
{
    (void)user, (void)index, (void)out, (void)y, (void)number;
}

static vkt_status evaluate(vkt__session *s, const vkt_dataset *data, const char *score, scores *out)
{
    vkt__eval_sums sums;
    vkt_status st = vkt__evaluate(s, data, VKT_SPLIT_TEST, 0, &sums, pass_by, NULL);
    if (st != VKT_OK) return st;
    *out = (scores) { vkt__eval_metric(&sums, "loss"), vkt__eval_metric(&sums, score) };
    vkt__eval_sums_finish(&sums);
    return VKT_OK;
}

static double mean_of(const double *v, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += v[i];
    return sum / n;
}

static double deviation_of(const double *v, uint32_t n)
{
    double mean = mean_of(v, n), sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (v[i] - mean) * (v[i] - mean);
    return sqrt(sum / n);
}

/* rise, fall: [m->shuffles], room for what is measured. */
static vkt_status measure_column(vkt__session *s, vkt_dataset *taken, const vkt__importance *m,
                                 uint32_t i, scores whole, double *rise, double *fall,
                                 vkt_eval_column *out)
{
    vkt_status st = VKT_OK;
    for (uint32_t k = 0; k < m->shuffles; k++) {
        scores now;
        uint64_t which = (uint64_t)i * m->shuffles + k + 1;
        vkt__permute_column(taken, i, s->config->seed + which * 0x9e3779b97f4a7c15u);
        VKT_TRY(evaluate(s, taken, m->score, &now));
        rise[k] = now.loss - whole.loss;
        fall[k] = whole.score - now.score;
    }
    *out =
        (vkt_eval_column) { out->name, mean_of(rise, m->shuffles), deviation_of(rise, m->shuffles),
                            mean_of(fall, m->shuffles), deviation_of(fall, m->shuffles) };
fail:
    return st;
}

static int by_rise(const void *a, const void *b)
{
    double x = ((const vkt_eval_column *)a)->loss_rise, y = ((const vkt_eval_column *)b)->loss_rise;
    return (x < y) - (x > y);
}

vkt_status vkt__importance_measure(vkt__session *s, const vkt_dataset *data, vkt_split split,
                                   uint32_t shuffles, uint64_t budget, vkt__importance *out)
{
    vkt_status st = VKT_OK;
    vkt_dataset *taken = NULL;
    vkt_task task = s->info->task;
    uint64_t have = vkt_dataset_get_info(data)->n[split];
    scores whole;
    bool classes = task == VKT_TASK_CLASSIFY || s->info->outputs;
    vkt__importance m = { .score = classes                    ? "accuracy"
                                   : task == VKT_TASK_REGRESS ? "r2"
                                                              : "macro_f1",
                          .n = vkt__permute_columns(data),
                          .shuffles = shuffles };
    *out = (vkt__importance) { 0 };
    if (m.n < 2) return VKT_OK;
    m.examples = budget ? VKT_MIN(have, budget / ((uint64_t)m.n * shuffles)) : have;
    if (m.examples < FEWEST_ROWS) return VKT_OK;
    double *v = vkt__alloc(2 * (size_t)shuffles * sizeof *v);
    m.column = vkt__alloc(m.n * sizeof *m.column);
    VKT_TRY(vkt__permute_open(data, split, m.examples, s->config->seed, &taken));
    VKT_TRY(evaluate(s, taken, m.score, &whole));
    for (uint32_t i = 0; i < m.n; i++) {
        vkt_data_column column = { 0 };
        vkt__dataset_column(data, i, &column, NULL);
        m.column[i].name = column.name;
        VKT_TRY(measure_column(s, taken, &m, i, whole, v, v + shuffles, &m.column[i]));
    }
    qsort(m.column, m.n, sizeof *m.column, by_rise);
    *out = m;
    m.column = NULL;
fail:
    free(v);
    free(m.column);
    vkt_dataset_destroy(&taken);
    return st;
}

vkt_status vkt__importance_write(const vkt__importance *m, const char *path)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "column,shuffles,examples,loss_rise,loss_rise_std,%s_fall,%s_fall_std\n",
                    m->score, m->score);
    for (uint32_t i = 0; i < m->n; i++) {
        const vkt_eval_column *c = &m->column[i];
        vkt__str_csv(&s, c->name);
        vkt__str_printf(&s, ",%u,%llu,%.9g,%.9g,%.9g,%.9g\n", m->shuffles,
                        (unsigned long long)m->examples, c->loss_rise, c->loss_rise_std,
                        c->score_fall, c->score_fall_std);
    }
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&s);
    return st;
}

void vkt__importance_finish(vkt__importance *m)
{
    free(m->column);
    *m = (vkt__importance) { 0 };
}
