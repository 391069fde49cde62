/* detections.h */
#include <float.h>
#include <math.h>

#include "train/measures/detections.h"

enum { THRESHOLDS = 10, RECALLS = 101, MOST = 100 };

typedef struct vkt__detection {
    uint64_t picture;
    float score;
    uint32_t class;
    uint16_t hits, order; /* hits: a bit for each threshold; order: in its picture and class */
} vkt__detection;

vkt__detections *vkt__detections_create(uint32_t n_classes)
{
    vkt__detections *d = vkt__alloc(sizeof *d);
    d->n_classes = n_classes;
    d->n_objects = vkt__alloc((n_classes + 1) * sizeof *d->n_objects);
    d->n_shown = vkt__alloc((n_classes + 1) * sizeof *d->n_shown);
    d->n_correct = vkt__alloc((n_classes + 1) * sizeof *d->n_correct);
    return d;
}

void vkt__detections_destroy(vkt__detections **pd)
{
    vkt__detections *d = *pd;
    if (!d) return;
    free(d->n_objects);
    free(d->n_shown);
    free(d->n_correct);
    free(d->item);
    free(d);
    *pd = NULL;
}

double vkt__box_iou(const double a[4], const double b[4])
{
    double w = fmin(a[2], b[2]) - fmax(a[0], b[0]), h = fmin(a[3], b[3]) - fmax(a[1], b[1]);
    if (!(w > 0) || !(h > 0)) return 0;
    double both = w * h;
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both);
}

/* A found box of a class, before it is matched. */
typedef struct candidate {
    const vkt__found *found;
    uint32_t at;
} candidate;

static int by_class_and_score(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->found->class != y->found->class) return x->found->class < y->found->class ? -1 : 1;
    if (x->found->score > y->found->score) return -1;
    if (x->found->score < y->found->score) return 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* As NumPy's linspace has them. */
static double threshold(int t)
{
    return 0.5 + t * ((0.95 - 0.5) / (THRESHOLDS - 1));
}

/* The free object that it overlaps most, of equal ones the last. */
static bool match(const candidate *c, int t, const vkt__object *object, uint32_t n, uint16_t *taken)
{
    double most = threshold(t);
    uint32_t best = n;
    for (uint32_t k = 0; k < n; k++) {
        if (object[k].class != c->found->class || taken[k] >> t & 1) continue;
        double iou = vkt__box_iou(c->found->box, object[k].box);
        if (iou < most) continue;
        most = iou;
        best = k;
    }
    if (best == n) return false;
    taken[best] |= (uint16_t)(1u << t);
    return true;
}

vkt_status vkt__detections_add(vkt__detections *d, uint64_t picture, const vkt__found *found,
                               uint32_t n, const vkt__object *object, uint32_t n_objects)
{
    vkt_status st;
    candidate *c = NULL;
    uint16_t *taken = NULL, order = 0;
    VKT_TRY(vkt__alloc_large(n + 1ull, sizeof *c, "the boxes", &c));
    VKT_TRY(vkt__alloc_large(n_objects + 1ull, sizeof *taken, "the boxes", &taken));
    memset(taken, 0, (n_objects + 1ull) * sizeof *taken);
    for (uint32_t k = 0; k < n_objects; k++) d->n_objects[object[k].class]++;
    for (uint32_t i = 0; i < n; i++) c[i] = (candidate) { &found[i], i };
    qsort(c, n, sizeof *c, by_class_and_score);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t class = c[i].found->class;
        order = i && c[i - 1].found->class == class ? (uint16_t)(order + 1) : 0;
        if (order >= MOST) continue;
        if (d->n == d->cap) d->item = vkt__grow(d->item, d->n, &d->cap, sizeof *d->item);
        vkt__detection *to = &d->item[d->n++];
        *to = (vkt__detection) { picture, c[i].found->score, class, 0, order };
        for (int t = 0; t < THRESHOLDS; t++)
            if (match(&c[i], t, object, n_objects, taken)) to->hits |= (uint16_t)(1u << t);
        bool shown = to->score >= VKT__FOUND_SHOWN;
        d->n_shown[class] += shown;
        d->n_correct[class] += shown && (to->hits & 1);
    }
fail:
    free(c);
    free(taken);
    return st;
}

void vkt__detections_add_alone(vkt__detections *d, uint64_t picture, float score, double alike)
{
    if (d->n == d->cap) d->item = vkt__grow(d->item, d->n, &d->cap, sizeof *d->item);
    vkt__detection *to = &d->item[d->n++];
    *to = (vkt__detection) { .picture = picture, .score = score };
    for (int t = 0; t < THRESHOLDS; t++)
        if (alike >= threshold(t)) to->hits |= (uint16_t)(1u << t);
    d->n_objects[0]++;
}

