/* targets.h */
#include "data/boxes/cells.h"
#include "data/boxes/targets.h"

void vkt__boxes_nothing(const vkt_dataset *ds, vkt_label *y)
{
    for (uint32_t k = 0, n = vkt__n_labels(&ds->schema); k < n; k++)
        y[k].f = k % VKT__CELL_TARGETS ? 0 : -1;
}

vkt_status vkt__boxes_target(const vkt_dataset *ds, vkt_split split, uint64_t i,
                             const vkt__moves *moves, vkt__scratch *scratch, vkt_label *y)
{
    vkt_status st = VKT_OK;
    const vkt__objects *o = ds->part[ds->of_part[split]].objects;
    const uint32_t *side = ds->schema.input_shape;
    vkt__object *seen;
    double *taken;
    if (!o) {
        vkt__boxes_nothing(ds, y);
        return VKT_OK;
    }
    uint32_t n_pictures = vkt__moves_pictures(moves);
    uint64_t bytes = vkt__align((o->most * (uint64_t)n_pictures + 1) * sizeof *seen, 16);
    VKT_TRY(
        vkt__scratch_need(scratch, 5, bytes + ds->schema.output_shape[0] * sizeof *taken, &seen));
    taken = (double *)(void *)((char *)seen + bytes);
    vkt__cells_assign(seen, vkt__objects_seen(ds, split, i, moves, seen), side[1], side[0], y,
                      taken);
fail:
    return st;
}

void vkt__boxes_count(const vkt_dataset *ds, vkt_split split, uint64_t *out)
{
    const vkt__objects *o = ds->part[ds->of_part[split]].objects;
    for (uint64_t i = 0; o && i < ds->info.n[split]; i++)
        for (uint64_t k = o->first[ds->index[split][i]]; k < o->first[ds->index[split][i] + 1]; k++)
            out[o->item[k].class]++;
}
