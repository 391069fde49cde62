/* From scores to a token. Knows no model. */
#include <math.h>

#include "base/words.h"
#include "vktrain/nn.h"

typedef struct candidate {
    float score;
    uint32_t id;
} candidate;

/* A higher score goes first; of equals the lower id, so that the order is one only. */
static bool goes_first(candidate a, candidate b)
{
    return a.score != b.score ? a.score > b.score : a.id < b.id;
}

/* Restores the heap c[0..n), whose first goes first, where c[at] may be out of place. */
static void sift(candidate *c, uint32_t n, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && goes_first(c[child + 1], c[child])) child++;
        if (!goes_first(c[child], c[at])) return;
        candidate swap = c[at];
        c[at] = c[child];
        c[child] = swap;
    }
}

/* The likeliest candidates one after the other: few of a large vocabulary are asked for, so they
 * are taken from a heap and not sorted. */
typedef struct {
    candidate *c; /* heap c[0..n - taken), behind it those taken, the first one last */
    uint32_t n, taken;
    double top, temperature;
} queue;

static candidate nth(queue *q, uint32_t i)
{
    while (q->taken <= i) {
        uint32_t last = q->n - ++q->taken;
        candidate first = q->c[0];
        q->c[0] = q->c[last];
        q->c[last] = first;
        sift(q->c, last, 0);
    }
    return q->c[q->n - 1 - i];
}

/* In units of the likeliest's. */
static double weight(const queue *q, candidate c)
{
    return exp(((double)c.score - q->top) / q->temperature);
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

/* Draws among the first `keep`, or of these among the likeliest that have top_p together. */
static uint32_t draw(queue *q, const vkt_sampler *s, uint32_t keep, uint64_t position)
{
    double sum = 0, kept = 0, at = 0;
    for (uint32_t i = 0; i < keep; i++) sum += weight(q, keep < q->n ? nth(q, i) : q->c[i]);
    uint32_t last = keep;
    if (s->top_p > 0 && s->top_p < 1) {
        for (last = 0; last < keep && kept < (double)s->top_p * sum; last++)
            kept += weight(q, nth(q, last));
        sum = kept;
    }
    double u = vkt_rand_uniform(s->seed, VKT_RNG_SAMPLE, position) * sum;
    for (uint32_t i = 0; i < last; i++) {
        at += weight(q, nth(q, i));
        if (at > u) return nth(q, i).id;
    }
    return nth(q, last - 1).id; /* rounding: u is the sum */
}

uint32_t vkt_sample(const vkt_sampler *s, const float *scores, uint32_t n, const uint32_t *past,
                    uint32_t n_past, uint64_t position)
{
    queue q = { .c = vkt__alloc(n * sizeof *q.c), .n = n, .temperature = (double)s->temperature };
    for (uint32_t i = 0; i < n; i++) q.c[i] = (candidate) { scores[i], i };
    penalize(q.c, n, s, past, n_past);
    for (uint32_t i = n / 2; i-- > 0;) sift(q.c, n, i);
    q.top = (double)q.c[0].score;
    uint32_t token = q.c[0].id;
    if (s->temperature > 0) token = draw(&q, s, s->top_k ? VKT_MIN(s->top_k, n) : n, position);
    free(q.c);
    return token;
}
