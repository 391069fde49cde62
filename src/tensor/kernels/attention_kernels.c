/* attention.h. Kernels attention.comp, attention_one.comp, attention_query.comp, attention_dq.comp,
 * attention_dkv.comp, and attention_tiled.comp and attention_matrix.comp with their like for the
 * gradients. */
#include "tensor/kernels/attention.h"

#include "tensor/graph/workgroup.h"
#include "tensor/kernels/class_sets.h"

vkt__att_dims vkt__att_dims_of(const vkt_node *n)
{
    vkt_shape q = n->in[VKT__ATT_Q]->shape;
    vkt__att_dims d = { .B = q.d[0],
                        .T = q.d[1],
                        .S = q.d[1],
                        .H = n->attr.attention.heads,
                        .Hkv = n->attr.attention.kv_heads,
                        .D = n->attr.attention.head };
    d.q_row = vkt__last(q);
    d.kv_row = d.q_row;
    if (n->in[VKT__ATT_K]) {
        d.S = n->in[VKT__ATT_K]->shape.d[1];
        d.kv_row = vkt__last(n->in[VKT__ATT_K]->shape);
    }
    return d;
}

/* A cache may have keys and values in 16 bits, which products of tiles do not read. */
static uint32_t type_of_keys(const vkt_node *n)
{
    return n->in[VKT__ATT_K] ? (uint32_t)n->in[VKT__ATT_K]->dtype : VKT_F32;
}

/* Whether attention_one.comp runs: one query a sequence, on Mesa's CPU driver. It knows no
 * documents: a lone token is in only one. */
static bool is_one(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass)
{
    return pass == VKT__ATT_FORWARD && vkt__att_dims_of(n).T == 1 && vkt__use_pairs(c) &&
           c->subgroup_arith;
}

/* One query a sequence on other devices, a workgroup a head: attention_query.comp. */
static uint32_t query_workgroup(const vkt_caps *c)
{
    return VKT_MIN(c->workgroup, 128);
}

static bool is_query(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass)
{
    uint32_t D4 = n->attr.attention.head / 4;
    return pass == VKT__ATT_FORWARD && vkt__att_dims_of(n).T == 1 && c->subgroup_arith &&
           D4 <= query_workgroup(c);
}

vkt__att_launch vkt__att_of_query(const vkt_caps *c, const vkt_node *n)
{
    uint32_t wg = query_workgroup(c);
    return (vkt__att_launch) { VKT_SHADER_ATTENTION_QUERY,
                               { { VKT_SPEC_WORKGROUP, wg },
                                 { VKT_SPEC_LANES, vkt__lanes(c, wg, VKT__MANY) },
                                 { VKT_SPEC_REDUCE, vkt__reduce_form(c, wg) },
                                 { VKT_SPEC_D4, n->attr.attention.head / 4 },
                                 { VKT_SPEC_TYPE_X, type_of_keys(n) },
                                 { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 } },
                               6,
                               1 };
}

/* Two workgroups a core. A part has some hundred keys, or joining them takes longer; what a window
 * leaves of them. */
uint32_t vkt__att_parts(const vkt_caps *c, const vkt_node *n)
{
    enum { LEAST_KEYS = 512, MOST_PARTS = 32 };
    vkt__att_dims d = vkt__att_dims_of(n);
    uint32_t window = n->attr.attention.window, keys = window ? VKT_MIN(d.S, window) : d.S;
    uint64_t pairs = (uint64_t)d.B * d.H;
    if (!pairs || vkt__att_choose(c, n, VKT__ATT_FORWARD) != VKT__ATT_QUERY) return 1;
    uint64_t parts = VKT_MIN(2 * vkt__cores(c) / pairs, keys / LEAST_KEYS);
    return (uint32_t)VKT_MAX(VKT_MIN(parts, MOST_PARTS), 1);
}

