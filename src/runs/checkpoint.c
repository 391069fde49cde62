/* checkpoint.h: writing, reading and checking one checkpoint folder. The set of them (listing,
 * pruning, the newest whole one) is in checkpoint_set.c.
 *
 * Every byte is covered by a sum: state.json by the CRC-32 in its own first line, the length and
 * header of each safetensors file by the sums in state.json, each tensor by the sum in its file's
 * header. */
#include <jansson.h>
#include <math.h>
#include <zlib.h>

#include "base/os.h"
#include "runs/checkpoint.h"

#define HEAD "{\"crc32\": \""
enum { HEAD_BYTES = sizeof HEAD - 1 + 8 + 2, STATE_LIMIT = 64 << 20, STATE_VERSION = 1 };

bool vkt__crash_now(vkt__crash *crash)
{
    return crash && crash->left-- <= 0;
}

/* ---- state.json ---- */

static json_t *hex(uint64_t v)
{
    return json_sprintf("%016llx", (unsigned long long)v);
}

static json_t *digest_json(vkt__st_digest d)
{
    return json_pack("{s:I, s:o}", "bytes", (json_int_t)d.bytes, "header_crc32",
                     json_sprintf("%08x", d.header_crc));
}

static json_t *text_or_null(const char *s)
{
    return s ? json_string(s) : json_null();
}

static vkt_status state_write(const char *path, const vkt__checkpoint_state *s,
                              const vkt__st_digest digest[2])
{
    vkt_status st = VKT_OK;
    vkt__str out = { 0 };
    char number[32];
    FILE *f = NULL;
    json_t *extra = s->extra ? json_loads(s->extra, JSON_DECODE_ANY, NULL) : json_null();
    json_t *seed =
        json_sprintf("%llu", (unsigned long long)s->seed); /* may exceed JSON's integers */
    json_t *root = json_pack(
        "{s:s, s:i, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o, s:o}", "format",
        "vktrain checkpoint", "version", STATE_VERSION, "vktrain", VKT_VERSION, "step",
        (json_int_t)s->step, "loader_batches", (json_int_t)s->loader_batches, "seed", seed,
        "config_hash", hex(s->config_hash), "data_hash", hex(s->data_hash), "metric",
        text_or_null(s->metric), "value", isfinite(s->value) ? json_real(s->value) : json_null(),
        "files", "model.safetensors", digest_json(digest[0]), "optimizer.safetensors",
        digest_json(digest[1]), "config", text_or_null(s->config), "schema",
        text_or_null(s->schema), "extra", extra);
    if (root && s->folder) json_object_set_new(root, "folder", json_string(s->folder));
    if (root && s->has_base)
        json_object_set_new(root, "base_crc32", json_sprintf("%08x", (unsigned)s->base_crc));
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return vkt__fail(VKT_E_ARG, "checkpoint",
                         "'%s': a text of the state is not UTF-8 or not JSON", path);
    vkt__str_add(&out, text + 1, strlen(text) - 1); /* without the opening brace */
    vkt__str_add(&out, "\n", 1);
    free(text);
    snprintf(number, sizeof number, "%08x\",",
             (unsigned)crc32(0, (const unsigned char *)out.data, (uInt)out.len));
    VKT_TRY(vkt__file_create(path, &f));
    fputs(HEAD, f);
    fputs(number, f);
    fwrite(out.data, 1, out.len, f);
    VKT_TRY(vkt__file_finish(path, &f));
fail:
    vkt__str_finish(&out);
    return st;
}

static bool get_hex(const json_t *j, uint64_t *out)
{
    const char *s = json_string_value(j);
    char *end;
    if (!s || strlen(s) != 16) return false;
    *out = strtoull(s, &end, 16);
    return !*end;
}

static bool get_count(const json_t *j, uint64_t *out)
{
    if (!json_is_integer(j) || json_integer_value(j) < 0) return false;
    *out = (uint64_t)json_integer_value(j);
    return true;
}

static const char *get_text(vkt__arena *a, const json_t *j)
{
    return json_is_string(j) ? vkt__arena_strdup(a, json_string_value(j)) : NULL;
}

static bool get_digest(const json_t *files, const char *name, vkt__st_digest *d)
{
    const json_t *j = json_object_get(files, name);
    const char *crc = json_string_value(json_object_get(j, "header_crc32"));
    if (!crc || !get_count(json_object_get(j, "bytes"), &d->bytes)) return false;
    d->header_crc = (uint32_t)strtoul(crc, NULL, 16);
    return true;
}

