//! Where chance comes from: a stream of numbers for each (seed, run, team, player), and nothing else.
//!
//! A seed is any text; SHA-256 makes 256 bits of it, and another 256 of the team's key. Both together are the key of the
//! team's luck, so neither the other teams nor their order have a part in it. From that key, the run and the player's place
//! in the team come the 256 bits of state of a xoshiro256++ generator. Two streams of a team never start alike: run and
//! player go through bijections only.
//!
//! The algorithms are written out here and pinned by vectors, because no result may ever change with a dependency.

use sha2::{Digest, Sha256};

/// What makes a simulation repeatable: the same seed gives the same runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed([u64; 4]);

impl Seed {
    /// From any text. All of it counts.
    pub fn new(text: &str) -> Seed {
        Seed(digest("turnwise bingo seed", text))
    }
}

/// A team's part of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TeamLuck([u64; 4]);

impl TeamLuck {
    pub(crate) fn new(team_key: &str) -> TeamLuck {
        TeamLuck(digest("turnwise bingo team", team_key))
    }

    /// The luck of this team in one run.
    pub(crate) fn in_run(&self, seed: &Seed, run: u64) -> RunLuck {
        let key: [u64; 4] = std::array::from_fn(|word| seed.0[word] ^ self.0[word]);
        RunLuck { key, run: mix(key[0] ^ run) }
    }
}

/// From here each player has a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunLuck {
    key: [u64; 4],
    run: u64,
}

impl RunLuck {
    pub(crate) fn stream(&self, player: usize) -> Stream {
        let (key, run) = (&self.key, self.run);
        let player = mix(key[1] ^ player as u64 ^ run.rotate_left(32));
        let state =
            [mix(run ^ key[2]), mix(player ^ key[3]), mix(run ^ player.rotate_left(17)), mix(!player)];
        Stream { state }
    }
}

/// xoshiro256++ by David Blackman and Sebastiano Vigna.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    state: [u64; 4],
}

impl Stream {
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let number = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        number
    }
}

/// Splits one number into a choice among `many` and what is left of its chance: a number that again may be anything.
/// Of 64 bits the choice takes as many as it needs.
#[inline]
pub(crate) fn split(number: u64, many: u64) -> (u64, u64) {
    let wide = u128::from(number) * u128::from(many);
    ((wide >> 64) as u64, wide as u64)
}

fn digest(purpose: &str, text: &str) -> [u64; 4] {
    let mut hash = Sha256::new();
    hash.update(purpose.as_bytes());
    hash.update([0]);
    hash.update(text.as_bytes());
    let bytes: [u8; 32] = hash.finalize().into();
    std::array::from_fn(|word| {
        let mut part = [0; 8];
        part.copy_from_slice(&bytes[word * 8..word * 8 + 8]);
        u64::from_le_bytes(part)
    })
}

/// A bijection of 64 bits in which every bit counts for every other (the finaliser of splitmix64).
#[inline]
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_generator_gives_its_published_numbers() {
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let numbers: Vec<u64> = (0..10).map(|_| stream.next()).collect();
        let published = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        assert_eq!(numbers, published);
    }

    #[test]
    fn the_mixer_gives_the_numbers_of_splitmix() {
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix(0x9E37_79B9_7F4A_7C15), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn the_split_is_fair_and_leaves_the_rest() {
        assert_eq!(split(0, 21), (0, 0));
        assert_eq!(split(u64::MAX, 21), (20, u64::MAX - 20));
        assert_eq!(split(1 << 63, 4), (2, 0));
    }

    #[test]
    fn streams_differ_by_seed_team_run_and_player() {
        let mut first = BTreeSet::new();
        for seed in ["a", "b", ""] {
            for team in ["red", "blue"] {
                for run in [0, 1, 1 << 32, u64::MAX] {
                    for player in 0..64 {
                        let luck = TeamLuck::new(team).in_run(&Seed::new(seed), run);
                        first.insert(luck.stream(player).next());
                    }
                }
            }
        }
        assert_eq!(first.len(), 3 * 2 * 4 * 64);
    }

    #[test]
    fn weak_point_5_the_whole_seed_counts() {
        // These two collide under a 32-bit polynomial hash (17, ×31), as any "Aa" and "BB" do.
        assert_ne!(Seed::new("batch_Aa_0"), Seed::new("batch_BB_0"));
        let seeds: BTreeSet<[u64; 4]> = (0..100_000).map(|n| Seed::new(&format!("s{n}")).0).collect();
        assert_eq!(seeds.len(), 100_000, "a 32-bit hash would have met itself about once");
        let low: BTreeSet<u64> = seeds.iter().map(|words| words[3]).collect();
        assert_eq!(low.len(), 100_000);
    }
}
