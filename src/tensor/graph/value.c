/* Numbers as the device holds them: 16-bit rounding, words of the step block, dropout's limit. */
#include <math.h>

#include "base/half.h"
#include "tensor/graph/op.h"
#include "tensor/graph/value.h"

double vkt__round_to(vkt_dtype dtype, double v)
{
    return dtype == VKT_F16 ? vkt__round_f16(v) : dtype == VKT_BF16 ? vkt__round_bf16(v) : v;
}

struct vkt_step_block vkt__ref_step(const double *words)
{
    uint32_t bits[sizeof(struct vkt_step_block) / 4];
    struct vkt_step_block b;
    for (size_t i = 0; i < VKT_COUNT(bits); i++) bits[i] = (uint32_t)words[i];
    memcpy(&b, bits, sizeof b);
    return b;
}

/* bits / 2^24 >= p, exact as p 2^24 is. */
uint32_t vkt__dropout_threshold(float p)
{
    return (uint32_t)ceil((double)p * 0x1p24);
}