static bool state_fields(vkt__arena *a, const json_t *j, vkt__checkpoint_state *s,
                         vkt__st_digest digest[2])
{
    const json_t *files = json_object_get(j, "files"), *value = json_object_get(j, "value");
    const json_t *extra = json_object_get(j, "extra");
    const char *seed = json_string_value(json_object_get(j, "seed")),
               *base = json_string_value(json_object_get(j, "base_crc32"));
    if (!seed || !get_count(json_object_get(j, "step"), &s->step) ||
        !get_count(json_object_get(j, "loader_batches"), &s->loader_batches) ||
        !get_hex(json_object_get(j, "config_hash"), &s->config_hash) ||
        !get_hex(json_object_get(j, "data_hash"), &s->data_hash) ||
        !get_digest(files, "model.safetensors", &digest[0]) ||
        !get_digest(files, "optimizer.safetensors", &digest[1]))
        return false;
    s->seed = strtoull(seed, NULL, 10);
    s->has_base = base != NULL;
    s->base_crc = base ? (uint32_t)strtoul(base, NULL, 16) : 0;
    s->metric = get_text(a, json_object_get(j, "metric"));
    s->value = json_is_number(value) ? json_number_value(value) : NAN;
    s->config = get_text(a, json_object_get(j, "config"));
    s->schema = get_text(a, json_object_get(j, "schema"));
    s->folder = get_text(a, json_object_get(j, "folder"));
    if (extra && !json_is_null(extra)) {
        char *text = json_dumps(extra, JSON_COMPACT | JSON_ENCODE_ANY);
        s->extra = vkt__arena_strdup(a, text);
        free(text);
    }
    return true;
}

vkt_status vkt__checkpoint_read_state(vkt__arena *a, const char *path, vkt__checkpoint_state *s,
                                      vkt__st_digest digest[2], const char **why)
{
    char *data = NULL, head[HEAD_BYTES + 1];
    size_t n;
    *why = NULL;
    vkt_status st = vkt__file_read_if(path, STATE_LIMIT, &data, &n);
    if (st != VKT_OK) return st;
    if (!data) return *why = "missing", VKT_E_FORMAT;
    if (n <= HEAD_BYTES) {
        *why = "cut short";
    } else {
        snprintf(head, sizeof head, HEAD "%08x\",",
                 (unsigned)crc32(0, (unsigned char *)data + HEAD_BYTES, (uInt)(n - HEAD_BYTES)));
        json_t *j = NULL;
        if (memcmp(head, data, HEAD_BYTES))
            *why = "damaged: its CRC-32 does not fit its content, or it was edited";
        else if (!(j = json_loadb(data, n, JSON_REJECT_DUPLICATES, NULL)))
            *why = "not JSON";
        else if (json_integer_value(json_object_get(j, "version")) != STATE_VERSION)
            *why = "of another version of vktrain";
        else if (!state_fields(a, j, s, digest))
            *why = "lacking a field";
        json_decref(j);
    }
    free(data);
    return *why ? VKT_E_FORMAT : VKT_OK;
}

/* ---- writing ---- */

#define STEP_OR_CRASH(expr)                                                                        \
    do {                                                                                           \
        if (vkt__crash_now(d->crash)) {                                                            \
            st = VKT_E_INTERRUPTED;                                                                \
            goto fail;                                                                             \
        }                                                                                          \
        VKT_TRY(expr);                                                                             \
    } while (0)

vkt_status vkt__checkpoint_write(const vkt__checkpoint_desc *d)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    vkt__st_digest digest[2];
    const unsigned long long step = (unsigned long long)d->state.step;
    const char *dir = vkt__arena_printf(&a, "%s/checkpoints", d->run_dir);
    const char *final = vkt__arena_printf(&a, "%s/step-%08llu", dir, step);
    const char *tmp = vkt__arena_printf(&a, "%s/.tmp-step-%08llu", dir, step);
    const char *old = vkt__arena_printf(&a, "%s/.old-step-%08llu", dir, step);
    const vkt__st_meta meta[] = { { "format", "pt" }, { "producer", "vktrain " VKT_VERSION } };
    const char *model = vkt__arena_printf(&a, "%s/model.safetensors", tmp);
    const char *optim = vkt__arena_printf(&a, "%s/optimizer.safetensors", tmp);
    bool replaces = vkt__file_exists(final);
    STEP_OR_CRASH(vkt__mkdirs_synced(dir));
    STEP_OR_CRASH(vkt__remove_tree(tmp));
    STEP_OR_CRASH(vkt__mkdirs(tmp));
    STEP_OR_CRASH(vkt__safetensors_write(model, d->model, d->n_model, meta, 2, &digest[0]));
    STEP_OR_CRASH(vkt__safetensors_write(optim, d->optim, d->n_optim, meta, 2, &digest[1]));
    STEP_OR_CRASH(state_write(vkt__arena_printf(&a, "%s/state.json", tmp), &d->state, digest));
    STEP_OR_CRASH(vkt__sync_dir(tmp));
    if (replaces) STEP_OR_CRASH(vkt__rename(final, old));
    STEP_OR_CRASH(vkt__rename(tmp, final));
    STEP_OR_CRASH(vkt__sync_dir(dir));
    if (replaces) STEP_OR_CRASH(vkt__remove_tree(old));
