/* YAML text -> a small tree with line numbers, by libyaml's events. Strict: no anchors, aliases,
 * tags or second documents, duplicate keys are errors, depth and size are limited. Knows no
 * options. */
#ifndef VKT_FORMATS_YAML_H
#define VKT_FORMATS_YAML_H

#include "base/words.h"

typedef enum vkt__yaml_kind { VKT__YAML_SCALAR, VKT__YAML_LIST, VKT__YAML_MAP } vkt__yaml_kind;

typedef struct vkt__yaml {
    vkt__yaml_kind kind;
    int line;         /* where the value starts; of the key, where it has one */
    const char *key;  /* in a map */
    const char *text; /* scalar, without NUL inside */
    bool quoted;      /* scalar: not plain, so text and nothing else */
    struct vkt__yaml *first, *next;
} vkt__yaml;

#define VKT__YAML_BYTES (256u << 10) /* longest text */

/* `source` names the text in errors. An empty text gives an empty map. ARG: the text is not right.
 */
vkt_status vkt__yaml_parse(vkt__arena *a, const char *text, size_t n, const char *source,
                           vkt__yaml **root);

/* UTF-8 text in double quotes; quotes, controls, marks of direction and what is not seen escaped.
 */
void vkt__yaml_quote(const char *text, vkt__str *out);

#endif
