/* The decided shape of include/sdpa/sdpa.h: scaled dot-product attention on CPUs, softmax(Q K^T * scale + bias) V.
 * A sketch: names, structs and rules are meant; the header itself needs full documentation of every item.
 * Contract of the three structs (sdpa_problem, sdpa_options, sdpa_args):
 *   - set them with sdpa_*_init(), or memset 0 + .size; fields are only ever appended;
 *   - size < the 0.1 size: SDPA_ERROR_STRUCT_SIZE; between: the rest is 0; larger than ours: accepted iff the tail is 0;
 *   - every field's 0 is either the documented default or illegal; nothing is default-by-magic-value;
 *   - a number whose feature bit is not set must be 0 (scale, offset, score_stage, windows, later dropout);
 *     strides of a tensor that is not declared are ignored, so that sdpa_problem_layout() may fill all of them.
 * sdpa_plan_info goes the other way: the caller sets size, the library writes min(size, its own) bytes.
 * Optional tensors are declared by feature bits in the problem: the plan knows them. At execute a declared tensor that
 * is NULL, and a pointer whose bit is not set, are both errors: no option can be given and ignored. */
#ifndef SDPA_SDPA_H
#define SDPA_SDPA_H

#include <stddef.h>
#include <stdint.h>

#define SDPA_VERSION_MAJOR 0
#define SDPA_VERSION_MINOR 1
#define SDPA_VERSION_PATCH 0
#define SDPA_VERSION (SDPA_VERSION_MAJOR * 10000 + SDPA_VERSION_MINOR * 100 + SDPA_VERSION_PATCH)

#if defined(__GNUC__)
#define SDPA_API __attribute__((visibility("default")))
#else
#define SDPA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------------------------- */
typedef int32_t sdpa_status; /* SDPA_OK or one of the errors below; values never change meaning */
enum {
  SDPA_OK = 0,
  SDPA_ERROR_STRUCT_SIZE = 10,   /* a size field below the 0.1 baseline, or an unknown tail that is not zero */
  SDPA_ERROR_NULL = 11,          /* a required pointer is NULL, or a declared tensor is missing */
  SDPA_ERROR_UNDECLARED = 12,    /* a tensor was passed that the problem does not declare */
  SDPA_ERROR_VALUE = 13,         /* a number outside its legal range (scale, softcap, window, length, threads ...) */
  SDPA_ERROR_SHAPE = 14,         /* negative size, kv_heads does not divide query_heads, broadcast mismatch */
  SDPA_ERROR_STRIDE = 15,        /* an output with stride 0 along a dimension longer than 1 */
  SDPA_ERROR_ALIGNMENT = 16,     /* data not aligned to its element, workspace not aligned as asked */
  SDPA_ERROR_OVERFLOW = 17,      /* a byte count that does not fit in size_t / ptrdiff_t */
  SDPA_ERROR_WORKSPACE = 18,     /* workspace given but too small */
  SDPA_ERROR_UNSUPPORTED = 20,   /* a legal request that this build or the forced engine / ISA cannot serve */
  SDPA_ERROR_MEMORY = 30,        /* an allocation failed */
  SDPA_ERROR_CALLBACK = 31       /* the caller's parallel_for returned without running every task once */
};
SDPA_API const char *sdpa_status_string(sdpa_status status); /* static text, never NULL, also for unknown values */

/* ---- constants ---------------------------------------------------------------------------------------------- */
enum { SDPA_F64 = 1, SDPA_F32 = 2, SDPA_BF16 = 3, SDPA_F16 = 4 };   /* 0: "same as query_type"; illegal for query */
enum { SDPA_LAYOUT_BHSD = 1, SDPA_LAYOUT_BSHD = 2 };                /* contiguous layouts that a helper fills in */
enum { SDPA_ALIGN_NONE = 0, SDPA_ALIGN_TOP_LEFT = 1, SDPA_ALIGN_BOTTOM_RIGHT = 2, SDPA_ALIGN_OFFSET = 3 };
enum { SDPA_STAGE_SCALED = 1, SDPA_STAGE_SOFTCAPPED = 2, SDPA_STAGE_BIASED = 3 };
enum { SDPA_ENGINE_AUTO = 0, SDPA_ENGINE_BLAS = 1, SDPA_ENGINE_TILED = 2 };
enum { SDPA_ISA_AUTO = 0, SDPA_ISA_GENERIC = 1, SDPA_ISA_AVX2 = 20, SDPA_ISA_AVX512 = 30, SDPA_ISA_AMX = 40,
       SDPA_ISA_NEON = 120 };                                       /* a ceiling, within one architecture */
