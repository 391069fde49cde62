/* vktrain export: a trained language model for other programs. */
#include "cli.h"

typedef struct export_options {
    cli_options common;
    const char *hf;
} export_options;

#define AT(field) offsetof(export_options, field)
static const cli_flag flags[] = {
    { "--hf", CLI_TEXT, AT(hf), "FOLDER", NULL,
      "to make, as transformers loads it: config.json, model.safetensors, the tokenizer" },
    { 0 },
};

static int run(void *options)
{
    const export_options *o = options;
    if (!o->hf) {
        cli_error("export: --hf is missing: the folder to make");
        return CLI_USAGE;
    }
    vkt_status st = vkt_export_hf(o->common.args[0], o->hf);
    if (st == VKT_OK && !o->common.quiet)
        printf("%s: load it with transformers' AutoModelForCausalLM.from_pretrained\n", o->hf);
    return cli_exit_code(st);
}

const cli_command cmd_export = {
    .name = "export",
    .args = "RUN|CHECKPOINT",
    .summary = "a trained language model as a Hugging Face folder",
    .details = "A run folder stands for its best checkpoint. GPT-2's architecture and Llama's can "
               "be written.\nexample: vktrain export runs/gpt --hf my-gpt",
    .min_args = 1,
    .max_args = 1,
    .flags = flags,
    .options_bytes = sizeof(export_options),
    .run = run,
};
