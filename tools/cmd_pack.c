/* vktrain pack: text to shards of tokens. */
#include "cli.h"

typedef struct pack_options {
    cli_options common;
    const char *tokenizer, *out;
    uint32_t shard_tokens;
} pack_options;

#define AT(field) offsetof(pack_options, field)
static const cli_flag flags[] = {
    { "--out", CLI_TEXT, AT(out), "FOLDER", NULL, "to make; must not be there yet" },
    { "--tokenizer", CLI_TEXT, AT(tokenizer), "T", "bytes",
      "bytes, chars, or a tokenizer's file or folder" },
    { "--shard-tokens", CLI_UINT, AT(shard_tokens), "N", "33554432",
      "about so many in a file, documents whole" },
    { 0 },
};

static int run(void *options)
{
    const pack_options *o = options;
    vkt_pack_result r;
    if (!o->out) {
        cli_error("pack: --out is missing: the folder to make");
        return CLI_USAGE;
    }
    double start = cli_now();
    vkt_status st = vkt_pack(&(vkt_pack_desc) { .inputs = o->common.args,
                                                .n_inputs = o->common.n_args,
                                                .tokenizer = o->tokenizer,
                                                .out = o->out,
                                                .shard_tokens = o->shard_tokens },
                             &r);
    if (st != VKT_OK) return cli_exit_code(st);
    printf("%s%s%s: %s tokens of %s documents, %s of text (%s bytes a token), %u shard%s\n",
           cli_color(stdout, CLI_BOLD), o->out, cli_color(stdout, CLI_PLAIN), cli_count(r.n_tokens),
           cli_count(r.n_documents), cli_bytes(r.n_bytes),
           cli_number((double)r.n_bytes / (double)r.n_tokens), r.n_shards,
           r.n_shards == 1 ? "" : "s");
    if (!o->common.quiet)
        printf("  %s, vocabulary %s; train on it with data.source=text data.path=%s\n",
               cli_time(cli_now() - start), cli_count(r.n_vocab), o->out);
    return CLI_OK;
}

const cli_command cmd_pack = {
    .name = "pack",
    .args = "INPUT...",
    .summary = "text to shards of tokens, which training maps into memory",
    .details =
        "INPUT: a file is one document (plain or gzip), but of a .jsonl file each line is one: "
        "{\"text\": ..}, {\"messages\": [..]} or {\"prompt\": .., \"completion\": ..}, and of "
        "chats "
        "only what the assistant says counts in the loss. A folder stands for all its files; * and "
        "? in the last part of a path for any. Control tokens written in a text are text.\n"
        "example: vktrain pack books/*.txt --tokenizer gpt2/ --out books-tokens",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .flags = flags,
    .options_bytes = sizeof(pack_options),
    .run = run,
};
