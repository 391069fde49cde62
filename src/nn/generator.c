/* Generation: the transformer's graphs with caches of keys and values, which stay on the device
 * from token to token. One graph takes a token and gives scores; one takes up to CHUNK tokens of a
 * prompt and gives nothing, so that a long prompt costs few runs. */
#include "nn/transformer.h"
#include "tensor/graph/graph.h"

enum { CHUNK = 32 };

/* A graph for n tokens and where they come from: a mapped line {start, tokens}. */
typedef struct lane {
    uint32_t n;
    vkt_graph *graph;
    vkt_buffer *line;
    vkt_tensor *logits;
} lane;

struct vkt_generator {
    vkt_model *m;
    vkt_gpu *gpu;
    vkt__tshape s;
    vkt_buffer *cache; /* keys, then values, of each layer in turn */
    vkt_buffer *out;   /* [V] */
    lane one, chunk;
    vkt_dtype type;          /* of keys and values in it */
    uint32_t n_positions, n; /* of the caches; taken */
};

enum { TOKENS_AT = 256 };

/* Bytes of one layer's keys; its values take as many. */
static uint64_t cache_bytes(const vkt_generator *gen)
{
    return vkt__align(
        (uint64_t)gen->n_positions * gen->s.Hkv * gen->s.D * vkt_dtype_bytes(gen->type), 256);
}

static vkt_status lane_create(vkt_generator *gen, const vkt__layer *l, uint32_t n, bool scores,
                              const char *label, lane *out)
{
    vkt_status st = VKT_OK;
    const vkt__tshape *s = &gen->s;
    vkt_graph *g = out->graph = vkt__graph_new(gen->gpu);
    out->n = n;
    vkt_tensor **caches = vkt__alloc(2 * (size_t)s->n_layers * sizeof(vkt_tensor *));
    vkt_shape shape = vkt_shape3(1, gen->n_positions, s->Hkv * s->D);
    uint64_t each = cache_bytes(gen);
    for (uint32_t i = 0; i < 2 * s->n_layers; i++) {
        caches[i] = vkt_input(g, shape, gen->type, "cache");
        vkt_bind(caches[i], VKT_ALL_SLOTS, gen->cache, i * each);
    }
    vkt_buffer_desc line = { TOKENS_AT + n * 4ull, VKT_MEM_UPLOAD, label };
    VKT_TRY(vkt_buffer_create(gen->gpu, &line, &out->line));
    vkt_tensor *start = vkt_input(g, vkt_shape1(1), VKT_U32, "start"),
               *tokens = vkt_input(g, vkt_shape2(1, n), VKT_U32, "tokens");
    vkt_bind(start, VKT_ALL_SLOTS, out->line, 0);
    vkt_bind(tokens, VKT_ALL_SLOTS, out->line, TOKENS_AT);
    vkt__tbuilder b = { .m = gen->m,
                        .g = g,
                        .l = l,
                        .s = *s,
                        .start = start,
                        .cache_k = caches,
                        .cache_v = caches + s->n_layers };
    vkt_tensor *x = vkt__transformer_body(&b, tokens);
    if (scores) {
        out->logits = vkt__transformer_head(&b, x);
        vkt_bind(out->logits, VKT_ALL_SLOTS, gen->out, 0);
    }
    VKT_TRY(vkt_graph_compile(g, &(vkt_plan_desc) { .label = label }));
fail:
    free(caches);
    return st;
}

