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
    if (m->n - m->first[m->pictures.n - 1] >= VKT__OBJECTS_MOST)
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s' has more than %d boxes of one picture: cut it "
                         "into several",
                         where, VKT__OBJECTS_MOST);
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
