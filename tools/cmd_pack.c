/* vktrain pack: data preprocessed once, into a file that training maps into memory. */
#include "cli.h"

typedef struct pack_options {
    cli_options common;
    const char *out;
    cli_list set;
} pack_options;

#define AT(field) offsetof(pack_options, field)
static const cli_flag flags[] = {
    { "--out", CLI_TEXT, AT(out), "FILE", NULL, "to write" },
    { "--set", CLI_LIST, AT(set), "KEY=VALUE", NULL, "change the recipe, as data.size=64" },
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
    if (st == VKT_OK) st = vkt_dataset_pack(ds, c->data.bad_files == VKT_BAD_STOP, o->out, n);
    if (st == VKT_OK) {
        printf("%s%s%s: %s train, %s valid, %s test images\n", cli_color(stdout, CLI_BOLD), o->out,
               cli_color(stdout, CLI_PLAIN), cli_count(n[VKT_TRAIN]), cli_count(n[VKT_VALID]),
               cli_count(n[VKT_TEST]));
        if (!o->common.quiet)
            printf("  train on it with --set data.source=packed --set data.path=%s\n", o->out);
    }
    vkt_dataset_destroy(&ds);
    vkt_config_destroy(&c);
    return st;
}

static int run(void *options)
{
    const pack_options *o = options;
    if (!o->out) {
        cli_error("pack: --out is missing: the file to write");
        return CLI_USAGE;
    }
    return cli_exit_code(pack_images(o));
}

const cli_command cmd_pack = {
    .name = "pack",
    .args = "RECIPE",
    .summary = "images preprocessed once, into a file that training maps into memory",
    .details = "The images of the recipe's data section (a folder, CIFAR or IDX), decoded, resized "
               "and split as it says. The\n"
               "file may be larger than the memory. Augmentation is not packed: it is drawn anew "
               "in training.\n"
               "example: vktrain pack mine.yaml --out mine.pack",
    .min_args = 1,
    .max_args = 1,
    .flags = flags,
    .options_bytes = sizeof(pack_options),
    .run = run,
};
