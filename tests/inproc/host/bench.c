// SPDX-License-Identifier: GPL-2.0-or-later
//
// Many jobs at once, on a fresh or a scattered heap, and measurements of the calls that are made per job.
#include <stdlib.h>

#include "host.h"

static uint64_t random_state;

/* xorshift64*: the same jobs for the same seed, everywhere. */
static uint64_t next_random(uint64_t below)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return (random_state * 0x2545F4914F6CDD1DULL >> 11) % below;
}

static void shuffle(void **items, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = next_random(i);
		void *kept = items[i - 1];
		items[i - 1] = items[other];
		items[other] = kept;
	}
}

static void fill(job_record_t *job, slurmdb_assoc_rec_t *assoc, part_record_t *part, slurmdb_qos_rec_t *qos)
{
	time_t now = time(NULL);
	/* One user in many comes back often, as in real queues. */
	uint64_t cpus = 1 + next_random(64);

	job->assoc_ptr = assoc;
	job->assoc_id = assoc->id;
	job->account = xstrdup(assoc->acct);
	job->user_id = assoc->uid;
	job->part_ptr = part;
	job->partition = part ? xstrdup(part->name) : NULL;
	job->qos_ptr = qos;
	job->qos_id = qos ? qos->id : 0;
	job->time_limit = 60 * (1 + next_random(48));
	job->priority = 1;
	job->details->min_cpus = cpus;
	job->details->min_nodes = 1 + cpus / 16;
	job->details->submit_time = now - next_random(86400);
	job->details->begin_time = job->details->submit_time;
	job->details->accrue_time = job->details->submit_time;
	job->tres_req_cnt = xcalloc(slurmctld_tres_cnt, sizeof(uint64_t));
	job->tres_req_cnt[TRES_ARRAY_CPU] = cpus;
	job->tres_req_cnt[TRES_ARRAY_MEM] = cpus * 2048;
	job->tres_req_cnt[TRES_ARRAY_NODE] = job->details->min_nodes;
}

static void *list_at(List list, size_t place)
{
	ListIterator all = list_iterator_create(list);
	void *item = NULL;

	for (size_t i = 0; i <= place; i++)
		item = list_next(all);
	list_iterator_destroy(all);
	return item;
}

static void **collect(List list, size_t *count, bool users_only)
{
	ListIterator all = list_iterator_create(list);
	void **items = malloc(sizeof(*items) * (list_count(list) + 1)), *item;

	*count = 0;
	while ((item = list_next(all)))
		if (!users_only || ((slurmdb_assoc_rec_t *) item)->user)
			items[(*count)++] = item;
	list_iterator_destroy(all);
	return items;
}

/*
 * bulkjobs count=100000 seed=1 scatter=0|1 first=1
 *
 * Pending jobs of random user associations, partitions and QOSes. With scatter the records are allocated among
 * twice as many, of which a random half is freed again, and join the list in random order: the heap of a daemon
 * that has run for weeks.
 */
int command_bulk_jobs(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	size_t count = number(request, "count", 0), users, made;
	bool scatter = number(request, "scatter", 0);
	uint32_t first = number(request, "first", 1);
	void **assocs = collect(assoc_mgr_assoc_list, &users, true), **jobs;
	int parts = list_count(part_list), qoses = list_count(assoc_mgr_qos_list);

	random_state = number(request, "seed", 1) * 2 + 1;
	if (!users) {
		free(assocs);
		return fail("bulkjobs needs associations of users");
	}
	made = scatter ? 2 * count : count;
	jobs = malloc(sizeof(*jobs) * (made + 1));
	lock_slurmctld(locks);
	for (size_t i = 0; i < made; i++) {
		jobs[i] = job_new(first + i);
		fill(jobs[i], assocs[next_random(users)], parts ? list_at(part_list, next_random(parts)) : NULL,
		     qoses ? list_at(assoc_mgr_qos_list, next_random(qoses)) : NULL);
	}
	if (scatter)
		shuffle(jobs, made);
	for (size_t i = count; i < made; i++)
		job_free(jobs[i]);
	for (size_t i = 0; i < count; i++)
		list_append(job_list, jobs[i]);
	unlock_slurmctld(locks);
	free(jobs);
	free(assocs);
	return 0;
}

/* benchset rounds=3: time of one priority_g_set per job, in the order of the list. */
int command_bench_set(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	size_t count, rounds = number(request, "rounds", 3);
	void **jobs = collect(job_list, &count, false);

	for (size_t round = 0; round < rounds; round++) {
		uint64_t cpu = thread_cpu_ns(), wall = real_ns();
		lock_slurmctld(locks);
		for (size_t i = 0; i < count; i++)
			((job_record_t *) jobs[i])->priority = priority_g_set(0, jobs[i]);
		unlock_slurmctld(locks);
		say("bench jobs=%zu cpu_ns=%lu wall_ns=%lu", count, thread_cpu_ns() - cpu, real_ns() - wall);
	}
	free(jobs);
	return 0;
}

/*
 * benchwalk rounds=3: two walks over the job list that touch what any decay cycle must touch and write the priority;
 * the floor under which no cycle can get.
 */
int command_bench_walk(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	size_t rounds = number(request, "rounds", 3);

	for (size_t round = 0; round < rounds; round++) {
		uint64_t cpu = thread_cpu_ns(), wall = real_ns();
		volatile uint64_t sum = 0;
		lock_slurmctld(locks);
		for (int walk = 0; walk < 2; walk++) {
			ListIterator all = list_iterator_create(job_list);
			job_record_t *job;
			while ((job = list_next(all))) {
				sum += job->job_state + job->start_time + job->qos_id + job->site_factor +
				       (uintptr_t) job->assoc_ptr + (uintptr_t) job->part_ptr + job->total_cpus;
				if (job->details)
					sum += job->details->accrue_time + job->details->nice +
					       job->details->begin_time;
				if (walk)
					job->priority ^= sum & 0;
			}
			list_iterator_destroy(all);
		}
		unlock_slurmctld(locks);
		say("bench jobs=%d cpu_ns=%lu wall_ns=%lu", list_count(job_list), thread_cpu_ns() - cpu,
		    real_ns() - wall);
	}
	return 0;
}
