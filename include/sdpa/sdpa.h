/* sdpa.h - scaled dot-product attention on CPUs, softmax(Q K^T * scale + bias) V
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * INTRODUCTION
 *
 * Attention takes n_q query rows, n_k key rows and n_k value rows. Each output row is a weighted
 * mean of the value rows; the weights are the softmax of the scaled dot products of that query with
 * every key (Vaswani et al., "Attention Is All You Need", 2017). On contiguous row-major matrices
 * it is one call:
 *
 *     double q[3 * 4], k[3 * 4], v[3 * 4], out[3 * 4], weights[3 * 3];
 *     sdpa_status status;
 *     status = sdpa_attention_f64(3, 3, 4, 4, q, k, v, out, weights);
 *     if (status != SDPA_OK) puts(sdpa_status_string(status));
 *
 * Everything else is said in three structs. A problem says what is computed: sizes, strides, types
 * and rules. Options say how. Args say where the data is. A causal, grouped-head call:
 *
 *     sdpa_problem p;
 *     sdpa_problem_init(&p, sizeof p);
 *     p.query_type = SDPA_F32;
 *     p.batch = 1, p.query_heads = 8, p.kv_heads = 2;
 *     p.query_len = 16, p.key_len = 128, p.key_dim = 64, p.value_dim = 64;
 *     p.features = SDPA_CAUSAL, p.alignment = SDPA_ALIGN_BOTTOM_RIGHT;
 *     sdpa_problem_layout(&p, SDPA_LAYOUT_BSHD);
 *
 *     sdpa_args a;
 *     sdpa_args_init(&a, sizeof a);
 *     a.query = q, a.key = k, a.value = v, a.output = out;
 *     status = sdpa_attention(&p, NULL, &a);
 *
 * To run one problem many times, create a plan, ask it for its workspace, execute it (sdpa_plan).
 * When a status is not enough, sdpa_problem_check() and sdpa_args_check() say in a sentence what is
 * wrong, for gradients sdpa_problem_check_backward() and sdpa_backward_check().
 *
 * RULES FOR EVERY FUNCTION
 *
 * - Every function that can fail returns an sdpa_status. The library never prints, aborts, sets
 *   errno or keeps a "last error". After an argument error nothing has been written to any output;
 *   after SDPA_ERROR_MEMORY neither.
 * - Every function may be called from any number of threads at once. The library has no state that
 *   a caller can change. What a call reads must not be written meanwhile, and each thread needs
 *   outputs and a workspace of its own. sdpa_plan_destroy() counts as writing the plan.
 * - The library keeps no pointer of yours after a call, but for a plan, which keeps
 *   options.parallel_for, alloc, release and their contexts.
 * - Sizes and strides are int64_t and count elements, not bytes. A pointer to an empty tensor may
 *   be NULL. Checks of arguments come first, also where there is nothing to compute.
 * - Where a call has several faults, which of them is reported is not promised.
 *
 * WHAT IS COMPUTED
 *
 * q_i, k_j, v_j are rows of one head; h is the query head, b the batch entry, i and j count from
 * the start of the buffers. L_q, L_k are the lengths of entry b: query_len and key_len where none
 * are given. Formulas are evaluated in the compute type: f64 for f64 data, otherwise f32. A score
 * goes through
 *
 *     s = scale * (q_i . k_j)      SDPA_STAGE_SCALED
 *     s = c * tanh(s / c)          SDPA_STAGE_SOFTCAPPED; with a softcap c
 *     s = s - slope_h * |p - j|    with ALiBi; p: see ALIGNMENT
 *     s = s + bias                 SDPA_STAGE_BIASED
 *
 * where scale is 1 / sqrt(key_dim) unless it is set. (Softcap: Bello et al., 2016; used by Gemma 2:
 * Gemma Team, 2024. ALiBi: Press, Smith, Lewis, 2022.) Then, with sums over the allowed keys,
 *
 *     weight_j = exp(s_j) / (sum_j exp(s_j) + exp(sink_h))
 *     output   = sum_j weight_j * v_j
 *     lse      = log(sum_j exp(s_j) + exp(sink_h))
 *
 * The logarithm is the natural one. The softmax is computed stably (the row's maximum is subtracted
 * first). Without a sink the exp(sink_h) terms are absent; with one the weights sum to less than 1
 * (attention sinks: Xiao et al., 2023; a learned logit per head as in the gpt-oss models: OpenAI,
 * 2025). A sink is used as given: not scaled, capped or biased. The log-sum-exp is what joins
 * partial results over disjoint sets of keys (Milakov and Gimelshein, 2018; Dao et al., 2022).
 *
 * TYPES. Query, key, value and output are all f64, or each of them is f32, bf16 or f16, in any
 * mixture: a cache of K and V in 16 bits beside queries in f32, or an output in f32 of 16-bit
 * inputs, as sdpa_merge() wants it. The bias has the query's type or the compute type. Weights,
 * scores, log-sum-exp, slopes and sinks are in the compute type. bf16 is the upper half of an f32:
 * its range, 8 bits of precision. f16 is IEEE 754's binary16: 11 bits, up to 65504. An element is
 * 16 bits of memory in the machine's byte order, aligned to 2 bytes, of whatever C type. (16-bit
 * and mixed types: since 0.3.)
 *
 * ALLOWED KEYS. Those of a row are what every one of these allows, in any combination:
 *
 *   causal       j <= p
 *   window       p - window_left <= j <= p + window_right; the sums do not wrap; -1 is unbounded
 *   mask         the byte is not 0
 *   bias         the bias is not -inf. The lowest finite number is a number: it excludes nothing
 *   key_lens     j < L_k
 *   query_lens   i < L_q; a later row has no allowed key
 *
 * ALIGNMENT. Causal, window and ALiBi measure from p = i + offset:
 *
 *   SDPA_ALIGN_TOP_LEFT       offset 0
 *   SDPA_ALIGN_BOTTOM_RIGHT   offset L_k - L_q of the batch entry; may be negative
 *   SDPA_ALIGN_OFFSET         offset as given: problem.offset, or args.offsets per batch entry
 *
 * Causal with 2 queries and 5 keys (x: allowed):
 *
 *     top-left  x . . . .    bottom-right  x x x x .    offset 1  x x . . .
 *               x x . . .                  x x x x x              x x x . .
 *
 * With 5 queries and 2 keys, bottom-right has offset -3: the first three rows have no allowed key.
 * Top-left and offset ignore the lengths. The choice has no default where it matters: with causal,
 * window or ALiBi, alignment must be set unless query_len = key_len and no length is declared.
 *
 * DROPOUT. With SDPA_DROPOUT (Srivastava et al., 2014; since 0.4) a weight is dropped with
 * probability r = dropout: the output is the sum of z_ij weight_j v_j, z_ij being 1 / (1 - r) or,
 * where the weight is dropped, 0, and SDPA_WEIGHTS gives z_ij weight_j. The log-sum-exp and the
 * softmax's sum are those before dropout. A dropped key is still an allowed one: a NaN or infinity
 * in its v reaches the output as 0 * v.
 *
 * What is dropped is a function of args.dropout_seed, args.dropout_offset and the absolute indices
 * of batch entry, query head, query and key: this call's, counted from 0, plus args.dropout_batch,
 * dropout_head, dropout_query and dropout_key. So the mask is the same on every engine, ISA, type
 * and number of threads, the backward pass sees that of the forward pass, and a call on a part of
 * the keys, rows, heads or batch draws what the whole would. (Joining parts over keys with
 * sdpa_merge() needs no more than that.) Another offset is another mask: count it up each step.
 * Each draw is a word of Philox4x32-10 (Salmon et al., 2011), reached by a chain of blocks. Let
 * philox(k0, k1; c0, c1, c2, c3) be its four words for a key and a counter, lo and hi the halves of
 * a 64-bit number:
 *
 *     s = (lo(seed), hi(seed), 0, 0)
 *     for x in offset, batch, head, query, floor(key / 4):
 *       s = philox(s[0], s[1]; lo(x), hi(x), s[2], s[3])
 *     the weight is kept if s[key mod 4] >= floor(r * 2^32)
 *
 * with r as a double.
 *
 * ROWS WITHOUT AN ALLOWED KEY. They give output 0, weights 0 and lse -inf (the sink's logit, if
 * there is one); never NaN. A row whose allowed scores are all -inf is such a row, whatever V
 * holds.
 *
 * WHAT IS NOT READ. NaN or infinity in K, V, bias or mask at a key that a row excludes changes no
 * bit of that row. K, V, bias and mask at keys from L_k on, and Q, bias and mask in rows from L_q
 * on, are never read: that memory may be uninitialised. A Q, K or V that belongs to no allowed pair
 * may or may not be read.
 *
 * NAN AND INFINITY. At an allowed key, a NaN score, or a +inf score after the bias, makes the row's
 * output, its allowed weights and its lse NaN, and no other row's. A NaN or +inf sink does so to
 * every row of its head that has an allowed key; a -inf sink is no sink. A NaN in column d of v_j
 * gives NaN in column d of the rows that allow j and touches nothing else; an infinity there gives
 * an infinity or NaN. Nothing turns a NaN into 0: a key whose weight underflows to 0 still
 * contributes 0 * v. A score of -inf has weight 0. The softcap maps +-inf to +-softcap. Where the
 * sum of |q_d k_d| (scaled or not) overflows, the row is unspecified; where that of |v_jd| over the
 * allowed keys does, element d of the row may be infinite or NaN.
 *
 * EMPTY SIZES. key_len = 0 or L_k = 0: every row is a row without an allowed key. query_len, batch
 * or query_heads = 0: success, nothing written. key_dim = 0: the products are 0 (and the default
 * scale 1). value_dim = 0: no output, the rest as always.
 *
 * ACCURACY. f32 is computed in f32 and f64 in f64 from end to end. bf16 and f16 are read exactly
 * and computed in f32; an output of 16 bits is rounded once, at the end, to nearest, of two to
 * even: what is too large becomes infinity, what is small a subnormal number, and NaN stays NaN.
 * That rounding adds half the distance of two neighbours of its type. Before it, the error of an
 * output element is at most
 *
 *     4 * eps * (L + A) * sum_j weight_j |v_jd| + tiny * sum_j |v_jd|
 *     A = max_j(|scale| sum_d |q_d k_d| + |slope (p - j)| + |bias_j|)
 *
 * where j runs over the allowed keys, eps is the unit roundoff of the compute type, tiny its
 * smallest normal number, and L the longest chain of additions: on engine tiled the larger of d_k
 * and about 128 + n_k / 128 (512 + n_k / 512 with few queries), on engine blas the BLAS's own. A
 * sink counts as one more key in L and with |sink_h| in the maximum. A weight_j |v_jd| below tiny
 * counts as tiny, since it loses digits; the last term is there because a weight below tiny may be
 * 0. With dropout each term of both sums, also one that counts as tiny, is taken times its z_ij.
 *
 * On engine tiled with SDPA_ISA_AMX the products may run in the CPU's matrix unit: each f32 as the
 * exact sum of three bf16 parts, an f16 of two, a bf16 as it is. That keeps the bound above. Where
 * V and the output both have 16 bits, weights are then rounded before they meet V, to bf16 if both
 * are bf16, else to f16 or better: that adds eps_w * sum_j weight_j |v_jd|, eps_w 2^-8 or 2^-11.
 * SDPA_PRECISION_FMA does neither. SDPA_PRECISION_REDUCED takes two parts of each f32, whose
 * products are off by at most 2^-15 of their magnitudes, and adds, with A as above,
 *
 *     to the output    4 * 2^-16 * (1 + A) * sum_j weight_j |v_jd|
 *     to lse           4 * 2^-16 * A
 *     to a weight      4 * 2^-16 * A * weight
 *     to a score       2^-15 |scale| sum_d |q_d k_d|
 *
 * THE FLOATING-POINT ENVIRONMENT. Every call computes rounding to nearest, with subnormals and with
 * traps masked, and leaves the caller's rounding mode, flush-to-zero settings, traps and exception
 * flags as it found them. So callers built with -ffast-math change no result, but their compiler
 * may assume that they hold no NaN or infinity: do not look for those in such a program. That is
 * the calling thread. Threads of the BLAS's own have the environment of the thread that started
 * them, as it was then: load and first call the BLAS before changing the environment, or give it
 * one thread.
 *
 * REPRODUCIBLE. On engine tiled the bits of an output row depend on that row's problem and data,
 * the ISA and the version: not on the number of threads, the order in which they work, or the
 * number and contents of other batch entries and heads. On engine blas that holds for a fixed
 * number of BLAS threads. Across ISAs, engines, versions and other BLASes only the error bound
 * holds.
 *
 * THREADS. Engine tiled runs on the calling thread and up to options.threads - 1 others: of the
 * library's own pool, which starts at first use, or whatever options.parallel_for uses. Small
 * problems stay on the calling thread. The pool does one call at a time; a call that finds it busy
 * runs on its own thread alone, so calls from many threads and from within parallel regions neither
 * deadlock nor multiply threads. It works after fork() in parent and child. Engine blas calls the
 * BLAS from the calling thread only and starts no thread of its own; how many threads the BLAS uses
 * is the BLAS's own setting (OPENBLAS_NUM_THREADS), which the library never changes.
 *
 * THE MATRIX UNIT. Linux lends AMX's tile registers to processes that ask. The library asks once,
 * in the first call that arrives at SDPA_ISA_AMX (a plan, a one-shot call, the softmax functions,
 * sdpa_build_info()), never when it is loaded; if Linux refuses, SDPA_ISA_AVX512 is used. The
 * permission is the process's, with its later threads and children, for good; its one effect
 * outside the library is that signals to a thread that uses tiles need up to 9 KiB more of stack.
 * Tasks leave the registers released. A ceiling below SDPA_ISA_AMX, in the options or by
 * SDPA_MAX_ISA, keeps the library from asking.
 *
 * ENVIRONMENT. Three variables are read once, at the first call, never in a set-user-ID program:
 *
 *   SDPA_NUM_THREADS   what 0 in options.threads means, a number from 1
 *   OMP_NUM_THREADS    the same by the first number of its list, where SDPA_NUM_THREADS has none;
 *                      where neither has one, the CPUs that the process may use count
 *   SDPA_MAX_ISA       a ceiling of the instruction set beside options.isa, whichever is lower:
 *                      generic, avx2, avx512, amx, neon
 *
 * sdpa_build_info() says which of those of the library's own name are set but not understood.
 *
 * NOT PROMISED. An output or gradient that overlaps an input or another output, or itself by its
 * strides, is undefined behaviour, as is a buffer shorter than the sizes and strides reach. Calling
 * from a signal handler is undefined: nothing here is async-signal-safe. After fork() the child may
 * call engine blas if its BLAS may be called there: one that is built with OpenMP, was used in the
 * parent and has several threads hangs. fork() waits for products that other threads have in the
 * BLAS. Linux is supported; macOS and Windows are not claimed.
 *
 * WHAT 0.4 DOES NOT SERVE. A legal request that this version or build cannot serve gets
 * SDPA_ERROR_UNSUPPORTED, never another computation in its place: other mixtures of types than
 * under TYPES, sdpa_merge() of outputs in 16 bits, on engine blas sizes beyond the BLAS's integer,
 * and engine blas in a library that was built without a BLAS or meets one of 64-bit integers.
 *
 * HISTORY. Everything in this header is since 0.1 but for what says otherwise.
 */
