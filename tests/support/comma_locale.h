/* A locale whose decimal point is a comma, for what must not depend on the host program's. */
#ifndef VKT_TESTS_COMMA_LOCALE_H
#define VKT_TESTS_COMMA_LOCALE_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"

/* Sets LC_NUMERIC to a locale that is installed, else to one that localedef makes in a folder of
 * its own (Debian has the C locale only). False, and says so: there is none. */
static inline bool comma_locale(void)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "German" };
    for (size_t i = 0; i < VKT_COUNT(names); i++)
        if (setlocale(LC_NUMERIC, names[i]) && *localeconv()->decimal_point == ',') return true;
    char folder[64], path[96], out[8];
    snprintf(folder, sizeof folder, "comma_locale_tmp%d", vkt__pid());
    snprintf(path, sizeof path, "%s/de_DE.UTF-8", folder);
    const char *const argv[] = { "localedef", "-i", "de_DE", "-f", "UTF-8", path, NULL };
    bool ok = vkt__mkdirs(folder) == VKT_OK;
    if (ok)
        vkt__run_program(argv, out, sizeof out); /* warns, and then returns 1, on some systems */
    vkt__setenv("LOCPATH", folder);
    ok = ok && setlocale(LC_NUMERIC, "de_DE.UTF-8") && *localeconv()->decimal_point == ',';
    vkt__setenv("LOCPATH", NULL);
    vkt__remove_tree(folder);
    if (!ok) printf("skipped: no locale with a decimal comma, and localedef can't make one\n");
    return ok;
}

#endif
