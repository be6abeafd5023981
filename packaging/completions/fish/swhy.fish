complete -c swhy -l from -d 'Reads a snapshot of the plugin, or what --save has kept, instead of asking Slurm' -r -F
complete -c swhy -l save -d 'Keeps what was read, so that --from gives the same answers later and elsewhere' -r -F
complete -c swhy -l conf -d 'Our settings, where the snapshot does not have them' -r -F
complete -c swhy -s M -l cluster -d 'Another cluster than the local one' -r
complete -c swhy -l at -d 'Answers for another time: YYYY-MM-DD[Thh:mm[:ss]], seconds since 1970, or + and a time from the snapshot on such as +7-0' -r
complete -c swhy -l anonymise -d 'With stable pseudonyms in place of names of users, accounts and the like'
complete -c swhy -l json -d 'As JSON, with a schema in docs/schema'
complete -c swhy -l help -d 'Prints help'
complete -c swhy -s V -l version -d 'Prints the version'