#ifndef SDPA_SDPA_H
#define SDPA_SDPA_H

#include <stddef.h>
#include <stdint.h>

/* The version of this header; sdpa_version() is that of the library which is loaded. */
#define SDPA_VERSION_MAJOR 0
#define SDPA_VERSION_MINOR 4
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

/* ---- STATUS ------------------------------------------------------------------------------ */

/* SDPA_OK or one of the errors below. Values never change their meaning; later versions may add
 * some, so treat any other value than SDPA_OK as a failure. Tens group them: 1x the caller's
 * arguments, 2x what is not available, 3x what failed on the way. */
typedef int32_t sdpa_status;
enum {
  SDPA_OK = 0,
  SDPA_ERROR_STRUCT_SIZE = 10, /* a size below 0.1's, or an unknown tail that is not 0 */
  SDPA_ERROR_NULL = 11,        /* a required pointer is NULL, or a declared tensor is missing */
  SDPA_ERROR_UNDECLARED = 12,  /* a tensor was passed that the problem does not declare */
  SDPA_ERROR_VALUE = 13,       /* a number, flag or constant outside its legal range */
  SDPA_ERROR_SHAPE = 14,       /* a negative size; kv_heads does not divide query_heads */
  SDPA_ERROR_STRIDE = 15,      /* an output with stride 0 along a dimension longer than 1 */
  SDPA_ERROR_ALIGNMENT = 16,   /* data not aligned to its element, workspace not as asked */
  SDPA_ERROR_OVERFLOW = 17,    /* a byte count that does not fit in size_t and ptrdiff_t */
  SDPA_ERROR_WORKSPACE = 18,   /* a workspace was given and is too small */
  SDPA_ERROR_UNSUPPORTED = 20, /* a legal request that this version or build cannot serve */
  SDPA_ERROR_MEMORY = 30,      /* an allocation failed */
  SDPA_ERROR_CALLBACK =
      31 /* parallel_for did not run every task once: outputs are partly written */
};

