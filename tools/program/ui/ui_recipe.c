/* Endpoints of the recipe's editor: read, check, save, and the table of options for its help. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ui.h"
#include "ui_os.h"

enum { MOST_RECIPE = 256 << 10 };

/* ---- the tables ---- */

static json_t *options(void)
{
    json_t *list = json_array();
    vkt_option_info o;
    for (size_t i = 0; vkt_option(i, &o); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "name", o.name,
                                              "type", o.type, "fallback", o.fallback, "range",
                                              o.range, "unit", o.unit, "help", o.help));
    return list;
}

static json_t *layers(void)
{
    size_t n;
    const vkt_layer_type *t = vkt_layer_types(&n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *opts = json_array();
        for (const vkt_layer_opt *p = t[i].opts; p->name; p++)
            json_array_append_new(opts, json_pack("{s:s, s:s}", "name", p->name, "help", p->help));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", t[i].name, "help",
                                              t[i].help, "options", opts));
    }
    return list;
}

static void tables(ui *u, http_request *r, const json_t *in)
{
    json_t *recipes = json_array();
    const char *name, *help, *text;
    (void)u, (void)in;
    for (size_t i = 0; vkt_recipe(i, &name, &help, &text); i++)
        json_array_append_new(
            recipes, json_pack("{s:s, s:s, s:s}", "name", name, "help", help, "text", text));
    ui_answer(r, json_pack("{s:o, s:o, s:o}", "options", options(), "layers", layers(), "recipes",
                           recipes));
}

/* ---- is it a recipe ---- */

static void keep_quiet(void *user, vkt_log_level level, const char *area, const char *text)
{
    (void)user, (void)level, (void)area, (void)text;
}

/* Where in the text a key like data.path is: the line of its last word after those before it. */
static size_t line_of_key(const char *text, const char *key)
{
    size_t line = 1;
    for (const char *p = text; *p; line++) {
        size_t end = strcspn(p, "\n"), in = strspn(p, " "), n = strcspn(key, ".");
        if (!strncmp(p + in, key, n) && p[in + n] == ':') {
            if (!key[n]) return line;
            key += n + 1;
        }
        p += end + (p[end] == '\n');
    }
    return 0;
}

/* The files that a recipe names must lie within the roots, if they are there. */
static bool names_are_fine(const ui *u, const vkt_config *c, const char *text, size_t *line,
                           char *why, size_t cap)
{
    static const char *const keys[] = {
        "init",        "lora.from",      "data.path",         "data.test_path",
        "data.labels", "data.tokenizer", "data.chat_template"
    };
    const char *const value[] = {
        c->init,        c->lora_from,      c->data.path,         c->data.test_path,
        c->data.labels, c->data.tokenizer, c->data.chat_template
    };
    for (size_t i = 0; i < CLI_COUNT(keys); i++) {
        char *real = value[i] ? ui_os_real(value[i]) : NULL;
        bool fine = !real || ui_roots_have(&u->roots, real);
        free(real);
        if (fine) continue;
        *line = line_of_key(text, keys[i]);
        snprintf(why, cap, "%s is outside the folders of --root", keys[i]);
        return false;
    }
    return true;
}

bool ui_recipe_is_fine(const ui *u, const char *text, size_t n, size_t *line, char *why, size_t cap)
{
    vkt_config *c = NULL;
    *line = 0;
    cli_log_keep(keep_quiet, NULL);
    vkt_status st = vkt_config_create(&c);
    if (st == VKT_OK) st = vkt_config_parse(c, text, n, "recipe");
    bool fine = st != VKT_OK || names_are_fine(u, c, text, line, why, cap);
    if (st == VKT_OK && fine) st = vkt_config_finish(c);
    vkt_config_destroy(&c);
    cli_log_keep(NULL, NULL);
    if (st == VKT_OK) return fine;
    const char *said = vkt_last_error();
    if (!strncmp(said, "recipe:", 7)) {
        char *end;
        unsigned long at = strtoul(said + 7, &end, 10);
        said += 7;
        if (*end == ':' && end > said) *line = at, said = end + 1;
        said += strspn(said, " ");
    }
    snprintf(why, cap, "%s", said);
    return false;
}

