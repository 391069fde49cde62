/* Endpoints of the tab Data: what `vktrain init` sees in a file or folder, by a child process. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "ui.h"

enum { MOST_SET = 40, LOOK_S = 600 };

/* What can be corrected by a choice: keys that name no file. */
static bool may_set(const char *assignment)
{
    static const char *const keys[] = {
        "data.label",          "data.task",          "data.ignore",     "data.embed",
        "data.text",           "data.header",        "data.separator",  "data.delimiter",
        "data.missing",        "data.standardize",   "data.size",       "data.fit",
        "data.color",          "data.bad_files",     "data.duplicates", "data.valid_fraction",
        "data.test_fraction",  "data.folds",         "data.fold",       "data.group",
        "data.time",           "data.seed",          "data.context",    "data.vocab",
        "data.skip_bad_lines", "data.document_mask", "data.packing",    "data.too_long",
    };
    for (size_t i = 0; i < CLI_COUNT(keys); i++) {
        size_t n = strlen(keys[i]);
        if (!strncmp(assignment, keys[i], n) && assignment[n] == '=') return true;
    }
    return false;
}

static json_t *warnings(const char *err)
{
    json_t *list = json_array();
    for (const char *p = err; (p = strstr(p, "warning: ")); p += 9) {
        size_t n = strcspn(p + 9, "\n");
        char *line = cli_grow(NULL, n + 1);
        memcpy(line, p + 9, n);
        line[n] = 0;
        json_array_append_new(list, ui_json_text(line));
        free(line);
    }
    return list;
}

static void looked(ui *u, http_request *r, const ui_said *said)
{
    (void)u;
    json_t *j = said->rc || said->cut ? NULL : json_loadb(said->out, said->n_out, 0, NULL);
    if (j) {
        json_object_set_new(j, "warnings", warnings(said->err));
        ui_answer(r, j);
    } else {
        ui_refuse_said(r, said, "init");
    }
}

/* {"path" or "builtin", "set": ["KEY=VALUE"], "init": path, "task"} */
static void look(ui *u, http_request *r, const json_t *in)
{
    const json_t *set = json_object_get(in, "set");
    const char *builtin = ui_text(r, in, "builtin"), *task = ui_text(r, in, "task");
    const char *argv[2 * MOST_SET + 12] = { "vktrain", "init" };
    bool begins = json_object_get(in, "init") != NULL, fine = true;
    size_t n = 2, i;
    json_t *one;
    char *model = NULL, *assign = NULL, *path = NULL;
    fine = !builtin || !strcmp(builtin, "digits") || !strcmp(builtin, "novel");
    json_array_foreach(set, i, one) fine =
        fine && json_is_string(one) && may_set(json_string_value(one)) && i < MOST_SET;
    fine = fine && (!task || !strcmp(task, "text"));
    if (!fine) {
        http_refuse(r, 400, "this can't be set here");
        return;
    }
    if (!builtin && !(path = ui_path(u, r, in, "path"))) return;
    if (begins && !(model = ui_path(u, r, in, "init"))) {
        free(path);
        return;
    }
    argv[n++] = builtin ? builtin : ui_short(u, path);
    if (task) argv[n++] = "--task", argv[n++] = task;
    json_array_foreach(set, i, one) argv[n++] = "--set", argv[n++] = json_string_value(one);
    if (model) {
        const char *shown = ui_short(u, model);
        assign = cli_grow(NULL, strlen(shown) + 6);
        strcpy(assign, "init=");
        strcat(assign, shown);
        argv[n++] = "--set";
        argv[n++] = assign;
    }
    argv[n++] = "--json";
    argv[n] = NULL;
    ui_ask(u, r, argv, LOOK_S, looked, NULL);
    free(assign);
    free(model);
    free(path);
}

const ui_route ui_data_routes[] = { { "/api/look", UI_JSON, look }, { 0 } };
