/* A model opened for use: its recipe, and its weights as the plain model has them, an adapter
 * merged into its base. The path may be a run or a checkpoint; a Hugging Face folder with a
 * tokenizer, or a GGUF file; or a PEFT adapter's folder, which stands for its base with the adapter
 * merged. */
#ifndef VKT_MODELS_TRAINED_H
#define VKT_MODELS_TRAINED_H

#include "data/parts/parts.h"
#include "models/import.h"
#include "models/peft/peft.h"
#include "models/weights.h"
#include "runs/checkpoint_set.h"
#include "vktrain/recipe.h"

typedef struct vkt__trained {
    const char *dir;       /* of the checkpoint or the Hugging Face folder */
    const char *schema;    /* vkt_dataset_schema */
    vkt__checkpoint *ckpt; /* NULL: of a folder */
    vkt_config *config;    /* finished, without its adapter: the model is the plain one */
    vkt_lora lora;         /* what the run trained beside its base, config->init; rank 0: none */
    vkt__peft peft;        /* merged over all that; .tensors NULL: none */
    uint32_t new_rows;     /* tokens that the adapter's folder has and its base has not */
    vkt__arena arena;
} vkt__trained;

/* path: a run (its best checkpoint), a checkpoint, a Hugging Face folder, a GGUF file or an
 * adapter's folder, whose adapter_config.json names any of the former. A folder's or GGUF file's
 * context is the model's, but VKT__FOLDER_CONTEXT at most. IO: the base is not there.
 * vkt__trained_close whatever came. */
enum { VKT__FOLDER_CONTEXT = 1024 };
vkt_status vkt__trained_open(const char *path, vkt__trained *out);
void vkt__trained_close(vkt__trained *t);
/* Another context than the one that it opened with, for data and texts; 0: as it is. ARG: more than
 * the model has positions, or it is no language model. */
vkt_status vkt__trained_set_context(vkt__trained *t, uint32_t context);
/* Outputs of its model, whose tokenizer may have fewer. */
uint32_t vkt__trained_n_vocab(const vkt__trained *t, const vkt_tokenizer *tokenizer);
/* Fills all of the plain model's tensors: the average of the weights where the run kept one, unless
 * raw. FORMAT: they are of another model, one is not finite, or the base of an adapter is not the
 * one that it was trained beside; IO: it is not there. */
vkt_status vkt__trained_fill(const vkt__trained *t, const vkt__st_tensor *tensors, size_t n,
                             bool raw);
/* Where the model gives classes of texts (data.text and `score`), what its data is. FORMAT: it is
 * no such model's; it has other tasks than classes. */
vkt_status vkt__trained_classes(const vkt__trained *t, vkt__arena *arena, vkt__schema *out);
/* ARG: what was opened at `path` is no run that trained an adapter, which alone is exported as one.
 * whole: the option that exports the model. */
vkt_status vkt__trained_check_adapter(const vkt__trained *t, const char *path, const char *whole);
/* A language model's weights in host memory, in a model without a device; the caller destroys the
 * model and finishes the weights, whatever came. */
vkt_status vkt__trained_text(const vkt__trained *t, const vkt_tokenizer *tokenizer,
                             vkt_model **model, vkt__weights *weights);

/* Weights of another model as a beginning: of all that vkt__trained_open and vkt__import_files
 * take, into t[i].data by the latter's rules. A run of an adapter and an adapter's folder give
 * their base with the adapter merged, to all of the parameters at once. */
vkt_status vkt__weights_import(const char *path, const vkt__st_tensor *t, size_t n,
                               vkt__import_how how);
/* All of them, for a configuration: with rows for its data's added_tokens. */
vkt__import_how vkt__import_all_of(const vkt_config *c);

#endif
