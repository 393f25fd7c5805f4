/* problem_string.c - parser of problem strings
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * One pass over the words; layouts become strides only after the last word, when all sizes are
 * known. The first error wins and ends the parse.
 */
#include "problem_string.h"
#include "problem_scan.h"

#include <math.h>
#include <string.h>

/* What a tensor's `@` word, or `layout=`, said. */
struct placement {
  const char *where; /* the word, NULL: none */
  char order[5];     /* empty: explicit strides */
  int64_t gap;
  sdpa_strides strides;
};

struct parser {
  struct scan scan;
  struct problem_spec *spec;
  uint32_t seen;          /* bits of enum slot */
  const char *positional; /* first word for which the alignment matters */
  const char *heads;      /* the h word */
  char layout[5];
  struct placement placement[PROBLEM_TENSORS_END];
};

/* What may be said only once. */
enum slot {
  SLOT_BATCH,
  SLOT_HEADS,
  SLOT_QUERIES,
  SLOT_KEYS,
  SLOT_DIMS,
  SLOT_CAUSAL,
  SLOT_ALIGN,
  SLOT_WINDOW,
  SLOT_SOFTCAP,
  SLOT_SCALE,
  SLOT_DROPOUT,
  SLOT_LENS,
  SLOT_QLENS,
  SLOT_SCORES,
  SLOT_LAYOUT,
  SLOT_PRECISION,
  SLOT_BACKWARD,
  SLOT_SEED,
  SLOT_FLAGS /* and one for each plain flag from here on */
};

static void claim(struct parser *p, int slot, const char *what) {
  if (p->seen >> slot & 1) scan_fail(&p->scan, p->scan.word, "%s is given twice", what);
  p->seen |= UINT32_C(1) << slot;
}

static uint32_t take_type(struct parser *p) {
  if (scan_take(&p->scan, "f32")) return SDPA_F32;
  if (scan_take(&p->scan, "f64")) return SDPA_F64;
  if (scan_take(&p->scan, "bf16")) return SDPA_BF16;
  if (scan_take(&p->scan, "f16")) return SDPA_F16;
  scan_fail(&p->scan, p->scan.at, "a type is expected: f32, f64, bf16 or f16");
  return 0;
}

static void set_type(struct parser *p, uint32_t *field) {
  const char *begin = p->scan.at;
  if (*field) scan_fail(&p->scan, begin, "this tensor's type is given twice");
  *field = take_type(p);
}

static void parse_types(struct parser *p) {
  sdpa_problem *problem = &p->spec->problem;
  if (!scan_take(&p->scan, "q=")) {
    problem->query_type = take_type(p);
    return;
  }
  set_type(p, &problem->query_type);
  while (!p->scan.failed && scan_take(&p->scan, ",")) {
    if (scan_take(&p->scan, "kv=")) {
      const char *begin = p->scan.at;
      set_type(p, &problem->key_type);
      p->scan.at = begin;
      set_type(p, &problem->value_type);
    } else if (scan_take(&p->scan, "k=")) {
      set_type(p, &problem->key_type);
    } else if (scan_take(&p->scan, "v=")) {
      set_type(p, &problem->value_type);
    } else if (scan_take(&p->scan, "o=")) {
      set_type(p, &problem->output_type);
    } else if (scan_take(&p->scan, "bias=")) {
      set_type(p, &problem->bias_type);
    } else {
      scan_fail(&p->scan, p->scan.at, "k=, v=, kv=, o= or bias= is expected");
    }
  }
}

/* b, h, q, k and d words. Returns 0 if this is none of them. */
static int parse_size(struct parser *p) {
  sdpa_problem *problem = &p->spec->problem;
  if (p->scan.end - p->scan.word < 2 || !scan_is_digit(p->scan.word[1])) return 0;
  p->scan.at = p->scan.word + 1;
  switch (p->scan.word[0]) {
  case 'b':
    claim(p, SLOT_BATCH, "the batch size");
    problem->batch = scan_integer(&p->scan, 0, "the batch size");
    return 1;
  case 'h':
    claim(p, SLOT_HEADS, "the number of heads");
    p->heads = p->scan.word;
    problem->query_heads = problem->kv_heads =
        scan_integer(&p->scan, 0, "the number of query heads");
    if (scan_take(&p->scan, "/"))
      problem->kv_heads = scan_integer(&p->scan, 0, "the number of key heads");
    return 1;
  case 'q':
    claim(p, SLOT_QUERIES, "the number of queries");
    problem->query_len = scan_integer(&p->scan, 0, "the number of queries");
    return 1;
  case 'k':
    claim(p, SLOT_KEYS, "the number of keys");
    problem->key_len = scan_integer(&p->scan, 0, "the number of keys");
    return 1;
  case 'd':
    claim(p, SLOT_DIMS, "the head size");
    problem->key_dim = problem->value_dim = scan_integer(&p->scan, 0, "the key size");
    if (scan_take(&p->scan, "/")) problem->value_dim = scan_integer(&p->scan, 0, "the value size");
    return 1;
  default:
    return 0;
  }
}

