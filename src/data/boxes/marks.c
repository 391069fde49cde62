/* marks.h */
#include "data/boxes/marks.h"

#include <stdio.h>

void vkt__marks_picture(vkt__marks *m, const char *path, uint8_t split, uint32_t w, uint32_t h)
{
    size_t at = m->pictures.n, cap = m->cap;
    vkt__folder_add(&m->pictures, path, (uint32_t)at, split);
    if (at == m->cap) {
        m->first = vkt__grow(m->first, at, &m->cap, sizeof *m->first);
        m->said = vkt__grow(m->said, at, &cap, sizeof *m->said);
    }
    m->first[at] = m->n;
    m->said[at][0] = w;
    m->said[at][1] = h;
}

vkt_status vkt__marks_add(vkt__marks *m, const double box[4], uint32_t class, const char *where)
{
    uint32_t most = m->outlines ? (uint32_t)VKT__OUTLINES_MOST : (uint32_t)VKT__OBJECTS_MOST;
    if (m->n - m->first[m->pictures.n - 1] >= most)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has more than %u %s of one picture: cut it "
                         "into several",
                         where, most, m->outlines ? "instances" : "boxes");
    if (class >= VKT__MARK_CLASSES)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has a box of class %u: there may be %d classes, which count from 0",
                         where, class, VKT__MARK_CLASSES);
    if (m->n == m->cap_marks) m->item = vkt__grow(m->item, m->n, &m->cap_marks, sizeof *m->item);
    vkt__mark *to = &m->item[m->n++];
    memcpy(to->box, box, sizeof to->box);
    to->class = class;
    return VKT_OK;
}

vkt_status vkt__marks_add_points(vkt__marks *m, const double box[4], double area, const double *at,
                                 const char *where)
{
    vkt__mark_points *p = m->points;
    size_t each = 3 * (size_t)p->n, n = m->n;
    vkt_status st = vkt__marks_add(m, box, 0, where);
    if (st != VKT_OK) return st;
    if (n == p->cap_area) p->area = vkt__grow(p->area, n, &p->cap_area, sizeof *p->area);
    if (n == p->cap) p->at = vkt__grow(p->at, n, &p->cap, each * sizeof *p->at);
    p->area[n] = area;
    memcpy(p->at + n * each, at, each * sizeof *at);
    return VKT_OK;
}

void vkt__marks_drop(vkt__marks *m)
{
    m->n = m->first[--m->pictures.n];
}

void vkt__marks_finish(vkt__marks *m)
{
    vkt__folder_finish(&m->pictures);
    free(m->first);
    free(m->said);
    free(m->item);
    *m = (vkt__marks) { 0 };
}

vkt_status vkt__marks_failed(vkt__marks *m, vkt_status st, bool stop)
{
    if (stop) return st; /* its line is written */
    if (st != VKT_E_FORMAT) {
        char why[600]; /* vkt__fail writes over what it would read */
        snprintf(why, sizeof why, "%s", vkt__last_failure());
        return vkt__fail(st, "data", "%s", why);
    }
    if (m->n_bad++ < VKT__MARKS_SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %s", vkt__last_failure());
    return VKT_OK;
}

static uint64_t end_of(const vkt__marks *m, uint32_t at)
{
    return at + 1 < m->pictures.n ? m->first[at + 1] : m->n;
}

/* The area of a mark of the picture `at` that is more than its pixels; 0: there is none. */
static double too_large(const vkt__marks *m, uint32_t at, double pixels)
{
    for (uint64_t k = m->first[at]; m->points && k < end_of(m, at); k++)
        if (m->points->area[k] > pixels) return m->points->area[k];
    return 0;
}

/* A file that says its picture's size says where its boxes lie by that size. */
static vkt_status check_picture(const vkt__marks *m, uint32_t at, uint32_t w, uint32_t h)
{
    const uint32_t *said = m->said[at];
    const char *path = m->pictures.item[at].path;
    double area = too_large(m, at, (double)w * h), steps = 0, most = 0;
    if (said[0] && (said[0] != w || said[1] != h))
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %ux%u pixels, but its %s are those of a picture of %ux%u", path,
                         w, h,
                         m->points     ? "points"
                         : m->outlines ? "outlines"
                                       : "boxes",
                         said[0], said[1]);
    if (area > 0)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %ux%u pixels, but an annotation of it has an `area` of %.6g",
                         path, w, h, area);
    if (!m->outlines) return VKT_OK;
    uint32_t n = (uint32_t)(end_of(m, at) - m->first[at]);
    steps = vkt__outlines_steps(m->outlines, m->first[at], n, w, h);
    most = vkt__outlines_most_steps(w, h);
    if (steps > most)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has %u outlines that would take %.3g steps to draw, and %.3g are "
                         "the most for %ux%u pixels: leave annotations of it out, or give their "
                         "polygons fewer corners",
                         path, n, steps, most, w, h);
    return VKT_OK;
}

