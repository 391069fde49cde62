/* vktrain devices: every Vulkan device, what it can do, and which one vktrain would use. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct devices_options {
    cli_options common;
    bool json;
} devices_options;

static const cli_flag flags[] = {
    { "--json", CLI_BOOL, offsetof(devices_options, json), NULL, NULL, "print JSON" },
    { 0 },
};

static const char *features(const vkt_caps *c)
{
    return cli_text("%s%s%s%s", c->fp16 ? " fp16" : "", c->bf16 ? " bf16" : "",
                    c->int64 ? " int64" : "", c->fp16 || c->bf16 || c->int64 ? "" : " none");
}

static const char *uuid_text(const uint8_t u[16])
{
    char t[37], *p = t;
    for (int i = 0; i < 16; i++)
        p += snprintf(p, (size_t)(t + sizeof t - p), "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
    return cli_text("%s", t);
}

static const char *api_text(uint32_t v)
{
    return cli_text("%u.%u.%u", v >> 22 & 127, v >> 12 & 1023, v & 4095);
}

/* The last error line of an attempt to open a device. */
static void keep_line(void *user, vkt_log_level level, const char *area, const char *line)
{
    (void)area;
    if (level == VKT_LOG_ERROR) snprintf(user, 256, "%s", line);
}

/* Opens the device that a training run would, so that the answer is proven. */
static vkt_status find_used(const devices_options *o, const vkt_gpu_info *list, size_t n,
                            size_t *used, char why[256])
{
    vkt_gpu *gpu = NULL;
    *used = SIZE_MAX;
    *why = 0;
    vkt_log_set(keep_line, why, VKT_LOG_ERROR);
    vkt_status st = vkt_gpu_create(&o->common.gpu, &gpu);
    cli_log_open(o->common.quiet, o->common.verbose);
    if (st != VKT_OK) return st;
    const vkt_caps *c = vkt_gpu_caps(gpu);
    for (size_t i = 0; i < n && *used == SIZE_MAX; i++)
        if (list[i].usable && !memcmp(list[i].caps.uuid, c->uuid, 16) &&
            list[i].caps.driver_id == c->driver_id && !strcmp(list[i].caps.name, c->name))
            *used = i;
    vkt_gpu_destroy(&gpu);
    return VKT_OK;
}

static json_t *profile(const vkt_caps *c)
{
    char *text = vkt_caps_profile(c);
    json_t *j = json_loads(text ? text : "{}", 0, NULL);
    vkt_free(text);
    return j;
}

static void print_json(const vkt_gpu_info *list, size_t n, size_t used, const char *why)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < n; i++) {
        const vkt_caps *c = &list[i].caps;
        json_array_append_new(
            devices,
            json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:i, s:i, s:i, "
                      "s:b, s:b, s:b, s:b, s:b, s:s*, s:b, s:b, s:o}",
                      "index", (int)list[i].index, "name", c->name, "type",
                      vkt_gpu_type_name(c->type), "driver", c->driver, "driver_info",
                      c->driver_info, "uuid", uuid_text(c->uuid), "vulkan",
                      api_text(c->api_version), "memory_bytes", (json_int_t)c->heap_bytes,
                      "free_bytes", (json_int_t)c->budget_bytes, "unified", c->unified, "subgroup",
                      (int)c->subgroup, "workgroup", (int)c->workgroup, "shared_bytes",
                      (int)c->shared_bytes, "matrix_units", c->coopmat, "fp16", c->fp16, "bf16",
                      c->bf16, "int64", c->int64, "usable", list[i].usable, "why_not",
                      list[i].usable ? NULL : list[i].why_not, "duplicate", list[i].duplicate,
                      "used", i == used, "profile", profile(c)));
    }
    json_t *root = json_pack("{s:o}", "devices", devices);
    if (*why) json_object_set_new(root, "error", json_string(why));
    cli_json_print(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
}

/* What its matrix units multiply. */
static const char *units(const vkt_caps *c)
{
    bool fp16 = c->coopmat && c->coopmat_f16[0], bf16 = c->coopmat && c->coopmat_bf16[0];
    return fp16 && bf16 ? "fp16, bf16" : fp16 ? "fp16" : bf16 ? "bf16" : "none";
}

static void print_device(const vkt_gpu_info *d, bool used)
{
    const vkt_caps *c = &d->caps;
    const char *plain = cli_color(stdout, CLI_PLAIN);
    printf("%s%s%u: %s%s", cli_color(stdout, CLI_BOLD), used ? "* " : "  ", d->index, c->name,
           plain);
    printf("\n      type      %s, %s kernels%s\n", vkt_gpu_type_name(c->type),
           vkt_gpu_class_name(c->klass), d->duplicate ? "; another driver for a device above" : "");
    printf("      driver    %s%s%s, Vulkan %s\n", c->driver, *c->driver_info ? " " : "",
           c->driver_info, api_text(c->api_version));
    printf("      memory    %s, %s%s free%s\n", cli_bytes(c->heap_bytes),
           c->memory_budget ? "" : "about ", cli_bytes(c->budget_bytes),
           c->unified ? ", shared with the host" : "");
    printf("      compute   ");
    if (c->cores) printf("%u cores, ", c->cores);
    printf("%u lanes, workgroups of %u, %s shared memory\n", c->subgroup, c->workgroup,
           cli_bytes(c->shared_bytes));
    printf("      numbers   fp32%s; matrix units: %s%s\n",
           c->fp16 || c->bf16 || c->int64 ? features(c) : "", units(c),
           c->coopmat2 ? ", of any size" : "");
    printf("      uuid      %s\n", uuid_text(c->uuid));
    if (d->usable)
        printf("      %susable%s\n", cli_color(stdout, CLI_GREEN), plain);
    else
        printf("      %snot usable: %s%s\n", cli_color(stdout, CLI_RED), d->why_not, plain);
}

static int run(void *options)
{
    devices_options *o = options;
    vkt_gpu_info *list = NULL;
    size_t n = 0, used;
    char why[256] = "";
    vkt_status st = vkt_gpu_list(&list, &n);
    if (st == VKT_OK) {
        st = find_used(o, list, n, &used, why);
        if (o->json) {
            print_json(list, n, used, why);
        } else {
            for (size_t i = 0; i < n; i++) print_device(&list[i], i == used);
            if (st != VKT_OK)
                printf("\n"
                       "vktrain can use none of them: %s\n",
                       *why ? why : vkt_status_name(st));
            else if (used < n)
                printf("\n"
                       "vktrain uses device %u: %s (to use another: --device D, or VKT_DEVICE=D)\n",
                       list[used].index, list[used].caps.name);
        }
    } else if (o->json) {
        cli_json_print(json_pack("{s:[], s:s}", "devices", "error", vkt_status_name(st)),
                       JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    }
    vkt_free(list);
    return cli_exit_code(st);
}

const cli_command cmd_devices = {
    .name = "devices",
    .args = "",
    .summary = "list Vulkan devices and show which one is used",
    .common = CLI_GPU,
    .flags = flags,
    .options_bytes = sizeof(devices_options),
    .run = run,
};