/* Returns a short English text for `status`: static, never NULL, for an unknown value too. */
SDPA_API const char *sdpa_status_string(sdpa_status status);

/* ---- CONSTANTS --------------------------------------------------------------------------- */

/* Element types, see TYPES. 0 in a type field means "the same as", see sdpa_problem. */
enum { SDPA_F64 = 1, SDPA_F32 = 2, SDPA_BF16 = 3, SDPA_F16 = 4 };

/* Layouts, contiguous: [batch][head][row][col] and [batch][row][head][col]. */
enum { SDPA_LAYOUT_BHSD = 1, SDPA_LAYOUT_BSHD = 2 };

/* Alignments, see ALIGNMENT. */
enum {
  SDPA_ALIGN_NONE = 0,
  SDPA_ALIGN_TOP_LEFT = 1,
  SDPA_ALIGN_BOTTOM_RIGHT = 2,
  SDPA_ALIGN_OFFSET = 3
};

/* Stages: which scores SDPA_SCORES writes. After SCALED and SOFTCAPPED each position with i < L_q
 * and j < L_k holds its own score, whether the row allows it or not. After BIASED (ALiBi and bias
 * added) every excluded position holds -inf. Padding holds -inf in all three. A stage whose feature
 * is off equals the stage before it. */
enum { SDPA_STAGE_SCALED = 1, SDPA_STAGE_SOFTCAPPED = 2, SDPA_STAGE_BIASED = 3 };

/* Engines: the algorithms; both serve every option.
 *
 *   TILED  streaming softmax over tiles of keys with the library's own kernels, on several
 *          threads: memory does not grow with query_len * key_len. Since 0.2.
 *   BLAS   blocks of score rows by the BLAS's matrix product, softmax by the library's kernels,
 *          the weighted sum by the BLAS.
 *   AUTO   BLAS where weights or scores are asked for (the whole matrix is written anyway) or where
 *          the library has no SIMD kernels for the CPU or the ISA ceiling; else TILED. What one of
 *          them cannot serve goes to the other. Never by a number of threads. In 0.1 always BLAS.
 */
enum { SDPA_ENGINE_AUTO = 0, SDPA_ENGINE_BLAS = 1, SDPA_ENGINE_TILED = 2 };

/* Instruction sets: a ceiling for the library's own kernels, not a demand. The best set that CPU
 * and operating system offer at or below it is used. It does not bind the BLAS. A set of another
 * architecture than the library's is SDPA_ERROR_UNSUPPORTED. The environment variable SDPA_MAX_ISA
 * is a second ceiling: see ENVIRONMENT. */
