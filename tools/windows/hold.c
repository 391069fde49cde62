/* A reader that does not share: hold FILE SECONDS MS opens FILE so that nobody may replace it, for
 * MS milliseconds of each MS + 1, as an editor or a virus scanner may. hold FILE SECONDS END holds
 * it as soon as it is there, until there is a file END or the seconds are over. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

static void hold(const char *how, DWORD end)
{
    if (atoi(how)) {
        Sleep((DWORD)atoi(how));
        return;
    }
    while (GetTickCount() < end && GetFileAttributesA(how) == INVALID_FILE_ATTRIBUTES) Sleep(20);
}

int main(int argc, char **argv)
{
    int n = 0;
    if (argc != 4) return 2;
    for (DWORD end = GetTickCount() + 1000 * (DWORD)atoi(argv[2]); GetTickCount() < end; Sleep(1)) {
        FILE *f = fopen(argv[1], "rb");
        if (!f) continue;
        if (!n) puts("holding");
        fflush(stdout);
        hold(argv[3], end);
        fclose(f);
        n++;
        if (!atoi(argv[3])) break;
    }
    printf("held %d times\n", n);
    return 0;
}
