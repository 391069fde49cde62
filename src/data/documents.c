/* Documents from files and folders. Knows what a document is, not what becomes of it. */
#include "data/corpus.h"

#define DOCUMENT_LIMIT (4000ull << 20)

static vkt_status read_file(const char *path, vkt__document_fn fn, void *user)
{
    vkt_status st;
    char *text = NULL;
    size_t n = 0;
    vkt__map map = { 0 };
    VKT_TRY(vkt__file_map(path, &map));
    VKT_TRY(vkt__bytes_all(map.data, map.n, path, DOCUMENT_LIMIT, &text, &n));
    if (n == 0) {
        st = vkt__fail(VKT_FORMAT, "data", "'%s' is empty", vkt__show(path).s);
        goto fail;
    }
    vkt__stretch all = { text, n, true, false };
    VKT_TRY(fn(user, &(vkt__document) { path, &all, 1 }));
fail:
    free(text);
    vkt__file_unmap(&map);
    return st;
}

static vkt_status read_folder(const char *path, uint32_t depth, vkt__document_fn fn, void *user)
{
    vkt_status st;
    vkt__arena a = { 0 };
    char **names = NULL;
    size_t n = 0;
    if (depth > 64)
        return vkt__fail(VKT_FORMAT, "data", "'%s': more than 64 folders deep", vkt__show(path).s);
    VKT_TRY(vkt__list_dir(path, &names, &n));
    for (size_t i = 0; i < n; i++) {
        const char *inner = vkt__arena_printf(&a, "%s/%s", path, names[i]);
        if (names[i][0] == '.') continue;
        VKT_TRY(vkt__is_dir(inner) ? read_folder(inner, depth + 1, fn, user)
                                   : read_file(inner, fn, user));
    }
fail:
    vkt__names_free(names, n);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__documents_read(const char *path, vkt__document_fn fn, void *user)
{
    return vkt__is_dir(path) ? read_folder(path, 0, fn, user) : read_file(path, fn, user);
}
