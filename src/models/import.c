/* import.h: where the tensors lie, matching by name and shape, converting to the model's types. */
#include "models/import.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/os.h"
#include "formats/gguf.h"
#include "models/pretrained.h"
#include "models/weights_file.h"

/* The files of a model, one of them open. */
typedef struct {
    vkt__arena arena;
    const char *folder;
    const char *told; /* the folder or the file, as it was named */
    json_t *map;      /* tensor -> file of the index; NULL: all in `only` */
    const char *only;
    vkt__weights_file *open;
    const char *open_name;
} source;

static const char *in_folder(vkt__arena *a, const char *folder, const char *name)
{
    return vkt__arena_printf(a, "%s/%s", folder, name);
}

bool vkt__is_model(const char *path)
{
    return vkt__is_hf_folder(path) || vkt__is_gguf(path);
}

bool vkt__is_hf_folder(const char *path)
{
    vkt__arena a = { 0 };
    bool is = vkt__file_size(in_folder(&a, path, "config.json")) >= 0;
    vkt__arena_finish(&a);
    return is;
}

bool vkt__is_weights_folder(const char *path)
{
    vkt__arena a = { 0 };
    bool is = vkt__file_size(in_folder(&a, path, "model.safetensors")) >= 0 ||
              vkt__file_size(in_folder(&a, path, "model.safetensors.index.json")) >= 0;
    vkt__arena_finish(&a);
    return is;
}

/* Whether the folder has the file, were it a link that leads nowhere or to itself: whoever opens it
 * then says so. */
static bool has_entry(source *s, const char *name)
{
    const char *path = in_folder(&s->arena, s->folder, name);
    return vkt__file_exists(path) && !vkt__is_dir(path);
}

/* The folder's index, if it has one; its file names stay within the folder. */
static vkt_status read_index(source *s)
{
    vkt_status st = VKT_OK;
    char *text = NULL;
    size_t n;
    const char *path = in_folder(&s->arena, s->folder, "model.safetensors.index.json"), *key;
    json_t *o = NULL, *v;
    s->only = "model.safetensors";
    if (has_entry(s, s->only)) return VKT_OK;
    if (!has_entry(s, "model.safetensors.index.json"))
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s' has no model.safetensors and no model.safetensors.index.json%s",
                         s->folder,
                         vkt__file_size(in_folder(&s->arena, s->folder, "pytorch_model.bin")) >= 0
                             ? ": pytorch_model.bin is not read, save it as safetensors"
                             : "");
    VKT_TRY(vkt__file_read(path, 256u << 20, &text, &n));
    o = json_loadb(text, n, 0, NULL);
    s->map = json_incref(json_object_get(o, "weight_map"));
    bool ok = json_is_object(s->map);
    json_object_foreach(s->map, key, v)
    {
        const char *file = json_string_value(v);
        ok = ok && file && *file;
        if (!ok || !strpbrk(file, "/\\")) continue;
        st = vkt__fail(VKT_E_FORMAT, "model",
                       "'%s': its weight_map names a file outside the folder, '%s'", path,
                       vkt__show(file).s);
        goto fail;
    }
    if (!ok)
        st = vkt__fail(VKT_E_FORMAT, "model", "'%s' has no weight_map of tensors and file names",
                       path);
fail:
    json_decref(o);
    free(text);
    return st;
}

static vkt_status source_open(source *s, const char *path)
{
    s->told = path;
    if (vkt__is_dir(path)) {
        s->folder = path;
        return read_index(s);
    }
    const char *slash = strrchr(path, '/');
    s->folder = slash ? vkt__arena_printf(&s->arena, "%.*s", (int)(slash - path), path) : ".";
    s->only = slash ? slash + 1 : path;
    return VKT_OK;
}

static void source_close(source *s)
{
    vkt__weights_file_close(&s->open);
    json_decref(s->map);
    vkt__arena_finish(&s->arena);
}

/* Another name that files have for a tensor: GPT-2's without "transformer.", timm's of a ConvNeXt;
 * NULL: there is none. */
