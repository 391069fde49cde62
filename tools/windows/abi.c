/* A program as Microsoft's compiler makes it, without its C library: clang for that target, the
 * DLL's import library, 42 where the two understand each other. */
#include <vktrain/vktrain.h>

int start(void)
{
    char text[256];
    vkt_system_text(text, sizeof text);
    return text[0] == 'W' && vkt_version_number() == VKT_VERSION_NUMBER ? 42 : 1;
}
