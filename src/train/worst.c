/* worst.h */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "data/glance.h"
#include "data/pictures/picture_ops.h"
#include "formats/png.h"
#include "train/points/peaks.h"
#include "train/worst.h"

enum {
    MOST_ERRORS = 24,
    MOST_JUDGED = 500000, /* of 80 bytes */
    MOST_DOUBTS = 10000,
    MOST_CELLS = 32,
    SIDE = 64 /* pixels of a picture */
};

typedef struct mistake {
    uint64_t index;
    double loss;
    double *number; /* [2, n_outputs]: predictions, then what is right; of points [2, n_outputs, 2]
                       places, NAN where none is; NULL: of classes */
    vkt__judged class;
} mistake;

struct vkt__worst {
    const vkt__session *s;
    vkt_split split;
    vkt_maybe ignore;
    mistake *errors; /* [n_errors] falling */
    size_t n_errors;
    vkt__judged *judged; /* [n_judged] of classes */
    size_t n_judged, most_judged;
};

vkt_status vkt__worst_create(const vkt__session *s, vkt_split split, vkt__worst **out)
{
    vkt_status st = VKT_OK;
    vkt__worst *w = NULL;
    const vkt_dataset_info *info = s->info;
    *out = NULL;
    if (info->kind == VKT_DATA_KIND_TEXT || info->task == VKT_TASK_DETECT || !info->has_labels)
        return VKT_OK;
    w = vkt__alloc(sizeof *w);
    *w = (vkt__worst) { .s = s, .split = split, .ignore = vkt__session_ignore(s) };
    w->errors = vkt__alloc((MOST_ERRORS + 1) * sizeof *w->errors);
    if (info->task == VKT_TASK_CLASSIFY && info->n_outputs > 1) {
        w->most_judged = VKT_MIN(info->n[split], (uint64_t)MOST_JUDGED);
        VKT_TRY(
            vkt__alloc_large(w->most_judged + 1, sizeof *w->judged, "judged examples", &w->judged));
    }
    *out = w;
    w = NULL;
fail:
    vkt__worst_destroy(&w);
    return st;
}

void vkt__worst_destroy(vkt__worst **pw)
{
    vkt__worst *w = *pw;
    if (!w) return;
    for (size_t i = 0; i < w->n_errors; i++) free(w->errors[i].number);
    free(w->errors);
    free(w->judged);
    free(w);
    *pw = NULL;
}

/* Where it belongs among the worst; NULL: it does not. */
static mistake *place(vkt__worst *w, uint64_t index, double loss)
{
    size_t at = w->n_errors;
    if (!(loss > 0) || (at == MOST_ERRORS && !(loss > w->errors[at - 1].loss))) return NULL;
    if (at == MOST_ERRORS) free(w->errors[--at].number);
    w->n_errors = at + 1;
    for (; at > 0 && loss > w->errors[at - 1].loss; at--) w->errors[at] = w->errors[at - 1];
    w->errors[at] = (mistake) { .index = index, .loss = loss };
    return &w->errors[at];
}

static void take_class(vkt__worst *w, uint64_t index, const float *out, uint32_t label)
{
    vkt__judged e;
    if (label >= w->s->info->n_outputs || (w->ignore.given && label == w->ignore.n)) return;
    vkt__judged_set(&e, index, label, out, w->s->info->n_outputs);
    if (w->n_judged < w->most_judged) w->judged[w->n_judged++] = e;
    if (e.top[0].class == label) return;
    mistake *m = place(w, index, -log(fmax((double)e.p_label, 1e-38)));
    if (m) m->class = e;
}

/* By the share of its pixels that are wrong, of those that count. */
static void take_mask(vkt__worst *w, uint64_t index, const float *out, const vkt_label *y)
{
    uint32_t n = w->s->info->n_outputs;
    double wrong = 0, counted = 0;
    for (uint32_t t = 0; t < w->s->info->n_targets; t++, out += n) {
        uint32_t top = 0;
        if (y[t].u >= n || (w->ignore.given && y[t].u == w->ignore.n)) continue;
        for (uint32_t k = 1; k < n; k++)
            if (out[k] > out[top]) top = k;
        wrong += top != y[t].u;
        counted++;
    }
    if (counted > 0) place(w, index, wrong / counted);
}

