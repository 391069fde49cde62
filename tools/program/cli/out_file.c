/* What vktrain wrote is known by the file's beginning. */
#include <stdio.h>
#include <string.h>

#include "exit_code.h"
#include "out_file.h"
#include "print.h"
#include "term.h"

enum { BEGINNING = 4096 };

static bool holds(const char *s, size_t n, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++)
        if (!memcmp(s + i, word, len)) return true;
    return false;
}

/* Formats with a place for the program's name have it there, packs their magic numbers; the others
 * begin with the names of the columns. */
static bool is_ours(const char *s, size_t n)
{
    static const char *const words[] = { "vktrain", "VKTPIC", "VKTTOK", "{\"crc32." };
    static const char *const heads[] = { "index,target,predicted",
                                         "target \\ predicted",
                                         "group,name,unit,better,",
                                         "curve,n,ms,q1,q3,",
                                         "class,positives,examples,threshold,",
                                         "from,to,examples,confidence,",
                                         "column,shuffles,examples," };
    for (size_t i = 0; i < CLI_COUNT(words); i++)
        if (holds(s, n, words[i])) return true;
    for (size_t i = 0; i < CLI_COUNT(heads); i++)
        if (n >= strlen(heads[i]) && !memcmp(s, heads[i], strlen(heads[i]))) return true;
    return false;
}

int cli_may_write(const char *command, const char *path, bool force)
{
    char s[BEGINNING];
    if (force || !cli_is_file(path)) return CLI_OK;
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(s, 1, sizeof s, f) : 0;
    if (f) fclose(f);
    if ((f && !n) || is_ours(s, n)) return CLI_OK;
    cli_error("%s: '%s' exists, and vktrain did not write it: --force overwrites it", command,
              path);
    return CLI_USAGE;
}
