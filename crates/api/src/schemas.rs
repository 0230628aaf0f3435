//! Texts that the API's description allows: closed sets of words, ids, and texts that must not be blank.

use std::borrow::Cow;

use maestro_core::event::SkillVerdict;
use maestro_core::handoff::HandoffState;
use maestro_core::landing::LandingKind;
use maestro_core::message::MessageState;
use maestro_core::queue::QueueItemStatus;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, EndReason, SessionStatus, TaskSessionStatus};
use maestro_core::task::{TaskPriority, TaskStatus};
use maestro_core::waiting::WaitingKind;
use maestro_core::work_state::WorkState;
use maestro_core::workflow::run::{AnswerAuthor, AwaitedParty, PersonItemKind, RunDriver, RunState};
use maestro_core::{SessionRole, StepKind};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The grammar of ids.
const ID: &str = "^[A-Za-z0-9_-]{1,64}$";

fn text(about: &str, pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).description(Some(about)).pattern(Some(pattern)).into()
}

macro_rules! texts {
    ($($(#[doc = $doc:literal])* $name:ident as $shown:literal = $pattern:expr;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                text(concat!($($doc),*).trim(), $pattern)
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $shown.into()
            }
        }
    )*};
}

texts! {
    /// The name of one thing.
    IdText as "Id" = ID;
    /// Text that is more than blank.
    NonBlankText as "Text" = "\\S";
    /// `ui` or `session`.
    SourceWord as "SourceWord" = "^(ui|session)$";
    /// `worker` or `ui`.
    StarterWord as "StarterWord" = "^(worker|ui)$";
    /// A kind of line or event: lower-case letters and `_`.
    KindText as "Kind" = "^[a-z_]{1,64}$";
    /// The name of a skill: its id, its directory or a display name that no other has.
    SkillName as "SkillName" = "^[^/]{1,255}$";
    /// The name of a role that work is passed between.
    RoleName as "RoleName" = "^[A-Za-z0-9_-]{1,64}$";
    /// A revision as an `ETag` has it, or `*` for any.
    RevisionText as "Revision" = "^(\\*|(W/)?\"[0-9]{1,18}\"|[0-9]{1,18})$";
    /// A key of the caller's choice: the same request with the same key is carried out once.
    RetryKey as "RetryKey" = "^[!-~]{1,255}$";
    /// A task's id, or `null`.
    IdOrNull as "IdOrNull" = ID;
    /// The absolute path of a directory.
    DirectoryText as "Directory" = "^/";
    /// The name of a run.
    RunUuid as "RunUuid" = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
}

macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident as $shown:literal = $words:expr;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = ($words).into_iter().map(|word| word.as_str());
                let about = concat!($($doc),*).trim();
                ObjectBuilder::new().schema_type(Type::String).description(Some(about)).enum_values(Some(words)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $shown.into()
            }
        }
    )*};
}

words! {
    /// How far a task is. Older spellings are understood too: `pending`, `in-progress`, `done`, `failed`.
    TaskStateWord as "TaskState" = TaskStatus::ALL;
    /// How urgent a task is.
    PriorityWord as "Urgency" = TaskPriority::ALL;
    /// How a session stands to one of its tasks.
    PairStateWord as "PairState" = TaskSessionStatus::ALL.iter().copied();
    /// Whether a session works. `running` is understood as `working`.
    SessionStateWord as "SessionState" = SessionStatus::ALL.iter().copied();
    /// How a session goes through its tasks.
    StrategyWord as "Strategy" = Approach::ALL.iter().copied();
    /// Why a session ended without saying so itself.
    EndReasonWord as "Ending" = EndReason::ALL.iter().copied();
    /// The part a session plays.
    RoleWord as "Part" = [SessionRole::Worker, SessionRole::Orchestrator];
    /// What is to be done with a task.
    StepKindWord as "Step" = StepKind::ALL;
    /// What became of a skill that was compared with a task.
    VerdictWord as "Verdict" = SkillVerdict::ALL;
    /// What a session reports.
    ReportWord as "Report" = ReportKind::ALL;
    /// How far a task in a queue is.
    QueueStateWord as "ItemState" = QueueItemStatus::ALL;
    /// Whether an agent has words meant for it.
    DeliveryWord as "Delivery" = [MessageState::Queued, MessageState::Delivered, MessageState::Refused];
    /// How far work passed on is.
    HandoffWord as "HandoffStep" = HandoffState::ALL;
    /// Who gives an answer.
    AnswerAuthorWord as "AnswerAuthor" = AnswerAuthor::ALL;
    /// How a run stands.
    RunStateWord as "RunStateWord" = RunState::ALL;
    /// How a piece of work stands, as people read it.
    WorkStateWord as "WorkState" = WorkState::ALL.iter().copied();
    /// What became of a run's result.
    LandingWord as "Landing" = LandingKind::ALL.iter().copied();
    /// What a person wants with words about a run.
    PersonItemWord as "RunItemKind" = PersonItemKind::ALL.iter().copied();
    /// What a person is asked for.
    WaitingKindWord as "WaitingKind" = WaitingKind::ALL.iter().copied();
    /// Whom a run waits for.
    WaitingWord as "WaitingFor" = AwaitedParty::ALL;
    /// Who executes what a run orders.
    DriverWord as "DriverWord" = RunDriver::ALL;
    /// How an agent is spoken with.
    WayWord as "WayWord" = maestro_core::agent::Driver::ALL;
    /// What an agent may do without asking.
    PermissionWord as "PermissionWord" = maestro_core::agent::Permission::ALL;
    /// What an agent's question is answered with.
    ChoiceWord as "ChoiceWord" = maestro_core::agent::PermissionChoiceKind::ALL;
}
