/* A prediction as text for people and programs: ranked classes, JSON. */
#ifndef VKT_TOOLS_PREDICTION_H
#define VKT_TOOLS_PREDICTION_H

#include <stdint.h>

/* Which of n values is the rank-th largest (of equals the first). */
uint32_t prediction_ranked(const float *value, uint32_t n, uint32_t rank);
/* Adds "predicted" and, with names, "classes" [{"class", "p"}], the `top` likeliest, to an object.
 * names [n], NULL: value[0] is a number in its own units. */
struct json_t;
void prediction_json(struct json_t *to, const float *value, uint32_t n, const char *const *names,
                     uint32_t top);

#endif
