/* raw_plan.c - checks, plans and execution with raw structs
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Any problem is checked and planned. One that may be run gets memory of its own, and raw
 * arguments: wrong sizes and numbers, pointers that are NULL, not aligned, moved within their
 * memory, or not declared, lengths of any value.
 */
#include "raw_calls.h"

#include <stdlib.h>
#include <string.h>

#include "failing_alloc.h"
#include "problem_data.h"
#include "raw_loops.h"
#include "raw_struct.h"

enum { MOST_ROOM = 300, MOST_WORKSPACE = 1 << 26, MARGIN_BYTES = 8, BEHIND = 0x5A };

struct raw_run {
  struct fuzz_bytes *in;
  int backward;
  size_t room; /* for texts */
  struct problem_spec spec;
  struct failing_alloc alloc;
  struct raw_loop loop;
  sdpa_plan *plan;
  struct problem_data data;
  int moved; /* a tensor lies elsewhere in its block than its data */
  size_t workspace_bytes;
  void *workspace;
  unsigned char *owned; /* the block that it is in, or NULL */
};

static void raw_options(struct raw_run *run, sdpa_options *options) {
  memset(options, 0, sizeof *options);
  options->size = sizeof *options;
  options->engine = fuzz_below(run->in, 3);
  options->threads = (int32_t)fuzz_below(run->in, 5);
  raw_edit(run->in, options, sizeof *options);
  raw_loop_install(&run->loop, run->in, options);
  options->alloc = NULL, options->release = NULL, options->alloc_ctx = NULL;
  const uint32_t kind = fuzz_below(run->in, 4);
  if (kind == 0) return;
  failing_alloc_install(&run->alloc, options);
  if (kind == 1) run->alloc.fail_at = fuzz_below(run->in, 4);
  if (kind == 2 && fuzz_below(run->in, 8) == 0) options->release = NULL;
}

static sdpa_status check_problem(const struct raw_run *run, const sdpa_problem *problem,
                                 const sdpa_options *options) {
  char *text = fuzz_block(run->room);
  const sdpa_status status = run->backward
                                 ? sdpa_problem_check_backward(problem, options, text, run->room)
                                 : sdpa_problem_check(problem, options, text, run->room);
  fuzz_check_text(status, text, run->room);
  const sdpa_status mute = run->backward ? sdpa_problem_check_backward(problem, options, NULL, 0)
                                         : sdpa_problem_check(problem, options, NULL, 0);
  fuzz_require(mute == status, "status %d with a text, %d without", (int)status, (int)mute);
  free(text);
  return status;
}

static int alloc_failed(const struct raw_run *run) {
  return run->alloc.fail_at > 0 && run->alloc.calls >= run->alloc.fail_at;
}

/* Makes the plan, if the checks allow it; the structs are gone afterwards. */
static void create(struct raw_run *run) {
  struct raw_struct problem, options;
  sdpa_options o;
  raw_problem(run->in, run->backward || fuzz_below(run->in, 4) == 1, &run->spec.problem);
  raw_make(&problem, run->in, &run->spec.problem, sizeof run->spec.problem);
  raw_options(run, &o);
  raw_make(&options, run->in, &o, sizeof o);
  const int defaults = fuzz_below(run->in, 8) == 1;
  const sdpa_problem *p = (const sdpa_problem *)(const void *)problem.bytes;
  const sdpa_options *used = defaults ? NULL : (const sdpa_options *)(const void *)options.bytes;
  const sdpa_status checked = check_problem(run, p, used);
  run->plan = (sdpa_plan *)(void *)run;
  const sdpa_status made = run->backward ? sdpa_plan_create_backward(p, used, &run->plan)
                                         : sdpa_plan_create(p, used, &run->plan);
  fuzz_known_status(made);
  if (made != SDPA_ERROR_MEMORY || !alloc_failed(run))
    fuzz_require(made == checked, "checked %d, created %d", (int)checked, (int)made);
  fuzz_require((made == SDPA_OK) == (run->plan != NULL), "status %d, plan %p", (int)made,
               (void *)run->plan);
  raw_unchanged(&problem, "the problem");
  raw_unchanged(&options, "the options");
  if (problem.count < sizeof *p) /* fields that a short struct does not have are 0 */
    memset((char *)&run->spec.problem + problem.count, 0, sizeof *p - problem.count);
  raw_free(&problem);
  raw_free(&options);
}

