/* Recipes as texts: read, accepted, refused with the words that say why. Messages call them r.yaml.
 */
#ifndef VKT_TESTS_RECIPE_TEXT_H
#define VKT_TESTS_RECIPE_TEXT_H

#include "testing.h"

#include "vktrain/recipe.h"

#define MODEL "model:\n  - linear: 8\n  - relu\n  - linear\n"
#define DATA "data: {source: digits}\n"

static inline vkt_status parse(vkt_config *c, const char *text)
{
    return vkt_config_parse(c, text, strlen(text), "r.yaml");
}

/* The text is refused, and the log says `words`. */
static inline void refused(const char *text, const char *words)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    TEST_LOG_CAPTURE();
    vkt_status st = parse(c, text);
    if (st == VKT_OK) st = vkt_config_finish(c);
    if (st != VKT_E_ARG) print_error("accepted:\n%s\n", text);
    REQUIRE_STATUS(st, VKT_E_ARG);
    REQUIRE_LOGGED(words);
    vkt_config_destroy(&c);
}

static inline void set_refused(const char *assignment, const char *words)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    TEST_LOG_CAPTURE();
    REQUIRE_STATUS(vkt_config_set(c, assignment), VKT_E_ARG);
    REQUIRE_LOGGED(words);
    vkt_config_destroy(&c);
}

static inline vkt_config *accepted(const char *text)
{
    vkt_config *c;
    REQUIRE_OK(vkt_config_create(&c));
    REQUIRE_OK(parse(c, text));
    REQUIRE_OK(vkt_config_finish(c));
    return c;
}

#endif
