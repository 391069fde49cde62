/* tokenizer_pre.h. Names: github.com/ggml-org/llama.cpp, src/llama-vocab.cpp; patterns: the
 * tokenizer.json of the models that they are named after. */
#include "tokenizers/tokenizer_pre.h"

#define WORDS "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define TAIL "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define LLAMA3 WORDS "\\p{N}{1,3}" TAIL
#define QWEN2 WORDS "\\p{N}" TAIL
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define ENDING "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define O200K                                                                                      \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" ENDING "|"                                        \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" ENDING "|"                                        \
    "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const vkt__pre known[] = {
    { .name = "gpt-2", .pattern = { GPT2 } },
    { .name = "phi-2", .pattern = { GPT2 } },
    { .name = "smollm", .pattern = { "\\p{N}", GPT2 } },
    { .name = "starcoder", .pattern = { "\\p{N}", GPT2 } },
    { .name = "refact", .pattern = { "\\p{N}", GPT2 } },
    { .name = "command-r", .pattern = { "\\p{N}", GPT2 } },
    { .name = "codeshell", .pattern = { "\\p{N}", GPT2 } },
    { .name = "llama-bpe", .pattern = { LLAMA3 }, .whole_words = true },
    { .name = "llama3", .pattern = { LLAMA3 }, .whole_words = true },
    { .name = "llama-v3", .pattern = { LLAMA3 }, .whole_words = true },
    { .name = "smaug-bpe", .pattern = { LLAMA3 } },
    { .name = "dbrx", .pattern = { LLAMA3 } },
    { .name = "qwen2", .pattern = { QWEN2 }, .nfc = true },
    { .name = "deepseek-r1-qwen", .pattern = { QWEN2 } },
    { .name = "gpt-4o", .pattern = { O200K } },
};

const vkt__pre *vkt__pre_at(size_t i)
{
    return i < VKT_COUNT(known) ? &known[i] : NULL;
}

const vkt__pre *vkt__pre_find(const char *name, size_t n)
{
    for (size_t i = 0; i < VKT_COUNT(known); i++)
        if (strlen(known[i].name) == n && !memcmp(known[i].name, name, n)) return &known[i];
    return NULL;
}
