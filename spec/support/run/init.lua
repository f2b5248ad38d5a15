--- What busted loads before the first spec of every run (.busted).

dofile "spec/support/run/secret_watch.lua"
dofile "spec/support/run/record_watch.lua"
dofile "spec/support/run/globals.lua"
dofile "spec/support/run/tmpname.lua"
