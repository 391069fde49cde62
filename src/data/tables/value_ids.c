/* value_ids.h: open addressing, at most half full. */
#include "data/tables/value_ids.h"

static uint64_t hash_text(const char *s)
{
    return vkt__hash(s, strlen(s), 1);
}

/* 0 and -0 are one number. */
static uint64_t hash_number(double v)
{
    uint64_t bits;
    v += 0.0;
    memcpy(&bits, &v, sizeof bits);
    bits ^= bits >> 32;
    bits *= 0x9e3779b97f4a7c15u;
    return bits ^ bits >> 29;
}

static uint64_t hash_of(const vkt__value_ids *v, uint32_t id)
{
    return v->text ? hash_text(v->text[id]) : hash_number(v->number[id]);
}

/* Twice as many slots, or the first ones; and room for half as many values. */
static vkt_status widen(vkt__value_ids *v, bool texts)
{
    vkt_status st;
    uint32_t size = v->size ? 2 * v->size : 64, *slot;
    size_t each = texts ? sizeof *v->text : sizeof *v->number;
    if (v->size >= 1u << 31)
        return vkt__fail(VKT_E_OOM_HOST, "data", "too many different values in a column");
    VKT_TRY(vkt__alloc_large(size, sizeof *slot, "a column's values", &slot));
    memset(slot, 0, size * sizeof *slot);
    void *q = realloc(texts ? (void *)v->text : (void *)v->number, size / 2 * each);
    if (!q) {
        free(slot);
        return vkt__fail(VKT_E_OOM_HOST, "data", "no memory for %u values of a column", size / 2);
    }
    if (texts)
        v->text = q;
    else
        v->number = q;
    for (uint32_t id = 0; id < v->n; id++) {
        uint32_t at = (uint32_t)hash_of(v, id) & (size - 1);
        while (slot[at]) at = (at + 1) & (size - 1);
        slot[at] = id + 1;
    }
    free(v->slot);
    v->slot = slot;
    v->size = size;
fail:
    return st;
}

vkt_status vkt__value_id(vkt__value_ids *v, const char *text, uint32_t *id)
{
    vkt_status st = VKT_OK;
    if (2 * v->n >= v->size) VKT_TRY(widen(v, true));
    uint32_t at = (uint32_t)hash_text(text) & (v->size - 1);
    while (v->slot[at] && strcmp(v->text[v->slot[at] - 1], text) != 0)
        at = (at + 1) & (v->size - 1);
    if (!v->slot[at]) {
        v->text[v->n] = text;
        v->slot[at] = ++v->n;
    }
    *id = v->slot[at] - 1;
fail:
    return st;
}

vkt_status vkt__number_id(vkt__value_ids *v, double number, uint32_t *id)
{
    vkt_status st = VKT_OK;
    if (2 * v->n >= v->size) VKT_TRY(widen(v, false));
    uint32_t at = (uint32_t)hash_number(number) & (v->size - 1);
    while (v->slot[at] && v->number[v->slot[at] - 1] != number) at = (at + 1) & (v->size - 1);
    if (!v->slot[at]) {
        v->number[v->n] = number;
        v->slot[at] = ++v->n;
    }
    *id = v->slot[at] - 1;
fail:
    return st;
}

void vkt__value_ids_finish(vkt__value_ids *v)
{
    free(v->slot);
    free((void *)v->text);
    free(v->number);
    *v = (vkt__value_ids) { 0 };
}
