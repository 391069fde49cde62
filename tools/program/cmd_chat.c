/* vktrain chat: a conversation with a language model in the terminal, or line by line from a pipe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "line_edit.h"

typedef struct chat_options {
    cli_options common;
    int cache;
    const char *system, *seed;
    double temperature, top_p, penalty;
    uint32_t tokens, top_k, context;
    cli_list stop;
    bool control;
} chat_options;

#define AT(field) offsetof(chat_options, field)
static const cli_flag flags[] = {
    { "--system", CLI_TEXT, AT(system), "TEXT", NULL, "the system message" },
    { "--tokens", CLI_UINT, AT(tokens), "N", "512", "largest number of tokens of an answer" },
    { "--temperature", CLI_NUMBER, AT(temperature), "T", "0.7",
      "sampling temperature; 0: always the likeliest token" },
    { "--top-k", CLI_UINT, AT(top_k), "K", "0", CLI_TOP_K_HELP },
    { "--top-p", CLI_NUMBER, AT(top_p), "P", "1", CLI_TOP_P_HELP },
    { "--repetition-penalty", CLI_NUMBER, AT(penalty), "R", "1", CLI_PENALTY_HELP },
    { "--seed", CLI_TEXT, AT(seed), "S", "1", "random seed" },
    { "--kv-cache", CLI_CHOICE, AT(cache), CLI_CACHE_TYPES, "f32", CLI_CACHE_HELP },
    { "--context", CLI_UINT, AT(context), "N", "0", CLI_CONTEXT_HELP },
    { "--stop", CLI_LIST, AT(stop), "TEXT", NULL,
      "end an answer before this text; may be repeated" },
    { "--control-tokens", CLI_BOOL, AT(control), NULL, NULL,
      "recognise control tokens such as <|im_start|> in messages; else they are text" },
    { 0 },
};

/* A line without its end, grown as needed; false: there is none. */
static bool read_line(char **line, size_t *cap)
{
    size_t n = 0;
    for (int c; (c = getchar()) != '\n';) {
        if (c == EOF && n == 0) return false;
        if (c == EOF) break;
        if (n + 2 > *cap) {
            size_t more = *cap ? 2 * *cap : 256;
            char *grown = realloc(*line, more);
            if (!grown) return false;
            *line = grown;
            *cap = more;
        }
        if (c) (*line)[n++] = (char)c;
    }
    if (!*line && !(*line = calloc(1, *cap = 16))) return false;
    if (n && (*line)[n - 1] == '\r') n--;
    (*line)[n] = 0;
    return true;
}

static void on_text(void *user, const char *text, size_t n)
{
    char *shown = cli_is_terminal(stdout) ? cli_harmless(text, n) : NULL;
    (void)user;
    if (shown)
        fputs(shown, stdout);
    else
        fwrite(text, 1, n, stdout);
    free(shown);
    fflush(stdout);
}

static bool cancelled(void *user)
{
    (void)user;
    return cli_interrupted(false);
}

static void save(const vkt_chat *chat, const char *path)
{
    FILE *f = *path ? fopen(path, "a") : NULL;
    char *json = vkt_chat_json(chat);
    bool ok = f && fprintf(f, "%s\n", json) > 0;
    if (f && fclose(f)) ok = false;
    vkt_free(json);
    if (ok)
        fprintf(stderr, "the conversation is the last line of '%s'\n", path);
    else
        cli_error("/save: can't write '%s': %s", path, *path ? strerror(errno) : "name a file");
}

/* A line that begins with "/"; false: it ends the program. */
static bool command(vkt_chat *chat, char *line)
{
    static const char *const names[] = { "/help", "/quit", "/reset", "/save", "/system" };
    char *rest = line + strcspn(line, " ");
    if (*rest) *rest++ = 0;
    if (!strcmp(line, "/quit") || !strcmp(line, "/exit")) return false;
    if (!strcmp(line, "/help")) {
        fputs("/system TEXT  start over with this system message\n"
              "/reset        start over\n"
              "/save FILE    append the conversation to FILE, as a line of training data\n"
              "/quit         end (as Ctrl-D)\n"
              "Lines are edited as in a shell, with those of before; a paste of several is one "
              "message.\n"
              "A line that ends in \\ goes on in the next; // begins a message with /. Ctrl-C "
              "stops an "
              "answer.\n",
              stderr);
    } else if (!strcmp(line, "/reset")) {
        vkt_chat_reset(chat);
    } else if (!strcmp(line, "/system")) {
        vkt_chat_system(chat, rest);
    } else if (!strcmp(line, "/save")) {
        save(chat, rest);
    } else {
        vkt_hint hint = vkt_did_you_mean(line, names, CLI_COUNT(names));
        cli_error("there is no command '%s'%s", line,
                  *hint.text ? hint.text : "; /help lists them");
    }
    return true;
}

