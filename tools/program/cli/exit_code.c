/* Status -> exit code. */
#include "exit_code.h"

int cli_exit_code(vkt_status st)
{
    switch (st) {
    case VKT_OK:
        return CLI_OK;
    case VKT_E_ARG:
    case VKT_E_SHAPE:
        return CLI_USAGE;
    case VKT_E_UNSUPPORTED:
    case VKT_E_NO_DEVICE:
        return CLI_NO_DEVICE;
    case VKT_E_OOM_HOST:
    case VKT_E_OOM_DEVICE:
        return CLI_MEMORY;
    case VKT_E_DEVICE:
        return CLI_LOST;
    case VKT_E_IO:
    case VKT_E_FORMAT:
        return CLI_DATA;
    case VKT_E_INTERRUPTED:
        return CLI_INTERRUPTED;
    case VKT_E_NUMERIC:
    case VKT_E_COMM:
    case VKT_E_FAILED:
        return CLI_FAILED;
    }
    return CLI_FAILED;
}
