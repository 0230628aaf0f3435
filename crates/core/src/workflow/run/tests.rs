mod attempts;
mod comments;
mod driver;
mod evidence;
mod properties;
mod reopen;
mod rules;
mod speed;