/* By its mean squared error. */
static void take_picture(vkt__worst *w, uint64_t index, const float *out, const vkt_label *y)
{
    double sum = 0;
    uint32_t n = w->s->info->n_labels;
    for (uint32_t k = 0; k < n; k++)
        sum += ((double)out[k] - (double)y[k].f) * ((double)out[k] - (double)y[k].f);
    place(w, index, sum / n);
}

/* By the share of the pixels on which mask and picture differ in being on an instance. */
static void take_instances(vkt__worst *w, uint64_t index, const float *out, const vkt_label *y)
{
    uint32_t n = w->s->info->n_labels;
    double wrong = 0;
    for (uint32_t k = 0; k < n; k += VKT__INSTANCE_NUMBERS) wrong += (out[k] > 0) != (y[k].f > 0);
    place(w, index, wrong * VKT__INSTANCE_NUMBERS / n);
}

/* By the mean distance of its points, in longer sides. */
static void take_points(vkt__worst *w, uint64_t index, const float *out, const vkt_label *y)
{
    const vkt_dataset_info *info = w->s->info;
    uint32_t n = info->n_outputs;
    vkt_shape heat = vkt__session_heat(info);
    double sum = 0, there = 0, side = (double)y[(size_t)n * VKT__POINT_NUMBERS].f,
           *at = vkt__alloc(4 * (size_t)n * sizeof *at);
    vkt__point *found = vkt__alloc(n * sizeof *found);
    vkt__peaks(out, heat.d[0], heat.d[1], n, vkt__session_stride(info), found);
    for (uint32_t k = 0; k < n; k++, y += VKT__POINT_NUMBERS) {
        bool is = y[2].f > 0;
        at[2 * k] = found[k].x;
        at[2 * k + 1] = found[k].y;
        at[2 * (n + k)] = is ? (double)y[0].f : NAN;
        at[2 * (n + k) + 1] = is ? (double)y[1].f : NAN;
        if (!is) continue;
        sum += hypot(found[k].x - (double)y[0].f, found[k].y - (double)y[1].f);
        there++;
    }
    mistake *m = there > 0 && side > 0 ? place(w, index, sum / there / side) : NULL;
    if (m)
        m->number = at;
    else
        free(at);
    free(found);
}

void vkt__worst_take(void *user, uint64_t index, const float *out, const vkt_label *y,
                     const double *number)
{
    vkt__worst *w = user;
    const vkt_dataset_info *info = w->s->info;
    uint32_t n = info->n_outputs;
    double loss = 0;
    bool wrong = number != NULL;
    if (info->task == VKT_TASK_CLASSIFY) {
        take_class(w, index, out, y->u);
        return;
    }
    if (info->task == VKT_TASK_SEGMENT || info->task == VKT_TASK_PICTURE) {
        (info->task == VKT_TASK_SEGMENT ? take_mask : take_picture)(w, index, out, y);
        return;
    }
    if (info->task == VKT_TASK_INSTANCES) {
        take_instances(w, index, out, y);
        return;
    }
    if (info->task == VKT_TASK_POINTS) {
        take_points(w, index, out, y);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (number) {
            double by = vkt__target_apart(&w->s->data->schema.targets[k], number[k], number[n + k]);
            loss += by * by;
            continue;
        }
        bool is = y[k].f > 0, said = out[k] >= 0.5f;
        wrong |= is != said;
        loss -= log(fmax(is ? (double)out[k] : 1 - (double)out[k], 1e-38));
    }
    mistake *m = wrong ? place(w, index, loss) : NULL;
    if (!m) return;
    m->number = vkt__alloc(2 * (size_t)n * sizeof *m->number);
    for (uint32_t k = 0; k < 2 * n; k++)
        m->number[k] = number ? number[k] : k < n ? (double)out[k] : (double)y[k - n].f;
}

/* ---- the files ---- */

typedef struct list {
    vkt__worst *w;
    const char *run_dir, *split;
    vkt_tokenizer *tokenizer;
    vkt__arena a;
    vkt__str csv;
    size_t n_rows;
} list;

