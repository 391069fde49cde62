/* See steps.h. Packing: a short step's command buffer costs its driver and device little, a
 * submission much; several buffers in one submission run one after the other, as each opens with a
 * barrier, and each reads its own slot's step block. */
#include "base/os.h"
#include "train/steps.h"

/* ---- how many steps make a submission ---- */

/* Longer steps than this have nothing to gain: a submission takes some tens of microseconds. */
static const double PACK_BELOW_MS = 2;

static bool can_pack(const vkt__steps *t)
{
    return t->packing.most > 1 && vkt_graph_is_short(t->s->train.graph, PACK_BELOW_MS);
}

/* When a submission is full. */
static void count_window(vkt__steps *t, uint32_t n)
{
    vkt__packing *p = &t->packing;
    if (p->window == VKT__PACK_WINDOWS || !can_pack(t)) return;
    if (!vkt__packing_count(p, n, vkt__now())) return;
    bool packs = p->n > 1;
    vkt_log(packs ? VKT_LOG_INFO : VKT_LOG_DEBUG, "train",
            "%u steps are submitted at a time: %.1f us per step; with %u at a time: %.1f us", p->n,
            1e6 * p->best[packs], packs ? 1 : p->most, 1e6 * p->best[!packs]);
}

/* ---- who watches ---- */

static double mark(const vkt__steps *t)
{
    return t->observer ? vkt__now() : 0;
}

/* A phase from *since, a mark, to now, which *since becomes. */
static void tell(const vkt__steps *t, vkt__phase phase, uint64_t step, double *since)
{
    double start = *since;
    if (!t->observer) return;
    *since = vkt__now();
    t->observer->phase(t->observer->user, phase, step, start, *since);
}

static void tell_submitted(const vkt__steps *t, vkt__flight f, uint64_t ticket, bool update,
                           double since)
{
    if (!t->observer) return;
    f.ticket = ticket;
    t->observer->submitted(t->observer->user, &f, update, since, vkt__now());
}

/* ---- submitting ---- */

static vkt__flight *held(vkt__steps *t, uint32_t i)
{
    return &t->flights[(t->oldest + t->n_flights - t->n_held + i) % VKT_MAX_SLOTS];
}

/* With several ranks: the gradients and numbers of the step that f ends become those of all ranks.
 * With train.sync the ranks only share whether one of them stops or saves. */
static vkt_status exchange(vkt__steps *t, vkt__flight *f)
{
    vkt_status st = VKT_OK;
    vkt__exchange *e = t->s->exchange;
    t->later |= t->save;
    if (!vkt__exchange_due(e, f->step)) {
        t->stop = t->save = false;
        return VKT_OK;
    }
    e->shared[VKT__SHARED_WEIGHT] = (float)f->weight;
    e->shared[VKT__SHARED_COUNTED] = (float)f->n_counted;
    e->shared[VKT__SHARED_STOP] = t->stop;
    e->shared[VKT__SHARED_SAVE] = t->later;
    VKT_TRY(e->outer ? vkt__exchange_signals(e) : vkt__exchange_step(e));
    if (!e->outer) {
        f->weight = (double)e->shared[VKT__SHARED_WEIGHT];
        f->n_counted = (uint32_t)e->shared[VKT__SHARED_COUNTED];
    }
    t->later = false;
    t->stop = e->shared[VKT__SHARED_STOP] > 0;
    t->save = e->shared[VKT__SHARED_SAVE] > 0;
    vkt__session_fill_update(t->s, f->slot, f->step, f->lr, f->weight);
fail:
    return st;
}

/* The newest part of an exchange. */
static void tell_exchange(const vkt__steps *t, uint64_t step)
{
    const vkt__exchange *e = t->s->exchange;
    if (!t->observer || !vkt__exchange_due(e, step)) return;
    vkt__steps_observer o = *t->observer;
    if (e->newest.began < e->newest.ready)
        o.phase(o.user, VKT__PHASE_EXCHANGE_HIDDEN, step, e->newest.began, e->newest.ready);
    o.phase(o.user, VKT__PHASE_EXCHANGE, step, e->newest.ready, e->newest.ended);
}

