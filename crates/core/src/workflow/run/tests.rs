mod driver;
mod properties;
mod reopen;
mod rules;
mod speed;
