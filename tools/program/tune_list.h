/* vktrain tune --list: what each kernel takes for a product, as a table or as JSON. */
#ifndef VKT_TOOLS_TUNE_LIST_H
#define VKT_TOOLS_TUNE_LIST_H

#include "vktrain/vktrain.h"

/* All zero at first, except `json`. */
typedef struct tune_list {
    bool json;               /* nothing is printed before tune_list_finish */
    struct json_t *products; /* those that are done */
    struct json_t *kernels;  /* of the one that is measured */
    size_t n;                /* how many */
} tune_list;

/* For vkt_tune_desc, whose user is a tune_list: each, and fn. */
void tune_list_add(void *user, const vkt_tune_candidate *c);
void tune_list_end(void *user, const vkt_tune_result *r);
/* Prints what is JSON, unless there was an error, and frees all of it. */
void tune_list_finish(tune_list *list, bool prints);

#endif
