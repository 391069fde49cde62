/* ui_recipes.h; and what is known of a recipe before it is trained: its plan, the memory that it
 * needs, how long a step takes. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ui_jobs.h"
#include "ui_os.h"
#include "ui_recipes.h"

bool ui_recipe_is_built_in(const char *name)
{
    const char *one;
    for (size_t i = 0; vkt_recipe(i, &one, NULL, NULL); i++)
        if (!strcmp(one, name)) return true;
    return false;
}

char *ui_recipe_word(ui *u, http_request *r, const json_t *in, const char *name)
{
    const char *text = ui_text(r, in, name);
    if (text && ui_recipe_is_built_in(text)) return strcpy(cli_grow(NULL, strlen(text) + 1), text);
    return ui_path(u, r, in, name);
}

/* A path that is there, within the roots; NULL: it is not. */
static char *allowed(const ui *u, const char *path)
{
    char *real = ui_os_real(path);
    ui_os_entry e;
    if (real && ui_roots_have(&u->roots, real) && ui_os_look(real, &e) && e.file) return real;
    free(real);
    return NULL;
}

char *ui_recipe_of_run(ui *u, http_request *r, const char *run)
{
    size_t cap = strlen(run) + 16;
    char *path = cli_grow(NULL, cap), *out = NULL;
    snprintf(path, cap, "%s/run.json", run);
    json_t *o = ui_json_file(path, 4 << 20);
    const char *source = json_string_value(json_object_get(o, "source")),
               *folder = json_string_value(json_object_get(o, "folder"));
    free(path);
    if (source && ui_recipe_is_built_in(source)) {
        out = strcpy(cli_grow(NULL, strlen(source) + 1), source);
    } else if (source) { /* as it was named, or beside what its paths are relative to */
        const char *slash = strrchr(source, '/'), *base = slash ? slash + 1 : source;
        out = allowed(u, source);
        cap = strlen(source) + (folder ? strlen(folder) : 0) + 2;
        char *joined = cli_grow(NULL, cap);
        snprintf(joined, cap, "%s/%s", folder ? folder : ".", source);
        if (!out) out = allowed(u, joined);
        snprintf(joined, cap, "%s/%s", folder ? folder : ".", base);
        if (!out) out = allowed(u, joined);
        free(joined);
    }
    if (!out)
        http_refuse(r, 404,
                    source ? "the run's recipe '%.200s' is not there any more, or not within the "
                             "folders of this page"
                           : "this folder has no run.json that names a recipe%.0s",
                    source ? source : "");
    json_decref(o);
    return out;
}

/* A name of a folder: letters of any script stay, what a shell or a file system may not like
 * becomes a hyphen. */
const char *ui_recipe_stem(const char *recipe)
{
    static char stem[64];
    const char *slash = strrchr(recipe, '/'), *from = slash ? slash + 1 : recipe;
    size_t n = 0;
    for (; *from && *from != '.' && n + 1 < sizeof stem; from++) {
        bool plain = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                     (*from >= '0' && *from <= '9') || *from == '_' || (unsigned char)*from >= 0x80;
        stem[n++] = plain ? *from : '-';
    }
    while (n && ((unsigned char)*from & 0xC0) == 0x80) from--, n--; /* not a part of a letter */
    stem[n] = 0;
    json_t *text = json_string(stem); /* NULL: not UTF-8 */
    json_decref(text);
    return text && *stem && *stem != '-' ? stem : "run";
}

/* ---- the lists ---- */

static void list(ui *u, http_request *r, const json_t *in)
{
    const char *name, *description;
    json_t *all = json_array();
    (void)u;
    (void)in;
    for (size_t i = 0; vkt_recipe(i, &name, &description, NULL); i++)
        json_array_append_new(
            all, json_pack("{s:s, s:o}", "name", name, "about", ui_json_text(description)));
    ui_answer(r, json_pack("{s:o}", "recipes", all));
}

static char *named(const char *command)
{
    return strcpy(cli_grow(NULL, strlen(command) + 1), command);
}

