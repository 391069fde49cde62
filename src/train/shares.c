/* shares.h */
#include "base/memory.h"
#include "train/shares.h"

vkt__share vkt__share_of_rank(const vkt_config *c, uint32_t n, uint32_t rank)
{
    uint64_t before = 0, all = 0;
    if (c->ranks < 2) return (vkt__share) { 0, n };
    uint64_t mine = c->shares ? c->shares[rank] : 1;
    for (uint32_t r = 0; r < c->ranks; r++) {
        if (r == rank) before = all;
        all += c->shares ? c->shares[r] : 1;
    }
    uint64_t begin = n * before / all, end = n * (before + mine) / all;
    return (vkt__share) { (uint32_t)begin, (uint32_t)(end - begin) };
}

vkt__share vkt__share_of(const vkt_config *c, uint32_t n)
{
    return vkt__share_of_rank(c, n, c->rank);
}

void vkt__shares_by_speed(const double *ms, const uint32_t *rows, uint32_t ranks, uint32_t *out)
{
    enum { WHOLE = 1000 };
    double speed = 0, slowest = 1e99;
    for (uint32_t r = 0; r < ranks; r++) {
        speed += rows[r] / ms[r];
        slowest = VKT_MIN(slowest, rows[r] / ms[r]);
    }
    bool wins = slowest < 0.95 * speed / ranks;
    for (uint32_t r = 0; r < ranks; r++) {
        double share = WHOLE * rows[r] / ms[r] / speed + 0.5;
        out[r] = !wins ? 1 : share < 1 ? 1 : (uint32_t)share;
    }
}
