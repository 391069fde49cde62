/* version.h */
#include <stdlib.h>
#include <string.h>

#include "build_facts.h" /* made by CMake: what the build found */
#include "cli.h"
#include "commit.h"
#include "version.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown compiler"
#endif

static void row(const char *name, const char *value)
{
    printf("%-14s  %s\n", name, value);
}

static const char *version_text(uint32_t v)
{
    return cli_text("%u.%u.%u", v >> 22 & 127, v >> 12 & 1023, v & 4095);
}

/* Variables that change which device is found, or how it works. */
static void print_environment(void)
{
    static const char *const names[] = { "VKT_DEVICE",           "VKT_KERNEL",
                                         "VK_DRIVER_FILES",      "VK_ADD_DRIVER_FILES",
                                         "VK_ICD_FILENAMES",     "VK_INSTANCE_LAYERS",
                                         "VK_LAYER_PATH",        "LP_NUM_THREADS",
                                         "MESA_VK_DEVICE_SELECT" };
    for (size_t i = 0; i < CLI_COUNT(names); i++)
        if (getenv(names[i])) row("environment", cli_text("%s=%s", names[i], getenv(names[i])));
}

static void print_devices(void)
{
    vkt_gpu_info *list = NULL;
    size_t n = 0;
    vkt_log_set(NULL, NULL, VKT_LOG_ERROR);
    vkt_status st = vkt_gpu_list_names(&list, &n);
    uint32_t loader = vkt_loader_version();
    row("Vulkan loader", loader ? version_text(loader) : "not found");
    if (st != VKT_OK) row("devices", cli_text("none: %s", vkt_last_error()));
    for (size_t i = 0; i < n; i++) {
        const vkt_caps *c = &list[i].caps;
        row(cli_text("device %u", list[i].index),
            cli_text(
                "%s (%04x:%04x, %s), %s %s, version 0x%08x, Vulkan %s%s%s", c->name, c->vendor_id,
                c->device_id, vkt_gpu_type_name(c->type), c->driver, c->driver_info,
                c->driver_version, version_text(c->api_version),
                list[i].usable ? "" : ", not usable: ", list[i].usable ? "" : list[i].why_not));
    }
    vkt_free(list);
}

void cli_version(bool verbose)
{
    char text[512];
    printf("vktrain %s\n", VKT_VERSION);
    if (!verbose) return;
    row("library", vkt_version());
    row("commit", VKT_COMMIT);
    row("built by",
        COMPILER " for " BUILD_SYSTEM ", " BUILD_TYPE ", MPI: " BUILD_MPI ", HTTP: " BUILD_HTTP);
    row("shaders by", BUILD_GLSLC);
    row("C libraries", BUILD_LIBRARIES);
    vkt_system_text(text, sizeof text);
    row("system", text);
    print_environment();
    print_devices();
}
