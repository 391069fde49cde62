/* What `vktrain inspect` is made of: one function a kind of file, each printing what it holds and
 * returning an exit code. */
#ifndef VKT_TOOLS_INSPECT_H
#define VKT_TOOLS_INSPECT_H

#include <zlib.h>

#include "inspect_print.h"

int inspect_folder(const char *folder); /* of a run or a checkpoint */
int inspect_safetensors(const char *path);
int inspect_gguf(const char *path);
int inspect_onnx(const char *path);
int inspect_idx(const char *path, gzFile f, const unsigned char head[4]); /* f stands behind head */
int inspect_csv(const char *path, gzFile f);
int inspect_source(const char *path, const vkt_source_info *source); /* opens it as data */
int inspect_shard(const char *path);
int inspect_tokenizer(const char *path);
bool inspect_is_llmc(const unsigned char head[4]); /* a shard of llm.c's */
bool inspect_is_tokenizer(const char *path);

#endif
