/* Shaders whose casts of addresses a driver can compile. */
#ifndef VKT_GPU_CAST_ADDRESSES_H
#define VKT_GPU_CAST_ADDRESSES_H

#include "base/memory.h"

/* A copy of a module, *words long, that casts each address by way of two words; to be freed. */
uint32_t *vkt__cast_addresses(const uint32_t *code, size_t *words);

#endif
