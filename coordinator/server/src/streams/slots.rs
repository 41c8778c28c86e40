//! The number of streams of a member, of an address, and in all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tonic::Status;

use crate::places::origin;

/// The streams at a time of one person or site, of people at one address, and of all.
const MEMBER_MAX: usize = 16;
const ADDRESS_MAX: usize = 64;
const ALL_MAX: usize = 1024;

#[derive(Default)]
pub(super) struct Slots {
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    members: HashMap<String, usize>,
    addresses: HashMap<IpAddr, usize>,
    all: usize,
}

/// One stream, until it is dropped.
pub struct Slot {
    slots: Arc<Slots>,
    member: String,
    from: Option<IpAddr>,
}

impl Slots {
    /// One more stream of a member. Streams without an address count for the member alone.
    pub(super) fn take(self: &Arc<Slots>, member: &str, from: Option<IpAddr>) -> Result<Slot, Status> {
        let from = from.map(origin);
        let mut taken = self.taken.lock().expect("nothing panics while it is held");
        let of_member = taken.members.get(member).copied().unwrap_or_default();
        let of_address = from.and_then(|from| taken.addresses.get(&from)).copied().unwrap_or_default();
        let refused = if of_member >= MEMBER_MAX {
            Some(format!("`{member}` has {MEMBER_MAX} streams already"))
        } else if of_address >= ADDRESS_MAX {
            Some(format!("this address has {ADDRESS_MAX} streams already"))
        } else if taken.all >= ALL_MAX {
            Some(format!("the coordinator has {ALL_MAX} streams already"))
        } else {
            None
        };
        if let Some(refused) = refused {
            return Err(Status::resource_exhausted(format!("{refused}: read one to its end first, or end it")));
        }
        taken.all += 1;
        *taken.members.entry(member.to_owned()).or_default() += 1;
        if let Some(from) = from {
            *taken.addresses.entry(from).or_default() += 1;
        }
        Ok(Slot { slots: Arc::clone(self), member: member.to_owned(), from })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock().expect("nothing panics while it is held");
        taken.all -= 1;
        less(&mut taken.members, &self.member);
        if let Some(from) = &self.from {
            less(&mut taken.addresses, from);
        }
    }
}

fn less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_and_an_address_have_a_number_of_streams_and_a_refusal_says_so() {
        let slots = Arc::<Slots>::default();
        let from = |host: u8| Some(IpAddr::from([192, 0, 2, host]));
        let mut held: Vec<Slot> = (0..MEMBER_MAX).map(|_| slots.take("anna", from(1)).unwrap()).collect();
        let refused = slots.take("anna", from(2)).map(drop).unwrap_err();
        assert!(refused.message().contains("`anna` has 16 streams already"), "{refused}");
        for name in ["ben", "cora", "dora"] {
            held.extend((0..MEMBER_MAX).map(|_| slots.take(name, from(1)).unwrap()));
        }
        let refused = slots.take("emil", from(1)).map(drop).unwrap_err();
        assert!(refused.message().contains("this address has 64 streams already"), "{refused}");
        held.push(slots.take("emil", from(2)).unwrap());
        drop(held);
        let taken = slots.taken.lock().unwrap();
        assert!(taken.members.is_empty() && taken.addresses.is_empty() && taken.all == 0);
    }
}
