//! Examples at the end of each help and manual page. A test of the command parses every one of them.

use commandline::examples::Examples;

/// The examples of each subcommand, in the order of the help.
#[rustfmt::skip]
pub(crate) const EXAMPLES: &Examples = &[
    ("simulate", &[
        ("warmset simulate app.parquet --policy lru,sieve --capacity 1%,10%", "misses of two policies at two sizes"),
        ("warmset synth zipf:pages=100000 -n 1000000 | warmset simulate -", "of a synthetic trace"),
    ]),
    ("curve", &[("warmset curve app.parquet --of lru,ws,opt --plot curve.svg", "lifetime at every size, as a picture")]),
    ("together", &[("warmset together a.parquet --with b.parquet -m 50%", "two programs in half of what they use")]),
    ("convert", &[("warmset convert lackey.txt.zst trace.parquet", "from any of over two dozen formats")]),
    ("synth", &[("warmset synth zipf:pages=100000 -n 1000000 --to plain > zipf.txt", "a million references, skewed")]),
    ("policies", &[("warmset policies", "all of them, with their sources")]),
    ("sweep", &[
        ("warmset sweep all sweep.toml", "traces by policies by sizes, on this machine, into Parquet"),
        ("warmset sweep all sweep.toml --on dask://scheduler:8786", "the same on a cluster"),
    ]),
    ("trace", &[
        ("warmset trace -- ls -lR /usr/share/doc", "every page reference of a program"),
        ("warmset trace --pid 4711 --for 30s", "the memory that a running process uses, by accessed bits"),
        ("warmset trace --engine damon --pid 4711 -o it.parquet", "the same by the kernel's DAMON"),
        ("warmset trace --watch --every 1s 4711", "the working set of a running process, every second"),
    ]),
    ("analyze", &[("warmset analyze ls.parquet -o report.html", "its working set, in one page")]),
    ("size", &[
        ("sudo warmset size postgresql.service", "how much memory it needs, in ten minutes"),
        ("sudo warmset size nginx --for 1h --apply", "the same by more evidence, as limits of the unit"),
        ("sudo warmset size --undo nginx.service", "takes these limits away"),
        ("warmset size 4711 --by accessed --for 1min", "a process, without taking anything"),
        ("sudo warmset size --for 5min -- make -j4", "a command, in a scope of its own"),
    ]),
];
