/* shares.h */
#include "base/memory.h"
#include "train/ranks/shares.h"

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

vkt__rank_cost vkt__rank_cost_of(const double ms[2], const uint32_t rows[2])
{
    static const double APART = 1.25; /* less would be a line through noise */
    double low = VKT_MIN(rows[0], rows[1]), high = VKT_MAX(rows[0], rows[1]);
    vkt__rank_cost whole = { 0, ms[1] / rows[1] };
    if (high < APART * low) return whole;
    double each = (ms[1] - ms[0]) / ((double)rows[1] - rows[0]), fixed = ms[1] - each * rows[1];
    if (fixed <= 0) return whole;
    /* Even where more examples took less time, an example is not free. */
    if (!(each > 0.01 * whole.each)) each = 0.01 * whole.each, fixed = ms[1] - each * rows[1];
    return (vkt__rank_cost) { fixed, each };
}

double vkt__rank_ms(const vkt__rank_cost *cost, double rows)
{
    return cost->fixed + cost->each * rows;
}

/* When the ranks that take part finish, if each other rank has one row: the sum of their rows, (ms
 * - fixed) / each, is the rest of n. */
static double finish_ms(const vkt__rank_cost *cost, uint32_t ranks, uint32_t n)
{
    double ms = 0, before = -1;
    while (ms != before) { /* a rank that left stays away: at most `ranks` turns */
        double left = n, speed = 0;
        for (uint32_t r = 0; r < ranks; r++) {
            if (before >= 0 && vkt__rank_ms(&cost[r], 1) >= ms) {
                left -= 1;
                continue;
            }
            left += cost[r].fixed / cost[r].each;
            speed += 1 / cost[r].each;
        }
        before = ms;
        if (speed > 0) ms = left / speed;
    }
    return ms;
}

/* Whole examples: those that are left go to whoever has done with them first. */
static void whole_rows(const vkt__rank_cost *cost, uint32_t ranks, uint32_t n, double ms,
                       uint32_t *out)
{
    uint32_t given = 0;
    for (uint32_t r = 0; r < ranks; r++) {
        double rows = (ms - cost[r].fixed) / cost[r].each;
        uint32_t room = n - given - (ranks - 1 - r);
        out[r] = rows < 1 ? 1 : VKT_MIN((uint32_t)VKT_MIN(rows, n), room);
        given += out[r];
    }
    for (; given < n; given++) {
        uint32_t first = 0;
        for (uint32_t r = 1; r < ranks; r++)
            if (vkt__rank_ms(&cost[r], out[r] + 1.0) < vkt__rank_ms(&cost[first], out[first] + 1.0))
                first = r;
        out[first]++;
    }
}

double vkt__longest_ms(const vkt__rank_cost *cost, uint32_t ranks, const uint32_t *rows)
{
    double longest = 0;
    for (uint32_t r = 0; r < ranks; r++)
        longest = VKT_MAX(longest, vkt__rank_ms(&cost[r], rows[r]));
    return longest;
}

void vkt__shares_by_cost(const vkt__rank_cost *cost, uint32_t ranks, uint32_t n, uint32_t *out)
{
    whole_rows(cost, ranks, n, finish_ms(cost, ranks, n), out);
}

bool vkt__shares_drifted(const vkt__drift *d, uint32_t *out)
{
    static const double LEAST_GAIN = 0.1, LEAST_RETURN = 3;
    vkt__rank_cost *cost = vkt__alloc(d->ranks * sizeof *cost);
    for (uint32_t r = 0; r < d->ranks; r++) {
        double factor = d->ms[r] / vkt__rank_ms(&d->cost[r], d->rows[r]);
        cost[r] = (vkt__rank_cost) { factor * d->cost[r].fixed, factor * d->cost[r].each };
    }
    vkt__shares_by_cost(cost, d->ranks, d->n, out);
    double now = vkt__longest_ms(cost, d->ranks, d->rows),
           then = vkt__longest_ms(cost, d->ranks, out);
    free(cost);
    return then < (1 - LEAST_GAIN) * now &&
           1e-3 * (now - then) * d->left > LEAST_RETURN * d->open_s;
}

uint32_t vkt__rank_in_the_way(const vkt__rank_cost *cost, uint32_t ranks, uint32_t n,
                              double *without)
{
    static const double LEAST_GAIN = 0.05;
    uint32_t who = ranks, *rows = vkt__alloc(ranks * sizeof *rows);
    vkt__rank_cost *rest = vkt__alloc(ranks * sizeof *rest);
    vkt__shares_by_cost(cost, ranks, n, rows);
    double now = vkt__longest_ms(cost, ranks, rows);
    *without = (1 - LEAST_GAIN) * now;
    for (uint32_t r = 0; r < ranks && ranks > 1; r++) {
        for (uint32_t k = 0; k + 1 < ranks; k++) rest[k] = cost[k + (k >= r)];
        vkt__shares_by_cost(rest, ranks - 1, n, rows);
        double then = vkt__longest_ms(rest, ranks - 1, rows);
        if (then >= *without) continue;
        *without = then;
        who = r;
    }
    free(rest);
    free(rows);
    return who;
}
