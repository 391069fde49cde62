/* peft.h. The keys of adapter_config.json are those of peft.LoraConfig (github.com/huggingface/peft
 * 0.18), of which later ones come with every version. */
#include <jansson.h>
#include <math.h>

#include "base/os.h"
#include "base/words.h"
#include "models/peft.h"

#define A_END ".lora_A.weight"
#define B_END ".lora_B.weight"

bool vkt__is_peft_folder(const char *path)
{
    vkt__arena a = { 0 };
    bool is = vkt__file_size(vkt__arena_printf(&a, "%s/adapter_config.json", path)) >= 0;
    vkt__arena_finish(&a);
    return is;
}

/* ---- adapter_config.json ---- */

/* null, false, 0, "none", {} and [] ask for nothing. */
static bool asks_nothing(const json_t *v)
{
    if (json_is_object(v)) return json_object_size(v) == 0;
    if (json_is_array(v)) return json_array_size(v) == 0;
    if (json_is_number(v)) return json_number_value(v) == 0;
    if (json_is_string(v)) return !*json_string_value(v) || !strcmp(json_string_value(v), "none");
    return !v || json_is_null(v) || json_is_false(v);
}

/* Of what changes the adapter's mathematics or what it has weights for, the first that is asked
 * for, or NULL. Beginnings as pissa's change the base too. */
static const char *unsupported(const json_t *o)
{
    static const char *const keys[] = {
        "use_dora",
        "use_qalora",
        "use_bdlora",
        "lora_bias",
        "bias",
        "rank_pattern",
        "alpha_pattern",
        "modules_to_save",
        "layer_replication",
        "target_parameters",
        "arrow_config",
        "trainable_token_indices",
        "alora_invocation_tokens",
        "megatron_config",
        "loftq_config",
    };
    static const char *const beginnings[] = { "gaussian", "eva", "orthogonal" };
    for (size_t i = 0; i < VKT_COUNT(keys); i++)
        if (!asks_nothing(json_object_get(o, keys[i]))) return keys[i];
    const char *begins = json_string_value(json_object_get(o, "init_lora_weights"));
    for (size_t i = 0; begins && i < VKT_COUNT(beginnings); i++)
        if (!strcmp(begins, beginnings[i])) begins = NULL;
    return begins ? "init_lora_weights" : NULL;
}

static vkt_status refuse_key(const char *path, const json_t *o, const char *key)
{
    char *value =
        json_dumps(json_object_get(o, key), JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
    vkt__fail(VKT_E_FORMAT, "model", "'%s': %s is %.80s, which vktrain's adapters do not have",
              path, key, value ? value : "not what it should be");
    free(value);
    return VKT_E_FORMAT;
}

/* A list of names, of which the layers are told from the folder's tensors otherwise. */
static const char *targets_of(vkt__arena *a, const json_t *o)
{
    const json_t *list = json_object_get(o, "target_modules"), *v;
    vkt__str all = { 0 };
    size_t i;
    if (!json_is_array(list) || !asks_nothing(json_object_get(o, "layers_to_transform")) ||
        !asks_nothing(json_object_get(o, "exclude_modules")))
        return NULL;
    json_array_foreach(list, i, v)
    {
        const char *name = json_string_value(v);
        if (!name || !*name || strpbrk(name, ", ")) {
            vkt__str_finish(&all);
            return NULL;
        }
        vkt__str_printf(&all, "%s%s", all.len ? ", " : "", name);
    }
    const char *out = all.len ? vkt__arena_strdup(a, all.data) : NULL;
    vkt__str_finish(&all);
    return out;
}

static vkt_status take_config(const char *path, const json_t *o, vkt__peft *p)
{
    const char *type = json_string_value(json_object_get(o, "peft_type")), *key;
    const json_t *r = json_object_get(o, "r"), *alpha = json_object_get(o, "lora_alpha"),
                 *dropout = json_object_get(o, "lora_dropout");
    if (!type || strcmp(type, "LORA") != 0)
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s': peft_type is '%s', but only LORA is supported", path,
                         vkt__show(type ? type : "not said").s);
    if ((key = unsupported(o))) return refuse_key(path, o, key);
    if (!json_is_integer(r) || json_integer_value(r) < 1 || json_integer_value(r) > 4096)
        return vkt__fail(VKT_E_FORMAT, "model", "'%s': r must be a rank from 1 to 4096", path);
    double a = json_number_value(alpha), d = json_number_value(dropout);
    if (!(a > 0 && a <= 1e6))
        return vkt__fail(VKT_E_FORMAT, "model", "'%s': lora_alpha must be above 0 and at most 1e6",
                         path);
    p->lora.rank = (uint32_t)json_integer_value(r);
    if (json_is_true(json_object_get(o, "use_rslora"))) a *= sqrt(p->lora.rank);
    p->lora.alpha = (float)a;
    p->lora.dropout = d > 0 && d < 1 ? (float)d : 0;
    const char *base = json_string_value(json_object_get(o, "base_model_name_or_path"));
    p->base = base && *base ? vkt__arena_strdup(&p->arena, base) : NULL;
    p->lora.targets = targets_of(&p->arena, o);
    return VKT_OK;
}

