/* Texts of a tokenizer.json, where one that is missing is as good as an empty one. */
#ifndef VKT_TOKENIZERS_JSON_FIELD_H
#define VKT_TOKENIZERS_JSON_FIELD_H

#include <jansson.h>

static inline const char *vkt__json_text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

#endif
