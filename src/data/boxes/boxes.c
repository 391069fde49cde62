/* boxes.h: pictures with boxes, of whichever form, as a data set. What can't be used is counted and
 * left out, or refused, as the recipe says. */
#include <math.h>

#include "data/boxes/boxes.h"
#include "data/boxes/boxes_notes.h"
#include "data/boxes/cells.h"
#include "data/boxes/marks.h"
#include "data/pictures/constants.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/pictures.h"
#include "data/pictures/survey.h"

enum { LONG_SIDE = 256 }; /* data.size median: at most */

/* ---- marks ---- */

typedef struct form {
    const vkt__list_kind *list; /* files that list pictures, and how one is read; or */
    vkt__list_read *read;
    const vkt__beside *beside; /* a file beside each picture */
} form;
static const form forms[] = { { &vkt__coco, vkt__coco_read, NULL },
                              { &vkt__box_table, vkt__box_table_read, NULL },
                              { NULL, NULL, &vkt__voc },
                              { NULL, NULL, &vkt__yolo } };

static bool is(const form *f, const char *path)
{
    return f->list ? vkt__lists_are(f->list, path) : vkt__beside_is(f->beside, path);
}

static bool ends_so(const form *f, const char *path)
{
    const char *ending = f->list ? f->list->ending : NULL, *at = strrchr(path, '.');
    return ending && at && vkt__same_word(at, ending);
}

/* What is of no form is refused by that of its ending, a folder by the last. */
static vkt_status scan(const char *path, bool stop, vkt__arena *arena, vkt__marks *out)
{
    const form *f = forms, *last = forms + VKT_COUNT(forms) - 1;
    while (f < last && !is(f, path)) f++;
    if (f == last && !vkt__is_dir(path))
        for (f = forms; f < last && !ends_so(f, path);) f++;
    *out = (vkt__marks) { 0 };
    return f->list ? vkt__lists_scan(f->list, f->read, path, stop, arena, out)
                   : vkt__beside_scan(f->beside, path, stop, arena, out);
}

/* In pixels, within the picture; false: nothing of it lies there. */
static bool place(const vkt__mark *mark, bool shares, uint32_t w, uint32_t h, double box[4],
                  vkt__boxes_seen *seen)
{
    double beyond = 0;
    for (int k = 0; k < 4; k++) {
        double most = k % 2 ? h : w, v = shares ? mark->box[k] * most : mark->box[k];
        box[k] = fmin(fmax(v, 0), most);
        beyond = fmax(beyond, fabs(v - box[k]));
    }
    bool flat = !(mark->box[2] > mark->box[0]) || !(mark->box[3] > mark->box[1]);
    if (box[2] > box[0] && box[3] > box[1]) {
        seen->n_beyond += beyond > 1;
        return true;
    }
    *(flat ? &seen->n_flat : &seen->n_outside) += 1;
    return false;
}

/* class: of each of the marks' its own; NULL: the same. */
static vkt_status take_objects(vkt__part *part, const vkt__marks *m, const vkt__survey *s,
                               const uint32_t *class, vkt__boxes_seen *seen)
{
    vkt_status st;
    vkt__objects *o;
    uint64_t n = 0;
    VKT_TRY(vkt__objects_create(s->n, m->n, &part->objects));
    o = part->objects;
    part->size = (const uint32_t(*)[2])o->size;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t at = s->from[i];
        uint64_t end = at + 1 < m->pictures.n ? m->first[at + 1] : m->n;
        o->size[i][0] = s->wide[i];
        o->size[i][1] = s->high[i];
        for (uint64_t k = m->first[at]; k < end; k++) {
            vkt__object *to = &o->item[n];
            if (!place(&m->item[k], m->shares, s->wide[i], s->high[i], to->box, seen)) continue;
            to->class = class ? class[m->item[k].class] : m->item[k].class;
            n++;
        }
        o->first[i + 1] = n;
        o->most = VKT_MAX(o->most, (uint32_t)(n - o->first[i]));
    }
fail:
    return st;
}

