//! What the service can be asked for.

use std::sync::{Mutex, PoisonError};

use crate::http::{Request, Response};
use crate::json::{self, Value};
use crate::schema::{Endpoint, Entity, ENDPOINTS, ENTITIES, SERVICE};
use crate::store::{Refused, Store};

/// Records in one answer.
const PAGE: usize = 100;

/// The service.
pub struct Service {
    pub store: Mutex<Store>,
    /// The folder with the page.
    pub web: String,
}

impl Service {
    /// Answers a request.
    pub fn answer(&self, request: &Request) -> Response {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        let method = if request.method == "HEAD" { "GET" } else { request.method.as_str() };
        match parts.as_slice() {
            ["health"] if method == "GET" => {
                Response::json(200, &Value::Object(vec![("service".into(), Value::Text(SERVICE.into()))]))
            }
            [""] if method == "GET" => self.file("index.html", "text/html; charset=utf-8"),
            ["assets", "app.js"] if method == "GET" => self.file("app.js", "text/javascript; charset=utf-8"),
            ["assets", "style.css"] if method == "GET" => self.file("style.css", "text/css; charset=utf-8"),
            ["api", name, rest @ ..] => match ENTITIES.iter().find(|entity| entity.name == *name) {
                Some(entity) => self.entity(entity, method, rest, request),
                None => Response::error(404, "there is no such entity"),
            },
            parts => self.endpoint(method, parts, request),
        }
    }

    fn entity(&self, entity: &Entity, method: &str, rest: &[&str], request: &Request) -> Response {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let id = match rest {
            [] => None,
            [id] => match id.parse() {
                Ok(id) => Some(id),
                Err(_) => return Response::error(404, "an id is a number"),
            },
            _ => return Response::error(404, "there is no such page"),
        };
        match (method, id) {
            ("GET", None) => page(&store, entity, request, &[]),
            ("GET", Some(id)) => answered(store.get(entity, id)),
            ("POST", None) => {
                let created = given(request).and_then(|value| store.create(entity, &value));
                let answer = created.and_then(|id| store.get(entity, id).map(|record| (id, record)));
                match answer {
                    Err(refused) => answered(Err(refused)),
                    Ok((id, record)) => Response {
                        location: Some(format!("/api/{}/{id}", entity.name)),
                        ..Response::json(201, &record)
                    },
                }
            }
            ("PUT", Some(id)) => {
                let replaced = given(request).and_then(|value| store.replace(entity, id, &value));
                answered(replaced.and_then(|()| store.get(entity, id)))
            }
            ("DELETE", Some(id)) => match store.remove(entity, id) {
                Ok(()) => Response::empty(),
                Err(refused) => answered(Err(refused)),
            },
            _ => Response::error(405, "this is asked for in another way"),
        }
    }

    fn endpoint(&self, method: &str, parts: &[&str], request: &Request) -> Response {
        let mut other = false;
        for endpoint in ENDPOINTS {
            let Some(id) = matches(endpoint, parts) else { continue };
            other |= endpoint.method != method;
            if endpoint.method != method {
                continue;
            }
            let Some(entity) = ENTITIES.iter().find(|entity| entity.name == endpoint.entity) else { continue };
            let values: Vec<(String, Value)> = endpoint
                .values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), json::parse(value).unwrap_or(Value::Null)))
                .collect();
            let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
            return match id {
                None => page(&store, entity, request, &values),
                Some(text) => match text.parse() {
                    Ok(id) => answered(store.set(entity, id, &values).and_then(|()| store.get(entity, id))),
                    Err(_) => Response::error(404, "an id is a number"),
                },
            };
        }
        match other {
            true => Response::error(405, "this is asked for in another way"),
            false => Response::error(404, "there is no such page"),
        }
    }

    fn file(&self, name: &str, kind: &'static str) -> Response {
        match std::fs::read(std::path::Path::new(&self.web).join(name)) {
            Ok(body) => Response { status: 200, kind, body, location: None },
            Err(_) => Response::error(404, "this service has no page"),
        }
    }
}

/// Whether a path is that of an endpoint, and the id in it.
fn matches<'a>(endpoint: &Endpoint, parts: &[&'a str]) -> Option<Option<&'a str>> {
    let wanted: Vec<&str> = endpoint.path.split('/').skip(1).collect();
    if wanted.len() != parts.len() {
        return None;
    }
    let mut id = None;
    for (wanted, part) in wanted.iter().zip(parts) {
        match *wanted {
            "{id}" => id = Some(*part),
            wanted if wanted == *part => {}
            _ => return None,
        }
    }
    Some(id)
}

fn page(store: &Store, entity: &Entity, request: &Request, values: &[(String, Value)]) -> Response {
    let (mut after, mut limit) = (0, PAGE);
    for (name, value) in &request.query {
        match (name.as_str(), value.parse::<u64>()) {
            ("after", Ok(number)) => after = number,
            ("limit", Ok(number @ 1..)) => limit = usize::try_from(number).unwrap_or(PAGE).min(PAGE),
            _ => return Response::error(400, "the query has `after` and `limit`, and both are numbers"),
        }
    }
    let (items, next) = store.list(entity, after, limit, values);
    let next = next.map_or(Value::Null, Value::of);
    Response::json(200, &Value::Object(vec![("items".into(), Value::List(items)), ("next".into(), next)]))
}

fn given(request: &Request) -> Result<Value, Refused> {
    let text = std::str::from_utf8(&request.body).ok();
    text.and_then(json::parse).ok_or_else(|| Refused::Bad("the body is no JSON".into()))
}

fn answered(answer: Result<Value, Refused>) -> Response {
    match answer {
        Ok(value) => Response::json(200, &value),
        Err(Refused::Bad(why)) => Response::error(400, &why),
        Err(Refused::Missing) => Response::error(404, "there is no such record"),
        Err(Refused::Conflict(why)) => Response::error(409, &why),
        Err(Refused::Broken(why)) => Response::error(500, &why),
    }
}
