/* survey.h: every file of a list is read once, checked by its header and hashed; none is decoded,
 * except samples of 16 bits. */
#include "base/progress.h"
#include "data/pictures/picture.h"
#include "data/pictures/picture_files.h"
#include "data/pictures/survey.h"

enum { SHOWN = 3 }; /* bad files that are named */
/* data.size median: at most, so that the model trains on any device; where pixels are predicted */
enum { LONG_SIDE = 64, LONG_DENSE = 128 };

void vkt__survey_finish(vkt__survey *s)
{
    free(s->from);
    free(s->hash);
    free(s->high);
    free(s->wide);
}

static vkt_status look(const char *path, vkt__picture_size *size, uint64_t *hash)
{
    vkt_status st;
    char *bytes = NULL;
    size_t n;
    VKT_TRY(vkt__picture_file(path, &bytes, &n));
    VKT_TRY(vkt__picture_look(bytes, n, path, size));
    *hash = vkt__hash(bytes, n, n);
fail:
    free(bytes);
    return st;
}

vkt_status vkt__survey_take(const vkt__folder *f, bool stop, vkt__survey *out)
{
    vkt_status st = VKT_OK;
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->from, "the list of pictures", &out->from));
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->hash, "the list of pictures", &out->hash));
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->high, "the list of pictures", &out->high));
    VKT_TRY(vkt__alloc_large(f->n, sizeof *out->wide, "the list of pictures", &out->wide));
    vkt__progress progress = vkt__progress_begin("reading the pictures");
    for (uint32_t i = 0; i < f->n; i++) {
        vkt__picture_size size;
        vkt__progress_at(&progress, i, f->n);
        if (!stop) vkt__log_quiet(true);
        st = look(f->item[i].path, &size, &out->hash[out->n]);
        if (!stop) vkt__log_quiet(false);
        if (st != VKT_OK && !stop && st != VKT_E_FORMAT)
            vkt__fail(st, "data", "%s", vkt__last_failure());
        if (st != VKT_OK && (stop || st != VKT_E_FORMAT)) goto fail;
        if (st != VKT_OK) {
            if (out->n_bad++ < SHOWN)
                vkt_log(VKT_LOG_WARN, "data", "skipped: %s", vkt__last_failure());
            continue;
        }
        out->color |= size.color;
        out->bits = VKT_MAX(out->bits, size.bits);
        out->n_deep += size.bits > 0;
        out->n_alpha += size.alpha;
        out->n_animated += size.animated;
        if (out->n == 0) out->w = size.w, out->h = size.h;
        out->high[out->n] = size.h;
        out->wide[out->n] = size.w;
        out->many_sizes |= size.w != out->w || size.h != out->h;
        out->largest[0] = VKT_MAX(out->largest[0], size.w);
        out->largest[1] = VKT_MAX(out->largest[1], size.h);
        out->from[out->n++] = i;
    }
    st = VKT_OK;
    if (out->n_bad > SHOWN)
        vkt_log(VKT_LOG_WARN, "data", "skipped: %u of %zu pictures can't be read", out->n_bad,
                f->n);
fail:
    return st;
}

void vkt__survey_bits(vkt__schema *schema, const char *root, const vkt__survey *s)
{
    if (!s->n_deep) return;
    bool mixed = s->n_deep < s->n;
    schema->bits = mixed ? 16 : s->bits;
    if (mixed && s->bits < 16)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': %u of %u pictures have 16 bits a sample, with values below %u, and are dark "
                "beside those of 8 bits: save all with the same bits",
                root, s->n_deep, s->n, 1u << s->bits);
    else if (schema->bits == 8)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': pictures of 16 bits a sample with values below 256 are read as if they had "
                "8 bits",
                root);
    else
        vkt_log(
            VKT_LOG_WARN, "data",
            "'%s': of the %u bits that samples of 16 bits use the upper 8 are read: finer steps "
            "are lost",
            root, schema->bits);
}

void vkt__survey_flattened(const char *root, const vkt__survey *s)
{
    if (s->n_alpha)
        vkt_log(VKT_LOG_INFO, "data",
                "'%s': %u of %u pictures may be transparent: they are laid over white", root,
                s->n_alpha, s->n);
    if (s->n_animated)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s': %u of %u pictures are animated: the first frame of each is taken", root,
                s->n_animated, s->n);
}

