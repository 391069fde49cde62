/* A test's own folder: empty before it, gone after it. A test defines DIR before the include. */
#ifndef VKT_TESTS_OWN_FOLDER_H
#define VKT_TESTS_OWN_FOLDER_H

#include "testing.h"

#include "base/os.h"

static inline int setup(void **state)
{
    (void)state;
    vkt__remove_tree(DIR);
    return vkt__mkdirs(DIR);
}

static inline int teardown(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

#endif
