/* Opening a tokenizer: one of the built-in kinds, or by the name of its file or folder. */
#include "data/parts/parts.h"
#include "tokenizers/tokenizer.h"
#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_files.h"
#include "tokenizers/tokenizer_gguf.h"
#include "tokenizers/tokenizer_json.h"

enum { TOKENIZER_LIMIT = 256 << 20 }; /* bytes of a file */

/* ---- the built-in kinds ---- */

static vkt_status bytes_create(vkt_tokenizer **out)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__tokenizer_create("bytes", "bytes", 257, out));
    vkt__tokenizer_byte_vocabulary(*out);
    VKT_TRY(vkt__tokenizer_set(*out, 256, VKT__END_TEXT, strlen(VKT__END_TEXT)));
    VKT_TRY(vkt__tokenizer_add(*out, 256, true));
    VKT_TRY(vkt__tokenizer_finish(*out, NULL, 0));
fail:
    return st;
}

vkt_status vkt_tokenizer_chars(const char *text, size_t n, bool with_end, vkt_tokenizer **out)
{
    vkt_status st = VKT_OK;
    const char *at = text, *end = text + n;
    uint32_t n_points = 0;
    uint64_t id = 0;
    unsigned char *seen = vkt__alloc(0x110000 / 8);
    *out = NULL;
    while (at < end) {
        int32_t c = vkt__utf8_next(&at, end);
        if (c <= 0) {
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "byte %zu of the text is %s: convert it (`iconv -t utf-8`), or set "
                           "data.tokenizer: bytes",
                           (size_t)(at - text), c ? "not UTF-8" : "zero");
            goto fail;
        }
        n_points += !(seen[c >> 3] >> (c & 7) & 1);
        seen[c >> 3] |= (unsigned char)(1u << (c & 7));
    }
    if (n_points == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data", "the text is empty: it has no characters");
        goto fail;
    }
    VKT_TRY(vkt__tokenizer_create("chars", "chars", n_points + with_end, out));
    for (int32_t c = 0; c < 0x110000; c++) {
        char utf8[4];
        if (seen[c >> 3] >> (c & 7) & 1)
            VKT_TRY(vkt__tokenizer_set(*out, id++, utf8, vkt__utf8_put(c, utf8)));
    }
    if (with_end) {
        VKT_TRY(vkt__tokenizer_set(*out, id, VKT__END_TEXT, strlen(VKT__END_TEXT)));
        VKT_TRY(vkt__tokenizer_add(*out, id, true));
    }
    VKT_TRY(vkt__tokenizer_finish(*out, NULL, 0));
fail:
    if (st != VKT_OK) vkt_tokenizer_destroy(out);
    free(seen);
    return st;
}

/* ---- opening by name ---- */

static vkt_status open_json(const char *path, vkt_tokenizer **out)
{
    char *text = NULL;
    size_t n;
    vkt_status st = vkt__file_read(path, TOKENIZER_LIMIT, &text, &n);
    if (st == VKT_OK) st = vkt__tokenizer_parse_json(text, n, path, out);
    free(text);
    return st;
}

static vkt_status open_ranks(const char *path, vkt_tokenizer **out)
{
    char *text = NULL;
    size_t n;
    vkt_status st = vkt__file_read(path, TOKENIZER_LIMIT, &text, &n);
    if (st == VKT_OK) st = vkt__tokenizer_parse_ranks(text, n, path, out);
    free(text);
    return st;
}

static vkt_status open_gpt2(const char *vocab_path, const char *merges_path, vkt_tokenizer **out)
{
    vkt_status st;
    char *vocab = NULL, *merges = NULL;
    size_t n_vocab, n_merges;
    VKT_TRY(vkt__file_read(vocab_path, TOKENIZER_LIMIT, &vocab, &n_vocab));
    VKT_TRY(vkt__file_read(merges_path, TOKENIZER_LIMIT, &merges, &n_merges));
    VKT_TRY(vkt__tokenizer_parse_gpt2(vocab, n_vocab, merges, n_merges, vocab_path, out));
fail:
    free(vocab);
    free(merges);
    return st;
}

static vkt_status open_vocab(const char *path, vkt_tokenizer **out)
{
    static const char file[] = "vocab.txt";
    vkt_status st;
    vkt__arena a = { 0 };
    char *text = NULL, *settings = NULL;
    size_t n, n_settings = 0;
    const char *beside = vkt__arena_printf(&a, "%.*stokenizer_config.json",
                                           (int)(strlen(path) - strlen(file)), path);
    VKT_TRY(vkt__file_read(path, TOKENIZER_LIMIT, &text, &n));
    VKT_TRY(vkt__file_read_if(beside, TOKENIZER_LIMIT, &settings, &n_settings));
    VKT_TRY(vkt__tokenizer_parse_vocab(text, n, settings, n_settings, path, out));
fail:
    free(text);
    free(settings);
    vkt__arena_finish(&a);
    return st;
}

