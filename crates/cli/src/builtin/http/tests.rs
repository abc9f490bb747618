//! One request at a time against a listener of our own.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;
use turnwise::{Class, Config, Engine, JobView, State, Submit};

use super::*;

/// Answers one request with these bytes; gives the address and what was asked.
fn answer_once(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?key=HUSH", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = vec![0; 4_096];
        let count = stream.read(&mut asked).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&asked[..count]).into_owned()
    });
    (url, asked)
}

async fn ran(payload: Value) -> JobView {
    let engine = Engine::open(Config::memory()).await.unwrap();
    engine.blocking_worker(http);
    let running = engine.start().await.unwrap();
    let job: Http = serde_json::from_value(payload).unwrap();
    let id = engine.submit(Submit::from(job).attempts(1)).await.unwrap();
    let view = engine.wait(id).await.unwrap();
    running.stop().await;
    view
}

#[tokio::test]
async fn a_request_and_its_reply() {
    let (url, asked) = answer_once("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi");
    let payload = json!({"method": "POST", "url": url, "headers": {"x-key": "HUSH"}, "body": {"a": 1}});
    let view = ran(payload).await;
    let reply = view.result::<Http>().unwrap().unwrap();
    assert_eq!((reply.status, reply.body.as_str(), reply.cut), (200, "hi", false));
    assert_eq!(view.payload["headers"], "[redacted]");
    let asked = asked.join().unwrap().to_lowercase();
    assert!(asked.starts_with("post /hook?key=hush ") && asked.contains("x-key: hush"), "{asked}");
    assert!(asked.contains("application/json"), "{asked}");
}

#[tokio::test]
async fn errors_quote_neither_headers_nor_keys() {
    let (url, asked) = answer_once("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    let view = ran(json!({"url": url, "headers": {"authorization": "Bearer HUSH"}})).await;
    asked.join().unwrap();
    assert_eq!(view.state, State::Dead);
    let error = &view.errors[0].error;
    assert!(
        error.contains("404") && error.contains("http://127.0.0.1:") && !error.contains("HUSH"),
        "{error}"
    );
    // Nobody listens there any more.
    let view =
        ran(json!({"url": url, "headers": {"authorization": "Bearer HUSH"}, "timeout_ms": 2_000})).await;
    assert!(!view.errors[0].error.contains("HUSH"), "{:?}", view.errors);
}

#[test]
fn what_is_tried_again() {
    let class =
        |status: u16, headers: &HeaderMap| match judge("h", StatusCode::from_u16(status).unwrap(), headers) {
            Ok(()) => None,
            Err(Stop::Fail { class, .. }) => Some(class),
            Err(other) => panic!("{other:?}"),
        };
    let none = HeaderMap::new();
    assert_eq!(class(204, &none), None);
    assert_eq!(class(503, &none), Some(Class::Retry));
    assert_eq!(class(429, &none), Some(Class::Retry));
    assert_eq!([class(301, &none), class(400, &none), class(404, &none)], [Some(Class::Never); 3]);
    let mut later = HeaderMap::new();
    later.insert(header::RETRY_AFTER, "7".parse().unwrap());
    assert_eq!(class(429, &later), Some(Class::RetryAfter(Duration::from_secs(7))));
}

#[test]
fn a_date_to_come_back_at() {
    let mut headers = HeaderMap::new();
    headers.insert(header::RETRY_AFTER, "Thu, 01 Jan 1970 00:01:40 GMT".parse().unwrap());
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    assert_eq!(retry_after(&headers, at(40)), Some(Duration::from_secs(60)));
    assert_eq!(retry_after(&headers, at(200)), Some(Duration::ZERO));
    headers.insert(header::RETRY_AFTER, "soon".parse().unwrap());
    assert_eq!(retry_after(&headers, at(0)), None);
}

#[test]
fn what_is_refused_quotes_no_secret() {
    for payload in [
        json!({"url": "https://me:HUSH@host/"}),
        json!({"url": "host/HUSH"}),
        json!({"url": "https://host", "headers": "authorization: HUSH"}),
        json!({"url": "https://host", "headers": {"authorization": ["HUSH"]}}),
        json!({"url": "https://host", "headers": {"authorization": "HUSH\n"}}),
        json!({"url": "https://host", "method": "GE T"}),
        json!({"url": "https://host", "timeout_ms": 300_001}),
    ] {
        let job: Http = serde_json::from_value(payload.clone()).unwrap();
        let why = job.request().map(drop).unwrap_err();
        assert!(!why.contains("HUSH"), "{payload}: {why}");
    }
}