static void check(ui *u, http_request *r, const json_t *in)
{
    const json_t *text = json_object_get(in, "text");
    char why[600];
    size_t line;
    if (!json_is_string(text) || json_string_length(text) > MOST_RECIPE) {
        http_refuse(r, 400, "text is missing, or longer than a recipe may be");
        return;
    }
    json_t *j = json_object();
    bool fine = ui_recipe_is_fine(u, json_string_value(text), json_string_length(text), &line, why,
                                  sizeof why);
    json_object_set_new(j, "fine", json_boolean(fine));
    if (!fine) {
        json_object_set_new(j, "line", json_integer((json_int_t)line));
        json_object_set_new(j, "why", ui_json_text(why));
    }
    ui_answer(r, j);
}

/* ---- files ---- */

static bool is_recipe_name(const char *path)
{
    size_t n = strlen(path);
    return (n > 5 && !strcmp(path + n - 5, ".yaml")) || (n > 4 && !strcmp(path + n - 4, ".yml"));
}

/* The text of a recipe; NULL: r was refused. */
static char *text_of(http_request *r, const char *path, size_t *n)
{
    ui_os_entry e;
    FILE *f = is_recipe_name(path) && ui_os_look(path, &e) && e.file && e.bytes <= MOST_RECIPE
                  ? fopen(path, "rb")
                  : NULL;
    if (!f) {
        http_refuse(r, 422, "this is no recipe that can be read: a .yaml file of at most 256 KiB");
        return NULL;
    }
    char *text = cli_grow(NULL, (size_t)e.bytes + 1);
    *n = fread(text, 1, (size_t)e.bytes, f);
    text[*n] = 0;
    fclose(f);
    return text;
}

static void put_path(ui *u, json_t *j, const char *path)
{
    const char *const argv[] = { "vktrain", "train", ui_short(u, path), NULL };
    json_object_set_new(j, "path", ui_json_path(path));
    json_object_set_new(j, "command", ui_json_command(argv));
}

static void load(ui *u, http_request *r, const json_t *in)
{
    char *path = ui_path(u, r, in, "path");
    size_t n;
    char *text = path ? text_of(r, path, &n) : NULL;
    if (text) {
        json_t *j = json_object(), *as = json_stringn(text, n);
        if (as) {
            json_object_set_new(j, "text", as);
            put_path(u, j, path);
            ui_answer(r, j);
        } else {
            json_decref(j);
            http_refuse(r, 422, "this recipe is not UTF-8");
        }
    }
    free(text);
    free(path);
}

/* {"path", "text", "over": whether it may take the place of a file} */
static void save(ui *u, http_request *r, const json_t *in)
{
    const json_t *text = json_object_get(in, "text");
    char *path = ui_new_path(u, r, in, "path");
    ui_os_entry e;
    if (!path) return;
    bool there = ui_os_look(path, &e);
    if (!json_is_string(text) || json_string_length(text) > MOST_RECIPE)
        http_refuse(r, 400, "text is missing, or longer than a recipe may be");
    else if (!is_recipe_name(path))
        http_refuse(r, 400, "a recipe's name ends in .yaml");
    else if (there && (!json_is_true(json_object_get(in, "over")) || !e.file))
        http_refuse(r, 409, "there is a file of this name already");
    else if (vkt_file_write(path, json_string_value(text), json_string_length(text)) != VKT_OK)
        http_refuse(r, 500, "the recipe could not be written: %s", vkt_last_error());
    else {
        json_t *j = json_object();
        put_path(u, j, path);
        ui_answer(r, j);
    }
    free(path);
}

bool ui_recipe_may_start(ui *u, http_request *r, const char *path)
{
    char why[600], *text;
    size_t n, line;
    if (!(text = text_of(r, path, &n))) return false;
    bool fine = ui_recipe_is_fine(u, text, n, &line, why, sizeof why);
    free(text);
    if (!fine) {
        char *safe = cli_harmless(why, strlen(why));
        if (line)
            http_refuse(r, 422, "line %zu: %s", line, safe);
        else
            http_refuse(r, 422, "%s", safe);
        free(safe);
    }
    return fine;
}

const ui_route ui_recipe_routes[] = {
    { "/api/options", UI_NOTHING, tables },
    { "/api/recipe", UI_NOTHING, load },
    { "/api/recipe/check", UI_JSON, check },
    { "/api/recipe/save", UI_JSON, save },
    { 0 },
};
