/* checkpoint_set.h: the checkpoints of a run as a set. What is damaged or missing is passed over;
 * what can't be read is an error, as it may be the best or the newest. Names that begin with a dot
 * are leftovers: .tmp- of a write, .trash- of a prune, .old- of a replacement (moved back if the
 * new one never arrived). */
#include <math.h>

#include "base/os.h"
#include "runs/checkpoint_set.h"

static bool parse_name(const char *name, uint64_t *step)
{
    if (strncmp(name, "step-", 5) || strlen(name) < 13 || strlen(name) > 25 ||
        strspn(name + 5, "0123456789") != strlen(name + 5))
        return false;
    *step = strtoull(name + 5, NULL, 10);
    return true;
}

static int by_step(const void *a, const void *b)
{
    uint64_t x = ((const vkt__checkpoint_item *)a)->step,
             y = ((const vkt__checkpoint_item *)b)->step;
    return x < y ? -1 : x > y;
}

vkt_status vkt__checkpoint_list(const char *run_dir, vkt__checkpoint_item **items, size_t *n)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    char **names = NULL;
    size_t n_names = 0;
    *items = NULL;
    *n = 0;
    const char *dir = vkt__arena_printf(&a, "%s/checkpoints", run_dir);
    if (vkt__is_absent(dir)) goto fail;
    VKT_TRY(vkt__list_dir(dir, &names, &n_names));
    *items = vkt__alloc(n_names * sizeof **items);
    for (size_t i = 0; i < n_names; i++) {
        vkt__checkpoint_item item = { .value = NAN };
        vkt__checkpoint_state s = { 0 };
        vkt__st_digest digest[2];
        const char *why = NULL, *path = vkt__arena_printf(&a, "%s/%s/state.json", dir, names[i]);
        if (!parse_name(names[i], &item.step)) continue;
        snprintf(item.name, sizeof item.name, "%s", names[i]);
        st = vkt__checkpoint_read_state(&a, path, &s, digest, &why);
        item.damaged = st == VKT_E_FORMAT;
        if (!item.damaged) VKT_TRY(st);
        if (!item.damaged) item.value = s.value;
        (*items)[(*n)++] = item;
    }
    st = VKT_OK;
    if (*n) qsort(*items, *n, sizeof **items, by_step);
fail:
    if (st != VKT_OK) {
        free(*items);
        *items = NULL;
        *n = 0;
    }
    vkt__names_free(names, n_names);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__checkpoint_newest(const char *run_dir, vkt__checkpoint **out)
{
    vkt__checkpoint_item *items;
    size_t n;
    vkt__str path = { 0 };
    *out = NULL;
    vkt_status st = vkt__checkpoint_list(run_dir, &items, &n);
    for (size_t i = n; st == VKT_OK && i-- > 0 && !*out;) {
        path.len = 0;
        vkt__str_printf(&path, "%s/checkpoints/%s", run_dir, items[i].name);
        vkt__checkpoint *c = NULL;
        vkt__log_hold(true);
        st = vkt__checkpoint_open(path.data, &c);
        if (st == VKT_OK) st = vkt__checkpoint_verify(c);
        vkt__log_hold(false);
        if (st == VKT_OK) {
            *out = c;
            break;
        }
        vkt__checkpoint_close(&c);
        if (st != VKT_E_FORMAT) {
            vkt__fail(st, "checkpoint", "%s", vkt__last_failure());
        } else {
            if (i > 0)
                vkt_log(VKT_LOG_WARN, "checkpoint", "%s: trying the one before it, %s",
                        vkt__last_failure(), items[i - 1].name);
            else
                vkt_log(VKT_LOG_WARN, "checkpoint", "%s", vkt__last_failure());
            st = VKT_OK;
        }
    }
    if (st == VKT_OK && !*out)
        st = vkt__fail(VKT_E_IO, "checkpoint", "no %scheckpoint in '%s'", n ? "usable " : "",
                       run_dir);
    vkt__str_finish(&path);
    free(items);
    return st;
}

