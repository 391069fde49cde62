/* LD_PRELOAD shim: the N-th allocation or file call of the program fails. Settings, all from the
 * environment:
 *
 * IOFAULT: CALL:N:ERRNO, or several with commas. CALL: malloc (with calloc, realloc,
 *   aligned_alloc), fopen, open, fsync, rename, symlink, mkdir, unlink, flock, mmap, truncate,
 *   opendir, readdir, fclose, fflush, fwrite (a short count), fprintf (with fputs, fputc,
 * vfprintf), fread, fgets, stat (with lstat), access, remove (with rmdir), pthread_create. "N+":
 * every one from the N-th on. ERRNO: ENOMEM ENOSPC EIO EMFILE EACCES EINTR EDQUOT EROFS EAGAIN
 * EXDEV; KILL: the process is killed before the call; CRASH: the machine is: what was not synced is
 * gone too (files end where they ended when last synced; names are kept); GONE, of fopen: another
 * process removes the file first.
 *
 * IOFAULT_FROM=a,b: only calls whose return address lies in an object with this at the beginning of
 *   its file name (default: vktrain, so that a driver's own calls are left alone).
 *
 * IOFAULT_TO=ENDING: of fopen and renames only those of a path that ends so, whatever other threads
 * rename.
 *
 * IOFAULT_ORDER=FILE: "sync PATH" and "rename FROM TO" lines, in order, of the calls that worked.
 *
 * IOFAULT_SITES=FILE: at exit "CALL N" lines: the first call from each place that calls, told apart
 *   by the callers above it, so that a sweep need not fail each of a loop's.
 *
 * IOFAULT_COUNT=FILE: at exit "CALL COUNT" lines. IOFAULT_TRACE=1: a line when a fault fires, with
 *   the caller's offset; 2: all callers'.
 *
 * IOFAULT_FORK=CALL:ERRNO+ERRNO,...: the process forks at the first call from each place, for each
 *   ERRNO, and the child's call fails: fork_at.c.
 *
 * What libc does inside itself (the write of an fwrite) does not pass here. */
#define _GNU_SOURCE
#include "fork_at.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);

enum {
    MALLOC,
    FOPEN,
    OPEN,
    FSYNC,
    RENAME,
    SYMLINK,
    MKDIR,
    UNLINK,
    FLOCK,
    MMAP,
    TRUNCATE,
    OPENDIR,
    READDIR,
    FCLOSE,
    FFLUSH,
    FWRITE,
    FPRINTF,
    FREAD,
    FGETS,
    STAT,
    ACCESS,
    REMOVE,
    PTHREAD,
    N
};
static const char *const names[] = { "malloc",   "fopen",   "open",          "fsync",  "rename",
                                     "symlink",  "mkdir",   "unlink",        "flock",  "mmap",
                                     "truncate", "opendir", "readdir",       "fclose", "fflush",
                                     "fwrite",   "fprintf", "fread",         "fgets",  "stat",
                                     "access",   "remove",  "pthread_create" };
enum { E_KILL = -1, E_CRASH = -2, E_GONE = -3 };
static const struct {
    const char *n;
    int e;
} errs[] = { { "ENOMEM", ENOMEM }, { "ENOSPC", ENOSPC }, { "EIO", EIO },       { "EMFILE", EMFILE },
             { "EACCES", EACCES }, { "EINTR", EINTR },   { "EDQUOT", EDQUOT }, { "EROFS", EROFS },
             { "EAGAIN", EAGAIN }, { "EXDEV", EXDEV },   { "KILL", E_KILL },   { "CRASH", E_CRASH },
             { "GONE", E_GONE } };
