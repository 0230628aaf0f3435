//! What does the page look like, state by state?
