/* The order of things in a benchmark: item after item, then once more what was slower than the
 * baseline or above a ceiling. Knows nothing of what an item measures. */
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "bench/bench_rows.h"

static void progress(vkt__bencher *b, const char *what)
{
    if (!b->desc->on_progress) return;
    double elapsed = vkt__now() - b->began, left = b->weight_all - b->weight_done;
    /* What was thought, corrected by what it has come to so far: the first items, which compile
     * kernels for all, count little until a tenth is done. */
    double trust = b->weight_all / 10, scale = (elapsed + trust) / (b->weight_done + trust);
    double eta = b->seconds > 0 ? fmin(left * scale, fmax(b->seconds - elapsed, 0)) : left * scale;
    vkt_bench_progress p = { what, b->n_done, b->n_all, elapsed, b->n_done ? eta : NAN };
    b->desc->on_progress(b->desc->user, &p);
}

/* ---- once more, where the baseline was faster ---- */

/* MINUTES: what is thought to take longer is not measured again for a disturbance. */
enum { MOST_IN_VAIN = 4, MINUTES = 100 };

static bool is_slower(const vkt_bench_desc *d, const vkt_bench_row *r)
{
    double speedup, noise;
    return vkt_bench_judge(vkt_bench_find(d->baseline, r->group, r->name), r, d->tolerance,
                           &speedup, &noise) == VKT_BENCH_SLOWER;
}

static vkt_status asked_to_stop(const vkt__bencher *b)
{
    return b->desc->stops && b->desc->stops(b->desc->user) ? VKT_E_INTERRUPTED : VKT_OK;
}

/* If an item fails, its row says so and the benchmark continues, after a lost device on a newly
 * opened one. DEVICE: it can't be opened. */
static vkt_status measure(vkt__bencher *b, const vkt__bench_item *item)
{
    size_t first = b->out->n_rows;
    uint32_t n_told = 0;
    vkt__log_quiet(true);
    vkt__conditions_begin(&b->beside);
    vkt_status st = item->run(b, item);
    char doubt[200];
    if (!b->desc->once && vkt__conditions_end(&b->beside, doubt, sizeof doubt))
        for (size_t i = first; i < b->out->n_rows; i++)
            b->out->rows[i].flag = vkt__arena_strdup(&b->out->priv->arena, doubt);
    char why[400];
    const char *said = vkt__last_failure();
    snprintf(why, sizeof why, "failed: %s", *said ? said : vkt_status_name(st));
    vkt__log_quiet(false);
    if (st == VKT_OK) return VKT_OK;
    for (size_t i = first; i < b->out->n_rows; i++) {
        vkt_bench_row *r = &b->out->rows[i];
        if (isfinite(r->value) || r->refused) continue;
        vkt__bench_refuse(b, r, true, "%s", why);
        n_told++;
    }
    if (!n_told) {
        bool taken = vkt_bench_find(b->out, item->group, item->name);
        const char *name =
            vkt__arena_printf(&b->out->priv->arena, "%s%s", item->name, taken ? ", the rest" : "");
        vkt__bench_refuse(b, vkt__bench_row(b->out, item->group, name, "us", false), true, "%s",
                          why);
    }
    if (!vkt__gpu_lost(b->gpu)) return VKT_OK;
    if (!b->desc->gpu) return VKT_E_DEVICE;
    if (b->reopened) vkt_gpu_destroy(&b->reopened);
    st = vkt_gpu_create(b->desc->gpu, &b->reopened);
    if (st != VKT_OK) return st;
    b->gpu = b->reopened;
    b->caps = vkt_gpu_caps(b->gpu);
    return VKT_OK;
}

/* More than the ceiling and what two measurements of it may differ by. */
static bool is_above(const vkt_bench_row *r)
{
    return !r->refused && r->percent > 105;
}

/* Rows from `first` on repeat earlier ones: the faster of two stays, a wrong result always; of what
 * was above a ceiling the later; where one was disturbed, the other. */
static void merge_rows(vkt_bench *b, size_t first)
{
    size_t n = b->n_rows;
    b->n_rows = first;
    for (size_t i = first; i < n; i++) {
        vkt_bench_row now = b->rows[i],
                      *old = (vkt_bench_row *)(uintptr_t)vkt_bench_find(b, now.group, now.name);
        if (!old)
            b->rows[b->n_rows++] = now;
        else if (now.refused || is_above(old) ||
                 (!now.flag == !old->flag ? vkt_bench_speedup(old, &now) > 1 : !now.flag))
            *old = now;
    }
}

static int by_value(const void *a, const void *b)
{
    const vkt_bench_row *x = a, *y = b;
    if (x->refused || y->refused) return !x->refused - !y->refused; /* a wrong result stays */
    return (x->value > y->value) - (x->value < y->value);
}

/* desc->repeat: the rows from `first` on that the item made are measured so often; of each the
 * median stays, with the extremes in its note. */