static vkt_status flush(vkt__steps *t)
{
    vkt_status st = VKT_OK;
    uint32_t slots[VKT_MAX_SLOTS], n = t->n_held;
    uint64_t ticket;
    if (!n) return VKT_OK;
    double since = mark(t);
    for (uint32_t i = 0; i < n; i++) slots[i] = held(t, i)->slot;
    VKT_TRY(vkt_graph_submit_slots(t->s->train.graph, slots, n, &ticket));
    tell_submitted(t, *held(t, n - 1), ticket, false, since);
    if (t->s->exchange && held(t, n - 1)->last) {
        VKT_TRY(exchange(t, held(t, n - 1)));
        tell_exchange(t, held(t, n - 1)->step);
    }
    if (t->s->update && held(t, n - 1)->last) {
        since = mark(t);
        VKT_TRY(vkt_graph_submit(t->s->update, slots[n - 1], &ticket));
        tell_submitted(t, *held(t, n - 1), ticket, true, since);
        if (t->s->exchange && vkt__exchange_due(t->s->exchange, held(t, n - 1)->step)) {
            double before = t->s->exchange->newest.ended;
            VKT_TRY(vkt__exchange_update(t->s->exchange, ticket));
            if (t->s->exchange->newest.ended > before) tell_exchange(t, held(t, n - 1)->step);
        }
    }
    for (uint32_t i = 0; i < n; i++) held(t, i)->ticket = ticket;
    t->n_held = 0;
    count_window(t, n);
fail:
    return st;
}

/* Waits for the oldest step in flight, has its numbers read, lets the loader have its slot. */
static vkt_status retire(vkt__steps *t)
{
    vkt__flight f = t->flights[t->oldest];
    double since = mark(t);
    vkt_status st = vkt_ticket_wait(t->s->gpu, f.ticket);
    if (st != VKT_OK) return st;
    tell(t, VKT__PHASE_READBACK, f.step, &since);
    t->oldest = (t->oldest + 1) % VKT_MAX_SLOTS;
    t->n_flights--;
    st = t->done(t->user, &f);
    tell(t, VKT__PHASE_DONE, f.step, &since);
    vkt_loader_release(t->loader, f.slot);
    return st;
}

/* Reads back what is done, and waits while the ring is full: one slot is being filled. A submission
 * is at most what two of leave that slot, so one runs while the next is put together. */
static vkt_status retire_done(vkt__steps *t)
{
    vkt_status st = VKT_OK;
    uint32_t most = VKT_MAX(t->s->train.n_slots - 1, 1);
    while (t->n_flights > t->n_held && st == VKT_OK &&
           (t->n_flights >= most || vkt_ticket_done(t->s->gpu, t->flights[t->oldest].ticket)))
        st = retire(t);
    return st;
}

void vkt__steps_init(vkt__steps *t, vkt__session *s, vkt_loader *loader,
                     vkt_status (*done)(void *user, const vkt__flight *f), void *user)
{
    *t = (vkt__steps) { .s = s, .loader = loader, .done = done, .user = user };
    t->packing.most = vkt__session_pack(s);
    t->packing.n = 1;
    if (s->config->pack_steps == 0) return;
    t->packing.n = t->packing.most;
    t->packing.window = VKT__PACK_WINDOWS;
}

void vkt__steps_observe(vkt__steps *t, const vkt__steps_observer *observer)
{
    t->observer = observer;
    t->packing = (vkt__packing) { .most = 1, .n = 1, .window = VKT__PACK_WINDOWS };
}

vkt_status vkt__steps_run(vkt__steps *t, uint64_t step, double lr)
{
    vkt_status st = VKT_OK;
    double weight = 0;
    uint32_t n = t->s->config->accumulate;
    vkt__flight f = { .step = step, .lr = lr };
    for (uint32_t k = 0; k < n; k++) {
        double wait = 0, since = mark(t);
        VKT_TRY(vkt_loader_next(t->loader, &f.slot, &wait));
        tell(t, VKT__PHASE_LOADER_WAIT, step, &since);
        t->wait_s += wait;
        f.input_wait += wait;
        f.n_counted += t->s->train.slots[f.slot].n_counted;
        f.micro = k;
        f.last = k + 1 == n;
        vkt__session_fill(t->s, f.slot, step, k, lr, &weight);
        f.weight = weight;
        tell(t, VKT__PHASE_PREPARE, step, &since);
        t->flights[(t->oldest + t->n_flights++) % VKT_MAX_SLOTS] = f;
        if (++t->n_held >= t->packing.n) VKT_TRY(flush(t));
        VKT_TRY(retire_done(t));
    }
fail:
    return st;
}

vkt_status vkt__steps_drain(vkt__steps *t)
{
    vkt_status st = flush(t);
    while (t->n_flights && st == VKT_OK) st = retire(t);
    vkt__packing_pause(&t->packing);
    return st;
}
