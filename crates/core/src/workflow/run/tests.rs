mod attempts;
mod driver;
mod evidence;
mod properties;
mod reopen;
mod rules;
mod speed;
