// SPDX-License-Identifier: GPL-2.0-or-later
//
// Start, the table of commands, and the calls into the plugin through Slurm's own loader.
//
//   host <slurm.conf> <first time> <log level>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"

int run_command(request_t *request);

static const slurmctld_lock_t job_locks = { .job = WRITE_LOCK, .node = READ_LOCK, .part = READ_LOCK };

#define CONF(name, kind) { #name, kind, offsetof(slurm_conf_t, name) }
static const field_t conf_fields[] = {
	CONF(accounting_storage_type, KIND_STRING),
	CONF(debug_flags, KIND_U64),
	CONF(fs_dampening_factor, KIND_U16),
	CONF(plugindir, KIND_STRING),
	CONF(priority_calc_period, KIND_U32),
	CONF(priority_decay_hl, KIND_U32),
	CONF(priority_favor_small, KIND_U16),
	CONF(priority_flags, KIND_U16),
	CONF(priority_max_age, KIND_U32),
	CONF(priority_params, KIND_STRING),
	CONF(priority_reset_period, KIND_U16),
	CONF(priority_type, KIND_STRING),
	CONF(priority_weight_age, KIND_U32),
	CONF(priority_weight_assoc, KIND_U32),
	CONF(priority_weight_fs, KIND_U32),
	CONF(priority_weight_js, KIND_U32),
	CONF(priority_weight_part, KIND_U32),
	CONF(priority_weight_qos, KIND_U32),
	CONF(priority_weight_tres, KIND_STRING),
	CONF(private_data, KIND_U16),
	CONF(site_factor_params, KIND_STRING),
	CONF(site_factor_plugin, KIND_STRING),
	CONF(state_save_location, KIND_STRING),
	{ NULL }
};

/* conf priority_weight_age=1000 … cluster_cpus=100 nodes=10 enforce=0x… */
static int command_conf(request_t *request)
{
	slurmctld_lock_t locks = { .conf = WRITE_LOCK };

	lock_slurmctld(locks);
	set_fields(request, &slurm_conf, conf_fields);
	cluster_cpus = number(request, "cluster_cpus", cluster_cpus);
	node_record_count = number(request, "nodes", node_record_count);
	accounting_enforce = number(request, "enforce", accounting_enforce);
	slurm_conf.accounting_storage_enforce = accounting_enforce;
	ignore_state_errors = number(request, "ignore_state_errors", ignore_state_errors);
	unlock_slurmctld(locks);
	return 0;
}

/* clock now=1700000000 | advance=60 | real=1 */
static int command_clock(request_t *request)
{
	char *now = argument(request, "now"), *advance = argument(request, "advance");

	if (now)
		clock_fix(strtoll(now, NULL, 0));
	else if (advance)
		clock_fix(time(NULL) + strtoll(advance, NULL, 0));
	else if (number(request, "real", 0))
		clock_release();
	say("clock now=%ld", (long) time(NULL));
	return 0;
}

static void show_cycle(void)
{
	cycle_t state = cycle_state();

	say("cycle completed=%u cpu_ns=%lu", state.completed, state.cpu_ns);
}

/* Cycles that were completed when the plugin was last unloaded. A request before `init` may have loaded it since. */
static unsigned completed_before;

/* init [wait=0]: loads the plugin and waits until its decay thread has run its first cycle. */
static int command_init(request_t *request)
{
	int rc = priority_g_init();

	locks_expect_none("init");
	if (rc)
		return fail("priority_g_init returned %d", rc);
	if (number(request, "wait", 1)) {
		if (cycle_wait(completed_before, number(request, "timeout", 60)))
			return -1;
		show_cycle();
	}
	return 0;
}

static int command_fini(request_t *request)
{
	int rc = priority_g_fini();

	(void) request;
	locks_expect_none("fini");
	completed_before = cycle_state().completed;
	return rc ? fail("priority_g_fini returned %d", rc) : 0;
}

/* cycle: the decay thread runs once more, now. cycle wait=0: only start it; `await seen=…` waits for its end. */
static int command_cycle(request_t *request)
{
	unsigned timeout = number(request, "timeout", 60), completed;

	if (cycle_trigger(timeout, &completed))
		return -1;
	if (!number(request, "wait", 1)) {
		say("cycle completed=%u cpu_ns=0", completed);
		return 0;
	}
	if (cycle_wait(completed, timeout))
		return -1;
	show_cycle();
	return 0;
}

static int command_await(request_t *request)
{
	if (cycle_wait(number(request, "seen", 0), number(request, "timeout", 60)))
		return -1;
	show_cycle();
	return 0;
}

/* set id=1 last=0 store=1: priority_g_set under the job write lock, as at submission. */
static int command_set(request_t *request)
{
	job_record_t *job = find_job(number(request, "id", 0));
	uint32_t last = number(request, "last", 0);
	uint32_t priority;

	if (!job)
		return fail("no such job");
	lock_slurmctld(job_locks);
	priority = priority_g_set(last, job);
	if (number(request, "store", 1))
		job->priority = priority;
	unlock_slurmctld(job_locks);
	locks_expect_none("set");
	say("priority value=%u", priority);
	return 0;
}