/* A child's JSON as the answer, or its error; about: its command. */
static void give_json(ui *u, http_request *r, const ui_said *said)
{
    json_error_t e;
    json_t *j = said->cut ? NULL : json_loadb(said->out, said->n_out, 0, &e);
    (void)u;
    if (j)
        ui_answer(r, j);
    else if (said->cut)
        ui_refuse_said(r, said, said->about);
    else
        http_refuse(r, 422, "%.600s", *said->err ? said->err : "it gave no answer");
}

static void devices(ui *u, http_request *r, const json_t *in)
{
    (void)in;
    ui_ask(u, r, (const char *const[]) { "vktrain", "devices", "--json", NULL }, 60, give_json,
           named("devices"));
}

/* ---- before a start ---- */

enum { MOST_SETS = 40 };
typedef struct asked {
    const char *argv[2 * MOST_SETS + 16];
    size_t n;
    char *recipe;
} asked;

/* COMMAND RECIPE --set ... --device ...; false: r was refused. */
static bool ask_of(ui *u, http_request *r, const json_t *in, const char *command, asked *a)
{
    const json_t *list = json_object_get(in, "set"), *one;
    const char *device = ui_text(r, in, "device");
    size_t i;
    *a = (asked) { .argv = { "vktrain", command }, .n = 2 };
    a->recipe = ui_recipe_word(u, r, in, "recipe");
    if (!a->recipe ||
        (!ui_recipe_is_built_in(a->recipe) && !ui_recipe_may_start(u, r, a->recipe))) {
        free(a->recipe);
        return false;
    }
    a->argv[a->n++] = a->recipe;
    json_array_foreach((json_t *)(uintptr_t)list, i, one)
    {
        const char *s = json_string_value(one);
        if (!s || *s == '-' || !strchr(s, '=') || i >= MOST_SETS) {
            http_refuse(r, 400, "set: a list of KEY=VALUE is expected");
            free(a->recipe);
            return false;
        }
        a->argv[a->n++] = "--set";
        a->argv[a->n++] = s;
    }
    if (device && *device && *device != '-') {
        a->argv[a->n++] = "--device";
        a->argv[a->n++] = device;
    }
    return true;
}

/* The plan's text, from "model" on: the configuration before it is in the recipe. */
static void give_plan(ui *u, http_request *r, const ui_said *said)
{
    static const char head[] = "# plan of a training step\n";
    const char *plan = strstr(said->out, head);
    (void)u;
    if (said->cut)
        ui_refuse_said(r, said, "train");
    else if (said->rc || !plan)
        http_refuse(r, 422, "%.600s", *said->err ? said->err : "there is no plan");
    else
        ui_answer(r, json_pack("{s:o, s:o}", "plan", ui_json_text(plan + sizeof head - 1),
                               "configuration", ui_json_text(said->out)));
}

static void plan(ui *u, http_request *r, const json_t *in)
{
    asked a;
    if (!ask_of(u, r, in, "train", &a)) return;
    a.argv[a.n++] = "--explain";
    a.argv[a.n] = NULL;
    ui_ask(u, r, a.argv, 120, give_plan, NULL);
    free(a.recipe);
}

/* Some steps are made, without a run: how long one takes. */
static void measure(ui *u, http_request *r, const json_t *in)
{
    char cache[1024];
    asked a;
    if (ui_jobs_device_is_taken(u->jobs)) {
        http_refuse(r, 409, "a job of the queue uses the device: the time would be wrong");
        return;
    }
    if (!vkt_cache_folder(cache, sizeof cache) || strlen(cache) > 400) {
        http_refuse(r, 500, "there is no cache folder to measure in");
        return;
    }
    if (!ask_of(u, r, in, "profile", &a)) return;
    const char *trace = cli_text("%s/ui/trace.json", cache);
    const char *const more[] = { "--steps", "20", "--json", "--force", "-o", trace, NULL };
    memcpy(a.argv + a.n, more, sizeof more);
    ui_ask(u, r, a.argv, 180, give_json, named("profile"));
    free(a.recipe);
}

const ui_route ui_recipes_routes[] = {
    { "/api/recipes", UI_NOTHING, list },
    { "/api/devices", UI_NOTHING, devices },
    { "/api/plan", UI_JSON, plan },
    { "/api/measure", UI_JSON, measure },
    { 0 },
};
