//! Programs that tests compile and record.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use traces::{Reading, open, read};
use workingset::Trace;

/// A directory with what a script such as `valgrind/build` makes, or `None` where that cannot be built: a line says why.
pub(crate) fn built(script: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let directory = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(script);
    // By a path from where it is called, as `make build` has it.
    let done = Command::new(script)
        .arg(".")
        .current_dir(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    match done.status.code() {
        Some(0) => {
            let path = directory.path().to_owned();
            Some((directory, path))
        }
        Some(3) => {
            eprintln!("not tested: {said}");
            None
        }
        _ => panic!("{said}"),
    }
}

/// Runs `warmset-tools trace` with more in its environment.
pub(crate) fn trace(environment: &[(&str, &Path)], arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warmset-tools"))
        .arg("trace")
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

/// A recorded trace, and what was printed.
pub(crate) fn recorded(environment: &[(&str, &Path)], arguments: &[&str]) -> (Trace, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("it.parquet");
    let output = ["-o", path.to_str().unwrap()];
    let done = trace(environment, &[&output, arguments].concat());
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let file = std::fs::File::open(&path).unwrap();
    let mut source = open(file, "it.parquet", None, Reading::default()).unwrap();
    let said = String::from_utf8(done.stdout).unwrap();
    (read(&mut *source, &|_| {}).unwrap(), said)
}

/// A program compiled from C, in a directory of its own.
pub(crate) fn compiled(
    compiler: &str,
    text: &str,
    options: &[&str],
) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("it.c");
    let program = directory.path().join("it");
    std::fs::write(&source, text).unwrap();
    let done = Command::new(compiler)
        .args(["-O1", "-o"])
        .arg(&program)
        .arg(&source)
        .args(options)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let name = program.to_str().unwrap().to_owned();
    (directory, name)
}

pub(crate) fn parameter<'t>(trace: &'t Trace, name: &str) -> Option<&'t str> {
    let parameters = trace.about.parameters.iter();
    let mut found = parameters.filter(|parameter| parameter.0 == name);
    found.next().map(|parameter| parameter.1.as_str())
}

/// The names of the tasks.
pub(crate) fn tasks(trace: &Trace) -> Vec<&str> {
    let tasks = trace.about.tasks.iter();
    tasks.map(|task| task.1.as_str()).collect()
}

/// An array for each of four threads, stored to three times, one thread after the other.
pub(crate) const THREADS: &str = r"
#include <pthread.h>
#include <stdlib.h>
#define N 100
static void* f(void* a)
{
   volatile char* p = aligned_alloc(4096, N * 4096L);
   int r, i;
   for (r = 0; r < 3; r++)
      for (i = 0; i < N; i++)
         p[i * 4096L] = (long)a;
   return 0;
}
int main(void)
{
   long i;
   for (i = 0; i < 4; i++) {
      pthread_t t;
      pthread_create(&t, 0, f, (void*)i);
      pthread_join(t, 0);
   }
   return 3;
}
";

/// A function that is written anew each time, a thousand forks, a mapping of 16 GiB of which a page in each GiB is used, and
/// huge pages.
pub(crate) const ODD: &str = r"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
   unsigned char* code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   char* wide = mmap(0, 16L << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
   char* huge = mmap(0, 4L << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   int i, sum = 0;
   for (i = 0; i < 1000; i++) {
      code[0] = 0xb8; // mov $i, %eax; ret
      code[1] = i;
      code[5] = 0xc3;
      sum += ((int (*)(void))code)() != (i & 255);
   }
   for (i = 0; i < 16; i++)
      wide[(long)i << 30] = 1;
   madvise(huge, 4L << 20, MADV_HUGEPAGE);
   memset(huge, 1, 4L << 20);
   for (i = 0; i < 1000; i++)
      if (fork() == 0)
         _exit(0);
   while (wait(0) > 0) {
   }
   return sum;
}
";
