/* Private to the chat templates: values, and the state of a rendering. Failures are latched: the
 * first one is kept with its line, and what is evaluated after it is undefined. */
#ifndef VKT_DATA_TEMPLATE_VALUE_H
#define VKT_DATA_TEMPLATE_VALUE_H

#include "base/memory.h"

struct json_t;

typedef enum vkt__tkind {
    VKT__T_UNDEFINED, /* its name is its text */
    VKT__T_NONE,
    VKT__T_BOOL,
    VKT__T_INT,
    VKT__T_FLOAT,
    VKT__T_TEXT,
    VKT__T_LIST,
    VKT__T_DICT,
    VKT__T_LOOP,
    VKT__T_MACRO,
    VKT__T_FUNCTION, /* a global one, or a method that is not called */
} vkt__tkind;

typedef struct vkt__ttext {
    const char *s;
    size_t n;
} vkt__ttext;

typedef struct vkt__tvalue {
    vkt__tkind kind;
    union {
        bool b;
        int64_t i;
        double f;
        vkt__ttext text;
        struct vkt__tlist *list;
        struct vkt__tdict *dict;
        struct vkt__tloop *loop;
        const struct vkt__tmacro *macro;
    };
} vkt__tvalue;

typedef struct vkt__tlist {
    vkt__tvalue *item;
    size_t n, cap;
    bool tuple;
} vkt__tlist;

typedef struct vkt__tpair {
    vkt__tvalue key, value;
} vkt__tpair;
typedef struct vkt__tdict {
    vkt__tpair *pair; /* in the order of insertion */
    size_t n, cap;
    bool is_namespace;
} vkt__tdict;

typedef struct vkt__tloop {
    const vkt__tlist *over;
    size_t at;
    vkt__tvalue changed; /* what loop.changed saw last */
} vkt__tloop;

/* A rendering: its memory, its limits and its first failure. */
typedef struct vkt__trun {
    vkt__arena arena;
    uint64_t bytes, max_bytes, steps, max_steps;
    uint32_t depth, compare_depth, line;
    bool failed;
    char error[240];
    double now;
} vkt__trun;

/* Arguments of a call, a filter or a test: the first n_positional have no name. */
typedef struct vkt__targs {
    const vkt__tvalue *value;
    const vkt__ttext *name; /* [n] */
    size_t n, n_positional;
} vkt__targs;

void vkt__t_fail(vkt__trun *r, const char *fmt, ...) VKT_PRINTF(2, 3);
/* Counts work on n bytes, or n items; false when it was too much. */
bool vkt__t_work(vkt__trun *r, uint64_t n);
/* NULL after a failure: the memory is used up. */
void *vkt__t_alloc(vkt__trun *r, uint64_t n);

vkt__tvalue vkt__t_undefined(vkt__ttext name);
vkt__tvalue vkt__t_none(void);
vkt__tvalue vkt__t_bool(bool b);
vkt__tvalue vkt__t_int(int64_t i);
vkt__tvalue vkt__t_float(double f);
vkt__tvalue vkt__t_text(const char *s, size_t n); /* not copied */
vkt__tvalue vkt__t_word(const char *s);           /* not copied */
/* A copy of what the writer holds, which is emptied. */
vkt__tvalue vkt__t_take(vkt__trun *r, vkt__str *s);
vkt__tvalue vkt__t_list(vkt__trun *r);
vkt__tvalue vkt__t_dict(vkt__trun *r);
void vkt__t_push(vkt__trun *r, vkt__tlist *l, vkt__tvalue v);
void vkt__t_put(vkt__trun *r, vkt__tdict *d, vkt__tvalue key, vkt__tvalue v);
/* NULL: it has no such key. */
const vkt__tvalue *vkt__t_get(vkt__trun *r, const vkt__tdict *d, vkt__tvalue key);
/* Texts point into the JSON. */
vkt__tvalue vkt__t_of_json(vkt__trun *r, const struct json_t *o);

bool vkt__t_truth(const vkt__tvalue *v);
bool vkt__t_equal(vkt__trun *r, const vkt__tvalue *a, const vkt__tvalue *b);
/* Below, at or above 0; fails for kinds that have no order. */
int vkt__t_order(vkt__trun *r, const vkt__tvalue *a, const vkt__tvalue *b);
bool vkt__t_contains(vkt__trun *r, const vkt__tvalue *all, const vkt__tvalue *one);
bool vkt__t_number(const vkt__tvalue *v, double *out); /* of bool, int, float */
bool vkt__t_is(const vkt__ttext *t, const char *word);
/* "a text", "a list": for messages. */
const char *vkt__t_kind_name(const vkt__tvalue *v);
/* As Python's str() writes it; as repr() does where `quoted`. */
void vkt__t_write(vkt__trun *r, const vkt__tvalue *v, bool quoted, vkt__str *out);
/* As json.dumps writes it. */
typedef struct vkt__tjson {
    int indent;           /* below 0: on one line */
    bool sorted, ascii;   /* keys by their text; other characters than ASCII's as \u.... */
    vkt__ttext item, key; /* what parts items, and a key and its value */
} vkt__tjson;
void vkt__t_write_json(vkt__trun *r, const vkt__tvalue *v, const vkt__tjson *how, vkt__str *out);
/* str(v) as a text value. */
vkt__tvalue vkt__t_str(vkt__trun *r, const vkt__tvalue *v);
/* The items that a loop over v has: a list's, a dict's keys, a text's characters; NULL: fails. */
const vkt__tlist *vkt__t_items(vkt__trun *r, const vkt__tvalue *v);
/* v[i] of a text or list, counted from the end where i < 0; undefined past the ends. */
vkt__tvalue vkt__t_at(vkt__trun *r, const vkt__tvalue *v, int64_t i);
/* v[from:to:step]; each of the three may be none. */
vkt__tvalue vkt__t_slice(vkt__trun *r, const vkt__tvalue *v, const vkt__tvalue part[3]);
size_t vkt__t_length(vkt__trun *r, const vkt__tvalue *v); /* fails for what has none */

#endif
