/* Device profiles: what choices and plans depend on of a device, as JSON, so that they can be shown
 * without it. `vktrain devices --json` writes one of each device; a file with one, or all that the
 * command printed, is read back. Knows capabilities, not drivers. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/os.h"
#include "gpu/gpu_vk.h"

typedef enum { TEXT, TYPE, FLAG, U32, MAYBE_U32, U64, FRAGMENT, MAYBE_SIZES } field_type;
typedef struct {
    const char *name;
    field_type type;
    size_t at, bytes;  /* TEXT: of the array */
    uint64_t min, max; /* of numbers: what Vulkan 1.3 promises, and what is beyond belief */
} field;

#define ANY 0, UINT64_MAX
#define AT(f) offsetof(vkt_caps, f), sizeof(((vkt_caps *)0)->f)
static const field fields[] = {
    { "name", TEXT, AT(name), ANY },
    { "type", TYPE, AT(type), ANY },
    { "vendor_id", U32, AT(vendor_id), 1, UINT32_MAX },
    { "device_id", U32, AT(device_id), 0, UINT32_MAX },
    { "driver", TEXT, AT(driver), ANY },
    { "driver_info", TEXT, AT(driver_info), ANY },
    { "driver_id", U32, AT(driver_id), 0, UINT32_MAX },
    { "subgroup", U32, AT(subgroup), 1, 128 },
    { "subgroup_min", U32, AT(subgroup_min), 1, 128 },
    { "subgroup_max", U32, AT(subgroup_max), 1, 128 },
    { "subgroup_arith", FLAG, AT(subgroup_arith), ANY },
    { "subgroup_control", FLAG, AT(subgroup_control), ANY },
    { "workgroup_subgroups", U32, AT(workgroup_subgroups), 1, UINT32_MAX },
    { "workgroup", U32, AT(workgroup), 128, 1 << 16 },
    { "groups_x", U32, AT(groups_x), 65535, UINT32_MAX },
    { "shared_bytes", U32, AT(shared_bytes), 16384, 1 << 24 },
    { "cores", MAYBE_U32, AT(cores), 0, 1 << 16 }, /* missing in files of 0.1: 0 */
    { "push_bytes", U32, AT(push_bytes), 128, 1 << 24 },
    { "max_alloc_bytes", U64, AT(max_alloc_bytes), 1 << 28, INT64_MAX },
    { "max_buffer_bytes", U64, AT(max_buffer_bytes), 1 << 28, INT64_MAX },
    { "memory_bytes", U64, AT(heap_bytes), 1 << 20, INT64_MAX },
    { "free_bytes", U64, AT(budget_bytes), 1 << 20, INT64_MAX },
    { "unified", FLAG, AT(unified), ANY },
    { "fp16", FLAG, AT(fp16), ANY },
    { "bf16", FLAG, AT(bf16), ANY },
    { "int64", FLAG, AT(int64), ANY },
    { "storage8", FLAG, AT(storage8), ANY },
    { "fragment_fp16", FRAGMENT, AT(coopmat_f16), 1, 256 }, /* of matrix units, M N K; []: none */
    { "fragment_bf16", FRAGMENT, AT(coopmat_bf16), 1, 256 },
    /* Matrices of any size: the M N K that theirs are multiples of, and the invocations that hold
     * one; []: none; missing in files of 0.1, too. */
    { "any_size_fp16", MAYBE_SIZES, AT(coopmat2_f16), 0, 1024 },
    { "any_size_bf16", MAYBE_SIZES, AT(coopmat2_bf16), 0, 1024 },
    { "any_size_most", MAYBE_U32, AT(coopmat2_most), 0, 1 << 24 },
};
static const char note[] = "note"; /* where a file's numbers come from; not read */

/* ---- written ---- */

static json_t *number(uint64_t v)
{
    return json_integer((json_int_t)VKT_MIN(v, (uint64_t)INT64_MAX));
}

/* [] where there is none. */
static json_t *sizes(const uint32_t *f, uint32_t n)
{
    json_t *j = json_array();
    for (uint32_t i = 0; i < n && f[0]; i++) json_array_append_new(j, number(f[i]));
    return j;
}

