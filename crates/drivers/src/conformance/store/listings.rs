//! Jobs by filter: what fits and nothing else, newest first, however many pages it takes.

use turnwise_core::batch::When;
use turnwise_core::ids::{BatchId, JobId, LineId, first_id_at};
use turnwise_core::job::State;
use turnwise_core::lane::Lane;
use turnwise_core::limits;
use turnwise_core::name::Name;
use turnwise_core::time::{Time, millis, secs};

use super::world::{World, name};
use crate::store::{Control, Filter, Found, JobRow, NewJob, Read, Start, Sweep, Unit};

async fn listed(world: &World, mut filter: Filter) -> Vec<JobId> {
    let mut found = Vec::new();
    loop {
        let page = world.store().list(filter.clone()).await.unwrap();
        assert!(page.rows.len() <= filter.limit);
        found.extend(page.rows.iter().map(|row| row.header.id));
        match page.before {
            Some(before) => {
                assert!(filter.before.is_none_or(|last| before < last), "the way on must lead on");
                filter.before = Some(before);
            }
            None => return found,
        }
    }
}

fn pages_of(limit: usize) -> Filter {
    Filter { limit, ..Filter::default() }
}

pub async fn listings_go_page_by_page(world: World) {
    world.kind("k").await;
    let jobs = world.submit((0..7).map(|_| world.job("k"))).await;
    let other = world.submit_one(NewJob { owner: name("bolt"), ..world.job("k") }).await;
    let (batch, members, then) = world.batch_of("k", 2, Some(When::Settled)).await;
    world.kill(jobs[1]).await;
    world.kill(jobs[4]).await;
    let dead = Filter { state: Some(State::Dead), ..pages_of(2) };
    assert_eq!(listed(&world, dead).await, [jobs[4], jobs[1]]);
    assert_eq!(listed(&world, Filter { owner: Some(name("bolt")), ..pages_of(2) }).await, [other]);
    let of_batch: Vec<JobId> = members.into_iter().rev().chain(then).collect();
    let mut found = listed(&world, Filter { batch: Some(batch), ..pages_of(2) }).await;
    found.sort_by_key(|job| of_batch.iter().position(|known| known == job));
    assert_eq!(found, of_batch);
    assert_eq!(listed(&world, Filter { kind: Some(name("none")), ..pages_of(2) }).await, []);
    let all = listed(&world, pages_of(2)).await;
    assert!(all.len() == 11 && all.windows(2).all(|pair| pair[0] > pair[1]), "newest first, each once");
}

/// Jobs in every state, of two kinds, two owners, two lanes and two batches; one of the batches is forgotten.
async fn crowd(world: &World) -> [BatchId; 2] {
    for kind in ["k", "l"] {
        world.kind(kind).await;
    }
    let (gone, members, _) = world.batch_of("l", 2, None).await;
    for job in members {
        world.run(job).await;
    }
    world.ok(Unit::Sweep(Sweep::ForgetBatch(gone))).await;
    let (batch, members, _) = world.batch_of("k", 4, Some(When::Settled)).await;
    world.run(members[0]).await;
    world.kill(members[1]).await;
    world.control(Control::Cancel(members[2])).await;
    for (kind, owner) in [("k", "acme"), ("l", "acme"), ("k", "bolt"), ("l", "bolt")] {
        let job = || NewJob { owner: name(owner), ..world.job(kind) };
        let later = NewJob { start: Start::After(secs(60)), ..job() };
        let jobs = world.submit((0..6).map(|_| job()).chain([later])).await;
        world.run(jobs[0]).await;
        world.kill(jobs[1]).await;
        world.control(Control::Cancel(jobs[2])).await;
        world.claim(jobs[3]).await;
        world.fail(&world.claim(jobs[4]).await).await;
        for lane in ["north", "south"] {
            let in_lane = || NewJob { lane: world.lane_job(kind, lane).lane, ..job() };
            let lane = world.submit([in_lane(), in_lane(), in_lane()]).await;
            world.control(Control::Cancel(lane[1])).await;
        }
    }
    [batch, gone]
}

pub async fn every_filter_finds_what_fits(world: World) {
    let batches = crowd(&world).await;
    let all: Vec<JobRow> = world.dump().await.jobs.into_iter().rev().map(|job| job.row).collect();
    let mut met = 0;
    for state in [None].into_iter().chain(State::ALL.map(Some)) {
        for kind in [None, Some(name("l"))] {
            for owner in [None, Some(name("bolt"))] {
                for lane in [None, Some(name("north")), Some(name("nobody's"))] {
                    for batch in [None, Some(batches[0]), Some(batches[1])] {
                        let (kind, owner, lane) = (kind.clone(), owner.clone(), lane.clone());
                        let filter = Filter { state, kind, owner, lane, batch, ..pages_of(5) };
                        let fits = all.iter().filter(|row| fits(&filter, row));
                        let wanted: Vec<JobId> = fits.map(|row| row.header.id).collect();
                        met += wanted.len();
                        assert_eq!(listed(&world, filter.clone()).await, wanted, "{filter:?}");
                    }
                }
            }
        }
    }
    assert!(met > 4 * all.len(), "many filters fit somebody: {met}");
    assert_eq!(listed(&world, Filter { batch: Some(BatchId::from_u64(7)), ..pages_of(5) }).await, []);
}

