/* vktrain tokenizers: text to token ids and back, by the files that published models come with.
 * Threads: a vkt_tokenizer is for one thread at a time, since encoding has a cache.
 */
#ifndef VKTRAIN_TOKENIZERS_H
#define VKTRAIN_TOKENIZERS_H

#include "vktrain/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VKT_NO_TOKEN UINT32_MAX

/* Text <-> token ids. Encoding uses a cache inside: one thread at a time. */
typedef struct vkt_tokenizer vkt_tokenizer;
typedef struct vkt_tokenizer_info {
    const char *kind;   /* "bytes", "chars", "bpe", "spm", "wordpiece", "unigram" */
    const char *source; /* file it came from, for messages */
    uint32_t n_vocab;   /* every id is below it */
    uint32_t end;       /* the token between documents; VKT_NO_TOKEN: none */
    uint32_t n_merges, n_added;
    uint64_t hash; /* of all that decides what text becomes: equal tokenizers, equal hashes */
} vkt_tokenizer_info;
typedef struct vkt_tokens {
    uint32_t *id; /* [n], grows as needed; free it with vkt_free */
    size_t n, cap;
} vkt_tokens;

/* spec: "bytes" (256 bytes and <|endoftext|>), or a path: Hugging Face's tokenizer.json of a
 * byte-level BPE, a SentencePiece BPE, WordPiece or Unigram; GPT-2's encoder.json or vocab.bpe (the
 * other beside it; vocab.json and merges.txt too), BERT's vocab.txt, a tiktoken rank file, or a
 * folder with one of these. Errors name the file and what is wrong, or what the tokenizer needs
 * that is not there: IO, FORMAT. */
VKT_API vkt_status vkt_tokenizer_open(const char *spec, vkt_tokenizer **out);
/* One token for each Unicode character of the text, rising. FORMAT: the text is empty or not UTF-8.
 * with_end: <|endoftext|> too, for texts of several documents. */
VKT_API vkt_status vkt_tokenizer_chars(const char *text, size_t n, bool with_end,
                                       vkt_tokenizer **out);
/* A new byte-level BPE from the documents at the paths (see vkt_pack_desc): up to n_vocab tokens,
 * the 256 bytes and <|endoftext|> among them. The same text gives the same tokenizer. */
VKT_API vkt_status vkt_tokenizer_train(const char *const *paths, size_t n_paths, uint32_t n_vocab,
                                       vkt_tokenizer **out);
/* The tokenizer of a run, from its checkpoint's schema (vkt_dataset_schema). FORMAT: it has none.
 */
VKT_API vkt_status vkt_tokenizer_from_schema(const char *schema_json, vkt_tokenizer **out);
VKT_API void vkt_tokenizer_destroy(vkt_tokenizer **t);
VKT_API const vkt_tokenizer_info *vkt_tokenizer_get_info(const vkt_tokenizer *t);
/* Appends the tokens of any n bytes to *out. special: control tokens such as <|endoftext|> are
 * recognised in the text; without it they are text. FORMAT: the text has what the vocabulary lacks
 * (only of "chars", or of bytes outside UTF-8); the line says where. */
VKT_API vkt_status vkt_tokenizer_encode(vkt_tokenizer *t, const char *text, size_t n, bool special,
                                        vkt_tokens *out);
/* The bytes that a token stands for; NULL, 0 for an id that is not used. A token may hold part of a
 * character. Those of "spm", "wordpiece" and "unigram" have a space before each word, and the
 * latter two's are of the normalised text: tokens joined need not give the text back. */
VKT_API const char *vkt_tokenizer_bytes(const vkt_tokenizer *t, uint32_t id, size_t *n);
/* The id of a token by its whole text ("<|im_end|>"); VKT_NO_TOKEN: there is none. */
VKT_API uint32_t vkt_tokenizer_find(const vkt_tokenizer *t, const char *text);
/* As a tokenizer.json, which transformers reads too. Free it with vkt_free. */
VKT_API char *vkt_tokenizer_json(const vkt_tokenizer *t);

#ifdef __cplusplus
}
#endif
#endif
