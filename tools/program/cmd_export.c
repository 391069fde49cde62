/* vktrain export: a trained model as a file or folder for other programs. */
#include "cli.h"

typedef struct export_options {
    cli_options common;
    const char *out, *hf, *adapter, *gguf;
    int type;
} export_options;

#define AT(field) offsetof(export_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_TEXT, AT(out), "FILE", "model.onnx",
      "its ending says the format: .onnx or .safetensors" },
    { "--hf", CLI_TEXT, AT(hf), "FOLDER", NULL,
      "a language model as transformers loads it: config.json, model.safetensors, the tokenizer" },
    { "--gguf", CLI_TEXT, AT(gguf), "FILE", NULL, "a language model as llama.cpp loads it" },
    { "--type", CLI_CHOICE, AT(type), "f32|f16|bf16", "f32",
      "with --hf: of all weights; with --gguf: of matrices, f32 or f16" },
    { "--adapter", CLI_TEXT, AT(adapter), "FOLDER", NULL,
      "of a run with lora.rank the adapter alone, as PEFT loads it" },
    { 0 },
};

static int run(void *options)
{
    const export_options *o = options;
    const char *from = o->common.args[0], *path;
    vkt_status st;
    if (!!o->hf + !!o->out + !!o->adapter + !!o->gguf > 1 || (o->type && !o->gguf && !o->hf) ||
        (o->type == VKT_EXPORT_BF16 && o->gguf)) {
        cli_error(
            "export: one of -o, --hf, --gguf and --adapter at a time; --type is for --hf and, "
            "but for bf16, --gguf");
        return CLI_USAGE;
    }
    if (o->hf)
        st = vkt_export_hf(from, path = o->hf, (vkt_export_type)o->type);
    else if (o->gguf)
        st = vkt_export_gguf(from, path = o->gguf, (vkt_export_type)o->type);
    else if (o->adapter)
        st = vkt_export_adapter(from, path = o->adapter);
    else
        st = vkt_export(&o->common.gpu, from, path = o->out ? o->out : "model.onnx");
    if (st == VKT_OK) printf("%s\n", path);
    return cli_exit_code(st);
}

const cli_command cmd_export = {
    .name = "export",
    .args = "RUN|CHECKPOINT|FOLDER",
    .summary = "the model as ONNX, safetensors, GGUF or a Hugging Face folder",
    .details =
        "ONNX: input [N, ...] is what the model was trained on (standardised; images with "
        "channels last), outputs are\n"
        "\"logits\" and \"probabilities\", or \"value\". The metadata key vktrain.schema says "
        "how inputs were made. A run\n"
        "folder stands for its best checkpoint. Of language models GPT-2's and Llama's "
        "architectures have a folder and a GGUF file; an adapter is merged into them.\n"
        "A FOLDER is a Hugging Face model with its tokenizer, or a PEFT adapter's, which stands "
        "for "
        "its base with the adapter merged.\n"
        "example: vktrain export runs/gpt --hf my-gpt",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(export_options),
    .run = run,
};
