/* From an ONNX graph to ours: what rows of ops (onnx_op.h) use to put their nodes into a graph.
 *
 * A value is known on the host (shapes and what is computed from them, constants), or a tensor of
 * the graph, or both. ONNX's pictures are [N, C, H, W] and our kernels' [N, H, W, C]: a value
 * remembers which of the two it has, rows ask for the one that they compute on, and what only moves
 * or maps elements keeps the one there is. So two permutations are made per net, not per layer. */
#ifndef VKT_ONNX_ONNX_BUILD_H
#define VKT_ONNX_ONNX_BUILD_H

#include "onnx/onnx_file.h"
#include "vktrain/tensor.h"

/* Numbers known on the host: whole ones, or not. */
typedef struct vkt__onnx_host {
    uint32_t rank;
    int64_t dims[VKT__ONNX_RANK];
    uint64_t count;
    bool whole;
    union {
        int64_t *i;
        double *d;
        uint64_t *bits; /* for what only moves them */
    };
} vkt__onnx_host;

typedef struct vkt__onnx_value {
    int type; /* of its elements; NONE: it is not there */
    uint32_t rank;
    int64_t dims[VKT__ONNX_RANK]; /* in ONNX's order */
    const vkt__onnx_host *host;   /* NULL: not known */
    vkt_tensor *first, *last;     /* in ONNX's order; with axis 1 as the last: NULL: not made */
    int initializer;              /* that it is; -1: none */
    const vkt__onnx_node *by;     /* the node that gave it; NULL: none */
} vkt__onnx_value;

/* What becomes of an initializer. */
typedef enum vkt__onnx_role {
    VKT__ONNX_UNUSED,
    VKT__ONNX_HOST,  /* a constant */
    VKT__ONNX_PARAM, /* trained */
    VKT__ONNX_STATE  /* a running mean or variance */
} vkt__onnx_role;

/* What of a file is built, and how. */
typedef struct vkt__onnx_plan {
    const vkt__onnx *f;
    int out;   /* the value that is the result */
    int *outs; /* [n_outs] all that are asked for; `out` is the last */
    size_t n_outs;
    bool *needed;          /* [n_nodes] */
    vkt__onnx_role *roles; /* [n_initializers] */
    bool *filters;         /* [n_initializers] only filters of convolutions: [KH, KW, CI, CO] */
    int64_t *padding;      /* [n_initializers] of tables the only row of zeros; -1: none */
    char *branch;          /* [n_values] of conditions: 't' or 'f' as the first graph had them */
    vkt__arena arena;
} vkt__onnx_plan;

/* Where the graph's tensors come from. */
typedef struct vkt__onnx_source {
    void *user;
    /* An initializer that is a parameter or a state. */
    vkt_tensor *(*initializer)(void *user, vkt_graph *g, size_t i);
    /* Numbers that are not trained: data of `shape`, f32 or u32, by the same name in every
     * graph. */
    vkt_tensor *(*constant)(void *user, vkt_graph *g, const char *name, vkt_shape shape,
                            vkt_dtype dtype, const vkt__onnx_host *numbers);
    /* Batches that a batch norm has seen, [1] u32. */
    vkt_tensor *(*counter)(void *user, vkt_graph *g, const char *name);
    /* x times initializer i, which is w [out, in] in layout NT, [in, out] in NN, with an adapter
     * beside it; NULL: it has none. The function may be NULL. */
    vkt_tensor *(*adapted)(void *user, vkt_graph *g, size_t i, vkt_tensor *x, vkt_tensor *w,
                           vkt_layout layout);
    /* The rows of a table [V, C] that ids [.., T] u32 name, [.., T, C]; NULL: a gather does it. The
     * function may be NULL. */
    vkt_tensor *(*embedded)(void *user, vkt_graph *g, vkt_tensor *table, vkt_tensor *ids);
} vkt__onnx_source;

typedef struct vkt__onnx_build {
    const vkt__onnx_plan *plan;
    const vkt__onnx *f;
    vkt_graph *g;
    vkt__onnx_value *values; /* [f->n_values] */
    vkt__onnx_source source;
    const vkt__onnx_tensor *const *known; /* [n_inputs] of inputs that are numbers; or NULL */
    bool train, frozen_norms;
    int64_t batch, written;  /* examples; what the file says, 0: a symbol */
    uint64_t numbers;        /* that constants on the host hold together */
    vkt_status st;           /* the first error, which was logged */
    const vkt__onnx_node *n; /* the node that is being built */
    vkt__arena arena;
} vkt__onnx_build;