static void check_info(const struct raw_run *run) {
  const size_t size = fuzz_below(run->in, 4) ? sizeof(sdpa_plan_info) : fuzz_take(run->in, 2) % 256;
  const size_t count = size < sizeof(uint32_t) ? sizeof(uint32_t) : size;
  const uint32_t told = (uint32_t)size;
  unsigned char *block = fuzz_block(count), *before = fuzz_block(count);
  memset(block, 0xEE, count);
  memcpy(block, &told, sizeof told);
  memcpy(before, block, count);
  const sdpa_status status = sdpa_plan_query(run->plan, (sdpa_plan_info *)(void *)block);
  const size_t written = status == SDPA_OK ? sizeof(sdpa_plan_info) : 0;
  fuzz_require(status == SDPA_OK ? size >= sizeof(sdpa_plan_info)
                                 : status == SDPA_ERROR_STRUCT_SIZE,
               "info of %zu bytes: status %d", size, (int)status);
  fuzz_require(written > count || memcmp(block + written, before + written, count - written) == 0,
               "info of %zu bytes is written behind its end", size);
  if (status == SDPA_OK) {
    sdpa_plan_info info;
    memcpy(&info, block, sizeof info);
    fuzz_require(info.size == told &&
                     (info.engine == SDPA_ENGINE_BLAS || info.engine == SDPA_ENGINE_TILED),
                 "info: size %u, engine %u", (unsigned)info.size, (unsigned)info.engine);
    fuzz_require(info.isa != SDPA_ISA_AUTO && info.precision <= SDPA_PRECISION_REDUCED &&
                     info.threads >= 1 && info.threads <= 256 && info.key_splits >= 1 &&
                     info.flops >= 0 && info.bytes >= 0,
                 "info: isa %u, threads %d, splits %d, flops %lld, bytes %lld", (unsigned)info.isa,
                 (int)info.threads, (int)info.key_splits, (long long)info.flops,
                 (long long)info.bytes);
  }
  free(block);
  free(before);
}

static void check_description(const struct raw_run *run) {
  const size_t length = sdpa_plan_describe(run->plan, NULL, 0);
  char *whole = fuzz_block(length + 1), *cut = fuzz_block(run->room);
  fuzz_require(sdpa_plan_describe(run->plan, whole, length + 1) == length &&
                   strlen(whole) == length && length > 0 && !strchr(whole, '\n'),
               "%zu bytes: %s", length, whole);
  fuzz_require(sdpa_plan_describe(run->plan, cut, run->room) == length &&
                   (run->room == 0 ||
                    (memchr(cut, 0, run->room) && strncmp(cut, whole, run->room - 1) == 0)),
               "cut to %zu bytes: %s", run->room, whole);
  free(whole);
  free(cut);
}

/* A workspace of exactly what the plan asks for, or one that it must refuse, or none. */
static void make_workspace(struct raw_run *run) {
  size_t alignment;
  fuzz_require(sdpa_plan_workspace(run->plan, &run->workspace_bytes, &alignment) == SDPA_OK &&
                   alignment > 0 && (alignment & (alignment - 1)) == 0,
               "no workspace size");
  const uint32_t kind = fuzz_below(run->in, 8);
  if (kind < 3 || run->workspace_bytes > MOST_WORKSPACE) return;
  const size_t bytes = run->workspace_bytes;
  run->owned = aligned_alloc(alignment, (bytes + 2 * alignment) / alignment * alignment);
  fuzz_require(run->owned != NULL, "no memory for a workspace");
  memset(run->owned, 0xFF, bytes);
  memset(run->owned + bytes, BEHIND, alignment); /* nobody's */
  run->workspace = run->owned + (kind == 4 ? alignment / 2 : 0);
  if (kind == 3 && bytes > 0) run->workspace_bytes--;
}

