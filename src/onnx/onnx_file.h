/* An ONNX file as it lies on disk: graph, nodes, attributes, initializers, names. Checked, so that
 * whoever walks it meets no name that is not there and no tensor that lies about its size; what an
 * op means is not known here. Source: onnx.proto (IR version 10). */
#ifndef VKT_ONNX_ONNX_FILE_H
#define VKT_ONNX_ONNX_FILE_H

#include "base/os.h"
#include "base/words.h"
#include "formats/protobuf.h"

enum { VKT__ONNX_RANK = 8, VKT__ONNX_OLDEST = 6, VKT__ONNX_NEWEST = 25 };

/* Element types, as files number them. */
typedef enum vkt__onnx_type {
    VKT__ONNX_NONE,
    VKT__ONNX_FLOAT,
    VKT__ONNX_UINT8,
    VKT__ONNX_INT8,
    VKT__ONNX_UINT16,
    VKT__ONNX_INT16,
    VKT__ONNX_INT32,
    VKT__ONNX_INT64,
    VKT__ONNX_STRING,
    VKT__ONNX_BOOL,
    VKT__ONNX_FLOAT16,
    VKT__ONNX_DOUBLE,
    VKT__ONNX_UINT32,
    VKT__ONNX_UINT64,
    VKT__ONNX_COMPLEX64,
    VKT__ONNX_COMPLEX128,
    VKT__ONNX_BFLOAT16,
    VKT__ONNX_N_TYPES
} vkt__onnx_type;
const char *vkt__onnx_type_name(int type);
/* Bytes of an element; 0: it is no number, or none that is known. */
uint32_t vkt__onnx_type_bytes(int type);
bool vkt__onnx_is_float(int type); /* of 16, 32 or 64 bits */

typedef struct vkt__onnx_tensor {
    const char *name;
    int type;
    uint32_t rank;
    uint64_t dims[VKT__ONNX_RANK], count;
    const void *data; /* count elements, little-endian, at any address */
    size_t at, end;   /* the whole message in the file; 0: it repeats another */
} vkt__onnx_tensor;
/* Element i, as a float and as a whole number; a float is cut towards zero. */
double vkt__onnx_number(const vkt__onnx_tensor *t, uint64_t i);
int64_t vkt__onnx_integer(const vkt__onnx_tensor *t, uint64_t i);

typedef struct vkt__onnx_attr {
    const char *name, *text;
    float f;
    int64_t i;
    const vkt__onnx_tensor *tensor;
    const int64_t *ints;
    const float *floats;
    size_t n_ints, n_floats;
    vkt__pb graph; /* at NULL: none */
} vkt__onnx_attr;

typedef struct vkt__onnx_node {
    const char *type, *domain, *overload, *name,
        *where;          /* where: "net.onnx: node 'conv1' (Conv)" */
    const int *in, *out; /* values; -1: not given */
    size_t n_in, n_out, n_attrs;
    const vkt__onnx_attr *attrs;
    size_t at;  /* the node's place in the file, which may have them in another order */
    bool inner; /* of a function's body or a branch, which `at` calls */
    int guard;  /* 1 + which guard must hold for it; 0: none */
} vkt__onnx_node;
/* NULL: it has none of that name. */
const vkt__onnx_attr *vkt__onnx_attr_of(const vkt__onnx_node *n, const char *name);

/* A value: an input, an initializer, or what a node gives. */
typedef struct vkt__onnx_name {
    const char *name;
    const vkt__onnx_tensor *initializer; /* or NULL */
    int node;                            /* that gives it; -1: none */
    bool is_input, is_output;
    bool inner; /* named in a function's body or a branch, where the file's graph does not see it */
} vkt__onnx_name;

/* A function of the file: FunctionProto. */
typedef struct vkt__onnx_function {
    const char *name, *domain, *overload;
    vkt__pb body;
    const vkt__pb
        *usual; /* [n_usual] AttributeProto with the values that attributes usually have */
    size_t n_usual;
    int next; /* 1 + the next one of its hash; 0: none */
} vkt__onnx_function;

/* A branch's nodes are computed where `condition` is what it wants, and the guard around them
 * holds, which counts as a node's does. */
typedef struct vkt__onnx_guard {
    int condition;
    bool wants;
    int outer;
} vkt__onnx_guard;

/* The type of a graph's input or output. */
typedef struct vkt__onnx_info {
    int value, type; /* type NONE: it is no tensor, or it is not said */
    bool has_shape;
    uint32_t rank;
    int64_t dims[VKT__ONNX_RANK]; /* -1: a symbol */
    const char *symbols[VKT__ONNX_RANK];
} vkt__onnx_info;

/* A file with data. */
typedef struct vkt__onnx_other {
    vkt__map map;
    const char *location;
} vkt__onnx_other;

typedef struct vkt__onnx {
    const char *path, *producer;
    int64_t opset, ir;
    vkt__onnx_node *nodes;
    vkt__onnx_tensor *initializers;
    vkt__onnx_name *values;
    vkt__onnx_info *inputs, *outputs; /* inputs: those that no initializer gives */
    vkt__onnx_guard *guards;
    size_t n_nodes, n_initializers, n_values, n_inputs, n_outputs, n_guards;
    /* private */
    vkt__arena arena;
    vkt__map map;
    bool owns; /* the map is to be undone */
    vkt__onnx_other *maps;
    size_t n_maps, cap_maps;
    int *places; /* [n_places] of values, by a hash of their names; -1: free */
    size_t n_places, cap_values, cap_nodes, cap_guards;
    vkt__onnx_function *functions;
    size_t n_functions, cap_functions, n_inlined, inlined_bytes, n_looks;
    int buckets[1024]; /* 1 + the first function of a hash; 0: none */
    vkt__str scratch;  /* the name that is looked up */
} vkt__onnx;

/* Reads and checks a file. FORMAT: it is damaged or lies; IO: it, or a file of its data, can't be
 * read. One line says which. The file stays mapped until vkt__onnx_close. */
vkt_status vkt__onnx_open(const char *path, vkt__onnx **out);
/* The same of bytes that stay where they are; folder NULL: no data of other files. */
vkt_status vkt__onnx_parse(const void *data, size_t n, const char *path, const char *folder,
                           vkt__onnx **out);
void vkt__onnx_close(vkt__onnx **f);
/* A checksum of the file, as text; data in other files are not in it. */
enum { VKT__ONNX_SUM = 17 };
void vkt__onnx_sum(const vkt__onnx *f, char out[VKT__ONNX_SUM]);
/* The value of that name; -1: none. */
int vkt__onnx_find(const vkt__onnx *f, const char *name);

#endif
