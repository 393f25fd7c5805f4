/* consumer_cxx.cpp - a C++ program that uses the library; nothing is included before its header
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The header stands twice: its guard is part of the test. Output and exit codes as consumer.c.
 */
#include <sdpa/sdpa.h>
#include <sdpa/sdpa.h>

#include <cmath>
#include <iostream>
#include <vector>

int main() {
  const std::vector<float> query = {1.0986123F}, key = {1, 0}, value = {4, 8};
  std::vector<float> output(1), weights(2);
  const sdpa_status status = sdpa_attention_f32(1, 2, 1, 1, query.data(), key.data(), value.data(),
                                                output.data(), weights.data());
  if (status != SDPA_OK) {
    std::cerr << sdpa_status_string(status) << '\n';
    return 2;
  }
  if (!(std::fabs(output[0] - 5) < 1e-5F) || !(std::fabs(weights[0] - 0.75F) < 1e-6F)) return 1;
  if (sdpa_version() != SDPA_VERSION) return 3;
  std::cout << sdpa_version_string() << " ok\n";
  return 0;
}
