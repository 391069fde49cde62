/* Private to src/data: JSON lines as documents. */
#ifndef VKT_DATA_JSONL_H
#define VKT_DATA_JSONL_H

#include "data/text/document.h"

/* What is done with lines that can't be read, and what was. */
typedef struct vkt__jsonl_options {
    bool pairs;          /* "chosen" and "rejected" answers: see vkt__jsonl_read */
    bool skip_bad;       /* they are left out and counted; else the first one is an error */
    bool skip_long;      /* the same of those that are longer than a line may be, 32 MiB */
    double now;          /* what strftime_now tells; NAN: nothing */
    const vkt__map *map; /* the lines lie in it, and are given back once read; or NULL */
    uint64_t n_bad, n_read;
    char first_bad[200];   /* of those left out: which and why */
    const char *label;     /* a key beside "text" that classifiers learn; NULL: there was none */
    char first_label[160]; /* the first line that has it */
    uint64_t n_open;       /* answers that count and have no end token behind them */
    char first_open[190];  /* the first of them */
} vkt__jsonl_options;

/* Each line of the n bytes as a document: a text; a prompt with its completion; a conversation, in
 * the forms "messages", prompt and completion as messages, ShareGPT's and Alpaca's, by the
 * tokenizer's chat template (NULL: as "role: content" lines). With options->pairs each line is a
 * preference and two documents, "prompt" and "chosen", then "prompt" and "rejected": texts or lists
 * of turns. Without a "prompt", it is what both begin with. FORMAT: a line is none of these, or has
 * more than 32 MiB, which is said with its number. */
vkt_status vkt__jsonl_read(const char *text, size_t n, const char *name, vkt_tokenizer *tokenizer,
                           vkt__jsonl_options *options, vkt__document_fn fn, void *user);

#endif
