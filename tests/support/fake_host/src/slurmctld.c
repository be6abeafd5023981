/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names that slurmctld and libslurmfull of one release export, and a clock that stands still. Compiled for each
 * release, and preloaded: so its names are there for dlsym(RTLD_DEFAULT), as slurmctld's are, and its time() is the plugin's.
 *
 * Here is only what Rust cannot say: variables whose size is the release's, structs by value, variable arguments, long double.
 * The rest is in functions of Rust that are entered in the variables fakehost_to_*.
 *
 * -DYEAR=24 -DMONTH=11 -DMICRO=5 -DAPI=42 -DCONF_SIZE=1544 -DLOCKS=5 -DCALLED="24.11.5"
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NUMBER(year, month, micro) ((year) << 16 | (month) << 8 | (micro))
#define RELEASE NUMBER(YEAR, MONTH, MICRO)

/* Variables */

char slurm_conf[CONF_SIZE] __attribute__((aligned(16)));
void *job_list, *part_list, *assoc_mgr_root_assoc, *assoc_mgr_assoc_list, *assoc_mgr_qos_list, *assoc_mgr_user_list,
	*acct_db_conn;
char **assoc_mgr_tres_name_array;
void **assoc_mgr_tres_array;
time_t last_job_update, last_part_update;
uint32_t cluster_cpus;
int node_record_count, slurmctld_tres_cnt;
#if RELEASE >= NUMBER(23, 2, 0)
int active_node_record_count;
#endif
uint16_t accounting_enforce;
bool ignore_state_errors;

/* Functions */

