/*
 * Preloaded into slurmctld where a test asks for it: a file system, and a directory service, that take their time for one object only.
 *
 * TESTCLUSTER_SLOW_OBJECT names a part of the object's file name; a call counts whose return address is in it. The file that
 * TESTCLUSTER_SLOW names says how long each call takes, in milliseconds, and which do: "all", those that "change" something on the
 * disk, or one by its name. Without the file none does. What such an object does through functions of Slurm's library is that library's.
 *
 * Linked without a C library, as preload.c.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NEXT(name) \
	static __typeof__(name) *next; \
	if (!next) \
		*(void **)&next = dlsym(RTLD_NEXT, #name)

/* Waits, where the caller at an address is of the object and the file says so. */
static void wait_for(const char *name, int changes, void *caller)
{
	static int (*next_open)(const char *, int, ...);
	const char *object = getenv("TESTCLUSTER_SLOW_OBJECT"), *said = getenv("TESTCLUSTER_SLOW");
	char text[64] = "", which[32] = "", line[256];
	struct timespec time;
	long milliseconds = 0;
	Dl_info info;
	int file;

	if (!object || !said || !dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, object))
		return;
	if (!next_open)
		*(void **)&next_open = dlsym(RTLD_NEXT, "open");
	if ((file = next_open(said, O_RDONLY | O_CLOEXEC)) < 0)
		return;
	if (read(file, text, sizeof(text) - 1) > 0) {
		const char *at = text;
		size_t length = 0;

		/* Not sscanf: which of its names the headers mean depends on their release. */
		for (; *at >= '0' && *at <= '9'; at++)
			milliseconds = milliseconds * 10 + (*at - '0');
		for (at += *at == ' '; *at > ' ' && length < sizeof(which) - 1; at++)
			which[length++] = *at;
	}
	close(file);
	if (strcmp(which, "all") && !(changes && !strcmp(which, "change")) && strcmp(which, name))
		return;
	/* For a test that fails, and to see that there were any. */
	snprintf(line, sizeof(line), "%s.log", said);
	if ((file = next_open(line, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) >= 0) {
		int length = snprintf(line, sizeof(line), "%ld %s\n", (long)getpid(), name);

		if (write(file, line, length) != length)
			abort();
		close(file);
	}
	time.tv_sec = milliseconds / 1000;
	time.tv_nsec = milliseconds % 1000 * 1000000;
	nanosleep(&time, NULL);
}

#define HERE __builtin_return_address(0)

#define OPEN(name) \
	int name(const char *path, int flags, ...) \
	{ \
		NEXT(name); \
		mode_t mode = 0; \
		if (flags & (O_CREAT | __O_TMPFILE)) { \
			va_list arguments; \
			va_start(arguments, flags); \
			mode = va_arg(arguments, mode_t); \
			va_end(arguments); \
		} \
		wait_for("open", (flags & O_ACCMODE) != O_RDONLY, HERE); \
		return next(path, flags, mode); \
	}

OPEN(open)
OPEN(open64)

#define CALL(name, word, changes, types, arguments) \
	int name types \
	{ \
		NEXT(name); \
		wait_for(word, changes, HERE); \
		return next arguments; \
	}

CALL(creat, "open", 1, (const char *path, mode_t mode), (path, mode))
CALL(creat64, "open", 1, (const char *path, mode_t mode), (path, mode))
CALL(rename, "rename", 1, (const char *from, const char *to), (from, to))
CALL(link, "link", 1, (const char *from, const char *to), (from, to))
CALL(linkat, "link", 1, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(unlink, "unlink", 1, (const char *path), (path))
CALL(fsync, "fsync", 1, (int file), (file))
CALL(fdatasync, "fsync", 1, (int file), (file))
CALL(stat, "stat", 0, (const char *path, struct stat *found), (path, found))
CALL(stat64, "stat", 0, (const char *path, struct stat64 *found), (path, found))
CALL(lstat64, "stat", 0, (const char *path, struct stat64 *found), (path, found))
CALL(statx, "stat", 0, (int at, const char *path, int flags, unsigned mask, struct statx *found),
     (at, path, flags, mask, found))
CALL(getgrnam_r, "getgrnam", 0,
     (const char *name, struct group *group, char *buffer, size_t size, struct group **found),
     (name, group, buffer, size, found))
