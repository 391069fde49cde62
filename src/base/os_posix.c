/* os.h for POSIX systems: time, the machine, threads, other programs. */
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE /* getloadavg, the number of processors */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <crt_externs.h>
#endif

#include "base/log_thread.h"
#include "base/os.h"

static double seconds(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double vkt__now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double vkt__time_unix(void)
{
    return seconds(CLOCK_REALTIME);
}

double vkt__thread_cpu(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

double vkt__process_cpu_s(void)
{
    return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

double vkt__machine_cpu_s(const char *root)
{
    char path[512];
    double user, nice, system, idle, wait, irq, soft, steal, hz = (double)sysconf(_SC_CLK_TCK);
    snprintf(path, sizeof path, "%s/proc/stat", root);
    FILE *f = fopen(path, "r");
    bool ok = f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
                          &wait, &irq, &soft, &steal) == 8; /* digits only: no locale's business */
    if (f) fclose(f);
    return ok && hz > 0 ? (user + nice + system + irq + soft + steal) / hz : NAN;
}

void vkt__sleep_ms(unsigned ms)
{
    struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000L };
    nanosleep(&t, NULL);
}

void vkt__sleep_us(unsigned us)
{
    struct timespec t = { us / 1000000, (long)(us % 1000000) * 1000L };
    nanosleep(&t, NULL);
}

void vkt__time_iso(char out[32])
{
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

unsigned vkt__cpu_count(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

double vkt__load_average(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : NAN;
}

/* The first line of a small file of /sys; "" if there is none. */
static void sys_line(const char *dir, const char *name, const char *file, char out[64])
{
    char path[512];
    out[0] = 0;
    if (snprintf(path, sizeof path, "%s/%s/%s", dir, name, file) >= (int)sizeof path) return;
    FILE *f = fopen(path, "r");
    if (!f) return;
    if (!fgets(out, 64, f)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(f);
}

/* Linux's power supplies; a peripheral's battery (scope Device) is not the machine's. */
void vkt__power_source(char *out, size_t n)
{
    static const char dir[] = "/sys/class/power_supply";
    char type[64], text[64], level[64];
    bool mains = false, battery = false;
    snprintf(out, n, "unknown");
    DIR *d = opendir(dir);
    if (!d) return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        sys_line(dir, e->d_name, "scope", text);
        if (!strcmp(text, "Device")) continue;
        sys_line(dir, e->d_name, "type", type);
        sys_line(dir, e->d_name, "online", text);
        if (strcmp(type, "Battery") != 0 && !strcmp(text, "1")) mains = true;
        sys_line(dir, e->d_name, "status", text);
        if (!strcmp(type, "Battery") && !strcmp(text, "Discharging") && !battery) {
            sys_line(dir, e->d_name, "capacity", level);
            snprintf(out, n, "battery%s%.8s%s", *level ? ", " : "", level, *level ? "%" : "");
            battery = true;
        }
    }
    closedir(d);
    if (mains && !battery) snprintf(out, n, "mains");
}

void *vkt__library_open(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

bool vkt__library_find(void *library, const char *name, void *out, size_t bytes)
{
    void *f = dlsym(library, name);
    if (!f || bytes != sizeof f) return false;
    memcpy(out, &f, bytes);
    return true;
}

void vkt__library_close(void **library)
{
    if (*library) dlclose(*library);
    *library = NULL;
}

uint64_t vkt__ram_bytes(void)
{
    return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
}

int vkt__pid(void)
{
    return (int)getpid();
}

bool vkt__pid_runs(int pid)
{
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

void vkt__hostname(char *out, size_t n)
{
    if (gethostname(out, n) != 0) snprintf(out, n, "unknown");
    out[n - 1] = 0;
}

void vkt__setenv_default(const char *name, const char *value)
{
    setenv(name, value, 0);
}

void vkt__setenv(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

struct vkt__thread {
    pthread_t id;
    void (*fn)(void *);
    void *arg;
    vkt__log_thread log; /* its starter's, then its own */
};
struct vkt__mutex {
    pthread_mutex_t m;
};
struct vkt__cond {
    pthread_cond_t c;
};

static void *thread_main(void *p)
{
    vkt__thread *t = p;
    vkt__log_begin(&t->log);
    t->fn(t->arg);
    t->log = vkt__log_of_thread();
    return NULL;
}

vkt_status vkt__thread_start(void (*fn)(void *), void *arg, vkt__thread **out)
{
    vkt__thread *t = vkt__alloc(sizeof *t);
    t->fn = fn;
    t->arg = arg;
    t->log = vkt__log_of_thread();
    /* Signals go to the main thread only. */
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int err = pthread_create(&t->id, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err) {
        free(t);
        return vkt__fail(VKT_E_OOM_HOST, "os", "can't start a thread: %s", strerror(err));
    }
    *out = t;
    return VKT_OK;
}

void vkt__thread_join(vkt__thread **t)
{
    if (!*t) return;
    pthread_join((*t)->id, NULL);
    vkt__log_joined(&(*t)->log);
    free(*t);
    *t = NULL;
}

vkt__mutex *vkt__mutex_create(void)
{
    vkt__mutex *m = vkt__alloc(sizeof *m);
    pthread_mutex_init(&m->m, NULL);
    return m;
}

void vkt__mutex_destroy(vkt__mutex **m)
{
    if (!*m) return;
    pthread_mutex_destroy(&(*m)->m);
    free(*m);
    *m = NULL;
}

void vkt__mutex_lock(vkt__mutex *m)
{
    pthread_mutex_lock(&m->m);
}

void vkt__mutex_unlock(vkt__mutex *m)
{
    pthread_mutex_unlock(&m->m);
}

vkt__cond *vkt__cond_create(void)
{
    vkt__cond *c = vkt__alloc(sizeof *c);
    pthread_cond_init(&c->c, NULL);
    return c;
}

void vkt__cond_destroy(vkt__cond **c)
{
    if (!*c) return;
    pthread_cond_destroy(&(*c)->c);
    free(*c);
    *c = NULL;
}

void vkt__cond_wait(vkt__cond *c, vkt__mutex *m)
{
    pthread_cond_wait(&c->c, &m->m);
}

void vkt__cond_broadcast(vkt__cond *c)
{
    pthread_cond_broadcast(&c->c);
}

/* ---- other programs ---- */

#ifdef __APPLE__ /* a shared library of macOS has no environ */
#define environ (*_NSGetEnviron())
#else
extern char **environ;
#endif

static bool spawn(const char *const *argv, int output, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    if (posix_spawn_file_actions_init(&files) != 0) return false;
    bool ok = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_adddup2(&files, output, 1) == 0 &&
              posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawnp(pid, argv[0], &files, NULL, (char *const *)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    return ok;
}

bool vkt__own_path(char *out, size_t n)
{
    ssize_t got = readlink("/proc/self/exe", out, n);
    if (got <= 0 || (size_t)got >= n) return false;
    out[got] = 0;
    return true;
}

bool vkt__run_program(const char *const *argv, char *out, size_t n)
{
    int ends[2], status = 1;
    pid_t pid = 0;
    size_t at = 0;
    char rest[4096];
    if (pipe(ends) != 0) return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    bool ok = spawn(argv, ends[1], &pid);
    close(ends[1]);
    for (ssize_t got = 1; ok && got != 0;) {
        /* What does not fit is read too: the program may not be left waiting. */
        bool fits = at + 1 < n;
        got = read(ends[0], fits ? out + at : rest, fits ? n - 1 - at : sizeof rest);
        if (got < 0 && errno != EINTR) break;
        if (got > 0 && fits) at += (size_t)got;
    }
    close(ends[0]);
    out[at] = 0;
    while (ok && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
