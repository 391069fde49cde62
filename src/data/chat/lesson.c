/* What of a conversation is to be learned. A template's {% generation %} blocks say it; of another
 * it is found from differences between renderings: an answer begins where the rendering of the
 * messages before it ends, with the prompt to answer, which must be a prefix of the whole; and what
 * the answer is made of ends where marks behind the message's own texts come out, with which the
 * template must write the same. Behind that come the template's end tokens. Where these relations
 * don't hold the conversation is refused. */
#include <jansson.h>

#include "base/words.h"
#include "data/chat/guard.h"
#include "data/chat/lesson.h"
#include "data/chat/render.h"

static const char white[] = " \t\r\n";

typedef struct {
    const vkt__chat *c;
    const vkt__conversation *v;
    const json_t *messages; /* guarded */
    const vkt__str *text;   /* all of them */
    vkt__rendered part, other;
    vkt__marks marks;
    vkt__marking marking;
    bool marked;
} finder;

/* ---- which turns ---- */

const char *vkt__weight_wrong(const json_t *m)
{
    const json_t *weight = json_object_get(m, "weight"), *train = json_object_get(m, "train");
    double w = json_number_value(weight);
    if (weight && !json_is_null(weight) && !json_is_boolean(weight) &&
        !(json_is_number(weight) && (w == 0 || w == 1)))
        return "a turn's \"weight\" must be 0 or 1: no fraction of a turn is learned";
    if (train && !json_is_null(train) && !json_is_boolean(train))
        return "a turn's \"train\" must be true or false";
    if (json_array_size(json_object_get(m, "train_detail")))
        return "a turn's \"train_detail\" is not taken: give the turn's parts as turns, with "
               "\"train\"";
    return NULL;
}

bool vkt__turn_counts(const vkt__conversation *v, const json_t *messages, size_t k)
{
    const json_t *m = json_array_get(messages, k), *weight = json_object_get(m, "weight");
    bool none = json_is_false(weight) || (json_is_number(weight) && json_number_value(weight) == 0);
    return k >= v->n_given && vkt__is_assistant(m) && !none &&
           !json_is_false(json_object_get(m, "train"));
}

static bool all_count(const finder *f)
{
    for (size_t k = 0; k < json_array_size(f->messages); k++)
        if (vkt__is_assistant(json_array_get(f->messages, k)) &&
            !vkt__turn_counts(f->v, f->messages, k))
            return false;
    return true;
}

/* ---- comparing ---- */

static bool begins_with(const vkt__str *text, const vkt__str *head)
{
    return head->len <= text->len && !memcmp(text->data, head->data, head->len);
}

static size_t common(const vkt__str *a, const vkt__str *b)
{
    size_t n = 0;
    while (n < a->len && n < b->len && a->data[n] == b->data[n]) n++;
    return n;
}

static bool is_white(char c)
{
    return c && strchr(white, c);
}

static size_t strip(const char *text, size_t first, size_t end)
{
    while (end > first && is_white(text[end - 1])) end--;
    return end;
}

/* Where the last control token ends that lies in [first, end); first: there is none. */
static size_t last_control(const vkt__chat *c, const char *text, size_t first, size_t end)
{
    for (size_t at = end; at > first; at--) {
        int k = vkt__control_at(c, text + at - 1, text + end);
        if (k >= 0) return at - 1 + strlen(c->control[k]);
    }
    return first;
}

/* The longest of the tokens that end a turn at text[at]; its length, 0: none. */
static size_t end_at(const vkt__chat *c, const vkt__str *text, size_t at, size_t stop)
{
    size_t most = 0;
    for (size_t i = 0; i < c->n_ends; i++) {
        size_t n = strlen(c->end[i]);
        if (n > most && n <= stop - at && !memcmp(text->data + at, c->end[i], n)) most = n;
    }
    return most;
}

static vkt_status say_unknown(const char *what, size_t k)
{
    return vkt__fail(
        VKT_E_FORMAT, "data",
        "it can't be told where the answer in message %zu %s in what the chat "
        "template writes: put {%% generation %%} .. {%% endgeneration %%} around it in "
        "the template (data.chat_template)",
        k + 1, what);
}

/* ---- marks ---- */

/* Renders with marks; *ok: the template does the same with them as without. */
static vkt_status read_marks(finder *f, vkt__marking how, size_t k, vkt__marks *out, bool *ok)
{
    json_t *marked = vkt__mark_messages(f->messages, how, k);
    vkt__log_quiet(true);
    vkt_status st = vkt__chat_render(f->c, f->v, marked, json_array_size(marked), false, &f->part);
    vkt__log_quiet(false);
    json_decref(marked);
    *ok = st == VKT_OK && vkt__marks_read(&f->part.text, f->text, out);
    if (!*ok) out->n = 0;
    return st == VKT_E_FORMAT ? VKT_OK : st; /* a template may refuse them */
}