/* Tiles of scores: a row's are handed over among TILED_LANES neighbours. */
enum {
    TILED_WORKGROUP = 128,
    TILED_LANES = 8,
    TILED_COLUMNS = 64,
    TILED_SHARED = 16384, /* bytes, with half of the scores at a time */
    TILED_SHARED_WHOLE = 21504
};

static bool can_tile(const vkt_caps *c)
{
    return c->subgroup_arith && c->subgroup >= TILED_LANES && c->workgroup >= TILED_WORKGROUP &&
           c->shared_bytes >= TILED_SHARED;
}

/* What an attention kernel keeps in registers: arrays of a head's size by row, or, with tiles,
 * tiles of scores and of results. Its shaders: for GPUs, in pairs for CPU drivers, tiled. */
typedef struct {
    uint32_t rows, scores, results;
    vkt__shader shader, pairs, tiled, float16, bfloat16;
} form;
static const form forms[] = {
    [VKT__ATT_FORWARD] = { 2, 1, 1, VKT_SHADER_ATTENTION, VKT_SHADER_ATTENTION_PAIRS,
                           VKT_SHADER_ATTENTION_TILED, VKT_SHADER_ATTENTION_MATRIX_FLOAT16,
                           VKT_SHADER_ATTENTION_MATRIX_BFLOAT16 },
    [VKT__ATT_BWD_Q] = { 3, 2, 1, VKT_SHADER_ATTENTION_DQ, VKT_SHADER_ATTENTION_DQ_PAIRS,
                         VKT_SHADER_ATTENTION_DQ_TILED, VKT_SHADER_ATTENTION_DQ_MATRIX_FLOAT16,
                         VKT_SHADER_ATTENTION_DQ_MATRIX_BFLOAT16 },
    [VKT__ATT_BWD_KV] = { 4, 2, 2, VKT_SHADER_ATTENTION_DKV, VKT_SHADER_ATTENTION_DKV_PAIRS,
                          VKT_SHADER_ATTENTION_DKV_TILED, VKT_SHADER_ATTENTION_DKV_MATRIX_FLOAT16,
                          VKT_SHADER_ATTENTION_DKV_MATRIX_BFLOAT16 },
};

/* Numbers that a row of a tile costs an invocation, and those that registers hold. */
static uint32_t tiled_numbers(const vkt_node *n, const form *f)
{
    uint32_t columns = (n->attr.attention.head / 4 + TILED_LANES - 1) / TILED_LANES;
    return f->scores * TILED_COLUMNS / TILED_LANES + f->results * 4 * columns;
}
static uint32_t tiled_most(const vkt_caps *c)
{
    return c->klass == VKT_GPU_CLASS_NVIDIA || c->klass == VKT_GPU_CLASS_AMD ? 144 : 63;
}

/* The rows of a tile that an invocation has: up to four, fewer where their numbers would not fit
 * registers. */
static uint32_t tiled_rows(const vkt_caps *c, const vkt_node *n, const form *f)
{
    uint32_t rows = 4;
    while (rows > 1 && rows * tiled_numbers(n, f) > tiled_most(c)) rows /= 2;
    return rows;
}

static const form *form_of(vkt__att_pass pass)
{
    return &forms[VKT_MIN(pass, VKT__ATT_BWD_KV)];
}

static void say_gradients(vkt__att_launch *l, vkt__att_pass pass)
{
    if (pass >= VKT__ATT_BWD_KV)
        l->spec[l->n_spec++] = (vkt__constant) { VKT_SPEC_GRADIENTS, pass == VKT__ATT_BWD_K   ? 1
                                                                     : pass == VKT__ATT_BWD_V ? 2
                                                                                              : 3 };
}

/* Staged, a row's arrays of a head's size: the lanes that share them, so that 64 registers do, on
 * Intel 32. over: they do not, where D / 4 is odd or lanes are few. Intel, and CPU drivers for the
 * tests, hold own rows only within HELD_MOST, and do without one of the results beyond it. */
enum { HELD_MOST = 48 };
typedef struct {
    uint32_t lanes;
    bool over, held, splits;
} share;

