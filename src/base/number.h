/* Private to the library: numbers in text, written and read as in the C locale whatever the
 * program's is. */
#ifndef VKT_BASE_NUMBER_H
#define VKT_BASE_NUMBER_H

#include "vktrain/base.h"

/* A finite decimal number and nothing else: 1, -2.5, .5, 1e-3; correctly rounded. */
bool vkt__number(const char *text, double *out);
/* The same, NAN where text is anything else. */
double vkt__number_or_nan(const char *text);
/* v as printf's `format` (one double) writes it, read back: a number with fewer digits. */
double vkt__rounded(const char *format, double v);
/* Digits and nothing else, without a leading zero (010 could be meant as octal). */
bool vkt__parse_u64(const char *text, uint64_t *out);
bool vkt__parse_bool(const char *text, bool *out); /* true false yes no on off */
/* The shortest text that reads back to the same number; as a float where `single`. */
const char *vkt__double_text(double v, bool single, char out[32]);

#endif