vkt_status vkt__peft_config(const char *text, size_t n, const char *path, vkt__peft *p)
{
    json_error_t error;
    json_t *o = json_loadb(text, n, 0, &error);
    vkt_status st =
        json_is_object(o)
            ? take_config(path, o, p)
            : vkt__fail(VKT_E_FORMAT, "model", "'%s:%d' is not a JSON object: %s", path,
                        o ? 1 : error.line, o ? "it is something else" : vkt__show(error.text).s);
    json_decref(o);
    return st;
}

static vkt_status read_config(vkt__peft *p)
{
    vkt_status st;
    char *text = NULL;
    size_t n;
    const char *path = vkt__arena_printf(&p->arena, "%s/adapter_config.json", p->folder);
    VKT_TRY(vkt__file_read(path, 1 << 20, &text, &n));
    VKT_TRY(vkt__peft_config(text, n, path, p));
fail:
    free(text);
    return st;
}

/* ---- adapter_model.safetensors ---- */

static bool ends_in(const char *name, size_t n, const char *end)
{
    size_t k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

/* "base_model.model.LAYER.lora_A.weight" -> LAYER, and whether it is B; NULL: another name. */
static const char *layer_of(vkt__arena *a, const char *name, bool *b)
{
    size_t n = strlen(name), skip = strlen(VKT__PEFT_PREFIX);
    *b = ends_in(name, n, B_END);
    if (n <= skip + strlen(A_END) || strncmp(name, VKT__PEFT_PREFIX, skip) != 0 ||
        (!*b && !ends_in(name, n, A_END)))
        return NULL;
    return vkt__arena_printf(a, "%.*s", (int)(n - skip - strlen(A_END)), name + skip);
}

/* Each tensor is half of a pair of the rank. The layers' names become the targets that the
 * configuration has no list of. */
static vkt_status check_tensors(vkt__peft *p)
{
    const vkt_tensor_info *t;
    vkt__str layers = { 0 };
    vkt_status st = VKT_OK;
    size_t n = 0, at;
    for (; (t = vkt__safetensors_tensor(p->tensors, n)) && st == VKT_OK; n++) {
        bool b;
        const char *layer = layer_of(&p->arena, t->name, &b),
                   *other = vkt__arena_printf(&p->arena, VKT__PEFT_PREFIX "%s%s",
                                              layer ? layer : "", b ? A_END : B_END);
        if (!layer || strpbrk(layer, ", ") || t->rank != 2)
            st = vkt__fail(VKT_E_FORMAT, "model",
                           "'%s': tensor '%s' does not belong to a plain LoRA adapter", p->folder,
                           vkt__show(t->name).s);
        else if (t->shape[b] != p->lora.rank)
            st =
                vkt__fail(VKT_E_FORMAT, "model",
                          "'%s': tensor '%s' has rank %llu, adapter_config.json says %u", p->folder,
                          vkt__show(t->name).s, (unsigned long long)t->shape[b], p->lora.rank);
        else if (!vkt__safetensors_find(p->tensors, other, &at))
            st = vkt__fail(VKT_E_FORMAT, "model", "'%s': tensor '%s' is missing", p->folder,
                           vkt__show(other).s);
        else if (!b)
            vkt__str_printf(&layers, "%s%s", layers.len ? ", " : "", layer);
    }
    if (st == VKT_OK && !n) st = vkt__fail(VKT_E_FORMAT, "model", "'%s' has no tensor", p->folder);
    if (st == VKT_OK && !p->lora.targets)
        p->lora.targets = vkt__arena_strdup(&p->arena, layers.data);
    vkt__str_finish(&layers);
    return st;
}

vkt_status vkt__peft_open(const char *folder, vkt__peft *p)
{
    vkt_status st;
    *p = (vkt__peft) { 0 };
    p->folder = vkt__arena_strdup(&p->arena, folder);
    VKT_TRY(read_config(p));
    const char *path = vkt__arena_printf(&p->arena, "%s/adapter_model.safetensors", folder),
               *old = vkt__arena_printf(&p->arena, "%s/adapter_model.bin", folder);
    if (vkt__file_size(path) < 0) {
        st = vkt__fail(VKT_E_IO, "model", "'%s' has no adapter_model.safetensors%s", folder,
                       vkt__file_size(old) < 0
                           ? ""
                           : ": adapter_model.bin is not read, save it as safetensors");
        goto fail;
    }
    VKT_TRY(vkt__safetensors_open(path, &p->tensors));
    VKT_TRY(check_tensors(p));
fail:
    return st;
}

void vkt__peft_close(vkt__peft *p)
{
    vkt__safetensors_close(&p->tensors);
    vkt__arena_finish(&p->arena);
    *p = (vkt__peft) { 0 };
}

static vkt_status misfit(const vkt__peft *p, const vkt__st_tensor *t, const vkt_tensor_info *have)
{
    vkt__str a = { 0 }, b = { 0 };
    vkt__st_shape_text(have->rank, have->shape, &a);
    vkt__st_shape_text(t->rank, t->shape, &b);
    vkt__fail(VKT_E_FORMAT, "model", "'%s': tensor '%s' is %s in the adapter, %s in the model",
              p->folder, t->name, a.data, b.data);
    vkt__str_finish(&a);
    vkt__str_finish(&b);
    return VKT_E_FORMAT;
}

vkt_status vkt__peft_load(vkt__peft *p, const vkt__st_tensor *t, size_t n)
{
    vkt_status st;
    vkt__arena a = { 0 };
    const vkt_tensor_info *have;
    for (size_t i = 0, k; (have = vkt__safetensors_tensor(p->tensors, i)); i++) {
        const char *name = have->name + strlen(VKT__PEFT_PREFIX);
        for (k = 0; k < n && strcmp(t[k].name, name) != 0;) k++;
        if (k < n) continue;
        st = vkt__fail(VKT_E_FORMAT, "model",
                       "'%s': the model has no layer for the adapter's '%s': it belongs to another "
                       "base model, or lora.targets leaves it out",
                       p->folder, name);
        goto fail;
    }
    for (size_t i = 0, at; i < n; i++) {
        const char *name = vkt__arena_printf(&a, VKT__PEFT_PREFIX "%s", t[i].name);
        if (!vkt__safetensors_find(p->tensors, name, &at)) {
            st = vkt__fail(VKT_E_FORMAT, "model",
                           "'%s': the adapter has no '%s', which the model needs", p->folder,
                           t[i].name);
            goto fail;
        }
        have = vkt__safetensors_tensor(p->tensors, at);
        if (have->shape[0] != t[i].shape[0] || have->shape[1] != t[i].shape[1]) {
            st = misfit(p, &t[i], have);
            goto fail;
        }
        VKT_TRY(vkt__safetensors_read_f32(p->tensors, at, t[i].data));
    }
    st = VKT_OK;
fail:
    vkt__arena_finish(&a);
    return st;
}
