/* What elementwise kernels compute of one element; op is VKT_EL_* of params.h. Precise: no product and sum of a chain
 * becomes an fma, so that it gives the bits of its nodes one by one. */
float eltwise(uint op, int act, float x, float y, float s)
{
    precise float z = x;
    if (op == VKT_EL_ADD) z = x + y;
    else if (op == VKT_EL_MUL) z = x * y;
    else if (op == VKT_EL_SCALE) z = x * s;
    else if (op == VKT_EL_FILL) z = s;
    else if (op == VKT_EL_ACT) z = act_fwd(act, x);
    else if (op == VKT_EL_ACT_BWD) z = x * act_bwd(act, y);
    return z;
}

/* Whether y is read. A macro: a constant where op is one. */
#define ELTWISE_BINARY(op) ((op) == VKT_EL_ADD || (op) == VKT_EL_MUL || (op) == VKT_EL_ACT_BWD)
