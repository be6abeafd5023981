# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_multifactor2_global_optspecs
	string join \n from= save= anonymise conf= M/cluster= at= json help V/version
end

function __fish_multifactor2_needs_command
	# Figure out if the current invocation already has a command.
	set -l cmd (commandline -opc)
	set -e cmd[1]
	argparse -s (__fish_multifactor2_global_optspecs) -- $cmd 2>/dev/null
	or return
	if set -q argv[1]
		# Also print the command, so this can be used to figure out what it is.
		echo $argv[1]
		return 1
	end
	return 0
end

function __fish_multifactor2_using_subcommand
	set -l cmd (__fish_multifactor2_needs_command)
	test -z "$cmd"
	and return 1
	contains -- $cmd[1] $argv
end

complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "why" -d 'Says why a job has its priority and its place; of two jobs, which comes first and why'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "queue" -d 'Shows waiting jobs in the order in which the scheduler looks at them'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "tree" -d 'Shows accounts and users with shares, usage, standing, tickets, waiting and running jobs'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "settings" -d 'Shows parameters and settings in force, and where each value came from'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "metrics" -d 'Writes shares, usage and queues for the textfile collector of Prometheus\' node_exporter'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "migrate" -d 'Translates the priority parameters of Maui, Moab or Grid Engine to lines of multifactor2.conf, slurm.conf and sacctmgr'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s u -l user -d 'Jobs of these users' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s A -l account -d 'Jobs of these accounts' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s j -l job -d 'These jobs' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l partition -d 'Jobs of these partitions' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l me -d 'Your own jobs'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s u -l user -d 'These users' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s A -l account -d 'These accounts, with all below them' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l out -d 'The file, in the directory of the textfile collector; its name ends in .prom. Without it the text goes to standard output' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l users -d 'Users who have series of their own: names separated by commas, or top=N for the N with the largest usage' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -s M -l cluster -d 'Another cluster than the local one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l moab -d 'The file is Moab\'s; it is without this where its name begins with "moab"'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -s V -l version -d 'Prints the version'
