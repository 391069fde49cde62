/* What ui_os_posix.c and ui_os_win32.c both need: the list of a folder, paths, copies. */
#include "ui_os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *ui_os_copy(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

char *ui_os_joined(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path) snprintf(path, n, "%s/%s", folder, name);
    return path;
}

ui_os_entry *ui_os_next(ui_os_entry **list, size_t n)
{
    if (!(n & (n - 1))) {
        ui_os_entry *p = realloc(*list, (n ? 2 * n : 1) * sizeof *p);
        if (!p) return NULL;
        *list = p;
    }
    (*list)[n] = (ui_os_entry) { 0 };
    return *list + n;
}

static int by_name(const void *a, const void *b)
{
    const ui_os_entry *x = a, *y = b;
    if (x->folder != y->folder) return y->folder - x->folder;
    return strcmp(x->name, y->name);
}

void ui_os_sort(ui_os_entry *list, size_t n)
{
    if (n) qsort(list, n, sizeof *list, by_name);
}

void ui_os_list_free(ui_os_entry *list, size_t n)
{
    for (size_t i = 0; i < n; i++) free(list[i].name);
    free(list);
}
