/* hf_rope.h: transformers 5 has rope_parameters; before, rope_theta and rope_scaling were keys of
 * their own. What is said twice must be the same, because versions differ in which they take. */
#include "models/huggingface/hf_rope.h"

#include <math.h>

#include "base/number.h"
#include "models/huggingface/hf_keys.h"

static const char *const kinds[] = { [VKT_ROPE_LINEAR] = "linear",
                                     [VKT_ROPE_LLAMA3] = "llama3",
                                     [VKT_ROPE_YARN] = "yarn",
                                     [VKT_ROPE_LONGROPE] = "longrope" };

/* ---- reading ---- */

/* The first context. Phi-3 has it among the keys of the model, too. */
static uint32_t read_context(vkt__hf_reader *r, const json_t *p)
{
    static const char key[] = "original_max_position_embeddings";
    const json_t *o = vkt__hf_get(p, key) ? p : r->o;
    if (!vkt__hf_get(o, key)) {
        vkt__hf_refuse(r, key, "is missing in rope's parameters");
        return 1;
    }
    uint32_t n = vkt__hf_uint(r, o, key, 1);
    if (vkt__hf_get(r->o, key) && vkt__hf_uint(r, r->o, key, 1) != n)
        vkt__hf_refuse(r, key, "has another value in rope's parameters: remove the wrong one");
    return n;
}

static double get(vkt__hf_reader *r, const json_t *p, const char *key, bool needed, double fallback)
{
    if (needed && !vkt__hf_get(p, key)) vkt__hf_refuse(r, key, "is missing in rope's parameters");
    return vkt__hf_real(r, p, key, fallback);
}

/* YaRN's length of queries and keys, 0.1 m ln(factor) + 1. */
static double yarn_length(double factor, double m)
{
    return factor <= 1 ? 1 : 0.1 * m * log(factor) + 1;
}

static void read_yarn(vkt__hf_reader *r, const json_t *p, vkt_rope_scaling *s)
{
    double m = get(r, p, "mscale", false, 0), all = get(r, p, "mscale_all_dim", false, 0);
    const json_t *truncate = vkt__hf_get(p, "truncate");
    if (truncate && !json_is_boolean(truncate))
        vkt__hf_refuse(r, "truncate", "must be true or false");
    s->exact = json_is_false(truncate);
    s->high = get(r, p, "beta_fast", false, 32);
    s->low = get(r, p, "beta_slow", false, 1);
    s->attention =
        get(r, p, "attention_factor", false,
            m > 0 && all > 0 ? yarn_length(s->factor, m) / yarn_length(s->factor, all) : 0);
    if (s->low >= s->high) vkt__hf_refuse(r, "beta_slow", "must be below beta_fast");
}

/* Numbers with spaces between. */
static void read_factors(vkt__hf_reader *r, const json_t *p, const char *key, uint32_t n, char *out,
                         size_t size)
{
    const json_t *list = vkt__hf_get(p, key), *v;
    size_t i, at = 0;
    bool ok = json_is_array(list) && json_array_size(list) == n;
    *out = 0;
    for (i = 0; ok && i < n; i++) {
        char text[32];
        v = json_array_get(list, i);
        double d = json_number_value(v);
        ok = json_is_number(v) && (float)d > 0 && isfinite((float)d);
        if (!ok) break;
        const char *word = vkt__double_text(d, true, text);
        ok = at + strlen(word) + 2 < size;
        if (ok) at += (size_t)snprintf(out + at, size - at, "%s%s", i ? " " : "", word);
    }
    if (!ok)
        vkt__hf_refuse(r, key, "must be a list of numbers above 0, one for each pair that turns");
}

static void read_scaling(vkt__hf_reader *r, const json_t *p, vkt_rope_kind kind, vkt__hf_config *c)
{
    vkt_rope_scaling *s = &c->scaling;
    uint32_t turning = c->rotary ? c->rotary : c->head_dim;
    c->scaled = true;
    s->kind = kind;
    s->factor = get(r, p, "factor", kind != VKT_ROPE_LONGROPE, 1);
    if (kind == VKT_ROPE_LLAMA3) {
        s->low = get(r, p, "low_freq_factor", true, 1);
        s->high = get(r, p, "high_freq_factor", true, 4);
        if (s->low >= s->high)
            vkt__hf_refuse(r, "low_freq_factor", "must be below high_freq_factor");
    }
    if (kind != VKT_ROPE_LINEAR) s->context = read_context(r, p);
    if (kind == VKT_ROPE_YARN) {
        read_yarn(r, p, s);
        if (c->theta <= 1) vkt__hf_refuse(r, "rope_theta", "must be above 1 with yarn");
    } else if (kind == VKT_ROPE_LONGROPE) {
        s->attention = get(r, p, "attention_factor", false, 0);
        if (!vkt__hf_get(p, "factor")) s->factor = fmax(1, (double)c->context / s->context);
        if (s->context < 2)
            vkt__hf_refuse(r, "original_max_position_embeddings", "must be above 1");
        read_factors(r, p, "short_factor", turning / 2, c->rope_short, sizeof c->rope_short);
        read_factors(r, p, "long_factor", turning / 2, c->rope_long, sizeof c->rope_long);
    }
    if (s->factor < 1) vkt__hf_refuse(r, "factor", "must be 1 or more");
}

