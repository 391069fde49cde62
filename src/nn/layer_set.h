/* Some of a model's blocks, as recipes write them: "0 2 5-8", in ascending order. */
#ifndef VKT_NN_LAYER_SET_H
#define VKT_NN_LAYER_SET_H

#include "base/words.h"

/* It is a list of blocks below n. */
bool vkt__layer_set_ok(const char *set, uint32_t n);
/* Block i is in it; NULL: all are. */
bool vkt__layer_set_has(const char *set, uint32_t i);
/* The blocks i < n with has[i]; "" where there are none. */
void vkt__layer_set_text(const bool *has, uint32_t n, vkt__str *out);

#endif