enum {
  SDPA_ISA_AUTO = 0,
  SDPA_ISA_GENERIC = 1,
  SDPA_ISA_AVX2 = 20,
  SDPA_ISA_AVX512 = 30,
  SDPA_ISA_AMX = 40,
  SDPA_ISA_NEON = 120
};

/* Precisions: FULL keeps the accuracy of the data's type by whatever unit is fastest. FMA uses the
 * multiply-add arithmetic of the compute type only. REDUCED allows products of f32 of about 16
 * bits; where that would not be faster it is FULL, and sdpa_plan_query() says so: everywhere but on
 * engine tiled with SDPA_ISA_AMX, and there for f64, for data that are all of 16 bits, for few
 * queries and for small dimensions. See ACCURACY. */
enum { SDPA_PRECISION_FULL = 0, SDPA_PRECISION_FMA = 1, SDPA_PRECISION_REDUCED = 2 };

/* Features, in sdpa_problem: what takes part. Each bit of a tensor declares it: with the bit the
 * pointer in sdpa_args is required, without the bit it must be NULL. Unknown bits are
 * SDPA_ERROR_VALUE. */
enum {
  SDPA_CAUSAL = 1 << 0,     /* key j <= p */
  SDPA_WINDOW = 1 << 1,     /* window_left and window_right hold */
  SDPA_SCALE = 1 << 2,      /* scale holds; else it is 1 / sqrt(key_dim), 1 if key_dim = 0 */
  SDPA_MASK = 1 << 3,       /* args.mask */
  SDPA_BIAS = 1 << 4,       /* args.bias */
  SDPA_ALIBI = 1 << 5,      /* args.alibi_slopes */
  SDPA_SINKS = 1 << 6,      /* args.sinks */
  SDPA_KEY_LENS = 1 << 7,   /* args.key_lens */
  SDPA_QUERY_LENS = 1 << 8, /* args.query_lens */
  SDPA_OFFSETS = 1 << 9,    /* args.offsets; only with SDPA_ALIGN_OFFSET, else SDPA_ERROR_VALUE */
  SDPA_DROPOUT = 1 << 10,   /* dropout holds, and args.dropout_...: see DROPOUT. Since 0.4 */
  SDPA_WEIGHTS = 1 << 16,   /* args.weights, an output */
  SDPA_LSE = 1 << 17,       /* args.lse, an output */
  SDPA_SCORES = 1 << 18,    /* args.scores, an output, at the stage of score_stage */
  SDPA_NO_OUTPUT = 1 << 19  /* no output: args.output must be NULL, V is not read. Needs
                               SDPA_WEIGHTS, SDPA_LSE or SDPA_SCORES, else SDPA_ERROR_VALUE */
};

/* ---- STRUCTS WITH A SIZE ----------------------------------------------------------------- */

/* sdpa_problem, sdpa_options, sdpa_args and sdpa_grads begin with `size`, sizeof the struct as the
 * caller was compiled. Fill them with their init function, or with zeros and then the size. Later
 * versions only append fields; 0 in a new field keeps the old behaviour. So programs and
 * libraries of different versions work together. A size is
 *
 *   below that of 0.1                 SDPA_ERROR_STRUCT_SIZE (sdpa_grads: of 0.4)
 *   between 0.1's and the library's   the missing fields count as 0
 *   above the library's               accepted if every byte beyond the library's own is 0,
 *                                     otherwise SDPA_ERROR_STRUCT_SIZE: nothing is ignored
 *
 * In all fields 0 is the documented default or illegal. A number that belongs to a feature which
 * is not declared must be 0, else SDPA_ERROR_VALUE. reserved... fields must be 0, else
 * SDPA_ERROR_VALUE. */

/* ---- PROBLEM: WHAT IS ASKED -------------------------------------------------------------- */

/* Distances in elements from one batch entry, head, row, column to the next. Each is free: a
 * negative one walks backwards, 0 repeats an input (broadcast), a column stride other than 1 is
 * a transposed or interleaved view. The pointer in sdpa_args is the element (0, 0, 0, 0),
 * wherever in memory that lies. A stride along a dimension of length 0 or 1 is not used. This
 * struct is frozen. */
typedef struct sdpa_strides {
  int64_t batch, head, row, col;
} sdpa_strides;

/* What is computed. Strides have no default: sdpa_problem_layout() or the caller fills them. Those
 * of a tensor that is not declared are ignored. An output's stride must not be 0 along a dimension
 * longer than 1. */
typedef struct sdpa_problem {
  uint32_t size;        /* see STRUCTS WITH A SIZE */
  uint32_t features;    /* SDPA_CAUSAL and so on, or-ed */
  uint32_t query_type;  /* SDPA_F64 ...; required. What goes with what: TYPES */
  uint32_t key_type;    /* 0: query_type */
  uint32_t value_type;  /* 0: key_type */
  uint32_t output_type; /* 0: query_type */
  uint32_t bias_type;   /* 0: query_type; else that or the compute type */
  uint32_t alignment;   /* SDPA_ALIGN_..., see ALIGNMENT; allowed where nothing needs it */
  uint32_t score_stage; /* SDPA_STAGE_...; required with SDPA_SCORES, else 0 */
  uint32_t reserved0;   /* 0 */
  int64_t batch;        /* this and the sizes below are >= 0, else SDPA_ERROR_SHAPE */
  int64_t query_heads;  /* heads of Q and of the outputs */
  int64_t kv_heads;     /* heads of K and V; must divide query_heads. Query head h reads
                          kv head h / (query_heads / kv_heads): grouped or multi-query attention */
  int64_t query_len;    /* rows of Q and of the outputs, n_q */
  int64_t key_len;      /* rows of K and V, n_k: their capacity when key_lens are given */
  int64_t key_dim;      /* columns of Q and K, d_k */
  int64_t value_dim;    /* columns of V and of the output, d_v */
  double scale;        /* with SDPA_SCALE: any finite number, 0 and negative too; else 0. Like every
                          scalar it is judged after conversion to the compute type: 1e300 is not
                          finite in f32 */
  double softcap;      /* 0: off; else > 0 and finite. One that rounds to 0 in f32 is off, too */
  int64_t window_left; /* with SDPA_WINDOW: keys to the left of p, -1 for unbounded; else 0 */
  int64_t window_right;         /* the same to the right. (0, 0) is the key at p alone */
  int64_t offset;               /* with SDPA_ALIGN_OFFSET without SDPA_OFFSETS; else 0 */
  sdpa_strides query;           /* [batch, query_heads, query_len, key_dim] */
  sdpa_strides key;             /* [batch, kv_heads, key_len, key_dim] */
  sdpa_strides value;           /* [batch, kv_heads, key_len, value_dim] */
  sdpa_strides output;          /* [batch, query_heads, query_len, value_dim] */
  sdpa_strides mask, bias;      /* [batch, query_heads, query_len, key_len] */
  sdpa_strides weights, scores; /* [batch, query_heads, query_len, key_len] */
  sdpa_strides lse;             /* [batch, query_heads, query_len]; col must be 0 */
  /* Since 0.4: */
  double dropout; /* with SDPA_DROPOUT: the probability, from 0 and, also when it is rounded to the
                     compute type, below 1; else 0. 0 drops nothing */
  sdpa_strides grad_query, grad_key,
      grad_value;           /* of a backward plan: shapes of query, key, value */
  sdpa_strides grad_output; /* likewise, an input: shape of output */
  sdpa_strides grad_bias;   /* likewise: shape of bias; see sdpa_backward() */
} sdpa_problem;

