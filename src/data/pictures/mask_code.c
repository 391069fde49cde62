/* mask_code.h */
#include "data/pictures/mask_code.h"
#include "data/pictures/picture.h"

vkt_status vkt__mask_read(void *bytes, size_t n, const char *name, uint32_t *w, uint32_t *h,
                          bool *colors, uint32_t **out)
{
    vkt_status st;
    uint32_t channels;
    uint8_t *p = NULL;
    *out = NULL;
    VKT_TRY(vkt__picture_numbers(bytes, n, name, w, h, &channels, &p));
    size_t count = (size_t)*w * *h;
    *colors = channels >= 3;
    VKT_TRY(vkt__alloc_large(count, sizeof **out, "the mask", out));
    for (size_t i = 0; i < count; i++) {
        const uint8_t *c = p + i * channels;
        (*out)[i] = *colors ? (uint32_t)c[0] << 16 | (uint32_t)c[1] << 8 | c[2] : c[0];
    }
fail:
    free(p);
    return st;
}

vkt_status vkt__mask_collect(vkt__mask_values *v, const uint32_t *raw, size_t n, bool colors,
                             const char *name, uint32_t *count)
{
    memset(count, 0, (VKT__MASK_CLASSES + 1) * sizeof *count);
    if (v->any && v->colors != colors)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is a mask of %s, but '%s' has %s: save all of them in one way", name,
                         colors ? "colours" : "numbers", v->first, colors ? "numbers" : "colours");
    uint32_t had = v->n;
    for (size_t i = 0, k = 0; i < n; i++) {
        if (k >= v->n || v->value[k] != raw[i]) /* else as the pixel before */
            for (k = 0; k < v->n && v->value[k] != raw[i];) k++;
        if (k > VKT__MASK_CLASSES - (colors ? 1u : 0u)) { /* grey has 255 beside them */
            v->n = had; /* what is refused leaves nothing behind */
            return vkt__fail(
                VKT_E_FORMAT, "data",
                "'%s' brings the masks to more than %d different %s: it is a photograph, or was "
                "resized or compressed so that they were blended",
                name, VKT__MASK_CLASSES, colors ? "colours" : "numbers");
        }
        if (k == v->n) v->value[v->n++] = raw[i];
        count[k]++;
    }
    if (!v->any) v->first = name;
    v->any = true;
    v->colors = colors;
    return VKT_OK;
}

static int rising(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Grey masks of 0 and 255 alone have an object, not something to be left out. */
static bool is_black_and_white(const vkt__mask_values *v)
{
    bool white = false;
    for (uint32_t i = 0; i < v->n; i++) {
        if (v->value[i] && v->value[i] != VKT__MASK_IGNORE) return false;
        white |= v->value[i] == VKT__MASK_IGNORE;
    }
    return white && v->n == 2;
}

void vkt__mask_fit(const vkt__mask_values *v, uint32_t n_named, vkt__arena *arena,
                   vkt__mask_code *out, uint8_t *place)
{
    bool ignores = !v->colors && !is_black_and_white(v);
    *out = (vkt__mask_code) { .colors = v->colors };
    out->value = vkt__arena_alloc(arena, (VKT_MAX(v->n, n_named) + 1) * sizeof *out->value);
    /* Named ones are all there is, seen or not. */
    for (uint32_t i = 0; i < n_named && !v->colors && ignores; i++) out->value[out->n++] = i;
    for (uint32_t i = 0; i < v->n; i++) {
        if (ignores && v->value[i] == VKT__MASK_IGNORE) continue;
        if (!n_named || v->colors || !ignores) out->value[out->n++] = v->value[i];
    }
    qsort(out->value, out->n, sizeof *out->value, rising);
    for (uint32_t i = 0; i < v->n; i++) {
        uint32_t bad;
        vkt__mask_classes(out, &v->value[i], 1, &place[i], &bad);
    }
}

bool vkt__mask_classes(const vkt__mask_code *c, const uint32_t *raw, size_t n, uint8_t *out,
                       uint32_t *bad)
{
    bool ok = true;
    for (size_t i = 0, k = 0; i < n; i++) {
        if (k >= c->n || c->value[k] != raw[i])
            for (k = 0; k < c->n && c->value[k] != raw[i];) k++;
        out[i] = k < c->n ? (uint8_t)k : VKT__MASK_IGNORE;
        if (k < c->n || (!c->colors && raw[i] == VKT__MASK_IGNORE)) continue;
        if (ok) *bad = raw[i];
        ok = false;
    }
    return ok;
}
