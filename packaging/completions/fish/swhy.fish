complete -c swhy -l from -d 'Answer from what --save kept, from a snapshot of the plugin, or from a file of \'sacctmgr dump\', and ask Slurm nothing' -r -F
complete -c swhy -l save -d 'Keep what Slurm said in a new directory, for --from and for support' -r -F
complete -c swhy -l conf -d 'The multifactor2.conf of the controller, which no command of Slurm shows' -r -F
complete -c swhy -s M -l cluster -d 'Ask another cluster, by way of slurmdbd' -r
complete -c swhy -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c swhy -l anonymise -d 'Give users, accounts, partitions, QOS, reservations, wckeys and the cluster other names, the same one wherever a name stands; \'root\' and the QOS \'normal\' stay. With --save, one file \'snapshot\' is kept instead of what Slurm said, without names of hosts and files'
complete -c swhy -l json -d 'As JSON, with a schema in docs/schema'
complete -c swhy -l help -d 'Prints help'
complete -c swhy -s V -l version -d 'Prints the version'
