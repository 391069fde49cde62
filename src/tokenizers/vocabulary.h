/* Private to the library: a tokenizer in memory. Five kinds in one shape: "bpe" splits text by
 * patterns, then merges pairs of tokens within each piece, lowest rank first; "bytes" is a bpe
 * without merges; "chars" has one token per Unicode character; "wordpiece" and "unigram" normalise
 * text, cut it into words and find the tokens of each. tokenizer.c owns it and encodes,
 * tokenizer_split.c cuts text into pieces, tokenizer_words.c into words, tokenizer_bpe.c,
 * tokenizer_wordpiece.c and tokenizer_unigram.c find tokens, tokenizer_files.c and tokenizer_json.c
 * read and write it, tokenizer_train.c makes new ones. */
#ifndef VKT_DATA_VOCABULARY_H
#define VKT_DATA_VOCABULARY_H

#include "vktrain/tokenizers.h"
#include "base/words.h"

typedef struct vkt__piece {
    const char *bytes; /* NULL: the id is not used */
    uint32_t n;
    bool added;   /* found before the text is split, not by merges */
    bool special; /* added: a control token, recognised only when that is asked for */
    bool byte;    /* spm, unigram: what a byte of an unknown character becomes */
    /* added: looked for in the normalised text; it takes the white space on its left, right; it is
     * none within a word */
    bool normalized, lstrip, rstrip, single_word;
} vkt__piece;

typedef struct vkt__merge {
    uint32_t left, right, id;
    uint32_t rank; /* the lowest merges first; equal ranks from the left */
} vkt__merge;

typedef struct vkt__splitter vkt__splitter;     /* a compiled pattern */
typedef struct vkt__word_cache vkt__word_cache; /* pieces encoded before */

/* SentencePiece: the space before a text: none, before each stretch of text between added tokens,
 * before each that has none, before the first of them if it has none. */
typedef enum vkt__prefix {
    VKT__PREFIX_NEVER,
    VKT__PREFIX_EACH,
    VKT__PREFIX_MISSING,
    VKT__PREFIX_FIRST
} vkt__prefix;

struct vkt_tokenizer {
    vkt__arena arena;
    vkt_tokenizer_info info;
    vkt__piece *piece; /* [info.n_vocab] */
    bool chars;
    bool spm;       /* a bpe of characters, as SentencePiece has it (tokenizer_spm.h) */
    bool spm_words; /* no token reaches from one word into the next */
    vkt__prefix prefix;
    const char *json;                   /* spm, words: the file, which is written as it is */
    struct vkt__normalizer *normalizer; /* wordpiece, unigram; bpe: NULL if it has none but NFC */
    /* wordpiece, unigram */
    struct vkt__words *words; /* NULL: of another kind */
    struct vkt__wordpiece *wordpiece;
    struct vkt__unigram *unigram;
    /* What decides the tokens of a text but the vocabulary, as JSON; bpe: its normalizer. */
    const char *rules;
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
    bool any_normalized;   /* of these */
    uint32_t around[2][4]; /* [2][n_around] put before a text, and behind it */
    uint8_t n_around[2];
    vkt__word_cache *cache;
    struct json_t *chat_settings; /* of its folder, or of data; NULL: none (vkt__chat) */
    struct vkt__chat *chat;       /* made of them when conversations are written */
    void (*chat_destroy)(struct vkt__chat **chat); /* by the room that made it */
};

#endif
