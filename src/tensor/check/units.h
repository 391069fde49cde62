/* Whether matrix units compute what they should. */
#ifndef VKT_TENSOR_UNITS_H
#define VKT_TENSOR_UNITS_H

#include "vktrain/tensor.h"

/* Before products, convolutions and attention of this 16-bit type go there untimed, by the table:
 * once for a device, each kernel runs small ones with known results. A kernel that fails, computes
 * something else or is left out (gpu/journal.h) takes the device's matrix units away, with a line.
 * Nothing happens where the table does not know them. A line tells where fp16 alone has units.
 * DEVICE: it was lost. */
vkt_status vkt__units_check(vkt_gpu *gpu, vkt_dtype type);
/* The part of it that is about attention. */
vkt_status vkt__units_check_attention(vkt_gpu *gpu, vkt_dtype type);

#endif
