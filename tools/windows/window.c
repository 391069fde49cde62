/* A double click: window PROGRAM starts it without arguments in a console of its own, as Explorer
 * does, and presses Ctrl-C there after SECONDS. 0: it was running until then, and ended as Ctrl-C
 * ends it. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

int main(int argc, char **argv)
{
    STARTUPINFOA start = { .cb = sizeof start };
    PROCESS_INFORMATION p;
    DWORD rc = 0;
    if (argc != 3 || !CreateProcessA(argv[1], NULL, NULL, NULL, FALSE, CREATE_NEW_CONSOLE, NULL,
                                     NULL, &start, &p))
        return 2;
    if (WaitForSingleObject(p.hProcess, 1000 * (DWORD)atoi(argv[2])) != WAIT_TIMEOUT) {
        puts("it ended at once, and its window with it");
        return 1;
    }
    FreeConsole();
    if (!AttachConsole(p.dwProcessId)) return 3;
    SetConsoleCtrlHandler(NULL, TRUE); /* it is not for this process */
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return 4;
    if (WaitForSingleObject(p.hProcess, 60000) != WAIT_OBJECT_0) return 5;
    GetExitCodeProcess(p.hProcess, &rc);
    return rc == 130 ? 0 : 6;
}
