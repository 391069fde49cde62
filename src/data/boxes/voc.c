/* marks.h: boxes as Pascal VOC keeps them, an XML file for each picture. What is read of XML:
 * elements, texts, the five named entities and characters by number. A document type, which could
 * define more, is refused. */
#include <math.h>

#include "base/number.h"
#include "data/boxes/marks.h"

enum { DEPTH = 16, WORD = 256 };

/* Where the reader is: names of the elements that are open. */
typedef struct cursor {
    const char *at, *end, *name; /* name: of the file */
    unsigned line;
    char open[DEPTH][24]; /* longer names are cut, which are none of ours */
    int depth;
    bool cut; /* the last text was longer than there is room for */
} cursor;

typedef struct object {
    char class[WORD];
    double edge[4];
    bool has_class, has_box, has[4];
} object;

static vkt_status bad(const cursor *c, const char *why)
{
    return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: %s", c->name, c->line, why);
}

static void advance(cursor *c, const char *to)
{
    for (; c->at < to; c->at++) c->line += *c->at == '\n';
}

/* Past the next `mark` of the text. */
static vkt_status skip_past(cursor *c, const char *mark, const char *what)
{
    const char *stop = strstr(c->at, mark);
    if (!stop) return bad(c, what);
    advance(c, stop + strlen(mark));
    return VKT_OK;
}

static bool begins(const cursor *c, const char *word)
{
    return !strncmp(c->at, word, strlen(word));
}

/* ---- texts ---- */

