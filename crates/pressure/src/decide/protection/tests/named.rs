use super::*;

/// The acts on named files, and why.
fn on_named(acts: Vec<(Act, Why)>) -> Vec<(Bytes, Why)> {
    acts.into_iter()
        .filter_map(|(act, why)| match act {
            Act::HoldNamed { amount } => Some((amount, why)),
            _ => None,
        })
        .collect()
}

/// A machine that is not short, of which enough is known for decisions.
fn calm() -> Bench {
    let mut bench = Bench::new();
    bench.seconds(8, 0);
    bench
}

/// The holder does as it was told.
fn obey(bench: &mut Bench, asked: Bytes) {
    bench.sample.warm.sums.named_asked = Some(asked);
    bench.sample.warm.sums.named_held = Some(asked);
}

#[test]
fn named_files_are_held_while_memory_is_not_short_and_once() {
    let mut bench = calm();
    bench.sample.warm.sums.named_asked = Some(Bytes::ZERO);
    assert_eq!(on_named(bench.second(0)), [], "not looked for yet");
    let size = Bytes::mib(30);
    bench.sample.warm.sums.named = Some(size);
    let acts = on_named(bench.second(0));
    assert!(
        matches!(acts[..], [(amount, Why::Named { size: told, .. })] if amount == size && told == size),
        "{acts:?}"
    );
    obey(&mut bench, size);
    bench.seconds(200, 0);
    assert_eq!(on_named(bench.second(0)), [], "it stays");
    bench.sample.warm.sums.named = Some(Bytes::ZERO);
    assert_eq!(
        on_named(bench.second(0)),
        [(Bytes::ZERO, Why::Unnamed)],
        "taken back"
    );
}

#[test]
fn more_than_the_budget_is_never_let_be_held() {
    let mut bench = calm();
    bench.sample.warm.sums.named = Some(Bytes::mib(900));
    // A fifth of 1 GiB, in whole pages.
    let budget = Bytes::new(52_429 * 4096);
    let acts = on_named(bench.second(0));
    assert_eq!(
        acts,
        [(
            budget,
            Why::Named {
                size: Bytes::mib(900),
                budget
            }
        )]
    );
    obey(&mut bench, budget);
    assert_eq!(on_named(bench.second(0)), []);
    bench.config.protect.budget = Share::Percent(Percent::new(10));
    let acts = on_named(bench.second(0));
    assert!(
        matches!(acts[..], [(amount, Why::Named { budget, .. })] if amount == budget && amount < Bytes::mib(103)),
        "a smaller budget takes back: {acts:?}"
    );
}

#[test]
fn what_is_named_comes_before_what_thrashes() {
    let mut bench = calm();
    // 150 MiB of 204 MiB are held because they thrash.
    let mut file = hot(1, 150);
    file.asked = file.hot;
    file.held = file.size;
    file.idle = Some(Micros::new(0));
    bench.sample.warm.places_mut()[0] = file;
    bench.short();
    assert!(
        !bench
            .short()
            .iter()
            .any(|(act, _)| matches!(act, Act::Release { .. })),
        "it fits"
    );
    bench.sample.warm.sums.named = Some(Bytes::mib(60));
    let acts = bench.short();
    let releases = acts
        .iter()
        .any(|(act, why)| matches!((act, why), (Act::Release { .. }, Why::Budget { .. })));
    assert!(releases, "60 and 150 MiB do not fit: {acts:?}");
    assert_eq!(on_named(acts).len(), 1);
}

#[test]
fn in_another_mode_nothing_is_held_and_what_was_is_released() {
    let mut bench = calm();
    bench.config.mode = Mode::Observe;
    bench.sample.warm.sums.named = Some(Bytes::mib(30));
    assert_eq!(on_named(bench.second(0)), [], "not in this mode");
    obey(&mut bench, Bytes::mib(20));
    let acts = on_named(bench.second(0));
    assert_eq!(acts, [(Bytes::ZERO, Why::Off)]);
}
