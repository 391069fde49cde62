/* What a detector's numbers mean, as nodes of an ONNX file: the same boxes and scores as
 * train/detect/found.c finds. */
#include "data/boxes/cells.h"
#include "models/onnx_nodes.h"

/* Elements [first, end) of the last axis. */
static const char *part(vkt__exporter *e, const char *x, int64_t first, int64_t end)
{
    return vkt__emit_node(e, "Slice",
                          VKT__IN(x, vkt__emit_ints(e, &first, 1), vkt__emit_ints(e, &end, 1),
                                  vkt__emit_ints(e, (int64_t[]) { 2 }, 1)),
                          vkt__emit_extra(e));
}

static const char *two(vkt__exporter *e, const char *type, const char *a, const char *b)
{
    return vkt__emit_node(e, type, VKT__IN(a, b), vkt__emit_extra(e));
}

static const char *within(vkt__exporter *e, const char *x, const char *least, const char *most)
{
    return two(e, "Min", two(e, "Max", x, least), most);
}

/* [1, cells, n]: of each cell its middle (n 2) or its stride (n 1). */
static const char *of_cells(vkt__exporter *e, const vkt_dataset_info *info, uint32_t n)
{
    uint32_t cells = info->output_shape[0];
    const char *name = vkt__emit_extra(e);
    float *v = vkt__alloc((size_t)cells * n * sizeof *v);
    for (uint32_t c = 0; c < cells; c++) {
        vkt__cell at = vkt__cell_at(info->input_shape[1], info->input_shape[0], c);
        v[c * n] = (float)(n == 1 ? at.stride : at.x);
        if (n == 2) v[c * n + 1] = (float)at.y;
    }
    vkt__emit_numbers(e, name, (uint64_t[]) { 1, cells, n }, 3, VKT__ONNX_F32, v,
                      (size_t)cells * n * sizeof *v);
    free(v);
    return name;
}

void vkt__emit_found(vkt__exporter *e, const vkt_dataset_info *info, const char *value)
{
    float w = (float)info->input_shape[1], h = (float)info->input_shape[0];
    const float ends[] = { w, h, w, h };
    const char *stride = of_cells(e, info, 1), *edge = vkt__emit_extra(e),
               *zero = vkt__emit_number(e, 0), *longest = vkt__emit_number(e, VKT__DETECT_LONGEST),
               *shortest = vkt__emit_number(e, -VKT__DETECT_LONGEST);
    vkt__emit_numbers(e, edge, (uint64_t[]) { 1, 1, 4 }, 3, VKT__ONNX_F32, ends, sizeof ends);
    const char *middle =
                   two(e, "Add", two(e, "Mul", part(e, value, 0, 2), stride), of_cells(e, info, 2)),
               *size = vkt__emit_node(e, "Exp",
                                      VKT__IN(within(e, part(e, value, 2, 4), shortest, longest)),
                                      vkt__emit_extra(e)),
               *half = two(e, "Mul", two(e, "Mul", size, stride), vkt__emit_number(e, 0.5f)),
               *low = two(e, "Sub", middle, half), *high = two(e, "Add", middle, half);
    vkt__attr_int(e, "axis", 2);
    const char *box = vkt__emit_node(e, "Concat", VKT__IN(low, high), vkt__emit_extra(e));
    vkt__emit_node(e, "Min", VKT__IN(two(e, "Max", box, zero), edge), "boxes");
    vkt__emit_node(
        e, "Sigmoid",
        VKT__IN(two(e, "Add",
                    part(e, value, VKT__DETECT_BOX, VKT__DETECT_BOX + (int64_t)info->n_outputs),
                    vkt__emit_number(e, VKT__DETECT_PRIOR))),
        "scores");
}

/* A box that lies beyond the picture has no area there, and no score. */
static const char *scores_there(vkt__exporter *e)
{
    const char *sides = two(e, "Sub", part(e, "boxes", 2, 4), part(e, "boxes", 0, 2));
    vkt__attr_int(e, "keepdims", 1);
    const char *side =
        vkt__emit_node(e, "ReduceMin", VKT__IN(sides, vkt__emit_ints(e, (int64_t[]) { 2 }, 1)),
                       vkt__emit_extra(e));
    const char *there = two(e, "Greater", side, vkt__emit_number(e, 0));
    vkt__attr_int(e, "to", VKT__ONNX_F32);
    return two(e, "Mul", "scores", vkt__emit_node(e, "Cast", VKT__IN(there), vkt__emit_extra(e)));
}

void vkt__emit_distinct(vkt__exporter *e, double least)
{
    const int64_t order[] = { 0, 2, 1 };
    const char *scores = scores_there(e);
    vkt__attr_ints(e, "perm", order, 3);
    scores = vkt__emit_node(e, "Transpose", VKT__IN(scores), vkt__emit_extra(e));
    vkt__emit_node(e, "NonMaxSuppression",
                   VKT__IN("boxes", scores, vkt__emit_ints(e, (int64_t[]) { VKT__FOUND_MOST }, 1),
                           vkt__emit_number(e, (float)VKT__DETECT_OVERLAP),
                           vkt__emit_number(e, (float)least)),
                   "found");
}
