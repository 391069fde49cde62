/* The device that a test runs on: VKT_DEVICE, less what VKT_TEST_CAP takes away, checked by the
 * validation layer where VKT_TEST_VALIDATE is set. */
#ifndef VKT_TESTS_ON_DEVICE_H
#define VKT_TESTS_ON_DEVICE_H

#include <stdio.h>
#include <stdlib.h>

#include "vktrain/gpu.h"

/* more_cap: taken away too, "" or "memory=1048576". The text is good until the next call. */
static inline vkt_gpu_desc test_gpu_desc(const char *more_cap)
{
    static char cap[256];
    const char *env = getenv("VKT_TEST_CAP");
    snprintf(cap, sizeof cap, "%s%s%s", env ? env : "", env && *env && *more_cap ? "," : "",
             more_cap);
    return (vkt_gpu_desc) { .cap = cap,
                            .validate = getenv("VKT_TEST_VALIDATE") != NULL,
                            .no_cache = true };
}

#endif
