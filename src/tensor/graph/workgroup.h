/* How many invocations a kernel runs with, by device and row length. */
#ifndef VKT_TENSOR_WORKGROUP_H
#define VKT_TENSOR_WORKGROUP_H

#include "gpu/commands.h"

/* Whether floats may be stored two at a time, as 64-bit words. */
bool vkt__stores_pairs(const vkt_caps *c);
/* Whether kernels with a PAIRS variant should use it: Mesa's CPU driver (see common.glsl). */
bool vkt__use_pairs(const vkt_caps *c);
/* VKT_SPEC_LANES of a kernel whose invocations, wg a workgroup, keep `numbers` 32-bit numbers at
 * once: the device's subgroup, or a smaller one where that does not have the registers. */
uint32_t vkt__lanes(const vkt_caps *c, uint32_t wg, uint32_t numbers);
enum { VKT__MANY = 128 }; /* numbers: a tile of sums, a head's row */
/* VKT_SPEC_TOGETHER: rows whose loads leave together, `numbers` a row: see together.glsl. */
uint32_t vkt__together(const vkt_caps *c, uint32_t numbers);
/* Workgroup size for kernels that work row by row or reduce: one subgroup on CPU drivers (a barrier
 * there costs a coroutine switch), up to `most` elsewhere; a power of two, at least one subgroup.
 */
uint32_t vkt__reduce_workgroup(const vkt_caps *c, uint32_t most);
/* How such a workgroup of wg adds up: VKT_SPEC_REDUCE. */
uint32_t vkt__reduce_form(const vkt_caps *c, uint32_t wg);
/* The same for one workgroup per row of `cols`, walked `passes` times: no larger than a short row
 * needs, and large enough for quirk LOOP_TRIPS. */
uint32_t vkt__row_workgroup(const vkt_caps *c, uint32_t cols, uint32_t passes);
/* How a row kernel runs: walking each row `passes` times, or with the row in registers (row.glsl).
 */
typedef struct vkt__row_form {
    bool held;
    uint32_t wg, lanes, reduce; /* VKT_SPEC_WORKGROUP, VKT_SPEC_LANES, VKT_SPEC_REDUCE */
    uint32_t per, wide;         /* held: VKT_SPEC_PER and VKT_SPEC_WIDE */
} vkt__row_form;
/* The form for walking rows with `numbers` 32-bit numbers at once. */
vkt__row_form vkt__row_form_walked(const vkt_caps *c, uint32_t cols, uint32_t passes,
                                   uint32_t numbers);
/* arrays: of `per` floats that the kernel keeps; aligned: every row begins at 16 bytes. */
vkt__row_form vkt__row_form_of(const vkt_caps *c, uint32_t cols, uint32_t passes, uint32_t arrays);
/* For a kernel that holds one row after another and their columns' sums: arrays of `per` floats, as
 * above. It fits any device, in few registers where `per` is 16 at most. cols > 0. */
vkt__row_form vkt__row_form_sums(const vkt_caps *c, uint32_t cols, uint32_t arrays);
/* The same for a kernel that holds rows and has a PAIRS variant, where that runs. */
vkt__row_form vkt__row_form_pairs(const vkt_caps *c, uint32_t cols);

#endif