vkt_status vkt__marks_check_sizes(vkt__marks *m, bool stop, vkt__survey *s)
{
    vkt_status st = VKT_OK;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (!stop) vkt__log_quiet(true);
        st = check_picture(m, s->from[i], s->wide[i], s->high[i]);
        if (!stop) vkt__log_quiet(false);
        if (st != VKT_OK) {
            VKT_TRY(vkt__marks_failed(m, st, stop));
            continue;
        }
        s->from[n] = s->from[i];
        s->hash[n] = s->hash[i];
        s->high[n] = s->high[i];
        s->wide[n++] = s->wide[i];
    }
    s->n = n;
    return VKT_OK;
fail:
    return st;
}

vkt_status vkt__marks_class(vkt__marks *m, const char *name, const char *where, vkt__arena *arena,
                            uint32_t *out)
{
    if (!m->classes) m->classes = vkt__arena_alloc(arena, VKT__MARK_CLASSES * sizeof *m->classes);
    for (uint32_t k = 0; k < m->n_classes; k++) {
        uint32_t c = (m->hint + k) % m->n_classes;
        if (strcmp(m->classes[c], name) != 0) continue;
        m->hint = *out = c;
        return VKT_OK;
    }
    if (m->n_classes == VKT__MARK_CLASSES)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' names more than %d classes, '%s' is one",
                         where, VKT__MARK_CLASSES, vkt__show(name).s);
    m->hint = *out = m->n_classes++;
    m->classes[*out] = vkt__arena_strdup(arena, name);
    return VKT_OK;
}

typedef struct named {
    const char *name;
    uint32_t at;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

void vkt__marks_sort_classes(vkt__marks *m)
{
    named class[VKT__MARK_CLASSES];
    uint32_t to[VKT__MARK_CLASSES], n = 0;
    bool has[VKT__MARK_CLASSES] = { 0 };
    for (size_t i = 0; i < m->n; i++) has[m->item[i].class] = true;
    for (uint32_t c = 0; c < m->n_classes; c++)
        if (has[c]) class[n++] = (named) { m->classes[c], c };
    m->n_classes = n;
    if (n) qsort(class, n, sizeof *class, by_name);
    for (uint32_t c = 0; c < n; c++) {
        m->classes[c] = class[c].name;
        to[class[c].at] = c;
    }
    for (size_t i = 0; i < m->n; i++) m->item[i].class = to[m->item[i].class];
}

/* ---- pictures that a file names ---- */

bool vkt__marks_below(const char *name)
{
    if (!*name || *name == '/' || strchr(name, '\\') || strchr(name, ':')) return false;
    for (const char *p = name; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || !p[2])) return false;
    }
    return true;
}

const char *vkt__marks_plain(const char *name, vkt__arena *arena)
{
    if (!strstr(name, "./") && !strstr(name, "//")) return name;
    char *plain = vkt__arena_strdup(arena, name), *to = plain;
    for (const char *p = plain; *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n && !(n == 1 && *p == '.')) {
            if (to != plain) *to++ = '/';
            memmove(to, p, n);
            to += n;
        }
        p += n;
    }
    *to = 0;
    return plain;
}

const char *vkt__marks_find(const char *root, const char *file, uint8_t split, vkt__arena *arena)
{
    file = vkt__marks_plain(file, arena);
    const char *of = split < VKT_N_SPLITS ? vkt_split_name((vkt_split)split) : "train",
               *other = !strcmp(of, "valid") ? "val" : of;
    const struct {
        const char *in, *of, *more;
    } places[] = { { "", "", "" },         { "images/", "", "" },        { "", of, "/" },
                   { "", other, "/" },     { "images/", of, "/" },       { "images/", other, "/" },
                   { "", other, "2017/" }, { "images/", other, "2017/" } };
    for (size_t i = 0; i < VKT_COUNT(places); i++) {
        const char *path = vkt__arena_printf(arena, "%s/%s%s%s%s", root, places[i].in, places[i].of,
                                             places[i].more, file);
        if (!vkt__is_absent(path)) return path;
    }
    return NULL;
}
