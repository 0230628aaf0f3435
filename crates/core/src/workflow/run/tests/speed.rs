//! Speed of the engine in long runs.

use std::fmt::Write as _;

use serde_json::json;

use super::driver::TestRun;

#[test]
fn ten_thousand_transitions_of_a_workflow_of_25_steps_are_made() {
    let mut text = "name: w\nlimits: {max_transitions: 10000}\nsteps:\n".to_owned();
    for index in 0..25 {
        let next = (index + 1) % 25;
        writeln!(
            text,
            "- {{id: s{index}, type: agent, max_visits: 10000, next: {{ok: s{next}, fail: end, exhausted: end}}}}"
        )
        .unwrap();
    }
    let mut driver = TestRun::started(&text);
    let mut reports = 0;
    while !driver.run.is_over() {
        driver.report("ok", json!({})).unwrap();
        reports += 1;
    }
    assert_eq!(reports, 10_000);
    assert_eq!(driver.ended(), "failure the limit of 10000 transitions is reached before `s0`");
}
