/* vktrain ui: a page in the browser over the same files that the commands read. */
#include "cli.h"

#ifdef VKT_HTTP
#include <stdlib.h>

#include "ui.h"
#include "ui_histories.h"
#include "ui_jobs.h"
#include "ui_lists.h"
#include "ui_os.h"
#include "ui_studies.h"
#include "ui_use.h"
#endif

typedef struct ui_options {
    cli_options common;
    cli_list roots;
    uint32_t port;
    bool no_browser;
} ui_options;

#define AT(field) offsetof(ui_options, field)
static const cli_flag flags[] = {
    { "--root", CLI_LIST, AT(roots), "FOLDER", "the current one",
      "folder that the page may read and write in, with all that is in it; may be repeated" },
    { "--port", CLI_UINT, AT(port), "P", "8090", "port on 127.0.0.1; 0: a free one" },
    { "--no-browser", CLI_BOOL, AT(no_browser), NULL, NULL,
      "only print the link, and open no browser" },
    { 0 },
};

#ifdef VKT_HTTP
/* A folder of photos comes file by file, a text or a table in one. */
enum { JSON_MIB = 2, BODY_MIB = 256, HELD_MIB = 600, CONNECTIONS = 64, READ_S = 60 };

static int serve(const ui_options *o, ui *u)
{
    char *why;
    const http_limits limits = { .json_bytes = (size_t)JSON_MIB << 20,
                                 .body_bytes = (size_t)BODY_MIB << 20,
                                 .held_bytes = (size_t)HELD_MIB << 20,
                                 .connections = CONNECTIONS,
                                 .read_s = READ_S,
                                 .policy = ui_policy,
                                 .hands_gets = true,
                                 .own_pages = true,
                                 .why_not = ui_why_not,
                                 .user = u };
    if (!http_open((uint16_t)o->port, &limits, &u->http, &why)) {
        cli_error(
            "ui: can't listen on 127.0.0.1:%u: %s; if another vktrain ui runs, its link stands in "
            "its terminal; else give another --port",
            o->port, why ? why : "no memory");
        free(why);
        return CLI_DATA;
    }
    ui_pages_clean();
    const char *link = cli_text("http://127.0.0.1:%u/?token=%s", http_port(u->http), u->token.link);
    printf("%s\nThis link opens the page once. Ctrl-C ends it; what trains goes on.\n", link);
    fflush(stdout);
    if (!o->no_browser && !ui_os_browse(link)) printf("No browser was found: open the link.\n");
    fflush(stdout);
    while (!cli_interrupted(false)) {
        bool waits = ui_asks_step(u) | ui_lists_step(u) | ui_use_opens();
        ui_jobs_step(u->jobs);
        bool goes_on = ui_use_step(u);
        goes_on |= ui_histories_step();
        http_request *r = http_next(u->http, goes_on ? 0 : waits ? 0.02 : 0.2);
        if (r) ui_serve(u, r);
    }
    ui_asks_close(u);
    ui_lists_close(u);
    ui_use_close();
    http_close(&u->http);
    return CLI_INTERRUPTED;
}

static int run(void *options)
{
    const ui_options *o = options;
    ui u = { .program = NULL };
    int rc = CLI_FAILED;
    if (o->port > 65535) {
        cli_error("ui: --port is %u, must be from 0 to 65535", o->port);
        return CLI_USAGE;
    }
    if (!ui_roots_open(o->roots.item, o->roots.n, &u.roots)) return CLI_DATA;
    ui_roots_confine(&u.roots);
    u.program = ui_os_program(o->common.argv[0]);
    u.here = ui_os_here();
    cli_catch_interrupts(NULL);
    if (!u.program || !u.here)
        cli_error("ui: the current folder is gone: start in another");
    else if (!ui_token_init(&u.token, o->port))
        cli_error("ui: this system gives no random bytes (/dev/urandom) for the page's link");
    else if (ui_asks_open(&u) && (u.jobs = ui_jobs_open(u.program, u.roots.folder[0])))
        rc = serve(o, &u);
    else
        rc = CLI_MEMORY;
    ui_asks_close(&u);
    ui_jobs_close(&u.jobs);
    ui_roots_close(&u.roots);
    free(u.program);
    free(u.here);
    return rc;
}
#else
static int run(void *options)
{
    (void)options;
    cli_error("ui: this vktrain was built without libmicrohttpd: install libmicrohttpd-dev "
              "(Debian's name) and build it again");
    return CLI_NO_DEVICE;
}
#endif

const cli_command cmd_ui = {
    .name = "ui",
    .args = "",
    .summary = "open a page in the browser: look at data, write a recipe, train, watch, use",
    .details =
        "Listens on 127.0.0.1 alone. The link that is printed has a secret and opens the page "
        "once, in one browser; then the next link is printed. The page reads and writes within the "
        "folders of --root only. All that it does is run folders and recipes that the other "
        "commands read, and it shows the command that does the same. Ctrl-C ends it, with exit "
        "code 130.\n"
        "example: vktrain ui --root ~/photos",
    .flags = flags,
    .options_bytes = sizeof(ui_options),
    .run = run,
};