static struct {
    int call, open_ended, err;
    long n;
} faults[16];
static int n_faults, trace;
static const char *from = "vktrain";
static atomic_long counts[N];
static atomic_int ready;
static _Thread_local int inside;
enum { MAX_SITES = 1 << 14, FRAMES = 12 };
static struct {
    uint64_t key;
    int call;
    long n;
} sites[MAX_SITES];
static int sites_wanted, watching; /* watching: any call is counted, noted or fails */
static const char *forks;          /* IOFAULT_FORK */
static pthread_mutex_t sites_lock = PTHREAD_MUTEX_INITIALIZER;
/* Whether nothing like it called before. */
static int note_site(int call, long n)
{
    int is_new = 0;
    void *frames[FRAMES];
    int depth = backtrace(frames, FRAMES);
    uint64_t key = 14695981039346656037u + (uint64_t)call;
    for (int i = 0; i < depth; i++) key = (key ^ (uintptr_t)frames[i]) * 1099511628211u;
    pthread_mutex_lock(&sites_lock);
    for (int probe = 0; probe < MAX_SITES; probe++) {
        int i = (int)((key + (uint64_t)probe) % MAX_SITES);
        if (sites[i].n && sites[i].key == key) break;
        if (sites[i].n) continue;
        sites[i].key = key, sites[i].call = call, sites[i].n = n;
        is_new = 1;
        break;
    }
    pthread_mutex_unlock(&sites_lock);
    return is_new;
}

enum { PAGE_BYTES = 4096, N_SEEN = 1 << 13, MINE = 1, OTHERS = 2 };
static _Atomic(uintptr_t) seen[N_SEEN]; /* pages of code that called, each with whose it is */

