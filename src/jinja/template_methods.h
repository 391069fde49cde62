/* Private to the chat templates: methods of texts, lists and dicts, and arguments of calls. */
#ifndef VKT_DATA_TEMPLATE_METHODS_H
#define VKT_DATA_TEMPLATE_METHODS_H

#include "jinja/template_value.h"

/* Arguments in the order of `names` [n]: out[i] is NULL where one is not given. Fails for one too
 * many, or of another name. */
bool vkt__t_take_args(vkt__trun *r, const vkt__targs *args, const char *what,
                      const char *const *names, size_t n, const vkt__tvalue **out);
bool vkt__t_has_method(const vkt__tvalue *self, const vkt__ttext *name);
/* self.name(args); fails where there is no such method. */
vkt__tvalue vkt__t_method(vkt__trun *r, const vkt__tvalue *self, const vkt__ttext *name,
                          const vkt__targs *args);
/* The same of a method called `name`, with n arguments. */
vkt__tvalue vkt__t_call_method(vkt__trun *r, const vkt__tvalue *self, const char *name,
                               const vkt__tvalue *value, size_t n);

#endif
