#version 460
/* table = dtable [K, D]: each row the sum of y = dy over the places that name it, in their order, so nothing is atomic.
 * One invocation per row of the table and 16 of its columns, which goes through all ids; four a trip, so that a driver
 * that counts loop trips (quirk LOOP_TRIPS) gets a quarter of them. Twin: lookup_bwd_ref. */
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(push_constant, scalar) uniform Push { lookup_params p; };

uint m, total, done, at, from, k, last;
vec4 s0, s1, s2, s3;

vec4 four(uint i)
{
    return vec4(p.y.v[min(i, last)], p.y.v[min(i + 1, last)], p.y.v[min(i + 2, last)], p.y.v[min(i + 3, last)]);
}

/* The id at x[at], whose gradients begin at dy[from]. */
void take(uint row)
{
    if (done >= total) return;
    float id = p.x.v[at];
    if (id >= 0.0 && id < float(p.rows) && uint(id) == row) {
        s0 += four(from);
        s1 += four(from + 4);
        s2 += four(from + 8);
        s3 += four(from + 12);
    }
    done++;
    at++;
    from += p.d;
    if (++k < m) return;
    k = 0;
    at += p.plain;
    from += p.plain;
}

void put(uint row, uint first, vec4 s)
{
    uint i = row * p.d + first;
    if (first < p.d) p.table.v[i] = s.x;
    if (first + 1 < p.d) p.table.v[i + 1] = s.y;
    if (first + 2 < p.d) p.table.v[i + 2] = s.z;
    if (first + 3 < p.d) p.table.v[i + 3] = s.w;
}

void main()
{
    uint i = flat_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint parts = (p.d + VKT_LOOKUP_COLUMNS - 1) / VKT_LOOKUP_COLUMNS, row = i / parts,
         first = (i - row * parts) * VKT_LOOKUP_COLUMNS;
    if (row >= p.rows) return;
    m = p.cols - p.plain;
    total = p.n * m;
    last = p.n * (p.plain + m * p.d) - 1;
    at = p.plain;
    from = p.plain + first;
    done = k = 0;
    s0 = s1 = s2 = s3 = vec4(0.0);
    while (done < total) {
        take(row);
        take(row);
        take(row);
        take(row);
    }
    put(row, first, s0);
    put(row, first + 4, s1);
    put(row, first + 8, s2);
    put(row, first + 12, s3);
}
