/* A reader that does not share: hold FILE SECONDS MS opens FILE so that nobody may replace it, for
 * MS milliseconds of each MS + 1, as an editor or a virus scanner may. */
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

int main(int argc, char **argv)
{
    int n = 0;
    if (argc != 4) return 2;
    for (DWORD end = GetTickCount() + 1000 * (DWORD)atoi(argv[2]); GetTickCount() < end; Sleep(1)) {
        FILE *f = fopen(argv[1], "rb");
        if (!f) continue;
        Sleep((DWORD)atoi(argv[3]));
        fclose(f);
        n++;
    }
    printf("held %d times\n", n);
    return 0;
}
