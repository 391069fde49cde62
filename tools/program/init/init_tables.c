/* init_tables.h */
#include "init_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "init_write.h"

enum { FEW_ROWS = 1000, MANY_ROWS = 10000, MOST_BINNED = 1000, BINS = 8 };
#define MOST_WORK 8e10
/* Between 20 columns, which keep their bins, and 60, which are better without; nothing was measured
 * between (tools/results, "Time and bins of large tables"). */
#define MOST_BINNED_WORK 1.6e11

/* Starters by the kind of table; tools/compare/tables.py measures them (tools/results). */
typedef struct starter {
    const char *why;   /* a comment of the recipe */
    unsigned members;  /* nets of the layer members; 0: nothing but a linear layer */
    const char *width; /* of its two layers */
    const char *dropout, *decay, *lr;
    double passes, least, most; /* as of init_length */
    uint64_t batch;             /* 0: as of init_batch_for */
} starter;

static const starter wide = { "more inputs than training examples: a linear one, regularised; "
                              "layers before it",
                              0,
                              NULL,
                              NULL,
                              "1",
                              "0.001",
                              300,
                              2000,
                              20000 };

/* The first that the number of rows does not exceed. Few examples are soon learned by heart: more
 * of what holds back. Many are learned better by fewer nets from twice as many of them a step,
 * which costs the same (tools/results, "The starter of large tables"). */
static const struct {
    uint64_t rows;
    starter of;
} starters[] = {
    { FEW_ROWS,
      { "few rows: nets that share their weights, held back by their decay", 8, "128", "0.1", "0.3",
        "0.003", 150, 1000, 8000 } },
    { MANY_ROWS,
      { "nets that share their weights: their mean is better than the best of them", 8, "128",
        "0.1", "0.1", "0.003", 100, 1000, 8000 } },
    { UINT64_MAX,
      { "nets that share their weights: their mean is better than the best of them", 4, "128",
        "0.1", "0.03", "0.005", 30, 2000, 20000, 128 } },
};

/* --quick and --best: what becomes of the members. */
static const struct {
    unsigned most;     /* members, of twice the starter's */
    const char *width; /* NULL: the starter's */
} efforts[] = { [INIT_QUICK] = { 4, "64" }, [INIT_BEST] = { 16, NULL } };

static starter plain_starter(const init_data *d)
{
    uint64_t n = d->info.n[VKT_SPLIT_TRAIN];
    size_t i = 0;
    if (d->info.n_inputs > n && !d->embed) return wide;
    while (n > starters[i].rows) i++;
    return starters[i].of;
}

static starter starter_of(const init_data *d)
{
    starter s = plain_starter(d);
    if (!s.members || d->effort == INIT_PLAIN) return s;
    s.members = 2 * s.members < efforts[d->effort].most ? 2 * s.members : efforts[d->effort].most;
    if (efforts[d->effort].width) s.width = efforts[d->effort].width;
    return s;
}

bool init_is_table(const init_data *d)
{
    return d->info.kind == VKT_DATA_KIND_TABLE && d->info.input_rank == 1 && !d->text;
}

/* The number behind the first of these words in a recipe; 0: it has none. */
static unsigned long long written(const char *recipe, const char *words)
{
    const char *at = strstr(recipe, words);
    return at ? strtoull(at + strlen(words), NULL, 10) : 0;
}

const char *init_effort_text(init_effort effort, const char *plain, const char *recipe)
{
    static const char *const words[] = { "\n      count: ", "\n        - linear: ", "\n  steps: " };
    bool quick = effort == INIT_QUICK;
    unsigned long long was[3], is[3];
    for (int i = 0; i < 3; i++) {
        was[i] = written(plain, words[i]);
        is[i] = written(recipe, words[i]);
    }
    bool nets = was[0] != is[0] || was[1] != is[1], steps = was[2] != is[2];
    const char *name = quick ? "quick" : "best",
               *end = quick ? "a first result, not the best one"
                            : "a single run takes as much longer; studies of it, too";
    if (!nets && !steps) return cli_text("--%s changes nothing of this recipe", name);
    return cli_text("--%s: %s%s%s: %s", name,
                    nets ? cli_text("%llu nets of width %llu in place of %llu of %llu", is[0],
                                    is[1], was[0], was[1])
                         : "",
                    nets && steps ? ", " : "",
                    steps ? cli_text("%llu steps in place of %llu", is[2], was[2]) : "", end);
}

