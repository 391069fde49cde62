/* ui.h: who may ask, the files of the page, and which handler answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "http_refusal.h"
#include "http_words.h"
#include "ui.h"

/* Scripts and styles are files of this server, so that no text of the data can become one. */
const char ui_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "media-src 'self' blob:; connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri "
    "'none'; "
    "frame-ancestors 'none'";

/* ---- who may ask ---- */

static bool is_first(const http_request *r)
{
    return !strcmp(r->path, "/") && strcmp(r->method, "POST") != 0;
}

const char *ui_why_not(void *user, const http_request *r)
{
    const ui *u = user;
    return is_first(r) || ui_token_has_cookie(&u->token, r) ? NULL : http_no_token;
}

/* The page without its secrets: what to do to get in. */
static void refuse_page(http_request *r)
{
    static const char page[] =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>vktrain</title>"
        "<h1>This page needs its link</h1><p>Open the link that <code>vktrain ui</code> has "
        "printed in its terminal. Each link opens the page once; then the next one is printed.</p>";
    char *copy = malloc(sizeof page);
    if (copy) memcpy(copy, page, sizeof page);
    http_answer(r, 401, "text/html; charset=utf-8", copy, copy ? sizeof page - 1 : 0);
}

static void enter(ui *u, http_request *r)
{
    if (!ui_token_exchange(&u->token, r)) {
        refuse_page(r);
        return;
    }
    http_header(r, "Location", "/");
    http_answer(r, 303, "text/plain", NULL, 0);
    printf("a page was opened; for another browser: http://127.0.0.1:%u/?token=%s\n",
           http_port(u->http), u->token.link);
    fflush(stdout);
}

/* ---- the files of the page ---- */

static const char *type_of(const char *name)
{
    static const char *const types[][2] = { { ".html", "text/html; charset=utf-8" },
                                            { ".css", "text/css; charset=utf-8" },
                                            { ".js", "text/javascript; charset=utf-8" },
                                            { ".svg", "image/svg+xml" } };
    size_t n = strlen(name);
    for (size_t i = 0; i < CLI_COUNT(types); i++) {
        size_t k = strlen(types[i][0]);
        if (n > k && !strcmp(name + n - k, types[i][0])) return types[i][1];
    }
    return "application/octet-stream";
}

static bool give_file(http_request *r)
{
    const char *name = !strcmp(r->path, "/") ? "ui.html" : r->path + 1;
    for (const ui_file *f = ui_embedded; f->name; f++) {
        if (strcmp(f->name, name) != 0) continue;
        char *copy = cli_grow(NULL, f->bytes + 1);
        memcpy(copy, f->data, f->bytes);
        http_answer(r, 200, type_of(name), copy, f->bytes);
        return true;
    }
    return false;
}

/* ---- which handler ---- */

static void call(ui *u, http_request *r, const ui_route *route)
{
    bool gets = strcmp(r->method, "POST") != 0;
    json_error_t e;
    if (gets != (route->takes == UI_NOTHING)) {
        http_refuse(r, 405, "%s takes %s", route->path, gets ? "POST" : "GET");
    } else if (route->takes == UI_BYTES && strcmp(r->type, "application/octet-stream") != 0) {
        http_refuse(r, 415, "the type of the body must be application/octet-stream");
    } else if (route->takes != UI_JSON) {
        route->answer(u, r, NULL);
    } else if (!http_is_json(r->type)) {
        http_refuse(r, 415, "the type of the body must be application/json");
    } else {
        json_t *in = json_loadb(r->body, r->n, JSON_REJECT_DUPLICATES, &e);
        if (json_is_object(in))
            route->answer(u, r, in);
        else
            http_refuse(r, 400, "the body is no JSON object");
        json_decref(in);
    }
}

void ui_serve(ui *u, http_request *r)
{
    bool gets = strcmp(r->method, "POST") != 0;
    if (is_first(r) && *r->query) {
        enter(u, r);
        return;
    }
    if (!ui_token_has_cookie(&u->token, r)) {
        refuse_page(r);
        return;
    }
    for (const ui_route *const *t = ui_route_tables; *t; t++)
        for (const ui_route *route = *t; route->path; route++)
            if (!strcmp(route->path, r->path)) {
                call(u, r, route);
                return;
            }
    if (!gets || !give_file(r)) http_refuse(r, 404, "there is nothing at this path");
}
