/* Token shards on disk, to be mapped. Little endian; a header of 128 bytes, then sections, each at
 * a multiple of 8: tokens, where each document begins, which tokens do not count in the loss, and
 * the tokenizer, so that a shard needs no other file. Also reads the shards of llm.c (github.com/
 * karpathy/llm.c, dev/data/data_common.py). */
#include "data/parts/parts.h"
#include "tokenizers/tokenizer_json.h"
#include "data/text/shard.h"
#include "data/text/store.h"
#include "tokenizers/vocabulary.h"

static const char magic[8] = "VKTTOK1\n";
enum { VERSION = 1, LLMC_MAGIC = 20240520, LLMC_LLAMA3_MAGIC = 20240801, LLMC_HEADER = 1024 };

typedef struct {
    char magic[8];
    uint32_t version, width;
    uint64_t n_tokens, n_documents, n_bytes;
    uint64_t tokenizer_hash, content_hash;
    uint64_t tokens_at, documents_at, uncounted_at; /* uncounted_at 0: all count */
    uint64_t tokenizer_at, n_tokenizer;
    uint64_t
        tables_hash; /* of the header without it, and of the documents; 0: made before it was */
    uint64_t reserved[2];
} header;
_Static_assert(sizeof(header) == 120, "no padding");
enum { HEADER_BYTES = 128 };

static int32_t word_at(const void *bytes, size_t i)
{
    int32_t v;
    memcpy(&v, (const char *)bytes + 4 * i, sizeof v);
    return v;
}

static bool is_llmc(const void *bytes, size_t n)
{
    return n >= 12 && (word_at(bytes, 0) == LLMC_MAGIC || word_at(bytes, 0) == LLMC_LLAMA3_MAGIC);
}

static bool starts_a_shard(const void *bytes, size_t n)
{
    return is_llmc(bytes, n) || (n >= sizeof magic && !memcmp(bytes, magic, sizeof magic));
}

bool vkt__shard_at(const char *path)
{
    static const char *const end = ".tok";
    uint64_t id[2];
    FILE *f = vkt__path_look(path, id) == VKT__FILE ? vkt__fopen(path, "rb") : NULL;
    char head[12];
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f) fclose(f);
    return starts_a_shard(head, n) || (!vkt__is_dir(path) && vkt__bytes_named(path, &end, 1));
}

vkt_status vkt__shards_list(const char *path, vkt__arena *a, const char ***out, uint32_t *n)
{
    vkt_status st = VKT_OK;
    char **names = NULL;
    size_t n_names = 0;
    bool any = false;
    *n = 0;
    if (!vkt__is_dir(path)) {
        *out = vkt__arena_alloc(a, sizeof **out);
        (*out)[0] = path;
        *n = vkt__shard_at(path);
        return VKT_OK;
    }
    VKT_TRY(vkt__list_dir(path, &names, &n_names));
    *out = vkt__arena_alloc(a, (n_names + 1) * sizeof **out);
    for (size_t i = 0; i < n_names; i++) {
        const char *inner = vkt__arena_printf(a, "%s/%s", path, names[i]);
        if (names[i][0] == '.') continue;
        any = any || vkt__shard_at(inner);
        (*out)[(*n)++] = inner;
    }
    if (!any) *n = 0;
fail:
    vkt__names_free(names, n_names);
    return st;
}

static vkt_status cut_off(const char *name, uint64_t want, uint64_t have)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' is cut off or damaged: its header promises %llu bytes, it has %llu: get "
                     "or pack it again",
                     vkt__show(name).s, (unsigned long long)want, (unsigned long long)have);
}

static uint64_t tables_hash(header h, const void *documents)
{
    h.tables_hash = 0;
    return vkt__hash(documents, h.n_documents * 8, vkt__hash(&h, sizeof h, 0));
}

static vkt_status parse_llmc(const void *bytes, size_t n, const char *name, vkt__shard *out)
{
    bool llama3 = word_at(bytes, 0) == LLMC_LLAMA3_MAGIC;
    int32_t version = word_at(bytes, 1), n_tokens = word_at(bytes, 2);
    out->width = llama3 ? 4 : 2;
    if (version != (llama3 ? 7 : 1))
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': llm.c's shards of version %d are not read",
                         vkt__show(name).s, version);
    uint64_t want = LLMC_HEADER + (n_tokens > 0 ? (uint64_t)n_tokens * out->width : 0);
    if (n_tokens < 1 || want > n) return cut_off(name, want, n);
    out->tokens = (const char *)bytes + LLMC_HEADER;
    out->n = (uint64_t)n_tokens;
    out->content_hash = vkt__hash(bytes, n, 0);
    return VKT_OK;
}

