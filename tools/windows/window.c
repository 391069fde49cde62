/* A double click: window PROGRAM starts it without arguments in a console of its own, as Explorer
 * does, and presses Enter there after five seconds. 0: it was running until then, and ended after.
 */
#include <stdio.h>
#include <windows.h>

int main(int argc, char **argv)
{
    STARTUPINFOA start = { .cb = sizeof start };
    PROCESS_INFORMATION p;
    DWORD n;
    INPUT_RECORD keys[2] = { { .EventType = KEY_EVENT } };
    KEY_EVENT_RECORD *key = &keys[0].Event.KeyEvent;
    if (argc != 2 || !CreateProcessA(argv[1], NULL, NULL, NULL, FALSE, CREATE_NEW_CONSOLE, NULL,
                                     NULL, &start, &p))
        return 2;
    if (WaitForSingleObject(p.hProcess, 5000) != WAIT_TIMEOUT) {
        puts("it ended at once, and its window with it");
        return 1;
    }
    FreeConsole();
    if (!AttachConsole(p.dwProcessId)) return 3;
    HANDLE in = CreateFileA("CONIN$", GENERIC_READ | GENERIC_WRITE,
                            FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING, 0, NULL);
    *key = (KEY_EVENT_RECORD) { .bKeyDown = TRUE, .wRepeatCount = 1, .wVirtualKeyCode = VK_RETURN };
    key->uChar.AsciiChar = '\r';
    keys[1] = keys[0];
    keys[1].Event.KeyEvent.bKeyDown = FALSE;
    if (in == INVALID_HANDLE_VALUE || !WriteConsoleInputA(in, keys, 2, &n)) return 4;
    return WaitForSingleObject(p.hProcess, 60000) == WAIT_OBJECT_0 ? 0 : 5;
}
