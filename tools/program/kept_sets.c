/* kept_sets.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept_sets.h"
#include "print.h"
#include "term.h"

/* Takes a word off a command line that cli_word quoted, in place. NULL: there is none left. */
static char *next_word(char **at)
{
    char *p = *at + strspn(*at, " "), *word = p, *to = p;
    bool quoted = false;
    if (!*p) return NULL;
    for (; *p && (quoted || *p != ' '); p++)
        if (*p == '\'')
            quoted = !quoted;
        else
            *to++ = !quoted && *p == '\\' && p[1] ? *++p : *p;
    *at = p + (*p != 0);
    *to = 0;
    return word;
}

static bool given(const cli_list *now, const char *set)
{
    size_t key = strcspn(set, "=") + 1;
    for (size_t i = 0; i < now->n; i++)
        if (!strncmp(now->item[i], set, key)) return true;
    return false;
}

/* The command of the run that stands in this folder into *out. NULL: none is known. */
static vkt_status command_of(const char *run_dir, char **out)
{
    char path[1100];
    vkt_run_info *list = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/run.json", run_dir);
    if (!cli_exists(path)) return VKT_OK; /* vkt_train says what is wrong with the folder */
    vkt_status st = vkt_runs_list(run_dir, &list, &n);
    if (st == VKT_OK && n == 1 && list[0].command)
        *out = strcpy(cli_grow(NULL, strlen(list[0].command) + 1), list[0].command);
    vkt_runs_free(&list);
    return st == VKT_E_FORMAT ? VKT_OK : st;
}

/* "PROGRAM train" and what else there is, the kept values between the two. */
static char *line_with(const kept_sets *k, const char *line)
{
    size_t size = strlen(line) + 1;
    for (size_t i = 0; i < k->n; i++) size += 4 * strlen(k->set[i]) + sizeof " --set ''";
    char *copy = cli_grow(NULL, size), *out = cli_grow(NULL, size), *at = strcpy(copy, line);
    next_word(&at);
    next_word(&at);
    size_t head = (size_t)(at - copy);
    bool more = line[head] != 0;
    size_t to = (size_t)sprintf(out, "%.*s", (int)(head - more), line);
    for (size_t i = 0; i < k->n; i++)
        to += (size_t)sprintf(out + to, " --set %s", cli_word(k->set[i]));
    if (more) sprintf(out + to, " %s", line + head);
    free(copy);
    return out;
}

vkt_status kept_sets_of(const char *run_dir, const cli_list *now, const char *line, kept_sets *k)
{
    *k = (kept_sets) { 0 };
    vkt_status st = command_of(run_dir, &k->text);
    char *at = k->text, *word = at ? next_word(&at) : NULL;
    if (!word || !(word = next_word(&at)) || strcmp(word, "train")) return st;
    k->set = cli_grow(NULL, (strlen(at) / 2 + 1) * sizeof *k->set);
    while ((word = next_word(&at))) {
        if (!strcmp(word, "--set"))
            word = next_word(&at);
        else if (!strncmp(word, "--set=", 6))
            word += 6;
        else
            continue;
        if (word && !given(now, word)) k->set[k->n++] = word;
    }
    if (k->n) k->line = line_with(k, line);
    return VKT_OK;
}

void kept_sets_finish(kept_sets *k)
{
    free(k->text);
    free(k->set);
    free(k->line);
}
