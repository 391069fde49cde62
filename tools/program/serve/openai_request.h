/* A request to OpenAI's endpoints, parsed: a function of its text. A field is honoured, known to
 * change nothing here, or refused by name. */
#ifndef VKT_TOOLS_OPENAI_REQUEST_H
#define VKT_TOOLS_OPENAI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPENAI_STOPS = 16 };

struct json_t;
typedef struct openai_request {
    struct json_t *body; /* what the texts point into */
    const char *model;   /* NULL: not said */
    const char *prompt;  /* completions */
    char *messages;      /* chat: [{"role", "content"}] with texts as contents, JSON */
    double temperature, top_p, repetition_penalty;
    uint32_t top_k;
    uint64_t max_tokens; /* UINT64_MAX: as many as there is room for */
    bool has_seed;
    uint64_t seed;
    const char *stop[OPENAI_STOPS];
    size_t n_stop;
    bool stream, usage; /* usage: a last chunk with counts */
    bool echo;
} openai_request;

/* text [n]; false: why [cap] says what is wrong. openai_request_finish whatever came. */
bool openai_request_parse(const char *text, size_t n, bool chat, openai_request *out, char *why,
                          size_t cap);
void openai_request_finish(openai_request *r);

#endif