static share share_of(const vkt_caps *c, uint32_t D, uint32_t kept)
{
    bool intel = c->klass == VKT_GPU_CLASS_INTEL, few = intel || c->klass == VKT_GPU_CLASS_CPU;
    uint32_t lanes = vkt__lanes(c, c->subgroup, VKT__MANY), split = 1, most = intel ? 32 : 64,
             most_split = c->subgroup_arith ? VKT_MIN(lanes, 16) : 1;
    while (split < most_split && kept * D / split > most && D / 4 % (2 * split) == 0) split *= 2;
    return (share) { .lanes = split,
                     .over = kept * D / split > most,
                     .held = !few || kept * D / split <= HELD_MOST,
                     .splits = few && (kept - 2) * D / split > HELD_MOST };
}

/* ---- on matrix units ---- */

/* Rows that a workgroup owns, or twice as many; the largest head, for registers. */
enum { MATRIX_ROWS = 64, MATRIX_MOST_HEAD = 128, MATRIX_MOST_BOTH = 64 };

/* How attention's kernels run on the device's units. fragment: M, N, K. rows: that a workgroup
 * owns; columns: rows of the other side at a time. held: registers keep own rows; Intel has few. */
typedef struct {
    const uint32_t *fragment;
    uint32_t lanes, rows, columns;
    bool held;
} units;

/* A CPU driver takes minutes to compile more than 16 columns: there it has fewer. Lanes: see
 * matmul_units.c. */
static units units_of(const vkt_caps *c, const vkt_node *n, vkt__att_kernel kernel)
{
    bool more_rows = kernel == VKT__ATT_MATRIX_ROWS || kernel == VKT__ATT_MATRIX_BOTH,
         more_columns = kernel == VKT__ATT_MATRIX_KEYS || kernel == VKT__ATT_MATRIX_BOTH;
    bool intel = c->klass == VKT_GPU_CLASS_INTEL, bf16 = n->attr.attention.multiply == VKT_BF16;
    bool few =
        intel || (c->klass == VKT_GPU_CLASS_AMD && n->attr.attention.head > MATRIX_MOST_BOTH);
    uint32_t columns = (few ? 16 : 32) << more_columns;
    return (units) { .fragment = bf16 ? c->coopmat_bf16 : c->coopmat_f16,
                     .lanes = vkt__lanes(c, c->subgroup, 128),
                     .rows = more_rows ? 2 * MATRIX_ROWS : MATRIX_ROWS,
                     .columns = c->type == VKT_GPU_CPU ? 16u >> more_columns : columns,
                     .held = !intel };
}

/* Whole fragments to a head, whole subgroups to a workgroup, vec4 to the lanes that share a row. */
static bool divide(const vkt_caps *c, const units *u, uint32_t D)
{
    const uint32_t *f = u->fragment, parts = u->lanes / f[0];
    return u->lanes % f[0] == 0 && f[1] % (4 * parts) == 0 && D % 8 == 0 && D % f[1] == 0 &&
           D % f[2] == 0 && u->columns % f[1] == 0 && u->columns % f[2] == 0 &&
           u->rows % f[0] == 0 && u->rows / f[0] * u->lanes <= c->workgroup;
}

/* Two tiles of rounded rows and own rows, or these in their place, in halves where they are more;
 * scores, and weights in theirs. */
static uint32_t units_shared(const units *u, uint32_t D)
{
    uint32_t halves = 2 * u->columns < u->rows && D / u->fragment[2] % 2 == 0 ? 2 : 1,
             tiles = 2 * u->columns * (D / 8 + 1),
             rows = u->held ? VKT_MAX(tiles, u->rows * (D / 8 / halves + 1))
                            : tiles + 2 * u->rows * (D / 8 + 1),
             scores = u->rows * (u->columns / 4 + u->lanes / u->fragment[0]);
    return 16 * (rows + scores);
}

/* Intel: a quarter of a thread's registers for sums, as for products; before Xe2, whose subgroups
 * may have 8 lanes, it spills, as convolutions do. */
