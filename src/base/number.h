/* Private to the library: numbers in text, written and read as in the C locale whatever the
 * program's is. */
#ifndef VKT_BASE_NUMBER_H
#define VKT_BASE_NUMBER_H

#include "vktrain/base.h"

/* A finite decimal number and nothing else: 1, -2.5, .5, 1e-3; correctly rounded. */
bool vkt__number(const char *text, double *out);
/* Digits and nothing else, without a leading zero (010 could be meant as octal). */
bool vkt__parse_u64(const char *text, uint64_t *out);
bool vkt__parse_bool(const char *text, bool *out); /* true false yes no on off */
/* The shortest text that reads back to the same number; as a float where `single`. */
const char *vkt__double_text(double v, bool single, char out[32]);

#endif
