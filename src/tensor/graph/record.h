/* What a row's record function calls: addresses of tensors, and a dispatch with its constants. */
#ifndef VKT_TENSOR_RECORD_H
#define VKT_TENSOR_RECORD_H

#include "gpu/commands.h"
#include "tensor/graph/op.h"
#include "shaders/params.h"

/* A dispatch: the kernel's shader and constants, what it is pushed, its workgroups. */
typedef struct vkt__launch {
    vkt__shader shader;
    const vkt__constant *spec;
    const void *push;
    uint32_t n_spec, push_bytes, groups;
} vkt__launch;
struct vkt__rec {
    vkt_gpu *gpu;
    const vkt_caps *caps;
    vkt__cmd *cmd;
    uint32_t slot;
    vkt_status status;
    uint32_t part, n_parts; /* of every dispatch; n_parts 0: all of it */
    vkt__str *told;         /* nothing is recorded: lists the dispatches here; else NULL */
    uint32_t *registers;    /* nothing is recorded: the most of a kernel's; else NULL */
    void (*on_launch)(void *user, const vkt__launch *l); /* nothing is recorded: told of each */
    void *user;
    bool wishes; /* nothing is recorded: the kernels are wished for */
};
uint64_t vkt__addr(const vkt__rec *rec, const vkt_tensor *t); /* 0 for NULL */
/* t's address or, for NULL, that of a tensor at least as long: quirk SHARED_LOADS. */
uint64_t vkt__addr_or(const vkt__rec *rec, const vkt_tensor *t, const vkt_tensor *instead);
/* `groups` workgroups of a shader with its constants, the first of them VKT_SPEC_WORKGROUP. */
void vkt__dispatch(vkt__rec *rec, vkt__shader shader, const vkt__constant *spec, uint32_t n_spec,
                   const void *push, uint32_t push_bytes, uint64_t groups);
/* One invocation for each of `count`, in workgroups of at most `most`: a shader without other
 * constants. */
void vkt__dispatch_each(vkt__rec *rec, vkt__shader shader, const void *push, uint32_t push_bytes,
                        uint64_t count, uint32_t most);
/* The kernel's constant for t's type (elem.glsl); an absent tensor's is f32. */
static inline uint32_t vkt__type(const vkt_tensor *t)
{
    return t ? (uint32_t)t->dtype : VKT_F32;
}
/* Records a node, unless it has nothing to do. */
void vkt__record_node(vkt__rec *rec, const vkt_node *n);
/* "tiled.64x64 (128 x 32 lanes)": the kernel that a node of a compiled graph runs, as the row names
 * it, the invocations of a workgroup and of a subgroup; several, where it has several dispatches.
 * Nothing, where the row has no choice. */
void vkt__tell_kernel(const vkt_node *n, vkt__str *out);
/* Registers of an invocation of a compiled graph's node; 0: the driver does not tell. */
uint32_t vkt__node_registers(const vkt_node *n);
/* The buffer in which a planned tensor lies, and the byte at which it begins. */
const vkt_buffer *vkt__place(const vkt_tensor *t, uint32_t slot, uint64_t *offset);

#endif
