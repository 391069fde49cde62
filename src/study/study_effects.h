/* What a search says about each metaparameter, into the study. */
#ifndef VKT_STUDY_EFFECTS_H
#define VKT_STUDY_EFFECTS_H

#include "study/space.h"
#include "study/study_run.h"

/* Fills s->effects, one an axis, and says what they show. order [n]: trials, best first. */
void vkt__study_effects(vkt_study *s, const vkt__space *space, const size_t *order, size_t n);

#endif