vkt_status vkt_generator_create(vkt_model *m, uint32_t n_positions, vkt_dtype cache,
                                vkt_generator **out)
{
    vkt_status st = VKT_OK;
    vkt_generator *gen = vkt__alloc(sizeof *gen);
    const vkt__layer *l = vkt__model_layer(m, 0);
    *out = NULL;
    gen->m = m;
    gen->type = cache;
    gen->gpu = vkt_model_gpu(m);
    if (!l || l->kind != vkt__transformer_kinds || l->spec.transformer.score) {
        st =
            vkt__fail(VKT_E_ARG, "model", "the model is not a transformer: it can't generate text");
        goto fail;
    }
    VKT_TRY(vkt__transformer_shape(l, vkt__model_n_outputs(m), &gen->s));
    gen->n_positions = n_positions ? VKT_MIN(n_positions, gen->s.P) : gen->s.P;
    vkt_buffer_desc kept = { 2 * gen->s.n_layers * cache_bytes(gen), VKT_MEM_DEVICE,
                             "keys and values" };
    VKT_TRY(vkt_buffer_create(gen->gpu, &kept, &gen->cache));
    vkt_buffer_desc scores = { gen->s.V * 4ull, VKT_MEM_READBACK, "scores" };
    VKT_TRY(vkt_buffer_create(gen->gpu, &scores, &gen->out));
    VKT_TRY(lane_create(gen, l, 1, true, "one token", &gen->one));
    if (gen->n_positions >= CHUNK)
        VKT_TRY(lane_create(gen, l, CHUNK, false, "prompt", &gen->chunk));
    *out = gen;
    return VKT_OK;
fail:
    vkt_generator_destroy(&gen);
    return st;
}

void vkt_generator_destroy(vkt_generator **pgen)
{
    vkt_generator *gen = *pgen;
    if (!gen) return;
    lane *lanes[] = { &gen->one, &gen->chunk };
    for (size_t i = 0; i < VKT_COUNT(lanes); i++) {
        vkt_graph_destroy(&lanes[i]->graph);
        vkt_buffer_destroy(gen->gpu, &lanes[i]->line);
    }
    vkt_buffer_destroy(gen->gpu, &gen->cache);
    vkt_buffer_destroy(gen->gpu, &gen->out);
    free(gen);
    *pgen = NULL;
}

/* n tokens in a graph for as many or more: what it writes behind them is never read, because tokens
 * see only those before them, and the next ones are written over it. */
static vkt_status run(vkt_generator *gen, lane *l, const uint32_t *tokens, uint32_t n)
{
    uint32_t *line = l->line->host;
    line[0] = gen->n;
    memcpy(line + TOKENS_AT / 4, tokens, n * sizeof *tokens);
    memset(line + TOKENS_AT / 4 + n, 0, (l->n - n) * sizeof *tokens);
    gen->n += n;
    return vkt_graph_run(l->graph);
}

vkt_status vkt_generator_feed(vkt_generator *gen, const uint32_t *tokens, uint32_t n,
                              const float **scores)
{
    vkt_status st = VKT_OK;
    if (n > gen->n_positions - gen->n)
        return vkt__fail(VKT_E_ARG, "model",
                         "%u tokens after %u are too many: the model has %u positions", n, gen->n,
                         gen->n_positions);
    for (uint32_t i = 0; i < n; i++)
        if (tokens[i] >= gen->s.V)
            return vkt__fail(VKT_E_ARG, "model", "token %u is beyond the vocabulary of %u",
                             tokens[i], gen->s.V);
    for (; n > CHUNK; n -= CHUNK, tokens += CHUNK) VKT_TRY(run(gen, &gen->chunk, tokens, CHUNK));
    if (n > CHUNK / 4 && gen->n_positions - gen->n >= CHUNK) { /* the last one gives scores */
        VKT_TRY(run(gen, &gen->chunk, tokens, n - 1));
        tokens += n - 1;
        n = 1;
    }
    for (; n; n--) VKT_TRY(run(gen, &gen->one, tokens++, 1));
    *scores = gen->out->host;
fail:
    return st;
}

uint32_t vkt_generator_left(const vkt_generator *gen)
{
    return gen->n_positions - gen->n;
}

void vkt_generator_reset(vkt_generator *gen)
{
    gen->n = 0;
}

const vkt_graph *vkt__generator_graph(const vkt_generator *gen)
{
    return gen->one.graph;
}

const vkt_buffer *vkt__generator_scores(const vkt_generator *gen)
{
    return gen->out;
}
