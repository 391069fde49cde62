/* vktrain pack: data preprocessed once, into files that training maps into memory: a recipe's
 * images, or text as shards of tokens. */
#include <string.h>

#include "cli.h"

typedef struct pack_options {
    cli_options common;
    const char *out, *tokenizer;
    uint32_t shard_tokens;
    cli_list set;
} pack_options;

#define AT(field) offsetof(pack_options, field)
static const cli_flag flags[] = {
    { "--out", CLI_TEXT, AT(out), "PATH", NULL, "file (images) or folder (text) to write" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL,
      "override an option of the recipe, such as data.size=64; may be repeated" },
    { "--tokenizer", CLI_TEXT, AT(tokenizer), "T", "bytes",
      "text: bytes, chars, or the file or folder of a tokenizer" },
    { "--shard-tokens", CLI_UINT, AT(shard_tokens), "N", "33554432",
      "text: approximate number of tokens per file; documents are never split" },
    { 0 },
};

/* The images of a recipe: read, resized and split as it says. */
static vkt_status pack_images(const pack_options *o)
{
    vkt_config *c = NULL;
    vkt_dataset *ds = NULL;
    uint64_t n[VKT_N_SPLITS];
    vkt_status st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_load(c, o->common.args[0]);
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_dataset_open(&c->data, &ds);
    if (st == VKT_OK) st = vkt_dataset_pack(ds, c->data.bad_files == VKT_BAD_FILES_STOP, o->out, n);
    if (st == VKT_OK) {
        printf("%s%s%s: %s train, %s valid, %s test images\n", cli_color(stdout, CLI_BOLD), o->out,
               cli_color(stdout, CLI_PLAIN), cli_count(n[VKT_SPLIT_TRAIN]),
               cli_count(n[VKT_SPLIT_VALID]), cli_count(n[VKT_SPLIT_TEST]));
        if (!o->common.quiet)
            printf("  to train on it: --set data.source=packed --set data.path=%s%s\n", o->out,
                   c->data.labels ? " --set data.labels=" : "");
    }
    vkt_dataset_destroy(&ds);
    vkt_config_destroy(&c);
    return st;
}

static vkt_status pack_text(const pack_options *o)
{
    vkt_pack_result r;
    double start = cli_now();
    vkt_status st = vkt_pack(&(vkt_pack_desc) { .inputs = o->common.args,
                                                .n_inputs = o->common.n_args,
                                                .tokenizer = o->tokenizer,
                                                .out = o->out,
                                                .shard_tokens = o->shard_tokens },
                             &r);
    if (st != VKT_OK) return st;
    printf("%s%s%s: %s tokens of %s documents, %s of text (%s bytes a token), %u shard%s\n",
           cli_color(stdout, CLI_BOLD), o->out, cli_color(stdout, CLI_PLAIN), cli_count(r.n_tokens),
           cli_count(r.n_documents), cli_bytes(r.n_bytes),
           cli_number((double)r.n_bytes / (double)r.n_tokens), r.n_shards,
           r.n_shards == 1 ? "" : "s");
    if (!o->common.quiet)
        printf("  %s, vocabulary %s; to train on it: --set data.source=text --set data.path=%s\n",
               cli_time(cli_now() - start), cli_count(r.n_vocab), o->out);
    return st;
}

/* A recipe by its file's ending, or a built-in one's name. */
static bool is_recipe(const char *arg)
{
    const char *dot = strrchr(arg, '.'), *name;
    if (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"))) return true;
    for (size_t i = 0; !cli_exists(arg) && vkt_recipe(i, &name, NULL, NULL); i++)
        if (!strcmp(name, arg)) return true;
    return false;
}

static int run(void *options)
{
    const pack_options *o = options;
    if (!o->out) {
        cli_error("pack: --out PATH is missing, the file or folder to write");
        return CLI_USAGE;
    }
    bool images = o->common.n_args == 1 && is_recipe(o->common.args[0]);
    return cli_exit_code(images ? pack_images(o) : pack_text(o));
}

const cli_command cmd_pack = {
    .name = "pack",
    .args = "RECIPE|INPUT...",
    .summary = "preprocess images or text once, into files that training maps into memory",
    .details = "RECIPE: packs the images of its data section (a folder, CIFAR or IDX files), "
               "decoded, resized and split as the recipe says. The file may be larger than memory. "
               "Augmentation is not packed; training applies it.\n"
               "INPUT: packs text. A file (plain or gzip) is one document. In a .jsonl file each "
               "line is a document: {\"text\": ..}, {\"prompt\": .., \"completion\": ..}, or a "
               "conversation: {\"messages\": [..]}, prompt and completion as messages, "
               "ShareGPT's {\"conversations\": [..]}, Alpaca's {\"instruction\": .., "
               "\"output\": ..}. Conversations are written by the tokenizer's chat template; only "
               "what the assistant says, with the token that ends it, counts in the loss. A "
               "folder stands for all its files; the last part of a path may hold * and ?. Control "
               "tokens that are written out in a text are read as plain text.\n"
               "examples: vktrain pack mine.yaml --out mine.pack\n"
               "          vktrain pack books/*.txt --tokenizer gpt2/ --out books-tokens",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .flags = flags,
    .options_bytes = sizeof(pack_options),
    .run = run,
};
