//! The mark beside a name, and what it means for the next change.

use serde::{Deserialize, Serialize};

use super::Published;
use crate::fault::{Class, Fault};

/// Which change made a name what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The id of the request.
    pub request: String,
    /// Which commit of the service it was.
    pub sequence: u64,
    /// Under which claim of its job it was written.
    pub fence: u32,
}

impl Mark {
    /// As the texts of a `TXT` record.
    pub(super) fn texts(&self) -> [String; 3] {
        [
            format!("request={}", self.request),
            format!("sequence={}", self.sequence),
            format!("fence={}", self.fence),
        ]
    }

    /// From these texts.
    pub(super) fn read<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Mark> {
        let texts: Vec<&str> = texts.collect();
        let [request, sequence, fence] = texts.as_slice() else { return None };
        Some(Mark {
            request: request.strip_prefix("request=")?.to_owned(),
            sequence: sequence.strip_prefix("sequence=")?.parse().ok()?,
            fence: fence.strip_prefix("fence=")?.parse().ok()?,
        })
    }

    /// What is to be done about this mark, where another stands: nothing, if it is there or behind; a claim that is over
    /// is refused.
    pub(super) fn after(&self, current: Option<&Mark>) -> Result<Published, Fault> {
        let Some(current) = current else { return Ok(Published::Changed) };
        if current.sequence != self.sequence {
            let later = current.sequence > self.sequence;
            return Ok(if later { Published::Superseded } else { Published::Changed });
        }
        if current.request != self.request {
            let text = format!(
                "commit {} of the service is that of request {} here, and of {} in the repository: remove the lines of the \
                 service from the zone if its repository was made anew",
                self.sequence, current.request, self.request
            );
            return Err(Fault::new(Class::Dns, text));
        }
        match current.fence > self.fence {
            true => Err(Fault::new(Class::Dns, "a later claim of this job was here: this one is over")),
            false => Ok(Published::Already),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(request: &str, sequence: u64, fence: u32) -> Mark {
        Mark { request: request.into(), sequence, fence }
    }

    #[test]
    fn a_mark_is_only_ever_followed_by_a_later_one() {
        let now = mark("r-2", 2, 5);
        assert_eq!(now.after(None).unwrap(), Published::Changed);
        assert_eq!(mark("r-3", 3, 1).after(Some(&now)).unwrap(), Published::Changed);
        assert_eq!(mark("r-1", 1, 9).after(Some(&now)).unwrap(), Published::Superseded);
        assert_eq!(mark("r-2", 2, 5).after(Some(&now)).unwrap(), Published::Already);
        assert_eq!(mark("r-2", 2, 6).after(Some(&now)).unwrap(), Published::Already);
        assert!(mark("r-2", 2, 4).after(Some(&now)).unwrap_err().text.contains("this one is over"));
        assert!(mark("r-9", 2, 9).after(Some(&now)).is_err());
    }

    #[test]
    fn a_mark_reads_back() {
        let written = mark("r-2", 2, 5);
        assert_eq!(Mark::read(written.texts().iter().map(String::as_str)), Some(written));
        assert_eq!(Mark::read(["request=a", "sequence=x", "fence=1"].into_iter()), None);
    }
}
