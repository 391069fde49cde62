/* Private to the chat templates: the parser of expressions, as template_blocks.c uses it. */
#ifndef VKT_DATA_TEMPLATE_PARSE_H
#define VKT_DATA_TEMPLATE_PARSE_H

#include "jinja/template_tree.h"

typedef struct vkt__tparser {
    const vkt__ttokens *tokens;
    size_t at;
    vkt__arena *arena;
    vkt__terror *error; /* set once; loops end */
    uint32_t depth, loops, generations;
} vkt__tparser;

const vkt__ttoken *vkt__tp_now(const vkt__tparser *p);
void vkt__tp_next(vkt__tparser *p);
/* `what` is not understood at the token that is next. Returns false. */
bool vkt__tp_fail(vkt__tparser *p, const char *what);
/* Takes the sign, or the word, if it is next. */
bool vkt__tp_sign(vkt__tparser *p, const char *sign);
bool vkt__tp_word(vkt__tparser *p, const char *word);
bool vkt__tp_expect(vkt__tparser *p, const char *sign);
/* Counts a level deeper; the caller takes it back from p->depth. */
bool vkt__tp_enter(vkt__tparser *p);
vkt__tnode *vkt__tp_node(vkt__tparser *p, vkt__tnode_kind kind);
void vkt__tp_add(vkt__tparser *p, vkt__tnode *to, vkt__ttext key, vkt__tnode *item);
/* An expression; one without "x if y else z" at its top; or several with commas between them. */
vkt__tnode *vkt__tp_expression(vkt__tparser *p);
vkt__tnode *vkt__tp_plain(vkt__tparser *p);
vkt__tnode *vkt__tp_tuple(vkt__tparser *p);
/* The filter after "|", of what is before it (NULL: of a block). */
vkt__tnode *vkt__tp_filter(vkt__tparser *p, vkt__tnode *of);

#endif
