/* Image data sets from IDX files: which files of a folder, labels against images, and class names.
 * Pixels stay bytes in memory; the loader converts them. */
#include "data/parts/parts.h"
#include "data/pictures/constants.h"
#include "data/pictures/idx.h"
#include "data/pictures/images.h"

#define IDX_FILE_LIMIT (64ull << 30)

static const char *const fashion_classes[] = { "T-shirt/top", "Trouser",   "Pullover", "Dress",
                                               "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                               "Bag",         "Ankle boot" };

/* "train" + "images" -> the file of that name in the folder, in any of its usual spellings; NULL if
 * absent. */
static const char *find_file(vkt__arena *arena, const char *dir, const char *set, const char *what)
{
    static const char *const forms[] = { "-idx%d-ubyte", "-idx%d-ubyte.gz", ".idx%d-ubyte",
                                         ".idx%d-ubyte.gz" };
    bool images = strcmp(what, "images") == 0;
    for (int rank = images ? 3 : 1; rank <= (images ? 4 : 1); rank++) {
        for (size_t i = 0; i < VKT_COUNT(forms); i++) {
            char tail[32];
            snprintf(tail, sizeof tail, forms[i], rank);
            const char *path = vkt__arena_printf(arena, "%s/%s-%s%s", dir, set, what, tail);
            if (vkt__file_exists(path)) return path;
        }
    }
    return NULL;
}

static vkt_status need_file(vkt__arena *arena, const char *dir, const char *set, const char *what,
                            const char **out)
{
    *out = find_file(arena, dir, set, what);
    if (*out) return VKT_OK;
    return vkt__fail(VKT_E_IO, "data",
                     "'%s' lacks %s-%s-idx%d-ubyte (or .gz): put MNIST's four files there", dir,
                     set, what, strcmp(what, "images") == 0 ? 3 : 1);
}

static vkt_status read_idx(const char *path, bool images, vkt__idx *out)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__file_read(path, IDX_FILE_LIMIT, &bytes, &n));
    VKT_TRY(vkt__idx_parse(bytes, n, path, out));
    if (images != (out->rank > 1)) {
        vkt__idx_finish(out);
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' holds %s where %s must be: are the files' names swapped?", path,
                       images ? "labels" : "images", images ? "images" : "labels");
    }
fail:
    free(bytes);
    return st;
}

/* Images and, unless NULL, labels. shape [H, W, C]. */
static vkt_status read_part(const char *image_path, const char *label_path, vkt__part *part,
                            uint32_t shape[4])
{
    vkt_status st;
    vkt__idx images = { 0 }, labels = { 0 };
    VKT_TRY(read_idx(image_path, true, &images));
    if (label_path) VKT_TRY(read_idx(label_path, false, &labels));
    if (label_path && labels.dim[0] != images.dim[0]) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' has %u images, '%s' %u labels: they do not belong together",
                       image_path, images.dim[0], label_path, labels.dim[0]);
        goto fail;
    }
    if (images.rank == 4 && images.dim[1] <= 4 && images.dim[3] > 4) {
        st =
            vkt__fail(VKT_E_FORMAT, "data",
                      "'%s' has images of %ux%ux%u, which looks like channels first: write them as "
                      "[N, H, W, C]",
                      image_path, images.dim[1], images.dim[2], images.dim[3]);
        goto fail;
    }
    if (images.n_bytes / images.dim[0] > INT32_MAX) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s': one image has %llu values, too many",
                       image_path, (unsigned long long)(images.n_bytes / images.dim[0]));
        goto fail;
    }
    VKT_TRY(vkt__alloc_large(images.dim[0], sizeof *part->labels, "labels", &part->labels));
    for (uint32_t i = 0; i < images.dim[0]; i++)
        part->labels[i].u = labels.data ? labels.data[i] : 0;
    part->n = images.dim[0];
    part->pixels = images.data;
    images.data = NULL;
    shape[0] = images.dim[1];
    shape[1] = images.dim[2];
    shape[2] = images.rank == 4 ? images.dim[3] : 1;
