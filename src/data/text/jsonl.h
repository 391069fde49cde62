/* Private to src/data: documents out of JSON lines. It takes bytes, so that it can be fuzzed. */
#ifndef VKT_DATA_JSONL_H
#define VKT_DATA_JSONL_H

#include "data/text/document.h"

/* Lines of {"text": ".."}, {"messages": [{"role": "..", "content": ".."}, ..]} or {"prompt": "..",
 * "completion": ".."}; of the last two only what the assistant says counts. */
vkt_status vkt__jsonl_read(const char *text, size_t n, const char *name,
                           const vkt_tokenizer *tokenizer, vkt__document_fn fn, void *user);

#endif
