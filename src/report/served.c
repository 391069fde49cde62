/* The page of a model that is served: what the model is stands in it as JSON, and served.js makes
 * the form of it. */
#include "report/page.h"

char *vkt_report_served(const char *title, const char *facts)
{
    vkt__page p = { .asks = true };
    vkt__page_begin(&p, title);
    vkt__page_style(&p, "served.css");
    vkt__str_printf(&p.html,
                    "<noscript><p class=\"note\"><b>This page needs its script.</b> Or ask "
                    "by POST /predict.</p></noscript>\n<div id=\"ask\"></div>\n"
                    "<script type=\"application/json\" id=\"facts\">");
    for (const char *c = facts; *c; c++)
        vkt__str_add(&p.html, *c == '<' ? "\\u003c" : c, *c == '<' ? 6 : 1);
    vkt__str_printf(&p.html, "</script>\n");
    vkt__page_end_with(&p, "served.js");
    return p.html.data;
}
