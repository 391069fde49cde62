/* sentences.h: each row is as many inputs as data.context says, the ids of its sentence's tokens.
 * They are rows of a table to be learned, as the values of data.embed are; places behind the last
 * token name no row. */
#include "data/tables/sentences.h"
#include "tokenizers/tokenizer.h"
#include "data/text/tokenizer_chat.h"
#include "tokenizers/tokenizer_json.h"

enum { USUAL_VOCAB = 2000 };

/* How long sentences are, in tokens. */
typedef struct lengths {
    uint64_t n, total, n_cut;
} lengths;

static const char *cell_of(const vkt__cells *t, uint32_t i)
{
    const char *cell = vkt__csv_cell(t->csv, t->rows[i], t->column);
    return vkt__csv_missing(cell) ? "" : cell;
}

static vkt_status encode(vkt_tokenizer *k, const char *text, vkt_tokens *out)
{
    out->n = 0;
    return *text ? vkt_tokenizer_encode(k, text, strlen(text), false, out) : VKT_OK;
}

/* On what is trained on alone: neither validation nor test decides what a token is. */
static vkt_status train_tokenizer(const vkt_dataset *ds, const vkt_data_desc *desc,
                                  const vkt__cells *t, vkt_tokenizer **out)
{
    vkt_status st;
    uint64_t n = ds->info.n[VKT_SPLIT_TRAIN];
    uint32_t n_vocab = desc->vocab ? desc->vocab : USUAL_VOCAB;
    const char **texts = NULL;
    VKT_TRY(vkt__alloc_large(n, sizeof *texts, "the sentences", &texts));
    for (uint64_t i = 0; i < n; i++) texts[i] = cell_of(t, ds->index[VKT_SPLIT_TRAIN][i]);
    VKT_TRY(vkt__tokenizer_train_texts(texts, n, n_vocab, desc->lowercase, out));
fail:
    free(texts);
    return st;
}

static vkt_status open_tokenizer(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__cells *t,
                                 vkt_tokenizer **out)
{
    if (!desc->tokenizer) return train_tokenizer(ds, desc, t, out);
    if (desc->lowercase)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.lowercase: data.tokenizer says itself what it does with capitals: "
                         "leave one of the two out");
    if (!strcmp(desc->tokenizer, "chars"))
        return vkt__fail(VKT_E_ARG, "data",
                         "data.tokenizer: chars is not for data.text: take bytes, a file, or leave "
                         "it out, and one is trained on the column");
    vkt_status st = vkt_tokenizer_open(desc->tokenizer, out);
    if (st == VKT_OK && desc->added_tokens) st = vkt__tokenizer_extend(out, desc->added_tokens);
    uint32_t n = st == VKT_OK ? vkt_tokenizer_get_info(*out)->n_vocab : 0;
    if (n && desc->vocab && desc->vocab < n)
        return vkt__fail(VKT_E_ARG, "data",
                         "data.vocab: with data.text it is the size of the tokenizer that is "
                         "trained, or of the model's table: data.tokenizer has %u tokens, it is %u",
                         n, desc->vocab);
    return st;
}

static vkt_status measure(vkt_tokenizer *k, const vkt__cells *t, uint32_t most, lengths *out)
{
    vkt_status st = VKT_OK;
    vkt_tokens tokens = { 0 };
    *out = (lengths) { .n = t->n };
    for (uint32_t i = 0; i < t->n; i++) {
        VKT_TRY(encode(k, cell_of(t, i), &tokens));
        out->total += tokens.n;
        out->n_cut += tokens.n > most;
    }
fail:
    free(tokens.id);
    return st;
}

static void note(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__column *c,
                 const lengths *is)
{
    const char **notes = vkt__arena_alloc(&ds->arena, (ds->info.n_notes + 1) * sizeof *notes);
    for (uint32_t i = 0; i < ds->info.n_notes; i++) notes[i] = ds->info.notes[i];
    char cut[96] = "";
    if (is->n_cut)
        snprintf(cut, sizeof cut, "; %llu of %llu are longer than that: their ends are cut",
                 (unsigned long long)is->n_cut, (unsigned long long)is->n);
    notes[ds->info.n_notes++] = vkt__arena_printf(
        &ds->arena,
        "column '%s': sentences of %.3g tokens on average (%u different ones, %s), up to "
        "data.context %u are read%s",
        vkt__show(c->name).s, (double)is->total / (double)VKT_MAX(is->n, 1), ds->schema.vocab,
        desc->tokenizer ? "of data.tokenizer" : "trained on the column", c->n_tokens, cut);
    ds->info.notes = notes;
}

vkt_status vkt__sentences_fit(vkt_dataset *ds, const vkt_data_desc *desc, const vkt__cells *t)
{
    vkt_status st;
    vkt__schema *s = &ds->schema;
    vkt_tokenizer *k = NULL;
    char *json = NULL;
    lengths is;
    const vkt__column *c = &s->columns[0];
    if (!c->n_tokens) return VKT_OK;
    VKT_TRY(open_tokenizer(ds, desc, t, &k));
    s->vocab = VKT_MAX(vkt_tokenizer_get_info(k)->n_vocab, desc->tokenizer ? desc->vocab : 0);
    VKT_TRY(measure(k, t, c->n_tokens, &is));
    note(ds, desc, c, &is);
    json = vkt__tokenizer_kept(k);
    s->tokenizer = vkt__arena_strdup(&ds->arena, json);
fail:
    vkt_free(json);
    vkt_tokenizer_destroy(&k);
    return st;
}

vkt_status vkt__sentences_fill(const vkt__schema *s, const vkt__column *c, const vkt__cells *t,
                               float *out)
{
    vkt_status st;
    vkt_tokenizer *k = NULL;
    vkt_tokens tokens = { 0 };
    VKT_TRY(vkt__tokenizer_parse_json(s->tokenizer, strlen(s->tokenizer), "the schema's tokenizer",
                                      &k));
    if (vkt_tokenizer_get_info(k)->n_vocab > s->vocab) {
        st = vkt__fail(VKT_E_FORMAT, "data",
                       "schema: its tokenizer has %u tokens, the model's table %u: the "
                       "checkpoint's schema was changed",
                       vkt_tokenizer_get_info(k)->n_vocab, s->vocab);
        goto fail;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        float *x = out + (size_t)i * s->n_inputs + c->first_input;
        VKT_TRY(encode(k, cell_of(t, i), &tokens));
        for (uint32_t j = 0; j < c->n_tokens; j++)
            x[j] = j < tokens.n ? (float)(c->first_row + tokens.id[j]) : -1;
    }
fail:
    free(tokens.id);
    vkt_tokenizer_destroy(&k);
    return st;
}
