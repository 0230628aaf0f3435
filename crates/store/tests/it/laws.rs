//! Do random changes keep what must always hold?
