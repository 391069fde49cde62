/* The list of devices, best first, and the choice of one. */
#include <ctype.h>
#include <stdio.h>

#include "gpu/gpu_vk.h"
#include "gpu/what_to_install.h"

/* Ranks several drivers of one GPU: Mesa's RADV first, AMD's open-source driver last. */
static int driver_rank(const vkt_caps *c)
{
    return c->driver_id == VK_DRIVER_ID_MESA_RADV         ? 0
           : c->driver_id == VK_DRIVER_ID_AMD_OPEN_SOURCE ? 2
                                                          : 1;
}

static int type_rank(vkt_gpu_type t)
{
    static const int rank[] = { 3, 4, 1, 0, 2 }; /* other, cpu, integrated, discrete, virtual */
    return rank[t];
}

static int better_first(const void *pa, const void *pb)
{
    const vkt_gpu_info *a = &((const vkt__gpu_entry *)pa)->info,
                       *b = &((const vkt__gpu_entry *)pb)->info;
    if (a->usable != b->usable) return a->usable ? -1 : 1;
    int d = type_rank(a->caps.type) - type_rank(b->caps.type);
    if (d) return d;
    if (a->caps.heap_bytes != b->caps.heap_bytes)
        return a->caps.heap_bytes > b->caps.heap_bytes ? -1 : 1;
    d = driver_rank(&a->caps) - driver_rank(&b->caps);
    return d ? d : (int)a->index - (int)b->index;
}

vkt_status vkt__gpu_entries(vkt_gpu *gpu, vkt__gpu_entry **out, uint32_t *n_out)
{
    vkt_status st = VKT_OK;
    uint32_t n = 0;
    vkt__gpu_entry *e = NULL;
    VkPhysicalDevice *phys = NULL;
    VKT_VK(vkEnumeratePhysicalDevices(gpu->instance, &n, NULL));
    if (n == 0) return vkt__fail(VKT_E_NO_DEVICE, "gpu", "no Vulkan device; " VKT_INSTALL_DRIVER);
    phys = vkt__alloc(n * sizeof *phys);
    VKT_VK(vkEnumeratePhysicalDevices(gpu->instance, &n, phys));
    e = vkt__alloc(n * sizeof *e);
    for (uint32_t i = 0; i < n; i++) {
        e[i].phys = phys[i];
        e[i].info.index = i;
        vkt__caps_query(phys[i], &e[i].info.caps, e[i].info.why_not);
        e[i].info.usable = !e[i].info.why_not[0];
    }
    qsort(e, n, sizeof *e, better_first);
    for (uint32_t i = 0; i < n; i++) {
        e[i].info.index = i;
        for (uint32_t j = 0; j < i; j++)
            if (e[i].info.usable && e[i].info.caps.type != VKT_GPU_CPU &&
                !memcmp(e[i].info.caps.uuid, e[j].info.caps.uuid, 16))
                e[i].info.duplicate = true;
    }
    *out = e;
    *n_out = n;
    free(phys);
    return VKT_OK;
fail:
    free(phys);
    free(e);
    return st;
}

void vkt__gpu_ask_units(const vkt_gpu *gpu, vkt__gpu_entry *e)
{
#ifdef _WIN32
    const bool on_windows = true;
#else
    const bool on_windows = false;
#endif
    if (e->info.usable) vkt__coopmat_query(gpu->instance, e->phys, on_windows, &e->info.caps);
}

static vkt_status list_devices(bool units, vkt_gpu_info **list, size_t *n)
{
    vkt_status st = VKT_OK;
    vkt_gpu gpu = { 0 };
    vkt__gpu_entry *e = NULL;
    uint32_t count = 0;
    *list = NULL;
    *n = 0;
    VKT_TRY(vkt__caps_prepare(NULL));
    VKT_TRY(vkt__instance_create(&gpu, VKT_VALIDATION_NONE));
    VKT_TRY(vkt__gpu_entries(&gpu, &e, &count));
    *list = vkt__alloc(count * sizeof **list);
    for (uint32_t i = 0; i < count; i++) {
        vkt_caps *c = &e[i].info.caps;
        if (units) vkt__gpu_ask_units(&gpu, &e[i]);
        if (!units || !e[i].info.usable) c->coopmat = c->coopmat2 = c->bf16 = false;
        (*list)[i] = e[i].info;
    }
    *n = count;
fail:
    free(e);
    vkt__instance_destroy(&gpu);
    return st;
}

vkt_status vkt_gpu_list(vkt_gpu_info **list, size_t *n)
{
    return list_devices(true, list, n);
}

vkt_status vkt_gpu_list_names(vkt_gpu_info **list, size_t *n)
{
    return list_devices(false, list, n);
}

/* ---- the choice ---- */

static bool contains_nocase(const char *text, const char *part)
{
    for (; *text; text++) {
        size_t i = 0;
        while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
        if (!part[i]) return true;
    }
    return false;
}