/* ---- planning ---- */

/* What the n values `outputs` need; 0: the first output. UNSUPPORTED: they need ops that are not
 * known, which the line names and counts. ARG: there is no such value. A name within a function or
 * a branch may stand without its scope where only one has it. */
vkt_status vkt__onnx_plan_create(const vkt__onnx *f, const char *const *outputs, size_t n,
                                 vkt__onnx_plan **out);
/* The same, whatever the ops are: for those who only look. */
vkt_status vkt__onnx_plan_of(const vkt__onnx *f, const char *const *outputs, size_t n,
                             vkt__onnx_plan **out);
/* Whether the value is one of those that are asked for. */
bool vkt__onnx_is_out(const vkt__onnx_plan *p, int value);
/* Once a graph was built: of each If the branch that it took is needed alone. Initializers that
 * only the others use are constants. */
void vkt__onnx_plan_narrow(vkt__onnx_plan *p);
/* The first output of floats. */
const char *vkt__onnx_main_output(const vkt__onnx *f);
void vkt__onnx_plan_destroy(vkt__onnx_plan **p);
/* What a condition is: as the plan's first graph had it, so that no graph takes another branch for
 * its number of examples. *differs: here it would be another. false: it is not known. */
bool vkt__onnx_condition(const vkt__onnx_build *b, int value, bool *is, bool *differs);

/* Whether a picture's value has its channels behind rows and columns, as far as the ops before it
 * tell; `input`: the net's input has. */
bool vkt__onnx_ends_in_channels(const vkt__onnx *f, int value, bool input);

/* What an input of the net is given. */
typedef enum vkt__onnx_feed_kind {
    VKT__ONNX_FEED_NONE, /* nothing asks for it */
    VKT__ONNX_FEED_EXAMPLE,
    VKT__ONNX_FEED_MASK,   /* 1; 0 where the example is padded */
    VKT__ONNX_FEED_PLACES, /* 0, 1, 2, .. along the last axis */
    VKT__ONNX_FEED_NUMBER  /* everywhere the same */
} vkt__onnx_feed_kind;
typedef struct vkt__onnx_feed {
    vkt__onnx_feed_kind kind;
    const char *what; /* for readers */
    double number;
} vkt__onnx_feed;
/* out[n_inputs]: what each input is given, and which is the example; pairs: "NAME=NUMBER, ..", or
 * NULL. The result is NULL, or why it can't be said, in the arena. */
const char *vkt__onnx_feeds(const vkt__onnx_plan *p, const char *pairs, vkt__onnx_feed *out,
                            size_t *example, vkt__arena *a);
/* The numbers of an input that is not the example, which has the sizes dims, batch first, in the
 * file's order; NULL: a size is not known, or there are too many; *why ends a sentence about the
 * input then. */
const vkt__onnx_tensor *vkt__onnx_fed(const vkt__onnx *f, size_t i, const vkt__onnx_feed *feed,
                                      size_t example, const int64_t *dims, const char **why,
                                      vkt__arena *a);

/* A matrix by which examples are multiplied, and that nothing else reads. */
typedef struct vkt__onnx_linear {
    const char *module; /* what its layer is called; NULL: it is no such matrix */
    bool in_first;      /* [in, out]; else [out, in] */
} vkt__onnx_linear;
/* One for each initializer, in the arena; all plans of a file have the same. */
vkt__onnx_linear *vkt__onnx_linears(const vkt__onnx *f, vkt__arena *a);

/* ---- building ---- */

/* Puts the plan's nodes into b->g; inputs[i] is of the file's input i, as ONNX has it, or where
 * `last` is true with channels last. The results are the values of plan->outs. */
vkt_status vkt__onnx_build_graph(vkt__onnx_build *b, vkt_tensor *const *inputs, const bool *last);
void vkt__onnx_build_finish(vkt__onnx_build *b);

/* For a graph that is built for its sizes alone. */
vkt__onnx_source vkt__onnx_sizes_alone(vkt__onnx_plan *p);

/* ---- for rows ---- */