static bool better(double a, double b, int sign)
{
    return isnan(b) || sign * a > sign * b;
}

const vkt__checkpoint_item *vkt__checkpoint_best(const vkt__checkpoint_item *items, size_t n,
                                                 int sign)
{
    const vkt__checkpoint_item *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (!items[i].damaged && !isnan(items[i].value) &&
            (!best || better(items[i].value, best->value, sign)))
            best = &items[i];
    return best;
}

vkt_status vkt__checkpoint_best_with(const char *run_dir, uint64_t step, double value, int sign,
                                     vkt__checkpoint_item *best)
{
    vkt__checkpoint_item *items, mine = { .step = step, .value = value };
    size_t n;
    *best = (vkt__checkpoint_item) { .value = NAN };
    vkt_status st = vkt__checkpoint_list(run_dir, &items, &n);
    if (st != VKT_OK) return st;
    for (size_t i = 0; i < n; i++) items[i].damaged |= items[i].step == step; /* replaced */
    const vkt__checkpoint_item *other = vkt__checkpoint_best(items, n, sign);
    snprintf(mine.name, sizeof mine.name, "step-%08llu", (unsigned long long)step);
    bool first = other && !(value < other->value) && !(value > other->value)
                     ? step < other->step
                     : !other || better(value, other->value, sign);
    if (!isnan(value) && first)
        *best = mine;
    else if (other)
        *best = *other;
    free(items);
    return VKT_OK;
}

vkt_status vkt__checkpoint_link_best(const char *run_dir, const char *name)
{
    vkt__str target = { 0 }, path = { 0 };
    vkt__str_printf(&target, "checkpoints/%s", name);
    vkt__str_printf(&path, "%s/best", run_dir);
    vkt_status st = vkt__link_replace(target.data, path.data);
    vkt__str_finish(&target);
    vkt__str_finish(&path);
    return st;
}

vkt_status vkt__checkpoint_prune(const char *run_dir, uint32_t keep, int sign, vkt__crash *crash)
{
    vkt__checkpoint_item *items;
    size_t n, last = 0;
    vkt__arena a = { 0 };
    vkt_status st = vkt__checkpoint_list(run_dir, &items, &n);
    bool *kept = vkt__alloc(n + 1);
    if (st != VKT_OK) goto fail;
    for (size_t i = 0; i < n; i++) {
        kept[i] = items[i].damaged; /* whoever wants to look at it can; it does not count */
        if (!items[i].damaged) last = i;
    }
    if (n) kept[last] = true;
    for (uint32_t k = 0; k < keep; k++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!items[i].damaged && !isnan(items[i].value) &&
                (best == n || better(items[i].value, items[best].value, sign)))
                best = i;
        if (best == n) break;
        kept[best] = true;
        items[best].value = NAN; /* taken */
    }
    for (size_t i = 0; i < n; i++) {
        if (kept[i]) continue;
        const char *from = vkt__arena_printf(&a, "%s/checkpoints/%s", run_dir, items[i].name);
        const char *to = vkt__arena_printf(&a, "%s/checkpoints/.trash-%s", run_dir, items[i].name);
        if (vkt__crash_now(crash)) goto crashed;
        VKT_TRY(vkt__remove_tree(to));
        if (vkt__crash_now(crash)) goto crashed;
        VKT_TRY(vkt__rename(from, to));
        if (vkt__crash_now(crash)) goto crashed;
        VKT_TRY(vkt__remove_tree(to));
    }
    goto fail;
crashed:
    st = VKT_E_INTERRUPTED;
fail:
    free(kept);
    free(items);
    vkt__arena_finish(&a);
    return st;
}

