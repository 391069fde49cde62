/* Private to src/data: documents out of files and folders. */
#ifndef VKT_DATA_DOCUMENTS_H
#define VKT_DATA_DOCUMENTS_H

#include "data/text/document.h"

/* Where documents come from: paths, or a text that is one document. */
typedef struct vkt__source {
    const char *const *path;
    size_t n_paths;
    const char *name, *text; /* text: in place of the paths */
    size_t n_text;
    bool pairs;     /* lines are preferences: two documents each, the chosen answer's first */
    bool skip_bad;  /* JSON lines that can't be read are left out and counted */
    bool skip_long; /* so are those of more than 32 MiB */
    bool dated;     /* strftime_now is known to chat templates, and tells `now` */
    double now;
    const char *template; /* file of a chat template, in place of the tokenizer's; or NULL */
    const char *added;    /* vkt_data_desc.added_tokens */
} vkt__source;

/* The name is one of JSON lines: .jsonl, .jsonl.gz or .ndjson. */
bool vkt__is_jsonl(const char *path);
/* Each document in order. A file is one (plain or gzip), but of a .jsonl file each line is one; of
 * a folder every file, by name, subfolders too; * and ? in a path's last part stand for any.
 * tokenizer: whose control tokens chats are written in; NULL: as plain text. IO, FORMAT: a path
 * with nothing there, an empty file, a line that is no document. */
vkt_status vkt__documents_read(const vkt__source *s, vkt_tokenizer *tokenizer, vkt__document_fn fn,
                               void *user);
/* vkt_tokenizer_open; "chars" is made of the source's text. */
vkt_status vkt__documents_tokenizer(const vkt__source *s, const char *spec, vkt_tokenizer **out);

#endif
