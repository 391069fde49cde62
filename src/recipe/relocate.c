/* relocate.h */
#include "recipe/relocate.h"

#include "base/os.h"

static bool is_absolute(const char *path)
{
    return path[0] == '/' || path[0] == '\\' || (path[0] && path[1] == ':');
}

const char *vkt__path_from(const char *path, const char *folder, vkt__arena *a)
{
    if (!path || !path[0] || !folder || !folder[0] || is_absolute(path) || !vkt__is_absent(path))
        return path;
    const char *there = vkt__arena_printf(a, "%s/%s", folder, path);
    bool found = !vkt__is_absent(there);
    if (found)
        vkt_log(VKT_LOG_INFO, "data", "'%s' is not here: '%s' is used, where the run read it", path,
                there);
    else
        vkt_log(VKT_LOG_WARN, "data", "'%s' is not here, nor is '%s', where the run read it", path,
                there);
    return found ? there : path;
}

void vkt__data_paths_from(vkt_data_desc *d, const char *folder, vkt__arena *a)
{
    const char **paths[] = { &d->path, &d->test_path, &d->labels, &d->chat_template };
    for (size_t i = 0; i < VKT_COUNT(paths); i++) *paths[i] = vkt__path_from(*paths[i], folder, a);
    bool word = d->tokenizer && (!strcmp(d->tokenizer, "bytes") || !strcmp(d->tokenizer, "chars"));
    if (!word) d->tokenizer = vkt__path_from(d->tokenizer, folder, a);
}

void vkt__layer_paths_from(vkt_layer *layers, size_t n, const char *folder, vkt__arena *a)
{
    for (size_t i = 0; i < n; i++)
        if (layers[i].file) layers[i].file = vkt__path_from(layers[i].file, folder, a);
}
