/* The op row, nodes and tensors, and what a row's shape rule and builder call. A row holds
 * everything about one op: shape rule, recording with declared reads and writes, gradient,
 * double-precision C twin, cost, sample cases. One node is one dispatch; an op that needs two (a
 * two-stage reduction) is two nodes. What lies in the graph itself is graph.h's.
 *
 * Declared accesses: a node reads its inputs and writes its outputs, and also writes the inputs
 * that its row calls VKT_CHANGED. The planner derives levels and barriers from this and nothing
 * else. */
#ifndef VKT_TENSOR_OP_H
#define VKT_TENSOR_OP_H

#include "base/words.h"
#include "vktrain/tensor.h"

enum { VKT_MAX_IN = 11, VKT_MAX_OUT = 5, VKT_MAX_STAGES = 3 };

typedef struct vkt_node vkt_node;
typedef struct vkt__rec vkt__rec;

typedef struct vkt_cost {
    double flops, bytes;
} vkt_cost;

/* What a row says of one operand: its traits, added up. */
typedef uint16_t vkt_traits;
enum {
    VKT_OPTIONAL = 1 << 0, /* input: may be NULL */
    VKT_WORDS = 1 << 1,    /* input: is u32, or may be where it is VKT_NARROW, too; any other input
                              that is u32 is a shape error */
    VKT_CHANGED = 1 << 2,  /* input: is read and written */
    VKT_INPLACE = 1 << 3,  /* the output (there is one at most) takes the memory of the first of
                              the inputs that dies here */
    /* 16 bits (f16, bf16) */
    VKT_NARROW = 1 << 4,     /* input: may have them, otherwise they are a shape error; output: may
                                have them, and is f32 until mixed precision decides (precision.c) */
    VKT_NARROW_ODD = 1 << 5, /* input: even where its last dimension is odd: its rows share words */
    VKT_FACTOR = 1 << 6,     /* input: of a product, which mixed precision always gives 16 bits */
    VKT_MAY_NARROW = 1 << 7, /* input, output: may have them where `can_narrow` says so */
    VKT_MAY_ALIKE = 1 << 8   /* input: of those, all or none */
};

typedef struct vkt_op vkt_op;
struct vkt_op {
    const char *name;
    uint32_t n_in, n_out; /* most it takes and makes */
    vkt_traits in[VKT_MAX_IN], out[VKT_MAX_OUT];
    bool at_use; /* it runs just before its result is read, again for the backward pass: the result
                    is large and quickly made (unpacks.c) */
    bool alike;  /* all of them but factors have 16 bits, or none has */
    /* What mixed precision changes within node n before it looks at tensors; false, or NULL:
     * nothing. */
    bool (*narrow)(const vkt_gpu *gpu, vkt_node *n, vkt_dtype to);
    /* Whether n, as it is then, takes that type for operands that are VKT_MAY_NARROW, too; its
     * outputs have it all or none. */
    bool (*can_narrow)(const vkt_node *n, vkt_dtype type);
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
    /* For a u32 input that the row changes and that packs four 8-bit codes a word: the whole number
     * that a byte stands for. The device may differ from the twin by one where fp32 rounding
     * decides, in a few words (vkt__code_check_of). NULL: words are compared bit for bit. */
    int (*code)(uint32_t input, uint32_t byte);
    /* Builds sample case i into g and returns its name ("tall", "one column"), NULL past the last.
     * Inputs come from vkt__sample. op: the row itself, for what rows share. Every case is run on
     * every driver by doctor and the tests. */
    const char *(*sample)(const vkt_op *op, vkt_graph *g, uint32_t i);
};

