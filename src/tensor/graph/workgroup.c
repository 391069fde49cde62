/* Workgroup sizes and forms of row kernels and reductions, by device and row length. */
#include "base/os.h"
#include "tensor/graph/op.h"
#include "tensor/graph/workgroup.h"

bool vkt__stores_pairs(const vkt_caps *c)
{
    /* Lanes storing 64-bit words, 16 or any: quirk WIDE_STACK. */
    if (strstr(c->driver_info, "Mesa 25.2.")) return false;
    return c->int64 && (c->subgroup <= 8 || vkt__mesa_is_right_wide(c->driver_info));
}

bool vkt__use_pairs(const vkt_caps *c)
{
    return c->klass == VKT_GPU_CLASS_CPU && c->storage8 && vkt__stores_pairs(c);
}

uint32_t vkt__together(const vkt_caps *c, uint32_t numbers)
{
    if (c->klass == VKT_GPU_CLASS_CPU) return 1;
    return c->klass == VKT_GPU_CLASS_INTEL ? 8 / numbers : 8; /* a lane has few registers there */
}

/* Intel: lanes share a thread's registers, 128 of as many numbers as its smallest subgroup has
 * lanes. Others have registers for each lane. */
uint32_t vkt__lanes(const vkt_caps *c, uint32_t wg, uint32_t numbers)
{
    uint32_t lanes = c->subgroup;
    if (c->klass != VKT_GPU_CLASS_INTEL || !c->subgroup_control) return lanes;
    while (lanes > c->subgroup_min && numbers * lanes > 128 * c->subgroup_min &&
           wg / (lanes / 2) <= c->workgroup_subgroups)
        lanes /= 2;
    return lanes;
}

uint32_t vkt__reduce_workgroup(const vkt_caps *c, uint32_t most)
{
    if (c->klass == VKT_GPU_CLASS_CPU && c->subgroup_arith) return c->subgroup;
    uint32_t wg = 1, limit = VKT_MIN(most, c->workgroup);
    while (wg * 2 <= limit) wg *= 2;
    return VKT_MAX(wg, VKT_MIN(c->subgroup, c->workgroup));
}

static uint32_t reduce_form(const vkt_caps *c, uint32_t wg, uint32_t lanes)
{
    enum { TREES, SUBGROUPS, ONE_SUBGROUP };
    bool size_is_known = c->subgroup_control || c->subgroup_min == c->subgroup_max;
    if (!c->subgroup_arith) return TREES;
    return wg == lanes && size_is_known ? ONE_SUBGROUP : SUBGROUPS;
}

uint32_t vkt__reduce_form(const vkt_caps *c, uint32_t wg)
{
    return reduce_form(c, wg, c->subgroup);
}

uint32_t vkt__row_workgroup(const vkt_caps *c, uint32_t cols, uint32_t passes)
{
    uint32_t wg = vkt__reduce_workgroup(c, VKT_MIN(256, VKT_MAX(cols, 1)));
    while ((uint64_t)passes * cols / wg > 50000 && wg * 2 <= c->workgroup) wg *= 2;
    return wg;
}

vkt__row_form vkt__row_form_walked(const vkt_caps *c, uint32_t cols, uint32_t passes,
                                   uint32_t numbers)
{
    uint32_t wg = vkt__row_workgroup(c, cols, passes), lanes = vkt__lanes(c, wg, numbers);
    return (vkt__row_form) { false, wg, lanes, reduce_form(c, wg, lanes), 0, 0 };
}

enum { BESIDE = 24 }; /* numbers that a kernel keeps beside its row */

/* An invocation keeps 4 to 16 elements if the workgroup can grow that far, else up to 96 in all
 * arrays together (40 with 1024 invocations, because a workgroup has 65,536 registers). Longer rows
 * are walked. */
vkt__row_form vkt__row_form_of(const vkt_caps *c, uint32_t cols, uint32_t passes, uint32_t arrays)
{
    vkt__row_form f = vkt__row_form_walked(c, cols, passes, BESIDE);
    if (c->klass == VKT_GPU_CLASS_CPU || cols == 0) return f;
    uint32_t wg = VKT_MIN(c->subgroup, c->workgroup);
    while (wg * 2 <= c->workgroup && (uint64_t)wg * 16 < cols) wg *= 2;
    uint32_t most = VKT_MIN(96, 65536 / wg - BESIDE) / arrays / 4 * 4;
    uint32_t per = (uint32_t)vkt__align((cols + wg - 1) / wg, 4);
    if (per > most) return f;
    uint32_t lanes = vkt__lanes(c, wg, arrays * per + BESIDE);
    return (vkt__row_form) { true, wg, lanes, reduce_form(c, wg, lanes), per, cols % 4 == 0 };
}

/* 4 to 8 elements, if the workgroup can grow that far: there are more arrays. */
vkt__row_form vkt__row_form_sums(const vkt_caps *c, uint32_t cols, uint32_t arrays)
{
    uint32_t wg = VKT_MIN(c->subgroup, c->workgroup);
    while (wg * 2 <= c->workgroup && (uint64_t)wg * 8 < cols) wg *= 2;
    uint32_t per = (uint32_t)vkt__align((cols + wg - 1) / wg, 4),
             lanes = vkt__lanes(c, wg, arrays * per + BESIDE);
    return (vkt__row_form) { true, wg, lanes, reduce_form(c, wg, lanes), per, 1 };
}

vkt__row_form vkt__row_form_pairs(const vkt_caps *c, uint32_t cols)
{
    enum { MOST = 48 }; /* above this, compiling takes too long */
    uint32_t wg = c->subgroup, per = (uint32_t)vkt__align((cols + wg - 1) / wg, 2);
    if (!vkt__use_pairs(c) || !c->subgroup_arith || cols == 0 || cols % 2 || per > MOST)
        return (vkt__row_form) { 0 };
    return (vkt__row_form) { true, wg, wg, vkt__reduce_form(c, wg), per, cols == wg * per ? 2 : 1 };
}
