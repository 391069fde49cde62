/* peft.h. The keys of adapter_config.json are those of peft.LoraConfig (github.com/huggingface/peft
 * 0.18); every version adds some. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/os.h"
#include "base/words.h"
#include "formats/json_text.h"
#include "models/peft/adapter.h"
#include "models/peft/peft.h"

#define A_END ".lora_A.weight"
#define B_END ".lora_B.weight"
#define M_END ".lora_magnitude_vector"

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
        "use_qalora",
        "use_bdlora",
        "lora_bias",
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

/* Names with commas between them; NULL: it is no list of plain names. */
static const char *words_of(vkt__arena *a, const json_t *list)
{
    const json_t *v;
    vkt__str all = { 0 };
    size_t i;
    if (!json_is_array(list)) return NULL;
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

/* target_modules, a list of names; NULL: the folder's tensors say which layers have adapters. */
static const char *targets_of(vkt__arena *a, const json_t *o)
{
    if (!asks_nothing(json_object_get(o, "layers_to_transform")) ||
        !asks_nothing(json_object_get(o, "exclude_modules")))
        return NULL;
    return words_of(a, json_object_get(o, "target_modules"));
}

/* The list without the output layer's name. */
static const char *without_head(vkt__arena *a, const char *words)
{
    vkt__str all = { 0 };
    for (const char *w = words; *(w += strspn(w, ", ")); w += strcspn(w, ", ")) {
        size_t n = strcspn(w, ", ");
        bool head = (n >= 7 && !strncmp(w + n - 7, "lm_head", 7)) ||
                    (n >= 9 && !strncmp(w + n - 9, "embed_out", 9));
        if (!head) vkt__str_printf(&all, "%s%.*s", all.len ? ", " : "", (int)n, w);
    }
    const char *out = vkt__arena_strdup(a, all.len ? all.data : words);
    vkt__str_finish(&all);
    return out;
}

/* bias, modules_to_save and the patterns. */
static vkt_status take_more(const char *path, const json_t *o, vkt__peft *p)
{
    const json_t *bias = json_object_get(o, "bias"),
                 *modules = json_object_get(o, "modules_to_save");
    const char *word = json_string_value(bias), *key = NULL;
    if (!asks_nothing(bias)) {
        if (word && !strcmp(word, "all"))
            p->lora.bias = VKT_LORA_BIAS_ALL;
        else if (word && !strcmp(word, "lora_only"))
            p->lora.bias = VKT_LORA_BIAS_LORA_ONLY;
        else
            return refuse_key(path, o, "bias");
    }
    p->ranks = json_incref(json_object_get(o, "rank_pattern"));
    p->alphas = json_incref(json_object_get(o, "alpha_pattern"));
    if (!asks_nothing(p->ranks) && !json_is_object(p->ranks)) key = "rank_pattern";
    if (!asks_nothing(p->alphas) && !json_is_object(p->alphas)) key = "alpha_pattern";
    if (!asks_nothing(modules)) {
        p->modules = p->lora.modules = words_of(&p->arena, modules);
        if (!p->modules) key = "modules_to_save";
    }
    p->lora.rslora = json_is_true(json_object_get(o, "use_rslora"));
    p->lora.dora = json_is_true(json_object_get(o, "use_dora"));
    p->ties = json_is_true(json_object_get(o, "ensure_weight_tying"));
    if (p->ties && p->modules) p->lora.modules = without_head(&p->arena, p->modules);
    return key ? refuse_key(path, o, key) : VKT_OK;
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
    p->lora.alpha = (float)a;
    p->lora.dropout = d > 0 && d < 1 ? (float)d : 0;
    const char *base = json_string_value(json_object_get(o, "base_model_name_or_path"));
    p->base = base && *base ? vkt__arena_strdup(&p->arena, base) : NULL;
    p->lora.targets = targets_of(&p->arena, o);
    return take_more(path, o, p);
}

vkt_status vkt__peft_config(const char *text, size_t n, const char *path, vkt__peft *p)
{
    json_error_t error;
    json_t *o = vkt__json_parse(text, n, 0, &error);
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

/* ---- patterns ---- */

/* PEFT's rule: (.*\.)?(KEY)$ as a regular expression from the name's beginning on. */
static vkt_status key_matches(const vkt__peft *p, const char *key, const char *layer, bool *out)
{
    int error;
    size_t at;
    vkt__str text = { 0 };
    vkt__str_printf(&text, "(.*\\.)?(%s)$", key);
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)text.data, text.len,
                                     PCRE2_ANCHORED | PCRE2_DOLLAR_ENDONLY, &error, &at, NULL);
    pcre2_match_data *match = code ? pcre2_match_data_create(1, NULL) : NULL;
    int found = match ? pcre2_match(code, (PCRE2_SPTR)layer, strlen(layer), 0, 0, match, NULL) : 0;
    pcre2_match_data_free(match);
    pcre2_code_free(code);
    vkt__str_finish(&text);
    *out = found >= 0 && match;
    if (match && (found >= 0 || found == PCRE2_ERROR_NOMATCH)) return VKT_OK;
    return vkt__fail(VKT_E_FORMAT, "model",
                     "'%s/adapter_config.json': '%s' in a pattern is no regular expression that "
                     "can be matched",
                     p->folder, vkt__show(key).s);
}

