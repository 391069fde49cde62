/* coco_outlines.h. Source of the text: COCO's API (maskApi.c, rleFrString): numbers of 5 bits a
 * character, the lowest first, bit 5: more follow, bit 4 of the last: the sign; from the third on
 * the difference to the number two before. */
#include <math.h>

#include "data/boxes/coco_outlines.h"

enum { LONGEST_SIDE = 1 << 20 };

/* ---- polygons ---- */

static vkt_status take_polygon(const json_t *list, const char *where, vkt__outlines *o)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n % 2 || n > 2 * (1 << 24))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "%s has a polygon in `segmentation` that is no list of x, y, x, y, ...",
                         where);
    for (size_t k = 0; k < n; k++) {
        const json_t *v = json_array_get(list, k);
        if (!json_is_number(v) || !(fabs(json_number_value(v)) < 1e9))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "%s has a polygon in `segmentation` with something that is no number "
                             "of pixels",
                             where);
    }
    if (n < 6) {
        o->n_thin++;
        return VKT_OK;
    }
    double *to = vkt__outlines_ring(o, (uint32_t)n);
    for (size_t k = 0; k < n; k++) to[k] = json_number_value(json_array_get(list, k));
    return VKT_OK;
}

static vkt_status take_polygons(const json_t *all, const char *where, size_t at, vkt__outlines *o,
                                bool *any)
{
    vkt__outlines_begin(o, at, false);
    for (size_t k = 0; k < json_array_size(all); k++) {
        vkt_status st = take_polygon(json_array_get(all, k), where, o);
        if (st != VKT_OK) return st;
    }
    *any = o->item[at].n > 0;
    return VKT_OK;
}

/* ---- runs ---- */

/* The next number of the text; false: it ends within one, or is none of COCO's. */
static bool next_number(const char **text, int64_t *out)
{
    int64_t v = 0;
    for (int bit = 0; bit < 60; bit += 5) {
        int c = (unsigned char)**text - 48;
        if (c < 0 || c > 63) return false;
        ++*text;
        v |= (int64_t)(c & 31) << bit;
        if (c & 32) continue;
        *out = c & 16 ? v - ((int64_t)1 << (bit + 5)) : v;
        return true;
    }
    return false;
}

/* How many runs there are, their lengths into `to` where it is not NULL; SIZE_MAX: they are not
 * lengths of `pixels` in all. */
static size_t read_runs(const json_t *counts, uint64_t pixels, double *to)
{
    const char *text = json_string_value(counts);
    int64_t v, before[2] = { 0, 0 };
    uint64_t sum = 0;
    size_t n = 0;
    for (; text ? *text != 0 : n < json_array_size(counts); n++) {
        const json_t *number = text ? NULL : json_array_get(counts, n);
        if (text ? !next_number(&text, &v) : !json_is_integer(number)) return SIZE_MAX;
        if (number) v = json_integer_value(number);
        if (text && n > 2) v += before[n % 2];
        before[n % 2] = v;
        if (v < 0 || (uint64_t)v > pixels - sum) return SIZE_MAX;
        sum += (uint64_t)v;
        if (to) to[n] = (double)v;
    }
    return sum == pixels && n < UINT32_MAX ? n : SIZE_MAX;
}

static vkt_status take_runs(const json_t *runs, uint32_t said[2], const char *where, size_t at,
                            vkt__outlines *o, bool *any)
{
    const json_t *size = json_object_get(runs, "size"), *counts = json_object_get(runs, "counts");
    json_int_t h = json_integer_value(json_array_get(size, 0)),
               w = json_integer_value(json_array_get(size, 1));
    bool sane = w > 0 && h > 0 && w < LONGEST_SIDE && h < LONGEST_SIDE &&
                (json_is_string(counts) || json_is_array(counts));
    uint64_t pixels = sane ? (uint64_t)w * (uint64_t)h : 0;
    size_t n = sane ? read_runs(counts, pixels, NULL) : SIZE_MAX;
    if (n == SIZE_MAX)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "%s has a `segmentation` that is neither polygons nor runs of `counts` "
                         "that fill its `size`",
                         where);
    if (said[0] && (said[0] != (uint32_t)w || said[1] != (uint32_t)h))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "%s has runs of a picture of %ux%u, but its picture is said to have %ux%u",
                         where, (uint32_t)w, (uint32_t)h, said[0], said[1]);
    said[0] = (uint32_t)w;
    said[1] = (uint32_t)h;
    *any = n > 1;
    if (!*any) return VKT_OK; /* all of it is outside */
    vkt__outlines_begin(o, at, true);
    read_runs(counts, pixels, vkt__outlines_ring(o, (uint32_t)n));
    return VKT_OK;
}

vkt_status vkt__coco_outline(const json_t *segmentation, uint32_t said[2], const char *where,
                             size_t at, vkt__outlines *o, bool *any)
{
    *any = false;
    if (json_is_object(segmentation)) return take_runs(segmentation, said, where, at, o, any);
    if (!segmentation || json_is_null(segmentation)) return VKT_OK;
    if (json_is_array(segmentation)) return take_polygons(segmentation, where, at, o, any);
    return vkt__fail(VKT_E_FORMAT, "data", "%s has a `segmentation` that is no list and no runs",
                     where);
}