/* Logs "FILE: node 'NAME' (OP): what", once, and remembers that it failed. */
void vkt__onnx_refuse(vkt__onnx_build *b, const char *fmt, ...) VKT_PRINTF(2, 3);

/* Input i of the node; NULL: it is not given. */
vkt__onnx_value *vkt__onnx_in(vkt__onnx_build *b, size_t i);
/* The same, which must be given; else refused, and an empty value. */
vkt__onnx_value *vkt__onnx_need(vkt__onnx_build *b, size_t i);
vkt__onnx_value *vkt__onnx_out(vkt__onnx_build *b, size_t i); /* NULL: nobody asks for it */
bool vkt__onnx_wanted(const vkt__onnx_build *b, size_t i);

int64_t vkt__onnx_int(vkt__onnx_build *b, const char *attr, int64_t otherwise);
float vkt__onnx_float(vkt__onnx_build *b, const char *attr, float otherwise);
const char *vkt__onnx_word(vkt__onnx_build *b, const char *attr, const char *otherwise);
/* A list of whole numbers: of the attribute, or where it is not given of input i (SIZE_MAX: of
 * none), which must be known. At most `most`; their number, -1: not given. */
int vkt__onnx_list(vkt__onnx_build *b, const char *attr, size_t i, int64_t *out, int most);
/* The number that input i, or the attribute, is. */
double vkt__onnx_scalar(vkt__onnx_build *b, const char *attr, size_t i, double otherwise);
/* An axis from 0 on of a rank; refused where there is none. */
uint32_t vkt__onnx_axis(vkt__onnx_build *b, int64_t axis, uint32_t rank);

/* A value as a tensor of floats in ONNX's order, or channels last; as u32 ids, where those below 0
 * count from `size` on back. A value of rank 0 is [1]. */
vkt_tensor *vkt__onnx_first(vkt__onnx_build *b, vkt__onnx_value *v);
vkt_tensor *vkt__onnx_last(vkt__onnx_build *b, vkt__onnx_value *v);
vkt_tensor *vkt__onnx_ids(vkt__onnx_build *b, vkt__onnx_value *v, int64_t size);
/* Whether a value has channels last and nothing else. */
bool vkt__onnx_is_last(const vkt__onnx_value *v);
/* The axis of a tensor with channels last that holds ONNX's axis. */
uint32_t vkt__onnx_last_axis(uint32_t axis, uint32_t rank);
vkt_shape vkt__onnx_shape(vkt__onnx_build *b, const int64_t *dims, uint32_t rank);
uint64_t vkt__onnx_count(const vkt__onnx_value *v);

/* Output 0 is t, of the type, in ONNX's order; its dims are t's unless rank_0, where it has none.
 */
void vkt__onnx_give(vkt__onnx_build *b, size_t i, vkt_tensor *t, int type);
void vkt__onnx_give_rank0(vkt__onnx_build *b, size_t i, vkt_tensor *t, int type);
void vkt__onnx_give_last(vkt__onnx_build *b, size_t i, vkt_tensor *t, int type);
/* As `like` has it. */
void vkt__onnx_give_as(vkt__onnx_build *b, size_t i, vkt_tensor *t, bool last, int type);
void vkt__onnx_give_host(vkt__onnx_build *b, size_t i, const vkt__onnx_host *h, int type);
/* Output 0 is v itself. */
void vkt__onnx_give_same(vkt__onnx_build *b, const vkt__onnx_value *v);

/* Room for numbers of these sizes; NULL: too many, which is refused. */
vkt__onnx_host *vkt__onnx_host_new(vkt__onnx_build *b, const int64_t *dims, uint32_t rank,
                                   bool whole);
vkt__onnx_host *vkt__onnx_host_of(vkt__onnx_build *b, const vkt__onnx_tensor *t);
/* Numbers that a row has made, as a tensor of floats; what: a word for which of the node's. */
vkt_tensor *vkt__onnx_made(vkt__onnx_build *b, const char *what, const vkt__onnx_host *h);
double vkt__onnx_host_number(const vkt__onnx_host *h, uint64_t i);
/* The dims of NumPy's broadcast of n; false: they do not fit. */
bool vkt__onnx_broadcast(const int64_t *a, uint32_t ra, const int64_t *b, uint32_t rb, int64_t *out,
                         uint32_t *rank);

#endif
