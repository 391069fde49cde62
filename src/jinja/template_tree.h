/* Private to the chat templates: a template as a tree, and the tokens that it is made from. */
#ifndef VKT_DATA_TEMPLATE_TREE_H
#define VKT_DATA_TEMPLATE_TREE_H

#include "jinja/template_value.h"

/* ---- tokens ---- */

typedef enum vkt__ttoken_kind {
    VKT__TK_DATA, /* text between the tags */
    VKT__TK_BLOCK,
    VKT__TK_BLOCK_END,
    VKT__TK_OUT,
    VKT__TK_OUT_END,
    VKT__TK_NAME,
    VKT__TK_TEXT, /* a literal, its escapes resolved */
    VKT__TK_NUMBER,
    VKT__TK_SIGN,
    VKT__TK_END,
} vkt__ttoken_kind;

typedef struct vkt__ttoken {
    vkt__ttoken_kind kind;
    uint32_t line;
    vkt__ttext text;
    vkt__tvalue number;
} vkt__ttoken;

typedef struct vkt__ttokens {
    vkt__ttoken *token; /* the last one is VKT__TK_END */
    size_t n, cap;
} vkt__ttokens;

/* What is not understood, and in which line. */
typedef struct vkt__terror {
    uint32_t line; /* 0: nothing failed */
    char text[200];
} vkt__terror;

/* text: [n], line ends are \n, lives as long as the tokens; copies go to the arena. False: *error.
 * The caller frees out->token. */
bool vkt__t_lex(const char *text, size_t n, vkt__arena *arena, vkt__ttokens *out,
                vkt__terror *error);

/* ---- the tree ---- */

typedef enum vkt__tnode_kind {
    /* expressions */
    VKT__N_CONST,
    VKT__N_NAME,
    VKT__N_ATTR,    /* a.name */
    VKT__N_ITEM,    /* a[b] */
    VKT__N_SLICE,   /* a[item 0 : item 1 : item 2] */
    VKT__N_CALL,    /* a(items), key: names of arguments */
    VKT__N_FILTER,  /* a | name(items); a NULL: of a filter block */
    VKT__N_TEST,    /* a is name(items); flag: is not */
    VKT__N_BINARY,  /* a name b */
    VKT__N_COMPARE, /* a key[0] item[0] key[1] item[1] .. */
    VKT__N_AND,
    VKT__N_OR,
    VKT__N_NOT,
    VKT__N_MINUS,
    VKT__N_PLUS,
    VKT__N_CHOICE, /* b if a else c (or NULL) */
    VKT__N_SPLAT,  /* of a call's arguments: each of what a has */
    VKT__N_LIST,   /* items; flag: a tuple */
    VKT__N_DICT,   /* items: key, value, .. */
    /* statements */
    VKT__S_DATA,
    VKT__S_OUT,        /* a */
    VKT__S_IF,         /* a, body, other */
    VKT__S_FOR,        /* b: targets, a: over, c: condition or NULL; body, other */
    VKT__S_SET,        /* b: target(s), a */
    VKT__S_SET_BLOCK,  /* b, a: filters or NULL; body */
    VKT__S_MACRO,      /* name, key: parameters, item: defaults or NULL; body */
    VKT__S_CALL,       /* a: the call; a macro of body is its caller */
    VKT__S_FILTER,     /* a, body */
    VKT__S_WITH,       /* key, item; body */
    VKT__S_GENERATION, /* body */
    VKT__S_BREAK,
    VKT__S_CONTINUE,
} vkt__tnode_kind;

typedef struct vkt__tnode {
    vkt__tnode_kind kind;
    uint32_t line;
    bool flag;
    vkt__ttext name;
    vkt__tvalue value;
    struct vkt__tnode *a, *b, *c;
    struct vkt__tnode **item; /* [n] */
    vkt__ttext *key;          /* [n] or NULL */
    size_t n, cap;
    struct vkt__tnode *body, *other, *next; /* statements */
} vkt__tnode;

/* A template's statements; false: *error. */
bool vkt__t_parse(const vkt__ttokens *tokens, vkt__arena *arena, vkt__tnode **out,
                  vkt__terror *error);

#endif
