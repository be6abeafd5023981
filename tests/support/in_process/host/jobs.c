// SPDX-License-Identifier: GPL-2.0-or-later
//
// Partitions and jobs.
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const slurmctld_lock_t write_locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = WRITE_LOCK };

static const field_t part_fields[] = {
	{ "factor", KIND_U16, offsetof(part_record_t, priority_job_factor) },
	{ "tier", KIND_U16, offsetof(part_record_t, priority_tier) },
	{ "norm", KIND_DOUBLE, offsetof(part_record_t, norm_priority) },
	{ "max_time", KIND_U32, offsetof(part_record_t, max_time) },
	{ "cpus", KIND_U32, offsetof(part_record_t, total_cpus) },
	{ "nodes", KIND_U32, offsetof(part_record_t, total_nodes) },
	{ "state_up", KIND_U16, offsetof(part_record_t, state_up) },
	{ NULL }
};

static const field_t job_fields[] = {
	{ "user_id", KIND_U32, offsetof(job_record_t, user_id) },
	{ "group_id", KIND_U32, offsetof(job_record_t, group_id) },
	{ "account", KIND_STRING, offsetof(job_record_t, account) },
	{ "array_job_id", KIND_U32, offsetof(job_record_t, array_job_id) },
	{ "array_task_id", KIND_U32, offsetof(job_record_t, array_task_id) },
	{ "state", KIND_U32, offsetof(job_record_t, job_state) },
	{ "bit_flags", KIND_U64, offsetof(job_record_t, bit_flags) },
	{ "state_reason", KIND_U32, offsetof(job_record_t, state_reason) },
	{ "priority", KIND_U32, offsetof(job_record_t, priority) },
	{ "direct_set_prio", KIND_U32, offsetof(job_record_t, direct_set_prio) },
	{ "site_factor", KIND_U32, offsetof(job_record_t, site_factor) },
	{ "start_time", KIND_TIME, offsetof(job_record_t, start_time) },
	{ "end_time", KIND_TIME, offsetof(job_record_t, end_time) },
	{ "end_time_exp", KIND_TIME, offsetof(job_record_t, end_time_exp) },
	{ "resize_time", KIND_TIME, offsetof(job_record_t, resize_time) },
	{ "suspend_time", KIND_TIME, offsetof(job_record_t, suspend_time) },
	{ "pre_sus_time", KIND_TIME, offsetof(job_record_t, pre_sus_time) },
	{ "preempt_time", KIND_TIME, offsetof(job_record_t, preempt_time) },
	{ "deadline", KIND_TIME, offsetof(job_record_t, deadline) },
	{ "restart_cnt", KIND_U16, offsetof(job_record_t, restart_cnt) },
	{ "resv_name", KIND_STRING, offsetof(job_record_t, resv_name) },
	{ "wckey", KIND_STRING, offsetof(job_record_t, wckey) },
	{ "time_limit", KIND_U32, offsetof(job_record_t, time_limit) },
	{ "total_cpus", KIND_U32, offsetof(job_record_t, total_cpus) },
	{ "total_nodes", KIND_U32, offsetof(job_record_t, total_nodes) },
	{ "billable_tres", KIND_DOUBLE, offsetof(job_record_t, billable_tres) },
	{ "mcs_label", KIND_STRING, offsetof(job_record_t, mcs_label) },
	{ NULL }
};

static const field_t details_fields[] = {
	{ "accrue_time", KIND_TIME, offsetof(struct job_details, accrue_time) },
	{ "begin_time", KIND_TIME, offsetof(struct job_details, begin_time) },
	{ "submit_time", KIND_TIME, offsetof(struct job_details, submit_time) },
	{ "max_cpus", KIND_U32, offsetof(struct job_details, max_cpus) },
	{ "min_cpus", KIND_U32, offsetof(struct job_details, min_cpus) },
	{ "min_nodes", KIND_U32, offsetof(struct job_details, min_nodes) },
	{ "max_nodes", KIND_U32, offsetof(struct job_details, max_nodes) },
	{ "nice", KIND_U32, offsetof(struct job_details, nice) },
	{ "tmp_disk", KIND_U32, offsetof(struct job_details, pn_min_tmp_disk) },
	{ NULL }
};

static size_t padding[PADDED];

size_t padded(enum padded what, size_t size)
{
	return size + padding[what];
}

/* pad job=8 details=8 part=8 assoc=8: records made from now on are larger by so many bytes. */
int command_pad(request_t *request)
{
	static const char *const names[PADDED] = { "job", "details", "part", "assoc" };

	for (int i = 0; i < PADDED; i++)
		padding[i] = number(request, names[i], padding[i]);
	return 0;
}

/* Job id → record, chained by job_next as in slurmctld with a MaxJobCount of a million. */
#define BUCKETS (1 << 20)
static job_record_t *by_id[BUCKETS];

