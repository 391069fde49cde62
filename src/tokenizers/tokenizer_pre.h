/* Private to the library: llama.cpp's names of the ways in which text is split before merges. */
#ifndef VKT_DATA_TOKENIZER_PRE_H
#define VKT_DATA_TOKENIZER_PRE_H

#include "base/memory.h"

typedef struct vkt__pre {
    const char *name;       /* tokenizer.ggml.pre */
    const char *pattern[2]; /* each cuts the pieces of the one before; NULL: there is none */
    bool nfc;               /* text is normalised before */
    bool whole_words;       /* a piece that is a token is taken whole: ignore_merges */
} vkt__pre;

/* The i-th, those of one pattern after the one that exports use; NULL past the end. */
const vkt__pre *vkt__pre_at(size_t i);
/* By its name of n bytes; NULL: it is not known. */
const vkt__pre *vkt__pre_find(const char *name, size_t n);

#endif
