/* Packing: documents to shards of tokens in a new folder, which appears whole or not at all. */
#include <stdio.h>

#include "data/text/document.h"
#include "data/text/documents.h"
#include "data/text/shard.h"
#include "data/text/store.h"
#include "tokenizers/tokenizer_json.h"

typedef struct {
    vkt_tokenizer *tokenizer;
    const char *folder;
    uint64_t shard_tokens;
    vkt__store store;
    vkt__shard_out out; /* of the shard that `path` is the name of */
    vkt__str path;
    vkt_pack_result *result;
} packer;

/* Tokens that are in memory before they are written. */
enum { MOST = 1 << 18 };

static vkt_status put(void *user, const uint32_t *id, size_t n)
{
    packer *p = user;
    vkt_status st = VKT_OK;
    if (!p->out.f) {
        p->path.len = 0;
        vkt__str_printf(&p->path, "%s/shard-%05u.tok", p->folder, p->result->n_shards++);
        VKT_TRY(vkt__shard_begin(p->path.data, p->tokenizer, &p->out));
    }
    VKT_TRY(vkt__shard_put(&p->out, id, n));
fail:
    return st;
}

static void begin(packer *p)
{
    p->store = (vkt__store) { .out = put, .user = p, .most = MOST };
}

static vkt_status flush(packer *p)
{
    vkt_status st = VKT_OK;
    if (!p->store.n_documents) return VKT_OK;
    VKT_TRY(vkt__store_hand_over(&p->store));
    if (!p->out.f) VKT_TRY(put(p, NULL, 0)); /* documents of no tokens */
    VKT_TRY(vkt__shard_end(&p->out, &p->store));
    p->result->n_tokens += vkt__store_count(&p->store);
    p->result->n_documents += p->store.n_documents;
    p->result->n_bytes += p->store.n_bytes;
    vkt__store_finish(&p->store);
    begin(p);
fail:
    return st;
}

static vkt_status pack_document(void *user, const vkt__document *d)
{
    packer *p = user;
    vkt_status st = vkt__store_add(&p->store, p->tokenizer, d);
    return st == VKT_OK && vkt__store_count(&p->store) >= p->shard_tokens ? flush(p) : st;
}

vkt_status vkt_pack(const vkt_pack_desc *desc, vkt_pack_result *out)
{
    vkt_status st;
    char *folder = NULL;
    vkt__source source = { .path = desc->inputs, .n_paths = desc->n_inputs };
    packer p = { .shard_tokens = desc->shard_tokens ? desc->shard_tokens : 1u << 25,
                 .result = out };
    *out = (vkt_pack_result) { 0 };
    if (vkt__file_exists(desc->out))
        return vkt__fail(VKT_E_ARG, "data", "'%s' already exists: remove it or name another folder",
                         vkt__show(desc->out).s);
    folder = vkt__file_aside(desc->out);
    p.folder = folder;
    begin(&p);
    VKT_TRY(vkt__documents_tokenizer(&source, desc->tokenizer ? desc->tokenizer : "bytes",
                                     &p.tokenizer));
    out->tokenizer_hash = p.tokenizer->info.hash;
    out->n_vocab = p.tokenizer->info.n_vocab;
    VKT_TRY(vkt__mkdirs(folder));
    VKT_TRY(vkt__documents_read(&source, p.tokenizer, pack_document, &p));
    VKT_TRY(flush(&p));
    if (!out->n_shards) {
        st = vkt__fail(VKT_E_FORMAT, "data", "the given files hold no text");
        goto fail;
    }
    VKT_TRY(vkt__rename(folder, desc->out));
fail:
    vkt__shard_drop(&p.out);
    if (st != VKT_OK) vkt__discard_tree(folder);
    vkt__str_finish(&p.path);
    vkt__store_finish(&p.store);
    vkt_tokenizer_destroy(&p.tokenizer);
    free(folder);
    return st;
}

vkt_status vkt_shard_info_read(const char *path, vkt_shard_info *out)
{
    vkt__shard s;
    vkt_status st = vkt__shard_open(path, &s);
    *out = (vkt_shard_info) { 0 };
    if (st != VKT_OK) return st;
    *out = (vkt_shard_info) { .n_tokens = s.n,
                              .n_documents = s.n_documents,
                              .width = s.width,
                              .tokenizer_hash = s.tokenizer_hash,
                              .counts_all = s.uncounted == NULL,
                              .llmc = s.tokenizer == NULL };
    for (uint64_t i = 0; s.uncounted && i < s.n; i++)
        out->n_uncounted += s.uncounted[i / 8] >> i % 8 & 1;
    vkt_tokenizer *t = NULL;
    if (s.tokenizer) st = vkt__tokenizer_parse_json(s.tokenizer, (size_t)s.n_tokenizer, path, &t);
    if (t) out->n_vocab = t->info.n_vocab;
    if (t) snprintf(out->tokenizer_kind, sizeof out->tokenizer_kind, "%s", t->info.kind);
    if (t) st = vkt__shard_check(&s, path, t->info.n_vocab);
    vkt_tokenizer_destroy(&t);
    vkt__shard_close(&s);
    return st;
}