#define FUNCTION(result, name, parameters, arguments) \
	result (*fakehost_to_##name) parameters; \
	result name parameters { return fakehost_to_##name arguments; }

FUNCTION(void, assoc_mgr_lock, (uint32_t *levels), (levels))
FUNCTION(void, assoc_mgr_unlock, (uint32_t *levels), (levels))
FUNCTION(void, lock_state_files, (void), ())
FUNCTION(void, unlock_state_files, (void), ())
FUNCTION(void, slurm_list_append, (void *list, void *element), (list, element))
FUNCTION(int, slurm_list_count, (void *list), (list))
FUNCTION(void *, slurm_list_create, (void (*destroy)(void *)), (destroy))
FUNCTION(void, slurm_list_destroy, (void *list), (list))
FUNCTION(int, slurm_list_for_each, (void *list, int (*visit)(void *, void *), void *of_visit), (list, visit, of_visit))
#if RELEASE >= NUMBER(22, 5, 0)
FUNCTION(int, slurm_list_for_each_ro, (void *list, int (*visit)(void *, void *), void *of_visit), (list, visit, of_visit))
#endif
FUNCTION(void *, slurm_list_iterator_create, (void *list), (list))
FUNCTION(void, slurm_list_iterator_destroy, (void *iterator), (iterator))
FUNCTION(void *, slurm_list_next, (void *iterator), (iterator))
FUNCTION(void, slurm_list_sort, (void *list, int (*compare)(void *, void *)), (list, compare))
FUNCTION(void *, slurm_xcalloc, (size_t count, size_t size, bool clear, bool try, const char *file, int line, const char *function),
	 (count, size, clear, try, file, line, function))
FUNCTION(void, slurm_xfree, (void **block), (block))
FUNCTION(size_t, slurm_xsize, (void *block), (block))
FUNCTION(void, slurmdb_destroy_assoc_usage, (void *usage), (usage))
FUNCTION(void, slurmdb_destroy_qos_usage, (void *usage), (usage))
FUNCTION(void, slurmdb_destroy_tres_rec, (void *tres), (tres))
FUNCTION(int, slurmdb_unpack_assoc_usage, (void **usage, uint16_t protocol, void *buffer), (usage, protocol, buffer))
FUNCTION(int, slurmdb_unpack_qos_usage, (void **usage, uint16_t protocol, void *buffer), (usage, protocol, buffer))
FUNCTION(int, slurmdb_unpack_tres_rec, (void **tres, uint16_t protocol, void *buffer), (tres, protocol, buffer))
FUNCTION(void, slurmdb_destroy_assoc_rec, (void *assoc), (assoc))
FUNCTION(void, slurmdb_destroy_qos_rec, (void *qos), (qos))
FUNCTION(int, slurmdb_unpack_assoc_rec, (void **assoc, uint16_t protocol, void *buffer), (assoc, protocol, buffer))
FUNCTION(int, slurmdb_unpack_qos_rec, (void **qos, uint16_t protocol, void *buffer), (qos, protocol, buffer))
FUNCTION(void, pack_part, (void *part, void *buffer, uint16_t protocol), (part, buffer, protocol))
#if RELEASE >= NUMBER(21, 8, 0)
FUNCTION(void, pack_job, (void *job, uint16_t show, void *buffer, uint16_t protocol, uint32_t user, bool locked),
	 (job, show, buffer, protocol, user, locked))
#else
/* It takes the lock for QOS. */
void pack_job(void) { __builtin_trap(); }
#endif
#if RELEASE >= NUMBER(24, 11, 0)
FUNCTION(void, job_record_pack_common, (void *job, bool for_state, void *buffer, uint16_t protocol),
	 (job, for_state, buffer, protocol))
FUNCTION(void, job_record_pack_details_common, (void *details, void *buffer, uint16_t protocol), (details, buffer, protocol))
#endif
FUNCTION(void *, slurm_init_buf, (uint32_t size), (size))
FUNCTION(void, slurm_free_buf, (void *buffer), (buffer))
FUNCTION(void, set_job_prio, (void *job), (job))
FUNCTION(void, job_end_time_reset, (void *job), (job))
FUNCTION(bool, slurm_with_slurmdbd, (void), ())
FUNCTION(void *, find_job_record, (uint32_t id), (id))
FUNCTION(void *, slurm_conf_lock, (void), ())
FUNCTION(void, slurm_conf_unlock, (void), ())
FUNCTION(char *, get_extra_conf_path, (const char *name), (name))
FUNCTION(double, calc_job_billable_tres, (void *job, time_t start, bool locked), (job, start, locked))
FUNCTION(void *, find_part_record, (const char *name), (name))
FUNCTION(int, priority_sort_part_tier, (void *one, void *other), (one, other))
FUNCTION(double *, slurm_get_tres_weight_array, (const char *weights, int count, bool fail), (weights, count, fail))
FUNCTION(void *, acct_policy_get_acct_used_limits, (void **list, const char *account), (list, account))
FUNCTION(void *, acct_policy_get_user_used_limits, (void **list, uint32_t user), (list, user))
FUNCTION(bool, validate_operator, (uint32_t user), (user))
FUNCTION(int, slurm_mcs_get_privatedata, (void), ())
FUNCTION(void, slurm_destroy_priority_factors_object, (void *object), (object))
FUNCTION(void, site_factor_g_set, (void *job), (job))
FUNCTION(void, site_factor_g_update, (void), ())
FUNCTION(int, site_factor_init, (void), ())
FUNCTION(int, site_factor_fini, (void), ())
FUNCTION(void, site_factor_reconfig, (void), ())
FUNCTION(void, to_log, (int level, const char *line), (level, line))
FUNCTION(int, slurm_get_log_level, (void), ())

bool (*fakehost_to_assoc_mgr_is_user_acct_coord)(uint32_t user, const char *account, bool locked);
#if RELEASE >= NUMBER(23, 11, 6)
bool assoc_mgr_is_user_acct_coord(void *connection, uint32_t user, const char *account, bool locked)
#else
#define locked false
bool assoc_mgr_is_user_acct_coord(void *connection, uint32_t user, const char *account)
#endif
{
	return connection == acct_db_conn && fakehost_to_assoc_mgr_is_user_acct_coord(user, account, locked);
}
#undef locked

int (*fakehost_to_mcs_g_check_mcs_label)(uint32_t user, const char *label, bool locked);
#if RELEASE >= NUMBER(22, 5, 0)
int mcs_g_check_mcs_label(uint32_t user, const char *label, bool locked)
#else
#define locked false
int mcs_g_check_mcs_label(uint32_t user, const char *label)
#endif
{
	return fakehost_to_mcs_g_check_mcs_label(user, label, locked);
}
#undef locked

#if RELEASE >= NUMBER(23, 2, 0)
int site_factor_g_init(void) { return site_factor_init(); }
int site_factor_g_fini(void) { return site_factor_fini(); }
#else
int site_factor_plugin_init(void) { return site_factor_init(); }
int site_factor_plugin_fini(void) { return site_factor_fini(); }
#endif
#if RELEASE < NUMBER(24, 5, 0)
void site_factor_g_reconfig(void) { site_factor_reconfig(); }
#endif

#if RELEASE >= NUMBER(24, 5, 0)
FUNCTION(char *, part_list_to_xstr, (void *list), (list))
#endif

typedef struct {
	uint32_t level[LOCKS];
} slurmctld_lock_t;

void (*fakehost_to_lock_slurmctld)(const uint32_t *levels, int count);
void (*fakehost_to_unlock_slurmctld)(const uint32_t *levels, int count);

void lock_slurmctld(slurmctld_lock_t levels)
{
	fakehost_to_lock_slurmctld(levels.level, LOCKS);
}

void unlock_slurmctld(slurmctld_lock_t levels)
{
	fakehost_to_unlock_slurmctld(levels.level, LOCKS);
}

/* What only has to be there: the plugin tells releases apart by it. */

void priority_g_set(void) {}
#if RELEASE >= NUMBER(23, 2, 0)
void priority_g_recover(void) {}
#endif
#if RELEASE >= NUMBER(23, 11, 6)
void priority_g_thread_start(void) {}
#endif
#if RELEASE < NUMBER(25, 11, 0)
void priority_g_calc_fs_factor(void) {}
#endif
#if RELEASE >= NUMBER(26, 5, 0)
void threadpool_create(void) {}
#endif

/* By which alone a release candidate is told from its release. */
const char fakehost_called[] = CALLED;

long slurm_api_version(void)
{
	return (long) API << 16;
}

static void log_line(int level, const char *format, va_list arguments)
{
	char line[4096];

	vsnprintf(line, sizeof(line), format, arguments);
	/* A test that has the plugin's code in itself runs its constructor before it becomes a slurmctld. */
	if (fakehost_to_to_log)
		to_log(level, line);
}

int slurm_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line(2, format, arguments);
	va_end(arguments);
	return -1;
}

void slurm_log_var(int level, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_line(level, format, arguments);
	va_end(arguments);
}

/* long double */

double fakehost_get_long_double(const long double *field)
{
	return (double) *field;
}

/* All sixteen bytes are written, those that mean nothing with zeros: then equal numbers are equal bytes. */
void fakehost_set_long_double(long double *field, double value)
{
	memset(field, 0, sizeof(*field));
	*field = value;
}

double fakehost_call_calc_fs_factor(double (*function)(long double, long double), double usage, double shares)
{
	return function(usage, shares);
}

/* The clock */

#define NS 1000000000LL

int64_t fakehost_now = 2000000000;
/* How long the plugin's thread meant to sleep when it last began to. */
int64_t fakehost_sleep_ns;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* What triggered cycles have added to the thread's monotonic clock, so that its deadline has passed. */
	int64_t monotonic_offset;
	unsigned completed;
	bool waiting, triggered;
	int *futex;
} decay = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static bool is_decay_thread(void)
{
	char name[17] = "";

	prctl(PR_GET_NAME, name);
	return !strcmp(name, "decay");
}

