/* Choices among kernels, found by timing (tensor/tune.c): readable text in the cache folder. A file
 * of another driver version or of other kernels, or a damaged one, is ignored with one line. Values
 * mean something to who set them. */
#include <stdio.h>

#include "base/embedded.h"
#include "base/os.h"
#include "gpu/gpu_vk.h"

/* Everything that a choice may depend on, in the file's first lines. The file's name has the device
 * and its capabilities, so that --cap switches and math: fast don't get in each other's way. */
void vkt__choices_heading(const vkt_gpu *gpu, vkt__str *s)
{
    const vkt_caps *c = &gpu->caps;
    uint64_t kernels = 0, driver = vkt__hash(c->driver_uuid, 16, 0);
    for (const vkt__embedded_file *f = vkt__embedded_shaders; f->name; f++)
        kernels = vkt__hash(f->data, f->stored, kernels);
    vkt__str_printf(
        s, "vktrain choices 1\ndevice %s\ndriver %s %016llx version %u lanes %u\nkernels %016llx\n",
        c->name, c->driver_info, (unsigned long long)driver, c->driver_version, c->subgroup,
        (unsigned long long)kernels);
}

static uint64_t caps_hash(const vkt_caps *c)
{
    const uint32_t caps[] = { (uint32_t)c->klass, c->subgroup,       c->workgroup, c->shared_bytes,
                              c->int64,           c->subgroup_arith, c->coopmat,   c->math,
                              c->exact_split,     c->storage8,       c->coopmat2 };
    return vkt__hash(caps, sizeof caps, vkt__hash(c->uuid, 16, vkt__hash(c->driver_uuid, 16, 0)));
}

/* "KEY = VALUE" lines between heading and "end HASH"; false where the file is not one that
 * vkt__choices_save wrote. */
static bool parse(vkt_gpu *gpu, char *text, size_t n)
{
    char *end = NULL, *line, *next;
    for (char *p = text; (p = strstr(p, "\nend ")); p++) end = p + 1;
    if (!end || strtoull(end + 4, NULL, 16) != vkt__hash(text, (size_t)(end - text), 0) ||
        strlen(text) != n)
        return false;
    *end = 0;
    for (line = text; *line; line = next) {
        vkt__choice c;
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        if (sscanf(line, "%39[^=] = %39s", c.key, c.value) != 2) return false;
        c.key[strcspn(c.key, "=")] = 0;
        size_t k = strlen(c.key);
        while (k && c.key[k - 1] == ' ') c.key[--k] = 0;
        vkt__choice_set(gpu, c.key, c.value);
    }
    return true;
}

void vkt__choices_open(vkt_gpu *gpu, const char *dir)
{
    char user_dir[900], *file = NULL;
    size_t n = 0;
    vkt__str head = { 0 };
    if (!dir && vkt__cache_dir(user_dir, sizeof user_dir)) dir = user_dir;
    if (!dir) return;
    snprintf(gpu->choices_path, sizeof gpu->choices_path, "%.900s/choices-%016llx.txt", dir,
             (unsigned long long)caps_hash(&gpu->caps));
    if (!vkt__cache_read(gpu->choices_path, 1 << 20, &file, &n)) return;
    vkt__choices_heading(gpu, &head);
    bool current = n > head.len && !memcmp(file, head.data, head.len);
    if (!current || !parse(gpu, file + head.len, n - head.len)) {
        gpu->n_choices = 0;
        vkt_log(VKT_LOG_INFO, "gpu",
                "tuned kernels '%s' are %s: ignored; `vktrain tune` measures again",
                gpu->choices_path,
                current ? "damaged" : "from another driver or version of vktrain");
    }
    vkt__str_finish(&head);
    free(file);
}

vkt_status vkt__choice_hold(const char *what, vkt_caps *caps)
{
    static const char area[] = "matmul=";
    size_t n = strlen(what), skip = sizeof area - 1;
    if (strncmp(what, area, skip) != 0 || n == skip || n - skip >= sizeof caps->kernel)
        return vkt__fail(VKT_E_ARG, "gpu",
                         "a kernel is held as matmul=NAME, e.g. matmul=tiled.64x64, not '%.60s' "
                         "(--cap kernel=, VKT_KERNEL)",
                         what);
    if (caps) memcpy(caps->kernel, what + skip, n - skip + 1);
    return VKT_OK;
}

const char *vkt__choice_get(const vkt_gpu *gpu, const char *key)
{
    for (size_t i = 0; i < gpu->n_choices; i++)
        if (!strcmp(gpu->choices[i].key, key)) return gpu->choices[i].value;
    return NULL;
}

void vkt__choice_set(vkt_gpu *gpu, const char *key, const char *value)
{
    size_t i = 0;
    while (i < gpu->n_choices && strcmp(gpu->choices[i].key, key)) i++;
    if (i == gpu->n_choices) {
        gpu->choices =
            vkt__grow(gpu->choices, gpu->n_choices, &gpu->cap_choices, sizeof *gpu->choices);
        gpu->n_choices++;
    }
    snprintf(gpu->choices[i].key, sizeof gpu->choices[i].key, "%s", key);
    snprintf(gpu->choices[i].value, sizeof gpu->choices[i].value, "%s", value);
}

bool vkt__gpu_tunes(const vkt_gpu *gpu)
{
    return gpu->tunes && gpu->choices_path[0] && gpu->caps.klass != VKT_GPU_CLASS_CPU;
}

double vkt__gpu_tune_seconds(const vkt_gpu *gpu)
{
    static const double USUAL_S = 20;
    return gpu->tune_seconds > 0 ? gpu->tune_seconds : USUAL_S;
}

void vkt__choices_matter(vkt_gpu *gpu, bool they_do)
{
    gpu->choices_matter = they_do;
}

vkt_status vkt__choices_save(vkt_gpu *gpu, const char **path)
{
    vkt__str s = { 0 };
    *path = gpu->choices_path;
    if (!gpu->choices_path[0]) return VKT_OK;
    vkt__choices_heading(gpu, &s);
    size_t head = s.len;
    for (size_t i = 0; i < gpu->n_choices; i++)
        vkt__str_printf(&s, "%s = %s\n", gpu->choices[i].key, gpu->choices[i].value);
    vkt__str_printf(&s, "end %016llx\n",
                    (unsigned long long)vkt__hash(s.data + head, s.len - head, 0));
    vkt_status st = VKT_OK;
    if (gpu->choices_matter)
        st = vkt__file_replace(gpu->choices_path, s.data, s.len);
    else
        vkt__cache_write(gpu, gpu->choices_path, s.data, s.len);
    if (gpu->cache_fails) *path = NULL;
    vkt__str_finish(&s);
    return st;
}