static json_t *value_of(const field *f, const vkt_caps *c)
{
    const void *at = (const char *)c + f->at;
    switch (f->type) {
    case TEXT:
        return json_string(at);
    case TYPE:
        return json_string(vkt_gpu_type_name(c->type));
    case FLAG:
        return json_boolean(*(const bool *)at);
    case U32:
    case MAYBE_U32:
        return number(*(const uint32_t *)at);
    case U64:
        return number(*(const uint64_t *)at);
    case FRAGMENT:
    case MAYBE_SIZES:
        return sizes(at, (uint32_t)(f->bytes / sizeof(uint32_t)));
    }
    return NULL;
}

char *vkt_caps_profile(const vkt_caps *caps)
{
    json_t *root = json_object();
    for (size_t i = 0; i < VKT_COUNT(fields); i++)
        json_object_set_new(root, fields[i].name, value_of(&fields[i], caps));
    char *text = json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    return text;
}

/* ---- read ---- */

typedef struct {
    const char *path;
    vkt_caps *c;
} reader;

static vkt_status refuse(const reader *r, const char *fmt, ...) VKT_PRINTF(2, 3);
static vkt_status refuse(const reader *r, const char *fmt, ...)
{
    char why[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return vkt__fail(VKT_E_FORMAT, "gpu",
                     "device profile '%s': %s; `vktrain devices --json` writes one", r->path, why);
}

static bool in_range(const json_t *j, const field *f, uint64_t *v)
{
    *v = json_is_integer(j) ? (uint64_t)json_integer_value(j) : 0;
    return json_is_integer(j) && json_integer_value(j) >= 0 && *v >= f->min && *v <= f->max;
}

static vkt_status wrong_number(const reader *r, const field *f)
{
    return refuse(r, "'%s' must be a whole number from %" PRIu64 " to %" PRIu64, f->name, f->min,
                  f->max);
}

static vkt_status read_text(const reader *r, const field *f, const json_t *j)
{
    if (!json_is_string(j) || json_string_length(j) >= f->bytes ||
        json_string_length(j) != strlen(json_string_value(j)))
        return refuse(r, "'%s' must be text of at most %zu bytes", f->name, f->bytes - 1);
    snprintf((char *)r->c + f->at, f->bytes, "%s", json_string_value(j));
    return VKT_OK;
}

static vkt_status read_type(const reader *r, const json_t *j)
{
    for (int t = VKT_GPU_OTHER; t <= VKT_GPU_VIRTUAL; t++) {
        r->c->type = (vkt_gpu_type)t;
        if (json_is_string(j) && !strcmp(json_string_value(j), vkt_gpu_type_name(r->c->type)))
            return VKT_OK;
    }
    return refuse(r, "'type' must be one of discrete, integrated, virtual, cpu, other");
}

static vkt_status read_sizes(const reader *r, const field *f, const json_t *j)
{
    uint32_t *out = (uint32_t *)(void *)((char *)r->c + f->at);
    size_t n = json_array_size(j), all = f->bytes / sizeof *out;
    bool good = json_is_array(j) && (n == 0 || n == all);
    for (size_t i = 0; good && i < n; i++) {
        uint64_t v;
        good = in_range(json_array_get(j, i), f, &v) && (v & (v - 1)) == 0 && (v || i == 3);
        out[i] = (uint32_t)v;
    }
    return good ? VKT_OK
                : refuse(r, "'%s' must be [] or %s powers of two up to %" PRIu64, f->name,
                         all == 3 ? "three" : "four", f->max);
}

static vkt_status read_field(const reader *r, const field *f, const json_t *j)
{
    void *at = (char *)r->c + f->at;
    uint64_t v;
    if (!j && (f->type == MAYBE_U32 || f->type == MAYBE_SIZES)) return VKT_OK; /* 0 */
    if (!j) return refuse(r, "'%s' is missing", f->name);
    switch (f->type) {
    case TEXT:
        return read_text(r, f, j);
    case TYPE:
        return read_type(r, j);
    case FRAGMENT:
    case MAYBE_SIZES:
        return read_sizes(r, f, j);
    case FLAG:
        if (!json_is_boolean(j)) return refuse(r, "'%s' must be true or false", f->name);
        *(bool *)at = json_is_true(j);
        return VKT_OK;
    case U32:
    case MAYBE_U32:
    case U64:
        break;
    }
    if (!in_range(j, f, &v)) return wrong_number(r, f);
    if (f->type != U64)
        *(uint32_t *)at = (uint32_t)v;
    else
        *(uint64_t *)at = v;
    return VKT_OK;
}

static vkt_status check_names(const reader *r, const json_t *profile)
{
    const char *names[VKT_COUNT(fields) + 1], *name;
    json_t *j;
    for (size_t i = 0; i < VKT_COUNT(fields); i++) names[i] = fields[i].name;
    names[VKT_COUNT(fields)] = note;
    json_object_foreach((json_t *)(uintptr_t)profile, name, j)
    {
        size_t i = 0;
        while (i < VKT_COUNT(names) && strcmp(names[i], name) != 0) i++;
        if (i < VKT_COUNT(names)) continue;
        return vkt__fail(VKT_E_FORMAT, "gpu", "device profile '%s': there is no '%s'%s", r->path,
                         vkt__show(name).s, vkt_did_you_mean(name, names, VKT_COUNT(names)).text);
    }
    return VKT_OK;
}

static bool is_power(uint32_t n)
{
    return n && (n & (n - 1)) == 0;
}

/* What no device is. */
static vkt_status check_sense(const reader *r)
{
    const vkt_caps *c = r->c;
    if (!is_power(c->subgroup) || !is_power(c->subgroup_min) || !is_power(c->subgroup_max) ||
        c->subgroup < c->subgroup_min || c->subgroup > c->subgroup_max)
        return refuse(r,
                      "'subgroup' %u must lie between 'subgroup_min' %u and 'subgroup_max' %u, all "
                      "of them powers of two",
                      c->subgroup, c->subgroup_min, c->subgroup_max);
    if (c->budget_bytes > c->heap_bytes)
        return refuse(r, "'free_bytes' is more than 'memory_bytes'");
    if (c->unified && c->type == VKT_GPU_DISCRETE)
        return refuse(r, "'unified' is true, but a discrete device has its own memory");
    if ((c->coopmat_f16[0] && !c->fp16) || (c->coopmat_bf16[0] && !c->bf16))
        return refuse(r, "a matrix unit has a type that the device lacks ('fp16', 'bf16')");
    if ((c->coopmat2_f16[0] && !c->coopmat_f16[0]) || (c->coopmat2_bf16[0] && !c->coopmat_bf16[0]))
        return refuse(r, "matrices of any size have a type for which there is no fragment");
    return VKT_OK;
}

/* The file's one profile; of what `devices --json` printed, the device that is used, else the only
 * one. */
static const json_t *find(const json_t *root)
{
    const json_t *devices = json_object_get(root, "devices"), *found = NULL;
    if (!devices) return root;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *d = json_array_get(devices, i);
        if (json_array_size(devices) == 1 || json_is_true(json_object_get(d, "used")))
            found = json_object_get(d, "profile");
    }
    return found;
}

