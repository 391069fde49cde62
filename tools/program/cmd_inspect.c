/* vktrain inspect: what a file holds, found by its content: safetensors, GGUF, ONNX (by its name),
 * IDX, CSV (each of the last two may be gzipped), a shard of tokens, a tokenizer, whatever else is
 * a source of data, or a folder: of a run, a checkpoint, a model, an adapter, shards, data. */
#include <errno.h>
#include <string.h>

#include "inspect.h"

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

/* Data that its source reads: tables are shown column by column, and a text is one by its name. */
static bool is_source(vkt_likeness like, const vkt_source_info *source)
{
    if (like == VKT_LIKE_NAME) return source->kinds == VKT_DATA_KIND_TEXT;
    return like == VKT_LIKE_CONTENT && !(source->takes & VKT_TAKES_COLUMN);
}

static int inspect(const char *path)
{
    unsigned char head[9] = { 0 };
    vkt_source_info source;
    if (cli_is_folder(path)) return inspect_folder(path);
    if (cli_exists(path) && (ends_in(path, ".yaml") || ends_in(path, ".yml"))) {
        cli_error("inspect: '%s' is a recipe: `vktrain train %s --explain` shows what it would "
                  "train, --augment SHEET.png draws its pictures",
                  path, path);
        return CLI_USAGE;
    }
    if (cli_exists(path) && ends_in(path, ".onnx")) return inspect_onnx(path);
    gzFile f = gzopen(path, "rb");
    if (!f) return inspect_damaged(path, strerror(errno));
    int n = gzread(f, head, sizeof head), rc;
    if (n >= 9 && head[8] == '{' && !head[7] && !head[6] && !head[5]) {
        rc = inspect_safetensors(path);
    } else if (n >= 4 && !memcmp(head, "GGUF", 4)) {
        rc = inspect_gguf(path);
    } else if (n >= 4 && !head[0] && !head[1] && head[2] >= 8 && head[2] <= 14 && head[3]) {
        gzseek(f, 4, SEEK_SET);
        rc = inspect_idx(path, f, head);
    } else if (n >= 8 && (!memcmp(head, "VKTTOK1\n", 8) || inspect_is_llmc(head))) {
        rc = inspect_shard(path);
    } else if (inspect_is_tokenizer(path)) {
        rc = inspect_tokenizer(path);
    } else if (is_source(vkt_source_of(path, &source), &source)) {
        rc = inspect_source(path, &source);
    } else {
        gzrewind(f);
        rc = n < 0 ? inspect_damaged(path, "its gzip data is damaged") : inspect_csv(path, f);
    }
    gzclose(f);
    return rc;
}

typedef struct inspect_options {
    cli_options common;
    const char *augment;
    cli_list set;
} inspect_options;

#define AT(field) offsetof(inspect_options, field)
static const cli_flag flags[] = {
    { "--augment", CLI_OUT, AT(augment), "SHEET.png", NULL,
      "FILE is a recipe: draw training images before and after augmentation" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL,
      "with --augment: override an option of the recipe; may be repeated" },
    { 0 },
};

static int draw_augmented(const inspect_options *o)
{
    vkt_config *c = NULL;
    vkt_dataset *ds = NULL;
    vkt_status st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_load(c, o->common.args[0]);
    for (size_t i = 0; i < o->set.n && st == VKT_OK; i++) st = vkt_config_set(c, o->set.item[i]);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_dataset_open(&c->data, &ds);
    if (st == VKT_OK) st = vkt_dataset_augment_sheet(ds, &c->augment, c->seed, o->augment);
    if (st == VKT_OK)
        printf("%s: training pictures, above unchanged, below augmented\n", o->augment);
    vkt_dataset_destroy(&ds);
    vkt_config_destroy(&c);
    return cli_exit_code(st);
}

static int run(void *options)
{
    const inspect_options *with = options;
    const cli_options *o = options;
    int rc = CLI_OK;
    if (with->augment && o->n_args == 1) return draw_augmented(with);
    if (with->augment || with->set.n) {
        cli_error("inspect: --augment takes one recipe; --set is for it");
        return CLI_USAGE;
    }
    for (size_t i = 0; i < o->n_args; i++) {
        if (i) putchar('\n');
        int one = inspect(o->args[i]);
        if (rc == CLI_OK) rc = one;
    }
    return rc;
}

const cli_command cmd_inspect = {
    .name = "inspect",
    .args = "FILE...",
    .summary = "show what a file or a run contains",
    .details =
        "FILE is a safetensors, GGUF, ONNX, IDX or CSV file (IDX and CSV may be gzipped), a shard "
        "of "
        "tokens, a tokenizer, another file or folder of data that a recipe can name, or a folder: "
        "a "
        "run, a checkpoint, a Hugging Face model, a PEFT adapter, or shards of tokens. With "
        "--augment it is a recipe.",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .flags = flags,
    .options_bytes = sizeof(inspect_options),
    .run = run,
};
