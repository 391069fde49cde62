/* For loops over rows whose loads depend on nothing before: on GPUs those of TOGETHER rows leave before the first is used, as
 * no compiler turns a loop of unknown length so, and a load takes as long as hundreds of additions. Sums stay in their order.
 * CPU drivers: 1, and the loop over the rest takes all rows. */
#ifndef VKT_TOGETHER_GLSL
#define VKT_TOGETHER_GLSL
layout(constant_id = VKT_SPEC_TOGETHER) const uint TOGETHER = 1;

/* Whether the rows from r on are enough for it. */
bool are_together(uint r, uint end)
{
    return TOGETHER > 1 && r + TOGETHER <= end;
}
#endif