/* Numbers, or the labels whose value is at least one half, with | between them. */
static const char *text_of(list *l, const double *v)
{
    const vkt_dataset_info *info = l->w->s->info;
    vkt__str s = { 0 };
    for (uint32_t k = 0; k < info->n_outputs; k++) {
        bool numbers = info->task == VKT_TASK_REGRESS;
        const vkt_output_of *of = info->outputs ? &info->outputs[k] : NULL;
        if (of && of->value) {
            uint32_t top = 0;
            for (uint32_t i = 1; i < of->n_classes; i++)
                if (v[k + i] > v[k + top]) top = i;
            if (of->n_classes) vkt__str_printf(&s, "%s%s", k ? " | " : "", of[top].value);
        } else if (numbers)
            vkt__str_printf(&s, "%s%.7g", k ? " | " : "", v[k]);
        else if (v[k] >= 0.5)
            vkt__str_printf(&s, "%s%s", s.len ? "|" : "", info->class_names[k]);
    }
    const char *text = vkt__arena_strdup(&l->a, s.data ? s.data : "");
    vkt__str_finish(&s);
    return text;
}

static const char *name_of(const list *l, uint32_t class)
{
    return l->w->s->info->class_names[class];
}

/* How wrong a target that is a picture was met; NULL: it is none. */
static const char *picture_text(list *l, double loss)
{
    vkt_task task = l->w->s->info->task;
    return task == VKT_TASK_SEGMENT
               ? vkt__arena_printf(&l->a, "%.1f%% of its pixels are wrong", 100 * loss)
           : task == VKT_TASK_INSTANCES
               ? vkt__arena_printf(&l->a, "%.1f%% of its pixels are wrongly on or off an instance",
                                   100 * loss)
           : task == VKT_TASK_POINTS
               ? vkt__arena_printf(&l->a, "points are off by %.1f%% of the longer side", 100 * loss)
           : task == VKT_TASK_PICTURE ? vkt__arena_printf(&l->a, "PSNR %.1f dB", -10 * log10(loss))
                                      : NULL;
}

/* A cross where each point was found, and a light line to it from where it is. */
static vkt_status draw_points(const vkt_dataset_info *info, const double *at, vkt__thumbnail *t)
{
    vkt_status st;
    uint8_t *rgb = NULL;
    size_t n = (size_t)t->w * t->h;
    double scale = (double)t->w / info->input_shape[1];
    VKT_TRY(vkt__alloc_large(n, 3, "a picture", &rgb));
    for (size_t i = 0; i < 3 * n; i++) rgb[i] = t->pixels[t->channels == 3 ? i : i / 3];
    for (uint32_t k = 0; k < info->n_outputs; k++) {
        const double *found = at + 2 * (size_t)k, *is = found + 2 * (size_t)info->n_outputs;
        double x = found[0] * scale, y = found[1] * scale;
        vkt__mark_cross(rgb, t->w, t->h, x, y, 1, k);
        for (double s = 0; !isnan(is[0]) && s <= 1; s += 1.0 / (2 * SIDE)) {
            double px = is[0] * scale + s * (x - is[0] * scale),
                   py = is[1] * scale + s * (y - is[1] * scale);
            if (px >= 0 && py >= 0 && px < t->w && py < t->h)
                memset(rgb + ((size_t)py * t->w + (size_t)px) * 3, 255, 3);
        }
    }
    free(t->pixels);
    t->pixels = rgb;
    t->channels = 3;
fail:
    return st;
}

/* RUN/SPLIT-errors/example-17.png; of points `at` their places. *name "": the data has no pictures.
 */
static vkt_status draw(list *l, uint64_t index, const double *at, const char **name)
{
    vkt_status st = VKT_OK;
    vkt__thumbnail t = { 0 };
    *name = "";
    VKT_TRY(vkt__example_thumbnail(l->w->s->data, l->w->split, index, SIDE, &t));
    if (!t.pixels) goto fail;
    if (at) VKT_TRY(draw_points(l->w->s->info, at, &t));
    *name =
        vkt__arena_printf(&l->a, "%s-errors/example-%llu.png", l->split, (unsigned long long)index);
    VKT_TRY(vkt__mkdirs(vkt__arena_printf(&l->a, "%s/%s-errors", l->run_dir, l->split)));
    VKT_TRY(vkt__png_write(vkt__arena_printf(&l->a, "%s/%s", l->run_dir, *name), t.w, t.h,
                           t.channels, t.pixels));
fail:
    free(t.pixels);
    return st;
}

