/* marks.h: boxes as COCO keeps them: one JSON file of a split's images, annotations, categories;
 * where points are asked for, the keypoints of those annotations that have some; where outlines
 * are, their segmentations. */
#include <jansson.h>
#include <math.h>

#include "data/boxes/coco_outlines.h"
#include "data/boxes/marks.h"

typedef struct entry {
    json_int_t id;
    uint32_t at; /* of its array */
} entry;

static int by_id(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The entries of an array by their ids. FORMAT: one has none, or two have the same. */
static vkt_status index_of(const json_t *all, const char *what, const char *name, entry **out)
{
    vkt_status st = VKT_OK;
    size_t n = json_array_size(all);
    VKT_TRY(vkt__alloc_large(n + 1, sizeof **out, "the boxes", out));
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_object_get(json_array_get(all, i), "id");
        if (!json_is_integer(id)) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s': %s[%zu] has no whole number `id`", name,
                           what, i);
            goto fail;
        }
        (*out)[i] = (entry) { json_integer_value(id), (uint32_t)i };
    }
    if (n) qsort(*out, n, sizeof **out, by_id);
    for (size_t i = 1; i < n; i++)
        if ((*out)[i].id == (*out)[i - 1].id) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s': two of %s have the id %lld", name, what,
                           (long long)(*out)[i].id);
            break;
        }
fail:
    return st;
}

/* Its place among those by id; UINT32_MAX: there is none. */
static uint32_t place_of(const entry *by, size_t n, const json_t *id)
{
    size_t low = 0, high = n;
    json_int_t v = json_integer_value(id);
    if (!json_is_integer(id)) return UINT32_MAX;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (by[mid].id < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && by[low].id == v ? (uint32_t)low : UINT32_MAX;
}

typedef struct reading {
    const char *name, *root;
    const json_t *images, *marks, *kinds;
    entry *image, *kind;  /* by id */
    uint32_t *order;      /* annotations by their pictures */
    uint64_t *first;      /* [images + 1] of each in `order` */
    uint32_t with_points; /* of `kind`: the category that has points, where they are asked for */
    vkt__arena *arena;
} reading;

/* Classes are the categories by their ids; those of a second file must be the same. */
static vkt_status take_classes(reading *r, vkt__marks *m)
{
    size_t n = json_array_size(r->kinds);
    bool fresh = !m->classes;
    if (!n || n > VKT__MARK_CLASSES)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %zu categories; 1 to %d may be", r->name,
                         n, VKT__MARK_CLASSES);
    if (!fresh && n != m->n_classes)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %zu categories, the files before have %u",
                         r->name, n, m->n_classes);
    if (fresh) m->classes = vkt__arena_alloc(r->arena, n * sizeof *m->classes);
    m->n_classes = (uint32_t)n;
    for (size_t k = 0; k < n; k++) {
        const char *word =
            json_string_value(json_object_get(json_array_get(r->kinds, r->kind[k].at), "name"));
        if (!word || !*word)
            return vkt__fail(VKT_E_FORMAT, "data", "'%s': the category %lld has no name", r->name,
                             (long long)r->kind[k].id);
        if (fresh)
            m->classes[k] = vkt__arena_strdup(r->arena, word);
        else if (strcmp(m->classes[k], word) != 0)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': category %zu is '%s', in the files before it is '%s'", r->name,
                             k, vkt__show(word).s, vkt__show(m->classes[k]).s);
    }
    return VKT_OK;
}

/* One of a skeleton's pairs of n keypoints, which are counted from 1; false: it is none. */
static bool take_limb(const json_t *pair, uint32_t n, uint32_t out[2])
{
    for (size_t e = 0; e < 2; e++) {
        const json_t *v = json_array_get(pair, e);
        json_int_t at = json_integer_value(v);
        if (!json_is_integer(v) || at < 1 || at > n) return false;
        out[e] = (uint32_t)at - 1;
    }
    return json_array_size(pair) == 2 && out[0] != out[1];
}

/* The skeleton of the category with points, the first of several files', is drawn and not learned:
 * one that can't be used, and a second that differs, is said and stops nothing. */