static int command_job_end(request_t *request)
{
	job_record_t *job = find_job(number(request, "id", 0));

	if (!job)
		return fail("no such job");
	lock_slurmctld(job_locks);
	priority_g_job_end(job);
	unlock_slurmctld(job_locks);
	locks_expect_none("job_end");
	return 0;
}

static int command_reconfig(request_t *request)
{
	priority_g_reconfig(number(request, "assoc_clear", 0));
	locks_expect_none("reconfig");
	return 0;
}

/* setusage id=5: priority_g_set_assoc_usage under the association read lock, as in assoc_mgr_get_shares(). */
static int command_set_usage(request_t *request)
{
	assoc_mgr_lock_t locks = { .assoc = READ_LOCK };
	slurmdb_assoc_rec_t *assoc = find_assoc(number(request, "id", 0));

	if (!assoc)
		return fail("no such association");
	assoc_mgr_lock(&locks);
	priority_g_set_assoc_usage(assoc);
	assoc_mgr_unlock(&locks);
	locks_expect_none("set_assoc_usage");
	return 0;
}

/* fsfactor efctv=0.5 shares=0.25: priority_g_calc_fs_factor. */
static int command_fs_factor(request_t *request)
{
	char *efctv = argument(request, "efctv"), *shares = argument(request, "shares");

	if (!efctv || !shares)
		return fail("fsfactor needs efctv and shares");
	say("factor value=%a", priority_g_calc_fs_factor(strtold(efctv, NULL), strtold(shares, NULL)));
	return 0;
}

/* locks [reset=1] | locks check=0|1 */
static int command_locks(request_t *request)
{
	if (argument(request, "check"))
		return locks_check(number(request, "check", 1));
	locks_report();
	if (number(request, "reset", 0))
		locks_reset();
	return 0;
}

static int command_state(request_t *request)
{
	(void) request;
	say("state version=%s api=%ld jobs=%d last_job_update=%ld last_part_update=%ld tres=%d", SLURM_VERSION_STRING,
	    slurm_api_version(), list_count(job_list), (long) last_job_update, (long) last_part_update,
	    slurmctld_tres_cnt);
	return 0;
}

static int command_quit(request_t *request)
{
	return command_fini(request);
}

int run_command(request_t *request)
{
	static const struct {
		const char *verb;
		int (*run)(request_t *request);
	} commands[] = {
		{ "assoc", command_assoc },          { "assocs", command_dump_assocs },
		{ "await", command_await },          { "benchset", command_bench_set },
		{ "benchlines", command_bench_lines },
		{ "bulkjobs", command_bulk_jobs },   { "digest", command_digest },
		{ "vary", command_vary },
		{ "clock", command_clock },          { "commit", command_commit },
		{ "conf", command_conf },            { "cycle", command_cycle },
		{ "factors", command_factors },      { "fini", command_fini },
		{ "fsfactor", command_fs_factor },   { "init", command_init },
		{ "job", command_job },              { "jobdel", command_job_delete },
		{ "jobend", command_job_end },       { "jobs", command_dump_jobs },
		{ "load", command_load },            { "save", command_save },
		{ "locks", command_locks },          { "pad", command_pad },
		{ "part", command_part },
		{ "qos", command_qos },              { "qoses", command_dump_qos },
		{ "qosusage", command_qos_usage },   { "quit", command_quit },
		{ "reconfig", command_reconfig },    { "repart", command_repart },
		{ "resetusage", command_reset_usage },
		{ "set", command_set },
		{ "setusage", command_set_usage },   { "state", command_state },
		{ "stop", command_stop },            { "totals", command_totals },
		{ "tres", command_tres },            { "usage", command_usage },
		{ "user", command_user },
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(request->verb, commands[i].verb))
			return commands[i].run(request);
	return fail("unknown command '%s'", request->verb);
}

int main(int count, char **arguments)
{
	log_options_t log = LOG_OPTS_STDERR_ONLY;
	plugin_handle_t other;

	if (count != 4) {
		fprintf(stderr, "usage: %s slurm.conf first-time log-level\n", arguments[0]);
		return 2;
	}
	clock_fix(strtoll(arguments[2], NULL, 10));
	log.stderr_level = log_string2num(arguments[3]);
	log_init(arguments[0], log, 0, NULL);
	if (slurm_conf_init(arguments[1]) != SLURM_SUCCESS)
		fatal("cannot read %s", arguments[1]);
	accounting_enforce = slurm_conf.accounting_storage_enforce;
	cluster_cpus = 1;
	node_record_count = 1;
	/* slurmctld has other plugins loaded long before this one; some find their release through them. */
	other = plugin_load_and_link("hash/k12", 0, NULL, NULL);
	if (other == PLUGIN_INVALID_HANDLE)
		fatal("cannot load the hash plugin");
	tree_create();
	jobs_create();
	serve();
	jobs_destroy();
	tree_destroy();
	plugin_unload(other);
	slurm_conf_destroy();
	log_fini();
	return 0;
}