static job_record_t **bucket_of(uint32_t id)
{
	job_record_t **link = &by_id[id % BUCKETS];

	while (*link && (*link)->job_id != id)
		link = &(*link)->job_next;
	return link;
}

static void part_free(void *record)
{
	part_record_t *part = record;

	xfree(part->name);
	xfree(part->billing_weights_str);
	xfree(part->billing_weights);
	xfree(part->tres_cnt);
	xfree(part);
}

static void details_free(job_record_t *job)
{
	xfree(job->details);
}

/* Each job has a reservation record of its own. */
static void resv_free(job_record_t *job)
{
	if (job->resv_ptr)
		xfree(job->resv_ptr->name);
	xfree(job->resv_ptr);
}

static void set_reservation(job_record_t *job, const char *name)
{
	if (!name)
		return;
	resv_free(job);
	if (!*name)
		return;
	job->resv_ptr = xmalloc(sizeof(*job->resv_ptr));
	job->resv_ptr->magic = 0x3b82; /* RESV_MAGIC */
	job->resv_ptr->name = xstrdup(name);
}

void job_free(void *record)
{
	job_record_t *job = record;

	*bucket_of(job->job_id) = job->job_next;
	details_free(job);
	if (job->prio_factors)
		slurm_destroy_priority_factors_object(job->prio_factors);
	FREE_NULL_LIST(job->part_ptr_list);
	xfree(job->priority_array);
	xfree(job->account);
	xfree(job->partition);
	xfree(job->mcs_label);
	xfree(job->resv_name);
	xfree(job->wckey);
	resv_free(job);
	xfree(job->tres_req_cnt);
	xfree(job->tres_alloc_cnt);
	xfree(job);
}

void jobs_create(void)
{
	part_list = list_create(part_free);
	job_list = list_create(job_free);
}

void jobs_destroy(void)
{
	FREE_NULL_LIST(job_list);
	FREE_NULL_LIST(part_list);
}

/* repart: a new list of the same partitions, made while the old one is there, as at a reconfigure of old releases. */
int command_repart(request_t *request)
{
	List old;

	(void) request;
	lock_slurmctld(write_locks);
	old = part_list;
	part_list = list_create(part_free);
	list_transfer(part_list, old);
	list_destroy(old);
	unlock_slurmctld(write_locks);
	return 0;
}

static part_record_t *part_named(const char *name)
{
	ListIterator parts = list_iterator_create(part_list);
	part_record_t *part;

	while ((part = list_next(parts)))
		if (!strcmp(part->name, name))
			break;
	list_iterator_destroy(parts);
	return part;
}

/* The partitions' normalised priority, as slurmctld computes it whenever one changes. */
static void normalise_parts(void)
{
	ListIterator parts = list_iterator_create(part_list);
	part_record_t *part;
	uint16_t highest = 0;

	while ((part = list_next(parts)))
		if (part->priority_job_factor > highest)
			highest = part->priority_job_factor;
	list_iterator_reset(parts);
	while ((part = list_next(parts)))
		part->norm_priority = highest ? (double) part->priority_job_factor / (double) highest : 0;
	list_iterator_destroy(parts);
}

/* part name=batch factor=100 tier=1 max_time=60 tres=1=100,4=10 qos=2 billing_weights=CPU=1.0,Mem=0.25G norm=0.5 */
int command_part(request_t *request)
{
	char *name = argument(request, "name");
	char *tres = argument(request, "tres");
	char *weights = argument(request, "billing_weights");
	part_record_t *part;
	int rc = 0;

	if (!name)
		return fail("part needs a name");
	lock_slurmctld(write_locks);
	part = part_named(name);
	if (part && number(request, "delete", 0)) {
		/* No job may point to it any more. */
		list_delete_ptr(part_list, part);
		unlock_slurmctld(write_locks);
		return 0;
	}
	if (!part) {
		part = xmalloc(padded(PAD_PART, sizeof(*part)));
		part->magic = PART_MAGIC;
		part->name = xstrdup(name);
		part->priority_tier = 1;
		part->max_time = INFINITE;
		part->state_up = PARTITION_UP;
		list_append(part_list, part);
	}
	if (!part->tres_cnt)
		part->tres_cnt = xcalloc(slurmctld_tres_cnt, sizeof(uint64_t));
	rc = parse_tres(tres, part->tres_cnt, false);
	if (argument(request, "qos"))
		part->qos_ptr = find_qos(number(request, "qos", 0));
	if (weights) {
		xfree(part->billing_weights_str);
		xfree(part->billing_weights);
		part->billing_weights_str = xstrdup(weights);
		part->billing_weights = slurm_get_tres_weight_array(weights, slurmctld_tres_cnt, true);
	}
	set_fields(request, part, part_fields);
	normalise_parts();
	set_fields(request, part, part_fields); /* `norm` wins */
	last_part_update = time(NULL);
	unlock_slurmctld(write_locks);
	return rc;
}

