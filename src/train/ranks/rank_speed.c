/* rank_speed.h */
#include <stdio.h>

#include "base/os.h"
#include "gpu/commands.h"
#include "optim/optim_flat.h"
#include "recipe/config.h"
#include "train/ranks/rank_speed.h"
#include "train/ranks/shares.h"

static vkt_comm *comm_of(const vkt__trainer *t)
{
    vkt_comm *c = t->desc->comm;
    return c && c->size > 1 ? c : NULL;
}

/* ---- shares ---- */

/* As train.balance lists them; NULL: equal ones. */
static const char *shares_text(const vkt__trainer *t, vkt__arena *a)
{
    vkt__str s = { 0 };
    const vkt_config *c = &t->fit;
    if (!c->shares) return NULL;
    for (uint32_t r = 0; r < c->ranks; r++) vkt__str_printf(&s, "%s%u", r ? "," : "", c->shares[r]);
    const char *text = vkt__arena_strdup(a, s.data);
    vkt__str_finish(&s);
    return text;
}

/* Equal ones need no list. */
static void take_shares(vkt__trainer *t, const uint32_t *shares)
{
    vkt_config *f = &t->fit;
    bool equal = true;
    for (uint32_t r = 0; r < f->ranks; r++) equal = equal && shares[r] == shares[0];
    f->shares = equal ? NULL : shares;
    t->record_shares = shares_text(t, &t->paths);
}

/* Reads the shares of the run that is resumed: on rank 0, which has its folder. false: none are
 * known. */
static bool old_shares(vkt__trainer *t, uint32_t *shares)
{
    vkt__arena arena = { 0 };
    vkt__run_record old;
    const char *why, *dir = t->desc->run_dir;
    uint32_t n = t->fit.ranks;
    bool known = false;
    if (t->desc->resume && dir && !vkt__is_absent(vkt__arena_printf(&arena, "%s/run.json", dir)) &&
        vkt__run_load(dir, &arena, &old, &why) == VKT_OK && old.ranks == n) {
        for (uint32_t r = 0; r < n; r++) shares[r] = 1;
        known = !old.shares || vkt__balance_parse(old.shares, shares, n) == n;
    }
    vkt__arena_finish(&arena);
    return known;
}

vkt_status vkt__ranks_given_shares(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    const char *balance = t->fit.balance;
    vkt_status st = VKT_OK;
    if (!c || !strcmp(balance, "equal")) return VKT_OK;
    /* [size] shares, and whether there are some */
    uint32_t *shares = vkt__arena_alloc(&t->paths, (c->size + 1) * sizeof *shares);
    if (strcmp(balance, "measured") != 0) {
        uint32_t n = vkt__balance_parse(balance, shares, c->size);
        if (n != c->size)
            return vkt__fail(VKT_E_ARG, "train",
                             "train.balance '%s' has %u shares, and there are %u ranks", balance, n,
                             c->size);
        take_shares(t, shares);
        return VKT_OK;
    }
    if (c->rank == 0) shares[c->size] = old_shares(t, shares);
    VKT_TRY(vkt__comm_broadcast(c, shares, (c->size + 1) * sizeof *shares));
    t->measured = shares[c->size] != 0;
    if (t->measured) take_shares(t, shares);
fail:
    return st;
}

/* ---- a step's time ---- */

/* Tests plant times: VKT_TEST_RANK_MS="1,1;1,3" are the ranks' milliseconds an example, first those
 * of the measurement before the first step, then of each window; the last ones remain. */
static void planted(vkt__trainer *t, double *ms)
{
    const char *p = getenv("VKT_TEST_RANK_MS"), *next;
    uint32_t n = t->n_timed++, rank = t->fit.rank;
    if (!p) return;
    while (n-- && (next = strchr(p, ';'))) p = next + 1;
    for (; rank > 0 && (next = strchr(p, ',')); rank--) p = next + 1;
    *ms = strtod(p, NULL) * vkt__share_of(t->c, t->c->batch).rows;
}