static const char *other_name(vkt__arena *a, const char *name)
{
    return strncmp(name, "transformer.", 12) ? vkt__timm_name(a, name) : name + 12;
}

/* The tensor by one of its names: its place in s->open. *found false: none. */
static vkt_status find(source *s, const char *name, size_t *at, bool *found)
{
    vkt_status st = VKT_OK;
    const char *names[] = { name, other_name(&s->arena, name) };
    *found = false;
    for (size_t k = 0; k < VKT_COUNT(names) && names[k] && !*found; k++) {
        const char *file = s->map ? json_string_value(json_object_get(s->map, names[k])) : s->only;
        if (!file) continue;
        if (!s->open || strcmp(file, s->open_name) != 0) {
            vkt__weights_file_close(&s->open);
            s->open_name = file;
            VKT_TRY(vkt__weights_file_open(in_folder(&s->arena, s->folder, file), &s->open));
        }
        *found = vkt__weights_file_find(s->open, names[k], at);
    }
fail:
    return st;
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n >= n_end && !strcmp(name + n - n_end, end);
}

/* But for ones behind the others: a gain [C] is also written [C, 1, 1]. */
static bool same_shape(const vkt__st_tensor *a, const vkt_tensor_info *b)
{
    for (uint32_t i = 0; i < VKT_MAX(a->rank, b->rank); i++)
        if ((i < a->rank ? a->shape[i] : 1) != (i < b->rank ? b->shape[i] : 1)) return false;
    return true;
}

/* What a model has that a file does not give, and the other way round: told in one line. */
typedef struct {
    size_t n_taken, n_absent, n_misfit, n_unused;
    const char *absent, *unused; /* the first */
    vkt__str misfit;             /* the first, with its shapes */
} matched;

static vkt_status misfit(const source *s, const vkt__st_tensor *t, const vkt_tensor_info *have,
                         bool all, matched *m)
{
    vkt__str a = { 0 }, b = { 0 };
    vkt__st_shape_text(have->rank, have->shape, &a);
    vkt__st_shape_text(t->rank, t->shape, &b);
    if (all)
        vkt__fail(VKT_E_FORMAT, "model", "'%s': tensor '%s' is %s in the file, %s in the model",
                  s->told, t->name, a.data, b.data);
    else {
        vkt_log(VKT_LOG_DEBUG, "train",
                "'%s' is %s %s in '%s/%s' and %s %s in the model: its initial weights are random",
                t->name, have->dtype, a.data, s->folder, s->open_name, t->dtype, b.data);
        if (!m->n_misfit++)
            vkt__str_printf(&m->misfit, "'%s' is %s %s there and %s %s here", t->name, have->dtype,
                            a.data, t->dtype, b.data);
    }
    vkt__str_finish(&a);
    vkt__str_finish(&b);
    return all ? VKT_E_FORMAT : VKT_OK;
}

/* A ViT's positions for pictures of another size. *done false: they are none, or don't fit. */
static vkt_status take_positions(source *s, const vkt__st_tensor *t, size_t at, bool *done)
{
    vkt_status st = VKT_OK;
    const vkt_tensor_info *have = vkt__weights_file_tensor(s->open, at);
    float *data = NULL;
    *done = false;
    if (!ends_in(t->name, "pos_embed") || have->rank != 3 || t->rank != 3 || have->shape[0] != 1 ||
        have->shape[2] != t->shape[2] || strcmp(t->dtype, "F32") != 0)
        return VKT_OK;
    data = malloc(have->shape[1] * have->shape[2] * sizeof *data);
    if (!data) return vkt__fail(VKT_E_OOM_HOST, "model", "no memory for tensor '%s'", t->name);
    VKT_TRY(vkt__weights_file_read_f32(s->open, at, data));
    *done = vkt__positions_resample(data, have->shape[1], t->data, t->shape[1], t->shape[2]);
    if (*done)
        vkt_log(VKT_LOG_INFO, "train",
                "'%s' has %llu positions in '%s/%s', interpolated to this picture size's %llu",
                t->name, (unsigned long long)have->shape[1], s->folder, s->open_name,
                (unsigned long long)t->shape[1]);
fail:
    free(data);
    return st;
}

