/* The texts that a language model's run wrote, RUN/samples/step-00001200.txt: listed, read, removed
 * past a step. */
#ifndef VKT_RUNS_SAMPLE_FILES_H
#define VKT_RUNS_SAMPLE_FILES_H

#include "base/words.h"
#include "vktrain/runs.h"

/* Appends text as UTF-8 that is safe to show: what is none, and control characters but tab and line
 * ends, become U+FFFD. */
void vkt__samples_clean(const char *text, size_t n, vkt__str *out);

/* Removes the files of steps past `step`. */
void vkt__samples_cut(const char *run_dir, uint64_t step);
/* Files of a run, by step; free with free. None where there is no folder. */
typedef struct vkt__samples_file {
    uint64_t step;
    char path[1152];
} vkt__samples_file;
vkt_status vkt__samples_list(const char *run_dir, vkt__samples_file **out, size_t *n);
/* The text of one; NULL where it is gone or can't be read. Caller frees. */
char *vkt__samples_read(const vkt__samples_file *f);

#endif
