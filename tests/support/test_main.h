/* Included before each source of a runner: a test's main is a function of its own name, so that a
 * room's tests are one program (runner.c, tests.cmake). A main that takes no arguments gets them,
 * too, so that all are of one type. */
#ifdef VKT_TEST_MAIN
#define main(...)                                                                                  \
    VKT_TEST_MAIN(int argc __attribute__((unused)), char **argv __attribute__((unused)))
int VKT_TEST_MAIN(int argc, char **argv);
#endif
