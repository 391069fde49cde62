/* The op row, the graph's own structures, and what rows call. A row holds everything about one op:
 * shape rule, recording with declared reads and writes, gradient, double-precision C twin, cost,
 * sample cases. One node is one dispatch; an op that needs two (a two-stage reduction) is two
 * nodes.
 *
 * Declared accesses: a node reads its inputs and writes its outputs, and also writes the inputs
 * whose bits are set in `mutates`. The planner derives levels and barriers from this and nothing
 * else. */
#ifndef VKT_TENSOR_OP_H
#define VKT_TENSOR_OP_H

#include "gpu/stream.h"
#include "vktrain/tensor.h"
#include "shaders/params.h"

enum { VKT_MAX_IN = 10, VKT_MAX_OUT = 5, VKT_MAX_PASSES = 16 };

typedef struct vkt_node vkt_node;
typedef struct vkt__rec vkt__rec;

typedef struct vkt_cost {
    double flops, bytes;
} vkt_cost;

typedef struct vkt_op {
    const char *name;
    uint32_t n_in, n_out; /* most it takes; inputs may be NULL where the row says optional */
    uint32_t mutates;     /* bit i: in[i] is read and written */
    uint32_t inplace;     /* bit i: out[0] may take the memory of in[i] when that dies here */
    uint32_t inplace_out; /* which output `inplace` speaks of */
    /* 16 bits (f16, bf16). bit i: in[i] may have them, otherwise such an input is a shape error;
     * even with an odd last dimension, so that its rows share words; out[i] may, which is f32 until
     * mixed precision says otherwise (precision.c); in[i] is a factor of a product, which mixed
     * precision always gives 16 bits. */
    uint32_t narrow_in, narrow_odd, narrow_out, factors;
    bool alike; /* all of them but factors have 16 bits, or none has */
    /* Creates the outputs with vkt__out, or reports with vkt__shape_error and returns false. */
    bool (*shape)(vkt_node *n);
    /* One vkt__dispatch, or several that neither read nor write what another writes. */
    void (*record)(vkt__rec *rec, const vkt_node *n);
    /* dy[i]: gradient of out[i] or NULL; sets dx[i] for inputs with vkt__needs(in[i]). NULL: no
     * gradient. */
    void (*grad)(vkt_graph *g, const vkt_node *n, vkt_tensor *const *dy, vkt_tensor **dx);
    /* The twin: same arithmetic in double on arrays of each tensor's elements (u32 as whole
     * numbers); called by vkt__node_ref, which rounds outputs to their dtype. */
    void (*ref)(const vkt_node *n, double *const *in, double *const *out);
    /* NULL: no flops beyond one per output element, every input read once, every output written
     * once. */
    vkt_cost (*cost)(const vkt_node *n);
    /* Name of the kernel that this device uses, for explain. NULL: there is no choice. */
    const char *(*kernel)(const vkt_gpu *gpu, const vkt_node *n);
    /* How many roundings an output element accumulates, for the tolerance. NULL: 4. */
    double (*terms)(const vkt_node *n);
    /* Builds sample case i into g and returns its name ("tall", "one column"), NULL past the last.
     * Inputs come from vkt__sample. Every case is run on every driver by doctor and the tests. */
    const char *(*sample)(vkt_graph *g, uint32_t i);
} vkt_op;

/* What vkt_check_ops should leave out. */
typedef struct vkt__check_desc {
    uint32_t most;    /* sample cases of each row at most; 0: all */
    const char *only; /* names of rows, commas between them; NULL: all */
    bool no_named; /* not the products that name their kernel, which do not depend on the class */
} vkt__check_desc;
vkt_status vkt__check_ops(vkt_gpu *gpu, const vkt__check_desc *desc,
                          void (*fn)(void *user, const vkt_check_result *r), void *user);
/* Ended by NULL. */
extern const vkt_op *const vkt__rows[];
/* What one node must compute and move: its row's cost, or the row's default. */
vkt_cost vkt__node_cost(const vkt_node *n);