/* Milliseconds of a graph: the shortest of several, as other programs only make it longer. */
static vkt_status time_graph(vkt_graph *g, double *ms)
{
    enum { LEAST = 2, MOST = 30 };
    static const double ENOUGH_S = 0.3;
    vkt_status st = VKT_OK;
    double begin = vkt__now();
    for (int i = 0; i < LEAST || (i < MOST && vkt__now() - begin < ENOUGH_S); i++) {
        double start = vkt__now();
        VKT_TRY(vkt_graph_run(g));
        *ms = VKT_MAX(VKT_MIN(i ? *ms : 1e9, 1e3 * (vkt__now() - start)), 1e-6);
    }
fail:
    return st;
}

/* The update, which changes the optimizer's state: it is put back. Weights are not there yet. */
static vkt_status time_update(vkt__trainer *t, double *ms)
{
    vkt_status st = VKT_OK;
    vkt_optim *o = t->s->optim;
    float scale, *moment = NULL;
    uint32_t good;
    vkt__range own = vkt__optim_own(o);
    size_t n = vkt_optim_n_moments(o);
    uint64_t count = own.offset + own.count;
    *ms = 0;
    if (!t->s->update) return VKT_OK;
    moment = malloc((n * count + 1) * sizeof *moment);
    if (!moment) return vkt__fail(VKT_E_OOM_HOST, "train", "no memory to measure the ranks");
    VKT_TRY(vkt_optim_get_loss_scale(o, &scale, &good));
    for (size_t k = 0; k < n; k++) VKT_TRY(vkt__optim_read_moment(o, k, moment + k * count));
    VKT_TRY(time_graph(t->s->update, ms));
    for (size_t k = 0; k < n; k++) VKT_TRY(vkt__optim_write_moment(o, k, moment + k * count));
    VKT_TRY(vkt_optim_set_loss_scale(o, scale, good));
    VKT_TRY(vkt__optim_forget_skipped(o));
fail:
    free(moment);
    return st;
}

/* Milliseconds of a micro-batch, and its part of the update. Whatever lies in the batch; batch
 * norm's running averages are put back. */
static vkt_status time_step(vkt__trainer *t, double *ms)
{
    vkt_status st = VKT_OK;
    uint64_t bytes = 4 * vkt_model_state_count(t->s->model);
    char *states = vkt__alloc(bytes + 1);
    vkt_buffer *b = vkt_model_states(t->s->model);
    double update;
    VKT_TRY(vkt__session_prepare(t->s));
    if (bytes) VKT_TRY(vkt_buffer_read(t->gpu, b, 0, states, bytes));
    VKT_TRY(time_graph(t->s->train.graph, ms));
    if (bytes) VKT_TRY(vkt_buffer_write(t->gpu, b, 0, states, bytes));
    VKT_TRY(time_update(t, &update));
    *ms += update / t->c->accumulate;
    planted(t, ms);
fail:
    free(states);
    return st;
}

/* t->rank_ms with these rows, beside those before and their rows; rank_cost becomes what follows
 * from both. before NULL: there are none. */
static void learn_costs(vkt__trainer *t, const uint32_t *rows, const double *before,
                        const uint32_t *rows_before)
{
    for (uint32_t r = 0; r < t->fit.ranks; r++) {
        double ms[2] = { before ? before[r] : t->rank_ms[r], t->rank_ms[r] };
        uint32_t n[2] = { before ? rows_before[r] : rows[r], rows[r] };
        t->rank_cost[r] = vkt__rank_cost_of(ms, n);
    }
}

vkt_status vkt__ranks_time(vkt__trainer *t, bool *again)
{
    static const double LEAST_GAIN = 0.05;
    enum { MOST = 3 }; /* measurements: equal parts, by speed, by what that has shown */
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    *again = false;
    if (!c) return VKT_OK;
    uint32_t *rows = vkt__arena_alloc(&t->paths, 2 * c->size * sizeof *rows),
             *shares = rows + c->size;
    double mine, *before = t->rank_ms;
    t->rank_ms = vkt__arena_alloc(&t->paths, c->size * sizeof *t->rank_ms);
    t->rank_cost = vkt__arena_alloc(&t->paths, c->size * sizeof *t->rank_cost);
    for (uint32_t r = 0; r < c->size; r++) {
        rows[r] = vkt__share_of_rank(t->c, t->c->batch, r).rows;
        if (!rows[r])
            return vkt__fail(VKT_E_ARG, "train",
                             "train.balance leaves rank %u none of a batch of %u examples: let the "
                             "shares differ less, or the batch be larger",
                             r, t->c->batch);
    }
    VKT_TRY(vkt__comm_barrier(c)); /* all at the same time, as later */
    VKT_TRY(time_step(t, &mine));
    VKT_TRY(vkt__comm_all_gather(c, &mine, t->rank_ms, sizeof mine));
    learn_costs(t, rows, before, t->rank_rows);
    t->rank_rows = rows;
    if (t->measured || strcmp(t->c->balance, "measured") != 0) return VKT_OK;
    double now = vkt__longest_ms(t->rank_cost, c->size, rows);
    vkt__shares_by_cost(t->rank_cost, c->size, t->c->batch, shares);
    *again = vkt__longest_ms(t->rank_cost, c->size, shares) < (1 - LEAST_GAIN) * now;
    if (*again) take_shares(t, shares);
    t->measured = !*again || ++t->n_balanced == MOST - 1;
    if (!*again && !t->n_balanced)
        vkt_log(VKT_LOG_INFO, "train", "train.balance: the ranks are about equally fast");
fail:
    return st;
}