static int parse_flag(struct parser *p) {
  static const struct {
    const char *name;
    uint32_t feature;
  } flags[] = {{"mask", SDPA_MASK},          {"bias", SDPA_BIAS},       {"alibi", SDPA_ALIBI},
               {"sink", SDPA_SINKS},         {"weights", SDPA_WEIGHTS}, {"lse", SDPA_LSE},
               {"no-output", SDPA_NO_OUTPUT}};
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    if (!scan_word_is(&p->scan, flags[i].name)) continue;
    claim(p, SLOT_FLAGS + (int)i, flags[i].name);
    p->spec->problem.features |= flags[i].feature;
    if (flags[i].feature == SDPA_ALIBI && !p->positional) p->positional = p->scan.word;
    p->scan.at = p->scan.end;
    return 1;
  }
  return 0;
}

/* -tl, -br, -at=... of `causal` and `align`. */
static void parse_alignment(struct parser *p) {
  sdpa_problem *problem = &p->spec->problem;
  claim(p, SLOT_ALIGN, "the alignment");
  if (scan_take(&p->scan, "-tl")) {
    problem->alignment = SDPA_ALIGN_TOP_LEFT;
  } else if (scan_take(&p->scan, "-br")) {
    problem->alignment = SDPA_ALIGN_BOTTOM_RIGHT;
  } else if (scan_take(&p->scan, "-at=")) {
    problem->alignment = SDPA_ALIGN_OFFSET;
    if (scan_take(&p->scan, "[")) {
      problem->features |= SDPA_OFFSETS;
      scan_list(&p->scan, &p->spec->offsets, INT64_MIN, "the offsets");
    } else if (scan_take(&p->scan, "random")) {
      problem->features |= SDPA_OFFSETS;
    } else {
      problem->offset = scan_integer(&p->scan, INT64_MIN, "the offset");
    }
  } else {
    scan_fail(&p->scan, p->scan.at, "-tl, -br or -at= is expected");
  }
}

static void parse_lengths(struct parser *p, uint32_t feature, struct problem_list *list) {
  p->spec->problem.features |= feature;
  if (p->scan.at == p->scan.end) return;
  if (!scan_take(&p->scan, "=[")) {
    scan_fail(&p->scan, p->scan.at, "'=[' is expected before the lengths");
    return;
  }
  scan_list(&p->scan, list, 0, "a length");
}

static int parse_where(struct parser *p) {
  sdpa_problem *problem = &p->spec->problem;
  p->scan.at = p->scan.word;
  if (scan_take(&p->scan, "causal")) {
    claim(p, SLOT_CAUSAL, "causal");
    problem->features |= SDPA_CAUSAL;
    if (p->scan.at != p->scan.end) parse_alignment(p);
    if (!p->positional) p->positional = p->scan.word;
  } else if (scan_take(&p->scan, "align")) {
    parse_alignment(p);
  } else if (scan_take(&p->scan, "win=")) {
    claim(p, SLOT_WINDOW, "win");
    problem->features |= SDPA_WINDOW;
    problem->window_left = scan_integer(&p->scan, -1, "the left window");
    scan_comma(&p->scan, "win=");
    problem->window_right = scan_integer(&p->scan, -1, "the right window");
    if (!p->positional) p->positional = p->scan.word;
  } else if (scan_take(&p->scan, "lens")) {
    claim(p, SLOT_LENS, "lens");
    parse_lengths(p, SDPA_KEY_LENS, &p->spec->key_lens);
  } else if (scan_take(&p->scan, "qlens")) {
    claim(p, SLOT_QLENS, "qlens");
    parse_lengths(p, SDPA_QUERY_LENS, &p->spec->query_lens);
  } else {
    return 0;
  }
  return 1;
}

