// SPDX-License-Identifier: GPL-2.0-or-later
//
// slurmctld's locks, and a check of the rules that every caller must keep. The association manager's own locks are
// watched too: this file's assoc_mgr_lock() comes before the one of libslurmfull and calls it.
//
// Rules: slurmctld's locks before the association manager's before the state files'; nothing twice by one thread;
// released exactly as taken. A violation ends the program with a line that starts with "LOCK VIOLATION".
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host.h"

#define CTLD 5
#define ASSOC 7

static const char *const ctld_names[CTLD] = { "conf", "job", "node", "part", "fed" };
static const char *const assoc_names[ASSOC] = { "assoc", "file", "qos", "res", "tres", "user", "wckey" };

static pthread_rwlock_t ctld[CTLD] = { [0 ... CTLD - 1] = PTHREAD_RWLOCK_INITIALIZER };
static pthread_mutex_t state_files = PTHREAD_MUTEX_INITIALIZER;

/* What the calling thread holds, and since when. */
static __thread struct {
	lock_level_t ctld[CTLD];
	lock_level_t assoc[ASSOC];
	bool state_files;
	uint64_t ctld_since, assoc_since;
} mine;

static int holders;
/* Whether the association manager's locks are watched; a measurement does without. */
static bool checking = true;

/* How often and how long each lock was held, by the decay thread (1) and by all others (0). */
typedef struct {
	uint64_t count, total_ns, longest_ns;
} statistic_t;
static statistic_t ctld_statistics[2][CTLD][3], assoc_statistics[2][ASSOC][3];
static pthread_mutex_t statistics_lock = PTHREAD_MUTEX_INITIALIZER;

/* Asked at every release, so the answer is kept once it cannot change. */
static bool in_decay_thread(void)
{
	static __thread bool known, decay;
	char name[17] = "";

	if (!known) {
		prctl(PR_GET_NAME, name);
		decay = !strcmp(name, "decay");
		known = decay || getpid() == gettid();
	}
	return decay;
}

static void describe(FILE *out)
{
	static const char *const levels[] = { "", "read", "write" };

	for (int i = 0; i < CTLD; i++)
		if (mine.ctld[i])
			fprintf(out, " %s:%s", ctld_names[i], levels[mine.ctld[i]]);
	for (int i = 0; i < ASSOC; i++)
		if (mine.assoc[i])
			fprintf(out, " assoc_mgr.%s:%s", assoc_names[i], levels[mine.assoc[i]]);
	if (mine.state_files)
		fputs(" state_files", out);
}

static void __attribute__((noreturn, format(printf, 1, 2))) violation(const char *format, ...)
{
	va_list arguments;
	char name[17] = "";

	prctl(PR_GET_NAME, name);
	fputs("LOCK VIOLATION: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "; thread '%s' holds:", name);
	describe(stderr);
	fputc('\n', stderr);
	fflush(stderr);
	abort();
}

static lock_level_t highest(const lock_level_t *levels, int count)
{
	lock_level_t found = NO_LOCK;

	for (int i = 0; i < count; i++)
		if (levels[i] > found)
			found = levels[i];
	return found;
}

static bool any(const lock_level_t *levels, int count)
{
	return highest(levels, count) != NO_LOCK;
}

static void account(statistic_t (*statistics)[3], const lock_level_t *levels, int count, uint64_t since)
{
	uint64_t held = real_ns() - since;

	pthread_mutex_lock(&statistics_lock);
	for (int i = 0; i < count; i++) {
		statistic_t *s = &statistics[i][levels[i]];
		if (!levels[i])
			continue;
		s->count++;
		s->total_ns += held;
		if (held > s->longest_ns)
			s->longest_ns = held;
	}
	pthread_mutex_unlock(&statistics_lock);
}

static void to_array(const slurmctld_lock_t *levels, lock_level_t *array)
{
	memcpy(array, levels, sizeof(lock_level_t) * CTLD);
}

/*
 * Where a cycle is to stop for what a test does meanwhile: before the decay thread takes a lock while it holds none or, with
 * `inside`, also while it holds others; with `after` also when it has let go of one.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned countdown;
	bool stopped;
	/* Also where it holds other locks; also when it has let go of one. */
	bool inside, after;
} stop = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void stop_here(bool after)
{
	bool inside = any(mine.ctld, CTLD) || any(mine.assoc, ASSOC) || mine.state_files;

	if (!in_decay_thread())
		return;
	pthread_mutex_lock(&stop.lock);
	if ((!inside || stop.inside) && (!after || stop.after) && stop.countdown && !--stop.countdown)
		stop.stopped = true;
	while (stop.stopped)
		pthread_cond_wait(&stop.changed, &stop.lock);
	pthread_mutex_unlock(&stop.lock);
}

