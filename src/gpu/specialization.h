/* Kernels: pipelines of the embedded shaders, by the shader's number and its specialization
 * constants by name. No Vulkan types. */
#ifndef VKT_GPU_SPECIALIZATION_H
#define VKT_GPU_SPECIALIZATION_H

#include "gpu/shaders.h"
#include "shaders/spec.h"
#include "vktrain/gpu.h"

typedef struct vkt__kernel vkt__kernel;

/* A specialization constant: VKT_SPEC_... and what it is. */
typedef struct vkt__constant {
    uint32_t id, value;
} vkt__constant;
enum { VKT__MAX_CONSTANTS = 24 };

const char *vkt__shader_name(vkt__shader shader);
/* The kernel of a shader with n constants: VKT_SPEC_WORKGROUP first, and all that the shader
 * declares. VKT_SPEC_LANES: the size of its subgroups, else caps'. Created at first use, kept by
 * the gpu. */
vkt_status vkt__kernel_get(vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec, uint32_t n,
                           vkt__kernel **out);
/* A kernel that will be asked for: vkt__kernels_make creates all such ones at the same time, in
 * threads, for a driver compiles for 50 to 300 ms each. What fails is left to vkt__kernel_get. */
void vkt__kernel_wish(vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec, uint32_t n);
void vkt__kernels_make(vkt_gpu *gpu);
/* A shader's SPIR-V as this device gets it; to be freed. NULL: no memory, or not in this build. */
uint32_t *vkt__kernel_spirv(const vkt_gpu *gpu, vkt__shader shader, size_t *words);
/* The size that its subgroups are made with; 0: the driver's. */
uint32_t vkt__kernel_lanes(const vkt_gpu *gpu, const vkt__constant *spec, uint32_t n);
/* A digest of the SPIR-V and the constants. */
uint64_t vkt__kernel_digest(const vkt_gpu *gpu, vkt__shader shader, const vkt__constant *spec,
                            uint32_t n);
/* A digest of a driver's statistics of the compiled kernel, on a gpu that was opened for them; 0:
 * there are none. */
uint64_t vkt__kernel_compiled(const vkt_gpu *gpu, const vkt__kernel *k);
/* Registers of an invocation, on a gpu that was opened for statistics; 0: not known. */
uint32_t vkt__kernel_registers(const vkt_gpu *gpu, const vkt__kernel *k);

#endif
