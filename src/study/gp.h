/* A model-based sampler for the last phase of a search: a Gaussian process with expected
 * improvement. It sees where the trials so far lie and what they reached; knows nothing of runs. */
#ifndef VKT_STUDY_GP_H
#define VKT_STUDY_GP_H

#include "study/space.h"

/* The next point u [space.n], after n trials at seen [n, space.n] (vkt__space_locate) with the
 * losses loss [n], lower is better: INFINITY is as bad as any, NAN is not known yet and taken for
 * an average one.
 * The process has a Matern kernel (5/2) with a length for each axis; lengths and the share of noise
 * are those of the greatest posterior probability on a grid, under log-normal priors. Losses above
 * the median count by their logarithm, so that diverged trials do not hide differences of good
 * ones. Of candidates over the whole space, then around the best, the one of greatest expected
 * improvement on the least expected loss is taken. It uses at most 256 trials, since time grows
 * with the cube of their number: if more have a loss, half are the best and half an even choice of
 * the others. A function of its arguments. Sources: Jones et al. 1998
 * (doi 10.1023/A:1008306431147); priors that grow with the number of axes: Hvarfner et al. 2024
 * (arXiv 2402.02229). */
void vkt__gp_next(const vkt__space *space, const double *seen, const double *loss, size_t n,
                  uint64_t seed, uint64_t index, double *u);

#endif
