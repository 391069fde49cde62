/* checkout.h */
#include <stdio.h>

#include "base/os.h"
#include "runs/git_checkout.h"

enum { FILE_LIMIT = 4 << 20, PATH = 1200 };

/* First line of a small file. */
static bool first_line(const char *path, char *out, size_t n)
{
    char *data;
    size_t size;
    if (vkt__file_size(path) < 0) return false;
    vkt__log_quiet(true);
    vkt_status st = vkt__file_read(path, FILE_LIMIT, &data, &size);
    vkt__log_quiet(false);
    if (st != VKT_OK) return false;
    data[strcspn(data, "\r\n")] = 0;
    bool fits = snprintf(out, n, "%s", data) < (int)n;
    free(data);
    return fits;
}

static bool is_commit(const char *s)
{
    size_t n = strspn(s, "0123456789abcdef");
    return (n == 40 || n == 64) && !s[n];
}

/* A name that stays inside the folder of refs. */
static bool is_ref(const char *s)
{
    return !strncmp(s, "refs/", 5) && !strstr(s, "..") && !strchr(s, '\\');
}

/* "<hash> refs/heads/main" lines. */
static bool packed_ref(const char *dir, const char *ref, char commit[72])
{
    char path[PATH + 32], *data;
    size_t n, len = strlen(ref);
    bool found = false;
    snprintf(path, sizeof path, "%s/packed-refs", dir);
    if (vkt__file_size(path) < 0) return false;
    vkt__log_quiet(true);
    vkt_status st = vkt__file_read(path, FILE_LIMIT, &data, &n);
    vkt__log_quiet(false);
    if (st != VKT_OK) return false;
    for (char *line = data, *end; !found && *line; line = end) {
        size_t hash = strcspn(line, " \n");
        end = line + strcspn(line, "\n");
        if (*end) *end++ = 0;
        if (hash < 72 && line[hash] == ' ' && !strncmp(line + hash + 1, ref, len) &&
            line[hash + 1 + len] == 0) {
            snprintf(commit, 72, "%.*s", (int)hash, line);
            found = is_commit(commit);
        }
    }
    free(data);
    return found;
}

/* The folder with HEAD, and the one with the refs, which a linked worktree has elsewhere. */
static bool git_folders(const char *top, char git[PATH], char common[PATH])
{
    char line[PATH], path[PATH + 32];
    if (snprintf(git, PATH, "%s/.git", top) >= PATH) return false;
    if (!vkt__is_dir(git)) {
        if (!first_line(git, line, sizeof line) || strncmp(line, "gitdir: ", 8)) return false;
        bool absolute = line[8] == '/' || (line[8] && line[9] == ':');
        if (snprintf(git, PATH, "%s%s%s", absolute ? "" : top, absolute ? "" : "/", line + 8) >=
            PATH)
            return false;
    }
    snprintf(path, sizeof path, "%s/commondir", git);
    if (!first_line(path, line, sizeof line)) return snprintf(common, PATH, "%s", git) < PATH;
    return snprintf(common, PATH, "%s%s%s", *line == '/' ? "" : git, *line == '/' ? "" : "/",
                    line) < PATH;
}

bool vkt__git_head(const char *top, char commit[72])
{
    char git[PATH], common[PATH], path[2 * PATH], head[PATH];
    commit[0] = 0;
    if (!git_folders(top, git, common)) return false;
    snprintf(path, sizeof path, "%s/HEAD", git);
    if (!first_line(path, head, sizeof head)) return false;
    if (is_commit(head)) return snprintf(commit, 72, "%.71s", head), true;
    if (strncmp(head, "ref: ", 5) || !is_ref(head + 5)) return false;
    snprintf(path, sizeof path, "%s/%s", common, head + 5);
    if (first_line(path, commit, 72) && is_commit(commit)) return true;
    commit[0] = 0;
    return packed_ref(common, head + 5, commit);
}

