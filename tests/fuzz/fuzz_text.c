/* libFuzzer target for the readers of text data: the first byte chooses tokenizer.json,
 * encoder.json with vocab.bpe (parted by a zero byte), a rank file, JSON lines, or a shard. What
 * opens must encode and give the bytes back. Build with -DVKT_FUZZ=ON and clang; run: fuzz_text
 * -max_total_time=300 CORPUS */
#include "foreign.h"

#include "data/text/jsonl.h"
#include "data/text/shard.h"
#include "tokenizers/tokenizer_files.h"
#include "tokenizers/tokenizer_json.h"

static void use(vkt_tokenizer *t)
{
    static const char text[] = "Hello  World's\n 12345 \xc3\xa9\xff<|endoftext|>";
    vkt_tokens tokens = { 0 };
    size_t at = 0, k;
    const char *kind = vkt_tokenizer_get_info(t)->kind;
    bool spaced = !strcmp(kind, "spm") || !strcmp(kind, "wordpiece") || !strcmp(kind, "unigram");
    if (vkt_tokenizer_encode(t, text, sizeof text - 1, true, &tokens) == VKT_OK) {
        for (size_t i = 0; i < tokens.n; i++, at += k) {
            const char *bytes = vkt_tokenizer_bytes(t, tokens.id[i], &k);
            VKT_ASSERT(bytes && (spaced || (at + k < sizeof text && !memcmp(bytes, text + at, k))));
        }
        VKT_ASSERT(at == sizeof text - 1 || spaced);
    }
    free(tokens.id);
    free(vkt_tokenizer_json(t));
    vkt_tokenizer_destroy(&t);
}

static vkt_status count(void *user, const vkt__document *d)
{
    for (size_t i = 0; i < d->n_stretches; i++) *(size_t *)user += d->stretch[i].n;
    return VKT_OK;
}

static void fuzz_shard(const uint8_t *data, size_t n)
{
    vkt__shard s;
    uint64_t *aligned = vkt__alloc(n + 8);
    memcpy(aligned, data, n);
    if (vkt__shard_parse(aligned, n, "fuzz", &s) == VKT_OK) {
        vkt__shard_check(&s, "fuzz", 1000);
        if (!s.document && vkt__shard_find_documents(&s, 7) == VKT_OK)
            VKT_ASSERT(s.n_documents >= 1 && s.document[0] == 0);
        free(s.own_document);
    }
    free(aligned);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    vkt_tokenizer *t = NULL;
    vkt_log_set(foreign_quiet, NULL, VKT_LOG_WARN);
    if (n < 2) return 0;
    const char *text = (const char *)data + 1, *zero = memchr(text, 0, n - 1);
    size_t rest = n - 1, total = 0;
    if (data[0] == 'j' && vkt__tokenizer_parse_json(text, rest, "fuzz", &t) == VKT_OK) use(t);
    if (data[0] == 'r' && vkt__tokenizer_parse_ranks(text, rest, "fuzz", &t) == VKT_OK) use(t);
    if (data[0] == 'g' && zero &&
        vkt__tokenizer_parse_gpt2(text, (size_t)(zero - text), zero + 1,
                                  rest - (size_t)(zero - text) - 1, "fuzz", &t) == VKT_OK)
        use(t);
    vkt__jsonl_options lines = { .skip_bad = true, .now = 0 };
    if (data[0] == 'l') vkt__jsonl_read(text, rest, "fuzz", NULL, &lines, count, &total);
    lines.pairs = true;
    if (data[0] == 'p') vkt__jsonl_read(text, rest, "fuzz", NULL, &lines, count, &total);
    if (data[0] == 's') fuzz_shard(data + 1, rest);
    VKT_ASSERT(total <= 20 * n + 100);
    return 0;
}