__attribute__((constructor)) static void configure(void)
{
    inside = 1;
    char *spec = getenv("IOFAULT") ? strdup(getenv("IOFAULT")) : NULL, *save = NULL;
    trace = getenv("IOFAULT_TRACE") ? atoi(getenv("IOFAULT_TRACE")) : 0;
    if (getenv("IOFAULT_FROM")) from = strdup(getenv("IOFAULT_FROM"));
    for (char *p = spec ? strtok_r(spec, ",", &save) : NULL; p && n_faults < 16;
         p = strtok_r(NULL, ",", &save)) {
        char call[32], err[32], *end, num[32];
        if (sscanf(p, "%31[^:]:%31[^:]:%31s", call, num, err) != 3) continue;
        faults[n_faults].call = -1;
        for (int i = 0; i < N; i++)
            if (!strcmp(call, names[i])) faults[n_faults].call = i;
        for (size_t i = 0; i < sizeof errs / sizeof *errs; i++)
            if (!strcmp(err, errs[i].n)) faults[n_faults].err = errs[i].e;
        faults[n_faults].n = strtol(num, &end, 10);
        faults[n_faults++].open_ended = *end == '+';
    }
    free(spec);
    forks = getenv("IOFAULT_FORK");
    sites_wanted = forks || getenv("IOFAULT_SITES");
    watching = n_faults || sites_wanted || getenv("IOFAULT_COUNT");
    inside = 0;
    ready = 1;
}
__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("IOFAULT_COUNT");
    inside = 1;
    FILE *f = path ? fopen(path, "w") : NULL;
    for (int i = 0; f && i < N; i++)
        if (counts[i]) fprintf(f, "%s %ld\n", names[i], counts[i]);
    if (f) fclose(f);
    f = getenv("IOFAULT_SITES") ? fopen(getenv("IOFAULT_SITES"), "w") : NULL;
    for (int i = 0; f && i < MAX_SITES; i++)
        if (sites[i].n) fprintf(f, "%s %ld\n", names[sites[i].call], sites[i].n);
    if (f) fclose(f);
    inside = 0;
}
static int match(const char *file)
{
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    for (const char *p = from; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (!strncmp(base, p, strcspn(p, ","))) return 1;
    return 0;
}
static int mine(const void *ra)
{
    Dl_info d;
    uintptr_t page = (uintptr_t)ra & ~(uintptr_t)(PAGE_BYTES - 1);
    _Atomic(uintptr_t) *at = &seen[page / PAGE_BYTES % N_SEEN];
    uintptr_t known = *at;
    if ((known & ~(uintptr_t)(PAGE_BYTES - 1)) == page) return known & MINE;
    int m = dladdr(ra, &d) && d.dli_fname && match(d.dli_fname);
    *at = page | (m ? MINE : OTHERS);
    return m;
}
static void crash(int lose);
static void moved(const char *old, const char *copy);
/* In a child that IOFAULT_FORK asks for: how its call fails. */
static int forked(int call, long n)
{
    size_t length = strlen(names[call]);
    const char *p = forks;
    while (p && (strncmp(p, names[call], length) != 0 || p[length] != ':'))
        p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL;
    for (p = p ? p + length : NULL; p && (*p == ':' || *p == '+');) {
        size_t of = strcspn(++p, "+,");
        for (size_t i = 0; i < sizeof errs / sizeof *errs; i++)
            if (strlen(errs[i].n) == of && !strncmp(errs[i].n, p, of) &&
                vkt_fork_at(names[call], n, errs[i].n, moved)) {
                forks = NULL, watching = 0;
                return errs[i].e;
            }
        p += of;
    }
    return 0;
}
static int fails(int call, const void *ra)
{
    if (!ready || inside || !watching) return 0;
    inside = 1;
    int e = 0;
    if (mine(ra)) {
        long c = atomic_fetch_add(&counts[call], 1) + 1;
        if (sites_wanted && note_site(call, c) && forks) e = forked(call, c);
        for (int i = 0; i < n_faults; i++)
            if (faults[i].call == call &&
                (c == faults[i].n || (faults[i].open_ended && c > faults[i].n)))
                e = faults[i].err;
        Dl_info d;
        if (e && trace && dladdr(ra, &d)) {
            char line[160];
            int n =
                snprintf(line, sizeof line,
                         "iofault: %s no. %ld fails (%s), called from %s+0x%lx\n", names[call], c,
                         e == E_GONE ? "it is removed"
                         : e < 0     ? "killed"
                                     : strerror(e),
                         strrchr(d.dli_fname, '/') ? strrchr(d.dli_fname, '/') + 1 : d.dli_fname,
                         (unsigned long)((const char *)ra - (const char *)d.dli_fbase));
            if (write(2, line, (size_t)n) < 0) e = e;
            void *frames[40];
            if (trace > 1) backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
        }
        if (e == E_KILL || e == E_CRASH) crash(e == E_CRASH);
    }
    inside = 0;
    return e;
}
/* Files written by this process, and how many bytes of each a loss of power would leave. */
enum { MAX_WRITTEN = 512 };
static struct {
    char path[512];
    off_t kept;
} written[MAX_WRITTEN];
static pthread_mutex_t written_lock = PTHREAD_MUTEX_INITIALIZER;
static int path_of(int fd, char *path, size_t size)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, size - 1);
    if (n > 0) path[n] = 0;
    return n > 0 && path[0] == '/';
}
/* `synced`: now; else the file was opened to be written, and what it has was there before. */
static void note_written(int fd, int synced)
{
    char path[512];
    struct stat st;
    int e = errno, free_at = -1;
    if (!inside && path_of(fd, path, sizeof path) && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        pthread_mutex_lock(&written_lock);
        for (int i = 0; i < MAX_WRITTEN; i++) {
            if (!written[i].path[0] && free_at < 0) free_at = i;
            if (strcmp(written[i].path, path) != 0) continue;
            if (synced || st.st_size < written[i].kept) written[i].kept = st.st_size;
            free_at = -2;
            break;
        }
        if (free_at >= 0) strcpy(written[free_at].path, path), written[free_at].kept = st.st_size;
        pthread_mutex_unlock(&written_lock);
    }
    errno = e;
}
/* A file or a folder has another name, or none. */
static void note_renamed(const char *a, const char *b)
{
    char cwd[256], from_path[512], to[512] = "", rest[512];
    int e = errno;
    if (!getcwd(cwd, sizeof cwd)) return;
    snprintf(from_path, sizeof from_path, "%.255s%s%.255s", *a == '/' ? "" : cwd,
             *a == '/' ? "" : "/", a);
    if (b) snprintf(to, sizeof to, "%.255s%s%.255s", *b == '/' ? "" : cwd, *b == '/' ? "" : "/", b);
    size_t n = strlen(from_path);
    pthread_mutex_lock(&written_lock);
    for (int i = 0; b && i < MAX_WRITTEN; i++)
        if (!strcmp(written[i].path, to)) written[i].path[0] = 0;
    for (int i = 0; i < MAX_WRITTEN; i++) {
        char *path = written[i].path;
        if (strncmp(path, from_path, n) != 0 || (path[n] && path[n] != '/')) continue;
        strcpy(rest, path + n);
        if (strlen(to) + strlen(rest) >= sizeof written[i].path) continue;
        if (b)
            snprintf(path, sizeof written[i].path, "%.255s%.255s", to, rest);
        else
            *path = 0;
    }
    pthread_mutex_unlock(&written_lock);
    errno = e;
}
static void crash(int lose)
{
    for (int i = 0; lose && i < MAX_WRITTEN; i++) {
        struct stat st;
        if (written[i].path[0] && stat(written[i].path, &st) == 0 && st.st_size > written[i].kept &&
            truncate(written[i].path, written[i].kept) != 0)
            perror(written[i].path);
    }
    kill(getpid(), SIGKILL);
}

