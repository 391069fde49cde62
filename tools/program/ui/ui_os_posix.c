/* ui_os.h, for POSIX. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ui_os.h"

#ifdef __APPLE__ /* a shared library of macOS has no environ */
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

bool ui_os_secret(unsigned char *out, size_t n)
{
    FILE *f = fopen("/dev/urandom", "rb");
    if (!f) return false;
    bool whole = fread(out, 1, n, f) == n;
    fclose(f);
    return whole;
}

/* ---- paths ---- */

char *ui_os_real(const char *path)
{
    return realpath(path, NULL);
}

void ui_os_slashes(char *path)
{
    (void)path;
}

bool ui_os_absolute(const char *path)
{
    return *path == '/';
}

char *ui_os_here(void)
{
    return realpath(".", NULL);
}

bool ui_os_look(const char *path, ui_os_entry *out)
{
    struct stat s;
    *out = (ui_os_entry) { 0 };
    if (stat(path, &s)) return false;
    out->folder = S_ISDIR(s.st_mode);
    out->file = S_ISREG(s.st_mode);
    out->bytes = out->file && s.st_size > 0 ? (uint64_t)s.st_size : 0;
    out->time = (int64_t)s.st_mtime;
    return true;
}

static bool add(ui_os_entry **list, size_t *n, const char *folder, const char *name)
{
    ui_os_entry *e = ui_os_next(list, *n);
    char *path = e ? ui_os_joined(folder, name) : NULL, *kept = path ? ui_os_copy(name) : NULL;
    if (kept) {
        ui_os_look(path, e);
        e->name = kept;
        ++*n;
    }
    free(path);
    return kept != NULL;
}

bool ui_os_list(const char *folder, size_t most, ui_os_entry **out, size_t *n, size_t *n_all)
{
    DIR *d = opendir(folder);
    bool fits = true;
    *out = NULL;
    *n = *n_all = 0;
    if (!d) return false;
    for (struct dirent *e; fits && (e = readdir(d));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        if (++*n_all <= most) fits = add(out, n, folder, e->d_name);
    }
    closedir(d);
    ui_os_sort(*out, *n);
    return fits;
}

void ui_os_set(const char *name, const char *value)
{
    setenv(name, value, 1);
}

bool ui_os_folder_make(const char *path)
{
    struct stat s;
    return !mkdir(path, 0777) || (errno == EEXIST && !stat(path, &s) && S_ISDIR(s.st_mode));
}

bool ui_os_lock(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) return true;
    if (fd >= 0) close(fd);
    return false;
}

size_t ui_os_part(const char *path, uint64_t from, char *out, size_t n)
{
    struct stat s;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && !fstat(fd, &s) && S_ISREG(s.st_mode)) got = pread(fd, out, n, (off_t)from);
    if (fd >= 0) close(fd);
    return got > 0 ? (size_t)got : 0;
}

void ui_os_cut(const char *path, uint64_t bytes)
{
    if (truncate(path, (off_t)bytes)) return; /* it is larger than it need be */
}

/* ---- child processes ---- */

struct ui_child {
    pid_t pid;
    int out[2]; /* to read from: stdout, stderr; -1: closed */
    bool ended;
    int rc;
};

static bool pipe_open(int p[2])
{
    if (pipe(p)) return false;
    for (int i = 0; i < 2; i++) fcntl(p[i], F_SETFD, FD_CLOEXEC);
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    return true;
}

static void pipe_close(int p[2])
{
    for (int i = 0; i < 2; i++)
        if (p[i] >= 0) close(p[i]);
}

static bool spawn(const char *const *argv, int out, int err, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&how);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, err, 2);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    int failed = posix_spawnp(pid, argv[0], &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return !failed;
}

bool ui_child_start(const char *const *argv, ui_child **out)
{
    int o[2] = { -1, -1 }, e[2] = { -1, -1 };
    ui_child *c = *out = calloc(1, sizeof *c);
    if (!c || !pipe_open(o) || !pipe_open(e) || !spawn(argv, o[1], e[1], &c->pid)) {
        pipe_close(o);
        pipe_close(e);
        free(c);
        *out = NULL;
        return false;
    }
    close(o[1]);
    close(e[1]);
    c->out[0] = o[0];
    c->out[1] = e[0];
    return true;
}

bool ui_child_start_logged(const char *const *argv, const char *log, ui_child **out)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    ui_child *c = *out = calloc(1, sizeof *c);
    bool started = c && fd >= 0 && spawn(argv, fd, fd, &c->pid);
    if (fd >= 0) close(fd);
    if (started) {
        c->out[0] = c->out[1] = -1;
        return true;
    }
    free(c);
    *out = NULL;
    return false;
}

int ui_os_id(void)
{
    return (int)getpid();
}

int ui_child_id(const ui_child *c)
{
    return (int)c->pid;
}

size_t ui_child_read(ui_child *c, bool err, char *out, size_t cap)
{
    int from = c->out[err];
    ssize_t n = from < 0 ? 0 : read(from, out, cap);
    return n > 0 ? (size_t)n : 0;
}

bool ui_child_ended(ui_child *c, int *rc)
{
    int status;
    pid_t got = c->ended ? 0 : waitpid(c->pid, &status, WNOHANG);
    if (got == c->pid) {
        c->ended = true;
        c->rc = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (got < 0 && errno != EINTR) {
        c->ended = true;
        c->rc = -1;
    }
    *rc = c->rc;
    return c->ended;
}

void ui_child_interrupt(ui_child *c)
{
    if (!c->ended) kill(c->pid, SIGINT);
}

void ui_child_leave(ui_child **pc)
{
    ui_child *c = *pc;
    if (!c) return;
    pipe_close(c->out);
    free(c);
    *pc = NULL;
}

void ui_child_kill(ui_child **pc)
{
    ui_child *c = *pc;
    int rc;
    if (!c) return;
    if (!ui_child_ended(c, &rc)) {
        kill(-c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    ui_child_leave(pc);
}

char *ui_os_program(const char *argv0)
{
    char *own = realpath("/proc/self/exe", NULL);
    if (!own && strchr(argv0, '/')) own = realpath(argv0, NULL);
    return own ? own : ui_os_copy(argv0);
}

bool ui_os_browse(const char *address)
{
#ifdef __APPLE__
    const char *const argv[] = { "open", address, NULL };
#else
    const char *const argv[] = { "xdg-open", address, NULL };
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) return false;
#endif
    ui_child *c;
    if (!ui_child_start_logged(argv, "/dev/null", &c)) return false; /* it may write when we go */
    ui_child_leave(&c);
    return true;
}
