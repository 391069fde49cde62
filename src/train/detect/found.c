/* found.h */
#include <math.h>

#include "train/detect/found.h"

enum { CANDIDATES = 2000 }; /* the best, before overlaps are looked at */

typedef struct vkt__cell_score {
    float score;
    uint32_t cell, class;
} vkt__cell_score;

static int best_first(const void *a, const void *b)
{
    const vkt__cell_score *x = a, *y = b;
    if (x->score > y->score) return -1;
    if (x->score < y->score) return 1;
    if (x->cell != y->cell) return x->cell < y->cell ? -1 : 1;
    return (x->class > y->class) - (x->class < y->class);
}

static void box_of(const vkt_dataset_info *info, uint32_t cell, const float *o, double box[4])
{
    double w = info->input_shape[1], h = info->input_shape[0],
           longest = (double)VKT__DETECT_LONGEST;
    vkt__cell at = vkt__cell_at(info->input_shape[1], info->input_shape[0], cell);
    double half_w = exp(fmin(fmax((double)o[2], -longest), longest)) * at.stride / 2,
           half_h = exp(fmin(fmax((double)o[3], -longest), longest)) * at.stride / 2,
           x = at.x + (double)o[0] * at.stride, y = at.y + (double)o[1] * at.stride;
    box[0] = fmin(fmax(x - half_w, 0), w);
    box[1] = fmin(fmax(y - half_h, 0), h);
    box[2] = fmin(fmax(x + half_w, 0), w);
    box[3] = fmin(fmax(y + half_h, 0), h);
}

void vkt__find(vkt__finder *f, const vkt_dataset_info *info, const float *out, float least)
{
    uint32_t n_classes = info->n_outputs, width = VKT__DETECT_BOX + n_classes,
             cells = info->output_shape[0];
    size_t n = 0;
    double logit = log((double)least / (1 - (double)least)) - (double)VKT__DETECT_PRIOR;
    for (uint32_t cell = 0; cell < cells; cell++)
        for (uint32_t c = 0; c < n_classes; c++) {
            double z = (double)out[(size_t)cell * width + VKT__DETECT_BOX + c];
            if (!(z >= logit)) continue;
            if (n == f->cap)
                f->candidate = vkt__grow(f->candidate, n, &f->cap, sizeof *f->candidate);
            double score = 1 / (1 + exp(-(z + (double)VKT__DETECT_PRIOR)));
            f->candidate[n++] = (vkt__cell_score) { (float)score, cell, c };
        }
    if (n) qsort(f->candidate, n, sizeof *f->candidate, best_first);
    if (!f->found) f->found = vkt__alloc(VKT__FOUND_MOST * sizeof *f->found);
    f->n = 0;
    f->full = n > CANDIDATES;
    for (size_t i = 0; i < VKT_MIN(n, CANDIDATES); i++) {
        if (f->n == VKT__FOUND_MOST) {
            f->full = true;
            break;
        }
        const vkt__cell_score *s = &f->candidate[i];
        vkt__found *to = &f->found[f->n];
        bool covered = false;
        *to = (vkt__found) { .score = s->score, .class = s->class };
        box_of(info, s->cell, out + (size_t)s->cell * width, to->box);
        if (!(to->box[2] > to->box[0]) || !(to->box[3] > to->box[1])) continue;
        for (uint32_t k = 0; k < f->n && !covered; k++)
            covered = f->found[k].class == s->class &&
                      vkt__box_iou(f->found[k].box, to->box) > VKT__DETECT_OVERLAP;
        f->n += !covered;
    }
}

void vkt__finder_finish(vkt__finder *f)
{
    free(f->candidate);
    free(f->found);
    *f = (vkt__finder) { 0 };
}
