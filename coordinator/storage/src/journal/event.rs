//! The events of the journal.

use cognate_proto::v1;

pub use crate::rows::{Certified, Invited, MemberName};
use crate::rows::{MemberRow, ScanRow};
use crate::sample::{Judged, SampleRow};
use crate::verdict::{ActionRow, Decision, SavedFilter, Undone, VerdictRow};

/// Something that happened and must not be forgotten.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Event {
    /// Seconds since 1970.
    #[prost(sint64, tag = "1")]
    pub time: i64,
    /// Name of the operator or site that did it; empty for the coordinator.
    #[prost(string, tag = "2")]
    pub by: String,
    /// The change itself; none: a later version wrote a kind of event that this one does not know.
    #[prost(
        oneof = "What",
        tags = "3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 30, 31, 32, 33, 34, 35, 40, 50, 51, 52, 53, 54, 60, 61, 62, 63, 64, \
                65"
    )]
    pub what: Option<What>,
}

/// An event of the journal.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum What {
    /// Somebody was invited.
    #[prost(message, tag = "3")]
    Invited(Invited),
    /// A site is let in without a certificate: the pipe within the process vouches for it.
    #[prost(message, tag = "4")]
    Admitted(v1::Membership),
    /// An invitation was turned into a certificate.
    #[prost(message, tag = "5")]
    Certified(Certified),
    /// A certificate took the place of the one before it.
    #[prost(message, tag = "6")]
    Renewed(Certified),
    /// A member was shut out.
    #[prost(message, tag = "7")]
    Revoked(MemberName),
    /// A member, and all that it sent, was erased.
    #[prost(message, tag = "8")]
    Forgotten(MemberName),
    /// A scan was launched or came a step further.
    #[prost(message, tag = "9")]
    Scan(ScanEvent),
    /// A scan was deleted.
    #[prost(fixed64, tag = "10")]
    ScanDeleted(u64),
    /// A profile was saved, in place of an earlier one of the same name.
    #[prost(message, tag = "11")]
    Profile(v1::Profile),
    /// The profile of this name was removed.
    #[prost(string, tag = "12")]
    ProfileRemoved(String),
    /// A schedule was saved, in place of an earlier one of the same name.
    #[prost(message, tag = "13")]
    Schedule(v1::Schedule),
    /// The schedule of this name was removed.
    #[prost(string, tag = "14")]
    ScheduleRemoved(String),
    /// Tags are set aside from now on.
    #[prost(message, tag = "15")]
    Template(v1::Template),
    /// They are not any more.
    #[prost(fixed64, tag = "16")]
    TemplateUnmarked(u64),
    /// The registry is that of a backup. Invitations that were open are void: they may have been used since.
    #[prost(message, tag = "17")]
    Restored(Restored),
    /// A scan has another name from now on, or none.
    #[prost(message, tag = "18")]
    ScanNamed(ScanNamed),
    /// A party has another full name from now on, or none.
    #[prost(message, tag = "19")]
    PartyNamed(PartyNamed),
    /// Somebody decided about what a result shows.
    #[prost(message, tag = "30")]
    Decided(Decision),
    /// And took that back.
    #[prost(message, tag = "31")]
    Undone(Undone),
    /// A filter of clusters has a name from now on.
    #[prost(message, tag = "32")]
    FilterSaved(SavedFilter),
    /// The saved filter of this name was removed.
    #[prost(string, tag = "33")]
    FilterRemoved(String),
    /// A blind sample was drawn; in a checkpoint, with what was said of its pairs.
    #[prost(message, tag = "34")]
    SampleDrawn(SampleRow),
    /// Somebody said something of a pair of it.
    #[prost(message, tag = "35")]
    SampleJudged(Judged),
    /// A query is asked again whenever something was synced.
    #[prost(message, tag = "50")]
    Watch(v1::Watch),
    /// The watch of this name was removed.
    #[prost(string, tag = "51")]
    WatchRemoved(String),
    /// A query is stored with its answers.
    #[prost(message, tag = "52")]
    Case(v1::Case),
    /// It was asked.
    #[prost(message, tag = "53")]
    CaseChecked(CaseChecked),
    /// The answer is erased.
    #[prost(message, tag = "54")]
    CaseErased(CaseErased),
    /// Somebody did something that changes nothing here, and is to be known.
    #[prost(message, tag = "40")]
    Acted(Acted),
    /// A part of the journal begins with the state after the part before it: the events up to its end are no acts.
    #[prost(message, tag = "60")]
    Checkpoint(Checkpoint),
    /// That state is complete.
    #[prost(message, tag = "61")]
    CheckpointEnd(CheckpointEnd),
    /// In a checkpoint: a member.
    #[prost(message, tag = "62")]
    MemberState(MemberState),
    /// In a checkpoint: the decisions about a subject.
    #[prost(message, tag = "63")]
    VerdictState(VerdictState),
    /// In a checkpoint: a part of an action of reviewers.
    #[prost(message, tag = "64")]
    ActionState(ActionState),
    /// In a checkpoint: an entry of the order in which verdicts changed.
    #[prost(message, tag = "65")]
    VerdictLogged(VerdictLogged),
}

