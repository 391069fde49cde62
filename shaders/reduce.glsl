/* Sum and maximum over a workgroup (one dimension, a power of two of invocations), the same order every time.
 * All invocations get the result. SUBGROUPS: 1 uses subgroup arithmetic, 0 trees in shared memory only. A
 * workgroup of one subgroup needs neither shared memory nor barrier. Every invocation must call. */
layout(constant_id = 3) const uint SUBGROUPS = 1;

shared float red_scratch[gl_WorkGroupSize.x];

#define TREE(OP)                                                                                   \
    uint lane = gl_LocalInvocationID.x;                                                            \
    barrier();                                                                                     \
    red_scratch[lane] = x;                                                                         \
    barrier();                                                                                     \
    for (uint s = gl_WorkGroupSize.x / 2; s > 0; s >>= 1) {                                        \
        if (lane < s) red_scratch[lane] = OP(red_scratch[lane], red_scratch[lane + s]);            \
        barrier();                                                                                 \
    }                                                                                              \
    return red_scratch[0];

float red_plus(float a, float b) { return a + b; }

float tree_add(float x) { TREE(red_plus) }
float tree_max(float x) { TREE(max) }

float wg_add(float x)
{
    if (SUBGROUPS == 0) return tree_add(x);
    float s = subgroupAdd(x);
    if (gl_NumSubgroups == 1) return s;
    barrier();
    if (subgroupElect()) red_scratch[gl_SubgroupID] = s;
    barrier();
    s = 0.0;
    for (uint i = 0; i < gl_NumSubgroups; i++) s += red_scratch[i];
    return s;
}

float wg_max(float x)
{
    if (SUBGROUPS == 0) return tree_max(x);
    float s = subgroupMax(x);
    if (gl_NumSubgroups == 1) return s;
    barrier();
    if (subgroupElect()) red_scratch[gl_SubgroupID] = s;
    barrier();
    s = red_scratch[0];
    for (uint i = 1; i < gl_NumSubgroups; i++) s = max(s, red_scratch[i]);
    return s;
}
