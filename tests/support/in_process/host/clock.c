// SPDX-License-Identifier: GPL-2.0-or-later
//
// A clock that stands still until a test moves it, and decay cycles on demand.
//
// The executable's definitions of time(), gettimeofday(), clock_gettime(), pthread_cond_timedwait() and syscall()
// come before libc's for the plugin and for libslurmfull alike. The last two are there because a priority plugin's
// decay thread sleeps in one of them (pthread condition in C, futex in Rust): under a fixed clock that sleep has no
// end of its own, and cycle_trigger() makes it end as if the period had passed.
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "host.h"

#define NS 1000000000LL

static volatile int64_t fixed_seconds = -1;
/* What triggered cycles have added to the monotonic clock, so that a deadline that was triggered has passed. */
static volatile int64_t monotonic_offset;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	cycle_t state;
	bool triggered;
	pthread_cond_t *condition;
	int *futex;
} decay = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Processor time that this thread had used when it last woke. */
static __thread uint64_t cpu_at_wake;

static int (*libc_clock_gettime)(clockid_t, struct timespec *);
static int (*libc_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static long (*libc_syscall)(long, ...);

static void resolve(void)
{
	/* A lookup without version may find the condition variables of glibc 2.2. */
	void *timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");

	libc_timedwait = timedwait ? timedwait : dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	libc_syscall = dlsym(RTLD_NEXT, "syscall");
	libc_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
}

static int64_t libc_now(clockid_t id)
{
	struct timespec now;

	if (!libc_clock_gettime)
		resolve();
	libc_clock_gettime(id, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / NS, .tv_nsec = ns % NS };
}

uint64_t real_ns(void)
{
	return libc_now(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
	return libc_now(CLOCK_THREAD_CPUTIME_ID);
}

void clock_fix(time_t seconds)
{
	fixed_seconds = seconds;
}

void clock_release(void)
{
	fixed_seconds = -1;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
	if (!libc_clock_gettime)
		resolve();
	if ((id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && fixed_seconds >= 0) {
		*now = (struct timespec){ .tv_sec = fixed_seconds };
		return 0;
	}
	if (id == CLOCK_MONOTONIC && monotonic_offset) {
		*now = to_timespec(libc_now(id) + monotonic_offset);
		return 0;
	}
	return libc_clock_gettime(id, now);
}

time_t time(time_t *result)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (result)
		*result = now.tv_sec;
	return now.tv_sec;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone)
{
	struct timespec now;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*result = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}

static bool is_decay_thread(void)
{
	char name[17] = "";

	prctl(PR_GET_NAME, name);
	return !strcmp(name, "decay");
}

static void begin_wait(pthread_cond_t *condition, int *futex)
{
	pthread_mutex_lock(&decay.lock);
	decay.state.cpu_ns = thread_cpu_ns() - cpu_at_wake;
	decay.state.completed++;
	decay.state.waiting = true;
	decay.condition = condition;
	decay.futex = futex;
	pthread_cond_broadcast(&decay.changed);
	pthread_mutex_unlock(&decay.lock);
}

static bool end_wait(void)
{
	bool triggered;

	pthread_mutex_lock(&decay.lock);
	triggered = decay.triggered;
	decay.triggered = false;
	decay.state.waiting = false;
	cpu_at_wake = thread_cpu_ns();
	pthread_cond_broadcast(&decay.changed);
	pthread_mutex_unlock(&decay.lock);
	return triggered;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	struct timespec now, real;
	int64_t left;
	bool mine = is_decay_thread();
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	left = (until->tv_sec - now.tv_sec) * NS + until->tv_nsec - now.tv_nsec;
	real = to_timespec(libc_now(CLOCK_REALTIME) + (left > 0 ? left : 0));
	if (!mine)
		return libc_timedwait(condition, mutex, &real);
	begin_wait(condition, NULL);
	if (fixed_seconds >= 0)
		rc = pthread_cond_wait(condition, mutex);
	else
		rc = libc_timedwait(condition, mutex, &real);
	return end_wait() ? ETIMEDOUT : rc;
}

/* A futex wait with a timeout; `command` without its flags. */
static long futex_wait(long *a, int command)
{
	const struct timespec *timeout = (const struct timespec *) a[3];
	int64_t wanted = timeout->tv_sec * NS + timeout->tv_nsec;
	bool absolute = command == FUTEX_WAIT_BITSET;
	bool mine = is_decay_thread();
	struct timespec shifted;
	long rc;

	if (absolute) {
		shifted = to_timespec(wanted - monotonic_offset);
		a[3] = (long) &shifted;
	}
	if (!mine)
		return libc_syscall(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (fixed_seconds >= 0)
		a[3] = 0;
	begin_wait(NULL, (int *) a[0]);
	rc = libc_syscall(SYS_futex, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!end_wait())
		return rc;
	if (!absolute)
		monotonic_offset += wanted;
	else if (wanted > libc_now(CLOCK_MONOTONIC) + monotonic_offset)
		monotonic_offset = wanted - libc_now(CLOCK_MONOTONIC) + 1;
	errno = ETIMEDOUT;
	return -1;
}

/* Reads six arguments, whatever the caller passed: AddressSanitizer must not look. */
__attribute__((no_sanitize_address)) long syscall(long which, ...)
{
	va_list arguments;
	long a[6];
	int command;

	va_start(arguments, which);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (!libc_syscall)
		resolve();
	command = (int) a[1] & FUTEX_CMD_MASK;
	if (which == SYS_futex && a[3] && !(a[1] & FUTEX_CLOCK_REALTIME) &&
	    (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET))
		return futex_wait(a, command);
	return libc_syscall(which, a[0], a[1], a[2], a[3], a[4], a[5]);
}

cycle_t cycle_state(void)
{
	cycle_t state;

	pthread_mutex_lock(&decay.lock);
	state = decay.state;
	pthread_mutex_unlock(&decay.lock);
	return state;
}

static void pause_until_changed(int64_t ns)
{
	struct timespec until = to_timespec(libc_now(CLOCK_REALTIME) + ns);

	libc_timedwait(&decay.changed, &decay.lock, &until);
}

int cycle_wait(unsigned seen, unsigned timeout_seconds)
{
	uint64_t end = real_ns() + timeout_seconds * NS;
	bool done;

	pthread_mutex_lock(&decay.lock);
	while (!(done = decay.state.completed != seen && decay.state.waiting) && real_ns() < end)
		pause_until_changed(NS / 10);
	pthread_mutex_unlock(&decay.lock);
	return done ? 0 :
		fail("the thread 'decay' has not come to its timed wait within %u s", timeout_seconds);
}

int cycle_trigger(unsigned timeout_seconds, unsigned *completed)
{
	uint64_t end = real_ns() + timeout_seconds * NS;
	bool taken;

	if (cycle_wait(cycle_state().completed - 1, timeout_seconds))
		return -1;
	pthread_mutex_lock(&decay.lock);
	*completed = decay.state.completed;
	decay.triggered = true;
	/* The thread may not sleep yet: wake it until it says that it has seen the trigger. */
	while (decay.triggered && real_ns() < end) {
		if (decay.condition)
			pthread_cond_broadcast(decay.condition);
		else
			libc_syscall(SYS_futex, decay.futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		pause_until_changed(NS / 1000);
	}
	taken = !decay.triggered;
	pthread_mutex_unlock(&decay.lock);
	return taken ? 0 : fail("the thread 'decay' cannot be woken");
}
