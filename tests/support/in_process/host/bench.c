// SPDX-License-Identifier: GPL-2.0-or-later
//
// Many jobs at once, on a fresh or a scattered heap, and measurements of the calls that are made per job.
#include <stdlib.h>

#include "host.h"

/* xorshift64*: the same jobs for the same seed, everywhere. */
static uint64_t next_random(uint64_t *state, uint64_t below)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (*state * 0x2545F4914F6CDD1DULL >> 11) % below;
}

static void shuffle(uint64_t *state, void **items, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = next_random(state, i);
		void *kept = items[i - 1];
		items[i - 1] = items[other];
		items[other] = kept;
	}
}

/* What the jobs are drawn from. */
typedef struct {
	void **assocs, **parts, **qoses;
	size_t assoc_count, part_count, qos_count;
} choices_t;

static job_record_t *draw(uint64_t *state, uint32_t id, const choices_t *from)
{
	job_record_t *job = job_new(id);
	slurmdb_assoc_rec_t *assoc = from->assocs[next_random(state, from->assoc_count)];
	uint64_t cpus = 1 + next_random(state, 64);

	job->assoc_ptr = assoc;
	job->assoc_id = assoc->id;
	job->account = xstrdup(assoc->acct);
	job->user_id = assoc->uid;
	if (from->part_count) {
		job->part_ptr = from->parts[next_random(state, from->part_count)];
		job->partition = xstrdup(job->part_ptr->name);
	}
	if (from->qos_count) {
		job->qos_ptr = from->qoses[next_random(state, from->qos_count)];
		job->qos_id = ((slurmdb_qos_rec_t *) job->qos_ptr)->id;
	}
	job->time_limit = 60 * (1 + next_random(state, 48));
	job->priority = 1;
	job->details->min_cpus = cpus;
	job->details->min_nodes = 1 + cpus / 16;
	job->details->submit_time = time(NULL) - next_random(state, 86400);
	job->details->begin_time = job->details->submit_time;
	job->details->accrue_time = job->details->submit_time;
	job->tres_req_cnt = xcalloc(slurmctld_tres_cnt, sizeof(uint64_t));
	job->tres_req_cnt[TRES_ARRAY_CPU] = cpus;
	job->tres_req_cnt[TRES_ARRAY_MEM] = cpus * 2048;
	job->tres_req_cnt[TRES_ARRAY_NODE] = job->details->min_nodes;
	return job;
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
 * The heap of a daemon that has run for weeks: twice as many jobs came, and every second one went, in random order, so
 * that what comes now, records and list nodes, lies in the holes. Returns those that stayed.
 */
static List aged(uint64_t seed, size_t count, uint32_t first, const choices_t *from)
{
	size_t total = 2 * count;
	List rest = list_create(job_free), *each = malloc(sizeof(*each) * total);

	for (size_t i = 0; i < total; i++) {
		each[i] = list_create(job_free);
		list_append(each[i], draw(&seed, first + i, from));
	}
	shuffle(&seed, (void **) each, total);
	for (size_t i = 0; i < total; i++) {
		if (i % 2)
			list_append(rest, list_pop(each[i]));
		list_destroy(each[i]);
	}
	free(each);
	return rest;
}

/*
 * bulkjobs count=100000 seed=1 scatter=0|1 first=1 arrays=0: pending jobs of random users, partitions and QOSes. Tasks of so many arrays,
 * each with ids in a row, that were split off in turns: the list is not in the order of ids.
 */
int command_bulk_jobs(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	size_t count = number(request, "count", 0);
	bool scatter = number(request, "scatter", 0);
	uint32_t first = number(request, "first", 1);
	uint64_t seed = number(request, "seed", 1) * 2 + 1;
	size_t arrays = number(request, "arrays", 0), tasks = arrays ? count / arrays : 0;
	choices_t from = { 0 };
	List others = NULL;

	from.assocs = collect(assoc_mgr_assoc_list, &from.assoc_count, true);
	from.parts = collect(part_list, &from.part_count, false);
	from.qoses = collect(assoc_mgr_qos_list, &from.qos_count, false);
	lock_slurmctld(locks);
	if (from.assoc_count) {
		if (scatter)
			others = aged(seed + 2, count, first + count, &from);
		for (size_t i = 0; i < count; i++)
			list_append(job_list,
				    draw(&seed, first + (i < arrays * tasks ? i % arrays * tasks + i / arrays : i), &from));
		FREE_NULL_LIST(others);
	}
	unlock_slurmctld(locks);
	free(from.assocs);
	free(from.parts);
	free(from.qoses);
	return from.assoc_count ? 0 : fail("bulkjobs needs associations of users");
}

/*
 * vary seed=1 step=3600 nice=100: gives all jobs other random sizes, times, site factors and so many nice values, and the lowest
 * priority. Ages are whole steps and counts go to ten, so that factors are tenths and their sums often whole: the worst that rounding
 * can meet.
 */
int command_vary(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	uint64_t state = number(request, "seed", 1) * 2 + 1, step = number(request, "step", 3600);
	uint64_t nice = number(request, "nice", 100);
	size_t count;
	void **jobs;

	lock_slurmctld(locks);
	jobs = collect(job_list, &count, false);
	for (size_t i = 0; i < count; i++) {
		job_record_t *job = jobs[i];

		job->priority = 1;
		job->site_factor = NICE_OFFSET - 50 + next_random(&state, 100);
		job->details->nice = NICE_OFFSET - nice / 2 + next_random(&state, nice);
		job->details->accrue_time = time(NULL) - step * next_random(&state, 11);
		job->details->min_cpus = 1 + next_random(&state, 10);
		job->details->min_nodes = 1 + next_random(&state, 10);
		for (int tres = 0; tres < slurmctld_tres_cnt; tres++)
			job->tres_req_cnt[tres] = next_random(&state, 11);
	}
	unlock_slurmctld(locks);
	free(jobs);
	return 0;
}

/* digest: one number for the priorities of all jobs, in the order of the list, and their sum. */
int command_digest(request_t *request)
{
	slurmctld_lock_t locks = { .job = READ_LOCK };
	uint64_t digest = 0xcbf29ce484222325ULL, sum = 0;
	size_t count;
	void **jobs;

	(void) request;
	lock_slurmctld(locks);
	jobs = collect(job_list, &count, false);
	for (size_t i = 0; i < count; i++) {
		job_record_t *job = jobs[i];

		digest = (digest ^ job->job_id) * 0x100000001b3ULL;
		digest = (digest ^ job->priority) * 0x100000001b3ULL;
		sum += job->priority;
	}
	unlock_slurmctld(locks);
	free(jobs);
	say("digest jobs=%zu digest=%lu sum=%lu", count, digest, sum);
	return 0;
}

static void set_all(job_record_t **jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		jobs[i]->priority = priority_g_set(0, jobs[i]);
}

/*
 * benchset rounds=3 hot=0|1 skip=0: time of one priority_g_set per job, in the order of the list, without the first ones. hot: of a
 * second one for each, whose record is in the caches, as that of a job which has just been made.
 */
int command_bench_set(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	size_t all, rounds = number(request, "rounds", 3), skip = number(request, "skip", 0);
	job_record_t **every = (job_record_t **) collect(job_list, &all, false);
	job_record_t **jobs = every + (skip < all ? skip : all);
	bool hot = number(request, "hot", 0);
	size_t count = every + all - jobs, step = hot ? 64 : count;

	for (size_t round = 0; round < rounds; round++) {
		uint64_t cpu = 0, wall = 0;
		lock_slurmctld(locks);
		for (size_t first = 0; first < count; first += step) {
			size_t some = count - first < step ? count - first : step;
			if (hot)
				set_all(jobs + first, some);
			cpu -= thread_cpu_ns();
			wall -= real_ns();
			set_all(jobs + first, some);
			cpu += thread_cpu_ns();
			wall += real_ns();
		}
		unlock_slurmctld(locks);
		say("bench jobs=%zu cpu_ns=%lu wall_ns=%lu", count, cpu, wall);
	}
	free(every);
	return 0;
}

/* Jobs from a fetch to the next step. */
#define AHEAD 8

#define FETCH(field) __builtin_prefetch(&(field), 0, 2)

/* Fetches what a cycle reads of the job at a place, if there is one, first the record and then what it leads to. */
static void fetch(job_record_t **jobs, size_t count, size_t at, bool tres)
{
	if (at + 2 * AHEAD < count) {
		job_record_t *job = jobs[at + 2 * AHEAD];

		FETCH(job->assoc_ptr), FETCH(job->details), FETCH(job->direct_set_prio), FETCH(job->job_id);
		FETCH(job->job_state), FETCH(job->part_ptr), FETCH(job->priority), FETCH(job->qos_ptr);
		FETCH(job->site_factor), FETCH(job->total_cpus);
		if (tres)
			FETCH(job->tres_req_cnt);
	}
	if (at + AHEAD < count) {
		job_record_t *job = jobs[at + AHEAD];

		FETCH(job->details->accrue_time), FETCH(job->details->max_cpus), FETCH(job->details->min_cpus);
		FETCH(job->details->nice);
		for (int i = 0; tres && i < slurmctld_tres_cnt; i += 4)
			FETCH(job->tres_req_cnt[i]);
	}
}

/* A number from all that a cycle reads of a job. */
static uint64_t read_lines(job_record_t *job, bool tres)
{
	uint64_t read = (uint64_t) job->assoc_ptr ^ (uint64_t) job->part_ptr ^ (uint64_t) job->qos_ptr ^ job->direct_set_prio ^
			job->job_id ^ job->job_state ^ job->priority ^ job->site_factor ^ job->total_cpus;

	read ^= job->details->accrue_time ^ job->details->max_cpus ^ job->details->min_cpus ^ job->details->nice;
	for (int i = 0; tres && i < slurmctld_tres_cnt; i++)
		read ^= job->tres_req_cnt[i];
	return read;
}

/*
 * benchlines rounds=3 tres=0|1: the time of two loops that touch what a cycle touches of every pending job, and do nothing else: one that
 * reads, in the order of the list, and one that writes, the other way round.
 */
int command_bench_lines(request_t *request)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };
	size_t count, rounds = number(request, "rounds", 3);
	job_record_t **jobs = (job_record_t **) collect(job_list, &count, false);
	bool tres = number(request, "tres", 0);
	volatile uint64_t read;

	for (size_t round = 0; round < rounds; round++) {
		uint64_t sum = 0, cpu, wall;
		lock_slurmctld(locks);
		cpu = thread_cpu_ns();
		wall = real_ns();
		for (size_t i = 0; i < count; i++) {
			fetch(jobs, count, i, tres);
			sum += read_lines(jobs[i], tres);
		}
		read = sum;
		for (size_t i = count; i-- > 0;) {
			job_record_t *job = jobs[i];

			if (i >= AHEAD) {
				job_record_t *next = jobs[i - AHEAD];

				FETCH(next->job_id), FETCH(next->job_state), FETCH(next->direct_set_prio);
				FETCH(next->priority);
			}
			if (job->job_id && job->job_state == JOB_PENDING && !job->direct_set_prio)
				*(volatile uint32_t *) &job->priority = job->priority;
		}
		(void) read;
		cpu = thread_cpu_ns() - cpu;
		wall = real_ns() - wall;
		unlock_slurmctld(locks);
		say("bench jobs=%zu cpu_ns=%lu wall_ns=%lu", count, cpu, wall);
	}
	free(jobs);
	return 0;
}
