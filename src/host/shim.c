/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "shim.h"

void mf2_call_slurmctld_lock(void (*function)(struct mf2_slurmctld_lock),
			     const struct mf2_slurmctld_lock *levels)
{
	function(*levels);
}

void mf2_call_error(int (*function)(const char *, ...), const char *line)
{
	function("%s", line);
}

void mf2_call_log(void (*function)(int, const char *, ...), int level, const char *line)
{
	function(level, "%s", line);
}

double mf2_ld_get(const void *field)
{
	return (double) *(const long double *) field;
}

void mf2_ld_set(void *field, double value)
{
	*(long double *) field = value;
}

void mf2_ld_add(void *field, double value)
{
	*(long double *) field += value;
}

void mf2_ld_scale(void *field, size_t count, double factor)
{
	long double *values = field;

	for (size_t i = 0; i < count; i++)
		values[i] *= factor;
}

void mf2_ld_add_products(void *field, double factor, const struct mf2_amount *amounts, size_t count)
{
	long double *values = field;

	for (size_t i = 0; i < count; i++)
		values[amounts[i].index] += (long double) factor * (long double) amounts[i].count;
}

void mf2_prefetch(const char *record, const uint32_t *offsets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(record + offsets[i], 0, 2);
}