static void moved(const char *old, const char *copy)
{
    char rest[512];
    size_t n = strlen(old);
    for (int i = 0; i < MAX_WRITTEN; i++) {
        if (strncmp(written[i].path, old, n) != 0 || written[i].path[n] != '/') continue;
        strcpy(rest, written[i].path + n);
        snprintf(written[i].path, sizeof written[i].path, "%.200s%.300s", copy, rest);
    }
}

/* A line of IOFAULT_ORDER. */
static void in_order(const char *call, const char *a, const char *b)
{
    const char *path = getenv("IOFAULT_ORDER");
    if (!path || !ready || inside) return;
    int e = errno;
    inside = 1;
    FILE *f = fopen(path, "a");
    if (f) fprintf(f, "%s %s%s%s\n", call, a, *b ? " " : "", b), fclose(f);
    inside = 0;
    errno = e;
}
#define RA __builtin_return_address(0)
#define REAL(f)                                                                                    \
    static __typeof__(&f) real;                                                                    \
    if (!real) real = (__typeof__(&f))dlsym(RTLD_NEXT, #f)
/* As libc does: a failed stream stays marked, ferror() sees it. */
static void mark(FILE *f)
{
    f->_flags |= 0x20; /* glibc's _IO_ERR_SEEN */
}
#define FAIL_STREAM(call, f, value)                                                                \
    do {                                                                                           \
        int e_ = fails(call, RA);                                                                  \
        if (e_) {                                                                                  \
            mark(f);                                                                               \
            errno = e_;                                                                            \
            return value;                                                                          \
        }                                                                                          \
    } while (0)
#define FAIL(call, value)                                                                          \
    do {                                                                                           \
        int e_ = fails(call, RA);                                                                  \
        if (e_) {                                                                                  \
            errno = e_;                                                                            \
            return value;                                                                          \
        }                                                                                          \
    } while (0)

void *malloc(size_t n)
{
    FAIL(MALLOC, NULL);
    return __libc_malloc(n);
}
void *calloc(size_t a, size_t b)
{
    FAIL(MALLOC, NULL);
    return __libc_calloc(a, b);
}
void *realloc(void *p, size_t n)
{
    if (n) FAIL(MALLOC, NULL);
    return __libc_realloc(p, n);
}
void *aligned_alloc(size_t a, size_t n)
{
    FAIL(MALLOC, NULL);
    return __libc_memalign(a, n);
}
/* Whether p ends as IOFAULT_TO says, or that says nothing. */
static int is_meant(const char *p)
{
    const char *to = getenv("IOFAULT_TO");
    size_t n = strlen(p), ending = to ? strlen(to) : 0;
    return n >= ending && (!to || !strcmp(p + n - ending, to));
}

FILE *fopen(const char *p, const char *m)
{
    REAL(fopen);
    int e = is_meant(p) ? fails(FOPEN, RA) : 0;
    if (e == E_GONE) remove(p), e = ENOENT;
    if (e) return errno = e, NULL;
    FILE *f = real(p, m);
    if (f && (*m != 'r' || strchr(m, '+'))) note_written(fileno(f), 0);
    return f;
}
int fsync(int fd)
{
    REAL(fsync);
    FAIL(FSYNC, -1);
    char path[512];
    int r = real(fd);
    if (r == 0 && path_of(fd, path, sizeof path)) in_order("sync", path, "");
    if (r == 0) note_written(fd, 1);
    return r;
}
int rename(const char *a, const char *b)
{
    REAL(rename);
    if (is_meant(b)) FAIL(RENAME, -1);
    int r = real(a, b);
    if (r == 0) in_order("rename", a, b), note_renamed(a, b);
    return r;
}
int symlink(const char *a, const char *b)
{
    REAL(symlink);
    FAIL(SYMLINK, -1);
    return real(a, b);
}
int mkdir(const char *p, mode_t m)
{
    REAL(mkdir);
    FAIL(MKDIR, -1);
    return real(p, m);
}
int unlink(const char *p)
{
    REAL(unlink);
    FAIL(UNLINK, -1);
    int r = real(p);
    if (r == 0) note_renamed(p, NULL);
    return r;
}
int remove(const char *p)
{
    REAL(remove);
    FAIL(REMOVE, -1);
    int r = real(p);
    if (r == 0) note_renamed(p, NULL);
    return r;
}
int rmdir(const char *p)
{
    REAL(rmdir);
    FAIL(REMOVE, -1);
    return real(p);
}
int stat(const char *p, struct stat *st)
{
    REAL(stat);
    FAIL(STAT, -1);
    return real(p, st);
}
int lstat(const char *p, struct stat *st)
{
    REAL(lstat);
    FAIL(STAT, -1);
    return real(p, st);
}
int access(const char *p, int mode)
{
    REAL(access);
    FAIL(ACCESS, -1);
    return real(p, mode);
}
struct dirent *readdir(DIR *d)
{
    REAL(readdir);
    FAIL(READDIR, NULL);
    return real(d);
}
char *fgets(char *s, int n, FILE *f)
{
    REAL(fgets);
    FAIL_STREAM(FGETS, f, NULL);
    return real(s, n, f);
}
int vfprintf(FILE *f, const char *format, va_list ap)
{
    REAL(vfprintf);
    if (f != stdout && f != stderr) FAIL_STREAM(FPRINTF, f, -1);
    return real(f, format, ap);
}
int fprintf(FILE *f, const char *format, ...)
{
    REAL(vfprintf);
    if (f != stdout && f != stderr) FAIL_STREAM(FPRINTF, f, -1);
    va_list ap;
    va_start(ap, format);
    int n = real(f, format, ap);
    va_end(ap);
    return n;
}
int fputs(const char *s, FILE *f)
{
    REAL(fputs);
    if (f != stdout && f != stderr) FAIL_STREAM(FPRINTF, f, EOF);
    return real(s, f);
}
int fputc(int c, FILE *f)
{
    REAL(fputc);
    if (f != stdout && f != stderr) FAIL_STREAM(FPRINTF, f, EOF);
    return real(c, f);
}
int flock(int fd, int op)
{
    REAL(flock);
    FAIL(FLOCK, -1);
    return real(fd, op);
}
int truncate(const char *p, off_t n)
{
    REAL(truncate);
    FAIL(TRUNCATE, -1);
    return real(p, n);
}
DIR *opendir(const char *p)
{
    REAL(opendir);
    FAIL(OPENDIR, NULL);
    return real(p);
}
void *mmap(void *a, size_t n, int p, int f, int fd, off_t o)
{
    REAL(mmap);
    if (fd >= 0) FAIL(MMAP, MAP_FAILED);
    return real(a, n, p, f, fd, o);
}
int fclose(FILE *f)
{
    REAL(fclose);
    int e = fails(FCLOSE, RA), r = real(f);
    if (e) errno = e;
    return e ? EOF : r;
}
int fflush(FILE *f)
{
    REAL(fflush);
    if (f && f != stdout && f != stderr) FAIL_STREAM(FFLUSH, f, EOF);
    return real(f);
}
size_t fwrite(const void *p, size_t s, size_t n, FILE *f)
{
    REAL(fwrite);
    if (f != stdout && f != stderr) FAIL_STREAM(FWRITE, f, n ? n / 2 : 0);
    return real(p, s, n, f);
}
size_t fread(void *p, size_t s, size_t n, FILE *f)
{
    REAL(fread);
    FAIL_STREAM(FREAD, f, 0);
    return real(p, s, n, f);
}
int open(const char *p, int flags, ...)
{
    REAL(open);
    va_list ap;
    va_start(ap, flags);
    mode_t m = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    FAIL(OPEN, -1);
    int fd = real(p, flags, m);
    if (fd >= 0 && flags & (O_WRONLY | O_RDWR)) note_written(fd, 0);
    return fd;
}
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
    REAL(pthread_create);
    int e = fails(PTHREAD, RA);
    return e ? e : real(t, a, f, arg);
}
