//! The budget of large forms: a few are in memory at a time, and one of each person.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use cognate_proto::name::OperatorName;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::PageError;

/// The number of large forms in memory at a time.
const LARGE_FORMS_MAX: usize = 4;

/// The places for large forms.
#[derive(Clone)]
pub(crate) struct LargeForms {
    places: Arc<Semaphore>,
    senders: Arc<Mutex<HashSet<OperatorName>>>,
}

impl Default for LargeForms {
    fn default() -> LargeForms {
        LargeForms { places: Arc::new(Semaphore::new(LARGE_FORMS_MAX)), senders: Arc::default() }
    }
}

/// The place of a large form, as long as it is in memory.
pub(crate) struct LargeForm {
    senders: Arc<Mutex<HashSet<OperatorName>>>,
    sender: OperatorName,
    _place: OwnedSemaphorePermit,
}

impl Drop for LargeForm {
    fn drop(&mut self) {
        self.senders.lock().expect("nothing panics while it is held").remove(&self.sender);
    }
}

impl LargeForms {
    /// A place for a large form of this person.
    ///
    /// # Errors
    /// Fails if another one of the person, or too many of others, are in memory.
    pub(crate) fn place(&self, sender: &OperatorName) -> Result<LargeForm, PageError> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let place = place.map_err(|_| PageError::busy("other large forms are being received: send it again later"))?;
        if !self.senders.lock().expect("nothing panics while it is held").insert(sender.clone()) {
            return Err(PageError::busy("another large form of yours is being received: wait for its answer"));
        }
        Ok(LargeForm { senders: Arc::clone(&self.senders), sender: sender.clone(), _place: place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_one_large_form_in_memory_and_all_have_four() {
        let forms = LargeForms::default();
        let place = |name: &str| forms.place(&name.parse().unwrap());
        let first = place("anna").unwrap();
        assert_eq!(place("anna").err().unwrap().status.as_u16(), 503);
        drop(first);
        let mut held: Vec<_> = ["anna", "ben", "cora", "dora"].map(|name| place(name).unwrap()).into();
        assert_eq!(place("emil").err().unwrap().status.as_u16(), 503);
        held.pop();
        place("emil").unwrap();
    }
}
