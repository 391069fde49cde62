/* Private to the chat templates: expressions on a rendering. */
#ifndef VKT_DATA_TEMPLATE_EVAL_H
#define VKT_DATA_TEMPLATE_EVAL_H

#include "jinja/template_tree.h"

/* Variables of a block; those of the blocks around are seen from it. */
typedef struct vkt__tscope {
    struct vkt__tscope *parent;
    vkt__tdict vars;
} vkt__tscope;

typedef struct vkt__tmacro {
    const vkt__tnode *node;
    vkt__tscope *scope; /* where it was defined */
} vkt__tmacro;

typedef struct vkt__teval {
    vkt__trun run;
    vkt__tscope *scope;
    /* Runs a macro; template.c's. */
    vkt__tvalue (*call_macro)(struct vkt__teval *e, const vkt__tmacro *m, const vkt__targs *args,
                              const vkt__tvalue *caller);
    void *user;
} vkt__teval;

vkt__tvalue vkt__t_eval(vkt__teval *e, const vkt__tnode *n);
/* The call n, whose macro is given `caller` (NULL: none). */
vkt__tvalue vkt__t_eval_call(vkt__teval *e, const vkt__tnode *n, const vkt__tvalue *caller);
/* The filter n of v, whatever n->a is. */
vkt__tvalue vkt__t_eval_filter(vkt__teval *e, const vkt__tnode *n, const vkt__tvalue *v);
void vkt__t_set(vkt__teval *e, const vkt__ttext *name, vkt__tvalue v);

#endif
