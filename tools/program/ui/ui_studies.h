/* Pages that the report layer writes, shown in frames of the page. */
#ifndef VKT_TOOLS_UI_STUDIES_H
#define VKT_TOOLS_UI_STUDIES_H

#include "http.h"

/* Where such a page is written; NULL: there is no place. */
const char *ui_page_file(void);
/* Gives the page and removes its file. */
void ui_give_page(http_request *r, const char *file);
/* Removes old pages and parts of them, which processes that were killed have left. */
void ui_pages_clean(void);

#endif