static void take_limbs(reading *r, const json_t *skeleton, vkt__mark_points *p)
{
    size_t n = json_array_size(skeleton), i = 0;
    uint32_t(*limb)[2] =
        n && n <= VKT__LIMBS_MOST ? vkt__arena_alloc(r->arena, n * sizeof *limb) : NULL;
    while (limb && i < n && take_limb(json_array_get(skeleton, i), p->n, limb[i])) i++;
    if (i < n)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': skeleton[%zu] is no pair of its %u keypoints, counted from 1, or beyond the "
                "first %d: no limbs of it are drawn; data.limbs can name them",
                r->name, i, p->n, VKT__LIMBS_MOST);
    else if (n && p->n_limbs && (n != p->n_limbs || memcmp(limb, p->limb, n * sizeof *limb) != 0))
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' has another skeleton than the files before, whose limbs are drawn", r->name);
    if (i < n || p->n_limbs) return;
    p->limb = limb;
    p->n_limbs = (uint32_t)n;
}

/* The points' names are those of the one category that has some; a second file's must be the same.
 */
static vkt_status take_names(reading *r, vkt__marks *m)
{
    vkt__mark_points *p = m->points;
    const json_t *names = NULL;
    for (uint32_t k = 0; k < m->n_classes; k++) {
        const json_t *of = json_object_get(json_array_get(r->kinds, r->kind[k].at), "keypoints");
        if (!json_array_size(of)) continue;
        if (names)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': both '%s' and '%s' have keypoints: one model has the points "
                             "of one category, keep the annotations of one",
                             r->name, vkt__show(m->classes[r->with_points]).s,
                             vkt__show(m->classes[k]).s);
        names = of;
        r->with_points = k;
    }
    size_t n = json_array_size(names);
    if (!n || n > VKT__POINTS_MOST)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': its categories name %zu keypoints; 1 to %d may be", r->name, n,
                         VKT__POINTS_MOST);
    bool fresh = !p->name;
    if (!fresh && n != p->n)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %zu keypoints, the files before have %u",
                         r->name, n, p->n);
    if (fresh) p->name = vkt__arena_alloc(r->arena, n * sizeof *p->name);
    p->n = (uint32_t)n;
    for (size_t k = 0; k < n; k++) {
        const char *word = json_string_value(json_array_get(names, k));
        if (!word || !*word || (!fresh && strcmp(word, p->name[k]) != 0))
            return vkt__fail(VKT_E_FORMAT, "data", "'%s': keypoint %zu %s", r->name, k,
                             word && *word ? "has another name than in the files before"
                                           : "has no name");
        for (size_t i = 0; i < k && fresh; i++)
            if (!strcmp(p->name[i], word))
                return vkt__fail(VKT_E_FORMAT, "data", "'%s': two keypoints are called '%s'",
                                 r->name, vkt__show(word).s);
        if (fresh) p->name[k] = vkt__arena_strdup(r->arena, word);
    }
    take_limbs(r, json_object_get(json_array_get(r->kinds, r->kind[r->with_points].at), "skeleton"),
               p);
    return VKT_OK;
}

/* Annotations in the order of their pictures, those of one as they stand. */
static vkt_status sort_marks(reading *r, vkt__marks *m)
{
    vkt_status st = VKT_OK;
    size_t n = json_array_size(r->marks), n_images = json_array_size(r->images);
    uint32_t *of = NULL;
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *of, "the boxes", &of));
    VKT_TRY(vkt__alloc_large(n + 1, sizeof *r->order, "the boxes", &r->order));
    VKT_TRY(vkt__alloc_large(n_images + 2, sizeof *r->first, "the boxes", &r->first));
    memset(r->first, 0, (n_images + 2) * sizeof *r->first);
    for (size_t i = 0; i < n; i++) {
        const json_t *a = json_array_get(r->marks, i);
        of[i] = place_of(r->image, n_images, json_object_get(a, "image_id"));
        if (of[i] == UINT32_MAX)
            m->n_unnamed++;
        else
            r->first[of[i] + 2]++;
    }
    for (size_t i = 2; i < n_images + 2; i++) r->first[i] += r->first[i - 1];
    for (size_t i = 0; i < n; i++)
        if (of[i] != UINT32_MAX) r->order[r->first[of[i] + 1]++] = (uint32_t)i;
fail:
    free(of);
    return st;
}