/* Sets `size` bytes of *problem to 0 and its size field to `size`; pass sizeof *problem.
 * SDPA_ERROR_NULL; SDPA_ERROR_STRUCT_SIZE (size below 0.1's or above UINT32_MAX; nothing
 * written). */
SDPA_API sdpa_status sdpa_problem_init(sdpa_problem *problem, size_t size);

/* Fills all strides from the sizes for contiguous tensors. `layout` is that of query, key, value
 * and output; mask, bias, weights and scores become [batch][query_heads][query_len][key_len], lse
 * [batch][query_heads][query_len]; grad_... become those of their tensors, as far as size holds
 * them. Set the sizes first. SDPA_ERROR_NULL; SDPA_ERROR_STRUCT_SIZE; SDPA_ERROR_VALUE (unknown
 * layout); SDPA_ERROR_SHAPE (a negative size); SDPA_ERROR_OVERFLOW (a stride does not fit; for
 * mask, bias, weights and scores only if the features declare one of them). No stride is changed on
 * an error. */
SDPA_API sdpa_status sdpa_problem_layout(sdpa_problem *problem, uint32_t layout);

/* Strides of a contiguous mask or bias of smaller shape: `shape` has `rank` (0 to 4) sizes that
 * are aligned at the right with [batch, query_heads, query_len, key_len]; each must equal that
 * size or be 1, and repeats where it is 1. Rank 0 is one number for all. Put the result into
 * problem.mask or problem.bias. SDPA_ERROR_NULL (shape may be NULL for rank 0);
 * SDPA_ERROR_STRUCT_SIZE; SDPA_ERROR_SHAPE (rank or a size that does not fit);
 * SDPA_ERROR_OVERFLOW. *strides is not changed on an error. */
SDPA_API sdpa_status sdpa_problem_broadcast(const sdpa_problem *problem, int32_t rank,
                                            const int64_t *shape, sdpa_strides *strides);

/* ---- OPTIONS: HOW ------------------------------------------------------------------------ */

/* The caller's own parallel loop: runs task(arg, i) exactly once for each 0 <= i < n_tasks, in
 * any order, on any threads, serially too, and returns when all are done. n_tasks never exceeds
 * options.threads; no task waits for another; none throws or longjmps. */
typedef void (*sdpa_task)(void *arg, int64_t task);
typedef void (*sdpa_parallel_for)(void *ctx, int64_t n_tasks, sdpa_task task, void *arg);

/* The caller's own allocator. alloc returns `bytes` > 0 bytes at a multiple of `alignment` (a
 * power of two) or NULL; release gets each block back once, with the same bytes. Both may be
 * called from any thread that uses the plan, several at once. */
typedef void *(*sdpa_alloc)(void *ctx, size_t bytes, size_t alignment);
typedef void (*sdpa_free)(void *ctx, void *block, size_t bytes);

/* All zero is the default; a NULL sdpa_options pointer means the same. */
typedef struct sdpa_options {
  uint32_t size;      /* see STRUCTS WITH A SIZE */
  uint32_t engine;    /* SDPA_ENGINE_... */
  uint32_t isa;       /* SDPA_ISA_...: the highest to use */
  uint32_t precision; /* SDPA_PRECISION_... */
  int32_t threads;    /* most threads that the library may use, the caller's included; 0: see
                         ENVIRONMENT; 1: no other; negative: SDPA_ERROR_VALUE; above 256: 256.
                         Engine blas has no threads of its own: there the BLAS's setting
                         governs, not this */
  uint32_t reserved0; /* 0 */
  sdpa_parallel_for parallel_for; /* NULL: the library's pool. Not called by engine blas */
  void *parallel_ctx;             /* passed to parallel_for */
  sdpa_alloc alloc;               /* NULL: the C library's. For the plan and workspaces not given */
  sdpa_free release;              /* one of alloc and release without the other: SDPA_ERROR_NULL */
  void *alloc_ctx;                /* passed to alloc and release */
} sdpa_options;

/* As sdpa_problem_init(). */
SDPA_API sdpa_status sdpa_options_init(sdpa_options *options, size_t size);

/* ---- ARGS: WHERE THE DATA IS ------------------------------------------------------------- */

/* Pointers to the elements (0, 0, 0, 0); the shapes are the problem's. Each must be aligned as
 * C aligns the type of its element. "Compute type" is double for SDPA_F64 data, else float.
 * Outputs are written whole: also rows without an allowed key, padding rows, and masked
 * positions. */
typedef struct sdpa_args {
  uint32_t size;                   /* see STRUCTS WITH A SIZE */
  uint32_t reserved0;              /* 0 */
  const void *query, *key, *value; /* required, unless empty */
  void *output;                    /* likewise; with SDPA_NO_OUTPUT NULL, and value may be NULL */
  const uint8_t *mask;             /* non-zero byte: attend */
  const void *bias;                /* added to the scores; bias_type. -inf excludes */
  const void *alibi_slopes;        /* [query_heads], contiguous, compute type; each finite */
  const void *sinks;         /* [query_heads], contiguous, compute type; -inf: none for that head */
  const int64_t *key_lens;   /* [batch], each 0 to key_len: keys from there on are padding. Time and
                                reads follow these, not the capacity */
  const int64_t *query_lens; /* [batch], each 0 to query_len: rows from there on are padding */
  const int64_t *offsets;    /* [batch], any sign */
  void *weights, *scores;    /* outputs, compute type; an excluded weight is exactly 0 */
  void *lse;                 /* output, compute type */
  /* Since 0.4, with SDPA_DROPOUT, else 0: */
  uint64_t dropout_seed, dropout_offset; /* any numbers */
  int64_t dropout_batch, dropout_head;   /* from 0: places of this call's first batch entry and
                                            query head in the whole that it is a part of */
  int64_t dropout_query, dropout_key;    /* likewise of its first query and key */
} sdpa_args;

/* As sdpa_problem_init(). */
SDPA_API sdpa_status sdpa_args_init(sdpa_args *args, size_t size);