static void read_kind(vkt__hf_reader *r, const vkt__hf_family *f, const json_t *p,
                      vkt__hf_config *c)
{
    const json_t *v = vkt__hf_get(p, "rope_type");
    if (!v) v = vkt__hf_get(p, "type");
    const char *type = v ? json_string_value(v) : "default";
    uint32_t kind = 0;
    if (type && !strcmp(type, "default")) return;
    /* Phi-3's first names of it. */
    if (type && f->keys & VKT__HF_KEYS_PHI3 && (!strcmp(type, "su") || !strcmp(type, "yarn")))
        type = kinds[VKT_ROPE_LONGROPE];
    while (type && kind < VKT_COUNT(kinds) && strcmp(kinds[kind], type) != 0) kind++;
    if (r->st != VKT_OK) return;
    if (type && kind < VKT_COUNT(kinds))
        read_scaling(r, p, (vkt_rope_kind)kind, c);
    else
        r->st = vkt__fail(VKT_E_FORMAT, "model",
                          "'%s': rope_type is '%s': only default, linear, llama3, yarn and "
                          "longrope are supported",
                          r->name, vkt__show(type ? type : "").s);
}

/* An object, or NULL. */
static const json_t *object(vkt__hf_reader *r, const json_t *o, const char *key)
{
    const json_t *p = vkt__hf_get(o, key);
    if (p && !json_is_object(p)) vkt__hf_refuse(r, key, "must be an object");
    return json_is_object(p) ? p : NULL;
}

/* Reads the rope base of the layers with a window, in a family that has another for them. local:
 * the newer form's object for these layers, or NULL. */
static void read_local(vkt__hf_reader *r, const json_t *local, vkt__hf_config *c)
{
    static const char old_key[] = "rope_local_base_freq";
    const json_t *type = vkt__hf_get(local, "rope_type");
    if (local && r->st == VKT_OK) r->st = vkt__hf_keys_check(local, VKT__HF_KEYS_ROPE, r->name);
    if (type && strcmp(json_string_value(type) ? json_string_value(type) : "", "default") != 0)
        vkt__hf_refuse(r, "rope_type", "of sliding_attention must be default");
    bool has = vkt__hf_get(local, "rope_theta") != NULL;
    double theta = vkt__hf_real(r, has ? local : r->o, has ? "rope_theta" : old_key, 10000);
    if (vkt__hf_real(r, r->o, old_key, theta) != theta)
        vkt__hf_refuse(r, old_key, "has another value in rope_parameters: remove the wrong one");
    c->window_theta = c->window ? theta : 0;
}

static void read_part(vkt__hf_reader *r, const vkt__hf_family *f, const json_t *p,
                      vkt__hf_config *c)
{
    const char *key = f->keys & VKT__HF_KEYS_NEOX ? "rotary_pct" : "partial_rotary_factor";
    bool has = vkt__hf_get(p, "partial_rotary_factor") != NULL;
    double all = f->keys & VKT__HF_KEYS_NEOX ? 0.25 : 1,
           part = vkt__hf_real(r, has ? p : r->o, has ? "partial_rotary_factor" : key, all);
    if (vkt__hf_real(r, r->o, key, part) != part)
        vkt__hf_refuse(r, key, "has another value in rope_parameters: remove the wrong one");
    uint32_t n = part <= 1 ? (uint32_t)(c->head_dim * part) : 0;
    if (n < 2 || n % 2)
        vkt__hf_refuse(r, has ? "partial_rotary_factor" : key,
                       "must give an even number of a head's size");
    else
        c->rotary = n == c->head_dim ? 0 : n;
}

