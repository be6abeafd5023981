// SPDX-License-Identifier: GPL-2.0-or-later
//
// Shared declarations of the in-process host: a program that takes slurmctld's place around a priority plugin,
// so that a test can set every input, stop the clock and read every output to the last bit.
#ifndef INPROC_HOST_H
#define INPROC_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "src/common/assoc_mgr.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/slurm_priority.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

/* request.c: one line `verb key=value …` in, data lines `| …` and one line `ok` or `error …` out. */

#define MAX_ARGUMENTS 96

typedef struct {
	char *verb;
	int count;
	char *key[MAX_ARGUMENTS];
	char *value[MAX_ARGUMENTS];
	bool used[MAX_ARGUMENTS];
} request_t;

enum kind { KIND_U16, KIND_U32, KIND_U64, KIND_TIME, KIND_DOUBLE, KIND_STRING };

/* One settable field of a record. */
typedef struct {
	const char *name;
	enum kind kind;
	size_t offset;
} field_t;

/* Run the command loop until end of input or `quit`. */
void serve(void);
/* Print one data line. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Start, continue and end a data line in pieces. */
void say_part(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Remember why the command failed; always returns -1. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The value of an argument, or NULL; marks the argument as understood. */
char *argument(request_t *request, const char *key);
uint64_t number(request_t *request, const char *key, uint64_t otherwise);
/* Store every argument that the table names into the record; returns how many there were. */
int set_fields(request_t *request, void *record, const field_t *table);

/* clock.c: the fixed clock, and decay cycles on demand. */

typedef struct {
	unsigned completed;   /* times that the decay thread has come to its timed wait */
	uint64_t cpu_ns;      /* processor time of the last stretch between two waits */
	bool waiting;
} cycle_t;

void clock_fix(time_t seconds);
void clock_release(void);
/* Real monotonic time and processor time of the calling thread, in nanoseconds. */
uint64_t real_ns(void);
uint64_t thread_cpu_ns(void);
cycle_t cycle_state(void);
/* Wait until the decay thread has come to its timed wait more often than `seen` times. */
int cycle_wait(unsigned seen, unsigned timeout_seconds);
/* End the decay thread's timed wait as if its period had passed; tells how many cycles were complete before. */
int cycle_trigger(unsigned timeout_seconds, unsigned *completed);

/* locks.c: slurmctld's locks with a check of the rules. */

void locks_expect_none(const char *after);
void locks_report(void);
void locks_reset(void);
/* Watch the association manager's locks, or leave them alone; while the decay thread is idle. */
int locks_check(bool check);
/* The calling thread must hold this slurmctld lock at least at this level. */
void locks_require(lock_datatype_t what, lock_level_t level, const char *caller);

/* exports.c: what slurmctld would give the plugin. */

/* Give a user name the uid that a lookup must return. */
void remember_uid(const char *name, uid_t uid);
void forget_uids(void);

/* tree.c: TRES, QOS, users and associations. */

void tree_create(void);
void tree_destroy(void);
int command_tres(request_t *request);
int command_totals(request_t *request);
int command_qos(request_t *request);
int command_user(request_t *request);
int command_assoc(request_t *request);
int command_commit(request_t *request);
slurmdb_assoc_rec_t *find_assoc(uint32_t id);
slurmdb_qos_rec_t *find_qos(uint32_t id);
/* Read "id=count,id=count" into an array with one entry per TRES. */
int parse_tres(const char *text, void *array, bool floating);

/* usage.c: usage of associations and QOSes. */

int command_load(request_t *request);
int command_save(request_t *request);
int command_usage(request_t *request);
int command_qos_usage(request_t *request);
int command_reset_usage(request_t *request);
int command_dump_assocs(request_t *request);
int command_dump_qos(request_t *request);

/* jobs.c, factors.c: partitions and jobs. */

void jobs_create(void);
void jobs_destroy(void);
void job_free(void *record);
job_record_t *job_new(uint32_t id);
job_record_t *find_job(uint32_t id);
int command_part(request_t *request);
int command_repart(request_t *request);
int command_stop(request_t *request);
int command_job(request_t *request);
int command_job_delete(request_t *request);
void jobs_forget_assoc(const slurmdb_assoc_rec_t *assoc);
int command_dump_jobs(request_t *request);
int command_factors(request_t *request);

/* Records that a test can make larger than Slurm's, as a patched Slurm would. */
enum padded { PAD_JOB, PAD_DETAILS, PAD_PART, PAD_ASSOC, PADDED };
size_t padded(enum padded what, size_t size);
int command_pad(request_t *request);

/* bench.c: many jobs, and measurements. */

int command_bulk_jobs(request_t *request);
int command_vary(request_t *request);
int command_digest(request_t *request);
int command_bench_lines(request_t *request);
int command_bench_set(request_t *request);

#endif