/* Counts in double, which holds whole numbers below 2^53. */
static vkt_status add_counts(vkt_comm *c, uint64_t *count, uint32_t n)
{
    double *v = vkt__alloc((n + 1) * sizeof *v);
    for (uint32_t i = 0; i < n; i++) v[i] = (double)count[i];
    vkt_status st = n ? vkt__comm_sum_doubles(c, v, n) : VKT_OK;
    for (uint32_t i = 0; i < n; i++) count[i] = (uint64_t)v[i];
    free(v);
    return st;
}

vkt_status vkt__detections_gather(vkt_comm *c, vkt__detections *d)
{
    vkt_status st;
    uint64_t mine = d->n, *n = vkt__alloc(c->size * sizeof *n), most = 0, total = 0, at = 0;
    char *all = NULL;
    VKT_TRY(add_counts(c, d->n_objects, d->n_classes));
    VKT_TRY(add_counts(c, d->n_shown, d->n_classes));
    VKT_TRY(add_counts(c, d->n_correct, d->n_classes));
    VKT_TRY(vkt__comm_all_gather(c, &mine, n, sizeof mine));
    for (uint32_t r = 0; r < c->size; r++) {
        most = VKT_MAX(most, n[r]);
        total += n[r];
    }
    uint64_t bytes = most * sizeof *d->item;
    vkt__detection *own = calloc(most + 1, sizeof *own), *joined = calloc(total + 1, sizeof *own);
    all = bytes < INT32_MAX ? malloc(bytes * c->size + 1) : NULL;
    if (!own || !joined || !all) {
        free(own);
        free(joined);
        st = vkt__fail(VKT_E_OOM_HOST, "train", "no memory for the %llu found boxes of all ranks",
                       (unsigned long long)total);
        goto fail;
    }
    if (d->n) memcpy(own, d->item, d->n * sizeof *own);
    st = vkt__comm_all_gather(c, own, all, bytes);
    for (uint32_t r = 0; r < c->size && st == VKT_OK; at += n[r++])
        if (n[r]) memcpy(joined + at, all + r * bytes, n[r] * sizeof *joined);
    free(own);
    free(d->item);
    d->item = joined;
    d->n = d->cap = total;
fail:
    free(all);
    free(n);
    return st;
}

/* By class, then as all of a class are gone through. */
static int by_rank(const void *a, const void *b)
{
    const vkt__detection *x = a, *y = b;
    if (x->class != y->class) return x->class < y->class ? -1 : 1;
    if (x->score > y->score) return -1;
    if (x->score < y->score) return 1;
    if (x->picture != y->picture) return x->picture < y->picture ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Average precision of n boxes of a class at one threshold; precision: [n], to work in. */
static double average(const vkt__detection *d, size_t n, uint64_t n_objects, int t,
                      double *precision)
{
    double hits = 0, sum = 0;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        hits += d[i].hits >> t & 1;
        precision[i] = hits / ((double)(i + 1) + DBL_EPSILON);
    }
    for (size_t i = n; i-- > 1;) precision[i - 1] = fmax(precision[i - 1], precision[i]);
    hits = 0;
    for (int r = 0; r < RECALLS; r++) {
        while (k < n && (hits + (d[k].hits >> t & 1)) / (double)n_objects < r * 0.01)
            hits += d[k++].hits >> t & 1;
        if (k < n) sum += precision[k];
    }
    return sum / RECALLS;
}

vkt__detection_scores vkt__detections_measure(vkt__detections *d, double *class_ap,
                                              double *class_ap50)
{
    double n = 0, sum = 0, sum50 = 0, *precision = vkt__alloc((d->n + 1) * sizeof *precision);
    if (d->n) qsort(d->item, d->n, sizeof *d->item, by_rank);
    for (size_t c = 0, from = 0, to; c < d->n_classes; c++, from = to) {
        double ap[THRESHOLDS], all = 0;
        for (to = from; to < d->n && d->item[to].class == c;) to++;
        class_ap[c] = class_ap50[c] = NAN;
        if (!d->n_objects[c]) continue;
        for (int t = 0; t < THRESHOLDS; t++) {
            ap[t] =
                to > from ? average(d->item + from, to - from, d->n_objects[c], t, precision) : 0;
            all += ap[t];
        }
        class_ap[c] = all / THRESHOLDS;
        class_ap50[c] = ap[0];
        sum += class_ap[c];
        sum50 += ap[0];
        n++;
    }
    free(precision);
    return n > 0 ? (vkt__detection_scores) { sum / n, sum50 / n }
                 : (vkt__detection_scores) { 0, 0 };
}
