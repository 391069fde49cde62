/* A tile of a product in shared memory, for kernels that bring its slices of k themselves: BM x BN sums, BK steps of k at
 * a time, k-major, rows padded by one vec4; a thread keeps TM x TN sums as groups of 4 x 4 spread over the tile. Included
 * where A_ALONG_K and B_ALONG_K say whether an operand's vectors of four lie along k. Source: siboehm's SGEMM ladder,
 * ggml's mul_mm. */
layout(constant_id = VKT_SPEC_BM) const uint BM = 32;
layout(constant_id = VKT_SPEC_BN) const uint BN = 32;
layout(constant_id = VKT_SPEC_BK) const uint BK = 16;
layout(constant_id = VKT_SPEC_TM) const uint TM = 4;
layout(constant_id = VKT_SPEC_TN) const uint TN = 4;
layout(constant_id = VKT_SPEC_ROLLED) const uint ROLLED = 0;

const uint THREADS = (BM / TM) * (BN / TN);    /* = gl_WorkGroupSize.x */
const uint GM = TM / 4, GN = TN / 4;           /* groups of 4 rows, of 4 columns per thread */
const uint SUMS = TM * GN;                     /* vectors of four */
const uint A_STRIDE = BM / 4 + 1, B_STRIDE = BN / 4 + 1;
const uint A_LOADS = BM * BK / 4 / THREADS, B_LOADS = BN * BK / 4 / THREADS;

shared vec4 sa[BK * A_STRIDE], sb[BK * B_STRIDE];

void publish_a(uint j, vec4 v)
{
    if (A_ALONG_K) {
        uint r = j / (BK / 4), at = j % (BK / 4) * 4 * A_STRIDE + r / 4;
        sa[at][r % 4] = v.x;
        sa[at + A_STRIDE][r % 4] = v.y;
        sa[at + 2 * A_STRIDE][r % 4] = v.z;
        sa[at + 3 * A_STRIDE][r % 4] = v.w;
    } else {
        sa[j / (BM / 4) * A_STRIDE + j % (BM / 4)] = v;
    }
}

void publish_b(uint j, vec4 v)
{
    if (B_ALONG_K) {
        uint r = j / (BK / 4), at = j % (BK / 4) * 4 * B_STRIDE + r / 4;
        sb[at][r % 4] = v.x;
        sb[at + B_STRIDE][r % 4] = v.y;
        sb[at + 2 * B_STRIDE][r % 4] = v.z;
        sb[at + 3 * B_STRIDE][r % 4] = v.w;
    } else {
        sb[j / (BN / 4) * B_STRIDE + j % (BN / 4)] = v;
    }
}

/* Adds step kk of the slice in shared memory; for thread (tx, ty) of the tile. */
void multiply_step(inout vec4 acc[SUMS], uint kk, uint tx, uint ty)
{
    vec4 a[GM], b[GN];
    [[unroll]] for (uint i = 0; i < GM; i++) a[i] = sa[kk * A_STRIDE + i * (BM / 4 / GM) + ty];
    [[unroll]] for (uint j = 0; j < GN; j++) b[j] = sb[kk * B_STRIDE + j * (BN / 4 / GN) + tx];
    [[unroll]] for (uint i = 0; i < TM; i++)
        [[unroll]] for (uint j = 0; j < GN; j++) acc[i * GN + j] += a[i / 4][i % 4] * b[j];
}

/* All of them. Most compilers know best how many at a time; Intel's takes all, whatever it spills. */
void multiply(inout vec4 acc[SUMS], uint tx, uint ty)
{
    if (ROLLED != 0)
        [[dont_unroll]] for (uint kk = 0; kk < BK; kk++) multiply_step(acc, kk, tx, ty);
    else
        for (uint kk = 0; kk < BK; kk++) multiply_step(acc, kk, tx, ty);
}