/* The first key that the layer's name matches. */
static vkt_status value_of(const vkt__peft *p, const json_t *pattern, const char *layer,
                           double *value)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)pattern, key, v)
    {
        bool is;
        vkt_status st = key_matches(p, key, layer, &is);
        if (st != VKT_OK) return st;
        if (!is) continue;
        *value = json_number_value(v);
        if (*value > 0 && *value <= 1e6) return VKT_OK;
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s/adapter_config.json': '%s' in a pattern has no number above 0 and at "
                         "most 1e6",
                         p->folder, vkt__show(key).s);
    }
    return VKT_OK;
}

/* ---- adapter_model.safetensors ---- */

static bool ends_in(const char *name, size_t n, const char *end)
{
    size_t k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

/* "base_model.model.LAYER.lora_A.weight" -> LAYER, and which of the ends it has; NULL: another
 * name. */
static const char *layer_of(vkt__arena *a, const char *name, const char **end)
{
    static const char *const ends[] = { A_END, B_END, M_END };
    size_t n = strlen(name), skip = strlen(VKT__PEFT_PREFIX);
    if (n <= skip || strncmp(name, VKT__PEFT_PREFIX, skip) != 0) return NULL;
    for (size_t i = 0; i < VKT_COUNT(ends); i++)
        if (ends_in(name + skip, n - skip, ends[i])) {
            *end = ends[i];
            return vkt__arena_printf(a, "%.*s", (int)(n - skip - strlen(ends[i])), name + skip);
        }
    return NULL;
}

/* The name in the model of a weight or bias that is no adapter's, without the ".base_layer" that
 * PEFT puts before the last part in layers with an adapter; NULL: no prefix. */
static const char *plain_name(vkt__arena *a, const char *name)
{
    static const char base[] = ".base_layer";
    size_t skip = strlen(VKT__PEFT_PREFIX), k = strlen(base);
    if (strncmp(name, VKT__PEFT_PREFIX, skip) != 0) return NULL;
    const char *dot = strrchr(name += skip, '.');
    if (!dot || (size_t)(dot - name) <= k || strncmp(dot - k, base, k) != 0) return name;
    return vkt__arena_printf(a, "%.*s%s", (int)(dot - k - name), name, dot);
}

/* Whether adapter_config.json asks for a tensor that is no adapter's. */
static bool is_asked(const vkt__peft *p, const char *name)
{
    if (p->lora.bias && ends_in(name, strlen(name), ".bias")) return true;
    const char *w = p->modules, *dot = strrchr(name, '.');
    for (; w && dot && *(w += strspn(w, ", ")); w += strcspn(w, ", ")) {
        size_t n = strcspn(w, ", "), len = (size_t)(dot - name);
        if (n <= len && !strncmp(dot - n, w, n)) return true; /* PEFT: the name ends in the word */
    }
    return false;
}

/* Every word of modules_to_save has a tensor. */
static vkt_status check_modules(const vkt__peft *p)
{
    const vkt_tensor_info *t;
    for (const char *w = p->modules; w && *(w += strspn(w, ", ")); w += strcspn(w, ", ")) {
        size_t n = strcspn(w, ", "), i = 0;
        for (; (t = vkt__safetensors_tensor(p->tensors, i)); i++) {
            const char *dot = strrchr(t->name, '.');
            if (dot && (size_t)(dot - t->name) > n && !strncmp(dot - n, w, n)) break;
        }
        if (!t)
            return vkt__fail(VKT_E_FORMAT, "model",
                             "'%s': modules_to_save has '%.*s', of which there is no tensor",
                             p->folder, (int)VKT_MIN(n, 80), w);
    }
    return VKT_OK;
}

static vkt_status not_plain(const vkt__peft *p, const char *name)
{
    return vkt__fail(VKT_E_FORMAT, "model",
                     "'%s': tensor '%s' does not belong to a plain LoRA adapter", p->folder,
                     vkt__show(name).s);
}

typedef struct {
    vkt__str layers, ranks, alphas;
} layer_lists;

static vkt_status check_adapter(vkt__peft *p, const vkt_tensor_info *t, const char *layer,
                                const char *end, layer_lists *lists)
{
    vkt_status st;
    double rank = p->lora.rank, alpha = -1;
    size_t at;
    if (strpbrk(layer, ", =")) return not_plain(p, t->name);
    if (!strcmp(end, M_END)) return p->lora.dora && t->rank == 1 ? VKT_OK : not_plain(p, t->name);
    bool b = !strcmp(end, B_END);
    if (t->rank != 2) return not_plain(p, t->name);
    const char *others[] = { b ? A_END : B_END, p->lora.dora ? M_END : NULL };
    VKT_TRY(value_of(p, p->ranks, layer, &rank));
    if ((double)t->shape[b] != rank || rank > 4096)
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s': tensor '%s' has rank %llu, adapter_config.json says %g", p->folder,
                         vkt__show(t->name).s, (unsigned long long)t->shape[b], rank);
    for (size_t i = 0; i < VKT_COUNT(others) && others[i]; i++) {
        const char *other = vkt__arena_printf(&p->arena, VKT__PEFT_PREFIX "%s%s", layer, others[i]);
        if (!vkt__safetensors_find(p->tensors, other, &at))
            return vkt__fail(VKT_E_FORMAT, "model", "'%s': tensor '%s' is missing", p->folder,
                             vkt__show(other).s);
    }
    if (b) return VKT_OK;
    VKT_TRY(value_of(p, p->alphas, layer, &alpha));
    vkt__str_printf(&lists->layers, "%s%s", lists->layers.len ? ", " : "", layer);
    if (rank != p->lora.rank)
        vkt__str_printf(&lists->ranks, "%s%s=%g", lists->ranks.len ? ", " : "", layer, rank);
    if (alpha > 0 && (float)alpha != p->lora.alpha)
        vkt__str_printf(&lists->alphas, "%s%s=%.9g", lists->alphas.len ? ", " : "", layer, alpha);
fail:
    return st;
}