/* ---- a drift ---- */

static double waited_of(const vkt__trainer *t)
{
    return t->s->exchange->seconds + t->s->exchange->signals;
}

void vkt__ranks_begin_window(vkt__trainer *t)
{
    if (!comm_of(t)) return;
    t->window.at = vkt__now();
    t->window.waited = waited_of(t);
    t->window.step = t->done;
}

/* Whether other shares are worth while, on rank 0. ms [ranks] of a micro-batch, which become those
 * of an example; shares [ranks] the better ones. */
static bool drifted(const vkt__trainer *t, double *ms, uint32_t *shares)
{
    uint32_t ranks = t->c->ranks, *rows = vkt__alloc(ranks * sizeof *rows);
    for (uint32_t r = 0; r < ranks; r++) rows[r] = vkt__share_of_rank(t->c, t->c->batch, r).rows;
    vkt__drift d = { .cost = t->rank_cost,
                     .rows = rows,
                     .ms = ms,
                     .ranks = ranks,
                     .n = t->c->batch,
                     .left = (double)(t->total - t->done) * t->c->accumulate,
                     .open_s = t->open_s };
    bool are_others = vkt__shares_drifted(&d, shares);
    for (uint32_t r = 0; r < ranks; r++) ms[r] /= rows[r];
    free(rows);
    return are_others;
}

static void say_drift(const vkt__trainer *t, const double *example_ms)
{
    vkt__str s = { 0 };
    for (uint32_t r = 0; r < t->fit.ranks; r++)
        vkt__str_printf(&s, "%s%.3g ms on rank %u", r ? ", " : "", example_ms[r], r);
    vkt__str_printf(&s, "; from step %llu on the ranks have ", (unsigned long long)t->done + 1);
    for (uint32_t r = 0; r < t->fit.ranks; r++)
        vkt__str_printf(&s, "%s%u", r ? ", " : "", vkt__share_of_rank(t->c, t->c->batch, r).rows);
    vkt_log(VKT_LOG_INFO, "train",
            "train.balance: the ranks' times have drifted: an example takes %s of %u examples",
            s.data, t->c->batch);
    vkt__str_finish(&s);
}

vkt_status vkt__ranks_end_window(vkt__trainer *t, bool *again)
{
    enum { LEAST_STEPS = 10 };
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    *again = false;
    if (!c || strcmp(t->c->balance, "measured") != 0 || t->done >= t->total) return VKT_OK;
    uint64_t n = t->done - t->window.step;
    if (n < LEAST_STEPS) return VKT_OK; /* too few to say */
    double mine = 1e3 * (vkt__now() - t->window.at - (waited_of(t) - t->window.waited)) /
                  (double)(n * t->c->accumulate),
           *ms = vkt__alloc(c->size * sizeof *ms);
    /* [size] shares, and whether they are taken */
    uint32_t *shares = vkt__arena_alloc(&t->paths, (c->size + 1) * sizeof *shares);
    mine = VKT_MAX(mine, 1e-6);
    planted(t, &mine);
    VKT_TRY(vkt__comm_all_gather(c, &mine, ms, sizeof mine));
    if (c->rank == 0) shares[c->size] = drifted(t, ms, shares);
    VKT_TRY(vkt__comm_broadcast(c, shares, (c->size + 1) * sizeof *shares));
    *again = shares[c->size] != 0;
    if (!*again) goto fail;
    take_shares(t, shares);
    if (c->rank == 0) say_drift(t, ms);
fail:
    free(ms);
    return st;
}

