/* Presses Ctrl-C: ctrlc FILE COMMAND... starts the command on this console, presses a second after
 * FILE is there (or after two minutes), and ends with the command's exit code. Under Wine a console
 * is a pty (script -qec); a signal to a process of Wine runs its handler on any thread, a driver's
 * too, and is no substitute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

int main(int argc, char **argv)
{
    char line[4000] = "";
    STARTUPINFOA start = { .cb = sizeof start };
    PROCESS_INFORMATION p;
    DWORD rc = 2;
    for (int i = 2; i < argc; i++) {
        if (strlen(line) + strlen(argv[i]) + 4 > sizeof line) return 2;
        sprintf(line + strlen(line), "%s\"%s\"", i > 2 ? " " : "", argv[i]);
    }
    if (argc < 3 || !CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &p))
        return 2;
    for (int i = 0; i < 1200 && GetFileAttributesA(argv[1]) == INVALID_FILE_ATTRIBUTES; i++)
        Sleep(100);
    Sleep(1000);
    SetConsoleCtrlHandler(NULL, TRUE); /* it is not for this process */
    GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
    WaitForSingleObject(p.hProcess, 60000);
    GetExitCodeProcess(p.hProcess, &rc);
    return (int)rc;
}
