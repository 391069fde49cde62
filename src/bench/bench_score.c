/* The score: one number of five training steps. */
#include <math.h>

#include "bench/bench_rows.h"

/* Version 1. A change of a row or of a reference is another version. The references are the medians
 * of tools/results/steps-lavapipe-25.0-8ffd17f.json, in ms. --quick measures these rows, too. */
static const struct {
    const char *name;
    double reference_ms;
} score_rows[] = {
    { "MLP 64-128-10, batch 64, adam", 0.1730249 },
    { "MLP 784-256-128-10, batch 128, adam", 2.462097 },
    { "MLP 784-512-512-10, batch 128, adam", 5.627854 },
    { "CNN 28x28, conv 32-64, batch 64, adam", 24.48092 },
    { "GPT 0.8M, 12 x 64 tokens, adamw", 54.26317 },
};

double vkt_bench_score(const vkt_bench *b, const char **missing)
{
    double sum = 0;
    for (size_t i = 0; i < VKT_COUNT(score_rows); i++) {
        const vkt_bench_row *r = vkt_bench_find(b, VKT_BENCH_STEPS, score_rows[i].name);
        if (!r || r->refused || r->flag || !(r->value > 0)) {
            if (missing) *missing = score_rows[i].name;
            return NAN;
        }
        sum += log(score_rows[i].reference_ms / r->value);
    }
    return 100 * exp(sum / (double)VKT_COUNT(score_rows));
}
