/* The JSON that a client posts as rows of a table -> the text that the library reads. */
#ifndef VKT_TOOLS_ROWS_BODY_H
#define VKT_TOOLS_ROWS_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* body [n]: an object of columns' names, a list of such, or lists of values in the order of
 * `names` [n_names]. named: objects a line; else CSV without a header. NULL and *why, in why [cap]:
 * it is none of these. free the text. */
char *rows_body_text(const char *body, size_t n, const char *const *names, size_t n_names,
                     bool named, char *why, size_t cap);

#endif
