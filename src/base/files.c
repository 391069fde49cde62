/* Files as the rest of the tree wants them, from what os.h has of each operating system: read
 * whole, replaced whole, on the disk when they say so. */
#include <errno.h>
#include <stdatomic.h>

#include "base/os.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "vktrain's files are little-endian, and so is what it gives a GPU: no big-endian machines"
#endif

static vkt_status tell(const char *area, const char *what, const char *path, const char *why)
{
    char *meant = vkt__aside_meant(path, vkt__pid());
    vkt_status st = vkt__fail(VKT_E_IO, area, "can't %s '%s': %s", what, meant, why);
    free(meant);
    return st;
}

static vkt_status io_fail(const char *what, const char *path)
{
    return tell("file", what, path, strerror(errno));
}

/* A stream may fail without a number. */
vkt_status vkt__write_failed(const char *area, const char *path)
{
    return tell(area, "write", path, errno ? strerror(errno) : "is the disk full?");
}

/* A pipe or a device would be taken for an empty file. */
static vkt_status plain_file(const char *path)
{
    uint64_t id[2];
    vkt__path_kind kind = vkt__path_look(path, id);
    if (kind == VKT__FOLDER)
        return vkt__fail(VKT_E_IO, "file", "can't read '%s': it is not a file", path);
    if (kind != VKT__OTHER) return VKT_OK;
    return vkt__fail(VKT_E_IO, "file",
                     "'%s' is a pipe or a device, which has no size: write it to a file first",
                     path);
}

vkt_status vkt__file_read(const char *path, uint64_t limit, char **data, size_t *n)
{
    vkt_status st = VKT_OK;
    char *p = NULL;
    FILE *f = NULL;
    *data = NULL;
    *n = 0;
    VKT_TRY(vkt__file_open(path, &f));
    int64_t size = vkt__file_size(path);
    if (size < 0) {
        st = io_fail("read", path);
        goto fail;
    }
    if ((uint64_t)size > limit) {
        st = vkt__fail(VKT_E_IO, "file", "'%s' has %lld bytes, more than the %llu that are allowed",
                       path, (long long)size, (unsigned long long)limit);
        goto fail;
    }
    p = malloc((size_t)size + 1);
    if (!p) {
        st = vkt__fail(VKT_E_OOM_HOST, "file", "no memory for the %lld bytes of '%s'",
                       (long long)size, path);
        goto fail;
    }
    if (fread(p, 1, (size_t)size, f) != (size_t)size) {
        st = ferror(f) ? io_fail("read all of", path)
                       : vkt__fail(VKT_E_IO, "file",
                                   "'%s' became shorter while it was read: read it again", path);
        goto fail;
    }
    p[size] = 0;
    *data = p;
    *n = (size_t)size;
    p = NULL;
fail:
    free(p);
    if (f) fclose(f);
    return st;
}

vkt_status vkt__file_read_if(const char *path, uint64_t limit, char **data, size_t *n)
{
    *data = NULL;
    *n = 0;
    if (vkt__is_absent(path)) return VKT_OK;
    vkt__log_hold(true);
    vkt_status st = vkt__file_read(path, limit, data, n);
    vkt__log_hold(false);
    if (st == VKT_E_IO && vkt__is_absent(path)) return VKT_OK; /* it went between */
    return st == VKT_OK ? st : vkt__fail(st, "file", "%s", vkt__last_failure());
}

vkt_status vkt__file_look(const char *path, bool *there)
{
    *there = vkt__file_exists(path);
    return *there || vkt__is_absent(path) ? VKT_OK : io_fail("look at", path);
}

vkt_status vkt__file_create(const char *path, FILE **out)
{
    *out = vkt__fopen(path, "wb");
    return *out ? VKT_OK : io_fail("create", path);
}

vkt_status vkt__file_finish(const char *path, FILE **f)
{
    bool bad = ferror(*f) != 0 || !vkt__file_sync(*f);
    int keep = errno;
    if (fclose(*f) != 0) {
        if (!bad) keep = errno;
        bad = true;
    }
    *f = NULL;
    errno = keep;
    return bad ? io_fail("write", path) : VKT_OK;
}

