/* Shaders whose lanes meet again where a subgroup's operations follow. */
#ifndef VKT_GPU_UNIFORM_FLOW_H
#define VKT_GPU_UNIFORM_FLOW_H

#include "base/memory.h"

/* A copy of a module of one entry point, *words long, that asks for it; to be freed. */
uint32_t *vkt__uniform_flow_declare(const uint32_t *code, size_t *words);

#endif
