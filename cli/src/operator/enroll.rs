//! `cognate operator enroll`: an invitation becomes an operator's file.

use std::path::{Path, PathBuf};

use clap::Args;
use cognate_durable::private::{read_private, write_private};
use cognate_proto::dial::{Dial, Trust};
use cognate_proto::identity::{Credential, Membership, PrivateKey};
use cognate_proto::invitation::Invitation;
use cognate_proto::v1::EnrollRequest;
use cognate_proto::v1::enrolment_client::EnrolmentClient;
use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use super::client::{PATIENCE, block_on, is_passing, now, patiently, refusal};
use super::file::OperatorFile;
use crate::args::invitation_text;
use crate::exit::{Exit, coded, usage};

/// Turns an invitation into a file with a certificate and its key.
///
/// The command sends nothing until the coordinator has proved that it is the one named in the invitation.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate operator enroll - -o operator.toml < invitation.txt
  cognate operator enroll - -o operator.toml                    # paste the line
  cognate operator enroll cog1_… -o operator.toml               # other users of the machine see it meanwhile")]
pub(crate) struct EnrollArgs {
    /// Invitation; `-` reads it from standard input
    #[arg(value_name = "TOKEN")]
    token: String,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &EnrollArgs) -> anyhow::Result<Exit> {
    let invitation = read_invitation(&args.token)?;
    let Membership::Operator { name, .. } = &invitation.membership else {
        return Err(usage(format!(
            "this invitation is for the site `{}`: use `cognate worker enroll` there",
            invitation.membership.name()
        )));
    };
    if args.output.try_exists()? {
        return Err(usage(format!("`{}` is there already: name another file, or move it away", args.output.display())));
    }
    let pending = pending_path(&args.output);
    let (key, is_new) = pending_key(&pending, &invitation)?;
    let dial = Dial::new(&invitation.addresses, &Trust::CaKey(invitation.ca_key), None)
        .map_err(|error| usage(error.to_string()))?;
    let request = EnrollRequest {
        token_id: invitation.token_id.to_vec(),
        secret: invitation.secret.to_vec(),
        signing_request: key.signing_request()?,
        software: concat!("cognate ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let answer = block_on(async {
        let channel = dial.channel();
        // The coordinator repeats a lost answer: the key is the same.
        let answer = patiently(PATIENCE, || {
            let (mut client, request) = (EnrolmentClient::new(channel.clone()), request.clone());
            async move { client.enroll(request).await }
        });
        answer.await.map_err(|status| {
            if is_new && !is_passing(&status) {
                // The coordinator does not know this key.
                let _ = std::fs::remove_file(&pending);
            }
            let error = refusal(&status);
            if invitation.expires < now() {
                let hint = "by this machine's clock it has expired: ask for a new one, or set the clock that is wrong, here or at \
                            the coordinator";
                return coded(Exit::Authentication, format!("{error}; {hint}"));
            }
            error
        })
    })?;
    let credential = Credential::new(answer.ca_certificate, answer.certificate, key)?;
    OperatorFile::write(&args.output, &invitation.addresses, &credential)?;
    // The key is now stored in the operator's file.
    let _ = std::fs::remove_file(&pending);
    tell!("{name} is enrolled: use --operator {0}, or COGNATE_OPERATOR={0}", args.output.display());
    tell!("your key: {}", credential.key.key_hash().words());
    Ok(Exit::Complete)
}

fn read_invitation(token: &str) -> anyhow::Result<Invitation> {
    invitation_text(token)?
        .parse()
        .map_err(|error: cognate_proto::invitation::InvitationError| usage(error.to_string()))
}

fn pending_path(output: &Path) -> PathBuf {
    let mut name = output.file_name().unwrap_or_default().to_owned();
    name.push(".pending");
    output.with_file_name(name)
}

/// The key to enrol with. It is reused after an attempt whose answer was lost, since an invitation
/// is for one key only. The flag is true if the key is new.
fn pending_key(path: &Path, invitation: &Invitation) -> anyhow::Result<(PrivateKey, bool)> {
    let label = format!("{} ", HEXLOWER.encode(&invitation.token_id));
    if let Ok(text) = read_private(path)
        && let Some(saved) = text.strip_prefix(&label)
        && let Ok(der) = HEXLOWER.decode(saved.trim().as_bytes())
    {
        return Ok((PrivateKey::from_pkcs8(&Zeroizing::new(der))?, false));
    }
    let key = PrivateKey::generate()?;
    let text = Zeroizing::new(format!("{label}{}\n", HEXLOWER.encode(key.pkcs8())));
    write_private(path, text.as_bytes()).map_err(|error| coded(Exit::InputOutput, error.to_string()))?;
    Ok((key, true))
}