/* Whether [at, at + count * each) lies behind the header and in the file, aligned. */
static bool section(uint64_t at, uint64_t count, uint64_t each, size_t n)
{
    uint64_t bytes;
    return at >= HEADER_BYTES && at % 8 == 0 && at <= n && vkt__mul_ok(count, each, &bytes) &&
           bytes <= n - at;
}

vkt_status vkt__shard_parse(const void *bytes, size_t n, const char *name, vkt__shard *out)
{
    header h;
    const char *base = bytes;
    *out = (vkt__shard) { 0 };
    if (is_llmc(bytes, n)) return parse_llmc(bytes, n, name, out);
    if (!starts_a_shard(bytes, n))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is not a shard of tokens: make one with `vktrain pack`",
                         vkt__show(name).s);
    if (n < HEADER_BYTES) return cut_off(name, HEADER_BYTES, n);
    memcpy(&h, bytes, sizeof h);
    if (h.version != VERSION || (h.width != 2 && h.width != 4))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is of version %u with %u bytes a token; this program reads version "
                         "%d with 2 or 4: pack it again",
                         vkt__show(name).s, h.version, h.width, VERSION);
    if (!section(h.tokens_at, h.n_tokens, h.width, n) ||
        !section(h.documents_at, h.n_documents, 8, n) ||
        !section(h.tokenizer_at, h.n_tokenizer, 1, n) ||
        (h.uncounted_at && !section(h.uncounted_at, h.n_tokens / 8 + 1, 1, n)))
        return cut_off(name, h.tokenizer_at + h.n_tokenizer, n);
    *out =
        (vkt__shard) { .tokens = base + h.tokens_at,
                       .width = h.width,
                       .n = h.n_tokens,
                       .document = (const uint64_t *)(const void *)(base + h.documents_at),
                       .n_documents = h.n_documents,
                       .uncounted = h.uncounted_at ? (const uint8_t *)base + h.uncounted_at : NULL,
                       .tokenizer_hash = h.tokenizer_hash,
                       .content_hash = h.content_hash,
                       .tokenizer = base + h.tokenizer_at,
                       .n_tokenizer = h.n_tokenizer };
    bool ok = out->n > 0 && out->n_documents > 0 && out->document[0] == 0;
    for (uint64_t i = 1; ok && i < out->n_documents; i++)
        ok = out->document[i] >= out->document[i - 1] && out->document[i] <= out->n;
    if (!ok)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is damaged: its documents overlap or have gaps: pack it again",
                         vkt__show(name).s);
    if (h.tables_hash && h.tables_hash != tables_hash(h, out->document))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is damaged: the hash of its tables is wrong: pack it again",
                         vkt__show(name).s);
    return VKT_OK;
}

vkt_status vkt__shard_open(const char *path, vkt__shard *out)
{
    vkt__map map;
    *out = (vkt__shard) { 0 };
    vkt_status st = vkt__file_map(path, &map);
    if (st == VKT_OK) st = vkt__shard_parse(map.data, map.n, path, out);
    out->map = map;
    if (st != VKT_OK) vkt__shard_close(out);
    return st;
}

void vkt__shard_close(vkt__shard *s)
{
    free(s->own_document);
    vkt__file_unmap(&s->map);
    *s = (vkt__shard) { 0 };
}

static uint32_t token_at(const vkt__shard *s, uint64_t i)
{
    return s->width == 2 ? ((const uint16_t *)s->tokens)[i] : ((const uint32_t *)s->tokens)[i];
}

static uint64_t content_hash(const vkt__shard *s)
{
    uint64_t hash = vkt__hash(s->tokens, s->n * s->width, s->tokenizer_hash);
    return s->uncounted ? vkt__hash(s->uncounted, s->n / 8 + 1, hash) : hash;
}

vkt_status vkt__shard_check(const vkt__shard *s, const char *name, uint32_t n_vocab)
{
    uint32_t top = 0;
    for (uint64_t i = 0; i < s->n; i++) top = VKT_MAX(top, token_at(s, i));
    if (top < n_vocab && (!s->tokenizer || content_hash(s) == s->content_hash)) return VKT_OK;
    if (top < n_vocab)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' is damaged: the hash of its tokens is wrong: pack it again",
                         vkt__show(name).s);
    uint64_t bad = 0;
    while (token_at(s, bad) < n_vocab) bad++;
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s': token %llu of %llu has id %u, the tokenizer's vocabulary has only %u: "
                     "the shard was packed with another tokenizer, or is damaged",
                     vkt__show(name).s, (unsigned long long)bad, (unsigned long long)s->n,
                     token_at(s, bad), n_vocab - 1);
}