static vkt_status make_part(vkt_dataset *ds, const vkt__marks *m, const vkt__survey *s,
                            const uint32_t *class, uint64_t keep_bytes, vkt__boxes_seen *seen)
{
    vkt_status st;
    vkt__part *part = &ds->part[0];
    const char **path = NULL;
    VKT_TRY(vkt__alloc_large((uint64_t)s->n + 1, sizeof *path, "the list of pictures", &path));
    for (uint32_t i = 0; i < s->n; i++) path[i] = m->pictures.item[s->from[i]].path;
    VKT_TRY(vkt__files_create(s->n, path, keep_bytes, &part->files));
    if (s->n) memcpy(vkt__files_hash(part->files), s->hash, s->n * sizeof *s->hash);
    part->n = s->n;
    VKT_TRY(take_objects(part, m, s, class, seen));
    if (m->n_bad > VKT__MARKS_SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u pictures in all, because of their boxes",
                m->n_bad);
    ds->info.n_dropped = s->n_bad + m->n_bad;
    seen->n_crowd = m->n_crowd;
    seen->n_unnamed = m->n_unnamed;
    seen->n_unused = m->n_unused;
    seen->n_unlisted = m->n_unlisted;
fail:
    free(path);
    return st;
}

/* ---- opening ---- */

static void name_classes(vkt_dataset *ds, const vkt__marks *m)
{
    vkt__schema *s = &ds->schema;
    s->n_outputs = m->n_classes;
    for (uint64_t k = 0; !m->classes && k < m->n; k++)
        s->n_outputs = VKT_MAX(s->n_outputs, m->item[k].class + 1);
    s->classes = vkt__arena_alloc(&ds->arena, (s->n_outputs + 1) * sizeof *s->classes);
    for (uint32_t c = 0; c < s->n_outputs; c++)
        s->classes[c] = m->classes ? m->classes[c] : vkt__arena_printf(&ds->arena, "%u", c);
}

static vkt_status check_any(const vkt__marks *m, const vkt__survey *s, const char *root,
                            vkt__arena *arena)
{
    bool train = false;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t split = m->pictures.item[s->from[i]].split;
        train |= split == VKT_SPLIT_TRAIN || split == VKT_N_SPLITS;
    }
    if (train && s->n >= 2 && m->n) return VKT_OK;
    const char *unlisted =
        m->n_unlisted && !s->n_bad && !m->n_bad
            ? vkt__arena_printf(arena, ": %u pictures are in none of the lists of ImageSets/Main",
                                m->n_unlisted)
            : "";
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' has %s%s%s", root,
                     !s->n       ? "no picture"
                     : s->n == 1 ? "one picture alone"
                     : !m->n     ? "no box"
                                 : "no training picture",
                     s->n_bad || m->n_bad ? " that can be used" : "", unlisted);
}

static uint32_t round_up(uint32_t v)
{
    return (v + VKT__CELL_MULTIPLE - 1) / VKT__CELL_MULTIPLE * VKT__CELL_MULTIPLE;
}

/* Sides that the widest grid divides. */
static vkt_status shape(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__survey *survey)
{
    vkt__schema *s = &ds->schema;
    uint32_t *side = s->input_shape;
    vkt_status st = vkt__survey_shape(ds, desc, survey);
    bool asked = desc->size && strcmp(desc->size, "auto") && strcmp(desc->size, "median");
    if (st != VKT_OK) return st;
    if (asked && (side[0] % VKT__CELL_MULTIPLE || side[1] % VKT__CELL_MULTIPLE))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.size '%s': with boxes both sides are multiples of %d: %ux%u is the "
                         "next",
                         desc->size, VKT__CELL_MULTIPLE, round_up(side[0]), round_up(side[1]));
    side[0] = round_up(side[0]);
    side[1] = round_up(side[1]);
    s->n_inputs = side[0] * side[1] * side[2];
    s->output_shape[0] = vkt__cells(side[1], side[0]);
    s->output_shape[1] = VKT__CELL_TARGETS;
    s->output_shape[2] = 1;
    return VKT_OK;
}

