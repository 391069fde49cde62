/* Shared by the attention kernels on matrices that belong to a whole workgroup (VK_NV_cooperative_matrix2), included where `p` is
 * declared: rows are in memory as operands are, or f32, products are summed in f32. A workgroup owns BM rows (queries, or keys) and
 * walks the rows of the other side BN at a time. Scores never leave registers: what a row has in common is a reduction along it, in
 * every column of a matrix of its own.
 * ELEMENTS: for drivers whose matrices belong to a subgroup, an element at a time, as in matmul_matrix2.comp; so are f32 rows. */
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#include "operand.glsl"
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer operands { operand v[]; };
layout(constant_id = VKT_SPEC_D4) const uint D4 = 16; /* vec4 to a head */
layout(constant_id = VKT_SPEC_BM) const uint BM = 64;
layout(constant_id = VKT_SPEC_BN) const uint BN = 64;
layout(constant_id = VKT_SPEC_TYPE_X) const uint TYPE_ROWS = 0; /* of q, k and v: f32, or the operands' */
layout(constant_id = VKT_SPEC_TYPE_Y) const uint TYPE_RESULTS = 0;
const uint D = D4 * 4;

#include "attention_blocks.glsl"

#ifdef ELEMENTS
const int SCOPE = gl_ScopeSubgroup;
#else
const int SCOPE = gl_ScopeWorkgroup;
#endif
#define own_matrix coopmat<operand, SCOPE, BM, D, gl_MatrixUseA>
#define turned_matrix coopmat<operand, SCOPE, D, BN, gl_MatrixUseB> /* the other side's rows are its columns */
#define other_matrix coopmat<operand, SCOPE, BN, D, gl_MatrixUseB>
#define scores coopmat<float, SCOPE, BM, BN, gl_MatrixUseAccumulator>
#define weights coopmat<operand, SCOPE, BM, BN, gl_MatrixUseA>
#define results coopmat<float, SCOPE, BM, D, gl_MatrixUseAccumulator>

/* Rows of a tensor: element that the first begins with, elements from row to row, the first that is meant, the one past the last. */
#define part uvec4
part rows_of(uint at, uint stride, uint first, uint end)
{
    return part(at * 4 & ~7u, stride * 4 & ~7u, first, end); /* heads are of whole vectors of eight */
}

operand element(f32s x, const part r, bool wide, uint row, uint col)
{
    uint i = r.x + (r.z + row) * r.y + col;
    if (r.z + row >= r.w) return operand(0.0);
    return wide ? operand(x.v[i]) : operands(x).v[i];
}
operand wide_element(const in uint row, const in uint col, const in operand e, const in f32s x, const in part r)
{
    return element(x, r, true, row, col);
}
operand wide_turned(const in uint row, const in uint col, const in operand e, const in f32s x, const in part r)
{
    return element(x, r, true, col, row);
}
operand narrow_element(const in uint row, const in uint col, const in operand e, const in f32s x, const in part r)
{
    return element(x, r, false, row, col);
}
operand narrow_turned(const in uint row, const in uint col, const in operand e, const in f32s x, const in part r)
{
    return element(x, r, false, col, row);
}
float put(const in uint row, const in uint col, const in float y, const in f32s x, const in part r)
{
    uint i = r.x + (r.z + row) * r.y + col;
    if (r.z + row >= r.w) return y;
    if (TYPE_RESULTS == T_F32) x.v[i] = y;
    else operands(x).v[i] = operand(y);
    return y;
}

#ifndef ELEMENTS
#define layout_rows tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV>
layout_rows layout_of(part r, uint count)
{
    layout_rows t = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);
    t = setTensorLayoutStrideNV(setTensorLayoutDimensionNV(t, r.w, D), r.y, 1);
    return sliceTensorLayoutNV(t, r.z, count, 0, D);
}
#endif

/* BM rows, zeros past the last; BN of them; these as columns. */
void load_own(out own_matrix m, f32s x, uint type, part r)
{
#ifndef ELEMENTS
    if (type != T_F32) {
        coopMatLoadTensorNV(m, operands(x).v, r.x, layout_of(r, BM));
        return;
    }
#endif
    if (type == T_F32) coopMatPerElementNV(m, m, wide_element, x, r);
    else coopMatPerElementNV(m, m, narrow_element, x, r);
}
void load_other(out other_matrix m, f32s x, uint type, part r)
{
#ifndef ELEMENTS
    if (type != T_F32) {
        coopMatLoadTensorNV(m, operands(x).v, r.x, layout_of(r, BN));
        return;
    }
#endif
    if (type == T_F32) coopMatPerElementNV(m, m, wide_element, x, r);
    else coopMatPerElementNV(m, m, narrow_element, x, r);
}
void load_turned(out turned_matrix m, f32s x, uint type, part r)
{
#ifndef ELEMENTS
    if (type != T_F32) {
        tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
        coopMatLoadTensorNV(m, operands(x).v, r.x, layout_of(r, BN), turned);
        return;
    }
#endif
    if (type == T_F32) coopMatPerElementNV(m, m, wide_turned, x, r);
    else coopMatPerElementNV(m, m, narrow_turned, x, r);
}

void store(results y, f32s x, part r)
{
#ifdef ELEMENTS
    coopMatPerElementNV(y, y, put, x, r);
#else
    if (TYPE_RESULTS == T_F32) coopMatStoreTensorNV(y, x.v, r.x, layout_of(r, BM));
    else coopMatStoreTensorNV(own_matrix(y), operands(x).v, r.x, layout_of(r, BM));
#endif
}

/* What a row, or column, of scores is seen by, of queries from `first` and keys from `tile` on in sequence b. */
bool is_seen(uint b, uint start, uint t, uint j, uint end)
{
    if (j >= end) return false;
    bool docs = has(VKT_ATT_DOCS);
    uint at = b * p.T;
    return sees(start + t, j, docs ? p.docs.v[at + t] : 0, docs ? p.docs.v[at + min(j, p.T - 1)] : 0);
}

/* For reductions and elements. */
float larger(const in float x, const in float y) { return max(x, y); }
float added(const in float x, const in float y) { return x + y; }
float any_of(const in float x, const in float y) { return x; } /* all are alike */
float scaled(const in uint row, const in uint col, const in float x, const in float by) { return x * by; }
