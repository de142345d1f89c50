//! Makes a [`Play`] of a situation: everything is scaled to the virtual machine.

use super::arms::Arm;
use super::judge::reached;
use super::play::{
    Act, FileCache, Forks, Memory, OnTerm, Phase, Play, Role, SwapArea, UnitProperties,
};
use anyhow::{Context, Result, bail};
use situations::Situation;
use situations::text::{self, Do, Kind, Mark, Program, SwapKind, Vm};
use units::Bytes;

/// An emulated machine is slower than a machine: each deadline is so many times as late. One CPU under QEMU's translator
/// needs two to four times as long for a scan of processes as a small machine.
pub const SLOWER: u32 = 2;
/// What the kernel, systemd, the journal and the lab's own program take of the machine before a play begins. The machine has
/// so much more than its text says. Measured: 552 MiB leave 442 MiB available after boot, without the text's own.
pub const OVERHEAD: Bytes = Bytes::mib(110);
/// The disk that file cache and streams are read from, larger than any memory here.
pub const DATA: Bytes = Bytes::mib(1024);
/// After the last signal so much time is left to see whether another one follows: a second kill for the same memory comes
/// within some seconds.
const QUIET_MS: u64 = 8_000;
/// The first disk after the root disk and the data disk.
const FIRST_SWAP_DISK: u8 = b'c';

/// A situation and how it is made small.
#[derive(Debug, Clone, Copy)]
pub struct Stage<'s> {
    situation: &'s Situation,
    vm: Vm,
}

impl<'s> Stage<'s> {
    /// Of a situation that has a table `[vm]`.
    pub fn of(situation: &'s Situation) -> Result<Self> {
        let vm = situation
            .vm
            .context("this situation has no table [vm]: it is not played in virtual machines")?;
        Ok(Self { situation, vm })
    }

    /// Memory of the virtual machine.
    pub fn memory(&self) -> Bytes {
        self.vm.memory.0 + OVERHEAD
    }

    /// How many times as late each deadline is.
    pub fn slower(&self) -> u32 {
        self.vm.slower.max(1) * SLOWER
    }

    /// Whether the kernel tells of pressure.
    pub fn has_pressure(&self) -> bool {
        self.situation.machine.psi
    }

    fn scaled(&self, amount: Bytes) -> u64 {
        self.vm.scaled(amount, &self.situation.machine).get()
    }

    /// How fast the data disk is, if the text says: an unlimited one fills the file cache sooner.
    pub fn data_speed(&self) -> Option<Bytes> {
        /// What a text has that does not say.
        const USUAL: Bytes = Bytes::mib(200);
        let speed = self.situation.machine.disk_reads.0;
        (speed != USUAL).then(|| Bytes::new(self.scaled(speed)))
    }

    /// Sizes and speeds of the disks for swap, in order.
    pub fn swap_disks(&self) -> Vec<(Bytes, Bytes)> {
        let areas = self.situation.machine.swap.iter();
        areas
            .filter(|area| area.kind != SwapKind::Zram)
            .map(|area| {
                let size = Bytes::new(self.scaled(area.size.0).next_multiple_of(4096));
                (size, Bytes::new(self.scaled(area.speed.0)))
            })
            .collect()
    }

    /// What the guest does beside this arm.
    pub fn play(&self, arm: &Arm) -> Result<Play> {
        let situation = self.situation;
        let mut play = Play {
            units: self.units(),
            swap: self.swap(),
            cache: self.cache(),
            mounts: Vec::new(),
            files: arm.files(situation),
            start: arm.start(),
            service: arm.service.map(str::to_owned),
            log: arm.log(),
            keep: Vec::new(),
            lasts_ms: self.lasts_ms(),
            quiet_ms: QUIET_MS,
            awaited: self.awaited(),
            cast: Vec::new(),
        };
        for program in &situation.programs {
            self.add(program, &mut play)?;
        }
        self.add_idle_memory(&mut play);
        for mount in situation
            .programs
            .iter()
            .filter_map(|one| one.mount.clone())
        {
            if !play.mounts.contains(&mount) {
                play.mounts.push(mount);
            }
        }
        Ok(play)
    }

