// SPDX-License-Identifier: GPL-2.0-or-later
//
// Usage of associations and QOSes: setting it, and dumping it as exact hexadecimal numbers.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const assoc_mgr_lock_t write_locks = { .assoc = WRITE_LOCK, .qos = WRITE_LOCK, .tres = READ_LOCK };
static const assoc_mgr_lock_t read_locks = { .assoc = READ_LOCK, .qos = READ_LOCK, .tres = READ_LOCK };

/* What one usage request carries. */
typedef struct {
	const char *raw, *wall, *tres, *run_secs;
} amounts_t;

static amounts_t read_amounts(request_t *request)
{
	return (amounts_t){ .raw = argument(request, "raw"),
			    .wall = argument(request, "wall"),
			    .tres = argument(request, "tres"),
			    .run_secs = argument(request, "run_secs") };
}

static int store(slurmdb_assoc_usage_t *usage, const amounts_t *amounts)
{
	if (amounts->raw)
		usage->usage_raw = strtold(amounts->raw, NULL);
	if (amounts->wall)
		usage->grp_used_wall = strtod(amounts->wall, NULL);
	return parse_tres(amounts->tres, usage->usage_tres_raw, true) ||
	       parse_tres(amounts->run_secs, usage->grp_used_tres_run_secs, false) ? -1 : 0;
}

static int add(slurmdb_assoc_usage_t *usage, const amounts_t *amounts)
{
	long double tres[g_tres_count];
	uint64_t run_secs[g_tres_count];

	for (int i = 0; i < g_tres_count; i++) {
		tres[i] = 0;
		run_secs[i] = 0;
	}
	if (parse_tres(amounts->tres, tres, true) || parse_tres(amounts->run_secs, run_secs, false))
		return -1;
	if (amounts->raw)
		usage->usage_raw += strtold(amounts->raw, NULL);
	if (amounts->wall)
		usage->grp_used_wall += strtod(amounts->wall, NULL);
	for (int i = 0; i < g_tres_count; i++) {
		usage->usage_tres_raw[i] += tres[i];
		usage->grp_used_tres_run_secs[i] += run_secs[i];
	}
	return 0;
}

static int store_leaf(slurmdb_assoc_rec_t *assoc, const amounts_t *amounts)
{
	if (!assoc->leaf_usage)
		assoc->leaf_usage = slurmdb_create_assoc_usage(g_tres_count);
	return store(assoc->leaf_usage, amounts);
}

/*
 * usage id=5 raw=100 wall=10 tres=1=100,2=5 run_secs=… mode=load|only|leaf
 *
 * load: as slurmctld loads its saved usage: the amounts become the leaf usage and are added to all ancestors.
 * only: this record alone, whatever its parents have. leaf: only the usage of an account's deleted users.
 */
int command_usage(request_t *request)
{
	assoc_mgr_lock_t locks = write_locks;
	amounts_t amounts = read_amounts(request);
	const char *mode = argument(request, "mode");
	slurmdb_assoc_rec_t *assoc = find_assoc(number(request, "id", 0));
	int rc = 0;

	if (!assoc)
		return fail("usage: no such association");
	assoc_mgr_lock(&locks);
	if (!xstrcmp(mode, "only")) {
		rc = store(assoc->usage, &amounts);
	} else if (!xstrcmp(mode, "leaf")) {
		rc = store_leaf(assoc, &amounts);
	} else {
		rc = store_leaf(assoc, &amounts);
		if (assoc->leaf_usage == assoc->usage)
			assoc = assoc->usage->parent_assoc_ptr;
		for (; assoc && !rc; assoc = assoc->usage->parent_assoc_ptr)
			rc = add(assoc->usage, &amounts);
	}
	assoc_mgr_unlock(&locks);
	return rc;
}

/* qosusage id=1 raw=100 wall=10 tres=1=100 run_secs=1=1000 */
int command_qos_usage(request_t *request)
{
	assoc_mgr_lock_t locks = write_locks;
	amounts_t amounts = read_amounts(request);
	slurmdb_qos_rec_t *qos = find_qos(number(request, "id", 0));
	int rc;

	if (!qos)
		return fail("qosusage: no such QOS");
	assoc_mgr_lock(&locks);
	if (amounts.raw)
		qos->usage->usage_raw = strtold(amounts.raw, NULL);
	if (amounts.wall)
		qos->usage->grp_used_wall = strtod(amounts.wall, NULL);
	rc = parse_tres(amounts.tres, qos->usage->usage_tres_raw, true) ||
	     parse_tres(amounts.run_secs, qos->usage->grp_used_tres_run_secs, false) ? -1 : 0;
	assoc_mgr_unlock(&locks);
	return rc;
}

/* resetusage assoc=5 qos=1: what `sacctmgr modify ... set RawUsage=0` does in slurmctld. */
int command_reset_usage(request_t *request)
{
	assoc_mgr_lock_t locks = write_locks;
	slurmdb_assoc_rec_t *assoc = find_assoc(number(request, "assoc", 0));
	slurmdb_qos_rec_t *qos = find_qos(number(request, "qos", 0));

	if (!assoc && !qos)
		return fail("resetusage: no such association or QOS");
	assoc_mgr_lock(&locks);
	if (assoc)
		assoc_mgr_remove_assoc_usage(assoc);
	if (qos)
		assoc_mgr_remove_qos_usage(qos);
	assoc_mgr_unlock(&locks);
	return 0;
}

