/* From scores to a token. Knows no model. */
#include <math.h>

#include "base/util.h"
#include "vktrain/nn.h"

typedef struct candidate {
    float score;
    uint32_t id;
} candidate;

/* Highest score first; of equals the lower id, so that no order depends on the sort. */
static int higher_first(const void *pa, const void *pb)
{
    const candidate *a = pa, *b = pb;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->id < b->id ? -1 : 1;
}

/* Keskar et al. 2019 (arXiv 1909.05858): positive scores are divided, negative ones multiplied. */
static void penalize(candidate *c, uint32_t n, const vkt_sampler *s, const uint32_t *past,
                     uint32_t n_past)
{
    if (s->repetition_penalty <= 0 || s->repetition_penalty == 1) return;
    bool *seen = vkt__alloc(n * sizeof *seen);
    for (uint32_t i = 0; i < n_past; i++) {
        if (past[i] >= n || seen[past[i]]) continue;
        seen[past[i]] = true;
        float *x = &c[past[i]].score;
        *x = *x > 0 ? *x / s->repetition_penalty : *x * s->repetition_penalty;
    }
    free(seen);
}

uint32_t vkt_sample(const vkt_sampler *s, const float *scores, uint32_t n, const uint32_t *past,
                    uint32_t n_past, uint64_t position)
{
    candidate *c = vkt__alloc(n * sizeof *c);
    for (uint32_t i = 0; i < n; i++) c[i] = (candidate) { scores[i], i };
    penalize(c, n, s, past, n_past);
    qsort(c, n, sizeof *c, higher_first);
    uint32_t token = c[0].id, keep = s->top_k ? VKT_MIN(s->top_k, n) : n;
    if (s->temperature > 0) {
        double sum = 0, kept = 0, top = (double)c[0].score, t = (double)s->temperature;
        for (uint32_t i = 0; i < keep; i++) sum += exp(((double)c[i].score - top) / t);
        double enough = s->top_p > 0 && s->top_p < 1 ? (double)s->top_p * sum : sum;
        uint32_t last = 0;
        for (; last < keep && kept < enough; last++) kept += exp(((double)c[last].score - top) / t);
        double u = vkt_rand_uniform(s->seed, VKT_RNG_SAMPLE, position) * kept, at = 0;
        for (uint32_t i = 0; i < last; i++) {
            token = c[i].id;
            at += exp(((double)c[i].score - top) / t);
            if (at > u) break;
        }
    }
    free(c);
    return token;
}
