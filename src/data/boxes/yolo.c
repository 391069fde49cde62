/* marks.h: boxes as YOLO keeps them, lines of numbers in a text beside each picture. */
#include <math.h>

#include "base/number.h"
#include "data/boxes/marks.h"
#include "formats/yaml.h"

enum { MOST_FIELDS = 4096 };

/* ---- one text ---- */

static vkt_status bad_line(const char *name, unsigned line, const char *why)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' line %u: %s; a line is: class x y width height, the last four as "
                     "shares of the picture",
                     name, line, why);
}

/* class x y width height, or class and a polygon's corners; a sixth number is a confidence. */
static vkt_status read_line(char *text, const char *name, unsigned line, vkt__marks *m)
{
    double v[5] = { 0 }, box[4] = { INFINITY, INFINITY, -INFINITY, -INFINITY };
    unsigned n = 0;
    for (char *p = text; *p;) {
        char *end = p + strcspn(p, " \t"), was = *end;
        double x;
        *end = 0;
        if (!vkt__number(p, &x)) return bad_line(name, line, "a field is no number");
        if (n < 5) v[n] = x;
        if (n && n % 2) box[0] = fmin(box[0], x), box[2] = fmax(box[2], x);
        if (n && n % 2 == 0) box[1] = fmin(box[1], x), box[3] = fmax(box[3], x);
        if (++n > MOST_FIELDS) return bad_line(name, line, "too many numbers");
        if (!was) break;
        p = end + 1 + strspn(end + 1, " \t");
    }
    bool polygon = n >= 7 && n % 2;
    if (n != 5 && n != 6 && !polygon) return bad_line(name, line, "it has not five numbers");
    if (!(v[0] >= 0) || v[0] != floor(v[0]) || v[0] >= VKT__MARK_CLASSES)
        return bad_line(name, line, "the class is no whole number from 0 to 999");
    if (!polygon && (fabs(v[1]) > 10 || fabs(v[2]) > 10 || fabs(v[3]) > 10 || fabs(v[4]) > 10))
        return bad_line(name, line, "these are pixels");
    if (!polygon)
        for (int k = 0; k < 2; k++) {
            box[k] = v[1 + k] - v[3 + k] / 2;
            box[2 + k] = v[1 + k] + v[3 + k] / 2;
        }
    return vkt__marks_add(m, box, (uint32_t)v[0], name);
}

static vkt_status read_lines(char *text, size_t n, const char *name, vkt__marks *m)
{
    vkt_status st = VKT_OK;
    unsigned line = 1;
    char *end = text + n;
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) text += 3;
    if (memchr(text, 0, (size_t)(end - text)))
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' is no text", name);
    for (; text < end && st == VKT_OK; line++) {
        char *stop = memchr(text, '\n', (size_t)(end - text)), *next = stop ? stop + 1 : end;
        if (!stop) stop = end;
        while (stop > text && (stop[-1] == '\r' || stop[-1] == ' ' || stop[-1] == '\t')) stop--;
        *stop = 0; /* the text ends in a NUL of its own */
        text += strspn(text, " \t");
        if (text < stop) st = read_line(text, name, line, m);
        text = next;
    }
    return st;
}

static vkt_status read_text(char *text, size_t n, const char *name, vkt__arena *arena,
                            vkt__marks *m)
{
    (void)arena;
    vkt_status st = read_lines(text, n, name, m);
    for (uint64_t k = m->first[m->pictures.n - 1]; st == VKT_OK && m->classes && k < m->n; k++)
        if (m->item[k].class >= m->n_classes)
            st = vkt__fail(VKT_E_FORMAT, "data",
                           "'%s' has a box of class %u, but %u classes are named, which count "
                           "from 0",
                           name, m->item[k].class, m->n_classes);
    return st;
}

/* ---- names ---- */

