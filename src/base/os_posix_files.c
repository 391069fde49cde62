/* os.h for POSIX systems: files, folders and locks. */
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE /* flock */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

bool vkt__file_exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

char *vkt__folder_here(void)
{
    return getcwd(NULL, 0);
}

bool vkt__is_dir(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool vkt__is_link(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
}

bool vkt__is_absent(const char *path)
{
    struct stat s;
    return stat(path, &s) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

vkt__path_kind vkt__path_look(const char *path, uint64_t id[2])
{
    struct stat s;
    id[0] = id[1] = 0;
    if (stat(path, &s) != 0) return VKT__ABSENT;
    id[0] = (uint64_t)s.st_dev;
    id[1] = (uint64_t)s.st_ino;
    return S_ISDIR(s.st_mode) ? VKT__FOLDER : S_ISREG(s.st_mode) ? VKT__FILE : VKT__OTHER;
}

int64_t vkt__file_size(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 ? (int64_t)s.st_size : -1;
}

static vkt_status io_fail(const char *what, const char *path)
{
    const char *why = errno == EPERM && !vkt__may_open(path) ? VKT__OUTSIDE : strerror(errno);
    char *meant = vkt__aside_meant(path, vkt__pid());
    vkt_status st = vkt__fail(VKT_E_IO, "file", "can't %s '%s': %s", what, meant, why);
    free(meant);
    return st;
}

vkt_status vkt__stdin_read(void *dst, size_t n, size_t *got)
{
    enum { MORE_MS = 20 }; /* a pipe holds little: its writer goes on when it is read */
    struct pollfd more = { .fd = 0, .events = POLLIN };
    ssize_t r;
    *got = 0;
    do {
        do r = read(0, (char *)dst + *got, n - *got);
        while (r < 0 && errno == EINTR);
        *got += r > 0 ? (size_t)r : 0;
    } while (r > 0 && *got < n && poll(&more, 1, MORE_MS) > 0);
    return r < 0 ? io_fail("read", "standard input") : VKT_OK;
}

/* ---- one who may open only some folders ---- */

static bool is_in(const char *real, const char *folder, size_t n)
{
    return (n == 1 && *folder == '/') ||
           (!strncmp(real, folder, n) && (!real[n] || real[n] == '/'));
}

/* Links followed; of what is not there yet those of the folder that it would be in. Caller frees.
 */
static char *where_it_leads(const char *path)
{
    struct stat s;
    char *real = realpath(path, NULL);
    if (real || lstat(path, &s) == 0) return real; /* a link to nothing leads nowhere */
    vkt__str up = { 0 };
    vkt__str_printf(&up, "%s%s", *path == '/' ? "" : "./", path);
    do {
        char *slash = strrchr(up.data, '/');
        if (!strcmp(slash, "/..")) break;
        *(slash == up.data ? slash + 1 : slash) = 0;
        real = realpath(up.data, NULL);
    } while (!real && strcmp(up.data, "/") != 0 && strchr(up.data, '/'));
    vkt__str_finish(&up);
    return real;
}

bool vkt_path_may_look(const char *path)
{
    (void)path;
    return true;
}

bool vkt__may_open(const char *path)
{
    const char *within = getenv("VKT_WITHIN");
    if (!within || !*within) return true;
    char *real = where_it_leads(path);
    bool may = real && is_in(real, "/sys", 4); /* clocks, energy */
    for (size_t n; real && !may && *within; within += n + (within[n] == '\n')) {
        n = strcspn(within, "\n");
        may = n > 0 && is_in(real, within, n);
    }
    free(real);
    errno = may ? errno : EPERM;
    return may;
}

FILE *vkt__fopen(const char *path, const char *mode)
{
    if (vkt__is_dir(path)) {
        errno = EISDIR;
        return NULL;
    }
    return vkt__may_open(path) ? fopen(path, mode) : NULL;
}

vkt_status vkt__file_map(const char *path, vkt__map *out)
{
    struct stat s;
    *out = (vkt__map) { .data = "" };
    /* a pipe may have no writer */
    int fd = vkt__may_open(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0) return io_fail("open", path);
    if (fstat(fd, &s) != 0 || S_ISDIR(s.st_mode)) {
        close(fd);
        return vkt__fail(VKT_E_IO, "file", "can't read '%s': it is not a file", path);
    }
    if (!S_ISREG(s.st_mode)) {
        close(fd);
        return vkt__fail(VKT_E_IO, "file",
                         "'%s' is a pipe or a device, which has no size: write it to a file first",
                         path);
    }
    void *p = s.st_size ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : (void *)"";
    close(fd);
    if (p == MAP_FAILED) return io_fail("map", path);
    *out = (vkt__map) { .data = p, .n = (size_t)s.st_size };
    return VKT_OK;
}

void vkt__map_release(const vkt__map *m, size_t from, size_t to)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    from = (from + page - 1) / page * page;
    to = to / page * page;
    if (from < to && to <= m->n)
        madvise((void *)((uintptr_t)m->data + from), to - from, MADV_DONTNEED);
}

void vkt__file_unmap(vkt__map *m)
{
    if (m->n) munmap((void *)(uintptr_t)m->data, m->n);
    *m = (vkt__map) { 0 };
}

bool vkt__file_sync(FILE *f)
{
    return fflush(f) == 0 && fsync(fileno(f)) == 0;
}

void vkt__file_remove(const char *path)
{
    unlink(path);
}

bool vkt__file_seek(FILE *f, uint64_t offset)
{
    return fseeko(f, (off_t)offset, SEEK_SET) == 0;
}

struct vkt__file_lock {
    int fd, folder;
};

/* False: another has it. One that only asks has it for a moment. */
static bool lock(int fd)
{
    for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (errno != EWOULDBLOCK) return true;
        if (tries == 5) return false;
        vkt__sleep_ms(20);
    }
    return true;
}

