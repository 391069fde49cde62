/* Which paths the page may name: those within the folders of --root, links followed. A path is
 * written as text for JSON: bytes that are no UTF-8, control characters and % as %XX. */
#ifndef VKT_TOOLS_UI_ROOTS_H
#define VKT_TOOLS_UI_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ui_roots {
    char **folder; /* absolute, links followed */
    size_t n;
} ui_roots;

/* false: a folder is not there; its name was said. n 0: the current one. */
bool ui_roots_open(const char *const *folders, size_t n, ui_roots *out);
void ui_roots_close(ui_roots *r);
/* From here on this process and its children open no file elsewhere by the library (VKT_WITHIN),
 * but in vktrain's own cache folder: whatever a recipe, a run or a model from a stranger names.
 * Before the first thread. */
void ui_roots_confine(const ui_roots *r);

/* The path as text, and back (NULL: it is none). Free it. */
char *ui_path_text(const char *path);
char *ui_path_bytes(const char *text);

/* The absolute path of an existing file or folder, links followed; relative texts begin at the
 * first root. NULL: *why, a sentence. Free it. */
char *ui_roots_find(const ui_roots *r, const char *text, const char **why);
/* The same of what need not be there: the folder that holds it must be, and if it is there, links
 * are followed, too. */
char *ui_roots_new(const ui_roots *r, const char *text, const char **why);
/* Whether one part of a path is a name that may be made: no slash, no control character, no dot in
 * front, at most 200 bytes, and none that Windows reads as a device. */
bool ui_name_is_fine(const char *name);
/* The folder that holds what is at a path without links; NULL: none does. Free it. */
char *ui_path_up(const char *real);
bool ui_roots_have(const ui_roots *r, const char *real); /* a path without links */

#endif
