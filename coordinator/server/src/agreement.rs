//! The agreement of the sites of a scan on three things: the key, the method of the indexes, the fingerprint of a known text.
//!
//! A site that differs from most is left out of the scan and named; the others go on. Only where there are no most, as
//! between two sites, nobody can tell which one is wrong, and the scan ends.

use std::collections::BTreeMap;

use cognate_proto::name::SiteName;

/// The claims of the sites of a scan about one thing.
#[derive(Debug)]
pub(crate) struct Claims<T> {
    /// The sites of the scan.
    sites: usize,
    claimed: BTreeMap<SiteName, T>,
    /// The claim that more than half of the sites made at the same time. It stays, whatever one of them claims later.
    settled: Option<T>,
}

/// A claim, next to those of other sites.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Standing<T> {
    /// It is the same, as far as is known.
    Agrees,
    /// Two claims differ, and others that are yet to come decide.
    Undecided,
    /// Most sites claim something else.
    Differs(T),
    /// All have claimed, and none has more than half of the sites.
    Split(SiteName, T),
}

impl<T: Clone + PartialEq> Claims<T> {
    /// No claims yet, of so many sites.
    pub(crate) fn new(sites: usize) -> Claims<T> {
        Claims { sites, claimed: BTreeMap::new(), settled: None }
    }

    /// Takes the claim of a site, in place of an earlier one.
    pub(crate) fn claim(&mut self, site: &SiteName, claim: T) -> Standing<T> {
        self.claimed.insert(site.clone(), claim.clone());
        if self.settled.is_none() && 2 * self.claimed.values().filter(|other| **other == claim).count() > self.sites {
            self.settled = Some(claim.clone());
        }
        self.standing(&claim)
    }

    /// The standing of a claim now.
    pub(crate) fn standing(&self, claim: &T) -> Standing<T> {
        if let Some(settled) = &self.settled {
            return if settled == claim { Standing::Agrees } else { Standing::Differs(settled.clone()) };
        }
        match self.claimed.iter().find(|(_, other)| *other != claim) {
            None => Standing::Agrees,
            Some((site, other)) if self.claimed.len() >= self.sites => Standing::Split(site.clone(), other.clone()),
            Some(_) => Standing::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(name: &str) -> SiteName {
        name.parse().unwrap()
    }

    #[test]
    fn a_site_that_differs_from_most_is_the_one_that_is_left_out_whenever_it_comes() {
        let names = ["a", "b", "c"].map(site);
        for false_one in 0..3 {
            let mut claims = Claims::new(3);
            for (number, name) in names.iter().enumerate() {
                let standing = claims.claim(name, number == false_one);
                assert!(!matches!(standing, Standing::Split(..)), "{standing:?}");
            }
            assert_eq!(claims.standing(&false), Standing::Agrees);
            assert_eq!(claims.standing(&true), Standing::Differs(false));
        }
    }

    #[test]
    fn nobody_undoes_what_was_settled() {
        let mut claims = Claims::new(2);
        assert_eq!(claims.claim(&site("a"), 1), Standing::Agrees);
        assert_eq!(claims.claim(&site("b"), 1), Standing::Agrees);
        assert_eq!(claims.claim(&site("b"), 2), Standing::Differs(1));
        assert_eq!(claims.standing(&1), Standing::Agrees);
    }

    #[test]
    fn two_against_two_is_a_split_and_one_against_one_of_three_is_undecided() {
        let mut claims = Claims::new(4);
        for (name, claim) in [("a", 1), ("b", 2), ("c", 1)] {
            claims.claim(&site(name), claim);
        }
        assert_eq!(claims.standing(&2), Standing::Undecided);
        assert_eq!(claims.claim(&site("d"), 2), Standing::Split(site("a"), 1));
    }
}
