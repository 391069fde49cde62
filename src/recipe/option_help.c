/* option_help.h */
#include <stdio.h>

#include "recipe/option_help.h"
#include "tensor/ops/optim/rules.h"

/* The update rules that use something, with commas between them. */
static void rules_using(uint32_t uses, vkt__str *out)
{
    const vkt__rule *r;
    size_t before = out->len;
    for (uint32_t i = 0; (r = vkt__rule_at(i)); i++)
        if (r->uses & uses) vkt__str_printf(out, "%s%s", out->len > before ? ", " : "", r->name);
}

void vkt__rule_help(uint32_t uses, const char *help, char *out, size_t size)
{
    const vkt__rule *r;
    vkt__str s = { 0 };
    if (uses == VKT__DECAY_DECOUPLED) {
        vkt__str_printf(&s, "%s; decoupled with ", help);
        rules_using(uses, &s);
        for (uint32_t i = 0; (r = vkt__rule_at(i)); i++)
            if (r->uses & VKT__DECAY_OWN && !(r->uses & VKT__DECAY_DECOUPLED))
                vkt__str_printf(&s, "; %s: part of the direction", r->name);
    } else {
        rules_using(uses, &s);
        vkt__str_printf(&s, ": %s", help);
    }
    for (uint32_t i = 0; (r = vkt__rule_at(i)); i++) {
        double usual = (double)vkt__rule_usual(r, uses);
        if (usual > 0) vkt__str_printf(&s, " (default with %s: %g)", r->name, usual);
    }
    snprintf(out, size, "%s", s.data);
    vkt__str_finish(&s);
}

void vkt__meaning_help(const char *help, const char *(*word)(int), const char *(*meaning)(int),
                       char *out, size_t size)
{
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%s", help);
    for (int i = 0; word(i); i++)
        vkt__str_printf(&s, "%s%s (%s)", i ? ", " : ": ", word(i), meaning(i));
    snprintf(out, size, "%s", s.data);
    vkt__str_finish(&s);
}