enum { SDPA_PRECISION_FULL = 0, SDPA_PRECISION_FMA = 1, SDPA_PRECISION_REDUCED = 2 };
enum {                                     /* sdpa_problem.features */
  SDPA_CAUSAL = 1 << 0,                    /* key j <= p, p = row + offset of the alignment */
  SDPA_WINDOW = 1 << 1,                    /* window_left / window_right are read; without the bit they must be 0 */
  SDPA_SCALE = 1 << 2,                     /* scale is read; without the bit 1/sqrt(key_dim) */
  SDPA_MASK = 1 << 3, SDPA_BIAS = 1 << 4, SDPA_ALIBI = 1 << 5, SDPA_SINKS = 1 << 6,
  SDPA_KEY_LENS = 1 << 7, SDPA_QUERY_LENS = 1 << 8, SDPA_OFFSETS = 1 << 9,
  SDPA_WEIGHTS = 1 << 16, SDPA_LSE = 1 << 17, SDPA_SCORES = 1 << 18, SDPA_NO_OUTPUT = 1 << 19
};

/* ---- problem: what is asked (no pointers to data, no policy) -------------------------------------------------- */
typedef struct sdpa_strides { int64_t batch, head, row, col; } sdpa_strides; /* in elements; 0 broadcasts an input;
                                                                                 negative is legal; frozen struct */
typedef struct sdpa_problem {
  uint32_t size;                 /* sizeof(sdpa_problem) as the caller was compiled */
  uint32_t features;             /* SDPA_CAUSAL ... */
  uint32_t query_type;           /* SDPA_F32 ...; required */
  uint32_t key_type;             /* 0: query_type */
  uint32_t value_type;           /* 0: key_type */
  uint32_t output_type;          /* 0: query_type; SDPA_F32 with 16-bit inputs is what sdpa_merge wants */
  uint32_t bias_type;            /* 0: query_type, or the compute type (f32, f64) */
  uint32_t alignment;            /* SDPA_ALIGN_...; required with CAUSAL, WINDOW or ALIBI unless query_len = key_len and no length is declared */
  uint32_t score_stage;          /* SDPA_STAGE_... with SDPA_SCORES */
  uint32_t reserved0;            /* 0 */
  int64_t batch, query_heads, kv_heads;   /* kv_heads divides query_heads; all may be 0 */
  int64_t query_len, key_len;    /* rows of Q; rows of K and V: the capacity when SDPA_KEY_LENS is set */
  int64_t key_dim, value_dim;    /* columns of Q and K; columns of V and the output */
  double scale, softcap;         /* softcap 0: off */
  int64_t window_left, window_right;      /* -1: unbounded, 0: the aligned key itself */
  int64_t offset;                /* SDPA_ALIGN_OFFSET: p = row + offset; any sign; per batch with SDPA_OFFSETS */
  sdpa_strides query, key, value, output; /* no default: sdpa_problem_layout() or the caller fills them */
  sdpa_strides mask, bias, weights, scores;
  sdpa_strides lse;              /* col must be 0 */
  /* appended later: page_len (paged KV); dropout; strides of the five gradients */
} sdpa_problem;

SDPA_API sdpa_status sdpa_problem_init(sdpa_problem *problem, size_t size); /* zero fill + size; pass sizeof *problem */
SDPA_API sdpa_status sdpa_problem_layout(sdpa_problem *problem, uint32_t layout); /* all strides, from the sizes */
SDPA_API sdpa_status sdpa_problem_broadcast(const sdpa_problem *problem, int32_t rank, const int64_t *shape,
                                            sdpa_strides *strides); /* right-aligned shape of a contiguous mask or bias
                                                                       -> strides; SDPA_ERROR_SHAPE if it does not fit */

/* ---- options: how (NULL everywhere means all defaults) --------------------------------------------------------- */
typedef void (*sdpa_task)(void *arg, int64_t task);
typedef void (*sdpa_parallel_for)(void *ctx, int64_t n_tasks, sdpa_task task, void *arg);
/* Runs task(arg, i) exactly once for each 0 <= i < n_tasks, in any order, on any threads, serially too, and returns
 * when all are done. n_tasks never exceeds options.threads; no task waits for another; none throws or longjmps. */
typedef void *(*sdpa_alloc)(void *ctx, size_t bytes, size_t alignment);
typedef void (*sdpa_free)(void *ctx, void *block, size_t bytes);

typedef struct sdpa_options {
  uint32_t size;
  uint32_t engine;               /* SDPA_ENGINE_... */
  uint32_t isa;                  /* SDPA_ISA_...: the highest to use */
  uint32_t precision;            /* SDPA_PRECISION_... */
  int32_t threads;               /* most threads to use, the caller's included; 0: default, 1: no other;
                                    negative: an error; above 256: 256. Bounds a given parallel_for, too */
  uint32_t reserved0;            /* 0 */
  sdpa_parallel_for parallel_for;/* NULL: the library's pool */
  void *parallel_ctx;
  sdpa_alloc alloc;              /* both or neither; used for the plan and for a workspace that is not given */
  sdpa_free release;
  void *alloc_ctx;
} sdpa_options;
SDPA_API sdpa_status sdpa_options_init(sdpa_options *options, size_t size);

