/* Private to the library: tokens that a tokenizer puts around a text, such as <s>: its
 * post_processor. Conversations have their own, which their template writes. */
#ifndef VKT_DATA_TOKENIZER_AROUND_H
#define VKT_DATA_TOKENIZER_AROUND_H

#include "tokenizers/vocabulary.h"

/* Takes them from a tokenizer.json's part, NULL for none. FORMAT. */
vkt_status vkt__around_read(vkt_tokenizer *t, const struct json_t *post_processor);
/* The part; JSON's null where there are none. */
struct json_t *vkt__around_json(const vkt_tokenizer *t);
/* Of one of them before a text, and one behind, by id; VKT_NO_TOKEN: none. */
struct json_t *vkt__around_part(const char *before, uint32_t before_id, const char *behind,
                                uint32_t behind_id);
/* Appends those before a text, or behind it. */
vkt_status vkt__around_add(const vkt_tokenizer *t, bool behind, vkt_tokens *out);
/* Appends those before a text, unless it has them itself, and its tokens; none behind it, for
 * something follows. */
vkt_status vkt__around_encode(vkt_tokenizer *t, const char *text, size_t n, bool special,
                              vkt_tokens *out);

#endif
