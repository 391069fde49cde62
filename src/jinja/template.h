/* Private to the library: chat templates, the part of Jinja 2 that published ones use. A template
 * is parsed once and rendered with variables; it reads nothing else, and its steps, depth and
 * memory are bounded. Blocks are trimmed and left-stripped, as transformers renders them. */
#ifndef VKT_DATA_TEMPLATE_H
#define VKT_DATA_TEMPLATE_H

#include "base/memory.h"

struct json_t;
typedef struct vkt__template vkt__template;

/* Copies the text. FORMAT: line N of it is not understood, which the message names; `name` is what
 * the template is called there. */
vkt_status vkt__template_parse(const char *text, size_t n, const char *name, vkt__template **out);
void vkt__template_destroy(vkt__template **t);
/* Whether it has a {% generation %} block, anywhere. */
bool vkt__template_marks(const vkt__template *t);

/* Bytes [first, end) of a rendered text. */
typedef struct vkt__text_span {
    size_t first, end;
} vkt__text_span;

typedef struct vkt__rendered {
    vkt__str text;
    vkt__text_span *generated; /* [n_generated] what {% generation %} blocks wrote, in order */
    size_t n_generated;
} vkt__rendered;

/* Renders into *out (zeroed or of an earlier rendering; vkt__rendered_finish whatever came).
 * variables: a JSON object. now: what strftime_now tells, seconds since 1970; NAN: it is not
 * defined. FORMAT: the line that failed and why; a template's raise_exception is its own words. */
vkt_status vkt__template_render(const vkt__template *t, const struct json_t *variables, double now,
                                vkt__rendered *out);
void vkt__rendered_finish(vkt__rendered *r);

#endif
