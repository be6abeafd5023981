// SPDX-License-Identifier: GPL-2.0-or-later
//
// A priority plugin that breaks one lock rule in priority_p_set; PriorityParameters says which.
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "src/common/assoc_mgr.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

const char plugin_name[] = "Plugin that breaks the lock rules";
const char plugin_type[] = "priority/unruly";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static assoc_mgr_lock_t assoc_read = { .assoc = READ_LOCK };
static const slurmctld_lock_t job_read = { .job = READ_LOCK };

static bool asked_for(const char *what)
{
	return slurm_conf.priority_params && !strcmp(slurm_conf.priority_params, what);
}

int init(void)
{
	return 0;
}

int fini(void)
{
	return 0;
}

/* The caller holds the job write lock. */
uint32_t priority_p_set(uint32_t last_prio, job_record_t *job)
{
	slurmctld_lock_t other = { .job = READ_LOCK };

	if (asked_for("lock_twice"))
		lock_slurmctld(job_read);
	if (asked_for("unlock_other_levels"))
		unlock_slurmctld(other);
	if (asked_for("assoc_twice")) {
		assoc_mgr_lock(&assoc_read);
		assoc_mgr_lock(&assoc_read);
	}
	if (asked_for("assoc_unlock_without_lock"))
		assoc_mgr_unlock(&assoc_read);
	if (asked_for("assoc_kept"))
		assoc_mgr_lock(&assoc_read);
	return last_prio + 1;
}

/* The caller holds no lock. */
void priority_p_reconfig(bool assoc_clear)
{
	if (asked_for("wrong_order")) {
		assoc_mgr_lock(&assoc_read);
		lock_slurmctld(job_read);
	}
	if (asked_for("unlock_without_lock"))
		unlock_slurmctld(job_read);
	if (asked_for("returned_with_lock"))
		lock_slurmctld(job_read);
	if (asked_for("state_files_first")) {
		lock_state_files();
		lock_slurmctld(job_read);
	}
	if (asked_for("no_partition_lock"))
		find_part_record("batch");
}

void priority_p_set_assoc_usage(slurmdb_assoc_rec_t *assoc)
{
	if (asked_for("lock_in_set_assoc_usage"))
		assoc_mgr_lock(&assoc_read);
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
