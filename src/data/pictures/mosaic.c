/* mosaic.h */
#include <math.h>

#include "data/pictures/mosaic.h"
#include "data/pictures/picture_files.h"

static const double smallest = 0.5, largest = 1.2; /* a part's size, of what the model would see */

/* A length of the source that becomes `to`, grown by `scale`; at most `all`. */
static uint32_t length(uint32_t to, double scale, uint32_t all)
{
    double n = round(to / scale);
    return n < 1 ? 1 : (uint32_t)VKT_MIN(n, all);
}

/* A part of the picture, which lies in `all` of the model's, that fills `to`. */
static vkt__box part_for(vkt__dice *d, vkt__box to, vkt__box all)
{
    double scale = exp(vkt__between(d, log(smallest), log(largest)));
    scale = fmax(scale, fmax((double)to.w / all.w, (double)to.h / all.h));
    vkt__box from = { 0, 0, length(to.w, scale, all.w), length(to.h, scale, all.h) };
    from.x = all.x + vkt_rand_below(d->seed, VKT_RNG_AUGMENT, d->next++, all.w - from.w + 1);
    from.y = all.y + vkt_rand_below(d->seed, VKT_RNG_AUGMENT, d->next++, all.h - from.h + 1);
    return from;
}

/* A point of the middle half of n pixels. */
static uint32_t middle_of(vkt__dice *d, uint32_t n)
{
    return n / 4 + vkt_rand_below(d->seed, VKT_RNG_AUGMENT, d->next++, n / 2 + 1);
}

vkt_status vkt__mosaic(const vkt_dataset *ds, vkt_split split, uint64_t i, vkt__dice *d,
                       vkt__scratch *scratch, vkt__moves *moves, const uint8_t **pixels)
{
    vkt_status st = VKT_OK;
    const vkt__part *part = &ds->part[ds->of_part[split]];
    const vkt__schema *s = &ds->schema;
    uint32_t H = s->input_shape[0], W = s->input_shape[1], C = s->input_shape[2],
             x = middle_of(d, W), y = middle_of(d, H);
    uint8_t *own, *spare;
    VKT_TRY(vkt__scratch_need(scratch, 8, 2 * (uint64_t)s->n_inputs, &own));
    spare = own + s->n_inputs;
    moves->n_tiles = VKT__TILES;
    for (uint32_t k = 0; k < VKT__TILES; k++) {
        vkt__tile *t = &moves->tile[k];
        const uint8_t *source;
        uint64_t other =
            k ? vkt_rand_below(d->seed, VKT_RNG_AUGMENT, d->next++, (uint32_t)ds->info.n[split])
              : i;
        t->at = ds->index[split][other];
        t->to = (vkt__box) { k % 2 ? x : 0, k / 2 ? y : 0, k % 2 ? W - x : x, k / 2 ? H - y : y };
        const uint32_t *size = part->size[t->at];
        t->from = part_for(d, t->to, vkt__letterbox(size[0], size[1], W, H));
        if (part->files)
            VKT_TRY(vkt__files_pixels(part->files, s, t->at, scratch, &source));
        else
            source = part->pixels + (size_t)t->at * s->n_inputs;
        VKT_TRY(vkt__picture_resize(source, W, t->from, C, spare, t->to.w, t->to.h));
        for (uint32_t row = 0; row < t->to.h; row++)
            memcpy(own + ((size_t)(t->to.y + row) * W + t->to.x) * C,
                   spare + (size_t)row * t->to.w * C, (size_t)t->to.w * C);
    }
    *pixels = own;
fail:
    return st;
}
