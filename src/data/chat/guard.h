/* Private to src/data/chat: what is hidden in messages while a template runs. Noncharacters stand
 * for the control tokens' texts that others than the assistant wrote, so that nobody can end a turn
 * from inside of one; and they mark where a message's own text begins and ends, so that it is found
 * again in what the template writes. */
#ifndef VKT_DATA_GUARD_H
#define VKT_DATA_GUARD_H

#include "data/chat/conversation.h"

/* The control token at s, the longest; -1: none. */
int vkt__control_at(const vkt__chat *c, const char *s, const char *end);
/* The messages, texts of control tokens replaced in those of all but the assistant. NULL: a text
 * has one of these noncharacters, or it is too deep. The caller has a reference. */
struct json_t *vkt__guard_messages(const vkt__chat *c, const struct json_t *messages);
/* The same of any other value, such as the tools. */
struct json_t *vkt__guard_value(const vkt__chat *c, const struct json_t *o);
/* Bytes [first, end) of the rendered text as stretches, guards as the texts that they stand for. */
void vkt__guard_stretches(const vkt__chat *c, vkt__chat_text *t, size_t first, size_t end,
                          bool counts);

/* Where the texts of message k lie in a rendered text. */
typedef struct vkt__mark {
    size_t at, message;
    bool begin; /* else its end */
} vkt__mark;
typedef struct vkt__marks {
    vkt__mark *mark; /* [n] by place */
    size_t n, cap;
} vkt__marks;

typedef enum vkt__marking {
    VKT__MARK_EMPTY, /* as VKT__MARK_ALL, of texts that are empty, too */
    VKT__MARK_ALL,   /* ends of the assistant's texts and calls, begins and ends of the others' */
    VKT__MARK_ENDS,  /* ends of the assistant's texts alone */
    VKT__MARK_BEGIN, /* the begin of message k's text alone */
} vkt__marking;

/* A copy of the guarded messages with marks. */
struct json_t *vkt__mark_messages(const struct json_t *messages, vkt__marking how, size_t k);
/* Takes the marks out of what was rendered with them; false: it is not `text` then, so that the
 * template does another thing with a marked text than with the text, and they tell nothing. */
bool vkt__marks_read(const vkt__str *marked, const vkt__str *text, vkt__marks *out);

#endif