/* save: as slurmctld does every five minutes and when it ends. */
int command_save(request_t *request)
{
	int rc = dump_assoc_mgr_state();

	(void) request;
	locks_expect_none("save");
	return rc ? fail("dump_assoc_mgr_state returned %d", rc) : 0;
}

static void clear(long double *raw, double *wall, long double *tres)
{
	*raw = *wall = 0;
	memset(tres, 0, g_tres_count * sizeof(*tres));
}

/* load: as slurmctld does when it starts, with the lists as they are but no usage in them. */
int command_load(request_t *request)
{
	assoc_mgr_lock_t locks = write_locks;
	ListIterator all = list_iterator_create(assoc_mgr_assoc_list);
	slurmdb_assoc_rec_t *assoc;
	slurmdb_qos_rec_t *qos;
	int rc;

	(void) request;
	assoc_mgr_lock(&locks);
	while ((assoc = list_next(all))) {
		slurmdb_assoc_usage_t *leaf = assoc->leaf_usage, *usage = assoc->usage;
		clear(&usage->usage_raw, &usage->grp_used_wall, usage->usage_tres_raw);
		if (leaf && leaf != usage)
			clear(&leaf->usage_raw, &leaf->grp_used_wall, leaf->usage_tres_raw);
	}
	list_iterator_destroy(all);
	all = list_iterator_create(assoc_mgr_qos_list);
	while ((qos = list_next(all)))
		clear(&qos->usage->usage_raw, &qos->usage->grp_used_wall, qos->usage->usage_tres_raw);
	list_iterator_destroy(all);
	assoc_mgr_unlock(&locks);
	/* Without a file there is nothing to load, as in a new cluster. */
	rc = load_assoc_usage();
	if (!rc || rc == ENOENT)
		rc = load_qos_usage();
	return rc && rc != ENOENT ? fail("the saved usage cannot be loaded: %d", rc) : 0;
}

static void show_long_doubles(const char *key, const long double *values)
{
	say_part(" %s=", key);
	for (int i = 0; values && i < g_tres_count; i++)
		say_part("%s%La", i ? "," : "", values[i]);
}

static void show_counts(const char *key, const uint64_t *values)
{
	say_part(" %s=", key);
	for (int i = 0; values && i < g_tres_count; i++)
		say_part("%s%lu", i ? "," : "", values[i]);
}

/* assocs: every association in the order of Slurm's list. */
int command_dump_assocs(request_t *request)
{
	assoc_mgr_lock_t locks = read_locks;
	ListIterator all = list_iterator_create(assoc_mgr_assoc_list);
	slurmdb_assoc_rec_t *assoc;
	uint32_t only = number(request, "id", 0);

	assoc_mgr_lock(&locks);
	while ((assoc = list_next(all))) {
		slurmdb_assoc_usage_t *usage = assoc->usage;
		if (only && assoc->id != only)
			continue;
		say_part("| assoc id=%u parent=%u uid=%u acct=%s user=%s shares=%u level_shares=%u", assoc->id,
			 assoc->parent_id, assoc->uid, assoc->acct, assoc->user ? assoc->user : "",
			 assoc->shares_raw, usage->level_shares);
		say_part(" usage_raw=%La usage_norm=%La usage_efctv=%La shares_norm=%a fs_factor=%a level_fs=%La"
			 " priority_norm=%a grp_used_wall=%a",
			 usage->usage_raw, usage->usage_norm, usage->usage_efctv, usage->shares_norm,
			 usage->fs_factor, usage->level_fs, usage->priority_norm, usage->grp_used_wall);
		show_long_doubles("usage_tres_raw", usage->usage_tres_raw);
		show_counts("run_secs", usage->grp_used_tres_run_secs);
		if (assoc->leaf_usage) {
			say_part(" leaf_usage_raw=%La leaf_grp_used_wall=%a", assoc->leaf_usage->usage_raw,
				 assoc->leaf_usage->grp_used_wall);
			show_long_doubles("leaf_usage_tres_raw", assoc->leaf_usage->usage_tres_raw);
		}
		say_part("\n");
	}
	assoc_mgr_unlock(&locks);
	list_iterator_destroy(all);
	return 0;
}

/* qoses: every QOS. */
int command_dump_qos(request_t *request)
{
	assoc_mgr_lock_t locks = read_locks;
	ListIterator all = list_iterator_create(assoc_mgr_qos_list);
	slurmdb_qos_rec_t *qos;

	(void) request;
	assoc_mgr_lock(&locks);
	while ((qos = list_next(all))) {
		say_part("| qos id=%u name=%s norm_priority=%a usage_raw=%La grp_used_wall=%a", qos->id, qos->name,
			 qos->usage->norm_priority, qos->usage->usage_raw, qos->usage->grp_used_wall);
		show_long_doubles("usage_tres_raw", qos->usage->usage_tres_raw);
		show_counts("run_secs", qos->usage->grp_used_tres_run_secs);
		say_part("\n");
	}
	assoc_mgr_unlock(&locks);
	list_iterator_destroy(all);
	return 0;
}