fail:
    vkt__idx_finish(&images);
    vkt__idx_finish(&labels);
    return st;
}

static vkt_status check_labels(const vkt_dataset *ds, const vkt__part *part, const char *path)
{
    for (uint32_t i = 0; i < part->n; i++)
        if (part->labels[i].u >= ds->schema.n_outputs)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': label %u of record %u is outside the %u classes (0 to %u)",
                             path, part->labels[i].u, i, ds->schema.n_outputs,
                             ds->schema.n_outputs - 1);
    return VKT_OK;
}

static vkt_status check_shape(const vkt__schema *s, const uint32_t shape[4], const char *path)
{
    if (memcmp(shape, s->input_shape, 3 * sizeof *shape) == 0) return VKT_OK;
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "'%s' has images of %ux%ux%u, not the %ux%ux%u of the training set: convert them", path,
        shape[0], shape[1], shape[2], s->input_shape[0], s->input_shape[1], s->input_shape[2]);
}

vkt_status vkt__class_names_read(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    char *text = NULL;
    size_t n, at, count = 0;
    VKT_TRY(vkt__file_read(path, 1 << 20, &text, &n));
    if (!vkt__utf8_ok(text, n, &at)) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is not UTF-8 text (byte %zu): save it as UTF-8",
                       path, at);
        goto fail;
    }
    const char **names = vkt__arena_alloc(&ds->arena, (n + 1) * sizeof *names);
    for (char *p = text; *p;) {
        size_t len = strcspn(p, "\r\n");
        char *next = p + len + (p[len] != 0);
        p[len] = 0;
        if (len) names[count++] = vkt__arena_strdup(&ds->arena, p);
        p = next;
    }
    if (count == 0) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "'%s' is empty: write one class name a line, or remove it", path);
        goto fail;
    }
    ds->schema.classes = names;
    ds->schema.n_outputs = (uint32_t)count;
fail:
    free(text);
    return st;
}

static vkt_status find_classes(vkt_dataset *ds, const char *dir)
{
    vkt__schema *s = &ds->schema;
    const char *path = vkt__arena_printf(&ds->arena, "%s/classes.txt", dir);
    if (!vkt__is_absent(path)) return vkt__class_names_read(ds, path);
    for (uint32_t i = 0; i < ds->part[0].n; i++)
        s->n_outputs = VKT_MAX(s->n_outputs, ds->part[0].labels[i].u + 1);
    s->classes = vkt__arena_alloc(&ds->arena, s->n_outputs * sizeof *s->classes);
    bool fashion = strstr(dir, "fashion-mnist") && s->n_outputs == VKT_COUNT(fashion_classes);
    for (uint32_t i = 0; i < s->n_outputs; i++)
        s->classes[i] = fashion ? fashion_classes[i] : vkt__arena_printf(&ds->arena, "%u", i);
    return VKT_OK;
}

/* By MNIST's names, or the first bytes of an array of unsigned bytes. */
vkt_likeness vkt__images_is(const char *path)
{
    uint8_t head[4] = { 0 };
    if (vkt__is_dir(path)) {
        vkt__arena a = { 0 };
        bool is = find_file(&a, path, "train", "images") || find_file(&a, path, "t10k", "images");
        vkt__arena_finish(&a);
        return is ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
    }
    if (!vkt__bytes_head(path, head, sizeof head)) return VKT_LIKE_NONE;
    bool is = !head[0] && !head[1] && head[2] == 8 && (head[3] == 3 || head[3] == 4);
    return is ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
}