static vkt_status find_marks(finder *f)
{
    vkt_status st = VKT_OK;
    for (f->marking = VKT__MARK_EMPTY; f->marking <= VKT__MARK_ENDS; f->marking++) {
        st = read_marks(f, f->marking, 0, &f->marks, &f->marked);
        if (f->marked || st != VKT_OK) break;
    }
    return st;
}

/* The last mark of message k up to `limit`; false: it has none, or its text is written in two
 * places with another's between. */
static bool last_mark(const finder *f, size_t k, size_t limit, size_t *out)
{
    size_t n = 0, last = 0, first = 0;
    for (size_t i = 0; i < f->marks.n; i++) {
        if (f->marks.mark[i].message != k || f->marks.mark[i].at > limit) continue;
        if (!n++) first = i;
        last = i;
    }
    if (!n || last - first + 1 != n) return false;
    *out = f->marks.mark[last].at;
    return true;
}

/* Where another message's text is seen at or after `at`, and whose; else the end. */
static size_t next_text(const finder *f, size_t k, size_t at, size_t *whose)
{
    size_t out = f->text->len;
    *whose = k + 1;
    for (size_t i = f->marks.n; i-- > 0;) {
        const vkt__mark *m = &f->marks.mark[i];
        if (m->message == k || m->at < at) continue;
        out = m->at;
        *whose = m->message;
    }
    return out;
}

/* Whether it is known where message k's text begins. */
static bool has_begin(const finder *f, size_t k)
{
    for (size_t i = 0; i < f->marks.n; i++)
        if (f->marks.mark[i].message == k && f->marks.mark[i].begin) return true;
    return false;
}

/* Whether another's text lies in [first, end): of the assistant's all but what is before. */
static bool has_other(const finder *f, size_t k, size_t first, size_t end)
{
    for (size_t i = 0; i < f->marks.n; i++) {
        const vkt__mark *m = &f->marks.mark[i];
        if (m->message == k) continue;
        if (m->begin ? m->at >= first && m->at < end : m->at > first && m->at <= end) return true;
    }
    return false;
}

/* ---- where an answer begins ---- */

/* Where the text of message k begins, white space that is its own included; false: it is not seen.
 */
static vkt_status text_begin(finder *f, size_t k, size_t *out, bool *seen)
{
    vkt_status st;
    vkt__marks one = { 0 };
    VKT_TRY(read_marks(f, VKT__MARK_BEGIN, k, &one, seen));
    *seen = *seen && one.n == 1;
    if (*seen) {
        const char *s =
            json_string_value(json_object_get(json_array_get(f->messages, k), "content"));
        size_t own = strspn(s, white);
        *out = one.mark[0].at;
        if (own <= *out && !memcmp(f->text->data + *out - own, s, own)) *out -= own;
    }
fail:
    free(one.mark);
    return st;
}

/* Behind the prompt to answer, white space around it aside, where it stands first between the text
 * of another message and that of message k, which begins at `at`. */
static bool begin_behind_prompt(const finder *f, size_t at, const char *prompt, size_t n,
                                size_t *out)
{
    size_t from = 0;
    if (!f->marked || f->marking == VKT__MARK_ENDS) return false;
    while (n && is_white(*prompt)) prompt++, n--;
    n = strip(prompt, 0, n);
    for (size_t i = 0; i < f->marks.n && f->marks.mark[i].at <= at; i++)
        if (!f->marks.mark[i].begin || f->marks.mark[i].at < at) from = f->marks.mark[i].at;
    *out = at;
    if (!n) return true;
    for (size_t k = from; k + n <= at; k++) {
        if (memcmp(f->text->data + k, prompt, n) != 0) continue;
        for (k += n; k < at && is_white(f->text->data[k]);) k++;
        *out = k;
        return true;
    }
    return false;
}

/* The prompt goes on in another way than the text does (with "<think>"), from `n` on: where the
 * answer's own text begins there; else behind the last control token, or the last line, that both
 * have. */
static size_t begin_behind_common(const finder *f, size_t bare, size_t n, bool seen, size_t at)
{
    if (n <= bare) return bare;
    if (seen && at == n) return n;
    size_t control = last_control(f->c, f->text->data, bare, n), line = n;
    while (line > control && f->text->data[line - 1] != '\n') line--;
    return control == bare ? bare : line;
}