void vkt__survey_too_deep(const vkt__schema *schema, const char *name, uint32_t bits)
{
    if (bits && schema->bits && bits > schema->bits)
        vkt_log(VKT_LOG_WARN, "data",
                "'%s' has samples of %u bits, the training pictures had %u: what is above is white",
                name, bits, schema->bits);
}

static bool parse_size(const char *text, uint32_t *h, uint32_t *w)
{
    unsigned long a, b;
    char *end;
    if (*text < '1' || *text > '9') return false;
    a = b = strtoul(text, &end, 10);
    if (*end == 'x') {
        if (end[1] < '1' || end[1] > '9') return false;
        b = strtoul(end + 1, &end, 10);
    }
    *h = (uint32_t)a;
    *w = (uint32_t)b;
    return !*end && a <= 4096 && b <= 4096;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The median height and width, brought to LONG_SIDE or LONG_DENSE where the longer is above it. */
static void median_size(const vkt__survey *s, uint32_t *h, uint32_t *w)
{
    qsort(s->high, s->n, sizeof *s->high, by_value);
    qsort(s->wide, s->n, sizeof *s->wide, by_value);
    *h = s->high[s->n / 2];
    *w = s->wide[s->n / 2];
    uint64_t side = VKT_MAX(*h, *w), most = s->most ? s->most : s->dense ? LONG_DENSE : LONG_SIDE;
    if (side <= most && !s->halves) return;
    /* Multiples of 8: 63x64 would be an accident of the median, and a U-Net halves three times. */
    most = VKT_MIN(most, side);
    *h = VKT_MAX((uint32_t)((*h * most / 8 + side / 2) / side) * 8, 8);
    *w = VKT_MAX((uint32_t)((*w * most / 8 + side / 2) / side) * 8, 8);
}

vkt_status vkt__survey_shape(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__survey *s)
{
    vkt__schema *schema = &ds->schema;
    uint32_t h = s->h, w = s->w;
    bool automatic = !desc->size || strcmp(desc->size, "auto") == 0;
    bool median = !automatic && strcmp(desc->size, "median") == 0;
    if (median) median_size(s, &h, &w);
    if (automatic && s->many_sizes)
        return vkt__fail(
            VKT_E_ARG, "data",
            "'%s' has pictures of several sizes (up to %ux%u): set data.size, as 64 or "
            "48x64 (height x width)",
            desc->path, s->largest[0], s->largest[1]);
    if (automatic && (h > 1024 || w > 1024))
        return vkt__fail(
            VKT_E_ARG, "data",
            "'%s' has pictures of %ux%u: set data.size to the size of the model's input",
            desc->path, w, h);
    if (!automatic && !median && !parse_size(desc->size, &h, &w))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.size '%s' is not a size: give 64, or height x width such as 48x64 "
                         "(at most 4096), or auto or median",
                         desc->size);
    bool color =
        desc->color == VKT_PICTURE_COLOR_RGB || (desc->color == VKT_PICTURE_COLOR_AUTO && s->color);
    schema->kind = VKT_DATA_KIND_PICTURES;
    schema->crop = desc->fit == VKT_PICTURE_FIT_CROP;
    schema->input_rank = 3;
    schema->input_shape[0] = h;
    schema->input_shape[1] = w;
    schema->input_shape[2] = color ? 3 : 1;
    schema->n_inputs = h * w * schema->input_shape[2];
    return VKT_OK;
}

vkt_status vkt__survey_split(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__folder *f,
                             const vkt__survey *s)
{
    vkt_status st;
    uint8_t *fixed;
    vkt__survey_bits(&ds->schema, desc->path, s);
    vkt__survey_flattened(desc->path, s);
    VKT_TRY(vkt__alloc_large(s->n, 1, "the split", &fixed));
    for (uint32_t i = 0; i < s->n; i++) fixed[i] = f->item[s->from[i]].split;
    st = vkt__split(ds, desc, fixed, f->own);
    free(fixed);
fail:
    return st;
}
