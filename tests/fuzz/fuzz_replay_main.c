/* fuzz_replay_main.c - runs a fuzz harness on files, for compilers without libFuzzer
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arguments: files, and folders whose files are run in the order of their names. Each input gets a
 * block of its very size, so that a sanitizer sees a read past its end. Exit code 0, or 2 where an
 * argument cannot be read or nothing was run; a harness that finds something ends the process
 * itself.
 */
#define _POSIX_C_SOURCE 200809L
#include "fuzz_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static long inputs;

static int fail(const char *path, const char *what) {
  fprintf(stderr, "fuzz_replay: %s: %s\n", path, what);
  return 2;
}

static int replay_file(const char *path, size_t bytes) {
  FILE *file = fopen(path, "rb");
  if (!file) return fail(path, "cannot be opened");
  uint8_t *data = fuzz_block(bytes);
  const size_t got = fread(data, 1, bytes, file);
  fclose(file);
  if (got != bytes) {
    free(data);
    return fail(path, "cannot be read");
  }
  /* What runs when the process dies is the last line on the screen. */
  printf("%s\n", path);
  fflush(stdout);
  LLVMFuzzerTestOneInput(data, bytes);
  free(data);
  inputs++;
  return 0;
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static int replay(const char *path);

static int replay_folder(const char *path) {
  struct dirent **entries;
  const int count = scandir(path, &entries, is_visible, alphasort);
  int status = count < 0 ? fail(path, "cannot be listed") : 0;
  for (int i = 0; i < count; i++) {
    const size_t bytes = strlen(path) + strlen(entries[i]->d_name) + 2;
    char *inside = fuzz_block(bytes);
    snprintf(inside, bytes, "%s/%s", path, entries[i]->d_name);
    if (status == 0) status = replay(inside);
    free(inside);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  return status;
}

static int replay(const char *path) {
  struct stat about;
  if (stat(path, &about) != 0) return fail(path, "is not there");
  return S_ISDIR(about.st_mode) ? replay_folder(path) : replay_file(path, (size_t)about.st_size);
}

int main(int argc, char **argv) {
  int status = 0;
  for (int i = 1; i < argc && status == 0; i++) status = replay(argv[i]);
  if (status == 0 && inputs == 0) status = fail("the arguments", "no inputs among them");
  if (status == 0) printf("%ld inputs\n", inputs);
  return status;
}
