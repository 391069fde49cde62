/* Private to the library: a conversation's template at work. */
#ifndef VKT_DATA_RENDER_H
#define VKT_DATA_RENDER_H

#include "data/chat/conversation.h"

/* The template for this conversation: that for tools where it has some and there is one. */
const vkt__template *vkt__chat_template(const vkt__chat *c, const vkt__conversation *v);
/* The first n messages; `prompt`: and the beginning of an answer. FORMAT. */
vkt_status vkt__chat_render(const vkt__chat *c, const vkt__conversation *v,
                            const struct json_t *messages, size_t n, bool prompt,
                            vkt__rendered *out);
/* The messages and tools of v with control tokens guarded. The caller has references; `tools` is
 * NULL where there are none. FORMAT. */
vkt_status vkt__chat_guard(const vkt__chat *c, const vkt__conversation *v, struct json_t **messages,
                           struct json_t **tools);
/* The conversation so far and the beginning of the assistant's next turn; nothing counts.
 * control: control tokens in the messages are recognised. */
vkt_status vkt__chat_prompt(const vkt__chat *c, const vkt__conversation *v, bool control,
                            vkt__chat_text *out);

#endif
