// SPDX-License-Identifier: GPL-2.0-or-later
//
// The association manager's content: TRES, QOS, users and associations. Everything goes in as the updates that
// slurmdbd would send, so that Slurm's own code links parents and children, normalises shares and priorities.
#include <stdlib.h>
#include <string.h>

#include "host.h"

uint16_t running_cache;
/* Associations that wait for `commit`: adding one at a time would walk the whole tree each time. */
static List new_assocs, changed_assocs, removed_assocs;

static List tres_list;

static void add_tres(uint32_t id, const char *type, const char *name)
{
	slurmdb_tres_rec_t *tres = xmalloc(sizeof(*tres));

	tres->id = id;
	tres->type = xstrdup(type);
	tres->name = name ? xstrdup(name) : NULL;
	list_append(tres_list, tres);
}

static void *copy_tres(void *record)
{
	return slurmdb_copy_tres_rec(record);
}

/* Hand the whole list of TRES to the association manager. */
static void post_tres(void)
{
	assoc_mgr_lock_t locks = { .assoc = WRITE_LOCK, .qos = WRITE_LOCK, .tres = WRITE_LOCK };
	List copies = list_create(slurmdb_destroy_tres_rec);
	ListIterator all = list_iterator_create(tres_list);
	slurmdb_tres_rec_t *tres;

	while ((tres = list_next(all)))
		list_append(copies, copy_tres(tres));
	list_iterator_destroy(all);
	assoc_mgr_lock(&locks);
	assoc_mgr_post_tres_list(copies);
	assoc_mgr_unlock(&locks);
	slurmctld_tres_cnt = g_tres_count;
}

void tree_create(void)
{
	assoc_init_args_t arguments = { .running_cache = &running_cache,
					.state_save_location = &slurm_conf.state_save_location };

	assoc_mgr_assoc_list = list_create(slurmdb_destroy_assoc_rec);
	assoc_mgr_user_list = list_create(slurmdb_destroy_user_rec);
	assoc_mgr_qos_list = list_create(slurmdb_destroy_qos_rec);
	new_assocs = list_create(slurmdb_destroy_assoc_rec);
	changed_assocs = list_create(slurmdb_destroy_assoc_rec);
	removed_assocs = list_create(slurmdb_destroy_assoc_rec);
	tres_list = list_create(slurmdb_destroy_tres_rec);

	/* As slurmctld when it runs from its cache: nothing is asked of a database. */
	running_cache = RUNNING_CACHE_STATE_RUNNING;
	assoc_mgr_init(NULL, &arguments, SLURM_SUCCESS);

	add_tres(TRES_CPU, "cpu", NULL);
	add_tres(TRES_MEM, "mem", NULL);
	add_tres(TRES_ENERGY, "energy", NULL);
	add_tres(TRES_NODE, "node", NULL);
	add_tres(TRES_BILLING, "billing", NULL);
	add_tres(TRES_FS_DISK, "fs", "disk");
	add_tres(TRES_VMEM, "vmem", NULL);
	add_tres(TRES_PAGES, "pages", NULL);
	post_tres();
}

void tree_destroy(void)
{
	/* The root is destroyed with the list; nobody may look at it afterwards. */
	assoc_mgr_fini(false);
	FREE_NULL_LIST(new_assocs);
	FREE_NULL_LIST(changed_assocs);
	FREE_NULL_LIST(removed_assocs);
	FREE_NULL_LIST(tres_list);
	forget_uids();
}

/* tres id=1001 type=gres name=gpu: before the first QOS and association. */
int command_tres(request_t *request)
{
	char *type = argument(request, "type");
	char *name = argument(request, "name");
	uint32_t id = number(request, "id", 0);

	if (!type || !id)
		return fail("tres needs id and type");
	if (list_count(assoc_mgr_assoc_list) || list_count(assoc_mgr_qos_list))
		return fail("TRES must come before the QOSes and associations");
	add_tres(id, type, name);
	post_tres();
	return 0;
}

