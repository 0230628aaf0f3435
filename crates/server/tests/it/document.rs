//! The description of the API, and its page.

use serde_json::Value as Json;

use crate::world::Api;

fn operations(document: &Json) -> Vec<(String, &Json)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    methods.collect()
}

#[tokio::test]
async fn every_operation_is_described() {
    let document = Api::sqlite().get("/api/openapi.json").await.body;
    let operations = operations(&document);
    assert!(operations.len() > 40, "{}", operations.len());
    for (name, operation) in operations {
        assert!(operation["summary"].is_string(), "{name}");
        let responses = operation["responses"].as_object().unwrap();
        let good = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
        assert!(good.0 == "204" || good.1["content"].is_object(), "{name} answers with a body");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "path" {
                assert_eq!(parameter["schema"]["pattern"], "^[A-Za-z0-9_-]{1,64}$", "{name}");
            }
        }
    }
}
