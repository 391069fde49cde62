/* What an update's nodes take at once, and where moments of another layout than the gradients' have
 * each tensor's numbers. */
#include "optim/optim_state.h"

vkt__matrix vkt__matrix_of(const vkt_param *p)
{
    bool conv = p->order == VKT_PARAM_ORDER_CONV;
    uint64_t cols = p->shape.rank ? p->shape.d[conv ? 0 : p->shape.rank - 1] : 1,
             out = p->shape.rank > 1 ? p->shape.d[0] : 1;
    return (vkt__matrix) { .rows = p->shape.rank > 1 ? (uint32_t)(p->count / cols) : 0,
                           .cols = (uint32_t)cols,
                           .out = out,
                           .in = p->count / out };
}

static bool is_live(const vkt_optim *o, uint64_t at)
{
    for (size_t i = 0; i < o->n_live; i++)
        if (at - o->live[i].offset < o->live[i].count) return true;
    return false;
}

static void add(vkt_optim *o, vkt__stretch s)
{
    vkt__stretch *last = o->n_stretches ? &o->stretches[o->n_stretches - 1] : NULL;
    bool joins = last && !s.own && !last->own && last->piece == s.piece &&
                 last->at.offset + last->at.count == s.at.offset;
    o->all_blocks += joins ? 0 : vkt__align(o->all_blocks, 4) - o->all_blocks;
    if (joins) {
        last->at.count += s.at.count;
        last->frozen &= s.frozen; /* else the kernel leaves out its frozen blocks */
        o->all_blocks = last->first_block + vkt__group_blocks(last->at.count);
        return;
    }
    s.first_block = o->all_blocks;
    o->all_blocks += vkt__group_blocks(s.at.count);
    o->stretches = vkt__grow(o->stretches, o->n_stretches, &o->cap_stretches, sizeof s);
    o->stretches[o->n_stretches++] = s;
}

/* The padding that completes a tensor's last block belongs to it, a gap behind that to none. */
static uint64_t end_of(const vkt_optim *o, size_t i, const vkt__range *piece)
{
    const vkt_param *p = &o->params[i];
    return VKT_MIN(p->offset + vkt__align(VKT_MAX(p->count, p->room), VKT_PARAM_ALIGN),
                   piece->offset + piece->count);
}

static void add_tensors(vkt_optim *o, size_t piece, const bool *hidden)
{
    const vkt__range *r = &o->pieces[piece];
    for (size_t i = 0; i < o->n_params; i++) {
        uint64_t at = o->params[i].offset;
        if (at < r->offset || at >= r->offset + r->count) continue;
        add(o, (vkt__stretch) {
                   .at = { at, end_of(o, i, r) - at },
                   .own = vkt__optim_is_own(&o->desc, &o->params[i], !hidden || hidden[i]),
                   .frozen = !is_live(o, at),
                   .tensor = i,
                   .piece = piece });
    }
}

void vkt__stretches_make(vkt_optim *o, const bool *hidden)
{
    bool each = vkt__rule_is_of_tensors(vkt__rule_at((uint32_t)o->desc.rule));
    for (size_t i = 0; i < o->n_pieces; i++) {
        if (each)
            add_tensors(o, i, hidden);
        else
            add(o, (vkt__stretch) { .at = o->pieces[i], .piece = i });
        o->all_blocks = vkt__align(o->all_blocks, 4);
    }
}

uint64_t vkt__stretches_block(const vkt_optim *o, uint64_t at)
{
    for (size_t i = 0; i < o->n_stretches; i++) {
        const vkt__stretch *s = &o->stretches[i];
        if (at - s->at.offset < s->at.count)
            return s->first_block + (at - s->at.offset) / VKT_GROUP_BLOCK;
    }
    return o->all_blocks;
}

/* ---- moments of another layout ---- */

/* How many numbers moment `name` has of a tensor. */
static uint64_t count_of(const vkt_optim *o, size_t i, const char *name, bool own)
{
    vkt__matrix m = vkt__matrix_of(&o->params[i]);
    if (!strcmp(name, "rows")) return m.rows;
    if (!strcmp(name, "columns")) return m.rows ? m.cols : o->params[i].count;
    return own ? 0 : o->params[i].count;
}

static bool own_at(const vkt_optim *o, uint64_t at)
{
    for (size_t i = 0; i < o->n_stretches; i++)
        if (at - o->stretches[i].at.offset < o->stretches[i].at.count) return o->stretches[i].own;
    return false;
}

vkt__range *vkt__stretches_places(const vkt_optim *o, const char *name, uint64_t *total)
{
    vkt__range *places = vkt__alloc(o->n_params * sizeof *places);
    *total = 0;
    for (size_t i = 0; i < o->n_params; i++) {
        const vkt_param *p = &o->params[i];
        places[i] = (vkt__range) { *total, count_of(o, i, name, own_at(o, p->offset)) };
        *total +=
            vkt__align(places[i].count == p->count ? VKT_MAX(p->count, p->room) : places[i].count,
                       VKT_PARAM_ALIGN);
    }
    return places;
}

/* ---- words ---- */

void vkt__optim_explain(const vkt_optim *o, vkt__str *out)
{
    const vkt__rule *r = vkt__rule_at((uint32_t)o->desc.rule);
    size_t n = 0;
    if (!r->rest) return;
    vkt__str_printf(out, "optimizer\n  %s, hidden layers' matrices:", r->name);
    for (int own = 1; own >= 0; own--, n = 0) {
        for (size_t i = 0; i < o->n_params; i++) {
            if (own_at(o, o->params[i].offset) != own) continue;
            vkt__str_printf(out, "%s%s", n++ ? ", " : " ", o->params[i].name);
        }
        vkt__str_printf(out, "%s\n", n ? "" : " none");
        if (own)
            vkt__str_printf(out, "  %s at %g of its rate, the others:", vkt__rule_at(r->rest)->name,
                            (double)o->desc.rest_lr);
    }
}
