// SPDX-License-Identifier: GPL-2.0-or-later
//
// A priority plugin whose decay thread sleeps on a futex, as one in Rust does. Each cycle counts one up in the
// priority of every job. PriorityParameters=absolute waits for a time, anything else for a duration.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

const char plugin_name[] = "Plugin that sleeps on a futex";
const char plugin_type[] = "priority/sleeper";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static const slurmctld_lock_t job_write = { .job = WRITE_LOCK };
static pthread_t thread;
static uint32_t stop;

static int count_up(void *job, void *unused)
{
	((job_record_t *) job)->priority++;
	return 0;
}

/* Sleep until the period is over by the monotonic clock, whatever wakes in between. */
static void sleep_one_period(void)
{
	bool absolute = !xstrcmp(slurm_conf.priority_params, "absolute");
	struct timespec end, now, left;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += slurm_conf.priority_calc_period;
	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (stop || now.tv_sec > end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec))
			return;
		left.tv_sec = end.tv_sec - now.tv_sec - (end.tv_nsec < now.tv_nsec);
		left.tv_nsec = end.tv_nsec - now.tv_nsec + (end.tv_nsec < now.tv_nsec ? 1000000000 : 0);
		if (absolute)
			syscall(SYS_futex, &stop, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 0, &end, NULL, ~0U);
		else
			syscall(SYS_futex, &stop, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &left, NULL, 0);
	}
}

static void *run(void *unused)
{
	prctl(PR_SET_NAME, "decay");
	while (!stop) {
		lock_slurmctld(job_write);
		list_for_each(job_list, count_up, NULL);
		unlock_slurmctld(job_write);
		sleep_one_period();
	}
	return NULL;
}

int init(void)
{
	return pthread_create(&thread, NULL, run, NULL);
}

int fini(void)
{
	stop = 1;
	syscall(SYS_futex, &stop, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
	return pthread_join(thread, NULL);
}

uint32_t priority_p_set(uint32_t last_prio, job_record_t *job)
{
	return last_prio;
}

void priority_p_reconfig(bool assoc_clear)
{
}

void priority_p_set_assoc_usage(slurmdb_assoc_rec_t *assoc)
{
}

double priority_p_calc_fs_factor(long double usage_efctv, long double shares_norm)
{
	return 0;
}

List priority_p_get_priority_factors_list(priority_factors_request_msg_t *message, uid_t uid)
{
	return NULL;
}

void priority_p_job_end(job_record_t *job)
{
}