/* totals counts=1=200,1001=16: what the cluster has of each TRES, as set_cluster_tres in slurmctld writes it. */
int command_totals(request_t *request)
{
	assoc_mgr_lock_t locks = { .tres = WRITE_LOCK };
	uint64_t counts[g_tres_count];
	int rc;

	assoc_mgr_lock(&locks);
	for (uint32_t i = 0; i < g_tres_count; i++)
		counts[i] = assoc_mgr_tres_array[i]->count;
	rc = parse_tres(argument(request, "counts"), counts, false);
	for (uint32_t i = 0; !rc && i < g_tres_count; i++)
		assoc_mgr_tres_array[i]->count = counts[i];
	assoc_mgr_unlock(&locks);
	return rc;
}

slurmdb_qos_rec_t *find_qos(uint32_t id)
{
	ListIterator all = list_iterator_create(assoc_mgr_qos_list);
	slurmdb_qos_rec_t *qos;

	while ((qos = list_next(all)))
		if (qos->id == id)
			break;
	list_iterator_destroy(all);
	return qos;
}

slurmdb_assoc_rec_t *find_assoc(uint32_t id)
{
	slurmdb_assoc_rec_t wanted = { .id = id, .cluster = slurm_conf.cluster_name };
	slurmdb_assoc_rec_t *found = NULL;
	assoc_mgr_lock_t locks = { .assoc = READ_LOCK, .user = READ_LOCK };

	assoc_mgr_lock(&locks);
	assoc_mgr_fill_in_assoc(NULL, &wanted, 0, &found, true);
	assoc_mgr_unlock(&locks);
	/* What was filled in are the found record's strings. */
	return found;
}

/* qos id=1 name=normal priority=10 usage_factor=1 flags=0x100 usage_thres=… delete=1 */
int command_qos(request_t *request)
{
	static const field_t fields[] = {
		{ "priority", KIND_U32, offsetof(slurmdb_qos_rec_t, priority) },
		{ "flags", KIND_U32, offsetof(slurmdb_qos_rec_t, flags) },
		{ "usage_factor", KIND_DOUBLE, offsetof(slurmdb_qos_rec_t, usage_factor) },
		{ "usage_thres", KIND_DOUBLE, offsetof(slurmdb_qos_rec_t, usage_thres) },
		{ "grace_time", KIND_U32, offsetof(slurmdb_qos_rec_t, grace_time) },
		{ NULL }
	};
	slurmdb_update_object_t update = { .type = SLURMDB_ADD_QOS };
	slurmdb_qos_rec_t *qos;
	uint32_t id = number(request, "id", 0);
	char *name = argument(request, "name");
	int rc;

	if (!id)
		return fail("qos needs an id");
	if (number(request, "delete", 0))
		update.type = SLURMDB_REMOVE_QOS;
	else if (find_qos(id))
		update.type = SLURMDB_MODIFY_QOS;
	else if (!name)
		return fail("a new qos needs a name");
	qos = xmalloc(sizeof(*qos));
	slurmdb_init_qos_rec(qos, false, NO_VAL);
	if (update.type == SLURMDB_ADD_QOS) {
		qos->flags = 0;
		qos->priority = 0;
		qos->usage_factor = 1;
	} else {
		qos->flags = QOS_FLAG_NOTSET;
	}
	qos->id = id;
	qos->name = name ? xstrdup(name) : NULL;
	set_fields(request, qos, fields);
	update.objects = list_create(slurmdb_destroy_qos_rec);
	list_append(update.objects, qos);
	rc = assoc_mgr_update_qos(&update, false);
	FREE_NULL_LIST(update.objects);
	return rc ? fail("assoc_mgr_update_qos: %d", rc) : 0;
}

static void coordinator_free(void *record)
{
	slurmdb_destroy_coord_rec(record);
}

