/* sample_files.h */
#include <stdio.h>

#include "base/os.h"
#include "runs/sample_files.h"

enum { FILE_LIMIT = 16 << 20 };

void vkt__samples_clean(const char *text, size_t n, vkt__str *out)
{
    const char *end = text + n;
    while (text < end) {
        const char *from = text;
        int32_t c = vkt__utf8_next(&text, end);
        if (c < 0) text++;
        bool shown = c >= 0xA0 || (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\t' || c == '\r';
        if (shown)
            vkt__str_add(out, from, (size_t)(text - from));
        else
            vkt__str_add(out, "\xef\xbf\xbd", 3);
    }
}

/* step-N.txt */
static bool step_of(const char *name, uint64_t *step)
{
    unsigned long long v;
    int n = 0;
    if (sscanf(name, "step-%llu.txt%n", &v, &n) != 1 || !n || name[n]) return false;
    *step = v;
    return true;
}

static int by_step(const void *a, const void *b)
{
    uint64_t x = ((const vkt__samples_file *)a)->step, y = ((const vkt__samples_file *)b)->step;
    return (x > y) - (x < y);
}

vkt_status vkt__samples_list(const char *run_dir, vkt__samples_file **out, size_t *n)
{
    vkt_status st = VKT_OK;
    char **names = NULL, dir[1100];
    size_t n_names = 0;
    *out = NULL;
    *n = 0;
    int len = snprintf(dir, sizeof dir, "%s/samples", run_dir);
    if (len >= (int)sizeof dir || !vkt__is_dir(dir)) return VKT_OK;
    VKT_TRY(vkt__list_dir(dir, &names, &n_names));
    *out = vkt__alloc((n_names + 1) * sizeof **out);
    for (size_t i = 0; i < n_names; i++) {
        vkt__samples_file *f = &(*out)[*n];
        if (!step_of(names[i], &f->step)) continue;
        *n += snprintf(f->path, sizeof f->path, "%s/%s", dir, names[i]) < (int)sizeof f->path;
    }
    if (*n) qsort(*out, *n, sizeof **out, by_step);
fail:
    vkt__names_free(names, n_names);
    return st;
}

char *vkt__samples_read(const vkt__samples_file *f)
{
    char *text = NULL;
    size_t n;
    vkt__str clean = { 0 };
    vkt__log_hold(true);
    vkt_status st = vkt__file_read(f->path, FILE_LIMIT, &text, &n);
    vkt__log_hold(false);
    if (st != VKT_OK) return NULL;
    vkt__str_add(&clean, "", 0);
    vkt__samples_clean(text, n, &clean); /* it may have been changed by hand */
    free(text);
    return clean.data;
}

void vkt__samples_cut(const char *run_dir, uint64_t step)
{
    vkt__samples_file *files;
    size_t n;
    if (vkt__samples_list(run_dir, &files, &n) != VKT_OK) return;
    for (size_t i = 0; i < n; i++)
        if (files[i].step > step) vkt__file_remove(files[i].path);
    free(files);
}

char *vkt_run_sample(const char *run_dir, uint64_t *step)
{
    vkt__samples_file *files;
    size_t n;
    char *text = NULL;
    if (vkt__samples_list(run_dir, &files, &n) != VKT_OK) return NULL;
    if (n) {
        *step = files[n - 1].step;
        text = vkt__samples_read(&files[n - 1]);
    }
    free(files);
    return text;
}
