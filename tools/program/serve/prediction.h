/* A prediction as text for people and programs: ranked classes, JSON. */
#ifndef VKT_TOOLS_PREDICTION_H
#define VKT_TOOLS_PREDICTION_H

#include "vktrain/train.h"

/* Several labels: this one is predicted. */
bool prediction_has(const vkt_prediction *p, uint32_t label);
/* The rank-th class to show: the one that is predicted, then the likeliest others (of equals the
 * first); of several labels the rank-th likeliest. */
uint32_t prediction_ranked(const vkt_prediction *p, uint32_t rank);
/* Adds "predicted" to an object: a class's name, a list of labels, a number or an object of numbers
 * by name; and, with classes, "classes" [{"class", "p"}], the `top` likeliest. */
struct json_t;
void prediction_json(struct json_t *to, const vkt_prediction *p, uint32_t top);

#endif