/* Sides of a picture whose padding may differ from the top's. */
enum { VKT__BOTTOM, VKT__LEFT, VKT__RIGHT };
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
        uint32_t more[3]; /* padding at the bottom, left and right, less pad, modulo 2^32 */
        uint32_t more_stride, more_dilation; /* of columns, less those of rows, modulo 2^32 */
        vkt_act act;
        uint32_t kernel, slices;
        vkt_conv_pass pass; /* set by the row's shape rule */
        vkt_dtype multiply; /* of 16 bits: x and w are rounded to it where they are multiplied */
        uint32_t stats;     /* pixels of a tile whose means and squares, out[2] and out[3], are
                               written too; 0: of none */
    } conv;
    struct {
        uint32_t kh, kw, stride, pad, h, w; /* h, w: of dx */
        uint32_t more_stride, more_pad;     /* of columns, less those of rows, modulo 2^32 */
        uint32_t
            more_after[2]; /* padding at the bottom and right, less that before, the same way */
        bool ceil, pixels_only;
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
    /* stages in order; operand k of the row belongs to stage k. At most one dropout or noise; the
     * latter has dropout_id, too. */
    struct {
        uint32_t n;
        struct {
            uint32_t op;
            vkt_act act;
            float s;
        } stage[VKT_MAX_STAGES];
        float dropout_p;
        uint32_t dropout_id;
    } chain;
    struct {
        float eps;
        bool rms, bias, plus_one; /* plus_one: the gain is 1 + w */
        uint32_t chunk;
    } norm;
    /* whole: rows of all devices' batches together, 0: these. group_rows: of a ghost batch. fixed:
     * by the running averages. pool_*: of batch_norm_pool. */
    struct {
        uint32_t group_rows;
        uint32_t chunk; /* rows that were merged already; 0: as batch_stats does it */
        float eps, momentum, whole;
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
        float size;
        uint32_t id;
    } noise;
    struct {
        float smoothing;
        uint32_t ignore;
        uint32_t classes; /* of the logits' columns, the rest being padding; 0: all */
        bool slope;       /* out[VKT_XENT_OUT_DLOGITS] is written, for dloss 1 or the one given */
    } xent;
    struct {
        vkt_element_loss kind;
        float delta;
    } element_loss;
    struct {
        float gamma;
    } focal;
    struct {
        uint32_t chunk;
        bool square;
    } sum;
    struct {
        vkt_dtype to;
    } cast;
    /* of general ops. part: VKT_ND_*, what of fn (vkt_fn, vkt_fn2) is computed */
    struct {
        uint32_t part, fn;
        float s, t;
    } map;
    struct {
        vkt_shape shape;
        uint32_t first[VKT_MAX_RANK], step[VKT_MAX_RANK]; /* of x in the result, or the reverse */
        float value;
        vkt_padding kind;
    } window;
    struct {
        uint32_t order[VKT_MAX_RANK], flips; /* flips: x's axes, from the last to the first */
    } permute;
    struct {
        vkt_reduction kind;
        uint32_t axes;
    } reduce;
    struct {
        uint32_t axis, size;
        bool backward;
    } along;
    struct {
        uint32_t from, to, inner; /* ids [.., from, inner] of an axis of `to` elements */
        uint32_t run;             /* id_sort: length of the runs, 0: none yet; id_segments: elements
                                     and one more */
    } sort;
    struct {
        vkt_resize_kind kind;
        uint32_t h, w; /* of the result */
        bool align_corners;
    } resize;
    struct {
        uint32_t n; /* gradient: rows of the table */
    } embedding;
    struct {
        vkt_rnn_kind kind;
        bool reverse;
    } rnn;
    struct {
        vkt_quant kind;
        vkt_shape shape; /* of what is packed */
    } unpack;
    struct {
        uint32_t plain, n; /* columns that are no ids; gradient: rows of the table */
    } lookup;
    /* of mixtures of experts */
    struct {
        uint32_t k, experts;
        bool norm;
        vkt_layout layout;
    } route;
    struct {
        uint32_t head, rotated; /* D; heads that are rotated */
        bool halves, back;
    } rope;
    struct {
        vkt_act act;
    } gated;
    struct {
        uint32_t column[2]; /* first column that is kept of the new keys, of the new values */
    } cache;
    /* kernel 0: by device; tests name one */
    struct {
        uint32_t heads, kv_heads, head, window, kernel;
        uint32_t parts; /* of attention_parts: of the keys */
        bool full;
        float scale, cap;   /* cap 0: none */
        vkt_dtype multiply; /* of 16 bits: what products multiply is rounded to it */
    } attention;
    struct {
        uint32_t scale_every; /* struct vkt_loss_scale; 0: none */
        bool square;          /* in[0] is yet to be squared */
    } state;
    struct {
        uint32_t rule;
        bool torch;
        float beta1, beta2, beta3, eps;
        uint32_t first; /* optim_update8: its first element's number among all */
        uint32_t rows;  /* of a matrix; 0: a vector */
        bool columns;   /* optim_line: of columns, not of rows */
    } optim;            /* rule: VKT_UP_* */
} vkt_attr;

/* How vkt_check_ops fills a tensor. CYCLE: i % limit, ids whose ORDER (limit: how many ids) and
 * SEGMENTS (limit: how many rows; as many ids as it has elements, less one) are known. DOCUMENTS:
 * first position of each token's document, `limit` tokens long, over the last dimension. CONSTANT:
 * the number `limit`. PACKED: words of numbers packed as the vkt_quant `limit`. */
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
    VKT_HINT_CONSTANT,
    VKT_HINT_PACKED
};

static inline uint32_t vkt__conv_pad(const vkt_attr *a, uint32_t side)
{
    return a->conv.pad + a->conv.more[side];
}

/* Of columns. */
static inline uint32_t vkt__conv_stride_w(const vkt_attr *a)
{
    return a->conv.stride + a->conv.more_stride;
}

static inline uint32_t vkt__conv_dilation_w(const vkt_attr *a)
{
    return a->conv.dilation + a->conv.more_dilation;
}

struct vkt_tensor {
    vkt_graph *g;
    const char *name;       /* for plans and errors; NULL for unnamed */
    vkt_tensor *next_named; /* with a name that falls into the same place of the graph's table */
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
    const float *numbers; /* an input that holds these in every run: see known.h; or NULL */
    uint32_t room; /* bound: rows that its memory has, past the shape's zeros; 0: the shape's */
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
    bool backward;  /* made by or after differentiation */
    bool late;      /* recomputed: not before the backward nodes that stand before it */
    uint64_t print; /* of what it reads and writes, as uses.c knows it */
};

/* Bit i: the row's input i, or output i, has that trait. */
uint32_t vkt__inputs_with(const vkt_op *op, vkt_traits trait);
uint32_t vkt__outputs_with(const vkt_op *op, vkt_traits trait);

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
bool vkt__shape_equal(vkt_shape a, vkt_shape b);
uint32_t vkt__last(vkt_shape s);    /* last dimension; 1 for rank 0 */
uint32_t vkt__rows_of(vkt_shape s); /* product of all but the last */
/* "x [128, 784] f32" for messages; four buffers take turns. */
const char *vkt__text(const vkt_tensor *t);
/* The device that the graph is for; NULL: it is only planned. */
vkt_gpu *vkt__gpu_of(const vkt_graph *g);
/* What an op gives when something was wrong: later ops pass it on. */
vkt_tensor *vkt__inert(const vkt_graph *g);
/* A new number for a dropout, by which its mask differs from the others'. */
uint32_t vkt__new_dropout(vkt_graph *g);

#endif
