# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_multifactor2_global_optspecs
	string join \n help V/version
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

complete -c multifactor2 -n "__fish_multifactor2_needs_command" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "why" -d 'Says why a job has its priority and its place; of two jobs, which comes first and why'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "queue" -d 'Shows waiting jobs in the order in which the scheduler looks at them'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "tree" -d 'Shows accounts and users with shares, usage, standing, tickets, waiting and running jobs'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "replay" -d 'Replays a recorded workload under policies: who would have waited how long, and how near accounts would have come to their shares'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "what-if" -d 'Shows the queue before and after a change: who gains, who loses, how far'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "recover" -d 'Says how long until a fair-share factor reaches a value'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "cost" -d 'Says what a job adds to usage and takes from the fair-share factor, and in which account least'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "settings" -d 'Shows parameters and settings in force, and where each value came from'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "check" -d 'Checks settings before slurmctld reads them, the configuration in force, and whether the plugin supports this Slurm'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "metrics" -d 'Writes shares, usage and queues for the textfile collector of Prometheus\' node_exporter'
complete -c multifactor2 -n "__fish_multifactor2_needs_command" -f -a "migrate" -d 'Translates the priority parameters of Maui, Moab or Grid Engine to lines of multifactor2.conf, slurm.conf and sacctmgr'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand why" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s u -l user -d 'Jobs of these users' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s A -l account -d 'Jobs of these accounts' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s j -l job -d 'These jobs' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l partition -d 'Jobs of these partitions' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l me -d 'Your own jobs'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand queue" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s u -l user -d 'These users' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s A -l account -d 'These accounts, with all below them' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l html -d 'Writes a page for a browser: one file that needs no network' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l svg -d 'Writes a picture of the tree' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand tree" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l policy -d 'fifo, fair-tree, classic, multifactor2, or a file with its settings; each is compared with the first. Without any: fair-tree and multifactor2' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l export -d 'Collects a trace on this cluster' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l start -d 'With --export: jobs that ran after this time, as sacct -S takes it' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l end -d 'With --export: jobs that ran before this time, as sacct -E takes it' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l scheduler -d 'fcfs, easy, sjbf, conservative or slurm' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l procs -d 'A machine of so many CPUs in one partition, instead of that of the trace' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l partition -d 'A machine of these partitions: NAME=NODESxCPUS or NAME=CPUS, such as gpu=40x8' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l shares -d 'Shares from a file: output of \'sacctmgr dump\' or \'sacctmgr -P show assoc\'' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l slurm-conf -d 'Weights, half-life, SchedulerParameters, partitions and nodes from this slurm.conf, instead of those of the trace' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l runs -d 'Replays so many more times, with submissions up to a minute later at random: mean and spread show what hangs on chance' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l seed -d 'Where the chance of --runs and --fair-start begins' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l fair-start -d 'Replays up to so many jobs without those that were submitted after them, under each policy: who starts later than is fair' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l strategist -d 'Lets a user play and a twin not: USER=split, inflate, tiny, second-account, parked or burst; or honest, for an equal twin' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l warm-up -d 'Days at the beginning that are replayed and not counted. Without: two half-lives, where they are at most a third of the trace' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l csv -d 'Writes tables as comma-separated values to this directory' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l html -d 'Writes a page for a browser, which needs no network' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l conf -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l how -d 'Prints how a trace is collected'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l anonymise -d 'With --export: users, accounts, partitions and QOS get other names'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand replay" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l shares -d 'Other shares, such as chem=30, ann@chem=5 or chem=parent' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l usage -d 'Other usage, such as ann@chem=0, ann@chem=+1000h or chem=0; in seconds, or with m, h or d behind it' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l half-life -d 'Another half-life of usage, such as 14-0; usage as it is now stays, so give --at as well' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l weight -d 'Other weights, such as fairshare=50000,age=1000; of age, assoc, fairshare, jobsize, partition, qos, or a TRES' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l plugin -d 'Another plugin or algorithm' -r -f -a "stock\t'priority/multifactor with Fair Tree'
classic\t'priority/multifactor with `PriorityFlags=NO_FAIR_TREE`'
multifactor2\t'priority/multifactor2; its settings are those of --conf, else of `PriorityParameters`'"
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l submit -d 'One more job, as options of sbatch in quotes, such as "-A chem -p gpu --gres=gpu:4 -t 1-0"' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l as -d 'The user who would submit; you by default' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l without-account -d 'Without an account and all below it: their jobs and their usage are taken out' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l html -d 'Writes a page for a browser: one file that needs no network' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand what-if" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l to -d 'The factor to reach, from 0 to 1' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l running-on -d 'The jobs of the user that run now go on'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand recover" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s A -l account -d 'The account to charge' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s p -l partition -d 'The partition, or several of them' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s q -l qos -d 'The QOS' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s n -l ntasks -d 'The number of tasks; one for each node by default' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s c -l cpus-per-task -d 'CPUs for each task' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s N -l nodes -d 'The number of nodes; of a range such as 2-4 the smaller one' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l mem -d 'Memory on each node, with K, M, G or T behind it; M by default' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l gres -d 'Generic resources on each node, such as gpu:4 or gpu:a100:2' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s G -l gpus -d 'GPUs of the whole job, such as 4 or a100:2' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s t -l time -d 'The time limit: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]] or UNLIMITED' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l as -d 'The user who would submit; you by default' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand cost" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s o -l format -d 'These columns only, in this order' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s P -l parsable2 -d 'With | between fields'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s p -l parsable -d 'With | behind each field'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l csv -d 'As comma-separated values'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s n -s h -l noheader -d 'Without a header'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand settings" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l plugins -d 'The plugin directory of a Slurm that is to be installed [default: PluginDir of the one that is]' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l slurmctld -d 'Its slurmctld [default: the one beside the plugin directory]' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand check" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l out -d 'The file, in the directory of the textfile collector; its name ends in .prom. Without it the text goes to standard output' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l users -d 'Users who have series of their own: names separated by commas, or top=N for the N with the largest usage' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand metrics" -s V -l version -d 'Prints the version'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l moab -d 'The file is Moab\'s; it is without this where its name begins with "moab"'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l json -d 'As JSON, with a schema in docs/schema'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -l help -d 'Prints help'
complete -c multifactor2 -n "__fish_multifactor2_using_subcommand migrate" -s V -l version -d 'Prints the version'
