/* Sum and maximum over a workgroup (one dimension, a power of two of invocations), the same order every time.
 * All invocations get the result. SUBGROUPS: 1 uses subgroup arithmetic, 0 trees in shared memory only, 2 says that the
 * workgroup is one subgroup, which needs neither shared memory nor barrier: known beforehand, a CPU driver does not
 * compile every barrier of a path never taken into a coroutine's switch. Every invocation must call. */
layout(constant_id = VKT_SPEC_REDUCE) const uint SUBGROUPS = 1;

shared float red_scratch[gl_WorkGroupSize.x];

bool red_alone() { return SUBGROUPS == 2 || (SUBGROUPS == 1 && gl_NumSubgroups == 1); }

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
    if (red_alone()) return s;
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
    if (red_alone()) return s;
    barrier();
    if (subgroupElect()) red_scratch[gl_SubgroupID] = s;
    barrier();
    s = red_scratch[0];
    for (uint i = 1; i < gl_NumSubgroups; i++) s = max(s, red_scratch[i]);
    return s;
}