/* Kernels with more keys or rows are NVIDIA's to time, and a CPU driver's to test: on AMD fewer
 * than six subgroups of them run at a time. */
uint32_t vkt__att_more_on_units(const vkt_caps *c)
{
    return vkt__is_of(VKT__NVIDIA | VKT__CPUS, c) ? VKT__ATT_QUERY - VKT__ATT_MATRIX - 1 : 0;
}

static bool can_use_units(const vkt_caps *c, const vkt_node *n, vkt__att_kernel kernel)
{
    units u = units_of(c, n, kernel);
    if (kernel != VKT__ATT_MATRIX && !vkt__att_more_on_units(c)) return false;
    uint32_t D = n->attr.attention.head;
    bool fixed = c->subgroup_control || c->subgroup_min == c->subgroup_max,
         fits = c->klass == VKT_GPU_CLASS_INTEL
                    ? c->subgroup_min >= 16 && u.fragment[0] * D <= 32 * c->subgroup_min
                    : D <= MATRIX_MOST_HEAD;
    return n->attr.attention.multiply != VKT_F32 && c->coopmat && !c->plain_attention &&
           u.fragment[0] && fixed && c->subgroup_arith && fits && divide(c, &u, D) &&
           units_shared(&u, D) <= c->shared_bytes;
}

static vkt__att_launch on_units(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass,
                                vkt__att_kernel kernel)
{
    const form *f = form_of(pass);
    const units u = units_of(c, n, kernel);
    vkt__att_launch l = { n->attr.attention.multiply == VKT_BF16 ? f->bfloat16 : f->float16,
                          { { VKT_SPEC_WORKGROUP, u.rows / u.fragment[0] * u.lanes },
                            { VKT_SPEC_LANES, u.lanes },
                            { VKT_SPEC_D4, n->attr.attention.head / 4 },
                            { VKT_SPEC_BN, u.columns },
                            { VKT_SPEC_HELD, u.held },
                            { VKT_SPEC_CM, u.fragment[0] },
                            { VKT_SPEC_CN, u.fragment[1] },
                            { VKT_SPEC_CK, u.fragment[2] },
                            { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 },
                            { VKT_SPEC_TYPE_X, (uint32_t)n->in[VKT__ATT_Q]->dtype },
                            { VKT_SPEC_TYPE_Y, (uint32_t)n->out[0]->dtype } },
                          11,
                          u.rows };
    if (pass != VKT__ATT_FORWARD)
        l.spec[l.n_spec++] =
            (vkt__constant) { VKT_SPEC_TYPE_DY, (uint32_t)n->in[VKT__ATT_DY]->dtype };
    say_gradients(&l, pass);
    return l;
}

bool vkt__att_splits(const vkt_caps *c, const vkt_node *n)
{
    switch (vkt__att_choose(c, n, VKT__ATT_BWD_KV)) {
    case VKT__ATT_MATRIX:
    case VKT__ATT_MATRIX_KEYS:
    case VKT__ATT_MATRIX_ROWS:
    case VKT__ATT_MATRIX_BOTH:
        return c->klass == VKT_GPU_CLASS_INTEL || n->attr.attention.head > MATRIX_MOST_BOTH;
    case VKT__ATT_TILED:
        return tiled_numbers(n, form_of(VKT__ATT_BWD_KV)) > tiled_most(c);
    case VKT__ATT_STAGED:
        return share_of(c, n->attr.attention.head, form_of(VKT__ATT_BWD_KV)->rows).splits;
    default:
        return false;
    }
}

/* ---- the choice ---- */

