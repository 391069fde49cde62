/* Private to the chat templates: filters, attributes. */
#ifndef VKT_DATA_TEMPLATE_FILTERS_H
#define VKT_DATA_TEMPLATE_FILTERS_H

#include "jinja/template_value.h"

bool vkt__t_filter_known(const vkt__ttext *name);
/* v | name(args); fails for a filter that is not known. */
vkt__tvalue vkt__t_filter(vkt__trun *r, const vkt__tvalue *v, const vkt__ttext *name,
                          const vkt__targs *args);
/* v.name: an entry, what a loop tells, a method, or undefined. Fails for what is undefined itself.
 */
vkt__tvalue vkt__t_attribute(vkt__trun *r, const vkt__tvalue *v, const vkt__ttext *name);
/* v[key]. */
vkt__tvalue vkt__t_subscript(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue *key);

#endif