char *vkt__file_aside(const char *path)
{
    static atomic_uint n_calls;
    vkt__str s = { 0 };
    vkt__str_printf(&s, "%s.tmp%d-%u", path, vkt__pid(), atomic_fetch_add(&n_calls, 1));
    return s.data;
}

/* NAME.tmpPID-N, by a process that is no more. */
static bool is_left_over(const char *name)
{
    const char *at = strstr(name, ".tmp"), *next;
    int pid = 0;
    for (; at && (next = strstr(at + 4, ".tmp")); at = next) {
    }
    size_t n = at ? vkt__aside_suffix(at, &pid) : 0;
    return n && !at[n] && !vkt__pid_runs(pid);
}

vkt_status vkt__asides_remove(const char *dir)
{
    vkt_status st = VKT_OK;
    char **names = NULL;
    size_t n = 0;
    if (vkt__is_absent(dir)) return VKT_OK;
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    for (size_t i = 0; i < n && st == VKT_OK; i++) {
        vkt__str path = { 0 };
        vkt__str_printf(&path, "%s/%s", dir, names[i]);
        if (is_left_over(names[i])) st = vkt__remove_tree(path.data);
        vkt__str_finish(&path);
    }
fail:
    vkt__names_free(names, n);
    return st;
}

void vkt__discard_tree(const char *path)
{
    vkt__log_ignore(true);
    vkt__remove_tree(path);
    vkt__log_ignore(false);
}

/* The folder that holds `path`, in its place; false: path names none. */
static bool to_parent(char *path)
{
    size_t n = strlen(path);
    while (n && path[n - 1] == '/') n--;
    while (n && path[n - 1] != '/') n--;
    while (n > 1 && path[n - 1] == '/') n--;
    path[n] = 0;
    return n > 0;
}

vkt_status vkt__mkdirs_synced(const char *path)
{
    vkt_status st = VKT_OK;
    vkt__str s = { 0 };
    size_t n_new = 0;
    vkt__str_add(&s, path, strlen(path));
    while (vkt__is_absent(s.data)) {
        n_new++;
        if (!to_parent(s.data)) break;
    }
    VKT_TRY(vkt__mkdirs(path));
    s.len = 0;
    vkt__str_add(&s, path, strlen(path));
    while (n_new--) VKT_TRY(vkt__sync_dir(to_parent(s.data) ? s.data : "."));
fail:
    vkt__str_finish(&s);
    return st;
}

vkt_status vkt__file_replace(const char *path, const void *data, size_t n)
{
    return vkt__file_replace_parts(path, &(vkt__file_part) { data, n }, 1);
}

vkt_status vkt__file_replace_parts(const char *path, const vkt__file_part *parts, size_t n)
{
    char *aside = vkt__file_aside(path);
    FILE *f = NULL;
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__file_create(aside, &f));
    for (size_t i = 0; i < n; i++)
        if (parts[i].n) fwrite(parts[i].data, 1, parts[i].n, f);
    VKT_TRY(vkt__file_finish(aside, &f));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    free(aside);
    return st;
}

vkt_status vkt_file_write(const char *path, const void *data, size_t n)
{
    return vkt__file_replace(path, data, n);
}

bool vkt_cache_folder(char *out, size_t n)
{
    return vkt__cache_dir(out, n);
}

vkt_status vkt__link_replace(const char *target, const char *path)
{
    char *aside = vkt__file_aside(path);
    vkt_status st = vkt__link(target, aside);
    if (st == VKT_OK) st = vkt__rename(aside, path);
    free(aside);
    return st == VKT_E_UNSUPPORTED ? vkt__file_replace(path, target, strlen(target)) : st;
}

vkt_status vkt__file_open(const char *path, FILE **out)
{
    *out = NULL;
    vkt_status st = plain_file(path);
    if (st != VKT_OK) return st;
    *out = vkt__fopen(path, "rb");
    return *out ? VKT_OK : io_fail("open", path);
}

vkt_status vkt__file_append(const char *path, FILE **out)
{
    *out = vkt__fopen(path, "ab");
    return *out ? VKT_OK : io_fail("append to", path);
}
