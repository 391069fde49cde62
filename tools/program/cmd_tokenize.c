/* vktrain tokenize: what a tokenizer makes of text; or a new tokenizer from text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct tokenize_options {
    cli_options common;
    const char *tokenizer, *out, *text;
    uint32_t train;
    bool ids, special;
} tokenize_options;

#define AT(field) offsetof(tokenize_options, field)
static const cli_flag flags[] = {
    { "--tokenizer", CLI_TEXT, AT(tokenizer), "T", "bytes",
      "bytes, or the file or folder of a tokenizer" },
    { "--text", CLI_TEXT, AT(text), "TEXT", NULL, "text to tokenize instead of files" },
    { "--ids", CLI_BOOL, AT(ids), NULL, NULL, "print only the ids, on one line" },
    { "--special", CLI_BOOL, AT(special), NULL, NULL,
      "read control tokens such as <|endoftext|> in the text as tokens, not as text" },
    { "--train", CLI_UINT, AT(train), "N", "0",
      "train a byte-level BPE tokenizer of N tokens on the files, folders or patterns" },
    { "--out", CLI_OUT, AT(out), "FILE.json", "tokenizer.json", "file that --train writes" },
    { 0 },
};

static int train(const tokenize_options *o)
{
    vkt_tokenizer *t = NULL;
    const char *out = o->out ? o->out : "tokenizer.json";
    if (!o->common.n_args) {
        cli_error("tokenize: --train needs text files");
        return CLI_USAGE;
    }
    int rc = cli_may_write("tokenize", out, o->common.force);
    if (rc) return rc;
    double start = cli_now();
    rc = cli_exit_code(vkt_tokenizer_train(o->common.args, o->common.n_args, o->train, &t));
    if (rc) return rc;
    char *json = vkt_tokenizer_json(t);
    vkt_status st = vkt_file_write(out, json, strlen(json));
    if (st == VKT_OK && !o->common.quiet)
        printf("%s: %s tokens in %s\n", out, cli_count(vkt_tokenizer_get_info(t)->n_vocab),
               cli_time(cli_now() - start));
    vkt_free(json);
    vkt_tokenizer_destroy(&t);
    return cli_exit_code(st);
}

/* A token on one line: part of a character as \xNN. */
static void print_token(const vkt_tokenizer *t, uint32_t id)
{
    size_t n;
    const char *bytes = vkt_tokenizer_bytes(t, id, &n);
    char *text = cli_harmless(bytes, n);
    printf("%8u  '", id);
    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '\n')
            printf("\\n");
        else if (*c == '\t')
            printf("\\t");
        else
            putchar(*c);
    }
    puts("'");
    free(text);
}

static int show(const tokenize_options *o, vkt_tokenizer *t, const char *text, size_t n)
{
    vkt_tokens tokens = { 0 };
    int rc = cli_exit_code(vkt_tokenizer_encode(t, text, n, o->special, &tokens));
    for (size_t i = 0; i < tokens.n && !rc; i++) {
        if (o->ids)
            printf("%s%u", i ? " " : "", tokens.id[i]);
        else
            print_token(t, tokens.id[i]);
    }
    if (!rc && o->ids) putchar('\n');
    if (!rc && !o->ids && !o->common.quiet)
        printf("%s tokens, %s bytes\n", cli_count(tokens.n), cli_count(n));
    vkt_free(tokens.id);
    return rc;
}

static int show_file(const tokenize_options *o, vkt_tokenizer *t, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n = 0, cap = 0, got = 1;
    while (f && got) {
        if (n == cap) {
            char *grown = realloc(text, cap = cap ? 2 * cap : 65536);
            if (!grown) {
                free(text);
                fclose(f);
                cli_error("no memory for '%s'", path);
                return CLI_MEMORY;
            }
            text = grown;
        }
        got = fread(text + n, 1, cap - n, f);
        n += got;
    }
    int rc = !f || ferror(f) ? CLI_DATA : show(o, t, text, n);
    if (!f || ferror(f)) cli_error("can't read '%s': %s", path, strerror(errno));
    if (f) fclose(f);
    free(text);
    return rc;
}

static int run(void *options)
{
    const tokenize_options *o = options;
    vkt_tokenizer *t = NULL;
    if (o->train) return train(o);
    if (!o->text && !o->common.n_args) {
        cli_error("tokenize: give files, or --text");
        return CLI_USAGE;
    }
    int rc = cli_exit_code(vkt_tokenizer_open(o->tokenizer ? o->tokenizer : "bytes", &t));
    if (!rc && o->text) rc = show(o, t, o->text, strlen(o->text));
    for (size_t i = 0; i < o->common.n_args && !rc; i++) rc = show_file(o, t, o->common.args[i]);
    vkt_tokenizer_destroy(&t);
    return rc;
}

const cli_command cmd_tokenize = {
    .name = "tokenize",
    .args = "[FILE...]",
    .summary = "print the tokens of a text, or train a tokenizer",
    .details = "examples: vktrain tokenize --tokenizer gpt2/ --text 'Hello, world'\n"
               "          vktrain tokenize --train 4096 --out my.json books/",
    .max_args = SIZE_MAX,
    .flags = flags,
    .options_bytes = sizeof(tokenize_options),
    .run = run,
};
