//! Items of lists, whole or as a summary, as the description of the API shows them.

use std::borrow::Cow;

use utoipa::openapi::schema::{AnyOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::sessions::{SessionBody, SessionSummary};
use crate::tasks::{TaskBody, TaskSummary};

macro_rules! either {
    ($($(#[doc = $doc:literal])* $name:ident = $full:ty | $summary:ty;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug)]
        pub struct $name;

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
    TaskItem = TaskBody | TaskSummary;
    /// A session, or with `fields=summary` what a table shows of it.
    SessionItem = SessionBody | SessionSummary;
}
