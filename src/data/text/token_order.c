/* The order in which an embedding's gradient adds up the places of each token: a counting sort, so
 * that the device needs neither sort nor atomics. */
#include "base/words.h"
#include "vktrain/data.h"

void vkt_token_order(const uint32_t *tokens, uint32_t n, uint32_t n_vocab, uint32_t *order,
                     uint32_t *segments)
{
    memset(segments, 0, ((size_t)n_vocab + 1) * sizeof *segments);
    /* segments[id + 1] counts id, then is where the next of it goes, then where it ends. */
    for (uint32_t i = 0; i < n; i++)
        if (tokens[i] < n_vocab) segments[tokens[i] + 1]++;
    uint32_t begin = 0;
    for (uint32_t id = 0; id < n_vocab; id++) {
        uint32_t count = segments[id + 1];
        segments[id + 1] = begin;
        begin += count;
    }
    uint32_t past = begin;
    for (uint32_t i = 0; i < n; i++) {
        if (tokens[i] < n_vocab)
            order[segments[tokens[i] + 1]++] = i;
        else
            order[past++] = i;
    }
}
