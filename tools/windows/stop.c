/* Asks a process to stop, as `vktrain ui` asks those that it starts: stop NAME sets the event that
 * the process was given by VKT_STOP_EVENT. */
#include <windows.h>

int main(int argc, char **argv)
{
    HANDLE e = argc == 2 ? OpenEventA(EVENT_MODIFY_STATE, FALSE, argv[1]) : NULL;
    return !e || !SetEvent(e);
}
