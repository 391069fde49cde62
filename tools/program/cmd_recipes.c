/* vktrain recipes: the built-in recipes, or the YAML of one. */
#include <string.h>

#include "cli.h"

static int list(void)
{
    const char *name, *description;
    int width = 0;
    for (size_t i = 0; vkt_recipe(i, &name, NULL, NULL); i++)
        if ((int)strlen(name) > width) width = (int)strlen(name);
    for (size_t i = 0; vkt_recipe(i, &name, &description, NULL); i++) {
        printf("%s%-*s%s  ", cli_color(stdout, CLI_BOLD), width, name,
               cli_color(stdout, CLI_PLAIN));
        cli_wrap(stdout, description, width + 2, width + 2);
    }
    return CLI_OK;
}

static int run(void *options)
{
    const cli_options *o = options;
    const char *names[64], *text;
    size_t n = 0;
    if (!o->n_args) return list();
    for (; n < CLI_COUNT(names) && vkt_recipe(n, &names[n], NULL, &text); n++) {
        if (strcmp(names[n], o->args[0])) continue;
        fputs(text, stdout);
        return CLI_OK;
    }
    vkt_hint hint = vkt_did_you_mean(o->args[0], names, n);
    cli_error("no recipe '%s'%s", o->args[0],
              *hint.text ? hint.text : "; `vktrain recipes` lists them");
    return CLI_USAGE;
}

const cli_command cmd_recipes = {
    .name = "recipes",
    .args = "[NAME]",
    .summary = "list the built-in recipes, or print one as YAML",
    .details = "example: vktrain recipes digits > mine.yaml",
    .max_args = 1,
    .options_bytes = sizeof(cli_options),
    .run = run,
};
