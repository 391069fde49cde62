/* Private to the library: a conversation as text, and which of it an assistant is to learn. */
#ifndef VKT_DATA_CONVERSATION_H
#define VKT_DATA_CONVERSATION_H

#include "jinja/template.h"

/* A stretch of a document: its text, whether its tokens count in the loss, and whether control
 * tokens are recognised in it. */
typedef struct vkt__stretch {
    const char *text;
    size_t n;
    bool counts, special;
} vkt__stretch;

/* How a model's conversations are written. */
typedef struct vkt__chat {
    struct json_t *settings; /* "chat_template", "tool_use_template", "bos_token", "eos_token",
                                "pad_token", "unk_token": texts; "eos_ids": numbers; each may be
                                absent */
    vkt__template *template, *tool_template; /* the latter for conversations with tools, or NULL */
    const char **control; /* [n_control] texts of control tokens, owned with the array */
    const char **end;     /* [n_ends] the same of those that end a turn */
    size_t n_control, n_ends;
    bool begins[256]; /* bytes that a control token begins with */
} vkt__chat;

/* The settings that a folder's tokenizer_config.json, chat_template.jinja, special_tokens_map.json
 * and generation_config.json have: a new object, empty without such files. IO, FORMAT. */
vkt_status vkt__chat_settings(const char *folder, struct json_t **out);
/* Takes a reference to the settings, copies the texts of the control tokens and of those that end a
 * turn; eos_token ends one, too. settings must have a chat_template. FORMAT: it is not understood.
 */
vkt_status vkt__chat_create(struct json_t *settings, const char *name, const char *const *control,
                            size_t n_control, const char *const *ends, size_t n_ends,
                            vkt__chat **out);
void vkt__chat_destroy(vkt__chat **c);

typedef struct vkt__chat_text {
    vkt__rendered rendered;
    vkt__stretch *stretch; /* [n] pointing into the rendered text, or to control tokens' texts */
    size_t n, cap;
    size_t n_open, first_open; /* of a lesson: counted turns behind which the template writes no end
                                  token, and the first of them, counted from 1 */
} vkt__chat_text;
void vkt__chat_text_finish(vkt__chat_text *t);

/* messages: [{"role", "content", ..}]; tools: a list, or NULL. */
typedef struct vkt__conversation {
    const struct json_t *messages, *tools;
    size_t n_given; /* the first n_given messages do not count */
    double now;     /* what strftime_now tells; NAN: nothing */
} vkt__conversation;

bool vkt__is_assistant(const struct json_t *message);
#endif