static void check_workspace(const struct raw_run *run) {
  size_t bytes, alignment;
  sdpa_plan_workspace(run->plan, &bytes, &alignment);
  for (size_t i = 0; run->owned && i < alignment; i++)
    fuzz_require(run->owned[bytes + i] == BEHIND, "byte %zu behind the workspace is written", i);
}

/* Lengths, offsets and slopes of any value; not where what the old lengths leave out is guarded. */
static void edit_arrays(struct raw_run *run) {
  if (!run->data.block[PROBLEM_QUERY].owned) return;
  for (uint32_t n = fuzz_below(run->in, 4); n > 0; n--) {
    const struct memory_block *block =
        &run->data.block[BLOCK_SLOPES + (int)fuzz_below(run->in, BLOCK_OFFSETS - BLOCK_SLOPES + 1)];
    const int64_t value = raw_number(run->in);
    if (!block->bytes) continue;
    const size_t room = (size_t)(block->begin + block->bytes - block->origin);
    if (room < sizeof value) continue;
    memcpy(block->origin + fuzz_below(run->in, 4) * 4 % (room - sizeof value + 1) / 4 * 4, &value,
           sizeof value);
  }
}

/* Of the `count` pointers in `object` from `first` on: NULL, moved, or given where none is due. */
static void edit_pointers(struct raw_run *run, void *object, size_t first, uint32_t count) {
  static _Alignas(64) unsigned char spare[256];
  for (uint32_t n = fuzz_below(run->in, 4) / 2; n > 0; n--) {
    unsigned char *at =
        (unsigned char *)object + first + sizeof(void *) * fuzz_below(run->in, count);
    const uint32_t kind = fuzz_below(run->in, 4);
    unsigned char *pointer;
    memcpy(&pointer, at, sizeof pointer);
    if (kind == 0) {
      pointer = NULL;
    } else if (!pointer) {
      pointer = spare;
    } else if (run->data.block[PROBLEM_QUERY].owned) {
      pointer += kind == 1 ? 1 : kind == 2 ? 4 : MARGIN_BYTES;
      run->moved = 1;
    }
    memcpy(at, &pointer, sizeof pointer);
  }
}

/* Numbers of the arguments beside pointers and size. */
static void edit_args(struct raw_run *run, sdpa_args *args) {
  int64_t *const bases[] = {&args->dropout_batch, &args->dropout_head, &args->dropout_query,
                            &args->dropout_key};
  const uint32_t kind = fuzz_below(run->in, 16);
  if (kind < 4) *bases[kind] = raw_number(run->in);
  if (kind == 4) args->dropout_seed = fuzz_take(run->in, 8);
  if (kind == 5) args->reserved0 = (uint32_t)fuzz_take(run->in, 4);
  if (kind == 6) args->size = (uint32_t)fuzz_take(run->in, 2);
  edit_pointers(run, args, offsetof(sdpa_args, query), 14);
}

static sdpa_status check_call(const struct raw_run *run, const sdpa_args *args,
                              const sdpa_grads *grads) {
  char *text = fuzz_block(run->room);
  const sdpa_status status =
      run->backward
          ? sdpa_backward_check(run->plan, args, grads, run->workspace, run->workspace_bytes, text,
                                run->room)
          : sdpa_args_check(run->plan, args, run->workspace, run->workspace_bytes, text, run->room);
  fuzz_check_text(status, text, run->room);
  /* A plan of one kind is not for the other kind of call. */
  const sdpa_status other = run->backward
                                ? sdpa_execute(run->plan, args, run->workspace, 0)
                                : sdpa_backward(run->plan, args, grads, run->workspace, 0);
  fuzz_require(other == SDPA_ERROR_UNSUPPORTED, "the other pass: status %d", (int)other);
  free(text);
  return status;
}

