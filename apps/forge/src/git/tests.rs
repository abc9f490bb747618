//! Real repositories, changed by several at once.

use std::process::Command;

use super::*;
use crate::generate::{self, Part};
use crate::sample;

const AT: i64 = 1_700_000_000;

/// What a request commits, with every part.
fn change<'a>(repository: &Repository, request: &'a crate::request::Request) -> Change<'a> {
    let made = Part::ALL.iter().map(|part| repository.write(&part.files(request)).unwrap());
    Change {
        request: &request.id,
        trace: &request.trace_id,
        subject: "Forge shop".into(),
        at: AT,
        made: made.collect(),
        kept: Vec::new(),
        about: generate::about(request),
    }
}

fn named(id: &str) -> crate::request::Request {
    crate::request::Request { id: id.into(), ..sample::request("shop") }
}

fn log(folder: &Path, format: &str) -> Vec<String> {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(folder.join("shop.git"))
        .args(["log", "--reverse", format, "main"])
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn one_commit_for_each_request_however_often_it_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let first = {
        let repository = Repository::open(folder.path(), "shop").unwrap();
        repository.commit(&change(&repository, &named("r-1"))).unwrap()
    };
    let repository = Repository::open(folder.path(), "shop").unwrap();
    let again = repository.commit(&change(&repository, &named("r-1"))).unwrap();
    assert_eq!(first, again);
    let second = repository.commit(&change(&repository, &named("r-2"))).unwrap();
    assert_eq!((first.sequence, second.sequence), (1, 2));
    assert_eq!(
        repository.commit(&change(&repository, &named("r-1"))).unwrap(),
        first,
        "also when others followed"
    );
    assert_eq!(
        log(folder.path(), "--format=%(trailers:key=Turnwise-Request,valueonly,separator=%x2C)"),
        ["r-1", "r-2"]
    );
    assert_eq!(
        log(folder.path(), "--format=%ct %an"),
        [format!("{AT} Turnwise Forge"), format!("{AT} Turnwise Forge")]
    );
    let described = repository.described().unwrap().unwrap();
    assert_eq!(described, named("r-2").description());
}

#[test]
fn the_same_request_makes_the_same_commit_in_another_repository() {
    let commit = || {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::open(folder.path(), "shop").unwrap();
        repository.commit(&change(&repository, &named("r-1"))).unwrap().commit
    };
    assert_eq!(commit(), commit());
}

/// Check-then-act would let both win: both have looked, and neither has seen the other.
#[test]
fn of_two_that_have_looked_only_one_moves_the_branch() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::open(folder.path(), "shop").unwrap();
    repository.commit(&change(&repository, &named("r-1"))).unwrap();
    let head = repository.head().unwrap();
    let one = repository.prepare(&change(&repository, &named("r-2")), head.as_deref()).unwrap();
    let other = repository.prepare(&change(&repository, &named("r-3")), head.as_deref()).unwrap();
    repository.advance(&one, head.as_deref()).unwrap();
    let refused = repository.advance(&other, head.as_deref()).unwrap_err();
    assert_eq!(refused.class, Class::Git, "{refused}");
    assert_eq!(repository.find("r-3").unwrap(), None);
    assert_eq!(repository.commit(&change(&repository, &named("r-3"))).unwrap().sequence, 3);
}

#[test]
fn what_a_killed_git_leaves_behind_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("shop.git.new/refs")).unwrap();
    drop(Repository::open(folder.path(), "shop").unwrap());
    std::fs::write(folder.path().join("shop.git/refs/heads/main.lock"), "half").unwrap();
    let repository = Repository::open(folder.path(), "shop").unwrap();
    repository.commit(&change(&repository, &named("r-1"))).unwrap();
}

#[test]
fn what_is_not_asked_for_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::open(folder.path(), "shop").unwrap();
    repository.commit(&change(&repository, &named("r-1"))).unwrap();
    let mut request = named("r-2");
    request.port = 9_000;
    let mut change = change(&repository, &request);
    change.made = vec![repository.write(&Part::Api.files(&request)).unwrap()];
    change.kept = [Part::Frontend.roots(), Part::Devops.roots()].concat();
    let committed = repository.commit(&change).unwrap();
    let show =
        |path: &str| repository.git.run(&["cat-file", "blob", &format!("{}:{path}", committed.commit)], b"");
    assert!(show("api/src/schema.rs").unwrap().contains("PORT: u16 = 9000"));
    assert!(show("Dockerfile").unwrap().contains("EXPOSE 8080"), "the old one is kept");
    assert!(show("web/app.js").is_ok());
}

#[test]
fn settings_and_hooks_of_others_are_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let repository = Repository::open(folder.path(), "shop").unwrap();
    let hook = folder.path().join("shop.git/hooks/reference-transaction");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    repository.commit(&change(&repository, &named("r-1"))).unwrap();
}
