/* ui_token.h */
#include <stdio.h>
#include <string.h>

#include "http_words.h"
#include "ui_os.h"
#include "ui_token.h"

static bool draw(char out[2 * UI_SECRET + 1])
{
    unsigned char b[UI_SECRET];
    if (!ui_os_secret(b, sizeof b)) return false;
    for (size_t i = 0; i < sizeof b; i++) snprintf(out + 2 * i, 3, "%02x", b[i]);
    return true;
}

bool ui_token_init(ui_token *t, uint32_t port)
{
    char any[2 * UI_SECRET + 1];
    if (!draw(t->link) || !draw(t->cookie) || !draw(any)) return false;
    if (port)
        snprintf(t->name, sizeof t->name, "vktrain_%u", port);
    else
        snprintf(t->name, sizeof t->name, "vktrain_x%.8s", any);
    t->lasts = port != 0;
    return true;
}

bool ui_token_has_cookie(const ui_token *t, const http_request *r)
{
    size_t n;
    const char *cookie = http_cookie(r->cookie, t->name, &n);
    return cookie && http_is_secret(t->cookie, cookie, n);
}

bool ui_token_exchange(ui_token *t, http_request *r)
{
    char given[2 * UI_SECRET + 2], set[200];
    if (!http_argument(r->query, "token", given, sizeof given) ||
        !http_is_secret(t->link, given, strlen(given)))
        return false;
    snprintf(set, sizeof set, "%s=%s; Path=/; HttpOnly; SameSite=Strict%s", t->name, t->cookie,
             t->lasts ? "; Max-Age=2592000" : "");
    http_header(r, "Set-Cookie", set);
    if (!draw(t->link)) t->link[0] = 0; /* then no link is good */
    return true;
}
