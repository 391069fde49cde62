/* The plot of a learning curve by the number of training examples. */
#include <math.h>

#include "base/number.h"
#include "report/study_view.h"

static double cell(const vkt__study_view *s, size_t row, size_t column)
{
    const char *v = json_string_value(
        json_array_get(json_array_get(json_object_get(s->json, "rows"), row), column));
    return v ? vkt__number_or_nan(v) : NAN;
}

/* Each run a dot, a line through the means of the sizes: the table's first and third column. */
void vkt__study_data_plot(vkt__page *p, const vkt__study_view *s)
{
    enum { EXAMPLES, SHARE, MEAN };
    size_t n_rows = json_array_size(json_object_get(s->json, "rows")), n = 0, m = 0;
    if (strcmp(vkt__study_string(s->json, "kind"), "data") != 0 || !n_rows) return;
    double *x = vkt__alloc((s->n + 1) * sizeof *x), *y = vkt__alloc((s->n + 1) * sizeof *y),
           *at = vkt__alloc((n_rows + 1) * sizeof *at),
           *mean = vkt__alloc((n_rows + 1) * sizeof *mean), all = cell(s, n_rows - 1, EXAMPLES);
    const char **label = vkt__alloc((s->n + 1) * sizeof *label);
    for (size_t i = 0; i < s->n; i++) {
        const char *share = vkt__trial_value(&s->t[i], "data.train_fraction");
        if (!share || isnan(s->t[i].best)) continue;
        label[n] = s->t[i].label;
        x[n] = vkt__number_or_nan(share) * all;
        y[n++] = s->t[i].best;
    }
    for (size_t i = 0; i < n_rows; i++) {
        at[m] = cell(s, i, EXAMPLES);
        mean[m] = cell(s, i, MEAN);
        m += !isnan(mean[m]);
    }
    vkt__plot plot = { .title = "Learning curve by the size of the data",
                       .x_label = "training examples",
                       .y_label = vkt__study_string(s->json, "metric"),
                       .log_x = true };
    vkt__plot_add(&plot, &(vkt__series) { "mean", VKT__LINE, m, at, mean, .color = 0 });
    vkt__plot_add(&plot,
                  &(vkt__series) { "each run", VKT__DOTS, n, x, y, .color = 0, .label = label });
    vkt__page_plot(p, &plot, "data");
    free((void *)label);
    free(x);
    free(y);
    free(at);
    free(mean);
}
