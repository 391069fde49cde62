/* array_pictures.h: the pixels stay bytes, as IDX images do; the loader converts them. */
#include "data/pictures/array_pictures.h"
#include "data/pictures/constants.h"

/* Whether [n, A, B, C] is channels first, as PyTorch has them: by the model's shape, or, where
 * there is none yet, because A is as small as a number of channels and C is larger. */
static bool channels_first(const vkt__arrays *a, const uint32_t *want)
{
    enum { MOST_CHANNELS = 4 };
    const uint32_t *s = a->x.shape;
    if (a->x.rank != 4) return false;
    if (!want) return s[1] <= MOST_CHANNELS && s[3] > MOST_CHANNELS;
    bool as_is = s[1] == want[0] && s[2] == want[1] && s[3] == want[2];
    return !as_is && s[2] == want[0] && s[3] == want[1] && s[1] == want[2];
}

/* want: the model's shape, NULL: it will be this. */
static vkt_status check_pixels(const vkt__arrays *a, const uint32_t *want, uint32_t shape[3],
                               bool *turn)
{
    uint64_t n_inputs = a->x.n / a->x.shape[0];
    if (a->x.type != VKT__NPY_U8 || a->x.rank < 3)
        return vkt__fail(
            VKT_E_FORMAT, "data",
            "'%s': pictures are uint8, 0 to 255, in [n, H, W] or [n, H, W, C]: convert "
            "X, as with (255 * X).astype('uint8')",
            a->name);
    if (n_inputs > INT32_MAX)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': one picture has %llu values, too many",
                         a->name, (unsigned long long)n_inputs);
    shape[0] = a->x.shape[1];
    shape[1] = a->x.shape[2];
    shape[2] = a->x.rank == 4 ? a->x.shape[3] : 1;
    *turn = channels_first(a, want);
    if (!*turn) return VKT_OK;
    vkt_log(VKT_LOG_WARN, "data",
            "'%s': X of [n, %u, %u, %u] is taken as [n, channels, height, width]: its channels are "
            "put last",
            a->name, shape[0], shape[1], shape[2]);
    uint32_t channels = shape[0];
    shape[0] = shape[1];
    shape[1] = shape[2];
    shape[2] = channels;
    return VKT_OK;
}

/* [channels, places] of each picture to [places, channels]. */
static vkt_status put_channels_last(uint8_t *pixels, uint32_t n, const uint32_t shape[3])
{
    vkt_status st;
    size_t places = (size_t)shape[0] * shape[1], channels = shape[2];
    uint8_t *one = NULL;
    VKT_TRY(vkt__alloc_large(places, channels, "a picture", &one));
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *x = pixels + i * places * channels;
        memcpy(one, x, places * channels);
        for (size_t c = 0; c < channels; c++)
            for (size_t k = 0; k < places; k++) x[k * channels + c] = one[c * places + k];
    }
    free(one);
fail:
    return st;
}

/* Pixels and labels as part 0. */
static vkt_status make_part(vkt_dataset *ds, const vkt__arrays *a, bool turn, uint8_t **block)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    uint32_t n = a->x.shape[0];
    VKT_TRY(vkt__alloc_large(n, sizeof *part->labels, "labels", &part->labels));
    memset(part->labels, 0, n * sizeof *part->labels);
    if (a->has_y && ds->schema.task == VKT_TASK_CLASSIFY)
        VKT_TRY(vkt__array_labels(&ds->schema, a, NULL, n, part->labels));
    part->n = n;
    part->pixels = memmove(*block, a->x.data, (size_t)a->x.n_bytes);
    *block = NULL;
    if (turn) VKT_TRY(put_channels_last(part->pixels, n, ds->schema.input_shape));
fail:
    return st;
}

vkt_status vkt__array_pictures_open(vkt_dataset *ds, const vkt_data_desc *desc,
                                    const vkt__arrays *a, uint8_t **block)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    if (desc->task != VKT_TASK_CLASSIFY)
        return vkt__fail(VKT_E_ARG, "data",
                         "'%s': X holds pictures, which have classes: task regress needs X [n, "
                         "inputs]",
                         a->name);
    bool turn;
    VKT_TRY(check_pixels(a, NULL, s->input_shape, &turn));
    s->kind = VKT_DATA_KIND_PICTURES;
    s->input_rank = 3;
    s->n_inputs = (uint32_t)(a->x.n / a->x.shape[0]);
    VKT_TRY(vkt__array_classes(ds, a));
    VKT_TRY(make_part(ds, a, turn, block));
    VKT_TRY(vkt__split(ds, desc, NULL, NULL));
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(&ds->arena, "npy %s: %u images of %ux%ux%u, %u classes",
                                        a->name, ds->part[0].n, s->input_shape[0],
                                        s->input_shape[1], s->input_shape[2], s->n_outputs);
fail:
    return st;
}

vkt_status vkt__array_pictures_open_schema(vkt_dataset *ds, const vkt__arrays *a, uint8_t **block)
{
    vkt_status st;
    uint32_t shape[3] = { 0 };
    const uint32_t *want = ds->schema.input_shape;
    bool turn;
    VKT_TRY(check_pixels(a, want, shape, &turn));
    if (memcmp(shape, want, sizeof shape) != 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has images of %ux%ux%u, not the model's %ux%ux%u: resize them",
                         a->name, shape[0], shape[1], shape[2], want[0], want[1], want[2]);
    VKT_TRY(make_part(ds, a, turn, block));
    ds->info.source = vkt__arena_printf(&ds->arena, "npy %s: %u images%s", a->name, ds->part[0].n,
                                        a->has_y ? "" : ", no labels");
fail:
    return st;
}
