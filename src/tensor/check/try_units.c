/* The other process of gpu/apart.h: opens the device as its parent did, tries the kernels, and says
 * how far it got. */
#include <signal.h>
#include <stdlib.h>

#include "base/words.h"
#include "gpu/apart.h"
#include "tensor/check/units.h"

/* PROGRAM try-units TYPE DEVICE MATH CAP FOLDER */
bool vkt_helper_main(int argc, char **argv, void (*say)(const char *line), int *rc)
{
    enum { TYPE = 2, DEVICE, MATH, CAP, FOLDER, ARGUMENTS };
    if (argc < 2 || strcmp(argv[1], VKT__APART_COMMAND) != 0) return false;
    *rc = 2;
    if (argc != ARGUMENTS) return true;
    vkt_gpu *gpu = NULL;
    vkt_gpu_desc desc = { .device = argv[DEVICE],
                          .cap = argv[CAP],
                          .math = atoi(argv[MATH]) == VKT_MATH_FAST ? VKT_MATH_FAST : 0,
                          .cache_dir = *argv[FOLDER] ? argv[FOLDER] : NULL };
    signal(SIGINT, SIG_IGN); /* the parent's: what is interrupted would look like a crash */
    vkt_helper_set(false);
    vkt_status st = vkt_gpu_create(&desc, &gpu);
    if (st == VKT_OK) {
        say(VKT__APART_OPENED);
        st = vkt__units_check(gpu,
                              !strcmp(argv[TYPE], vkt_dtype_name(VKT_BF16)) ? VKT_BF16 : VKT_F16);
        vkt_gpu_destroy(&gpu); /* drivers crash at their end, too */
    }
    if (st == VKT_OK) say(VKT__APART_DONE);
    *rc = st == VKT_OK ? 0 : 1;
    return true;
}
