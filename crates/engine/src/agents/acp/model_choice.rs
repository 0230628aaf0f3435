//! Choice of a model in a session that an agent opened, by the way that the agent offers.

use maestro_core::excerpt::ellipsize;
use serde_json::{Value as Json, json};

use super::wire::AcpRefusal;

/// How much of the names of other models a refusal lists, in characters.
const LISTED: usize = 400;

/// A request to an agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelRequest {
    pub(super) method: &'static str,
    pub(super) parameters: Json,
}

/// What must be asked for so that a session has a model; nothing if it has it. `opened` is what the agent said of the
/// session. An agent that offers no choice, or others only, cannot have it.
pub(super) fn model_request(opened: &Json, session: &str, model: &str) -> Result<Option<ModelRequest>, AcpRefusal> {
    let options = opened["configOptions"].as_array().map(Vec::as_slice).unwrap_or_default();
    // A provider may be of that kind as well.
    let by_name = options.iter().find(|option| option["id"] == "model");
    if let Some(option) = by_name.or_else(|| options.iter().find(|option| option["category"] == "model")) {
        let choices = option["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        // They may stand in groups.
        let choices = choices
            .iter()
            .flat_map(|choice| choice["options"].as_array().map_or(vec![choice], |all| all.iter().collect()));
        let value = chosen(choices, "value", model)?;
        let parameters = json!({ "sessionId": session, "configId": option["id"], "value": value });
        let is_set = option["currentValue"] == *value;
        return Ok((!is_set).then_some(ModelRequest { method: "session/set_config_option", parameters }));
    }
    let models = opened["models"]["availableModels"].as_array().map(Vec::as_slice).unwrap_or_default();
    let value = chosen(models.iter(), "modelId", model)?;
    let parameters = json!({ "sessionId": session, "modelId": value });
    let is_set = opened["models"]["currentModelId"] == *value;
    Ok((!is_set).then_some(ModelRequest { method: "session/set_model", parameters }))
}

/// The id of a model among those that are offered, which may also be meant by its name or by its id without the provider.
fn chosen<'a>(offered: impl Iterator<Item = &'a Json>, id: &str, model: &str) -> Result<&'a str, AcpRefusal> {
    let offered: Vec<(&str, &str)> = offered
        .filter_map(|choice| Some((choice[id].as_str()?, choice["name"].as_str().unwrap_or_default())))
        .collect();
    let without_provider = |value: &str| value.rsplit('/').next() == Some(model);
    let exact = offered.iter().find(|(value, _)| *value == model);
    let close = || offered.iter().find(|(value, name)| *name == model || without_provider(value));
    if let Some((value, _)) = exact.or_else(close) {
        return Ok(value);
    }
    let names: Vec<&str> = offered.iter().map(|(value, _)| *value).collect();
    let message = match names.as_slice() {
        [] => format!("the agent offers no choice of a model, so `{model}` cannot be set"),
        names => {
            format!("the agent does not offer the model `{model}`; it offers {}", ellipsize(&names.join(", "), LISTED))
        }
    };
    Err(AcpRefusal { status: None, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(opened: &Json, model: &str) -> Option<(&'static str, Json)> {
        model_request(opened, "s", model).unwrap().map(|request| (request.method, request.parameters))
    }

    #[test]
    fn a_model_is_set_in_the_way_that_the_agent_has_for_it() {
        let by_option = json!({ "configOptions": [
            { "id": "mode", "category": "mode", "options": [{ "value": "m" }] },
            { "id": "llm", "category": "model", "currentValue": "a/one", "options": [
                { "value": "a/one", "name": "One" }, { "name": "Others", "options": [{ "value": "b/two", "name": "Two" }] },
            ] },
        ], "models": { "availableModels": [{ "modelId": "old" }] } });
        let two = json!({ "sessionId": "s", "configId": "llm", "value": "b/two" });
        for model in ["b/two", "two", "Two"] {
            assert_eq!(asked(&by_option, model), Some(("session/set_config_option", two.clone())), "{model}");
        }
        assert_eq!(asked(&by_option, "a/one"), None, "it has it");
        let by_model =
            json!({ "models": { "currentModelId": "x", "availableModels": [{ "modelId": "x" }, { "modelId": "y" }] } });
        assert_eq!(asked(&by_model, "y"), Some(("session/set_model", json!({ "sessionId": "s", "modelId": "y" }))));
        assert_eq!(asked(&by_model, "x"), None);
    }

    #[test]
    fn a_provider_is_no_model() {
        let opened = json!({ "configOptions": [
            { "id": "provider", "category": "model", "options": [{ "value": "p" }] },
            { "id": "model", "category": "model", "options": [{ "value": "m" }] },
        ] });
        assert_eq!(asked(&opened, "m").map(|(_, parameters)| parameters["configId"].clone()), Some(json!("model")));
    }

    #[test]
    fn a_model_that_is_not_offered_is_refused_with_those_that_are() {
        let by_model = json!({ "models": { "availableModels": [{ "modelId": "x" }, { "modelId": "y" }] } });
        let refused = |opened: &Json| model_request(opened, "s", "z").unwrap_err().message;
        assert_eq!(refused(&by_model), "the agent does not offer the model `z`; it offers x, y");
        assert_eq!(refused(&json!({})), "the agent offers no choice of a model, so `z` cannot be set");
    }
}
