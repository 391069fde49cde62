/* Writes how classes are ranked, and how reliable the probabilities are, as CSV for plots. */
#include "base/os.h"
#include "train/measures/classes.h"
#include "train/measures/ranks.h"

static vkt_status write_ranking(const vkt__eval_sums *e, const char *const *names, const char *path)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s,
                    "class,positives,examples,threshold,recall,false_positive_rate,precision\n");
    for (size_t i = 0; i < e->n_points; i++) {
        const vkt__rank_point *p = &e->point[i];
        vkt__str_csv(&s, names[p->class]);
        vkt__str_printf(&s, ",%llu,%llu,%.9g,%.9g,%.9g,%.9g\n",
                        (unsigned long long)e->class_count[p->class], (unsigned long long)e->n,
                        (double)p->threshold, p->recall, p->false_positive_rate, p->precision);
    }
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&s);
    return st;
}

/* Empty cells: no example lies in the bin. */
static void add_bin(vkt__str *s, const vkt__reliability *r, uint32_t k)
{
    double n = (double)r->bin[k].n;
    vkt__str_printf(s, ",%.0f", n);
    if (n > 0)
        vkt__str_printf(s, ",%.9g,%.9g", r->bin[k].confidence / n, (double)r->bin[k].correct / n);
    else
        vkt__str_printf(s, ",,");
}

static vkt_status write_reliability(const vkt__eval_sums *e, bool calibrated, const char *path)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "from,to,examples,confidence,accuracy%s\n",
                    calibrated ? ",calibrated_examples,calibrated_confidence,calibrated_accuracy"
                               : "");
    for (uint32_t k = 0; k < VKT__BINS; k++) {
        vkt__str_printf(&s, "%.9g,%.9g", (double)k / VKT__BINS, (double)(k + 1) / VKT__BINS);
        add_bin(&s, &e->raw, k);
        if (calibrated) add_bin(&s, &e->calibrated, k);
        vkt__str_printf(&s, "\n");
    }
    vkt_status st = vkt__file_replace(path, s.data, s.len);
    vkt__str_finish(&s);
    return st;
}

static uint64_t counted(const vkt__reliability *r)
{
    uint64_t n = 0;
    for (uint32_t k = 0; k < VKT__BINS; k++) n += r->bin[k].n;
    return n;
}

vkt_status vkt__curves_write(const vkt__eval_sums *e, const char *const *names, const char *path)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    if (e->n_points)
        VKT_TRY(write_ranking(e, names, vkt__arena_printf(&a, "%s-ranking.csv", path)));
    if (counted(&e->raw))
        VKT_TRY(write_reliability(e, counted(&e->calibrated) > 0,
                                  vkt__arena_printf(&a, "%s-reliability.csv", path)));
fail:
    vkt__arena_finish(&a);
    return st;
}