    /// The place in the cast of the first process of each program.
    pub fn firsts(&self) -> Vec<usize> {
        let mut firsts = Vec::new();
        let mut next = 0;
        for program in &self.situation.programs {
            firsts.push(next);
            next += program.count as usize;
        }
        firsts
    }

    /// The program that a member of the cast is of; `None` if it is the lab's own.
    pub fn program_of(&self, role: usize) -> Option<&'s Program> {
        let mut programs = self.situation.programs.iter().zip(self.firsts());
        let found = programs.find(|(program, first)| {
            let end = first + program.count as usize;
            (*first..end).contains(&role)
        });
        found.map(|(program, _)| program)
    }

    /// As long as the text says, or longer if a deadline would be beyond it.
    fn lasts_ms(&self) -> u64 {
        const GRACE: u64 = 3_000;
        let right = &self.situation.right;
        let slower = u64::from(self.slower());
        let acts = right.acts.iter().map(|act| act.by);
        let reaches = right.reaches.iter().map(|one| one.by);
        let latest = acts.chain(reaches).chain(right.notice_by).max();
        let latest = latest.map_or(0, |by| millis(by) * slower + GRACE);
        millis(self.situation.runs).max(latest)
    }

    /// Names of processes: a signal to each ends the play early. Where SIGKILL must follow SIGTERM, it goes on to its end.
    fn awaited(&self) -> Vec<String> {
        let right = &self.situation.right;
        if right.acts.iter().any(|act| act.what == Do::Kill) {
            return Vec::new();
        }
        let signals = right.acts.iter().filter(|act| act.signals());
        signals.map(|act| act.whom.clone()).collect()
    }

    fn units(&self) -> Vec<UnitProperties> {
        let mut units = Vec::new();
        for unit in &self.situation.units {
            let attribute = match unit.mark {
                Mark::None => None,
                Mark::Avoid | Mark::Own => Some("user.oomd_avoid".to_owned()),
                Mark::Omit => Some("user.oomd_omit".to_owned()),
            };
            units.push(UnitProperties {
                path: unit.path.clone(),
                max: unit.max.map(|max| self.scaled(max.0)),
                oom_group: unit.oom_group,
                attribute,
                owner: if unit.mark == Mark::Own { 1000 } else { 0 },
            });
        }
        units
    }

    fn swap(&self) -> Vec<SwapArea> {
        let mut disk = FIRST_SWAP_DISK;
        let mut areas = Vec::new();
        for area in &self.situation.machine.swap {
            let device = if area.kind == SwapKind::Zram {
                "/dev/zram0".to_owned()
            } else {
                let device = format!("/dev/vd{}", char::from(disk));
                disk += 1;
                device
            };
            areas.push(SwapArea {
                device,
                size: self.scaled(area.size.0),
                used: self.scaled(area.used.0),
            });
        }
        areas
    }

    fn cache(&self) -> FileCache {
        let cache = self.situation.machine.cache;
        FileCache {
            device: "/dev/vdb".to_owned(),
            size: self.scaled(cache.size.0),
            in_use: self.scaled(cache.in_use.0),
            touches: self.scaled(cache.touches.0),
        }
    }

    fn add(&self, program: &Program, play: &mut Play) -> Result<()> {
        let first = play.cast.len() as u32;
        for number in 0..program.count {
            let kin = if is_of_a_family(program) {
                self.kin(program).unwrap_or(first)
            } else {
                first + number
            };
            let late = millis(program.apart) * u64::from(number);
            // Several alike that start apart also start when the play has begun.
            let starts = match program.starts {
                Some(starts) => Some(millis(starts) + late),
                None if late > 0 => Some(late),
                None => None,
            };
            play.cast.push(Role {
                name: program.name.clone(),
                called: program.called.clone(),
                file: program.exe(),
                roots: program.is_roots(),
                arguments: arguments(program),
                cgroup: program.unit.clone(),
                user: program.uid(),
                oom_score_adj: program.oom_score_adj,
                terminal: program.terminal,
                kin,
                starts_ms: starts,
                respawns_ms: program.respawns.map(millis),
                act: self.act(program)?,
            });
        }
        Ok(())
    }

    /// Memory that nobody touches, and that is in swap when the play begins. No guard may end what holds it.
    fn add_idle_memory(&self, play: &mut Play) {
        let used: u64 = play.swap.iter().map(|area| area.used).sum();
        if used == 0 {
            return;
        }
        play.cast.push(Role {
            name: "idle".to_owned(),
            file: "/usr/bin/idle".to_owned(),
            roots: true,
            arguments: vec!["/usr/bin/idle".to_owned()],
            cgroup: "/system.slice/idle.service".to_owned(),
            oom_score_adj: -1000,
            kin: play.cast.len() as u32,
            act: Act {
                has: used,
                paged_out: true,
                noise: self.noise(),
                ..Act::default()
            },
            ..Role::default()
        });
    }

    /// What zram cannot compress, of each page: as much as the text's ratio says.
    fn noise(&self) -> u32 {
        const PAGE: f64 = 4096.0;
        let areas = &self.situation.machine.swap;
        let zram = areas.iter().find(|area| area.kind == SwapKind::Zram);
        zram.map_or(0, |area| (PAGE / area.ratio.max(1.0)) as u32)
    }

    /// The first process of the family that a program names.
    fn kin(&self, program: &Program) -> Option<u32> {
        program.family.as_ref()?;
        let firsts = self.firsts();
        let mut programs = self.situation.programs.iter().zip(firsts);
        let (_, first) = programs.find(|(one, _)| one.family == program.family)?;
        Some(first as u32)
    }

    fn act(&self, program: &Program) -> Result<Act> {
        let name = &program.name;
        let memory = match program.memory {
            Kind::Anon => Memory::Anon,
            Kind::Shared => Memory::Shared,
            Kind::Memfd => Memory::Memfd,
            Kind::Tmpfs => Memory::Tmpfs(program.mount.clone().unwrap_or_default()),
            Kind::PageTables => Memory::PageTables,
            Kind::File => Memory::File,
            Kind::Hugetlb | Kind::Slab => bail!(
                "'{name}' grows in {:?}, which no worker of the lab does: remove [vm]",
                program.memory
            ),
        };
        anyhow::ensure!(
            !program.stuck && program.lingers == text::Time::default(),
            "'{name}' is stuck or lingers, which no worker of the lab can: remove [vm]"
        );
        let wanted = &self.situation.right.reaches;
        let notes = wanted
            .iter()
            .find(|one| one.whom == program.name || Some(&one.whom) == program.called.as_ref())
            .map(|one| reached(self.scaled(one.size.0)));
        Ok(Act {
            has: self.scaled(program.has.0),
            memory,
            phases: self.phases(program),
            touches: self.scaled(program.touches.0),
            uses: program.uses.map(|uses| self.scaled(uses.0)),
            streams: self.scaled(program.streams.0),
            writes: self.scaled(program.writes.0),
            forks: program.forks.map(|forks| Forks {
                rate: forks.rate.0 as f64 / 1000.0,
                most: forks.most,
                all: forks.all,
            }),
            on_term: match program.on_term {
                text::OnTerm::Exits(after) => OnTerm::Exits(millis(after)),
                text::OnTerm::Ignores => OnTerm::Ignores,
            },
            foreign_code: program.foreign_code,
            paged_out: false,
            notes,
            noise: self.noise(),
        })
    }

    fn phases(&self, program: &Program) -> Vec<Phase> {
        let mut phases = Vec::new();
        for phase in program.phases() {
            phases.push(match phase {
                text::Phase::Grow(speed, to) => {
                    Phase::Grow(self.scaled(speed.0), to.map(|to| self.scaled(to.0)))
                }
                text::Phase::Wait(time) => Phase::Wait(millis(time)),
                text::Phase::Shrink(to) => Phase::Shrink(self.scaled(to.0)),
                text::Phase::Exit => Phase::Exit,
                text::Phase::Repeat => Phase::Repeat,
            });
        }
        phases
    }
}

