/* `gpu` is the one device of a test program. Programs that need a lesser one open it again. */
#ifndef VKT_TESTS_ONE_DEVICE_H
#define VKT_TESTS_ONE_DEVICE_H

#include "on_device.h"
#include "testing.h"

static vkt_gpu *gpu;

/* more_cap: as for test_gpu_desc. */
static bool open_gpu(const char *more_cap)
{
    vkt_gpu_desc desc = test_gpu_desc(more_cap);
    return vkt_gpu_create(&desc, &gpu) == VKT_OK;
}

/* The last of a group: all calls so far pleased the validation layer. */
static void validation_is_silent(void **state)
{
    (void)state;
    assert_int_equal(vkt_gpu_get_stats(gpu).n_validation, 0);
}

#endif
