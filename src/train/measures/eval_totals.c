/* eval_totals.h. Everything is added in the order of the ranks, so that all have the same bits. */
#include "train/measures/detections.h"
#include "train/measures/eval_totals.h"

/* Means and squared deviations merged: Chan et al. 1979. */
static vkt_status merge_target(vkt_comm *c, uint64_t examples, vkt__error_sums *s)
{
    typedef struct part {
        double n, mean, square;
    } part;
    part mine = { (double)examples, s->target_mean, s->target_square }, all = { 0 },
         *parts = vkt__alloc(c->size * sizeof *parts);
    vkt_status st = vkt__comm_all_gather(c, &mine, parts, sizeof mine);
    for (uint32_t r = 0; r < c->size && st == VKT_OK; r++) {
        double n = all.n + parts[r].n, d = parts[r].mean - all.mean;
        if (parts[r].n == 0) continue;
        all.mean += d * parts[r].n / n;
        all.square += parts[r].square + d * d * all.n * parts[r].n / n;
        all.n = n;
    }
    free(parts);
    s->target_mean = all.mean;
    s->target_square = all.square;
    return st;
}

/* Counts in double, which holds whole numbers below 2^53. */
static vkt_status add_counts(vkt_comm *c, uint64_t *count, size_t n)
{
    vkt_status st = VKT_OK;
    enum { PIECE = 1 << 16 };
    double *v = vkt__alloc(VKT_MIN(n + 1, (size_t)PIECE) * sizeof *v);
    for (size_t at = 0; at < n && st == VKT_OK; at += PIECE) {
        uint32_t k = (uint32_t)VKT_MIN(n - at, (size_t)PIECE);
        for (uint32_t i = 0; i < k; i++) v[i] = (double)count[at + i];
        st = vkt__comm_sum_doubles(c, v, k);
        for (uint32_t i = 0; i < k; i++) count[at + i] = (uint64_t)v[i];
    }
    free(v);
    return st;
}

static vkt_status add_bins(vkt_comm *c, vkt__reliability *s)
{
    double v[3 * VKT__BINS];
    for (uint32_t k = 0; k < VKT__BINS; k++) {
        v[3 * k] = (double)s->bin[k].n;
        v[3 * k + 1] = (double)s->bin[k].correct;
        v[3 * k + 2] = s->bin[k].confidence;
    }
    vkt_status st = vkt__comm_sum_doubles(c, v, VKT_COUNT(v));
    for (uint32_t k = 0; k < VKT__BINS && st == VKT_OK; k++) {
        s->bin[k].n = (uint64_t)v[3 * k];
        s->bin[k].correct = (uint64_t)v[3 * k + 1];
        s->bin[k].confidence = v[3 * k + 2];
    }
    return st;
}

/* All ranks' scores, one rank's after the other's. They come in parts of as many as the rank with
 * most has, so that one gather serves all. */
static vkt_status gather_scores(vkt_comm *c, vkt__ranks *r)
{
    vkt_status st = VKT_OK;
    vkt__ranks all = { 0 };
    uint64_t *n = vkt__alloc(c->size * sizeof *n), most = 0, total = 0;
    char *mine = NULL, *parts = NULL;
    VKT_TRY(vkt__comm_all_gather(c, &r->n, n, sizeof r->n));
    for (uint32_t k = 0; k < c->size; k++) {
        most = VKT_MAX(most, n[k]);
        total += n[k];
    }
    size_t target_bytes = (r->several ? r->n_classes : 1) * sizeof *r->target;
    uint64_t scores = most * r->n_scores * sizeof *r->score, bytes = scores + most * target_bytes;
    mine = calloc(1, bytes + 1);
    parts = bytes < INT32_MAX ? malloc(bytes * c->size + 1) : NULL;
    if (!mine || !parts) {
        st = vkt__fail(VKT_E_OOM_HOST, "train", "no memory for the %llu scores of all ranks",
                       (unsigned long long)(total * r->n_scores));
        goto fail;
    }
    memcpy(mine, r->score, r->n * r->n_scores * sizeof *r->score);
    memcpy(mine + scores, r->target, r->n * target_bytes);
    VKT_TRY(vkt__comm_all_gather(c, mine, parts, bytes));
    VKT_TRY(vkt__ranks_create(total, r->n_classes, r->several, &all));
    for (uint32_t k = 0; k < c->size; k++) {
        const char *part = parts + k * bytes;
        memcpy(all.score + all.n * all.n_scores, part, n[k] * all.n_scores * sizeof *all.score);
        memcpy((char *)all.target + all.n * target_bytes, part + scores, n[k] * target_bytes);
        all.n += n[k];
    }
    vkt__ranks_finish(r);
    *r = all;
fail:
    free(mine);
    free(parts);
    free(n);
    return st;
}

vkt_status vkt__eval_total(vkt_comm *c, vkt__eval_sums *s, vkt__ranks *scores)
{
    vkt_status st = VKT_OK;
    double v[] = { (double)s->n,
                   (double)s->correct,
                   (double)s->n_bytes,
                   s->loss,
                   (double)s->among5,
                   s->chosen,
                   s->rejected,
                   s->psnr,
                   s->ssim };
    for (uint32_t k = 0; k < s->n_targets; k++) {
        double errors[] = { s->error[k].absolute, s->error[k].square };
        VKT_TRY(merge_target(c, s->n, &s->error[k]));
        VKT_TRY(vkt__comm_sum_doubles(c, errors, VKT_COUNT(errors)));
        s->error[k].absolute = errors[0];
        s->error[k].square = errors[1];
    }
    VKT_TRY(vkt__comm_sum_doubles(c, v, VKT_COUNT(v)));
    if (s->n_terms) VKT_TRY(vkt__comm_sum_doubles(c, s->term, s->n_terms));
    s->n = (uint64_t)v[0];
    s->correct = (uint64_t)v[1];
    s->n_bytes = (uint64_t)v[2];
    s->loss = v[3];
    s->among5 = (uint64_t)v[4];
    s->chosen = v[5];
    s->rejected = v[6];
    s->psnr = v[7];
    s->ssim = v[8];
    VKT_TRY(add_counts(c, s->class_count, s->n_classes));
    VKT_TRY(add_counts(c, s->class_correct, s->n_classes));
    VKT_TRY(add_counts(c, s->class_predicted, s->n_classes));
    if (s->right) VKT_TRY(add_counts(c, s->right, s->n_targets));
    if (s->n_classes) VKT_TRY(add_bins(c, &s->raw));
    if (s->n_classes) VKT_TRY(add_bins(c, &s->calibrated));
    if (s->confusion) VKT_TRY(add_counts(c, s->confusion, (size_t)s->n_classes * s->n_classes));
    if (scores->cap) VKT_TRY(gather_scores(c, scores));
    if (s->boxes) VKT_TRY(vkt__detections_gather(c, s->boxes));
    if (s->points) VKT_TRY(vkt__comm_sum_doubles(c, s->class_error, s->n_classes));
fail:
    return st;
}
