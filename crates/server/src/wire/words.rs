//! Which texts may stand where? Closed sets of words, ids and texts that must say something, for the API's description.

use std::borrow::Cow;

use maestro_core::handoff::HandoffState;
use maestro_core::message::MessageState;
use maestro_core::queue::ItemStatus;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, EndReason, PairStatus, SessionStatus};
use maestro_core::task::{Priority, TaskStatus};
use maestro_core::workflow::run::Waiting;
use maestro_core::{Role, StepKind};
use maestro_store::{Driver, RunState};
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::{SessionJson, SessionSummary, TaskJson, TaskSummary};

/// The grammar of ids.
const ID: &str = "^[A-Za-z0-9_-]{1,64}$";

fn text(about: &str, pattern: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).description(Some(about)).pattern(Some(pattern)).into()
}

macro_rules! texts {
    ($($(#[doc = $doc:literal])* $name:ident = $pattern:expr;)*) => {$(
        $(#[doc = $doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                text(concat!($($doc),*).trim(), $pattern)
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

texts! {
    /// The name of one thing.
    Id = ID;
    /// Text that is more than blank.
    Text = "\\S";
    /// `ui` or `session`.
    SourceWord = "^(ui|session)$";
    /// `worker` or `ui`.
    StarterWord = "^(worker|ui)$";
    /// A kind of line or event: lower-case letters and `_`.
    Kind = "^[a-z_]{1,64}$";
    /// The name of a skill: its id, its directory or a display name that no other has.
    SkillName = "^[^/]{1,255}$";
    /// The name of a role that work is passed between.
    RoleName = "^[A-Za-z0-9_-]{1,64}$";
    /// A revision as an `ETag` has it, or `*` for any.
    Revision = "^(\\*|(W/)?\"[0-9]{1,18}\"|[0-9]{1,18})$";
    /// A key of the caller's choice: the same request with the same key is carried out once.
    RetryKey = "^[!-~]{1,255}$";
    /// A task's id, or `null`.
    IdOrNull = ID;
    /// The absolute path of a directory.
    Directory = "^/";
    /// The name of a run.
    RunUuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
}

macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident = $words:expr;)*) => {$(
        $(#[doc = $doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let words = ($words).into_iter().map(|word| word.as_str());
                let about = concat!($($doc),*).trim();
                ObjectBuilder::new().schema_type(Type::String).description(Some(about)).enum_values(Some(words)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

words! {
    /// How far a task is. Older spellings are understood too: `pending`, `in-progress`, `done`, `failed`.
    TaskState = TaskStatus::ALL;
    /// How urgent a task is.
    Urgency = Priority::ALL;
    /// How a session stands to one of its tasks.
    PairState = PairStatus::ALL.iter().copied();
    /// Whether a session works. `running` is understood as `working`.
    SessionState = SessionStatus::ALL.iter().copied();
    /// How a session goes through its tasks.
    Strategy = Approach::ALL.iter().copied();
    /// Why a session ended without saying so itself.
    Ending = EndReason::ALL.iter().copied();
    /// The part a session plays.
    Part = [Role::Worker, Role::Orchestrator];
    /// What is to be done with a task.
    Step = StepKind::ALL;
    /// What a session reports.
    Report = ReportKind::ALL;
    /// How far a task in a queue is.
    ItemState = ItemStatus::ALL;
    /// Whether an agent has words meant for it.
    Delivery = [MessageState::Queued, MessageState::Delivered, MessageState::Refused];
    /// How far work passed on is.
    HandoffStep = HandoffState::ALL;
    /// How a run stands.
    RunStateWord = RunState::ALL;
    /// Whom a run waits for.
    WaitingFor = Waiting::ALL;
    /// Who executes what a run orders.
    DriverWord = Driver::ALL;
    /// How an agent is spoken with.
    WayWord = maestro_core::agent::Driver::ALL;
    /// What an agent may do without asking.
    PermissionWord = maestro_core::agent::Permission::ALL;
    /// What an agent's question is answered with.
    ChoiceWord = maestro_core::agent::ChoiceKind::ALL;
}

macro_rules! either {
    ($($(#[doc = $doc:literal])* $name:ident = $full:ty | $summary:ty;)*) => {$(
        $(#[doc = $doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let named = |name: Cow<'static, str>| Ref::from_schema_name(name);
                AnyOfBuilder::new().item(named(<$full>::name())).item(named(<$summary>::name())).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((<$full>::name().into_owned(), <$full>::schema()));
                <$full>::schemas(schemas);
                schemas.push((<$summary>::name().into_owned(), <$summary>::schema()));
                <$summary>::schemas(schemas);
            }
        }
    )*};
}

either! {
    /// A task, or with `fields=summary` what a table shows of it.
    TaskItem = TaskJson | TaskSummary;
    /// A session, or with `fields=summary` what a table shows of it.
    SessionItem = SessionJson | SessionSummary;
}