/* stop at=3 inside=0 after=0: the next cycle stops before its third lock. stop seen=…: waits until it does, or ends. stop: it goes on. */
int command_stop(request_t *request)
{
	unsigned seen = number(request, "seen", 0);
	bool stopped = false;

	if (argument(request, "seen")) {
		while (!stopped && cycle_state().completed == seen) {
			usleep(500);
			pthread_mutex_lock(&stop.lock);
			stopped = stop.stopped;
			pthread_mutex_unlock(&stop.lock);
		}
		say("stop reached=%d", stopped);
		return 0;
	}
	pthread_mutex_lock(&stop.lock);
	stop.countdown = number(request, "at", 0);
	stop.inside = number(request, "inside", 0);
	stop.after = number(request, "after", 0);
	stop.stopped = false;
	pthread_cond_broadcast(&stop.changed);
	pthread_mutex_unlock(&stop.lock);
	return 0;
}

void lock_slurmctld(slurmctld_lock_t levels)
{
	lock_level_t wanted[CTLD];

	to_array(&levels, wanted);
	if (any(mine.assoc, ASSOC))
		violation("lock_slurmctld after assoc_mgr_lock");
	if (mine.state_files)
		violation("lock_slurmctld after lock_state_files");
	if (any(mine.ctld, CTLD))
		violation("lock_slurmctld twice");
	stop_here(false);
	for (int i = 0; i < CTLD; i++) {
		if (wanted[i] < NO_LOCK || wanted[i] > WRITE_LOCK)
			violation("lock_slurmctld with level %d for %s", wanted[i], ctld_names[i]);
		if (wanted[i] == READ_LOCK)
			pthread_rwlock_rdlock(&ctld[i]);
		else if (wanted[i] == WRITE_LOCK)
			pthread_rwlock_wrlock(&ctld[i]);
	}
	memcpy(mine.ctld, wanted, sizeof(wanted));
	mine.ctld_since = real_ns();
	__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void unlock_slurmctld(slurmctld_lock_t levels)
{
	lock_level_t given[CTLD];

	to_array(&levels, given);
	if (any(mine.assoc, ASSOC))
		violation("unlock_slurmctld before assoc_mgr_unlock");
	if (!any(mine.ctld, CTLD))
		violation("unlock_slurmctld without lock_slurmctld");
	if (memcmp(given, mine.ctld, sizeof(given)))
		violation("unlock_slurmctld with other levels than lock_slurmctld");
	account(ctld_statistics[in_decay_thread()], mine.ctld, CTLD, mine.ctld_since);
	memset(mine.ctld, 0, sizeof(mine.ctld));
	__atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
	for (int i = CTLD - 1; i >= 0; i--)
		if (given[i])
			pthread_rwlock_unlock(&ctld[i]);
	stop_here(true);
}

typedef void (*assoc_function_t)(assoc_mgr_lock_t *);
static assoc_function_t next_lock, next_unlock;

static void __attribute__((constructor)) resolve(void)
{
	next_lock = (assoc_function_t) dlsym(RTLD_NEXT, "assoc_mgr_lock");
	next_unlock = (assoc_function_t) dlsym(RTLD_NEXT, "assoc_mgr_unlock");
}

/*
 * Only write locks of the association manager are timed: stock takes two read locks per job, and timing those would
 * be a good part of what it measures.
 */
void assoc_mgr_lock(assoc_mgr_lock_t *levels)
{
	if (!checking) {
		next_lock(levels);
		return;
	}
	if (any(mine.assoc, ASSOC))
		violation("assoc_mgr_lock twice");
	if (mine.state_files)
		violation("assoc_mgr_lock after lock_state_files");
	stop_here(false);
	next_lock(levels);
	memcpy(mine.assoc, levels, sizeof(mine.assoc));
	if (highest(mine.assoc, ASSOC) == WRITE_LOCK)
		mine.assoc_since = real_ns();
	__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void assoc_mgr_unlock(assoc_mgr_lock_t *levels)
{
	lock_level_t level = highest(mine.assoc, ASSOC);

	if (!checking) {
		next_unlock(levels);
		return;
	}
	if (level == NO_LOCK)
		violation("assoc_mgr_unlock without assoc_mgr_lock");
	if (memcmp(levels, mine.assoc, sizeof(mine.assoc)))
		violation("assoc_mgr_unlock with other levels than assoc_mgr_lock");
	if (level == WRITE_LOCK)
		account(assoc_statistics[in_decay_thread()], mine.assoc, ASSOC, mine.assoc_since);
	memset(mine.assoc, 0, sizeof(mine.assoc));
	__atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
	next_unlock(levels);
	stop_here(true);
}

void lock_state_files(void)
{
	if (mine.state_files)
		violation("lock_state_files twice");
	if (stop.inside)
		stop_here(false);
	pthread_mutex_lock(&state_files);
	mine.state_files = true;
	__atomic_add_fetch(&holders, 1, __ATOMIC_SEQ_CST);
}

void unlock_state_files(void)
{
	if (!mine.state_files)
		violation("unlock_state_files without lock_state_files");
	mine.state_files = false;
	__atomic_sub_fetch(&holders, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&state_files);
}

void locks_require(lock_datatype_t what, lock_level_t level, const char *caller)
{
	if (mine.ctld[what] < level)
		violation("%s needs slurmctld's %s lock", caller, ctld_names[what]);
}

void locks_expect_none(const char *after)
{
	if (any(mine.ctld, CTLD) || any(mine.assoc, ASSOC) || mine.state_files)
		violation("%s returned with locks held", after);
	if (!strcmp(after, "fini") && __atomic_load_n(&holders, __ATOMIC_SEQ_CST))
		violation("a lock is still held by a thread after fini");
}

static void report(const char *owner, const char *prefix, const char *const *names, int count,
		   statistic_t (*statistics)[3])
{
	for (int i = 0; i < count; i++)
		for (int level = READ_LOCK; level <= WRITE_LOCK; level++)
			if (statistics[i][level].count)
				say("lock thread=%s name=%s%s level=%s count=%lu total_ns=%lu longest_ns=%lu", owner,
				    prefix, names[i], level == READ_LOCK ? "read" : "write",
				    statistics[i][level].count, statistics[i][level].total_ns,
				    statistics[i][level].longest_ns);
}

void locks_report(void)
{
	pthread_mutex_lock(&statistics_lock);
	for (int owner = 0; owner < 2; owner++) {
		report(owner ? "decay" : "other", "", ctld_names, CTLD, ctld_statistics[owner]);
		report(owner ? "decay" : "other", "assoc_mgr.", assoc_names, ASSOC, assoc_statistics[owner]);
	}
	pthread_mutex_unlock(&statistics_lock);
}

int locks_check(bool check)
{
	if (__atomic_load_n(&holders, __ATOMIC_SEQ_CST))
		return fail("a lock is held: checks can only change between cycles");
	checking = check;
	return 0;
}

void locks_reset(void)
{
	pthread_mutex_lock(&statistics_lock);
	memset(ctld_statistics, 0, sizeof(ctld_statistics));
	memset(assoc_statistics, 0, sizeof(assoc_statistics));
	pthread_mutex_unlock(&statistics_lock);
}