bool vkt__att_fits(vkt__att_kernel kernel, const vkt_caps *c, const vkt_node *n, vkt__att_pass pass)
{
    switch (kernel) {
    case VKT__ATT_DIRECT:
        return c->subgroup_arith;
    case VKT__ATT_TILED:
        return can_tile(c) && type_of_keys(n) == VKT_F32;
    case VKT__ATT_MATRIX:
    case VKT__ATT_MATRIX_KEYS:
    case VKT__ATT_MATRIX_ROWS:
    case VKT__ATT_MATRIX_BOTH:
        return can_use_units(c, n, kernel);
    case VKT__ATT_QUERY:
        return is_query(c, n, pass);
    case VKT__ATT_ONE:
        return is_one(c, n, pass);
    default:
        return true;
    }
}

/* The node's wish, else what is to be timed, else by class; what lanes hand each other needs
 * subgroup operations. One row of a tile an invocation reads shared memory more than rows in
 * registers do, but has few registers.
 */
vkt__att_kernel vkt__att_choose(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass)
{
    vkt__att_kernel kernel = (vkt__att_kernel)n->attr.attention.kernel;
    vkt__att_dims d = vkt__att_dims_of(n);
    if (kernel == VKT__ATT_BY_DEVICE && is_one(c, n, pass)) return VKT__ATT_ONE;
    if (kernel == VKT__ATT_BY_DEVICE) {
        bool few = VKT_MIN(d.T, d.S) < TILED_COLUMNS;
        vkt__att_kernel timed = (vkt__att_kernel)c->attention;
        if (!few && vkt__att_on_units(timed) && vkt__att_fits(timed, c, n, pass)) return timed;
        if (c->klass == VKT_GPU_CLASS_CPU)
            kernel = VKT__ATT_DIRECT;
        else if (is_query(c, n, pass))
            kernel = VKT__ATT_QUERY;
        else if (!few && vkt__is_of(VKT__UNITS, c) && can_use_units(c, n, VKT__ATT_MATRIX))
            kernel = VKT__ATT_MATRIX;
        else
            kernel = few || (tiled_rows(c, n, form_of(pass)) < 2 && d.D <= 64) ? VKT__ATT_STAGED
                                                                               : VKT__ATT_TILED;
    }
    return vkt__att_fits(kernel, c, n, pass) ? kernel : VKT__ATT_STAGED;
}

bool vkt__attention_is_foreign(const vkt_node *n, const vkt_caps *caps)
{
    if (strncmp(n->op->name, "attention", 9) != 0) return false;
    uint32_t kernel = n->attr.attention.kernel;
    return kernel != VKT__ATT_BY_DEVICE && !vkt__att_on_units(kernel) &&
           (kernel == VKT__ATT_DIRECT) != (caps->klass == VKT_GPU_CLASS_CPU);
}

bool vkt__att_on_units(vkt__att_kernel kernel)
{
    return kernel >= VKT__ATT_MATRIX && kernel < VKT__ATT_QUERY;
}

const char *vkt__att_kernel_name(vkt__att_kernel kernel)
{
    static const char *const names[] = {
        [VKT__ATT_DIRECT] = "direct",
        [VKT__ATT_STAGED] = "staged",
        [VKT__ATT_TILED] = "tiled",
        [VKT__ATT_MATRIX] = "matrix",
        [VKT__ATT_QUERY] = "query",
        [VKT__ATT_ONE] = "one",
        [VKT__ATT_MATRIX_KEYS] = "matrix.keys",
        [VKT__ATT_MATRIX_ROWS] = "matrix.rows",
        [VKT__ATT_MATRIX_BOTH] = "matrix.both",
    };
    return names[kernel];
}

/* ---- launches ---- */

/* Half of a row's scores go through shared memory at a time where 16 KiB a workgroup are all, or
 * let more of them run (AMD); elsewhere registers decide. A CPU driver tries both. */
static uint32_t handed(const vkt_caps *c, uint32_t D)
{
    bool half = c->klass == VKT_GPU_CLASS_AMD || c->shared_bytes < TILED_SHARED_WHOLE ||
                (c->klass == VKT_GPU_CLASS_CPU && D % 8 == 0);
    return half ? TILED_COLUMNS / 2 : TILED_COLUMNS;
}