static void call(struct raw_run *run, const sdpa_args *args, const sdpa_grads *grads) {
  const sdpa_status checked = check_call(run, args, grads);
  const sdpa_status status =
      run->backward ? sdpa_backward(run->plan, args, grads, run->workspace, run->workspace_bytes)
                    : sdpa_execute(run->plan, args, run->workspace, run->workspace_bytes);
  fuzz_known_status(status);
  if (checked == SDPA_OK && status == SDPA_ERROR_MEMORY)
    fuzz_require(alloc_failed(run), "no memory, but none was refused");
  else if (checked == SDPA_OK && status == SDPA_ERROR_CALLBACK)
    fuzz_require(raw_loop_is_wrong(&run->loop), "a right loop is called a wrong one");
  else
    fuzz_require(status == checked, "checked %d, executed %d", (int)checked, (int)status);
  const int writes = status == SDPA_OK || status == SDPA_ERROR_CALLBACK;
  char message[PROBLEM_MESSAGE_MAX];
  if (run->data.problem.size > 0 && !(writes && run->moved))
    fuzz_require(problem_data_untouched(&run->data, !writes, message, sizeof message) == 0,
                 "status %d: %s", (int)status, message);
  check_workspace(run);
}

/* Memory for a problem that may be run. The outputs of the forward pass are inputs of the backward
 * one, whether its problem declares them or not. */
static void make_data(struct raw_run *run) {
  static const enum problem_placement placements[4] = {PLACE_PLAIN, PLACE_SKEWED, PLACE_GUARD_END,
                                                       PLACE_GUARD_BEGIN};
  const struct problem_data_options how = {.placement = placements[fuzz_below(run->in, 4)],
                                           .output_fill = 0xC3};
  struct problem_spec spec = run->spec;
  char message[PROBLEM_MESSAGE_MAX];
  spec.backward = (uint32_t)run->backward;
  spec.seed = fuzz_take(run->in, 1);
  if (run->backward) {
    spec.problem.features |= SDPA_LSE;
    spec.problem.features &= ~(uint32_t)(SDPA_NO_OUTPUT | SDPA_WEIGHTS | SDPA_SCORES);
  }
  fuzz_require(problem_data_make(&run->data, &spec, &how, message, sizeof message) == 0, "%s",
               message);
  edit_arrays(run);
  fuzz_require(problem_data_snapshot(&run->data) == 0, "no memory for a snapshot");
}

static void execute(struct raw_run *run) {
  struct raw_struct args, grads;
  sdpa_args a = {.size = sizeof a};
  sdpa_grads g = {.size = sizeof g};
  if (fuzz_is_small(&run->spec.problem, run->backward)) {
    make_data(run);
    a = run->backward ? problem_data_backward_args(&run->data) : run->data.args;
    if (run->backward) g = run->data.grads;
    edit_args(run, &a);
    edit_pointers(run, &g, offsetof(sdpa_grads, output), 10);
    if (fuzz_below(run->in, 16) == 1) g.size = (uint32_t)fuzz_take(run->in, 2);
    if (fuzz_below(run->in, 16) == 1) g.reserved0 = 1;
  }
  make_workspace(run);
  raw_make(&args, run->in, &a, sizeof a);
  raw_make(&grads, run->in, &g, sizeof g);
  call(run, (const sdpa_args *)(const void *)args.bytes,
       (const sdpa_grads *)(const void *)grads.bytes);
  raw_unchanged(&args, "the args");
  raw_unchanged(&grads, "the grads");
  raw_free(&args);
  raw_free(&grads);
}

void raw_plan(struct fuzz_bytes *in) {
  static struct raw_run run;
  memset(&run, 0, sizeof run);
  run.in = in;
  run.backward = (int)fuzz_below(in, 2);
  run.room = (size_t)fuzz_take(in, 2) % MOST_ROOM;
  create(&run);
  if (run.plan) {
    check_info(&run);
    check_description(&run);
    execute(&run);
  }
  sdpa_plan_destroy(run.plan);
  fuzz_require(run.alloc.live == 0 && run.alloc.bad_free == 0 && run.alloc.bad_size == 0,
               "%lld blocks left, %lld released wrongly, %lld asked for wrongly",
               (long long)run.alloc.live, (long long)run.alloc.bad_free,
               (long long)run.alloc.bad_size);
  free(run.owned);
  problem_data_free(&run.data);
}