enum { VKT__SUMS_OF_A = 1, VKT__SUMS_OF_B };

/* Constants of one node, by op. */
typedef union vkt_attr {
    /* out: the result's type. kernel 0: by device and shape; tests name one. slices > 0: of k, for
     * matmul_parts. */
    struct {
        vkt_layout layout;
        vkt_act act;
        vkt_dtype out;
        uint32_t kernel, slices;
        bool batched;  /* a product per leading index of both operands */
        uint32_t sums; /* TN: out[2] f32 = sums of columns, a bias's gradient: VKT__SUMS_OF_A, [M],
                          or VKT__SUMS_OF_B, [N]; 0: none */
    } matmul;
    /* kh, kw: the filter's; h, w: of dx; kernel, slices: as for matmul. */
    struct {
        uint32_t kh, kw, stride, pad, dilation, groups, h, w;
        vkt_act act;
        uint32_t kernel, slices;
    } conv;
    struct {
        uint32_t kh, kw, stride, pad, h, w; /* h, w: of dx */
    } pool;
    struct {
        int32_t before[2], after[2]; /* of rows, of columns */
    } pad;
    struct {
        uint32_t op;
        vkt_act act;
        float s;
        vkt_shape shape;
    } eltwise;
    /* stages in order; operand k of the row belongs to stage k. At most one dropout. */
    struct {
        uint32_t n;
        struct {
            uint32_t op;
            vkt_act act;
            float s;
        } stage[VKT_CHAIN_STAGES];
        float dropout_p;
        uint32_t dropout_id;
    } chain;
    struct {
        float eps;
        bool rms, bias;
        uint32_t chunk;
    } norm;
    /* group_rows: of a ghost batch. fixed: by the running averages. pool_*: of batch_norm_pool. */
    struct {
        uint32_t group_rows;
        float eps, momentum;
        vkt_act act;
        bool fixed;
        uint32_t pool_h, pool_w, pool_stride;
    } batch;
    struct {
        uint32_t groups;
        float eps;
    } group;
    struct {
        float p;
        uint32_t id;
    } dropout;
    struct {
        float smoothing;
        uint32_t ignore;
        bool slope; /* out[VKT_XENT_OUT_DLOGITS] is written, for dloss 1 */
    } xent;
    struct {
        uint32_t chunk;
        bool square;
    } sum;
    struct {
        vkt_dtype to;
    } cast;
    struct {
        uint32_t n; /* gradient: rows of the table */
    } embedding;
    struct {
        uint32_t head, rotated; /* D; heads that are rotated */
        bool halves, back;
    } rope;
    struct {
        vkt_act act;
    } gated;
    struct {
        uint32_t column[2]; /* of the new keys and values, where what is kept begins */
    } cache;
    /* kernel 0: by device; tests name one */
    struct {
        uint32_t heads, kv_heads, head, window, kernel;
        bool full;
        float scale;
    } attention;
    struct {
        uint32_t scale_every; /* struct vkt_loss_scale; 0: none */
        bool square;          /* in[0] is yet to be squared */
    } state;
    struct {
        uint32_t rule;
        bool torch;
        float beta1, beta2, eps;
    } optim; /* rule: VKT_UP_* */
} vkt_attr;

struct vkt_tensor {
    vkt_graph *g;
    const char *name; /* for plans and errors; NULL for unnamed */
    vkt_shape shape;
    vkt_dtype dtype;
    uint64_t count, bytes;
    vkt_node *node; /* producer; NULL for inputs */
    uint32_t out_index;
    size_t index;        /* in the graph's list */
    vkt_tensor *view_of; /* reshape, slice: same memory */
    uint64_t view_at;    /* slice: first element in view_of */
    vkt_tensor *shadow;  /* the same values in 16 bits, kept up to date by others; or NULL */
    bool inert, kept, needs;
    /* bound: memory of the caller's, per slot */
    bool bound;
    const vkt_buffer *buf[VKT_MAX_SLOTS];
    uint64_t buf_offset[VKT_MAX_SLOTS];
    /* planned: memory in the slab */
    vkt_tensor *home;     /* whose memory it uses (in-place); itself otherwise */
    uint32_t first, last; /* levels at which home's memory is in use */
    uint64_t offset;
    /* how vkt_check_ops fills it */
    struct {
        uint32_t kind, limit;
    } hint;
};

