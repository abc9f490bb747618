//! Faults that are planted on purpose are found, each by the promise that it breaks.

use turnwise_sim::{Options, Plant, run};

const SEEDS: u64 = 2_000;

fn found(plant: Plant, promise: u8) {
    let broken = (0..SEEDS).find_map(|seed| {
        let report = run(Options { seed, plant: Some(plant), ..Options::default() });
        report.broken.map(|broken| (seed, broken))
    });
    let Some((seed, broken)) = broken else { panic!("{SEEDS} seeds did not find {}", plant.name()) };
    assert_eq!(broken.promise, promise, "seed {seed}: {}", broken.how);
}

#[test]
fn a_completion_without_its_fence_check_is_found() {
    found(Plant::FenceUnchecked, 2);
}

#[test]
fn a_retry_that_frees_its_lane_is_found() {
    found(Plant::RetryFreesLane, 4);
}

#[test]
fn a_continuation_released_by_counting_events_is_found() {
    found(Plant::EventsCounted, 5);
}

#[test]
fn a_ticket_trusted_without_a_claim_is_found() {
    found(Plant::TicketTrusted, 2);
}