static vkt_status name_at(const char *path, const vkt__yaml *v, uint32_t k, vkt__marks *m)
{
    if (v->kind != VKT__YAML_SCALAR || !*v->text || k >= m->n_classes || m->classes[k])
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' line %d: `names` lists each class once, by numbers from 0", path,
                         v->line);
    m->classes[k] = v->text;
    return VKT_OK;
}

/* names: a list, or a map of numbers. */
static vkt_status read_yaml(const char *path, vkt__arena *arena, vkt__marks *m)
{
    vkt_status st;
    char *text = NULL;
    size_t n;
    vkt__yaml *root;
    uint64_t k = 0;
    VKT_TRY(vkt__file_read(path, VKT__YAML_BYTES, &text, &n));
    VKT_TRY(vkt__yaml_parse(arena, text, n, path, &root));
    const vkt__yaml *names = root->kind == VKT__YAML_MAP ? root->first : NULL;
    while (names && strcmp(names->key, "names") != 0) names = names->next;
    if (!names || names->kind == VKT__YAML_SCALAR || !names->first) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no list `names` of the classes", path);
        goto fail;
    }
    for (const vkt__yaml *v = names->first; v; v = v->next) m->n_classes++;
    if (m->n_classes > VKT__MARK_CLASSES) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' names %u classes, at most %d may be", path,
                       m->n_classes, VKT__MARK_CLASSES);
        goto fail;
    }
    m->classes = vkt__arena_alloc(arena, m->n_classes * sizeof *m->classes);
    for (const vkt__yaml *v = names->first; v; v = v->next, k++) {
        if (names->kind == VKT__YAML_MAP && !vkt__parse_u64(v->key, &k)) k = UINT32_MAX;
        VKT_TRY(name_at(path, v, (uint32_t)VKT_MIN(k, UINT32_MAX), m));
    }
fail:
    free(text);
    return st;
}

/* One name a line. */
static vkt_status read_names(const char *path, vkt__arena *arena, vkt__marks *m)
{
    vkt_status st;
    char *text = NULL, *own;
    size_t n, at;
    VKT_TRY(vkt__file_read(path, VKT__YAML_BYTES, &text, &n));
    if (!vkt__utf8_ok(text, n, &at)) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' is not UTF-8", path);
        goto fail;
    }
    own = vkt__arena_strdup(arena, text);
    m->classes = vkt__arena_alloc(arena, VKT__MARK_CLASSES * sizeof *m->classes);
    for (char *line = own; line && *line;) {
        char *end = line + strcspn(line, "\r\n"), *next = *end ? end + 1 : NULL;
        *end = 0;
        if (*line && m->n_classes == VKT__MARK_CLASSES) {
            st = vkt__fail(VKT_E_FORMAT, "data", "'%s' names more than %d classes", path,
                           VKT__MARK_CLASSES);
            goto fail;
        }
        if (*line) m->classes[m->n_classes++] = line;
        line = next;
    }
fail:
    free(text);
    return st;
}

static vkt_status name_classes(const char *root, vkt__arena *arena, vkt__marks *m)
{
    static const char *const yaml[] = { "data.yaml", "data.yml", "dataset.yaml" },
                             *const lists[] = { "classes.txt", "labels/classes.txt", "obj.names" };
    for (size_t i = 0; i < VKT_COUNT(yaml); i++) {
        const char *path = vkt__arena_printf(arena, "%s/%s", root, yaml[i]);
        if (!vkt__is_absent(path)) return read_yaml(path, arena, m);
    }
    for (size_t i = 0; i < VKT_COUNT(lists); i++) {
        const char *path = vkt__arena_printf(arena, "%s/%s", root, lists[i]);
        if (!vkt__is_absent(path)) return read_names(path, arena, m);
    }
    return VKT_OK;
}

static const char *const pictures[] = { "images", "image", "imgs", "img", NULL },
                         *const labels[] = { "labels", "label", NULL };

const vkt__beside vkt__yolo = { pictures, labels, ".txt", NULL, true, name_classes, read_text };
