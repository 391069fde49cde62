/* NumPy's arrays as a data set: a .npz archive with the arrays X and y, a folder with X.npy and
 * y.npy, or the caller's memory. Reads and checks them; the shape of X says what kind of data they
 * are. */
#include "data/arrays.h"
#include "data/pictures/array_pictures.h"
#include "data/tables/array_table.h"
#include "formats/zip.h"

#define ARRAY_LIMIT (1ull << 40)

/* X and y, and the memory that they point into. */
typedef struct opened {
    vkt__arrays arrays;
    uint8_t *x, *y;
} opened;

static void opened_finish(opened *o)
{
    free(o->x);
    free(o->y);
}

static vkt_status missing(const char *path, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s' has no array %s: the arrays are named X and y, as by "
                     "numpy.savez('data.npz', X=.., y=..), or are X.npy and y.npy in a folder",
                     path, what);
}

/* A file's bytes; *out NULL where it is absent. */
static vkt_status read_file(const char *path, uint8_t **out, size_t *n)
{
    char *bytes = NULL;
    *out = NULL;
    vkt_status st = vkt__file_read_if(path, ARRAY_LIMIT, &bytes, n);
    *out = (uint8_t *)bytes;
    return st;
}

/* The array that is called X or y, in the memory *bytes; *has false: there is none. */
static vkt_status read_array(const char *path, const vkt__map *archive, const char *which,
                             uint8_t **bytes, vkt__npy *out, bool *has)
{
    vkt_status st;
    size_t n = 0;
    vkt__str name = { 0 };
    vkt__str_printf(&name, "%s/%s", path, which);
    if (archive->n)
        VKT_TRY(vkt__zip_read(archive->data, archive->n, path, which, ARRAY_LIMIT, bytes, &n));
    else
        VKT_TRY(read_file(name.data, bytes, &n));
    *has = *bytes != NULL;
    if (*has) VKT_TRY(vkt__npy_parse(*bytes, n, name.data, out));
fail:
    vkt__str_finish(&name);
    return st;
}

static vkt_status check_y(const vkt__arrays *a)
{
    const vkt__npy *y = &a->y;
    bool column = y->rank == 1 || (y->rank == 2 && y->shape[1] == 1);
    if (!column || y->n != a->x.shape[0])
        return vkt__fail(VKT_E_FORMAT, "data",
                         "'%s': y must hold one number for each of the %u examples of X, not %llu "
                         "in %u dimensions",
                         a->name, a->x.shape[0], (unsigned long long)y->n, y->rank);
    return VKT_OK;
}

static vkt_status check_x(const vkt__arrays *a)
{
    if (a->x.rank >= 2 && a->x.shape[0] < UINT32_MAX) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "data",
                     "'%s': X must be [n, inputs], or pictures [n, H, W] or [n, H, W, C]", a->name);
}

/* A .npy file is X alone. */
static vkt_status read_lone(const char *path, opened *out)
{
    vkt_status st;
    size_t n = 0;
    VKT_TRY(read_file(path, &out->x, &n));
    VKT_TRY(vkt__npy_parse(out->x, n, path, &out->arrays.x));
    VKT_TRY(check_x(&out->arrays));
fail:
    return st;
}

/* What else is in the archive is not read. */
static vkt_status say_others(const char *path, const vkt__map *archive)
{
    static const char *const known[2] = { "X.npy", "y.npy" };
    char other[64];
    uint32_t n;
    vkt_status st = vkt__zip_others(archive->data, archive->n, path, known, &n, other);
    if (st == VKT_OK && n)
        vkt_log(VKT_LOG_WARN, "data", "'%s' also holds '%s'%s, which %s not read", path,
                vkt__show(other).s, n > 1 ? " and others" : "", n > 1 ? "are" : "is");
    return st;
}

static vkt_status read_arrays(const char *path, opened *out)
{
    vkt_status st = VKT_OK;
    vkt__map archive = { 0 };
    vkt__arrays *a = &out->arrays;
    bool has_x = false;
    a->name = path;
    if (!vkt__is_dir(path)) {
        VKT_TRY(vkt__file_map(path, &archive));
        if (!vkt__zip_is(archive.data, archive.n)) {
            st = read_lone(path, out);
            goto fail;
        }
    }
    VKT_TRY(read_array(path, &archive, "X.npy", &out->x, &a->x, &has_x));
    VKT_TRY(read_array(path, &archive, "y.npy", &out->y, &a->y, &a->has_y));
    if (!has_x) {
        st = missing(path, "X");
        goto fail;
    }
    VKT_TRY(check_x(a));
    if (a->has_y) VKT_TRY(check_y(a));
    if (archive.n) VKT_TRY(say_others(path, &archive));
fail:
    vkt__file_unmap(&archive);
    return st;
}

/* ---- arrays in memory ---- */

