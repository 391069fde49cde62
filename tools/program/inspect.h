/* What `vktrain inspect` is made of: one function a kind of file, each printing what it holds and
 * returning an exit code, and the table they share. */
#ifndef VKT_TOOLS_INSPECT_H
#define VKT_TOOLS_INSPECT_H

#include <zlib.h>

#include "cli.h"

/* A growing list of table cells; each is a copy, harmless to a terminal. */
typedef struct inspect_cells {
    char **text;
    size_t n;
    bool failed;
} inspect_cells;
void inspect_cell(inspect_cells *c, const char *text);
/* Nothing where memory did not suffice. */
void inspect_cells_print(const inspect_cells *c, const cli_column *col, size_t n_cols);
void inspect_cells_free(inspect_cells *c);

/* "'PATH': WHY" as the error line; CLI_DATA. */
int inspect_damaged(const char *path, const char *why);

int inspect_folder(const char *folder); /* of a run or a checkpoint */
int inspect_safetensors(const char *path);
int inspect_gguf(const char *path);
int inspect_idx(const char *path, gzFile f, const unsigned char head[4]); /* f stands behind head */
int inspect_csv(const char *path, gzFile f);
int inspect_pack(const char *path); /* of images */
int inspect_shard(const char *path);
int inspect_tokenizer(const char *path);
bool inspect_is_llmc(const unsigned char head[4]); /* a shard of llm.c's */
bool inspect_is_tokenizer(const char *path);

#endif
