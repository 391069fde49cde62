/* vktrain bench verify: reads files and folders of them, and says of each whether it can be
 * believed. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd_bench_verify.h"

enum { NAME = 600 };

typedef struct given {
    vkt_bench **file;
    char (*name)[NAME];
    size_t n;
} given;

static void add(given *g, vkt_bench *b, const char *name)
{
    g->file = cli_grow(g->file, (g->n + 1) * sizeof *g->file);
    g->name = cli_grow(g->name, (g->n + 1) * sizeof *g->name);
    g->file[g->n] = b;
    snprintf(g->name[g->n++], NAME, "%s", name);
}

/* The files of a folder are known by device and date. */
static vkt_status add_folder(given *g, const char *dir)
{
    vkt_bench **files = NULL;
    size_t n = 0;
    vkt_status st = vkt_bench_load_folder(dir, &files, &n);
    for (size_t i = 0; i < n && st == VKT_OK; i++) {
        add(g, files[i], cli_text("%s, %s", files[i]->info.device, files[i]->info.date));
        files[i] = NULL; /* the list's now */
    }
    vkt_bench_free_folder(&files, n);
    return st;
}

typedef struct telling {
    const char *name;
    size_t n;
} telling;

static void tell(void *user, const char *why)
{
    enum { MOST = 10 };
    telling *t = user;
    if (!t->n++) printf("%s: refused\n", t->name);
    if (t->n <= MOST) printf("  %s\n", why);
    if (t->n == MOST + 1) printf("  ...\n");
}

int cmd_bench_verify(const char *const *paths, size_t n)
{
    given g = { 0 };
    vkt_status st = VKT_OK;
    size_t refused = 0;
    for (size_t i = 0; i < n && st == VKT_OK; i++) {
        vkt_bench *b = NULL;
        if (cli_is_folder(paths[i])) {
            st = add_folder(&g, paths[i]);
        } else if ((st = vkt_bench_load(paths[i], &b)) == VKT_OK) {
            add(&g, b, paths[i]);
        }
    }
    for (size_t i = 0; i < g.n && st == VKT_OK; i++) {
        telling t = { g.name[i], 0 };
        if (vkt_bench_verify((const vkt_bench *const *)g.file, g.n, i, tell, &t))
            refused++;
        else
            printf("%s: nothing speaks against it\n", g.name[i]);
        size_t n_peers = g.file[i]->n_peers;
        if (n_peers)
            printf("  %zu peer%s: their numbers are not checked\n", n_peers,
                   n_peers > 1 ? "s" : "");
    }
    if (st == VKT_OK && !g.n) {
        cli_error("bench verify: no benchmark file there");
        st = VKT_E_FORMAT;
    }
    if (st == VKT_OK && g.n > 1) printf("%zu of %zu files are refused\n", refused, g.n);
    for (size_t i = 0; i < g.n; i++) vkt_bench_destroy(&g.file[i]);
    free(g.file);
    free(g.name);
    return st == VKT_OK ? refused ? CLI_FAILED : CLI_OK : cli_exit_code(st);
}

int cmd_bench_add(const char *const *paths, size_t n)
{
    vkt_bench *mine = NULL;
    vkt_status st = vkt_bench_load(paths[0], &mine);
    if (st == VKT_OK && mine->seal != VKT_BENCH_SEALED) {
        cli_error("bench add: '%s' was changed after vktrain wrote it, or has no digest: measure "
                  "again",
                  paths[0]);
        st = VKT_E_FORMAT;
    }
    for (size_t i = 1; i < n && st == VKT_OK; i++) {
        vkt_bench *peer = NULL;
        st = vkt_bench_load(paths[i], &peer);
        if (st != VKT_OK) break;
        const char *who = cli_text("%s, %s", peer->info.driver, peer->info.settings);
        size_t rows = peer->n_rows, kept;
        st = vkt_bench_add_peer(mine, &peer, &kept);
        if (st == VKT_OK) printf("%s: %zu rows of %zu\n", who, kept, rows);
    }
    if (st == VKT_OK) st = vkt_bench_save_json(mine, paths[0]);
    if (st == VKT_OK) printf("written: %s\n", paths[0]);
    vkt_bench_destroy(&mine);
    return cli_exit_code(st);
}