vkt_status vkt__images_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    const char *images, *labels;
    uint32_t shape[4] = { 0 };
    if (!vkt__is_dir(desc->path))
        return vkt__fail(VKT_E_IO, "data",
                         "'%s' is not a folder: give the folder that holds the IDX files",
                         desc->path);
    VKT_TRY(need_file(&ds->arena, desc->path, "train", "images", &images));
    VKT_TRY(need_file(&ds->arena, desc->path, "train", "labels", &labels));
    VKT_TRY(read_part(images, labels, &ds->part[0], s->input_shape));
    s->kind = VKT_DATA_KIND_PICTURES;
    s->input_rank = 3;
    s->n_inputs = s->input_shape[0] * s->input_shape[1] * s->input_shape[2];
    VKT_TRY(find_classes(ds, desc->path));
    VKT_TRY(check_labels(ds, &ds->part[0], labels));
    if (find_file(&ds->arena, desc->path, "t10k", "images") ||
        find_file(&ds->arena, desc->path, "t10k", "labels")) {
        VKT_TRY(need_file(&ds->arena, desc->path, "t10k", "images", &images));
        VKT_TRY(need_file(&ds->arena, desc->path, "t10k", "labels", &labels));
        VKT_TRY(read_part(images, labels, &ds->part[1], shape));
        VKT_TRY(check_shape(s, shape, images));
        VKT_TRY(check_labels(ds, &ds->part[1], labels));
        ds->of_part[VKT_SPLIT_TEST] = 1;
    }
    VKT_TRY(vkt__split(ds, desc, NULL, NULL));
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize == VKT_STANDARDIZE_AUTO ? VKT_STANDARDIZE_GLOBAL
                                                                          : desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "idx %s: %u images of %ux%ux%u, %u classes, %s", desc->path, ds->part[0].n,
        s->input_shape[0], s->input_shape[1], s->input_shape[2], s->n_outputs,
        ds->of_part[VKT_SPLIT_TEST] ? "t10k files as test set" : "no test files");
fail:
    return st;
}

/* train-images-idx3-ubyte.gz -> train-labels-idx1-ubyte[.gz] beside it, NULL if there is none. */
static const char *labels_beside(vkt__arena *arena, const char *image_path)
{
    const char *name = image_path, *at = NULL;
    for (const char *p = image_path; *p; p++)
        if (*p == '/' || *p == '\\') name = p + 1;
    for (const char *p = strstr(name, "images"); p; p = strstr(p + 1, "images")) at = p;
    if (!at) return NULL;
    char *path =
        vkt__arena_printf(arena, "%.*slabels%s", (int)(at - image_path), image_path, at + 6);
    char *idx = strstr(path + (at - image_path), "idx");
    if (idx && (idx[3] == '3' || idx[3] == '4')) idx[3] = '1';
    if (!vkt__is_absent(path)) return path;
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0)
        path[n - 3] = 0;
    else
        path = vkt__arena_printf(arena, "%s.gz", path);
    return vkt__is_absent(path) ? NULL : path;
}

vkt_status vkt__images_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    vkt_status st;
    uint32_t shape[4] = { 0 };
    const char *path = paths[0], *images = path, *labels;
    VKT_ASSERT(n == 1);
    if (vkt__is_dir(path)) {
        const char *set = find_file(&ds->arena, path, "t10k", "images") ? "t10k" : "train";
        VKT_TRY(need_file(&ds->arena, path, set, "images", &images));
        labels = find_file(&ds->arena, path, set, "labels");
    } else {
        labels = labels_beside(&ds->arena, path);
    }
    if (ds->schema.task != VKT_TASK_CLASSIFY) labels = NULL; /* which are classes */
    ds->info.has_labels = labels != NULL;
    VKT_TRY(read_part(images, labels, &ds->part[0], shape));
    VKT_TRY(check_shape(&ds->schema, shape, images));
    if (labels) VKT_TRY(check_labels(ds, &ds->part[0], labels));
    ds->info.source = vkt__arena_printf(&ds->arena, "idx %s: %u images%s", images, ds->part[0].n,
                                        labels ? "" : ", no labels");
fail:
    return st;
}
