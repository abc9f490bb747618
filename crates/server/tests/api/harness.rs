//! A server on a free port over an engine in memory. It ends with the test.

use std::sync::mpsc;
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use turnwise::{Config, Context, Engine, Job, Outcome, Retry, Stop, millis};
use turnwise_server::{Admission, Options, Secret, Server, Setting, serve};
use ureq::http::Response;

/// Gives back what it gets.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Echo(Value);

impl Job for Echo {
    const KIND: &'static str = "echo";
    type Output = Value;
}

/// Fails, with what it is told to say.
#[derive(Serialize, Deserialize)]
struct Fail {
    say: String,
}

impl Job for Fail {
    const KIND: &'static str = "fail";
    type Output = ();
}

/// Runs until it is cancelled.
#[derive(Serialize, Deserialize)]
struct Hold {}

impl Job for Hold {
    const KIND: &'static str = "hold";
    type Output = ();
}

/// A server that answers.
pub(crate) struct Site {
    pub(crate) url: String,
    pub(crate) token: String,
    close: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// A token that a test gives to nobody else.
pub(crate) const ROOT: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

impl Site {
    pub(crate) fn new() -> Site {
        let (close, closing) = watch::channel(false);
        let (said, heard) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(run(closing, said));
        });
        let url = heard.recv().unwrap();
        Site { url, token: ROOT.to_owned(), close, thread: Some(thread) }
    }

    /// The same server, asked with another token.
    pub(crate) fn token(&self, scopes: &[&str], owners: Option<&[&str]>) -> String {
        let name = format!("t{}", getrandom::u64().unwrap());
        let mut new = json!({"name": name, "scopes": scopes});
        if let Some(owners) = owners {
            new["owners"] = json!(owners);
        }
        let (status, made) = self.post("/api/v1/tokens", &new);
        assert_eq!(status, 201, "{made}");
        made["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, None, &self.token)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, Some(body), &self.token)
    }

    /// Asks in any way.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>, token: &str) -> (u16, Value) {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let headers = if token.is_empty() { &[][..] } else { &headers[..] };
        read(self.raw(method, path, body.map(ToString::to_string).as_deref(), headers))
    }

    /// Asks with any headers and any body.
    pub(crate) fn raw(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        headers: &[(&str, &str)],
    ) -> Response<ureq::Body> {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .allow_non_standard_methods(true)
            .build()
            .new_agent();
        let answer = match body {
            Some(body) => agent.run(request.body(body.to_owned()).unwrap()),
            None => agent.run(request.body(()).unwrap()),
        };
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Submits a job and answers its id.
    pub(crate) fn submit(&self, job: &Value) -> String {
        let (status, accepted) = self.post("/api/v1/jobs", job);
        assert!(status == 201 || status == 200, "{accepted}");
        accepted["id"].as_str().unwrap().to_owned()
    }

    /// A job that has ended.
    pub(crate) fn ended(&self, id: &str) -> Value {
        let (status, job) = self.get(&format!("/api/v1/jobs/{id}?wait_ms=30000"));
        assert_eq!(status, 200, "{job}");
        assert!(matches!(job["state"].as_str(), Some("done" | "dead" | "cancelled")), "{job}");
        job
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.close.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic in it has been told already.
            let _ = thread.join();
        }
    }
}

/// Status and body.
pub(crate) fn read(mut response: Response<ureq::Body>) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = response.body_mut().read_to_string().unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A problem with this status and code.
#[track_caller]
pub(crate) fn refused(answer: &(u16, Value), status: u16, code: &str) {
    assert_eq!((answer.0, &answer.1["code"]), (status, &code.into()), "{}", answer.1);
    assert!(answer.1["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{}", answer.1);
    assert_eq!(answer.1["type"], format!("/api/errors/{code}"));
}

async fn run(closing: watch::Receiver<bool>, said: mpsc::Sender<String>) {
    let engine = Engine::open(Config::memory().grace(millis(200))).await.unwrap();
    engine.worker(|Echo(value), _: Context| async { Ok(value) }).slots(8);
    let fail = |job: Fail, _: Context| async { Outcome::<()>::Err(Stop::never(job.say)) };
    engine.worker(fail).slots(8).retry(Retry::none());
    let hold = |_: Hold, ctx: Context| async move {
        ctx.cancelled().await;
        Outcome::<()>::Err(Stop::Cancel)
    };
    engine.worker(hold).slots(2);
    let running = engine.start().await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let check = |kind: &str, payload: &Value| match (kind, payload["say"].is_string()) {
        ("fail", false) => Err("say what it should say".to_owned()),
        _ => Ok(()),
    };
    let server = Server::new(Options {
        engine: engine.clone(),
        root: Secret::parse(ROOT).unwrap(),
        address,
        hosts: vec!["work.example".into()],
        admission: Admission { off: vec![("shell", "--allow-shell")], check },
        settings: vec![Setting { name: "listen".into(), value: address.to_string(), from: "default".into() }],
        profile: "embedded",
        applications: vec![crate::application::notes()],
        closing,
    });
    said.send(format!("http://{address}")).unwrap();
    serve(server, listener).await.unwrap();
    running.stop().await;
}