static vkt_status borrow_array(const vkt_array *from, const char *which, vkt__npy *out)
{
    static const struct {
        vkt__npy_type type;
        uint32_t bytes;
    } types[] = { [VKT_ARRAY_U8] = { VKT__NPY_U8, 1 },
                  [VKT_ARRAY_I64] = { VKT__NPY_I64, 8 },
                  [VKT_ARRAY_F32] = { VKT__NPY_F32, 4 },
                  [VKT_ARRAY_F64] = { VKT__NPY_F64, 8 } };
    if (from->type == VKT_ARRAY_NONE || (unsigned)from->type >= VKT_COUNT(types) || !from->data)
        return vkt__fail(VKT_E_ARG, "data", "the array %s has no type or no memory", which);
    if (from->rank < 1 || from->rank > VKT_COUNT(from->shape))
        return vkt__fail(VKT_E_ARG, "data", "the array %s has %u dimensions, not 1 to 4", which,
                         from->rank);
    *out = (vkt__npy) {
        .type = types[from->type].type, .rank = from->rank, .n = 1, .data = from->data
    };
    bool fits = true;
    for (uint32_t i = 0; i < from->rank; i++) {
        out->shape[i] = from->shape[i];
        if (!from->shape[i])
            return vkt__fail(VKT_E_ARG, "data", "the array %s is empty: a length is 0", which);
        fits = fits && vkt__mul_ok(out->n, from->shape[i], &out->n);
    }
    fits = fits && vkt__mul_ok(out->n, types[from->type].bytes, &out->n_bytes);
    if (fits && out->n_bytes <= ARRAY_LIMIT) return VKT_OK;
    return vkt__fail(VKT_E_ARG, "data", "the shape of the array %s is too large", which);
}

/* A table is read where it lies; pictures, which are kept, are copied. */
static vkt_status borrow(const vkt_arrays *from, opened *out)
{
    vkt_status st;
    vkt__arrays *a = &out->arrays;
    a->name = "arrays in memory";
    if (from->x.type == VKT_ARRAY_NONE && from->y.type == VKT_ARRAY_NONE)
        return vkt__fail(VKT_E_ARG, "data",
                         "there are no examples: the run had them in memory; name a file of "
                         "examples (.npz, CSV)");
    VKT_TRY(borrow_array(&from->x, "X", &a->x));
    VKT_TRY(check_x(a));
    a->has_y = from->y.type != VKT_ARRAY_NONE;
    if (a->has_y) VKT_TRY(borrow_array(&from->y, "y", &a->y));
    if (a->has_y) VKT_TRY(check_y(a));
    if (a->x.rank > 2) {
        VKT_TRY(vkt__alloc_large(a->x.n_bytes, 1, "the pictures", &out->x));
        a->x.data = memcpy(out->x, a->x.data, (size_t)a->x.n_bytes);
    }
fail:
    return st;
}

/* ---- as a data set ---- */

vkt_status vkt__arrays_open(vkt_dataset *ds, const vkt_data_desc *desc)
{
    vkt_status st;
    opened o = { 0 };
    vkt__arrays *a = &o.arrays;
    VKT_TRY(desc->arrays ? borrow(desc->arrays, &o) : read_arrays(desc->path, &o));
    if (!a->has_y) {
        st = missing(a->name, "y");
        goto fail;
    }
    if (desc->task == VKT_TASK_CLASSIFY && vkt__npy_is_float(&a->y)) {
        st =
            vkt__fail(VKT_E_ARG, "data",
                      "'%s': y holds floats, which are numbers to predict: set data.task: regress, "
                      "or save classes as y.astype('int64')",
                      a->name);
        goto fail;
    }
    if (a->x.rank == 2)
        VKT_TRY(vkt__array_table_open(ds, desc, a));
    else
        VKT_TRY(vkt__array_pictures_open(ds, desc, a, &o.x));
fail:
    opened_finish(&o);
    return st;
}

static vkt_status open_schema(vkt_dataset *ds, opened *o)
{
    ds->info.has_labels = o->arrays.has_y;
    return ds->schema.kind == VKT_DATA_KIND_TABLE
               ? vkt__array_table_open_schema(ds, &o->arrays)
               : vkt__array_pictures_open_schema(ds, &o->arrays, &o->x);
}

vkt_status vkt__arrays_open_schema(vkt_dataset *ds, const char *const *paths, size_t n)
{
    opened o = { 0 };
    VKT_ASSERT(n == 1);
    vkt_status st = read_arrays(paths[0], &o);
    if (st == VKT_OK) st = open_schema(ds, &o);
    opened_finish(&o);
    return st;
}

vkt_status vkt__arrays_reopen(vkt_dataset *ds, const vkt_arrays *arrays)
{
    opened o = { 0 };
    vkt_status st = borrow(arrays, &o);
    if (st == VKT_OK) st = open_schema(ds, &o);
    opened_finish(&o);
    return st;
}

vkt_likeness vkt__arrays_are(const char *path)
{
    static const char *const ends[] = { ".npz" };
    char head[6];
    vkt__str inner = { 0 };
    if (vkt__is_dir(path)) {
        vkt__str_printf(&inner, "%s/X.npy", path);
        bool is = vkt__file_exists(inner.data);
        vkt__str_finish(&inner);
        return is ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
    }
    if (!vkt__bytes_head(path, head, sizeof head)) return VKT_LIKE_NONE;
    bool array = memcmp(head, "\x93NUMPY", 6) == 0,
         archive = vkt__zip_is(head, sizeof head) && vkt__bytes_named(path, ends, 1);
    return array || archive ? VKT_LIKE_CONTENT : VKT_LIKE_NONE;
}
