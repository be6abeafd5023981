// SPDX-License-Identifier: GPL-2.0-or-later
//
// A site factor plugin whose hooks leave a trace: a new job gets 111, each update adds 1000 to all jobs.
#include "src/slurmctld/slurmctld.h"

const char plugin_name[] = "Site factor plugin that shows its calls";
const char plugin_type[] = "site_factor/counting";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

int init(void)
{
	return SLURM_SUCCESS;
}

int fini(void)
{
	return SLURM_SUCCESS;
}

void site_factor_p_reconfig(void)
{
}

void site_factor_p_set(job_record_t *job)
{
	job->site_factor = NICE_OFFSET + 111;
}

static int add(void *record, void *unused)
{
	((job_record_t *) record)->site_factor += 1000;
	return 0;
}

void site_factor_p_update(void)
{
	list_for_each(job_list, add, NULL);
}
