//! Who a server runs as: its package's account if we are root, and ourselves otherwise.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// An account of the system.
#[derive(Clone, Copy)]
pub(crate) struct Account(&'static str);

impl Account {
    /// The account that a package brings.
    pub(crate) const fn of(package: &'static str) -> Self {
        Account(package)
    }

    /// A command in a directory, with nothing of our environment but the path. The process that is started
    /// becomes the program itself, so that its id is the program's id.
    pub(crate) fn command(self, program: impl AsRef<OsStr>, directory: &Path) -> Command {
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={}", self.0)).arg(format!("--regid={}", self.0));
            command.args(["--init-groups", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LANG", "C.UTF-8").env("HOME", directory).current_dir(directory);
        command
    }

    /// Gives it a directory with all that is in it.
    pub(crate) fn own(self, directory: &Path) -> Result<()> {
        if !is_root() {
            return Ok(());
        }
        let owner = format!("{0}:{0}", self.0);
        let status = Command::new("chown").arg("-R").arg(&owner).arg(directory).status();
        let status = status.context("cannot start `chown`")?;
        let shown = directory.display();
        ensure!(status.success(), "`chown -R {owner} {shown}` ended with {status}");
        ensure!(
            self.may_enter(directory),
            "account `{}` cannot enter {shown}: allow others to pass through the folders above it, or choose another \
             place (CARGO_TARGET_DIR for what is built, TMPDIR for tests)",
            self.0
        );
        Ok(())
    }

    /// Whether it can reach a directory.
    fn may_enter(self, directory: &Path) -> bool {
        let mut test = self.command("test", Path::new("/"));
        test.arg("-x").arg(directory).status().is_ok_and(|status| status.success())
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