vkt_status vkt__boxes_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    vkt__marks m = { 0 };
    vkt__survey s = { .dense = true, .most = LONG_SIDE };
    vkt__boxes_seen seen = { 0 };
    bool stop = desc->bad_files == VKT_BAD_FILES_STOP;
    vkt__schema *schema = &ds->schema;
    if (desc->fit != VKT_PICTURE_FIT_STRETCH)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.fit is not for boxes: all of a picture is shown, grey around it");
    VKT_TRY(scan(desc->path, stop, &ds->arena, &m));
    VKT_TRY(vkt__survey_take(&m.pictures, stop, &s));
    VKT_TRY(vkt__marks_check_sizes(&m, stop, &s));
    VKT_TRY(check_any(&m, &s, desc->path, &ds->arena));
    name_classes(ds, &m);
    VKT_TRY(make_part(ds, &m, &s, NULL, (uint64_t)desc->keep_mib << 20, &seen));
    VKT_TRY(shape(ds, desc, &s)); /* it sorts the sizes of the survey */
    VKT_TRY(vkt__survey_split(ds, desc, &m.pictures, &s));
    vkt__boxes_note(ds, &seen);
    VKT_TRY(vkt__pixels_fit(ds, desc->standardize));
    ds->info.source = vkt__arena_printf(
        &ds->arena, "boxes %s: %u pictures%s as %ux%ux%u, %llu boxes of %u classes, split by %s",
        desc->path, s.n, ds->info.n_dropped ? ", others left out," : "", schema->input_shape[0],
        schema->input_shape[1], schema->input_shape[2],
        (unsigned long long)ds->part[0].objects->first[s.n], schema->n_outputs,
        m.pictures.own[VKT_SPLIT_TRAIN] ? "folders" : "seed");
fail:
    vkt__survey_finish(&s);
    vkt__marks_finish(&m);
    return st;
}

/* Classes by their names; without names numbers are the model's own. */
static vkt_status match_classes(const vkt__schema *s, const vkt__marks *m, const char *path,
                                uint32_t *class)
{
    for (uint32_t k = 0; k < VKT__MARK_CLASSES; k++) class[k] = k;
    for (uint32_t k = 0; m->classes && k < m->n_classes; k++) {
        uint32_t c = 0;
        while (c < s->n_outputs && strcmp(s->classes[c], m->classes[k]) != 0) c++;
        class[k] = c;
    }
    for (uint64_t i = 0; i < m->n; i++)
        if (class[m->item[i].class] >= s->n_outputs)
            return vkt__fail(VKT_E_FORMAT, "data",
                             "'%s' has boxes of class '%s', which is none of the model's %u", path,
                             m->classes ? vkt__show(m->classes[m->item[i].class]).s : "a number",
                             s->n_outputs);
    return VKT_OK;
}

static vkt_status open_folder(vkt_dataset *ds, const char *path)
{
    vkt_status st;
    vkt__marks m = { 0 };
    vkt__survey s = { 0 };
    vkt__boxes_seen seen = { 0 };
    uint32_t *class = vkt__alloc(VKT__MARK_CLASSES * sizeof *class);
    VKT_TRY(scan(path, false, &ds->arena, &m));
    VKT_TRY(match_classes(&ds->schema, &m, path, class));
    VKT_TRY(vkt__survey_take(&m.pictures, false, &s));
    VKT_TRY(vkt__marks_check_sizes(&m, false, &s));
    if (!s.n) {
        st = vkt__fail(VKT_E_FORMAT, "data", "'%s' has no picture that can be used", path);
        goto fail;
    }
    VKT_TRY(make_part(ds, &m, &s, class, ds->schema.n_inputs, &seen));
    vkt__boxes_warn(path, &seen);
    ds->info.has_labels = true;
    ds->info.source = vkt__arena_printf(&ds->arena, "boxes %s: %u pictures", path, s.n);
fail:
    free(class);
    vkt__survey_finish(&s);
    vkt__marks_finish(&m);
    return st;
}

vkt_status vkt__boxes_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    if (n == 1 && ds->schema.task == VKT_TASK_DETECT && vkt__boxes_are(paths[0]))
        return open_folder(ds, paths[0]);
    return vkt__pictures_open_schema(ds, paths, n);
}

vkt_likeness vkt__boxes_are(const char *path)
{
    for (size_t i = 0; i < VKT_COUNT(forms); i++)
        if (is(&forms[i], path)) return VKT_LIKE_CONTENT;
    return VKT_LIKE_NONE;
}