job_record_t *job_new(uint32_t id)
{
	job_record_t *job = xmalloc(padded(PAD_JOB, sizeof(*job)));

	job->magic = JOB_MAGIC;
	job->job_id = id;
	job->array_task_id = NO_VAL;
	job->priority = NO_VAL;
	job->site_factor = NICE_OFFSET;
	job->time_limit = NO_VAL;
	job->billable_tres = (double) NO_VAL;
	job->details = xmalloc(padded(PAD_DETAILS, sizeof(*job->details)));
	job->details->magic = DETAILS_MAGIC;
	job->details->submit_time = time(NULL);
	job->details->nice = NICE_OFFSET;
	job->details->min_cpus = 1;
	job->details->max_cpus = NO_VAL;
	job->details->min_nodes = 1;
	*bucket_of(id) = job;
	return job;
}

job_record_t *find_job(uint32_t id)
{
	return *bucket_of(id);
}

/* One name: the job's partition. Several: the list as well, and the first is the partition. */
static int set_partitions(job_record_t *job, char *names)
{
	char *rest = NULL;
	bool many = strchr(names, ',');

	xfree(job->partition);
	job->partition = xstrdup(names);
	FREE_NULL_LIST(job->part_ptr_list);
	xfree(job->priority_array);
	job->part_ptr = NULL;
	if (many)
		job->part_ptr_list = list_create(NULL);
	for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		part_record_t *part = part_named(name);
		if (!part)
			return fail("no partition '%s'", name);
		if (!job->part_ptr)
			job->part_ptr = part;
		if (many)
			list_append(job->part_ptr_list, part);
	}
	return 0;
}

static int set_tres(uint64_t **array, const char *text)
{
	if (!text)
		return 0;
	xfree(*array);
	if (*text)
		*array = xcalloc(slurmctld_tres_cnt, sizeof(uint64_t));
	return parse_tres(text, *array, false);
}

static int set_pointers(request_t *request, job_record_t *job, slurmdb_assoc_rec_t *assoc)
{
	char *partitions = argument(request, "partitions");

	if (argument(request, "assoc")) {
		job->assoc_ptr = assoc;
		job->assoc_id = assoc ? assoc->id : 0;
	}
	if (assoc) {
		xfree(job->account);
		job->account = xstrdup(assoc->acct);
		if (assoc->user)
			job->user_id = assoc->uid;
	}
	if (argument(request, "qos")) {
		job->qos_id = number(request, "qos", 0);
		job->qos_ptr = find_qos(job->qos_id);
		if (job->qos_id && !job->qos_ptr)
			return fail("no QOS %u", job->qos_id);
	}
	if (number(request, "qos_by_id", 0))
		job->qos_ptr = NULL;
	return partitions ? set_partitions(job, partitions) : 0;
}

/*
 * job id=1 assoc=5 user_id=1001 qos=1 partitions=a,b state=0 nice=… tres_req=1=4 tres_alloc=1=4 details=0 …
 *
 * Makes the job if there is none with this id, else changes what is given. nice and site_factor carry NICE_OFFSET.
 */
int command_job(request_t *request)
{
	uint32_t id = number(request, "id", 0);
	uint32_t assoc_id = number(request, "assoc", 0);
	slurmdb_assoc_rec_t *assoc = assoc_id ? find_assoc(assoc_id) : NULL;
	job_record_t *job;
	int rc;

	if (!id)
		return fail("job needs an id");
	if (assoc_id && !assoc)
		return fail("no association %u", assoc_id);
	lock_slurmctld(write_locks);
	if (!(job = find_job(id))) {
		job = job_new(id);
		list_append(job_list, job);
	}
	set_reservation(job, argument(request, "reservation"));
	rc = set_pointers(request, job, assoc);
	set_fields(request, job, job_fields);
	if (job->details)
		set_fields(request, job->details, details_fields);
	if (!rc)
		rc = set_tres(&job->tres_req_cnt, argument(request, "tres_req"));
	if (!rc)
		rc = set_tres(&job->tres_alloc_cnt, argument(request, "tres_alloc"));
	if (!number(request, "details", 1))
		details_free(job);
	last_job_update = time(NULL);
	unlock_slurmctld(write_locks);
	return rc;
}

static int is_job(void *record, void *key)
{
	return record == key;
}

/* jobdel id=1 */
int command_job_delete(request_t *request)
{
	job_record_t *job;

	lock_slurmctld(write_locks);
	job = find_job(number(request, "id", 0));
	if (job)
		list_delete_all(job_list, is_job, job);
	unlock_slurmctld(write_locks);
	return job ? 0 : fail("no such job");
}

void jobs_forget_assoc(const slurmdb_assoc_rec_t *assoc)
{
	ListIterator jobs = list_iterator_create(job_list);
	job_record_t *job;

	while ((job = list_next(jobs)))
		if (assoc && job->assoc_ptr == assoc)
			job->assoc_ptr = NULL;
	list_iterator_destroy(jobs);
}
