/* Private to the library: a conversation as text, and which of it an assistant is to learn. */
#ifndef VKT_DATA_CONVERSATION_H
#define VKT_DATA_CONVERSATION_H

#include "data/chat/template.h"

/* A stretch of a document: its text, whether its tokens count in the loss, and whether control
 * tokens are recognised in it. */
typedef struct vkt__stretch {
    const char *text;
    size_t n;
    bool counts, special;
} vkt__stretch;

/* How a model's conversations are written. */
typedef struct vkt__chat {
    struct json_t *settings; /* "chat_template", "bos_token", "eos_token", "pad_token", "unk_token":
                                texts; "eos_ids": numbers; each may be absent */
    vkt__template *template;
    const char **control; /* [n_control] texts of control tokens, owned with the array */
    size_t n_control;
    bool begins[256]; /* bytes that a control token begins with */
} vkt__chat;

/* The settings that a folder's tokenizer_config.json, chat_template.jinja, special_tokens_map.json
 * and generation_config.json have: a new object, empty without such files. IO, FORMAT. */
vkt_status vkt__chat_settings(const char *folder, struct json_t **out);
/* Takes a reference to the settings, copies the control tokens' texts. settings must have a
 * chat_template. FORMAT: it is not understood. */
vkt_status vkt__chat_create(struct json_t *settings, const char *name, const char *const *control,
                            size_t n_control, vkt__chat **out);
void vkt__chat_destroy(vkt__chat **c);

typedef struct vkt__chat_text {
    vkt__rendered rendered;
    vkt__stretch *stretch; /* [n] pointing into the rendered text, or to control tokens' texts */
    size_t n, cap;
} vkt__chat_text;
void vkt__chat_text_finish(vkt__chat_text *t);

/* messages: [{"role", "content", ..}]; tools: a list, or NULL. */
typedef struct vkt__conversation {
    const struct json_t *messages, *tools;
    size_t n_given; /* so many of the messages do not count */
    double now;     /* what strftime_now tells; NAN: nothing */
} vkt__conversation;

/* Whether message k of v, or of these in their place, is to be learned. */
bool vkt__turn_counts(const vkt__conversation *v, const struct json_t *messages, size_t k);
/* The conversation to learn from: each of the assistant's turns (but those with "weight": 0) counts
 * with its end token. Control tokens' texts that stand in the messages stay texts. FORMAT: the
 * template refuses it, or it can't be told where a turn begins and ends. *out: zeroed or of an
 * earlier call. */
vkt_status vkt__chat_lesson(const vkt__chat *c, const vkt__conversation *v, vkt__chat_text *out);
/* The conversation so far and the beginning of the assistant's next turn; nothing counts.
 * control: control tokens in the messages are recognised. */
vkt_status vkt__chat_prompt(const vkt__chat *c, const vkt__conversation *v, bool control,
                            vkt__chat_text *out);

#endif