/* "model.layers.0.mlp.experts.gate_proj.weight", [E, N, K] here, is a matrix for each expert there:
 * the name of number e; NULL: it is no such stack. */
static const char *expert_name(vkt__arena *a, const vkt__st_tensor *t, uint64_t e)
{
    static const char experts[] = ".mlp.experts.";
    const char *at = strstr(t->name, experts);
    if (!at || t->rank != 3 || strcmp(t->dtype, "F32") != 0) return NULL;
    at += sizeof experts - 1;
    return vkt__arena_printf(a, "%.*s%llu.%s", (int)(at - t->name), t->name, (unsigned long long)e,
                             at);
}

/* A stack from its parts. *found false: the file has not even the first. */
static vkt_status take_experts(source *s, const vkt__st_tensor *t, bool all, matched *m,
                               bool *found)
{
    vkt_status st = VKT_OK;
    size_t at;
    *found = false;
    for (uint64_t e = 0; e < t->shape[0] && expert_name(&s->arena, t, e); e++) {
        vkt__st_tensor part = { .name = expert_name(&s->arena, t, e),
                                .dtype = t->dtype,
                                .rank = 2,
                                .shape = { t->shape[1], t->shape[2] } };
        VKT_TRY(find(s, part.name, &at, found));
        if (!*found && e == 0) return VKT_OK;
        if (!*found)
            return vkt__fail(VKT_E_FORMAT, "model", "'%s' has no tensor '%s', but those before it",
                             s->told, part.name);
        if (!same_shape(&part, vkt__weights_file_tensor(s->open, at)))
            return misfit(s, &part, vkt__weights_file_tensor(s->open, at), all, m);
        VKT_TRY(vkt__weights_file_read_f32(s->open, at,
                                           (float *)t->data + e * t->shape[1] * t->shape[2]));
        if (e + 1 == t->shape[0]) m->n_taken++;
    }
fail:
    return st;
}

bool vkt__has_token_rows(const vkt__st_tensor *t)
{
    static const char *const tables[] = { "wte.weight", "embed_tokens.weight", "embed_in.weight",
                                          "lm_head.weight", "embed_out.weight" };
    bool table = false;
    for (size_t i = 0; i < VKT_COUNT(tables); i++) table = table || ends_in(t->name, tables[i]);
    return table && t->rank == 2 && strcmp(t->dtype, "F32") == 0;
}

void vkt__fill_new_rows(const vkt__st_tensor *t, uint64_t rows)
{
    float *x = t->data;
    uint64_t columns = t->shape[1];
    for (uint64_t c = 0; c < columns; c++) {
        double sum = 0;
        for (uint64_t r = 0; r < rows; r++) sum += (double)x[r * columns + c];
        for (uint64_t r = rows; r < t->shape[0]; r++)
            x[r * columns + c] = (float)(sum / (double)rows);
    }
}

/* The embedding or the output layer with rows behind those that there are. *done false: it is none,
 * or has too many. */
static vkt_status take_more_rows(source *s, const vkt__st_tensor *t, size_t at, uint32_t most,
                                 bool *done)
{
    vkt_status st;
    const vkt_tensor_info *have = vkt__weights_file_tensor(s->open, at);
    *done = false;
    if (!vkt__has_token_rows(t) || have->rank != 2 || have->shape[1] != t->shape[1] ||
        !have->shape[0] || t->shape[0] < have->shape[0] || t->shape[0] - have->shape[0] > most)
        return VKT_OK;
    VKT_TRY(vkt__weights_file_read_f32(s->open, at, t->data));
    vkt__fill_new_rows(t, have->shape[0]);
    *done = true;
fail:
    return st;
}

