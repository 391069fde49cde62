/* samples.h */
#include <stdio.h>

#include "base/os.h"
#include "runs/sample_files.h"
#include "train/language/samples.h"
#include "train/language/text_stream.h"

struct vkt__samples {
    vkt_generator *generator;
    const vkt_tokenizer *tokenizer;
    const vkt_config *c;
    vkt_tokens tokens; /* the prompt, behind it the text in progress */
    size_t n_prompt;
    uint64_t bytes;
};

/* By a tokenizer of its own: encoding changes what one keeps, and the data's is not ours. */
static vkt_status take_prompt(vkt__samples *s, const vkt_dataset *data)
{
    vkt_tokenizer *t = NULL;
    vkt_status st = vkt_tokenizer_from_schema(vkt_dataset_schema(data), &t);
    if (st != VKT_OK) return st;
    vkt__log_quiet(true);
    st = vkt__prompt_tokens(t, s->c->sample_prompt, false, &s->tokens);
    vkt__log_quiet(false);
    vkt_tokenizer_destroy(&t);
    s->n_prompt = s->tokens.n;
    return st == VKT_OK ? VKT_OK
                        : vkt__fail(VKT_E_ARG, "train", "samples.prompt: %s", vkt__last_failure());
}

vkt_status vkt__samples_create(vkt_model *m, const vkt_dataset *data, const vkt_config *c,
                               vkt__samples **out)
{
    vkt_status st = VKT_OK;
    vkt__samples *s = vkt__alloc(sizeof *s);
    vkt_gpu *gpu = vkt_model_gpu(m);
    uint64_t before = vkt_gpu_get_stats(gpu).bytes;
    *out = NULL;
    s->tokenizer = vkt_dataset_get_info(data)->tokenizer;
    s->c = c;
    VKT_TRY(take_prompt(s, data));
    uint64_t most = VKT_MIN(s->n_prompt + c->sample_tokens, UINT32_MAX);
    VKT_TRY(vkt_generator_create(m, (uint32_t)most, VKT_F32, &s->generator));
    if (s->n_prompt > vkt_generator_left(s->generator)) {
        st = vkt__fail(VKT_E_ARG, "train",
                       "samples.prompt has %zu tokens, the model's context is %u: shorten it",
                       s->n_prompt, vkt_generator_left(s->generator));
        goto fail;
    }
    s->bytes = vkt_gpu_get_stats(gpu).bytes - before;
    *out = s;
    return VKT_OK;
fail:
    vkt__samples_destroy(&s);
    return st;
}

void vkt__samples_destroy(vkt__samples **ps)
{
    vkt__samples *s = *ps;
    if (!s) return;
    vkt_generator_destroy(&s->generator);
    free(s->tokens.id);
    free(s);
    *ps = NULL;
}

uint64_t vkt__samples_bytes(const vkt__samples *s)
{
    return s ? s->bytes : 0;
}

uint64_t vkt__sample_seed(uint64_t seed, uint64_t step, uint32_t i)
{
    const uint64_t place[] = { seed, step, i };
    return vkt__hash(place, sizeof place, 0);
}

static void add(void *user, const char *text, size_t n)
{
    vkt__str_add(user, text, n);
}

/* The i-th text after its prompt, a heading before it where there are several. */
static vkt_status write_one(vkt__samples *s, uint64_t step, uint32_t i, vkt__str *out)
{
    vkt__str text = { 0 };
    vkt_generate_result made;
    vkt_generate_desc d = { .n_tokens = s->c->sample_tokens,
                            .sampler = { .temperature = s->c->sample_temperature,
                                         .seed = vkt__sample_seed(s->c->seed, step, i) },
                            .fn = add,
                            .user = &text };
    if (s->c->n_samples > 1)
        vkt__str_printf(out, "%s=== %u of %u ===\n", i ? "\n" : "", i + 1, s->c->n_samples);
    vkt__str_printf(&text, "%s", s->c->sample_prompt ? s->c->sample_prompt : "");
    s->tokens.n = s->n_prompt;
    vkt_status st = vkt__text_stream(s->generator, s->tokenizer, &d, &s->tokens, &made);
    vkt__samples_clean(text.data, text.len, out);
    vkt__str_add(out, "\n", 1);
    vkt__str_finish(&text);
    return st;
}

vkt_status vkt__samples_write(vkt__samples *s, const char *run_dir, uint64_t step)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    vkt__str out = { 0 };
    const char *dir = vkt__arena_printf(&a, "%s/samples", run_dir);
    for (uint32_t i = 0; i < s->c->n_samples; i++) VKT_TRY(write_one(s, step, i, &out));
    VKT_TRY(vkt__mkdirs(dir));
    VKT_TRY(vkt__file_replace(
        vkt__arena_printf(&a, "%s/step-%08llu.txt", dir, (unsigned long long)step), out.data,
        out.len));
fail:
    vkt__str_finish(&out);
    vkt__arena_finish(&a);
    return st;
}
