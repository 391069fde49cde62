/* What the files of a folder are, by their endings: enough to tell photographs from texts. Opens no
 * file. */
#include "data/parts/parts.h"

enum { MOST_FILES = 20000, MOST_DEPTH = 4 };

static bool ends_in(const char *name, const char *const *ends)
{
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && ends[i]; i++) {
        size_t k = 0;
        while (ends[i][k] && (dot[1 + k] | 32) == ends[i][k]) k++;
        if (!ends[i][k] && !dot[1 + k]) return true;
    }
    return false;
}

bool vkt__picture_name(const char *name)
{
    static const char *const ends[] = { "png", "jpg", "jpeg", "jpe", "bmp", "gif", "webp", NULL };
    return ends_in(name, ends);
}

bool vkt__picture_unread_name(const char *name)
{
    static const char *const ends[] = { "tif", "tiff", "heic", "heif", "avif", "jxl",
                                        "jp2", "ppm",  "pgm",  "ico",  NULL };
    return ends_in(name, ends);
}

static bool text_name(const char *name)
{
    static const char *const ends[] = { "txt", "text", "md", "jsonl", "ndjson", NULL };
    return !strchr(name, '.') || ends_in(name, ends);
}

static void count(const char *dir, int depth, vkt__folder_kinds *out)
{
    char **names = NULL;
    size_t n = 0;
    uint64_t id[2];
    vkt__str path = { 0 };
    if (vkt__list_dir(dir, &names, &n) != VKT_OK) return;
    for (size_t i = 0; i < n && out->n < MOST_FILES; i++) {
        if (names[i][0] == '.') continue;
        path.len = 0;
        vkt__str_printf(&path, "%s/%s", dir, names[i]);
        if (vkt__path_look(path.data, id) == VKT__FOLDER) {
            if (depth < MOST_DEPTH) count(path.data, depth + 1, out);
            continue;
        }
        out->n++;
        out->pictures += vkt__picture_name(names[i]);
        out->unread += vkt__picture_unread_name(names[i]);
        out->texts += text_name(names[i]);
    }
    vkt__names_free(names, n);
    vkt__str_finish(&path);
}

vkt__folder_kinds vkt__folder_look(const char *root)
{
    vkt__folder_kinds out = { 0 };
    count(root, 0, &out);
    return out;
}
