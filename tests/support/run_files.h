/* A test's own folder of a run's files: empty before it, gone after it; log lines are kept to be
 * asserted on. A test defines DIR before the include. */
#ifndef VKT_TESTS_RUN_FILES_H
#define VKT_TESTS_RUN_FILES_H

#include "testing.h"

#include "base/os.h"

static inline int begin(void **state)
{
    (void)state;
    TEST_LOG_CAPTURE();
    return vkt__remove_tree(DIR) || vkt__mkdirs(DIR);
}

static inline int end(void **state)
{
    (void)state;
    return vkt__remove_tree(DIR);
}

static inline char *read_all(const char *path, size_t *n)
{
    char *data;
    REQUIRE_OK(vkt__file_read(path, 1 << 30, &data, n));
    return data;
}

#endif