/// The place at which the part of the journal before this one ends. By its hash the chain goes on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Checkpoint {
    /// Bytes of all parts up to there.
    #[prost(uint64, tag = "1")]
    pub end: u64,
    /// Hash of the last record: 32 bytes.
    #[prost(bytes = "vec", tag = "2")]
    pub hash: Vec<u8>,
}

/// The end of a checkpoint.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CheckpointEnd {}

/// The state of a member.
#[derive(Clone, PartialEq, prost::Message)]
pub struct MemberState {
    /// The member.
    #[prost(message, required, tag = "1")]
    pub name: MemberName,
    /// Its row.
    #[prost(message, required, tag = "2")]
    pub row: MemberRow,
}

/// The decisions about a subject.
#[derive(Clone, PartialEq, prost::Message)]
pub struct VerdictState {
    /// A [`crate::verdict::Key`].
    #[prost(bytes = "vec", tag = "1")]
    pub key: Vec<u8>,
    /// Its row.
    #[prost(message, required, tag = "2")]
    pub row: VerdictRow,
}

/// A part of an action of reviewers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActionState {
    /// The number of the action.
    #[prost(uint64, tag = "1")]
    pub action: u64,
    /// The number of the part within the action, from 0.
    #[prost(uint32, tag = "2")]
    pub part: u32,
    /// Its row.
    #[prost(message, required, tag = "3")]
    pub row: ActionRow,
}

/// An entry of the order in which verdicts changed.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct VerdictLogged {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub number: u64,
    /// The number of the action.
    #[prost(uint64, tag = "2")]
    pub action: u64,
    /// The number of the part within the action, from 0.
    #[prost(uint32, tag = "3")]
    pub part: u32,
}

/// A backup was brought back.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Restored {}

/// An answer to a case's query; it is in a file of its own.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CaseChecked {
    /// The name of the case.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its place among the case's answers, from 0.
    #[prost(uint32, tag = "2")]
    pub number: u32,
    /// The answer's summary.
    #[prost(message, optional, tag = "3")]
    pub check: Option<v1::CaseCheck>,
}

/// An answer that was erased.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CaseErased {
    /// The name of the case.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The answer's place among those of the case, from 0.
    #[prost(uint32, tag = "2")]
    pub number: u32,
}

/// An operator's action.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Acted {
    /// An [`Action`].
    #[prost(enumeration = "Action", tag = "1")]
    pub action: i32,
    /// The scan that it was done to; 0: none.
    #[prost(fixed64, tag = "2")]
    pub scan: u64,
}

/// Actions that change no stored data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
pub enum Action {
    /// An action that this version does not know.
    Unspecified = 0,
    /// An address for the browser was asked for.
    LoginAsked = 1,
    /// The address was used.
    SignedIn = 2,
    /// A browser session ended at the request of its user.
    SignedOut = 3,
    /// An address was used that had expired, or was used before.
    SignInRefused = 4,
    /// A credential for programs was asked for.
    TokenAsked = 5,
    /// A scan was asked to stop.
    Cancelled = 6,
    /// A complete result was downloaded.
    Fetched = 7,
    /// The coordinator went on without a part of the journal that was lost.
    LossAccepted = 8,
}

/// The state of a scan after a step.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScanEvent {
    /// The id of the scan.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    /// The row that replaces the earlier one.
    #[prost(message, required, tag = "2")]
    pub row: ScanRow,
}

/// What people call a scan from now on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ScanNamed {
    /// The id of the scan.
    #[prost(fixed64, tag = "1")]
    pub id: u64,
    /// One line, or empty.
    #[prost(string, tag = "2")]
    pub name: String,
}

/// What a party is called in full from now on.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PartyNamed {
    /// The name of the party.
    #[prost(string, tag = "1")]
    pub party: String,
    /// One line, or empty.
    #[prost(string, tag = "2")]
    pub full_name: String,
}
