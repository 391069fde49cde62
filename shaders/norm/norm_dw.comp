#version 460
/* dw[k, c] = sum of dy (s - mean) rstd, db[k, c] = sum of dy, over rows [k * chunk, (k + 1) * chunk): one invocation
 * per (k, c), with PAIRS per two columns; rows in order, neighbours on neighbouring columns. sum_rows adds the chunks.
 * Twin: norm_dw_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#ifdef PAIRS
#include "ahead.glsl"
#define sums vec2
#define LOAD_AS(x, type, i) GET_PAIR(x, type, i)
#define STORE(to, i, x) STORE_PAIR(f32x4s(to), i, x)
const uint W = 2;
#else
#define sums float
#define LOAD_AS(x, type, i) load(x, type, i)
#define STORE(to, i, x) (to).v[i] = x
const uint W = 1;
#endif

#include "together.glsl"

layout(constant_id = VKT_SPEC_RMS) const uint RMS = 0;
layout(constant_id = VKT_SPEC_TYPE_DY) const uint DY = 0;
layout(constant_id = VKT_SPEC_TYPE_S) const uint S = 0;
layout(push_constant, scalar) uniform Push { norm_dw_params p; };

/* 0, having loaded this subgroup's part of as many of the rows from r on as it has lanes, of x. */
uint rows_ahead(u32s x, uint type, uint r, uint c)
{
#ifdef PAIRS
    uint wide = type == T_F32 ? 4 : 2, first = c - gl_SubgroupInvocationID, y = 0;
    uint at = (min(r + gl_SubgroupInvocationID, p.rows - 1) * p.cols + first * W) * wide, last = p.rows * p.cols * wide - 1;
    [[unroll]] for (uint i = 0; i < gl_WorkGroupSize.x * W * 4; i += LINE) y += touch(u8s(x), min(at + i, last), p.flags >> 31);
    return y;
#else
    return 0;
#endif
}

void main()
{
    uint units = p.cols / W, i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint k = i / units, c = i % units;
    if (k >= p.splits) return;
    uint end = min(p.rows, (k + 1) * p.chunk), late = 0;
    sums dw = sums(0.0), db = sums(0.0);
    uint r = k * p.chunk;
    for (; are_together(r, end); r += TOGETHER) {
        sums dy[TOGETHER], s[TOGETHER];
        float mean[TOGETHER], rstd[TOGETHER];
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            dy[j] = LOAD_AS(p.dy, DY, (r + j) * units + c);
            s[j] = LOAD_AS(p.s, S, (r + j) * units + c);
            mean[j] = RMS == 0 ? p.mean.v[r + j] : 0.0;
            rstd[j] = p.rstd.v[r + j];
        }
        [[unroll]] for (uint j = 0; j < TOGETHER; j++) {
            dw += dy[j] * (s[j] - mean[j]) * rstd[j];
            db += dy[j];
        }
    }
    for (; r < end; r++) {
        if ((r & (gl_WorkGroupSize.x - 1)) == 0) late += rows_ahead(p.dy, DY, r + gl_WorkGroupSize.x, c) + rows_ahead(p.s, S, r + gl_WorkGroupSize.x, c);
        sums dy = LOAD_AS(p.dy, DY, r * units + c), s = LOAD_AS(p.s, S, r * units + c);
        if (RMS == 0) s -= p.mean.v[r];
        dw += dy * s * p.rstd.v[r];
        db += dy;
    }
    STORE(p.dw, i + late, dw);
    if ((p.flags & VKT_NORM_BIAS) != 0) STORE(p.db, i, db);
}
