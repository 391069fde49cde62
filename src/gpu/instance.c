/* The instance: validation's messages, who uses volk's table of functions. */
#include <stdatomic.h>

#include "base/os.h"
#include "gpu/gpu_vk.h"
#include "gpu/what_to_install.h"

static atomic_uint n_messages; /* of all gpus */

uint32_t vkt_validation_count(void)
{
    return n_messages;
}

/* A line that no attempt keeps quiet: it is about us, whatever comes of the attempt. */
static VkBool32 VKAPI_PTR on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                     VkDebugUtilsMessageTypeFlagsEXT types,
                                     const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    vkt_gpu *gpu = user;
    /* What version 1.3.239 says of itself with GPU-assisted validation: "a validation bug". */
    bool own = data->pMessageIdName && strstr(data->pMessageIdName, "VkSemaphore-state-timeout");
    if ((types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) && !own) {
        gpu->stats.n_validation++;
        n_messages++;
        vkt__log_through(severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT ? VKT_LOG_ERROR
                                                                                   : VKT_LOG_WARN,
                         "gpu", "validation: %s", data->pMessage);
    }
    return VK_FALSE;
}

static bool has_layer(const char *layer)
{
    uint32_t n = 0;
    bool found = false;
    vkEnumerateInstanceLayerProperties(&n, NULL);
    VkLayerProperties *l = vkt__alloc(n * sizeof *l);
    vkEnumerateInstanceLayerProperties(&n, l);
    for (uint32_t i = 0; i < n && !found; i++) found = !strcmp(l[i].layerName, layer);
    free(l);
    return found;
}

/* layer NULL: the loader and the drivers. */
static bool offers(const char *layer, const char *extension)
{
    uint32_t n = 0;
    bool found = false;
    vkEnumerateInstanceExtensionProperties(layer, &n, NULL);
    VkExtensionProperties *e = vkt__alloc(n * sizeof *e);
    vkEnumerateInstanceExtensionProperties(layer, &n, e);
    for (uint32_t i = 0; i < n && !found; i++) found = !strcmp(e[i].extensionName, extension);
    free(e);
    return found;
}

/* volk's table is one for all instances. It is loaded with the first of those that live at a time:
 * loading it again would write under the feet of threads that use another one. */
static struct {
    atomic_flag busy;
    unsigned n_users;
    bool initialized, loaded;
} table = { ATOMIC_FLAG_INIT, 0, false, false };

static void table_lock(void)
{
    while (atomic_flag_test_and_set(&table.busy)) vkt__sleep_ms(1);
}

static void table_unlock(void)
{
    atomic_flag_clear(&table.busy);
}

static bool table_take(vkt_gpu *gpu)
{
    table_lock();
    if (!table.n_users) table.initialized = vkt__loader_open();
    table.n_users++;
    gpu->uses_table = true;
    bool ok = table.initialized;
    table_unlock();
    return ok;
}

static void table_load(const vkt_gpu *gpu)
{
    table_lock();
    if (!table.loaded) volkLoadInstance(gpu->instance);
    table.loaded = true;
    table_unlock();
}

static void table_release(vkt_gpu *gpu)
{
    if (!gpu->uses_table) return;
    gpu->uses_table = false;
    table_lock();
    if (!--table.n_users) table.loaded = false;
    table_unlock();
}

uint32_t vkt_loader_version(void)
{
    vkt_gpu *none = vkt__alloc(sizeof *none); /* stands for its use of the table */
    uint32_t version = table_take(none) ? volkGetInstanceVersion() : 0;
    table_release(none);
    free(none);
    return version;
}

vkt_status vkt__instance_create(vkt_gpu *gpu, vkt_validation validate)
{
    vkt_status st = VKT_OK;
    if (!table_take(gpu)) return vkt__fail(VKT_E_NO_DEVICE, "gpu", VKT_INSTALL_LOADER);
    if (volkGetInstanceVersion() < VK_API_VERSION_1_3)
        return vkt__fail(VKT_E_NO_DEVICE, "gpu",
                         "the Vulkan loader is older than 1.3; " VKT_INSTALL_NEWER);
    const char *extensions[4], *layers[1] = { "VK_LAYER_KHRONOS_validation" };
    uint32_t n_ext = 0;
    VkInstanceCreateFlags flags = 0;
    if (offers(NULL, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
        extensions[n_ext++] = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
        flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    }
    if (validate) {
        if (!has_layer(layers[0]))
            return vkt__fail(VKT_E_UNSUPPORTED, "gpu", "no validation layer; " VKT_INSTALL_LAYERS);
        extensions[n_ext++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
        if (offers(layers[0], VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME))
            extensions[n_ext++] = VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME;
        gpu->debug_names = true;
    }
    VkApplicationInfo app = {
        VK_STRUCTURE_TYPE_APPLICATION_INFO, NULL, "vktrain", 1, "vktrain", 1, VK_API_VERSION_1_3
    };
    VkDebugUtilsMessengerCreateInfoEXT messages = {
        VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT, NULL, 0,
        /* GPU-assisted validation warns of the features that it turns on itself. */
        (validate == VKT_VALIDATION_GPU ? 0 : VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT) |
            VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT, on_message, gpu
    };
    const VkValidationFeatureEnableEXT checks[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
        VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT,
    };
    /* Synchronization validation follows copies and host accesses; what kernels reach through
     * addresses it does not see. */
    VkValidationFeaturesEXT features = { VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                         &messages,
                                         validate == VKT_VALIDATION_GPU ? 2 : 1,
                                         checks,
                                         0,
                                         NULL };
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  validate ? &features : NULL,
                                  flags,
                                  &app,
                                  validate != VKT_VALIDATION_NONE,
                                  layers,
                                  n_ext,
                                  extensions };
    VkResult r = vkCreateInstance(&info, NULL, &gpu->instance);
    if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
        return vkt__fail(VKT_E_NO_DEVICE, "gpu", "no Vulkan driver found; " VKT_INSTALL_DRIVER);
    if (r != VK_SUCCESS) return vkt__vk_fail(gpu, r, "vkCreateInstance");
    table_load(gpu);
    /* The functions of an extension are stored in the gpu that enabled it. */
    if (validate) {
        gpu->set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkSetDebugUtilsObjectNameEXT");
        gpu->messenger_destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkDestroyDebugUtilsMessengerEXT");
        PFN_vkCreateDebugUtilsMessengerEXT create =
            (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
                gpu->instance, "vkCreateDebugUtilsMessengerEXT");
        VKT_VK(create(gpu->instance, &messages, NULL, &gpu->messenger));
    }
fail:
    return st;
}

void vkt__instance_destroy(vkt_gpu *gpu)
{
    if (gpu->messenger) gpu->messenger_destroy(gpu->instance, gpu->messenger, NULL);
    if (gpu->instance) vkDestroyInstance(gpu->instance, NULL);
    gpu->messenger = VK_NULL_HANDLE;
    gpu->instance = VK_NULL_HANDLE;
    table_release(gpu);
}
