/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <float.h>
#include <string.h>

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

void mf2_ld_add_each(void *field, const double *values, const uint32_t *which, size_t count)
{
	long double sum = *(long double *) field;

	for (size_t i = 0; i < count; i++)
		sum += values[which[i]];
	*(long double *) field = sum;
}

/* Most TRES are used by few: that is seen without the slow loads and stores of long doubles. */
static inline int is_zero(const long double *value)
{
#if LDBL_MANT_DIG == 64
	uint64_t significand;

	memcpy(&significand, value, sizeof(significand));
	return !significand;
#else
	return *value == 0;
#endif
}

void mf2_ld_scale(void *field, size_t count, double factor)
{
	long double *values = field;

	for (size_t i = 0; i < count; i++)
		if (!is_zero(&values[i]))
			values[i] *= factor;
}

/*
 * Adds to so many values at a time, a constant for the compiler: their sums stay in registers, and one does not wait for
 * the other.
 */
static inline __attribute__((always_inline)) void add_columns(long double *values,
							       const struct mf2_products *products,
							       const uint32_t *tres, const uint32_t *which,
							       size_t count, const size_t columns)
{
	long double sums[4];

	for (size_t c = 0; c < columns; c++)
		sums[c] = values[tres[c]];
	for (size_t i = 0; i < count; i++) {
		const long double factor = products->factors[which[i]];
		const uint64_t *counts = products->counts + which[i] * products->width;

		for (size_t c = 0; c < columns; c++)
			sums[c] += factor * (long double) counts[tres[c]];
	}
	for (size_t c = 0; c < columns; c++)
		values[tres[c]] = sums[c];
}

void mf2_ld_add_products(void *field, const struct mf2_products *products, const uint32_t *which, size_t count)
{
	const uint32_t *tres = products->tres;
	size_t left = products->tres_count;

	for (; left >= 4; left -= 4, tres += 4)
		add_columns(field, products, tres, which, count, 4);
	if (left == 3)
		add_columns(field, products, tres, which, count, 3);
	else if (left == 2)
		add_columns(field, products, tres, which, count, 2);
	else if (left == 1)
		add_columns(field, products, tres, which, count, 1);
}

void mf2_prefetch(const char *record, const uint32_t *offsets, size_t count)
{
#pragma GCC unroll 4
	for (size_t i = 0; i < count; i++)
		__builtin_prefetch(record + offsets[i], 0, 2);
}