/* The folder as well: a file's name may be removed, and another process would lock a new file. */
vkt_status vkt__lock_take(const char *path, vkt__file_lock **out)
{
    vkt__str dir = { 0 };
    const char *slash = strrchr(path, '/');
    *out = NULL;
    int fd = vkt__may_open(path) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;
    if (fd < 0) return io_fail("create", path);
    vkt__str_printf(&dir, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int folder = open(slash == path ? "/" : dir.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    vkt__str_finish(&dir);
    if (!lock(fd) || (folder >= 0 && !lock(folder))) {
        close(fd);
        if (folder >= 0) close(folder);
        return VKT_OK;
    }
    *out = vkt__alloc(sizeof **out);
    **out = (vkt__file_lock) { fd, folder };
    return VKT_OK;
}

vkt__lock_state vkt__lock_ask(const char *path)
{
    int fd = vkt__may_open(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0) return errno == ENOENT ? VKT__LOCK_FREE : VKT__LOCK_UNKNOWN;
    vkt__lock_state s = flock(fd, LOCK_SH | LOCK_NB) == 0 ? VKT__LOCK_FREE
                        : errno == EWOULDBLOCK            ? VKT__LOCK_HELD
                                                          : VKT__LOCK_UNKNOWN;
    close(fd);
    return s;
}

void vkt__lock_release(vkt__file_lock **l)
{
    if (!*l) return;
    close((*l)->fd);
    if ((*l)->folder >= 0) close((*l)->folder);
    free(*l);
    *l = NULL;
}

vkt_status vkt__file_truncate(const char *path, uint64_t bytes)
{
    return truncate(path, (off_t)bytes) == 0 ? VKT_OK : io_fail("truncate", path);
}

vkt_status vkt__mkdirs(const char *path)
{
    vkt__str s = { 0 };
    vkt_status st = VKT_OK;
    vkt__str_add(&s, path, strlen(path));
    for (char *p = s.data + 1;; p++) {
        if (*p != '/' && *p != 0) continue;
        char c = *p;
        *p = 0;
        if (!vkt__is_dir(s.data) && (!vkt__may_open(s.data) || mkdir(s.data, 0777) != 0) &&
            !(errno == EEXIST && vkt__is_dir(s.data))) {
            st = io_fail("create folder", s.data);
            break;
        }
        *p = c;
        if (!c) break;
    }
    vkt__str_finish(&s);
    return st;
}

vkt_status vkt__rename(const char *from, const char *to)
{
    vkt__str in = { 0 }; /* a link of this name is replaced, not followed */
    const char *slash = strrchr(to, '/');
    vkt__str_printf(&in, "%.*s", slash ? (int)(slash - to + 1) : 1, slash ? to : ".");
    bool may = vkt__may_open(in.data);
    vkt__str_finish(&in);
    return may && rename(from, to) == 0 ? VKT_OK : io_fail("rename to", to);
}

vkt_status vkt__sync_dir(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) return VKT_OK; /* it may be written, not read */
    if (fd < 0) return io_fail("open folder", path);
    bool bad = fsync(fd) != 0 && errno != EINVAL && errno != EROFS;
    close(fd);
    return bad ? io_fail("sync", path) : VKT_OK;
}

vkt_status vkt__remove_tree(const char *path)
{
    struct stat s;
    if (lstat(path, &s) != 0) return errno == ENOENT ? VKT_OK : io_fail("look at", path);
    if (!S_ISDIR(s.st_mode)) return unlink(path) == 0 ? VKT_OK : io_fail("remove", path);
    char **names;
    size_t n;
    vkt_status st = vkt__list_dir(path, &names, &n);
    for (size_t i = 0; i < n && st == VKT_OK; i++) {
        vkt__str child = { 0 };
        vkt__str_printf(&child, "%s/%s", path, names[i]);
        st = vkt__remove_tree(child.data);
        vkt__str_finish(&child);
    }
    vkt__names_free(names, n);
    if (st == VKT_OK && rmdir(path) != 0) st = io_fail("remove", path);
    return st;
}

vkt_status vkt__link(const char *target, const char *path)
{
    unlink(path);
    return symlink(target, path) == 0 ? VKT_OK : io_fail("link", path);
}

vkt_status vkt__list_dir(const char *path, char ***names, size_t *n)
{
    *names = NULL;
    *n = 0;
    DIR *d = vkt__may_open(path) ? opendir(path) : NULL;
    if (!d) return io_fail("open folder", path);
    size_t cap = 0;
    vkt_status st = VKT_OK;
    errno = 0;
    for (struct dirent *e; (e = readdir(d)); errno = 0) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        *names = vkt__grow(*names, *n, &cap, sizeof **names);
        char *copy = vkt__alloc(strlen(e->d_name) + 1);
        (*names)[(*n)++] = strcpy(copy, e->d_name);
    }
    if (errno) st = io_fail("read folder", path);
    closedir(d);
    vkt__names_sort(*names, *n);
    return st;
}

bool vkt__cache_dir(char *out, size_t n)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int len;
    if (xdg && xdg[0] == '/')
        len = snprintf(out, n, "%s/vktrain", xdg);
    else if (home && home[0] == '/')
        len = snprintf(out, n, "%s/.cache/vktrain", home);
    else
        return false;
    if (len < 0 || (size_t)len >= n) return false;
    /* A cache is a convenience: a home that can't be written is no error and no log line. */
    for (char *p = out + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        mkdir(out, 0777);
        *p = '/';
    }
    mkdir(out, 0777);
    return vkt__is_dir(out) && access(out, W_OK) == 0;
}

bool vkt__cache_dir_instead(char *out, size_t n)
{
    struct stat s;
    int len = snprintf(out, n, "/tmp/vktrain-%lu", (unsigned long)geteuid());
    if (len < 0 || (size_t)len >= n) return false;
    mkdir(out, 0700);
    /* Anyone may have made it before: the folder's own entry is looked at, not what it leads to. */
    return lstat(out, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
           (s.st_mode & (S_IRWXG | S_IRWXO)) == 0 && access(out, W_OK | X_OK) == 0;
}
