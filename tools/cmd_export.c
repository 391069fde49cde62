/* vktrain export: a trained model as a file for other programs. */
#include "cli.h"

typedef struct export_options {
    cli_options common;
    const char *out;
} export_options;

#define AT(field) offsetof(export_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_TEXT, AT(out), "FILE", "model.onnx",
      "its ending says the format: .onnx or .safetensors" },
    { 0 },
};

static int run(void *options)
{
    const export_options *o = options;
    const char *path = o->out ? o->out : "model.onnx";
    vkt_status st = vkt_export(&o->common.gpu, o->common.args[0], path);
    if (st == VKT_OK) printf("%s\n", path);
    return cli_exit_code(st);
}

const cli_command cmd_export = {
    .name = "export",
    .args = "RUN|CHECKPOINT",
    .summary = "the model as ONNX or safetensors",
    .details =
        "ONNX: input [N, ...] is what the model was trained on (standardised; images with "
        "channels last), outputs are\n"
        "\"logits\" and \"probabilities\", or \"value\". The metadata key vktrain.schema says "
        "how inputs were made. A run\n"
        "folder stands for its best checkpoint.",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(export_options),
    .run = run,
};