static bool uuid_matches(const uint8_t uuid[16], const char *text)
{
    char hex[33];
    size_t n = 0, i = 0;
    for (; *text && n < 33; text++)
        if (*text != '-') hex[n++] = (char)tolower((unsigned char)*text);
    if (n != 32) return false;
    for (; i < 16; i++) {
        char b[3];
        snprintf(b, 3, "%02x", uuid[i]);
        if (memcmp(b, hex + 2 * i, 2)) return false;
    }
    return true;
}

static bool matches(const vkt__gpu_entry *e, const char *want, bool by_index, unsigned long index)
{
    if (by_index) return e->info.index == index;
    if (!strcmp(want, "cpu")) return e->info.caps.type == VKT_GPU_CPU && e->info.usable;
    if (!strcmp(want, "gpu"))
        return e->info.usable && e->info.caps.type != VKT_GPU_CPU && !e->info.duplicate;
    return uuid_matches(e->info.caps.uuid, want) || contains_nocase(e->info.caps.name, want);
}

vkt_status vkt__gpu_choose(const vkt__gpu_entry *e, uint32_t n, const char *want, uint32_t *out)
{
    const char *from = "--device";
    if (!want && (want = getenv("VKT_DEVICE"))) from = "VKT_DEVICE";
    if (want && !*want) want = NULL;
    if (!want) {
        if (!e[0].info.usable)
            return vkt__fail(VKT_E_NO_DEVICE, "gpu", "no usable device: %s can't be used: %s",
                             e[0].info.caps.name, e[0].info.why_not);
        *out = 0;
        return VKT_OK;
    }
    char *end;
    unsigned long index = strtoul(want, &end, 10);
    bool by_index = isdigit((unsigned char)want[0]) && !*end;
    uint32_t found = UINT32_MAX, count = 0;
    vkt__str names = { 0 };
    for (uint32_t i = 0; i < n; i++) {
        if (!matches(&e[i], want, by_index, index)) continue;
        if (e[i].info.duplicate && count) continue;
        if (found == UINT32_MAX) found = i;
        count++;
        vkt__str_printf(&names, "%s%u: %s", count > 1 ? ", " : "", i, e[i].info.caps.name);
    }
    vkt_status st = VKT_OK;
    if (count == 0) {
        for (uint32_t i = 0; i < n; i++)
            vkt__str_printf(&names, "%s%u: %s", i ? ", " : "", i, e[i].info.caps.name);
        st = vkt__fail(VKT_E_NO_DEVICE, "gpu", "%s '%s' fits no device; the devices are %s", from,
                       want, names.data);
    } else if (count > 1 && strcmp(want, "gpu") && strcmp(want, "cpu")) {
        st = vkt__fail(VKT_E_NO_DEVICE, "gpu", "%s '%s' fits several devices (%s); give the index",
                       from, want, names.data);
    } else if (!e[found].info.usable) {
        st = vkt__fail(VKT_E_NO_DEVICE, "gpu", "%s can't be used: %s", e[found].info.caps.name,
                       e[found].info.why_not);
    }
    vkt__str_finish(&names);
    *out = found;
    return st;
}

vkt_status vkt_gpu_check(const vkt_gpu_desc *desc)
{
    vkt_status st = VKT_OK;
    vkt_gpu gpu = { 0 };
    vkt__gpu_entry *e = NULL;
    uint32_t n = 0, chosen;
    if (desc->profile) return VKT_OK; /* read where it is used */
    VKT_TRY(vkt__caps_prepare(desc->cap));
    VKT_TRY(vkt__instance_create(&gpu, VKT_VALIDATION_NONE));
    VKT_TRY(vkt__gpu_entries(&gpu, &e, &n));
    VKT_TRY(vkt__gpu_choose(e, n, desc->device, &chosen));
fail:
    free(e);
    vkt__instance_destroy(&gpu);
    return st;
}

void vkt__gpu_log_choice(const vkt__gpu_entry *e, uint32_t n, uint32_t chosen, const char *want)
{
    const vkt_caps *c = &e[chosen].info.caps;
    char why[160];
    if (!want) want = getenv("VKT_DEVICE");
    if (want && *want)
        snprintf(why, sizeof why, "asked for by '%.80s'", want);
    else if (n == 1)
        snprintf(why, sizeof why, "the only one");
    else
        snprintf(why, sizeof why, "best of %u (discrete, then integrated, then CPU; then memory)",
                 n);
    vkt_log(VKT_LOG_INFO, "gpu", "device %u: %s (%s, %s %s, Vulkan %u.%u, %u lanes, %.1f GiB): %s",
            chosen, c->name, vkt_gpu_type_name(c->type), c->driver, c->driver_info,
            VK_API_VERSION_MAJOR(c->api_version), VK_API_VERSION_MINOR(c->api_version), c->subgroup,
            (double)c->budget_bytes / (1 << 30), why);
    if (c->type == VKT_GPU_CPU && !(want && *want))
        vkt_log(VKT_LOG_INFO, "gpu",
                "no GPU driver found: this trains on the CPU through Vulkan, which is slow; "
                "`vktrain devices` shows what is there");
}
