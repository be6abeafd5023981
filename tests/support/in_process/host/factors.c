// SPDX-License-Identifier: GPL-2.0-or-later
//
// Dumps of what the plugin has written into the jobs, and of what it hands to sprio.
#include <stdlib.h>

#include "host.h"

static void show_doubles(const char *key, const double *values, uint32_t count)
{
	say_part(" %s=", key);
	for (uint32_t i = 0; values && i < count; i++)
		say_part("%s%a", i ? "," : "", values[i]);
}

static void show_factors(const priority_factors_object_t *factors)
{
	say_part(" age=%a assoc=%a fs=%a js=%a part=%a qos=%a site=%u nice=%u", factors->priority_age,
		 factors->priority_assoc, factors->priority_fs, factors->priority_js, factors->priority_part,
		 factors->priority_qos, factors->priority_site, factors->nice);
	show_doubles("tres", factors->priority_tres, factors->tres_cnt);
	show_doubles("tres_weights", factors->tres_weights, factors->tres_cnt);
}

/* jobs [id=…]: every job in the order of the list, with its priority and the factors that the plugin left there. */
int command_dump_jobs(request_t *request)
{
	slurmctld_lock_t locks = { .job = READ_LOCK };
	ListIterator jobs = list_iterator_create(job_list);
	uint32_t only = number(request, "id", 0);
	job_record_t *job;

	lock_slurmctld(locks);
	while ((job = list_next(jobs))) {
		if (only && job->job_id != only)
			continue;
		say_part("| job id=%u state=%u priority=%u direct_set_prio=%u end_time_exp=%ld billable_tres=%a", job->job_id,
			 job->job_state, job->priority, job->direct_set_prio, (long) job->end_time_exp,
			 job->billable_tres);
		say_part(" priority_array=");
		if (job->priority_array && job->part_ptr_list)
			for (int i = 0; i < list_count(job->part_ptr_list); i++)
				say_part("%s%u", i ? "," : "", job->priority_array[i]);
		if (job->prio_factors)
			show_factors(job->prio_factors);
		say_part("\n");
	}
	unlock_slurmctld(locks);
	list_iterator_destroy(jobs);
	return 0;
}

static List numbers(char *text)
{
	List list = list_create(xfree_ptr);

	while (text && *text) {
		uint32_t *value = xmalloc(sizeof(*value));
		char *end;
		*value = strtoul(text, &end, 0);
		list_append(list, value);
		text = *end ? end + 1 : end;
	}
	return list;
}

/*
 * factors uid=0 [jobs=1,2] [users=1001] [partitions=a,b] [count=1]: the objects for sprio, in the order of the answer,
 * or only how many and how long the call took.
 */
int command_factors(request_t *request)
{
	char *jobs = argument(request, "jobs"), *users = argument(request, "users");
	priority_factors_request_msg_t message = { .partitions = argument(request, "partitions"),
						   .job_id_list = jobs ? numbers(jobs) : NULL,
						   .uid_list = users ? numbers(users) : NULL };
	uint64_t cpu = thread_cpu_ns(), wall = real_ns();
	List objects = priority_g_get_priority_factors_list(&message, number(request, "uid", 0));
	ListIterator all = objects ? list_iterator_create(objects) : NULL;
	priority_factors_object_t *object;

	cpu = thread_cpu_ns() - cpu;
	wall = real_ns() - wall;
	locks_expect_none("get_priority_factors_list");
	if (number(request, "count", 0))
		say("bench jobs=%d cpu_ns=%lu wall_ns=%lu", objects ? list_count(objects) : 0, cpu, wall);
	while (all && !argument(request, "count") && (object = list_next(all))) {
		say_part("| factors id=%u user_id=%u partition=%s direct_prio=%a", object->job_id, object->user_id,
			 object->partition ? object->partition : "", object->direct_prio);
		show_factors(object);
		say_part("\n");
	}
	if (all)
		list_iterator_destroy(all);
	FREE_NULL_LIST(objects);
	FREE_NULL_LIST(message.job_id_list);
	FREE_NULL_LIST(message.uid_list);
	return 0;
}