static vkt_status take(source *s, const vkt__st_tensor *t, vkt__import_how how, matched *m)
{
    vkt_status st;
    size_t at = 0;
    bool found, stacked = false, all = how.all;
    VKT_TRY(find(s, t->name, &at, &found));
    if (!found) VKT_TRY(take_experts(s, t, all, m, &stacked));
    if (stacked) return VKT_OK;
    bool fresh = !strcmp(t->name, "score.weight"); /* of classes: no base has it */
    if (!found && all && !fresh)
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s' has no tensor '%s': it belongs to another model", s->told, t->name);
    if (!found) {
        vkt_log(VKT_LOG_DEBUG, "train", "'%s' is not in '%s/%s': its initial weights are random",
                t->name, s->folder, s->only ? s->only : "");
        if (!m->n_absent++) m->absent = t->name;
        return VKT_OK;
    }
    const vkt_tensor_info *have = vkt__weights_file_tensor(s->open, at);
    bool f32 = !strcmp(t->dtype, "F32");
    if (!same_shape(t, have) || (!f32 && strcmp(t->dtype, have->dtype) != 0)) {
        bool done = false;
        if (!all) VKT_TRY(take_positions(s, t, at, &done));
        if (!done && how.new_rows) VKT_TRY(take_more_rows(s, t, at, how.new_rows, &done));
        m->n_taken += done;
        return done ? VKT_OK : misfit(s, t, have, all, m);
    }
    VKT_TRY(f32 ? vkt__weights_file_read_f32(s->open, at, t->data)
                : vkt__weights_file_read(s->open, at, t->data));
    m->n_taken++;
fail:
    return st;
}

/* The file as an adapter's, if it holds one: the line that says what to name instead. */
static vkt_status refuse_adapter(const vkt__weights_file *f, const char *folder, const char *name)
{
    const vkt_tensor_info *have;
    for (size_t i = 0; (have = vkt__weights_file_tensor(f, i)); i++)
        if (strstr(have->name, ".lora_"))
            return vkt__fail(VKT_E_FORMAT, "model",
                             "'%s/%s' holds only a LoRA adapter, not its base model: give the run, "
                             "or the folder with adapter_config.json, which name the base",
                             folder, name);
    return VKT_OK;
}

vkt_status vkt__adapter_refuse(const char *path)
{
    static const char *const names[] = { "model.safetensors", "adapter_model.safetensors" };
    vkt_status st = VKT_OK;
    source s = { 0 };
    bool dir = vkt__is_dir(path);
    for (size_t i = 0; i < (dir ? VKT_COUNT(names) : 1) && st == VKT_OK; i++) {
        const char *file = dir ? in_folder(&s.arena, path, names[i]) : path;
        size_t n = strlen(file);
        if (vkt__file_size(file) < 0 || n < 12 || strcmp(file + n - 12, ".safetensors") != 0)
            continue;
        VKT_TRY(source_open(&s, file));
        VKT_TRY(vkt__weights_file_open(file, &s.open));
        st = refuse_adapter(s.open, s.folder, s.only);
        vkt__weights_file_close(&s.open);
    }
fail:
    source_close(&s);
    return st;
}

/* Where the model has adapters itself, they may begin as the file's. */
static vkt_status check_adapter(source *s, const vkt__st_tensor *t, size_t n)
{
    vkt_status st = VKT_OK;
    if (s->map) return VKT_OK;
    for (size_t i = 0; i < n; i++)
        if (strstr(t[i].name, ".lora_")) return VKT_OK;
    s->open_name = s->only;
    VKT_TRY(vkt__weights_file_open(in_folder(&s->arena, s->folder, s->only), &s->open));
    st = refuse_adapter(s->open, s->folder, s->only);
fail:
    return st;
}

static bool is_filled(const vkt__import_how *how, const char *name)
{
    for (size_t i = 0; i < how->n_filled; i++)
        if (!strcmp(how->filled[i], name)) return true;
    return false;
}