static int parse_placement(struct parser *p) {
  for (enum problem_tensor t = 0; t < PROBLEM_TENSORS_END; t = problem_next_tensor(t)) {
    struct placement *placement = &p->placement[t];
    p->scan.at = p->scan.word;
    if (!scan_take(&p->scan, problem_tensor_name(t)) || !scan_take(&p->scan, "@")) continue;
    if (placement->where)
      scan_fail(&p->scan, p->scan.word, "the strides of this tensor are given twice");
    placement->where = p->scan.word;
    if (scan_is_digit(*p->scan.at) || *p->scan.at == '-') {
      placement->strides.batch = scan_integer(&p->scan, INT64_MIN, "a stride");
      scan_comma(&p->scan, "the strides");
      placement->strides.head = scan_integer(&p->scan, INT64_MIN, "a stride");
      scan_comma(&p->scan, "the strides");
      placement->strides.row = scan_integer(&p->scan, INT64_MIN, "a stride");
      scan_comma(&p->scan, "the strides");
      placement->strides.col = scan_integer(&p->scan, INT64_MIN, "a stride");
    } else {
      scan_order(&p->scan, placement->order, t == PROBLEM_LSE ? "bhs" : "bhsd", 0);
      if (scan_take(&p->scan, "+")) placement->gap = scan_integer(&p->scan, 0, "the gap");
    }
    return 1;
  }
  return 0;
}

static int parse_number(struct parser *p) {
  sdpa_problem *problem = &p->spec->problem;
  p->scan.at = p->scan.word;
  if (scan_take(&p->scan, "softcap=")) {
    claim(p, SLOT_SOFTCAP, "softcap");
    problem->softcap = scan_real(&p->scan, 0.0, "softcap") + 0.0; /* -0 becomes 0 */
  } else if (scan_take(&p->scan, "scale=")) {
    claim(p, SLOT_SCALE, "scale");
    problem->features |= SDPA_SCALE;
    problem->scale = scan_real(&p->scan, -HUGE_VAL, "scale");
  } else if (scan_take(&p->scan, "dropout=")) {
    const char *begin = p->scan.at;
    claim(p, SLOT_DROPOUT, "dropout");
    problem->features |= SDPA_DROPOUT;
    problem->dropout = scan_real(&p->scan, 0.0, "dropout") + 0.0;
    if (problem->dropout >= 1.0) scan_fail(&p->scan, begin, "dropout below 1 is expected");
  } else if (scan_take(&p->scan, "scores=")) {
    const char *begin = p->scan.at;
    int64_t rule = scan_integer(&p->scan, 0, "the rule of the scores");
    claim(p, SLOT_SCORES, "scores");
    problem->features |= SDPA_SCORES;
    problem->score_stage = rule == 1   ? SDPA_STAGE_SCALED
                           : rule == 2 ? SDPA_STAGE_SOFTCAPPED
                                       : SDPA_STAGE_BIASED;
    if (rule != 1 && rule != 2 && rule != 4)
      scan_fail(&p->scan, begin, "scores are those after rule 1, 2 or 4");
  } else if (scan_take(&p->scan, "seed=")) {
    claim(p, SLOT_SEED, "seed");
    p->spec->seed = scan_unsigned(&p->scan, "the seed");
  } else {
    return 0;
  }
  return 1;
}

static int parse_manner(struct parser *p) {
  p->scan.at = p->scan.word;
  if (scan_take(&p->scan, "layout=")) {
    claim(p, SLOT_LAYOUT, "layout");
    scan_order(&p->scan, p->layout, "bhsd", 1);
  } else if (scan_take(&p->scan, "precision=")) {
    claim(p, SLOT_PRECISION, "precision");
    if (scan_take(&p->scan, "full"))
      p->spec->precision = SDPA_PRECISION_FULL;
    else if (scan_take(&p->scan, "fma"))
      p->spec->precision = SDPA_PRECISION_FMA;
    else if (scan_take(&p->scan, "reduced"))
      p->spec->precision = SDPA_PRECISION_REDUCED;
    else
      scan_fail(&p->scan, p->scan.at, "full, fma or reduced is expected");
  } else if (scan_word_is(&p->scan, "bwd")) {
    claim(p, SLOT_BACKWARD, "bwd");
    p->spec->backward = 1;
    p->spec->problem.features |= SDPA_LSE;
    p->scan.at = p->scan.end;
  } else {
    return 0;
  }
  return 1;
}

static void parse_word(struct parser *p) {
  if (parse_size(p) || parse_flag(p) || parse_where(p) || parse_placement(p) || parse_number(p) ||
      parse_manner(p)) {
    if (p->scan.at != p->scan.end)
      scan_fail(&p->scan, p->scan.at, "nothing more is expected in this word");
    return;
  }
  scan_fail(&p->scan, p->scan.word, "the word '%.*s' is not known",
            (int)(p->scan.end - p->scan.word > 40 ? 40 : p->scan.end - p->scan.word), p->scan.word);
}