struct vkt_node {
    const vkt_op *op;
    vkt_graph *g;
    vkt_tensor *in[VKT_MAX_IN], *out[VKT_MAX_OUT];
    vkt_attr attr;
    uint32_t level, index;
    bool backward; /* made by or after differentiation */
    bool late;     /* recomputed: not before the backward nodes that stand before it */
};

enum { VKT_MAX_CHUNKS = 64 };

/* What one submission runs: levels first..last, or one part of one level. */
typedef struct vkt__segment {
    uint32_t first, last, part, n_parts;
    double ms; /* shortest of the timed runs */
    vkt__cmd *cmd[VKT_MAX_SLOTS];
} vkt__segment;

struct vkt_graph {
    vkt_gpu *gpu;
    vkt__arena arena;
    vkt_node **nodes;
    size_t n_nodes, cap_nodes;
    vkt_tensor **tensors;
    size_t n_tensors, cap_tensors;
    vkt_status status; /* first latched error */
    const char *where; /* context of the ops being built: layer and recipe line */
    vkt_tensor *inert, *step, *ones;
    vkt_tensor *loss_scale; /* what gradients are multiplied by; NULL: 1 */
    vkt_dtype precision;    /* of activations: see precision.c */
    struct {
        uint32_t n_tensors, n_shadows, n_casts;
        uint64_t saved_bytes;
    } narrow; /* what mixed precision did, for explain */
    uint32_t n_dropout;
    bool differentiated, rewritten, no_rewrite, recompute;
    uint32_t recomputed_ops;
    uint64_t plain_bound; /* slab_bound without recomputation */
    struct {
        uint32_t n;
        double bytes;
    } rewrites[VKT_MAX_PASSES]; /* how often each pass did something; bytes moved less */
    /* plan */
    bool planned, no_reuse;
    uint32_t n_levels, n_slots;
    uint64_t slab_bytes, slab_bound, chunk_bytes;
    /* run */
    vkt_buffer *chunks[VKT_MAX_CHUNKS];
    uint32_t n_chunks;
    const char *label;
    vkt__segment *segments; /* in order; each is a submission */
    uint32_t n_segments;
    double *level_ms;         /* [n_levels] estimated, then measured */
    uint32_t n_timed, n_cuts; /* timed runs of the segments as they are; times that they were cut */
};

/* ---- building ---- */

/* Appends a node; in[] may hold NULLs. Returns it, or NULL when an input is inert or the shapes are
 * wrong. */
vkt_node *vkt__node(vkt_graph *g, const vkt_op *op, vkt_tensor *const *in, size_t n_in,
                    vkt_attr attr);
/* out[0] of vkt__node, or the inert tensor. */
vkt_tensor *vkt__op(vkt_graph *g, const vkt_op *op, vkt_tensor *const *in, size_t n_in,
                    vkt_attr attr);
vkt_tensor *vkt__out(vkt_node *n, uint32_t i, vkt_shape shape, vkt_dtype dtype);
bool vkt__shape_error(vkt_node *n, const char *fmt, ...) VKT_PRINTF(2, 3);
/* The input of that name, or NULL. */
vkt_tensor *vkt__input_named(const vkt_graph *g, const char *name);
/* Bytes of every input read once and every output written once; of what is mutated, both. */
double vkt__node_bytes(const vkt_node *n);
/* Named context for errors of the ops built next; NULL ends it. */
void vkt__where(vkt_graph *g, const char *where);
bool vkt__shape_equal(vkt_shape a, vkt_shape b);
/* Rows [first, first + n) of t, or of a vector elements: its memory, read or written in part. Has
 * no gradient: for rewrites. */
