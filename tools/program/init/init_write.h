/* What starter recipes of all kinds share: their beginning, the data, and the sections that say how
 * long a run is. */
#ifndef VKT_TOOLS_INIT_WRITE_H
#define VKT_TOOLS_INIT_WRITE_H

#include "init_data.h"

uint64_t init_clamp(double v, double low, double high);
/* Steps of a run by --quick and --best, of those that it would have. */
double init_steps(const init_data *d, double steps);
/* Text in double quotes for YAML, escaped. */
void init_quoted(FILE *f, const char *s);
void init_write_head(FILE *f, const init_data *d, const char *name);
/* Label, task and what was counted: the end of the section data. */
void init_write_data(FILE *f, const init_data *d);
/* What the sections train, eval and checkpoint need. `passes` go over the training examples, in
 * `least` to `most` steps; patience 0: training takes all of them. */
typedef struct init_length {
    uint64_t batch;
    double passes, least, most;
    unsigned patience;
    double enough;        /* validation examples whose accuracy chooses the checkpoint; 0: 1000 */
    uint64_t evaluations; /* 0: as many as suit the length */
} init_length;
void init_write_run(FILE *f, const init_data *d, const init_length *l);
uint64_t init_batch_for(double n);

#endif
