/* Private to the chat templates: tests. */
#ifndef VKT_DATA_TEMPLATE_TESTS_H
#define VKT_DATA_TEMPLATE_TESTS_H

#include "jinja/template_value.h"

bool vkt__t_test_known(const vkt__ttext *name);
/* v is name(args). */
bool vkt__t_test(vkt__trun *r, const vkt__tvalue *v, const vkt__ttext *name,
                 const vkt__targs *args);

#endif
