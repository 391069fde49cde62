/* JSON as other programs write it. */
#ifndef VKT_FORMATS_JSON_TEXT_H
#define VKT_FORMATS_JSON_TEXT_H

#include <jansson.h>

#include "base/memory.h"

/* As json_loadb, whose integers have 64 bits; a longer one becomes a real number, as Python's
 * 1000000000000000019884624838656 for "no limit" (model_max_length in tokenizer_config.json).
 * error may be NULL. */
json_t *vkt__json_parse(const char *text, size_t n, size_t flags, json_error_t *error);

/* A JSON string. It ends no element of a page that holds it: '<' is written as its code point; what
 * is not UTF-8 becomes U+FFFD. */
void vkt__str_json(vkt__str *s, const char *text);

#endif
