/* marks.h: files that list the pictures of a split and their boxes. */
#include "data/boxes/marks.h"

enum { FILE_BYTES = 768 << 20 };

static bool looks_so(const vkt__list_kind *kind, const char *path, const char *root)
{
    bool is = false;
    char *head = vkt__alloc(2 * VKT__LIST_HEAD + 1);
    uint64_t id[2];
    FILE *f = vkt__path_look(path, id) == VKT__FILE ? vkt__fopen(path, "rb") : NULL;
    if (f) {
        size_t n = fread(head, 1, VKT__LIST_HEAD, f);
        int64_t more = kind->tail ? vkt__file_size(path) - (int64_t)n : 0;
        if (more > 0 && !fseek(f, -(long)VKT_MIN(more, VKT__LIST_HEAD), SEEK_END))
            n += fread(head + n, 1, VKT__LIST_HEAD, f);
        head[n] = 0;
        is = kind->is(head, n, root);
        fclose(f);
    }
    free(head);
    return is;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* By its first whole word that names a split: "instances_val2017.json" is of validation, and
 * "latest.csv" of none. */
static uint8_t split_of(const char *name, uint8_t around)
{
    char word[16];
    uint8_t split = around;
    for (const char *p = name; *p;) {
        size_t n = 0;
        while (letter(p[n])) n++;
        snprintf(word, sizeof word, "%.*s", (int)VKT_MIN(n, sizeof word - 1), p);
        if (vkt__folder_split_named(word, &split)) break;
        p += n ? n : 1;
    }
    return split;
}

static bool ends_so(const vkt__list_kind *kind, const char *name)
{
    size_t n = strlen(name), ending = strlen(kind->ending);
    return n > ending && vkt__same_word(name + n - ending, kind->ending);
}

static bool is_preferred(const vkt__list_kind *kind, const char *name)
{
    return kind->preferred && !strncmp(name, kind->preferred, strlen(kind->preferred));
}

/* Captions and keypoints that lie beside a preferred file are not opened. */
static vkt_status look_in(const vkt__list_kind *kind, const char *dir, const char *root,
                          uint8_t split, vkt__arena *arena, vkt__lists *out)
{
    vkt_status st;
    char **names = NULL;
    size_t n = 0;
    bool alone = false;
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    for (size_t i = 0; i < n && !alone; i++)
        alone = ends_so(kind, names[i]) && is_preferred(kind, names[i]) &&
                looks_so(kind, vkt__arena_printf(arena, "%s/%s", dir, names[i]), root);
    for (size_t i = 0; i < n; i++) {
        if (!ends_so(kind, names[i])) continue;
        const char *path = vkt__arena_printf(arena, "%s/%s", dir, names[i]);
        if (alone && !is_preferred(kind, names[i])) {
            out->n_beside++;
            out->a_beside = path;
            continue;
        }
        if (!looks_so(kind, path, root)) continue;
        if (out->n == VKT__LISTS_MOST) {
            out->n_more++;
            continue;
        }
        out->path[out->n] = path;
        out->root[out->n] = root;
        out->split[out->n++] = split_of(names[i], split);
    }
fail:
    vkt__names_free(names, n);
    return st;
}

/* Windows has two. */
static const char *last_separator(const char *path)
{
    const char *last = NULL;
    for (const char *p = path; *p; p++)
        if (*p == '/' || *p == '\\') last = p;
    return last;
}

/* The folder whose pictures a file in `dir` lists: the one above annotations without pictures. */
static const char *root_of(const char *dir, vkt__arena *arena)
{
    const char *slash = last_separator(dir);
    if (strcmp(slash ? slash + 1 : dir, "annotations") != 0 || vkt__folder_look(dir).pictures)
        return dir;
    return slash ? vkt__arena_printf(arena, "%.*s", (int)(slash - dir), dir) : ".";
}

vkt_status vkt__lists_find(const vkt__list_kind *kind, const char *root, vkt__arena *arena,
                           vkt__lists *out)
{
    static const char *const splits[] = { "train", "valid", "val", "test" };
    vkt_status st = VKT_OK;
    *out = (vkt__lists) { 0 };
    root = vkt__folder_root(root, arena);
    if (!vkt__is_dir(root)) {
        const char *slash = last_separator(root);
        out->path[0] = root;
        out->root[0] = root_of(
            slash ? vkt__arena_printf(arena, "%.*s", (int)(slash - root), root) : ".", arena);
        out->split[0] = VKT_N_SPLITS;
        out->n = looks_so(kind, root, out->root[0]);
        return VKT_OK;
    }
    const char *of = vkt__arena_printf(arena, "%s/annotations", root);
    if (vkt__is_dir(of)) VKT_TRY(look_in(kind, of, root, VKT_N_SPLITS, arena, out));
    if (!out->n) VKT_TRY(look_in(kind, root, root, VKT_N_SPLITS, arena, out));
    if (out->n) return VKT_OK;
    for (size_t i = 0; i < VKT_COUNT(splits); i++) {
        uint8_t split = VKT_N_SPLITS;
        const char *dir = vkt__arena_printf(arena, "%s/%s", root, splits[i]);
        vkt__folder_split_named(splits[i], &split);
        if (vkt__is_dir(dir)) VKT_TRY(look_in(kind, dir, dir, split, arena, out));
    }
fail:
    return st;
}

bool vkt__lists_are(const vkt__list_kind *kind, const char *root)
{
    vkt__arena arena = { 0 };
    vkt__lists f;
    bool are = vkt__lists_find(kind, root, &arena, &f) == VKT_OK && f.n;
    vkt__arena_finish(&arena);
    return are;
}

/* ---- a picture that is listed twice ---- */

typedef struct taken {
    const char *path;
    size_t file; /* that lists it */
} taken;

static int by_path(const void *a, const void *b)
{
    const taken *x = a, *y = b;
    int c = strcmp(x->path, y->path);
    return c ? c : (x->file > y->file) - (x->file < y->file);
}

/* It would be trained on and judged by, or count twice. end: of each file's pictures. */
static vkt_status check_once(const vkt__lists *f, const size_t *end, const vkt__folder *pictures)
{
    vkt_status st;
    taken *all = NULL;
    size_t n = pictures->n, file = 0;
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *all, "the list of pictures", &all));
    for (size_t i = 0; i < n; i++) {
        while (i >= end[file]) file++;
        all[i] = (taken) { pictures->item[i].path, file };
    }
    if (n) qsort(all, n, sizeof *all, by_path);
    for (size_t i = 1; i < n && st == VKT_OK; i++)
        if (!strcmp(all[i].path, all[i - 1].path) && all[i].file == all[i - 1].file)
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "'%s' lists the picture '%s' twice: put what it says of it together",
                           f->path[all[i].file], all[i].path);
        else if (!strcmp(all[i].path, all[i - 1].path))
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "'%s' and '%s' both list the picture '%s': move one of these files "
                           "away, or give data.path the one to use",
                           f->path[all[i - 1].file], f->path[all[i].file], all[i].path);
