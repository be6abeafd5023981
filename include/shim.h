/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Rust cannot say of Slurm's C interface: long double (80 bits on x86-64, 128 on aarch64),
 * structs passed by value, variadic logging. The shim keeps no state and calls the host only
 * through the function pointers that it is given.
 */
#ifndef MULTIFACTOR2_SHIM_H
#define MULTIFACTOR2_SHIM_H

#include <stddef.h>
#include <stdint.h>

/*
 * slurmctld_lock_t of every release: conf, job, node, part, fed and, from 26.05 on, select_node.
 * Releases before 26.05 read the first 20 bytes; the rest is zero (NO_LOCK).
 */
struct mf2_slurmctld_lock {
	uint32_t level[6];
};

/* Calls lock_slurmctld() or unlock_slurmctld(), which take their argument by value. */
void mf2_call_slurmctld_lock(void (*function)(struct mf2_slurmctld_lock),
			     const struct mf2_slurmctld_lock *levels);

/* Hands one finished line to slurm_error(), which counts it as an error ("error: " is prefixed). */
void mf2_call_error(int (*function)(const char *, ...), const char *line);

/* Hands one finished line to slurm_log_var() at the given level. */
void mf2_call_log(void (*function)(int, const char *, ...), int level, const char *line);

/* Value of a long double, rounded to double. */
double mf2_ld_get(const void *field);

/* Sets a long double. */
void mf2_ld_set(void *field, double value);

/* Adds values[which[i]] for i < count to a long double, one after the other. */
void mf2_ld_add_each(void *field, const double *values, const uint32_t *which, size_t count);

/* field[i] *= factor for i < count, in long double. */
void mf2_ld_scale(void *field, size_t count, double factor);

/* Of every charge, a factor and `width` counts by TRES; and those TRES that matter. */
struct mf2_products {
	const double *factors;
	const uint64_t *counts;
	size_t width;
	const uint32_t *tres;
	size_t tres_count;
};

/*
 * For those TRES t and for i < count, one after the other: adds factors[c] * counts[c * width + t], where c is which[i], to
 * field[t], in long double.
 */
void mf2_ld_add_products(void *field, const struct mf2_products *products, const uint32_t *which, size_t count);

/*
 * Fetches the cache lines at record + offsets[i] into the second level of the caches; reads nothing, so any address will do.
 * The first level has few buffers for misses: fetched to there, lines come half as fast.
 */
void mf2_prefetch(const char *record, const uint32_t *offsets, size_t count);

#endif
