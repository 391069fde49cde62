/* vktrain generate: text from a trained language model, to the terminal as it is made. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct generate_options {
    cli_options common;
    int cache;
    const char *prompt, *temperature, *seed, *system;
    bool chat, control;
    double top_p, penalty;
    uint32_t tokens, top_k, context;
    cli_list stop;
} generate_options;

#define AT(field) offsetof(generate_options, field)
static const cli_flag flags[] = {
    { "--prompt", CLI_TEXT, AT(prompt), "TEXT", NULL, "text to continue" },
    { "--tokens", CLI_UINT, AT(tokens), "N", "200", "largest number of tokens to generate" },
    { "--temperature", CLI_TEXT, AT(temperature), "T", "0.8",
      "sampling temperature; 1: the model's own probabilities; lower: likelier tokens more often; "
      "0: always the likeliest token" },
    { "--top-k", CLI_UINT, AT(top_k), "K", "0", CLI_TOP_K_HELP },
    { "--top-p", CLI_NUMBER, AT(top_p), "P", "1", CLI_TOP_P_HELP },
    { "--repetition-penalty", CLI_NUMBER, AT(penalty), "R", "1", CLI_PENALTY_HELP },
    { "--seed", CLI_TEXT, AT(seed), "S", "1", "random seed; another seed gives another text" },
    { "--kv-cache", CLI_CHOICE, AT(cache), CLI_CACHE_TYPES, "f32", CLI_CACHE_HELP },
    { "--context", CLI_UINT, AT(context), "N", "0", CLI_CONTEXT_HELP },
    { "--stop", CLI_LIST, AT(stop), "TEXT", NULL, "stop before this text; may be repeated" },
    { "--chat", CLI_BOOL, AT(chat), NULL, NULL,
      "the prompt is a question, put by the model's chat template; only the answer is printed" },
    { "--system", CLI_TEXT, AT(system), "TEXT", NULL, "--chat: the system message" },
    { "--control-tokens", CLI_BOOL, AT(control), NULL, NULL,
      "recognise control tokens such as <|im_start|> in the prompt; else they are text" },
    { 0 },
};

/* Carriage returns, of texts whose lines end in two characters, are left out. */
static void show(const char *text, size_t n)
{
    for (const char *end = text + n; text < end;) {
        const char *stop = memchr(text, '\r', (size_t)(end - text));
        char *shown = cli_harmless(text, (size_t)((stop ? stop : end) - text));
        fputs(shown, stdout);
        free(shown);
        text = stop ? stop + 1 : end;
    }
}

/* The prompt comes before the first text: nothing is printed where nothing can be generated. */
static void on_text(void *user, const char *text, size_t n)
{
    const char **prompt = user;
    if (*prompt) fputs(*prompt, stdout);
    *prompt = NULL;
    if (cli_is_terminal(stdout))
        show(text, n);
    else
        fwrite(text, 1, n, stdout);
    fflush(stdout);
}

static int run(void *options)
{
    generate_options *o = options;
    char *end = NULL;
    double temperature = o->temperature ? strtod(o->temperature, &end) : 0.8;
    if (o->temperature &&
        (end == o->temperature || *end || !(temperature >= 0 && temperature < 1e6))) {
        cli_error("generate: --temperature is '%s', must be a number from 0", o->temperature);
        return CLI_USAGE;
    }
    unsigned long long seed = o->seed ? strtoull(o->seed, &end, 10) : 1;
    if (o->seed && (end == o->seed || *end)) {
        cli_error("generate: --seed is '%s', must be a whole number", o->seed);
        return CLI_USAGE;
    }
    if (o->top_p < 0 || o->top_p > 1 || o->penalty < 0) {
        cli_error("generate: --top-p must be from 0 to 1, --repetition-penalty at least 0");
        return CLI_USAGE;
    }
    if (o->system && !o->chat) {
        cli_error("generate: --system needs --chat");
        return CLI_USAGE;
    }
    const char *prompt = o->chat ? NULL : o->prompt;
    vkt_generate_desc desc = { .model = { .gpu = o->common.gpu,
                                          .checkpoint = o->common.args[0],
                                          .context = o->context,
                                          .cache = (vkt_dtype)o->cache },
                               .prompt = o->prompt,
                               .n_tokens = o->tokens,
                               .sampler = { .temperature = (float)temperature,
                                            .top_k = o->top_k,
                                            .top_p = (float)o->top_p,
                                            .repetition_penalty = (float)o->penalty,
                                            .seed = seed },
                               .stop = o->stop.item,
                               .n_stop = o->stop.n,
                               .chat = o->chat,
                               .system = o->system,
                               .control = o->control,
                               .fn = on_text,
                               .user = &prompt };
    vkt_generate_result r;
    vkt_status st = vkt_generate(&desc, &r);
    if (st == VKT_OK) printf("%s\n", prompt ? prompt : "");
    if (st == VKT_OK && o->common.verbose && r.n_tokens > 1)
        fprintf(stderr, "%llu tokens, %.1f tokens/s after the first, which took %.2f s\n",
                (unsigned long long)r.n_tokens, (double)(r.n_tokens - 1) / r.tokens_s, r.prompt_s);
    return cli_exit_code(st);
}

const cli_command cmd_generate = {
    .name = "generate",
    .args = "RUN|CHECKPOINT|FOLDER|GGUF",
    .summary = "generate text with a language model",
    .details = "The same device, seed and options give the same text. A run folder stands for its "
               "best checkpoint.\n"
               "FOLDER is a Hugging Face model with its tokenizer, or a PEFT adapter, which is "
               "merged into its base model.\n"
               "example: vktrain generate runs/char-gpt --prompt 'It is a truth'",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(generate_options),
    .run = run,
};
