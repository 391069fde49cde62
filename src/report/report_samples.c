/* What a run's language model wrote at its evaluations. */
#include "report/run_view.h"
#include "runs/sample_files.h"

enum { MAX_SHOWN = 8 };

void vkt__run_samples(vkt__page *p, const vkt__run_view *r)
{
    vkt__samples_file *files;
    size_t n;
    if (vkt__samples_list(r->dir, &files, &n) != VKT_OK) return;
    size_t shown = VKT_MIN(n, MAX_SHOWN);
    if (n) vkt__page_heading(p, 2, "Samples over time");
    if (shown < n)
        vkt__page_text(p, "%zu of the %zu evaluations' samples; all of them are in %s/samples.",
                       shown, n, r->dir);
    for (size_t i = 0; i < shown; i++) {
        const vkt__samples_file *f = &files[vkt__run_spread(i, shown, n)];
        char *text = vkt__samples_read(f);
        vkt__page_heading(p, 3, "step %llu", (unsigned long long)f->step);
        vkt__page_quote(p, text ? text : "(can't be read)");
        free(text);
    }
    free(files);
}
