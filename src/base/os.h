/* What operating systems do differently: files, folders, threads, clock, other programs.
 * os_posix.c, or os_win32.c and os_win32_files.c, implement it, files.c what they have in common;
 * nothing else in the library includes a system header. */
#ifndef VKT_BASE_OS_H
#define VKT_BASE_OS_H

#include <stdio.h>

#include "base/words.h"

double vkt__now(void); /* monotonic seconds */
void vkt__sleep_ms(unsigned ms);
void vkt__sleep_us(unsigned us);  /* at least; a millisecond where the system has no shorter */
void vkt__time_iso(char out[32]); /* UTC, 2026-01-31T12:00:00Z */
double vkt__time_unix(void);      /* seconds since 1970 */
double vkt__thread_cpu(void);     /* CPU seconds of the calling thread */
double vkt__process_cpu_s(void);  /* CPU seconds of all threads of this process */
/* CPU seconds that all programs of this machine took, and that a hypervisor took from it, since it
 * was started; NAN: unknown. root: a folder that has proc/stat; "": the system's. */
double vkt__machine_cpu_s(const char *root);
unsigned vkt__cpu_count(void);
uint64_t vkt__ram_bytes(void);
double vkt__load_average(void); /* of the last minute; NAN if unknown */
int vkt__pid(void);
bool vkt__pid_runs(int pid); /* on this machine; true where it can't be told */
void vkt__hostname(char *out, size_t n);

/* Runs a program found by PATH with these arguments (argv[0] its name, NULL at the end), nothing on
 * its input, its stderr discarded, no shell between; its output, cut to n - 1 bytes, into out.
 * False: there is no such program, it failed, or this system's way to do so is not written. */
bool vkt__run_program(const char *const *argv, char *out, size_t n);

/* A library of the system that is loaded while the program runs; NULL: there is none, or this
 * system's way to do so is not written. */
void *vkt__library_open(const char *name);
/* Its function of that name into *out, a function pointer of `bytes`; false: it has none. */
bool vkt__library_find(void *library, const char *name, void *out, size_t bytes);
void vkt__library_close(void **library);

/* "mains", "battery, 63%" or "unknown". */
void vkt__power_source(char *out, size_t n);

/* Environment set before libraries read it; does not overwrite. */
void vkt__setenv_default(const char *name, const char *value);
/* Overwrites; value NULL: takes it away. */
void vkt__setenv(const char *name, const char *value);

/* Whether a path leads into the folders that VKT_WITHIN names (absolute, links followed, a newline
 * between two), so that what a stranger's file names can be neither read nor written elsewhere. It
 * is asked wherever files and folders are opened, made or renamed. True without that variable, and
 * for /sys. False: errno is EPERM. */
bool vkt__may_open(const char *path);
#define VKT__OUTSIDE "it is outside the folders that may be opened (VKT_WITHIN)"

/* Files. Failures log one line with the path and errno's text and return VKT_E_IO. */
bool vkt__file_exists(const char *path);
bool vkt__is_dir(const char *path);
/* The current folder, absolute; NULL: unknown. Caller frees. */
char *vkt__folder_here(void);
/* Nothing is there. False too where it can't be told: then opening it says why. */
bool vkt__is_absent(const char *path);
/* Whether anything is there. IO where that can't be told. */
vkt_status vkt__file_look(const char *path, bool *there);
bool vkt__is_link(const char *path); /* symbolic */
/* What a path leads to, links followed, and which file or folder it is on this machine: two paths
 * with the same id are one. OTHER: pipes, devices, sockets, which reading could wait for. */
typedef enum vkt__path_kind { VKT__ABSENT, VKT__FILE, VKT__FOLDER, VKT__OTHER } vkt__path_kind;
vkt__path_kind vkt__path_look(const char *path, uint64_t id[2]);
int64_t vkt__file_size(const char *path); /* -1 when absent */
/* Whole file, NUL-terminated after *n bytes; refuses files over `limit` bytes. Caller frees. */
vkt_status vkt__file_read(const char *path, uint64_t limit, char **data, size_t *n);
/* The same for a file that need not be there, and that another process may remove at any moment:
 * VKT_OK and *data NULL without it. What can't be looked at is not absent. */
vkt_status vkt__file_read_if(const char *path, uint64_t limit, char **data, size_t *n);
/* A name beside `path` that no other process and no other call has, to write what then takes path's
 * place. Caller frees. */
char *vkt__file_aside(const char *path);
/* Removes what killed processes left under such names in this folder. A folder that is not there is
 * OK. */
