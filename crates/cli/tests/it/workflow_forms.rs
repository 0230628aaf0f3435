//! `maestro workflow next --format|--tool`: in which form is somebody told?

use insta::assert_snapshot;
use serde_json::Value as Json;

use crate::workflow_runs::{kitchen, steeping};

#[test]
fn the_same_directive_is_told_in_every_form() {
    let sandbox = kitchen();
    let run = steeping(&sandbox);
    let next = |form: &str| sandbox.maestro_with(&["workflow", "next", &run, "--format", form]);
    assert_snapshot!(next("text"), @"
    $ maestro workflow next [RUN-1] --format text
    STEP 2/2: Steep the tea
      Make black tea.

    VISIT 1 of 3

    DO:
      Boil water.
      Pour it over the leaves.

    FORBIDDEN:
      Use a microwave

    RESULT (JSON on standard input of the command below):
      minutes (int): How long it steeped

    NEXT: run
      maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    ");
    assert_snapshot!(next("markdown"), @"
    $ maestro workflow next [RUN-1] --format markdown
    # Step 2/2: Steep the tea

    Make black tea.

    ## Visit 1 of 3

    ## Do

    - Boil water.
    - Pour it over the leaves.

    ## Forbidden

    - Use a microwave

    ## Result (JSON on standard input of the command below)

    | field | type | meaning |
    |---|---|---|
    | minutes | int | How long it steeped |

    ## Next: run

    ```sh
    maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    ```
    ");
    assert_snapshot!(next("xml"), @r#"
    $ maestro workflow next [RUN-1] --format xml
    <step workflow="brew" id="steep" title="Steep the tea" number="2" total="2" ticket="steep#1.[NONCE]">
      <state_banner checkpoint="steep" iteration="1" mode="initial" limit="3"></state_banner>
      <DO>
        <brief>Make black tea.</brief>
        <action>Boil water.</action>
        <action>Pour it over the leaves.</action>
        <forbidden>
          <action>Use a microwave</action>
        </forbidden>
        <result format="JSON on standard input">
          <field name="minutes" type="int">How long it steeped</field>
        </result>
      </DO>
      <INVOKE_AFTER>
        <command>maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -</command>
      </INVOKE_AFTER>
      <NEXT required="true">After DO is complete, run: maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -</NEXT>
    </step>
    "#);
    assert_snapshot!(next("aider"), @"
    $ maestro workflow next [RUN-1] --format aider
    STEP 2/2: Steep the tea
      Make black tea.

    VISIT 1 of 3

    DO:
      Boil water.
      Pour it over the leaves.

    FORBIDDEN:
      Use a microwave

    RESULT (write it as JSON into the file .aider.maestro.json):
      minutes (int): How long it steeped

    NEXT: run
    /run maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file .aider.maestro.json
    ");
    let json: Json = serde_json::from_str(&next("json").stdout()).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_snapshot!(keys.join(" "), @"run ticket workflow step round do data resources forbidden expected result outcomes dispatches question report progress");
    assert_snapshot!(next("xlm"), @"
    $ maestro workflow next [RUN-1] --format xlm
    --- stderr
    error: unknown format `xlm`
    hint: did you mean `xml`?
    --- exit 1
    ");
}

#[test]
fn a_tool_is_told_in_its_own_form() {
    let sandbox = kitchen();
    let run = steeping(&sandbox);
    let told = |variables: &[(&str, &str)], args: &[&str]| {
        let args: Vec<&str> = ["workflow", "next", &run].iter().chain(args).copied().collect();
        sandbox.maestro_as(variables, &args)
    };
    let xml = told(&[], &["--format", "xml"]).stdout();
    assert!(xml.starts_with("<step "), "{xml}");
    assert_eq!(told(&[], &["--tool", "claude"]).stdout(), xml);
    assert_eq!(told(&[("MAESTRO_TOOL", "claude")], &[]).stdout(), xml);
    assert_eq!(
        told(&[("MAESTRO_TOOL", "claude")], &["--tool", "opencode"]).stdout(),
        told(&[], &["--format", "markdown"]).stdout()
    );
    assert_snapshot!(told(&[], &["--tool", "claud"]), @"
    $ maestro workflow next [RUN-1] --tool claud
    --- stderr
    error: unknown tool `claud`
    hint: did you mean `claude`?
    hint: define your own tools in ~/.config/maestro/tools.toml
    --- exit 1
    ");
    assert_snapshot!(told(&[], &["--tool", "abacus"]), @"
    $ maestro workflow next [RUN-1] --tool abacus
    --- stderr
    error: unknown tool `abacus`
    hint: one of claude, opencode, codex, gemini, goose, cursor, copilot, qwen, cline, kiro, junie, windsurf, crush, aider
    hint: define your own tools in ~/.config/maestro/tools.toml
    --- exit 1
    ");
    sandbox.write("~/.config/maestro/tools.toml", "[mine]\nform = \"xml\"\ncan = [\"shell\"]\n");
    assert_eq!(told(&[], &["--tool", "mine"]).stdout(), xml);
    sandbox.write("~/.config/maestro/tools.toml", "[mine]\nform = \"pdf\"\n");
    assert_snapshot!(told(&[], &["--tool", "mine"]), @"
    $ maestro workflow next [RUN-1] --tool mine
    --- stderr
    error: ~/.config/maestro/tools.toml:2:8: `pdf` is not a valid form
    hint: it can be text, markdown, xml, aider, json
    --- exit 1
    ");
}
