// SPDX-License-Identifier: GPL-2.0-or-later
//
// What slurmctld itself exports to a priority plugin: its variables, and the functions that are not in libslurmfull.
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "src/common/uid.h"

void *acct_db_conn;
uint32_t cluster_cpus;
List job_list;
List part_list;
time_t last_job_update;
time_t last_part_update;
int slurmctld_tres_cnt;
uint16_t accounting_enforce;

/* The real one prints to the same place and has the same condition; here it need not know about reservations. */
double calc_job_billable_tres(job_record_t *job, time_t start_time, bool assoc_mgr_locked)
{
	part_record_t *part = job->part_ptr;

	if (!job->tres_alloc_cnt)
		return 0;
	locks_require(JOB_LOCK, READ_LOCK, __func__);
	if (job->billable_tres != (double) NO_VAL && job->resize_time < start_time)
		return job->billable_tres;
	if (part && part->billing_weights)
		job->billable_tres = assoc_mgr_tres_weighted(job->tres_alloc_cnt, part->billing_weights,
							     slurm_conf.priority_flags, assoc_mgr_locked);
	else
		job->billable_tres = job->total_cpus;
	return job->billable_tres;
}

/* The plugin hands records of its own to these two, to see where they write. */
void set_job_prio(job_record_t *job)
{
	if (!IS_JOB_FINISHED(job))
		job->priority = priority_g_set(0, job);
}

void job_end_time_reset(job_record_t *job)
{
	if (!job->preempt_time)
		job->end_time = job->end_time_exp = job->start_time + 60 * job->time_limit;
}

job_record_t *find_job_record(uint32_t job_id)
{
	locks_require(JOB_LOCK, READ_LOCK, __func__);
	return find_job(job_id);
}

part_record_t *find_part_record(char *name)
{
	ListIterator parts = list_iterator_create(part_list);
	part_record_t *part;

	locks_require(PART_LOCK, READ_LOCK, __func__);
	while ((part = list_next(parts)))
		if (!strcmp(part->name, name))
			break;
	list_iterator_destroy(parts);
	return part;
}

bool validate_operator(uid_t uid)
{
	return uid == 0 || uid == slurm_conf.slurm_user_id ||
	       assoc_mgr_get_admin_level(acct_db_conn, uid) >= SLURMDB_ADMIN_OPERATOR;
}

/* Users of the test's tree need not exist on this machine. */

typedef struct {
	char *name;
	uid_t uid;
} user_t;

static void *users;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const user_t *) a)->name, ((const user_t *) b)->name);
}

static void user_free(void *user)
{
	free(((user_t *) user)->name);
	free(user);
}

void remember_uid(const char *name, uid_t uid)
{
	user_t wanted = { .name = (char *) name };
	user_t **found = tfind(&wanted, &users, by_name);

	if (!found) {
		user_t *user = malloc(sizeof(*user));
		user->name = strdup(name);
		found = tsearch(user, &users, by_name);
	}
	(*found)->uid = uid;
}

void forget_uids(void)
{
	tdestroy(users, user_free);
	users = NULL;
}

int uid_from_string(const char *name, uid_t *uid)
{
	user_t wanted = { .name = (char *) name };
	user_t **found = name ? tfind(&wanted, &users, by_name) : NULL;

	if (!found)
		return -1;
	*uid = (*found)->uid;
	return 0;
}
