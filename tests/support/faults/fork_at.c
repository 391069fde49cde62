/* A part of libiofault.so: a process forks where a call could fail. The child goes on with the
 * failure, in a copy of the folder it works in; its parent waits for its end, reports it to the
 * script, and goes on without. So one run tries each place once, and a place costs what comes after
 * it. All threads must be one (green.c). Settings: FAULT_PIPES=A,B: file descriptors; a line
 * "FOLDER CALL N ERROR STATUS" is written to A, then a byte read from B; the status is as waitpid
 * has it, a process that took too long is killed. FAULT_FOLDER: where the copies are made.
 * FAULT_SECONDS: a child's time (60). FAULT_DONE: a file with lines "CALL N ERROR", which are not
 * tried again. */
#define _GNU_SOURCE
#include "fork_at.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void copy_file(const char *from, const char *to, mode_t mode)
{
    char bytes[65536];
    ssize_t n;
    int in = openat(AT_FDCWD, from, O_RDONLY),
        out = openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL, mode);
    while (in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)n) != n) _exit(99);
    if (in < 0 || out < 0) _exit(99);
    close(in), close(out);
}

/* libc's own calls are used that the shim does not stand before, or that it lets through while
 * `inside`. */
static void copy_folder(const char *from, const char *to)
{
    struct stat st;
    struct dirent *e;
    DIR *d = opendir(from);
    if (!d || mkdir(to, 0777)) _exit(99);
    while ((e = readdir(d))) {
        char a[1024], b[1024], target[512];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(a, sizeof a, "%s/%s", from, e->d_name);
        snprintf(b, sizeof b, "%s/%s", to, e->d_name);
        if (fstatat(AT_FDCWD, a, &st, AT_SYMLINK_NOFOLLOW)) _exit(99);
        if (S_ISDIR(st.st_mode)) {
            copy_folder(a, b);
        } else if (S_ISLNK(st.st_mode)) {
            ssize_t n = readlink(a, target, sizeof target - 1);
            if (n < 0) _exit(99);
            target[n] = 0;
            if (symlinkat(target, AT_FDCWD, b)) _exit(99);
        } else {
            copy_file(a, b, st.st_mode & 0777);
        }
    }
    closedir(d);
}

/* The open files of a folder become those of its copy, at the same place in each. */
static void open_again(const char *old, const char *copy)
{
    size_t n = strlen(old);
    for (int fd = 0; fd < 256; fd++) {
        char link[32], path[1024], other[2048];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(link, path, sizeof path - 1);
        if (length <= 0) continue;
        path[length] = 0;
        if (strncmp(path, old, n) != 0 || path[n] != '/') continue;
        int flags = fcntl(fd, F_GETFL), closing = fcntl(fd, F_GETFD);
        off_t at = lseek(fd, 0, SEEK_CUR);
        snprintf(other, sizeof other, "%s%s", copy, path + n);
        int again = openat(AT_FDCWD, other, flags & ~(O_CREAT | O_TRUNC | O_EXCL));
        if (again < 0) continue; /* a file without a name */
        if (at >= 0) lseek(again, at, SEEK_SET);
        dup2(again, fd);
        fcntl(fd, F_SETFD, closing);
        close(again);
    }
}

/* This process is killed when its time is over, whatever it blocks. */
static void end_in_time(void)
{
    timer_t timer;
    struct sigevent kills = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    struct itimerspec once = { .it_value.tv_sec =
                                   getenv("FAULT_SECONDS") ? atoi(getenv("FAULT_SECONDS")) : 60 };
    if (timer_create(CLOCK_MONOTONIC, &kills, &timer) || timer_settime(timer, 0, &once, NULL))
        _exit(99);
}

/* Whether FAULT_DONE has it: its lines are read once, and each begins after a line's end. */
static int is_done(const char *call, long n, const char *error)
{
    static char *lines;
    const char *path = getenv("FAULT_DONE");
    char line[128];
    struct stat st;
    if (!lines && path) {
        int fd = openat(AT_FDCWD, path, O_RDONLY);
        if (fd < 0 || fstat(fd, &st) || !(lines = calloc(1, (size_t)st.st_size + 2))) _exit(97);
        lines[0] = '\n';
        if (read(fd, lines + 1, (size_t)st.st_size) != st.st_size) _exit(97);
        close(fd);
    }
    snprintf(line, sizeof line, "\n%s %ld %s\n", call, n, error);
    return lines && strstr(lines, line);
}

int vkt_fork_at(const char *call, long n, const char *error,
                void (*moved)(const char *, const char *))
{
    static int number, in_child, out = -1, in = -1;
    char old[512], copy[600], line[1024];
    const char *pipes = getenv("FAULT_PIPES"), *folder = getenv("FAULT_FOLDER");
    if (in_child || !pipes || !folder || !getcwd(old, sizeof old)) return 0;
    if (out < 0 && sscanf(pipes, "%d,%d", &out, &in) != 2) return 0;
    int e = errno;
    if (is_done(call, n, error)) {
        errno = e;
        return 0;
    }
    snprintf(copy, sizeof copy, "%s/%d", folder, ++number);
    pid_t child = fork();
    if (child == 0) {
        in_child = 1;
        end_in_time();
        copy_folder(old, copy);
        open_again(old, copy);
        if (chdir(copy)) _exit(99);
        if (moved) moved(old, copy);
        close(out), close(in);
        errno = e;
        return 1;
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    int length = snprintf(line, sizeof line, "%s %s %ld %s %d\n", copy, call, n, error, status);
    char byte;
    if (write(out, line, (size_t)length) != length || read(in, &byte, 1) != 1) _exit(98);
    errno = e;
    return 0;
}