/* ---- args: where the data is ------------------------------------------------------------------------------------ */
typedef struct sdpa_args {
  uint32_t size;
  uint32_t reserved0;            /* 0 */
  const void *query, *key, *value;
  void *output;
  const uint8_t *mask;           /* non-zero byte: attend */
  const void *bias;
  const void *alibi_slopes;      /* [query_heads], compute type */
  const void *sinks;             /* [query_heads], compute type; -inf: no sink */
  const int64_t *key_lens;       /* [batch], 0..key_len: time and reads follow these, not the capacity */
  const int64_t *query_lens;     /* [batch], 0..query_len */
  const int64_t *offsets;        /* [batch] */
  void *weights, *scores;        /* compute type (f32; f64 for f64), [batch, query_heads, query_len, key_len] */
  void *lse;                     /* compute type, [batch, query_heads, query_len] */
  /* appended later: query_starts, key_starts (packed sequences); page_table; dropout_seed, dropout_offset */
} sdpa_args;
SDPA_API sdpa_status sdpa_args_init(sdpa_args *args, size_t size);

/* ---- one shot ------------------------------------------------------------------------------------------------- */
SDPA_API sdpa_status sdpa_attention(const sdpa_problem *problem, const sdpa_options *options, const sdpa_args *args);
SDPA_API sdpa_status sdpa_attention_f32(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v, const float *query,
                                        const float *key, const float *value, float *output, float *weights);
SDPA_API sdpa_status sdpa_attention_f64(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v, const double *query,
                                        const double *key, const double *value, double *output, double *weights);

/* ---- plan once, execute often ----------------------------------------------------------------------------------- */
typedef struct sdpa_plan sdpa_plan; /* immutable; any number of threads may execute one plan, each with its workspace */
SDPA_API sdpa_status sdpa_plan_create(const sdpa_problem *problem, const sdpa_options *options, sdpa_plan **plan);
SDPA_API void sdpa_plan_destroy(sdpa_plan *plan);                    /* NULL is fine */
SDPA_API sdpa_status sdpa_plan_workspace(const sdpa_plan *plan, size_t *bytes, size_t *alignment);
SDPA_API sdpa_status sdpa_execute(const sdpa_plan *plan, const sdpa_args *args, void *workspace, size_t bytes);
                                                                     /* workspace NULL: allocated for this call */
typedef struct sdpa_plan_info {  /* what will run, for programs; sdpa_plan_describe() is the same for people */
  uint32_t size;
  uint32_t engine, isa, precision;
  int32_t threads;               /* most tasks at once */
  int32_t key_splits;            /* parts a row's keys are cut into; depends on the problem only */
  int64_t flops, bytes;          /* arithmetic and memory traffic that the algorithm needs */
} sdpa_plan_info;
SDPA_API sdpa_status sdpa_plan_query(const sdpa_plan *plan, sdpa_plan_info *info);

/* ---- explanations: same checks again, with a sentence; text is always terminated, returns the call's status ------- */
SDPA_API sdpa_status sdpa_problem_check(const sdpa_problem *problem, const sdpa_options *options, char *text,
                                        size_t text_bytes);
SDPA_API sdpa_status sdpa_args_check(const sdpa_plan *plan, const sdpa_args *args, const void *workspace, size_t bytes,
                                     char *text, size_t text_bytes);
SDPA_API size_t sdpa_plan_describe(const sdpa_plan *plan, char *text, size_t text_bytes); /* as snprintf: full length */

/* ---- softmax tools (row-major, leading dimension in elements) -------------------------------------------------------- */
SDPA_API sdpa_status sdpa_softmax_f32(int64_t rows, int64_t cols, float scale, const float *scores, int64_t scores_ld,
                                      const uint8_t *mask, int64_t mask_ld, float *weights, int64_t weights_ld);
SDPA_API sdpa_status sdpa_softmax_f64(int64_t rows, int64_t cols, double scale, const double *scores,
                                      int64_t scores_ld, const uint8_t *mask, int64_t mask_ld, double *weights,
                                      int64_t weights_ld);
SDPA_API sdpa_status sdpa_softmax_jacobian_f32(int64_t n, const float *weights, float *jacobian, int64_t ld);
SDPA_API sdpa_status sdpa_softmax_jacobian_f64(int64_t n, const double *weights, double *jacobian, int64_t ld);
SDPA_API sdpa_status sdpa_softmax_backward_f32(int64_t rows, int64_t cols, const float *weights, int64_t weights_ld,
                                               const float *grad, int64_t grad_ld, float *out, int64_t out_ld);
SDPA_API sdpa_status sdpa_softmax_backward_f64(int64_t rows, int64_t cols, const double *weights, int64_t weights_ld,
                                               const double *grad, int64_t grad_ld, double *out, int64_t out_ld);

/* ---- what runs here ------------------------------------------------------------------------------------------------ */
SDPA_API int32_t sdpa_version(void);              /* SDPA_VERSION of the library that is loaded */
SDPA_API const char *sdpa_version_string(void);   /* "0.1.0" */
SDPA_API size_t sdpa_build_info(char *text, size_t text_bytes); /* ISAs, BLAS and its threads, ignored environment */

#ifdef __cplusplus
}
#endif
#endif /* SDPA_SDPA_H */
