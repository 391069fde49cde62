/* batch_sync.h. Everything is merged in double and in the order of the ranks, so that all have the
 * same bits. */
#include "gpu/commands.h"
#include "tensor/ops/norm/batch.h"
#include "tensor/ops/ops.h"
#include "train/ranks/batch_sync.h"
#include "shaders/params.h"

/* count, mean and squared deviations of a and b together, in a (Chan et al. 1979) */
static void merge(double a[3], double n, double mean, double squares)
{
    double all = a[0] + n, d = mean - a[1];
    if (n == 0) return;
    a[1] += d * n / all;
    a[2] += squares + d * d * a[0] * n / all;
    a[0] = all;
}

/* means, squares [chunks, C]: every chunk gets the mean of all, and its rows' part of the squares.
 */
static void merge_stats(const vkt_comm *c, const struct batch_norm_params *p, const double *all,
                        float *means, float *squares, const double *rows)
{
    uint64_t n = (uint64_t)p->per_group * p->cols;
    for (uint64_t k = 0; k < p->cols; k++) {
        double sum[3] = { 0 };
        for (uint32_t r = 0; r < c->size; r++) {
            const double *of = all + ((size_t)r * p->cols + k) * 2;
            merge(sum, rows[r], of[0], of[1]);
        }
        for (uint64_t i = k; i < n; i += p->cols) {
            uint64_t begin, end = vkt__batch_chunk_rows(p, i / p->cols, &begin);
            means[i] = (float)sum[1];
            squares[i] = (float)(sum[2] * (double)(end - begin) / sum[0]);
        }
    }
}

/* Gathers a number from each rank into *out, which the caller frees. */
static vkt_status all_rows(vkt_comm *c, double mine, double **out)
{
    *out = vkt__alloc(c->size * sizeof **out);
    return vkt__comm_all_gather(c, &mine, *out, sizeof mine);
}

static vkt_status sync_stats(vkt_comm *c, const vkt_node *n, uint32_t slot)
{
    vkt_status st = VKT_OK;
    struct batch_norm_params p = vkt__batch_params(n, n->in[0], true);
    uint64_t count = n->out[0]->count, bytes = 4 * count;
    float *means = vkt__alloc(2 * bytes), *squares = means + count;
    double *mine = vkt__alloc((size_t)p.cols * 2 * sizeof *mine),
           *all = vkt__alloc((size_t)c->size * p.cols * 2 * sizeof *all), *rows = NULL;
    VKT_TRY(vkt_tensor_read(n->out[0], slot, means, bytes));
    VKT_TRY(vkt_tensor_read(n->out[1], slot, squares, bytes));
    for (uint64_t k = 0; k < p.cols; k++) {
        double sum[3] = { 0 };
        for (uint64_t i = k; i < count; i += p.cols) {
            uint64_t begin, end = vkt__batch_chunk_rows(&p, i / p.cols, &begin);
            merge(sum, (double)(end - begin), (double)means[i], (double)squares[i]);
        }
        mine[2 * k] = sum[1];
        mine[2 * k + 1] = sum[2];
    }
    VKT_TRY(all_rows(c, p.rows, &rows));
    VKT_TRY(vkt__comm_all_gather(c, mine, all, (size_t)p.cols * 2 * sizeof *mine));
    merge_stats(c, &p, all, means, squares, rows);
    VKT_TRY(vkt_tensor_write(n->out[0], slot, means, bytes));
    VKT_TRY(vkt_tensor_write(n->out[1], slot, squares, bytes));
fail:
    free(means);
    free(mine);
    free(all);
    free(rows);
    return st;
}

static vkt_status sync_sums(vkt_comm *c, const vkt_node *n, uint32_t slot)
{
    vkt_status st = VKT_OK;
    struct batch_norm_params p = vkt__batch_params(n, n->in[0]->node->in[1], true);
    uint32_t cols = p.cols;
    float *sums = vkt__alloc(2ull * cols * sizeof *sums);
    double *v = vkt__alloc((2ull * cols + 1) * sizeof *v);
    for (uint32_t i = 0; i < 2; i++)
        VKT_TRY(vkt_tensor_read(n->out[i], slot, sums + i * cols, 4ull * cols));
    for (uint32_t i = 0; i < 2 * cols; i++) v[i] = (double)sums[i];
    v[2 * cols] = p.rows;
    VKT_TRY(vkt__comm_sum_doubles(c, v, 2 * cols + 1));
    for (uint32_t i = 0; i < 2 * cols; i++) sums[i] = (float)(v[i] * p.rows / v[2 * cols]);
    for (uint32_t i = 0; i < 2; i++)
        VKT_TRY(vkt_tensor_write(n->out[i], slot, sums + i * cols, 4ull * cols));
fail:
    free(sums);
    free(v);
    return st;
}

vkt_status vkt__batch_sync(void *user, const vkt_node *n, uint32_t slot)
{
    vkt_comm *c = *(vkt_comm **)user;
    if (!c) return VKT_OK; /* timed before the ranks have met */
    return n->op == &vkt__op_batch_stats ? sync_stats(c, n, slot) : sync_sums(c, n, slot);
}
