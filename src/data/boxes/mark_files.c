/* marks.h: a file of boxes beside each picture. */
#include "data/boxes/marks.h"
#include "data/pictures/paired.h"

enum { FILE_BYTES = 16 << 20 };

/* Two folders, or pictures and files side by side in one. */
static vkt__pair_names names_in(const vkt__beside *b, const char *root)
{
    static const char *const here[] = { ".", NULL };
    vkt__pair_names folders = { b->pictures, b->files, .ending = b->ending };
    if (vkt__paired_is(root, &folders)) return folders;
    return (vkt__pair_names) { here, here, .ending = b->ending };
}

static vkt_status read_file(const vkt__beside *b, const char *path, vkt__arena *arena,
                            vkt__marks *m)
{
    vkt_status st;
    char *text = NULL;
    size_t n;
    VKT_TRY(vkt__file_read(path, FILE_BYTES, &text, &n));
    st = b->read(text, n, path, arena, m);
fail:
    free(text);
    return st;
}

/* ---- lists of the splits' pictures ---- */

typedef struct listed {
    const char *name;
    uint8_t split;
} listed;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const listed *)a)->name, ((const listed *)b)->name);
}

/* Those of one name by their splits; VKT_N_SPLITS comes last. */
static int by_name_and_split(const void *a, const void *b)
{
    const listed *x = a, *y = b;
    int c = by_name(a, b);
    return c ? c : (x->split > y->split) - (x->split < y->split);
}

/* The first word of each line: a picture's name, its ending left out. */
static vkt_status read_list(const char *path, uint8_t split, vkt__arena *arena, listed **all,
                            size_t *n_all, size_t *cap)
{
    vkt_status st;
    char *text = NULL;
    size_t n;
    VKT_TRY(vkt__file_read(path, FILE_BYTES, &text, &n));
    for (char *line = vkt__arena_strdup(arena, text); line && *line;) {
        char *end = line + strcspn(line, "\r\n"), *next = *end ? end + 1 : NULL;
        *end = 0;
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = 0;
        if (vkt__picture_name(line)) *strrchr(line, '.') = 0;
        if (*line) {
            if (*n_all == *cap) *all = vkt__grow(*all, *n_all, cap, sizeof **all);
            (*all)[(*n_all)++] = (listed) { line, split };
        }
        line = next;
    }
fail:
    free(text);
    return st;
}

/* Each name once. FORMAT: it is in lists of two splits; that of both, trainval, is none. */
static vkt_status keep_once(const char *dir, listed *all, size_t *n)
{
    size_t kept = 0;
    if (*n) qsort(all, *n, sizeof *all, by_name_and_split);
    for (size_t i = 0; i < *n; i++) {
        bool again = kept && !strcmp(all[kept - 1].name, all[i].name);
        if (again && all[i].split < VKT_N_SPLITS && all[i].split != all[kept - 1].split)
            return vkt__fail(VKT_E_FORMAT, "data", "'%s': '%s' is in two lists", dir,
                             vkt__show(all[i].name).s);
        if (!again) all[kept++] = all[i];
    }
    *n = kept;
    return VKT_OK;
}

/* [*n] by name; none: there are no lists. */
static vkt_status read_lists(const char *dir, vkt__arena *arena, listed **out, size_t *n)
{
    static const char *const names[] = { "train", "trainval", "val", "test" };
    vkt_status st = VKT_OK;
    size_t cap = 0;
    bool train = false;
    *n = 0;
    for (size_t i = 0; i < VKT_COUNT(names); i++) {
        uint8_t split = VKT_N_SPLITS; /* of trainval: it is dealt */
        const char *path = vkt__arena_printf(arena, "%s/%s.txt", dir, names[i]);
        bool named = vkt__folder_split_named(names[i], &split);
        if (vkt__is_absent(path) || (!named && train)) continue;
        VKT_TRY(read_list(path, split, arena, out, n, &cap));
        train |= split == VKT_SPLIT_TRAIN;
    }
    VKT_TRY(keep_once(dir, *out, n));
fail:
    return st;
}

/* Where there are lists: the split of a picture that one names; false: none does. */
static bool is_listed(const listed *all, size_t n, const char *path, uint8_t *split)
{
    char stem[256];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    if (!n) return true;
    snprintf(stem, sizeof stem, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
    listed key = { stem, 0 };
    const listed *found = bsearch(&key, all, n, sizeof *all, by_name);
    if (found) *split = found->split;
    return found;
}

/* ---- the folder ---- */

vkt_status vkt__beside_scan(const vkt__beside *b, const char *root, bool stop, vkt__arena *arena,
                            vkt__marks *out)
{
    vkt_status st;
    vkt__paired p = { 0 };
    listed *lists = NULL;
    size_t n_lists = 0;
    root = vkt__folder_root(root, arena);
    const vkt__pair_names names = names_in(b, root);
    out->shares = b->shares;
    if (b->classes) VKT_TRY(b->classes(root, arena, out));
    if (b->lists)
        VKT_TRY(
            read_lists(vkt__arena_printf(arena, "%s/%s", root, b->lists), arena, &lists, &n_lists));
    VKT_TRY(vkt__paired_scan(root, &names, arena, &p));
    memcpy(out->pictures.own, p.pictures.own, sizeof p.pictures.own);
    for (size_t i = 0; i < p.pictures.n; i++) {
        const char *path = p.pictures.item[i].path;
        uint8_t split = p.pictures.item[i].split;
        if (!is_listed(lists, n_lists, path, &split)) {
            out->n_unlisted++;
            continue;
        }
        if (split < VKT_N_SPLITS) out->pictures.own[split] = true;
        vkt__marks_picture(out, path, split, 0, 0);
        if (!p.other[i]) continue; /* no object */
        if (!stop) vkt__log_quiet(true);
        st = read_file(b, p.other[i], arena, out);
        if (!stop) vkt__log_quiet(false);
        if (st == VKT_OK) continue;
        vkt__marks_drop(out);
        VKT_TRY(vkt__marks_failed(out, st, stop));
    }
    if (!b->classes) vkt__marks_sort_classes(out);
    out->n_unused = p.n_unused;
fail:
    vkt__paired_finish(&p);
    free(lists);
    return st;
}

/* A mistake is named when the set is opened. */
bool vkt__beside_is(const vkt__beside *b, const char *root)
{
    enum { MOST = 20 };
    vkt__arena arena = { 0 };
    vkt__paired p = { 0 };
    vkt__marks m = { 0 };
    size_t n = 0, n_bad = 0;
    if (!vkt__is_dir(root)) return false;
    const vkt__pair_names names = names_in(b, root);
    bool ok = vkt__paired_scan(root, &names, &arena, &p) == VKT_OK;
    vkt__log_quiet(true);
    for (size_t i = 0; ok && i < p.pictures.n && n < MOST; i++) {
        if (!p.other[i]) continue;
        vkt__marks_picture(&m, p.pictures.item[i].path, VKT_N_SPLITS, 0, 0);
        n_bad += read_file(b, p.other[i], &arena, &m) != VKT_OK;
        n++;
    }
    vkt__log_quiet(false);
    ok = ok && m.n && 2 * n_bad < n;
    vkt__marks_finish(&m);
    vkt__paired_finish(&p);
    vkt__arena_finish(&arena);
    return ok;
}