static vkt_status read_profile(const reader *r, const json_t *root)
{
    vkt_status st = VKT_OK;
    const json_t *profile = find(root);
    if (!json_is_object(profile))
        return refuse(r, "it holds no device, or several devices and none is marked as used");
    VKT_TRY(check_names(r, profile));
    for (size_t i = 0; i < VKT_COUNT(fields); i++)
        VKT_TRY(read_field(r, &fields[i], json_object_get(profile, fields[i].name)));
    VKT_TRY(check_sense(r));
    r->c->coopmat = r->c->memory_model = r->c->coopmat_f16[0] || r->c->coopmat_bf16[0];
    r->c->coopmat2 = r->c->coopmat2_f16[0] || r->c->coopmat2_bf16[0];
    vkt__caps_complete(r->c);
fail:
    return st;
}

vkt_status vkt__caps_read_profile(const char *path, vkt_caps *out)
{
    vkt_status st = VKT_OK;
    const reader r = { path, out };
    json_error_t error;
    json_t *root = NULL;
    char *text = NULL;
    size_t n;
    *out = (vkt_caps) { 0 };
    VKT_TRY(vkt__file_read(path, 1 << 20, &text, &n));
    root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    st = root ? read_profile(&r, root) : refuse(&r, "line %d: %s", error.line, error.text);
fail:
    json_decref(root);
    free(text);
    return st;
}
