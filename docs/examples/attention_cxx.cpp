/* attention_cxx.cpp - the library from C++: a plan with an owner, executed on vectors
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The header is C with C++ linkage guards; it needs no wrapper. What C++ adds is ownership: a plan
 * in a std::unique_ptr is destroyed with its scope, and a status becomes an exception with the
 * library's own sentence about the fault.
 */
#include <sdpa/sdpa.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

struct plan_deleter {
  void operator()(sdpa_plan *plan) const { sdpa_plan_destroy(plan); }
};
using plan_ptr = std::unique_ptr<sdpa_plan, plan_deleter>;

void check(sdpa_status status) {
  if (status != SDPA_OK) throw std::runtime_error(sdpa_status_string(status));
}

/* The plan, or an exception that names the wrong field and its value. */
plan_ptr make_plan(const sdpa_problem &problem) {
  sdpa_plan *plan = nullptr;
  if (sdpa_plan_create(&problem, nullptr, &plan) != SDPA_OK) {
    char sentence[256];
    sdpa_problem_check(&problem, nullptr, sentence, sizeof sentence);
    throw std::invalid_argument(sentence);
  }
  return plan_ptr(plan);
}

/* A sliding window of the last 4 tokens, as in models with local attention. */
sdpa_problem window_problem(std::int64_t tokens, std::int64_t dim) {
  sdpa_problem p;
  check(sdpa_problem_init(&p, sizeof p));
  p.query_type = SDPA_F64;
  p.batch = p.query_heads = p.kv_heads = 1;
  p.query_len = p.key_len = tokens;
  p.key_dim = p.value_dim = dim;
  p.features = SDPA_CAUSAL | SDPA_WINDOW | SDPA_LSE;
  p.window_left = 3;
  p.window_right = -1; /* causal already ends it */
  p.alignment = SDPA_ALIGN_TOP_LEFT;
  check(sdpa_problem_layout(&p, SDPA_LAYOUT_BHSD));
  return p;
}

using matrix = std::vector<double>;

double score(const matrix &query, const matrix &key, std::size_t i, std::size_t j,
             std::size_t dim) {
  double sum = 0;
  for (std::size_t d = 0; d < dim; d++) sum += query[i * dim + d] * key[j * dim + d];
  return sum / std::sqrt(static_cast<double>(dim));
}

/* Largest difference of output and log-sum-exp from the formula. */
double largest_error(const matrix &query, const matrix &key, const matrix &value,
                     const matrix &output, const matrix &lse, std::size_t dim) {
  double largest = 0;
  auto compare = [&largest](double actual, double expected) {
    const double error = std::fabs(actual - expected);
    if (!(error <= largest)) largest = error; // NaN counts, too
  };
  for (std::size_t i = 0; i < lse.size(); i++) {
    const std::size_t first = i < 3 ? 0 : i - 3;
    double sum = 0;
    for (std::size_t j = first; j <= i; j++) sum += std::exp(score(query, key, i, j, dim));
    compare(lse[i], std::log(sum));
    for (std::size_t d = 0; d < dim; d++) {
      double out = 0;
      for (std::size_t j = first; j <= i; j++)
        out += std::exp(score(query, key, i, j, dim)) / sum * value[j * dim + d];
      compare(output[i * dim + d], out);
    }
  }
  return largest;
}

matrix draw(std::mt19937_64 &generator, std::size_t n) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  matrix numbers(n);
  std::generate(numbers.begin(), numbers.end(), [&] { return uniform(generator); });
  return numbers;
}

double run() {
  const std::size_t tokens = 20, dim = 8;
  std::mt19937_64 generator(42);
  const matrix query = draw(generator, tokens * dim), key = draw(generator, tokens * dim);
  const matrix value = draw(generator, tokens * dim);
  matrix output(tokens * dim), lse(tokens);

  const plan_ptr plan = make_plan(window_problem(tokens, dim));
  sdpa_args args;
  check(sdpa_args_init(&args, sizeof args));
  args.query = query.data();
  args.key = key.data();
  args.value = value.data();
  args.output = output.data();
  args.lse = lse.data();
  check(sdpa_execute(plan.get(), &args, nullptr, 0));

  char description[256];
  sdpa_plan_describe(plan.get(), description, sizeof description);
  std::printf("C++: %zu tokens, each attends itself and 3 before it\n", tokens);
  std::printf("plan: %s\n", description);
  return largest_error(query, key, value, output, lse, dim);
}

/* What a fault looks like; returns whether it was found. */
bool show_fault() {
  sdpa_problem p = window_problem(20, 8);
  p.window_left = -2;
  try {
    make_plan(p);
  } catch (const std::invalid_argument &fault) {
    std::printf("a wrong problem is refused: %s\n", fault.what());
    return true;
  }
  return false;
}

} // namespace

int main() {
  try {
    const double error = run();
    const bool refused = show_fault();
    std::printf("largest difference from the plain loop: %.1e\n", error);
    return error <= 1e-6 && refused ? 0 : 1;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
