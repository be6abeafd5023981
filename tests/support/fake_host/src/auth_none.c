/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plugin that slurmctld has loaded before: the plugin under test reads the release from it. */
#include <stdint.h>

const char plugin_name[] = "nothing";
const char plugin_type[] = "auth/none";
const uint32_t plugin_version = YEAR << 16 | MONTH << 8 | MICRO;