/* ---- ONE CALL ---------------------------------------------------------------------------- */

/* Computes `problem` on `args`: sdpa_plan_create(), sdpa_execute() without a workspace and
 * sdpa_plan_destroy() in one. `options` may be NULL. Statuses: those of sdpa_plan_create() and
 * sdpa_execute(). */
SDPA_API sdpa_status sdpa_attention(const sdpa_problem *problem, const sdpa_options *options,
                                    const sdpa_args *args);

/* One head, contiguous row-major, no mask, scale 1 / sqrt(d_k): query [n_q][d_k], key
 * [n_k][d_k], value [n_k][d_v], output [n_q][d_v]; weights [n_q][n_k], or NULL if they are not
 * wanted. SDPA_ERROR_NULL (query, key, value or output, unless empty); SDPA_ERROR_SHAPE (a
 * negative size); SDPA_ERROR_ALIGNMENT (a matrix); SDPA_ERROR_OVERFLOW; SDPA_ERROR_MEMORY. */
SDPA_API sdpa_status sdpa_attention_f32(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                                        const float *query, const float *key, const float *value,
                                        float *output, float *weights);
SDPA_API sdpa_status sdpa_attention_f64(int64_t n_q, int64_t n_k, int64_t d_k, int64_t d_v,
                                        const double *query, const double *key, const double *value,
                                        double *output, double *weights);

/* ---- PLAN: CHECK AND CHOOSE ONCE, EXECUTE OFTEN ------------------------------------------ */

/* A checked problem with everything chosen that does not depend on the data. It is immutable: any
 * number of threads may execute one plan at once, each with its own args and workspace.
 *
 *     sdpa_plan *plan;
 *     size_t bytes, alignment;
 *     if (sdpa_plan_create(&problem, NULL, &plan) != SDPA_OK) ...
 *     sdpa_plan_workspace(plan, &bytes, &alignment);
 *     size_t whole = (bytes + alignment - 1) / alignment * alignment;
 *     void *workspace = aligned_alloc(alignment, whole);
 *     for each input: sdpa_execute(plan, &args, workspace, bytes);
 *     free(workspace);
 *     sdpa_plan_destroy(plan);
 */
typedef struct sdpa_plan sdpa_plan;

/* Checks `problem` and `options` (NULL: defaults) and sets *plan to a new plan, which the caller
 * destroys. Neither struct is needed afterwards. On an error *plan is NULL, if plan is not.
 * SDPA_ERROR_NULL (problem or plan; one of alloc and release); SDPA_ERROR_STRUCT_SIZE;
 * SDPA_ERROR_VALUE; SDPA_ERROR_SHAPE; SDPA_ERROR_STRIDE (an output's stride 0; lse.col not 0);
 * SDPA_ERROR_OVERFLOW; SDPA_ERROR_UNSUPPORTED; SDPA_ERROR_MEMORY. */
SDPA_API sdpa_status sdpa_plan_create(const sdpa_problem *problem, const sdpa_options *options,
                                      sdpa_plan **plan);

/* Frees the plan, with its allocator. NULL is fine. Threads: a plan is destroyed once, by one
 * thread, while no other uses it. */
SDPA_API void sdpa_plan_destroy(sdpa_plan *plan);

/* What sdpa_execute() needs as workspace: *bytes (may be 0) at a multiple of *alignment, a power
 * of two. Does not depend on the args. Engine tiled needs some tiles for each thread, whatever
 * query_len and key_len are (with few queries and long keys, the parts of the keys besides); engine
 * blas a block of rows of scores, which grows with key_len. SDPA_ERROR_NULL (any of the three). */
SDPA_API sdpa_status sdpa_plan_workspace(const sdpa_plan *plan, size_t *bytes, size_t *alignment);

/* Runs the plan on `args`. With a workspace of at least the plan's bytes and its alignment the
 * library allocates nothing (a BLAS may keep buffers of its own); its contents before and after
 * mean nothing. NULL: allocated for this call by the plan's allocator (bytes is then ignored).
 * SDPA_ERROR_NULL (plan, args, a required or declared pointer); SDPA_ERROR_STRUCT_SIZE;
 * SDPA_ERROR_UNDECLARED; SDPA_ERROR_VALUE (a length out of range, a slope that is not finite,
 * a dropout_... number, reserved0); SDPA_ERROR_ALIGNMENT; SDPA_ERROR_WORKSPACE; SDPA_ERROR_MEMORY;
 * SDPA_ERROR_CALLBACK; SDPA_ERROR_UNSUPPORTED (a plan of sdpa_plan_create_backward()). */
SDPA_API sdpa_status sdpa_execute(const sdpa_plan *plan, const sdpa_args *args, void *workspace,
                                  size_t bytes);

/* What a plan will run, for programs. */
typedef struct sdpa_plan_info {
  uint32_t size;      /* set by the caller: sizeof(sdpa_plan_info) */
  uint32_t engine;    /* the SDPA_ENGINE_... chosen, never AUTO */
  uint32_t isa;       /* the SDPA_ISA_... chosen, never AUTO */
  uint32_t precision; /* the SDPA_PRECISION_... that the results have */
  int32_t threads;    /* most tasks at once; 1 for engine blas */
  int32_t key_splits; /* parts a row's keys are cut into; depends on the problem only */
  int64_t flops;      /* of the two products: 2 * pairs * (key_dim + value_dim), without value_dim
                         where there is no output; backward of five products, 2 * pairs *
                         (3 * key_dim + 2 * value_dim). pairs: what causal and window leave of
                         batch * query_heads * query_len * key_len; lengths, mask, bias and offsets
                         per batch entry, which only the args tell, exclude none. INT64_MAX where
                         it is larger */
  int64_t bytes;      /* every element of every tensor that is read or written, once: whole
                         shapes, also with lengths; a dimension along which an input has stride 0
                         counts as 1; backward with all gradients and dlse. INT64_MAX likewise */
} sdpa_plan_info;

/* Fills *info with what the plan will run. This struct goes the other way than those that begin
 * with a size and are read: the caller sets info->size (init the rest with zeros) and the library
 * writes the smaller of that and its own size, keeping info->size.
 * SDPA_ERROR_NULL; SDPA_ERROR_STRUCT_SIZE (size below 0.1's; nothing written). */
SDPA_API sdpa_status sdpa_plan_query(const sdpa_plan *plan, sdpa_plan_info *info);

/* Writes for people what the plan will run, one line without a newline; its wording may change.
 * As with snprintf() at most text_bytes are written, the terminating zero included; text may be
 * NULL if text_bytes is 0. A NULL plan gives an empty text. Returns the text's full length without
 * its zero. */
