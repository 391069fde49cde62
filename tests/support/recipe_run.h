/* Recipes that tests train, and the files that their runs leave. A test says the device itself. */
#ifndef VKT_TESTS_RECIPE_RUN_H
#define VKT_TESTS_RECIPE_RUN_H

#include "testing.h"

#include "base/os.h"
#include "vktrain/vktrain.h"

/* Trains the recipe `text`, which messages call t.yaml. set: settings on top of it, NULL after the
 * last, or NULL. */
static inline vkt_status train_recipe(const char *text, const char *const *set,
                                      const vkt_train_desc *desc, vkt_train_result *r)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    vkt_status st = vkt_config_parse(c, text, strlen(text), "t.yaml");
    for (size_t i = 0; st == VKT_OK && set && set[i]; i++) st = vkt_config_set(c, set[i]);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st == VKT_OK) st = vkt_train(c, desc, r);
    vkt_config_destroy(&c);
    return st;
}

/* For on_progress: stops the run when it has read back step *user; never where user is NULL. */
static inline void stop_at_step(void *user, const vkt_progress *p)
{
    if (user && p->step == *(const uint64_t *)user) vkt_train_stop();
}

/* The file `name` of a run, whole and to be freed. */
static inline char *read_run_file(const char *dir, const char *name, size_t *n)
{
    char path[300], *data;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    REQUIRE_OK(vkt__file_read(path, 1 << 26, &data, n));
    return data;
}

/* Both runs have the file `name`, with the same bytes. */
static inline void require_same_file(const char *a, const char *b, const char *name)
{
    size_t nx, ny;
    char *x = read_run_file(a, name, &nx), *y = read_run_file(b, name, &ny);
    assert_int_equal(nx, ny);
    assert_memory_equal(x, y, nx);
    free(x);
    free(y);
}

#endif
