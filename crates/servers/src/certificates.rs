//! Certificates for a server on this machine, made for one test.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::place;

const MISSING: &str = "cannot start `openssl`: sudo apt-get update && sudo apt-get install -y openssl";

/// The certificate that clients must trust.
pub(crate) fn authority(directory: &Path) -> PathBuf {
    directory.join("authority.pem")
}

/// The server's certificate.
pub(crate) fn certificate(directory: &Path) -> PathBuf {
    directory.join("server.pem")
}

/// The server's key.
pub(crate) fn key(directory: &Path) -> PathBuf {
    directory.join("server.key")
}

/// Makes an authority, and a certificate for `localhost` and 127.0.0.1 that it has signed.
pub(crate) fn make(directory: &Path) -> Result<()> {
    let request = "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    run(
        directory,
        &format!("{request} -x509 -days 2 -subj /CN=turnwise-test -keyout authority.key -out authority.pem"),
    )?;
    run(directory, &format!("{request} -subj /CN=localhost -keyout server.key -out server.csr"))?;
    place::write(&directory.join("names.txt"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n")?;
    let sign = "x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial";
    run(directory, &format!("{sign} -days 2 -extfile names.txt -out server.pem"))
}

fn run(directory: &Path, args: &str) -> Result<()> {
    let output =
        Command::new("openssl").args(args.split(' ')).current_dir(directory).output().context(MISSING)?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`openssl {args}` ended with {}:\n{said}", output.status);
    Ok(())
}
