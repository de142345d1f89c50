//! The list of all policies.

use super::spec::Spec;
use super::{
    arc, car, clock, clock_pro, fifo, gclock, half_life, le9, lfu, linux, lirs, lru, lru_k, mglru,
    mq, nfu, opt, pff, random, s3fifo, sieve, tinylfu, two_q, vmin, working_set, ws_clock,
};

/// All policies. A new one needs a file, a `mod` in `policy.rs`, and a line here.
pub const POLICIES: &[Spec] = &[
    fifo::SPEC,
    half_life::SPEC,
    random::SPEC,
    lru::SPEC,
    clock::SPEC,
    gclock::SPEC,
    nfu::SPEC,
    lfu::SPEC,
    lru_k::SPEC,
    two_q::SPEC,
    mq::SPEC,
    arc::REAL,
    arc::INTEGER,
    car::SPEC,
    lirs::SPEC,
    clock_pro::SPEC,
    sieve::SPEC,
    s3fifo::SPEC,
    tinylfu::SPEC,
    opt::SPEC,
    working_set::SPEC,
    pff::SPEC,
    vmin::SPEC,
    ws_clock::SPEC,
    linux::SPEC,
    mglru::SPEC,
    le9::FIXED,
    le9::ADAPTIVE,
];
