/* What every test file includes: cmocka, and comparisons that print what they saw. */
#ifndef VKT_TESTS_TESTING_H
#define VKT_TESTS_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* |a - b| <= limit; NaN never passes. Prints both values, the limit and the share of it used. */
#define REQUIRE_NEAR(a, b, limit)                                                                  \
    require_near((double)(a), (double)(b), (double)(limit), #a, __FILE__, __LINE__)
static inline void require_near(double a, double b, double limit, const char *what,
                                const char *file, int line)
{
    double err = fabs(a - b);
    if (err <= limit) return;
    print_error("%s: %.9g against %.9g: off by %.3g, limit %.3g (%.0f%% used)\n", what, a, b, err,
                limit, 100.0 * err / limit);
    _fail(file, line);
}

#define REQUIRE_OK(expr) require_status((expr), 0, #expr, __FILE__, __LINE__)
#define REQUIRE_STATUS(expr, status) require_status((expr), (status), #expr, __FILE__, __LINE__)
static inline void require_status(int got, int want, const char *what, const char *file, int line)
{
    if (got == want) return;
    print_error("%s: status %d, expected %d\n", what, got, want);
    _fail(file, line);
}

/* Collects log lines, so that a test can assert on what the user would read. */
static char test_log[65536];
static inline void test_log_sink(void *user, int level, const char *area, const char *line)
{
    (void)user, (void)level, (void)area;
    size_t n = strlen(test_log);
    snprintf(test_log + n, sizeof test_log - n, "%s\n", line);
}
#define TEST_LOG_CAPTURE()                                                                         \
    (test_log[0] = 0, vkt_log_set((vkt_log_fn)test_log_sink, NULL, VKT_LOG_WARN))
#define REQUIRE_LOGGED(text)                                                                       \
    do {                                                                                           \
        if (!strstr(test_log, (text))) {                                                           \
            print_error("log lacks '%s'; it has:\n%s", (text), test_log);                          \
            _fail(__FILE__, __LINE__);                                                             \
        }                                                                                          \
    } while (0)

/* The folder `tests` of the sources, and a file in it (until the fourth call after this one): where
 * they were when this was built, or where the environment says, as on a machine that only runs it.
 */
#ifdef VKT_TEST_MAIN
extern const char test_dir_of_build[]; /* runner.c */
static inline const char *test_dir(void)
{
    const char *dir = getenv("VKT_TEST_DIR");
    return dir && *dir ? dir : test_dir_of_build;
}
static inline const char *test_file(const char *name)
{
    static char path[4][1024];
    static unsigned n;
    char *p = path[n++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", test_dir(), name);
    return p;
}
#endif

#endif