/* An annotation's points, of the box v. */
static vkt_status take_points(const reading *r, uint32_t at, const double v[4], vkt__marks *m)
{
    const json_t *a = json_array_get(r->marks, at), *list = json_object_get(a, "keypoints");
    size_t n = 3 * (size_t)m->points->n;
    const json_t *area = json_object_get(a, "area"); /* none: nobody said */
    double point[3 * VKT__POINTS_MOST];
    bool any = false;
    if (area && !(json_is_number(area) && json_number_value(area) >= 0))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': annotations[%u] has an `area` that is no number of pixels: "
                         "correct it, or leave it out",
                         r->name, at);
    for (size_t k = 0; k < n; k++) {
        const json_t *number = json_array_get(list, k);
        point[k] = json_is_number(number) ? json_number_value(number) : NAN;
        bool seen = k % 3 == 2;
        if (json_array_size(list) != n || !(fabs(point[k]) < 1e9) ||
            (seen && point[k] != 0 && point[k] != 1 && point[k] != 2))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': annotations[%u] has not %u keypoints of three numbers: x, y, "
                             "and 0 (not there), 1 (hidden) or 2 (seen)",
                             r->name, at, m->points->n);
        any |= seen && point[k] > 0;
    }
    m->points->n_bare += !any;
    return any ? vkt__marks_add_points(m, v, json_number_value(area), point, r->name) : VKT_OK;
}

/* An annotation's outline: a mark without a box. */
static vkt_status take_outline(const reading *r, uint32_t at, vkt__marks *m)
{
    static const double none[4];
    bool any;
    char where[300];
    const json_t *of = json_object_get(json_array_get(r->marks, at), "segmentation");
    snprintf(where, sizeof where, "'%.200s': annotations[%u]", r->name, at);
    vkt_status st =
        vkt__coco_outline(of, m->said[m->pictures.n - 1], where, m->n, m->outlines, &any);
    if (st != VKT_OK) return st;
    m->outlines->n_bare += !any;
    return any ? vkt__marks_add(m, none, 0, r->name) : VKT_OK;
}

static vkt_status take_mark(const reading *r, uint32_t at, vkt__marks *m)
{
    const json_t *a = json_array_get(r->marks, at), *box = json_object_get(a, "bbox"),
                 *crowd = json_object_get(a, "iscrowd");
    double v[4];
    uint32_t kind = place_of(r->kind, json_array_size(r->kinds), json_object_get(a, "category_id"));
    if (json_is_true(crowd) || json_integer_value(crowd)) {
        m->n_crowd++;
        return VKT_OK;
    }
    if (kind == UINT32_MAX)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': annotations[%u] has a category_id that is no category", r->name,
                         at);
    if (m->points && kind != r->with_points) {
        m->points->n_other++;
        return VKT_OK;
    }
    if (m->outlines) return take_outline(r, at, m);
    for (size_t k = 0; k < 4; k++) {
        const json_t *number = json_array_get(box, k);
        v[k] = json_is_number(number) ? json_number_value(number) : NAN;
        if (!(fabs(v[k]) < 1e9))
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s': annotations[%u] has no bbox of four numbers: x, y, width, "
                             "height",
                             r->name, at);
    }
    const double edges[] = { v[0], v[1], v[0] + v[2], v[1] + v[3] };
    return m->points ? take_points(r, at, edges, m) : vkt__marks_add(m, edges, kind, r->name);
}

/* Marks of the last picture. Where one is wrong, the picture goes, and the counts are as before. */
static vkt_status take_marks(const reading *r, size_t i, vkt__marks *m)
{
    vkt_status st = VKT_OK;
    uint64_t none = 0, *const count[] = { &m->n_crowd, m->points ? &m->points->n_bare : &none,
                                          m->points ? &m->points->n_other : &none,
                                          m->outlines ? &m->outlines->n_bare : &none,
                                          m->outlines ? &m->outlines->n_thin : &none };
    uint64_t before[VKT_COUNT(count)];
    for (size_t k = 0; k < VKT_COUNT(count); k++) before[k] = *count[k];
    for (uint64_t k = r->first[i]; k < r->first[i + 1] && st == VKT_OK; k++)
        st = take_mark(r, r->order[k], m);
    if (st == VKT_OK) return VKT_OK;
    for (size_t k = 0; k < VKT_COUNT(count); k++) *count[k] = before[k];
    vkt__marks_drop(m);
    return st;
}

