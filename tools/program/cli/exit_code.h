/* Exit codes: what scripts may rely on. */
#ifndef VKT_TOOLS_EXIT_CODE_H
#define VKT_TOOLS_EXIT_CODE_H

#include "vktrain/base.h"

enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* the work failed: NaN policy, doctor */
    CLI_USAGE = 2,  /* usage or recipe error */
    CLI_NO_DEVICE = 3,
    CLI_DATA = 4, /* data or file error */
    CLI_MEMORY = 5,
    CLI_LOST = 6, /* device lost */
    CLI_INTERRUPTED = 130,
};
int cli_exit_code(vkt_status st);

#endif
