/* A model-based sampler for the last phase of a search: the tree-structured Parzen estimator. It
 * sees where the trials so far lie and which were better; knows nothing of runs. */
#ifndef VKT_STUDY_TPE_H
#define VKT_STUDY_TPE_H

#include "study/space.h"

/* The next point u [space.n], after n trials at seen [n, space.n] (vkt__space_locate), best first.
 * Densities of the best trials and of the others are estimated by kernels that span all
 * metaparameters, so that what goes together is seen; of candidates drawn from the first the one is
 * taken that is likeliest by their ratio. A function of its arguments.
 * Sources: Bergstra et al. 2011 (NeurIPS), Falkner et al. 2018 (arXiv 1807.01774). */
void vkt__tpe_next(const vkt__space *space, const double *seen, size_t n, uint64_t seed,
                   uint64_t index, double *u);

/* Its kernel on one axis: the density at u in [0, 1], around `at` and of that width; of choices,
 * all that are not at's have some of it. 1 where `at` is NAN: that trial does not have the axis. */
double vkt__tpe_kernel(const vkt__axis *x, double at, double width, double u);

#endif
