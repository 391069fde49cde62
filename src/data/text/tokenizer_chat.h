/* Private to the library: how a tokenizer's model writes conversations. */
#ifndef VKT_DATA_TOKENIZER_CHAT_H
#define VKT_DATA_TOKENIZER_CHAT_H

#include "data/chat/conversation.h"
#include "vktrain/data.h"

/* Settings beside a tokenizer's file, of the folder that holds it. */
vkt_status vkt__tokenizer_read_chat(vkt_tokenizer *t, const char *folder);
/* A file's chat template in place of its own. */
vkt_status vkt__tokenizer_take_template(vkt_tokenizer *t, const char *path);
/* Seconds since 1970 of noon, local time, of a day such as 2026-01-31. */
bool vkt__day_seconds(const char *day, double *out);
/* By the tokenizer's chat template; where it has none, by one that suits its control tokens
 * (ChatML's, Llama 3's), else as "role: content" lines, which becomes its template. It belongs to
 * the tokenizer. FORMAT: the template is not understood. */
vkt_status vkt__tokenizer_chat(vkt_tokenizer *t, const vkt__chat **out);
bool vkt__tokenizer_has_template(const vkt_tokenizer *t);
/* The same for no tokenizer: "role: content" lines. The caller destroys it. */
vkt_status vkt__chat_plain(vkt__chat **out);
/* A text of the settings ("eos_token"), or NULL. */
const char *vkt__tokenizer_setting(const vkt_tokenizer *t, const char *key);
/* Whether a text ends with this token: the end between documents, eos_token, generation_config's.
 */
bool vkt__tokenizer_ends(const vkt_tokenizer *t, uint32_t id);
/* Makes the words of a list, as data.added_tokens has them, control tokens of *t: those that it
 * does not have get the ids behind all others, in their order; the text of one that is a token is
 * now found as a whole. As transformers' add_special_tokens. *t is replaced; where it already has
 * all of them nothing changes. FORMAT: too many. Source: huggingface/tokenizers, added_vocabulary.
 */
vkt_status vkt__tokenizer_extend(vkt_tokenizer **t, const char *words);
/* Adds the tokens of the stretches; uncounted ones too. */
vkt_status vkt__tokenizer_encode_chat(vkt_tokenizer *t, const vkt__chat_text *text,
                                      vkt_tokens *out);

#endif
