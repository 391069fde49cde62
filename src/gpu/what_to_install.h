/* What to install where Vulkan or a part of it is not there, in the words of each system. */
#ifndef VKT_GPU_WHAT_TO_INSTALL_H
#define VKT_GPU_WHAT_TO_INSTALL_H

#if defined(_WIN32)
#define VKT_INSTALL_LOADER                                                                         \
    "no Vulkan loader (vulkan-1.dll) found; it comes with the GPU's driver, from "                 \
    "amd.com/support, intel.com/support or nvidia.com/drivers"
#define VKT_INSTALL_DRIVER                                                                         \
    "install your GPU's driver, from amd.com/support, intel.com/support or nvidia.com/drivers"
#define VKT_INSTALL_NEWER "install a newer driver of your GPU, which brings it"
#define VKT_INSTALL_LAYERS "install the Vulkan SDK (vulkan.lunarg.com)"
#elif defined(__APPLE__)
#define VKT_INSTALL_LOADER                                                                         \
    "no Vulkan loader (libvulkan.dylib) found; install the Vulkan SDK (vulkan.lunarg.com), or "    \
    "brew install vulkan-loader molten-vk"
#define VKT_INSTALL_DRIVER                                                                         \
    "install MoltenVK or KosmicKrisp: the Vulkan SDK (vulkan.lunarg.com), or brew install "        \
    "molten-vk"
#define VKT_INSTALL_NEWER "install a newer Vulkan SDK"
#define VKT_INSTALL_LAYERS "install the Vulkan SDK (vulkan.lunarg.com)"
#else
#define VKT_INSTALL_LOADER                                                                         \
    "no Vulkan loader (libvulkan) found; install it and a driver (Debian/Ubuntu: apt install "     \
    "libvulkan1 mesa-vulkan-drivers)"
#define VKT_INSTALL_DRIVER                                                                         \
    "install your GPU's driver, or Mesa's (Debian/Ubuntu: apt install mesa-vulkan-drivers, which " \
    "also runs on the CPU)"
#define VKT_INSTALL_NEWER "install a newer libvulkan"
#define VKT_INSTALL_LAYERS "install it (Debian/Ubuntu: apt install vulkan-validationlayers)"
#endif

#endif
