/* A model of tables or pictures behind HTTP: POST /predict, GET /model, and a page. */
#ifndef VKT_TOOLS_SERVE_PREDICTOR_H
#define VKT_TOOLS_SERVE_PREDICTOR_H

#include "http.h"
#include "vktrain/train.h"

typedef struct serve_predictor serve_predictor;

/* Opens the model; name: what the page calls it. */
vkt_status serve_predictor_open(const vkt_gpu_desc *gpu, const char *checkpoint, uint32_t top,
                                serve_predictor **out);
void serve_predictor_close(serve_predictor **p);
void serve_predictor_pages(const serve_predictor *p, http_server *http);
const char *serve_predictor_facts(const serve_predictor *p); /* what GET /model gives */
/* Answers this request and those that wait beside it (http NULL: it alone), together. DEVICE: the
 * device is lost; then they have their answer, too. */
vkt_status serve_predictor_answer(serve_predictor *p, http_server *http, http_request *first);

#endif
