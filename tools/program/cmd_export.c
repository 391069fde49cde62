/* vktrain export: a trained model as a file or folder for other programs. */
#include "cli.h"

typedef struct export_options {
    cli_options common;
    const char *out, *hf, *adapter, *gguf;
    int type;
} export_options;

#define AT(field) offsetof(export_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_OUT, AT(out), "FILE", "model.onnx",
      "file to write; the ending sets the format: .onnx or .safetensors" },
    { "--hf", CLI_TEXT, AT(hf), "FOLDER", NULL,
      "write a language model for transformers: config.json, model.safetensors, the tokenizer" },
    { "--gguf", CLI_TEXT, AT(gguf), "FILE", NULL, "write a language model for llama.cpp" },
    { "--type", CLI_CHOICE, AT(type), "f32|f16|bf16", "f32",
      "number format; with --hf: of all weights; with --gguf: of the matrices (f32 or f16)" },
    { "--adapter", CLI_TEXT, AT(adapter), "FOLDER", NULL,
      "write only the adapter of a run with lora.rank, in PEFT's format" },
    { 0 },
};

static int run(void *options)
{
    const export_options *o = options;
    const char *from = o->common.args[0], *path;
    vkt_status st;
    if (!!o->hf + !!o->out + !!o->adapter + !!o->gguf > 1 || (o->type && !o->gguf && !o->hf) ||
        (o->type == VKT_EXPORT_BF16 && o->gguf)) {
        cli_error("export: give only one of -o, --hf, --gguf and --adapter; --type is for --hf and "
                  "--gguf (bf16 only for --hf)");
        return CLI_USAGE;
    }
    const char *file = o->out ? o->out : "model.onnx";
    if (!o->hf && !o->gguf && !o->adapter) {
        int rc = cli_may_write("export", file, o->common.force);
        if (rc) return rc;
    }
    if (o->hf)
        st = vkt_export_hf(from, path = o->hf, (vkt_export_type)o->type);
    else if (o->gguf)
        st = vkt_export_gguf(from, path = o->gguf, (vkt_export_type)o->type);
    else if (o->adapter)
        st = vkt_export_adapter(from, path = o->adapter);
    else
        st = vkt_export(&o->common.gpu, from, path = file);
    if (st == VKT_OK) printf("%s\n", path);
    return cli_exit_code(st);
}

const cli_command cmd_export = {
    .name = "export",
    .args = "RUN|CHECKPOINT|FOLDER|GGUF",
    .summary = "write the model as ONNX, safetensors, GGUF or a Hugging Face folder",
    .details = "A run folder stands for its best checkpoint.\n"
               "ONNX: the input [N, ...] is the training input (standardised; images with channels "
               "last); the outputs are \"logits\" and \"probabilities\", or \"value\". The "
               "metadata key vktrain.schema says how inputs were prepared.\n"
               "Language models of the GPT-2, Llama, Mistral, Qwen2 and Qwen3 architectures can be "
               "written as a Hugging "
               "Face folder or a GGUF file; an adapter is merged into the weights.\n"
               "FOLDER is a Hugging Face model with its tokenizer, or a PEFT adapter, which is "
               "merged into its base model.\n"
               "example: vktrain export runs/gpt --hf my-gpt",
    .min_args = 1,
    .max_args = 1,
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(export_options),
    .run = run,
};
