/* Private to src/data: a tokenizer in memory. Three kinds in one shape: "bpe" splits text by
 * patterns, then merges pairs of tokens within each piece, lowest rank first; "bytes" is a bpe
 * without merges; "chars" has one token per Unicode character. tokenizer.c owns it and encodes,
 * tokenizer_split.c cuts text into pieces, tokenizer_bpe.c merges, tokenizer_files.c and
 * tokenizer_json.c read and write it, tokenizer_train.c makes new ones. */
#ifndef VKT_DATA_TOKENIZER_H
#define VKT_DATA_TOKENIZER_H

#include "data/dataset.h"

typedef struct vkt__piece {
    const char *bytes; /* NULL: the id is not used */
    uint32_t n;
    bool added;   /* found before the text is split, not by merges */
    bool special; /* added: a control token, recognised only when that is asked for */
} vkt__piece;

typedef struct vkt__merge {
    uint32_t left, right, id;
    uint32_t rank; /* the lowest merges first; equal ranks from the left */
} vkt__merge;

typedef struct vkt__splitter vkt__splitter;     /* a compiled pattern */
typedef struct vkt__word_cache vkt__word_cache; /* pieces encoded before */

struct vkt_tokenizer {
    vkt__arena arena;
    vkt_tokenizer_info info;
    vkt__piece *piece; /* [info.n_vocab] */
    bool chars;
    bool nfc; /* text is normalised before it is split */
    /* chars: [n_points], rising */
    int32_t *point;
    uint32_t *point_id, n_points;
    /* bpe, bytes */
    uint32_t byte_id[256]; /* VKT_NO_TOKEN: the vocabulary lacks it */
    vkt__merge *merge;     /* [info.n_merges] */
    uint32_t *merge_slot;  /* hash of (left, right) -> merge + 1; 0: free */
    uint64_t merge_mask;
    bool whole_words;     /* a piece that is a token is taken whole, whatever the merges say */
    uint32_t *whole_slot; /* hash of bytes -> id + 1; for whole_words */
    uint64_t whole_mask;
    vkt__splitter **splitter; /* [n_splitters] each cuts the pieces of the one before */
    const char **pattern;     /* [n_splitters] */
    uint32_t n_splitters;
    uint32_t *added;       /* [info.n_added] ids, the longest text first */
    bool added_first[256]; /* bytes that an added token begins with */
    vkt__word_cache *cache;
};

/* ---- tokenizer_nfc.c ---- */

/* Appends the text in NFC; bytes that are no UTF-8 stay as they are. *changed false: it is the text
 * itself, and nothing was appended. OOM_HOST. */
vkt_status vkt__nfc(const char *text, size_t n, vkt__str *out, bool *changed);

#define VKT__TOKENIZER_LIMIT (256ull << 20)

extern const char vkt__pattern_gpt2[];

/* What the readers fill in before vkt__tokenizer_finish: a vocabulary of n ids, all unused. ARG or
 * FORMAT when n is 0 or above 2^24. */
vkt_status vkt__tokenizer_create(const char *kind, const char *source, uint64_t n,
                                 vkt_tokenizer **out);
/* Ids 0..255 are the bytes. */
void vkt__tokenizer_byte_vocabulary(vkt_tokenizer *t);
/* Copies; FORMAT if the id is past the vocabulary or already taken. */
vkt_status vkt__tokenizer_set(vkt_tokenizer *t, uint64_t id, const char *bytes, size_t n);
/* The id must be set. */
vkt_status vkt__tokenizer_add(vkt_tokenizer *t, uint64_t id, bool special);
/* Appended; compiled by finish. */
void vkt__tokenizer_pattern(vkt_tokenizer *t, const char *pattern);
/* Makes the indices, compiles the patterns, checks that text can be encoded, hashes. n_merges of
 * `merges` are copied. */
vkt_status vkt__tokenizer_finish(vkt_tokenizer *t, const vkt__merge *merges, size_t n_merges);

/* ---- tokenizer_split.c ---- */

typedef vkt_status (*vkt__piece_fn)(void *user, const char *bytes, size_t n);

vkt_status vkt__splitter_create(const char *pattern, const char *source, vkt__splitter **out);
void vkt__splitter_destroy(vkt__splitter **s);
/* Calls fn for each piece of text in order; together they are the text. Bytes that are not UTF-8
 * are pieces of their own. No splitters: the text is one piece. */
vkt_status vkt__split_text(vkt__splitter *const *splitters, uint32_t n_splitters, const char *text,
                           size_t n, vkt__piece_fn fn, void *user);

/* ---- tokenizer_bpe.c ---- */

/* NULL if there is no merge of the two. */
const vkt__merge *vkt__merge_find(const vkt_tokenizer *t, uint32_t left, uint32_t right);
void vkt__merge_index(vkt_tokenizer *t);
/* The id of a token of these bytes; VKT_NO_TOKEN: none. Needs whole_words' index. */
uint32_t vkt__whole_find(const vkt_tokenizer *t, const char *bytes, size_t n);
void vkt__whole_index(vkt_tokenizer *t);
/* Appends the tokens of one piece. FORMAT: it has a byte that the vocabulary lacks. */
vkt_status vkt__bpe_encode(vkt_tokenizer *t, const char *bytes, size_t n, vkt_tokens *out);
void vkt__word_cache_destroy(vkt__word_cache **c);
/* Room for n more. */
vkt_status vkt__tokens_reserve(vkt_tokens *t, size_t n);

/* ---- tokenizer_json.c ---- */

/* A vocabulary of Hugging Face's shape: {token: id} with bytes as stand-ins (or characters), and a
 * list of added tokens, or NULL. The caller adds patterns, then merges. */
struct json_t;
vkt_status vkt__tokenizer_from_vocabulary(struct json_t *vocab, const struct json_t *added,
                                          bool chars, const char *name, vkt_tokenizer **out);
/* The list's "left right" or ["left", "right"], then vkt__tokenizer_finish. */
vkt_status vkt__tokenizer_merges(vkt_tokenizer *t, const struct json_t *vocab,
                                 const struct json_t *list);

/* ---- tokenizer_files.c, tokenizer_json.c: they take bytes, so that they can be fuzzed ---- */

vkt_status vkt__tokenizer_parse_json(const char *text, size_t n, const char *name,
                                     vkt_tokenizer **out);
vkt_status vkt__tokenizer_parse_gpt2(const char *vocab, size_t n_vocab, const char *merges,
                                     size_t n_merges, const char *name, vkt_tokenizer **out);
vkt_status vkt__tokenizer_parse_ranks(const char *text, size_t n, const char *name,
                                      vkt_tokenizer **out);
/* GPT-2's printable stand-ins for bytes. Bytes of UTF-8 text of stand-ins, into out (at least n
 * long); -1: it holds a character that is none. */
int64_t vkt__stand_ins_read(const char *text, size_t n, char *out);
void vkt__stand_ins_write(const char *bytes, size_t n, vkt__str *out);

#endif
