/* Status -> exit code. */
#include "exit_code.h"

int cli_exit_code(vkt_status st)
{
    switch (st) {
    case VKT_OK:
        return CLI_OK;
    case VKT_ARG:
    case VKT_SHAPE:
        return CLI_USAGE;
    case VKT_UNSUPPORTED:
    case VKT_NO_DEVICE:
        return CLI_NO_DEVICE;
    case VKT_OOM_HOST:
    case VKT_OOM_DEVICE:
        return CLI_MEMORY;
    case VKT_DEVICE:
        return CLI_LOST;
    case VKT_IO:
    case VKT_FORMAT:
        return CLI_DATA;
    case VKT_INTERRUPTED:
        return CLI_INTERRUPTED;
    case VKT_NUMERIC:
    case VKT_COMM:
    case VKT_FAILED:
        return CLI_FAILED;
    }
    return CLI_FAILED;
}
