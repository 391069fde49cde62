/* paired.h */
#include "data/pictures/paired.h"

enum { MAX_DEPTH = 8 };

typedef struct file {
    const char *path, *stem; /* stem: below the folder, without the ending */
} file;

typedef struct files {
    file *item;
    size_t n, cap;
} files;

static void add(files *f, const char *path, const char *below, vkt__arena *arena)
{
    char *stem = vkt__arena_strdup(arena, below);
    if (f->n == f->cap) f->item = vkt__grow(f->item, f->n, &f->cap, sizeof *f->item);
    *strrchr(stem, '.') = 0; /* the name of a picture has an ending */
    f->item[f->n++] = (file) { path, stem };
}

static bool ends_in(const char *name, const char *ending)
{
    size_t n = strlen(name), k = strlen(ending);
    return n > k && vkt__same_word(name + n - k, ending) && strcmp(name, "classes.txt") != 0;
}

/* Every picture below dir, or file of that ending; `from`: how many bytes of its path are the
 * folder's. */
static vkt_status collect(files *f, const char *ending, const char *dir, size_t from, int depth,
                          vkt__arena *arena)
{
    vkt_status st = VKT_OK;
    char **names = NULL;
    size_t n = 0;
    uint64_t id[2];
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.') continue;
        const char *path = vkt__arena_printf(arena, "%s/%s", dir, names[i]);
        if (vkt__path_look(path, id) == VKT__FOLDER) {
            if (depth == MAX_DEPTH)
                VKT_TRY(vkt__fail(VKT_E_FORMAT, "data",
                                  "'%s' lies more than %d folders deep: move it up", path,
                                  MAX_DEPTH));
            VKT_TRY(collect(f, ending, path, from, depth + 1, arena));
        } else if (ending ? ends_in(names[i], ending) : vkt__picture_name(names[i])) {
            add(f, path, path + from, arena);
        }
    }
fail:
    vkt__names_free(names, n);
    return st;
}

static int by_stem(const void *a, const void *b)
{
    return strcmp(((const file *)a)->stem, ((const file *)b)->stem);
}

static const file *find(const files *f, const char *stem)
{
    file key = { .stem = stem };
    return f->n ? bsearch(&key, f->item, f->n, sizeof *f->item, by_stem) : NULL;
}

/* "train/7" is of the split train. */
static uint8_t split_of(const char *stem, uint8_t around)
{
    char first[24];
    uint8_t split = around;
    size_t n = strcspn(stem, "/");
    if (stem[n] && n < sizeof first) {
        snprintf(first, sizeof first, "%.*s", (int)n, stem);
        vkt__folder_split_named(first, &split);
    }
    return split;
}

/* Where two files have one stem, as 7.png and 7.jpg, nothing says which belongs to the pair. */
static vkt_status check_stems(const files *f)
{
    for (size_t i = 1; i < f->n; i++)
        if (!strcmp(f->item[i - 1].stem, f->item[i].stem))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' and '%s' differ in their endings alone, so that nothing says "
                             "which belongs to the other folder's: remove one",
                             f->item[i - 1].path, f->item[i].path);
    return VKT_OK;
}

static const char *folder_in(const char *root, const char *const *names, vkt__arena *arena)
{
    for (size_t i = 0; names[i]; i++) {
        if (!strcmp(names[i], ".")) return root;
        const char *path = vkt__arena_printf(arena, "%s/%s", root, names[i]);
        if (vkt__is_dir(path)) return path;
    }
    return NULL;
}

static vkt_status scan(const char *root, uint8_t split, const vkt__pair_names *names,
                       vkt__arena *arena, vkt__paired *out, size_t *cap)
{
    vkt_status st;
    files first = { 0 }, second = { 0 };
    vkt__str name = { 0 };
    size_t used = 0;
    const char *a = folder_in(root, names->first, arena),
               *b = folder_in(root, names->second, arena);
    VKT_TRY(collect(&first, NULL, a, strlen(a) + 1, 0, arena));
    VKT_TRY(collect(&second, names->ending, b, strlen(b) + 1, 0, arena));
    if (first.n) qsort(first.item, first.n, sizeof *first.item, by_stem);
    if (second.n) qsort(second.item, second.n, sizeof *second.item, by_stem);
    VKT_TRY(check_stems(&first));
    VKT_TRY(check_stems(&second));
    for (size_t i = 0; i < first.n; i++) {
        const file *other = find(&second, first.item[i].stem);
        if (!other && names->suffix) {
            name.len = 0;
            vkt__str_printf(&name, "%s%s", first.item[i].stem, names->suffix);
            other = find(&second, name.data);
        }
        if (!other && !names->ending) {
            if (out->n_alone < VKT_COUNT(out->alone)) out->alone[out->n_alone] = first.item[i].path;
            out->n_alone++;
            continue;
        }
        size_t at = out->pictures.n;
        uint8_t of = split_of(first.item[i].stem, split);
        if (of != VKT_N_SPLITS) out->pictures.own[of] = true;
        vkt__folder_add(&out->pictures, first.item[i].path, (uint32_t)at, of);
        if (at == *cap) out->other = vkt__grow(out->other, at, cap, sizeof *out->other);
        out->other[at] = other ? other->path : NULL;
        used += other != NULL;
    }
    out->n_unused += (uint32_t)(second.n - used);
fail:
    vkt__str_finish(&name);
    free(first.item);
    free(second.item);
    return st;
}

static bool is_here(const char *root, const vkt__pair_names *names, vkt__arena *arena)
{
    return folder_in(root, names->first, arena) && folder_in(root, names->second, arena);
}

/* The folders of splits that have both. */
static const char *const splits[] = { "train", "valid", "val", "validation", "test" };

vkt_status vkt__paired_scan(const char *root, const vkt__pair_names *names, vkt__arena *arena,
                            vkt__paired *out)
{
    vkt_status st = VKT_OK;
    size_t cap = 0;
    bool any = false;
    *out = (vkt__paired) { 0 };
    root = vkt__folder_root(root, arena);
    if (is_here(root, names, arena)) return scan(root, VKT_N_SPLITS, names, arena, out, &cap);
    for (size_t i = 0; i < VKT_COUNT(splits); i++) {
        uint8_t split = VKT_N_SPLITS;
        const char *dir = vkt__arena_printf(arena, "%s/%s", root, splits[i]);
        if (!is_here(dir, names, arena)) continue;
        any = true;
        vkt__folder_split_named(splits[i], &split);
        VKT_TRY(scan(dir, split, names, arena, out, &cap));
    }
    if (!any)
        st = vkt__fail(VKT_E_IO, "data",
                       "'%s' does not hold the folders %s and %s, nor train with both in it", root,
                       names->first[0], names->second[0]);
fail:
    return st;
}

bool vkt__paired_is(const char *root, const vkt__pair_names *names)
{
    vkt__arena arena = { 0 };
    root = vkt__folder_root(root, &arena);
    bool is = is_here(root, names, &arena);
    for (size_t i = 0; i < VKT_COUNT(splits) && !is; i++)
        is = is_here(vkt__arena_printf(&arena, "%s/%s", root, splits[i]), names, &arena);
    vkt__arena_finish(&arena);
    return is;
}

void vkt__paired_finish(vkt__paired *p)
{
    vkt__folder_finish(&p->pictures);
    free(p->other);
    *p = (vkt__paired) { 0 };
}
