/* spill.h. The file has a name no longer than it must, one that is known as left behind: where the
 * system can, it is removed as soon as it is mapped, so that nothing of it stays behind, whatever
 * becomes of the process. */
#include "base/words.h"
#include "data/text/spill.h"

static uint64_t hash_on(const void *data, size_t n, uint64_t h)
{
    return vkt__hash(data, n, h ^ vkt__hash("", 0, 0));
}

void vkt__spill_init(vkt__spill *s, uint32_t n_vocab)
{
    *s = (vkt__spill) { .width = n_vocab <= 65536 ? 2 : 4, .hash = vkt__hash("", 0, 0) };
}

static vkt_status create(vkt__spill *s)
{
    char dir[1000], name[1024];
    if (!vkt__cache_dir(dir, sizeof dir) && !vkt__cache_dir_instead(dir, sizeof dir))
        return vkt__fail(VKT_E_IO, "data",
                         "there is no folder for the tokens of a text as long as this: set "
                         "XDG_CACHE_HOME (Windows: LOCALAPPDATA), or pack it (`vktrain pack`)");
    vkt__log_ignore(true); /* what killed processes left is no concern of this text */
    vkt__asides_remove(dir);
    vkt__log_ignore(false);
    snprintf(name, sizeof name, "%s/tokens", dir);
    s->path = vkt__file_aside(name);
    vkt_status st = vkt__file_create(s->path, &s->f);
    s->given_name = st == VKT_OK;
    return st;
}

vkt_status vkt__spill_put(void *spill, const uint32_t *id, size_t n)
{
    enum { SOME = 8192 };
    uint16_t narrow[SOME];
    vkt__spill *s = spill;
    vkt_status st = s->f ? VKT_OK : create(s);
    for (size_t at = 0, k; at < n && st == VKT_OK; at += k) {
        k = VKT_MIN(n - at, SOME);
        for (size_t i = 0; i < k && s->width == 2; i++) narrow[i] = (uint16_t)id[at + i];
        s->hash = hash_on(id + at, k * sizeof *id, s->hash);
        const void *some = s->width == 2 ? (const void *)narrow : id + at;
        if (fwrite(some, s->width, k, s->f) != k) st = vkt__write_failed("data", s->path);
    }
    return st;
}

vkt_status vkt__spill_end(vkt__spill *s)
{
    FILE *f = s->f;
    s->f = NULL;
    if (fclose(f) != 0) return vkt__write_failed("data", s->path);
    vkt_status st = vkt__file_map(s->path, &s->map);
    if (st != VKT_OK) return st;
    vkt__file_remove(s->path);
    s->given_name = vkt__file_exists(s->path);
    return VKT_OK;
}

void vkt__spill_finish(vkt__spill *s)
{
    if (s->f) fclose(s->f);
    if (s->map.n) vkt__file_unmap(&s->map);
    if (s->given_name) vkt__file_remove(s->path);
    free(s->path);
    *s = (vkt__spill) { 0 };
}
