/* folder.h: walking folders. A walk keeps the identity of each folder above, so that a link that
 * leads back up ends it there. */
#include "data/parts/parts.h"
#include "data/pictures/folder.h"

enum { MAX_DEPTH = 32 };

typedef struct walk {
    vkt__folder *out;
    vkt__arena *arena;
    uint32_t label;
    uint8_t split;
    uint64_t above[MAX_DEPTH][2];
} walk;

static const char *extension(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : "";
}

void vkt__folder_add(vkt__folder *f, const char *path, uint32_t label, uint8_t split)
{
    if (f->n == f->cap) f->item = vkt__grow(f->item, f->n, &f->cap, sizeof *f->item);
    f->item[f->n++] = (vkt__found) { path, label, split };
}

/* One more extension of files that are no pictures, if there is room for it. */
static void note_other(vkt__folder *f, const char *name)
{
    char one[16];
    size_t n = strlen(f->other), commas = 0;
    snprintf(one, sizeof one, ".%.12s", vkt__show(extension(name)).s);
    for (const char *p = f->other; *p; p++) commas += *p == ',';
    if (!n)
        snprintf(f->other, sizeof f->other, "%s", one);
    else if (commas < 2 && !strstr(f->other, one))
        snprintf(f->other + n, sizeof f->other - n, ", %s", one);
}

static void add_file(walk *w, const char *path, const char *name)
{
    if (vkt__picture_name(name)) {
        vkt__folder_add(w->out, vkt__arena_strdup(w->arena, path), w->label, w->split);
        return;
    }
    w->out->n_other++;
    note_other(w->out, name);
}

/* Every picture below `dir`, which is `depth` folders below the class's. */
static vkt_status collect(walk *w, const char *dir, const uint64_t id[2], int depth)
{
    vkt_status st = VKT_OK;
    char **names = NULL;
    size_t n = 0;
    vkt__str path = { 0 };
    if (depth == MAX_DEPTH)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' lies more than %d folders deep: move it up",
                         dir, MAX_DEPTH);
    for (int i = 0; i < depth; i++) {
        if (memcmp(w->above[i], id, sizeof w->above[i]) != 0) continue;
        w->out->n_loops++;
        return VKT_OK;
    }
    memcpy(w->above[depth], id, sizeof w->above[depth]);
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        uint64_t inner[2];
        if (names[i][0] == '.') continue;
        path.len = 0;
        vkt__str_printf(&path, "%s/%s", dir, names[i]);
        vkt__path_kind kind = vkt__path_look(path.data, inner);
        if (kind == VKT__FOLDER)
            VKT_TRY(collect(w, path.data, inner, depth + 1));
        else
            add_file(w, path.data, names[i]); /* an absent one is a broken link: unreadable */
    }
fail:
    vkt__names_free(names, n);
    vkt__str_finish(&path);
    return st;
}

vkt_status vkt__folder_class(vkt__folder *f, vkt__arena *arena, const char *name, const char *where,
                             uint32_t hint, uint32_t *out)
{
    size_t bad;
    for (uint32_t i = 0; i < f->n_classes; i++) {
        *out = (i + hint) % f->n_classes;
        if (strcmp(f->classes[*out], name) == 0) return VKT_OK;
    }
    if (f->closed) {
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': '%s' is not one of the %u classes%s: rename or remove it", where,
                         vkt__show(name).s, f->n_classes,
                         vkt_did_you_mean(name, f->classes, f->n_classes).text);
    }
    if (!vkt__utf8_ok(name, strlen(name), &bad))
        return vkt__fail(VKT_E_FORMAT, "data", "'%s': class name '%s' is not UTF-8: rename it",
                         where, vkt__show(name).s);
    if (f->n_classes == f->cap_classes) {
        size_t cap = VKT_MAX(2 * f->cap_classes, 16);
        const char **more = vkt__arena_alloc(arena, cap * sizeof *more);
        if (f->n_classes) memcpy(more, f->classes, f->n_classes * sizeof *more);
        f->classes = more;
        f->cap_classes = cap;
    }
    *out = f->n_classes;
    f->classes[f->n_classes++] = vkt__arena_strdup(arena, name);
    return VKT_OK;
}

