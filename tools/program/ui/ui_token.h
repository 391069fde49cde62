/* Who may use the page: whoever has the link that was printed, once, and then the cookie that the
 * link was exchanged for. Cookies are sent to all ports of a host, so its name has the port: of a
 * free port, random digits, and the browser forgets it when it is closed. */
#ifndef VKT_TOOLS_UI_TOKEN_H
#define VKT_TOOLS_UI_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "http.h"

enum { UI_SECRET = 32 }; /* bytes, written in two digits each */

typedef struct ui_token {
    char link[2 * UI_SECRET + 1];   /* good once; then another takes its place */
    char cookie[2 * UI_SECRET + 1]; /* does not change */
    char name[24];                  /* of the cookie */
    bool lasts;                     /* when the browser is closed */
} ui_token;

/* port: as asked for, 0: a free one. false: this system gives no random bytes. */
bool ui_token_init(ui_token *t, uint32_t port);
/* Whether the request has the cookie. For any thread. */
bool ui_token_has_cookie(const ui_token *t, const http_request *r);
/* Whether it is the first one with the link: then r's answer sets the cookie, and the link is
 * another. */
bool ui_token_exchange(ui_token *t, http_request *r);

#endif