static vkt_status find_begin(finder *f, size_t k, size_t *out)
{
    vkt_status st;
    bool seen;
    size_t at = 0;
    const vkt__str *with = &f->other.text;
    VKT_TRY(vkt__chat_render(f->c, f->v, f->messages, k, true, &f->other));
    *out = with->len;
    if (begins_with(f->text, with)) return VKT_OK;
    VKT_TRY(text_begin(f, k, &at, &seen));
    VKT_TRY(vkt__chat_render(f->c, f->v, f->messages, k, false, &f->part));
    size_t bare = f->part.text.len;
    if (!begins_with(with, &f->part.text)) return say_unknown("begins", k);
    *out = begin_behind_common(f, bare, common(f->text, with), seen, at);
    if (*out == bare &&
        !(seen && begin_behind_prompt(f, at, with->data + bare, with->len - bare, out)))
        st = say_unknown("begins", k);
fail:
    return st;
}

/* ---- and where it ends ---- */

/* Finds the end of a message that has no mark: the rendering up to it must be a prefix. */
static vkt_status end_by_prefix(finder *f, size_t k, size_t first, size_t *out, bool *open)
{
    vkt_status st;
    VKT_TRY(vkt__chat_render(f->c, f->v, f->messages, k + 1, false, &f->part));
    size_t end = f->part.text.len, stop;
    if (!begins_with(f->text, &f->part.text) || end < first) return say_unknown("ends", k);
    stop = strip(f->text->data, first, end);
    *out = f->c->n_ends ? stop : end;
    *open = true;
    for (size_t at = first, n; at < stop; at += n ? n : 1) {
        n = end_at(f->c, f->text, at, stop);
        if (n && at + n < stop) return say_unknown("ends", k);
        *open = *open && !n;
    }
fail:
    return st;
}

/* Behind the end tokens that the template writes from `at` on: several only with white space
 * between and when they differ. 0: it writes none before `bound`. */
static size_t behind_ends(const finder *f, size_t at, size_t bound)
{
    size_t n = 0, first, end;
    while (at < bound && !(n = end_at(f->c, f->text, at, bound))) at++;
    if (!n) return 0;
    first = at;
    end = at + n;
    for (at = end; at < bound && is_white(f->text->data[at]);) at++;
    size_t more = end_at(f->c, f->text, at, bound);
    bool same = more == n && !memcmp(f->text->data + at, f->text->data + first, n);
    return more && !same ? at + more : end;
}

/* Whether the message has anything that ought to have left a mark: not calls that a template does
 * not write. */
static bool has_text(const finder *f, size_t k)
{
    const json_t *m = json_array_get(f->messages, k);
    const char *text = json_string_value(json_object_get(m, "content"));
    bool calls = json_array_size(json_object_get(m, "tool_calls")) > 0;
    size_t at;
    if (text && text[strspn(text, white)]) return true;
    return f->marked && f->marking != VKT__MARK_ENDS ? last_mark(f, k, SIZE_MAX, &at) : calls;
}

/* White space at the end of the message's text is its own where the template leaves it. */
static size_t with_space(const finder *f, size_t k, size_t at)
{
    const json_t *content = json_object_get(json_array_get(f->messages, k), "content");
    const char *s = json_string_value(content);
    size_t n = json_string_length(content), stop = s ? strip(s, 0, n) : 0;
    bool has =
        s && n - stop <= f->text->len - at && !memcmp(f->text->data + at, s + stop, n - stop);
    return has ? at + n - stop : at;
}

/* Where what belongs to message k is over at the latest: nothing of what follows may be taken for
 * its end. */
static vkt_status find_bound(finder *f, size_t k, size_t at, size_t *out, size_t *whose)
{
    vkt_status st = VKT_OK;
    size_t next = 0;
    bool seen = false;
    *out = next_text(f, k, at, whose);
    if (k + 1 == json_array_size(f->messages) || has_begin(f, k + 1)) return VKT_OK;
    if (f->marked && vkt__is_assistant(json_array_get(f->messages, k + 1)))
        VKT_TRY(text_begin(f, k + 1, &next, &seen));
    if (!seen || next < at) {
        VKT_TRY(vkt__chat_render(f->c, f->v, f->messages, k + 1, false, &f->part));
        next = VKT_MAX(common(f->text, &f->part.text), at);
    }
    *out = VKT_MIN(*out, next);
fail:
    return st;
}

static bool has_calls(const finder *f, size_t k)
{
    return json_array_size(json_object_get(json_array_get(f->messages, k), "tool_calls")) > 0;
}

/* Where the rendering up to a message with calls ends, if that is a prefix: a tool's answer may
 * have the name of a call again, and what closes a call is part of it. Else SIZE_MAX. */
static vkt_status calls_end(finder *f, size_t k, size_t *out)
{
    *out = SIZE_MAX;
    if (!has_calls(f, k)) return VKT_OK;
    vkt_status st = vkt__chat_render(f->c, f->v, f->messages, k + 1, false, &f->part);
    if (st == VKT_OK && begins_with(f->text, &f->part.text)) *out = f->part.text.len;
    return st;
}