static vkt_status take_picture(const reading *r, size_t i, uint8_t split, vkt__marks *m)
{
    const json_t *image = json_array_get(r->images, r->image[i].at);
    const char *file = json_string_value(json_object_get(image, "file_name"));
    json_int_t w = json_integer_value(json_object_get(image, "width")),
               h = json_integer_value(json_object_get(image, "height"));
    if (!file || !vkt__marks_below(file))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': images[%u] has no file_name that is a path below its folder",
                         r->name, r->image[i].at);
    const char *path = vkt__marks_find(r->root, file, split, r->arena);
    if (!path)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' names the picture '%s', which is not there",
                         r->name, vkt__show(file).s);
    bool sane = w > 0 && h > 0 && w < 1 << 20 && h < 1 << 20;
    vkt__marks_picture(m, path, split, sane ? (uint32_t)w : 0, sane ? (uint32_t)h : 0);
    return take_marks(r, i, m);
}

static vkt_status read_json(reading *r, json_t *o, uint8_t split, bool stop, vkt__marks *m)
{
    vkt_status st;
    r->images = json_object_get(o, "images");
    r->marks = json_object_get(o, "annotations");
    r->kinds = json_object_get(o, "categories");
    if (!json_is_array(r->images) || !json_is_array(r->marks) || !json_is_array(r->kinds))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has not the three lists images, annotations and categories: it is "
                         "no file of COCO boxes",
                         r->name);
    VKT_TRY(index_of(r->images, "images", r->name, &r->image));
    VKT_TRY(index_of(r->kinds, "categories", r->name, &r->kind));
    VKT_TRY(take_classes(r, m));
    if (m->points) VKT_TRY(take_names(r, m));
    VKT_TRY(sort_marks(r, m));
    for (size_t i = 0; i < json_array_size(r->images); i++) {
        if (!stop) vkt__log_quiet(true);
        st = take_picture(r, i, split, m);
        if (!stop) vkt__log_quiet(false);
        if (st != VKT_OK) VKT_TRY(vkt__marks_failed(m, st, stop));
    }
fail:
    free(r->image);
    free(r->kind);
    free(r->order);
    free(r->first);
    return st;
}

vkt_status vkt__coco_read(char *text, size_t n, const char *name, const char *root, uint8_t split,
                          bool stop, vkt__arena *arena, vkt__marks *m)
{
    json_error_t error;
    reading r = { .name = name, .root = root, .arena = arena };
    json_t *o = json_loadb(text, n, 0, &error);
    if (!o)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %d: %s: it is not JSON", name, error.line,
                         vkt__show(error.text).s);
    vkt_status st = read_json(&r, o, split, stop, m);
    json_decref(o);
    return st;
}

/* It begins as one of COCO does. */
static bool begins_so(char *head, size_t n, const char *root)
{
    (void)root;
    (void)n;
    const char *p = head + strspn(head, " \t\r\n");
    return *p == '{' &&
           (strstr(p, "\"images\"") || strstr(p, "\"annotations\"") || strstr(p, "\"categories\""));
}

/* A list of them that is not empty. */
static bool has_points(char *head, size_t n, const char *root)
{
    const char *p = begins_so(head, n, root) ? head : "";
    while ((p = strstr(p, "\"keypoints\""))) {
        p += strlen("\"keypoints\"");
        p += strspn(p, " \t\r\n:");
        if (*p == '[' && p[1 + strspn(p + 1, " \t\r\n")] != ']') return true;
    }
    return false;
}

/* Polygons or runs: what begins with a list or an object that is not empty. */
static bool has_outlines(char *head, size_t n, const char *root)
{
    static const char name[] = "\"segmentation\"";
    const char *p = begins_so(head, n, root) ? head : "";
    while ((p = strstr(p, name))) {
        p += strlen(name);
        p += strspn(p, " \t\r\n:");
        const char *next = *p ? p + 1 + strspn(p + 1, " \t\r\n") : p;
        if ((*p == '[' && *next == '[') || (*p == '{' && *next == '"')) return true;
    }
    return false;
}

const vkt__list_kind vkt__coco_outlines = { ".json", true, "instances", has_outlines };
const vkt__list_kind vkt__coco = { ".json", false, "instances", begins_so };
const vkt__list_kind vkt__coco_points = { ".json", true, "person_keypoints", has_points };
