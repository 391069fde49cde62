/* What is read of all run folders at once, which takes a second where there are ten thousand: by a
 * thread beside the page's, so that other requests are answered meanwhile. */
#ifndef VKT_TOOLS_UI_LISTS_H
#define VKT_TOOLS_UI_LISTS_H

#include "ui.h"
#include "vktrain/runs.h"

typedef struct ui_lists {
    vkt_run_info **of; /* of each root */
    size_t *n, n_roots;
    char wrong[600]; /* which folders could not be read, and why; "": all could */
} ui_lists;

/* Both are called with what ui_lists_ask was given. The first is called on the thread: it touches
 * neither the request nor anything else of the page's. The second answers r, and frees `about`. */
typedef void (*ui_lists_read)(const ui_lists *l, void *about);
typedef void (*ui_lists_done)(ui *u, http_request *r, void *about);
/* again: the folders are read again, however short the last time is ago. */
void ui_lists_ask(ui *u, http_request *r, bool again, ui_lists_read read, ui_lists_done done,
                  void *about);
/* The next one reads the folders again. */
void ui_lists_forget(void);
bool ui_lists_step(ui *u); /* whether any is on its way: call it often then */
void ui_lists_close(ui *u);

#endif
