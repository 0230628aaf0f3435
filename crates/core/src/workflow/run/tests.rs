mod driver;
mod properties;
mod rules;
mod speed;