static const char *kept(vkt__arena *a, const vkt__str *s)
{
    return s->len ? vkt__arena_strdup(a, s->data) : NULL;
}

/* Each tensor is part of an adapter of its layer's rank, or asked for. The layers' names become the
 * targets that the configuration has no list of, and the names of patterns. */
static vkt_status check_tensors(vkt__peft *p)
{
    const vkt_tensor_info *t;
    layer_lists lists = { 0 };
    vkt_status st = VKT_OK;
    size_t n = 0;
    for (; (t = vkt__safetensors_tensor(p->tensors, n)) && st == VKT_OK; n++) {
        const char *end, *layer = layer_of(&p->arena, t->name, &end), *plain;
        if (layer)
            st = check_adapter(p, t, layer, end, &lists);
        else if (!(plain = plain_name(&p->arena, t->name)) || !is_asked(p, plain))
            st = not_plain(p, t->name);
    }
    if (st == VKT_OK && !lists.layers.len)
        st = vkt__fail(VKT_E_FORMAT, "model", "'%s' has no tensor%s", p->folder,
                       n ? " of an adapter" : "");
    if (st == VKT_OK) st = check_modules(p);
    if (st == VKT_OK && !p->lora.targets) p->lora.targets = kept(&p->arena, &lists.layers);
    p->lora.rank_pattern = kept(&p->arena, &lists.ranks);
    p->lora.alpha_pattern = kept(&p->arena, &lists.alphas);
    vkt__str_finish(&lists.layers);
    vkt__str_finish(&lists.ranks);
    vkt__str_finish(&lists.alphas);
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
    json_decref(p->ranks);
    json_decref(p->alphas);
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

/* Where the model's name of a tensor of the folder stands among t; n: nowhere. */
static size_t place_of(vkt__arena *a, const char *name, const vkt__st_tensor *t, size_t n)
{
    const char *plain = plain_name(a, name);
    size_t k = 0;
    while (k < n && strcmp(t[k].name, plain) != 0) k++;
    return k;
}

/* Finds the folder's tensor by its name in a model. */
static bool find(const vkt__peft *p, vkt__arena *a, const char *name, size_t *at)
{
    const char *dot = strrchr(name, '.');
    int n = dot ? (int)(dot - name) : 0;
    return vkt__safetensors_find(p->tensors, vkt__arena_printf(a, VKT__PEFT_PREFIX "%s", name),
                                 at) ||
           (dot &&
            vkt__safetensors_find(
                p->tensors,
                vkt__arena_printf(a, VKT__PEFT_PREFIX "%.*s.base_layer%s", n, name, dot), at));
}

static vkt_status read_into(const vkt__peft *p, const vkt__st_tensor *t, size_t at)
{
    const vkt_tensor_info *have = vkt__safetensors_tensor(p->tensors, at);
    bool same = have->rank == t->rank;
    for (uint32_t d = 0; same && d < t->rank; d++) same = have->shape[d] == t->shape[d];
    if (same) return vkt__safetensors_read_f32(p->tensors, at, t->data);
    return misfit(p, t, have);
}

static const char *const tables[][2] = { { "model.embed_tokens.weight", "lm_head.weight" },
                                         { "transformer.wte.weight", "lm_head.weight" },
                                         { "gpt_neox.embed_in.weight", "embed_out.weight" } };

uint64_t vkt__peft_rows(const vkt__peft *p)
{
    vkt__arena a = { 0 };
    uint64_t rows = 0;
    for (size_t i = 0, at; i < VKT_COUNT(tables) && !rows; i++)
        if (find(p, &a, tables[i][0], &at))
            rows = vkt__safetensors_tensor(p->tensors, at)->shape[0];
    vkt__arena_finish(&a);
    return rows;
}

/* Whether the model has one matrix for embedding and output layer: which names they are; NULL. */
static const char *const *tied(const vkt__st_tensor *t, size_t n)
{
    for (size_t i = 0; i < VKT_COUNT(tables); i++) {
        bool has[2] = { false, false };
        for (size_t k = 0; k < n; k++)
            for (int j = 0; j < 2; j++) has[j] |= !strcmp(t[k].name, tables[i][j]);
        if (has[0] && !has[1]) return tables[i];
    }
    return NULL;
}

static vkt_status say_tied(const vkt__peft *p, const char *const *names, const char *what)
{
    return vkt__fail(VKT_E_FORMAT, "model",
                     "'%s': the model has one matrix for '%s' and '%s', of which the adapter %s: "
                     "give it a base with an output layer of its own (tie_word_embeddings: false)",
                     p->folder, names[0], names[1], what);
}

/* Of such a model the folder has both, and equal ones, or none: PEFT trains a copy of each. */
static vkt_status check_tied(const vkt__peft *p, vkt__arena *a, const vkt__st_tensor *t, size_t n)
{
    size_t at[2];
    const char *const *names = tied(t, n);
    if (!names) return VKT_OK;
    const vkt_tensor_info *have;
    for (size_t i = 0; (have = vkt__safetensors_tensor(p->tensors, i)); i++) {
        const char *end, *layer = layer_of(a, have->name, &end);
        if (layer && strlen(names[1]) == strlen(layer) + strlen(".weight") &&
            !strncmp(names[1], layer, strlen(layer)))
            return say_tied(p, names, "changes one apart from the other");
    }
    bool e = find(p, a, names[0], &at[0]), h = find(p, a, names[1], &at[1]), same = false;
    if (!e && !h) return VKT_OK;
    if (e && h) {
        const vkt_tensor_info *x = vkt__safetensors_tensor(p->tensors, at[0]),
                              *y = vkt__safetensors_tensor(p->tensors, at[1]);
        same = x->rank == 2 && y->rank == 2 && x->shape[0] == y->shape[0] &&
               x->shape[1] == y->shape[1];
        float *u = same ? vkt__adapter_read(p->tensors, at[0]) : NULL,
              *v = same ? vkt__adapter_read(p->tensors, at[1]) : NULL;
        same = u && v && !memcmp(u, v, x->shape[0] * x->shape[1] * sizeof *u);
        free(u);
        free(v);
    }
    if (same || (e && !h && p->ties)) return VKT_OK;
    return say_tied(p, names,
                    e && h ? "trained two that differ" : "trained one apart from the other");
}

/* Checks that every tensor of the folder has its place, except the second of two tied ones. */
static vkt_status check_places(const vkt__peft *p, vkt__arena *a, const vkt__st_tensor *t, size_t n,
                               const char *const *one, bool adapters)
{
    const vkt_tensor_info *have;
    for (size_t i = 0; (have = vkt__safetensors_tensor(p->tensors, i)); i++) {
        const char *end;
        if (!adapters && layer_of(a, have->name, &end)) continue;
        if (place_of(a, have->name, t, n) < n ||
            (one && !strcmp(have->name + strlen(VKT__PEFT_PREFIX), one[1])))
            continue;
        return vkt__fail(VKT_E_FORMAT, "model",
                         "'%s': the model has no layer for the adapter's '%s': it belongs to "
                         "another base model, or lora.targets leaves it out",
                         p->folder, have->name + strlen(VKT__PEFT_PREFIX));
    }
    return VKT_OK;
}

vkt_status vkt__peft_load(vkt__peft *p, const vkt__st_tensor *t, size_t n,
                          const vkt__st_tensor *model, size_t n_model)
{
    vkt_status st;
    vkt__arena a = { 0 };
    VKT_TRY(check_tied(p, &a, model, n_model));
    VKT_TRY(check_places(p, &a, t, n, tied(model, n_model), true));
    for (size_t i = 0, at; i < n; i++) {
        /* PEFT 0.18 does not save those that it trains so. */
        bool lost = p->lora.bias == VKT_LORA_BIAS_LORA_ONLY &&
                    ends_in(t[i].name, strlen(t[i].name), ".bias");
        if (find(p, &a, t[i].name, &at)) {
            VKT_TRY(read_into(p, &t[i], at));
        } else if (!lost) {
            st = vkt__fail(VKT_E_FORMAT, "model",
                           "'%s': the adapter has no '%s', which the model needs", p->folder,
                           t[i].name);
            goto fail;
        }
    }
fail:
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__peft_merge(const vkt__peft *p, const vkt__st_tensor *t, size_t n)
{
    vkt_status st;
    vkt__arena a = { 0 };
    const vkt_tensor_info *have;
    VKT_TRY(check_tied(p, &a, t, n));
    VKT_TRY(check_places(p, &a, t, n, tied(t, n), false));
    for (size_t i = 0, k; (have = vkt__safetensors_tensor(p->tensors, i)); i++) {
        const char *end;
        if (!layer_of(&a, have->name, &end) && (k = place_of(&a, have->name, t, n)) < n)
            VKT_TRY(read_into(p, &t[k], i));
    }
    VKT_TRY(vkt__adapter_merge(p->tensors, VKT__PEFT_PREFIX, &p->lora, NULL, t, n));
fail:
    vkt__arena_finish(&a);
    return st;
}
