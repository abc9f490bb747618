//! The same stories on one machine and over servers.

use crate::fleet::Fleet;
use crate::harness::Up;

/// Each story is told twice, with these arguments for the engine.
macro_rules! stories {
    ($($name:ident($($argument:literal)*) |$up:ident| $body:block)*) => {
        $(fn $name($up: &Up) $body)*

        mod on_one_machine {
            $(#[test]
            fn $name() {
                super::$name(&super::Up::new(&[$($argument),*]));
            })*
        }

        mod over_servers {
            $(#[test]
            fn $name() {
                let (fleet, home) = (super::Fleet::new(), tempfile::tempdir().unwrap());
                let up = super::Up::on(&home.path().join("data"), &[$($argument),*], &fleet.variables(&[]));
                super::$name(&up);
            })*
        }
    };
}

stories! {
    submit_wait_result() |up| {
        assert_eq!(up.run(&["submit", "echo", r#"{"hello":"world"}"#, "--wait"]).json()["hello"], "world");
        let id = up.submit(&["echo", "[1,2]", "--owner", "acme", "--priority", "9"]);
        up.wait_for(&id, "done");
        let view = up.json(&["jobs", &id]);
        assert_eq!((&view["owner"], &view["priority"]), (&"acme".into(), &9.into()));
        let shown = up.run(&["jobs", &id]).ok();
        assert!(shown.contains("acme") && shown.contains("result     [1,2]"), "{shown}");
        let listed = up.run(&["jobs", "--owner", "acme"]).ok();
        assert!(listed.contains(&id) && listed.starts_with("ID "), "{listed}");
        assert_eq!(up.json(&["owners"])["owners"][0]["owner"], "acme");
    }

    many_at_once_and_one_per_line() |up| {
        let said = up.run(&["submit", "echo", "7", "--count", "2500", "--wait"]).ok();
        assert_eq!(said.trim(), "2500 of 2500 jobs are done");
        let lines = up.run_with_input(&["submit", "echo", "--lines", "--wait"], "1\n\"two\"\n\n[3]\n").ok();
        assert_eq!(lines.split_whitespace().collect::<String>(), r#"1"two"[3]"#);
        let input = up.run_with_input(&["submit", "echo", "-", "--wait"], "{\"from\": \"stdin\"}").json();
        assert_eq!(input["from"], "stdin");
        // A page after a page, until there are enough.
        assert_eq!(up.json(&["jobs", "--limit", "2100"])["jobs"].as_array().unwrap().len(), 2_100);
        assert_eq!(up.json(&["jobs", "--limit", "9999"])["jobs"].as_array().unwrap().len(), 2_504);
    }

    the_same_key_answers_with_the_same_job() |up| {
        let one = up.json(&["submit", "echo", "--unique", "k", "--unique-for", "1h"]);
        let two = up.json(&["submit", "echo", "--unique", "k", "--unique-for", "1h"]);
        assert_eq!(one["jobs"][0]["id"], two["jobs"][0]["id"]);
        assert_eq!((&one["jobs"][0]["existing"], &two["jobs"][0]["existing"]), (&false.into(), &true.into()));
    }

    a_batch_and_what_follows_it() |up| {
        let accepted = up.json(&[
            "submit",
            "echo",
            "--count",
            "5",
            "--batch",
            "five",
            "--then",
            "echo",
            "--then-payload",
            "42",
        ]);
        let (batch, then) = (accepted["batch"].as_str().unwrap(), accepted["then"].as_str().unwrap());
        let watched = up.run(&["watch", batch]).ok();
        assert!(watched.contains("settled 5 of 5 done"), "{watched}");
        up.wait_for(then, "done");
        assert_eq!(up.json(&["jobs", then])["result"], 42);
        let view = up.json(&["batches", batch]);
        assert_eq!((&view["phase"], &view["done"], &view["pending"]), (&"settled".into(), &5.into(), &0.into()));
        assert!(up.run(&["batches"]).ok().contains("five"));
    }

    a_parked_batch_waits_for_a_decision("--allow-shell") |up| {
        let failing = r#"{"command":"exit 1"}"#;
        let arguments =
            ["submit", "shell", failing, "--attempts", "1", "--batch", "b", "--then", "echo", "--if-all-done"];
        let accepted = up.json(&arguments);
        let (batch, then) = (accepted["batch"].as_str().unwrap(), accepted["then"].as_str().unwrap());
        up.run(&["watch", batch]).failed(1, &[]);
        assert!(up.run(&["batches", batch]).ok().contains("--release"));
        assert_eq!(up.json(&["jobs", then])["state"], "waiting");
        up.run(&["batches", batch, "--release"]).ok();
        up.wait_for(then, "done");
        up.run(&["batches", batch, "--release"]).failed(1, &["not parked"]);
    }

    dead_letters_live_again("--allow-shell") |up| {
        let flag = up.data.join("flag");
        let command =
            format!(r#"{{"command":"test -e '{}' || {{ echo not yet >&2; exit 3; }}"}}"#, flag.display());
        up.run(&["submit", "shell", &command, "--attempts", "1", "--wait"]).failed(1, &["is dead", "not yet"]);
        let listed = up.json(&["dead", "list"]);
        let id = listed["jobs"][0]["id"].as_str().unwrap();
        assert!(up.run(&["dead", "show", id]).ok().contains("exit status: 3: not yet"));
        assert_eq!(up.json(&["dead", "replay", "--kind", "shell", "--dry-run"])["count"], 1);
        assert_eq!(up.json(&["jobs", id])["state"], "dead");
        std::fs::write(flag, "").unwrap();
        assert_eq!(up.json(&["dead", "replay", "--all"])["count"], 1);
        up.wait_for(id, "done");
        assert!(up.run(&["dead", "list"]).ok().contains("No jobs match"));
        up.run(&["dead", "replay"]).failed(2, &["--all"]);
    }

    a_running_job_is_cancelled() |up| {
        let id = up.submit(&["sleep", r#"{"ms":600000}"#]);
        up.wait_for(&id, "running");
        assert!(up.run(&["cancel", &id]).ok().contains("running"));
        up.wait_for(&id, "cancelled");
        let later = up.submit(&["echo", "--delay", "1h"]);
        assert_eq!(up.json(&["jobs", &later])["state"], "scheduled");
        up.run(&["retry", &later]).ok();
        up.wait_for(&later, "done");
    }
}
