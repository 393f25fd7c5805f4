/* svg_file.c - a gnuplot script, a child process, and a rename when all went well
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * gnuplot reads the script from a temporary file on its standard input and writes the SVG to its
 * standard output, which is a new file beside the wanted one. So no path is ever quoted in a
 * script, no pipe can break, and a failure at any point leaves nothing behind.
 */
#define _GNU_SOURCE

#include "svg_file.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ; /* NOLINT(readability-redundant-declaration): POSIX has it in no header */

/* Of all charts: a picture that looks the same whatever the user's settings are. */
static const char terminal[] =
    "set terminal svg size 700,360 noenhanced font 'sans-serif,12' background '#ffffff'\n";

static int fail(const char *path, const char *reason) {
  fprintf(stderr, "sdpa-lesson: %s: %s\n", path, reason);
  return -1;
}

/* gnuplot with the two descriptors as standard input and output. */
static int run_gnuplot(int script, int chart, const char *path) {
  static char name[] = "gnuplot", no_settings_files[] = "-d";
  char *arguments[] = {name, no_settings_files, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status;
  int error = posix_spawn_file_actions_init(&actions);
  if (error != 0) return fail(path, strerror(error));
  error = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, chart, STDOUT_FILENO);
  if (error == 0) error = posix_spawnp(&child, name, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    return fail(path, "gnuplot draws the chart and was not found (Debian: gnuplot-nox)");
  if (error != 0) return fail(path, strerror(error));
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(path, strerror(errno));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail(path, "gnuplot failed");
  return 0;
}

/* Draws into the open file `chart`, which becomes as readable as any new file of the user. */
static int draw_into(int chart, const struct svg_chart *what, const char *path) {
  struct stat state;
  mode_t hidden = umask(0);
  umask(hidden);
  FILE *script = tmpfile();
  if (script == NULL) return fail(path, "no temporary file for the script");
  fputs(terminal, script);
  what->write_script(what->data, script);
  int result = 0;
  if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0)
    result = fail(path, "the script cannot be written to a temporary file");
  if (result == 0) result = run_gnuplot(fileno(script), chart, path);
  fclose(script);
  if (result == 0 && fstat(chart, &state) == 0 && state.st_size == 0)
    result = fail(path, "gnuplot wrote nothing");
  if (result == 0 && fchmod(chart, 0666 & ~hidden) != 0) result = fail(path, strerror(errno));
  return result;
}

/* The file that path names, through symbolic links, so that the rename does not replace a link. */
static char *resolve(const char *path) {
  struct stat state;
  if (stat(path, &state) != 0) return strdup(path);
  if (S_ISREG(state.st_mode)) return realpath(path, NULL);
  errno = S_ISDIR(state.st_mode) ? EISDIR : EINVAL;
  return NULL;
}

int svg_file_draw(const struct svg_chart *what, const char *path) {
  char *temporary = NULL;
  char *target = resolve(path);
  if (target == NULL) return fail(path, strerror(errno));
  int result = -1;
  if (asprintf(&temporary, "%s.XXXXXX", target) < 0) {
    temporary = NULL;
    fail(path, strerror(ENOMEM));
  } else {
    int chart = mkostemp(temporary, O_CLOEXEC);
    if (chart < 0) {
      fail(path, strerror(errno));
    } else {
      result = draw_into(chart, what, path);
      if (close(chart) != 0 && result == 0) result = fail(path, strerror(errno));
      if (result == 0 && rename(temporary, target) != 0) result = fail(path, strerror(errno));
      if (result != 0) unlink(temporary);
    }
  }
  free(temporary);
  free(target);
  return result;
}