/* dir/CLASS/.. */
static vkt_status scan_classes(walk *w, const char *dir)
{
    vkt_status st = VKT_OK;
    char **names = NULL;
    size_t n = 0;
    vkt__str path = { 0 };
    uint64_t id[2], inner[2];
    vkt__path_look(dir, id);
    memcpy(w->above[0], id, sizeof id);
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    uint32_t hint = 0;
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.') continue;
        path.len = 0;
        vkt__str_printf(&path, "%s/%s", dir, names[i]);
        if (vkt__path_look(path.data, inner) != VKT__FOLDER) {
            if (vkt__picture_name(names[i])) w->out->n_loose++;
            continue;
        }
        if (strcmp(names[i], "__MACOSX") == 0) continue;
        VKT_TRY(vkt__folder_class(w->out, w->arena, names[i], dir, hint, &w->label));
        hint = w->label + 1;
        VKT_TRY(collect(w, path.data, inner, 1));
    }
fail:
    vkt__names_free(names, n);
    vkt__str_finish(&path);
    return st;
}

static const struct {
    const char *name;
    vkt_split split;
} split_names[] = { { "train", VKT_SPLIT_TRAIN },
                    { "valid", VKT_SPLIT_VALID },
                    { "val", VKT_SPLIT_VALID },
                    { "test", VKT_SPLIT_TEST },
                    { "validation", VKT_SPLIT_VALID } };

bool vkt__folder_split_named(const char *name, uint8_t *out)
{
    for (size_t i = 0; i < VKT_COUNT(split_names); i++) {
        if (!vkt__same_word(name, split_names[i].name)) continue;
        *out = (uint8_t)split_names[i].split;
        return true;
    }
    return false;
}

static const char *split_folder(vkt__arena *arena, const char *root, size_t i)
{
    const char *path = vkt__arena_printf(arena, "%s/%s", root, split_names[i].name);
    return vkt__is_dir(path) ? path : NULL;
}

/* root/train/CLASS and, if they are there, root/valid/CLASS and root/test/CLASS. */
static vkt_status scan_splits(walk *w, const char *root)
{
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < VKT_COUNT(split_names); i++) {
        const char *dir = split_folder(w->arena, root, i);
        if (!dir) continue;
        w->split = (uint8_t)split_names[i].split;
        w->out->own[w->split] = true;
        VKT_TRY(scan_classes(w, dir));
        w->out->closed = true; /* train's classes are the classes */
    }
fail:
    return st;
}

const char *vkt__folder_root(const char *path, vkt__arena *arena)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    return vkt__arena_printf(arena, "%.*s", (int)n, path);
}

vkt_status vkt__folder_scan(const char *root, vkt_task task, vkt__arena *arena, vkt__folder *out)
{
    *out = (vkt__folder) { .has_labels = true };
    walk w = { .out = out, .arena = arena, .split = VKT_N_SPLITS };
    if (!vkt__is_dir(root))
        return vkt__fail(VKT_E_IO, "data",
                         "'%s' is not a folder: give the folder that holds one folder per class",
                         root);
    root = vkt__folder_root(root, arena);
    if (task != VKT_TASK_CLASSIFY)
        return vkt__fail(VKT_E_ARG, "data",
                         "'%s': folders name one class for each picture: data.task %s needs a CSV "
                         "of the pictures' files and labels: data.labels",
                         root, task == VKT_TASK_REGRESS ? "regress" : "multilabel");
    return split_folder(arena, root, 0) ? scan_splits(&w, root) : scan_classes(&w, root);
}

static bool holds_a_class(const char *root, const char *const *classes, uint32_t n,
                          vkt__arena *arena)
{
    for (uint32_t i = 0; i < n; i++)
        if (vkt__is_dir(vkt__arena_printf(arena, "%s/%s", root, classes[i]))) return true;
    return false;
}

vkt_status vkt__folder_scan_classes(const char *root, const char *const *classes,
                                    uint32_t n_classes, vkt__arena *arena, vkt__folder *out)
{
    *out = (vkt__folder) { .closed = true, .classes = (const char **)classes };
    walk w = { .out = out, .arena = arena, .split = VKT_SPLIT_TEST };
    uint64_t id[2];
    out->n_classes = n_classes;
    root = vkt__folder_root(root, arena);
    const char *test = vkt__arena_printf(arena, "%s/test", root);
    if (vkt__is_dir(test) && holds_a_class(test, classes, n_classes, arena)) root = test;
    out->has_labels = holds_a_class(root, classes, n_classes, arena);
    if (out->has_labels) return scan_classes(&w, root);
    vkt__path_look(root, id);
    return collect(&w, root, id, 0);
}

void vkt__folder_finish(vkt__folder *f)
{
    free(f->item);
    free(f->value);
    *f = (vkt__folder) { 0 };
}
