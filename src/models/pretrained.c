/* pretrained.h: by timm's config.json, or by the names of tensors. */
#include "models/pretrained.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "formats/safetensors.h"

enum { MOST_CONFIG_BYTES = 1 << 20 };

/* The pretrained_cfg of timm's config.json; NULL: there is none. */
static json_t *timm_config(const char *path)
{
    char *text = NULL;
    size_t n;
    json_t *o = NULL, *cfg = NULL;
    if (vkt__file_size(path) < 0) return NULL;
    if (vkt__file_read(path, MOST_CONFIG_BYTES, &text, &n) == VKT_OK) {
        o = json_loadb(text, n, 0, NULL);
        cfg = json_object_get(o, "pretrained_cfg");
        cfg = json_is_object(cfg) ? json_incref(cfg) : NULL;
    }
    json_decref(o);
    free(text);
    return cfg;
}

const char *vkt__timm_file(vkt__arena *a, const char *path)
{
    if (!vkt__is_dir(path)) return NULL;
    const char *file = vkt__arena_printf(a, "%s/model.safetensors", path);
    json_t *cfg = timm_config(vkt__arena_printf(a, "%s/config.json", path));
    bool is = cfg && vkt__file_size(file) >= 0;
    json_decref(cfg);
    return is ? file : NULL;
}

/* Three numbers, each within the last digit of its own in `want`. */
static bool are(const json_t *list, const double want[3])
{
    bool ok = json_array_size(list) == 3;
    for (size_t i = 0; i < 3 && ok; i++)
        ok = fabs(json_number_value(json_array_get(list, i)) - want[i]) < 5e-4;
    return ok;
}

static vkt_status by_config(const json_t *cfg, const char *path, vkt_standardize *how)
{
    static const struct {
        double mean[3], std[3];
        vkt_standardize how;
    } known[] = {
        { { 0.485, 0.456, 0.406 }, { 0.229, 0.224, 0.225 }, VKT_STANDARDIZE_IMAGENET },
        { { 0.5, 0.5, 0.5 }, { 0.5, 0.5, 0.5 }, VKT_STANDARDIZE_SYMMETRIC },
    };
    const json_t *mean = json_object_get(cfg, "mean"), *std = json_object_get(cfg, "std");
    if (!mean && !std) return VKT_OK;
    for (size_t i = 0; i < VKT_COUNT(known); i++)
        if (are(mean, known[i].mean) && are(std, known[i].std)) {
            *how = known[i].how;
            return VKT_OK;
        }
    return vkt__fail(VKT_E_FORMAT, "model",
                     "'%s': the mean and std of its pretrained_cfg are neither ImageNet's nor 0.5: "
                     "set data.standardize yourself",
                     path);
}

/* A classifier of ImageNet's classes. */
static bool has_head(const vkt__safetensors *f)
{
    static const char *const heads[] = { "fc.weight",           "head.weight",
                                         "head.fc.weight",      "classifier.weight",
                                         "classifier.2.weight", "classifier.3.weight",
                                         "heads.head.weight" };
    static const uint64_t classes[] = { 1000, 21841, 21843 };
    size_t at;
    for (size_t i = 0; i < VKT_COUNT(heads); i++) {
        if (!vkt__safetensors_find(f, heads[i], &at)) continue;
        const vkt_tensor_info *t = vkt__safetensors_tensor(f, at);
        for (size_t k = 0; k < VKT_COUNT(classes); k++)
            if (t->rank == 2 && t->shape[0] == classes[k]) return true;
    }
    return false;
}

vkt_status vkt__pretrained_pixels(const char *path, vkt_standardize *how, const char **why)
{
    vkt_status st;
    vkt__arena a = { 0 };
    vkt__safetensors *f = NULL;
    size_t at;
    const char *slash = strrchr(path, '/'), *config = "config.json";
    if (slash) config = vkt__arena_printf(&a, "%.*s/config.json", (int)(slash - path), path);
    json_t *cfg = timm_config(config);
    *how = VKT_STANDARDIZE_AUTO;
    *why = "its config.json says so";
    if (cfg) VKT_TRY(by_config(cfg, config, how));
    if (*how != VKT_STANDARDIZE_AUTO) goto fail;
    VKT_TRY(vkt__safetensors_open(path, &f));
    if (!has_head(f)) goto fail;
    bool vit = vkt__safetensors_find(f, "cls_token", &at);
    *how = vit ? VKT_STANDARDIZE_SYMMETRIC : VKT_STANDARDIZE_IMAGENET;
    *why =
        vit ? "a ViT without timm's config.json beside it; DeiT's need data.standardize: imagenet"
            : "it has the classifier of ImageNet's classes";
fail:
    vkt__safetensors_close(&f);
    json_decref(cfg);
    vkt__arena_finish(&a);
    return st;
}

