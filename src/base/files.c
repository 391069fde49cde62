/* Files as the rest of the tree wants them, from what os.h has of each operating system: read
 * whole, replaced whole, on the disk when they say so. */
#include <errno.h>
#include <stdatomic.h>

#include "base/os.h"

static vkt_status io_fail(const char *what, const char *path)
{
    return vkt__fail(VKT_E_IO, "file", "can't %s '%s': %s", what, path, strerror(errno));
}

vkt_status vkt__file_read(const char *path, uint64_t limit, char **data, size_t *n)
{
    vkt_status st = VKT_OK;
    char *p = NULL;
    FILE *f = NULL;
    *data = NULL;
    *n = 0;
    if (vkt__is_dir(path))
        return vkt__fail(VKT_E_IO, "file", "can't read '%s': it is not a file", path);
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
        st = io_fail("read all of", path);
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

vkt_status vkt__file_replace(const char *path, const void *data, size_t n)
{
    char *aside = vkt__file_aside(path);
    FILE *f = NULL;
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__file_create(aside, &f));
    if (n) fwrite(data, 1, n, f);
    VKT_TRY(vkt__file_finish(aside, &f));
    VKT_TRY(vkt__rename(aside, path));
fail:
    if (st != VKT_OK) vkt__file_remove(aside);
    free(aside);
    return st;
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
    *out = vkt__fopen(path, "rb");
    return *out ? VKT_OK : io_fail("open", path);
}

vkt_status vkt__file_append(const char *path, FILE **out)
{
    *out = vkt__fopen(path, "ab");
    return *out ? VKT_OK : io_fail("append to", path);
}
