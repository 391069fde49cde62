/* What `vktrain init` is asked for, and what it finds in the data. */
#ifndef VKT_TOOLS_INIT_LOOK_H
#define VKT_TOOLS_INIT_LOOK_H

#include "init_data.h"

typedef struct init_options {
    cli_options common;
    const char *out, *label, *net;
    int task, head;
    bool force, json, quick, best;
    cli_list set;
} init_options;

/* Opens the data at path, or the built-in data of that name, as what it is; --net is taken into
 * account. The readers' warnings are shown, and why none could read it. */
vkt_status init_look(init_options *o, const char *path, init_data *d);
/* What --set init=MODEL names; NULL: nothing. */
const char *init_begins(const init_options *o);
/* A large text gets a tokenizer of its own, NAME.tokenizer.json, fewer and longer tokens. Returns
 * an exit code. */
int init_train_tokenizer(const init_options *o, init_data *d, const char *name);

#endif