/* Of one file: what it holds besides. */
static void find_unused(source *s, const vkt__st_tensor *t, size_t n, const vkt__import_how *how,
                        matched *m)
{
    const vkt_tensor_info *have;
    const char **other = vkt__arena_alloc(&s->arena, (n + 1) * sizeof *other);
    for (size_t k = 0; k < n; k++) other[k] = other_name(&s->arena, t[k].name);
    for (size_t i = 0; s->open && (have = vkt__weights_file_tensor(s->open, i)); i++) {
        size_t k = 0;
        while (k < n && strcmp(t[k].name, have->name) != 0 &&
               (!other[k] || strcmp(other[k], have->name) != 0))
            k++;
        if (k < n || is_filled(how, have->name)) continue;
        vkt_log(VKT_LOG_DEBUG, "train", "the model has no tensor '%s' of '%s/%s': it is not used",
                have->name, s->folder, s->open_name);
        if (!m->n_unused++) m->unused = have->name;
    }
}

/* One line, a warning where anything is left over; --verbose has listed it. */
static void tell(const matched *m, const char *path, size_t n)
{
    vkt__str s = { 0 };
    size_t left = m->n_absent + m->n_misfit;
    if (left) vkt__str_printf(&s, "; random weights: %zu tensor%s", left, left == 1 ? "" : "s");
    if (m->n_misfit) vkt__str_printf(&s, ", %s", m->misfit.data);
    if (m->n_absent)
        vkt__str_printf(&s, ", %zu not in the file, such as '%s'", m->n_absent, m->absent);
    if (m->n_unused)
        vkt__str_printf(&s, "; %zu of the file not used, such as '%s'", m->n_unused, m->unused);
    if (left + m->n_unused > 1) vkt__str_printf(&s, " (--verbose lists them)");
    vkt_log(left || m->n_unused ? VKT_LOG_WARN : VKT_LOG_INFO, "train",
            "training starts with %zu of the model's %zu tensors from '%s'%s", m->n_taken, n, path,
            s.data ? s.data : "");
    vkt__str_finish(&s);
}

bool vkt__is_weights_file(const char *path)
{
    size_t n = strlen(path);
    return n > 12 && !strcmp(path + n - 12, ".safetensors") && vkt__file_size(path) >= 0;
}

vkt_status vkt__import_files(const char *path, const vkt__st_tensor *t, size_t n,
                             vkt__import_how how)
{
    vkt_status st;
    bool all = how.all;
    source s = { 0 };
    matched m = { 0 };
    VKT_TRY(source_open(&s, path));
    VKT_TRY(check_adapter(&s, t, n));
    for (size_t i = 0; i < n; i++) VKT_TRY(take(&s, &t[i], how, &m));
    if (!all && !s.map) find_unused(&s, t, n, &how, &m);
    m.n_taken += how.n_filled;
    if (m.n_taken == 0 && !(all && m.n_absent)) {
        st = vkt__fail(VKT_E_FORMAT, "train",
                       "no tensor of '%s' agrees with the model in name and shape: compare with "
                       "`vktrain inspect`",
                       path);
        goto fail;
    }
    if (!all) tell(&m, path, n + how.n_filled);
fail:
    vkt__str_finish(&m.misfit);
    source_close(&s);
    return st;
}

/* ---- a whole model's ---- */

/* The stack that a file's "model.layers.0.mlp.experts.7.gate_proj.weight" belongs to; NULL: none.
 */
static const vkt__st_tensor *stack_of(const vkt__st_tensor *t, size_t n, const char *name)
{
    static const char experts[] = ".mlp.experts.";
    const char *at = strstr(name, experts);
    if (!at) return NULL;
    at += sizeof experts - 1;
    size_t digits = strspn(at, "0123456789"), first = (size_t)(at - name);
    if (!digits || digits > 6 || at[digits] != '.' || (*at == '0' && digits > 1)) return NULL;
    for (size_t i = 0; i < n; i++)
        if (t[i].rank == 3 && !strncmp(t[i].name, name, first) &&
            !strcmp(t[i].name + first, at + digits + 1))
            return strtoull(at, NULL, 10) < t[i].shape[0] ? &t[i] : NULL;
    return NULL;
}

static const vkt__st_tensor *place_of(const vkt__st_tensor *t, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(t[i].name, name) ||
            (!strncmp(t[i].name, "transformer.", 12) && !strcmp(t[i].name + 12, name)))
            return &t[i];
    return NULL;
}

