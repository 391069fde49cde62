/* vktrain export: a trained model as a file or folder for other programs. */
#include <string.h>

#include "cli.h"

typedef struct export_options {
    cli_options common;
    const char *out, *hf, *adapter, *gguf;
    int type;
    double nms;
} export_options;

#define AT(field) offsetof(export_options, field)
static const cli_flag flags[] = {
    { "-o", CLI_OUT, AT(out), "FILE", "model.onnx",
      "file to write; the ending sets the format: .onnx or .safetensors" },
    { "--hf", CLI_TEXT, AT(hf), "FOLDER", NULL,
      "write a language model for transformers: config.json, model.safetensors, the tokenizer" },
    { "--gguf", CLI_TEXT, AT(gguf), "FILE", NULL, "write a language model for llama.cpp" },
    { "--type", CLI_CHOICE, AT(type), "f32|f16|bf16|q8_0|q4_0|q4_k", "f32",
      "number format; with --hf: of all weights (f32, f16 or bf16); with --gguf: of the matrices" },
    { "--adapter", CLI_TEXT, AT(adapter), "FOLDER|FILE.gguf", NULL,
      "write only the adapter of a run with lora.rank: a folder in PEFT's format, or a GGUF file "
      "for llama.cpp's --lora" },
    { "--nms", CLI_NUMBER, AT(nms), "SCORE", NULL,
      "ONNX of a model of boxes: an output \"found\" [K, 3], numbers of picture, class and cell of "
      "boxes with that score or more, without duplicates (NonMaxSuppression)" },
    { 0 },
};

static bool is_gguf(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && !strcmp(path + n - 5, ".gguf");
}

static vkt_status export_to(const export_options *o, const char *from, const char *path)
{
    vkt_export_type type = (vkt_export_type)o->type;
    if (o->hf) return vkt_export_hf(from, path, type);
    if (o->gguf) return vkt_export_gguf(from, path, type);
    if (is_gguf(o->adapter)) return vkt_export_adapter_gguf(from, path);
    return vkt_export_adapter(from, path);
}

/* Exports beside the old file or folder, which stays until the export is whole. */
static vkt_status export_over(const export_options *o, const char *from, const char *path)
{
    const char *made = cli_text("%s.new", path);
    vkt_status st = vkt_export_replace(NULL, path);
    if (st == VKT_OK) st = export_to(o, from, made);
    return st == VKT_OK ? vkt_export_replace(made, path) : st;
}

static int run(void *options)
{
    const export_options *o = options;
    const char *from = o->common.args[0], *path = o->hf ? o->hf : o->gguf ? o->gguf : o->adapter;
    vkt_status st;
    if (!!o->hf + !!o->out + !!o->adapter + !!o->gguf > 1 || (o->type && !o->gguf && !o->hf) ||
        (o->type > VKT_EXPORT_BF16 && o->hf)) {
        cli_error("export: give only one of -o, --hf, --gguf and --adapter; --type is for --hf and "
                  "--gguf (q8_0, q4_0 and q4_k only for --gguf)");
        return CLI_USAGE;
    }
    if (o->nms && path) {
        cli_error("export: --nms is for -o FILE.onnx");
        return CLI_USAGE;
    }
    const char *file = o->out ? o->out : "model.onnx";
    if (!path) {
        int rc = cli_may_write("export", file, o->common.force);
        if (rc) return rc;
        path = file;
        st = o->nms ? vkt_export_found(&o->common.gpu, from, path, o->nms)
                    : vkt_export(&o->common.gpu, from, path);
    } else {
        st = (o->common.force ? export_over : export_to)(o, from, path);
    }
    if (st == VKT_OK) printf("%s\n", path);
    return cli_exit_code(st);
}

const cli_command cmd_export = {
    .name = "export",
    .args = "RUN|CHECKPOINT|FOLDER|GGUF",
    .summary = "write the model as ONNX, safetensors, GGUF or a Hugging Face folder",
    .details =
        "A run folder stands for its best checkpoint.\n"
        "ONNX: the input [N, ...] is the training input (standardised; images with channels "
        "last); the outputs are \"logits\" and \"probabilities\", or \"value\" (standardised) and "
        "\"prediction\" (in the data's units), with boxes also \"boxes\" and \"scores\". The "
        "metadata key vktrain.schema says how inputs were prepared.\n"
        "Language models can be written as a Hugging Face folder; those of the GPT-2, Llama, "
        "Mistral, Qwen2, Qwen3, Gemma 2 and 3 and Phi-3 architectures as a GGUF file, too; "
        "an adapter is merged into the weights.\n"
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