vkt_status vkt__shard_find_documents(vkt__shard *s, uint32_t end)
{
    uint64_t n = 1;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            vkt_status st =
                vkt__alloc_large(n, sizeof *s->own_document, "the documents", &s->own_document);
            if (st != VKT_OK) return st;
            s->own_document[0] = 0;
        }
        n = 1;
        for (uint64_t i = 1; i < s->n; i++) {
            if (token_at(s, i) != end) continue;
            if (pass) s->own_document[n] = i;
            n++;
        }
    }
    s->document = s->own_document;
    s->n_documents = n;
    return VKT_OK;
}

/* ---- writing ---- */

static vkt_status put(vkt__shard_out *o, const void *data, uint64_t n)
{
    if (fwrite(data, 1, n, o->f) == n) return VKT_OK;
    return vkt__write_failed("data", o->path);
}

static vkt_status align(vkt__shard_out *o, uint64_t n)
{
    static const char zeros[8] = { 0 };
    return put(o, zeros, vkt__align(n, 8) - n);
}

/* vkt__hash of what was hashed to h and these bytes behind it. */
static uint64_t hash_on(const void *data, size_t n, uint64_t h)
{
    return vkt__hash(data, n, h ^ vkt__hash("", 0, 0));
}

vkt_status vkt__shard_begin(const char *path, const vkt_tokenizer *t, vkt__shard_out *o)
{
    static const char zeros[HEADER_BYTES] = { 0 };
    *o = (vkt__shard_out) { .path = path,
                            .tokenizer = t,
                            .width = t->info.n_vocab <= 65536 ? 2 : 4,
                            .hash = vkt__hash("", 0, t->info.hash) };
    vkt_status st = vkt__file_create(path, &o->f);
    return st == VKT_OK ? put(o, zeros, sizeof zeros) : st;
}

vkt_status vkt__shard_put(void *user, const uint32_t *id, size_t n)
{
    enum { SOME = 8192 };
    uint16_t narrow[SOME];
    vkt__shard_out *o = user;
    vkt_status st = VKT_OK;
    for (size_t at = 0, k; at < n && st == VKT_OK; at += k) {
        k = VKT_MIN(n - at, SOME);
        for (size_t i = 0; i < k && o->width == 2; i++) narrow[i] = (uint16_t)id[at + i];
        const void *some = o->width == 2 ? (const void *)narrow : id + at;
        o->hash = hash_on(some, k * o->width, o->hash);
        st = put(o, some, k * o->width);
    }
    return st;
}

vkt_status vkt__shard_end(vkt__shard_out *o, const vkt__store *store)
{
    vkt_status st;
    char *json = vkt__tokenizer_kept(o->tokenizer);
    header h = { .version = VERSION,
                 .width = o->width,
                 .n_tokens = vkt__store_count(store),
                 .n_documents = store->n_documents,
                 .n_bytes = store->n_bytes,
                 .tokenizer_hash = o->tokenizer->info.hash,
                 .content_hash = o->hash,
                 .n_tokenizer = strlen(json) };
    memcpy(h.magic, magic, sizeof magic);
    uint64_t n_uncounted = store->uncounted ? h.n_tokens / 8 + 1 : 0;
    if (n_uncounted) h.content_hash = vkt__hash(store->uncounted, n_uncounted, h.content_hash);
    h.tokens_at = HEADER_BYTES;
    h.documents_at = vkt__align(h.tokens_at + h.n_tokens * h.width, 8);
    uint64_t at = h.documents_at + h.n_documents * 8;
    if (n_uncounted) h.uncounted_at = at;
    h.tokenizer_at = vkt__align(at + n_uncounted, 8);
    h.tables_hash = tables_hash(h, store->document);
    VKT_TRY(align(o, h.n_tokens * h.width));
    VKT_TRY(put(o, store->document, h.n_documents * 8));
    if (n_uncounted) VKT_TRY(put(o, store->uncounted, n_uncounted));
    VKT_TRY(align(o, n_uncounted));
    VKT_TRY(put(o, json, h.n_tokenizer));
    VKT_TRY(align(o, h.n_tokenizer));
    if (!vkt__file_seek(o->f, 0)) {
        st = vkt__write_failed("data", o->path);
        goto fail;
    }
    VKT_TRY(put(o, &h, sizeof h));
    st = vkt__file_finish(o->path, &o->f);
fail:
    free(json);
    vkt__shard_drop(o);
    return st;
}

void vkt__shard_drop(vkt__shard_out *o)
{
    if (o->f) fclose(o->f);
    o->f = NULL;
}
