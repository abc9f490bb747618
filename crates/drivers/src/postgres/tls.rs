//! Encryption on the way to the database. Whether it is asked for is said in the address (`sslmode=require`).

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::StoreError;

/// Trusts the certificates of the system, or those of one file.
pub(super) fn connector(ca_file: Option<&Path>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(path) => {
            let unusable = |why: String| StoreError::Unusable { path: path.display().to_string(), why };
            let certificates =
                CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
            }
        }
        // What cannot be read is not trusted; a connection that needs it says so.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Failed(format!("encryption cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
