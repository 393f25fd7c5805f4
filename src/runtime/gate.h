/* gate.h - threads pass into a section of foreign code, and no fork() happens while one is in it
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * For callees that do not bear it: fork() waits until those inside have left, and lets nobody in
 * meanwhile, so that neither the callee's own fork handlers nor the child meet it at work. The gate
 * is closed while those prepare handlers of fork() run that were registered before this library was
 * loaded, its callee's among them. Not for code that calls back, and no fork() in a signal handler
 * that interrupts a thread inside.
 *
 * Where the system has no memory to register fork handlers, forks are not held back. There a thread
 * that enters alone still does so alone; a child forked meanwhile would wait for it in vain.
 */
#ifndef SDPAI_GATE_H
#define SDPAI_GATE_H

/* The handlers are registered once more, by the next that enters: for a callee that may have
 * registered its own after this library's were, at load time too. Handlers that others have
 * registered in between then run between two of this library, so they must not wait for a thread
 * that wants to be inside. */
void sdpai_gate_register_again(void);

/* Waits for its turn; with `alone` until nobody is inside. All callers say the same for `alone`.
 * The result is for sdpai_gate_leave(). */
int sdpai_gate_enter(int alone);
void sdpai_gate_leave(int entered);

#endif