static vkt_status repeated(vkt__bencher *b, const vkt__bench_item *item, size_t first)
{
    vkt_status st = VKT_OK;
    size_t each = b->out->n_rows - first, n = 1;
    if (item->group == VKT_BENCH_CEILINGS || !each) return VKT_OK;
    for (; n < b->desc->repeat; n++) {
        progress(b, vkt__arena_printf(&b->out->priv->arena, "%s, %zu of %u", item->name, n + 1,
                                      b->desc->repeat));
        if (asked_to_stop(b) != VKT_OK) break;
        st = measure(b, item);
        if (st != VKT_OK || b->out->n_rows != first + (n + 1) * each)
            break; /* it was left out, or the device is lost: the rows until then count */
    }
    n = (b->out->n_rows - first) / each;
    vkt_bench_row *rows = &b->out->rows[first], *of = vkt__alloc(n * sizeof *of);
    for (size_t k = 0; k < each && n > 1; k++) {
        for (size_t i = 0; i < n; i++) of[i] = rows[i * each + k];
        qsort(of, n, sizeof *of, by_value);
        rows[k] = of[of[0].refused ? 0 : n / 2];
        vkt__bench_note(b->out, &rows[k], "median of %zu measurements, %.4g to %.4g %s", n,
                        of[0].value, of[n - 1].value, rows[k].unit);
    }
    free(of);
    b->out->n_rows = first + each;
    return st;
}

/* Whether an item of that many seconds would end after the benchmark must. */
static bool is_too_late(const vkt__bencher *b, double weight)
{
    return b->seconds > 0 && vkt__now() - b->began + weight > b->seconds;
}

/* The rest of a promised minute decides how long the next item is measured, by the times that the
 * items before took and were thought to take. No item is left out for it. */
static void set_share(vkt__bencher *b)
{
    static const double LEAST = 0.1;
    if (!(b->minute_s > 0)) return;
    double elapsed = vkt__now() - b->began, left = VKT_MAX(b->minute_s - elapsed, 0),
           slower = b->weight_done > 0 ? VKT_MAX(elapsed / b->weight_done, 1) : 1;
    b->share = VKT_MAX(VKT_MIN(left / ((b->weight_all - b->weight_done) * slower), 1), LEAST);
}

/* Whether an item is not measured once more: the time is over, of the benchmark or of the minute,
 * which a baseline may exceed. */
static bool is_too_late_again(const vkt__bencher *b, double weight)
{
    return is_too_late(b, weight) ||
           (b->minute_s > 0 && !b->desc->baseline && vkt__now() - b->began + weight > b->minute_s);
}

/* of[i]: the first of the rows that item i made. */
static vkt_status again(vkt__bencher *b, const vkt__bench_items *list, const size_t *of)
{
    vkt_status st = VKT_OK;
    if (b->desc->baseline) b->share = 1; /* what exceeds the minute is not cut short by its end */
    int in_vain = 0; /* repeats in a row that were disturbed, too: it is no passing moment */
    for (size_t i = 0; i < list->n; i++)
        for (int k = 0; k < 2; k++) {
            bool slower = false, disturbed = false;
            for (size_t r = of[i]; r < of[i + 1]; r++) {
                slower |= (b->desc->baseline && is_slower(b->desc, &b->out->rows[r])) ||
                          is_above(&b->out->rows[r]);
                disturbed |= b->out->rows[r].flag != NULL;
            }
            if (!(slower ||
                  (disturbed && in_vain < MOST_IN_VAIN && list->item[i].weight < MINUTES)) ||
                is_too_late_again(b, list->item[i].weight))
                break;
            size_t n_rows = b->out->n_rows, n_left_out = b->out->n_left_out;
            b->n_copy =
                list->item[i].group == VKT_BENCH_CEILINGS && !strcmp(list->item[i].name, "copy")
                    ? 0
                    : b->n_copy;
            progress(b,
                     vkt__arena_printf(&b->out->priv->arena, "%s once more", list->item[i].name));
            VKT_TRY(measure(b, &list->item[i]));
            bool still = false;
            for (size_t r = n_rows; r < b->out->n_rows; r++) still |= b->out->rows[r].flag != NULL;
            in_vain = still ? in_vain + 1 : 0;
            merge_rows(b->out, n_rows);
            b->out->n_left_out = n_left_out;
            VKT_TRY(asked_to_stop(b));
        }
fail:
    return st;
}

vkt_status vkt__bench_measure(vkt__bencher *b, const vkt__bench_items *list)
{
    size_t *of = vkt__alloc((list->n + 1) * sizeof *of);
    vkt_status st = VKT_OK;
    for (size_t i = 0; i < list->n; i++) b->weight_all += list->item[i].weight;
    b->n_all = (uint32_t)list->n;
    b->began = vkt__now();
    for (size_t i = 0; i < list->n && st == VKT_OK; i++) {
        of[i] = b->out->n_rows;
        if (is_too_late(b, list->item[i].weight)) {
            vkt__bench_left_out(b->out, "%s: no time for it in %.0f s", list->item[i].name,
                                b->seconds);
            b->n_done++;
            continue;
        }
        progress(b, list->item[i].name);
        set_share(b);
        double start = vkt__now();
        st = measure(b, &list->item[i]);
        if (st == VKT_OK && b->desc->repeat > 1) st = repeated(b, &list->item[i], of[i]);
        if (b->desc->on_rows) b->desc->on_rows(b->desc->user, b->out);
        if (st != VKT_OK) break;
        vkt_log(VKT_LOG_DEBUG, "bench", "%s: %.2f s, expected %.2f", list->item[i].name,
                vkt__now() - start, list->item[i].weight);
        b->weight_done += list->item[i].weight;
        b->n_done++;
        st = asked_to_stop(b);
    }
    of[list->n] = b->out->n_rows;
    if (!b->desc->once && st == VKT_OK) st = again(b, list, of);
    for (size_t i = 0; i < b->out->n_rows && !b->desc->once; i++)
        if (is_above(&b->out->rows[i]) && !b->out->rows[i].flag)
            b->out->rows[i].flag = "above 105% of the ceiling, also when measured again: a cache "
                                   "helped, or the ceiling was measured too low";
    progress(b, "done");
    free(of);
    return st;
}