SDPA_API size_t sdpa_plan_describe(const sdpa_plan *plan, char *text, size_t text_bytes);

/* ---- EXPLANATIONS ------------------------------------------------------------------------ */

/* The checks of sdpa_plan_create() and of sdpa_execute() with the same status, nothing executed,
 * and a sentence about the first fault found: which field, its value, what was expected, such as
 * "window_left is -2; expected -1 (unbounded) or a number from 0". Empty for SDPA_OK. The text
 * is cut to text_bytes and always terminated; text may be NULL, and text_bytes 0: then there is
 * only the status. The wording may change; do not parse it. For sdpa_args_check(), workspace and
 * bytes are as for sdpa_execute(). Statuses: those of sdpa_plan_create() and sdpa_execute(). */
SDPA_API sdpa_status sdpa_problem_check(const sdpa_problem *problem, const sdpa_options *options,
                                        char *text, size_t text_bytes);
SDPA_API sdpa_status sdpa_args_check(const sdpa_plan *plan, const sdpa_args *args,
                                     const void *workspace, size_t bytes, char *text,
                                     size_t text_bytes);

/* ---- PARTIAL RESULTS --------------------------------------------------------------------- */

/* Joins attention over disjoint sets of keys. (output, lse) <- the result over its keys and those
 * of (part_output, part_lse), all four with the shapes, types and strides of `problem`, which
 * declares SDPA_LSE. The output's type is the compute type: parts in 16 bits would be rounded at
 * every join. With m the larger of the two log-sum-exps and w = exp(lse - m): output = sum w
 * output / sum w, lse = m + log(sum w) (Milakov and Gimelshein, 2018). A part whose lse is -inf has
 * no keys and contributes nothing, whatever its output holds; if both are, output is 0 and lse
 * -inf. NaN stays NaN. Any cut of the keys gives the whole to the error bound; the last bits depend
 * on the cut and the order.
 *
 * A sink belongs to exactly one part. Parts of a causal, windowed or ALiBi problem use
 * SDPA_ALIGN_OFFSET, so that p counts from each part's own first key. `options` may be NULL; of it
 * threads and parallel_for count. output and part_output must not overlap, nor lse and part_lse.
 * Allocates nothing. Statuses: those of sdpa_plan_create() about the problem and options;
 * SDPA_ERROR_VALUE (SDPA_LSE is not declared, or SDPA_NO_OUTPUT is); SDPA_ERROR_UNSUPPORTED (an
 * output in 16 bits); SDPA_ERROR_NULL (a tensor that is not empty); SDPA_ERROR_ALIGNMENT (a
 * tensor); SDPA_ERROR_CALLBACK. Since 0.2. */
SDPA_API sdpa_status sdpa_merge(const sdpa_problem *problem, const sdpa_options *options,
                                void *output, void *lse, const void *part_output,
                                const void *part_lse);

/* ---- BACKWARD: GRADIENTS ----------------------------------------------------------------- */

/* The gradients of a number that depends on attention's output and log-sum-exp, by the inputs of
 * attention: from dO, what came back for the output, and perhaps dlse. The forward pass ran on the
 * same problem with SDPA_LSE and kept output and lse; the weights are computed again from them, a
 * block at a time, so nothing of the size of query_len * key_len is held (Dao, "FlashAttention-2",
 * 2023). With p_ij the weights before dropout, z_ij as under DROPOUT, s the score before softcap:
 *
 *     dP_ij    = z_ij * (dO_i . v_j)
 *     dS_ij    = p_ij * (dP_ij - dO_i . O_i + dlse_i)
 *     dU_ij    = dS_ij * (1 - tanh^2(s_ij / softcap))
 *     dQ_i     = scale * sum_j dU_ij k_j
 *     dK_j     = scale * sum_i dU_ij q_i
 *     dV_j     = sum_i z_ij p_ij dO_i
 *     dbias    = dS
 *     dslope_h = -sum_ij dS_ij |p - j|
 *     dsink_h  = sum_i exp(sink_h - lse_i) * (dlse_i - dO_i . O_i)
 *
 * Without softcap dU is dS. dK and dV are summed over the query heads of the group, too, dslope and
 * dsink over the batch, dbias over each dimension along which the bias has stride 0.
 *
 * A gradient that is asked for is overwritten whole: exactly 0 at keys that no row allows, in
 * padding, and in rows without an allowed key, whose dlse counts nothing. K and V at keys from L_k
 * on, and Q, dO, output and lse in rows from L_q on, are not read. What an excluded pair holds
 * changes nothing; a NaN at an allowed one makes NaN of what the formulas let it reach: the dQ of
 * its row, the dK and dV of the keys that row allows, and the sums they belong to. dK and dV of a K
 * or V that repeats by stride 0 are written for every head and row, not summed. dbias has no
 * element, and is not written, where there are no batch entries, heads, rows or keys, even if the
 * bias repeats along those.
 *
 * dO_i . O_i stands for sum_j p_ij dP_ij, which it equals but for O's rounding. Where the output
 * has 16 bits, engine tiled forms that sum itself; engine blas takes the rounded O.
 *
 * Every sum has one order, by the problem alone: on engine tiled the number of threads changes no
 * bit of any gradient, on engine blas that holds for a fixed number of BLAS threads.
 *
 *     sdpa_plan *plan;
 *     status = sdpa_plan_create_backward(&problem, NULL, &plan);
 *     if (status != SDPA_OK) ...
 *     args.output = NULL, args.lse = NULL;
 *     sdpa_grads g;
 *     sdpa_grads_init(&g, sizeof g);
 *     g.output = out, g.lse = lse, g.grad_output = d_out;
 *     g.grad_query = d_q, g.grad_key = d_k, g.grad_value = d_v;
 *     status = sdpa_backward(plan, &args, &g, NULL, 0);
 *
 * In sdpa_grads NULL means not given, or not wanted. Since 0.4. */
typedef struct sdpa_grads {
  uint32_t size;               /* see STRUCTS WITH A SIZE; first size: that of 0.4 */
  uint32_t reserved0;          /* 0 */
  const void *output;          /* of the forward pass, with problem.output's strides */
  const void *lse;             /* of the forward pass, with problem.lse's strides; compute type */
  const void *grad_output;     /* dO, output_type; problem.grad_output's strides */
  const void *grad_lse;        /* dlse, compute type, problem.lse's strides; NULL: 0 */
  void *grad_query;            /* an output as all below, each of its input's type */
  void *grad_key, *grad_value; /* likewise */
  void *grad_bias;             /* only with SDPA_BIAS. In the shape of the bias: its stride along a
                               dimension in which the bias has stride 0 is not used */
  void *grad_sinks;            /* only with SDPA_SINKS: [query_heads], contiguous, compute type */
  void *grad_alibi_slopes;     /* only with SDPA_ALIBI: likewise */
} sdpa_grads;