static vkt_status open_gguf(const char *path, vkt_tokenizer **out)
{
    vkt__gguf g;
    vkt_status st = vkt__gguf_open(path, &g);
    if (st == VKT_OK) st = vkt__tokenizer_parse_gguf(&g, out);
    vkt__gguf_close(&g);
    return st;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

static vkt_status open_file(const char *path, vkt_tokenizer **out);

static vkt_status open_folder(const char *folder, vkt_tokenizer **out)
{
    static const char *const names[] = { "tokenizer.json", "encoder.json", "vocab.json",
                                         "vocab.txt" };
    vkt__arena a = { 0 };
    vkt_status st = VKT_E_FORMAT;
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        const char *path = vkt__arena_printf(&a, "%s/%s", folder, names[i]);
        if (vkt__is_absent(path)) continue;
        st = open_file(path, out);
        goto done;
    }
    vkt__fail(VKT_E_FORMAT, "data",
              "'%s' has no tokenizer: tokenizer.json, encoder.json with vocab.bpe, vocab.json "
              "with merges.txt, or vocab.txt",
              vkt__show(folder).s);
done:
    vkt__arena_finish(&a);
    return st;
}

static vkt_status open_file(const char *path, vkt_tokenizer **out)
{
    static const char *const pairs[][2] = { { "encoder.json", "vocab.bpe" },
                                            { "vocab.json", "merges.txt" } };
    vkt__arena a = { 0 };
    vkt_status st = VKT_OK;
    if (ends_with(path, ".tiktoken") || ends_with(path, "tokenizer.model"))
        return open_ranks(path, out);
    if (ends_with(path, "vocab.txt")) return open_vocab(path, out);
    for (size_t i = 0; i < VKT_COUNT(pairs); i++)
        for (int k = 0; k < 2; k++) {
            if (!ends_with(path, pairs[i][k])) continue;
            size_t n = strlen(path) - strlen(pairs[i][k]);
            st = open_gpt2(vkt__arena_printf(&a, "%.*s%s", (int)n, path, pairs[i][0]),
                           vkt__arena_printf(&a, "%.*s%s", (int)n, path, pairs[i][1]), out);
            vkt__arena_finish(&a);
            return st;
        }
    return vkt__is_gguf(path) ? open_gguf(path, out) : open_json(path, out);
}

/* How the model writes conversations, from the files beside its tokenizer. */
static vkt_status read_chat(vkt_tokenizer *t, const char *spec)
{
    vkt__arena a = { 0 };
    const char *slash = strrchr(spec, '/');
    if (!strcmp(spec, "bytes") || vkt__is_gguf(spec)) return VKT_OK; /* it is read already */
    const char *folder = vkt__is_dir(spec) ? spec
                         : slash ? vkt__arena_printf(&a, "%.*s", (int)(slash - spec), spec)
                                 : ".";
    vkt_status st = vkt__tokenizer_read_chat(t, *folder ? folder : "/");
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt_tokenizer_open(const char *spec, vkt_tokenizer **out)
{
    vkt_status st;
    *out = NULL;
    if (!strcmp(spec, "bytes"))
        st = bytes_create(out);
    else if (vkt__is_dir(spec))
        st = open_folder(spec, out);
    else if (vkt__file_size(spec) >= 0)
        st = open_file(spec, out);
    else
        st = vkt__fail(VKT_E_IO, "data",
                       "there is no tokenizer '%s': data.tokenizer (or --tokenizer) must be bytes, "
                       "chars, or the file or folder of a tokenizer",
                       vkt__show(spec).s);
    if (st == VKT_OK) st = read_chat(*out, spec);
    if (st != VKT_OK) vkt_tokenizer_destroy(out);
    return st;
}

vkt_status vkt_tokenizer_from_schema(const char *schema_json, vkt_tokenizer **out)
{
    vkt_status st;
    vkt__arena a = { 0 };
    vkt__schema s;
    *out = NULL;
    VKT_TRY(vkt__schema_parse(schema_json, &a, &s));
    if (s.context)
        st = vkt__tokenizer_parse_json(s.tokenizer, strlen(s.tokenizer),
                                       "the checkpoint's tokenizer", out);
    else
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "the model is not a language model: it has no tokenizer");
fail:
    vkt__arena_finish(&a);
    return st;
}