/* The next line, edited where that can be; false: the input has ended. */
static bool ask_line(cli_editor *e, const char *prompt, char **line, size_t *cap)
{
    if (e) {
        free(*line);
        *cap = 0;
        return (*line = cli_edit_line(e, prompt)) != NULL;
    }
    if (cli_is_terminal(stdin) && cli_is_terminal(stderr)) fputs(prompt, stderr);
    return read_line(line, cap);
}

/* The next message, of one line or several; false: the input has ended. */
static bool read_message(cli_editor *e, char **line, size_t *cap, char **message)
{
    size_t n = 0;
    free(*message);
    *message = calloc(1, 1);
    for (;;) {
        if (!*message || !ask_line(e, n ? ". " : "> ", line, cap)) return false;
        size_t k = strlen(*line);
        bool goes_on = k && (*line)[k - 1] == '\\';
        char *grown = realloc(*message, n + k + 2);
        if (!grown) return false;
        *message = grown;
        memcpy(grown + n, *line, k + 1);
        n += k;
        if (!goes_on) return true;
        grown[n - 1] = '\n';
    }
}

static vkt_status converse(vkt_chat *chat, const vkt_generate_desc *desc)
{
    char *line = NULL, *message = NULL;
    size_t cap = 0;
    vkt_status st = VKT_OK;
    bool piped = !cli_is_terminal(stdin);
    cli_editor *editor = cli_editor_create();
    while (read_message(editor, &line, &cap, &message)) {
        vkt_generate_result r;
        if (!*message) continue;
        if (*message == '/' && message[1] != '/') {
            if (!command(chat, message)) break;
            continue;
        }
        cli_interrupted(true);
        st = vkt_chat_answer(chat, message + (*message == '/'), desc, &r);
        if (st == VKT_OK) putchar('\n');
        fflush(stdout);
        if (st != VKT_OK && piped) break;
        if (r.n_tokens == desc->n_tokens)
            fprintf(stderr, "(cut after %llu tokens: see --tokens)\n",
                    (unsigned long long)r.n_tokens);
    }
    cli_editor_destroy(&editor);
    free(line);
    free(message);
    return piped ? st : VKT_OK;
}

static int run(void *options)
{
    chat_options *o = options;
    char *end = NULL;
    unsigned long long seed = o->seed ? strtoull(o->seed, &end, 10) : 1;
    if (o->seed && (end == o->seed || *end)) {
        cli_error("chat: --seed is '%s', must be a whole number", o->seed);
        return CLI_USAGE;
    }
    if (o->top_p < 0 || o->top_p > 1 || o->penalty < 0 || o->temperature < 0) {
        cli_error("chat: --top-p must be from 0 to 1, --temperature and --repetition-penalty at "
                  "least 0");
        return CLI_USAGE;
    }
    vkt_generate_desc desc = { .n_tokens = o->tokens,
                               .sampler = { .temperature = (float)o->temperature,
                                            .top_k = o->top_k,
                                            .top_p = (float)o->top_p,
                                            .repetition_penalty = (float)o->penalty,
                                            .seed = seed },
                               .stop = o->stop.item,
                               .n_stop = o->stop.n,
                               .control = o->control,
                               .fn = on_text,
                               .cancelled = cancelled };
    vkt_text_desc model = { .gpu = o->common.gpu,
                            .checkpoint = o->common.args[0],
                            .context = o->context,
                            .cache = (vkt_dtype)o->cache };
    vkt_chat *chat;
    vkt_status st = vkt_chat_open(&model, &chat);
    if (st == VKT_OK && o->system) st = vkt_chat_system(chat, o->system);
    if (st == VKT_OK) {
        cli_catch_interrupts(NULL);
        if (!o->common.quiet && cli_is_terminal(stdin))
            fputs("/help lists the commands; Ctrl-C stops an answer, Ctrl-D ends.\n", stderr);
        st = converse(chat, &desc);
    }
    vkt_chat_close(&chat);
    return cli_exit_code(st);
}

const cli_command cmd_chat = {
    .name = "chat",
    .args = "RUN|CHECKPOINT|FOLDER|GGUF",
    .summary = "hold a conversation with a language model",
    .details = "Messages are put by the model's own chat template, and an answer ends with any of "
               "its end tokens. Of standard input that is no terminal each line is a message, and "
               "each answer is printed.\n"
               "commands: /system TEXT, /reset, /save FILE, /help, /quit\n"
               "example: vktrain chat runs/mine --system 'Be brief.'",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(chat_options),
    .run = run,
};