fail:
    free(all);
    return st;
}

vkt_status vkt__lists_scan(const vkt__list_kind *kind, vkt__list_read *read, const char *root,
                           bool stop, vkt__arena *arena, vkt__marks *out)
{
    vkt_status st;
    vkt__lists f;
    char *text = NULL;
    size_t n, end[VKT__LISTS_MOST];
    VKT_TRY(vkt__lists_find(kind, root, arena, &f));
    if (f.n_more) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' has %zu files that list pictures, more than %d: put them together",
                       root, f.n + f.n_more, VKT__LISTS_MOST);
        goto fail;
    }
    if (f.n_beside)
        vkt_log(
            VKT_LOG_INFO, "data",
            "'%s': %zu other %s files, such as '%s', are not read, as there are some whose names "
            "begin with %s",
            root, f.n_beside, kind->ending, f.a_beside, kind->preferred);
    if (!f.n && f.path[0]) f.n = 1; /* a file that is given: reading says what it lacks */
    for (size_t i = 0; i < f.n; i++) {
        VKT_TRY(vkt__file_read(f.path[i], FILE_BYTES, &text, &n));
        VKT_TRY(read(text, n, f.path[i], f.root[i], f.split[i], stop, arena, out));
        free(text);
        text = NULL;
        end[i] = out->pictures.n;
        if (f.split[i] < VKT_N_SPLITS) out->pictures.own[f.split[i]] = true;
    }
    if (f.n) VKT_TRY(check_once(&f, end, &out->pictures));
fail:
    free(text);
    return st;
}