fail:
    if (st != VKT_OK && !d->crash && vkt__file_exists(tmp))
        vkt__discard_tree(tmp); /* a full disk gets its room back */
    vkt__arena_finish(&a);
    return st;
}

/* ---- reading ---- */

static vkt_status open_part(vkt__checkpoint *c, const char *name, vkt__st_digest want,
                            vkt__safetensors **out)
{
    const char *path = vkt__arena_printf(&c->arena, "%s/%s", c->dir, name);
    if (vkt__is_absent(path)) return vkt__fail(VKT_E_FORMAT, "checkpoint", "'%s' is missing", path);
    int64_t size = vkt__file_size(path);
    if (size >= 0 && (uint64_t)size != want.bytes)
        return vkt__fail(VKT_E_FORMAT, "checkpoint", "'%s' is damaged: %lld bytes, expected %llu",
                         path, (long long)size, (unsigned long long)want.bytes);
    vkt_status st = vkt__safetensors_open(path, out);
    if (st != VKT_OK) return st;
    if (vkt__safetensors_digest(*out).header_crc != want.header_crc)
        return vkt__fail(VKT_E_FORMAT, "checkpoint",
                         "'%s' is damaged: its header's CRC-32 is not the one in state.json", path);
    return VKT_OK;
}

vkt_status vkt__checkpoint_open(const char *dir, vkt__checkpoint **out)
{
    vkt_status st = VKT_OK;
    vkt__st_digest digest[2];
    const char *why;
    vkt__checkpoint *c = vkt__alloc(sizeof *c);
    *out = NULL;
    c->dir = vkt__arena_strdup(&c->arena, dir);
    const char *path = vkt__arena_printf(&c->arena, "%s/state.json", dir);
    st = vkt__checkpoint_read_state(&c->arena, path, &c->state, digest, &why);
    if (why) vkt__fail(st, "checkpoint", "'%s' is %s", path, why);
    if (st != VKT_OK) goto fail;
    VKT_TRY(open_part(c, "model.safetensors", digest[0], &c->model));
    VKT_TRY(open_part(c, "optimizer.safetensors", digest[1], &c->optim));
    *out = c;
    return VKT_OK;
fail:
    vkt__checkpoint_close(&c);
    return st;
}

vkt_status vkt__checkpoint_verify(vkt__checkpoint *c)
{
    vkt_status st = vkt__safetensors_verify(c->model);
    return st != VKT_OK ? st : vkt__safetensors_verify(c->optim);
}

static bool has_prefix(const vkt__safetensors *f, const char *prefix)
{
    const vkt_tensor_info *t;
    for (size_t i = 0; (t = vkt__safetensors_tensor(f, i)); i++)
        if (!strncmp(t->name, prefix, strlen(prefix))) return true;
    return false;
}

vkt__checkpoint_place vkt__checkpoint_weights(const vkt__checkpoint *c, bool raw)
{
    const char *prefix = raw ? "raw." : "ema.";
    if (has_prefix(c->optim, prefix)) return (vkt__checkpoint_place) { c->optim, prefix };
    return (vkt__checkpoint_place) { c->model, "" };
}

static bool same_shape(const vkt__st_tensor *t, const vkt_tensor_info *have)
{
    return t->rank == have->rank && !memcmp(t->shape, have->shape, t->rank * sizeof *t->shape);
}

vkt_status vkt__checkpoint_overlay(vkt__checkpoint *c, bool raw, const vkt__st_tensor *t, size_t n)
{
    vkt__checkpoint_place place = vkt__checkpoint_weights(c, raw);
    vkt__arena a = { 0 };
    size_t found = 0, at;
    if (place.file == c->model) return VKT_OK;
    vkt__st_tensor *there = vkt__alloc(n * sizeof *there);
    for (size_t i = 0; i < n; i++) {
        there[found] = t[i];
        there[found].name = vkt__arena_printf(&a, "%s%s", place.prefix, t[i].name);
        found += vkt__safetensors_find(place.file, there[found].name, &at) &&
                 same_shape(&t[i], vkt__safetensors_tensor(place.file, at));
    }
    vkt_status st = vkt__safetensors_load(place.file, there, found, true);
    free(there);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__checkpoint_load(vkt__checkpoint *c, bool raw, const vkt__st_tensor *t, size_t n,
                                bool others)
{
    vkt_status st = vkt__safetensors_load(c->model, t, n, others);
    return st == VKT_OK ? vkt__checkpoint_overlay(c, raw, t, n) : st;
}

void vkt__checkpoint_close(vkt__checkpoint **c)
{
    if (!*c) return;
    vkt__safetensors_close(&(*c)->model);
    vkt__safetensors_close(&(*c)->optim);
    vkt__arena_finish(&(*c)->arena);
    free(*c);
    *c = NULL;
}
