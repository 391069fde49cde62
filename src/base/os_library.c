/* Libraries that are opened at run time by their path. */
#include <stddef.h>

#ifndef _WIN32
#include <dlfcn.h>
#endif

#include "base/os.h"

/* dlsym's void * becomes a function as POSIX says that it may. */
typedef union symbol {
    void *data;
    void (*function)(void);
} symbol;

vkt__function vkt__library_function(const char *path, const char *name)
{
    symbol s = { NULL };
#ifdef _WIN32
    (void)path, (void)name; /* vulkan-1.dll is found by its name */
#else
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) s.data = dlsym(library, name);
#endif
    return s.function;
}
