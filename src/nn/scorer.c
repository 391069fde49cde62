/* scorer.h */
#include "nn/scorer.h"

#include "nn/transformer.h"
#include "tensor/graph/graph.h"

/* Tokens of a batch: enough to fill a device; and bytes of its logits, if it has several texts. */
enum { MOST_TOKENS = 4096, MOST_LOGITS = 64 << 20, SHORTEST = 16, MOST_LANES = 24 };

/* A graph for texts [rows, length]. The line: tokens, then targets. */
typedef struct lane {
    uint32_t rows, length;
    vkt_graph *graph;
    vkt_buffer *line, *loss;
} lane;

struct vkt__scorer {
    vkt_model *m;
    vkt_gpu *gpu;
    const vkt__layer *layer;
    vkt__tshape s;
    uint32_t n_positions, n_lanes;
    lane lanes[MOST_LANES];
};

static uint64_t targets_at(const lane *l)
{
    return vkt__align(4ull * l->rows * l->length, 256);
}

static void lane_finish(vkt__scorer *s, lane *l)
{
    vkt_graph_destroy(&l->graph);
    vkt_buffer_destroy(s->gpu, &l->line);
    vkt_buffer_destroy(s->gpu, &l->loss);
}

static vkt_status lane_create(vkt__scorer *s, lane *l)
{
    vkt_status st;
    uint32_t n = l->rows * l->length;
    vkt_graph *g = l->graph = vkt__graph_new(s->gpu);
    vkt_buffer_desc line = { 2 * targets_at(l), VKT_MEM_UPLOAD, "texts to score" },
                    loss = { 4ull * n, VKT_MEM_READBACK, "losses" };
    VKT_TRY(vkt_buffer_create(s->gpu, &line, &l->line));
    VKT_TRY(vkt_buffer_create(s->gpu, &loss, &l->loss));
    vkt_tensor *tokens = vkt_input(g, vkt_shape2(l->rows, l->length), VKT_U32, "tokens"),
               *target = vkt_input(g, vkt_shape1(n), VKT_U32, "targets");
    vkt_bind(tokens, VKT_ALL_SLOTS, l->line, 0);
    vkt_bind(target, VKT_ALL_SLOTS, l->line, targets_at(l));
    vkt__tbuilder b = { .m = s->m, .g = g, .l = s->layer, .s = s->s };
    vkt_tensor *logits = vkt__transformer_head(&b, vkt__transformer_body(&b, tokens));
    logits = vkt_reshape(g, logits, vkt_shape2(n, s->s.V));
    vkt_bind(vkt_softmax_xent(g, logits, target, NULL, NULL, NULL).loss, VKT_ALL_SLOTS, l->loss, 0);
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = "texts to score" }));
fail:
    return st;
}

/* Half as much again, or a third, so that at most a third of a row is padding. */
static uint32_t length_for(const vkt__scorer *s, uint32_t n)
{
    uint32_t length = SHORTEST;
    while (length < n) length += length & (length - 1) ? length / 3 : length / 2;
    return VKT_MIN(length, s->n_positions);
}

/* Rows of `length` tokens that a batch has at most: a power of two. */
static uint32_t most_rows(const vkt__scorer *s, uint32_t length)
{
    uint64_t tokens = VKT_MIN(MOST_TOKENS, MOST_LOGITS / 4 / s->s.V), rows = 1;
    while (2 * rows * length <= tokens) rows *= 2;
    return (uint32_t)rows;
}

bool vkt__scorer_takes(const vkt__scorer *s, uint32_t n)
{
    uint64_t logits = 4ull * length_for(s, n - 1) * s->s.V;
    return logits <= VKT_MAX((uint64_t)MOST_LOGITS, vkt_gpu_caps(s->gpu)->budget_bytes / 8);
}

static void drop_eldest(vkt__scorer *s)
{
    lane_finish(s, &s->lanes[0]);
    memmove(s->lanes, s->lanes + 1, --s->n_lanes * sizeof *s->lanes);
}

/* With what a new graph took, they have at most a quarter of the device's memory, or it alone. */
static void make_room(vkt__scorer *s, uint64_t bytes)
{
    for (uint32_t i = 0; i < s->n_lanes; i++) bytes += vkt_graph_bytes(s->lanes[i].graph);
    while (s->n_lanes &&
           (s->n_lanes == MOST_LANES || bytes > vkt_gpu_caps(s->gpu)->budget_bytes / 4)) {
        bytes -= vkt_graph_bytes(s->lanes[0].graph);
        drop_eldest(s);
    }
}

