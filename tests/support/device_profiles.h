/* GPUs that are not here, as tests/files/devices describes them. */
#ifndef VKT_TESTS_DEVICE_PROFILES_H
#define VKT_TESTS_DEVICE_PROFILES_H

#include "testing.h"

#include "gpu/commands.h"

static const char *const devices[] = { "h100",        "h200",    "rtx-4090",    "rtx-2060",
                                       "rx-7900-xtx", "rx-6600", "radeon-780m", "arc-b580",
                                       "arc-a770",    "iris-xe" };

static void read_device(const char *name, vkt_caps *caps)
{
    char path[512];
    snprintf(path, sizeof path, "%s/files/devices/%s.json", test_dir(), name);
    REQUIRE_OK(vkt__caps_read_profile(path, caps));
}

#endif