/* ---- the exchange ---- */

/* Times sums over the ranks: seconds of a short one, and bytes a second that a rank sends in a long
 * one. */
static vkt_status time_exchange(vkt_comm *c, double *latency, double *rate)
{
    enum { SHORT = 16, LONG = 1 << 18, TIMES = 5 };
    vkt_status st = VKT_OK;
    double best[2] = { 1e9, 1e9 };
    float *data = vkt__alloc(LONG * sizeof *data);
    for (int i = 0; i < 2 * TIMES; i++) {
        double start = vkt__now();
        VKT_TRY(vkt__comm_sum(c, data, i < TIMES ? SHORT : LONG));
        best[i >= TIMES] = VKT_MIN(best[i >= TIMES], vkt__now() - start);
    }
    *latency = best[0];
    *rate = 8.0 * LONG * (c->size - 1) / c->size / VKT_MAX(best[1] - best[0], 1e-9);
fail:
    free(data);
    return st;
}

/* Only two measurements show it. */
static void say_who_slows(const vkt__trainer *t, const vkt_comm *c, double longest)
{
    double without;
    uint32_t who = t->n_balanced
                       ? vkt__rank_in_the_way(t->rank_cost, c->size, t->c->batch, &without)
                       : c->size;
    if (who < c->size)
        vkt_log(VKT_LOG_WARN, "train",
                "rank %u (%s) is in the way: the others alone would take about %.3g ms, and not "
                "%.3g; start the run without it, or with a larger train.batch",
                who, c->names[who], without * t->c->accumulate, longest);
}

vkt_status vkt__ranks_say_shares(vkt__trainer *t)
{
    vkt_comm *c = comm_of(t);
    vkt_status st = VKT_OK;
    double latency, rate, all = 0, longest = 0, n = t->c->accumulate;
    if (!c) return VKT_OK;
    for (uint32_t r = 0; r < c->size; r++) {
        all += n * t->rank_ms[r];
        longest = VKT_MAX(longest, n * t->rank_ms[r]);
        vkt_log(VKT_LOG_INFO, "train", "rank %u (%s): %u of %u examples, in %.3g ms", r,
                c->names[r], vkt__share_of_rank(t->c, t->c->batch, r).rows, t->c->batch,
                t->rank_ms[r]);
    }
    say_who_slows(t, c, longest);
    VKT_TRY(time_exchange(c, &latency, &rate));
    uint32_t every = t->c->sync_every;
    double bytes = (double)vkt__exchange_bytes(t->s->exchange) / every,
           ms = 1e3 * (bytes / rate + latency * vkt__exchange_sums(t->s->exchange) / every);
    vkt_log(
        VKT_LOG_INFO, "train",
        "each rank sends %.2f MiB in a step%s, by %s: about %.3g ms at the %.3g GB/s and %.3g us "
        "that were measured, %.0f%% efficiency if none of it overlapped with the backward pass",
        bytes / 1048576, every > 1 ? " (train.sync: in the mean)" : "", vkt_comm_library(), ms,
        rate / 1e9, 1e6 * latency, 100 * all / c->size / (longest + ms));
fail:
    return st;
}

void vkt__ranks_note_exchange(vkt__trainer *t)
{
    const vkt__exchange *e = t->s ? t->s->exchange : NULL;
    uint64_t n = t->done - t->first;
    if (!e || !n || !comm_of(t)) return;
    double seconds = vkt__now() - t->began - t->eval_s;
    t->record.exchange_share = e->seconds / seconds;
    t->record.exchange_overlap = e->hidden / VKT_MAX(e->hidden + e->seconds, 1e-9);
    t->record.exchange_bytes = e->sent / n;
    vkt_log(VKT_LOG_INFO, "train",
            "exchange: %.3g ms a step during the backward pass, and %.3g ms after it, in which the "
            "device waits (%.1f%% of the time); this rank sent %.4g KiB a step",
            1e3 * e->hidden / (double)n, 1e3 * e->seconds / (double)n,
            100 * t->record.exchange_share, (double)e->sent / (double)n / 1024);
}
