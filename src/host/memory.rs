//! Memory that changes hands: what the host will free comes from its allocator, and what it gave us to free goes back there.
//!
//! As in the host, running out of memory is fatal inside the allocator; no call here fails.

use std::ffi::c_void;

use super::Host;

impl Host {
    /// `count` zeroed elements of `size` bytes; freed by the host, or by [`Host::free`].
    pub(super) fn allocate(&self, count: usize, size: usize) -> *mut u8 {
        // SAFETY: clear = true, try = false (abort on exhaustion, as everywhere in the host); the strings are literals.
        unsafe {
            (self.sym.xcalloc)(
                count,
                size,
                true,
                false,
                c"multifactor2".as_ptr(),
                0,
                c"Host::allocate".as_ptr(),
            )
        }
        .cast()
    }

    /// Frees a block of the host's allocator; null is allowed.
    ///
    /// # Safety
    /// `block` is null or a live block of that allocator that nobody uses afterwards.
    pub(super) unsafe fn free(&self, block: *mut u8) {
        let mut pointer: *mut c_void = block.cast();
        // SAFETY: xfree takes the address of a pointer to one of its blocks or to null.
        unsafe { (self.sym.xfree)(&raw mut pointer) }
    }

    /// Bytes that a block of the host's allocator was allocated with; 0 for null.
    ///
    /// # Safety
    /// `block` is null or a live block of that allocator.
    pub(super) unsafe fn allocated_size(&self, block: *mut u8) -> usize {
        if block.is_null() {
            return 0;
        }
        // SAFETY: a live block by the caller's promise.
        unsafe { (self.sym.xsize)(block.cast()) }
    }
}