static void check_list(struct parser *p, const struct problem_list *list, int64_t most,
                       const char *what) {
  if (!list->given) return;
  if (list->count != p->spec->problem.batch)
    scan_fail(&p->scan, p->scan.text, "%s are %d for a batch of %lld", what, (int)list->count,
              (long long)p->spec->problem.batch);
  for (int i = 0; i < list->count; i++) {
    if (list->item[i] > most)
      scan_fail(&p->scan, p->scan.text, "%s hold %lld, at most %lld is expected", what,
                (long long)list->item[i], (long long)most);
  }
}

/* What needs all the words: sizes that are missing or do not fit together. */
static void check_whole(struct parser *p) {
  const sdpa_problem *problem = &p->spec->problem;
  const uint32_t sizes = 1u << SLOT_QUERIES | 1u << SLOT_KEYS | 1u << SLOT_DIMS;
  if ((p->seen & sizes) != sizes)
    scan_fail(&p->scan, p->scan.end, "the words q, k and d for the sizes are expected");
  if (problem->kv_heads ? problem->query_heads % problem->kv_heads : problem->query_heads)
    scan_fail(&p->scan, p->heads, "%lld key heads do not divide %lld query heads",
              (long long)problem->kv_heads, (long long)problem->query_heads);
  if (p->positional && problem->alignment == SDPA_ALIGN_NONE &&
      (problem->query_len != problem->key_len ||
       problem->features & (SDPA_KEY_LENS | SDPA_QUERY_LENS)))
    scan_fail(&p->scan, p->positional,
              "-tl, -br or -at= (or an align word) is expected: the lengths differ");
  if (p->spec->backward && problem->features & SDPA_NO_OUTPUT)
    scan_fail(&p->scan, p->scan.text, "bwd and no-output exclude each other");
  check_list(p, &p->spec->key_lens, problem->key_len, "the key lengths");
  check_list(p, &p->spec->query_lens, problem->query_len, "the query lengths");
  check_list(p, &p->spec->offsets, INT64_MAX, "the offsets");
}

static void place_tensors(struct parser *p) {
  for (enum problem_tensor tensor = 0; tensor < PROBLEM_TENSORS_END;
       tensor = problem_next_tensor(tensor)) {
    struct placement *placement = &p->placement[tensor];
    sdpa_strides strides = placement->strides;
    if (!problem_spec_places(p->spec, tensor)) {
      if (placement->where)
        scan_fail(&p->scan, placement->where,
                  "strides for a tensor that the problem does not have");
      continue;
    }
    if (!placement->where) {
      strides = problem_default_strides(&p->spec->problem, tensor, p->layout);
    } else if (placement->order[0]) {
      int64_t shape[4];
      problem_shape(&p->spec->problem, tensor, shape);
      strides = problem_order_strides(shape, placement->order, placement->gap);
    }
    problem_set_strides(&p->spec->problem, tensor, strides);
  }
  if (problem_spec_places(p->spec, PROBLEM_GRAD_BIAS)) /* nothing is said where it is summed */
    problem_set_strides(&p->spec->problem, PROBLEM_GRAD_BIAS,
                        problem_get_strides(&p->spec->problem, PROBLEM_GRAD_BIAS));
}

int problem_parse(const char *text, struct problem_spec *spec, char *message,
                  size_t message_bytes) {
  struct parser parser = {
      .scan = {.text = text, .message = message, .message_bytes = message_bytes},
      .spec = spec,
      .layout = "bhsd"};
  const char *next = text;
  if (message_bytes > 0) message[0] = '\0';
  memset(spec, 0, sizeof *spec);
  spec->problem.size = sizeof spec->problem;
  spec->problem.batch = spec->problem.query_heads = spec->problem.kv_heads = 1;
  do {
    parser.scan.word = parser.scan.at = next;
    parser.scan.end = next + strcspn(next, ":");
    if (next == text) {
      parse_types(&parser);
      if (parser.scan.at != parser.scan.end)
        scan_fail(&parser.scan, parser.scan.at, "nothing more is expected in the types");
    } else {
      parse_word(&parser);
    }
    next = parser.scan.end + 1;
  } while (!parser.scan.failed && *parser.scan.end);
  check_whole(&parser);
  place_tensors(&parser);
  return parser.scan.failed ? -1 : 0;
}