static vkt_status find_end(finder *f, size_t k, size_t first, size_t *out, bool *open)
{
    vkt_status st;
    size_t at = first, bound, whose, limit;
    bool text = has_text(f, k);
    *open = false;
    VKT_TRY(calls_end(f, k, &limit));
    if (text && !(f->marked && last_mark(f, k, limit, &at)))
        return end_by_prefix(f, k, first, out, open);
    if (at < first) return say_unknown("begins", k);
    if (text) at = with_space(f, k, at);
    VKT_TRY(find_bound(f, k, at, &bound, &whose));
    *out = behind_ends(f, at, bound);
    *open = !*out;
    if (!*open) return VKT_OK;
    if (whose < k) return say_unknown("ends", k);
    *out = at;
    if (text && limit != SIZE_MAX) *out = VKT_MAX(*out, strip(f->text->data, *out, limit));
    while (!f->c->n_ends && *out < bound && is_white(f->text->data[*out])) ++*out;
fail:
    return st;
}

static vkt_status find_turns(finder *f, vkt__chat_text *t)
{
    vkt_status st;
    size_t at = 0;
    VKT_TRY(find_marks(f));
    for (size_t k = 0; k < json_array_size(f->messages); k++) {
        vkt__text_span span = { 0 };
        bool open;
        if (!vkt__turn_counts(f->v, f->messages, k)) continue;
        VKT_TRY(find_begin(f, k, &span.first));
        VKT_TRY(find_end(f, k, span.first, &span.end, &open));
        if (span.first < at || has_other(f, k, span.first, span.end)) {
            st = say_unknown("begins", k);
            goto fail;
        }
        if (open && !t->n_open++) t->first_open = k + 1;
        vkt__guard_stretches(f->c, t, at, span.first, false);
        vkt__guard_stretches(f->c, t, span.first, span.end, true);
        at = span.end;
    }
    vkt__guard_stretches(f->c, t, at, t->rendered.text.len, false);
fail:
    return st;
}

/* ---- {% generation %} ---- */

/* The turn that a block was written for: the one whose mark it has; else that of the last mark
 * before it, or, if this is another's, the assistant's next. */
static size_t owner(const finder *f, const vkt__text_span *block)
{
    size_t k = 0, n = json_array_size(f->messages);
    bool any = false;
    for (size_t i = 0; i < f->marks.n; i++) {
        const vkt__mark *m = &f->marks.mark[i];
        bool own = vkt__is_assistant(json_array_get(f->messages, m->message));
        if (own && m->at > block->first && m->at <= block->end) return m->message;
        if (m->at > block->first) continue;
        k = m->message;
        any = true;
    }
    if (any && vkt__is_assistant(json_array_get(f->messages, k))) return k;
    for (k += any; k < n && !vkt__is_assistant(json_array_get(f->messages, k));) k++;
    return k;
}

static vkt_status take_blocks(finder *f, vkt__chat_text *t)
{
    vkt_status st = VKT_OK;
    size_t at = 0, n_counted = 0;
    bool all = all_count(f);
    if (!all) VKT_TRY(find_marks(f));
    if (!all && !f->marked) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "it can't be told which turn each {%% generation %%} block of the chat "
                       "template belongs to, and not all turns count");
        goto fail;
    }
    for (size_t i = 0; i < t->rendered.n_generated; i++) {
        const vkt__text_span *b = &t->rendered.generated[i];
        if (!all && !vkt__turn_counts(f->v, f->messages, owner(f, b))) continue;
        vkt__guard_stretches(f->c, t, at, b->first, false);
        vkt__guard_stretches(f->c, t, b->first, b->end, true);
        at = b->end;
        n_counted += b->end - b->first;
    }
    vkt__guard_stretches(f->c, t, at, t->rendered.text.len, false);
    if (!n_counted)
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "the chat template's {%% generation %%} blocks write nothing of a turn that "
                       "counts, so that there is nothing to learn");
fail:
    return st;
}

vkt_status vkt__chat_lesson(const vkt__chat *c, const vkt__conversation *v, vkt__chat_text *out)
{
    vkt_status st;
    vkt__conversation mine = *v;
    finder f = { .c = c, .v = &mine, .text = &out->rendered.text };
    json_t *messages = NULL, *tools = NULL;
    out->n = out->n_open = 0;
    VKT_TRY(vkt__chat_guard(c, v, &messages, &tools));
    f.messages = messages;
    mine.tools = tools;
    VKT_TRY(vkt__chat_render(c, &mine, messages, json_array_size(messages), false, &out->rendered));
    VKT_TRY(
        (vkt__template_marks(vkt__chat_template(c, &mine)) ? take_blocks : find_turns)(&f, out));
fail:
    vkt__rendered_finish(&f.part);
    vkt__rendered_finish(&f.other);
    free(f.marks.mark);
    json_decref(messages);
    json_decref(tools);
    return st;
}
