use super::*;

fn refused(text: &str) -> String {
    Config::parse("warmset.toml", text)
        .expect_err(text)
        .to_string()
}

#[test]
fn an_empty_file_is_the_default() {
    assert_eq!(Config::parse("warmset.toml", ""), Ok(Config::default()));
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(
        refused("[gap]\nmaximum = \"1 GiB\"")
            .lines()
            .next()
            .unwrap(),
        "warmset.toml:2:1: unknown field `maximum`, expected one of `enabled`, `max`, `available-floor`, \
         `stall-cost`, `refault-cost`, `half-life`, `give-back-after`, `settle`, `dead-band`, `refault-target`, \
         `cap-boost`, `reclaim-ahead`, `min-free`"
    );
    assert!(
        refused("[wake]\ncalmest = \"5\"")
            .starts_with("warmset.toml:2:11: \"5\" is not a time with its unit")
    );
    assert!(
        refused("[wake]\ncalmest = 5").starts_with("warmset.toml:2:11: invalid type: integer `5`")
    );
    assert!(refused("aggressiveness = 0").contains("0 is not an aggressiveness of 1, 2 or 3"));
    assert!(refused("verbosity = 6").contains("6 is not a verbosity of 0 to 5"));
    assert!(
        refused("[[tunable]]\nknob = \"vm.drop_caches\"\nvalue = 1")
            .contains("\"vm.drop_caches\" is not a knob")
    );
    assert!(
        refused("[[tunable]]\nknob = \"vm.swappiness\"\nvalue = 500")
            .contains("not between 0 and 200")
    );
    assert!(refused("mode = \"tune").starts_with("warmset.toml:1:"));
    assert!(refused("[wake]\nfastest = \"9 s\"\ncalmest = \"1 s\"").contains("wake.calmest"));
    assert!(refused("[gap]\nmax = \"30 %\"").contains("more than a quarter"));
    assert!(refused("[protect]\nfloors = \"30 %\"").contains("more than a quarter"));
    assert!(
        refused("[hooks]\nended = \"logger\"")
            .contains("hooks.ended: \"logger\" is no absolute path")
    );
    assert!(refused("[hooks]\ntimeout = \"2 min\"").contains("hooks.timeout"));
    for unit in [
        "user.slice",
        "app.slice",
        "*",
        "/user.slice/user-1000.slice",
    ] {
        assert!(
            refused(&format!("[protect]\nunits = [{unit:?}]")).contains("may hold anything"),
            "{unit}"
        );
    }
}

#[test]
fn what_is_written_is_read_back() {
    let text = "mode = \"protect\"\npredictor = \"classic\"\n[gap]\nmax = \"2.5 %\"\nmin-free = \"64 MiB\"\n\
                [[tunable]]\nknob = \"vm.swappiness\"\nvalue = 10\non = \"swap\"\n";
    let config = Config::parse("warmset.toml", text).unwrap();
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config);
}
