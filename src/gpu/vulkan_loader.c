/* Finds the Vulkan loader: by its name, as volk does, else in the places where the system's own
 * search does not look. */
#include <stdlib.h>

#define VOLK_IMPLEMENTATION
#include "base/format.h"
#include "base/os.h"
#include "gpu/gpu_vk.h"

#ifdef __APPLE__
#define LOADER "libvulkan.1.dylib"
#else
#define LOADER "libvulkan.so.1"
#endif

/* Homebrew's folders, of Apple's processors and of Intel's: dlopen of a name sees /usr/local/lib
 * alone. MoltenVK without a loader is a driver that has the loader's entry, too. */
static const char *const places[] = {
#ifdef __APPLE__
    "/opt/homebrew/lib/" LOADER, "/usr/local/lib/" LOADER, "/opt/homebrew/lib/libMoltenVK.dylib",
    "/usr/local/lib/libMoltenVK.dylib",
#endif
    NULL
};

static bool open_at(const char *path)
{
    vkt__function found = vkt__library_function(path, "vkGetInstanceProcAddr");
    if (!found) return false;
    volkInitializeCustom((PFN_vkGetInstanceProcAddr)found);
    return true;
}

bool vkt__loader_open(void)
{
    const char *sdk = getenv("VULKAN_SDK"); /* set by the SDK's setup-env.sh */
    char path[4096];
    if (volkInitialize() == VK_SUCCESS) return true;
    if (sdk && *sdk) {
        vkt__format(path, sizeof path, "%s/lib/%s", sdk, LOADER);
        if (open_at(path)) return true;
    }
    for (const char *const *p = places; *p; p++)
        if (open_at(*p)) return true;
    return false;
}