vkt_tensor *vkt__slice(vkt_tensor *t, uint32_t first, uint32_t n);
/* Of t's memory, the element that t begins with. */
uint64_t vkt__view_at(const vkt_tensor *t);
uint32_t vkt__last(vkt_shape s);    /* last dimension; 1 for rank 0 */
uint32_t vkt__rows_of(vkt_shape s); /* product of all but the last */
/* "x [128, 784] f32" for messages; four buffers take turns. */
const char *vkt__text(const vkt_tensor *t);

/* ---- gradients ---- */

bool vkt__needs(const vkt_tensor *t);
/* The gradient of the loss with respect to itself is a marker: rules that can do so skip
 * multiplying by it. */
bool vkt__is_ones(const vkt_tensor *dy);
/* The marker as a real tensor of t's shape; anything else as it is. */
vkt_tensor *vkt__real(vkt_graph *g, vkt_tensor *dy, const vkt_tensor *t);

/* ---- rewrites ---- */

/* Small passes over the nodes, before differentiation or planning; each is equal to the plain
 * graph. */
void vkt__rewrite(vkt_graph *g, bool training);
/* Those that need the whole graph, gradients included: at planning. */
void vkt__rewrite_whole(vkt_graph *g);
/* What they did and what it saves, a line each. */
void vkt__rewrite_explain(const vkt_graph *g, vkt__str *s);
/* What recomputation did and costs, without a line's end; nothing where it was not asked for. */
void vkt__recompute_explain(const vkt_graph *g, vkt__str *s);
struct vkt__pass;
uint32_t vkt__rewrite_count(const vkt_graph *g, const struct vkt__pass *pass);
/* precision.c: what was asked for and done, a line. */
void vkt__precision_explain(const vkt_graph *g, vkt__str *s);
/* For self-tests: everything that rows can have in 16 bits gets them, inputs of the graph too;
 * returns how many tensors. */
size_t vkt__narrow_all(vkt_graph *g, vkt_dtype to);

/* ---- recording ---- */

struct vkt__rec {
    vkt_gpu *gpu;
    const vkt_caps *caps;
    vkt__cmd *cmd;
    uint32_t slot;
    vkt_status status;
    uint32_t part, n_parts; /* of every dispatch; n_parts 0: all of it */
};
uint64_t vkt__addr(const vkt__rec *rec, const vkt_tensor *t); /* 0 for NULL */
/* t's address or, for NULL, that of a tensor at least as long: Mesa 26's lavapipe loads from an
 * address that a whole workgroup shares even where the branch around the load is not taken. */
uint64_t vkt__addr_or(const vkt__rec *rec, const vkt_tensor *t, const vkt_tensor *instead);
/* spec[0..2] are the workgroup size. */
void vkt__dispatch(vkt__rec *rec, const char *kernel, const uint32_t *spec, uint32_t n_spec,
                   const void *push, uint32_t push_bytes, uint64_t groups);
/* Frees the recorded segments; the device is idle. */
void vkt__segments_finish(vkt_graph *g);
/* Records a node, unless it has nothing to do. */
void vkt__record_node(vkt__rec *rec, const vkt_node *n);
/* By the row's cost function, or its default. */
vkt_cost vkt__node_cost(const vkt_node *n);
/* Whether kernels with a PAIRS variant should use it: Mesa's CPU driver (see common.glsl). */
bool vkt__use_pairs(const vkt_caps *c);
/* The kernel's constant for t's type (elem.glsl); an absent tensor's is f32. */
static inline uint32_t vkt__type(const vkt_tensor *t)
{
    return t ? (uint32_t)t->dtype : VKT_F32;
}
/* Workgroup size for kernels that work row by row or reduce: one subgroup on CPU drivers (a barrier
 * there costs a coroutine switch), up to `most` elsewhere; a power of two, at least one subgroup.
 */