/* user name=alice uid=1001 admin=2 coord=physics,chemistry */
int command_user(request_t *request)
{
	slurmdb_update_object_t update = { .type = SLURMDB_ADD_USER };
	slurmdb_user_rec_t *user;
	char *name = argument(request, "name");
	char *accounts = argument(request, "coord");
	char *rest = NULL;
	int rc;

	if (!name)
		return fail("user needs a name");
	user = xmalloc(sizeof(*user));
	user->name = xstrdup(name);
	user->uid = number(request, "uid", NO_VAL);
	user->admin_level = number(request, "admin", SLURMDB_ADMIN_NONE);
	user->coord_accts = list_create(coordinator_free);
	for (char *account = accounts ? strtok_r(accounts, ",", &rest) : NULL; account;
	     account = strtok_r(NULL, ",", &rest)) {
		slurmdb_coord_rec_t *coordinator = xmalloc(sizeof(*coordinator));
		coordinator->name = xstrdup(account);
		coordinator->direct = 1;
		list_append(user->coord_accts, coordinator);
	}
	remember_uid(name, user->uid);
	update.objects = list_create(slurmdb_destroy_user_rec);
	list_append(update.objects, user);
	rc = assoc_mgr_update_users(&update, false);
	FREE_NULL_LIST(update.objects);
	return rc ? fail("assoc_mgr_update_users: %d", rc) : 0;
}

/* assoc id=5 parent=2 acct=physics user=alice uid=1001 shares=10 priority=5 delete=1: takes effect at `commit`. */
int command_assoc(request_t *request)
{
	slurmdb_assoc_rec_t *assoc;
	uint32_t id = number(request, "id", 0);
	bool known = id && find_assoc(id);
	char *user = argument(request, "user");

	if (!id)
		return fail("assoc needs an id");
	assoc = xmalloc(padded(PAD_ASSOC, sizeof(*assoc)));
	slurmdb_init_assoc_rec(assoc, false);
	assoc->id = id;
	assoc->cluster = xstrdup(slurm_conf.cluster_name);
	if (number(request, "delete", 0)) {
		list_append(removed_assocs, assoc);
		return 0;
	}
	assoc->shares_raw = number(request, "shares", known ? NO_VAL : 1);
	assoc->priority = number(request, "priority", known ? NO_VAL : INFINITE);
	assoc->parent_id = number(request, "parent", 0);
	if (!known)
		assoc->def_qos_id = 0; /* none, as the database says it */
	assoc->acct = xstrdup(argument(request, "acct"));
	assoc->user = user ? xstrdup(user) : NULL;
	assoc->partition = xstrdup(argument(request, "partition"));
	if (user)
		remember_uid(user, number(request, "uid", NO_VAL));
	if (known)
		list_append(changed_assocs, assoc);
	else
		list_append(new_assocs, assoc);
	return 0;
}

static int apply(uint16_t type, List objects)
{
	slurmdb_update_object_t update = { .type = type, .objects = objects };

	return list_count(objects) ? assoc_mgr_update_assocs(&update, false) : 0;
}

/* commit: hand the waiting associations to the association manager. */
int command_commit(request_t *request)
{
	slurmctld_lock_t jobs = { .job = WRITE_LOCK };
	ListIterator removed = list_iterator_create(removed_assocs);
	slurmdb_assoc_rec_t *assoc;
	int rc;

	(void) request;
	/* slurmctld clears the jobs' pointers before the record goes. */
	lock_slurmctld(jobs);
	while ((assoc = list_next(removed)))
		jobs_forget_assoc(find_assoc(assoc->id));
	unlock_slurmctld(jobs);
	list_iterator_destroy(removed);
	if ((rc = apply(SLURMDB_REMOVE_ASSOC, removed_assocs)) ||
	    (rc = apply(SLURMDB_ADD_ASSOC, new_assocs)) ||
	    (rc = apply(SLURMDB_MODIFY_ASSOC, changed_assocs)))
		return fail("assoc_mgr_update_assocs: %d", rc);
	return 0;
}

int parse_tres(const char *text, void *array, bool floating)
{
	while (text && *text) {
		slurmdb_tres_rec_t wanted = { .id = strtoul(text, NULL, 10) };
		const char *equals = strchr(text, '=');
		int place = assoc_mgr_find_tres_pos(&wanted, true);
		char *end = NULL;

		if (!equals || place < 0)
			return fail("'%s' is not <id of a TRES>=<count>", text);
		if (floating)
			((long double *) array)[place] = strtold(equals + 1, &end);
		else
			((uint64_t *) array)[place] = strtoull(equals + 1, &end, 0);
		text = *end == ',' ? end + 1 : end;
	}
	return 0;
}