static vkt__att_launch tiled(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass)
{
    const form *f = form_of(pass);
    uint32_t rows = tiled_rows(c, n, f);
    vkt__att_launch l = { f->tiled,
                          { { VKT_SPEC_WORKGROUP, TILED_WORKGROUP },
                            { VKT_SPEC_LANES, vkt__lanes(c, TILED_WORKGROUP, VKT__MANY) },
                            { VKT_SPEC_D4, n->attr.attention.head / 4 },
                            { VKT_SPEC_TM, rows },
                            { VKT_SPEC_HANDED, handed(c, n->attr.attention.head) },
                            { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 } },
                          6,
                          TILED_WORKGROUP / TILED_LANES * rows };
    say_gradients(&l, pass);
    return l;
}

/* CPU drivers: one subgroup a workgroup. GPUs: 16 KiB staged. Intel: half the rows at once, as its
 * compiler loads all before it uses the first. */
static vkt__att_launch in_registers(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass,
                                    uint32_t rows, bool staged)
{
    const form *f = form_of(pass);
    bool intel = c->klass == VKT_GPU_CLASS_INTEL, held = true;
    uint32_t D = n->attr.attention.head, split = 1, at_once = f->rows > 2 ? 4 : 8, wg = c->subgroup,
             lanes = vkt__lanes(c, wg, VKT__MANY);
    if (staged) {
        share s = share_of(c, D, f->rows);
        split = s.lanes;
        held = s.held;
        if (intel || s.over) at_once = intel && s.over ? 1 : at_once / 2;
        wg = VKT_MIN(c->workgroup, 128);
        while (wg / 2 >= rows * split && wg / 2 >= VKT_MAX(c->subgroup, 32)) wg /= 2;
    }
    uint32_t most = 16384 / (8 * D) / 8 * 8;
    vkt__att_launch l = { !staged && vkt__use_pairs(c) ? f->pairs : f->shader,
                          { { VKT_SPEC_WORKGROUP, wg },
                            { VKT_SPEC_LANES, lanes },
                            { VKT_SPEC_D4, D / 4 },
                            { VKT_SPEC_AT_ONCE, at_once },
                            { VKT_SPEC_SPLIT, split },
                            { VKT_SPEC_TILE, staged ? most : 0 },
                            { VKT_SPEC_SHUFFLE, c->subgroup <= 8 },
                            { VKT_SPEC_HELD, held },
                            { VKT_SPEC_TYPE_X, type_of_keys(n) },
                            { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 } },
                          10,
                          wg / split };
    say_gradients(&l, pass);
    return l;
}

vkt__att_launch vkt__att_prepare(const vkt_caps *c, const vkt_node *n, vkt__att_pass pass)
{
    vkt__att_dims d = vkt__att_dims_of(n);
    vkt__att_kernel kernel = vkt__att_choose(c, n, pass);
    switch (kernel) {
    case VKT__ATT_ONE:
        return (vkt__att_launch) { VKT_SHADER_ATTENTION_ONE_PAIRS,
                                   { { VKT_SPEC_WORKGROUP, c->subgroup },
                                     { VKT_SPEC_D4, d.D / 4 },
                                     { VKT_SPEC_TYPE_X, type_of_keys(n) },
                                     { VKT_SPEC_CAPPED, n->attr.attention.cap > 0 } },
                                   4,
                                   1 };
    case VKT__ATT_QUERY:
        return vkt__att_of_query(c, n);
    case VKT__ATT_TILED:
        return tiled(c, n, pass);
    case VKT__ATT_MATRIX:
    case VKT__ATT_MATRIX_KEYS:
    case VKT__ATT_MATRIX_ROWS:
    case VKT__ATT_MATRIX_BOTH:
        return on_units(c, n, pass, kernel);
    case VKT__ATT_STAGED:
        return in_registers(c, n, pass, pass >= VKT__ATT_BWD_KV ? d.S : d.T, true);
    default:
        return in_registers(c, n, pass, pass >= VKT__ATT_BWD_KV ? d.S : d.T, false);
    }
}
