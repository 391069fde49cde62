/* The program of a room's tests. It runs one of them: the one whose name it was started by
 * (build-test/test_ops is a link), else the first argument, else, where a test has started the
 * program again as if it were vktrain, that test. Without a name it lists them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#define TEST(name) int name##_main(int argc, char **argv);
#include "tests.h"
#undef TEST

static const struct {
    const char *name;
    int (*main)(int argc, char **argv);
} tests[] = {
#define TEST(name) { #name, name##_main },
#include "tests.h"
};
#define N_TESTS (sizeof tests / sizeof *tests)

/* The test's number; N_TESTS: there is none of that name. */
static size_t find(const char *path)
{
    const char *name = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' || *c == '\\') name = c + 1;
    size_t i = 0, length = strcspn(name, "."); /* without .exe */
    while (i < N_TESTS && (strlen(tests[i].name) != length || strncmp(tests[i].name, name, length)))
        i++;
    return i;
}

const char test_dir_of_build[] = VKT_TEST_DIR;

int main(int argc, char **argv)
{
    const char *started = getenv("VKT_TEST_STARTED");
    size_t at = find(argv[0]);
    if (at == N_TESTS && argc > 1 && (at = find(argv[1])) < N_TESTS) argc--, argv++;
    if (at == N_TESTS && argc > 1 && started) at = find(started);
    if (at == N_TESTS) {
        fprintf(stderr, "usage: %s TEST [ARGUMENT...]; its tests are\n", argv[0]);
        for (size_t i = 0; i < N_TESTS; i++) fprintf(stderr, "  %s\n", tests[i].name);
        return 2;
    }
    vkt__setenv("VKT_TEST_STARTED", tests[at].name);
    return tests[at].main(argc, argv);
}
