/* jpeg.h. Types and numbers as libjpeg-turbo's turbojpeg.h declares them. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/os.h"
#include "data/pictures/jpeg.h"

enum { RGB = 0, GREY = 6, IS_GREY = 2, FROM_CMYK = 3, ACCURATE_DCT = 4096, LIMIT_SCANS = 32768 };

typedef void *(*init_decompress)(void);
typedef int (*decompress_header)(void *handle, const uint8_t *p, unsigned long n, int *w, int *h,
                                 int *subsampling, int *colorspace);
typedef int (*decompress)(void *handle, const uint8_t *p, unsigned long n, uint8_t *out, int w,
                          int pitch, int h, int format, int flags);
typedef int (*destroy)(void *handle);

enum { INIT, HEADER, DECODE, DESTROY, N_FUNCTIONS };

/* Looked for once: a library that is not there costs a walk through folders. */
static vkt__function function(int which)
{
    static const char *const names[N_FUNCTIONS] = { "tjInitDecompress", "tjDecompressHeader3",
                                                    "tjDecompress2", "tjDestroy" },
                             *const libraries[] = { "libturbojpeg.so.0", "libturbojpeg.0.dylib" };
    static _Atomic(vkt__function) known[N_FUNCTIONS];
    static atomic_bool absent;
    vkt__function f = atomic_load(&known[which]);
    for (size_t i = 0; !f && !atomic_load(&absent) && i < VKT_COUNT(libraries); i++)
        f = vkt__library_function(libraries[i], names[which]);
    atomic_store(&known[which], f);
    if (!f) atomic_store(&absent, true);
    return f;
}

bool vkt__jpeg_can(void)
{
    for (int k = 0; k < N_FUNCTIONS; k++)
        if (!function(k)) return false;
    return true;
}

/* Into how many parts each axis of n pixels may be cut, so that `least` are left. */
static int divisor(int w, int h, uint32_t least_w, uint32_t least_h)
{
    int d = 8;
    if (!least_w || !least_h) return 1;
    for (; d > 1; d /= 2)
        if ((uint32_t)((w + d - 1) / d) >= least_w && (uint32_t)((h + d - 1) / d) >= least_h) break;
    return d;
}

bool vkt__jpeg_decode(const uint8_t *p, size_t n, uint32_t least_w, uint32_t least_h, int *w,
                      int *h, int *have, uint8_t **out)
{
    int subsampling, space, wide, high;
    *out = NULL;
    if (!vkt__jpeg_can() || n > UINT32_MAX) return false;
    void *handle = ((init_decompress)function(INIT))();
    if (!handle) return false;
    bool ok = !((decompress_header)function(HEADER))(handle, p, (unsigned long)n, &wide, &high,
                                                     &subsampling, &space) &&
              space < FROM_CMYK && wide > 0 && high > 0;
    if (ok) {
        int d = divisor(wide, high, least_w, least_h);
        *w = (wide + d - 1) / d;
        *h = (high + d - 1) / d;
        *have = space == IS_GREY ? 1 : 3;
        *out = malloc((size_t)*w * (size_t)*h * (size_t)*have);
        ok = *out &&
             !((decompress)function(DECODE))(handle, p, (unsigned long)n, *out, *w, 0, *h,
                                             *have == 1 ? GREY : RGB, ACCURATE_DCT | LIMIT_SCANS);
    }
    ((destroy)function(DESTROY))(handle);
    if (ok) return true;
    free(*out);
    *out = NULL;
    return false;
}
