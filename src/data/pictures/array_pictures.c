/* array_pictures.h: the pixels stay bytes, as IDX images do; the loader converts them. */
#include "data/pictures/array_pictures.h"
#include "data/pictures/constants.h"

static vkt_status check_pixels(const vkt__arrays *a, uint32_t shape[3])
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
    return VKT_OK;
}

/* Pixels and labels as part 0. */
static vkt_status make_part(vkt_dataset *ds, const vkt__arrays *a, uint8_t **block)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    uint32_t n = a->x.shape[0];
    VKT_TRY(vkt__data_alloc(n, sizeof *part->labels, "labels", &part->labels));
    memset(part->labels, 0, n * sizeof *part->labels);
    if (a->has_y && ds->schema.task == VKT_TASK_CLASSIFY)
        VKT_TRY(vkt__array_labels(&ds->schema, a, NULL, n, part->labels));
    part->n = n;
    part->pixels = memmove(*block, a->x.data, (size_t)a->x.n_bytes);
    *block = NULL;
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
    VKT_TRY(check_pixels(a, s->input_shape));
    s->kind = VKT_DATA_KIND_PICTURES;
    s->input_rank = 3;
    s->n_inputs = (uint32_t)(a->x.n / a->x.shape[0]);
    VKT_TRY(vkt__array_classes(ds, a));
    VKT_TRY(make_part(ds, a, block));
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
    VKT_TRY(check_pixels(a, shape));
    if (memcmp(shape, want, sizeof shape) != 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has images of %ux%ux%u, not the model's %ux%ux%u: resize them",
                         a->name, shape[0], shape[1], shape[2], want[0], want[1], want[2]);
    VKT_TRY(make_part(ds, a, block));
    ds->info.source = vkt__arena_printf(&ds->arena, "npy %s: %u images%s", a->name, ds->part[0].n,
                                        a->has_y ? "" : ", no labels");
fail:
    return st;
}
