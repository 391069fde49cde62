/* Numbers as the device holds them, for the twins. */
#ifndef VKT_TENSOR_VALUE_H
#define VKT_TENSOR_VALUE_H

#include "vktrain/tensor.h"
#include "shaders/params.h"

/* v as dtype holds it: to nearest even, too large becomes Inf. u32 and f32: as it is. */
double vkt__round_to(vkt_dtype dtype, double v);
/* The step block out of a twin's array. */
struct vkt_step_block vkt__ref_step(const double *words);
/* Of dropout: keep iff 24 random bits are at least this. */
uint32_t vkt__dropout_threshold(float p);

#endif