/* The character of "&amp;" and its like; its length there. 0: it is none. */
static size_t entity(const char *p, char out[4], size_t *n)
{
    static const struct {
        const char *word;
        char is;
    } words[] = {
        { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' }
    };
    for (size_t i = 0; i < VKT_COUNT(words); i++)
        if (!strncmp(p, words[i].word, strlen(words[i].word)))
            return out[0] = words[i].is, *n = 1, strlen(words[i].word);
    if (p[1] != '#') return 0;
    bool hex = p[2] == 'x';
    uint32_t c = 0;
    const char *d = p + 2 + hex;
    for (; *d && *d != ';' && c < 0x110000; d++) {
        uint32_t v = *d >= '0' && *d <= '9'          ? (uint32_t)(*d - '0')
                     : hex && *d >= 'a' && *d <= 'f' ? (uint32_t)(*d - 'a' + 10)
                     : hex && *d >= 'A' && *d <= 'F' ? (uint32_t)(*d - 'A' + 10)
                                                     : 99;
        if (v == 99) return 0;
        c = c * (hex ? 16 : 10) + v;
    }
    if (*d != ';' || !c || c >= 0x110000 || (c >= 0xD800 && c < 0xE000)) return 0;
    *n = vkt__utf8_put((int32_t)c, out);
    return (size_t)(d + 1 - p);
}

/* The text up to the next tag, without the space around it and without comments. A text that is too
 * long is cut: most are needed by nobody. */
static vkt_status take_text(cursor *c, char out[WORD])
{
    size_t n = 0;
    c->cut = false;
    while (c->at < c->end && (*c->at != '<' || begins(c, "<!--"))) {
        char is[4];
        if (*c->at == '<') {
            vkt_status st = skip_past(c, "-->", "a comment does not end");
            if (st != VKT_OK) return st;
            continue;
        }
        size_t more = 1, length = *c->at == '&' ? entity(c->at, is, &more) : 1;
        if (!length) return bad(c, "an & that begins no character");
        if (*c->at != '&') is[0] = *c->at;
        bool space = *c->at == ' ' || *c->at == '\t' || *c->at == '\r' || *c->at == '\n';
        c->cut |= n + more >= WORD;
        if (!(space && !n) && !c->cut) {
            memcpy(out + n, is, more);
            n += more;
        }
        advance(c, c->at + length);
    }
    while (n && strchr(" \t\r\n", out[n - 1])) n--;
    out[n] = 0;
    return VKT_OK;
}

/* ---- what the elements are ---- */

/* Whether the open elements end so; parts of an object, which are deeper, are none. */
static bool is_at(const cursor *c, int depth, const char *parent, const char *word)
{
    return c->depth == depth && !strcmp(c->open[depth - 2], parent) &&
           !strcmp(c->open[depth - 1], word);
}

static vkt_status take_number(const cursor *c, const char *text, double *out)
{
    if (c->cut || !vkt__number(text, out) || !(fabs(*out) < 1e6))
        return bad(c, "a number is expected");
    return VKT_OK;
}

static vkt_status take_value(const cursor *c, const char *text, object *o, uint32_t said[2])
{
    static const char *const edges[] = { "xmin", "ymin", "xmax", "ymax" }, *const sides[] = {
        "width", "height"
    };
    double v;
    vkt_status st = VKT_OK;
    if (is_at(c, 3, "object", "name")) {
        if (o->has_class) return bad(c, "an object has two names");
        if (c->cut) return bad(c, "a name is longer than 255 bytes");
        o->has_class = true;
        snprintf(o->class, sizeof o->class, "%s", text);
    }
    if (is_at(c, 3, "object", "bndbox")) {
        if (o->has_box) return bad(c, "an object has two boxes");
        o->has_box = true;
    }
    for (int k = 0; k < 2; k++)
        if (is_at(c, 3, "size", sides[k])) {
            VKT_TRY(take_number(c, text, &v));
            said[k] = v >= 1 ? (uint32_t)v : 0; /* some tools leave 0 there */
        }
    for (int k = 0; k < 4; k++)
        if (is_at(c, 4, "bndbox", edges[k]) && !strcmp(c->open[1], "object")) {
            if (o->has[k]) return bad(c, "an edge of a box stands there twice");
            VKT_TRY(take_number(c, text, &o->edge[k]));
            o->has[k] = true;
        }
fail:
    return st;
}

/* Edges are pixels that belong to the box, counted from 1. */
static vkt_status take_object(const cursor *c, const object *o, vkt__arena *arena, vkt__marks *m)
{
    uint32_t class = 0;
    size_t at;
    if (!o->has_class || !*o->class) return bad(c, "an object has no name");
    if (!vkt__utf8_ok(o->class, strlen(o->class), &at)) return bad(c, "a name is not UTF-8");
    for (int k = 0; k < 4; k++)
        if (!o->has[k]) return bad(c, "an object has no bndbox of xmin, ymin, xmax and ymax");
    const double box[4] = { o->edge[0] - 1, o->edge[1] - 1, o->edge[2], o->edge[3] };
    vkt_status st = vkt__marks_class(m, o->class, c->name, arena, &class);
    return st == VKT_OK ? vkt__marks_add(m, box, class, c->name) : st;
}

/* ---- the file ---- */

/* "<name ...>" opens an element, which "/>" closes at once: *closed. */
static vkt_status open_element(cursor *c, bool *closed)
{
    if (c->depth == DEPTH) return bad(c, "elements lie more than 16 deep");
    advance(c, c->at + 1);
    size_t n = strcspn(c->at, " \t\r\n/>");
    if (!n || c->at + n >= c->end) return bad(c, "an element without a name");
    snprintf(c->open[c->depth++], sizeof c->open[0], "%.*s", (int)VKT_MIN(n, sizeof c->open[0] - 1),
             c->at);
    char quote = 0;
    const char *p = c->at + n;
    for (; p < c->end && (quote || *p != '>'); p++)
        quote = quote ? (*p == quote ? 0 : quote) : (*p == '"' || *p == '\'') ? *p : 0;
    if (p == c->end) return bad(c, "an element does not end");
    *closed = p[-1] == '/';
    advance(c, p + 1);
    return VKT_OK;
}

static vkt_status close_element(cursor *c)
{
    if (!c->depth) return bad(c, "an element ends that did not begin");
    size_t n = strcspn(c->at + 2, " \t\r\n>"), kept = strlen(c->open[c->depth - 1]);
    if (VKT_MIN(n, sizeof c->open[0] - 1) != kept ||
        strncmp(c->at + 2, c->open[c->depth - 1], kept) != 0)
        return vkt__fail(VKT_E_FORMAT, "data", "'%s' line %u: the element %s does not end", c->name,
                         c->line, c->open[c->depth - 1]);
    c->depth--;
    return skip_past(c, ">", "an element does not end");
}

static vkt_status read_element(cursor *c, object *o, uint32_t said[2], vkt__arena *arena,
                               vkt__marks *m)
{
    vkt_status st;
    bool closed = false;
    char text[WORD];
    if (begins(c, "<!--")) return skip_past(c, "-->", "a comment does not end");
    if (begins(c, "<?")) return skip_past(c, "?>", "an instruction does not end");
    if (begins(c, "<!")) return bad(c, "a document type or CDATA, which VOC's files have not");
    if (begins(c, "</")) {
        bool ends = c->depth == 2 && !strcmp(c->open[1], "object");
        VKT_TRY(close_element(c));
        return ends ? take_object(c, o, arena, m) : VKT_OK;
    }
    VKT_TRY(open_element(c, &closed));
    if (c->depth == 1 && strcmp(c->open[0], "annotation") != 0)
        return bad(c, "its first element is not annotation: it is no file of VOC's boxes");
    if (c->depth == 2 && !strcmp(c->open[1], "object")) *o = (object) { 0 };
    text[0] = 0;
    c->cut = false;
    if (!closed) VKT_TRY(take_text(c, text));
    VKT_TRY(take_value(c, text, o, said));
    if (closed && c->depth == 2 && !strcmp(c->open[1], "object")) return bad(c, "an empty object");
    c->depth -= closed;
fail:
    return st;
}

static vkt_status read_xml(char *text, size_t n, const char *name, vkt__arena *arena, vkt__marks *m)
{
    vkt_status st = VKT_OK;
    cursor c = { .at = text, .end = text + n, .name = name, .line = 1 };
    object o = { 0 };
    uint32_t said[2] = { 0, 0 };
    bool any = false;
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) c.at += 3;
    if (memchr(text, 0, n)) return bad(&c, "it is no text");
    for (;;) {
        const char *tag = c.at + strcspn(c.at, "<");
        advance(&c, tag);
        if (c.at == c.end) break;
        VKT_TRY(read_element(&c, &o, said, arena, m));
        any |= c.depth > 0;
    }
    if (c.depth || !any) VKT_TRY(bad(&c, any ? "it ends too early" : "it has no annotation"));
    if (said[0] && said[1]) memcpy(m->said[m->pictures.n - 1], said, sizeof said);
fail:
    return st;
}

static const char *const pictures[] = { "JPEGImages", "images", "imgs", NULL }, *const files[] = {
    "Annotations", "annotations", "labels", NULL
};

const vkt__beside vkt__voc = { pictures, files, ".xml", "ImageSets/Main", false, NULL, read_xml };