void vkt__hf_rope_read(vkt__hf_reader *r, const vkt__hf_family *f, vkt__hf_config *c)
{
    const json_t *p = object(r, r->o, "rope_parameters"),
                 *scaling = object(r, r->o, "rope_scaling"), *local = NULL;
    bool two = f->may & VKT__HF_WINDOW_THETA, part = f->may & VKT__HF_PARTIAL;
    const char *theta_key = f->keys & VKT__HF_KEYS_NEOX ? "rotary_emb_base" : "rope_theta";
    if (two && (vkt__hf_get(p, "full_attention") || vkt__hf_get(p, "sliding_attention"))) {
        const json_t *both = p;
        local = object(r, both, "sliding_attention");
        p = object(r, both, "full_attention");
        if (r->st == VKT_OK) r->st = vkt__hf_keys_check(both, VKT__HF_KEYS_ROPES, r->name);
    }
    if (p && scaling && !json_equal(p, scaling))
        vkt__hf_refuse(r, "rope_scaling",
                       "and rope_parameters say different things: remove one of them");
    if (!p) p = scaling;
    if (p && r->st == VKT_OK)
        r->st =
            vkt__hf_keys_check(p, VKT__HF_KEYS_ROPE | (part ? VKT__HF_KEYS_ROPE_PART : 0), r->name);
    bool has = p && vkt__hf_get(p, "rope_theta");
    c->theta = vkt__hf_real(r, has ? p : r->o, has ? "rope_theta" : theta_key, f->theta);
    if (vkt__hf_real(r, r->o, theta_key, c->theta) != c->theta)
        vkt__hf_refuse(r, theta_key, "has another value in rope_parameters: remove the wrong one");
    if (two) read_local(r, local, c);
    if (part) read_part(r, f, p, c);
    if (r->st == VKT_OK) read_kind(r, f, p, c);
}

/* ---- writing ---- */

static json_t *numbers(const char *text)
{
    json_t *list = json_array();
    for (const char *p = text; *p; p += strspn(p, " ")) {
        char word[32];
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        json_array_append_new(list, json_real(vkt__number_or_nan(word)));
        p += n;
    }
    return list;
}

static void write_scaling(const vkt__hf_config *c, json_t *p)
{
    const vkt_rope_scaling *s = &c->scaling;
    if (s->kind != VKT_ROPE_LONGROPE || s->factor != (double)c->context / s->context)
        vkt__hf_set(p, "factor", json_real(s->factor));
    if (s->kind != VKT_ROPE_LINEAR)
        vkt__hf_set(p, "original_max_position_embeddings", json_integer(s->context));
    if (s->attention > 0) vkt__hf_set(p, "attention_factor", json_real(s->attention));
    if (s->kind == VKT_ROPE_LLAMA3) {
        vkt__hf_set(p, "low_freq_factor", json_real(s->low));
        vkt__hf_set(p, "high_freq_factor", json_real(s->high));
    } else if (s->kind == VKT_ROPE_YARN) {
        vkt__hf_set(p, "beta_slow", json_real(s->low));
        vkt__hf_set(p, "beta_fast", json_real(s->high));
        if (s->exact) vkt__hf_set(p, "truncate", json_false());
    } else if (s->kind == VKT_ROPE_LONGROPE) {
        vkt__hf_set(p, "short_factor", numbers(c->rope_short));
        vkt__hf_set(p, "long_factor", numbers(c->rope_long));
    }
}

/* What stands in rope_parameters stands outside, too, for versions before 5. */
void vkt__hf_rope_write(const vkt__hf_config *c, const vkt__hf_family *f, json_t *o)
{
    json_t *p = json_pack("{s:s, s:f}", "rope_type", c->scaled ? kinds[c->scaling.kind] : "default",
                          "rope_theta", c->theta);
    bool neox = f->keys & VKT__HF_KEYS_NEOX;
    if (f->may & VKT__HF_PARTIAL) {
        double part = (c->rotary ? c->rotary : c->head_dim) / (double)c->head_dim;
        vkt__hf_set(p, "partial_rotary_factor", json_real(part));
        vkt__hf_set(o, neox ? "rotary_pct" : "partial_rotary_factor", json_real(part));
    }
    vkt__hf_set(o, neox ? "rotary_emb_base" : "rope_theta", json_real(c->theta));
    if (c->scaled) write_scaling(c, p);
    if (c->scaled) json_object_set(o, "rope_scaling", p);
    if (f->keys & VKT__HF_KEYS_PHI3 && c->scaled)
        vkt__hf_set(o, "original_max_position_embeddings", json_integer(c->scaling.context));
    if (f->may & VKT__HF_WINDOW_THETA) {
        double local = c->window_theta > 0 ? c->window_theta : 10000;
        vkt__hf_set(o, "rope_local_base_freq", json_real(local));
        p = json_pack("{s:o, s:{s:s, s:f}}", "full_attention", p, "sliding_attention", "rope_type",
                      "default", "rope_theta", local);
    }
    vkt__hf_set(o, "rope_parameters", p);
}
