//! Looks up every function and variable of the host by name, once.
//!
//! The shared object must have no undefined symbol of the host: rustc binds cdylibs at load, and `sshare` loads us in a process that has
//! none of slurmctld's symbols. `dlsym(RTLD_DEFAULT, …)` also finds the live copy of variables that the executable and libslurmfull both
//! export (copy relocations), which a handle of libslurmfull would not.

use std::ffi::{c_char, c_int, c_long, c_void, CStr};

use multifactor2_releases::is_required;

use super::layout::Release;

/// A `List`/`list_t *` of the host.
pub type RawList = *mut c_void;
/// `ListForF`: returns a negative number to stop.
pub type ListVisitor = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
/// `ListDelF`
pub type ListDestructor = unsafe extern "C" fn(*mut c_void);

/// The address of a symbol in the process, null for none.
pub fn find(name: &CStr) -> *mut c_void {
    #[cfg(feature = "test-overrides")]
    if super::test_overrides::is_missing(name) {
        return std::ptr::null_mut();
    }
    // SAFETY: dlsym reads a terminated string and has no other precondition.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Declares [`Symbols`]: `needed` symbols have one type and must exist in every supported release;
/// a `since` or `until` one is an `Option`, must exist in the releases named, and is `None` in all others even if
/// they still export the name, perhaps with another meaning; an `optional` one may be absent.
macro_rules! symbols {
    ($( $(#[$doc:meta])* $field:ident: $name:literal, $need:ident $(($from:expr))?, $kind:ty; )*) => {
        /// The host's functions and variables.
        #[derive(Debug)]
        pub struct Symbols {
            $( $(#[$doc])* pub $field: symbols!(@type $need $kind), )*
        }

        // One expression for functions and for addresses of variables.
        #[allow(clippy::useless_transmute, clippy::transmute_ptr_to_ptr, clippy::crosspointer_transmute)]
        impl Symbols {
            /// Looks everything up.
            ///
            /// # Errors
            /// The names that the running release must have and the process has not.
            pub fn find(release: Release) -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                $( if is_required!($need $(($from))?, release) && find(symbols!(@c $name)).is_null() {
                    missing.push($name);
                } )*
                if !missing.is_empty() {
                    return Err(missing);
                }
                Ok(Self { $( $field: {
                    let address = find(symbols!(@c $name));
                    let used = symbols!(@used $need $(($from))?, release);
                    symbols!(@value $need, address, used, $kind)
                }, )* })
            }
        }
    };
    (@c $name:literal) => {
        // The literal has no inner NUL and ends with the one added here.
        match CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => c"",
        }
    };
    (@type needed $kind:ty) => { $kind };
    (@type $other:ident $kind:ty) => { Option<$kind> };
    (@used optional, $release:ident) => { true };
    (@used $need:ident $(($from:expr))?, $release:ident) => { is_required!($need $(($from))?, $release) };
    (@value needed, $address:ident, $used:ident, $kind:ty) => {{
        let _ = $used;
        // SAFETY: not null (checked above), and the symbol has this type in every supported release.
        unsafe { std::mem::transmute::<*mut c_void, $kind>($address) }
    }};
    (@value $other:ident, $address:ident, $used:ident, $kind:ty) => {
        // SAFETY: not null, and the symbol has this type in every release that has it.
        ($used && !$address.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, $kind>($address) })
    };
}

pub use multifactor2_releases::symbols::{
    V20_11_6, V21_08, V22_05, V23_02, V23_02_3, V23_11, V23_11_6, V24_05, V24_11, V25_05, V25_11, V26_05,
};

multifactor2_releases::host_symbols!(symbols);
