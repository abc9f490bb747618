//! What brings a service to life: an image, a compose file, checks for each push, and manifests for a cluster.

use super::{Files, filled};
use crate::request::{Request, Storage};

const DOCKERFILE: &str = r#"FROM rust:1-slim-bookworm AS build
WORKDIR /build
COPY api api
RUN cargo build --release --offline --manifest-path api/Cargo.toml

FROM debian:bookworm-slim
RUN useradd --uid 10001 --create-home --home-dir /data service
COPY --from=build /build/api/target/release/{{service}} /usr/local/bin/{{service}}
COPY web* /web/
USER 10001
WORKDIR /data
ENV WEB=/web DATA=/data/data.log LISTEN=0.0.0.0:{{port}}
EXPOSE {{port}}
ENTRYPOINT ["/usr/local/bin/{{service}}"]
"#;

const COMPOSE: &str = r#"services:
  "{{service}}":
    build: .
    restart: unless-stopped
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    mem_limit: 256m
    ports:
      - "127.0.0.1:{{port}}:{{port}}"
    volumes:
      - data:/data
volumes:
  data: {}
"#;

const CHECKS: &str = r#"name: checks
on: [push, pull_request]
permissions:
  contents: read
jobs:
  api:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: cargo build --offline --manifest-path api/Cargo.toml
      - run: docker build -t {{service}}:${{ github.sha }} .
"#;

const DEPLOYMENT: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata:
  name: "{{service}}"
  labels: {app: "{{service}}"}
spec:
  replicas: {{replicas}}
  selector:
    matchLabels: {app: "{{service}}"}
  strategy: {type: Recreate}
  template:
    metadata:
      labels: {app: "{{service}}"}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 10001, fsGroup: 10001}
      containers:
        - name: "{{service}}"
          image: "{{service}}:latest"
          ports:
            - containerPort: {{port}}
          readinessProbe:
            httpGet: {path: /health, port: {{port}}}
          livenessProbe:
            httpGet: {path: /health, port: {{port}}}
          resources:
            requests: {cpu: 50m, memory: 32Mi}
            limits: {memory: 256Mi}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: data, mountPath: /data}
      volumes:
        - name: data
          {{volume}}
"#;

const SERVICE: &str = r#"apiVersion: v1
kind: Service
metadata:
  name: "{{service}}"
spec:
  selector: {app: "{{service}}"}
  ports:
    - port: 80
      targetPort: {{port}}
"#;

const CLAIM: &str = r#"apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: "{{service}}-data"
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests: {storage: 1Gi}
"#;

pub(super) fn files(request: &Request) -> Files {
    let (port, replicas) = (request.port.to_string(), request.replicas.to_string());
    let volume = match request.storage {
        Storage::File => format!("persistentVolumeClaim: {{claimName: \"{}-data\"}}", request.service),
        Storage::Memory => "emptyDir: {}".to_owned(),
    };
    let values = [
        ("service", request.service.as_str()),
        ("port", &port),
        ("replicas", &replicas),
        ("volume", &volume),
    ];
    let mut files = Files::from([
        (".dockerignore".to_owned(), b".git\napi/target\n".to_vec()),
        ("Dockerfile".to_owned(), filled(DOCKERFILE, &values)),
        ("compose.yaml".to_owned(), filled(COMPOSE, &values)),
        (".github/workflows/checks.yml".to_owned(), filled(CHECKS, &values)),
        ("deploy/deployment.yaml".to_owned(), filled(DEPLOYMENT, &values)),
        ("deploy/service.yaml".to_owned(), filled(SERVICE, &values)),
    ]);
    if request.storage == Storage::File {
        files.insert("deploy/claim.yaml".into(), filled(CLAIM, &values));
    }
    files
}

#[cfg(test)]
mod tests {
    use saphyr::{LoadableYamlNode as _, Yaml};

    use super::*;

    #[test]
    fn every_file_is_yaml_and_says_what_was_asked_for() {
        let mut request = crate::sample::request("shop");
        request.replicas = 3;
        for (path, text) in files(&request) {
            if path == "Dockerfile" || path == ".dockerignore" {
                continue;
            }
            let text = String::from_utf8(text).unwrap();
            let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(documents.len(), 1, "{path}");
            if path == "deploy/deployment.yaml" {
                assert_eq!(documents[0]["kind"].as_str(), Some("Deployment"));
                assert_eq!(documents[0]["spec"]["replicas"].as_integer(), Some(3));
                let volume = &documents[0]["spec"]["template"]["spec"]["volumes"][0];
                assert_eq!(volume["persistentVolumeClaim"]["claimName"].as_str(), Some("shop-data"));
            }
            if path == "compose.yaml" {
                let port = documents[0]["services"]["shop"]["ports"][0].as_str();
                assert_eq!(port, Some("127.0.0.1:8080:8080"));
            }
        }
    }

    /// `no` is a boolean for a cluster, unless it is quoted.
    #[test]
    fn the_name_of_a_service_is_text_wherever_it_stands_alone() {
        for (path, text) in files(&crate::sample::request("no")) {
            let text = String::from_utf8(text).unwrap();
            for line in text.lines().filter(|_| path.ends_with(".yaml")) {
                let bare =
                    line.split([' ', '{', '}', ':', ',']).any(|word| word == "no" || word == "no-data");
                assert!(!bare, "{path}: {line}");
            }
        }
    }

    #[test]
    fn a_service_in_memory_claims_no_disk() {
        let mut request = crate::sample::request("shop");
        request.storage = Storage::Memory;
        assert!(!files(&request).contains_key("deploy/claim.yaml"));
    }
}
