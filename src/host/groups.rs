//! Looks up the numbers of Unix groups by name.
//!
//! The system may ask a remote directory service, which may take long, so no caller holds a lock.

use std::ffi::{c_char, c_int, CString};
use std::io;

use super::locks::Unlocked;

/// The buffer that the system is offered for a group at first.
const FIRST_BUFFER: usize = 1024;
/// And at most. A group with a million members needs less.
const LARGEST_BUFFER: usize = 1 << 26;

/// The number of a group; `None` if no group has that name. A number stands for itself, whether or not it has a name.
///
/// # Errors
/// The system could not tell; another time it may.
pub fn number_of(_nothing_is_held: &mut Unlocked, name: &str) -> io::Result<Option<u32>> {
    look_up(name, FIRST_BUFFER, ask)
}

fn look_up(
    name: &str,
    first_buffer: usize,
    mut ask: impl FnMut(&CString, &mut [c_char]) -> Result<Option<u32>, c_int>,
) -> io::Result<Option<u32>> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
        // `(gid_t) -1` is nobody's.
        return Ok(name.parse().ok().filter(|number| *number != u32::MAX));
    }
    let Ok(name) = CString::new(name) else { return Ok(None) };
    let mut buffer = vec![0; first_buffer];
    loop {
        match ask(&name, &mut buffer) {
            Ok(found) => return Ok(found),
            Err(libc::EINTR) => {}
            Err(libc::ERANGE) if buffer.len() < LARGEST_BUFFER => buffer.resize(2 * buffer.len(), 0),
            // Some services say so that there is no such group.
            Err(libc::ENOENT | libc::ESRCH) => return Ok(None),
            Err(error) => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Asks the system once.
fn ask(name: &CString, buffer: &mut [c_char]) -> Result<Option<u32>, c_int> {
    let mut found = std::ptr::null_mut();
    // SAFETY: a terminated name, a buffer with its length, and room for the answer, which points into both and is read before
    // either ends. A group is plain numbers and pointers.
    unsafe {
        let mut group: libc::group = std::mem::zeroed();
        match libc::getgrnam_r(
            name.as_ptr(),
            &raw mut group,
            buffer.as_mut_ptr(),
            buffer.len(),
            &raw mut found,
        ) {
            0 => Ok((!found.is_null()).then_some(group.gr_gid)),
            error => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_the_system_are_found_however_small_the_first_buffer_is() {
        for first_buffer in [1, 16, FIRST_BUFFER] {
            let find = |name| look_up(name, first_buffer, ask).unwrap();
            assert_eq!(find("root"), Some(0));
            for name in ["no such group", "", "ro\0ot", "Root", "+1", "-1", " 1"] {
                assert_eq!(find(name), None, "{name:?}");
            }
        }
    }

    #[test]
    fn a_number_is_not_asked_for() {
        let find = |name| look_up(name, FIRST_BUFFER, |_, _| panic!("asked")).unwrap();
        assert_eq!(["0", "4294967294", "007"].map(find), [Some(0), Some(4_294_967_294), Some(7)]);
        assert_eq!(["4294967295", "4294967296", "99999999999999999999"].map(find), [None; 3]);
    }

    #[test]
    fn an_interruption_and_a_small_buffer_are_tried_again_and_an_error_is_told() {
        let mut answers = vec![Ok(Some(7)), Err(libc::EINTR), Err(libc::ERANGE), Err(libc::EINTR)];
        let mut sizes = Vec::new();
        let found = look_up("staff", 8, |name, buffer| {
            assert_eq!(name.as_bytes(), b"staff");
            sizes.push(buffer.len());
            answers.pop().unwrap()
        });
        assert_eq!((found.unwrap(), sizes), (Some(7), vec![8, 8, 16, 16]));
        for none in [libc::ENOENT, libc::ESRCH] {
            assert_eq!(look_up("staff", 8, |_, _| Err(none)).unwrap(), None);
        }
        for error in [libc::EIO, libc::EMFILE, libc::EAGAIN] {
            let told = look_up("staff", 8, |_, _| Err(error)).unwrap_err();
            assert_eq!(told.raw_os_error(), Some(error));
        }
        let too_large = look_up("staff", LARGEST_BUFFER / 2, |_, _| Err(libc::ERANGE)).unwrap_err();
        assert_eq!(too_large.raw_os_error(), Some(libc::ERANGE));
    }
}