const char *vkt__timm_name(vkt__arena *a, const char *name)
{
    static const char *const parts[][2] = { { "layer_scale", "gamma" },
                                            { "block.0.", "conv_dw." },
                                            { "block.2.", "norm." },
                                            { "block.3.", "mlp.fc1." },
                                            { "block.5.", "mlp.fc2." } };
    unsigned f, k;
    int at = 0;
    if (!strncmp(name, "classifier.0.", 13)) return vkt__arena_printf(a, "head.norm.%s", name + 13);
    if (!strncmp(name, "classifier.2.", 13)) return vkt__arena_printf(a, "head.fc.%s", name + 13);
    if (sscanf(name, "features.%3u.%3u.%n", &f, &k, &at) != 2 || !at) return NULL;
    name += at;
    if (f == 0) return vkt__arena_printf(a, "stem.%u.%s", k, name);
    if (f % 2 == 0) return vkt__arena_printf(a, "stages.%u.downsample.%u.%s", f / 2, k, name);
    for (size_t i = 0; i < VKT_COUNT(parts); i++) {
        size_t n = strlen(parts[i][0]);
        if (!strncmp(name, parts[i][0], n))
            return vkt__arena_printf(a, "stages.%u.blocks.%u.%s%s", f / 2, k, parts[i][1],
                                     name + n);
    }
    return NULL;
}

/* ---- positions ---- */

/* Keys 1981, a = -1/2. */
static double cubic(double x)
{
    x = fabs(x);
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* Lines of n numbers `step` apart to lines of m; the line's number j is at from[j * step]. */
static void resample_line(const double *from, uint64_t n, double *to, uint64_t m, uint64_t step)
{
    double scale = (double)n / (double)m, wide = VKT_MAX(scale, 1);
    for (uint64_t i = 0; i < m; i++) {
        double center = scale * ((double)i + 0.5), sum = 0, all = 0;
        int64_t first = (int64_t)VKT_MAX(center - 2 * wide + 0.5, 0),
                end = (int64_t)VKT_MIN(center + 2 * wide + 0.5, (double)n);
        for (int64_t j = first; j < end; j++) {
            double w = cubic(((double)j - center + 0.5) / wide);
            sum += w * from[(uint64_t)j * step];
            all += w;
        }
        to[i * step] = sum / all;
    }
}

static uint64_t side_of(uint64_t rows)
{
    uint64_t n = rows ? (uint64_t)lround(sqrt((double)(rows - 1))) : 0;
    return n * n + 1 == rows ? n : 0;
}

bool vkt__positions_resample(const float *from, uint64_t from_rows, float *to, uint64_t to_rows,
                             uint64_t c)
{
    uint64_t n = side_of(from_rows), m = side_of(to_rows);
    if (!n || !m || n > 4096 || m > 4096) return false;
    double *a = vkt__alloc(n * n * sizeof *a), *b = vkt__alloc(m * n * sizeof *b),
           *y = vkt__alloc(m * m * sizeof *y);
    memcpy(to, from, c * sizeof *to);
    for (uint64_t k = 0; k < c; k++) {
        for (uint64_t i = 0; i < n * n; i++) a[i] = (double)from[(i + 1) * c + k];
        for (uint64_t x = 0; x < n; x++) resample_line(a + x, n, b + x, m, n);
        for (uint64_t r = 0; r < m; r++) resample_line(b + r * n, n, y + r * m, m, 1);
        for (uint64_t i = 0; i < m * m; i++) to[(i + 1) * c + k] = (float)y[i];
    }
    free(a);
    free(b);
    free(y);
    return true;
}
