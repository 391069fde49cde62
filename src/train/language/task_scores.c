/* task_scores.h */
#include <math.h>

#include "base/memory.h"
#include "train/language/task_scores.h"

double vkt__log_share(const float *scores, uint32_t n, uint32_t id)
{
    float most =
        -INFINITY; /* GCC 12 for 64-bit Arm ends with an internal error at fmax in double */
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (scores[i] > most) most = scores[i];
    for (uint32_t i = 0; i < n; i++) sum += exp((double)scores[i] - (double)most);
    return (double)scores[id] - (double)most - log(sum);
}

bool vkt__task_window(size_t n, size_t first, size_t most, size_t *begin)
{
    *begin = n - 1 > most ? n - 1 - most : 0;
    return first > *begin;
}

vkt_tasks_group vkt__task_question(const vkt__scored *text, const size_t *bytes, size_t n,
                                   size_t gold)
{
    size_t best = 0, best_per_byte = 0;
    double most = -INFINITY, most_per_byte = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double sum = text[i].sum, per_byte = sum / (double)VKT_MAX(bytes[i], 1);
        if (sum > most) {
            most = sum;
            best = i;
        }
        if (per_byte > most_per_byte) {
            most_per_byte = per_byte;
            best_per_byte = i;
        }
    }
    return (vkt_tasks_group) { .n_choices = 1,
                               .n_likeliest = best == gold,
                               .n_likeliest_per_byte = best_per_byte == gold };
}

vkt_tasks_group vkt__task_text(const vkt__scored *text, uint64_t bytes)
{
    return (vkt_tasks_group) {
        .n_texts = 1, .n_tokens = text->n - text->first, .n_bytes = bytes, .loss = -text->sum
    };
}

size_t vkt__task_trimmed(const char *text, size_t n)
{
    while (n && strchr(" \t\r\n", text[n - 1])) n--;
    return n;
}

vkt_tasks_group vkt__task_answer(const char *made, const char *answer)
{
    made += strspn(made, " \t\r\n");
    answer += strspn(answer, " \t\r\n");
    size_t n = vkt__task_trimmed(made, strlen(made));
    bool same = n == vkt__task_trimmed(answer, strlen(answer)) && !memcmp(made, answer, n);
    return (vkt_tasks_group) { .n_answers = 1, .n_exact = same };
}

void vkt__task_add(vkt_tasks_group *to, const vkt_tasks_group *g)
{
    to->n_choices += g->n_choices;
    to->n_likeliest += g->n_likeliest;
    to->n_likeliest_per_byte += g->n_likeliest_per_byte;
    to->n_answers += g->n_answers;
    to->n_exact += g->n_exact;
    to->n_texts += g->n_texts;
    to->n_tokens += g->n_tokens;
    to->n_bytes += g->n_bytes;
    to->loss += g->loss;
}
