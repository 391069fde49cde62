/* text_model.h */
#include "nn/transformer.h"
#include "train/one_core.h"
#include "train/session.h"
#include "train/language/text_model.h"
#include "train/language/text_stream.h"

vkt_status vkt__text_model_generator(const vkt__text_model *s, vkt_generator **out)
{
    return vkt_generator_create(s->model, s->context, s->cache, out);
}

static vkt_status model_open(vkt_gpu *gpu, vkt__text_model *s)
{
    vkt_status st = VKT_OK;
    const vkt_config *c = s->trained.config;
    vkt_model_desc model = { .layers = c->layers,
                             .n_layers = c->n_layers,
                             .input = vkt_shape1(c->data.context),
                             .n_outputs = vkt__trained_n_vocab(&s->trained, s->tokenizer),
                             .source = s->trained.dir };
    VKT_TRY(vkt_model_create(gpu, &model, &s->model));
    VKT_TRY(vkt__text_model_generator(s, &s->generator));
fail:
    return st;
}

/* On a CPU driver without its threads, where handing each token's kernels to them takes longer. */
static vkt_status model_reopen(const vkt_gpu_desc *gpu, vkt__text_model *s)
{
    vkt_status st = VKT_OK;
    bool wanted;
    uint32_t submit_ms = vkt_gpu_caps(s->gpu)->submit_ms;
    VKT_TRY(vkt__one_core_wanted(s->gpu, vkt__generator_graph(s->generator),
                                 vkt__generator_scores(s->generator), "token", VKT_LOG_DEBUG,
                                 &wanted));
    if (!wanted) return VKT_OK;
    vkt_generator_destroy(&s->generator);
    vkt_model_destroy(&s->model);
    vkt_gpu_destroy(&s->gpu);
    VKT_TRY(vkt__one_core_open(gpu, submit_ms, &s->gpu));
    VKT_TRY(model_open(s->gpu, s));
fail:
    return st;
}

vkt_status vkt__text_model_open(const vkt_text_desc *desc, vkt__text_model *s)
{
    vkt_status st = VKT_OK;
    vkt__weights w = { 0 };
    vkt_gpu_desc gpu;
    s->context = desc->context ? desc->context : VKT_TEXT_CONTEXT;
    s->cache = desc->cache;
    VKT_TRY(vkt__trained_open(desc->checkpoint, &s->trained));
    VKT_TRY(vkt__trained_set_context(&s->trained, desc->context));
    VKT_TRY(vkt_tokenizer_from_schema(s->trained.schema, &s->tokenizer));
    gpu = vkt__config_gpu(s->trained.config, &desc->gpu);
    VKT_TRY(vkt_gpu_create(&gpu, &s->gpu));
    VKT_TRY(model_open(s->gpu, s));
    if (!s->in_batches) VKT_TRY(model_reopen(&gpu, s));
    VKT_TRY(vkt__weights_create(s->model, NULL, &w));
    VKT_TRY(vkt__trained_fill(&s->trained, w.model, w.n_model, false));
    VKT_TRY(vkt__weights_upload(s->gpu, s->model, NULL, &w));
fail:
    vkt__weights_finish(&w);
    return st;
}

void vkt__text_model_close(vkt__text_model *s)
{
    vkt_generator_destroy(&s->generator);
    vkt_model_destroy(&s->model);
    vkt_gpu_destroy(&s->gpu);
    vkt_tokenizer_destroy(&s->tokenizer);
    vkt__trained_close(&s->trained);
    free(s->tokens.id);
}

vkt_status vkt__text_model_continue(vkt__text_model *s, const char *what,
                                    const vkt_generate_desc *d, vkt_generate_result *out)
{
    vkt_generator_reset(s->generator);
    uint32_t most = vkt_generator_left(s->generator);
    if (s->tokens.n > most)
        return vkt__fail(VKT_E_ARG, "generate",
                         "the %s has %zu tokens, the model's context is %u: shorten it", what,
                         s->tokens.n, most);
    return vkt__text_stream(s->generator, s->tokenizer, d, &s->tokens, out);
}
