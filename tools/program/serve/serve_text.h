/* A language model behind HTTP, by OpenAI's API: POST /v1/chat/completions, /v1/completions, GET
 * /v1/models, and a page. Several texts are written side by side. */
#ifndef VKT_TOOLS_SERVE_TEXT_H
#define VKT_TOOLS_SERVE_TEXT_H

#include "http.h"
#include "vktrain/train.h"

enum { SERVE_TEXTS = 16 }; /* at a time, at most */

typedef struct serve_text serve_text;

vkt_status serve_text_open(const vkt_text_desc *model, uint32_t n_texts, serve_text **out);
void serve_text_close(serve_text **s);
void serve_text_pages(const serve_text *s, http_server *http);
const char *serve_text_facts(const serve_text *s); /* what GET /model gives */
bool serve_text_writes(const serve_text *s);       /* whether any text is being written */
/* Begins what the request asks for, or refuses it; false: no text is free, and r has no answer. */
bool serve_text_take(serve_text *s, http_request *r);
/* Takes requests while a text is free, waiting for one where none is written, and writes a token of
 * each text. http NULL: takes none. DEVICE: the device is lost; all have their answer, too. */
vkt_status serve_text_step(serve_text *s, http_server *http);
/* Ends the texts where they are. */
void serve_text_end(serve_text *s);

#endif
