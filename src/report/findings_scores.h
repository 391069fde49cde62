/* The findings about what the scores are worth: see findings.h. */
#ifndef VKT_REPORT_FINDINGS_SCORES_H
#define VKT_REPORT_FINDINGS_SCORES_H

#include "report/evidence.h"

/* The scores are those of guesses that look at no input: at their best, or where the run ends. */
bool vkt__find_chance(const vkt__evidence *e, vkt__str *text);
/* All of the validation set is right, and the test loss tells that the network is surer than that
 * can show. */
bool vkt__find_surer_than_right(const vkt__evidence *e, vkt__str *text);
/* The test set is worse than the validation set by more than chance. */
bool vkt__find_test_differs(const vkt__evidence *e, vkt__str *text);
/* No example of some class is right. */
bool vkt__find_never_right(const vkt__evidence *e, vkt__str *text);

#endif