static int64_t real(clockid_t clock)
{
	static int (*libc)(clockid_t, struct timespec *);
	struct timespec now;

	if (!libc)
		libc = dlsym(RTLD_NEXT, "clock_gettime");
	libc(clock, &now);
	return now.tv_sec * NS + now.tv_nsec;
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec) { .tv_sec = ns / NS, .tv_nsec = ns % NS };
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		*now = (struct timespec) { .tv_sec = fakehost_now };
	else
		*now = to_timespec(real(clock) +
				   (clock == CLOCK_MONOTONIC && is_decay_thread() ? decay.monotonic_offset : 0));
	return 0;
}

time_t time(time_t *result)
{
	if (result)
		*result = fakehost_now;
	return fakehost_now;
}

/* The plugin's thread sleeps in a futex with a timeout: it lasts until fakehost_cycle() ends it as if the time had passed. */
long syscall(long which, ...)
{
	static long (*libc)(long, ...);
	const struct timespec *timeout;
	bool triggered;
	va_list arguments;
	long a[6], result;

	va_start(arguments, which);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (!libc)
		libc = dlsym(RTLD_NEXT, "syscall");
	if (which != SYS_futex || (a[1] & FUTEX_CMD_MASK) != FUTEX_WAIT || !a[3] || !is_decay_thread())
		return libc(which, a[0], a[1], a[2], a[3], a[4], a[5]);
	timeout = (const struct timespec *) a[3];
	pthread_mutex_lock(&decay.lock);
	decay.completed++;
	decay.waiting = true;
	decay.futex = (int *) a[0];
	fakehost_sleep_ns = timeout->tv_sec * NS + timeout->tv_nsec;
	pthread_cond_broadcast(&decay.changed);
	pthread_mutex_unlock(&decay.lock);
	result = libc(which, a[0], a[1], a[2], NULL, a[4], a[5]);
	pthread_mutex_lock(&decay.lock);
	triggered = decay.triggered;
	decay.triggered = decay.waiting = false;
	if (triggered)
		decay.monotonic_offset += timeout->tv_sec * NS + timeout->tv_nsec;
	pthread_cond_broadcast(&decay.changed);
	pthread_mutex_unlock(&decay.lock);
	if (!triggered)
		return result;
	errno = ETIMEDOUT;
	return -1;
}

static bool until(bool (*done)(void))
{
	for (int64_t end = real(CLOCK_MONOTONIC) + 60 * NS; !done(); ) {
		struct timespec soon = to_timespec(real(CLOCK_REALTIME) + NS / 1000);

		if (real(CLOCK_MONOTONIC) > end)
			return false;
		pthread_cond_timedwait(&decay.changed, &decay.lock, &soon);
		if (decay.triggered && decay.waiting)
			syscall(SYS_futex, decay.futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return true;
}

static unsigned seen;

static bool is_waiting(void)
{
	return decay.waiting && decay.completed != seen;
}

/* Waits until the decay thread has completed a cycle and sleeps, whether or not it was waited for before. */
bool fakehost_await_cycle(void)
{
	bool done;

	pthread_mutex_lock(&decay.lock);
	seen = decay.completed - 1;
	done = until(is_waiting);
	pthread_mutex_unlock(&decay.lock);
	return done;
}

/* Lets the decay thread that sleeps run one cycle and waits for its end. */
bool fakehost_cycle(void)
{
	bool done;

	pthread_mutex_lock(&decay.lock);
	seen = decay.completed;
	decay.triggered = true;
	done = until(is_waiting);
	pthread_mutex_unlock(&decay.lock);
	return done;
}