/* Multiply-adds of a step of a batch. */
static double work_of(const starter *s, double batch, double inputs)
{
    double width = s->members ? atof(s->width) : 0;
    return 3 * batch * s->members * width * (inputs + width);
}

/* Beside numbers the bins between their quantiles, unless the net would become so wide by them that
 * it is slow: one-hot texts count as numbers here. Of 20,000 rows of 60 columns they took three
 * times as long and were no better (tools/results, "Time and bins of large tables"). */
static bool has_bins(const init_data *d)
{
    const starter s = plain_starter(d);
    double inputs = d->info.n_inputs * (BINS + 1.0);
    if (inputs > MOST_BINNED) return false;
    return d->info.n[VKT_SPLIT_TRAIN] <= MANY_ROWS ||
           s.least * work_of(&s, (double)s.batch, inputs) <= MOST_BINNED_WORK;
}

/* What belongs to the section data, behind what was counted. */
static void write_scaling(FILE *f, const init_data *d)
{
    fprintf(f, "  standardize: robust     # by median and quartiles: long tails stay near\n");
    if (has_bins(d))
        fprintf(f,
                "  bins: %-18d# beside each number one input for each: steps and kinks of a column "
                "are easily learned\n",
                BINS);
}

static void write_members(FILE *f, const init_data *d, const starter *s)
{
    fprintf(f, "model:                    # %s\n", s->why);
    if (d->embed)
        fprintf(f, "  - embed: %-14u# numbers of a vector\n", d->most_values > 200 ? 16 : 8);
    fprintf(f,
            "  - members:\n"
            "      count: %-12u# each has scales, biases and a loss of its own\n"
            "      body:\n"
            "        - linear: %s\n"
            "        - relu\n"
            "        - dropout: %s    # regularisation: raise it when the report says overfitting\n"
            "        - linear: %s\n"
            "        - relu\n"
            "        - dropout: %s\n",
            s->members, s->width, s->dropout, s->width, s->dropout);
}

/* Steps that a run may have, by the multiply-adds of one: of 20,000 rows of 21 columns 2,000 take a
 * third of the CPU time of the starter before, which took 121 s with lavapipe 22.3 (tools/results).
 */
static double most_steps(const init_data *d, const starter *s, double batch)
{
    double inputs = d->info.n_inputs * (has_bins(d) ? BINS + 1.0 : 1),
           work = work_of(s, batch, inputs);
    return s->members ? fmin(s->most, fmax(MOST_WORK / work, s->least)) : s->most;
}

/* A table: several nets in one (TabM, arXiv 2410.24210) of two layers, over numbers scaled so that
 * tails do no harm (RealMLP, arXiv 2407.04491) and split into bins (arXiv 2203.05556). Validation
 * loss is least before accuracy is best, as wrong rows grow more certain: accuracy chooses where
 * its steps are small (tools/results). With more inputs than rows a linear model from zero is ahead
 * of that. */
void init_write_table(FILE *f, const init_data *d, const char *name)
{
    const starter of = starter_of(d), plain = plain_starter(d), *s = &of;
    double n = (double)d->info.n[VKT_SPLIT_TRAIN];
    uint64_t batch = s->batch ? s->batch : init_batch_for(n);
    init_write_head(f, d, name);
    init_write_data(f, d);
    if (s->members) write_scaling(f, d);
    if (s->members)
        write_members(f, d, s);
    else
        fprintf(f,
                "model:                    # %s\n"
                "  - linear: {init: zeros} # would learn them by heart\n",
                s->why);
    if (d->n_far_labels && d->task == VKT_TASK_REGRESS)
        fprintf(
            f,
            "loss:\n"
            "  kind: huber             # %u labels lie far from all others: it weighs them less\n",
            d->n_far_labels);
    fprintf(f,
            "optim:\n"
            "  rule: adamw\n"
            "  lr: %-20s# the first thing to tune: vktrain study lr\n"
            "  weight_decay: %-10s# regularisation, too\n"
            "schedule:\n"
            "  kind: %-18s# %s\n",
            s->lr, s->decay, s->members ? "cosine" : "constant",
            s->members ? "the rate falls to 0 at the end"
                       : "a decay (cosine, linear) helps once the rest is tuned");
    init_write_run(f, d,
                   &(init_length) { .batch = batch,
                                    .passes = s->passes,
                                    .least = s->least,
                                    .most = most_steps(d, &plain, (double)batch),
                                    .patience = s->members ? 0 : 20,
                                    .evaluations = s->members ? 20 : 0,
                                    .enough = 300 });
}