/* A head's weights in the file of a model that takes the embedding's. */
static vkt_status check_head(source *s, const vkt__st_tensor *t, size_t n, const char *name)
{
    vkt_status st;
    size_t at = 0;
    bool found, same;
    float *head = NULL, *own = NULL;
    const vkt__st_tensor *table = place_of(t, n, "model.embed_tokens.weight");
    if (!table) table = place_of(t, n, "wte.weight");
    if (!table) table = place_of(t, n, "gpt_neox.embed_in.weight");
    VKT_TRY(find(s, name, &at, &found));
    same = found && table && same_shape(table, vkt__weights_file_tensor(s->open, at));
    if (same) {
        uint64_t count = table->shape[0] * table->shape[1];
        head = malloc(count * sizeof *head);
        if (!table->data) own = malloc(count * sizeof *own);
        if (!head || (!table->data && !own)) {
            st = vkt__fail(VKT_E_OOM_HOST, "model", "no memory for tensor '%s' of '%s'", name,
                           s->folder);
            goto fail;
        }
        VKT_TRY(vkt__weights_file_read_f32(s->open, at, head));
        if (own) {
            VKT_TRY(find(s, table->name, &at, &found));
            VKT_TRY(vkt__weights_file_read_f32(s->open, at, own));
        }
        same = !memcmp(head, own ? own : table->data, count * sizeof *head);
    }
    if (!same)
        st = vkt__fail(VKT_E_FORMAT, "model",
                       "'%s': tie_word_embeddings is true, but the output weights '%s' differ from "
                       "the embedding's: set it to false, or remove that tensor",
                       s->told, name);
fail:
    free(head);
    free(own);
    return st;
}

/* Tensors without a place are constants that old versions have saved, or the model computes
 * something else. */
static vkt_status check_place(source *s, const vkt__st_tensor *t, size_t n, const char *name)
{
    if (place_of(t, n, name) || stack_of(t, n, name) || ends_in(name, ".rotary_emb.inv_freq") ||
        ends_in(name, ".attn.bias") || ends_in(name, ".attn.masked_bias") ||
        ends_in(name, ".attention.bias") || ends_in(name, ".attention.masked_bias"))
        return VKT_OK;
    if (!strcmp(name, "lm_head.weight") || !strcmp(name, "embed_out.weight"))
        return place_of(t, n, "score.weight") ? VKT_OK : check_head(s, t, n, name);
    return vkt__fail(VKT_E_FORMAT, "model",
                     "'%s': the model that config.json describes has no tensor '%s'", s->told,
                     vkt__show(name).s);
}

vkt_status vkt__import_check(const char *path, const vkt__st_tensor *t, size_t n)
{
    vkt_status st;
    source s = { 0 };
    const char *key;
    json_t *v;
    VKT_TRY(source_open(&s, path));
    if (s.map) {
        json_object_foreach(s.map, key, v) VKT_TRY(check_place(&s, t, n, key));
    } else {
        s.open_name = s.only;
        VKT_TRY(vkt__weights_file_open(in_folder(&s.arena, s.folder, s.only), &s.open));
        for (size_t i = 0; vkt__weights_file_tensor(s.open, i); i++)
            VKT_TRY(check_place(&s, t, n, vkt__weights_file_tensor(s.open, i)->name));
    }
fail:
    source_close(&s);
    return st;
}

vkt_status vkt__weights_check_finite(const char *path, const vkt__st_tensor *t, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t count = strcmp(t[i].dtype, "F32") != 0 ? 0 : 1;
        for (uint32_t d = 0; d < t[i].rank; d++) count *= t[i].shape[d];
        const float *v = t[i].data;
        for (uint64_t k = 0; v && k < count; k++)
            if (!isfinite(v[k]))
                return vkt__fail(
                    VKT_E_FORMAT, "model",
                    "'%s': tensor '%s' is not finite: element %llu is %s; get the file again", path,
                    t[i].name, (unsigned long long)k, isnan(v[k]) ? "NaN" : "infinite");
    }
    return VKT_OK;
}
