//! An archive that is the same whenever the same is packed, and that is tried before anybody gets it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::said;

/// A file in the archive.
pub(super) struct Content {
    /// Relative to the archive's only folder.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    /// A program, rather than something to read.
    pub(super) runs: bool,
}

impl Content {
    /// A file as it is on the disk.
    pub(super) fn file(path: &str, from: &Path) -> Result<Content> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        let runs = fs::metadata(from)?.permissions().mode() & 0o100 != 0;
        Ok(Content { path: path.to_owned(), bytes, runs })
    }
}

/// Where an archive is, and what it is called. It has one folder, with the same name.
pub(super) struct Archive {
    pub(super) folder: PathBuf,
    pub(super) name: String,
}

impl Archive {
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.tar.gz", self.name))
    }

    fn file_name(&self) -> String {
        format!("{}.tar.gz", self.name)
    }

    /// Where its digest is, as `sha256sum` reads it.
    fn digest(&self) -> String {
        format!("{}.sha256", self.file_name())
    }

    /// Writes the archive and its digest. Every file has this time, nobody's name, and a mode that no umask changes.
    pub(super) fn pack(&self, contents: &[Content], time: u64) -> Result<()> {
        let staged = Scratch::new(&self.folder, "packing")?;
        for content in contents {
            let path = staged.0.join(&self.name).join(&content.path);
            fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
            fs::write(&path, &content.bytes)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(if content.runs { 0o755 } else { 0o644 }))?;
        }
        let mut tar = Command::new("tar");
        tar.args(["--create", "--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
        tar.args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -9 --no-name"]);
        tar.arg(format!("--mtime=@{time}")).arg("--file").arg(self.path());
        said(tar.arg("--directory").arg(&staged.0).arg(&self.name))?;
        let digest = said(Command::new("sha256sum").current_dir(&self.folder).arg(self.file_name()))?;
        fs::write(self.folder.join(self.digest()), digest).context("cannot write the digest")
    }

    /// Checks the digest, unpacks, and lets the program say its version.
    pub(super) fn prove(&self, expected: &str) -> Result<()> {
        let check = ["--check", "--strict", "--quiet", &self.digest()];
        said(Command::new("sha256sum").current_dir(&self.folder).args(check))?;
        let unpacked = Scratch::new(&self.folder, "unpacking")?;
        said(
            Command::new("tar")
                .arg("--extract")
                .arg("--file")
                .arg(self.path())
                .arg("--directory")
                .arg(&unpacked.0),
        )?;
        let version = said(Command::new(unpacked.0.join(&self.name).join("turnwise")).arg("--version"))?;
        ensure!(
            version.trim() == expected,
            "the packed program says `{}`, not `{expected}`: it is not the one that was to be packed",
            version.trim()
        );
        Ok(())
    }
}

/// A folder that is gone with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path, name: &str) -> Result<Scratch> {
        let path = folder.join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left behind lies among what was built.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(version: &str) -> Vec<Content> {
        let program = format!("#!/bin/sh\necho turnwise {version}\n");
        let content = |path: &str, text: &str, runs| Content { path: path.into(), bytes: text.into(), runs };
        vec![
            content("turnwise", &program, true),
            content("docs/b.md", "b", false),
            content("a.md", "a", false),
        ]
    }

    fn archive(folder: &Path) -> Archive {
        Archive { folder: folder.to_owned(), name: "turnwise-1.0.0-x".into() }
    }

    #[test]
    fn what_was_packed_is_unpacked_and_runs() {
        let home = tempfile::tempdir().unwrap();
        let archive = archive(home.path());
        archive.pack(&contents("1.0.0"), 1_700_000_000).unwrap();
        archive.prove("turnwise 1.0.0").unwrap();
        let listing = said(Command::new("tar").args(["-tvf"]).arg(archive.path())).unwrap();
        let names: Vec<_> = listing.lines().filter_map(|line| line.rsplit(' ').next()).collect();
        let top = "turnwise-1.0.0-x";
        assert_eq!(names, ["", "a.md", "docs/", "docs/b.md", "turnwise"].map(|name| format!("{top}/{name}")));
        assert!(listing.lines().all(|line| line.contains(" 0/0 ")), "{listing}");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "the archive and its digest, nothing else");
    }

    #[test]
    fn the_same_is_packed_the_same() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut turned = contents("1.0.0");
        turned.reverse();
        archive(one.path()).pack(&contents("1.0.0"), 1_700_000_000).unwrap();
        archive(two.path()).pack(&turned, 1_700_000_000).unwrap();
        let read = |home: &Path| fs::read(archive(home).path()).unwrap();
        assert!(read(one.path()) == read(two.path()));
        archive(two.path()).pack(&turned, 1_700_000_001).unwrap();
        assert!(read(one.path()) != read(two.path()), "the time is part of it");
    }

    #[test]
    fn a_wrong_or_damaged_archive_is_found() {
        let home = tempfile::tempdir().unwrap();
        let archive = archive(home.path());
        archive.pack(&contents("0.9.0"), 1).unwrap();
        let error = archive.prove("turnwise 1.0.0").unwrap_err().to_string();
        assert!(error.contains("`turnwise 0.9.0`"), "{error}");
        let mut bytes = fs::read(archive.path()).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(archive.path(), bytes).unwrap();
        assert!(archive.prove("turnwise 0.9.0").unwrap_err().to_string().contains("sha256sum"));
    }
}
