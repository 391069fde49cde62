/* A prediction as text for people and programs: ranked classes, JSON. */
#ifndef VKT_TOOLS_PREDICTION_H
#define VKT_TOOLS_PREDICTION_H

#include "vktrain/train.h"

/* Several labels: this one is predicted. */
bool prediction_has(const vkt_prediction *p, uint32_t label);
/* The rank-th class to show: the one that is predicted, then the likeliest others (of equals the
 * first); of several labels the rank-th likeliest. */
uint32_t prediction_ranked(const vkt_prediction *p, uint32_t rank);
/* The i-th number of a regression, and with how many digits to show all: six, or as many as leave
 * three behind the point of a large one. */
double prediction_number(const vkt_prediction *p, uint32_t i);
int prediction_digits(const vkt_prediction *p);
/* Whether output k is one of a label's classes, beside numbers; of the label's first the rank-th
 * likeliest, counted from k. */
bool prediction_of_class(const vkt_prediction *p, uint32_t k);
uint32_t prediction_class(const vkt_prediction *p, uint32_t k, uint32_t rank);
/* Adds "predicted" to an object: a class's name, a list of labels, a number or an object of numbers
 * and classes by name; and, with classes, "classes" [{"class", "p"}], the `top` likeliest, beside
 * numbers those of each label with its name, "label". */
struct json_t;
void prediction_json(struct json_t *to, const vkt_prediction *p, uint32_t top);

#endif