/* As sdpa_problem_init(). Since 0.4. */
SDPA_API sdpa_status sdpa_grads_init(sdpa_grads *grads, size_t size);

/* As sdpa_plan_create(), but for sdpa_backward(); the plan is one for sdpa_plan_workspace(),
 * sdpa_plan_query(), sdpa_plan_describe() and sdpa_plan_destroy(). The same problem may serve both
 * passes: its SDPA_WEIGHTS, SDPA_LSE, SDPA_SCORES and SDPA_NO_OUTPUT are ignored here. The strides
 * of output, lse, grad_output, grad_query, grad_key, grad_value and, with SDPA_BIAS, grad_bias are
 * needed, also for a gradient that is not going to be asked for; those of the outputs among them
 * must not be 0 along a dimension longer than 1. The workspace is enough for all gradients. Engine
 * blas needs rows of scores twice, K, V and their gradients of one head in the compute type, and,
 * for a 16-bit bias that repeats over batch entries, heads or rows, its gradient in f32. Statuses:
 * those of sdpa_plan_create(). Since 0.4. */
SDPA_API sdpa_status sdpa_plan_create_backward(const sdpa_problem *problem,
                                               const sdpa_options *options, sdpa_plan **plan);

/* Runs a plan of sdpa_plan_create_backward(). args are those of the forward pass, with its dropout
 * numbers, but args.output, weights, scores and lse must be NULL. Workspace and bytes are as for
 * sdpa_execute(). Gradients must not overlap each other or anything that is read; query, key,
 * value, output and so on may overlap each other. On an argument error nothing has been written.
 *
 * SDPA_ERROR_NULL (plan, args, grads; output, lse or grad_output, unless empty; an input of args);
 * SDPA_ERROR_UNSUPPORTED (a plan of sdpa_plan_create(), as sdpa_execute() has it for one of this
 * kind); SDPA_ERROR_UNDECLARED (an output in args; a gradient of an input that the problem does not
 * declare); SDPA_ERROR_STRUCT_SIZE; SDPA_ERROR_VALUE; SDPA_ERROR_ALIGNMENT; SDPA_ERROR_WORKSPACE;
 * SDPA_ERROR_MEMORY; SDPA_ERROR_CALLBACK. Since 0.4. */
SDPA_API sdpa_status sdpa_backward(const sdpa_plan *plan, const sdpa_args *args,
                                   const sdpa_grads *grads, void *workspace, size_t bytes);

/* The checks of sdpa_plan_create_backward() and of sdpa_backward() with the same status, nothing
 * executed, and a sentence, as sdpa_problem_check() and sdpa_args_check() have it. Statuses: those
 * of sdpa_plan_create_backward() and sdpa_backward(). Since 0.4. */
SDPA_API sdpa_status sdpa_problem_check_backward(const sdpa_problem *problem,
                                                 const sdpa_options *options, char *text,
                                                 size_t text_bytes);
SDPA_API sdpa_status sdpa_backward_check(const sdpa_plan *plan, const sdpa_args *args,
                                         const sdpa_grads *grads, const void *workspace,
                                         size_t bytes, char *text, size_t text_bytes);

/* ---- SOFTMAX TOOLS ----------------------------------------------------------------------- */

/* Row-major matrices; ld is the distance from one row to the next in elements. It is at least
 * the number of columns, except that one of an input may also be 0: the same row for all; with no
 * or one row it is not used. Nothing allocates.
 *
 * SDPA_ERROR_SHAPE (a negative size); SDPA_ERROR_NULL (a matrix that is not empty);
 * SDPA_ERROR_STRIDE (an ld that is too small); SDPA_ERROR_ALIGNMENT (a matrix);
 * SDPA_ERROR_OVERFLOW. */

/* weights[r][c] = exp(scale * scores[r][c]) / sum of the same over the allowed columns of row r,
 * computed stably. mask: a byte per score, non-zero allows it; NULL allows all (mask_ld is then
 * not used). A column that is not allowed has weight 0 and is not read into the result; a row
 * without an allowed column is 0; NaN and infinity are as in attention. weights may be scores if
 * the lds are equal. SDPA_ERROR_VALUE (scale is not finite). */
SDPA_API sdpa_status sdpa_softmax_f32(int64_t rows, int64_t cols, float scale, const float *scores,
                                      int64_t scores_ld, const uint8_t *mask, int64_t mask_ld,
                                      float *weights, int64_t weights_ld);
SDPA_API sdpa_status sdpa_softmax_f64(int64_t rows, int64_t cols, double scale,
                                      const double *scores, int64_t scores_ld, const uint8_t *mask,
                                      int64_t mask_ld, double *weights, int64_t weights_ld);

/* The derivative of a softmax by its scores (scale 1), from its weights: jacobian[i][j] =
 * weights[i] * ((i = j) - weights[j]), an n by n matrix; all 0 for a row of zeros. */
SDPA_API sdpa_status sdpa_softmax_jacobian_f32(int64_t n, const float *weights, float *jacobian,
                                               int64_t ld);
SDPA_API sdpa_status sdpa_softmax_jacobian_f64(int64_t n, const double *weights, double *jacobian,
                                               int64_t ld);

/* That Jacobian times a gradient, row by row, without forming it: out[r][c] = weights[r][c] *
 * (grad[r][c] - sum over k of weights[r][k] * grad[r][k]). Where a weight is 0, out is exactly 0
 * and grad is not read into the result. out may be grad or weights if the lds are equal. */
SDPA_API sdpa_status sdpa_softmax_backward_f32(int64_t rows, int64_t cols, const float *weights,
                                               int64_t weights_ld, const float *grad,
                                               int64_t grad_ld, float *out, int64_t out_ld);
SDPA_API sdpa_status sdpa_softmax_backward_f64(int64_t rows, int64_t cols, const double *weights,
                                               int64_t weights_ld, const double *grad,
                                               int64_t grad_ld, double *out, int64_t out_ld);

/* ---- WHAT RUNS HERE ---------------------------------------------------------------------- */

/* Returns SDPA_VERSION of the library that is loaded: major * 10000 + minor * 100 + patch. */
SDPA_API int32_t sdpa_version(void);

/* Returns the version of the library that is loaded as static text, such as "0.4.0". */
SDPA_API const char *sdpa_version_string(void);

/* Writes a text for bug reports: version, the ISAs that run here, the BLAS and its number of
 * threads, environment variables that are set but ignored. Its wording may change. As with
 * snprintf() at most text_bytes are written, the terminating zero included; text may be NULL if
 * text_bytes is 0. Returns the text's full length without its zero. */
SDPA_API size_t sdpa_build_info(char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif
#endif /* SDPA_SDPA_H */
