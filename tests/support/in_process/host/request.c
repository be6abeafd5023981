// SPDX-License-Identifier: GPL-2.0-or-later
//
// The line protocol: parsing of requests, the field tables' setters, and the output.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"

int run_command(request_t *request);

static FILE *replies;
static char reason[1024];

void say(const char *format, ...)
{
	va_list arguments;

	fputs("| ", replies);
	va_start(arguments, format);
	vfprintf(replies, format, arguments);
	va_end(arguments);
	fputc('\n', replies);
}

void say_part(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(replies, format, arguments);
	va_end(arguments);
}

int fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	return -1;
}

char *argument(request_t *request, const char *key)
{
	for (int i = 0; i < request->count; i++) {
		if (!strcmp(request->key[i], key)) {
			request->used[i] = true;
			return request->value[i];
		}
	}
	return NULL;
}

uint64_t number(request_t *request, const char *key, uint64_t otherwise)
{
	char *value = argument(request, key);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void set_field(void *record, const field_t *field, const char *value)
{
	char *place = (char *) record + field->offset;

	switch (field->kind) {
	case KIND_U16:
		*(uint16_t *) place = strtoul(value, NULL, 0);
		break;
	case KIND_U32:
		*(uint32_t *) place = strtoul(value, NULL, 0);
		break;
	case KIND_U64:
		*(uint64_t *) place = strtoull(value, NULL, 0);
		break;
	case KIND_TIME:
		*(time_t *) place = strtoll(value, NULL, 0);
		break;
	case KIND_DOUBLE:
		*(double *) place = strtod(value, NULL);
		break;
	case KIND_STRING:
		xfree(*(char **) place);
		*(char **) place = *value ? xstrdup(value) : NULL;
		break;
	}
}

int set_fields(request_t *request, void *record, const field_t *table)
{
	int found = 0;

	for (const field_t *field = table; field->name; field++) {
		char *value = argument(request, field->name);
		if (value) {
			set_field(record, field, value);
			found++;
		}
	}
	return found;
}

/* Undo %XX in place; values carry blanks and line ends that way. */
static void decode(char *text)
{
	char *out = text;

	for (char *in = text; *in; in++) {
		if (in[0] == '%' && in[1] && in[2]) {
			char digits[3] = { in[1], in[2], 0 };
			*out++ = (char) strtoul(digits, NULL, 16);
			in += 2;
		} else {
			*out++ = *in;
		}
	}
	*out = 0;
}

static int parse(char *line, request_t *request)
{
	char *rest = NULL;

	memset(request, 0, sizeof(*request));
	request->verb = strtok_r(line, " \n", &rest);
	if (!request->verb)
		return fail("empty request");
	for (char *word; (word = strtok_r(NULL, " \n", &rest));) {
		char *equals = strchr(word, '=');
		if (!equals || request->count == MAX_ARGUMENTS)
			return fail("'%s' is not key=value, or there are too many", word);
		*equals = 0;
		decode(equals + 1);
		request->key[request->count] = word;
		request->value[request->count++] = equals + 1;
	}
	return 0;
}

static int all_used(const request_t *request)
{
	for (int i = 0; i < request->count; i++) {
		if (!request->used[i])
			return fail("%s does not know the argument '%s'", request->verb, request->key[i]);
	}
	return 0;
}

void serve(void)
{
	request_t request;
	char *line = NULL;
	size_t size = 0;
	bool quit = false;

	/* Whatever the libraries print must not get into the replies. */
	replies = fdopen(dup(STDOUT_FILENO), "w");
	dup2(STDERR_FILENO, STDOUT_FILENO);
	while (!quit && getline(&line, &size, stdin) > 0) {
		int rc = parse(line, &request);
		quit = !rc && !strcmp(request.verb, "quit");
		if (!rc)
			rc = run_command(&request);
		if (!rc)
			rc = all_used(&request);
		if (rc)
			fprintf(replies, "error %s\n", reason);
		else
			fputs("ok\n", replies);
		fflush(replies);
	}
	free(line);
	fclose(replies);
}