vkt_status vkt__asides_remove(const char *dir);
/* Writes beside, syncs, renames over `path`: a reader sees the old or the new file, whole. */
vkt_status vkt__file_replace(const char *path, const void *data, size_t n);
/* The same of parts that lie apart: one after the other. */
typedef struct vkt__file_part {
    const void *data;
    size_t n;
} vkt__file_part;
vkt_status vkt__file_replace_parts(const char *path, const vkt__file_part *parts, size_t n);
/* A file opened for writing, and flushed to disk before close; both report disk-full. */
vkt_status vkt__file_create(const char *path, FILE **out);
vkt_status vkt__file_finish(const char *path, FILE **f);
/* The error of a write to a file that stays open, with errno's reason; `area` is the log's. IO. */
vkt_status vkt__write_failed(const char *area, const char *path);
vkt_status vkt__file_open(const char *path, FILE **out); /* to read */
/* What standard input has, up to n bytes; waits until there is something, and a moment for more of
 * it. *got 0: its end. */
vkt_status vkt__stdin_read(void *dst, size_t n, size_t *got);
vkt_status vkt__file_append(const char *path, FILE **out); /* created if absent */
bool vkt__file_seek(FILE *f, uint64_t offset);             /* from the start; past 2 GiB too */
/* A whole file, read only, as memory that the system pages in. An empty file: data is not NULL, n
 * 0. */
typedef struct vkt__map {
    const void *data;
    size_t n;
} vkt__map;
vkt_status vkt__file_map(const char *path, vkt__map *out);
void vkt__file_unmap(vkt__map *m);
/* The bytes from `from` on before `to` are not read again soon: the system may have their memory
 * back. They stay readable. */
void vkt__map_release(const vkt__map *m, size_t from, size_t to);
FILE *vkt__fopen(const char *path, const char *mode); /* silent; NULL and errno; no folder */
bool vkt__file_sync(FILE *f);                         /* flushed, and on the disk */
void vkt__file_remove(const char *path);              /* silent */
vkt_status vkt__file_truncate(const char *path, uint64_t bytes);
vkt_status vkt__mkdirs(const char *path);
/* The same, and the names of new folders are on the disk too. */
vkt_status vkt__mkdirs_synced(const char *path);
vkt_status vkt__rename(const char *from, const char *to); /* `to` must not be a non-empty folder */
vkt_status vkt__sync_dir(const char *path);
vkt_status vkt__remove_tree(const char *path); /* absent is OK; does not follow links */
/* The same for what a failure leaves behind: the failure was logged already, so this one is not,
 * and is no error. */
void vkt__discard_tree(const char *path);
/* A link at `path` to `target` (relative), in place of a link that is there. UNSUPPORTED, without a
 * word: the system has none. */
vkt_status vkt__link(const char *target, const char *path);
/* The same written aside and renamed; where the system has no links, a text file with the target.
 */
vkt_status vkt__link_replace(const char *target, const char *path);
/* A lock on a file (created if absent) that ends with the process. Held by another: *out is NULL
 * and the status OK. Where the file system has no locks, the lock is given. One a folder: what was
 * locked stays so when the file's name is removed. */
typedef struct vkt__file_lock vkt__file_lock;
vkt_status vkt__lock_take(const char *path, vkt__file_lock **out);
void vkt__lock_release(vkt__file_lock **l);
/* Whether a process holds it. Asking takes it from nobody, and those that ask do not see each
 * other; one that takes it in that moment waits for up to a tenth of a second. */
typedef enum vkt__lock_state {
    VKT__LOCK_FREE,
    VKT__LOCK_HELD,
    VKT__LOCK_UNKNOWN /* another user's file, a file system without locks */
} vkt__lock_state;
vkt__lock_state vkt__lock_ask(const char *path);
/* Names in a folder, sorted, without . and ..; free with vkt__names_free. */
vkt_status vkt__list_dir(const char *path, char ***names, size_t *n);
/* ~/.cache/vktrain or its equivalent (XDG_CACHE_HOME, LOCALAPPDATA); created. False if none. */
bool vkt__cache_dir(char *out, size_t n);
/* Where that is false: /tmp/vktrain-UID, which only this user may enter; created. False where it is
 * another's, a link or open to others, and where the system has no such folder. */
bool vkt__cache_dir_instead(char *out, size_t n);

/* The running program's file; false where the system does not tell. */
bool vkt__own_path(char *out, size_t n);

/* A function of the library at `path`, which stays open; NULL, without a word: there is none. */
typedef void (*vkt__function)(void);
vkt__function vkt__library_function(const char *path, const char *name);

typedef struct vkt__thread vkt__thread;
typedef struct vkt__mutex vkt__mutex;
typedef struct vkt__cond vkt__cond;
vkt_status vkt__thread_start(void (*fn)(void *), void *arg, vkt__thread **out);
void vkt__thread_join(vkt__thread **t);
vkt__mutex *vkt__mutex_create(void);
void vkt__mutex_destroy(vkt__mutex **m);
void vkt__mutex_lock(vkt__mutex *m);
void vkt__mutex_unlock(vkt__mutex *m);
vkt__cond *vkt__cond_create(void);
void vkt__cond_destroy(vkt__cond **c);
void vkt__cond_wait(vkt__cond *c, vkt__mutex *m);
void vkt__cond_broadcast(vkt__cond *c);

#endif
