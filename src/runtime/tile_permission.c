/* tile_permission.c - the permission to use tiles, from Linux
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tile data is 8 KiB of state a thread, so Linux gives it to processes that ask (since 5.16;
 * Documentation/arch/x86/xstate.rst in its sources). It refuses where a thread's alternative signal
 * stack could not hold the larger frame. A kernel without the request does not know it: then there
 * are no tiles either.
 */
#define _GNU_SOURCE /* syscall */
#include "runtime/tile_permission.h"

#include <errno.h>
#include <pthread.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

static int ask_system(void) {
  const int saved = errno;
  const int granted = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
  errno = saved;
  return granted;
}
#else
static int ask_system(void) {
  return 0;
}
#endif

static int permitted;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ask_once(void) {
  permitted = ask_system();
}

int sdpai_tiles_permitted(void) {
  pthread_once(&once, ask_once);
  return permitted;
}
