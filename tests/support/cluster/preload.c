/*
 * Preloaded into the daemons and client commands of a test cluster, for what Slurm's own configuration
 * cannot do:
 *
 *  - TCP_NODELAY on every stream socket. slurmdbd and its clients write a message in two pieces;
 *    with Nagle's algorithm and delayed acknowledgements each exchange costs 80 ms on loopback,
 *    two seconds for the start of a cluster.
 *  - The time between two decay cycles, which slurm.conf gives in whole minutes, is set in seconds
 *    right after slurmctld has read slurm.conf, so any priority plugin sees it from its first cycle.
 *  - The user a client command pretends to be. auth/none believes what the client says, so a test
 *    without root can submit jobs of many users.
 *
 *  - With TESTCLUSTER_HEAP, a thread writes every second how many bytes of the heap are in use: what is
 *    resident also depends on how the C library keeps what was freed.
 *
 *  - fsync and fdatasync do nothing. slurmdbd creates dozens of tables, and slurmctld writes a dozen
 *    state files when it stops; on a busy disk each wait is felt, and nothing here has to survive
 *    a power failure.
 *
 *  - With NSS_WRAPPER_HOSTS, nss_wrapper reads its file of hosts before there are threads. Otherwise it does so when the
 *    first name is looked up, and two threads that do that at once crash in hsearch(), as those of a backup
 *    controller that starts.
 *
 * Linked without a C library: the host process has one, whatever its version.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define TYPE_MASK 0xf /* below SOCK_CLOEXEC and SOCK_NONBLOCK */

int socket(int domain, int type, int protocol)
{
	static int (*next)(int, int, int);
	int fd, on = 1;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "socket");
	fd = next(domain, type, protocol);
	if (fd >= 0 && (domain == AF_INET || domain == AF_INET6) && (type & TYPE_MASK) == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

__attribute__((constructor)) static void read_hosts(void)
{
	struct addrinfo *found;

	if (getenv("NSS_WRAPPER_HOSTS") && !getaddrinfo("localhost", NULL, NULL, &found))
		freeaddrinfo(found);
}

int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

/* Values of the environment that are numbers; `otherwise` where the variable is not set. */
static unsigned long number(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

static int read_and_shorten(const char *function, const char *file)
{
	int (*next)(const char *);
	int answer;
	unsigned long seconds = number("TESTCLUSTER_CYCLE_SECONDS", 0);
	unsigned long offset = number("TESTCLUSTER_CYCLE_OFFSET", 0);
	char *conf = dlsym(RTLD_DEFAULT, "slurm_conf");

	*(void **)&next = dlsym(RTLD_NEXT, function);
	answer = next(file);
	if (seconds && offset && conf)
		*(volatile uint32_t *)(conf + offset) = (uint32_t)seconds;
	return answer;
}

/* Start of a process, and of its successor in a reconfigure from Slurm 23.11 on. */
int slurm_conf_init(const char *file)
{
	return read_and_shorten("slurm_conf_init", file);
}

/* Reconfigure before Slurm 23.11, and a backup controller that takes over. */
int slurm_conf_reinit(const char *file)
{
	return read_and_shorten("slurm_conf_reinit", file);
}

static id_t pretended(const char *variable, const char *function)
{
	id_t (*next)(void);

	*(void **)&next = dlsym(RTLD_NEXT, function);
	return (id_t)number(variable, next());
}

uid_t getuid(void)
{
	return pretended("TESTCLUSTER_UID", "getuid");
}

uid_t geteuid(void)
{
	return pretended("TESTCLUSTER_UID", "geteuid");
}

gid_t getgid(void)
{
	return pretended("TESTCLUSTER_GID", "getgid");
}

gid_t getegid(void)
{
	return pretended("TESTCLUSTER_GID", "getegid");
}

/* Bytes in use, at the beginning of the file that TESTCLUSTER_HEAP and the process id name. */
static void *watch_heap(void *prefix)
{
	struct mallinfo2 (*statistics)(void);
	struct mallinfo (*older)(void);
	char path[4096], text[32];

	/* From glibc 2.33 on; the older one counts in int, which is enough for a slurmctld under test. */
	*(void **)&statistics = dlsym(RTLD_DEFAULT, "mallinfo2");
	*(void **)&older = dlsym(RTLD_DEFAULT, "mallinfo");
	snprintf(path, sizeof(path), "%s.%d", (const char *)prefix, (int)getpid());
	for (; statistics || older; sleep(1)) {
		size_t used;
		int length;
		/* Opened each time: a daemon that starts closes all files that it does not know. */
		int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (statistics) {
			struct mallinfo2 heap = statistics();
			used = heap.uordblks + heap.hblkhd;
		} else {
			struct mallinfo heap = older();
			used = (size_t)(unsigned)heap.uordblks + (unsigned)heap.hblkhd;
		}
		length = snprintf(text, sizeof(text), "%20zu\n", used);
		if (file < 0 || pwrite(file, text, length, 0) != length)
			break;
		close(file);
	}
	return NULL;
}

static void __attribute__((constructor)) start(void)
{
	char *prefix = getenv("TESTCLUSTER_HEAP");
	sigset_t all, before;
	pthread_t thread;

	if (!prefix)
		return;
	/* Signals are for the daemon's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, watch_heap, prefix))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