/* The graph for up to `rows` texts of up to `length` tokens; the eldest make room. */
static vkt_status lane_for(vkt__scorer *s, uint32_t rows, uint32_t length, lane **out)
{
    lane l = { .rows = 1, .length = length_for(s, length) };
    uint32_t most = most_rows(s, l.length);
    while (l.rows < rows && l.rows < most) l.rows = VKT_MIN(4 * l.rows, most);
    for (uint32_t i = 0; i < s->n_lanes; i++) {
        *out = &s->lanes[i];
        if ((*out)->rows == l.rows && (*out)->length == l.length) return VKT_OK;
    }
    vkt_status st = lane_create(s, &l);
    if (st != VKT_OK) {
        lane_finish(s, &l);
        return st;
    }
    make_room(s, vkt_graph_bytes(l.graph));
    *out = &s->lanes[s->n_lanes++];
    **out = l;
    return VKT_OK;
}

vkt_status vkt__scorer_create(vkt_model *m, uint32_t n_positions, vkt__scorer **out)
{
    vkt__scorer *s = vkt__alloc(sizeof *s);
    const vkt__layer *l = vkt__model_layer(m, 0);
    vkt_status st = VKT_OK;
    *s = (vkt__scorer) { .m = m, .gpu = vkt_model_gpu(m), .layer = l };
    *out = NULL;
    if (!l || l->kind != vkt__transformer_kinds || l->spec.transformer.score)
        st = vkt__fail(VKT_E_ARG, "model", "the model is not a transformer: it can't score text");
    if (st == VKT_OK) st = vkt__transformer_shape(l, vkt__model_n_outputs(m), &s->s);
    if (st != VKT_OK) {
        free(s);
        return st;
    }
    s->n_positions = n_positions ? VKT_MIN(n_positions, s->s.P) : s->s.P;
    *out = s;
    return VKT_OK;
}

void vkt__scorer_destroy(vkt__scorer **ps)
{
    vkt__scorer *s = *ps;
    if (!s) return;
    for (uint32_t i = 0; i < s->n_lanes; i++) lane_finish(s, &s->lanes[i]);
    free(s);
    *ps = NULL;
}

uint32_t vkt__scorer_positions(const vkt__scorer *s)
{
    return s->n_positions;
}

/* Row r's tokens, and at each place that counts the token behind it; elsewhere one that is in no
 * vocabulary, which has no loss. */
static vkt_status fill(const vkt__scorer *s, const lane *l, uint32_t r, const vkt__scored *t)
{
    uint32_t *line = l->line->host, *id = line + (size_t)r * l->length,
             *target = line + targets_at(l) / 4 + (size_t)r * l->length;
    memset(id, 0, l->length * sizeof *id);
    memset(target, 0xff, l->length * sizeof *target);
    if (!t) return VKT_OK;
    VKT_ASSERT(t->first >= 1 && t->first < t->n && t->n - 1 <= l->length);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->id[i] >= s->s.V)
            return vkt__fail(VKT_E_ARG, "model", "token %u is beyond the vocabulary of %u",
                             t->id[i], s->s.V);
        if (i + 1 < t->n) id[i] = t->id[i];
        if (i >= t->first) target[i - 1] = t->id[i];
    }
    return VKT_OK;
}

/* The first texts of [n], as many as a batch has. *done: how many. */
static vkt_status run_batch(vkt__scorer *s, vkt__scored *const *text, size_t n, size_t *done)
{
    vkt_status st;
    lane *l;
    VKT_TRY(lane_for(s, (uint32_t)VKT_MIN(n, MOST_TOKENS), text[0]->n - 1, &l));
    *done = VKT_MIN(n, l->rows);
    for (uint32_t r = 0; r < l->rows; r++) VKT_TRY(fill(s, l, r, r < *done ? text[r] : NULL));
    VKT_TRY(vkt_graph_run(l->graph));
    for (uint32_t r = 0; r < *done; r++) {
        const float *loss = (const float *)l->loss->host + (size_t)r * l->length;
        text[r]->sum = 0;
        for (uint32_t i = text[r]->first; i < text[r]->n; i++) text[r]->sum -= (double)loss[i - 1];
    }
fail:
    return st;
}

static int by_length(const void *a, const void *b)
{
    const vkt__scored *const *x = a, *const *y = b;
    return ((*x)->n < (*y)->n) - ((*x)->n > (*y)->n);
}

/* The longest first, so that what does not fit in memory is known at once. */
vkt_status vkt__scorer_run(vkt__scorer *s, vkt__scored *const *text, size_t n)
{
    vkt_status st = VKT_OK;
    vkt__scored **sorted = vkt__alloc((n + 1) * sizeof *sorted);
    memcpy(sorted, text, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_length);
    for (size_t at = 0, done; at < n && st == VKT_OK; at += done)
        st = run_batch(s, sorted + at, n - at, &done);
    free(sorted);
    return st;
}