uint32_t vkt__reduce_workgroup(const vkt_caps *c, uint32_t most);
/* How such a workgroup of wg adds up: SUBGROUPS of reduce.glsl. */
uint32_t vkt__reduce_form(const vkt_caps *c, uint32_t wg);
/* The same for one workgroup per row of `cols`, walked `passes` times: no larger than a short row
 * needs, and large enough for CPU drivers' limit on loop trips (KERNELS.md, 8.1). */
uint32_t vkt__row_workgroup(const vkt_caps *c, uint32_t cols, uint32_t passes);
/* How a row kernel runs: walking each row `passes` times, or with the row in registers (row.glsl).
 */
typedef struct vkt__row_form {
    bool held;
    uint32_t wg, per, wide; /* held: constants PER and WIDE */
} vkt__row_form;
/* arrays: of `per` floats that the kernel keeps; aligned: every row begins at 16 bytes. */
vkt__row_form vkt__row_form_of(const vkt_caps *c, uint32_t cols, uint32_t passes, uint32_t arrays);
/* The same for a kernel that holds rows and has a PAIRS variant, where that runs. */
vkt__row_form vkt__row_form_pairs(const vkt_caps *c, uint32_t cols);

/* ---- twins ---- */

/* One node's twin; 16-bit outputs are rounded. */
void vkt__node_ref(const vkt_node *n, double *const *in, double *const *out);
/* v as dtype holds it: to nearest even, too large becomes Inf. u32 and f32: as it is. */
double vkt__round_to(vkt_dtype dtype, double v);
/* Runs every node's twin on host memory: init(user, t, data) fills inputs, then done(user, t, data)
 * sees every tensor's values. Bound tensors that share a buffer share memory. */
void vkt__graph_ref(vkt_graph *g, void (*init)(void *user, const vkt_tensor *t, double *data),
                    void *user, void (*done)(void *user, const vkt_tensor *t, const double *data));

/* ---- samples ---- */

/* CYCLE: i % limit, ids whose ORDER (limit: how many ids) and SEGMENTS (limit: how many rows; as
 * many ids as it has elements, less one) are known. DOCUMENTS: first position of each
 * token's document, `limit` tokens long, over the last dimension. CONSTANT: the number `limit`. */
enum {
    VKT_HINT_NORMAL,
    VKT_HINT_INDEX,
    VKT_HINT_POSITIVE,
    VKT_HINT_UNIT,
    VKT_HINT_STEP,
    VKT_HINT_CYCLE,
    VKT_HINT_ORDER,
    VKT_HINT_SEGMENTS,
    VKT_HINT_DOCUMENTS,
    VKT_HINT_CONSTANT
};
vkt_tensor *vkt__sample(vkt_graph *g, vkt_shape shape, vkt_dtype dtype, uint32_t hint,
                        uint32_t limit);
static inline vkt_tensor *vkt__sample2(vkt_graph *g, uint32_t r, uint32_t c)
{
    return vkt__sample(g, vkt_shape2(r, c), VKT_F32, VKT_HINT_NORMAL, 0);
}
static inline vkt_tensor *vkt__sample1(vkt_graph *g, uint32_t c)
{
    return vkt__sample(g, vkt_shape1(c), VKT_F32, VKT_HINT_NORMAL, 0);
}
/* Value of element i of a sample tensor, as GPU and twin both get it (exact in its dtype). */
double vkt__sample_value(const vkt_tensor *t, uint64_t seed, uint64_t i);
/* Element i of t in `data` as its dtype holds it; and back. */
void vkt__sample_encode(const vkt_tensor *t, uint64_t i, double v, void *data);
double vkt__sample_decode(const vkt_tensor *t, uint64_t i, const void *data);
/* The step block out of a twin's array. */
struct vkt_step_block vkt__ref_step(const double *words);
/* Relative error allowed after n_terms roundings in dtype: eps * (4 + 2 sqrt(n_terms)). */
double vkt__tol(vkt_dtype dtype, double n_terms);

#endif