vkt_status vkt__checkpoint_clean(const char *run_dir)
{
    vkt_status st = VKT_OK;
    vkt__arena a = { 0 };
    char **names = NULL;
    size_t n = 0;
    const char *dir = vkt__arena_printf(&a, "%s/checkpoints", run_dir);
    if (!vkt__is_dir(dir)) goto fail;
    VKT_TRY(vkt__list_dir(dir, &names, &n));
    for (size_t i = 0; i < n; i++) {
        const char *path = vkt__arena_printf(&a, "%s/%s", dir, names[i]);
        if (!strncmp(names[i], ".old-step-", 10)) {
            const char *back = vkt__arena_printf(&a, "%s/%s", dir, names[i] + 5);
            VKT_TRY(vkt__file_exists(back) ? vkt__remove_tree(path) : vkt__rename(path, back));
        } else if (!strncmp(names[i], ".tmp-", 5) || !strncmp(names[i], ".trash-", 7)) {
            VKT_TRY(vkt__remove_tree(path));
        }
    }
fail:
    vkt__names_free(names, n);
    vkt__arena_finish(&a);
    return st;
}

/* RUN/best as a folder: through the link, or where there are no links, through the text file that
 * names it. */
static vkt_status best_dir(vkt__arena *a, const char *run_dir, const char **out)
{
    const char *best = vkt__arena_printf(a, "%s/best", run_dir);
    char *text = NULL;
    size_t n;
    *out = NULL;
    if (vkt__is_dir(best)) return *out = best, VKT_OK;
    if (vkt__is_absent(best) && !vkt__file_exists(best)) return VKT_OK;
    if (vkt__is_absent(best))
        return vkt__fail(
            VKT_E_FORMAT, "checkpoint",
            "'%s' points to a checkpoint that does not exist: name a folder in '%s/checkpoints'",
            best, run_dir);
    vkt_status st = vkt__file_read(best, 256, &text, &n);
    if (st != VKT_OK) return st;
    uint64_t step;
    text[strcspn(text, "\r\n")] = 0;
    const char *dir = vkt__arena_printf(a, "%s/%s", run_dir, text);
    bool ok =
        strncmp(text, "checkpoints/", 12) == 0 && parse_name(text + 12, &step) && vkt__is_dir(dir);
    free(text);
    if (!ok)
        return vkt__fail(VKT_E_FORMAT, "checkpoint",
                         "'%s' is not a checkpoint of the run: name a folder in '%s/checkpoints'",
                         best, run_dir);
    return *out = dir, VKT_OK;
}

bool vkt__checkpoint_is(const char *path)
{
    vkt__arena a = { 0 };
    bool is = vkt__file_size(vkt__arena_printf(&a, "%s/state.json", path)) >= 0;
    vkt__arena_finish(&a);
    return is;
}

vkt_status vkt__checkpoint_find(const char *path, char *out, size_t size)
{
    vkt__arena a = { 0 };
    vkt__checkpoint_item *items = NULL;
    size_t n = 0;
    vkt_status st = VKT_OK;
    const char *found = NULL;
    bool folder = vkt__is_dir(path); /* asked once: two answers would leave out the best one */
    if (vkt__checkpoint_is(path))
        found = path;
    else if (folder)
        VKT_TRY(best_dir(&a, path, &found));
    if (!found) {
        if (folder) VKT_TRY(vkt__checkpoint_list(path, &items, &n));
        for (size_t i = 0; i < n; i++)
            if (!items[i].damaged)
                found = vkt__arena_printf(&a, "%s/checkpoints/%s", path, items[i].name);
    }
    if (!found && vkt__is_absent(path))
        st = vkt__fail(VKT_E_IO, "checkpoint",
                       "there is no '%s': give a run (`vktrain runs` lists them), a checkpoint or "
                       "a language model's folder",
                       path);
    else if (!found)
        st = vkt__fail(VKT_E_IO, "checkpoint",
                       "'%s' is not a run with checkpoints, a checkpoint folder or a folder with "
                       "the config.json of a language model",
                       path);
    else if (snprintf(out, size, "%s", found) >= (int)size)
        st = vkt__fail(VKT_E_ARG, "checkpoint", "the path '%s' is too long", found);
fail:
    free(items);
    vkt__arena_finish(&a);
    return st;
}
