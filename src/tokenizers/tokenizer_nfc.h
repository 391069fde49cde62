/* Private to the library: Unicode's normal forms. */
#ifndef VKT_DATA_TOKENIZER_NFC_H
#define VKT_DATA_TOKENIZER_NFC_H

#include "base/memory.h"

/* Appends the text in NFC; bytes that are no UTF-8 do not change. *changed false: it is the text
 * itself, and nothing was appended. OOM_HOST. */
vkt_status vkt__nfc(const char *text, size_t n, vkt__str *out, bool *changed);

/* Appends the text, which is UTF-8, in a normal form: canonical (C, D) or of compatibility (KC,
 * KD). What came into these after Unicode 12 stays as it is. OOM_HOST. */
typedef enum vkt__form { VKT__FORM_C, VKT__FORM_D, VKT__FORM_KC, VKT__FORM_KD } vkt__form;
vkt_status vkt__normal_form(vkt__form form, const char *text, size_t n, vkt__str *out);

#endif