/* p NULL: there is none; at: of points, see draw. */
static vkt_status add(list *l, uint64_t index, const char *target, const char *predicted,
                      const float p[2], const double *at)
{
    vkt_status st = VKT_OK;
    vkt__seen_cell cells[MOST_CELLS];
    const vkt_dataset *data = l->w->s->data;
    size_t n = vkt__example_cells(data, l->w->split, index, l->tokenizer, &l->a, MOST_CELLS, cells);
    vkt__str *s = &l->csv;
    const char *picture = "";
    if (l->n_rows < MOST_ERRORS) VKT_TRY(draw(l, index, at, &picture));
    if (!l->n_rows++)
        for (size_t i = 0; i < n; i++) {
            vkt__str_add(s, ",", 1);
            vkt__str_csv(s, cells[i].name);
        }
    vkt__str_printf(s, "\n%llu,", (unsigned long long)index);
    vkt__str_csv(s, vkt__example_where(data, l->w->split, index, &l->a));
    vkt__str_add(s, ",", 1);
    vkt__str_csv(s, target);
    vkt__str_add(s, ",", 1);
    vkt__str_csv(s, predicted);
    for (int k = 0; k < 2; k++)
        if (p)
            vkt__str_printf(s, ",%.4g", (double)p[k]);
        else
            vkt__str_add(s, ",", 1);
    vkt__str_printf(s, ",%s", picture);
    for (size_t i = 0; i < n; i++) {
        vkt__str_add(s, ",", 1);
        vkt__str_csv(s, cells[i].value);
    }
fail:
    return st;
}

static void begin(list *l)
{
    l->n_rows = 0;
    vkt__str_finish(&l->csv);
    vkt__str_printf(&l->csv, "index,where,target,predicted,p(predicted),p(target),picture");
}

static vkt_status end(list *l, const char *name)
{
    vkt__str_add(&l->csv, "\n", 1);
    return vkt__file_replace(vkt__arena_printf(&l->a, "%s/%s-%s.csv", l->run_dir, l->split, name),
                             l->csv.data, l->csv.len);
}

static vkt_status write_errors(list *l)
{
    vkt_status st = VKT_OK;
    const vkt__worst *w = l->w;
    uint32_t n = w->s->info->n_outputs;
    begin(l);
    for (size_t i = 0; i < w->n_errors; i++) {
        const mistake *m = &w->errors[i];
        const char *dense = picture_text(l, m->loss);
        const float p[2] = { m->class.top[0].p, m->class.p_label };
        VKT_TRY(dense ? add(l, m->index, "", dense, NULL, m->number)
                : m->number
                    ? add(l, m->index, text_of(l, m->number + n), text_of(l, m->number), NULL, NULL)
                    : add(l, m->index, name_of(l, m->class.label),
                          name_of(l, m->class.top[0].class), p, NULL));
    }
    VKT_TRY(end(l, "errors"));
fail:
    return st;
}

static vkt_status write_doubts(list *l, const vkt__doubts *d)
{
    vkt_status st = VKT_OK;
    begin(l);
    for (size_t i = 0; i < VKT_MIN(d->n, (size_t)MOST_DOUBTS); i++) {
        const vkt__judged *e = &l->w->judged[d->doubt[i].at];
        const float p[2] = { d->doubt[i].p, e->p_label };
        VKT_TRY(add(l, e->index, name_of(l, e->label), name_of(l, d->doubt[i].likely), p, NULL));
    }
    VKT_TRY(end(l, "doubtful"));
fail:
    return st;
}

vkt_status vkt__worst_write(vkt__worst *w, const char *run_dir, vkt__doubts *doubts)
{
    vkt_status st = VKT_OK;
    list l = { .w = w, .run_dir = run_dir, .split = vkt_split_name(w->split) };
    *doubts = (vkt__doubts) { 0 };
    VKT_TRY(vkt__example_tokenizer(w->s->data, &l.tokenizer));
    VKT_TRY(write_errors(&l));
    if (w->judged) {
        VKT_TRY(vkt__label_doubts(w->judged, w->n_judged, w->s->info->n_outputs, doubts));
        VKT_TRY(write_doubts(&l, doubts));
    }
fail:
    vkt_tokenizer_destroy(&l.tokenizer);
    vkt__str_finish(&l.csv);
    vkt__arena_finish(&l.a);
    return st;
}