fn is_of_a_family(program: &Program) -> bool {
    program.count > 1 || program.family.is_some() || program.forks.is_some()
}

/// The command line: an interpreter has its script as its first argument.
fn arguments(program: &Program) -> Vec<String> {
    if let Some(command) = &program.command {
        return command.split(' ').map(str::to_owned).collect();
    }
    let mut arguments = vec![program.exe()];
    arguments.extend(program.script.clone());
    arguments
}

fn millis(time: text::Time) -> u64 {
    time.get().as_millis() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
kind = "family"
title = "A build"
source = "a test"
runs = "30 s"
[machine]
memory = "8 GiB"
cache = { size = "1 GiB" }
swap = [{ kind = "zram", size = "4 GiB" }, { kind = "disk", size = "2 GiB", speed = "80 MiB/s" }]
[[program]]
name = "editor"
has = "800 MiB"
terminal = true
[[program]]
name = "cc"
count = 3
apart = "100 ms"
starts = "2 s"
grows = "80 MiB/s"
to = "1600 MiB"
[right]
acts = [{ do = "end", whom = "cc", by = "20 s" }]
[vm]
memory = "512 MiB"
"#;

    fn situation() -> Situation {
        Situation::parse("test", TEXT).unwrap()
    }

    #[test]
    fn amounts_and_rates_are_those_of_the_small_machine_and_times_stay() {
        let situation = situation();
        let stage = Stage::of(&situation).unwrap();
        let play = stage.play(&Arm::named("none").unwrap()).unwrap();
        assert_eq!(play.cast.len(), 4);
        assert_eq!(play.cast[0].act.has, 50 << 20);
        assert_eq!(play.cast[3].starts_ms, Some(2200));
        assert_eq!(
            play.cast[1].act.phases,
            [Phase::Grow(5 << 20, Some(100 << 20))]
        );
        assert_eq!(play.cache.size, 64 << 20);
        assert_eq!(play.lasts_ms, 43_000, "deadlines are twice as late");
        assert_eq!(play.awaited, ["cc"]);
    }

    #[test]
    fn several_alike_are_of_one_kin_and_others_are_not() {
        let situation = situation();
        let stage = Stage::of(&situation).unwrap();
        let play = stage.play(&Arm::named("none").unwrap()).unwrap();
        let kin: Vec<u32> = play.cast.iter().map(|role| role.kin).collect();
        assert_eq!(kin, [0, 1, 1, 1]);
        assert_eq!(stage.program_of(0).unwrap().name, "editor");
        assert_eq!(stage.program_of(3).unwrap().name, "cc");
    }

    #[test]
    fn swap_on_a_disk_has_a_disk_of_its_own_and_zram_has_none() {
        let situation = situation();
        let stage = Stage::of(&situation).unwrap();
        let play = stage.play(&Arm::named("none").unwrap()).unwrap();
        let devices: Vec<&str> = play.swap.iter().map(|area| area.device.as_str()).collect();
        assert_eq!(devices, ["/dev/zram0", "/dev/vdc"]);
        assert_eq!(
            stage.swap_disks(),
            [(Bytes::mib(128), Bytes::mib(5))],
            "a sixteenth of 2 GiB and of 80 MiB/s"
        );
    }

    #[test]
    fn what_no_worker_can_do_is_an_error() {
        let text = TEXT.replace("name = \"cc\"", "name = \"cc\"\nmemory = \"slab\"");
        let situation = Situation::parse("test", &text).unwrap();
        let stage = Stage::of(&situation).unwrap();
        let error = stage.play(&Arm::named("none").unwrap()).unwrap_err();
        assert!(error.to_string().contains("remove [vm]"), "{error}");
    }
}