/* The folder above `path` (or it) that has a .git; "" if none has. */
static bool find_top(const char *recipe, char top[PATH])
{
    char probe[PATH + 8];
    const char *slash = strrchr(recipe, '/');
    if (snprintf(top, PATH, "%.*s", slash ? (int)(slash - recipe) : 1, slash ? recipe : ".") >=
        PATH)
        return false;
    if (slash == recipe) snprintf(top, PATH, "/");
    for (int i = 0; i < 64; i++) {
        snprintf(probe, sizeof probe, "%s/.git", top);
        if (vkt__file_exists(probe)) return true;
        /* Up by name where there is one, so that the root is an end; else by "..". */
        char *last = strrchr(top, '/');
        if (top[0] == '/' && !top[1]) return false;
        bool dots = !strcmp(top, ".") || !strcmp(last ? last + 1 : top, "..");
        if (dots || !last) {
            if (!strcmp(top, "."))
                snprintf(top, PATH, "..");
            else if (dots && strlen(top) + 4 < PATH)
                strcat(top, "/..");
            else
                snprintf(top, PATH, ".");
        } else if (last == top) {
            top[1] = 0;
        } else {
            *last = 0;
        }
    }
    return false;
}

/* Whether the checkout's own settings name programs that git would run on its files: then it is not
 * asked what has changed. To read the settings runs none. */
static bool runs_filters(const char *top)
{
    static const char *const scopes[] = { "--local", "--worktree" };
    char found[64];
    for (size_t i = 0; i < VKT_COUNT(scopes); i++) {
        const char *argv[] = { "git",        "-C",           top,          "config", scopes[i],
                               "--includes", "--get-regexp", "^filter[.]", NULL };
        if (vkt__run_program(argv, found, sizeof found) && *found) return true;
    }
    return false;
}

void vkt__git_checkout_of(const char *recipe, vkt__git_checkout *out)
{
    char top[PATH];
    *out = (vkt__git_checkout) { 0 };
    if (!recipe || !vkt__file_exists(recipe) || vkt__is_dir(recipe) || !find_top(recipe, top) ||
        !vkt__git_head(top, out->commit) || runs_filters(top))
        return;
    const char *argv[] = {
        "git",    "-c",          "core.fsmonitor=false", "--no-optional-locks",       "-C", top,
        "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty", NULL
    };
    out->known = vkt__run_program(argv, out->changes, sizeof out->changes);
    size_t bad;
    if (!out->known || !vkt__utf8_ok(out->changes, strlen(out->changes), &bad)) {
        out->known = out->known && !*out->changes;
        out->changes[0] = 0;
    }
}

vkt_status vkt__git_keep_diff(const char *recipe, const vkt__git_checkout *c, const char *dir)
{
    enum { MOST = 1 << 20 };
    static const char cut[] = "\nvktrain: cut here, the changes have more than 1 MiB\n";
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    char top[PATH];
    const char *path = vkt__arena_printf(&a, "%s/uncommitted.diff", dir);
    if (c->known && *c->changes && find_top(recipe, top) && !vkt__file_exists(path) &&
        !vkt__file_exists(vkt__arena_printf(&a, "%s/../uncommitted.diff", dir))) {
        char *text = vkt__arena_alloc(&a, MOST + sizeof cut);
        const char *argv[] = { "git",
                               "-c",
                               "core.fsmonitor=false",
                               "--no-optional-locks",
                               "--no-pager",
                               "-C",
                               top,
                               "diff",
                               "--no-ext-diff",
                               "--no-textconv",
                               "--no-color",
                               "--ignore-submodules=dirty",
                               "HEAD",
                               NULL };
        bool got = vkt__run_program(argv, text, MOST);
        size_t n = strlen(text);
        if (n + 1 == MOST) n += (size_t)snprintf(text + n, sizeof cut, "%s", cut);
        if (got && n) st = vkt__file_replace(path, text, n);
    }
    vkt__arena_finish(&a);
    return st;
}
