//! The generated API project is compiled, without a network, and called over loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use turnwise_forge::check;
use turnwise_forge::generate::Part;

/// A generated service that runs. It is killed, by its own number, when the test is over.
struct Service {
    child: Child,
    address: SocketAddr,
}

impl Service {
    fn start(program: &Path, folder: &Path) -> Self {
        let mut child = Command::new(program)
            .current_dir(folder)
            .env_clear()
            .envs([("LISTEN", "127.0.0.1:0"), ("DATA", "data.log"), ("WEB", "web")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap().1.parse().unwrap();
        Service { child, address }
    }

    /// Sends bytes as they are; the status and the body of the answer.
    fn send(&self, request: &[u8]) -> (u16, String) {
        let mut connection = TcpStream::connect(self.address).unwrap();
        // A request that is refused early is not read to its end.
        let _ = connection.write_all(request);
        let mut answer = Vec::new();
        let _ = connection.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
        let (status, body) = self.send(request.as_bytes());
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask(method, path, &body.to_string())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Generates a service into a folder and compiles it.
fn built(folder: &Path) -> std::path::PathBuf {
    let request = check::request(&json!({
        "id": "r-1", "service": "shop", "owner": "acme",
        "entities": [
            {"name": "customer", "fields": [
                {"name": "email", "type": "text", "unique": true, "required": true, "max_length": 20},
            ]},
            {"name": "invoice", "fields": [
                {"name": "customer", "type": "reference", "to": "customer", "required": true},
                {"name": "total", "type": "number"},
                {"name": "pieces", "type": "integer"},
                {"name": "open", "type": "boolean"},
                {"name": "note", "type": "text"},
            ]},
        ],
        "endpoints": [
            {"method": "GET", "path": "/open-invoices", "entity": "invoice", "where": {"open": true}},
            {"method": "POST", "path": "/invoices/{id}/close", "entity": "invoice",
             "set": {"open": false, "note": "a \"quoted\" \u{2028} note\\"}},
        ],
    }))
    .unwrap();
    for (path, text) in Part::ALL.into_iter().flat_map(|part| part.files(&request)) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--offline", "--locked"])
        .current_dir(folder.join("api"))
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("RUSTFLAGS", "-D warnings")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    folder.join("target/debug/shop")
}

#[test]
fn the_generated_service_compiles_and_serves_what_was_described() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path());
    let service = Service::start(&program, folder.path());

    assert_eq!(service.ask("GET", "/health", ""), (200, json!({"service": "shop"})));
    let (status, ada) = service.json("POST", "/api/customer", &json!({"email": "ada@example.test"}));
    assert_eq!((status, ada), (201, json!({"id": 1, "email": "ada@example.test"})));
    assert_eq!(service.json("POST", "/api/customer", &json!({"email": "ada@example.test"})).0, 409);
    let bad = [
        json!({}),
        json!({"email": 5}),
        json!({"email": "x".repeat(21)}),
        json!({"email": "a", "phone": "b"}),
        json!([]),
    ];
    for bad in bad {
        assert_eq!(service.json("POST", "/api/customer", &bad).0, 400, "{bad}");
    }
    for broken in
        ["", "{", "{\"email\":\"a\",\"email\":\"b\"}", &"[".repeat(100_000), "{\"email\":\"\\ud800\"}"]
    {
        assert_eq!(service.ask("POST", "/api/customer", broken).0, 400, "{:.20}", broken);
    }

    let invoice = json!({"customer": 1, "total": 9.5, "pieces": 3, "open": true, "note": "ü\n\"q\""});
    let (status, made) = service.json("POST", "/api/invoice", &invoice);
    assert_eq!((status, &made["note"], &made["total"]), (201, &json!("ü\n\"q\""), &json!(9.5)));
    assert_eq!(service.json("POST", "/api/invoice", &json!({"customer": 7})).0, 400, "nobody has this id");
    assert_eq!(service.json("POST", "/api/invoice", &json!({"customer": 1, "pieces": 1.5})).0, 400);
    assert_eq!(service.ask("DELETE", "/api/customer/1", "").0, 409, "an invoice refers to it");

    assert_eq!(service.ask("GET", "/open-invoices", "").1["items"][0]["id"], 1);
    let (status, closed) = service.ask("POST", "/invoices/1/close", "");
    assert_eq!((status, &closed["open"], &closed["customer"]), (200, &json!(false), &json!(1)));
    assert_eq!(closed["note"], "a \"quoted\" \u{2028} note\\");
    assert_eq!(service.ask("GET", "/open-invoices", "").1["items"], json!([]));
    assert_eq!(service.ask("POST", "/invoices/9/close", "").0, 404);
    assert_eq!(service.ask("DELETE", "/open-invoices", "").0, 405);

    assert_eq!(
        service.json("PUT", "/api/invoice/1", &json!({"customer": 1})).1,
        json!({"id": 1, "customer": 1})
    );
    assert_eq!(service.ask("DELETE", "/api/invoice/1", "").0, 204);
    assert_eq!(service.ask("GET", "/api/invoice/1", "").0, 404);
    for path in ["/api/nobody", "/api/invoice/x", "/api/invoice/1/2", "/nothing", "/assets/../data.log"] {
        assert_eq!(service.ask("GET", path, "").0, 404, "{path}");
    }
    assert_eq!(service.ask("PATCH", "/api/invoice", "").0, 405);
    assert_eq!(service.ask("GET", "/api/customer?limit=no", "").0, 400);
}

#[test]
fn what_the_service_was_told_outlives_it_and_bad_requests_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let program = built(folder.path());
    let service = Service::start(&program, folder.path());
    for number in 0..3 {
        let body = json!({"email": format!("{number}@example.test")});
        assert_eq!(service.json("POST", "/api/customer", &body).0, 201);
    }
    assert_eq!(service.ask("DELETE", "/api/customer/2", "").0, 204);
    drop(service);
    // What a crash in the middle of a line leaves behind.
    let mut log = std::fs::OpenOptions::new().append(true).open(folder.path().join("data.log")).unwrap();
    log.write_all(b"{\"entity\":\"customer\",\"id\":4,\"rec").unwrap();
    let service = Service::start(&program, folder.path());
    let (_, page) = service.ask("GET", "/api/customer?limit=1", "");
    assert_eq!((&page["items"][0]["id"], &page["next"]), (&json!(1), &json!(1)));
    let (_, page) = service.ask("GET", "/api/customer?after=1", "");
    assert_eq!((page["items"].as_array().unwrap().len(), &page["items"][0]["id"]), (1, &json!(3)));
    assert_eq!(
        service.json("POST", "/api/customer", &json!({"email": "new"})).1["id"],
        4,
        "no id comes again"
    );

    assert_eq!(service.send(b"nonsense\r\n\r\n").0, 400);
    assert_eq!(service.send(b"GET / HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n").0, 413);
    assert_eq!(service.send(b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n").0, 400);
    assert_eq!(service.send(format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(9_000)).as_bytes()).0, 431);
    assert_eq!(
        service.send(b"POST /api/customer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").0,
        411
    );
    let (status, page) = service.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(status == 200 && page.contains("<title>shop</title>"), "{status} {page}");
    let (status, script) = service.send(b"GET /assets/app.js HTTP/1.1\r\n\r\n");
    assert!(status == 200 && script.contains("\"name\":\"invoice\""), "{status}");
}
