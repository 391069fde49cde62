/* Private to the library: NumPy's array files (.npy), from bytes. */
#ifndef VKT_FORMATS_NPY_H
#define VKT_FORMATS_NPY_H

#include "vktrain/base.h"

typedef enum vkt__npy_type { VKT__NPY_U8, VKT__NPY_I64, VKT__NPY_F32, VKT__NPY_F64 } vkt__npy_type;

/* An array that points into the bytes it was read from: row by row, little endian, not aligned. */
typedef struct vkt__npy {
    vkt__npy_type type;
    uint32_t rank, shape[4]; /* each length is above 0 */
    uint64_t n, n_bytes;     /* product of shape; bytes of the data */
    const uint8_t *data;
} vkt__npy;

/* Versions 1, 2 and 3. FORMAT: another type, order or rank, a header that is not NumPy's, or a
 * length that is not what the header says. */
vkt_status vkt__npy_parse(const void *bytes, size_t n, const char *name, vkt__npy *out);
static inline bool vkt__npy_is_float(const vkt__npy *a)
{
    return a->type == VKT__NPY_F32 || a->type == VKT__NPY_F64;
}
double vkt__npy_number(const vkt__npy *a, uint64_t i);

#endif
