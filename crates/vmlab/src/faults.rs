//! Faults: what a machine does to a guard, each a script that runs in a machine and says whether the guard stood it.
//!
//! Nothing may crash, nobody else may end, and everything must be as it was afterwards, also after `kill -9`. The machine
//! has no systemd: units are control groups by systemd's names. A file that is cut short or replaced while it is locked is
//! in the tests of `warmset-hold`.

use units::Bytes;

/// What all scripts share.
const PRELUDE: &str = include_str!("faults/prelude.sh");

/// One fault.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// What happens, in a few words.
    pub what: &'static str,
    script: &'static str,
    /// Memory of the machine that it takes.
    pub memory: Bytes,
    /// Most seconds it may take, under the translator.
    pub seconds: u64,
    /// Modules of the kernel that it needs.
    pub modules: &'static [&'static str],
}

macro_rules! faults {
    ($($name:ident $mib:literal $seconds:literal $what:literal $($module:literal)*;)*) => {
        /// Every fault, those of one kind of machine beside each other.
        pub const FAULTS: &[Fault] = &[$(Fault {
            name: stringify!($name), what: $what, script: include_str!(concat!("faults/", stringify!($name), ".sh")),
            memory: Bytes::mib($mib), seconds: $seconds, modules: &[$($module),*],
        }),*];
    };
}

faults! {
    contains 512 180 "a runaway with a unit of its own is contained, then ended, and the limit undone";
    keeps 512 180 "what a critical service uses is kept for it and above it, and put back";
    killed 512 180 "kill -9 of the guard while it holds a floor and a ceiling: the next one puts both back";
    asks 512 240 "a runaway is stopped and its person asked, who says nothing";
    answers 512 240 "a person answers, and goes";
    thaws 512 180 "kill -9 of the guard while it holds someone stopped: they go on within a second";
    hooks 512 240 "programs are told what happens; one that hangs or could be anyone's harms nothing";
    returns 512 240 "what a critical service has in swap is read back once there is room";
    deaf 512 180 "a process ignores SIGTERM";
    vanishing 512 180 "a unit goes while it is contained, amid processes that are gone at once";
    frozen 512 180 "a process is frozen";
    stuck 512 180 "a process sits in a sleep that no signal ends";
    names 512 180 "a process and its unit have hostile names";
    observes 512 240 "a guard at work is told to only look";
    forks 512 180 "a fork bomb";
    flood 512 240 "ever more processes fill memory, beside a bystander";
    reuse 512 180 "a hog gets the number of a process that was spared";
    denied 512 180 "permission is lost half way";
    uses 512 240 "a runaway takes all of memory, beside a file that is read all the time" "btrfs";
    subvolumes 512 400 "a file thrashes on Btrfs, beside another of its number, and one below an overlay" "btrfs" "overlay";
    crowd 4096 1800 "ten thousand processes";
}

impl Fault {
    /// All of its script.
    pub fn script(&self) -> String {
        format!("{PRELUDE}\n{}", self.script)
    }
}
