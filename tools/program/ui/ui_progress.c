/* ui.h: how far a command is, by what it has printed. Its lines are for people, and the page shows
 * them; this file reads a share and the remaining time out of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "ui.h"

/* Text between a word and the next comma, parenthesis or " left". */
static void left_of(const char *line, char *out, size_t n)
{
    const char *at = strstr(line, "about "), *eta = strstr(line, "ETA ");
    at = at ? at + 6 : eta ? eta + 4 : "";
    size_t k = strcspn(at, ",)\r");
    const char *end = strstr(at, " left");
    if (end && (size_t)(end - at) < k) k = (size_t)(end - at);
    snprintf(out, n, "%.*s", (int)(k < n ? k : 0), at);
}

/* Lines of a measurement, a training, and of long work in the library. */
static bool share_of(const char *line, double *share)
{
    static const char *const forms[] = { "[%lf/%lf]%n", "step %lf/%lf loss%n",
                                         ": %lf of %lf, about %*f s left%n" };
    double done, all;
    for (size_t i = 0; i < CLI_COUNT(forms); i++)
        for (const char *at = line; (at = strchr(at, forms[i][0])); at++) {
            int whole = 0; /* stays 0 where what stands behind the numbers is another text */
            if (sscanf(at, forms[i], &done, &all, &whole) == 2 && whole && all > 0 && done >= 0 &&
                done <= all) {
                *share = done / all;
                return true;
            }
        }
    return false;
}

json_t *ui_progress_of(const char *said)
{
    char line[512], left[64];
    double share;
    for (const char *end = said + strlen(said), *from; end > said; end = from - (from > said)) {
        for (from = end; from > said && from[-1] != '\n'; from--) {
        }
        snprintf(line, sizeof line, "%.*s", (int)fmin((double)(end - from), 511), from);
        if (!share_of(line, &share)) continue;
        left_of(line, left, sizeof left);
        const char *text = strncmp(line, "vktrain: ", 9) ? line : line + 9;
        return json_pack("{s:o, s:f, s:o}", "text", ui_json_text(text), "share", share, "left",
                         ui_json_text(left));
    }
    return NULL;
}