/// The same in plain words.
fn fits(filter: &Filter, row: &JobRow) -> bool {
    let is = |asked: &Option<Name>, name: &Name| asked.as_ref().is_none_or(|asked| asked == name);
    let in_lane = |lane: &Name| row.header.place.is_some_and(|place| place.lane == Lane::id_of(lane));
    filter.state.is_none_or(|state| row.header.state == state)
        && is(&filter.kind, &row.line.kind)
        && is(&filter.owner, &row.line.owner)
        && filter.lane.as_ref().is_none_or(in_lane)
        && filter.batch.is_none_or(|batch| row.line.batch == Some(batch))
}

pub async fn times_are_those_in_the_ids(world: World) {
    world.kind("k").await;
    let at = |ms: u64| world.now() + millis(ms);
    let job =
        |ms: u64, place: u64| NewJob { id: JobId::from_u64(first_id_at(at(ms)) + place), ..world.job("k") };
    let jobs = world.submit([job(0, 0), job(0, 2_000_000), job(1, 0), job(2, 5)]).await;
    for (since, until, wanted) in [
        (None, None, 0..4),
        (Some(at(0)), Some(at(0)), 0..0),
        (Some(at(0)), Some(at(1)), 0..2),
        (Some(at(1)), None, 2..4),
        (None, Some(at(2)), 0..3),
        (Some(at(1) + std::time::Duration::from_micros(1)), Some(at(9)), 2..4),
        (None, Some(at(2) + std::time::Duration::from_micros(1)), 0..4),
        (Some(Time::ZERO), Some(Time::MAX), 0..4),
        (Some(Time::MAX), Some(Time::ZERO), 0..0),
    ] {
        for state in [None, Some(State::Ready)] {
            let filter = Filter { state, since, until, ..pages_of(1) };
            let newest_first: Vec<JobId> = jobs[wanted.clone()].iter().rev().copied().collect();
            assert_eq!(listed(&world, filter.clone()).await, newest_first, "{filter:?}");
        }
    }
}

pub async fn what_is_far_back_is_found(world: World) {
    world.kind("k").await;
    let rare = NewJob { owner: name("bolt"), ..world.lane_job("k", "lane") };
    let rare = world.submit_one(rare).await;
    world.submit((0..limits::ROWS_LOOKED_AT + 500).map(|_| world.job("k"))).await;
    let owner = Some(name("bolt"));
    for filter in [
        Filter { owner: owner.clone(), ..pages_of(10) },
        Filter { lane: Some(name("lane")), ..pages_of(10) },
        Filter { state: Some(State::Ready), owner, ..pages_of(10) },
    ] {
        assert_eq!(listed(&world, filter).await, [rare]);
    }
    world.run(rare).await;
    assert_eq!(listed(&world, Filter { state: Some(State::Done), ..pages_of(10) }).await, [rare]);
    assert_eq!(listed(&world, pages_of(1_000)).await.len(), limits::ROWS_LOOKED_AT + 501);
}

pub async fn lanes_have_names(mut world: World) {
    world.kind("k").await;
    let job = world.submit_one(world.lane_job("k", "north")).await;
    world.submit_one(world.lane_job("k", "south")).await;
    world.run(job).await;
    world.reopen();
    let [north, south, nobody] = ["north", "south", "nobody"].map(|lane| Lane::id_of(&name(lane)));
    let Found::LaneNames(mut names) = world.read(Read::LaneNames(vec![nobody, south, north])).await else {
        panic!("names of lanes were asked for")
    };
    names.sort_by(|one, other| one.1.cmp(&other.1));
    assert_eq!(names, [(north, name("north")), (south, name("south"))], "an empty lane has its name too");
}

pub async fn lines_say_what_their_jobs_have_in_common(mut world: World) {
    world.kind("k").await;
    let (_, members, _) = world.batch_of("k", 2, None).await;
    let other = NewJob { owner: name("bolt"), limit_key: Some(name("key")), ..world.job("k") };
    let jobs = [members[0], members[1], world.submit_one(other).await];
    world.reopen();
    let Found::Jobs(rows) = world.read(Read::Jobs(jobs.to_vec())).await else {
        panic!("jobs were asked for")
    };
    let ids = vec![rows[2].header.line, LineId::from_u64(7), rows[0].header.line];
    for _ in 0..2 {
        let Found::Lines(lines) = world.read(Read::Lines(ids.clone())).await else {
            panic!("lines were asked for")
        };
        assert_eq!(lines, [(ids[0], rows[2].line.clone()), (ids[2], rows[1].line.clone())]);
    }
}
