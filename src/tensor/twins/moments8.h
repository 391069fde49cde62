/* An optimizer's moments in 8 bits: the codes of shaders/optim/moments8.glsl, for the twin and for
 * what reads and writes them on the host. */
#ifndef VKT_TENSOR_MOMENTS8_H
#define VKT_TENSOR_MOMENTS8_H

#include "vktrain/base.h"

typedef enum vkt__moment { VKT__MOMENT_M, VKT__MOMENT_V } vkt__moment;

/* The whole number that a byte stands for: from -128 to 127 (m), from 0 to 255 (v). */
int vkt__moment8_code(vkt__moment kind, uint32_t byte);
double vkt__moment8_decode(vkt__moment kind, uint32_t byte, double scale);
/* The scale of a block whose largest |m| or v is `most`. */
double vkt__moment8_scale(double most);
/* The byte of x in a block of that scale. u: where between two codes it is rounded up, from 0 to
 * below 1; at 1/2 to the nearest, which gives what was decoded its code again. */
uint32_t vkt__moment8_encode(vkt__moment kind, double x, double scale, double u);
/* u of an element at a step. */
double vkt__moment8_u(vkt__moment kind, uint32_t key, uint32_t step, uint32_t element);

#endif
